"""A whole run as a machine without input and output.

Two rules. Every change of a run's state is decided here, by `TABLE`. Nothing here does input or output, reads
a clock, draws randomness or calls back: what a run needs from outside is a value (`need`), and the outcome
is given as one (`give`): rule run.asks. Every `Run` is a value, so it can be kept, forked and played again
(`agentcore.records.history`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import reduce
from typing import Any, Final, NamedTuple, get_args

import attrs

from agentcore.errors import AgentCoreError, AnswersError, RunCancelledError, UnexpectedOutcomeError
from agentcore.machine.effects import (
    NO_RESULT,
    Answered,
    ApprovalsNeeded,
    Asked,
    Cancelled,
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    ModelFailed,
    Need,
    NeedApprovals,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedProcessInput,
    NeedStepFinish,
    NeedStepStart,
    NeedStop,
    NeedTools,
    Outcome,
    Processed,
    Rejected,
    RunResult,
    Settings,
    ToolFailed,
    ToolOutcomes,
    ToolsFailed,
    ToolSucceeded,
    Tripped,
)
from agentcore.machine.pending import left_after, taken
from agentcore.machine.prepare import CallPreparation
from agentcore.machine.processors import Tripwire
from agentcore.machine.state import (
    Draft,
    Failed,
    Interrupted,
    Move,
    Pending,
    Run,
    Unmade,
    approval_requests,
    approved_calls,
    doubtful_calls,
    draft_of,
    edits_of,
    goes_on,
    in_call_order,
    kept_outcome,
    left,
    moved,
    need_prepare_step,
    need_process_input,
    need_tools,
    passed_over,
    runnable_calls,
)
from agentcore.machine.step import begin_step, empty_input, finish_step, start_event, with_answer
from agentcore.messages.chains import Chains
from agentcore.messages.content import (
    Approvals,
    ToolCall,
    ToolError,
    ToolResult,
    approval_messages,
    collect_approvals,
)
from agentcore.messages.messages import Message, ToolMessage
from agentcore.messages.values import NO_ITEMS, FrozenList, JsonValue, grown, vector
from agentcore.requirements.rules import Difference, Rule

__all__ = ["TABLE", "Arm", "Draft", "Failed", "Interrupted", "Run", "give", "need", "start"]


# ---------------------------------------------------------------- the machine


def start(settings: Settings, messages: Iterable[Message]) -> Run:
    """A run of these messages, which processors may change before it begins (Settings.process_input).

    Approved calls in them come before step 0 (rule approval.before-step-0). Raises InvalidPromptError if
    there are no messages, or something else among them: then there is no run yet.
    """
    chains = Chains.start(messages, settings.system)
    run = Run(
        settings=settings,
        chains=chains,
        pending=need_process_input(settings, chains),
        started_with=settings,
        given=chains.initial,
    )
    return run if settings.process_input else moved(run, _begun(run), run.history, run.outcomes)


def _begun(run: Run) -> Move:
    try:
        return _with_approvals(run, collect_approvals(run.chains.initial))
    except AgentCoreError as error:
        return _failed(run, error)


def _with_approvals(run: Run, approvals: Approvals) -> Move:
    runnable = approved_calls(approvals, run.settings)
    if runnable:
        return _need_tools(run, approvals, runnable, run.settings.experimental_context)
    return _after_approvals(run, approvals, ())


def need(run: Run) -> Need | Interrupted | Failed:
    """The next need of the run, or its end: Done, Failed, or Interrupted until it is Answered."""
    return run.pending


def give(run: Run, outcome: Outcome, unheard: Container[type[Need]] = NO_ITEMS) -> Run:
    """The run after the outcome of its need. Whatever goes wrong with the run makes it a Failed one.

    `unheard` are those of NeedPrepareStep, NeedStepStart and NeedStop that nobody answers: each gets
    NO_RESULT at once, and the run is what it would be if that were given by itself. Raises
    UnexpectedOutcomeError only for an outcome that does not answer the need (rule run.answer-fits).
    """
    outcome = kept_outcome(run.pending, outcome)  # before the move, so that a replay reads the same
    try:
        after = _give(run, outcome)
    except UnexpectedOutcomeError:  # the driver's fault: the run's need can still be met
        raise
    except AgentCoreError as error:
        after = _failed(run, error)
    kept = NeedStepFinish if run.history else (NeedStepFinish, NeedPrepareStep)  # the rest is replayed
    moved_on = isinstance(run.pending, kept) and not isinstance(after.pending, Interrupted)  # run.kept
    history = grown(run.history, (run,)) if moved_on else run.history
    outcomes = [outcome]
    while history and isinstance(after.pending, Unmade) and after.pending.kind in unheard:
        passed = passed_over(run, after)
        try:
            after = _MOVES[after.pending.kind, HookResult](passed, None, NO_RESULT)
        except AgentCoreError:
            break  # the driver gives it, and the failed run keeps this need
        run, outcomes = passed, [*outcomes, NO_RESULT]
    return moved(run, after, history, grown(run.outcomes, outcomes))


def _give(run: Run, outcome: Outcome) -> Move:
    move = _MOVES.get((type(run.pending), type(outcome)))
    if move is not None:
        return move(run, run.pending, outcome)
    # run.answer-fits
    if isinstance(run.pending, Done | Failed):
        raise UnexpectedOutcomeError("the run has ended; start another one with its messages")
    wanted, given = type(run.pending).__name__, type(outcome).__name__
    raise UnexpectedOutcomeError(f"the run waits for an answer to {wanted}; {given} does not answer it")


def _at(run: Run, pending: Pending, current: Approvals | Draft | None = None) -> Move:
    going_on = run.current if current is None else current
    return Move(run.chains, run.steps, pending, going_on, reply=run.reply)


def _failed(run: Run, error: Exception, hook: str | None = None) -> Move:
    return _at(run, Failed(error, run, hook=hook))


# ---------------------------------------------------------------- what waits for a person, and what ends


def _answer(run: Run, need: Interrupted | Done, given: Answered) -> Move:
    """`before` is what the run was when it began to wait."""
    before = need.run if isinstance(need, Interrupted) else run
    answered = taken(run, given.answers)
    known = run.answers | answered.answers
    if answered.reply is not None and isinstance(before.pending, Done):  # else it follows its step
        return _replied(run, answered.reply)._replace(answers=known)
    # interrupt.needed-again
    reply = run.reply if answered.reply is None else answered.reply
    return Move(run.chains, run.steps, before.pending, run.current, answers=known, reply=reply)


def _refuse_answers(_: Run, __: Need | Failed, given: Answered) -> Move:
    raise AnswersError(tuple(given.answers), ())


def _replied(run: Run, reply: ToolMessage) -> Move:
    """Rule pending.reply: the run goes on as one does that begins with these messages."""
    run = attrs.evolve(run, chains=run.chains.appended([reply]), reply=None)
    return _with_approvals(run, collect_approvals(run.chains.step_input))


def _ask(run: Run, _: Need, given: Asked) -> Move:
    return _at(run, Interrupted(given.interrupts, run))


def _ask_more(run: Run, need: Interrupted, given: Asked) -> Move:
    return _at(run, Interrupted(Asked((*need.interrupts, *given.interrupts)).interrupts, need.run))


def _cancel(run: Run, _: Need | Interrupted, __: Cancelled) -> Move:
    return _failed(run, RunCancelledError())


def _fail(run: Run, _: Need | Interrupted, given: HookFailed | ModelFailed | ToolsFailed) -> Move:
    return _failed(run, given.error, given.hook)


def _trip(run: Run, _: NeedProcessInput | NeedPrepareStep, given: Tripped) -> Move:
    return _finish(run, given.tripwire)


# ---------------------------------------------------------------- before a step


def _process_input(run: Run, need: NeedProcessInput, given: HookResult | Processed) -> Move:
    edits = edits_of(given)
    if not edits:
        return _begun(run)
    call = reduce(CallPreparation.after, edits, need.call)
    settings = attrs.evolve(run.settings, system=call.system_now)
    messages, ids = call.identified
    if not messages:
        raise empty_input(edits)
    chains = Chains.start(messages, settings.system, ids)
    return _begun(attrs.evolve(run, settings=settings, chains=chains))._replace(settings=settings)


def _need_tools(run: Run, current: Approvals | Draft, calls: Iterable[ToolCall], context: JsonValue) -> Move:
    return _at(run, need_tools(run, calls, context), current)


def _prepare_step(run: Run, _: NeedPrepareStep, given: HookResult | Processed) -> Move:
    chains, draft = begin_step(run, edits_of(given))
    event = Unmade(NeedStepStart, lambda: NeedStepStart(start_event(run, chains, draft)))
    return Move(chains, run.steps, event, draft)


def _ask_model(run: Run, _: NeedStepStart, __: HookResult) -> Move:
    return _at(run, draft_of(run).request)


def _after_approvals(run: Run, approvals: Approvals, outputs: Iterable[ToolResult | ToolError]) -> Move:
    chains = run.chains.appended(approval_messages(approvals, outputs))
    run = attrs.evolve(run, chains=chains, current=None)
    # pending.approved-call, loop.stops
    if (run.steps and left_after(run.steps, chains)) or run.step_number >= run.settings.max_steps:
        return _finish(run)
    return _next_step(run)


def _next_step(run: Run) -> Move:
    step = Unmade(NeedPrepareStep, lambda: need_prepare_step(run.settings, run.chains, run.steps))
    return Move(run.chains, run.steps, step)


# ---------------------------------------------------------------- the model's answer and its calls


def _take_answer(run: Run, _: NeedModel, given: ModelAnswer) -> Move:
    draft = draft_of(run)
    after = _after_answer(run, with_answer(draft, given, run.settings))
    if given.model_state is None:
        return after  # model.state-from-the-answer
    model = given.requested_model or draft.request.model
    return after._replace(model_states=run.model_states | {model: given.model_state})


def _after_answer(run: Run, draft: Draft) -> Move:
    doubtful = doubtful_calls(draft.calls, run.settings)
    if not doubtful:
        return _with_requests(run, draft, frozenset())
    context = draft.experimental_context
    question = NeedApprovals(calls=doubtful, messages=run.chains.step_input, experimental_context=context)
    return _at(run, question, draft)


def _request_approvals(run: Run, _: NeedApprovals, given: ApprovalsNeeded) -> Move:
    return _with_requests(run, draft_of(run), given.tool_call_ids)


def _with_requests(run: Run, draft: Draft, needed: frozenset[str]) -> Move:
    requests = approval_requests(draft.calls, needed, run.settings)
    if requests:
        draft = attrs.evolve(draft, requests=requests)
    runnable = runnable_calls(draft.calls, requests, run.settings)
    if runnable:
        return _need_tools(run, draft, runnable, draft.experimental_context)
    return _after_step(run, draft, ())


def _take_outcomes(run: Run, need: NeedTools, given: ToolOutcomes) -> Move:
    still = left(need.calls, given)
    finished = FrozenList((*need.finished, *given.outcomes)) if need.finished else given.outcomes
    if not still:
        return _after_tools(run, finished)
    return _at(run, attrs.evolve(need, calls=vector(still), finished=finished))


# ---------------------------------------------------------------- the end of a step


def _after_tools(run: Run, outcomes: tuple[ToolSucceeded | ToolFailed, ...]) -> Move:
    if isinstance(run.current, Approvals):
        calls = approved_calls(run.current, run.settings)
        return _after_approvals(run, run.current, in_call_order(calls, outcomes, run.settings))
    draft = draft_of(run)
    calls = runnable_calls(draft.calls, draft.requests, run.settings)
    return _after_step(run, draft, in_call_order(calls, outcomes, run.settings))


def _after_step(run: Run, draft: Draft, outputs: Iterable[ToolResult | ToolError]) -> Move:
    chains, record = finish_step(run, draft, outputs)
    return Move(chains, grown(run.steps, (record,)), NeedStepFinish(record), reply=run.reply)


def _continue(run: Run, need: NeedStepFinish, _: HookResult) -> Move:
    if goes_on(need.record):
        return _at(run, Unmade(NeedStop, lambda: NeedStop(run.steps)))
    return _finish(run) if run.reply is None else _replied(run, run.reply)


def _stop(run: Run, _: NeedStop, given: HookResult) -> Move:
    if bool(given.value) or run.step_number >= run.settings.max_steps:
        return _finish(run)
    return _next_step(run)


def _finish(run: Run, tripwire: Tripwire | None = None) -> Move:
    result = RunResult(steps=run.steps, messages=run.chains.response, tripwire=tripwire)
    return _at(run, NeedFinish(result))


def _end(run: Run, need: NeedFinish, _: HookResult) -> Move:
    return _at(run, Done(need.result)) if run.reply is None else _replied(run, run.reply)


def _reject(run: Run, need: NeedFinish, _: Rejected) -> Move:
    if run.step_number >= run.settings.max_steps or need.result.tripwire or run.reply:  # it stands
        return _end(run, need, NO_RESULT)
    return _next_step(run)


# ---------------------------------------------------------------- the table


class Arm(NamedTuple):
    """A row of the table: needs, the outcomes that answer them, the move that follows, and its rule."""

    rule: Rule | Difference
    needs: tuple[type, ...]
    outcomes: tuple[type, ...]
    move: Callable[[Run, Any, Any], Move]


_NEEDS: Final = tuple(each for each in get_args(Need) if each is not Done)
_CALLED: Final = (NeedModel, NeedTools)  # their failures have kinds of their own
_HOOKED: Final = tuple(each for each in _NEEDS if each not in _CALLED)

TABLE: Final = (
    Arm(Rule.PENDING_ANSWERED_TOGETHER, (Interrupted, Done), (Answered,), _answer),
    Arm(Rule.PENDING_ANSWERED_TOGETHER, (*_NEEDS, Failed), (Answered,), _refuse_answers),
    Arm(Rule.INTERRUPT_ONE_QUESTION, (Interrupted,), (Asked,), _ask_more),
    Arm(Difference.QUESTIONS_PASS, (*_NEEDS, Done), (Asked,), _ask),
    Arm(Rule.RUN_CANCELLED, (*_NEEDS, Interrupted), (Cancelled,), _cancel),
    Arm(Rule.PROCESSOR_INPUT_ONCE, (NeedProcessInput,), (HookResult, Processed), _process_input),
    Arm(Rule.PROCESSOR_ORDER, (NeedPrepareStep,), (HookResult, Processed), _prepare_step),
    Arm(Rule.PROCESSOR_ABORT_ENDS, (NeedProcessInput, NeedPrepareStep), (Tripped,), _trip),
    Arm(Rule.RUN_ORDER, (NeedStepStart,), (HookResult,), _ask_model),
    Arm(Rule.MODEL_STATE_FROM_THE_ANSWER, (NeedModel,), (ModelAnswer,), _take_answer),
    Arm(Rule.APPROVAL_REQUESTED, (NeedApprovals,), (ApprovalsNeeded,), _request_approvals),
    Arm(Rule.INTERRUPT_FINISHED_KEPT, (NeedTools,), (ToolOutcomes,), _take_outcomes),
    Arm(Rule.LOOP_CONTINUES, (NeedStepFinish,), (HookResult,), _continue),
    Arm(Rule.LOOP_STOPS, (NeedStop,), (HookResult,), _stop),
    Arm(Rule.PENDING_REPLY, (NeedFinish,), (HookResult,), _end),
    Arm(Rule.OUTPUT_ASKED_AGAIN, (NeedFinish,), (Rejected,), _reject),
    Arm(Difference.FAILURE_KEEPS_STEPS, (NeedModel,), (ModelFailed,), _fail),
    Arm(Difference.REFUSED_WRITE_FAILS, (NeedTools,), (ToolsFailed,), _fail),
    Arm(Difference.HOOK_FAILURE_FAILS, (*_HOOKED, Interrupted), (HookFailed,), _fail),
)
"""The whole order of events: what follows which need (rule run.order).

Each pair of a need and an outcome is in one arm at most; any other outcome does not answer the need.
"""

_MOVES: Final = {(need, outcome): arm.move for arm in TABLE for need in arm.needs for outcome in arm.outcomes}
