from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from agentcore.errors import InvalidPromptError
from agentcore.messages.chains import message_form, message_forms, system_prompt
from agentcore.messages.messages import Message, SystemMessage, UserMessage
from agentcore.messages.values import thaw, vector
from agentcore.messages.wire import message_to_wire

SYSTEM = {"role": "system", "content": "s"}


@given(st.lists(strategies.messages, max_size=3), st.data())
def test_messages_and_their_json_may_be_mixed(messages: list[Message], data: st.DataObject) -> None:
    given = [thaw(message_to_wire(one)) if data.draw(st.booleans()) else one for one in messages]
    assert message_forms(given) == vector(messages)
    assert message_forms(iter(given)) == vector(messages)
    assert [message_form(one) for one in given] == messages


def test_messages_that_are_values_are_not_looked_at_one_by_one() -> None:
    messages = vector([UserMessage("u")])
    assert message_forms(messages) is messages


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("text", "$.messages"),
        (1, "$.messages"),
        (SYSTEM, "$.messages"),
        ([UserMessage("u"), 1], "$.messages[1]"),
        ([UserMessage("u"), "u"], "$.messages[1]"),
        ([{"role": "user", "content": 1}], "$.messages[0].content"),
        ([{"role": "user", "content": [{"type": "text"}]}], "$.messages[0].content[0].text"),
    ],
)
def test_what_are_no_messages_is_refused_with_its_place(value: Any, path: str) -> None:
    with pytest.raises(InvalidPromptError) as refused:
        message_forms(value)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("value", "prompt"),
    [
        (None, None),
        ("", ""),
        (SystemMessage("s"), SystemMessage("s")),
        (SYSTEM, SystemMessage("s")),
        ([], vector()),
        (["a", SYSTEM, SystemMessage("b")], vector(map(SystemMessage, "asb"))),
        ((each for each in "ab"), vector(map(SystemMessage, "ab"))),
    ],
)
def test_instructions_have_all_forms_that_a_person_would_write(value: Any, prompt: Any) -> None:
    assert system_prompt(value) == prompt


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (1, "$.system"),
        ({"role": "user", "content": "u"}, "$.system"),
        ({"role": "system"}, "$.system.content"),
        ([SYSTEM, 1], "$.system[1]"),
        ([UserMessage("u")], "$.system[0]"),
    ],
)
def test_what_are_no_instructions_is_refused_with_its_place(value: Any, path: str) -> None:
    with pytest.raises(InvalidPromptError) as refused:
        system_prompt(value)
    assert refused.value.path == path
