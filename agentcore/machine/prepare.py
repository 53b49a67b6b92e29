"""The processors of a run's input and of its steps, as folds of values.

Whatever is decided about what a processor returned is decided here. A driver goes through the processors:

    arguments = so_far.arguments(processor.id)
    so_far = so_far.after(so_far.edit(arguments, result))

and gives the run the edits that there are in the end.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, cast

import attrs
from attrs import field

from agentcore.errors import ConflictingResultError, ForeignMessageListError, InvalidOverrideError
from agentcore.machine.hooks import (
    NO_OVERRIDE,
    OVERRIDE_NAMES,
    ProcessorEdit,
    StepOverride,
    StepRecord,
    check_tool_names,
    merge_provider_options,
    merge_settings,
)
from agentcore.machine.processors import InputArguments, ListChanges, MessageList, StepArguments, new_state
from agentcore.messages.chains import MESSAGES, Chains, Identified, kept_ids, sharing
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.prompt import SystemPrompt, system_messages
from agentcore.messages.values import (
    NO_ENTRIES,
    NO_ITEMS,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    following,
    grown,
    json_path,
    sealed,
    strict_key,
    vector,
    with_fields,
)

__all__ = ["CallPreparation", "StepPreparation", "is_identified"]

_T = TypeVar("_T")
_MESSAGES: Final = ("messages", "lasting_messages")
# Where a result may have the message list.
_LISTS: Final = ("message_list", *_MESSAGES)
_SYSTEM: Final = ("system", "system_messages")
_OF_INPUT: Final = ("messages", "message_list", *_SYSTEM)
_OF_STEP: Final = ("message_list", *OVERRIDE_NAMES)
_NONE: Final[Vector[SystemMessage]] = vector()


def is_identified(edit: ProcessorEdit) -> bool:
    """Return whether an edit has an id for each message, if it has ids; lasting messages need them."""
    messages, lasting = edit.override.messages, edit.override.lasting_messages
    return (edit.ids is None or len(edit.ids) == len(messages or ())) and (
        len(edit.lasting_ids or ()) == len(lasting or ())
    )


def _first(override: _T | None, default: _T) -> _T:
    return default if override is None else override


# ---------------------------------------------------------------- ids


class _Shown(NamedTuple):
    """The messages that a processor is shown, and those that last, with their ids (rule message.ids-kept)."""

    messages: Identified
    lasting: Identified

    def after(self, edit: ProcessorEdit, where: object) -> _Shown:
        override = edit.override
        shown, lasting = self
        if override.lasting_messages is not None:
            shown = lasting = (override.lasting_messages, cast("Vector[str]", edit.lasting_ids))
        if override.messages is not None:
            ids = edit.ids
            if ids is None:
                ids = kept_ids(override.messages, (shown, *self), f"{edit.processor_id}-{where}")
            shown = (override.messages, ids)
        return _Shown(shown, lasting)


def _apply_edits(start: Identified, edits: Iterable[ProcessorEdit], where: object) -> _Shown:
    shown = _Shown(start, start)
    for edit in edits:
        shown = shown.after(edit, where)
    return shown


# ---------------------------------------------------------------- a run's input


@sealed
@attrs.frozen(kw_only=True)
class CallPreparation:
    """The input of a run before its first step: the given messages and instructions, and their edits.

    What the processors leave are the run's initial messages and its own instructions (rule
    processor.input-once).
    """

    chains: Chains
    system: SystemPrompt | None
    request_context: JsonValue = field(default=None, eq=strict_key, repr=False)
    override: StepOverride = NO_OVERRIDE
    edits: tuple[ProcessorEdit, ...] = NO_ITEMS

    @property
    def messages(self) -> Vector[Message]:
        """The messages that the run was given."""
        return self.chains.initial

    @property
    def system_now(self) -> SystemPrompt | None:
        """The instructions after the edits."""
        return _first(self.override.system, self.system)

    def arguments(self, processor_id: str, invocation_state: Any = None) -> InputArguments[Any]:
        """Return the arguments of the processor with that id, if it is the next one."""
        messages = _first(self.override.messages, self.messages)
        system = system_messages(self.system_now)
        return InputArguments(
            processor_id=processor_id,
            messages=messages,
            system_messages=system,
            message_list=MessageList(messages, lambda: self.identified[1], system, (processor_id, None)),
            request_context=self.request_context,
            invocation_state=new_state() if invocation_state is None else invocation_state,
        )

    def edit(self, arguments: InputArguments[Any], result: object) -> ProcessorEdit | None:
        """Return the edit of a processor by its arguments and its result, or None; closes its list.

        Raises as `StepPreparation.edit` does.
        """
        return _edit(arguments, result, _OF_INPUT)

    def after(self, edit: ProcessorEdit | None) -> CallPreparation:
        """Return the input after an edit."""
        if edit is None:
            return self
        return attrs.evolve(
            self, override=self.override.then(edit.override), edits=FrozenList((*self.edits, edit))
        )

    @property
    def identified(self) -> Identified:
        """The messages as they are now, with their ids."""
        return _apply_edits((self.messages, self.chains.ids), self.edits, "input").messages


# ---------------------------------------------------------------- a step


@sealed
@attrs.frozen(kw_only=True)
class StepPreparation:
    """A step before its model is called: the call's own values, and what the processors did so far.

    Settings of the model and the format of its answer are the driver's to say: a run does not know those of
    its agent.
    """

    model: str
    steps: Vector[StepRecord]
    step_number: int
    chains: Chains
    system: SystemPrompt | None = None
    tools: tuple[str, ...] = NO_ITEMS
    tool_choice: JsonObject | None = field(default=None, eq=strict_key)
    active_tools: tuple[str, ...] | None = None
    provider_options: JsonObject | None = field(default=None, eq=strict_key)
    model_settings: JsonObject | None = field(default=None, eq=strict_key, repr=False)
    response_format: JsonObject | None = field(default=None, eq=strict_key)
    experimental_context: JsonValue = field(default=None, eq=strict_key, repr=False)
    override: StepOverride = NO_OVERRIDE
    edits: tuple[ProcessorEdit, ...] = NO_ITEMS

    @property
    def messages(self) -> Vector[Message]:
        """The step input."""
        return self.chains.step_input

    @property
    def initial_messages(self) -> Vector[Message]:
        """The initial chain."""
        return self.chains.initial

    @property
    def response_messages(self) -> Vector[Message]:
        """The response chain."""
        return self.chains.response

    def of_call(self, settings: JsonObject, response_format: JsonObject | None) -> StepPreparation:
        """Return the step under a call's settings of the model and its format."""
        return attrs.evolve(self, model_settings=settings, response_format=response_format)

    def arguments(self, processor_id: str, invocation_state: Any = None) -> StepArguments[Any]:
        """Return the arguments of that processor, if it is the next one (rule processor.order)."""
        done = self.override
        lasting = _first(done.lasting_messages, self.messages)
        messages = _first(done.messages, lasting)
        system = system_messages(_first(done.system, self.system))  # processor.system-reset
        whose = (processor_id, self.step_number)
        return StepArguments(
            processor_id=processor_id,
            step_number=self.step_number,
            steps=self.steps,
            model=_first(done.model, self.model),
            messages=messages,
            lasting_messages=lasting,
            initial_messages=self.initial_messages,
            response_messages=self.response_messages,
            system_messages=system,
            message_list=MessageList(messages, lambda: self._apply_own_edits().messages[1], system, whose),
            tools=self.tools,
            tool_choice=_first(done.tool_choice, self.tool_choice),
            active_tools=_first(done.active_tools, self.active_tools),
            provider_options=merge_provider_options(self.provider_options, done.provider_options),
            model_settings=merge_settings(self.model_settings, done.model_settings),
            structured_output=_first(done.response_format, self.response_format),
            experimental_context=_first(done.experimental_context, self.experimental_context),
            request_context=self.experimental_context,
            invocation_state=new_state() if invocation_state is None else invocation_state,
        )

    def edit(self, arguments: StepArguments[Any], result: object) -> ProcessorEdit | None:
        """Return the edit of a processor by its arguments and its result, or None; closes its list.

        Raises InvalidOverrideError, with the processor and the step, for an invalid result:
        ForeignMessageListError, ConflictingResultError and UnsupportedModelError are kinds of it.
        """
        edit = _edit(arguments, result, _OF_STEP)
        if edit is None or edit.override.lasting_messages is None:
            return edit
        return self._identified(edit, edit.override.messages, edit.override.lasting_messages)

    def _identified(
        self, edit: ProcessorEdit, messages: Vector[Message] | None, lasting: Vector[Message]
    ) -> ProcessorEdit:
        """The lasting edit with the ids of its messages, which nobody can find out later."""
        name = f"{edit.processor_id}-{self.step_number}"
        known: tuple[Identified, ...] = self._apply_own_edits()
        ids, lasting_ids = edit.ids, edit.lasting_ids
        if messages is not None:
            ids = kept_ids(messages, known, name) if ids is None else ids
            known = (*known, (messages, ids))
        if lasting_ids is None:
            lasting_ids = kept_ids(lasting, known, name)
        return attrs.evolve(edit, ids=ids, lasting_ids=lasting_ids)

    def after(self, edit: ProcessorEdit | None) -> StepPreparation:
        """The step after an edit."""
        if edit is None:
            return self
        return attrs.evolve(
            self, override=self.override.then(edit.override), edits=FrozenList((*self.edits, edit))
        )

    def _apply_own_edits(self) -> _Shown:
        return _apply_edits((self.messages, self.chains.ids), self.edits, self.step_number)


