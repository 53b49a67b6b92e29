"""The programs of the processors' format (`program.schema.json`): how others are refused, and what each has.

What random programs contain is counted: a generator is worth what it reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from agentcore.frameworks.mastra.programs import random_program
from agentcore.kit.choices import ChoicePoints, RandomChoices, count_features
from agentcore.kit.program import Explanation, ProgramSchema, Schema, program_to_line, schema

__all__ = [
    "FEATURES",
    "check",
    "every_op",
    "features",
    "is_well_formed",
    "made_messages",
    "statistics",
    "to_line",
    "trace_problem",
]

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
    """Returns the place and the fault of a malformed trace; None if it fits the format."""
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
# Of definitions that are a choice by themselves, what to print where none of the choices was made.
_REASONS: Final = {
    "set": _NO_VALUE,
    "push": _NO_VALUE,
    "item": _NO_VALUE,
    "message": "has neither text nor content; add one of them",
    "createdAt": "is after, before, same, omit or a moment such as 2000-01-01T00:00:00Z, its day at most 28",
    "ids": "is all, or a list of ids",
}


def _choice(schema_path: Sequence[str], value: Any) -> Explanation:
    """Explains why a value fits no alternative of a schema, for the alternative that it resembles most."""
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
# becomes of a message without a role, or of a text that is a number, is reported by the first function that
# stumbles over it, and no two versions stumble alike.

Json: TypeAlias = dict[str, Any]
_PREPARING: Final = ("prepareStep", "defaultPrepareStep")
_CONVERSATION: Final = ("messages", "list")
_ROLES: Final = ("user", "assistant", "system")


def is_well_formed(program: Json) -> bool:
    """True if the caller's messages, and what ops write into messages, are well-formed messages."""
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
        place = op.get("at", [])
        return all(_is_spliced(on, place, item) for item in op.get("items", []))
    return True


def _is_spliced(on: str, place: list[Any], item: Json) -> bool:
    """True if an item may come into the list at a place; into one of messages only messages."""
    if on not in _CONVERSATION or "message" in item:
        return True
    return bool(place) and "value" in item and _fits(on, 0, place[-1:], item["value"])


def _fits(on: str, key: Any, above: list[Any], value: Any) -> bool:
    """True if a value may stand under `key`, which itself stands under the keys `above`."""
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


# --- what programs contain ----------------------------------------------------------------------------------

_POINTS: Final = ChoicePoints(
    schema("program", _PACKAGE),
    {
        "program": "call",
        "program.path": "path",
        "part": "script",
        "tool": "tool",
        "processor": "processors",
        "processor.where": "processors",
        "op": "op",
        "list": "list",
        "list.call": "list",
        "return": "return",
        "which": "return",
        "abort": "abort",
        "messagePipe.pipe[]": "pipe",
        "message": "made",
        "message.createdAt": "made",
    },
    {
        # Counted in more detail below.
        **dict.fromkeys(("call path", "call processors", "call prepareStep", "call defaultPrepareStep")),
        **dict.fromkeys(("processors where", "abort options", "made id", "made createdAt", "made text")),
        "processors ctor": "processors in the constructor",
        # Never drawn.
        **dict.fromkeys(("call timeoutMs", "processors call", "pipe ids", "made content")),
    },
)
_FORMS: Final = (
    *("text", "role and text", "role and parts", "UI", "UI with content", "stored", "stored with a date"),
    *("stored with a mirror", "stored call", "system", "assistant", "call", "result"),
)
_SCRIPT: Final = (
    *("nothing", "several calls", "absent tool"),
    *(f"{count} answers" for count in (1, 2, 3, 4)),
)
_PLACES: Final = (
    *("in the call", "in both", "several", "prepareStep", "defaultPrepareStep"),
    *("step 0", "step 1", "step 2", "step *"),
)
_TARGETS: Final = (
    *("messages", "list", "stash", "systemMessages", "steps", "tools", "providerOptions", "modelSettings"),
    *("toolChoice", "activeTools", "requestContext", "view"),
)
_METHODS: Final = ("input", "response", "memory", "context", "tag")
_RESULTS: Final = (
    *("toolChoice", "activeTools", "providerOptions", "modelSettings", "null", "messages and list"),
    *("model of a version", "old model", "no messages"),
)
_PIPE: Final = ("from current", "from list", "from stash", "no pipe", "specs")
_MADE: Final = ("own id", "no id", "drawn id", "date", "user", "assistant", "system")
_ABORT: Final = ("no reason", "retry", "metadata")

FEATURES: Final[tuple[str, ...]] = (
    *_POINTS.names,
    *(f"form {what}" for what in _FORMS),
    *(f"script {what}" for what in _SCRIPT),
    *(f"processors {what}" for what in _PLACES),
    *(f"on {what}" for what in _TARGETS),
    *(f"list {what}" for what in _METHODS),
    *(f"return {what}" for what in _RESULTS),
    *(f"pipe {what}" for what in _PIPE),
    *(f"made {what}" for what in _MADE),
    *(f"abort {what}" for what in _ABORT),
)
"""The features that programs may have: the schema's choice points, and what no schema says."""

