"""The programs of the AI SDK's format (`program.schema.json`): what is wrong with one, and what it contains.

What random programs contain is counted: a generator is worth what it reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from agentcore.frameworks.ai_sdk.programs import random_programs
from agentcore.kit.choices import ChoicePoints, count_features
from agentcore.kit.program import Explanation, ProgramSchema, Schema, program_to_line, schema

__all__ = ["FEATURES", "PATHS", "check", "features", "path_of", "statistics", "to_line", "trace_problem"]

_PACKAGE: Final = "agentcore.frameworks.ai_sdk"

Json = dict[str, Any]

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
    """Returns the place and the fault of a malformed trace; None if it fits the format."""
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
    """Explains why a value fits no alternative of a schema, for the alternative that it resembles most."""
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


# --- what programs contain ----------------------------------------------------------------------------------

_POINTS: Final = ChoicePoints(
    schema("program", _PACKAGE),
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
