"""What random programs contain, counted: a generator is worth what it reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from agentcore.frameworks.ai_sdk.programs import random_programs
from agentcore.kit.features import ChoicePoints, count_features
from agentcore.messages.schema import schema

__all__ = ["FEATURES", "features", "statistics"]

Json = dict[str, Any]
_POINTS: Final = ChoicePoints(
    schema("program", "agentcore.frameworks.ai_sdk"),
    {
        "program": "call",
        "program.path": "path",
        "hooks": "hook",
        "op": "op",
        "hooks.prepareStep[][]": "op",
        "stage": "stage",
        "return": "stage",
        "return.return": "override",
        "tool": "tool",
        "tool.returns": "tool",
        "part": "script",
        "textPart": "script",
        "toolCallPart": "script",
        "toolResultPart": "script",
        "sourcePart": "script",
    },
    {
        # Counted in more detail below, or what almost every program has.
        **dict.fromkeys(("call hooks", "call options", "call system", "call tools")),
        **dict.fromkeys(("tool output", "tool returns")),
        "script providerExecuted": "script provider-executed",
        "stage keep": "stage kept",
        # Never drawn.
        "script title": None,
    },
)
_ROLES: Final = ("system", "user", "assistant", "tool")
_OVERRIDES: Final = ("system", "activeTools", "toolChoice", "providerOptions", "experimental_context")
_OUTPUTS: Final = ("text", "json", "content", "error-text", "error-json", "execution-denied", "with media")
_HISTORY: Final = (
    *("text", "reasoning", "image", "file", "tool-call", "tool-result"),
    *("tool-approval-request", "tool-approval-response", "approved", "denied", "reason", "provider options"),
    *("system", "user string", "assistant string", "invalid", "nothing"),
)
_SCRIPT: Final = (
    *("empty text", "empty answer", "absent tool", "repeated id"),
    *(f"{count} calls" for count in (1, 2, 3)),
    *(f"{count} steps" for count in (1, 2, 3, 4, 5, 6)),
)
_WRITES: Final = (
    *(
        "message list",
        "message content",
        "content list",
        "part text",
        "providerOptions",
        "nested providerOptions",
    ),
    *("input", "nested input", "array in input", "output", "output value", "nested output value", "steps"),
    *(
        "experimental_context",
        "$caller",
        "$kept",
        "array $caller",
        "array $kept",
        "value $ref",
        "value $clone",
        "nowhere",
    ),
)
_CALL: Final = (
    *("system text", "system message", "system list"),
    *("experimental_context", "providerOptions", "activeTools", "toolChoice"),
)

FEATURES: Final[tuple[str, ...]] = (
    *_POINTS.names,
    *(f"stage {stage}" for stage in ("two stages", "null", "empty")),
    *(f"override {field}" for field in _OVERRIDES),
    "override with null",
    *(f"history {what}" for what in _HISTORY),
    *(f"output {kind}" for kind in _OUTPUTS),
    *(f"script {what}" for what in _SCRIPT),
    *(f"write {what}" for what in _WRITES),
    *(f"call {what}" for what in _CALL),
)
"""The features that programs may have: the schema's choice points, and what no schema says."""

_KNOWN: Final = frozenset(FEATURES)


def statistics(
    count: int,
    seed: int = 0,
    *,
    path: str | None = None,
    alive: Callable[[Json], bool] | None = None,
) -> dict[str, int]:
    """In how many of the programs of so many seeds each feature occurs, those that never do included.

    `alive` says of a program whether it ran as it was meant to; the answers are counted as `alive`.
    """
    programs = random_programs(range(seed, seed + count), path)
    return count_features(programs, features, FEATURES, alive=alive)


def features(program: Json) -> set[str]:
    """The features that the program has."""
    found = {
        *_POINTS.of(program),
        *(f"history {what}" for what in _of_history(program["messages"])),
        *(f"output {what}" for what in _of_outputs(program["messages"])),
        *(f"script {what}" for what in _of_script(program)),
        *("tool fresh" for tool in program.get("tools", {}).values() if "returns" not in tool),
        *(f"call {what}" for what in _of_call(program)),
        *_of_hooks(program),
    }
    return found & _KNOWN


