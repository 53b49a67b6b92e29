"""Processors as the run machine has them: what they leave, what is kept of it, how they end a run."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import (
    InvalidOverrideError,
    InvalidPromptError,
    InvalidToolApprovalError,
    UnexpectedOutcomeError,
    UnknownStepError,
)
from agentcore.machine.effects import (
    Cancelled,
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedProcessInput,
    NeedStepStart,
    NeedTools,
    Processed,
    Settings,
    ToolSpec,
    Tripped,
)
from agentcore.machine.hooks import ProcessorEdit, StepOverride
from agentcore.machine.processors import Tripwire
from agentcore.machine.run import give, start
from agentcore.machine.state import Failed, Run
from agentcore.messages.content import ContentPart, GeneratedText
from agentcore.messages.messages import SystemMessage, ToolApprovalResponsePart, ToolMessage, UserMessage
from agentcore.messages.values import vector
from agentcore.records.history import after, before, fork, replay
from agentcore.records.provenance import Injected, account
from agentcore.records.saved import from_json, to_json
from agentcore.requirements.rules import Rule
from plays import HISTORIES, REMINDER, SUMMARY, Play, differences, on, played, plays, processed
from processing import through
from rulebook import states
from scripted import TOOL, USER, call, drive, failed, of, returns

SETTINGS = Settings(model="m", tools=[TOOL], system="s", process_input=True)
WIRE = Tripwire(processor_id="guard", step_number=1, reason="no")
SCRIPT: list[list[ContentPart]] = [[call("a")], [call("b")], [GeneratedText("end")]]


def processing(*turns: Any) -> Any:
    """Answers a need by these processors."""

    def answer(wanted: Any) -> Processed:
        so_far = wanted.call if isinstance(wanted, NeedProcessInput) else wanted.step
        return Processed(through(so_far, *turns).edits)

    return answer


# ---------------------------------------------------------------- a run's input


@states(Rule.PROCESSOR_INPUT_ONCE)
def test_the_input_is_processed_once_and_is_what_the_run_begins_with() -> None:
    hooks: Any = {NeedProcessInput: processing(lambda _: [SUMMARY, USER, SystemMessage("t")])}
    run, needs = drive(SCRIPT, hooks, SETTINGS)
    assert len(of(NeedProcessInput, needs)) == 1
    assert type(needs[0]) is NeedProcessInput
    assert list(run.chains.initial) == [SUMMARY, USER]
    assert list(run.chains.ids)[:3] == ["p0-input-0", "initial-0", "response-0"]
    shown = [wanted.step for wanted in of(NeedPrepareStep, needs)]
    assert [list(one.arguments("x").system_messages) for one in shown] == [
        [SystemMessage("s"), SystemMessage("t")]
    ] * 3
    assert [list(wanted.prompt)[:3] for wanted in of(NeedModel, needs)] == [
        [SystemMessage("s"), SystemMessage("t"), SUMMARY]
    ] * 3
    assert run.settings.system == vector([SystemMessage("s"), SystemMessage("t")])
    assert (run.started_with, list(run.given)) == (SETTINGS, [USER])


def test_input_that_no_processor_changed_begins_as_it_was_given() -> None:
    run, _ = drive(SCRIPT, {}, SETTINGS)
    assert run.chains.initial is run.given
    assert run.settings is SETTINGS


def test_a_result_may_be_given_without_a_fold() -> None:
    run = give(start(SETTINGS, [USER]), HookResult({"system_messages": ["t"], "messages": [SUMMARY]}))
    override = StepOverride(system=["t"], messages=[SUMMARY])
    assert list(run.outcomes) == [Processed([ProcessorEdit(processor_id="process_input", override=override)])]
    assert list(run.chains.initial) == [SUMMARY]
    assert isinstance(run.pending, NeedPrepareStep)
    wrong = failed(give(start(SETTINGS, [USER]), HookResult({"model": "n"})))
    assert isinstance(wrong.error, InvalidOverrideError)


@states(Rule.PROCESSOR_INPUT_ONCE)
def test_the_input_is_processed_before_approved_calls_run() -> None:
    settings = attrs.evolve(SETTINGS, tools=[ToolSpec("t")])
    run = start(settings, HISTORIES["approved"])
    assert isinstance(run.pending, NeedProcessInput)
    assert isinstance(give(run, HookResult()).pending, NeedTools)
    without = give(run, HookResult([USER]))
    assert isinstance(without.pending, NeedPrepareStep)
    answer = ToolMessage([ToolApprovalResponsePart("lost", approved=True)])
    unknown = failed(give(run, HookResult([USER, answer])))
    assert isinstance(unknown.error, InvalidToolApprovalError)


def test_a_run_whose_input_has_no_message_left_fails() -> None:
    run = give(start(SETTINGS, [USER]), HookResult([]))
    assert isinstance(failed(run).error, InvalidPromptError)
    assert isinstance(failed(run).run.pending, NeedProcessInput)


@pytest.mark.parametrize("outcome", [HookFailed(ValueError("no")), Cancelled()])
def test_processing_the_input_may_fail_and_be_done_again(outcome: Any) -> None:
    run = start(SETTINGS, [USER])
    assert failed(give(run, outcome)).run == run
    with pytest.raises(UnexpectedOutcomeError, match="NeedProcessInput; ModelAnswer does not answer"):
        give(run, ModelAnswer([]))


def test_a_run_that_has_yet_to_process_its_input_has_come_to_no_step() -> None:
    run = start(SETTINGS, [USER])
    for moment in (before, after, fork):
        with pytest.raises(UnknownStepError):
            moment(run, 0)


# ---------------------------------------------------------------- a step


def test_a_record_has_what_each_processor_did_and_all_of_it_together() -> None:
    turns = (lambda _: {"model": "n"}, lambda _: None, lambda step: [*step.messages, REMINDER])
    run, needs = drive(SCRIPT, {NeedPrepareStep: processing(*turns)})
    record = run.steps[1]
    assert [edit.processor_id for edit in record.edits] == ["p0", "p2"]
    assert record.override == StepOverride(model="n", messages=[*record.step_input, REMINDER])
    assert of(NeedModel, needs)[1].prompt == record.prompt
    assert record.prompt[-1] is REMINDER
    assert REMINDER not in of(NeedPrepareStep, needs)[2].step.messages


def test_settings_of_a_step_are_asked_of_its_model_only() -> None:
    hooks: Any = {NeedPrepareStep: returns({"model_settings": {"top_p": 1}})}
    _, needs = drive(SCRIPT, hooks)
    assert [wanted.model_settings for wanted in of(NeedModel, needs)] == [{"top_p": 1}, None, None]


@states(Rule.PROCESSOR_SYSTEM_RESET)
def test_system_messages_are_the_runs_own_again_at_each_step() -> None:
    def turn(step: Any) -> Any:
        shown.append([message.content for message in step.system_messages])
        step.message_list.add_system("added")

    shown: list[list[Any]] = []
    settings = attrs.evolve(SETTINGS, process_input=False)
    run, _ = drive(SCRIPT, {NeedPrepareStep: processing(turn, turn)}, settings)
    assert shown == [["s"], ["s", "added"]] * 3
    for record in run.steps:
        assert [message.content for message in list(record.prompt)[:3]] == ["s", "added", "added"]
        assert not isinstance(record.prompt[3], SystemMessage)


@states(Rule.MESSAGE_IDS_KEPT)
def test_ids_are_the_same_at_every_step_also_after_lasting_edits() -> None:
    def compact(step: Any) -> Any:
        listed = step.message_list
        shown.append(list(listed.ids))
        if step.step_number != 1:
            return None
        listed.remove_by_ids(["response-0", "response-1"])
        listed.replace("initial-0", UserMessage("summary"))
        listed.add(REMINDER)
        return {"lasting_messages": listed}

    shown: list[list[str]] = []
    drive([*SCRIPT[:2], [call("c")], *SCRIPT[2:]], {NeedPrepareStep: processing(compact)})
    assert shown == [
        ["initial-0"],
        ["initial-0", "response-0", "response-1"],
        ["initial-0", "p0-1-0", "response-2", "response-3"],
        ["initial-0", "p0-1-0", "response-2", "response-3", "response-4", "response-5"],
    ]


def test_an_edit_with_other_ids_than_messages_is_the_drivers_fault() -> None:
    run = start(attrs.evolve(SETTINGS, process_input=False), [USER])
    edit = ProcessorEdit(processor_id="p", override=StepOverride(lasting_messages=[USER]))
    with pytest.raises(UnexpectedOutcomeError, match="an id for each of its messages"):
        give(run, Processed([edit]))


def test_an_account_names_the_processor_that_did_it() -> None:
    def remind(step: Any) -> Any:
        return [*step.messages, REMINDER]

    def first(step: Any) -> Any:
        return {"messages": [SUMMARY, *step.messages], "system": f"s{step.step_number}"}

    run, _ = drive(SCRIPT, {NeedPrepareStep: processing(remind, first)})
    accounts = [account(record, run.steps[:number]) for number, record in enumerate(run.steps)]
    assert [(edit.hook, edit.fields) for edit in accounts[0].hooks] == [
        ("p0", ("messages",)),
        ("p1", ("system", "messages")),
    ]
    injected = [
        origin for origins in accounts[1].origins for origin in origins if isinstance(origin, Injected)
    ]
    assert [(one.hook, one.step_number) for one in injected] == [("p1", 1), ("p0", 1)]
    broken = accounts[1].broken_by
    assert broken is not None
    assert (broken.position, broken.hook) == (0, "p1")


# ---------------------------------------------------------------- tripwires


def tripping(at: int) -> Any:
    """Trips at a step."""
    return lambda wanted: Tripped(WIRE) if wanted.step.step_number == at else HookResult()


@states(Rule.PROCESSOR_ABORT_ENDS)
def test_a_tripwire_ends_the_run_well_with_its_finished_steps() -> None:
    run, needs = drive(SCRIPT, {NeedPrepareStep: tripping(1)})
    assert isinstance(run.pending, Done)
    result = run.pending.result
    assert (result.tripwire, result.finish_reason, result.text) == (WIRE, "tripwire", "")
    assert (len(result.steps), result.messages) == (1, run.chains.response)
    assert len(of(NeedModel, needs)) == 1
    assert [type(wanted) for wanted in needs[-2:]] == [NeedPrepareStep, NeedFinish]
    assert needs[-1].result == result


@states(Rule.PROCESSOR_ABORT_ENDS)
def test_a_tripwire_of_input_ends_the_run_without_a_step() -> None:
    run, needs = drive(SCRIPT, {NeedProcessInput: lambda _: Tripped(WIRE)}, SETTINGS)
    assert isinstance(run.pending, Done)
    assert (run.pending.result.finish_reason, run.pending.result.text) == ("tripwire", "")
    assert (run.pending.result.usage.total_tokens, len(run.steps)) == (0, 0)
    assert [type(wanted) for wanted in needs] == [NeedProcessInput, NeedFinish]
    with pytest.raises(UnknownStepError):
        fork(run, 0)


def test_nothing_else_may_be_answered_by_a_tripwire() -> None:
    run = give(start(attrs.evolve(SETTINGS, process_input=False), [USER]), HookResult())
    assert isinstance(run.pending, NeedStepStart)
    with pytest.raises(UnexpectedOutcomeError, match="Tripped does not answer"):
        give(run, Tripped(WIRE))


def test_the_step_of_a_tripwire_can_be_done_again_in_a_fork() -> None:
    run, _ = drive(SCRIPT, {NeedPrepareStep: tripping(1)})
    again = fork(run, 1)
    assert not list(differences(again, before(run, 1)))
    *_, last = on(fork(run, 1, messages=[SUMMARY]), Play())
    assert (len(last.steps), list(last.steps[1].step_input)) == (2, [SUMMARY])
    assert last.chains.ids[0] == "fork-1-0"
    assert not list(differences(from_json(to_json(last)), last))
    with pytest.raises(UnknownStepError):
        fork(run, 2)


# ---------------------------------------------------------------- kept, saved and played again


@given(plays, st.integers(0, 4))
def test_runs_with_processors_are_played_again_as_they_were(play: Play, number: int) -> None:
    for run in played(play)[:: 1 + number]:
        again = replay(play.settings, play.messages, run.outcomes)
        assert again == run or isinstance(run.pending, Failed)
        assert not list(differences(again, run))


def test_a_loaded_run_goes_on_with_the_input_that_its_processors_left() -> None:
    runs = played(Play(settings=SETTINGS, input="stating listing", script=[[call()]], hooks=["keeping"] * 9))
    for count, run in enumerate(runs):
        loaded = from_json(to_json(run))
        assert not list(differences(loaded, run))
        assert list(loaded.chains.ids) == list(run.chains.ids)
        assert _end(loaded, count) == runs[-1]


def _end(run: Run, count: int) -> Run:
    play = Play(settings=SETTINGS, input="stating listing", script=[[call()]], hooks=["keeping"] * 9)
    *_, last = on(run, play, count)
    return last


def test_a_run_before_its_input_is_processed_can_be_saved() -> None:
    run = start(SETTINGS, [USER])
    loaded = from_json(to_json(run))
    assert loaded == run
    assert isinstance(loaded.pending, NeedProcessInput)
    wanted: Any = loaded.pending
    assert (
        list(give(loaded, processed(wanted.call, ["listing"])).chains.initial)
        == [
            REMINDER,
            UserMessage("noted"),
        ][:1]
    )
