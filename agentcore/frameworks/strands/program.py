"""Programs of the middleware format (`program.schema.json`): what is wrong with one, and what it contains.

What random programs contain is counted: a generator is worth what it reaches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.emulation.settings import InvalidOutputError, StructuredOutput
from agentcore.frameworks.strands.profiles import StrandsProfile
from agentcore.frameworks.strands.programs import Traits, random_program
from agentcore.kit.choices import ChoicePoints, RandomChoices, count_features
from agentcore.kit.program import (
    BadProgram,
    Explanation,
    ProgramSchema,
    Schema,
    id_of,
    program_to_line,
    schema,
)

__all__ = [
    "ACTIONS",
    "FEATURES",
    "STAGES",
    "check",
    "feature_names",
    "features",
    "handlers_of",
    "phase_of",
    "stage_of",
    "statistics",
    "structured_output",
    "to_line",
    "trace_problem",
]

_PACKAGE: Final = "agentcore.frameworks.strands"

Json: TypeAlias = dict[str, Any]

ACTIONS: Final = ("set", "append", "insert", "delete")
STAGES: Final = {"InvokeModelStage": "model", "ExecuteToolStage": "tool", "AgentStreamStage": "stream"}
"""The stages' names in the SDK, and their short ones."""

_FIELDS: Final = (
    *("id", "system", "messages", "messagesForm", "input", "inputs", "inputForm", "script", "tools"),
    *("middleware", "hooks", "invocationState", "options", "modelState", "executor", "structuredOutput"),
    "timeoutMs",
)


def to_line(program: Mapping[str, Any]) -> str:
    """The program's line, its top-level fields in the order of the format."""
    return program_to_line(program, _FIELDS)


def check(program: Json) -> None:
    """Raises BadProgram unless plain JSON is a program of the format."""
    _SCHEMA.check(program)
    for path, place, op in _ops(program):
        reason = _misplaced(place, op)
        if reason:
            raise BadProgram(reason, path, id_of(program))


@cache
def _trace_schema() -> Schema:
    return Schema("trace", _PACKAGE)


def trace_problem(trace: dict[str, Any]) -> Explanation | None:
    """Returns the place and the fault of a malformed trace; None if it fits the format."""
    return _trace_schema().problem(trace)


def stage_of(handler: Json) -> str:
    """The short name of the stage: model, tool or stream."""
    stage: str = handler["stage"]
    return STAGES.get(stage, stage)


def phase_of(handler: Json) -> str:
    """input, wrap or output."""
    phase: str = handler.get("phase", "wrap")
    return phase


def handlers_of(program: Json) -> Iterator[tuple[str, str, list[Json]]]:
    """All that has ops: where it stands in the program, a phase or a hook's name, the ops."""
    for index, handler in enumerate(program.get("middleware", ())):
        yield f"$.middleware[{index}]", phase_of(handler), handler.get("ops", [])
    for index, hook in enumerate(program.get("hooks", ())):
        yield f"$.hooks[{index}]", hook["on"], hook.get("ops", [])


# --- which op may stand where -------------------------------------------------------------------------------

_PHASES: Final = ("input", "wrap", "output")
_WITH_CONTEXT: Final = frozenset({"input", "wrap"})
_CANCELLED: Final = frozenset({"beforeInvocation", "beforeModel", "beforeTools", "beforeTool"})
_RETRIED: Final = frozenset({"afterModel", "afterTool"})
_HOOKS: Final = frozenset(
    {
        *("beforeInvocation", "afterInvocation", "messageAdded", "beforeModel", "afterModel", "beforeTools"),
        *("afterTools", "beforeTool", "afterTool", "modelDelta", "contentBlock"),
    }
)
_PLACES: Final = {
    "with": frozenset(_PHASES),
    "identity": _PHASES,
    "next": frozenset({"wrap"}),
    "shortCircuit": frozenset({"wrap"}),
    "stop": frozenset({"wrap"}),
    "setModelStateViaContext": _WITH_CONTEXT,
    "setInvocationState": _WITH_CONTEXT | _HOOKS,
    "retry": _RETRIED,
    "cancel": _CANCELLED,
}
_EVERYWHERE: Final = _HOOKS.union(_PHASES)


