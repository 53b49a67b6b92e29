"""Conversations that somebody recorded, in the format of live checks or as the messages of a framework.

Runs under the interpreter of whoever's hook is checked, so it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from agentcore.live.conversations import FORMAT, PIXEL, Conversation, continued, conversation

__all__ = ["recorded", "sample"]

_KNOWN: Final = (
    "messages with `role` and `content`, items of the Responses API, LangChain's messages as dicts, or "
    "pydantic-ai's `kind` and `parts`"
)
_ROLES: Final = {"human": "user", "ai": "assistant", "developer": "system", "function": "tool"}
_TEXTS: Final = ("text", "input_text", "output_text", "refusal")
_CALLS: Final = ("tool-call", "tool_use", "tool_call", "function_call")
_RESULTS: Final = ("tool-result", "tool_result", "function_call_output", "tool-return", "retry-prompt")


class _Said(NamedTuple):
    """One thing that was said: by `system`, `user`, `assistant`, or the outcome of a call by `tool`."""

    by: str
    part: dict[str, Any]
    message: int = 0


def recorded(file: Path) -> list[Conversation]:
    """Reads recorded conversations.

    Args:
        file: JSON: one conversation of `schemas/conversation.schema.json`, a list of them, or a list of
            messages as OpenAI, Anthropic, the AI SDK, LangChain or pydantic-ai write them.

    Raises:
        ValueError: if the file holds something else; the text says at which index.
    """
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{file} is no JSON: {error}") from None
    if isinstance(read, dict) and "turns" not in read and isinstance(read.get("messages"), list):
        read = read["messages"]
    if isinstance(read, list) and not any(isinstance(each, dict) and "turns" in each for each in read):
        return [_conversation([*_read_messages(read, str(file))], file)]
    found = read if isinstance(read, list) else [read]
    for index, each in enumerate(found):
        _require(each, f"{file}[{index}]")
    return [{"name": f"{file.name}[{index}]", **each} for index, each in enumerate(found)]


def sample(index: int, known: Sequence[Conversation], seed: int, texts: Sequence[str]) -> Conversation:
    """Returns a conversation of a check: recorded ones as they are, then with random turns, else random ones.

    Args:
        index: its number in the check, from 0.
        known: the recorded conversations.
        seed: the seed of the check.
        texts: what some texts begin with.
    """
    # First and unchanged: they are what really happened, and a small check should at least have these.
    if index < len(known):
        return known[index]
    if known:
        return continued(known[index % len(known)], seed + index, texts)
    return conversation(seed + index, texts)


def _require(each: Any, place: str) -> None:
    if not isinstance(each, dict) or each.get("format") != FORMAT or not each.get("turns"):
        raise ValueError(f"{place} is no conversation of format {FORMAT}; see conversation.schema.json")
    for turn in each["turns"]:
        if not turn.get("messages") or not turn.get("answers") or turn["messages"][-1]["role"] != "user":
            raise ValueError(f"{place}: a turn needs `messages`, the last of them the user's, and `answers`")


# ---------------------------------------------------------------- messages of frameworks


def _read_messages(messages: Sequence[Any], file: str) -> Iterator[_Said]:
    for index, message in enumerate(messages):
        found = [*_of_message(message)] if isinstance(message, Mapping) else []
        if not found and not _is_empty(message):
            raise ValueError(f"{file}[{index}] is no message that is known; there are {_KNOWN}")
        yield from (each._replace(message=index) for each in found)


def _is_empty(message: Any) -> bool:
    return isinstance(message, Mapping) and ("role" in message or message.get("type") == "reasoning")


def _of_message(message: Mapping[str, Any]) -> Iterator[_Said]:
    held = message.get("data") or message.get("kwargs")
    if isinstance(held, Mapping):  # LangChain: {type, data} and {lc, kwargs}
        message = {"type": message.get("type"), **held}
    if "part_kind" in message or message.get("kind") in ("request", "response"):
        for part in message.get("parts", [message]):
            yield from _of_part(part, "assistant" if message.get("kind") == "response" else "user")
        return
    kind = message.get("type")
    role = message.get("role") or (kind if kind in _ROLES or kind in ("tool", "system") else None)
    if role is None:
        yield from _of_part(message, "assistant")
        return
    role = _ROLES.get(role, role)
    content = message.get("content")
    if role == "tool" and "tool_call_id" in message:
        part = {
            "id": str(message["tool_call_id"]),
            "value": content,
            "error": message.get("status") == "error",
        }
        yield _Said("tool", part)
        return
    for part in content if isinstance(content, list) else [content]:
        yield from _of_part({"type": "text", "text": part} if isinstance(part, str) else part, role)
    for call in message.get("tool_calls") or ():
        yield from _of_part({**call, **call.get("function", {}), "type": "tool_call"}, "assistant")


def _of_part(part: Any, role: str) -> Iterator[_Said]:  # noqa: C901 - one spelling after another
    if not isinstance(part, Mapping):
        return
    kind = part.get("part_kind") or part.get("type")
    text = part.get("text", part.get("content"))
    if kind in _CALLS:
        yield _Said("assistant", _call(part))
    elif kind in _RESULTS and (kind != "retry-prompt" or part.get("tool_name")):
        yield _Said("tool", _result(part, kind))
    elif kind == "system-prompt" or (role == "system" and isinstance(text, str)):
        yield _Said("system", {"type": "text", "text": str(text)})
    elif kind in ("reasoning", "thinking"):
        if isinstance(text := part.get("text") or part.get("thinking") or part.get("content"), str) and text:
            yield _Said("assistant", {"type": "reasoning", "text": text})
    elif kind == "user-prompt" and isinstance(text, list):
        for each in text:
            yield from _of_part({"type": "text", "text": each} if isinstance(each, str) else each, "user")
    elif isinstance(text, str) and (kind in _TEXTS or kind in ("user-prompt", "retry-prompt")):
        if text:
            yield _Said(role, {"type": "text", "text": text})
    elif role == "user":
        yield _Said(role, _file(part))


def _call(part: Mapping[str, Any]) -> dict[str, Any]:
    number = _first(part, "toolCallId", "tool_call_id", "call_id", "id")
    name = _first(part, "toolName", "tool_name", "name")
    given: Any = _first(part, "input", "args", "arguments")
    given = _parsed(given) if isinstance(given, str) else given
    given = given if isinstance(given, dict) else {}
    # A name that every framework takes; a recorded one may have dots or spaces.
    tool = re.sub(r"[^A-Za-z0-9_-]", "_", str(name or "tool"))
    tool = tool if re.match(r"[A-Za-z_]", tool) else f"_{tool}"
    return {
        "type": "call",
        "id": str(number),
        "tool": tool,
        "input": given if isinstance(given, dict) else {},
    }


def _result(part: Mapping[str, Any], kind: str) -> dict[str, Any]:
    number = _first(part, "toolCallId", "tool_call_id", "tool_use_id", "call_id")
    value = _first(part, "output", "result", "content")
    is_error = bool(part.get("is_error") or part.get("isError")) or kind == "retry-prompt"
    if isinstance(value, dict) and {*value} <= {"type", "value", "providerOptions"} and "value" in value:
        is_error = is_error or str(value.get("type")).startswith("error")
        value = value["value"]
    return {"id": str(number), "value": value, "error": is_error}


def _file(part: Mapping[str, Any]) -> dict[str, Any]:
    """A file whose data are not in the part stands as one pixel: its place is what counts."""
    address = part.get("image_url")
    address = address.get("url") if isinstance(address, Mapping) else address
    held = part.get("source")
    source = held if isinstance(held, Mapping) else part
    data = _first(source, "data", "image", "file_data") or address
    inline = re.fullmatch(r"data:([^;,]+);base64,(.*)", data, re.DOTALL) if isinstance(data, str) else None
    if inline:
        return {"type": "file", "mediaType": inline[1], "data": inline[2]}
    media = str(_first(source, "mediaType", "media_type", "mimeType") or "image/png")
    if isinstance(data, str) and re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", data):
        return {"type": "file", "mediaType": media, "data": data}
    return {"type": "file", "mediaType": media, "data": PIXEL}


def _first(part: Mapping[str, Any], *names: str) -> Any:
    return next((part[name] for name in names if part.get(name) is not None), None)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}


# ---------------------------------------------------------------- a conversation of them


def _conversation(said: Sequence[_Said], file: Path) -> Conversation:
    """Returns one turn: what was said up to the user's last message is the caller's, the rest are answers."""
    outcomes = {each.part["id"]: each.part for each in said if each.by == "tool"}
    messages: list[dict[str, Any]] = []
    before = _Said("tool", {})
    for each in said:
        if each.by in ("user", "assistant"):
            # Items of one answer follow each other; two messages of the user are two.
            if each.by != before.by or (each.by == "user" and each.message != before.message):
                messages.append({"role": each.by, "parts": []})
            messages[-1]["parts"].append(_with_outcome(each.part, outcomes))
        before = each
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    if not users:
        raise ValueError(f"{file} has no message of a user")
    answers = [{"parts": message["parts"]} for message in messages[users[-1] + 1 :]]
    if not answers or any(part["type"] == "call" for part in answers[-1]["parts"]):
        answers.append({"parts": [{"type": "text", "text": "done"}]})
    system = "\n".join(each.part["text"] for each in said if each.by == "system")
    made: Conversation = {"format": FORMAT, "name": file.name}
    if system:
        made["instructions"] = system
    return {**made, "turns": [{"messages": messages[: users[-1] + 1], "answers": answers}]}


def _with_outcome(part: dict[str, Any], outcomes: Mapping[Any, dict[str, Any]]) -> dict[str, Any]:
    if part["type"] != "call":
        return part
    outcome = outcomes.get(part["id"], {"value": None, "error": False})
    if outcome["error"]:
        value = outcome["value"]
        return {**part, "error": value if isinstance(value, str) else json.dumps(value)}
    return {**part, "output": outcome["value"]}
