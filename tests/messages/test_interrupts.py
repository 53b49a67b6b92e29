from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import AnswersError, InvalidJsonError, SavedRunError, UnexpectedOutcomeError
from agentcore.machine.effects import (
    Answered,
    Asked,
    Cancelled,
    Done,
    HookResult,
    ModelAnswer,
    ModelFailed,
    NeedModel,
    NeedPrepareStep,
    NeedStepFinish,
    NeedTools,
    Outcome,
    Settings,
    ToolFailed,
    ToolOutcomes,
    ToolsFailed,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.run import Failed, Interrupted, Run, give, need, start
from agentcore.messages.content import GeneratedText
from agentcore.messages.interrupts import Interrupt, InterruptSignal, Source, ask
from agentcore.messages.messages import ToolApprovalResponsePart, ToolMessage, ToolResultPart
from agentcore.messages.values import JsonObject, freeze, thaw, vector
from agentcore.records.history import before, fork, has_begun, one_step, replay
from agentcore.records.saved import outcome_from_json, outcome_to_json
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from machine.test_calls import asked
from plays import HISTORIES, Play, differences, on, question
from records.test_saved import again
from rulebook import states
from scripted import SETTINGS, TOOL, USER, call, drive

NOTHING: Final = JsonObject()


def given_all(run: Run, *outcomes: Outcome) -> Run:
    for outcome in outcomes:
        run = give(run, outcome)
    return run


def at_tools(*call_ids: str) -> Run:
    """A run that needs the tools of calls with these ids."""
    answer = ModelAnswer([call(call_id) for call_id in call_ids])
    return given_all(start(SETTINGS, [USER]), HookResult(), HookResult(), answer)


def done(call_id: str) -> ToolSucceeded:
    return ToolSucceeded(call_id, f"did {call_id}")


# ---------------------------------------------------------------- questions

places = st.builds(
    Interrupt,
    name=st.sampled_from(["a", "a/b", "b", "a~1b", "~", "0"]),
    source=st.sampled_from(["tool", "execute-tool"]),
    step_number=st.integers(0, 2),
    tool_call_id=st.sampled_from(["a", "a/b", "b", "0", "0/a"]),
)


@states(Rule.INTERRUPT_ONE_QUESTION)
@given(places, places)
def test_questions_have_one_id_if_they_have_one_place_and_name(one: Interrupt, other: Interrupt) -> None:
    assert (one.id == other.id) == (one == other)


@pytest.mark.parametrize(
    ("source", "step_number", "tool_call_id", "expected"),
    [
        ("tool", 2, "c/1", "tool/2/c~11/sure"),
        ("execute-tool", 0, "c", "execute-tool/0/c/sure"),
        ("invoke-model", 0, None, "invoke-model/0/sure"),
        ("agent-stream", None, None, "agent-stream/sure"),
    ],
)
def test_the_id_of_a_question_says_where_it_was_asked(
    source: Source, step_number: int | None, tool_call_id: str | None, expected: str
) -> None:
    asked = Interrupt(
        name="sure", source=source, step_number=step_number, tool_call_id=tool_call_id, reason=[1]
    )
    assert asked.id == expected


@states(Difference.QUESTIONS_PASS)
def test_who_asks_is_given_the_answer_or_stopped_by_what_is_no_exception() -> None:
    asked = question()
    for answer in (freeze({"a": [1]}), None, False):
        assert ask(asked, freeze({asked.id: answer})) == answer  # type: ignore[arg-type] # it is an object
    with pytest.raises(InterruptSignal) as raised:
        ask(asked, freeze({"other": 1}))  # type: ignore[arg-type] # as above
    assert raised.value.interrupt is asked
    assert not isinstance(raised.value, Exception)


def test_who_asks_has_a_question_and_asks_it_once() -> None:
    with pytest.raises(ValueError, match="one question or more"):
        Asked([])
    assert Asked([question("a"), question("b"), question("a")]).interrupts == (question("a"), question("b"))
    with pytest.raises(InvalidJsonError, match="an object of answers by id, not list"):
        Answered([])  # type: ignore[arg-type] # what it refuses


# ---------------------------------------------------------------- a run that waits

MOMENTS = {
    "prepare step": start(SETTINGS, [USER]),
    "model": given_all(start(SETTINGS, [USER]), HookResult(), HookResult()),
    "tools": at_tools("c", "d"),
    "step finish": give(at_tools("c"), ToolOutcomes([done("c")])),
    "approved": start(SETTINGS, HISTORIES["approved"]),
    "done": drive([[GeneratedText("a")]])[0],
}


@states(Rule.INTERRUPT_NEEDED_AGAIN)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_asks_waits_and_then_needs_the_same_again(moment: str) -> None:
    run = MOMENTS[moment]
    waiting = give(run, Asked([question("a"), question("b")]))
    assert need(waiting) == Interrupted((question("a"), question("b")), run)
    assert (waiting.chains, waiting.steps, waiting.answers) == (run.chains, run.steps, NOTHING)
    answered = give(waiting, Answered({question("a").id: {"x": [1]}, question("b").id: None}))
    assert answered.pending is run.pending
    assert answered.answers == {question("a").id: freeze({"x": [1]}), question("b").id: None}
    assert len(answered.history) == len(run.history)
    assert not list(differences(replay(run.settings, run.chains.initial, answered.outcomes), answered))
    assert not list(differences(again(waiting), waiting))
    assert not list(differences(again(answered), answered))


def test_answers_stay_for_whoever_asks_again_and_more_are_added() -> None:
    run = start(SETTINGS, [USER])
    for name in ("a", "b"):
        run = given_all(run, Asked([question(name)]), Answered({question(name).id: name}))
    assert dict(run.answers) == {question("a").id: "a", question("b").id: "b"}
    *_, ended = on(run, Play(script=[[call()]]))
    assert ended.answers == run.answers
    assert fork(ended, 1, settings=SETTINGS).answers == run.answers


def test_answers_that_nobody_asked_for_and_missing_ones_leave_the_run_as_it_was() -> None:
    waiting = give(MOMENTS["model"], Asked([question("a"), question("b")]))
    with pytest.raises(AnswersError) as raised:
        give(waiting, Answered({question("a").id: 1, "other": 2}))
    assert raised.value.args == (raised.value.unknown, raised.value.missing)
    assert (raised.value.unknown, raised.value.missing) == (("other",), ("invoke-model/b",))
    assert str(raised.value) == "there is no question other; give an answer to invoke-model/b"
    with pytest.raises(AnswersError, match=r"^there is no question other$"):
        give(MOMENTS["model"], Answered({"other": 2}))
    with pytest.raises(AnswersError, match=r"^the run asks nothing$"):
        give(MOMENTS["done"], Answered({}))


def test_more_may_be_asked_before_there_are_answers() -> None:
    run = MOMENTS["tools"]
    waiting = given_all(run, Asked([question("a")]), Asked([question("b"), question("a")]))
    assert need(waiting) == Interrupted((question("a"), question("b")), run)


def test_a_run_that_waits_takes_nothing_else_but_may_be_cancelled() -> None:
    waiting = give(MOMENTS["tools"], Asked([question()]))
    for outcome in (HookResult(), ToolOutcomes([done("c")]), ModelFailed(ValueError())):
        with pytest.raises(UnexpectedOutcomeError, match="answer to Interrupted"):
            give(waiting, outcome)
    cancelled = give(waiting, Cancelled())
    assert isinstance(cancelled.pending, Failed)
    assert cancelled.pending.run is waiting


def test_a_run_that_failed_asks_nothing() -> None:
    failed = give(MOMENTS["model"], ModelFailed(ValueError()))
    with pytest.raises(UnexpectedOutcomeError, match="ended"):
        give(failed, Asked([question()]))


def test_the_history_of_a_run_that_waits_is_that_of_the_run_before() -> None:
    run = MOMENTS["step finish"]
    waiting = give(run, Asked([question()]))
    assert before(waiting, 0) is before(run, 0)
    assert fork(waiting, 0) is before(run, 0)
    cancelled = give(waiting, Cancelled())
    assert before(cancelled, 0) is before(run, 0)
    first = give(MOMENTS["prepare step"], Asked([question()]))
    assert before(first, 0) is MOMENTS["prepare step"]


# ---------------------------------------------------------------- tools that finish one by one


@states(Rule.INTERRUPT_FINISHED_KEPT)
def test_calls_that_have_finished_are_not_needed_again() -> None:
    run = at_tools("c", "d", "e")
    some = given_all(run, ToolOutcomes([done("d")]), Asked([question()]), Answered({question().id: 1}))
    assert isinstance(some.pending, NeedTools)
    assert [one.tool_call_id for one in some.pending.calls] == ["c", "e"]
    assert some.pending.finished == (done("d"),)
    ended = given_all(some, ToolOutcomes([ToolFailed("e", "no")]), ToolOutcomes([done("c")]))
    at_once = give(run, ToolOutcomes([done("c"), done("d"), ToolFailed("e", "no")]))
    assert isinstance(ended.pending, NeedStepFinish)
    assert ended.chains == at_once.chains
    assert ended.steps == at_once.steps
    assert not list(differences(again(some), some))


def test_calls_that_had_finished_stay_when_the_others_fail_or_are_cancelled() -> None:
    some = give(at_tools("c", "d"), ToolOutcomes([done("c")]))
    for outcome in (ToolsFailed(ValueError()), Cancelled()):
        failed = give(some, outcome)
        assert isinstance(failed.pending, Failed)
        assert failed.pending.run is some


def test_approved_calls_finish_one_by_one_and_their_results_stand_in_their_order() -> None:
    approvals = [ToolApprovalResponsePart(f"a-{call_id}", approved=True) for call_id in "cd"]
    settings = Settings(model="m", tools=[TOOL], experimental_context={"k": 1})
    run = start(settings, [USER, asked("c"), asked("d"), ToolMessage(approvals)])
    some = give(run, ToolOutcomes([done("d")]))
    assert isinstance(some.pending, NeedTools)
    assert some.pending.experimental_context == freeze({"k": 1})
    ended = give(some, ToolOutcomes([done("c")]))
    assert isinstance(ended.pending, NeedPrepareStep)
    (message,) = ended.chains.response
    assert isinstance(message, ToolMessage)
    assert [part.tool_call_id for part in message.content if isinstance(part, ToolResultPart)] == ["c", "d"]


def test_of_calls_with_one_id_the_first_ones_have_finished() -> None:
    run = at_tools("c", "c", "d")
    some = give(run, ToolOutcomes([done("c"), done("d")]))
    assert isinstance(some.pending, NeedTools)
    assert list(some.pending.calls) == [call("c")]
    ended = give(some, ToolOutcomes([ToolFailed("c", "second")]))
    kinds = [part.type for part in ended.steps[0].content]
    assert kinds == ["tool-call"] * 3 + ["tool-result", "tool-error", "tool-result"]


# ---------------------------------------------------------------- models' state


def answer(text: str = "a", **fields: object) -> ModelAnswer:
    return ModelAnswer([GeneratedText(text)], **fields)  # type: ignore[arg-type] # its own fields


@states(Rule.MODEL_STATE_FROM_THE_ANSWER)
def test_the_state_of_an_answer_is_kept_for_its_model_until_another_answer_has_one() -> None:
    run = MOMENTS["model"]
    one = give(run, answer(model_state={"seen": 1}))
    assert dict(one.model_states) == {"m": freeze({"seen": 1})}
    assert run.model_states == NOTHING
    second = given_all(fork(given_all(one, HookResult(), HookResult()), 1), HookResult(), HookResult())
    assert isinstance(second.pending, NeedModel)
    assert give(second, answer()).model_states == one.model_states
    assert give(second, ModelFailed(ValueError())).model_states == one.model_states
    assert dict(give(second, answer(model_state={})).model_states) == {"m": NOTHING}
    other = give(second, answer(model_state={"b": 1}, requested_model="n"))
    assert dict(other.model_states) == {"m": freeze({"seen": 1}), "n": freeze({"b": 1})}
    assert [record.model for record in other.steps] == ["m", "n"]
    assert not list(differences(again(other), other))


def test_an_answer_that_fails_the_run_leaves_the_state_as_it_was() -> None:
    settings = Settings(model="m", tools=[TOOL], tool_choice="required")
    run = given_all(start(settings, [USER]), HookResult(), HookResult())
    failed = give(run, answer(model_state={"seen": 1}))
    assert isinstance(failed.pending, Failed)
    assert failed.model_states == NOTHING


# ---------------------------------------------------------------- runs without a model


def test_a_run_of_one_step_is_one_as_any_other() -> None:
    run = one_step(SETTINGS, [USER], [GeneratedText("a")])
    assert isinstance(run.pending, Done)
    assert [record.text for record in run.steps] == ["a"]
    assert not list(differences(replay(SETTINGS, [USER], run.outcomes), run))
    with pytest.raises(UnexpectedOutcomeError):
        one_step(SETTINGS, [USER], [call()])
    with pytest.raises(UnexpectedOutcomeError):
        one_step(SETTINGS, HISTORIES["approved"], [GeneratedText("a")])
    assert isinstance(one_step(SETTINGS, HISTORIES["unknown approval"], []).pending, Failed)
    ours = Settings(model="m", tools=[ToolSpec("t", has_execute=False)])
    assert isinstance(one_step(ours, [USER], vector([call()])).pending, Done)


def test_a_run_has_begun_when_more_was_done_than_asking() -> None:
    run = start(SETTINGS, [USER])
    asked_only = given_all(run, Asked([question()]), Answered({question().id: 1}))
    begun = [has_begun(one) for one in (run, asked_only, give(run, HookResult()))]
    assert begun == [False, False, True]


def test_a_saved_question_of_nobody_is_refused_with_its_place() -> None:
    asked = thaw(outcome_to_json(Asked([Interrupt(name="sure?")])))
    asked["interrupts"][0]["source"] = "moon"
    with pytest.raises(SavedRunError, match=r"\$\.interrupts\[0\]\.source: expected one of tool"):
        outcome_from_json(asked)
