"""A whole run as a machine without input and output.

Two rules. Everything that changes a run's state is here. Nothing here does input or output, reads a clock,
draws randomness or calls back: what a run needs from outside is a value (`need`), and what came of it is
given as one (`give`): rule run.asks. Every `Run` is a value, so it can be kept, forked and played again
(`agentcore.records.history`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

import attrs

from agentcore.errors import (
    AgentCoreError,
    AnswersError,
    RunCancelledError,
    UnexpectedOutcomeError,
)
from agentcore.machine.calls import (
    answers,
    approval_need,
    approval_request,
    approved_calls,
    check_choice,
    checked,
    goes_on,
    in_call_order,
    left,
    runnable_calls,
    with_calls,
)
from agentcore.machine.effects import (
    NO_RESULT,
    Answered,
    ApprovalsNeeded,
    Asked,
    Cancelled,
    Done,
    Forked,
    HookFailed,
    HookResult,
    Logged,
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
    RunResult,
    Settings,
    StepStartEvent,
    ToolFailed,
    ToolOutcomes,
    ToolsFailed,
    ToolSpec,
    ToolSucceeded,
    Tripped,
)
from agentcore.machine.hooks import (
    Frozen,
    ProcessorEdit,
    StepOverride,
    StepRecord,
    merge_provider_options,
    merged,
    tool_choice,
)
from agentcore.machine.needs import need_prepare_step, need_process_input
from agentcore.machine.pending import left_after, taken
from agentcore.machine.prepare import CallPreparation, is_identified
from agentcore.machine.processors import PREPARE_STEP, PROCESS_INPUT, Tripwire
from agentcore.machine.prompting import empty_input, validated_prompt
from agentcore.machine.state import Draft, Failed, Interrupted, Run
from agentcore.machine.step import finish, prepare
from agentcore.messages.chains import Chains
from agentcore.messages.content import (
    Approvals,
    ContentPart,
    ToolCall,
    ToolError,
    ToolResult,
    approval_messages,
    collect_approvals,
)
from agentcore.messages.messages import Message, ToolMessage
from agentcore.messages.values import JsonObject, JsonValue, Vector, grown, vector

__all__ = ["Draft", "Failed", "Interrupted", "Run", "forked", "give", "need", "start"]

_T = TypeVar("_T")
_AUTO: Final = tool_choice("auto")


class _Next(NamedTuple):
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
    return run if settings.process_input else _moved(run, _begun(run), run.history, run.outcomes)


def _begun(run: Run) -> _Next:
    try:
        return _with_approvals(run, collect_approvals(run.chains.initial))
    except AgentCoreError as error:
        return _failed(run, error)


def _with_approvals(run: Run, approvals: Approvals) -> _Next:
    runnable = approved_calls(approvals, run.settings)
    if runnable:
        return _need_tools(run, approvals, runnable, run.settings.experimental_context)
    return _after_approvals(run, approvals, ())


def need(run: Run) -> Need | Interrupted | Failed:
    """What the run needs next, or how it ended: Done, Failed, or Interrupted until it is Answered."""
    return run.pending


def give(run: Run, outcome: Outcome) -> Run:
    """The run after what came of its need.

    Whatever goes wrong with the run makes it a Failed one. Raises UnexpectedOutcomeError only for an outcome
    that does not answer the need; the run is as it was (rule run.answer-fits).
    """
    outcome = _as_value(run, outcome)
    try:
        after = _give(run, outcome)
    except UnexpectedOutcomeError:
        raise
    except AgentCoreError as error:
        after = _failed(run, error)
    moved_on = _is_kept(run) and not isinstance(after.pending, Interrupted)
    history = grown(run.history, (run,)) if moved_on else run.history
    return _moved(run, after, history, grown(run.outcomes, (outcome,)))


def _is_kept(run: Run) -> bool:
    """Whether the run is one of those that its history has: rule run.kept."""
    kind = type(run.pending)
    return kind is NeedStepFinish or (kind is NeedPrepareStep and not run.history)


def _as_value(run: Run, outcome: Outcome) -> Outcome:
    """The outcome with no more of a hook's result than the run takes from it, so that it can be kept."""
    if type(outcome) is not HookResult or outcome.value is None:
        return outcome
    if isinstance(run.pending, NeedStop):
        return HookResult(bool(outcome.value))
    try:
        match run.pending:
            case NeedPrepareStep(step=step):
                edit = step.edit(step.arguments(PREPARE_STEP), outcome.value)
            case NeedProcessInput(call=call):
                edit = call.edit(call.arguments(PROCESS_INPUT), outcome.value)
            case _:
                edit = None
    except AgentCoreError as error:
        return HookFailed(error)
    return NO_RESULT if edit is None else Processed((edit,))


