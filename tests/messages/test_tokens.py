from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.messages.message_trim import TokenCounter, estimate_tokens
from agentcore.messages.messages import (
    AssistantMessage,
    FilePart,
    ImagePart,
    Message,
    TextPart,
    ToolCallPart,
    UserMessage,
)
from agentcore.messages.values import extend_vector, vector

MESSAGES: list[Message] = [UserMessage(str(number)) for number in range(50)]


class Counting:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[Message] = []

    def __call__(self, message: Message) -> int:
        self.asked.append(message)
        return 1 + len(str(message.content))


@given(st.lists(st.integers(0, 49), max_size=40), st.lists(st.integers(0, 49), max_size=40))
def test_a_count_is_the_sum_of_its_messages_however_it_was_come_by(first: list[int], then: list[int]) -> None:
    counter, plain = TokenCounter(Counting()), Counting()
    kept = vector(MESSAGES[at] for at in first)
    for messages in (
        kept,
        extend_vector(kept, [MESSAGES[at] for at in then]),
        vector(MESSAGES[at] for at in then),
    ):
        assert counter(messages) == counter(list(messages)) == sum(map(plain, messages))


def test_each_message_value_is_counted_once() -> None:
    count = Counting()
    counter = TokenCounter(count)
    history = vector(MESSAGES)
    counter(history)
    assert len(count.asked) == 50
    for number in range(50):
        history = extend_vector(history, [UserMessage(f"new {number}")])
        counter(history)
        counter([*history, UserMessage("the same reminder")])
    assert len(count.asked) == 50 + 50 + 1
    assert counter.of(UserMessage("7")) == 2
    assert len(count.asked) == 101


@pytest.mark.parametrize(
    ("message", "least", "most"),
    [
        (UserMessage("x" * 4000), 1000, 1030),
        (UserMessage([TextPart("x" * 400), ImagePart(b"x" * 1_000_000)]), 1100, 1110),
        (UserMessage([FilePart("https://example.com/a", "a/b")] * 2), 2000, 2010),
        (AssistantMessage([ToolCallPart("c", "look", input={"a": "x" * 4000})]), 1000, 1040),
    ],
)
def test_an_estimate_is_a_quarter_of_the_text_and_a_thousand_for_a_file(
    message: Message, least: int, most: int
) -> None:
    assert least <= estimate_tokens(message) <= most
