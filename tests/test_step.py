from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.chains import Chains
from agentcore.content import (
    ContentPart,
    GeneratedReasoning,
    GeneratedText,
    ToolCall,
    ToolResult,
    to_response_messages,
)
from agentcore.errors import MissingToolResultsError
from agentcore.hooks import NO_OVERRIDE, StepOverride, StepRecord
from agentcore.messages import AssistantMessage, Message, SystemMessage, TextPart, UserMessage
from agentcore.prompt import to_prompt
from agentcore.rules import Rule
from agentcore.step import StepResults, prompt_of, step
from agentcore.usage import Usage
from agentcore.values import Vector, vector
from rulebook import states

USER = UserMessage([TextPart("u")])
CALL = ToolCall(tool_call_id="c", tool_name="t", input={})
RESULT = ToolResult(tool_call_id="c", tool_name="t", output="x")

contents = st.lists(
    st.sampled_from([GeneratedText("a"), GeneratedText(""), GeneratedReasoning("r"), CALL, RESULT]),
    max_size=4,
)
overrides = st.sampled_from(
    [
        NO_OVERRIDE,
        StepOverride(messages=[USER, USER]),
        StepOverride(messages=[], system="s", experimental_context=1),
    ]
)


@states(Rule.STEP_OVERRIDE_DROPPED)
@given(st.lists(st.tuples(overrides, contents), max_size=4))
def test_what_hooks_returned_leaves_no_trace_in_the_chains(
    steps: list[tuple[StepOverride, list[ContentPart]]],
) -> None:
    plain = chains = Chains.start([USER])
    for override, content in steps:
        chains = step(chains.with_override(override.messages), StepResults(override, content))
        plain = step(plain, StepResults(content=content))
        assert chains == plain
        assert chains.override is None


@given(contents)
def test_a_step_appends_the_messages_of_its_content(content: list[ContentPart]) -> None:
    before = Chains.start([USER])
    after = step(before, StepResults(content=content))
    assert after.response == to_response_messages(content)
    assert list(after.step_input) == [USER, *after.response]
    assert before == Chains.start([USER])


@given(st.lists(contents, max_size=3), st.sampled_from([None, "s", "t", vector([SystemMessage("x")] * 2)]))
def test_the_prompt_of_chains_is_the_prompt_of_their_step_input(
    steps: list[list[ContentPart]], system: str | None
) -> None:
    chains = Chains.start([USER], "s")
    for content in steps:
        chains = step(chains, StepResults(content=content))
    expected = outcome(lambda: to_prompt("s" if system is None else system, chains.step_input))
    assert outcome(lambda: prompt_of(chains, system)) == expected


def outcome(make: Callable[[], Vector[Message]]) -> Vector[Message] | tuple[str, ...]:
    try:
        return make()
    except MissingToolResultsError as error:
        return error.tool_call_ids


@pytest.mark.parametrize(("system", "first"), [(None, "s"), ("other", "other")])
def test_the_prompt_of_an_override_keeps_the_instructions_unless_they_are_overridden(
    system: str | None, first: str
) -> None:
    chains = Chains.start([UserMessage("secret")], "s").with_override([USER])
    assert prompt_of(chains, system) == vector([SystemMessage(first), USER])


@states(Rule.STEP_INPUT)
def test_a_prompt_shares_the_messages_of_the_chains() -> None:
    answer = AssistantMessage([TextPart("a")])
    prompt = prompt_of(Chains.start([USER]).appended([answer]))
    assert [message is given for message, given in zip(prompt, [USER, answer], strict=True)] == [True, True]


def test_a_record_has_the_text_and_the_calls_of_its_content() -> None:
    messages: list[Message] = [USER]
    record = StepRecord(
        step_number=0,
        model="m",
        prompt=vector(messages),
        content=vector([GeneratedText("a"), CALL, GeneratedText("b")]),
        messages=vector(),
        finish_reason="stop",
    )
    assert record.text == "ab"
    assert record.tool_calls == (CALL,)
    assert record.usage == Usage()