# ---------------------------------------------------------------- what a processor returned

_Arguments: TypeAlias = StepArguments[Any] | InputArguments[Any]


class _Said(NamedTuple):
    """The result of a processor, read together with its list.

    `fields` are those still to be read, `known` the messages that need no reading. The ids are those that the
    list has for its messages. `is_list` is whether the messages are those of the changed list.
    """

    fields: Mapping[str, Any]
    known: Mapping[str, Vector[Message]] = NO_ENTRIES
    ids: Vector[str] | None = None
    lasting_ids: Vector[str] | None = None
    is_list: bool = False


def _edit(arguments: _Arguments, result: object, allowed: Sequence[str]) -> ProcessorEdit | None:
    # Before the result is read, so that a list which somebody kept cannot change what was decided here.
    changes = arguments.message_list.close()  # list.committed-on-return
    try:
        said = _with_list(_fields_of_result(arguments, result, allowed), arguments, changes)
        said = _read_once(said, _shown_to(arguments))
        _check_system(said.fields, changes)
        override = _with_system(_override(said, _shown_to(arguments)), said, arguments, changes)
        if isinstance(arguments, StepArguments):
            check_tool_names(arguments.tools, override.active_tools, override.tool_choice)
    except InvalidOverrideError as error:
        raise error.by(arguments.processor_id, arguments.step_number) from None
    if not override.fields:
        return None
    return ProcessorEdit(
        processor_id=arguments.processor_id,
        override=override,
        ids=said.ids,
        lasting_ids=said.lasting_ids,
        holds_history=_holds_history(result, override),
    )


