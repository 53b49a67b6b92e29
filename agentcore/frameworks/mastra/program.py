"""The programs of the processors' format (`program.schema.json`); how others are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from agentcore.kit.program import program_to_line
from agentcore.kit.schemas import Explanation, ProgramSchema, Schema

__all__ = ["check", "to_line", "trace_problem"]

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
