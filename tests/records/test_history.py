from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import UnexpectedOutcomeError, UnknownStepError
from agentcore.machine.effects import (
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    NeedModel,
    NeedPrepareStep,
    NeedStepFinish,
    NeedStepStart,
    NeedStop,
    NeedTools,
    Settings,
)
from agentcore.machine.run import give, start
from agentcore.machine.state import Failed, Interrupted, Run
from agentcore.messages.chains import Chains, PromptState, fold, to_prompt
from agentcore.messages.content import GeneratedText
from agentcore.messages.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    TextPart,
    UserMessage,
)
from agentcore.messages.values import vector
from agentcore.records.history import after, before, fork, replay
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from plays import HISTORIES, REMINDER, SUMMARY, Play, differences, on, played, plays
from rulebook import states
from scripted import SETTINGS, TOOL, USER, call, drive, failed, of, returns, run_tools

# ---------------------------------------------------------------- states that are kept


@states(Rule.RUN_KEPT)
@given(plays)
def test_the_run_before_and_after_each_step_is_there_and_the_very_one_after_it_is_kept(play: Play) -> None:
    runs = played(play)
    # Where somebody asked, the run that goes on after the answer is the one that counts.
    moves = zip(runs, [*runs[1:], None], strict=True)
    moments = [
        run
        for run, after_it in moves
        if isinstance(run.pending, (NeedPrepareStep, NeedStepFinish))
        if after_it is None or not isinstance(after_it.pending, Interrupted)
    ]
    last = runs[-1]
    kept = [run for run in moments if isinstance(run.pending, NeedStepFinish) or run is moments[0]]
    history = list(last.history)
    assert all(one is other for one, other in zip(history, kept, strict=False))
    assert len(kept) - len(history) == (last is kept[-1] if kept else 0)
    for run in moments:
        if isinstance(run.pending, NeedStepFinish):
            assert after(last, run.step_number - 1) is run
        else:
            found = before(last, run.step_number)
            assert not list(differences(found, run))
            assert all(one is other for one, other in zip(found.history, run.history, strict=True))
            # What was answered between two steps is made again, as all between two states that are kept.
            assert play.replies or found.chains.step_input is run.chains.step_input


def test_the_state_of_a_step_that_is_about_to_begin_is_there_as_well() -> None:
    run = start(SETTINGS, [USER])
    assert before(run, 0) is run
    broken = give(run, HookFailed(RuntimeError()))
    assert before(broken, 0) is run
    with pytest.raises(UnknownStepError, match="step 0 is not there; the run has no step of that kind"):
        after(run, 0)
    with pytest.raises(UnknownStepError, match="step 1 is not there; the run has steps 0 to 0"):
        before(run, 1)
    with pytest.raises(UnknownStepError):
        before(run, -1)


def test_a_step_that_has_just_finished_has_a_state_after_it() -> None:
    run = next(run for run in played(Play(script=[[call()]])) if isinstance(run.pending, NeedStepFinish))
    assert after(run, 0) is run
    with pytest.raises(UnknownStepError, match="0 to 0"):
        after(run, 1)


# ---------------------------------------------------------------- forks


def plain(run: Run) -> Run:
    """Goes on with one call in step 0 and a text in the others."""
    *_, last = on(run, Play(script=[[call()]]))
    return last


@states(Rule.RUN_FORKED)
def test_a_fork_goes_on_from_its_step_with_other_settings() -> None:
    run = plain(start(SETTINGS, [USER]))
    other = fork(run, 1, settings=Settings(model="n", system="s", tools=[TOOL]))
    assert isinstance(other.pending, NeedPrepareStep)
    assert other.steps == run.steps[:1]
    assert other.steps[0] is run.steps[0]
    assert other.chains.response == run.steps[0].messages
    ended = plain(other)
    assert [record.model for record in ended.steps] == ["m", "n"]
    assert ended.steps[1].prompt == to_prompt("s", other.chains.step_input)
    assert ended.steps[1].prompt[0] == SystemMessage("s")
    assert run == plain(start(SETTINGS, [USER]))