def _holds_history(result: object, override: StepOverride) -> bool | None:
    """Return whether the returned model holds the history on its side; an id does not say."""
    model = result.get("model") if isinstance(result, Mapping) else None
    if override.model is None or model is None or isinstance(model, str):
        return None
    # The very True: a mock has any attribute, and a truthy one would switch the check of prompts off.
    return getattr(model, "holds_history", False) is True


# ---------------------------------------------------------------- the form of a result


def _fields_of_result(arguments: _Arguments, result: object, allowed: Sequence[str]) -> _Said:
    """Return the result as fields."""
    if result is None:
        return _Said({})
    if isinstance(result, MessageList):
        _check_own(arguments, "$", result)
        return _Said({"message_list": result})
    if isinstance(result, StepOverride):
        fields = {name: getattr(result, name) for name in result.fields}
        known: dict[str, Vector[Message]] = {name: fields.pop(name) for name in _MESSAGES if name in fields}
        return _Said(fields, known)
    if isinstance(result, Mapping):
        _check_names(result, allowed)
        return _Said(dict(result))
    if isinstance(result, Iterable) and not isinstance(result, (str, bytes)):
        return _Said({"messages": result})
    kind = type(result).__name__
    reason = f"return nothing, a mapping of fields, a list of messages or the message list, not {kind}"
    raise InvalidOverrideError("$", reason)


def _check_names(fields: Mapping[Any, Any], allowed: Sequence[str]) -> None:
    for name in fields:
        if name not in allowed:
            reason = f"no field of a result here; the fields are {', '.join(allowed)}"
            raise InvalidOverrideError(json_path("$", str(name)), reason)


def _check_own(arguments: _Arguments, path: str, given: MessageList) -> None:
    if given is not arguments.message_list:  # processor.own-list
        reason = "this is not the message list that the processor got; change that one"
        raise ForeignMessageListError(path, reason)


def _with_list(said: _Said, arguments: _Arguments, changes: ListChanges) -> _Said:
    """Return the result, with the list's messages in place of the list."""
    fields = said.fields
    uses = {name for name in _LISTS if isinstance(fields.get(name), MessageList)}
    for name in uses:
        _check_own(arguments, f"$.{name}", fields[name])
    if fields.get("message_list") is not None and "message_list" not in uses:
        raise InvalidOverrideError("$.message_list", "return the message list itself, or leave it out")
    rest = {name: value for name, value in fields.items() if name not in {*uses, "message_list"}}
    messages = changes.messages
    lasts = "lasting_messages" in uses
    is_twice = bool(uses - {"lasting_messages"}) or (messages is not None and not lasts)
    if is_twice and (rest.get("messages") is not None or "messages" in said.known):
        reason = "the message list was changed or returned as well; do one of the two"
        raise ConflictingResultError("$.messages", reason)  # processor.said-once
    said = said._replace(fields=rest)
    if lasts:
        lasting = _first(messages, arguments.messages)
        return said._replace(known={**said.known, "lasting_messages": lasting}, lasting_ids=changes.ids)
    if messages is None:
        return said
    return said._replace(known={**said.known, "messages": messages}, ids=changes.ids, is_list=True)


