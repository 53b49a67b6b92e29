"""The agent's state, the hooks that get its events, and the contexts of its handlers.

Rules strands.agent-live, strands.hooks-outside, strands.nothing-frozen and strands.state-shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final, cast

import attrs

from agentcore.frameworks.strands.emulation.settings import Hook, Settings, StructuredOutput, Tool
from agentcore.frameworks.strands.emulation.turns import Event, Jobs, Steps
from agentcore.frameworks.strands.profiles import HooksRun, ModelState, StrandsProfile
from agentcore.heap.copying import CopyDepth, through_json
from agentcore.heap.heap import UNDEFINED, Function, ObjectCell, Ref, Slot, Store, Value
from agentcore.heap.js import PackageError, get
from agentcore.heap.views import Desk
from agentcore.messages.values import json_path

HOOKS: Final = (
    *("beforeInvocation", "afterInvocation", "messageAdded", "beforeModel", "afterModel", "beforeTools"),
    *("afterTools", "beforeTool", "afterTool", "modelDelta", "contentBlock"),
)
"""The events of hooks. Of those that begin with `after` the callback registered last is called first."""


class RefusedToolError(PackageError):
    """A tool cannot be registered; `name` is that of the package's error."""


@attrs.frozen(kw_only=True)
class Registered:
    """A tool that the model can use, and its own description."""

    name: str
    spec: Ref
    tool: Tool | StructuredOutput


@attrs.frozen(kw_only=True)
class Caller:
    """The caller's own objects; undefined where it gave none."""

    messages: Ref
    system: Value
    inputs: tuple[Slot, ...]
    state: Value
    options: Value


