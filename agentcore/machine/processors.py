"""Processors: what looks at a run's input and at each step before the model is called, and may change it.

A processor is an object with an `id` and one or both of the methods `process_input`, once a run, and
`process_input_step`, at each step; or a function, which is a `process_input_step`. All of them may be async.
They run in order, each given what the one before left, and `prepare_step` is the last of them (rule
processor.order). What they return is for the step, but for `lasting_messages` and all of `process_input`.

Everything that hooks, tools and handlers get is a value (rule step.nothing-written) but for the
`invocation_state`, which all of a call share on purpose: the very object that the call was given, of a type
of its user's own, or a new dict (rule context.shared).

The message list of a processor is a transient: it works on persistent vectors that are its own, and what it
has come to is taken when the processor returns (rule list.committed-on-return). Nothing that others hold can
change through it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, NoReturn, Protocol, TypeAlias

import attrs
from attrs import field
from typing_extensions import TypeVar

from agentcore.errors import (
    AgentCoreError,
    ClosedMessageListError,
    InvalidOverrideError,
    InvalidProcessorError,
    InvalidPromptError,
    UnknownMessageError,
)
from agentcore.machine.hooks import StepOverride, StepRecord
from agentcore.messages.chains import (
    MESSAGES,
    MessageForm,
    SystemForm,
    message_form,
    message_forms,
    system_prompt,
)
from agentcore.messages.converters import metadata_json
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.prompt import system_messages
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    frozen_list,
    grown,
    replace_item,
    sealed,
    strict_key,
    vector,
)

__all__ = [
    "PREPARE_STEP",
    "PROCESS_INPUT",
    "InputArguments",
    "InputProcessor",
    "ListChanges",
    "MessageList",
    "Mutation",
    "MutationKind",
    "NamedProcessor",
    "ProcessInput",
    "ProcessInputStep",
    "Processor",
    "State",
    "StepArguments",
    "StepProcessor",
    "StepResult",
    "Tripwire",
    "TripwireError",
    "abort",
    "named_processors",
    "new_state",
]

# ---------------------------------------------------------------- the message list

MutationKind: TypeAlias = Literal["add", "add_system", "remove", "replace"]


def _ids(value: Iterable[str]) -> tuple[str, ...]:
    return frozen_list(value)


def _messages(value: Iterable[Message]) -> Vector[Message]:
    return vector(value)


@sealed
@attrs.frozen
class Mutation:
    """One change of a message list: the messages that came or, of `remove`, went, and their ids.

    System messages that were added have no ids; `replace` keeps the id.
    """

    kind: MutationKind
    messages: Vector[Message] = field(converter=_messages)
    ids: tuple[str, ...] = field(default=NO_ITEMS, converter=_ids, kw_only=True)


class ListChanges(NamedTuple):
    """The changes of a closed list; None for messages or system messages without a change.

    There are no ids where nobody has asked for them: then all that was done is that messages were added.
    """

    messages: Vector[Message] | None
    ids: Vector[str] | None
    system_messages: Vector[SystemMessage] | None
    mutations: tuple[Mutation, ...]


class MessageList:
    """Messages with their ids, which a processor may change by the methods here; only a run makes one.

    When the processor returns, the list is what it wants its messages to be, also if it returns nothing; if
    it raises, its changes are dropped. Messages are values or `ModelMessage` JSON. Ids are the same for all
    processors and at every step. After the processor has returned, any use raises ClosedMessageListError.
    """

    __slots__ = (
        "_added",
        "_closed",
        "_ids",
        "_known",
        "_messages",
        "_mutations",
        "_new",
        "_places",
        "_system",
        "_whose",
    )

    def __init__(
        self,
        messages: Vector[Message],
        ids: Callable[[], Vector[str]],
        system: Vector[SystemMessage],
        whose: tuple[str, int | None],
    ) -> None:
        self._messages = messages
        # Ids are asked for when somebody wants them: after edits that say nothing of them they have to be
        # found out. Those of messages that were added before that wait in `_added`.
        self._known = ids
        self._ids: Vector[str] | None = None
        self._added: list[str] = []
        self._places: dict[str, int] | None = None
        self._system = system
        self._whose = whose
        self._new = count()
        self._mutations: list[Mutation] = []
        self._closed = False

    # ------------------------------------------------------------ reading

    def __len__(self) -> int:
        self._check_open()
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        """The messages as they are now: changes made on the way do not show."""
        self._check_open()
        return iter(self._messages)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._messages)} messages"
        return f"<MessageList: {state}>"

    @property
    def ids(self) -> Vector[str]:
        """The ids of the messages, in their order."""
        self._check_open()
        return self._all_ids()

    @property
    def system_messages(self) -> Vector[SystemMessage]:
        """The system messages as they are now, which are no part of the list itself."""
        self._check_open()
        return self._system

    @property
    def mutations(self) -> tuple[Mutation, ...]:
        """The changes so far, in order."""
        self._check_open()
        return FrozenList(self._mutations)

    def get(self, message_id: str) -> Message | None:
        """Return the message with the id `message_id`, or None."""
        self._check_open()
        place = self._all_places().get(message_id)
        return None if place is None else self._messages[place]

    # ------------------------------------------------------------ changing

    def add(self, messages: MessageForm | Iterable[MessageForm]) -> tuple[str, ...]:
        """Add one message or several at the end; system messages go to the system messages.

        Args:
            messages: a message, or several, in any form.

        Returns:
            The ids of those that are in the list now.

        Raises:
            InvalidPromptError: for a value that is not a message.
        """
        self._check_open()
        is_one = isinstance(messages, Mapping) or type(messages) in MESSAGES
        given = vector((message_form(messages),)) if is_one else message_forms(messages, "$")
        system = [message for message in given if isinstance(message, SystemMessage)]
        if system:  # processor.system-added
            self._add_system(system)
        new = [message for message in given if not isinstance(message, SystemMessage)]
        return self._extend(new) if new else NO_ITEMS

    def _extend(self, new: Sequence[Message]) -> tuple[str, ...]:
        ids = FrozenList(self._new_id() for _ in new)
        if self._places is not None:
            self._places.update(zip(ids, count(len(self._messages)), strict=False))
        self._messages = grown(self._messages, new)
        if self._ids is None:
            self._added += ids
        else:
            self._ids = grown(self._ids, ids)
        self._mutations.append(Mutation("add", new, ids=ids))
        return ids

    def _new_id(self) -> str:
        processor_id, step_number = self._whose
        where = "input" if step_number is None else step_number
        return f"{processor_id}-{where}-{next(self._new)}"

    def add_system(self, messages: SystemForm | Iterable[SystemForm]) -> None:
        """Add system messages after those there are.

        Args:
            messages: a system message, or several, in any form; a text is one.

        Raises:
            InvalidPromptError: for anything else.
        """
        self._check_open()
        self._add_system(system_messages(system_prompt(messages, "$")))

    def _add_system(self, new: Iterable[SystemMessage]) -> None:
        added = vector(new)
        if added:
            self._system = grown(self._system, added)
            self._mutations.append(Mutation("add_system", added))

    def remove_by_ids(self, ids: Iterable[str]) -> None:
        """Remove messages.

        Args:
            ids: the ids of the messages, or one id.

        Raises:
            UnknownMessageError: if one of them is not in the list; then nothing is removed.
        """
        self._check_open()
        gone = dict.fromkeys((ids,) if isinstance(ids, str) else ids)
        # All places first: an unknown id raises before anything is removed. Sorted, because the mutation
        # lists what went in the order of the list.
        places = sorted(self._place(each) for each in gone)
        if not places:
            return
        messages, kept = self._messages, self._all_ids()
        removed = Mutation(
            "remove", [messages[place] for place in places], ids=[kept[place] for place in places]
        )
        self._messages = vector(
            message for message, each in zip(messages, kept, strict=True) if each not in gone
        )
        self._ids = vector(each for each in kept if each not in gone)
        # All places after the first removed one have moved; they are counted again when somebody asks.
        self._places = None
        self._mutations.append(removed)

    def replace(self, message_id: str, message: MessageForm) -> None:
        """Put a message in the place of another, whose id it has from now on.

        Args:
            message_id: the id of the message that goes.
            message: the message in its place, in any form.

        Raises:
            UnknownMessageError: if no message has the id.
            InvalidPromptError: for a value that is not a message, and for a system message in the place of
                another kind: system messages are no part of the conversation.
        """
        self._check_open()
        place = self._place(message_id)
        new = message_form(message)
        if isinstance(new, SystemMessage) and not isinstance(self._messages[place], SystemMessage):
            raise InvalidPromptError(
                "a system message cannot replace another kind of message; call add_system()", "$"
            )
        self._messages = replace_item(self._messages, place, new)
        self._mutations.append(Mutation("replace", (new,), ids=(message_id,)))

    # ------------------------------------------------------------ ids

    def _all_ids(self) -> Vector[str]:
        if self._ids is None:
            self._ids = grown(self._known(), self._added)
        return self._ids

    def _all_places(self) -> dict[str, int]:
        if self._places is None:
            self._places = {each: place for place, each in enumerate(self._all_ids())}
        return self._places

    def _place(self, message_id: str) -> int:
        place = self._all_places().get(message_id)
        if place is None:
            raise UnknownMessageError(message_id)
        return place

    # ------------------------------------------------------------ the end

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedMessageListError(*self._whose)

    def close(self) -> ListChanges:
        """Return the changes and close the list, as the run does that made it."""
        self._closed = True
        kinds: set[Any] = {mutation.kind for mutation in self._mutations}
        changed = bool(kinds - {"add_system"})
        return ListChanges(
            self._messages if changed else None,
            self._ids if changed else None,
            self._system if "add_system" in kinds else None,
            tuple(self._mutations),
        )


# ---------------------------------------------------------------- what a call shares

State = TypeVar("State", default=dict[str, Any])
"""The type of a call's `invocation_state`."""


