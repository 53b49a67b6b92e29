"""Needs that nobody answers: a run that passes them over is the run that was given nothing for each."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import RefusedPromptError
from agentcore.machine.effects import (
    NO_RESULT,
    Done,
    HookResult,
    ModelAnswer,
    NeedModel,
    NeedPrepareStep,
    NeedStepFinish,
    NeedStepStart,
    NeedStop,
    NeedTools,
    Settings,
    ToolOutcomes,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.run import Failed, Run, give, start
from agentcore.messages.content import GeneratedText, ToolCall
from agentcore.messages.messages import UserMessage
from agentcore.records.saved import from_json, to_json
from plays import Play, differences, plays

UNHEARD: frozenset[Any] = frozenset({NeedPrepareStep, NeedStepStart, NeedStop})


@given(plays, st.frozensets(st.sampled_from(sorted(UNHEARD, key=str))))
def test_a_run_that_passes_needs_over_is_the_one_that_was_given_nothing_for_each(
    play: Play, unheard: frozenset[Any]
) -> None:
    quick = slow = start(play.settings, play.messages)
    for count in range(60):
        if isinstance(quick.pending, (Done, Failed)):
            break
        outcome = NO_RESULT if type(quick.pending) in unheard else play.outcome(quick, count)
        quick, slow = give(quick, outcome, unheard), give(slow, outcome)
        while len(slow.outcomes) < len(quick.outcomes):
            assert type(slow.pending) in unheard
            slow = give(slow, NO_RESULT)
        assert not [*differences(slow, quick)]
        # But for the first of all, which is kept, it stops at such a need only where the run fails there.
        if type(quick.pending) in unheard and quick.history:
            assert isinstance(give(quick, NO_RESULT).pending, Failed)


def answered(run: Run) -> Run:
    """The run with an answer to what it needs, where nobody hears of steps."""
    wanted = run.pending
    if isinstance(wanted, NeedModel):
        calls = [ToolCall(tool_call_id="c", tool_name="get", input={})] if run.step_number < 2 else []
        return give(run, ModelAnswer([*calls, GeneratedText("t")]), UNHEARD)
    if isinstance(wanted, NeedTools):
        return give(run, ToolOutcomes([ToolSucceeded("c", 1)]), UNHEARD)
    return give(run, HookResult(), UNHEARD)


def test_a_driver_is_asked_for_the_model_the_tools_and_the_end_of_a_step() -> None:
    run = start(Settings(model="m", tools=[ToolSpec("get")]), [UserMessage("go")])
    asked = []
    while not isinstance(run.pending, Done):
        asked.append(type(run.pending))
        run = answered(run)
    step = [NeedModel, NeedTools, NeedStepFinish]
    assert asked[:7] == [NeedPrepareStep, *step, *step]
    assert not [*differences(from_json(to_json(run)), run)]


def test_a_step_that_cannot_begin_fails_where_it_was_to_be_prepared() -> None:
    run = answered(start(Settings(model="m", tools=[ToolSpec("get")]), [UserMessage("go")]))
    # Two calls of one id, which no provider takes back.
    call = ToolCall(tool_call_id="c", tool_name="get", input={})
    run = give(run, ModelAnswer([call, call]), UNHEARD)
    run = give(run, ToolOutcomes([ToolSucceeded("c", 1), ToolSucceeded("c", 2)]), UNHEARD)
    run = give(run, NO_RESULT, UNHEARD)
    assert isinstance(run.pending, NeedPrepareStep)
    failed = give(run, NO_RESULT, UNHEARD).pending
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, RefusedPromptError)
    assert failed.run is run
