"""Tools of a run: the objects that stand for them, their descriptions for the model, and running them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from agentcore.frameworks.mastra.emulation.errors import MastraError
from agentcore.frameworks.mastra.emulation.forms import has
from agentcore.frameworks.mastra.emulation.settings import Tool
from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.heap.copying import deep_copy
from agentcore.heap.heap import (
    UNDEFINED,
    Accepts,
    ErrorCell,
    Function,
    HeapTypeError,
    HostValueError,
    ObjectCell,
    Ref,
    SchemaCell,
    Slot,
    Store,
    Value,
)
from agentcore.heap.js import (
    PackageError,
    elements,
    fields,
    get,
    in_object_order,
    is_array,
    is_nullish,
    iterated,
    joined,
    or_else,
    stringified,
    text,
)
from agentcore.heap.views import Desk

_RESUMES: Final = "resumeData"
_KEPT_BACK: Final = ("suspendedToolCallId", "suspendedToolRunId")
_BACKGROUND: Final = "_background"
_AGENT: Final = "agent-"
_NOT_AS_IT_COMES: Final = (_AGENT, "workflow-")
_AT_ONCE: Final = 10
# What the package reads in a tool that no scripted tool has.
_READ: Final = ("strict", "title", "toModelOutput", "needsApprovalFn")

_TYPE: Final = "function"


def built(store: Store, tools: Mapping[str, Tool] | None, *, wrapped: bool = True) -> Ref:
    """Returns the object of tools that processors are given.

    `wrapped`: the tools are the agent's, which the package puts into objects of its own, with a type.
    """
    made = {name: _built(store, name, tool, wrapped=wrapped) for name, tool in (tools or {}).items()}
    return store.object(made)


def _built(store: Store, name: str, tool: Tool, *, wrapped: bool) -> Ref:
    execute = Function(name=f"{name}.execute", call=tool.execute)
    named: dict[str, Value] = {
        "id": name,
        "description": tool.description,
        "execute": execute,
        "requireApproval": False,
    }
    if not wrapped:
        # A schema of a library of its own, which no trace has.
        return store.object({**named, "inputSchema": store.object({}, SchemaCell)})
    schema = {"jsonSchema": store.load(_ANY_OBJECT), "validate": Function(name="validate", call=None)}
    more: dict[str, Value] = {"hasSuspendSchema": False, "parameters": store.object(schema)}
    return store.object({"type": _TYPE, **named, **more})


_ANY_OBJECT: Final = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {},
    "additionalProperties": True,
}
_LONGEST_NAME: Final = 63
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
_BEGINS_NAMES: Final = re.compile(r"[a-zA-Z_]")


def name_for_providers(store: Store, tools: Ref) -> None:
    """Gives tools whose names no provider takes other names, in place: they come last then.

    Rule mastra.tools-named.

    Raises:
        MastraError: if two tools have one name then.
        HeapTypeError: for a tool without a name.
    """
    for key in in_object_order(fields(store, tools)):
        named = fields(store, tools)
        if not key:
            raise HeapTypeError("Cannot read properties of undefined (reading 'match')")
        if len(key) <= _LONGEST_NAME and not _NOT_IN_NAMES.search(key) and _BEGINS_NAMES.match(key[0]):
            continue
        name = _NOT_IN_NAMES.sub("_", _in_units(key))
        name = (name if _BEGINS_NAMES.match(name[0]) else f"_{name}")[:_LONGEST_NAME]
        if name in named or name in INHERITED:
            raise MastraError(
                "AGENT_TOOL_NAME_COLLISION",
                f'Two or more tools resolve to the same name "{name}". Please rename one of the tools to '
                "avoid this collision.",
            )
        store.replace(
            tools, ObjectCell({**{one: named[one] for one in named if one != key}, name: named[key]})
        )


def _in_units(name: str) -> str:
    """The text with as many characters as JavaScript counts in it."""
    return "".join("\0\0" if ord(one) > _LAST_UNIT else one for one in name)


_LAST_UNIT: Final = 0xFFFF
INHERITED: Final = frozenset(
    {
        *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString"),
        *("toString", "valueOf", "__proto__", "__defineGetter__", "__defineSetter__"),
        *("__lookupGetter__", "__lookupSetter__"),
    }
)
"""What every object of JavaScript answers to, without a field of its own."""


def check_whole(desk: Desk, tools: Value, *, called: bool) -> None:
    """Checks that tools are objects, those with a function also of the type and schema that they came with.

    What is no object is not offered to a model. `called`: a model called tools, and all have to be objects.

    Raises:
        NotEmulatedError: if a hook put something else there.
    """
    store = desk.store
    for name, tool in (fields(store, tools) if tools else {}).items():
        if not isinstance(tool, Ref):
            if called or tool is None:
                raise desk.leave_out(f"a tool that is no object in tools.{name}", "leave it as it is")
            continue
        if not _is_whole(store, tool):
            raise desk.leave_out(f"the type or schema of a tool in tools.{name}", "leave them as they are")
        for read in () if is_array(store, tool) else _READ:
            if get(store, tool, read):
                raise desk.leave_out(f"the field {read} of a tool in tools.{name}", "leave it out")


def _is_whole(store: Store, tool: Ref) -> bool:
    own = {} if is_array(store, tool) else fields(store, tool)
    if "execute" not in own:
        return own.get("type", _TYPE) == _TYPE and "inputSchema" not in own and "parameters" not in own
    if "type" not in own:
        schema = own.get("inputSchema")
        return isinstance(schema, Ref) and isinstance(store.cells[schema.address], SchemaCell)
    schema = own.get("parameters")
    kept = "parameters" not in own or (isinstance(schema, Ref) and has(store, schema, "validate"))
    return own["type"] == _TYPE and kept and "inputSchema" not in own


@attrs.frozen
class Offer:
    """The descriptions of tools for a model."""

    tools: Value
    choice: Value


def offered(store: Store, tools: Value, choice: Value, active: Value, *, none_hides: bool) -> Offer:
    """The tools and the tool choice of a model call; `none_hides`: the choice `none` sends no tools.

    Active tools choose among those that there are (rule mastra.active-tools-filter).
    """
    if choice == "none" and none_hides:
        return Offer(UNDEFINED, store.object({"type": "none"}))
    named = fields(store, tools) if tools else {}
    if not named:
        return Offer(UNDEFINED, UNDEFINED)
    shown = [
        _describe_tool(store, name, named[name])
        for name in in_object_order(named)
        if isinstance(named[name], Ref) and (is_nullish(active) or includes(store, active, name))
    ]
    return Offer(store.derive(store.array(shown), tools, active), _choice(store, choice))


def _describe_tool(store: Store, name: str, tool: Slot) -> Ref:
    told = store.object({"type": "function", "name": name, "description": get(store, tool, "description")})
    return store.derive(told, tool, fields=frozenset({"description"}))


def _choice(store: Store, choice: Value) -> Ref:
    if is_nullish(choice):
        return store.object({"type": "auto"})
    if isinstance(choice, str):
        return store.object({"type": choice})
    return store.derive(store.object({"type": "tool", "toolName": get(store, choice, "toolName")}), choice)


def includes(store: Store, active: Value, name: str) -> bool:
    """`activeTools.includes(name)`."""
    if isinstance(active, str):
        return name in active
    return name in elements(store, active, "includes")


def check_active(store: Store, tools: Value, active: Value) -> None:
    """The package goes over the active tools before it calls the model.

    Raises:
        HeapTypeError: if they are no list.
    """
    if active is not UNDEFINED and tools:
        elements(store, active, "flatMap")


@attrs.frozen
class Answer:
    """The end of a tool call: a result, an error, or neither if nobody answers it.

    `thrown`: the error came out of a tool that the package has not wrapped.
    """

    call: Slot
    result: Value = UNDEFINED
    error: str | None = None
    thrown: bool = False


def can_run(store: Store, call: Slot, tools: Value, active: Value) -> bool:
    """True if a call can be run as it comes: by a tool of exactly its name that runs, and never waits."""
    name = text(store, get(store, call, "toolName"))
    tool: Value = fields(store, tools).get(name, UNDEFINED) if tools else UNDEFINED
    if not isinstance(tool, Ref) or (active and not includes(store, active, name)):
        return False
    waits = name.startswith(_NOT_AS_IT_COMES) or has(store, get(store, call, "args"), _BACKGROUND)
    stops = get(store, tool, "hasSuspendSchema") or get(store, tool, "requireApproval")
    return isinstance(get(store, tool, "execute"), Function) and not waits and not stops


def run(  # noqa: PLR0913 - a call, what it is run with, and by whom
    desk: Desk, profile: MastraProfile, call: Slot, tools: Value, active: Value, *, args: Value = None
) -> Answer:
    """Runs a call: {toolCallId, toolName, args}; the tool is given a copy (rule mastra.tool-input-own).

    `args` stand in for those of the call, if any are given.
    """
    store = desk.store
    name = text(store, get(store, call, "toolName"))
    key, tool = _found(store, tools, name)
    hidden = active and key is not None and not includes(store, active, key)
    if not tool or hidden:
        return Answer(call, error=_missing(store, name, tools, active))
    execute = UNDEFINED if isinstance(tool, Function) else get(store, tool, "execute")
    if not execute:
        return Answer(call)
    if get(store, tool, "requireApproval"):
        raise desk.leave_out("requireApproval", "leave it false")
    if not isinstance(execute, Function) or execute.call is None:
        # The receiver is named as in the build.
        receiver = "tool2" if profile.throwing_tool_ends else "tool"
        return Answer(call, error=f"{receiver}.execute is not a function", thrown=True)
    args = or_else(args, get(store, call, "args"))
    if profile.keeps_arguments_back and name.startswith(_AGENT) and has(store, args, "prompt"):
        raise desk.leave_out(f"a prompt for the tool {name}", f"give the tool no name with {_AGENT}")
    try:
        with desk.acting(f"tool {name}"):
            own = _input(store, args, _kept_back(store, args, profile))
            desk.hook = execute.name
            output = execute.call(desk.hand(store.derive(own, args), (execute.name, "input")))
            return Answer(call, result=_result(desk, output))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is its answer
        return Answer(call, error=str(error), thrown=get(store, tool, "type") != _TYPE)


def runs(store: Store, call: Slot, tools: Value, active: Value) -> bool:
    """True if `run` would call a function: the tool exists, is allowed, and has one."""
    key, tool = _found(store, tools, text(store, get(store, call, "toolName")))
    if not tool or isinstance(tool, Function) or (active and not includes(store, active, key or "")):
        return False
    return bool(get(store, tool, "execute"))


def in_turn(
    store: Store, profile: MastraProfile, calls: Sequence[Ref], tools: Value, active: Value
) -> list[Ref]:
    """Returns the calls of an answer in the order in which they run.

    They run at once, ten at most, but in turn where the package says so. At once, a call that resumes another
    comes a moment after the others, and so does one of an id that came before, where the package says so.
    """
    last = profile.repeated_calls_run_last
    if last and not _run_at_once(store, calls, tools, active):
        return list(calls)
    running = [call for call in calls if last and runs(store, call, tools, active)]
    firsts = {get(store, call, "toolCallId"): call for call in reversed(running)}

    def moment(call: Ref) -> int:
        repeated = firsts.get(get(store, call, "toolCallId"), call) != call
        return repeated + _resumes(store, call, profile)

    waves = (calls[start : start + _AT_ONCE] for start in range(0, len(calls), _AT_ONCE))
    return [call for wave in waves for call in sorted(wave, key=moment)]


def _run_at_once(store: Store, calls: Iterable[Slot], tools: Value, active: Value) -> bool:
    """True if every call names an existing tool, active or not, and no tool in sight may stop a run."""
    called = [_found(store, tools, text(store, get(store, call, "toolName")))[1] for call in calls]
    named: Mapping[str, Slot] = fields(store, tools) if tools else {}
    shown = [tool for name, tool in named.items() if active is UNDEFINED or includes(store, active, name)]
    return all(called) and not any(
        get(store, tool, "hasSuspendSchema") or get(store, tool, "requireApproval")
        for tool in (*called, *shown)
        if isinstance(tool, Ref)
    )


def _resumes(store: Store, call: Slot, profile: MastraProfile) -> bool:
    """True if a call resumes another, by its arguments."""
    given = get(store, get(store, call, "args"), _RESUMES)
    return not is_nullish(given) if profile.keeps_arguments_back else bool(given)


def _kept_back(store: Store, args: Value, profile: MastraProfile) -> tuple[str, ...]:
    """The arguments of a call that are for the package, and that the tool does not get."""
    if not profile.keeps_arguments_back:
        return (_RESUMES,)
    return (_RESUMES, *_KEPT_BACK, *([_BACKGROUND] if get(store, args, _BACKGROUND) else []))


def failure(store: Store, message: str) -> Ref:
    """The error object that stands for the result of a tool that failed."""
    cause = store.object({"name": "Error", "message": message}, ErrorCell)
    told: dict[str, Value] = {
        "name": "Error",
        "id": "TOOL_EXECUTION_FAILED",
        "domain": "TOOL",
        "category": "USER",
        "message": message,
        "cause": cause,
    }
    return store.object(told, ErrorCell)


def check_known(store: Store, calls: Iterable[Slot], tools: Value) -> None:
    """Checks that there is a tool for each call.

    Raises:
        PackageError: for the first call for which there is none.
    """
    for call in calls:
        name = text(store, get(store, call, "toolName"))
        if not _found(store, tools, name)[1]:
            raise PackageError("Error", f"Tool {name} not found")


def _found(store: Store, tools: Value, name: str) -> tuple[str | None, Value]:
    named: Mapping[str, Slot] = fields(store, tools) if tools else {}
    if named.get(name):
        return name, named[name]
    if tools and name in INHERITED and name not in named:
        # A function, or an object without any field: nothing that could be run.
        return name, Function(name=name, call=None)
    for key, tool in named.items():
        if has(store, tool, "id") and get(store, tool, "id") == name:
            return key, tool
    return None, UNDEFINED


def _missing(store: Store, name: str, tools: Value, active: Value) -> str:
    named: Iterable[Value] = in_object_order(fields(store, tools)) if tools else ()
    known = list(named if is_nullish(active) else iterated(store, active))
    listed = f" Available tools: {joined(store, known, ', ')}" if known else ""
    how = "Call tools by their exact name only — never add prefixes, namespaces, or colons."
    return f'Tool "{name}" not found.{listed}. {how}'


def _input(store: Store, args: Value, kept_back: Collection[str]) -> Ref:
    """The input of a tool: checking it against the tool's schema makes it anew, at every depth."""
    given = {name: deep_copy(store, slot) for name, slot in fields(store, args).items()}
    return store.object({name: value for name, value in given.items() if name not in kept_back})


def _result(desk: Desk, output: Any) -> Value:
    slot: Value = desk.slot(output, accepts=Accepts.BYTES)
    try:
        stringified(desk.store, slot)
    except HeapTypeError as error:
        # The package puts a text in the place of what holds itself, which the heap has no use for.
        raise desk.refuse(HostValueError("", "$", f"{error}; give JSON")) from None
    return slot
