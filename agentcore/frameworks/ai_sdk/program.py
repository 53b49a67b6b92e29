"""The programs of the AI SDK's format (`program.schema.json`), and what is wrong with one that breaks it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from agentcore.kit.program import Explanation, ProgramSchema, Schema, program_to_line
from agentcore.messages.schema import schema

__all__ = ["PATHS", "check", "path_of", "to_line", "trace_problem"]

_PACKAGE: Final = "agentcore.frameworks.ai_sdk"

PATHS: Final = ("stream", "generate")
_FIELDS: Final = (
    *("id", "path", "frozen", "messages", "system", "model", "options"),
    *("tools", "maxSteps", "script", "hooks"),
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


def path_of(profile: str) -> str | None:
    """The path of the programs of a profile; None where it is either."""
    path = profile.rpartition("/")[2]
    return path if path in PATHS else None


# --- what to say of what is wrong ---------------------------------------------------------------------------

_VERBS: Final = {
    verb: verb for verb in ("set", "append", "clear", "delete", "return", "keep", "freeze", "throw")
}
_STAGES: Final = {
    "keepRoles": "keepRoles",
    "dropRoles": "dropRoles",
    "replace": "replaceStage",
    "append": "appendStage",
    "prepend": "prependStage",
    "slice": "sliceStage",
    "literal": "literalStage",
}
_PARTS: Final = {
    "text": "textPart",
    "reasoning": "textPart",
    "tool-call": "toolCallPart",
    "tool-result": "toolResultPart",
    "source": "sourcePart",
}


def _choice(schema_path: Sequence[str], value: Any) -> Explanation:
    """What is wrong with a value that is none of several things, told of the one it was meant to be."""
    kind = schema_path[-2]
    if kind == "stage":
        return _named(value, _STAGES, "a stage is copy, clone, or an object with one of: ")
    if kind == "part":
        return _typed(value)
    if kind == "op" or schema_path[-3:] == ["items", "items", "anyOf"]:
        if kind == "op" and isinstance(value, dict) and "return" in value:
            return "", "only prepareStep has return; drop it, or move the op there"
        return _named(value, _VERBS, "an op is an object with one verb of: ")
    if kind == "tool":
        return (
            "",
            "a tool has an output, unless it has error, noExecute or needsApproval, or returns its input",
        )
    return (
        "",
        "a path is a list of field names, and indexes that are whole numbers; __proto__ is not one of them",
    )


def _named(value: Any, known: dict[str, str], what: str) -> Explanation:
    name = next((name for name in known if isinstance(value, dict) and name in value), None)
    return ("", what + ", ".join(known)) if name is None else _SCHEMA.explain(known[name], value)


def _typed(value: Any) -> Explanation:
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in _PARTS:
        return "", "a part of the script is an object whose type is one of: " + ", ".join(_PARTS)
    return _SCHEMA.explain(_PARTS[kind], value)


_RESERVED: Final = ", ".join(schema("program", _PACKAGE)["$defs"]["options"]["propertyNames"]["not"]["enum"])
_SCHEMA: Final = ProgramSchema(
    "program",
    _PACKAGE,
    choice=_choice,
    reasons={
        "propertyNames": (
            f"no option may be any of {_RESERVED}: those have their own places in a program, or none"
        ),
        "dependentSchemas": "an object with $ref or $clone has no other field; drop the others",
    },
)
