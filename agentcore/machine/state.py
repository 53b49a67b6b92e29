"""A run at one moment, as a value: what it needs before each step, and its tool calls."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

import attrs
from attrs import field

import agentcore
from agentcore.errors import (
    AgentCoreError,
    NoSuchToolError,
    ToolCallNotFoundForApprovalError,
    ToolChoiceViolationError,
    UnexpectedOutcomeError,
    UnknownToolCallError,
)
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
    NeedTools,
    Outcome,
    Processed,
    Settings,
    ToolFailed,
    ToolOutcomes,
    ToolSucceeded,
)
from agentcore.machine.hooks import ProcessorEdit, StepOverride, StepRecord, total_usage
from agentcore.machine.prepare import CallPreparation, StepPreparation, is_identified
from agentcore.machine.processors import PREPARE_STEP, PROCESS_INPUT
from agentcore.messages.chains import Chains
from agentcore.messages.content import (
    Approvals,
    ContentPart,
    ToolApprovalRequest,
    ToolCall,
    ToolError,
    ToolResult,
    Usage,
)
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.messages import Message, ToolMessage
from agentcore.messages.values import (
    NO_ENTRIES,
    NO_ITEMS,
    FrozenList,
    JsonObject,
    JsonValue,
    Vector,
    maker,
    sealed,
    strict_key,
    vector,
)

__all__ = [
    "Draft",
    "Failed",
    "Interrupted",
    "Move",
    "Pending",
    "Run",
    "Unmade",
    "answers",
    "approval_requests",
    "approved_calls",
    "check_choice",
    "checked",
    "doubtful_calls",
    "draft_of",
    "edits_of",
    "goes_on",
    "in_call_order",
    "kept_outcome",
    "left",
    "moved",
    "need_prepare_step",
    "need_process_input",
    "need_tools",
    "passed_over",
    "runnable_calls",
    "with_calls",
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
    was before step 0 and after each step, `outcomes` all outcomes of its needs, from which every run between
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
        """The usage of the finished steps together."""
        return total_usage(self.steps)

    def _repr_html_(self) -> str:
        """The run in a notebook. What draws it is above the core, and found by its public name when asked."""
        return agentcore.player(self)._repr_html_()


@sealed
@attrs.frozen
class Failed:
    """The run ended by an error; `run` is what it was just before, finished steps included.

    Difference.FAILURE_KEEPS_STEPS. `hook` is the name of the hook that raised the error, such as
    "checkpoint", if one did.
    """

    error: Exception
    run: Run
    # No part of what failed: a driver that does not name its hooks makes an equal run.
    hook: str | None = field(default=None, kw_only=True, eq=False)


@sealed
@attrs.frozen
class Interrupted:
    """The run waits for answers, an Answered outcome; `run` is what it was just before, with its need."""

    interrupts: tuple[Interrupt, ...]
    run: Run


_new_run: Final = maker(Run)
_new_preparation: Final = maker(StepPreparation)
_new_need_tools: Final = maker(NeedTools)
_new_result: Final = maker(ToolResult)


def draft_of(run: Run) -> Draft:
    """The step that is going on. Raises UnexpectedOutcomeError if there is none."""
    if not isinstance(run.current, Draft):
        raise UnexpectedOutcomeError("the run was put together by hand: it has no step going on")
    return run.current


# ---------------------------------------------------------------- moves


class Unmade(NamedTuple):
    """A need that is made only where somebody answers it."""

    kind: type[Need]
    make: Callable[[], Need]


Pending: TypeAlias = Need | Interrupted | Failed | Unmade


class Move(NamedTuple):
    """The fields that a move changes in a run; the others are those of the run before."""

    chains: Chains
    steps: Vector[StepRecord]
    pending: Pending
    current: Approvals | Draft | None = None
    # None: those of the run before.
    model_states: JsonObject | None = None
    answers: JsonObject | None = None
    settings: Settings | None = None
    # None: there is none, or it is among the chains.
    reply: ToolMessage | None = None


def moved(run: Run, move: Move, history: Vector[Run], outcomes: Vector[Logged]) -> Run:
    """The run after a move, with what it keeps of what was before."""
    pending = move.pending
    return _at(run, move, pending.make() if isinstance(pending, Unmade) else pending, history, outcomes)


def passed_over(run: Run, move: Move) -> Run:
    """The run after a move to a need that nobody answers, for the next move; its need is the one before."""
    return _at(run, move, run.pending, run.history, run.outcomes)


def _at(
    run: Run,
    move: Move,
    pending: Need | Interrupted | Failed,
    history: Vector[Run],
    outcomes: Vector[Logged],
) -> Run:
    return _new_run(
        settings=run.settings if move.settings is None else move.settings,
        chains=move.chains,
        steps=move.steps,
        pending=pending,
        current=move.current,
        model_states=run.model_states if move.model_states is None else move.model_states,
        answers=run.answers if move.answers is None else move.answers,
        reply=move.reply,
        history=history,
        outcomes=outcomes,
        started_with=run.started_with,
        given=run.given,
    )


# ---------------------------------------------------------------- what is needed


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
    step = _new_preparation(
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


def need_tools(run: Run, calls: Iterable[ToolCall], context: JsonValue) -> NeedTools:
    """The need of a run whose tools are to run these calls."""
    # Rule override.prompt-only: the tools of a step are given its input, whatever its prompt was made of.
    messages = run.chains.step_input
    return _new_need_tools(calls=vector(calls), messages=messages, experimental_context=context)


# ---------------------------------------------------------------- what is kept of an outcome


def kept_outcome(need: Need | Interrupted | Failed, outcome: Outcome) -> Outcome:
    """The outcome with no more of a hook's result than the run takes from it, so that it can be kept."""
    if type(outcome) is not HookResult or outcome.value is None:
        return outcome
    if isinstance(need, NeedStop):
        # Only its truth counts. The object itself may be anything, and could not be saved.
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
        # What a hook returned wrongly is the hook's failure, as what it raises is. As an outcome it is
        # kept, so that a replay fails at the same place without the hook.
        return HookFailed(error)
    return NO_RESULT if edit is None else Processed((edit,))


