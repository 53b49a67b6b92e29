"""Programs of the middleware format (`program.schema.json`); what is wrong with one that breaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.emulation.settings import InvalidOutputError, StructuredOutput
from agentcore.frameworks.strands.profiles import StrandsProfile
from agentcore.kit.program import BadProgram, Explanation, ProgramSchema, Schema, id_of, program_to_line

__all__ = [
    "ACTIONS",
    "STAGES",
    "check",
    "handlers_of",
    "phase_of",
    "stage_of",
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
    """Where something is wrong with a trace, and what; None if it is as the format has it."""
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

_PHASES: Final = frozenset({"input", "wrap", "output"})
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
    "with": _PHASES,
    "identity": _PHASES,
    "next": frozenset({"wrap"}),
    "shortCircuit": frozenset({"wrap"}),
    "stop": frozenset({"wrap"}),
    "setModelStateViaContext": _WITH_CONTEXT,
    "setInvocationState": _WITH_CONTEXT | _HOOKS,
    "retry": _RETRIED,
    "cancel": _CANCELLED,
}
_EVERYWHERE: Final = _PHASES | _HOOKS


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
    """What is wrong with a value that is none of several things, told of the one it was meant to be."""
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
