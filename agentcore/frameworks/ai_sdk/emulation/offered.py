"""The offer of a step to its model: the tools in force, the tool choice, the merged provider options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import attrs

from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile, ChoiceWithoutTools
from agentcore.heap.heap import (
    UNDEFINED,
    Function,
    HeapTypeError,
    NotEmulatedError,
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
    is_object,
    iterated,
    or_else,
    text,
)

DIRECT = "AI_SDK_DIRECT_TOOL_CALL"
"""The caller of a tool that stands for the model."""

_UNSAFE = frozenset({"constructor", "prototype"})

Read: TypeAlias = Callable[[str], Value]
"""Reads a setting, or a field of what a step hook returned, by its name."""


@attrs.frozen(kw_only=True)
class Offer:
    """A step's offer to its model: the tools, which of them are known and may run, and the tool choice.

    `active`, `order` and `chosen` are what the hooks and the call say of it.
    """

    tools_of_call: Value
    active: Value
    order: Value
    chosen: Value
    known: Value
    runnable: Value
    tools: Value
    choice: Value

    def again(self, store: Store, profile: AiSdkProfile) -> Offer:
        """The same with tools and a choice that are made anew."""
        tools = offered_tools(store, profile, self)
        return attrs.evolve(self, tools=tools, choice=_choice(store, profile, self.chosen, tools))


def make_offer(store: Store, profile: AiSdkProfile, tools: Value, option: Read, override: Read) -> Offer:
    """Makes what a step offers; rule ai-sdk.tools-read-anew.

    Raises:
        HeapTypeError: for active tools, an order or a tool that cannot be read.
    """
    asked = Offer(
        tools_of_call=tools,
        active=or_else(override("activeTools"), option("activeTools")),
        order=or_else(override("toolOrder"), option("toolOrder"))
        if "toolOrder" in profile.settings
        else UNDEFINED,
        chosen=or_else(override("toolChoice"), option("toolChoice")),
        known=tools,
        runnable=tools,
        tools=UNDEFINED,
        choice=UNDEFINED,
    )
    if profile.active_tools_enforced:
        active = active_tools(store, tools, asked.active)
        known, runnable = by_callers(store, active, option("experimental_toolCallers"))
        asked = attrs.evolve(asked, known=known, runnable=runnable)
    made = asked.again(store, profile)
    if profile.tool_choice_enforced and forbids_calls(store, made.choice):
        return attrs.evolve(made, runnable=UNDEFINED)
    return made


def forbids_calls(store: Store, choice: Value) -> bool:
    """True if the tool choice that the model gets forbids any call."""
    return not is_nullish(choice) and get(store, choice, "type") == "none"


def require_callers(store: Store, tools: Value, callers: Value) -> None:
    """Raises PackageError for callers of a tool that there is none of."""
    if is_nullish(tools) or is_nullish(callers):
        return
    for name in fields(store, callers):
        if name not in fields(store, tools):
            raise PackageError("AI_InvalidArgumentError", f'unknown tool "{name}".')


def by_callers(store: Store, tools: Value, callers: Value) -> tuple[Value, Value]:
    """The tools that the model is offered, and those that may run: a tool with callers is called by those.

    No tool of a program is a caller, so the model is the only one.
    """
    if is_nullish(tools) or is_nullish(callers):
        return tools, tools
    own = fields(store, tools)
    told = dict(own)
    for name, named in fields(store, callers).items():
        if is_nullish(named) or name not in own or is_nullish(own[name]):
            continue
        if DIRECT not in [*iterated(store, named)]:
            del told[name]
    return store.object(told), store.object(own)


def active_tools(store: Store, tools: Value, active: Value) -> Value:
    """The tools themselves unless some are named: then a new object of those."""
    if is_nullish(tools) or is_nullish(active):
        return tools
    own = fields(store, tools)
    return store.object({name: own[name] for name in in_object_order(own) if includes(store, active, name)})


# ---------------------------------------------------------------- definitions


def offered_tools(store: Store, profile: AiSdkProfile, asked: Offer) -> Value:
    """The definitions of the tools, undefined if there are none."""
    if is_nullish(asked.tools_of_call) or not fields(store, asked.tools_of_call):
        return UNDEFINED
    own = fields(store, asked.known)
    named = in_object_order(own)
    if not is_nullish(asked.active):
        named = [name for name in named if includes(store, asked.active, name)]
    if not (named or profile.empty_tools_offered):
        return UNDEFINED
    if not is_nullish(asked.order):
        named = in_order(store, named, asked.order)
    return store.array([_definition(store, profile, name, own[name]) for name in named])


def in_order(store: Store, names: Iterable[str], order: Value) -> list[str]:
    """The names as an order has them, then the others by themselves."""
    listed: str | tuple[Slot, ...] = order if isinstance(order, str) else elements(store, order, "includes")
    known = [name for name in names if name in listed]
    others = [name for name in names if name not in listed]
    return sorted(known, key=listed.index) + sorted(others, key=_units)


def _units(name: str) -> bytes:
    """By which JavaScript compares texts: their units of 16 bits."""
    return name.encode("utf-16-be", "surrogatepass")


def _definition(store: Store, profile: AiSdkProfile, name: str, tool: Slot) -> Ref:
    kind = get(store, tool, "type")
    if kind == "provider":
        return store.object(
            {"type": kind, "name": name, "id": get(store, tool, "id"), "args": get(store, tool, "args")}
        )
    if kind is not UNDEFINED and kind not in ("dynamic", "function"):
        raise PackageError("Error", "Unsupported tool type")
    description, options = get(store, tool, "description"), get(store, tool, "providerOptions")
    if not profile.tool_fields_kept:
        if description is not UNDEFINED and not isinstance(description, str):
            description = _described(description)
        options = UNDEFINED if is_nullish(options) else options
    examples, strict = get(store, tool, "inputExamples"), get(store, tool, "strict")
    return store.object(
        {
            "type": "function",
            "name": name,
            "description": description,
            "inputSchema": json_schema(store, profile, get(store, tool, "inputSchema")),
            "inputExamples": UNDEFINED if is_nullish(examples) else examples,
            "providerOptions": options,
            "strict": UNDEFINED if is_nullish(strict) else strict,
        }
    )


def _described(description: Value) -> Value:
    if isinstance(description, Function):
        raise NotEmulatedError("a tool", "a description that is a function", "give a text")
    raise HeapTypeError("tool.description is not a function")


def json_schema(store: Store, profile: AiSdkProfile, schema: Value) -> Value:
    """The JSON schema of what stands as a tool's schema; rule ai-sdk.tools-read-anew.

    Raises:
        HeapTypeError: for what is no schema.
    """
    if is_nullish(schema):
        typed = {"type": "object"} if profile.schema_of_none_typed else {}
        return store.load({**typed, "properties": {}, "additionalProperties": False})  # type: ignore[no-any-return]
    require_schema(store, schema)
    return get(store, schema, "jsonSchema")


def require_schema(store: Store, schema: Value) -> None:
    """Raises HeapTypeError for what is neither a schema nor nothing."""
    if isinstance(schema, bool | int | float | str):
        raise HeapTypeError(f"Cannot use 'in' operator to search for '~standard' in {text(store, schema)}")
    cell = store.cells[schema.address] if type(schema) is Ref else ()
    if not is_nullish(schema) and (type(cell) is not SchemaCell or "jsonSchema" not in cell):
        raise HeapTypeError("schema is not a function")


def _choice(store: Store, profile: AiSdkProfile, choice: Value, tools: Value) -> Value:
    """A tool choice as the model is given it."""
    if tools is UNDEFINED and profile.choice_without_tools is not ChoiceWithoutTools.ANY:
        only_none = profile.choice_without_tools is ChoiceWithoutTools.NONE and choice == "none"
        return store.object({"type": choice}) if only_none else UNDEFINED
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


# ---------------------------------------------------------------- provider options


def merged(store: Store, base: Value, override: Value, *, unsafe_dropped: bool = False) -> Value:
    """Provider options merge deeply (claim C60); untouched branches stay the caller's own objects.

    Rule ai-sdk.options-shared.
    """
    if base is UNDEFINED or override is UNDEFINED:
        return override if base is UNDEFINED else base
    made: dict[str, Slot] = fields(store, base)
    own = dict(made)
    added = fields(store, override)
    if unsafe_dropped:
        added = {key: value for key, value in added.items() if key not in _UNSAFE}
    if added and not is_object(base):
        raise HeapTypeError("Cannot use 'in' operator to search for a key in a value that is no object")
    for key, value in added.items():
        both = key in own and _mergeable(store, value) and _mergeable(store, own[key])
        if both:
            made[key] = merged(store, own[key], value, unsafe_dropped=unsafe_dropped)  # type: ignore[assignment]
        else:
            made[key] = value
    return store.derive(store.object(made), base, override)


def _mergeable(store: Store, value: Value) -> bool:
    return is_object(value) and not is_array(store, value)
