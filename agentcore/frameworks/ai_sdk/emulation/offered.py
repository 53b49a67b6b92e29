"""What a step offers its model: the tools in force, the choice among them, the merged provider options."""

from __future__ import annotations

from collections.abc import Mapping

from agentcore.heap.heap import UNDEFINED, HeapTypeError, Slot, Store, Value
from agentcore.heap.js import elements, fields, get, in_object_order, is_array, is_nullish, is_object


def active_tools(store: Store, tools: Value, active: Value) -> Value:
    """The tools themselves unless some are named: then a new object of those."""
    if is_nullish(tools) or is_nullish(active):
        return tools
    own = fields(store, tools)
    return store.object({name: own[name] for name in in_object_order(own) if includes(store, active, name)})


def offered_tools(store: Store, tools: Value, active: Value) -> Value:
    """The definitions of the active tools, undefined if there are no tools; rule ai-sdk.tools-read-anew."""
    if is_nullish(tools) or not fields(store, tools):
        return UNDEFINED
    own = fields(store, tools)
    names = [name for name in in_object_order(own) if is_nullish(active) or includes(store, active, name)]
    return store.array(
        store.object({"type": "function", "name": name, "inputSchema": get(store, own[name], "inputSchema")})
        for name in names
    )


def offered_choice(store: Store, choice: Value) -> Value:
    """A tool choice as the model is given it."""
    if is_nullish(choice):
        chosen: Mapping[str, Value] = {"type": "auto"}
    elif isinstance(choice, str):
        chosen = {"type": choice}
    else:
        chosen = {"type": "tool", "toolName": get(store, choice, "toolName")}
    return store.object(chosen)


def includes(store: Store, active: Value, name: str) -> bool:
    """`active.includes(name)`."""
    if isinstance(active, str):
        return name in active
    return name in elements(store, active, "includes")


def merged(store: Store, base: Value, override: Value) -> Value:
    """Provider options merge deeply (claim C60); untouched branches stay the caller's own objects.

    Rule ai-sdk.options-shared.
    """
    if base is UNDEFINED or override is UNDEFINED:
        return override if base is UNDEFINED else base
    made: dict[str, Slot] = fields(store, base)
    own = dict(made)
    added = fields(store, override)
    if added and not is_object(base):
        raise HeapTypeError("Cannot use 'in' operator to search for a key in a value that is no object")
    for key, value in added.items():
        both = key in own and _mergeable(store, value) and _mergeable(store, own[key])
        made[key] = merged(store, own[key], value) if both else value  # type: ignore[assignment]
    return store.derive(store.object(made), base, override)


def _mergeable(store: Store, value: Value) -> bool:
    return is_object(value) and not is_array(store, value)
