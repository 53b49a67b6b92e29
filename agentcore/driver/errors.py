"""What a call of an agent raises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentcore.effects import Done, NeedFinish, NeedProcessInput, NeedStepFinish, NeedStop
from agentcore.errors import AgentCoreError
from agentcore.run import Failed, Run

__all__ = [
    "AgentError",
    "ChunkHookError",
    "ResumeError",
    "UnfinishedStreamError",
    "UnknownModelError",
    "resumable",
]


def resumable(run: Run) -> Run:
    """The run that can go on: itself, or what it was before it failed."""
    return run.pending.run if isinstance(run.pending, Failed) else run


class AgentError(AgentCoreError):
    """A run failed. `run` has every finished step and can be resumed; `__cause__` is what went wrong.

    `hook` is the name of the hook that raised it, such as "checkpoint", "stop_when" or a processor's id; None
    where no hook did. `step_number` is the step that failed, or after which a hook did; None before step 0.
    """

    wire_name = "AgentError"

    def __init__(self, run: Run, cause: Exception, hook: str | None = None) -> None:
        if hook is None and isinstance(run.pending, Failed):
            hook = run.pending.hook
        self.run = resumable(run)
        processor: str | None = getattr(cause, "processor_id", None)
        self.hook = hook or processor
        self.step_number = _step_of(self.run)
        # The text alone: the arguments of an error are printed, and a run has everything that was said.
        where = "before the steps" if self.step_number is None else f"step {self.step_number}"
        # hook.failure-named: the error of a processor names it already.
        named = "" if self.hook == processor else f"{self.hook}: "
        super().__init__(f"{where}: {named}{type(cause).__name__}: {cause}")
        self.__cause__ = cause
        self.path = cause.path if isinstance(cause, AgentCoreError) else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.run, self.__cause__, self.hook)


def _step_of(run: Run) -> int | None:
    """The step that is going on; what comes after a step, to its end or the run's, belongs to that step."""
    if isinstance(run.pending, NeedProcessInput):
        return None
    is_after = isinstance(run.pending, NeedStepFinish | NeedStop | NeedFinish | Done)
    return max(run.step_number - is_after, 0)


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


class UnfinishedStreamError(AgentCoreError):
    """The result of a stream was asked for that has not ended, or was left before its end."""

    wire_name = "UnfinishedStreamError"

    def __str__(self) -> str:
        return "the stream has no result: iterate over it to its end, or resume its `run`"


class ChunkHookError(BaseException):
    """What `on_chunk` raised, told apart from what models and tools raise.

    No Exception, so that no handler takes it for a failure that it could mend.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error
