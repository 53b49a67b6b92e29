"""What providers refuse: each rule by several members, and what is not refused."""

from __future__ import annotations

from unittest.mock import patch

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from agentcore.errors import MissingToolResultsError, RefusedPromptError, text_at_step
from agentcore.messages import chains
from agentcore.messages.chains import PromptState, fold
from agentcore.messages.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from agentcore.messages.prompt import Fault, RoundsFold
from agentcore.requirements.rules import Rule
from refusals import REFUSED, TAKEN, USER, answers, asks, calls, results
from rulebook import states

RULES = [*dict.fromkeys(each.rule for each in REFUSED.values())]


def fault(messages: list[Message], *, holds_history: bool = False) -> Fault | None:
    return fold(PromptState.start(), messages).fault(holds_history=holds_history)


@states(*RULES)
@pytest.mark.parametrize("name", REFUSED)
def test_the_first_fault_of_messages_has_its_rule_its_place_and_its_call(name: str) -> None:
    messages, rule, path, call_id = REFUSED[name]
    found = fault(messages)
    assert found is not None
    assert (found.rule, found.path()) == (rule, path)
    error = found.error("$.messages")
    assert error.path == path
    if isinstance(error, MissingToolResultsError):
        assert error.tool_call_ids == (call_id,)
    else:
        assert (error.rule, error.tool_call_id) == (rule.value, call_id)
        assert str(error).startswith(f"{path}: ")


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_shown_by_at_least_three_members(rule: Rule) -> None:
    assert sum(each.rule is rule for each in REFUSED.values()) >= 3


@pytest.mark.parametrize("name", TAKEN)
def test_what_providers_take_has_no_fault(name: str) -> None:
    assert fault(TAKEN[name]) is None


@pytest.mark.parametrize("name", REFUSED)
def test_a_fault_keeps_its_place_when_more_follows_and_moves_when_more_comes_before(name: str) -> None:
    messages, rule, path, _ = REFUSED[name]
    if rule in (Rule.PROMPT_NOT_EMPTY, Rule.PROMPT_MISSING_RESULTS):
        return
    found = fault([*messages, USER])
    assert found is not None
    assert found.place[0] <= (fault(messages) or found).place[0]
    later = fault([USER, AssistantMessage("a"), *messages])
    assert later is not None
    index = int(path.partition("[")[2].partition("]")[0])
    assert later.path() == path.replace(f"[{index}]", f"[{index + 2}]", 1)


def test_of_several_faults_the_first_one_is_reported_whichever_its_rule_is() -> None:
    late = fault([USER, results("x"), calls("c"), USER])
    assert late is not None
    assert (late.rule, late.path()) == (Rule.PROMPT_RESULT_HAS_CALL, "$.messages[1].content[0]")
    early = fault([USER, calls("c"), USER, results("x")])
    assert early is not None
    assert (early.rule, early.calls) == (Rule.PROMPT_MISSING_RESULTS, ("c",))


def test_calls_that_are_missing_together_are_named_together() -> None:
    assert fault([USER, calls("c", "d"), USER]) == Fault(
        rule=Rule.PROMPT_MISSING_RESULTS, message=1, part=0, calls=("c", "d")
    )


@pytest.mark.parametrize("approved", [True, False])
def test_whatever_the_answer_was_a_call_that_waited_has_its_result_when_the_answer_has_come(
    *, approved: bool
) -> None:
    said: list[Message] = [USER, asks("c"), AssistantMessage("a"), USER]
    assert fault([*said, answers(approved=approved), results("c")]) is None
    unanswered = fault([*said, results("c")])
    assert unanswered is not None
    assert unanswered.rule is Rule.PROMPT_MISSING_RESULTS


# ---------------------------------------------------------------- models that hold the history


@states(Rule.PROMPT_HISTORY_ELSEWHERE)
@pytest.mark.parametrize("name", REFUSED)
def test_for_a_model_that_holds_the_history_only_what_is_in_the_prompt_is_judged(name: str) -> None:
    messages, rule, path, _ = REFUSED[name]
    found = fault(messages, holds_history=True)
    if rule in (Rule.PROMPT_RESULT_HAS_CALL, Rule.PROMPT_NOT_EMPTY):
        assert found is None
    else:
        assert found is not None
        assert (found.rule, found.path()) == (rule, path)


