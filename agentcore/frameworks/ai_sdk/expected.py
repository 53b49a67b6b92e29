"""What a run is expected to make, by the plain rules: rough, for all it does is aim random writes."""

from __future__ import annotations

from typing import Any

__all__ = ["approved", "content", "prompt", "response", "shortcuts"]

Json = dict[str, Any]


def _executed(call: Json, tools: Json) -> bool:
    tool = tools.get(call["toolName"])
    return tool is not None and not tool.get("noExecute") and not tool.get("needsApproval")


def content(parts: list[Json], tools: Json) -> list[Json]:
    """The content of the step that the model answers with these parts."""
    calls = [part for part in parts if part["type"] == "tool-call" and _executed(part, tools)]
    return [
        *parts,
        *({**call, "type": "tool-result", "output": tools[call["toolName"]]["output"]} for call in calls),
    ]


def shortcuts(content: list[Json]) -> Json:
    """The lists of calls and results that a step result has beside its content."""
    return {
        "toolCalls": [part for part in content if part["type"] == "tool-call"],
        "toolResults": [part for part in content if part["type"] == "tool-result"],
    }


def _renamed(part: Json) -> Json:
    """A generated part as messages have it."""
    part = {"providerOptions" if key == "providerMetadata" else key: value for key, value in part.items()}
    if "result" in part:
        part["output"] = {"type": "json", "value": part.pop("result")}
    return part


def approved(messages: list[Json]) -> list[Json]:
    """The tool message that answers the approvals in which a history ends."""
    answers = messages[-1]["content"] if messages[-1]["role"] == "tool" else []
    asked = sum(part["type"] == "tool-approval-response" for part in answers)
    result = {"type": "tool-result", "output": {"type": "json", "value": {"a": "x"}}}
    return [{"role": "tool", "content": [result] * asked}] if asked else []


def response(parts: list[Json], tools: Json) -> list[Json]:
    """The messages that the step adds."""
    kinds = ("reasoning", "tool-call", "tool-result")
    said = [_renamed(part) for part in parts if part["type"] in kinds or part.get("text")]
    results = [
        {
            "type": "tool-result",
            "toolCallId": part["toolCallId"],
            "toolName": part["toolName"],
            "output": {"type": "json", "value": tools[part["toolName"]]["output"]},
        }
        for part in parts
        if part["type"] == "tool-call" and _executed(part, tools)
    ]
    made: list[Json] = [{"role": "assistant", "content": said}] if said else []
    return [*made, {"role": "tool", "content": results}] if results else made


def prompt(system: Any, messages: list[Json]) -> list[Json]:
    """The prompt that the messages become."""
    prompt: list[Json] = []
    if isinstance(system, str):
        prompt.append({"role": "system", "content": system})
    for message in messages:
        content = message.get("content", "")
        if isinstance(content, str) and message["role"] != "system":
            prompt.append({**message, "content": [{"type": "text", "text": content}]})
        else:
            prompt.append(message)
    return prompt