_KNOWN: Final = frozenset(FEATURES)


def statistics(
    count: int, profile: str, *, seed: int = 0, alive: Callable[[Json], bool] | None = None
) -> dict[str, int]:
    """In how many of the programs of so many seeds each feature occurs, those that never do included.

    `alive` says of a program whether it ran as it was meant to; the answers are counted as `alive`.
    """
    seeds = range(seed, seed + count)
    programs = (random_program(RandomChoices(number), f"seed-{number}", profile) for number in seeds)
    return count_features(programs, features, FEATURES, alive=alive)


def features(program: Json) -> set[str]:
    """The features that the program has."""
    found = {
        *_POINTS.of(program),
        *([] if "path" in program else ["path generate"]),
        *(f"form {what}" for message in program.get("messages", []) for what in _of_message(message)),
        *(f"script {what}" for what in _of_script(program)),
        *(f"processors {what}" for what in _of_places(program)),
        *(what for op in every_op(program) for what in _of_op(op)),
    }
    return found & _KNOWN


# --- the call -----------------------------------------------------------------------------------------------


def _of_message(message: Any) -> Iterator[str]:
    if isinstance(message, str):
        yield "text"
        return
    match message:
        case {"role": "system"}:
            yield "system"
        case {"content": {"parts": [*parts]} as content}:
            yield from _of_stored(message, content, parts)
        case {"parts": _, "content": _}:
            yield "UI with content"
        case {"parts": _}:
            yield "UI"
        case {"content": [*parts]}:
            yield from _of_parts(parts)
        case {"content": str()}:
            yield "role and text"
    yield str(message.get("role"))


def _of_stored(message: Json, content: Json, parts: list[Any]) -> Iterator[str]:
    yield "stored"
    if "createdAt" in message:
        yield "stored with a date"
    if "content" in content:
        yield "stored with a mirror"
    if any(part["type"] == "tool-invocation" for part in parts):
        yield "stored call"


def _of_parts(parts: list[Any]) -> Iterator[str]:
    yield "role and parts"
    kinds = {part["type"] for part in parts}
    yield from (name for name, kind in (("call", "tool-call"), ("result", "tool-result")) if kind in kinds)


def _of_script(program: Json) -> Iterator[str]:
    script = program.get("script", [])
    yield f"{len(script)} answers"
    for parts in script:
        if not parts:
            yield "nothing"
        calls = [part["toolName"] for part in parts if part["type"] == "tool-call"]
        if len(calls) > 1:
            yield "several calls"
        if {*calls} - {*program.get("tools", {})}:
            yield "absent tool"


# --- the processors -----------------------------------------------------------------------------------------


def _of_places(program: Json) -> Iterator[str]:
    processors = program.get("processors", [])
    places = {processor.get("where", "call") for processor in processors}
    if "call" in places:
        yield "in the call"
    if len(places) > 1:
        yield "in both"
    if len(processors) > 1:
        yield "several"
    yield from (name for name in ("prepareStep", "defaultPrepareStep") if name in program)
    yield from (f"step {step}" for steps in _steps(program) for step in steps)


def _steps(program: Json) -> Iterator[dict[str, list[Json]]]:
    yield from (processor.get("steps", {}) for processor in program.get("processors", []))
    yield from (program.get(name, {}) for name in ("prepareStep", "defaultPrepareStep"))


def _of_op(op: Json) -> Iterator[str]:
    verb = op["op"]
    if verb in ("set", "append", "delete", "push", "splice", "reverse", "observe"):
        yield f"on {op.get('on', 'messages').partition(':')[0]}"
    yield from (what for spec in made_messages(op) for what in _of_made(spec))
    about = {"list": _of_method, "return": _of_return, "abort": _of_abort}
    if verb in about:
        yield from about[verb](op)
    if "messages" in op:
        yield from _of_expression(op["messages"])


def _of_method(op: Json) -> Iterator[str]:
    yield from (f"list {value}" for value in op.get("args", []) if isinstance(value, str))


def _of_return(op: Json) -> Iterator[str]:
    yield from (f"return {'null' if value is None else field}" for field, value in op.items())
    if {"messages", "messageList"} <= {*op}:
        yield "return messages and list"
    if op.get("messages") == []:
        yield "return no messages"
    match op.get("model"):
        case {"version": "v1"}:
            yield "return old model"
        case {"version": _}:
            yield "return model of a version"


def _of_abort(op: Json) -> Iterator[str]:
    if "reason" not in op:
        yield "abort no reason"
    yield from (f"abort {option}" for option in op.get("options", {}))


def _of_expression(expression: Any) -> Iterator[str]:
    if isinstance(expression, list):
        yield "pipe specs"
        return
    yield f"pipe from {expression['from'].partition(':')[0]}"
    if not expression.get("pipe"):
        yield "pipe no pipe"


def _of_made(spec: Json) -> Iterator[str]:
    yield f"made {spec['role']}"
    yield f"made {'drawn id' if 'id' not in spec else 'no id' if spec['id'] is None else 'own id'}"
    date = spec.get("createdAt", "after")
    yield f"made {'date' if date[0].isdigit() else date}"
