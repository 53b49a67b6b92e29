"""Histories from elsewhere, mended: what is done to each kind of fault, and that it is enough."""

from __future__ import annotations

import re
import time
from typing import Any, Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from agentcore import repair
from agentcore.errors import AgentCoreError, InvalidPromptError
from agentcore.machine.effects import (
    HookResult,
    NeedModel,
    NeedTools,
    Settings,
    ToolOutcomes,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.run import Failed, give, need, start
from agentcore.messages.chains import PromptState, fold
from agentcore.messages.message_repair import NO_RESULT, RepairChange
from agentcore.messages.messages import (
    AssistantMessage,
    ErrorTextOutput,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
    UserPart,
)
from agentcore.messages.values import vector
from agentcore.messages.wire import message_to_wire
from agentcore.requirements.rules import Rule
from conversation_strategies import conversations
from refusals import (
    ANSWER,
    REFUSED,
    SYSTEM,
    TAKEN,
    USER,
    answers,
    asks,
    call,
    calls,
    result,
    results,
)

NEXT: Final = UserMessage("next")


def lost(call_id: str = "c") -> ToolMessage:
    """The error that a call is given in the place of a result."""
    return ToolMessage([ToolResultPart(call_id, "t", output=ErrorTextOutput(NO_RESULT))])


def mended(messages: list[Message]) -> list[Message]:
    return [*repair(messages).messages]


# ---------------------------------------------------------------- each kind of fault


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([USER, results("c")], [USER]),
        ([results("c"), USER], [USER]),
        ([USER, calls("d"), results("d", "c"), ANSWER], [USER, calls("d"), results("d"), ANSWER]),
        ([USER, calls("c"), results("c"), USER, results("c")], [USER, calls("c"), results("c"), USER]),
    ],
)
def test_a_result_without_a_call_is_dropped(messages: list[Message], left: list[Message]) -> None:
    assert mended(messages) == left


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([USER, calls("c"), ANSWER, results("c")], [USER, calls("c"), results("c"), ANSWER]),
        ([USER, calls("c"), USER, results("c"), USER], [USER, calls("c"), results("c"), USER, USER]),
        ([results("c"), USER, calls("c")], [USER, calls("c"), results("c")]),
        (
            [USER, calls("c"), calls("d"), results("d", "c")],
            [USER, calls("c"), results("c"), calls("d"), results("d")],
        ),
        (
            [USER, calls("c", "d"), results("d"), ANSWER, results("c")],
            [USER, calls("c", "d"), results("d", "c"), ANSWER],
        ),
    ],
)
def test_a_result_at_the_wrong_place_comes_right_after_its_call(
    messages: list[Message], left: list[Message]
) -> None:
    assert [attrs.evolve(one) for one in mended(messages)] == left


def test_a_call_that_takes_the_id_of_an_unanswered_one_gets_the_next_result() -> None:
    first, second = calls("c"), AssistantMessage([call("c", 7)])
    messages: list[Message] = [USER, first, USER, second, results("c")]
    assert mended(messages) == [USER, first, lost(), USER, second, results("c")]


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([USER, calls("c")], [USER, calls("c"), lost()]),
        ([USER, calls("c"), USER], [USER, calls("c"), lost(), USER]),
        (
            [USER, calls("c", "d"), results("d"), USER],
            [USER, calls("c", "d"), ToolMessage([result("d"), *lost("c").content]), USER],
        ),
        ([USER, asks("c")], [USER, asks("c"), lost()]),
    ],
)
def test_a_call_without_a_result_is_given_an_error(messages: list[Message], left: list[Message]) -> None:
    assert mended(messages) == left


@pytest.mark.parametrize(
    "messages",
    [
        [USER, calls("c"), ToolMessage([result("c", "first"), result("c", "second")])],
        [USER, calls("c"), ToolMessage([result("c", "first")]), ToolMessage([result("c", "second")])],
        [USER, calls("c"), ToolMessage([result("c", "first")]), ToolMessage([]), results("c")],
    ],
)
def test_of_two_results_the_first_one_stays(messages: list[Message]) -> None:
    parts = [
        part for message in mended(messages) if isinstance(message, ToolMessage) for part in message.content
    ]
    assert parts == [result("c", "first")]


def test_a_call_that_was_recorded_twice_is_there_once() -> None:
    twice = AssistantMessage([call(), TextPart("x"), call()])
    assert mended([USER, twice, results("c")]) == [
        USER,
        AssistantMessage([call(), TextPart("x")]),
        results("c"),
    ]
    assert mended([USER, calls("c"), calls("c"), results("c", "c")]) == [USER, calls("c"), results("c")]