class Agent:
    """An agent on the heap: its history, system prompt, tools and model state."""

    def __init__(self, profile: StrandsProfile, settings: Settings, desk: Desk, jobs: Jobs) -> None:
        self.profile = profile
        self.desk = desk
        self.store = store = desk.store
        self.jobs = jobs
        self.copies = Copies(store, keep_aliases=profile.copies_keep_aliases)
        self.caller = _caller(desk, settings)
        self.history = cast(
            "Ref",
            self.made(self.caller.messages, as_data=settings.messages_as_data, depth=profile.history_taken),
        )
        self.system = self._system()
        with desk.acting("settings"):
            self.model_state = cast("Ref", desk.slot(dict(settings.model_state), "$.model_state"))
        self.tools: dict[str, Registered] = {}
        for name, tool in settings.tools.items():
            self.check(name, tool.description)
            self.tools[name] = self._registered(name, tool)
        self.hooks = _by_event(settings.hooks)
        self.function, self.model_function = Function(name="agent"), Function(name="model")

    def made(self, messages: Value, *, as_data: bool, depth: CopyDepth = CopyDepth.SHARE) -> Value:
        """Messages as the agent holds them: plain data is made into objects where there are classes."""
        converted = as_data and self.profile.has_classes
        return self.copies.messages(messages, CopyDepth.PART if converted else depth)

    def _system(self) -> Value:
        given = self.caller.system
        if isinstance(given, str) and self.profile.system_listed:
            return cast("Ref", self.store.load([{"text": given}]))
        return self.copies.blocks(given, self.profile.system_taken)

    def check(self, name: str, description: str | None) -> None:
        """Checks that a tool can be registered beside those that there are.

        Raises:
            RefusedToolError: for a tool that cannot.
        """
        refused = self.profile.errors.refused_tool
        if description == "" and self.profile.registers_strictly:
            raise RefusedToolError(refused, "Tool description must be a non-empty string")
        for known in self.tools:
            if known != name and known.replace("-", "_") == name.replace("-", "_"):
                told = f"Tool name '{name}' already exists as '{known}'."
                raise RefusedToolError(
                    refused, f"{told} Cannot add a duplicate tool which differs by a '-' or '_'"
                )

    def _registered(self, name: str, tool: Tool) -> Registered:
        spec = {"name": name, "description": tool.description or "", "inputSchema": dict(tool.input_schema)}
        return Registered(name=name, spec=cast("Ref", self.store.load(spec)), tool=tool)

    def structured(self, output: StructuredOutput) -> Registered:
        """The tool by which the model gives structured output."""
        text = self.profile.wording.structured_description.format(output.description)
        spec = {"name": output.name, "description": text, "inputSchema": dict(output.input_schema)}
        return Registered(name=output.name, spec=cast("Ref", self.store.load(spec)), tool=output)

    def made_blocks(self, blocks: Value, *, as_data: bool) -> Value:
        """Blocks as the agent holds them: plain data is made into objects where there are classes."""
        converted = as_data and self.profile.has_classes
        return self.copies.blocks(blocks, CopyDepth.PART if converted else CopyDepth.SHARE)

    def fill(self, state: Value, *keys: str) -> None:
        """Puts what the SDK keeps for itself into an invocation state, if it does."""
        if not self.profile.state_filled or not isinstance(state, Ref):
            return
        for key in keys:
            if key == "request_state":
                if get(self.store, state, key) is UNDEFINED:
                    self.store.put(state, key, self.store.object({}))
            else:
                self.store.put(state, key, Function(name=key))

    def system_text(self) -> Slot:
        """The texts of the system prompt; None if it has none."""
        if not isinstance(self.system, Ref):
            return self.system if isinstance(self.system, str) else None
        texts = [inside(self.store, block, "text") for block in items(self.store, self.system)]
        kept = [text for text in texts if isinstance(text, str)]
        return "\n".join(kept) if kept else None

    def specs(self) -> list[Slot]:
        """The descriptions of the tools, as the model stage gets them before they are copied.

        Rule strands.tools-listed.

        Raises:
            AttributeError: as the Python SDK does, for a schema that somebody made into something else.
        """
        own: list[Slot] = [tool.spec for tool in self.tools.values()]
        if not self.profile.specs_normalised:
            return own
        made: list[Slot] = []
        for spec in own:
            with suppress(TooDeepError):
                made.append(self.store.derive(self.store.load(completed(self.store.plain(spec))), spec))
        return made

    # ---------------------------------------------------------------- hooks

    def event(self, name: str, **of: Value) -> Event:
        """An event with these fields."""
        return Event(name, self.store.object(of))

    def tell(self, event: Event) -> Steps[None]:
        """Calls the hooks of an event, and raises what they raise."""
        pace = self.profile.pace
        yield from self.jobs.pause(pace.own_hooks.get(event.name, 0) if pace is not None else 0)
        view = self.desk.hand(event.of, (event.name,))
        try:
            for hook in tuple(self.hooks.get(event.name, ())):
                self.desk.hook = f"hook:{event.name}"
                self.desk.settled(hook.call(view))
                yield from self.jobs.pause()
        finally:
            # Two functions are returned from, each awaited.
            yield from self.jobs.pause(2)

    def announce(self, event: Event) -> Steps[None]:
        """Reports an event inside an invocation: at once, or by letting it out."""
        if self.profile.hooks_run is HooksRun.AT_ONCE:
            yield from self.tell(event)
        else:
            yield event

    def hook_setting(self, event: Event, name: str) -> Value:
        """Returns what hooks set on an event; nothing if that counts as false."""
        return get(self.store, event.of, name) or UNDEFINED

    def denial(self, event: Event, otherwise: str) -> str | None:
        """The text with which a hook cancelled what the event comes before; None if no hook did."""
        cancel = self.hook_setting(event, "cancel")
        if cancel is UNDEFINED:
            return None
        return cancel if isinstance(cancel, str) else otherwise

    # ---------------------------------------------------------------- the history

    def added(self, message: Ref, state: Value) -> Steps[None]:
        """Puts a message into the history, and reports it."""
        self.store.push(self.history, [message])
        yield from self.announce(self.message_added(message, state))

    def message_added(self, message: Ref, state: Value) -> Event:
        """The event that reports a message of the history."""
        shown = state if self.profile.state_with_messages else UNDEFINED
        return self.event("messageAdded", message=message, invocationState=shown)


