"""What a call of an agent comes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, cast

import attrs
from attrs import field

# From typing_extensions for its default: without an output, the object is None.
from typing_extensions import TypeVar

from agentcore.agent.output import Output
from agentcore.agent.telemetry import Timings
from agentcore.conversations.conversation import Conversation
from agentcore.conversations.open_turn import OpenTurn, first_turn_of
from agentcore.errors import AgentCoreError
from agentcore.machine.effects import Done
from agentcore.machine.hooks import StepRecord
from agentcore.machine.pending import Pending, pending_of
from agentcore.machine.processors import State, Tripwire, new_state
from agentcore.machine.run import Interrupted, Run
from agentcore.messages.content import Usage
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.messages import Message
from agentcore.messages.values import NO_ITEMS, JsonObject, Vector, dump_json, sealed, strict_key

__all__ = ["AgentResult", "NoObjectError", "OtherOutputError"]

_T = TypeVar("_T", default=None)
_S = TypeVar("_S")


class NoObjectError(AgentCoreError):
    """The object of a run was asked for that ended before its model had given it."""

    wire_name = "AI_NoOutputGeneratedError"

    def __str__(self) -> str:
        return (
            "the run has no object: it ended with tool calls, by a stop condition, by a processor, "
            "or with approvals, calls or questions that wait (its `pending`)"
        )


class OtherOutputError(AgentCoreError):
    """An object was asked for as an output that the last step was not asked for.

    `asked` is the response format that the step was asked for, None for text; `wanted` is the output's.
    """

    wire_name = "OtherOutputError"

    def __init__(self, asked: JsonObject | None, wanted: JsonObject) -> None:
        super().__init__(asked, wanted)
        self.asked = asked
        self.wanted = wanted

    def __str__(self) -> str:
        asked = "text" if self.asked is None else dump_json(self.asked)
        return (
            f"the last step was asked for {asked}, not for {dump_json(self.wanted)}; read its object by "
            "`object`, or pass the output that it was asked for"
        )


@sealed
@attrs.frozen(kw_only=True)
class AgentResult(Generic[_T, State]):
    """What a call of an agent came to; `run` is all of it, `timings` are how long it took.

    `invocation_state` is what the call's handlers, tools and hooks shared (rule context.shared).
    `response_format` is what the last step was asked for, by its hooks or else by the agent; None for text.
    """

    run: Run
    timings: Timings = field(eq=False)
    invocation_state: State = field(factory=new_state, eq=False, repr=False)
    response_format: JsonObject | None = field(default=None, eq=strict_key, repr=False)
    # Empty if there is none.
    _objects: tuple[_T, ...] = field(repr=False)
    # The turn that the run makes of the conversation that it began with; None: it began with none.
    _turn: OpenTurn | None = field(default=None, eq=False, repr=False)
    _conversation: Conversation | None = field(init=False, default=None, eq=False, repr=False)

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
    def conversation(self) -> Conversation:
        """The conversation that the run began with, and the turn that it made.

        The next turn is `agent.generate(prompt, conversation=result.conversation)`. As a sequence it is the
        messages that the run began with and those it has produced, or what a lasting edit made of them. While
        an approval or a call is pending, its answer comes before another prompt.
        """
        if self._conversation is None:
            turn = first_turn_of(self.run) if self._turn is None else self._turn
            object.__setattr__(self, "_conversation", turn.after(self.run))
        return cast("Conversation", self._conversation)

    @property
    def object(self) -> _T:
        """The text of the last step as the output that it was asked for; None if it was asked for text.

        That is the agent's output, which it is typed by, unless a hook asked for another one in the last
        step (rule output.of-the-last-step): `object_as` is typed by that one.

        Raises:
            NoObjectError: if the run ended before the model had answered.
        """
        if not self._objects:
            raise NoObjectError
        return self._objects[0]

    def object_as(self, output: Output[_S]) -> _S:
        """Returns the text of the last step as an output that a hook asked for, typed by that.

        Raises:
            NoObjectError: if the run ended before the model had answered.
            OtherOutputError: if the last step was asked for another output, or for text.
            OutputError: if the text is not that output; a saved run is read by its JSON Schema only.
        """
        if not self._objects:
            raise NoObjectError
        if strict_key(self.response_format) != strict_key(output.response_format):
            raise OtherOutputError(self.response_format, output.response_format)
        return output.parse(self.text)

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
