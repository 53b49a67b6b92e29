"""Messages and tools of pydantic-ai, made of the neutral conversation."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_ai import ModelRetry, RunContext, Tool
from pydantic_ai import messages as m

from agentcore.live.adapter import Entry
from agentcore.live.conversations import Conversation, fresh, tools

__all__ = ["entries_of", "history_of", "response", "tools_of", "user_content"]


def user_content(message: Mapping[str, Any]) -> list[Any]:
    """Returns the content of a user's message."""
    return [
        part["text"]
        if part["type"] == "text"
        else m.BinaryContent(data=base64.b64decode(part["data"]), media_type=part["mediaType"])
        for part in message["parts"]
    ]


def response(answer: Mapping[str, Any]) -> m.ModelResponse:
    """Returns the response of a scripted answer."""
    made: list[Any] = []
    for part in answer["parts"]:
        if part["type"] == "text":
            made.append(m.TextPart(part["text"]))
        elif part["type"] == "reasoning":
            made.append(m.ThinkingPart(part["text"]))
        else:
            made.append(m.ToolCallPart(part["tool"], dict(part["input"]), part["id"]))
    return m.ModelResponse(parts=made)


def _returned(call: Mapping[str, Any]) -> Any:
    refused = call.get("error", call.get("denied"))
    if refused is not None:
        return m.RetryPromptPart(content=refused, tool_name=call["tool"], tool_call_id=call["id"])
    return m.ToolReturnPart(tool_name=call["tool"], content=call["output"], tool_call_id=call["id"])


def history_of(messages: Sequence[Mapping[str, Any]]) -> list[m.ModelMessage]:
    """Returns the caller's messages, the returns of tools included."""
    made: list[m.ModelMessage] = []
    for message in messages:
        if message["role"] == "user":
            made.append(m.ModelRequest(parts=[m.UserPromptPart(user_content(message))]))
            continue
        made.append(response(message))
        results = [_returned(part) for part in message["parts"] if part["type"] == "call"]
        if results:
            made.append(m.ModelRequest(parts=results))
    return made


def entries_of(message: Any) -> list[Entry]:
    """Returns what the rules about prompts need of a message."""
    made = []
    for part in message.parts:
        kind, text = part.part_kind, str(getattr(part, "content", None) or "")
        if kind == "tool-call":
            made.append(Entry("assistant", part.args_as_json_str(), calls=(part.tool_call_id,)))
        elif kind == "tool-return" or (kind == "retry-prompt" and part.tool_name):
            made.append(Entry("tool", text, results=(part.tool_call_id,)))
        else:
            role = {"user-prompt": "user", "system-prompt": "system"}.get(kind)
            made.append(Entry(role or ("user" if message.kind == "request" else "assistant"), text))
    return made


def tools_of(of: Conversation) -> list[Tool[Any]]:
    """Returns one tool of each name; a call finds its outcome by its id."""
    calls = tools(of)

    def execute(ctx: RunContext[Any], **_: Any) -> Any:
        call = calls[ctx.tool_call_id or ""]
        refused = call.get("error", call.get("denied"))
        if refused is not None:
            raise ModelRetry(refused)
        return fresh(call["output"])

    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    names = sorted({call["tool"] for call in calls.values()})
    return [Tool.from_schema(execute, name, f"The tool {name}.", schema, takes_ctx=True) for name in names]