def new_state() -> Any:
    """Returns the state of a call that was given none."""
    return {}


PREPARE_STEP: Final = "prepare_step"
"""The id that `prepare_step` has as a processor."""

PROCESS_INPUT: Final = "process_input"
"""The id of a processor of input without an agent, where a run is given its result."""

# ---------------------------------------------------------------- tripwires


@sealed
@attrs.frozen(kw_only=True)
class Tripwire:
    """The end of a run by `abort` in a processor.

    `step_number` is the step whose model was not called; None for `process_input`. `retry` is the processor's
    advice that the same call may do better next time; the caller decides.
    """

    processor_id: str
    step_number: int | None = None
    reason: str | None = None
    retry: bool = False
    metadata: JsonValue = field(default=None, converter=metadata_json, eq=strict_key)


class TripwireError(AgentCoreError):
    """Raised by `abort`: ends the run with a Tripwire, which is no failure (rule processor.abort-ends)."""

    wire_name = "TripwireError"

    def __init__(self, reason: str | None = None, *, retry: bool = False, metadata: object = None) -> None:
        super().__init__(reason)
        if reason is not None and not isinstance(reason, str):
            raise InvalidOverrideError("$.reason", f"use a text or None, not {type(reason).__name__}")
        self.reason = reason
        # A flag that is kept in the saved run: whatever truthy object a processor passes, JSON needs a
        # bool.
        self.retry = bool(retry)
        self.metadata = metadata_json(metadata)

    def __str__(self) -> str:
        return "a processor ended the run" if self.reason is None else self.reason


