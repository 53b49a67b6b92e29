"""What a call of an agent comes to."""

from __future__ import annotations

from typing import Generic

import attrs
from attrs import field

# From typing_extensions for its default: without an output, the object is None.
from typing_extensions import TypeVar

from agentcore.errors import AgentCoreError
from agentcore.hooks import StepRecord
from agentcore.messages import Message
from agentcore.observe import Timings
from agentcore.run import Run
from agentcore.usage import Usage
from agentcore.values import Vector, sealed

__all__ = ["AgentResult", "NoObjectError"]

_T = TypeVar("_T", default=None)


class NoObjectError(AgentCoreError):
    """The object of a run was asked for that ended before its model had given it."""

    wire_name = "AI_NoOutputGeneratedError"

    def __str__(self) -> str:
        return "the run has no object: it ended with tool calls, by a stop condition or with calls that wait"


@sealed
@attrs.frozen(kw_only=True)
class AgentResult(Generic[_T]):
    """What a call of an agent came to; `run` is all of it, `timings` are how long it took."""

    run: Run
    timings: Timings = field(eq=False)
    # Empty if there is none.
    _objects: tuple[_T, ...] = field(repr=False)

    @property
    def text(self) -> str:
        """The text of the last step."""
        return self.steps[-1].text

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
        """Why the model stopped in the last step."""
        return self.steps[-1].finish_reason

    @property
    def usage(self) -> Usage:
        """What all steps used together."""
        return self.run.usage