def test_another_call_under_the_same_id_is_given_one_of_its_own_and_its_result_too() -> None:
    messages: list[Message] = [
        USER,
        calls("c", "c", "c-2"),
        ToolMessage([result("c", "1"), result("c", "2"), result("c-2")]),
    ]
    said, answered = mended(messages)[1:]
    assert [part.tool_call_id for part in said.content] == ["c", "c-3", "c-2"]  # type: ignore[union-attr] # calls
    assert [(part.tool_call_id, part.output.value) for part in answered.content] == [  # type: ignore[union-attr] # results
        ("c", "1"),
        ("c-3", "2"),
        ("c-2", "r"),
    ]
    assert mended([USER, calls("c", "c"), results("c")])[2:] == [
        ToolMessage([result("c"), *lost("c-2").content])
    ]


def test_a_provider_s_call_under_the_id_of_another_is_given_one_of_its_own() -> None:
    both = AssistantMessage([call(), call(by_provider=True)])
    assert mended([USER, both, results("c")]) == [
        USER,
        AssistantMessage([call(), call("c-2", by_provider=True)]),
        results("c"),
    ]


@pytest.mark.parametrize(
    "empty",
    [
        UserMessage(""),
        UserMessage([]),
        UserMessage([TextPart("")]),
        AssistantMessage(""),
        AssistantMessage([]),
        AssistantMessage([TextPart("")]),
        AssistantMessage([ToolApprovalRequestPart("y", "c")]),
    ],
)
def test_a_message_of_which_nothing_is_left_is_dropped(empty: Message) -> None:
    assert mended([empty, USER, empty, ANSWER, empty]) == [USER, ANSWER]


def test_a_message_that_stood_between_a_call_and_its_result_is_dropped_before_these_are_moved() -> None:
    done = repair([USER, calls("c"), AssistantMessage(""), results("c")])
    assert [change.path for change in done.changes] == ["$.messages[2]"]
    assert [*done.messages] == [USER, calls("c"), results("c")]


def test_data_that_nobody_can_read_is_dropped_alone() -> None:
    fine = FilePart("AAAA", "image/png")
    broken: list[UserPart] = [ImagePart("!"), fine, TextPart("see"), ImagePart("data:image/png;base64,!")]
    assert mended([UserMessage(broken), UserMessage([ImagePart("!")]), USER]) == [
        UserMessage([fine, TextPart("see")]),
        USER,
    ]
    assert len(repair([UserMessage(broken)]).changes) == 2


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([USER, answers("lost")], [USER]),
        ([USER, answers("lost"), answers("lost")], [USER]),
        ([USER, AssistantMessage([TextPart("a"), ToolApprovalRequestPart("y", "gone")]), answers()], 2),
        ([USER, asks("c"), results("c"), answers()], 3),
        (
            [USER, asks("c"), ToolMessage([*answers().content, *answers(approved=False).content])],
            [USER, asks("c"), answers()],
        ),
    ],
)
def test_answers_that_a_run_could_do_nothing_with_are_dropped(
    messages: list[Message], left: list[Message] | int
) -> None:
    assert mended(messages) == (messages[:left] if isinstance(left, int) else left)


def test_answers_that_are_passed_over_or_are_no_more_asked_for_stay() -> None:
    stays: list[list[Message]] = [
        [USER, asks("c"), ToolMessage([*answers().content, result("c")])],
        [USER, answers("lost"), USER],
        [USER, asks("c"), answers(), results("c")],
    ]
    for messages in stays:
        assert repair(messages).changes == ()


# ---------------------------------------------------------------- what it says