def _moved(run: Run, after: _Next, history: Vector[Run], outcomes: Vector[Logged]) -> Run:
    return Run(
        settings=run.settings if after.settings is None else after.settings,
        chains=after.chains,
        steps=after.steps,
        pending=after.pending,
        current=after.current,
        model_states=run.model_states if after.model_states is None else after.model_states,
        answers=run.answers if after.answers is None else after.answers,
        reply=after.reply,
        history=history,
        outcomes=outcomes,
        started_with=run.started_with,
        given=run.given,
    )


def forked(run: Run, settings: Settings, chains: Chains, logged: Forked) -> Run:
    """The run about to prepare its next step with other settings and chains, kept among its outcomes."""
    return Run(
        settings=settings,
        chains=chains,
        steps=run.steps,
        pending=need_prepare_step(settings, chains, run.steps),
        model_states=run.model_states,
        answers=run.answers,
        history=run.history,
        outcomes=grown(run.outcomes, (logged,)),
        started_with=run.started_with,
        given=run.given,
    )


def _give(run: Run, outcome: Outcome) -> _Next:  # noqa: C901, PLR0912 - this is the specification, in one table
    """The whole order of events: what follows which need (rule run.order)."""
    match run.pending, outcome:
        case Interrupted(), Answered():
            return _after_answers(run, run.pending.run, outcome.answers)
        case Done(), Answered():
            return _after_answers(run, run, outcome.answers)
        case Interrupted(), Asked():
            together = Asked((*run.pending.interrupts, *outcome.interrupts))
            return _at(run, Interrupted(together.interrupts, run.pending.run))
        case _, Answered():
            raise AnswersError(tuple(outcome.answers), ())
        case _, Asked() if not isinstance(run.pending, Failed):
            return _at(run, Interrupted(outcome.interrupts, run))
        case ((Done() | Failed()), _):
            raise UnexpectedOutcomeError("the run has ended; start another one with its messages")
        case _, Cancelled():  # run.cancelled
            return _failed(run, RunCancelledError())
        case NeedTools(), ToolOutcomes():
            return _after_outcomes(run, run.pending, outcome)
        case NeedProcessInput(), (HookResult() | Processed()):
            return _after_process_input(run, run.pending.call, _edits_of(outcome))
        case NeedPrepareStep(), (HookResult() | Processed()):
            return _after_prepare_step(run, _edits_of(outcome))
        case ((NeedProcessInput() | NeedPrepareStep()), Tripped()):  # processor.abort-ends
            return _finish(run, outcome.tripwire)
        case NeedStepStart(), HookResult():
            return _at(run, _draft(run).request)
        case NeedModel(), ModelAnswer():
            return _with_state(run, outcome, _after_model(run, _draft(run), outcome))
        case NeedApprovals(), ApprovalsNeeded():
            return _after_approval_question(run, _draft(run), outcome.tool_call_ids)
        case NeedStepFinish(), HookResult():
            return _after_step_finish(run, run.pending.record)
        case NeedStop(), HookResult():
            return _after_stop(run, stop=bool(outcome.value))
        case NeedFinish(), HookResult():
            return _at(run, Done(run.pending.result)) if run.reply is None else _replied(run, run.reply)
        case NeedModel(), ModelFailed():
            return _failed(run, outcome.error, outcome.hook)
        case NeedTools(), ToolsFailed():
            return _failed(run, outcome.error, outcome.hook)
        case ((NeedTools() | NeedModel()), _):
            pass
        case _, HookFailed():  # Difference.HOOK_FAILURE_FAILS
            return _failed(run, outcome.error, outcome.hook)
    given = type(outcome).__name__
    raise UnexpectedOutcomeError(f"the run has a {type(run.pending).__name__}, which {given} does not answer")


def _at(run: Run, pending: Need | Interrupted | Failed, current: Approvals | Draft | None = None) -> _Next:
    going_on = run.current if current is None else current
    return _Next(run.chains, run.steps, pending, going_on, reply=run.reply)


def _failed(run: Run, error: Exception, hook: str | None = None) -> _Next:
    return _at(run, Failed(error, run, hook=hook))


def _draft(run: Run) -> Draft:
    if not isinstance(run.current, Draft):
        raise UnexpectedOutcomeError("the run was put together by hand: it has no step going on")
    return run.current


def _after_answers(run: Run, before: Run, answers: JsonObject) -> _Next:
    """Rule pending.answered-together: `before` is what the run was when it began to wait."""
    given = taken(run, answers)
    known = run.answers | given.answers
    if given.reply is not None and isinstance(before.pending, Done):
        return _replied(run, given.reply)._replace(answers=known)
    # interrupt.needed-again
    reply = run.reply if given.reply is None else given.reply
    return _Next(run.chains, run.steps, before.pending, run.current, answers=known, reply=reply)