def _ops(program: Json) -> Iterator[tuple[str, str, Json]]:
    for path, place, ops in handlers_of(program):
        for index, op in enumerate(ops):
            yield f"{path}.ops[{index}]", place, op


def _misplaced(place: str, op: Json) -> str | None:
    allowed = _PLACES.get(op["op"], _EVERYWHERE)
    if place not in allowed:
        return f"{op['op']} has no meaning in {place}; it may stand in {', '.join(sorted(allowed))}"
    if op.get("on") == "result" and place not in {"wrap", "output"}:
        return f"there is no result in {place}; drop `on`, or move the op to a wrap or output handler"
    return None


# --- what to say of what is wrong ---------------------------------------------------------------------------

_EDITS: Final = ACTIONS
_OPS: Final = (
    *_EDITS,
    *("with", "next", "shortCircuit", "throw", "stop", "setModelState", "deleteModelState"),
    *("setModelStateViaContext", "setInvocationState", "observe", "observeModelState", "observeAgent"),
    *("identity", "retry", "cancel"),
)


def _choice(schema_path: Sequence[str], value: Any) -> Explanation:
    """Explains why a value fits no alternative of a schema, for the alternative that it resembles most."""
    if schema_path[-2] not in {"op", "edit"}:
        return "", "a key of a path is a text other than __proto__, or a whole number"
    known = _OPS if schema_path[-2] == "op" else _EDITS
    name = value.get("op") if isinstance(value, dict) else None
    if not isinstance(name, str) or name not in known:
        return "", f"an op is an object whose `op` is one of: {', '.join(known)}"
    return _SCHEMA.explain(name, value)


_SCHEMA: Final = ProgramSchema(
    "program",
    _PACKAGE,
    choice=_choice,
    reasons={
        "stateKey": (
            "no key may be agent, model, messages, system_prompt, tool_config, request_state or begin "
            "with event_loop_: there the Python SDK keeps things of its own"
        ),
        "propertyNames": (
            "has a key that means something else: no option is invocationState, structuredOutputSchema, "
            "cancelSignal or limits, and a tool's name is 1 to 64 letters, digits, _ and -, "
            "but not strands_structured_output"
        ),
        "minProperties": "a block has exactly one kind; name it",
        "maxProperties": "a block has exactly one kind; make it several blocks",
    },
)


# The structured output of programs, `{name: text}`, and what the SDKs' validators say of anything else.

_NAME: Final = "strands_structured_output"
_SHOWN: Final = 50


def structured_output(profile: StrandsProfile) -> StructuredOutput:
    """The structured output as the SDK's own kind of schema describes and validates it."""
    if profile.has_classes:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"],
            "additionalProperties": False,
        }
        return StructuredOutput(name=_NAME, input_schema=schema, validate=_zod)
    schema = {
        "type": "object",
        "properties": {"name": {"title": "Name", "type": "string"}},
        "required": ["name"],
        "title": _NAME,
    }
    described = f"{_NAME} structured output tool"
    return StructuredOutput(name=_NAME, description=described, input_schema=schema, validate=_pydantic)


# --- zod ----------------------------------------------------------------------------------------------------


