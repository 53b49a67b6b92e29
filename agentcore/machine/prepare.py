"""The processors of a run's input and of its steps, as folds of values.

Whatever is decided about what a processor returned is decided here. A driver goes through the processors:

    arguments = so_far.arguments(processor.id)
    so_far = so_far.after(so_far.edit(arguments, result))

and gives the run the edits that there are in the end.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar, cast

import attrs
from attrs import field

from agentcore.errors import ConflictingResultError, ForeignMessageListError, InvalidOverrideError
from agentcore.machine.hooks import (
    NO_OVERRIDE,
    OVERRIDE_NAMES,
    Checked,
    Frozen,
    ProcessorEdit,
    StepOverride,
    StepRecord,
    check_tool_names,
    context,
    evolved,
    json_object,
    merge_provider_options,
    merge_settings,
)
from agentcore.machine.message_list import MessageList
from agentcore.machine.processors import InputArguments, StepArguments
from agentcore.messages.chains import Chains
from agentcore.messages.message_ids import Identified, kept_ids, sharing
from agentcore.messages.message_input import MESSAGES
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.prompt import SystemPrompt, system_messages
from agentcore.messages.shared_state import new_state
from agentcore.messages.values import (
    NO_ITEMS,
    JsonObject,
    JsonValue,
    Vector,
    following,
    frozen_list,
    frozen_list_or_none,
    grown,
    json_path,
    sealed,
    strict_key,
    vector,
)

__all__ = ["CallPreparation", "StepPreparation", "is_identified"]

_T = TypeVar("_T")
# Where a result may have messages, and the message list itself in their place.
_LISTS: Final = ("message_list", "messages", "lasting_messages")
_SYSTEM: Final = ("system", "system_messages")
_OF_INPUT: Final = ("messages", "message_list", *_SYSTEM)
_OF_STEP: Final = ("message_list", *OVERRIDE_NAMES)
_NONE: Final[Vector[SystemMessage]] = vector()


def is_identified(edit: ProcessorEdit) -> bool:
    """Whether there is an id for each message of the edit, where it says any; for lasting ones it has to."""
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


def _shown(start: Identified, edits: Iterable[ProcessorEdit], where: object) -> _Shown:
    shown = _Shown(start, start)
    for edit in edits:
        shown = shown.after(edit, where)
    return shown


# ---------------------------------------------------------------- a run's input


@sealed
@attrs.frozen(kw_only=True)
class CallPreparation:
    """What a run is to begin with so far: the messages and instructions that it was given, and their edits.

    What the processors leave are the run's initial messages and its own instructions (rule
    processor.input-once).
    """

    chains: Chains
    system: SystemPrompt | None
    request_context: JsonValue = field(default=None, converter=context, eq=strict_key, repr=False)
    override: StepOverride = NO_OVERRIDE
    edits: tuple[ProcessorEdit, ...] = field(default=NO_ITEMS, converter=frozen_list)

    @property
    def messages(self) -> Vector[Message]:
        """The messages that the run was given."""
        return self.chains.initial

    def arguments(self, processor_id: str, invocation_state: Any = None) -> InputArguments[Any]:
        """What the processor of that id is handed, if it is the next one."""
        messages = _first(self.override.messages, self.messages)
        system = system_messages(_first(self.override.system, self.system))
        return InputArguments(
            processor_id=processor_id,
            messages=messages,
            system_messages=system,
            message_list=MessageList(messages, lambda: self.identified[1], system, (processor_id, None)),
            request_context=Frozen(self.request_context),
            invocation_state=new_state() if invocation_state is None else invocation_state,
        )

    def edit(self, arguments: InputArguments[Any], result: object) -> ProcessorEdit | None:
        """What a processor did that was handed this and returned that, or None; closes its list.

        Raises as `StepPreparation.edit` does.
        """
        return _Result(arguments, result, _OF_INPUT).edit()

    def after(self, edit: ProcessorEdit | None) -> CallPreparation:
        """What the run is to begin with after an edit."""
        if edit is None:
            return self
        return attrs.evolve(
            self,
            override=self.override.then(edit.override),
            edits=(*self.edits, edit),
            request_context=Frozen(self.request_context),
        )

    @property
    def identified(self) -> Identified:
        """The messages as they are now, with their ids."""
        return _shown((self.messages, self.chains.ids), self.edits, "input").messages


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
    tools: tuple[str, ...] = field(default=NO_ITEMS, converter=frozen_list)
    tool_choice: JsonObject | None = field(default=None, converter=json_object, eq=strict_key)
    active_tools: tuple[str, ...] | None = field(default=None, converter=frozen_list_or_none)
    provider_options: JsonObject | None = field(default=None, converter=json_object, eq=strict_key)
    model_settings: JsonObject | None = field(default=None, converter=json_object, eq=strict_key, repr=False)
    response_format: JsonObject | None = field(default=None, converter=json_object, eq=strict_key)
    experimental_context: JsonValue = field(default=None, converter=context, eq=strict_key, repr=False)
    override: StepOverride = NO_OVERRIDE
    edits: tuple[ProcessorEdit, ...] = field(default=NO_ITEMS, converter=frozen_list)

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
        """The same step, where the call has these settings of the model and this format."""
        return self._with(model_settings=settings, response_format=response_format)

    def _with(self, **changes: Any) -> StepPreparation:
        kept = Frozen(self.experimental_context)
        return attrs.evolve(self, experimental_context=kept, **changes)

    def arguments(self, processor_id: str, invocation_state: Any = None) -> StepArguments[Any]:
        """What the processor of that id is handed, if it is the next one (rule processor.order)."""
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
            message_list=MessageList(messages, lambda: self._shown().messages[1], system, whose),
            tools=self.tools,
            tool_choice=_first(done.tool_choice, self.tool_choice),
            active_tools=_first(done.active_tools, self.active_tools),
            provider_options=merge_provider_options(self.provider_options, done.provider_options),
            model_settings=merge_settings(self.model_settings, done.model_settings),
            structured_output=_first(done.response_format, self.response_format),
            experimental_context=Frozen(_first(done.experimental_context, self.experimental_context)),
            request_context=Frozen(self.experimental_context),
            invocation_state=new_state() if invocation_state is None else invocation_state,
        )

    def edit(self, arguments: StepArguments[Any], result: object) -> ProcessorEdit | None:
        """What a processor did that was handed this and returned that, or None; closes its list.

        Raises InvalidOverrideError, with the processor and the step, for a result that is none:
        ForeignMessageListError, ConflictingResultError and UnsupportedModelError are kinds of it.
        """
        edit = _Result(arguments, result, _OF_STEP).edit()
        if edit is None or edit.override.lasting_messages is None:
            return edit
        return self._identified(edit, edit.override.messages, edit.override.lasting_messages)

    def _identified(
        self, edit: ProcessorEdit, messages: Vector[Message] | None, lasting: Vector[Message]
    ) -> ProcessorEdit:
        """The lasting edit with the ids of its messages, which nobody can find out later."""
        name = f"{edit.processor_id}-{self.step_number}"
        known: tuple[Identified, ...] = self._shown()
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
        return self._with(override=self.override.then(edit.override), edits=(*self.edits, edit))

    def _shown(self) -> _Shown:
        return _shown((self.messages, self.chains.ids), self.edits, self.step_number)


# ---------------------------------------------------------------- what a processor returned


class _Result:
    """What a processor returned, and what became of the list that it was handed."""

    def __init__(
        self,
        arguments: StepArguments[Any] | InputArguments[Any],
        result: object,
        allowed: Sequence[str],
    ) -> None:
        self._arguments = arguments
        self._result = result
        self._allowed = allowed
        self._changes = arguments.message_list.close()  # list.committed-on-return
        # Whether its messages, if it has any, were returned, and not made by changing the list.
        self._is_returned = True
        self._ids: Vector[str] | None = None
        self._lasting_ids: Vector[str] | None = None

    def edit(self) -> ProcessorEdit | None:
        try:
            override = self._override(self._fields())
            if isinstance(self._arguments, StepArguments):
                check_tool_names(self._arguments.tools, override.active_tools, override.tool_choice)
        except InvalidOverrideError as error:
            raise error.by(self._arguments.processor_id, self._arguments.step_number) from None
        if not override.fields:
            return None
        return ProcessorEdit(
            processor_id=self._arguments.processor_id,
            override=override,
            ids=self._ids,
            lasting_ids=self._lasting_ids,
            holds_history=self._holds_history(override),
        )

    def _holds_history(self, override: StepOverride) -> bool | None:
        """Whether the model that was returned says that it holds the history; an id says nothing of it."""
        model = self._result.get("model") if isinstance(self._result, Mapping) else None
        if override.model is None or model is None or isinstance(model, str):
            return None
        return getattr(model, "holds_history", False) is True

    # ------------------------------------------------------------ its form

    def _fields(self) -> dict[str, Any]:
        """The result as fields."""
        result = self._result
        if result is None:
            return {}
        if isinstance(result, MessageList):
            self._check_own("$", result)
            return {"message_list": result}
        if isinstance(result, StepOverride):
            fields = {name: getattr(result, name) for name in result.fields}
            return fields | {name: Checked(fields[name]) for name in _LISTS[1:] if name in fields}
        if isinstance(result, Mapping):
            self._check_names(result)
            return dict(result)
        if isinstance(result, Iterable) and not isinstance(result, (str, bytes)):
            return {"messages": result}
        kind = type(result).__name__
        reason = f"return nothing, a mapping of fields, a list of messages or the message list, not {kind}"
        raise InvalidOverrideError("$", reason)

    def _check_names(self, fields: Mapping[Any, Any]) -> None:
        for name in fields:
            if name not in self._allowed:
                reason = f"no field of a result here; the fields are {', '.join(self._allowed)}"
                raise InvalidOverrideError(json_path("$", str(name)), reason)

    def _check_own(self, path: str, given: MessageList) -> None:
        if given is not self._arguments.message_list:  # processor.own-list
            reason = "this is not the message list that the processor was handed; change that one"
            raise ForeignMessageListError(path, reason)

    # ------------------------------------------------------------ its meaning

    def _override(self, fields: dict[str, Any]) -> StepOverride:
        self._take_list(fields)
        for name in _LISTS[1:]:
            if fields.get(name) is not None:
                fields[name] = self._listed(fields[name])
        given_system = any(fields.get(name) is not None for name in _SYSTEM)
        if given_system and self._changes.system_messages is not None:  # processor.said-once
            reason = "system messages were added to the list as well; return all of them, or add them there"
            raise ConflictingResultError("$.system_messages", reason)
        override = StepOverride.from_result(fields)
        return self._with_system(self._with_messages(override, fields))

    def _take_list(self, fields: dict[str, Any]) -> None:
        """Put what the list has come to in the place of the list, wherever the result has it."""
        uses = {name for name in _LISTS if isinstance(fields.get(name), MessageList)}
        for name in uses:
            self._check_own(f"$.{name}", fields[name])
        if fields.get("message_list") is not None and "message_list" not in uses:
            raise InvalidOverrideError("$.message_list", "return the message list itself, or leave it out")
        for name in {*uses, "message_list"}:
            fields.pop(name, None)
        messages = self._changes.messages
        lasts = "lasting_messages" in uses
        twice = bool(uses - {"lasting_messages"}) or (messages is not None and not lasts)
        if twice and fields.get("messages") is not None:
            reason = "the message list was changed or returned as well; do one of the two"
            raise ConflictingResultError("$.messages", reason)  # processor.said-once
        if lasts:
            fields["lasting_messages"] = Checked(_first(messages, self._arguments.messages))
            self._lasting_ids = self._changes.ids
        elif messages is not None:
            fields["messages"] = Checked(messages)
            self._ids = self._changes.ids
            self._is_returned = False

    def _with_messages(self, override: StepOverride, raw: Mapping[str, Any]) -> StepOverride:
        """The override, its messages sharing structure with what the processor was handed."""
        changes: Any = {
            name: _shared(_again(messages, raw[name], self._shown), self._shown)
            for name in _LISTS[1:]
            if (messages := getattr(override, name)) is not None
        }
        return evolved(override, **changes) if changes else override

    def _listed(self, value: object) -> object:
        """Messages as they were returned, to be gone through more than once; none twice that were shown."""
        if isinstance(value, Iterable) and not isinstance(value, (str, Mapping, Sequence)):
            return list(value)
        if type(value) is type(self._arguments.messages):
            grown = cast("Vector[Any]", value)
            news = (following(grown, shown) for shown in self._shown)
            if any(new is not None and MESSAGES.issuperset(map(type, new)) for new in news):
                return Checked(grown)
        return value

    @property
    def _shown(self) -> tuple[Vector[Message], Vector[Message]]:
        messages = self._arguments.messages
        return messages, getattr(self._arguments, "lasting_messages", messages)

    def _with_system(self, override: StepOverride) -> StepOverride:
        """The override with all system messages that there are after it, if there are others than before."""
        arguments, listed = self._arguments, self._changes.system_messages
        messages, added = override.messages, _NONE
        if self._is_returned:
            messages, added = _without_new_system(messages, arguments.messages)
        if not added and listed is None:
            return override
        before = override.system if listed is None else listed  # processor.system-replaced
        system = grown(system_messages(arguments.system_messages if before is None else before), added)
        return evolved(override, messages=messages, system=system)


def _again(
    messages: Vector[Message], raw: Iterable[object], shown: Iterable[Vector[Message]]
) -> Vector[Message]:
    """The messages; one that was returned as the JSON of one that was shown is that very one."""
    if type(raw) is Checked or MESSAGES.issuperset(map(type, raw)):
        return messages
    places: dict[Message, deque[Message]] = {}
    for one in {id(each): each for known in shown for each in known}.values():
        places.setdefault(one, deque()).append(one)

    def again(message: Message) -> Message:
        same = places.get(message)
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
