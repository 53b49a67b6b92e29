"""Programs whose messages are messages: what processors are given is what their authors count on.

The format takes any JSON for a message and for a value that an op writes, since the package does. What
becomes of a message without a role, or of a text that is a number, is told by the first function that
stumbles over it, and no two versions stumble alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias

__all__ = ["every_op", "is_well_formed", "made_messages"]

Json: TypeAlias = dict[str, Any]
_PREPARING: Final = ("prepareStep", "defaultPrepareStep")
_CONVERSATION: Final = ("messages", "list")
_ROLES: Final = ("user", "assistant", "system")


def is_well_formed(program: Json) -> bool:
    """Whether the caller's messages, and what ops put into messages, have the forms that messages have."""
    given = [*program.get("messages", []), *program.get("context", [])]
    return (
        all(_is_given(message) for message in given)
        and _calls_are_answered(given)
        and all(_writes_well(op) for op in every_op(program))
        and all(spec["role"] in _ROLES for op in every_op(program) for spec in made_messages(op))
    )


def every_op(program: Json) -> Iterator[Json]:
    """All ops of the program's turns."""
    processors = program.get("processors", [])
    yield from (op for processor in processors for op in processor.get("input", []))
    steps = [processor.get("steps", {}) for processor in processors]
    steps += [program.get(name, {}) for name in _PREPARING]
    yield from (op for by_step in steps for ops in by_step.values() for op in ops)


def made_messages(op: Json) -> Iterator[Json]:
    """The messages that an op makes, as the program describes them."""
    items = [op, *op.get("items", [])]
    yield from (item["message"] for item in items if isinstance(item.get("message"), dict))
    expression = op.get("messages", [])
    if isinstance(expression, list):
        yield from expression
        return
    for stage in expression.get("pipe", []):
        yield from (*stage.get("concat", []), *stage.get("prepend", []))


# --- the caller's messages ----------------------------------------------------------------------------------


def _is_given(message: Any) -> bool:
    match message:
        case str():
            return True
        case {"role": str(), "content": {"format": 2}}:
            return _is_stored(message["content"])
        case {"role": str(), "parts": [*parts]}:
            return bool(parts) and all(_is_part(part) for part in parts)
        case {"role": "tool", "content": [*parts]}:
            return all(_is_result(part) for part in parts)
        case {"role": str(), "content": [*parts]}:
            return bool(parts) and all(_is_part(part) or _is_call(part) for part in parts)
    return isinstance(message.get("content"), str) and "role" in message


def _is_stored(content: Any) -> bool:
    match content:
        case {"format": 2, "parts": [*parts]}:
            return bool(parts) and all(_is_part(part) or _is_invocation(part) for part in parts)
    return False


def _is_part(part: Any) -> bool:
    match part:
        case {"type": "text", "text": str()} | {"type": "step-start"}:
            return True
    return False


def _is_call(part: Any) -> bool:
    match part:
        case {"type": "tool-call", "toolCallId": str(), "toolName": str(), "input": {}}:
            return True
    return False


def _is_result(part: Any) -> bool:
    match part:
        case {
            "type": "tool-result",
            "toolCallId": str(),
            "toolName": str(),
            "output": {"type": "json", "value": _},
        }:
            return True
    return False


def _is_invocation(part: Any) -> bool:
    match part:
        case {
            "type": "tool-invocation",
            "toolInvocation": {"state": "result", "args": {}, "result": _, **names},
        }:
            return {"toolCallId", "toolName"} <= {*names}
    return False


def _calls_are_answered(messages: list[Any]) -> bool:
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    asked = {part["toolCallId"] for part in parts if part["type"] == "tool-call"}
    return asked == {part["toolCallId"] for part in parts if part["type"] == "tool-result"}


# --- what ops write -----------------------------------------------------------------------------------------


def _writes_well(op: Json) -> bool:
    on = op.get("on", "messages").partition(":")[0]
    if op["op"] == "set" and "value" in op:
        return _fits(on, op["at"][-1], op["at"][-2:-1], op["value"])
    if op["op"] == "push" and "value" in op:
        place = op.get("at", [])
        return _fits(on, 0, place[-1:], op["value"])
    if op["op"] == "splice":
        return on not in _CONVERSATION or all("message" in item for item in op.get("items", []))
    return True


def _fits(on: str, key: Any, above: list[Any], value: Any) -> bool:
    """Whether a value may stand under a key of something that stands under the key above."""
    if key in ("text", "toolName", "description", "extra"):
        return isinstance(value, str)
    if above == ["parts"]:
        return _is_part(value)
    if on == "systemMessages":
        return isinstance(value, str) if key == "content" else _is_system(value)
    if on in _CONVERSATION:
        return _is_written_to_a_message(key, above, value)
    return on != "steps" or isinstance(value, dict)


def _is_written_to_a_message(key: Any, above: list[Any], value: Any) -> bool:
    if key == "role":
        return value in _ROLES
    if key == "content":
        return isinstance(value, str) if above == ["content"] else _is_stored(value)
    return bool(above)


def _is_system(value: Any) -> bool:
    match value:
        case {"role": "system", "content": str()}:
            return True
    return False
