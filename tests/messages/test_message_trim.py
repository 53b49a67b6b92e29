"""Conversations made short: what is kept, and that no call is cut from its result."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from agentcore import trim
from agentcore.errors import InvalidPromptError
from agentcore.messages.chains import PromptState, fold
from agentcore.messages.message_trim import estimate_tokens
from agentcore.messages.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import vector
from agentcore.messages.wire import message_to_wire
from conversation_strategies import conversations
from refusals import ANSWER, REFUSED, SYSTEM, TAKEN, USER, answers, asks, calls, results

OTHER = UserMessage("other")
LATEST = UserMessage("latest")
CONVERSATION: list[Message] = [
    SYSTEM,
    OTHER,
    calls("a"),
    results("a"),
    ANSWER,
    LATEST,
    calls("b", "c"),
    results("b"),
    results("c"),
    AssistantMessage("done"),
]


def one(_: Message) -> int:
    return 1


def kept(messages: list[Message], **limits: object) -> list[int]:
    """The indices of the messages that are left."""
    given_to_it = {id(message): index for index, message in enumerate(messages)}
    return [given_to_it[id(message)] for message in trim(messages, **limits)]  # type: ignore[arg-type] # any limits


# ---------------------------------------------------------------- how much is kept


@pytest.mark.parametrize(
    ("keep_last", "left"),
    [
        (0, [0, 5]),
        (1, [0, 5, 9]),
        (2, [0, 5, 6, 7, 8, 9]),
        (4, [0, 5, 6, 7, 8, 9]),
        (5, [0, 5, 6, 7, 8, 9]),
        (6, [0, 4, 5, 6, 7, 8, 9]),
        (7, [0, 2, 3, 4, 5, 6, 7, 8, 9]),
        (9, [*range(10)]),
        (100, [*range(10)]),
        (None, [*range(10)]),
    ],
)
def test_the_last_messages_are_kept_and_more_where_a_pair_would_be_cut(
    keep_last: int | None, left: list[int]
) -> None:
    assert kept(CONVERSATION, keep_last=keep_last) == left


@pytest.mark.parametrize(
    ("max_tokens", "left"),
    [
        (0, [0, 5]),
        (2, [0, 5]),
        (3, [0, 5, 9]),
        (5, [0, 5, 9]),
        (6, [0, 5, 6, 7, 8, 9]),
        (7, [0, 4, 5, 6, 7, 8, 9]),
        (8, [0, 4, 5, 6, 7, 8, 9]),
        (9, [0, 2, 3, 4, 5, 6, 7, 8, 9]),
        (10, [*range(10)]),
    ],
)
def test_no_more_tokens_are_kept_than_may_be_but_for_what_is_kept_in_any_case(
    max_tokens: int, left: list[int]
) -> None:
    assert kept(CONVERSATION, max_tokens=max_tokens, count=one) == left


def test_both_limits_hold_together() -> None:
    assert kept(CONVERSATION, keep_last=2, max_tokens=5, count=one) == [0, 5, 9]
    assert kept(CONVERSATION, keep_last=1, max_tokens=10, count=one) == [0, 5, 9]


def test_messages_are_counted_as_they_are_asked_for_and_none_twice() -> None:
    counted: list[Message] = []

    def by_length(message: Message) -> int:
        counted.append(message)
        return 1 if message is LATEST else 4

    assert kept(CONVERSATION, max_tokens=9, count=by_length) == [0, 5, 9]
    assert [*map(id, counted)] == [*map(id, [SYSTEM, LATEST, CONVERSATION[9], *CONVERSATION[6:9]])]


def test_without_a_count_tokens_are_estimated() -> None:
    limit = sum(map(estimate_tokens, (SYSTEM, LATEST, CONVERSATION[9])))
    assert kept(CONVERSATION, max_tokens=limit) == [0, 5, 9]
    assert kept(CONVERSATION, max_tokens=limit - 1) == [0, 5]
    assert kept(CONVERSATION, keep_last=1, count=one) == [0, 5, 9]


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([LATEST, ANSWER, SYSTEM], [0, 2]),
        ([SYSTEM, LATEST, SystemMessage("late"), ANSWER], [0, 1, 2]),
        ([SYSTEM], [0]),
    ],
)
def test_every_system_message_is_kept_in_its_place(messages: list[Message], left: list[int]) -> None:
    assert kept(messages, keep_last=0) == left


def test_system_messages_may_be_left_out_by_their_age() -> None:
    assert kept(CONVERSATION, keep_last=1, keep_system=False) == [5, 9]
    assert kept([LATEST, SYSTEM], keep_last=1, keep_system=False) == [0, 1]
    assert kept([LATEST, SYSTEM], keep_last=0, keep_system=False) == [0]


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        ([ANSWER, calls("a"), results("a")], [1, 2]),
        ([calls("a"), results("a"), ToolMessage([]), SystemMessage("s")], [0, 1, 3]),
        ([ANSWER, answers(by_provider=True)], [1]),
        ([ToolMessage([])], [0]),
        ([], []),
    ],
)
def test_without_a_user_message_the_last_that_says_something_is_kept(
    messages: list[Message], left: list[int]
) -> None:
    assert kept(messages, keep_last=0) == left


# ---------------------------------------------------------------- what stays together


@pytest.mark.parametrize(
    "together",
    [
        [calls("a"), results("a")],
        [calls("a", "b"), results("b"), results("a")],
        [calls("a"), ANSWER, results("a")],
        [asks("a"), answers()],
        [asks("a"), answers(), results("a")],
        [asks("a"), ANSWER, answers(), results("a")],
        [asks("a"), SystemMessage("s"), answers(), results("a")],
        [
            AssistantMessage([ToolCallPart("p", "t", input={}, provider_executed=True)]),
            ANSWER,
            AssistantMessage([results("p").content[0]]),  # type: ignore[list-item] # a result
        ],
    ],
)
def test_a_call_its_result_and_its_approval_are_left_out_as_one(together: list[Message]) -> None:
    messages = [USER, *together, LATEST]
    systems = [index for index, message in enumerate(messages) if isinstance(message, SystemMessage)]
    assert kept(messages, keep_last=1) == [*systems, len(messages) - 1]
    for size in range(2, len(together) + 2 - len(systems)):
        assert kept(messages, keep_last=size) == [*range(1, len(messages))]


def test_an_id_that_is_used_again_belongs_to_the_latest_call() -> None:
    messages: list[Message] = [USER, calls("a"), results("a"), ANSWER, calls("a"), results("a"), LATEST]
    assert kept(messages, keep_last=2) == [4, 5, 6]


# ---------------------------------------------------------------- what goes in and comes out


def test_the_messages_are_the_ones_that_were_given_and_the_list_stays_what_it_was() -> None:
    given_to_it = [*CONVERSATION]
    left = trim(given_to_it, keep_last=3)
    assert [*map(id, given_to_it)] == [*map(id, CONVERSATION)]
    assert type(left) is type(vector())
    assert {*map(id, left)} <= {*map(id, CONVERSATION)}


def test_messages_may_be_json() -> None:
    assert trim([message_to_wire(message) for message in CONVERSATION], keep_last=1) == vector(
        [CONVERSATION[index] for index in (0, 5, 9)]
    )
    with pytest.raises(InvalidPromptError) as refused:
        trim([USER, {"role": "nobody"}])
    assert refused.value.path == "$.messages[1].role"


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"keep_last": -1}, "keep_last is 0 or more, not -1"),
        ({"max_tokens": -2, "count": one}, "max_tokens is 0 or more, not -2"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        trim([USER], **limits)  # type: ignore[arg-type] # any limits


# ---------------------------------------------------------------- properties

limits = st.one_of(
    st.builds(lambda n: {"keep_last": n}, st.integers(0, 9)),
    st.builds(lambda n: {"max_tokens": n, "count": one}, st.integers(0, 9)),
    st.builds(
        lambda n, m: {"keep_last": n, "max_tokens": m, "count": one}, st.integers(0, 9), st.integers(0, 9)
    ),
)


def is_taken(messages: list[Message]) -> bool:
    state = fold(PromptState.start(), messages)
    return state.broken is None and state.fault() is None


@given(conversations | st.sampled_from([*TAKEN.values()]), limits, st.booleans())
def test_what_providers_take_they_take_when_it_is_trimmed(
    messages: list[Message], limit: dict[str, object], keep_system: bool
) -> None:
    left = [*trim(messages, keep_system=keep_system, **limit)]  # type: ignore[arg-type] # any limits
    assert not is_taken(messages) or is_taken(left)


@given(
    st.lists(strategies.messages, max_size=8) | st.sampled_from([each.messages for each in REFUSED.values()]),
    limits,
)
def test_of_any_messages_a_sublist_is_left_with_the_latest_request_and_whole_pairs(
    messages: list[Message], limit: dict[str, object]
) -> None:
    left = [*trim(messages, **limit)]  # type: ignore[arg-type] # any limits
    rest = iter(messages)
    assert all(any(message is one for one in rest) for message in left)
    users = [message for message in messages if isinstance(message, UserMessage)]
    assert not users or any(message is users[-1] for message in left)
    assert all(message in left for message in messages if isinstance(message, SystemMessage))
    assert pairs(left) <= pairs(messages)
    left_ids = {*map(id, left)}
    for call, result in pairs(messages):
        assert (call in left_ids) == (result in left_ids)


def pairs(messages: list[Message]) -> set[tuple[int, int]]:
    """The messages of each result and of the latest call of its id before it, by identity."""
    calls_by_id: dict[str, int] = {}
    found: set[tuple[int, int]] = set()
    for message in messages:
        for part in () if isinstance(message.content, str) else message.content:
            if isinstance(part, ToolCallPart):
                calls_by_id[part.tool_call_id] = id(message)
            elif isinstance(part, ToolResultPart) and part.tool_call_id in calls_by_id:
                found.add((calls_by_id[part.tool_call_id], id(message)))
    return found