def _replied(run: Run, reply: ToolMessage) -> _Next:
    """Rule pending.reply: the run goes on as one does that begins with these messages."""
    run = attrs.evolve(run, chains=run.chains.appended([reply]), reply=None)
    return _with_approvals(run, collect_approvals(run.chains.step_input))


def _edits_of(outcome: HookResult | Processed) -> tuple[ProcessorEdit, ...]:
    edits = outcome.edits if isinstance(outcome, Processed) else ()
    if not all(map(is_identified, edits)):
        raise UnexpectedOutcomeError("an edit has other ids than messages")
    return edits


# ---------------------------------------------------------------- before a step


def _after_process_input(run: Run, call: CallPreparation, edits: tuple[ProcessorEdit, ...]) -> _Next:
    """Rule processor.input-once: what the processors leave is what the run begins with."""
    for edit in edits:
        call = call.after(edit)
    if not edits:
        return _begun(run)
    settings = attrs.evolve(run.settings, system=_first(call.override.system, call.system))
    messages, ids = call.identified
    if not messages:
        raise empty_input(edits)
    chains = Chains.start(messages, settings.system, ids)
    return _begun(attrs.evolve(run, settings=settings, chains=chains))._replace(settings=settings)


def _need_tools(
    run: Run, current: Approvals | Draft, calls: Sequence[ToolCall], experimental_context: JsonValue
) -> _Next:
    # Rule override.prompt-only: the tools of a step are given its input, whatever its prompt was made of.
    wanted = NeedTools(
        calls=vector(calls),
        messages=run.chains.step_input,
        experimental_context=Frozen(experimental_context),
    )
    return _at(run, wanted, current)


def _after_approvals(run: Run, approvals: Approvals, outputs: Iterable[ToolResult | ToolError]) -> _Next:
    chains = run.chains.appended(approval_messages(approvals, outputs))
    run = attrs.evolve(run, chains=chains, current=None)
    # pending.approved-call, loop.stops
    if left_after(run.steps, chains) or run.step_number >= run.settings.max_steps:
        return _finish(run)
    return _next_step(run)


def _next_step(run: Run) -> _Next:
    return _Next(run.chains, run.steps, need_prepare_step(run.settings, run.chains, run.steps))


# ---------------------------------------------------------------- the model's call


def _after_prepare_step(run: Run, edits: tuple[ProcessorEdit, ...]) -> _Next:
    settings = run.settings
    override = merged(edits)
    chains = prepare(run.chains, edits)
    active = _first(override.active_tools, settings.active_tools)
    request = NeedModel(
        model=settings.model if override.model is None else override.model,
        prompt=validated_prompt(run, chains, edits),
        tools=_offered(settings, active),
        tool_choice=_choice(settings, override),
        provider_options=merge_provider_options(settings.provider_options, override.provider_options),
        response_format=override.response_format,
        model_settings=override.model_settings,
    )
    draft = Draft(
        step_input=run.chains.step_input,
        override=override,
        edits=edits,
        request=request,
        active_tools=active,
        experimental_context=Frozen(_first(override.experimental_context, settings.experimental_context)),
    )
    event = _step_start(run, chains, draft)
    return _Next(chains, run.steps, NeedStepStart(event), draft)


def _first(override: _T, default: _T) -> _T:
    return default if override is None else override  # override.absent


def _offered(settings: Settings, active: tuple[str, ...] | None) -> Vector[ToolSpec] | None:
    if not settings.tools:
        return None
    if active is None:
        return settings.tools
    names = frozenset(active)
    return vector(tool for tool in settings.tools if tool.name in names)  # override.active-tools


def _choice(settings: Settings, override: StepOverride) -> JsonObject | None:
    if not settings.tools:
        return None
    return _first(_first(override.tool_choice, settings.tool_choice), _AUTO)


def _step_start(run: Run, chains: Chains, draft: Draft) -> StepStartEvent:
    return StepStartEvent(
        step_number=run.step_number,
        model=draft.request.model,
        system=_first(draft.override.system, run.settings.system),
        messages=chains.step_input if chains.override is None else chains.override,
        tools=run.settings.tools,
        tool_choice=draft.request.tool_choice,
        active_tools=draft.active_tools,
        steps=run.steps,
        provider_options=draft.request.provider_options,
        experimental_context=Frozen(draft.experimental_context),
    )


# ---------------------------------------------------------------- the model's answer


