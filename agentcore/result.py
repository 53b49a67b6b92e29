"""What a call of an agent comes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

import attrs
from attrs import field

# From typing_extensions for its default: without an output, the object is None.
from typing_extensions import TypeVar

from agentcore.effects import Done
from agentcore.errors import AgentCoreError
from agentcore.hooks import StepRecord
from agentcore.interrupts import Interrupt
from agentcore.messages import Message
from agentcore.observe import Timings
from agentcore.pending import Pending, pending_of
from agentcore.processors import Tripwire
from agentcore.run import Interrupted, Run
from agentcore.shared_state import State, new_state
from agentcore.usage import Usage
from agentcore.values import NO_ITEMS, Vector, sealed

__all__ = ["AgentResult", "NoObjectError"]

_T = TypeVar("_T", default=None)


class NoObjectError(AgentCoreError):
    """The object of a run was asked for that ended before its model had given it."""

    wire_name = "AI_NoOutputGeneratedError"

    def __str__(self) -> str:
        return (
            "the run has no object: it ended with tool calls, by a stop condition, by a processor, "
            "or with approvals, calls or questions that wait (its `pending`)"
        )


@sealed
@attrs.frozen(kw_only=True)
class AgentResult(Generic[_T, State]):
    """What a call of an agent came to; `run` is all of it, `timings` are how long it took.

    `invocation_state` is what the call's handlers, tools and hooks shared (rule context.shared).
    """

    run: Run
    timings: Timings = field(eq=False)
    invocation_state: State = field(factory=new_state, eq=False, repr=False)
    # Empty if there is none.
    _objects: tuple[_T, ...] = field(repr=False)

    @property
    def text(self) -> str:
        """The text of the last step; empty if none has finished."""
        return self.steps[-1].text if self.steps else ""

    @property
    def tripwire(self) -> Tripwire | None:
        """Why a processor ended the run, if one did."""
        return self.run.pending.result.tripwire if isinstance(self.run.pending, Done) else None

    @property
    def interrupts(self) -> tuple[Interrupt, ...]:
        """The questions among what the run waits for (`pending` has the rest); empty if there are none."""
        return self.run.pending.interrupts if isinstance(self.run.pending, Interrupted) else NO_ITEMS

    @property
    def pending(self) -> Sequence[Pending]:
        """What the run waits for: approvals, questions and calls. Empty if it has ended.

        The run goes on by `agent.resume(result.run, answers={one.id: ... for one in result.pending})`.
        """
        return pending_of(self.run)

    @property
    def conversation(self) -> Sequence[Message]:
        """The messages that the next turn begins with.

        The next turn is `agent.generate(prompt, messages=result.conversation)`. They are those that the run
        began with and those it has produced, or what a lasting edit made of them. While an approval or a call
        is pending, its answer comes before another prompt.
        """
        return self.run.conversation

    @property
    def object(self) -> _T:
        """The text of the last step as the agent's output; None for an agent without.

        Raises:
            NoObjectError: if the run ended before the model had answered.
        """
        if not self._objects:
            raise NoObjectError
        return self._objects[0]

    @property
    def steps(self) -> Vector[StepRecord]:
        """The finished steps."""
        return self.run.steps

    @property
    def messages(self) -> Vector[Message]:
        """The messages that the run has produced, to be put after those that it was given."""
        return self.run.chains.response

    @property
    def finish_reason(self) -> str:
        """Why the model stopped in the last step; also `interrupt` (it waits) or `tripwire`."""
        if isinstance(self.run.pending, Done):
            return self.run.pending.result.finish_reason
        return "interrupt" if self.interrupts else self.steps[-1].finish_reason

    @property
    def usage(self) -> Usage:
        """What all steps used together."""
        return self.run.usage