@pytest.mark.parametrize("system", [None, "one", [SystemMessage("a"), SystemMessage("b")]])
@pytest.mark.parametrize("before_it", [None, "none", [SystemMessage("x"), SystemMessage("y")]])
def test_a_fork_may_have_more_or_less_instructions(system: Any, before_it: Any) -> None:
    run = plain(start(Settings(model="m", tools=[TOOL], system=before_it), [USER]))
    other = plain(fork(run, 1, settings=Settings(model="m", tools=[TOOL], system=system)))
    assert list(other.steps[1].prompt) == list(to_prompt(other.settings.system, other.steps[1].step_input))


def test_a_fork_may_be_built_on_other_messages_and_its_chains_stay_complete() -> None:
    run = plain(start(SETTINGS, [USER]))
    other = fork(run, 1, messages=[SUMMARY])
    assert list(other.chains.step_input) == [SUMMARY]
    assert isinstance(other.pending, NeedPrepareStep)
    assert list(other.pending.step.messages) == [SUMMARY]
    assert list(other.pending.step.initial_messages) == [USER]
    assert other.pending.step.response_messages == run.steps[0].messages
    ended = plain(other)
    assert ended.chains.response == run.chains.response
    assert list(ended.steps[1].prompt) == [SUMMARY]


def test_a_fork_with_nothing_changed_is_the_state_itself() -> None:
    run = plain(start(SETTINGS, [USER]))
    assert not list(differences(fork(run, 1), before(run, 1)))
    assert fork(run, 0) is before(run, 0)
    assert plain(fork(run, 0)) == run


def test_a_run_that_has_ended_can_have_another_step() -> None:
    run = plain(start(SETTINGS, [USER]))
    more = fork(run, 2, messages=[*run.chains.step_input, REMINDER])
    assert more.step_number == 2
    ended = plain(more)
    assert isinstance(ended.pending, Done)
    assert len(ended.steps) == 3
    assert ended.steps[2].prompt[-1] is REMINDER
    assert not list(differences(replay(SETTINGS, [USER], ended.outcomes), ended))
    assert plain(fork(run, 2)).step_number == 3


def test_a_fork_of_a_failed_run_goes_on_from_its_finished_steps() -> None:
    run, _ = drive([[call()]], {NeedPrepareStep: returns(None, {"wrong": 1})})
    assert failed(run).run.step_number == 1
    again = plain(fork(run, 1))
    assert isinstance(again.pending, Done)
    assert len(again.steps) == 2


def test_a_step_that_is_not_there_cannot_be_forked() -> None:
    run = plain(start(SETTINGS, [USER]))
    for number in (-1, 3):
        with pytest.raises(UnknownStepError):
            fork(run, number)
    with pytest.raises(UnknownStepError):
        fork(start(SETTINGS, HISTORIES["unknown approval"]), 0)
    waiting = start(SETTINGS, HISTORIES["approved"])
    assert isinstance(waiting.pending, NeedTools)
    with pytest.raises(UnknownStepError):
        fork(waiting, 0)


def test_a_fork_costs_nothing_for_its_history() -> None:
    def made(length: int) -> int:
        run = plain(start(SETTINGS, [USER] * length))
        fork(run, 1, settings=Settings(model="n", system="s", tools=[TOOL]))
        profile: list[int] = []
        sys.setprofile(lambda *_: profile.append(1))
        try:
            fork(run, 1, settings=Settings(model="n", tools=[TOOL]))
        finally:
            sys.setprofile(None)
        return len(profile)

    assert made(1) == made(4000)


# ---------------------------------------------------------------- memory


def reached(roots: list[Any], known: set[int]) -> Iterator[Any]:
    """All objects that can be reached and are not known yet, but for classes, functions and modules."""
    pending = list(roots)
    while pending:
        one = pending.pop()
        if id(one) in known or isinstance(one, (type, FunctionType, ModuleType)):
            continue
        known.add(id(one))
        yield one
        pending += gc.get_referents(one)


