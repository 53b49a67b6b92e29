"""A run at one moment, as a value, and what it needs before its first step and before each."""

from __future__ import annotations

from typing import Final, NamedTuple

import attrs
from attrs import field

from agentcore.errors import AgentCoreError, UnexpectedOutcomeError
from agentcore.machine.effects import (
    NO_RESULT,
    HookFailed,
    HookResult,
    Logged,
    ModelAnswer,
    Need,
    NeedModel,
    NeedPrepareStep,
    NeedProcessInput,
    NeedStop,
    Outcome,
    Processed,
    Settings,
)
from agentcore.machine.hooks import ProcessorEdit, StepOverride, StepRecord, total_usage
from agentcore.machine.prepare import CallPreparation, StepPreparation, is_identified
from agentcore.machine.processors import PREPARE_STEP, PROCESS_INPUT
from agentcore.messages.chains import Chains
from agentcore.messages.content import Approvals, ContentPart, ToolApprovalRequest, ToolCall, Usage
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.messages import Message, ToolMessage
from agentcore.messages.values import (
    NO_ENTRIES,
    NO_ITEMS,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    sealed,
    strict_key,
    vector,
)

__all__ = [
    "Draft",
    "Failed",
    "Interrupted",
    "Move",
    "Run",
    "edits_of",
    "kept_outcome",
    "moved",
    "need_prepare_step",
    "need_process_input",
]

NO_ANSWER: Final = ModelAnswer(())


@sealed
@attrs.frozen(kw_only=True)
class Draft:
    """The step that is going on, as far as it has come."""

    step_input: Vector[Message]
    override: StepOverride
    edits: tuple[ProcessorEdit, ...] = NO_ITEMS
    request: NeedModel
    active_tools: tuple[str, ...] | None
    experimental_context: JsonValue = field(eq=strict_key, repr=False)
    answer: ModelAnswer = NO_ANSWER
    # The model's parts, with its calls checked.
    content: tuple[ContentPart, ...] = NO_ITEMS
    finish_reason: str = ""
    calls: tuple[ToolCall, ...] = NO_ITEMS
    requests: tuple[ToolApprovalRequest, ...] = NO_ITEMS


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
    model_states: JsonObject = field(default=NO_ENTRIES, eq=strict_key, repr=False)
    answers: JsonObject = field(default=NO_ENTRIES, eq=strict_key, repr=False)
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

    interrupts: tuple[Interrupt, ...]
    run: Run


# ---------------------------------------------------------------- moves


class Move(NamedTuple):
    """What a move makes of a run; the rest of it follows from the run before."""

    chains: Chains
    steps: Vector[StepRecord]
    pending: Need | Interrupted | Failed
    current: Approvals | Draft | None = None
    # None: those of the run before.
    model_states: JsonObject | None = None
    answers: JsonObject | None = None
    settings: Settings | None = None
    # None: there is none, or it is among the chains.
    reply: ToolMessage | None = None


def moved(run: Run, move: Move, history: Vector[Run], outcomes: Vector[Logged]) -> Run:
    """The run after a move, with what it keeps of what was before."""
    return Run(
        settings=run.settings if move.settings is None else move.settings,
        chains=move.chains,
        steps=move.steps,
        pending=move.pending,
        current=move.current,
        model_states=run.model_states if move.model_states is None else move.model_states,
        answers=run.answers if move.answers is None else move.answers,
        reply=move.reply,
        history=history,
        outcomes=outcomes,
        started_with=run.started_with,
        given=run.given,
    )


# ---------------------------------------------------------------- what is needed before a step


def need_process_input(settings: Settings, chains: Chains) -> NeedProcessInput:
    """The need of a run that is about to begin with these."""
    call = CallPreparation(
        chains=chains,
        system=settings.system,
        request_context=settings.experimental_context,
    )
    return NeedProcessInput(call)


def need_prepare_step(settings: Settings, chains: Chains, steps: Vector[StepRecord]) -> NeedPrepareStep:
    """The need of a run that is about to prepare its next step."""
    step = StepPreparation(
        model=settings.model,
        steps=steps,
        step_number=len(steps),
        chains=chains,
        system=settings.system,
        tools=FrozenList(tool.name for tool in settings.tools or ()),
        tool_choice=settings.tool_choice,
        active_tools=settings.active_tools,
        provider_options=settings.provider_options,
        # Of the call, not of the step before (Difference.CONTEXT_LASTS_ITS_STEP).
        experimental_context=settings.experimental_context,
    )
    return NeedPrepareStep(step)


# ---------------------------------------------------------------- what is kept of an outcome


def kept_outcome(need: Need | Interrupted | Failed, outcome: Outcome) -> Outcome:
    """The outcome with no more of a hook's result than the run takes from it, so that it can be kept."""
    if type(outcome) is not HookResult or outcome.value is None:
        return outcome
    if isinstance(need, NeedStop):
        return HookResult(bool(outcome.value))
    try:
        match need:
            case NeedPrepareStep(step=step):
                edit = step.edit(step.arguments(PREPARE_STEP), outcome.value)
            case NeedProcessInput(call=call):
                edit = call.edit(call.arguments(PROCESS_INPUT), outcome.value)
            case _:
                edit = None
    except AgentCoreError as error:
        return HookFailed(error)
    return NO_RESULT if edit is None else Processed((edit,))


def edits_of(outcome: HookResult | Processed) -> tuple[ProcessorEdit, ...]:
    """The edits of an outcome. Raises UnexpectedOutcomeError for ids that are not those of messages."""
    edits = outcome.edits if isinstance(outcome, Processed) else NO_ITEMS
    if not all(map(is_identified, edits)):
        raise UnexpectedOutcomeError("an edit has other ids than messages")
    return edits