def edits_of(outcome: HookResult | Processed) -> tuple[ProcessorEdit, ...]:
    """The edits of an outcome. Raises UnexpectedOutcomeError for ids that are not those of messages."""
    edits = outcome.edits if isinstance(outcome, Processed) else NO_ITEMS
    if not all(map(is_identified, edits)):
        raise UnexpectedOutcomeError("an edit needs an id for each of its messages")
    return edits


# The calls of a step: which of them are valid, their outcomes, whether another step follows.
#
# Functions of values only; the run machine says when.

_Output = TypeVar("_Output", ToolResult | ToolError, ToolSucceeded | ToolFailed)


def checked(
    call: ToolCall,
    settings: Settings,
    active: Container[str] | None,
    choice: JsonObject | None = None,
) -> ToolCall:
    """The call as it is, or marked invalid if the step does not offer its tool, or its choice forbids it."""
    tool = settings.tool(call.tool_name)
    if call.invalid:
        # Somebody who has the tool's schema has marked it. Whether it is offered no longer matters, and the
        # model gets that reason rather than a second one.
        return attrs.evolve(call, dynamic=True, error=call.error or "invalid tool call")
    if tool is None:
        if call.provider_executed and call.dynamic:  # call.provider-dynamic
            return call
        names = None if settings.tools is None else tuple(tool.name for tool in settings.tools)
        return _invalid(call, names)
    # The provider has run its own call by now: an error could not undo that, and would stand beside a
    # result.
    hidden = active is not None and tool.name not in active
    if hidden and not call.provider_executed:  # Difference.HIDDEN_TOOL_IS_AN_ERROR
        return _invalid(
            call, tuple(tool.name for tool in settings.tools or () if tool.name in (active or ()))
        )
    refused = None if call.provider_executed else _refused_by(choice, tool.name)
    if refused is not None:  # Difference.TOOL_CHOICE_ENFORCED
        return attrs.evolve(call, dynamic=True, invalid=True, error=refused)
    dynamic = tool.dynamic or None
    return call if call.dynamic == dynamic else attrs.evolve(call, dynamic=dynamic)