def sizes(length: int, steps: int = 64) -> list[tuple[int, int]]:
    """Objects and bytes that each kept state adds to those before it."""
    messages: list[Message] = [*(UserMessage([TextPart(f"{number}")]) for number in range(length)), USER]
    play = Play(settings=Settings(model="m", tools=[TOOL], max_steps=steps), messages=messages)
    run = start(play.settings, play.messages)
    while len(run.history) <= steps:
        wanted = run.pending
        if isinstance(wanted, NeedModel):
            outcome: Any = ModelAnswer(
                [GeneratedText(f"text {run.step_number}"), call(f"c{run.step_number}")]
            )
        elif isinstance(wanted, NeedTools):
            outcome = run_tools(wanted)
        else:
            outcome = HookResult()
        run = give(run, outcome)
    known: set[int] = set()
    found = []
    for state in run.history:
        new = list(reached([state], known))
        found.append((len(new), sum(map(sys.getsizeof, new))))
    return found[2:]


def test_a_kept_state_costs_what_its_step_added_whatever_the_history() -> None:
    short, long = sizes(0), sizes(10_000)
    for small, large in zip(short, long, strict=True):
        assert large[0] <= small[0] + 80
        assert large[1] <= small[1] + 6_000
    total_small, total_large = (sum(count for _, count in found) for found in (short, long))
    assert total_large < 1.5 * total_small


def test_a_hook_that_appends_to_a_long_history_costs_one_message_a_step() -> None:
    messages = [UserMessage([TextPart(f"{number}")]) for number in range(5_000)]
    run = start(SETTINGS, messages)
    # Made here, because the first hook that asks for them has them made.
    assert len(run.chains.ids) == len(messages)
    play = Play(hooks=["remind", "stay", "remind"], script=[[call("a")], [call("b")]])
    runs = list(on(run, play))
    known: set[int] = set()
    list(reached([runs[0]], known))
    assert sum(map(sys.getsizeof, reached([runs[-1]], known))) < 60_000
    assert [record.prompt[-1] is REMINDER for record in runs[-1].steps] == [True, True, True]


# ---------------------------------------------------------------- lasting edits


@states(Difference.LASTING_MESSAGES, Rule.STEP_INPUT)
def test_lasting_messages_are_what_later_steps_are_built_on() -> None:
    script = [[call("a")], [call("b")], [call("c")], []]
    run, needs = drive(script, {NeedPrepareStep: returns(None, {"lasting_messages": [SUMMARY]})})
    responses = run.chains.response
    shown = [wanted.step for wanted in of(NeedPrepareStep, needs)]
    assert [list(one.messages) for one in shown] == [
        [USER],
        [USER, *responses[:2]],
        [SUMMARY, *responses[2:4]],
        [SUMMARY, *responses[2:6]],
    ]
    assert [list(wanted.prompt) for wanted in of(NeedModel, needs)][1:] == [
        [SUMMARY],
        [SUMMARY, *responses[2:4]],
        [SUMMARY, *responses[2:6]],
    ]
    assert [list(wanted.messages) for wanted in of(NeedTools, needs)][1] == [SUMMARY]
    assert list(of(NeedStepStart, needs)[1].event.messages) == [SUMMARY]
    assert all(list(one.initial_messages) == [USER] for one in shown)
    assert [len(one.response_messages) for one in shown] == [0, 2, 4, 6]
    assert run.chains.initial == vector([USER])
    assert isinstance(run.pending, Done)
    assert len(run.pending.result.messages) == 6


@states(Difference.LASTING_MESSAGES)
def test_messages_beside_lasting_ones_are_for_their_step_only() -> None:
    both = {"lasting_messages": [SUMMARY], "messages": [REMINDER]}
    run, needs = drive([[call()], []], {NeedPrepareStep: returns(both)})
    prompts = [list(wanted.prompt) for wanted in of(NeedModel, needs)]
    assert prompts == [[REMINDER], [SUMMARY, *run.chains.response[:2]]]
    assert list(run.steps[0].step_input) == [USER]


