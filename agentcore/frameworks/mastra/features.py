"""What random programs of processors contain, counted: a generator is worth what it reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from agentcore.frameworks.mastra.program import every_op, made_messages
from agentcore.frameworks.mastra.programs import random_program
from agentcore.kit.choices import RandomChoices
from agentcore.kit.features import ChoicePoints, count_features
from agentcore.messages.schema import schema

__all__ = ["FEATURES", "features", "statistics"]

Json: TypeAlias = dict[str, Any]
_POINTS: Final = ChoicePoints(
    schema("program", "agentcore.frameworks.mastra"),
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
