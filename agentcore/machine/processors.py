"""Processors: what looks at a run's input and at each step before the model is called, and may change it.

A processor is an object with an `id` and one or both of the methods `process_input`, once a run, and
`process_input_step`, at each step; or a function, which is a `process_input_step`. All of them may be async.
They run in order, each handed what the one before left, and `prepare_step` is the last of them (rule
processor.order). What they return is for the step, but for `lasting_messages` and all of `process_input`.

Everything that hooks, tools and handlers get is a value (rule step.nothing-written) but for the
`invocation_state`, which all of a call share on purpose: the very object that the call was given, of a type
of its user's own, or a new dict (rule context.shared).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, Final, Generic, NoReturn, Protocol, TypeAlias

import attrs
from attrs import field
from typing_extensions import TypeVar

from agentcore.errors import (
    AgentCoreError,
    InvalidOverrideError,
    InvalidProcessorError,
    ProcessorFailedError,
)
from agentcore.machine.hooks import StepOverride, StepRecord
from agentcore.machine.message_list import MessageList
from agentcore.messages.chains import MessageForm
from agentcore.messages.converters import metadata_json
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.values import (
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    sealed,
    strict_key,
)

__all__ = [
    "PREPARE_STEP",
    "PROCESS_INPUT",
    "InputArguments",
    "InputProcessor",
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
    "ended",
    "named_processors",
    "new_state",
]

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
    """Why a processor ended the run by `abort`.

    `step_number` is the step that its model was not called for, or None for `process_input`. `retry` is the
    processor's word that the same call may do better next time: whoever called decides.
    """

    processor_id: str
    step_number: int | None = None
    reason: str | None = None
    retry: bool = False
    metadata: JsonValue = field(default=None, converter=metadata_json, eq=strict_key)


class TripwireError(AgentCoreError):
    """What `abort` raises: no failure, but the end of the run with a Tripwire (rule processor.abort-ends)."""

    wire_name = "TripwireError"

    def __init__(self, reason: str | None = None, *, retry: bool = False, metadata: object = None) -> None:
        super().__init__(reason)
        if reason is not None and not isinstance(reason, str):
            raise InvalidOverrideError("$.reason", f"use a text or None, not {type(reason).__name__}")
        self.reason = reason
        self.retry = bool(retry)
        self.metadata = metadata_json(metadata)

    def __str__(self) -> str:
        return "a processor ended the run" if self.reason is None else self.reason


def abort(reason: str | None = None, *, retry: bool = False, metadata: object = None) -> NoReturn:
    """End the run from within a processor: no processor and no model is called any more.

    The run ends well, with its finished steps and a Tripwire of the processor; `metadata` is JSON. Raises
    TripwireError, which a processor is to let through.
    """
    raise TripwireError(reason, retry=retry, metadata=metadata)


# ---------------------------------------------------------------- what processors are handed


@sealed
@attrs.frozen(kw_only=True)
class InputArguments(Generic[State]):
    """What `process_input` is handed: the messages and the system messages that the run is to begin with.

    All of it is values, but for the list and `invocation_state`, which all of a call share on purpose.
    `request_context` is the call's `experimental_context`.
    """

    step_number: ClassVar[None] = None
    processor_id: str
    messages: Vector[Message]
    system_messages: Vector[SystemMessage]
    message_list: MessageList
    request_context: JsonValue = field(default=None, eq=strict_key, repr=False)
    # No value: what all of a call share on purpose (rule context.shared).
    invocation_state: State = field(factory=new_state, eq=False, repr=False)

    abort = staticmethod(abort)

    def _instead(self, name: str) -> str:
        return _instead(name, ("messages", "system_messages"))


@sealed
@attrs.frozen(kw_only=True)
class StepArguments(Generic[State]):
    """What `process_input_step` and `prepare_step` are handed: the step as the processor before left it.

    All of it is values, but for the list and `invocation_state`: what is returned holds for the step.
    `messages` are what the prompt is to be made of; `lasting_messages` are those that later steps are built
    on, without what was edited for this step only. The chains that these are made of are there by themselves
    as well, complete whatever lasting edits there were. `tools` are the names of all tools of the call,
    whichever are active; `model_settings` are the call's with those of the step, and
    `structured_output` is what the answer is to be. `request_context` is the call's `experimental_context`,
    which the step's may differ from.
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
    # No value: what all of a call share on purpose (rule context.shared).
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
        return f'what processors are handed does not change; return {{"{name}": ...}} instead'
    return f"what processors are handed does not change, and {name} is nothing that they may return"


# ---------------------------------------------------------------- what processors are

StepResult: TypeAlias = StepOverride | Mapping[str, Any] | Sequence[MessageForm] | MessageList | None
"""What a processor may return: fields of the step, its messages, the list that it was handed, or nothing."""

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
        """Returns what the step is to use in place of what it was handed, or nothing."""


@sealed
@attrs.frozen(kw_only=True)
class NamedProcessor:
    """A processor of whatever kind, as agents keep it."""

    id: str
    process_input: ProcessInput[Any] | None = None
    process_input_step: ProcessInputStep[Any] | None = None


Processor: TypeAlias = InputProcessor | StepProcessor | ProcessInputStep[Any] | NamedProcessor
"""What an agent takes as a processor: an object with one or both of the methods, or a function of a step."""


def named_processors(values: Iterable[Processor]) -> tuple[NamedProcessor, ...]:
    """The processors, each with an id of its own; functions that share a name are numbered.

    Raises InvalidProcessorError for what is no processor, and for objects that share an id.
    """
    named: list[NamedProcessor] = []
    taken = {PREPARE_STEP}
    for value in values:
        one = _named(value)
        if one.id in taken and hasattr(value, "id"):
            reason = "another one has that id; errors, spans and ids of messages tell them apart by it"
            raise InvalidProcessorError(one.id, reason)
        named.append(attrs.evolve(one, id=_free(one.id, taken)))
        taken.add(named[-1].id)
    return FrozenList(named)


def _named(value: Any) -> NamedProcessor:
    ways = [getattr(value, name, None) for name in ("process_input", "process_input_step")]
    if not any(map(callable, ways)) and callable(value):
        ways = [None, value]
    name = getattr(value, "id", None) or getattr(value, "__name__", None)
    if isinstance(value, type) or not any(map(callable, ways)):
        reason = "it is none; give a function, or an object with process_input or process_input_step"
        raise InvalidProcessorError(str(name or type(value).__name__), reason)
    if not isinstance(name, str):
        raise InvalidProcessorError(type(value).__name__, "it has no id; give it one, a text")
    return NamedProcessor(id=name, process_input=ways[0], process_input_step=ways[1])


def _free(name: str, taken: Container[str]) -> str:
    """The name, or the first of `name-2`, `name-3`, ... that is not taken."""
    if name not in taken:
        return name
    return next(each for number in count(2) if (each := f"{name}-{number}") not in taken)


# ---------------------------------------------------------------- what ends them


def ended(arguments: StepArguments[Any] | InputArguments[Any], error: Exception) -> Tripwire | Exception:
    """What comes of an exception that a processor raised, or that its result was answered with.

    Its message list is dropped. Rule processor.failure-named.
    """
    arguments.message_list.close()
    if isinstance(error, TripwireError):
        return Tripwire(
            processor_id=arguments.processor_id,
            step_number=arguments.step_number,
            reason=error.reason,
            retry=error.retry,
            metadata=error.metadata,
        )
    if isinstance(error, InvalidOverrideError) and error.processor_id is not None:
        return error
    return ProcessorFailedError(arguments.processor_id, arguments.step_number, error)