def abort(reason: str | None = None, *, retry: bool = False, metadata: object = None) -> NoReturn:
    """End the run from within a processor: no processor and no model is called any more.

    The run ends well, with its finished steps and a Tripwire of the processor.

    Args:
        reason: the reason, for the caller.
        retry: a wish for the caller: whether to try the run again. The loop itself does nothing with it.
        metadata: JSON for the caller.

    Raises:
        TripwireError: always; a processor is to let it through.
    """
    raise TripwireError(reason, retry=retry, metadata=metadata)


# ---------------------------------------------------------------- arguments of processors


@sealed
@attrs.frozen(kw_only=True)
class InputArguments(Generic[State]):
    """The argument of `process_input`: the messages and system messages that the run is to begin with.

    All of it is read-only but for `message_list`, the processor's own, and `invocation_state`, which a call's
    hooks share on purpose. `request_context` is the call's `experimental_context`.
    """

    step_number: ClassVar[None] = None
    processor_id: str
    messages: Vector[Message]
    system_messages: Vector[SystemMessage]
    message_list: MessageList
    request_context: JsonValue = field(default=None, eq=strict_key, repr=False)
    # The one mutable field: hooks of a call share it on purpose (rule context.shared).
    invocation_state: State = field(factory=new_state, eq=False, repr=False)

    abort = staticmethod(abort)

    def _instead(self, name: str) -> str:
        return _instead(name, ("messages", "system_messages"))


@sealed
@attrs.frozen(kw_only=True)
class StepArguments(Generic[State]):
    """The argument of `process_input_step` and `prepare_step`: the step as the processor before left it.

    All of it is read-only but for `message_list`, the processor's own, and `invocation_state`, which a call's
    hooks share on purpose; what a hook returns holds for the step.

    `messages` are those that the prompt is made of. `lasting_messages` are those that later steps are built
    on, without the edits for this step only. The initial and the response chain are there as well, complete
    whatever lasting edits there were. `tools` are the names of all tools of the call, active or not.
    `model_settings` are the call's with those of the step, `structured_output` is the output that the step
    is asked for, and `request_context` is the call's `experimental_context`, from which the step's may
    differ.
    """

    processor_id: str
    step_number: int
    steps: Vector[StepRecord]
    model: str
    messages: Vector[Message]
    lasting_messages: Vector[Message]
    initial_messages: Vector[Message]
    response_messages: Vector[Message]
    system_messages: Vector[SystemMessage]
    message_list: MessageList
    tools: tuple[str, ...]
    tool_choice: JsonObject | None = field(eq=strict_key)
    active_tools: tuple[str, ...] | None
    provider_options: JsonObject | None = field(eq=strict_key)
    # Not shown: providers may take headers here.
    model_settings: JsonObject | None = field(eq=strict_key, repr=False)
    structured_output: JsonObject | None = field(eq=strict_key)
    experimental_context: JsonValue = field(eq=strict_key, repr=False)
    request_context: JsonValue = field(eq=strict_key, repr=False)
    # The one mutable field: hooks of a call share it on purpose (rule context.shared).
    invocation_state: State = field(factory=new_state, eq=False, repr=False)

    abort = staticmethod(abort)

    def _instead(self, name: str) -> str:
        return _instead(name, _RETURNED)


