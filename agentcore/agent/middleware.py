"""Middleware: handlers around a call of a model, of a tool, or of the whole agent.

Three stages, three phases each. For one call of a stage (rule stage.order) the input handlers run in the
order in which they were registered, then the wraps, the first registered outermost, around what the stage is
of; when they have unwound, the output handlers run, in the order of registration, each given what the one
before left (Difference.OUTPUTS_IN_ORDER).

* An input handler returns the context that goes on, or None for the one it was given.
* An output handler is given the context and the result, and returns the result that goes on, or None.
* A wrap is given the context and `call_next`, which calls what is inside with the context that it is given.
  It may be a coroutine function that returns the result, or an async generator that yields events and, as its
  last item, the result. It may call again (stage.called-again), or not at all (stage.short-circuit), and may
  catch what the call raises.

Contexts and results are values: what a handler makes of them, with `attrs.evolve`, holds for what it passes
them to and for nothing else (stage.passed-on, Difference.CONTEXTS_ARE_VALUES). The one thing that is shared
on purpose is `invocation_state`: the same object in every context and tool of a call, and in
the arguments of `prepare_call`, `on_start` and `prepare_step`, for whatever they have to give each other.
It is on the result, and in no saved run.

A handler that raises fails the run (Difference.HANDLER_FAILURE_FAILS). `context.interrupt(name)` asks a
person (`agentcore.messages.interrupts`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from typing import Any, Final, Generic, Literal, Protocol, TypeAlias, TypeVar, get_args

import attrs
from attrs import field

from agentcore.agent.events import (
    AgentEvent,
    PartDone,
    ReasoningDelta,
    TextDelta,
    ToolInputDelta,
    ToolProgress,
)
from agentcore.agent.models.base import LanguageModel, ModelRequest, ModelResponse
from agentcore.agent.output import AgentResult
from agentcore.agent.tools import Tool
from agentcore.errors import AgentCoreError
from agentcore.machine.effects import Settings, ToolFailed, ToolSucceeded
from agentcore.machine.processors import State, new_state
from agentcore.messages.content import ContentPart, ToolCall
from agentcore.messages.interrupts import Interrupt, ask
from agentcore.messages.messages import Message
from agentcore.messages.values import (
    NO_ENTRIES,
    JsonObject,
    JsonValue,
    Vector,
    frozen_list,
    sealed,
    strict_key,
    vector,
)

__all__ = [
    "AgentStreamContext",
    "AgentStreamStage",
    "CallAgent",
    "CallModel",
    "CallNext",
    "CallTool",
    "ExecuteToolContext",
    "ExecuteToolStage",
    "Handlers",
    "InvokeModelContext",
    "InvokeModelStage",
    "Middleware",
    "MiddlewareError",
    "ModelDelta",
    "NextCall",
    "Phase",
    "Stage",
    "ToolOutcome",
    "changed_fields",
    "handlers_of",
]

_C = TypeVar("_C")
_R = TypeVar("_R")
_E = TypeVar("_E")
_R_co = TypeVar("_R_co", covariant=True)
_E_co = TypeVar("_E_co", covariant=True)
_C_contra = TypeVar("_C_contra", contravariant=True)

Phase: TypeAlias = Literal["input", "wrap", "output"]
ModelDelta: TypeAlias = TextDelta | ReasoningDelta | ToolInputDelta | PartDone
ToolOutcome: TypeAlias = ToolSucceeded | ToolFailed


class MiddlewareError(AgentCoreError, TypeError):
    """A handler gave something that its phase does not; `reason` says what to give instead.

    `path` is the place in what it gave, if not all of it is wrong.
    """

    wire_name = "MiddlewareError"

    def __init__(
        self, stage: str, phase: Phase, *, handler: str, reason: str, path: str | None = None
    ) -> None:
        super().__init__(stage, phase, handler, reason, path)
        self.path = path
        self.stage = stage
        self.phase = phase
        self.handler = handler
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.stage} {self.phase} handler {self.handler}: {self.reason}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _error, self.args


def _error(stage: str, phase: Phase, handler: str, reason: str, path: str | None) -> MiddlewareError:
    return MiddlewareError(stage, phase, handler=handler, reason=reason, path=path)


# ---------------------------------------------------------------- contexts


def _messages(value: Iterable[Message]) -> Vector[Message]:
    return vector(value)


@sealed
@attrs.frozen(kw_only=True)
class InvokeModelContext(Generic[State]):
    """A call of a model, for handlers around it.

    A handler changes the request or the model by passing on a context with another one. The request has no
    `model_state`: whichever model is called gets its own, as it was before the step (rule
    model.state-is-a-snapshot). Tools in the request are what the model sees; which of its calls run depends
    on the step alone.
    """

    model: LanguageModel
    request: ModelRequest
    step_number: int
    invocation_state: State = field(factory=new_state, eq=False, repr=False)
    answers: JsonObject = field(default=NO_ENTRIES, eq=strict_key, repr=False)

    def interrupt(self, name: str, *, reason: object = None) -> JsonValue:
        """Ask a person: return the answer if the run was given one, or end the run with the question.

        Args:
            name: the name of the question, which ends the id that `resume` takes an answer by; each question
                that is asked here needs one of its own.
            reason: JSON for whoever answers, such as a text.

        Returns:
            The answer, any JSON.
        """
        asked = Interrupt(name=name, reason=reason, source="invoke-model", step_number=self.step_number)
        return ask(asked, self.answers)


@sealed
@attrs.frozen(kw_only=True)
class ExecuteToolContext(Generic[State]):
    """A call of a tool, for handlers around it.

    A handler has another tool run, or the same with another input, by passing on a context with another
    `tool` or `call`. The model gets the outcome as that of the call that it made
    (stage.tool-answers-its-call).
    """

    tool: Tool
    call: ToolCall
    step_number: int
    invocation_state: State = field(factory=new_state, eq=False, repr=False)
    answers: JsonObject = field(default=NO_ENTRIES, eq=strict_key, repr=False)

    def succeeded(self, value: object) -> ToolSucceeded:
        """Return the outcome of a call whose tool returned a value.

        Args:
            value: what a tool would return: JSON, or what pydantic turns into JSON.

        Returns:
            The outcome, for this call.

        Raises:
            InvalidToolOutputError: if the value cannot be turned into JSON.
        """
        return self.tool.succeeded(self.call.tool_call_id, value)

    def failed(self, error: str) -> ToolFailed:
        """Return the outcome of a call that failed; the model gets `error`, the text, as its result."""
        return ToolFailed(self.call.tool_call_id, error)

    def interrupt(self, name: str, *, reason: object = None) -> JsonValue:
        """Ask a person: return the answer if the run was given one, or end the run with the question.

        Args:
            name: the name of the question, which ends the id that `resume` takes an answer by; each question
                that is asked here needs one of its own.
            reason: JSON for whoever answers, such as a text.

        Returns:
            The answer, any JSON.
        """
        asked = Interrupt(
            name=name,
            reason=reason,
            source="execute-tool",
            step_number=self.step_number,
            tool_call_id=self.call.tool_call_id,
        )
        return ask(asked, self.answers)


@sealed
@attrs.frozen(kw_only=True)
class AgentStreamContext(Generic[State]):
    """A call of an agent, for handlers around it. Its run begins with `messages` and `settings`.

    A handler changes them by passing on a context with others. A run that goes on (`resumed`) has messages
    and settings already, and ignores others (rule stage.run-begins-once). Each `call_next` begins where the
    call did.
    """

    messages: Vector[Message] = field(converter=_messages)
    settings: Settings
    resumed: bool = False
    invocation_state: State = field(factory=new_state, eq=False, repr=False)
    answers: JsonObject = field(default=NO_ENTRIES, eq=strict_key, repr=False)
    _answered: Callable[[AgentStreamContext[Any], Iterable[ContentPart] | str], AgentResult[Any]] = field(
        eq=False, repr=False
    )

    def answered(self, content: Iterable[ContentPart] | str) -> AgentResult[Any]:
        """Return the result of a run of one step that has this content, without asking a model.

        Args:
            content: the parts of the answer, or its text.

        Returns:
            The result, as the call's own would be.

        Raises:
            UnexpectedOutcomeError: if tools would have to run.
        """
        return self._answered(self, content)

    def interrupt(self, name: str, *, reason: object = None) -> JsonValue:
        """Ask a person: return the answer if the run was given one, or end the run with the question.

        Args:
            name: the name of the question, which ends the id that `resume` takes an answer by; each question
                that is asked here needs one of its own.
            reason: JSON for whoever answers, such as a text.

        Returns:
            The answer, any JSON.
        """
        return ask(Interrupt(name=name, reason=reason, source="agent-stream"), self.answers)


# ---------------------------------------------------------------- handlers


class NextCall(Protocol[_R_co, _E_co]):
    """A call of what is inside of a wrap, to be awaited or iterated over; it begins with that.

    Awaited, it is the result, and events go on outwards by themselves. Iterated over, it gives the events,
    for the wrap to yield or to keep, and then has its `result`. There are events on streams only.
    """

    def __await__(self) -> Generator[Any, Any, _R_co]:
        """The result. Raises the error of the call if there is no result."""

    def __aiter__(self) -> AsyncIterator[_E_co]:
        """The events. Raises the error of the call if there is no result."""

    @property
    def result(self) -> _R_co:
        """The result of a call that has ended. Raises LookupError for one that has not."""


class CallNext(Protocol[_C_contra, _R_co, _E_co]):
    """Calls what is inside of a wrap."""

    def __call__(self, context: _C_contra, /) -> NextCall[_R_co, _E_co]:
        """A call with this context."""


CallModel: TypeAlias = CallNext[InvokeModelContext[Any], ModelResponse, ModelDelta]
"""`call_next` of a wrap around a model."""

CallTool: TypeAlias = CallNext[ExecuteToolContext[Any], ToolOutcome, ToolProgress]
"""`call_next` of a wrap around a tool."""

CallAgent: TypeAlias = CallNext[AgentStreamContext[Any], AgentResult[Any], AgentEvent]
"""`call_next` of a wrap around a call of an agent."""

InputHandler: TypeAlias = Callable[[_C], _C | Awaitable[_C | None] | None]
OutputHandler: TypeAlias = Callable[[_C, _R], _R | Awaitable[_R | None] | None]
WrapHandler: TypeAlias = Callable[[_C, CallNext[_C, _R, _E]], Awaitable[_R] | AsyncIterator[_E | _R]]


@sealed
@attrs.frozen(kw_only=True)
class Middleware:
    """A handler at one phase of one stage; made by `stage.input`, `stage.wrap` or `stage.output`."""

    stage: Stage[Any, Any, Any]
    phase: Phase
    handler: Callable[..., Any]
    name: str

    def error(self, reason: str, path: str | None = None) -> MiddlewareError:
        """Return the error for a wrong result of the handler, for this `reason`, at `path` in it."""
        return MiddlewareError(self.stage.name, self.phase, handler=self.name, reason=reason, path=path)


@sealed
@attrs.frozen(kw_only=True)
class Stage(Generic[_C, _R, _E]):
    """A place in a call that handlers are put around, with the types of its contexts, results and events.

    A handler is a function or a callable object, sync or async, a wrap always async. Its name, which traces
    and errors have, is its own unless one is given.
    """

    name: Literal["invoke-model", "execute-tool", "agent-stream"]
    context: type[_C]
    results: tuple[type[_R], ...] = field(converter=frozen_list)
    events: tuple[type[_E], ...] = field(converter=frozen_list)

    def input(self, handler: InputHandler[_C], *, name: str | None = None) -> Middleware:
        """A handler that is given the context before all wraps."""
        return self._registered("input", handler, name)

    def wrap(self, handler: WrapHandler[_C, _R, _E], *, name: str | None = None) -> Middleware:
        """A handler around the call."""
        return self._registered("wrap", handler, name)

    def output(self, handler: OutputHandler[_C, _R], *, name: str | None = None) -> Middleware:
        """A handler that is given the result after all wraps, with the context that the wraps were given."""
        return self._registered("output", handler, name)

    def _registered(self, phase: Phase, handler: object, name: str | None) -> Middleware:
        called = name or str(getattr(handler, "__name__", type(handler).__name__))
        if not callable(handler):
            reason = f"use a function or a callable object, not {type(handler).__name__}"
            raise MiddlewareError(self.name, phase, handler=called, reason=reason)
        return Middleware(stage=self, phase=phase, handler=handler, name=called)


InvokeModelStage: Final[Stage[InvokeModelContext[Any], ModelResponse, ModelDelta]] = Stage(
    name="invoke-model",
    context=InvokeModelContext,
    results=(ModelResponse,),
    events=get_args(ModelDelta),
)
"""Around every call of a model; attempts that a failing provider makes necessary are one call."""

ExecuteToolStage: Final[Stage[ExecuteToolContext[Any], ToolOutcome, ToolProgress]] = Stage(
    name="execute-tool",
    context=ExecuteToolContext,
    results=get_args(ToolOutcome),
    events=(ToolProgress,),
)
"""Around every call of a tool. What a tool raises is a ToolFailed, a result as any other."""

AgentStreamStage: Final[Stage[AgentStreamContext[Any], AgentResult[Any], AgentEvent]] = Stage(
    name="agent-stream",
    context=AgentStreamContext,
    results=(AgentResult,),
    events=get_args(AgentEvent),
)
"""Around a whole call of an agent, by `generate` as by `stream`. A run that fails raises AgentError."""


@sealed
@attrs.frozen(kw_only=True)
class Handlers:
    """The handlers of one stage in the order in which they run."""

    inputs: tuple[Middleware, ...] = field(converter=frozen_list)
    wraps: tuple[Middleware, ...] = field(converter=frozen_list)
    outputs: tuple[Middleware, ...] = field(converter=frozen_list)


def handlers_of(stage: Stage[Any, Any, Any], middleware: Iterable[Middleware]) -> Handlers | None:
    """The handlers that a stage has among these; None if it has none (rule stage.order)."""
    own = [one for one in middleware if one.stage is stage]
    if not own:
        return None
    inputs, wraps, outputs = (tuple(one for one in own if one.phase == phase) for phase in get_args(Phase))
    return Handlers(inputs=inputs, wraps=wraps, outputs=outputs)


# ---------------------------------------------------------------- what handlers change


def changed_fields(before: object, after: object) -> tuple[str, ...]:
    """The fields in which two contexts or results differ, those of a request, a call or settings as `a.b`.

    Results of two kinds, such as a tool's that succeeded and one that failed, differ in their `type`.
    """
    if type(before) is not type(after):
        return ("type",)
    return tuple(_changed(before, after, depth=2))


def _changed(before: Any, after: Any, depth: int) -> Iterable[str]:
    for attribute in attrs.fields(type(before)):
        name = attribute.name
        old, new = getattr(before, name), getattr(after, name)
        # Fields that take no part in equality, such as the state that is shared on purpose, are no change
        # by a handler.
        if not attribute.eq or old is new or old == new:
            continue
        if depth > 1 and type(old) is type(new) and attrs.has(type(old)):
            yield from (f"{name}.{inner}" for inner in _changed(old, new, depth - 1))
        else:
            yield name