def test_two_results_of_a_call_that_is_held_elsewhere_are_still_two() -> None:
    found = fault([results("c"), results("c")], holds_history=True)
    assert found == Fault(rule=Rule.PROMPT_ONE_RESULT, message=1, part=0, calls=("c",))


# ---------------------------------------------------------------- errors


def test_an_error_has_the_path_of_the_list_that_it_is_about() -> None:
    found = Fault(rule=Rule.PROMPT_RESULT_HAS_CALL, message=3, part=0, calls=("c",))
    error = found.error("$.lasting_messages")
    assert isinstance(error, RefusedPromptError)
    assert error.path == "$.lasting_messages[3].content[0]"
    named = error.by("prepare_step", 2)
    assert (named.path, named.rule, named.tool_call_id) == (error.path, error.rule, "c")
    assert (named.returned_by, named.step_number, error.returned_by) == ("prepare_step", 2, None)
    assert str(named) == f"{error} (returned by prepare_step at step 2)"
    assert str(error.by("p", None)) == f"{error} (returned by p before the steps)"
    here = error.by("p", 2, is_of_the_step=True)
    assert str(here) == f"{error} (returned by p at step 2)"
    assert text_at_step(here) == f"RefusedPromptError: {error} (returned by p)"
    assert text_at_step(named) == f"RefusedPromptError: {named}"


# ---------------------------------------------------------------- cost


@given(st.lists(strategies.messages, max_size=6), st.data())
def test_faults_found_in_two_goes_are_those_found_in_one(history: list[Message], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(history)))
    once = fold(PromptState.start(), history)
    twice = fold(fold(PromptState.start(), history[:cut]), history[cut:])
    assert twice == once
    assert twice.fault() == once.fault()


def test_a_history_full_of_open_calls_and_faults_is_read_in_the_time_of_its_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = 0

    def counting(*args: object, **fields: object) -> object:
        nonlocal made
        made += 1
        return evolve(*args, **fields)

    evolve = attrs.evolve
    monkeypatch.setattr("agentcore.messages.prompt.attrs.evolve", counting)
    length = 500
    broken: list[Message] = []
    for number in range(length):
        broken += [calls(f"c{number}"), results(f"x{number}"), AssistantMessage(""), SystemMessage("s")]
    state = fold(PromptState.start(), broken)
    assert made == 2 * length  # each call is cut once and left once
    assert len(state.rounds.left_open) == length
    assert [each.rule for each in state.rounds.faults] == [
        Rule.PROMPT_RESULT_HAS_CALL,
        Rule.PROMPT_CONTENT_NOT_EMPTY,
    ]
    again = fold(state, [UserMessage("u"), ToolMessage([])])
    assert again.rounds.left_open is state.rounds.left_open


def test_a_fold_that_read_no_call_keeps_what_was_known() -> None:
    known = fold(PromptState.start(), [USER, calls("c"), results("c")]).rounds
    after = RoundsFold(known, results("c"))
    after.other()
    assert after.rounds() is known


_READ = st.sampled_from(
    [
        *(calls("c"), calls("c", "d"), calls("c", "c"), results("c"), results("c", "d"), results("d", "c")),
        *(results("c", "c"), AssistantMessage("a"), AssistantMessage([]), SystemMessage("s"), USER),
        *(asks("c"), answers("c")),
    ]
)


@given(st.lists(st.lists(_READ, max_size=3), max_size=6))
def test_messages_that_are_taken_for_a_whole_round_leave_what_reading_each_would(
    given_together: list[list[Message]],
) -> None:
    quick = slow = PromptState.start()
    for messages in given_together:
        quick = fold(quick, messages)
        with patch.object(chains, "_is_whole", return_value=False):
            slow = fold(slow, messages)
        assert quick == slow


def test_most_rounds_are_whole() -> None:
    state = fold(PromptState.start(), [USER])
    with patch.object(chains, "RoundsFold", side_effect=AssertionError):
        step = fold(state, [calls("c", "d"), results("c", "d")])
        assert fold(step, [AssistantMessage("a")]).rounds is state.rounds