def test_instructions_of_the_run_go_before_lasting_messages() -> None:
    settings = Settings(model="m", tools=[TOOL], system="s")
    run, _ = drive([[call()], []], {NeedPrepareStep: returns({"lasting_messages": [SUMMARY]})}, settings)
    assert [list(record.prompt)[:2] for record in run.steps] == [[SystemMessage("s"), SUMMARY]] * 2


@given(plays)
def test_chains_stay_complete_and_their_prompt_state_is_that_of_the_step_input(play: Play) -> None:
    runs = played(play)
    begun = next((run.chains.initial for run in runs if run.outcomes), runs[0].chains.initial)
    for run in runs:
        chains = run.chains
        assert list(run.given) == play.messages
        assert chains.initial is (begun if run.outcomes else run.given)
        assert len(chains.ids) == len({*chains.ids}) == len(chains.step_input)
        base = chains.initial if chains.lasting is None else chains.lasting
        assert list(chains.step_input) == [*base, *list(chains.response)[chains.since :]]
        assert chains.folded == fold(PromptState.start(run.settings.system), chains.step_input)
        for record in run.steps:
            assert record.messages == chains.response[: len(record.messages)]
            assert record.new_messages == chains.response[record.response_start : len(record.messages)]
            assert record.initial_messages is begun


def test_lasting_messages_that_begin_with_the_step_input_share_its_structure() -> None:
    chains = Chains.start([USER] * 100)
    longer = chains.with_lasting([*chains.step_input, REMINDER])
    assert longer.step_input._root is chains.step_input._root  # type: ignore[attr-defined]
    assert longer.folded == fold(PromptState.start(), longer.step_input)
    assert chains.with_lasting([SUMMARY]).step_input == vector([SUMMARY])


# ---------------------------------------------------------------- played again


@states(Rule.RUN_REPLAYED)
@given(plays)
def test_outcomes_played_again_make_the_same_run(play: Play) -> None:
    for run in played(play):
        assert not list(differences(replay(play.settings, play.messages, run.outcomes), run))


@given(plays, st.integers(0, 4), st.sampled_from([None, [SUMMARY]]), st.booleans())
def test_a_fork_can_be_played_again_from_the_start(
    play: Play, number: int, messages: list[Message] | None, other: bool
) -> None:
    run = played(play)[-1]
    settings = Settings(model="other", system="o", tools=[TOOL]) if other else None
    try:
        branch = fork(run, number, settings=settings, messages=messages)
    except UnknownStepError:
        return
    for moment in list(on(branch, Play(script=[[call("x")]] * 9)))[::4]:
        assert not list(differences(replay(moment.started_with, play.messages, moment.outcomes), moment))


def test_what_hooks_returned_is_kept_as_far_as_the_run_takes_it() -> None:
    run, _ = drive([[call()], []], {NeedStop: returns([1]), NeedStepFinish: returns(object())})
    kept = [outcome.value for outcome in run.outcomes if isinstance(outcome, HookResult)]
    assert kept == [None, None, None, True, None]


def test_outcomes_that_make_no_run_are_refused() -> None:
    with pytest.raises(UnexpectedOutcomeError):
        replay(SETTINGS, [USER], [ModelAnswer([])])


def test_the_differences_of_runs_are_found_wherever_they_are() -> None:
    one, other = played(Play(script=[[call()]])), played(Play(script=[[call("d")]]))
    assert not list(differences(one[-1], played(Play(script=[[call()]]))[-1]))
    assert any("history" in path for path in differences(one[-1], other[-1]))
    assert list(differences(Failed(ValueError("a"), one[0]), Failed(ValueError("b"), one[0]))) == ["$.error"]
    assert list(differences(AssistantMessage("a"), UserMessage("a"))) == ["$"]