def _caller(desk: Desk, settings: Settings) -> Caller:
    def slot(value: Any, *keys: str | int) -> Any:
        return desk.slot(value, json_path("$", *keys))

    with desk.acting("settings"):
        state: Value = UNDEFINED
        if settings.invocation_state is not None:
            state = slot(dict(settings.invocation_state), "invocation_state")
        options: Value = UNDEFINED
        if settings.options is not None or state is not UNDEFINED:
            given: Mapping[str, Any] = settings.options or {}
            named = {key: slot(value, "options", key) for key, value in given.items()}
            options = desk.store.object({"invocationState": state, **named})
        return Caller(
            messages=slot(list(settings.messages), "messages"),
            system=UNDEFINED if settings.system is None else slot(settings.system, "system"),
            inputs=tuple(slot(each, "inputs", index) for index, each in enumerate(settings.inputs)),
            state=state,
            options=options,
        )


def _by_event(hooks: Iterable[Hook]) -> Mapping[str, list[Hook]]:
    found: dict[str, list[Hook]] = {name: [] for name in HOOKS}
    for hook in hooks:
        at = 0 if hook.on.startswith("after") else len(found[hook.on])
        found[hook.on].insert(at, hook)
    return found


# Copies of what the agent holds, as deep as a profile says.

_LISTS = {"toolResult": "content"}
"""The blocks inside blocks, which are copied with them."""


class Copies:
    """Copies cells of one store. What is one object is one object in a deep copy only if aliases are kept."""

    def __init__(self, store: Store, *, keep_aliases: bool) -> None:
        self.store = store
        self.keep_aliases = keep_aliases

    def deep(self, value: Value) -> Value:
        """A copy that shares nothing."""
        if type(value) is not Ref:
            return value
        return self.store.clone(value) if self.keep_aliases else through_json(self.store, value)

    def messages(self, value: Value, depth: CopyDepth, *, metadata: CopyDepth = CopyDepth.SHARE) -> Value:
        """Of list, message, content and block so many new, down to this depth.

        `metadata` is how deep the metadata of messages that are new is copied.
        """
        if depth is CopyDepth.DEEP or not isinstance(value, Ref) or depth is CopyDepth.SHARE:
            return self.deep(value) if depth is CopyDepth.DEEP else value
        listed = items(self.store, value)
        return self._list(value, [self._message(message, depth, metadata) for message in listed])

    def _message(self, value: Slot, depth: CopyDepth, metadata: CopyDepth) -> Slot:
        if depth < CopyDepth.MESSAGE or not isinstance(value, Ref):
            return value
        fields = dict(own(self.store, value))
        if "metadata" in fields:
            fields["metadata"] = cast("Slot", self.value(fields["metadata"], metadata))
        if depth >= CopyDepth.CONTENT and isinstance(fields.get("content"), Ref):
            fields["content"] = self._blocks(fields["content"], depth)
        return self._object(value, fields)

    def blocks(self, value: Value, depth: CopyDepth) -> Value:
        """A list of blocks, such as a system prompt: of list and blocks so many new, down to this depth."""
        if not isinstance(value, Ref) or depth is CopyDepth.SHARE:
            return value
        return self.deep(value) if depth is CopyDepth.DEEP else self._blocks(value, depth)

    def specs(self, specs: Iterable[Slot], depth: CopyDepth) -> Value:
        """Descriptions of tools in a new list: the tools' own ones, or copies."""
        listed = self.store.array(specs)
        return self.deep(listed) if depth is CopyDepth.DEEP else listed

    def value(self, value: Value, depth: CopyDepth) -> Value:
        """An object, such as a tool use or a state: itself, a new one of the same values, or a deep copy."""
        if not isinstance(value, Ref) or depth < CopyDepth.PART:
            return value
        return self.deep(value) if depth is CopyDepth.DEEP else self._object(value, own(self.store, value))

    # ---------------------------------------------------------------- levels

    def _blocks(self, value: Slot, depth: CopyDepth) -> Ref:
        blocks = items(self.store, value)
        kept = [self._block(block) for block in blocks] if depth >= CopyDepth.PART else list(blocks)
        return self._list(value, kept)

    def _block(self, value: Slot) -> Slot:
        """A new block of the same values: what stands under its kind is the block itself."""
        copied: dict[str, Slot] = {}
        for kind, held in own(self.store, value).items():
            fields = dict(own(self.store, held)) if isinstance(held, Ref) and kind != "json" else None
            if fields is None:
                copied[kind] = held
                continue
            inner = _LISTS.get(kind)
            if inner is not None and inner in fields:
                fields[inner] = self._blocks(fields[inner], CopyDepth.PART)
            copied[kind] = self._object(held, fields)
        return self._object(value, copied)

    def _list(self, source: Value, slots: list[Slot]) -> Ref:
        return self.store.derive(self.store.array(slots), source)

    def _object(self, source: Value, fields: ObjectCell | dict[str, Slot]) -> Ref:
        return self.store.derive(self.store.object(dict(fields)), source)