def _refused_by(choice: JsonObject | None, tool_name: str) -> str | None:
    """The result, for the model, of a call that the tool choice forbids; None if it does not."""
    if choice is None or choice["type"] in ("auto", "required"):
        return None
    if choice["type"] == "none":
        return "No tool can be called at this step."
    if choice["toolName"] == tool_name:
        return None
    return f"Only the tool '{choice['toolName']}' can be called at this step."


def check_choice(choice: JsonObject | None, calls: Iterable[ToolCall]) -> None:
    """Raises ToolChoiceViolationError if a call is required and none of that kind was made.

    Difference.TOOL_CHOICE_ENFORCED.
    """
    if choice is None or choice["type"] in ("auto", "none"):
        return
    wanted = choice.get("toolName")
    if not any(wanted in (None, call.tool_name) for call in calls):
        raise ToolChoiceViolationError(None if wanted is None else str(wanted))


def _invalid(call: ToolCall, available: tuple[str, ...] | None) -> ToolCall:
    error = str(NoSuchToolError(call.tool_name, available))
    return attrs.evolve(call, dynamic=True, invalid=True, error=error)  # call.unknown-tool


def with_calls(content: Iterable[ContentPart], calls: tuple[ToolCall, ...]) -> tuple[ContentPart, ...]:
    """The model's parts, with the checked calls in the place of its own."""
    rest = iter(calls)
    if _ABOUT_CALLS.isdisjoint(map(type, content)):
        return FrozenList([next(rest) if isinstance(part, ToolCall) else part for part in content])
    # Reversed, so that of calls that share an id the first one has it.
    by_id = {call.tool_call_id: call for call in reversed(calls)}
    return FrozenList(
        next(rest) if isinstance(part, ToolCall) else _with_call(part, by_id) for part in content
    )


_ABOUT_CALLS: Final = frozenset({ToolResult, ToolError, ToolApprovalRequest})


def _with_call(part: ContentPart, by_id: dict[str, ToolCall]) -> ContentPart:
    # call.result-needs-call, in both cases
    match part:
        case ToolResult() | ToolError():
            call = by_id.get(part.tool_call_id)
            if call is None:
                raise UnknownToolCallError(part.tool_call_id)
            return attrs.evolve(part, input=call.input, dynamic=call.dynamic, provider_executed=True)
        case ToolApprovalRequest():
            call = by_id.get(part.tool_call.tool_call_id)
            if call is None:
                raise ToolCallNotFoundForApprovalError(part.tool_call.tool_call_id, part.approval_id)
            return attrs.evolve(part, tool_call=call)
        case _:
            return part


def doubtful_calls(calls: Iterable[ToolCall], settings: Settings) -> Vector[ToolCall]:
    """The calls of which only their tools can tell whether they wait for approval."""
    if not settings.asks_approval:
        return vector()
    return vector(call for call in calls if _approval_need(call, settings) == "ask")


def approval_requests(
    calls: Iterable[ToolCall], needed: Container[str], settings: Settings
) -> tuple[ToolApprovalRequest, ...]:
    """The requests for approval of the calls that wait for it (rule approval.requested).

    `needed` are the ids of the doubtful calls whose tools say so.
    """
    if not settings.asks_approval:
        return NO_ITEMS
    waiting = (
        call
        for call in calls
        if (need := _approval_need(call, settings)) is True or (need and call.tool_call_id in needed)
    )
    # Ids made of the calls': the machine draws none, and a run played again asks by the same names.
    return FrozenList(ToolApprovalRequest(f"approval-{call.tool_call_id}", call) for call in waiting)


def _approval_need(call: ToolCall, settings: Settings) -> bool | Literal["ask"]:
    tool = None if call.invalid else settings.tool(call.tool_name)
    return False if tool is None else tool.needs_approval


def approved_calls(approvals: Approvals, settings: Settings) -> list[ToolCall]:
    """The calls that run before step 0."""
    return [
        ToolCall(tool_call_id=part.tool_call_id, tool_name=part.tool_name, input=part.input)
        for part in approvals.to_run
        if _can_run(part.tool_name, settings)
    ]


