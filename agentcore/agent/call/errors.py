"""Errors of a call of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from agentcore.conversations.conversation import Conversation
from agentcore.conversations.open_turn import OpenTurn, first_turn_of
from agentcore.errors import (
    AgentCoreError,
    InvalidOverrideError,
    ProcessorFailedError,
    text_at_step,
)
from agentcore.machine.effects import Done, NeedFinish, NeedProcessInput, NeedStepFinish, NeedStop
from agentcore.machine.processors import InputArguments, StepArguments, Tripwire, TripwireError
from agentcore.machine.run import Failed, Run
from agentcore.messages.interrupts import InterruptSignal

__all__ = [
    "AgentError",
    "ChunkHookError",
    "ClosedStreamError",
    "ForeignCancellationError",
    "InvalidAgentError",
    "InvalidAnswerError",
    "ResumeError",
    "RunningLoopError",
    "UnfinishedStreamError",
    "UnknownModelError",
    "UsageLimitError",
    "outcome_of_error",
    "resumable",
    "signals",
    "without_signals",
]


def resumable(run: Run) -> Run:
    """The run that can go on: itself, or what it was before it failed."""
    return run.pending.run if isinstance(run.pending, Failed) else run


class AgentError(AgentCoreError):
    """A run failed. `run` has every finished step and can be resumed; `__cause__` is the error.

    `hook` is the name of the hook that raised it, such as "checkpoint", "stop_when" or a processor's id; None
    if no hook did. `step_number` is the step that failed, or the step after which the hook failed; None
    before step 0.
    """

    wire_name = "AgentError"

    def __init__(
        self, run: Run, cause: Exception, hook: str | None = None, turn: OpenTurn | None = None
    ) -> None:
        if hook is None and isinstance(run.pending, Failed):
            hook = run.pending.hook
        self.run = resumable(run)
        self._turn = first_turn_of(self.run) if turn is None else turn
        processor: str | None = getattr(cause, "processor_id", None)
        self.hook = hook or processor
        self.step_number = _step_of(self.run)
        # The text alone: the arguments of an error are printed, and a run has everything that was said.
        where = "before the steps" if self.step_number is None else f"step {self.step_number}"
        # hook.failure-named: the error of a processor names it already.
        named = "" if self.hook == processor else f"{self.hook}: "
        super().__init__(f"{where}: {named}{text_at_step(cause)}")
        self.__cause__ = cause
        self.path = cause.path if isinstance(cause, AgentCoreError) else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.run, self.__cause__, self.hook, self._turn)

    @property
    def conversation(self) -> Conversation:
        """The conversation with the turn but for the step that failed: what another call may begin with.

        Its messages are as valid as those that the run was given: what failed it may be among them.
        """
        return self._turn.after(self.run)


def _step_of(run: Run) -> int | None:
    """The step that is going on; what comes after a step, to its end or the run's, belongs to that step."""
    if isinstance(run.pending, NeedProcessInput):
        return None
    is_after = isinstance(run.pending, NeedStepFinish | NeedStop | NeedFinish | Done)
    return max(run.step_number - is_after, 0)


class UsageLimitError(AgentCoreError):
    """A run would use more than its limits allow; it is the `__cause__` of an AgentError, which has the run.

    `limit` is the name of the field of UsageLimits, `maximum` its value, `used` what the run has used of it.
    """

    wire_name = "UsageLimitError"

    def __init__(self, limit: str, maximum: int, used: int, wanted: int) -> None:
        super().__init__(limit, maximum, used, wanted)
        self.limit = limit
        self.maximum = maximum
        self.used = used
        self.wanted = wanted

    def __str__(self) -> str:
        return (
            f"{self.limit}: {self.used} of {self.maximum} are used and at least {self.wanted} more wanted; "
            "go on with agent.resume(error.run, usage_limits=...) and a higher limit"
        )