def _read_once(said: _Said, shown: Sequence[Vector[Message]]) -> _Said:
    """Return the result with iterators as lists, and with messages known from `shown` marked as checked."""
    fields, known = dict(said.fields), dict(said.known)
    for name in _MESSAGES:
        value = fields.get(name)
        if isinstance(value, Vector):
            # A vector that grew out of what the hook was given need not be read again but for its end.
            # Without that, a hook that appends one message costs the whole history at each step.
            news = (following(value, one) for one in shown)
            if any(new is not None and MESSAGES.issuperset(map(type, new)) for new in news):
                known[name] = fields.pop(name)
        elif isinstance(value, Iterable) and not isinstance(value, (str, Mapping, Sequence)):
            # An iterator can be read once, and is read twice below: for the messages, and for which of them
            # are old.
            fields[name] = list(value)
    return said._replace(fields=fields, known=known)


# ---------------------------------------------------------------- the meaning of a result


def _check_system(fields: Mapping[str, Any], changes: ListChanges) -> None:
    is_given = any(fields.get(name) is not None for name in _SYSTEM)
    if is_given and changes.system_messages is not None:  # processor.said-once
        reason = "system messages were added to the list as well; return all of them, or add them there"
        raise ConflictingResultError("$.system_messages", reason)


def _override(said: _Said, shown: Sequence[Vector[Message]]) -> StepOverride:
    """The override, its messages sharing structure with what the processor got."""
    override = StepOverride.from_result(said.fields)
    read = {
        name: _again(messages, said.fields[name], shown)
        for name in _MESSAGES
        if (messages := getattr(override, name)) is not None
    }
    shared = {name: _shared(messages, shown) for name, messages in {**read, **said.known}.items()}
    return with_fields(override, **shared) if shared else override


def _shown_to(arguments: _Arguments) -> tuple[Vector[Message], Vector[Message]]:
    messages = arguments.messages
    return messages, getattr(arguments, "lasting_messages", messages)


def _with_system(
    override: StepOverride, said: _Said, arguments: _Arguments, changes: ListChanges
) -> StepOverride:
    """The override with all system messages that there are after it, if there are others than before."""
    listed = changes.system_messages
    messages, added = override.messages, _NONE
    if not said.is_list:
        messages, added = _without_new_system(messages, arguments.messages)
    if not added and listed is None:
        return override
    before = override.system if listed is None else listed  # processor.system-replaced
    system = grown(system_messages(arguments.system_messages if before is None else before), added)
    return with_fields(override, messages=messages, system=system)


def _again(
    messages: Vector[Message], raw: Iterable[object], shown: Iterable[Vector[Message]]
) -> Vector[Message]:
    """The messages; one that was returned as the JSON of one that was shown is that very one."""
    if MESSAGES.issuperset(map(type, raw)):
        return messages
    places: dict[Message, deque[Message]] = {}
    # By identity: the two lists that a hook gets mostly share their messages, and one that is in both is
    # one message, not two equal ones.
    for one in {id(each): each for known in shown for each in known}.values():
        places.setdefault(one, deque()).append(one)

    def again(message: Message) -> Message:
        same = places.get(message)
        # Equal messages are taken in their order. The last stays for further copies: a message returned
        # twice is still that message.
        return message if not same else same.popleft() if len(same) > 1 else same[0]

    return vector(
        again(message) if isinstance(form, Mapping) else message
        for message, form in zip(messages, raw, strict=True)
    )


def _shared(messages: Vector[Message], shown: Iterable[Vector[Message]]) -> Vector[Message]:
    for one in shown:
        messages = sharing(messages, one)
    return messages


def _without_new_system(
    messages: Vector[Message] | None, shown: Vector[Message]
) -> tuple[Vector[Message] | None, Vector[SystemMessage]]:
    """The messages without system messages that were not shown, and these (rule processor.system-added)."""
    if messages is None:
        return None, _NONE
    new = following(messages, shown)
    if SystemMessage not in map(type, messages if new is None else new):
        return messages, _NONE
    # By identity and by count: an equal system message, or the same one returned once more, is a new one,
    # which its author wants to be sent.
    standing = Counter(id(message) for message in shown if isinstance(message, SystemMessage))
    kept: list[Message] = []
    added: list[SystemMessage] = []
    for message in messages:
        if not isinstance(message, SystemMessage):
            kept.append(message)
        elif standing[id(message)]:
            standing[id(message)] -= 1
            kept.append(message)
        else:
            added.append(message)
    return sharing(vector(kept), shown), vector(added)
