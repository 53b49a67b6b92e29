"""The programs of the processors' format (`program.schema.json`); how others are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from agentcore.kit.program import Explanation, ProgramSchema, Schema, program_to_line

__all__ = ["check", "every_op", "is_well_formed", "made_messages", "to_line", "trace_problem"]

_PACKAGE: Final = "agentcore.frameworks.mastra"

_FIELDS: Final = (
    *("id", "path", "system", "callSystem", "messages", "context", "script", "tools", "processors"),
    *("emptyCallProcessors", "prepareStep", "defaultPrepareStep", "providerOptions", "modelSettings"),
    *("toolChoice", "activeTools", "requestContext", "maxSteps", "maxRetries", "fallbackModels", "timeoutMs"),
)


def to_line(program: Mapping[str, Any]) -> str:
    """The program's line, its top-level fields in the order of the format."""
    return program_to_line(program, _FIELDS)


def check(program: dict[str, Any]) -> None:
    """Raises BadProgram unless plain JSON is a program of the format."""
    _SCHEMA.check(program)


@cache
def _trace_schema() -> Schema:
    return Schema("trace", _PACKAGE)


def trace_problem(trace: dict[str, Any]) -> Explanation | None:
    """Where something is wrong with a trace, and what; None if it is as the format has it."""
    return _trace_schema().problem(trace)


# --- what to say of what is wrong ---------------------------------------------------------------------------

_OPS: Final = {
    name: name
    for name in (
        *("set", "append", "delete", "push", "splice", "reverse", "stash", "observe", "list"),
        *("return", "returnMessages", "returnList", "returnValue", "returnArgs", "abort", "throw"),
    )
}
_PARTS: Final = {
    "text": "textPart",
    "reasoning": "textPart",
    "tool-call": "toolCallPart",
    "throw": "throwPart",
}
_NO_VALUE: Final = "has neither value nor message; say what is put there"
# Of definitions that are a choice by themselves, what is said where none of the choices was made.
_REASONS: Final = {
    "set": _NO_VALUE,
    "push": _NO_VALUE,
    "item": _NO_VALUE,
    "message": "has neither text nor content; add one of them",
    "createdAt": "is after, before, same, omit or a moment such as 2000-01-01T00:00:00Z, its day at most 28",
    "ids": "is all, or a list of ids",
}


def _choice(schema_path: Sequence[str], value: Any) -> Explanation:
    """What is wrong with a value that is none of several things, told of the one it was meant to be."""
    kind = schema_path[-2]
    if kind == "op":
        return _named(value, "op", _OPS, "an op is an object whose op is one of: ")
    if kind == "part":
        return _named(value, "type", _PARTS, "a part of the script is an object whose type is one of: ")
    if kind == "messages":
        return _either(value, "messageSpecs", "messagePipe")
    if kind == "systemMessages":
        return _either(value, "systems", "systemPipe")
    if kind == "model":
        return _model(value)
    return "", _REASONS.get(
        kind, "a path is a list of keys, and indexes that are whole numbers; no __proto__"
    )


def _named(value: Any, field: str, known: Mapping[str, str], what: str) -> Explanation:
    name = value.get(field) if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in known:
        return "", what + ", ".join(known)
    return _SCHEMA.explain(known[name], value)


def _either(value: Any, of_list: str, of_object: str) -> Explanation:
    return _SCHEMA.explain(of_list if isinstance(value, list) else of_object, value)


def _model(value: Any) -> Explanation:
    if not isinstance(value, dict):
        return "", "a model is a name, {version, id} or {router}"
    return _SCHEMA.explain("routedModel" if "router" in value else "versionedModel", value)


_SCHEMA: Final = ProgramSchema(
    "program",
    _PACKAGE,
    choice=_choice,
    reasons={
        "propertyNames": "steps are named by their numbers, from 0 to 99, and * names every other one",
        "date": "a moment is written 2000-01-01T00:00:00Z, its day at most 28",
        "minItems": "is empty; name at least one thing",
        "minProperties": "a pipe item has one key, and this has none",
        "maxProperties": "a pipe item has one key; make items of the others",
        "from": "is current, list, empty, or stash: and a name",
    },
)


# Programs whose messages are messages: what processors are given is what their authors count on.
#
# The format takes any JSON for a message and for a value that an op writes, since the package does. What
# becomes of a message without a role, or of a text that is a number, is told by the first function that
# stumbles over it, and no two versions stumble alike.

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
