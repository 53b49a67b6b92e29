"""A run at one moment, as a value."""

from __future__ import annotations

from typing import Final

import attrs
from attrs import field

from agentcore.machine.effects import Logged, ModelAnswer, Need, NeedModel, Settings
from agentcore.machine.hooks import ProcessorEdit, StepOverride, StepRecord, context, total_usage
from agentcore.messages.chains import Chains
from agentcore.messages.content import Approvals, ContentPart, ToolApprovalRequest, ToolCall
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.messages import Message, ToolMessage
from agentcore.messages.usage import Usage
from agentcore.messages.values import (
    NO_ITEMS,
    JsonObject,
    JsonValue,
    Vector,
    frozen_list,
    frozen_list_or_none,
    sealed,
    strict_key,
    vector,
)

__all__ = ["Draft", "Failed", "Interrupted", "Run"]

NO_ANSWER: Final = ModelAnswer(())


@sealed
@attrs.frozen(kw_only=True)
class Draft:
    """The step that is going on, as far as it has come."""

    step_input: Vector[Message]
    override: StepOverride
    edits: tuple[ProcessorEdit, ...] = field(default=NO_ITEMS, converter=frozen_list)
    request: NeedModel
    active_tools: tuple[str, ...] | None = field(converter=frozen_list_or_none)
    experimental_context: JsonValue = field(converter=context, eq=strict_key, repr=False)
    answer: ModelAnswer = NO_ANSWER
    # The model's parts, with its calls checked.
    content: tuple[ContentPart, ...] = field(default=NO_ITEMS, converter=frozen_list)
    finish_reason: str = ""
    calls: tuple[ToolCall, ...] = field(default=NO_ITEMS, converter=frozen_list)
    requests: tuple[ToolApprovalRequest, ...] = field(default=NO_ITEMS, converter=frozen_list)


@sealed
@attrs.frozen(kw_only=True)
class Run:
    """A run at one moment: its chains, its finished steps, and what it needs next.

    Two runs are equal if they go on alike, wherever they came from: `history` holds the runs that this one
    was before step 0 and after each step, `outcomes` all that came of its needs, from which every run between
    those follows, `started_with` the settings of its start, which its processors or a fork may have replaced,
    and `given` the messages of its start.

    `model_states` are what models said that they are to be given again, by their ids, and `answers` what was
    answered to questions (`Interrupt`), by theirs. `reply` is the tool message with the approvals and the
    results of calls that were given before their step had finished; it is appended when it has.
    """

    settings: Settings
    chains: Chains
    steps: Vector[StepRecord] = field(factory=vector)
    pending: Need | Interrupted | Failed
    # What is going on: the approvals before step 0, a step, or nothing that has begun.
    current: Approvals | Draft | None = None
    model_states: JsonObject = field(factory=JsonObject, eq=strict_key, repr=False)
    answers: JsonObject = field(factory=JsonObject, eq=strict_key, repr=False)
    reply: ToolMessage | None = field(default=None, repr=False)
    history: Vector[Run] = field(factory=vector, eq=False, repr=False)
    outcomes: Vector[Logged] = field(factory=vector, eq=False, repr=False)
    started_with: Settings = field(eq=False, repr=False)
    given: Vector[Message] = field(eq=False, repr=False)

    @property
    def step_number(self) -> int:
        """The number of the step that is going on, from 0, which is the count of finished steps."""
        return len(self.steps)

    @property
    def conversation(self) -> Vector[Message]:
        """The messages that the next turn begins with: `agent.generate(prompt, messages=run.conversation)`.

        Those that the run began with and those it has produced or, after a lasting edit, what the edit left
        and what came since: the step input of a next step (rule run.conversation). A step that has not
        finished is not in it.
        """
        return self.chains.step_input

    @property
    def usage(self) -> Usage:
        """What the finished steps used together."""
        return total_usage(self.steps)


@sealed
@attrs.frozen
class Failed:
    """The run ended by an error; `run` is what it was just before, finished steps included.

    Difference.FAILURE_KEEPS_STEPS. `hook` is the name of the hook that raised the error, such as
    "checkpoint", if one did.
    """

    error: Exception
    run: Run
    hook: str | None = field(default=None, kw_only=True, eq=False)


@sealed
@attrs.frozen
class Interrupted:
    """The run waits for answers, an Answered outcome; `run` is what it was just before, with its need."""

    interrupts: tuple[Interrupt, ...] = field(converter=frozen_list)
    run: Run