# Descriptions of tools as the Python SDK completes them on their way to a model.

_DEEPEST: Final = 64
_COMPOSED: Final = ("anyOf", "oneOf", "allOf", "not")


class TooDeepError(ValueError):
    """A schema is nested too deeply for the SDK, which then leaves the tool out."""


def completed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The description with all that a schema has to have.

    Raises:
        TooDeepError: if the schema is nested too deeply.
        AttributeError: as the SDK does, for an invalid schema.
    """
    schema = _schema(spec["inputSchema"], 0)
    for name, value in schema["properties"].items():
        if "$ref" not in value:
            value.setdefault("description", _described(name))
    return {**spec, "inputSchema": schema}


# What is no dictionary has no such methods, and the SDK lets that be seen.
def _schema(value: Any, depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise TooDeepError
    made: dict[str, Any] = value.copy()
    for key, otherwise in (("type", "object"), ("properties", {}), ("required", [])):
        made.setdefault(key, otherwise)
    made["properties"] = {name: _property(name, inner, depth) for name, inner in made["properties"].items()}
    return made


def _property(name: str, value: Any, depth: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {"type": "string", "description": _described(name)}
    if value.get("type") == "object" and "properties" in value:
        return _schema(value, depth + 1)
    made = dict(value)
    if "$ref" in made:
        return made
    if not any(key in made for key in _COMPOSED):
        made.setdefault("type", "string")
    made.setdefault("description", _described(name))
    return made


def _described(name: str) -> str:
    return f"Property {name}"


# Messages and blocks as cells: making them, and finding what is in them.


def items(store: Store, value: Value) -> tuple[Slot, ...]:
    """The elements of a list; of anything else none."""
    cell = store.cells[value.address] if isinstance(value, Ref) else ()
    return cell if isinstance(cell, tuple) else ()


def own(store: Store, value: Value) -> ObjectCell:
    """The fields of an object; of anything else none."""
    cell = store.cells[value.address] if isinstance(value, Ref) else None
    return cell if isinstance(cell, ObjectCell) else ObjectCell()


def field(store: Store, value: Value, *keys: str) -> Value:
    """Returns a field of a value; undefined if there is none."""
    for key in keys:
        value = own(store, value).get(key, UNDEFINED)
    return value


def as_text(store: Store, value: Value, *keys: str) -> str:
    """The text that stands below a value, empty where none does."""
    found = field(store, value, *keys)
    return found if isinstance(found, str) else ""


def inside(store: Store, block: Value, kind: str) -> Value:
    """Returns the content of a block of this kind; undefined for other blocks."""
    return own(store, block).get(kind, UNDEFINED)


def uses(store: Store, message: Value) -> list[Ref]:
    """The tool uses of a message."""
    return list(_of_kind(store, message, "toolUse"))


def results(store: Store, message: Value) -> list[Ref]:
    """The tool results of a message."""
    return list(_of_kind(store, message, "toolResult"))


def _of_kind(store: Store, message: Value, kind: str) -> Iterator[Ref]:
    for block in items(store, get(store, message, "content")):
        found = inside(store, block, kind)
        if isinstance(found, Ref):
            yield found


def text_message(store: Store, role: str, text: str) -> Ref:
    """A message of one text."""
    return cast("Ref", store.load({"role": role, "content": [{"text": text}]}))


def message_of(store: Store, role: str, content: Ref) -> Ref:
    """A message with this content."""
    return store.object({"role": role, "content": content})


def failed(store: Store, tool_use_id: Value, text: str) -> Ref:
    """A tool result that is an error."""
    content: Any = store.load([{"text": text}])
    return store.object({"toolUseId": tool_use_id, "status": "error", "content": content})


# ---------------------------------------------------------------- contexts of stages, as a profile lists them

_NAMES: Final = {
    "systemPrompt": "system",
    "system_prompt": "system",
    "tool_specs": "toolSpecs",
    "tool_choice": "toolChoice",
    "tool_use": "toolUse",
    "invocation_state": "invocationState",
}
_STREAM_NAMES: Final = {**_NAMES, "messages": "args"}


def fields_of(profile: StrandsProfile, stage: str) -> Mapping[str, str]:
    """The fields of a stage's context by their names here, with the SDK's own names, in their order."""
    names: Mapping[str, str] = _STREAM_NAMES if stage == "stream" else _NAMES
    listed: tuple[str, ...] = getattr(profile.contexts, stage)
    return {names.get(name.rstrip("?"), name.rstrip("?")): name for name in listed}


def context(store: Store, profile: StrandsProfile, stage: str, values: Mapping[str, Value]) -> Ref:
    """A context with these values; what it has beside them stands for something of the host."""
    made: dict[str, Value] = {}
    for field, name in fields_of(profile, stage).items():
        value = values.get(field, Function(name=field))
        made[field] = None if value is UNDEFINED and not name.endswith("?") else value
    return store.object(made)


def context_field(store: Store, value: Ref, field: str) -> Slot:
    """Returns a field of a context, None where there is nothing."""
    cell = store.cells[value.address]
    return cell.get(field) if isinstance(cell, dict) else None


# What the handlers of a profile are given, as one table: which of it is the agent's own.

SHARE: Final = "share"
SHALLOW: Final = "shallow"
DEEP: Final = "deep"
VALUE: Final = "value"
ABSENT: Final = "absent"


def contract(profile: StrandsProfile) -> Mapping[str, str]:
    """For each field of the contexts `share`, `shallow`, `deep`, `value` or `absent`.

    share: the agent's or the caller's own object. shallow: a new one that holds some of their objects. deep:
    nothing in common. value: a text. absent: there is no such field.
    """
    copies = profile.model_copies
    listed = profile.input_converted
    options = "options" in fields_of(profile, "stream")
    return MappingProxyType(
        {
            "model messages": _word(copies.messages),
            "model system, a text": _word(copies.system) if profile.system_listed else VALUE,
            "model system, a list": _word(copies.system, flat=CopyDepth.PART),
            "model system, guarded content": _word(copies.system),
            "model toolSpecs": _word(max(copies.tool_specs, CopyDepth.LIST)),
            "model toolChoice": _word(copies.tool_choice),
            "model modelState": SHARE if profile.model_state is ModelState.LIVE else ABSENT,
            "model invocationState": _word(
                copied if (copied := profile.state_copied) >= CopyDepth.PART else CopyDepth.SHARE
            ),
            "tool toolUse": _word(profile.tool_use_copied),
            "tool invocationState": SHARE,
            "stream args, messages": _word(profile.args_copied),
            "stream args, blocks": SHALLOW if listed else _word(profile.args_copied),
            "stream args, a text": DEEP if listed else VALUE,
            "stream options, with a state": SHARE if options else ABSENT,
            "stream options, without": SHALLOW if options else ABSENT,
            "stream invocationState": SHARE,
            "result of any stage": SHARE,
        }
    )


def _word(depth: CopyDepth, *, flat: CopyDepth = CopyDepth.DEEP) -> str:
    """The word for a copy; from `flat` on nothing of what is copied is left to be shared."""
    if depth is CopyDepth.SHARE:
        return SHARE
    return DEEP if depth >= flat else SHALLOW