class UnknownModelError(AgentCoreError):
    """A step is to call a model that the agent was not given."""

    wire_name = "UnknownModelError"

    def __init__(self, model_id: str, known: Iterable[str]) -> None:
        known = tuple(known)
        super().__init__(model_id, known)
        self.model_id = model_id
        self.known = known

    def __str__(self) -> str:
        known = ", ".join(self.known)
        return f"no model {self.model_id!r} among {known}; give it as `model` or in `models`"


class ResumeError(AgentCoreError, ValueError):
    """A run was to go on with an agent that is not for it; the text says what to give."""

    wire_name = "ResumeError"


class RunningLoopError(AgentCoreError, RuntimeError):
    """A call that blocks was made where an event loop runs, as in a notebook; `name` is its async form."""

    wire_name = "RunningLoopError"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"an event loop runs in this thread already; use `await agent.{self.name}(...)` instead"


class UnfinishedStreamError(AgentCoreError):
    """The result of a stream was asked for that has not ended, or was left before its end."""

    wire_name = "UnfinishedStreamError"

    def __str__(self) -> str:
        return "the stream has no result: iterate over it to its end, or resume its `run`"


class ClosedStreamError(AgentCoreError):
    """A stream was iterated over outside of its `async with`, or entered a second time.

    Rule stream.closed-says-so.
    """

    wire_name = "ClosedStreamError"


class InvalidAnswerError(AgentCoreError, TypeError):
    """A hook that answers yes or no returned something else.

    `source` says which, such as "stop condition 'enough'".
    """

    wire_name = "InvalidAnswerError"

    def __init__(self, source: str, kind: str) -> None:
        super().__init__(source, kind)
        self.source = source
        self.kind = kind

    def __str__(self) -> str:
        return f"{self.source} returned a {self.kind}; return True or False"


class InvalidAgentError(AgentCoreError, TypeError):
    """A field of an agent was given something that it cannot be; `path` says which field."""

    wire_name = "InvalidAgentError"
    path: str

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class ForeignCancellationError(AgentCoreError):
    """A hook, a model, a handler or a tool raised a cancellation although nobody cancelled the run.

    `source` says who, such as "tool 'look'"; `__cause__` is the cancellation.
    """

    wire_name = "ForeignCancellationError"

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.source = source

    def __str__(self) -> str:
        return (
            f"{self.source} was cancelled, but the run was not: something that it waited for was cancelled "
            "by another part of the program; catch the cancellation there, or wait for something that nobody "
            "else cancels"
        )


_S = TypeVar("_S", bound=BaseException)


def signals(error: BaseException, kind: type[_S]) -> tuple[_S, ...]:
    """Returns the exception itself if it is of that type, or those of that type in an exception group.

    Task groups of handlers and tools put what their tasks raise into groups. A group that has anything but
    exceptions besides, such as a cancellation, counts as having none.
    """
    if isinstance(error, kind):
        return (error,)
    if not isinstance(error, BaseExceptionGroup):
        return ()
    found, rest = error.split(kind)
    return () if found is None or not isinstance(rest, Exception | None) else tuple(_leaves(found))


def without_signals(error: BaseException) -> BaseException:
    """Returns what is left of an exception without the driver's own signals, if those came with others.

    A run may be cancelled while code in a task group asks a question: both come out of the group, and the
    cancellation counts. Whoever cancelled is to be raised nothing that only the driver knows.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    rest = error.split((InterruptSignal, ChunkHookError))[1]
    return error if rest is None else rest


def _leaves(group: BaseExceptionGroup[_S]) -> Iterator[_S]:
    for one in group.exceptions:
        if isinstance(one, BaseExceptionGroup):
            yield from _leaves(one)
        else:
            yield one


class ChunkHookError(BaseException):
    """An exception of `on_chunk`, told apart from those of models and tools.

    No Exception, so that no handler takes it for a failure that it could mend.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def outcome_of_error(
    arguments: StepArguments[Any] | InputArguments[Any], error: Exception
) -> Tripwire | Exception:
    """Return the outcome of an exception that a processor raised, or that its result was answered with.

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