def _zod(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidOutputError(_issue("object", [], _kind(value)))
    name = value.get("name")
    if not isinstance(name, str):
        raise InvalidOutputError(_issue("string", ["name"], _kind(name) if "name" in value else "undefined"))
    return {"name": name}


def _issue(expected: str, path: list[str], received: str) -> str:
    message = f"Invalid input: expected {expected}, received {received}"
    issue = {"expected": expected, "code": "invalid_type", "path": path, "message": message}
    return json.dumps([issue], indent=2)


def _kind(value: Any) -> str:
    kinds = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


# --- pydantic -----------------------------------------------------------------------------------------------


def _pydantic(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        # The class of the driver, as the interpreter names it.
        wrong = f"run.{_NAME}() argument after ** must be a mapping, not {type(value).__name__}"
        raise InvalidOutputError(f"Unexpected error validating {_NAME}: {wrong}")
    if "name" not in value:
        raise _invalid("Field required", "missing", value)
    if not isinstance(value["name"], str):
        raise _invalid("Input should be a valid string", "string_type", value["name"])
    return {"name": value["name"]}


def _invalid(message: str, kind: str, value: Any) -> InvalidOutputError:
    told = f"Validation failed for {_NAME}. Please fix the following errors:\n- Field 'name': {message}"
    shown = repr(value)
    if len(shown) > _SHOWN:
        shown = f"{shown[: _SHOWN // 2]}...{shown[1 - _SHOWN // 2 :]}"
    details = (
        f"1 validation error for {_NAME}\nname\n  {message} "
        f"[type={kind}, input_value={shown}, input_type={type(value).__name__}]\n"
        f"    For further information visit https://errors.pydantic.dev/2.14/v/{kind}"
    )
    return InvalidOutputError(told, details)


# --- what programs contain ----------------------------------------------------------------------------------

_POINTS: Final = ChoicePoints(
    schema("program", _PACKAGE),
    {
        "program": "program",
        "message": "program",
        "systemBlock": "system",
        "entry": "script",
        "spokenBlock": "script",
        "tool": "tool",
        "hook.on": "hook",
        "op": "op",
        "with.action": "with",
        "next": "next",
        "next.ctx": "next",
        "next.events": "next",
    },
    {
        # Counted in more detail below, or what almost every program has.
        **{f"program {field}": None for field in ("system", "messages", "input", "script", "tools")},
        **dict.fromkeys(("program middleware", "program hooks", "script blocks", "script toolUse")),
        **dict.fromkeys(("tool output", "next ctx", "next events", "next when")),
        "program messagesForm": "form messages",
        "program inputForm": "form inputs",
        # Never drawn.
        **dict.fromkeys(("program timeoutMs", "next current", "next pass")),
    },
)
_KINDS: Final = ("text", "toolUse", "toolResult", "reasoning", "cachePoint", "json")
_STAGES: Final = ("model", "tool", "stream")
_EDITED: Final = {
    "context": ("messages", "system", "toolSpecs", "toolChoice", "toolUse", "args", "invocationState"),
    "result": ("message", "stopReason", "toolResult", "lastMessage"),
    "agent": ("messages", "system", "toolSpecs"),
    "event": ("message", "toolUse", "toolResult", "invocationState"),
}
_TYPESCRIPT: Final = (
    *("form messages", "form inputs", "program options", "hook modelDelta", "hook contentBlock"),
    *("edit event block", "edit context options"),
)

_ON_CONTEXT: Final = ("op setModelStateViaContext",)

_COMMON: Final = (
    *(name for name in _POINTS.names if name not in {*_TYPESCRIPT, *_ON_CONTEXT}),
    *(f"history {kind}" for kind in _KINDS),
    *("system list", "system empty", "input text", "input messages", "input blocks", "input empty"),
    *("script absent tool", "script repeated id", "script blank text"),
    *(f"script {count} tools" for count in (1, 2, 3)),
    *("output text", "output content", "output json", "output error"),
    *(f"handler {stage}.{phase}" for stage in _STAGES for phase in _PHASES),
    *("next twice", "op when", "op when list"),
    *(f"edit {where} {field}" for where, fields in _EDITED.items() for field in fields),
    *("edit whole field", "edit metadata", "edit input", "edit json", "edit astray"),
)

FEATURES: Final[tuple[str, ...]] = (*_COMMON, *_TYPESCRIPT, *_ON_CONTEXT)
"""What programs may have for any of the profiles."""


def feature_names(traits: Traits) -> tuple[str, ...]:
    """The features that programs for a profile of these traits may have."""
    typescript = _TYPESCRIPT if traits.typescript else ()
    return (*_COMMON, *typescript, *(_ON_CONTEXT if traits.state_on_context else ()))


def statistics(
    count: int, traits: Traits, *, seed: int = 0, alive: Callable[[Json], bool] | None = None
) -> dict[str, int]:
    """In how many of the programs of so many seeds each feature occurs, those that never do included.

    `alive` says of a program whether it ran as it was meant to; the answers are counted as `alive`.
    """
    seeds = range(seed, seed + count)
    programs = (random_program(RandomChoices(number), f"seed-{number}", traits) for number in seeds)
    return count_features(programs, features, feature_names(traits), alive=alive)


def features(program: Json) -> set[str]:
    """The features that the program has."""
    return {
        *_POINTS.of(program),
        *_of_program(program),
        *(feature for entry in program.get("script", ()) for feature in _of_entry(entry, program)),
        *(feature for tool in program.get("tools", {}).values() for feature in _of_tool(tool)),
        *_of_handlers(program),
    } & _KNOWN


_KNOWN: Final = frozenset(FEATURES)


# --- what the agent is made with and asked ------------------------------------------------------------------


def _of_program(program: Json) -> Iterator[str]:
    for message in program.get("messages", ()):
        yield from (f"history {kind}" for kind in _kinds(message["content"]))
    yield from _of_system(program.get("system"))
    for given in program.get("inputs", [program.get("input", "go")]):
        yield f"input {_form(given)}"
    ids = [block["toolUse"]["toolUseId"] for block in _uses(program)]
    if any(first == second for first, second in pairwise(sorted(ids))):
        yield "script repeated id"


def _kinds(blocks: list[Json]) -> Iterator[str]:
    for block in blocks:
        yield from block
        yield from _kinds(block.get("toolResult", {}).get("content", []))


def _of_system(system: Any) -> Iterator[str]:
    if isinstance(system, str):
        yield "system text"
    elif system is not None:
        yield "system list" if system else "system empty"


def _form(given: Any) -> str:
    if isinstance(given, str):
        return "text"
    return ("messages" if "role" in given[0] else "blocks") if given else "empty"


def _blocks(entry: Any) -> list[Json]:
    blocks: list[Json] = entry.get("blocks", []) if isinstance(entry, dict) else entry
    return blocks


def _uses(program: Json) -> Iterator[Json]:
    for entry in program.get("script", ()):
        yield from (block for block in _blocks(entry) if "toolUse" in block)


# --- the model and the tools --------------------------------------------------------------------------------


def _of_entry(entry: Any, program: Json) -> Iterator[str]:
    uses = [block["toolUse"] for block in _blocks(entry) if "toolUse" in block]
    yield f"script {len(uses)} tools"
    if any(not block.get("text", "#").strip() for block in _blocks(entry)):
        yield "script blank text"
    if any(use["name"] == "absent" and "absent" not in program.get("tools", {}) for use in uses):
        yield "script absent tool"


def _of_tool(tool: Json) -> Iterator[str]:
    for output in tool.get("outputs", [tool.get("output")]):
        if isinstance(output, dict) and "content" in output:
            yield "output content"
            if output.get("status") == "error":
                yield "output error"
        else:
            yield "output text" if isinstance(output, str) else "output json"


# --- the handlers -------------------------------------------------------------------------------------------


def _of_handlers(program: Json) -> Iterator[str]:
    for handler in program.get("middleware", ()):
        yield f"handler {stage_of(handler)}.{phase_of(handler)}"
    for _, place, ops in handlers_of(program):
        if sum(op["op"] == "next" for op in ops) > 1:
            yield "next twice"
        for op in ops:
            yield from _of_op(place, op)


def _of_op(place: str, op: Json) -> Iterator[str]:
    if "when" in op:
        yield "op when list" if isinstance(op["when"], list) else "op when"
    if op["op"] in ACTIONS or op["op"] == "with":
        yield from _of_edit(_target(place, op), op["path"], op["action"] if op["op"] == "with" else op["op"])


def _target(place: str, op: Json) -> str:
    if "on" in op:
        return str(op["on"])
    return {"input": "context", "wrap": "context", "output": "result"}.get(place, "event")


def _of_edit(target: str, path: list[Any], action: str) -> Iterator[str]:
    yield f"edit {target} {path[0]}"
    if len(path) == 1 and action == "set":
        yield "edit whole field"
    yield from (f"edit {name}" for name in ("metadata", "input", "json") if name in path[1:])
    if "nothing" in path or 99 in path:  # noqa: PLR2004 - where no program has anything
        yield "edit astray"