def _after_model(run: Run, draft: Draft, answer: ModelAnswer) -> _Next:
    active = None if draft.active_tools is None else frozenset(draft.active_tools)
    calls = tuple(
        checked(part, run.settings, active, draft.request.tool_choice)
        for part in answer.content
        if isinstance(part, ToolCall)
    )
    check_choice(draft.request.tool_choice, calls)
    reason = answer.finish_reason or ("tool-calls" if calls else "stop")
    draft = Draft(
        step_input=draft.step_input,
        override=draft.override,
        edits=draft.edits,
        request=draft.request,
        active_tools=draft.active_tools,
        experimental_context=Frozen(draft.experimental_context),
        answer=answer,
        content=with_calls(answer.content, calls),
        finish_reason=reason,
        calls=calls,
    )
    doubtful = [call for call in calls if approval_need(call, run.settings) == "ask"]
    if not doubtful:
        return _after_approval_question(run, draft, frozenset())
    question = NeedApprovals(
        calls=vector(doubtful),
        messages=run.chains.step_input,
        experimental_context=Frozen(draft.experimental_context),
    )
    return _at(run, question, draft)


def _with_state(run: Run, answer: ModelAnswer, after: _Next) -> _Next:
    if answer.model_state is None:
        return after  # model.state-from-the-answer
    model = answer.requested_model or _draft(run).request.model
    return after._replace(model_states=run.model_states | {model: answer.model_state})


# ---------------------------------------------------------------- the tools


def _after_approval_question(run: Run, draft: Draft, needed: frozenset[str]) -> _Next:
    requests = tuple(
        approval_request(call)
        for call in draft.calls
        if (answer := approval_need(call, run.settings)) is True or (answer and call.tool_call_id in needed)
    )
    if requests:
        kept = Frozen(draft.experimental_context)
        draft = attrs.evolve(draft, requests=requests, experimental_context=kept)
    runnable = runnable_calls(draft.calls, requests, run.settings)
    if runnable:
        return _need_tools(run, draft, runnable, draft.experimental_context)
    return _after_step(run, draft, ())


def _after_outcomes(run: Run, wanted: NeedTools, given: ToolOutcomes) -> _Next:
    still = left(wanted.calls, given)
    finished = (*wanted.finished, *given.outcomes)  # interrupt.finished-kept
    if not still:
        return _after_tools(run, finished)
    kept = Frozen(wanted.experimental_context)
    return _at(run, attrs.evolve(wanted, calls=vector(still), finished=finished, experimental_context=kept))


# ---------------------------------------------------------------- the end of a step


def _after_tools(run: Run, outcomes: tuple[ToolSucceeded | ToolFailed, ...]) -> _Next:
    if isinstance(run.current, Approvals):
        calls = approved_calls(run.current, run.settings)
        return _after_approvals(run, run.current, in_call_order(calls, outcomes, run.settings))
    draft = _draft(run)
    calls = runnable_calls(draft.calls, draft.requests, run.settings)
    return _after_step(run, draft, in_call_order(calls, outcomes, run.settings))


def _after_step(run: Run, draft: Draft, outputs: Iterable[ToolResult | ToolError]) -> _Next:
    content = vector((*draft.content, *answers(draft.calls, outputs), *draft.requests))
    chains = finish(run.chains, content)
    record = _record(run, draft, content, chains)
    return _Next(chains, grown(run.steps, (record,)), NeedStepFinish(record), reply=run.reply)


def _record(run: Run, draft: Draft, content: Vector[ContentPart], chains: Chains) -> StepRecord:
    answer = draft.answer
    return StepRecord(
        step_number=run.step_number,
        model=answer.requested_model or draft.request.model,
        prompt=draft.request.prompt,
        content=content,
        messages=chains.response,
        finish_reason=draft.finish_reason,
        override=draft.override,
        edits=draft.edits,
        experimental_context=Frozen(draft.experimental_context),
        usage=answer.usage,
        response_model=answer.model_id,
        response_id=answer.response_id,
        provider_metadata=answer.provider_metadata,
        warnings=answer.warnings,
        initial_messages=chains.initial,
        step_input=draft.step_input,
        response_start=len(run.chains.response),
        replies_start=len(run.steps[-1].messages) if run.steps else len(run.chains.response),
    )


def _after_step_finish(run: Run, record: StepRecord) -> _Next:
    if goes_on(record):
        return _at(run, NeedStop(run.steps))
    return _finish(run) if run.reply is None else _replied(run, run.reply)


def _after_stop(run: Run, *, stop: bool) -> _Next:
    if stop or run.step_number >= run.settings.max_steps:  # loop.stops
        return _finish(run)
    return _next_step(run)


def _finish(run: Run, tripwire: Tripwire | None = None) -> _Next:
    result = RunResult(steps=run.steps, messages=run.chains.response, tripwire=tripwire)
    return _at(run, NeedFinish(result))