# Of a call and its result that are apart, the result is what is moved.
MOVED: Final = {
    "a result after the user of the call": (Rule.PROMPT_RESULTS_FOLLOW, "$.messages[3].content[0]")
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_fault_is_told_with_its_place_and_is_mended(name: str) -> None:
    messages, rule, path, call_id = REFUSED[name]
    rule, path = MOVED.get(name, (rule, path.removesuffix(".content")))
    done = repair(messages)
    assert is_taken([*done.messages, NEXT])
    told = [(change.path, change.rule, change.tool_call_id) for change in done.changes]
    # What a prompt without messages lacks is the next message.
    assert ((path, rule.value, call_id) in told) == (rule is not Rule.PROMPT_NOT_EMPTY)
    assert all(change.reason for change in done.changes)


def test_an_answer_to_a_request_in_the_last_message_is_left_to_the_run_that_settles_it() -> None:
    messages: list[Message] = [USER, asks("c"), answers()]
    assert repair(messages).changes == ()
    (change,) = repair([*messages, USER]).changes
    assert (change.path, change.rule) == ("$.messages[1].content[0]", "prompt.missing-results")


def test_changes_have_places_in_what_was_given_however_much_was_dropped_before() -> None:
    done = repair(
        [UserMessage(""), results("x"), USER, AssistantMessage([TextPart("a"), call("c")]), results("c", "y")]
    )
    assert done.changes == (
        RepairChange(
            path="$.messages[0]",
            reason="dropped a message of which nothing is left for the model",
            rule="prompt.content-not-empty",
        ),
        RepairChange(
            path="$.messages[1].content[0]",
            reason="dropped a result without its call",
            rule="prompt.result-has-call",
            tool_call_id="x",
        ),
        RepairChange(
            path="$.messages[4].content[1]",
            reason="dropped a result without its call",
            rule="prompt.result-has-call",
            tool_call_id="y",
        ),
    )


@pytest.mark.parametrize("name", TAKEN)
def test_what_providers_take_comes_back_as_it_is(name: str) -> None:
    given_to_it = vector(TAKEN[name])
    done = repair(given_to_it)
    assert done.messages is given_to_it
    assert done.changes == ()


def test_what_was_right_is_the_same_object_and_what_was_given_stays_as_it_was() -> None:
    messages: list[Message] = [USER, results("x"), calls("c"), results("c", "c"), ANSWER]
    before = [*messages]
    left = mended(messages)
    assert [*map(id, messages)] == [*map(id, before)]
    assert [left[0] is USER, left[1] is messages[2], left[3] is ANSWER] == [True] * 3


def test_messages_may_be_json_and_what_is_none_is_refused_with_its_place() -> None:
    messages: list[Message] = [USER, calls("c")]
    assert mended(messages) == [*repair(map(message_to_wire, messages)).messages]
    with pytest.raises(InvalidPromptError) as refused:
        repair([USER, "hi"])  # type: ignore[list-item]
    assert refused.value.path == "$.messages[1]"


# ---------------------------------------------------------------- properties


def is_taken(messages: list[Message]) -> bool:
    state = fold(PromptState.start(), messages)
    return state.broken is None and state.fault() is None


def error_of_run(messages: list[Message]) -> AgentCoreError | None:
    """What a run of the messages fails by before it asks its model."""
    try:
        run = start(Settings(model="m", tools=[ToolSpec("t")]), messages)
    except AgentCoreError as error:
        return error
    while not isinstance(wanted := need(run), (NeedModel, Failed)):
        ran = (
            [ToolSucceeded(one.tool_call_id, 1) for one in wanted.calls]
            if isinstance(wanted, NeedTools)
            else []
        )
        run = give(run, ToolOutcomes(ran) if ran else HookResult())
    return wanted.error if isinstance(wanted, Failed) else None  # type: ignore[return-value] # its own errors


anything = conversations | st.lists(strategies.messages, max_size=6)


@given(anything)
def test_whatever_is_mended_a_run_asks_its_model_with(messages: list[Message]) -> None:
    left = mended(messages)
    state = fold(PromptState.start(), left)
    fault = state.fault()
    if fault is not None:
        assert fault.rule is Rule.PROMPT_NOT_EMPTY
        left.append(NEXT)
    assert error_of_run(left) is None


@given(anything)
def test_what_a_run_asks_its_model_with_is_not_changed(messages: list[Message]) -> None:
    done = repair(messages)
    if error_of_run(messages) is None:
        assert done.changes == ()
    if not done.changes:
        assert [*map(id, done.messages)] == [*map(id, messages)]
    else:
        assert [*done.messages] != messages


@given(anything)
def test_nothing_is_left_to_mend(messages: list[Message]) -> None:
    done = repair(messages)
    again = repair(done.messages)
    assert again.changes == ()
    assert again.messages is done.messages


@given(anything)
def test_every_change_has_a_place_in_what_was_given(messages: list[Message]) -> None:
    own_ids: dict[str, str] = {}
    for change in repair(messages).changes:
        index, _, rest = change.path.removeprefix("$.messages[").partition("]")
        content: Any = messages[int(index)].content
        if given := re.search(r"an id of its own, '([^']+)'", change.reason):
            own_ids[change.path] = given[1]
        if rest:
            part = content[int(rest.removeprefix(".content[").removesuffix("]"))]
            if isinstance(part, (ToolCallPart, ToolResultPart)):
                assert change.tool_call_id in (part.tool_call_id, own_ids.get(change.path))
            else:
                assert isinstance(part, (ToolApprovalResponsePart, FilePart, ImagePart, ToolResultPart))


@pytest.mark.slow
def test_a_history_full_of_faults_is_mended_in_the_time_of_its_length() -> None:
    def seconds(length: int) -> float:
        broken: list[Message] = [SYSTEM]
        for number in range(length):
            broken += [
                calls(f"c{number}"),
                results(f"x{number}"),
                USER,
                calls("d", "d"),
                results("d", "d", "d"),
            ]
        began = time.process_time()
        repair(broken)
        return time.process_time() - began

    short = min(seconds(200) for _ in range(3))
    assert seconds(2000) < 40 * short