_RETURNED: Final = (
    "messages",
    "lasting_messages",
    "system_messages",
    "model",
    "tool_choice",
    "active_tools",
    "provider_options",
    "model_settings",
    "structured_output",
    "experimental_context",
)


def _instead(name: str, returned: Iterable[str]) -> str:
    if name in returned:
        return f'the arguments of a processor are read-only; return {{"{name}": ...}} instead'
    return f"the arguments of a processor are read-only, and {name} cannot be returned"


# ---------------------------------------------------------------- what processors are

StepResult: TypeAlias = StepOverride | Mapping[str, Any] | Sequence[MessageForm] | MessageList | None
"""The result of a processor: fields of the step, its messages, the list that it got, or nothing."""

ProcessInput: TypeAlias = Callable[[InputArguments[State]], StepResult | Awaitable[StepResult]]
ProcessInputStep: TypeAlias = Callable[[StepArguments[State]], StepResult | Awaitable[StepResult]]


class InputProcessor(Protocol):
    """A processor of a run's input, which is called once, before the first step."""

    @property
    def id(self) -> str:
        """Its name in errors, traces and ids of messages."""

    def process_input(self, call: InputArguments[Any], /) -> StepResult | Awaitable[StepResult]:
        """Returns `messages`, `system_messages`, the message list or nothing; that is what lasts."""


class StepProcessor(Protocol):
    """A processor of each step."""

    @property
    def id(self) -> str:
        """Its name in errors, traces and ids of messages."""

    def process_input_step(self, step: StepArguments[Any], /) -> StepResult | Awaitable[StepResult]:
        """Returns what the step is to use in place of what it got, or nothing."""


@sealed
@attrs.frozen(kw_only=True)
class NamedProcessor:
    """A processor of whatever kind, as agents keep it."""

    id: str
    process_input: ProcessInput[Any] | None = None
    process_input_step: ProcessInputStep[Any] | None = None


Processor: TypeAlias = InputProcessor | StepProcessor | ProcessInputStep[Any] | NamedProcessor
"""A processor of an agent: an object with one or both of the methods, or a function of a step."""


def named_processors(values: Iterable[Processor]) -> tuple[NamedProcessor, ...]:
    """The processors, each with an id of its own; functions that share a name are numbered.

    Raises InvalidProcessorError for what is no processor, and for objects that share an id.
    """
    named: list[NamedProcessor] = []
    taken = {PREPARE_STEP}
    for value in values:
        one = _named(value)
        if one.id in taken and hasattr(value, "id"):
            reason = (
                "two processors have this id; give each its own, which errors, spans and ids of messages name"
            )
            raise InvalidProcessorError(one.id, reason)
        # Functions are numbered, since lambdas all have one name; objects chose their id, and a silent
        # other one would not be found in traces.
        named.append(attrs.evolve(one, id=_free(one.id, taken)))
        taken.add(named[-1].id)
    return FrozenList(named)


def _named(value: Any) -> NamedProcessor:
    ways = [getattr(value, name, None) for name in ("process_input", "process_input_step")]
    if not any(map(callable, ways)) and callable(value):
        ways = [None, value]
    name = getattr(value, "id", None) or getattr(value, "__name__", None)
    if isinstance(value, type) or not any(map(callable, ways)):
        reason = (
            "it is not a processor; give a function, or an object with process_input or process_input_step"
        )
        raise InvalidProcessorError(str(name or type(value).__name__), reason)
    if not isinstance(name, str):
        raise InvalidProcessorError(type(value).__name__, "it has no id; give it one, a text")
    return NamedProcessor(id=name, process_input=ways[0], process_input_step=ways[1])


def _free(name: str, taken: Container[str]) -> str:
    """The name, or the first of `name-2`, `name-3`, ... that is not taken."""
    if name not in taken:
        return name
    return next(each for number in count(2) if (each := f"{name}-{number}") not in taken)
