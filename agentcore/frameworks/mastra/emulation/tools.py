"""Tools of a run: the objects that stand for them, what the model is told of them, and running them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from agentcore.frameworks.mastra.emulation.forms import has
from agentcore.frameworks.mastra.emulation.settings import Tool
from agentcore.heap.copying import deep_copy
from agentcore.heap.heap import (
    UNDEFINED,
    Accepts,
    ErrorCell,
    Function,
    HeapTypeError,
    HostValueError,
    Ref,
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
    is_nullish,
    iterated,
    joined,
    stringified,
    text,
)
from agentcore.heap.views import Desk

_NOT_INPUT: Final = ("resumeData", "suspendedToolCallId", "suspendedToolRunId")


def built(store: Store, tools: Mapping[str, Tool] | None) -> Ref:
    """The object of tools that processors are given."""
    made = {name: _built(store, name, tool) for name, tool in (tools or {}).items()}
    return store.object(made)


def _built(store: Store, name: str, tool: Tool) -> Ref:
    execute = Function(name=f"{name}.execute", call=tool.execute)
    return store.object({"type": "function", "description": tool.description, "execute": execute, "id": name})


@attrs.frozen
class Offer:
    """What a model is told of tools."""

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
        _shown(store, name, named[name])
        for name in in_object_order(named)
        if isinstance(named[name], Ref) and (is_nullish(active) or includes(store, active, name))
    ]
    return Offer(store.derive(store.array(shown), tools, active), _choice(store, choice))


def _shown(store: Store, name: str, tool: Slot) -> Ref:
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
    """How a call of a tool ended: with a result, an error, or neither if nobody answers it."""

    call: Slot
    result: Value = UNDEFINED
    error: str | None = None


def can_run(store: Store, call: Slot, tools: Value, active: Value) -> bool:
    """Whether there is a tool of the call's own name that runs, and may."""
    name = text(store, get(store, call, "toolName"))
    tool: Value = fields(store, tools).get(name, UNDEFINED) if tools else UNDEFINED
    execute = get(store, tool, "execute") if isinstance(tool, Ref) else UNDEFINED
    return isinstance(execute, Function) and (not active or includes(store, active, name))


def run(desk: Desk, call: Slot, tools: Value, active: Value) -> Answer:
    """Runs a call: {toolCallId, toolName, args}; the tool is given a copy (rule mastra.tool-input-own)."""
    store = desk.store
    name = text(store, get(store, call, "toolName"))
    key, tool = _found(store, tools, name)
    hidden = active and key is not None and not includes(store, active, key)
    if not tool or hidden:
        return Answer(call, error=_missing(store, name, tools, active))
    execute = get(store, tool, "execute")
    if not execute:
        return Answer(call)
    try:
        with desk.acting(f"tool {name}"):
            return Answer(call, result=_output(desk, execute, get(store, call, "args")))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is its answer
        return Answer(call, error=str(error))


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


def _output(desk: Desk, execute: Value, args: Value) -> Value:
    if not isinstance(execute, Function) or execute.call is None:
        raise HeapTypeError("tool.execute is not a function")
    store = desk.store
    # Checking the input against the tool's schema makes it anew, at every depth.
    given = {name: deep_copy(store, slot) for name, slot in fields(store, args).items()}
    own = store.object({name: value for name, value in given.items() if name not in _NOT_INPUT})
    desk.hook = execute.name
    output = execute.call(desk.hand(store.derive(own, args), (execute.name, "input")))
    slot: Value = desk.slot(output, accepts=Accepts.BYTES)
    try:
        stringified(store, slot)
    except HeapTypeError as error:
        # The package puts a text in the place of what holds itself, which the heap has no use for.
        raise desk.refuse(HostValueError("", "$", f"{error}; give JSON")) from None
    return slot
