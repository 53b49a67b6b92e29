from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from agentcore.errors import InvalidPromptError
from agentcore.messages.chains import Chains, PromptState, fold
from agentcore.messages.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    TextOutput,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import vector
from agentcore.requirements.rules import Rule
from rulebook import states

USER = UserMessage("u")
ANSWER = AssistantMessage([ToolCallPart("c", "t", input={})])
RESULT = ToolMessage([ToolResultPart("c", "t", output=TextOutput("x"))])

initials = st.lists(strategies.messages, min_size=1, max_size=4)
responses = st.lists(
    strategies.messages.filter(lambda message: message.role in ("assistant", "tool")), max_size=3
)


def nodes(vec: Any) -> dict[int, list[Any]]:
    """The lists that a pure-Python persistent vector is made of, by identity."""
    found = {id(vec._tail): vec._tail}
    level, pending = vec._shift, [vec._root]
    while pending:
        found.update({id(node): node for node in pending})
        pending = [child for node in pending for child in node] if level else []
        level -= 5 if level else 0
    return found


@pytest.mark.slow
@states(Rule.STEP_INITIAL_FIXED, Rule.STEP_RESPONSE_GROWS, Rule.STEP_INPUT)
@given(initials, st.lists(responses, max_size=4))
def test_chains_grow_by_responses_alone(initial: list[Message], steps: list[list[Message]]) -> None:
    chains = Chains.start(initial)
    for new in steps:
        before, chains = chains, chains.appended(new)
        assert list(before.initial) == list(chains.initial) == initial
        assert list(chains.response) == [*before.response, *new]
        assert list(chains.step_input) == [*chains.initial, *chains.response]
        assert all(message.role in ("assistant", "tool") for message in chains.response)
        assert chains.folded == fold(PromptState.start(), chains.step_input)


@given(initials, st.lists(responses, max_size=3))
def test_the_elements_of_the_step_input_are_those_of_the_chains(
    initial: list[Message], steps: list[list[Message]]
) -> None:
    chains = Chains.start(initial)
    for new in steps:
        chains = chains.appended(new)
    given_to_it = [*initial, *(message for new in steps for message in new)]
    for one, other in zip(chains.step_input, given_to_it, strict=True):
        assert one is other


@pytest.mark.parametrize("length", [1, 31, 32, 33, 1000, 1056, 1057, 5000])
def test_what_a_step_adds_to_the_chains_does_not_depend_on_the_history(length: int) -> None:
    before = Chains.start([USER] * length)
    after = before.appended([ANSWER, RESULT])
    fresh = nodes(after.step_input).keys() - nodes(before.step_input).keys()
    assert len(fresh) <= 2 * (2 + after.step_input._shift // 5)  # type: ignore[attr-defined]
    assert after.initial is before.initial
    folded = nodes(after.folded.closed).keys() - nodes(before.folded.closed).keys()
    assert len(folded) <= 2 * (2 + after.folded.closed._shift // 5)  # type: ignore[attr-defined]


@states(Rule.STEP_OVERRIDE_DROPPED)
def test_an_override_is_gone_after_the_step_and_leaves_no_trace() -> None:
    chains = Chains.start([USER])
    overridden = chains.with_override([SystemMessage("s"), USER])
    assert overridden.override == vector([SystemMessage("s"), USER])
    assert overridden.step_input is chains.step_input
    assert overridden.appended([ANSWER]) == chains.appended([ANSWER])
    assert overridden.appended([]) == chains
    assert overridden.with_override(None) == chains


@states(Rule.STEP_INITIAL_GIVEN)
def test_a_run_of_no_messages_is_refused() -> None:
    with pytest.raises(InvalidPromptError) as refused:
        Chains.start([])
    assert refused.value.path == "$.messages"


def test_what_is_no_message_is_refused_with_its_place() -> None:
    json = {"role": "user", "content": "u"}
    with pytest.raises(InvalidPromptError) as refused:
        Chains.start([USER, json])  # type: ignore[list-item]
    assert refused.value.path == "$.messages[1]"
    with pytest.raises(InvalidPromptError) as overridden:
        Chains.start([USER]).with_override([json])  # type: ignore[list-item]
    assert overridden.value.path == "$.messages[0]"


@pytest.mark.parametrize("message", [USER, SystemMessage("s")])
def test_a_response_chain_takes_no_user_or_system_message(message: Message) -> None:
    with pytest.raises(InvalidPromptError) as refused:
        Chains.start([USER]).appended([ANSWER, message])
    assert refused.value.path == "$[1]"


def test_a_step_input_that_is_not_both_chains_is_refused() -> None:
    chains = Chains.start([USER])
    with pytest.raises(ValueError, match="initial chain followed by the response chain"):
        attrs.evolve(chains, response=chains.initial, step_input=vector())
    with pytest.raises(ValueError, match="each message of the step input has one id"):
        attrs.evolve(chains, first_ids=vector())