def _parts(messages: list[Any]) -> Iterator[Json]:
    for message in messages:
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, list):
            yield from (part for part in content if isinstance(part, dict))


def _of_history(messages: list[Any]) -> Iterator[str]:
    if not messages:
        yield "nothing"
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in _ROLES or "content" not in message:
            yield "invalid"
            continue
        if role == "system":
            yield "system"
        if isinstance(message["content"], str):
            yield f"{role} string"
    for part in _parts(messages):
        yield str(part.get("type"))
        if "providerOptions" in part:
            yield "provider options"
        if "approved" in part:
            yield "approved" if part["approved"] else "denied"
        if "reason" in part:
            yield "reason"


def _of_outputs(messages: list[Any]) -> Iterator[str]:
    for part in _parts(messages):
        match part.get("output"):
            case {"type": str(kind), **rest}:
                yield kind
                if kind == "content" and "media" in str(rest):
                    yield "with media"


def _of_script(program: Json) -> Iterator[str]:
    script = program["script"]
    yield f"{len(script)} steps"
    ids: list[str] = []
    for step in script:
        if not step:
            yield "empty answer"
        calls = [part for part in step if part["type"] == "tool-call" and not part.get("providerExecuted")]
        ids += [part["toolCallId"] for part in calls]
        yield f"{len(calls)} calls"
        for part in step:
            yield from _of_part(part, program.get("tools", {}))
    if len(set(ids)) < len(ids):
        yield "repeated id"


def _of_part(part: Json, tools: Json) -> Iterator[str]:
    if part.get("text") == "":
        yield "empty text"
    if part["type"] == "tool-call" and not part.get("providerExecuted") and part["toolName"] not in tools:
        yield "absent tool"


def _of_call(program: Json) -> Iterator[str]:
    if "system" in program:
        kinds: dict[type, str] = {str: "text", dict: "message", list: "list"}
        yield f"system {kinds[type(program['system'])]}"
    yield from program.get("options", {})


def _of_hooks(program: Json) -> Iterator[str]:
    for entries in program.get("hooks", {}).values():
        for op in (op for ops in entries for op in ops or ()):
            verb = next((verb for verb in ("return", "set", "append", "clear", "delete") if verb in op), "")
            if verb == "return":
                yield from _of_return(op)
            elif verb:
                yield from (f"write {what}" for what in _of_write(op[verb], op.get("to", op.get("with"))))


def _of_return(op: Json) -> Iterator[str]:
    result = op["return"]
    if not result:
        yield "stage null" if result is None else "stage empty"
        return
    for field, value in result.items():
        yield "override with null" if value is None else f"override {field}"
    if len(result.get("messages") or []) > 1:
        yield "stage two stages"


def _of_write(path: list[Any], value: Any) -> Iterator[str]:
    names = [key if isinstance(key, str) else "*" for key in path]
    for what in _of_root(names[0]):
        yield what
        if len(names) == 1 and what.startswith("$"):
            yield f"array {what}"
    yield from _of_list(names)
    for field, what in (
        ("providerOptions", "providerOptions"),
        ("input", "input"),
        ("value", "output value"),
    ):
        if field in names:
            yield what if names[-1] == field else f"nested {what}"
    if names[-1] == "output":
        yield "output"
    if {"nothing", "where", "$nobody"} & {*names}:
        yield "nowhere"
    if isinstance(value, dict):
        yield from (f"value {key}" for key in value if key.startswith("$"))


def _of_list(names: list[str]) -> Iterator[str]:
    last, above = names[-1], "*" if len(names) == 1 else names[-2]
    if last in ("messages", "prompt") or (last == "*" and above in ("messages", "prompt")):
        yield "message list"
    if last == "content":
        yield "message content"
    if last == "*" and above == "content":
        yield "content list"
    if last == "text" and "content" in names:
        yield "part text"
    if last == "*" and "input" in names:
        yield "array in input"


def _of_root(root: str) -> Iterator[str]:
    if root in ("steps", "experimental_context", "$caller"):
        yield root
    elif root.startswith("$k"):
        yield "$kept"