def runnable_calls(
    calls: Iterable[ToolCall], requests: Iterable[ToolApprovalRequest], settings: Settings
) -> list[ToolCall]:
    """The calls of a step that are for its tools to run: valid, ours, and not waiting for approval."""
    waiting = {request.tool_call.tool_call_id for request in requests}
    return [
        call
        for call in calls
        if not call.invalid and not call.provider_executed and call.tool_call_id not in waiting
        if _can_run(call.tool_name, settings)
    ]


def _can_run(tool_name: str, settings: Settings) -> bool:
    tool = settings.tool(tool_name)
    return tool is not None and tool.has_execute


def left(calls: Iterable[ToolCall], given: ToolOutcomes) -> list[ToolCall]:
    """The calls that these are not the outcomes of; of calls that share an id, the first have one.

    Raises UnexpectedOutcomeError for outcomes of other calls, and for none at all.
    """
    if not given.outcomes:
        raise UnexpectedOutcomeError("give the outcome of one or more tool calls, not of none")
    # Models give two calls one id at times. Each outcome then answers one of them, in their order.
    counts: dict[str, int] = {}
    for outcome in given.outcomes:
        counts[outcome.tool_call_id] = counts.get(outcome.tool_call_id, 0) + 1
    still: list[ToolCall] = []
    for call in calls:
        if counts.get(call.tool_call_id):
            counts[call.tool_call_id] -= 1
        else:
            still.append(call)
    if any(counts.values()):
        raise UnexpectedOutcomeError("there are outcomes of tool calls that the run did not ask for")
    return still


def in_call_order(
    calls: Iterable[ToolCall], outcomes: Iterable[ToolSucceeded | ToolFailed], settings: Settings
) -> list[ToolResult | ToolError]:
    """The outcome of each call, in the order of the calls (Difference.RESULTS_IN_CALL_ORDER)."""
    by_id = _by_id(outcomes)
    # By the calls and not by the outcomes: the next prompt must not depend on which tool was faster.
    return [_output(call, by_id[call.tool_call_id].pop(0), settings) for call in calls]


def _by_id(outputs: Iterable[_Output]) -> dict[str, list[_Output]]:
    by_id: dict[str, list[_Output]] = {}
    for output in outputs:
        by_id.setdefault(output.tool_call_id, []).append(output)
    return by_id


def _output(
    call: ToolCall, outcome: ToolSucceeded | ToolFailed, settings: Settings
) -> ToolResult | ToolError:
    tool = settings.tool(call.tool_name)
    dynamic = tool is not None and tool.dynamic
    if isinstance(outcome, ToolFailed):
        return ToolError(
            tool_call_id=call.tool_call_id,
            tool_name=call.tool_name,
            input=call.input,
            error=outcome.error,
            dynamic=dynamic,
            provider_metadata=call.provider_metadata,
        )
    return _new_result(
        tool_call_id=call.tool_call_id,
        tool_name=call.tool_name,
        input=call.input,
        output=outcome.output,
        model_output=outcome.model_output,
        dynamic=dynamic,
        provider_metadata=call.provider_metadata,
    )


def answers(
    calls: Iterable[ToolCall], outputs: Iterable[ToolResult | ToolError]
) -> Iterator[ToolResult | ToolError]:
    """The errors of invalid calls and the outputs of those that ran, in the order of the calls."""
    by_id = _by_id(outputs)
    for call in calls:
        if call.invalid:
            yield ToolError(
                tool_call_id=call.tool_call_id,
                tool_name=call.tool_name,
                input=call.input,
                error=call.error,
                dynamic=True,
            )
        elif by_id.get(call.tool_call_id):
            yield by_id[call.tool_call_id].pop(0)


def goes_on(record: StepRecord) -> bool:
    """Return whether the step had calls of our own tools, each with an answer (rule loop.continues).

    Difference.LOOP_COUNTS_BY_CALL.
    """
    calls: list[str] = []
    answered: list[str] = []
    for part in record.content:
        if isinstance(part, ToolCall):
            if not part.provider_executed:
                calls.append(part.tool_call_id)
        elif isinstance(part, (ToolResult, ToolError)) and not part.provider_executed:
            answered.append(part.tool_call_id)
    for call in calls:
        if call not in answered:
            return False
        # Of two calls with one id, one answer is the answer to one of them only.
        answered.remove(call)
    return bool(calls)
