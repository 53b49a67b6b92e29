from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentcore.errors import InvalidOverrideError, MissingToolResultsError
from agentcore.machine.hooks import NO_OVERRIDE, StepOverride, StepRecord
from agentcore.machine.step import StepResults, finish, prepare, prompt_of, step
from agentcore.messages.chains import Chains, to_prompt
from agentcore.messages.content import (
    ContentPart,
    GeneratedReasoning,
    GeneratedText,
    ToolCall,
    ToolResult,
    Usage,
    to_response_messages,
)
from agentcore.messages.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import Vector, vector
from agentcore.requirements.rules import Rule
from plays import SETTINGS, Play, played, plays
from rulebook import states

USER = UserMessage([TextPart("u")])
NOTE = UserMessage("note")
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
        chains = step(chains, StepResults(override, content))
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
    assert outcome(lambda: prompt_of(chains.with_override(None, system))) == expected


def outcome(make: Callable[[], Vector[Message]]) -> Vector[Message] | tuple[str, ...]:
    try:
        return make()
    except MissingToolResultsError as error:
        return error.tool_call_ids


@pytest.mark.parametrize(("system", "first"), [(None, "s"), ("other", "other")])
def test_the_prompt_of_an_override_keeps_the_instructions_unless_they_are_overridden(
    system: str | None, first: str
) -> None:
    chains = Chains.start([UserMessage("secret")], "s").with_override([USER], system)
    assert prompt_of(chains) == vector([SystemMessage(first), USER])


@states(Rule.STEP_INPUT)
def test_a_prompt_shares_the_messages_of_the_chains() -> None:
    answer = AssistantMessage([TextPart("a")])
    prompt = prompt_of(Chains.start([USER]).appended([answer]))
    assert [message is given for message, given in zip(prompt, [USER, answer], strict=True)] == [True, True]


# ---------------------------------------------------------------- the laws of a step


@given(overrides, contents)
def test_a_step_is_prepared_and_then_finished(override: StepOverride, content: list[ContentPart]) -> None:
    chains = Chains.start([USER], "s")
    results = StepResults([override], content)
    prepared = prepare(chains, results.edits)
    assert finish(prepared, content) == step(chains, results)
    assert outcome(lambda: prompt_of(prepared)) == outcome(lambda: prompt_of(chains, results))
    assert (prepared.override, prepared.override_system) == (override.messages, override.system)


def test_replies_come_before_the_step_and_its_lasting_edits() -> None:
    chains, reply = Chains.start([USER], "s"), ToolMessage([ToolResultPart("c", "t", output=TextOutput("x"))])
    results = StepResults({"lasting_messages": [NOTE]}, [GeneratedText("a")], replies=[reply])
    after = step(chains, results)
    assert list(after.step_input) == [NOTE, *to_response_messages([GeneratedText("a")])]
    assert list(after.response) == [reply, after.step_input[1]]
    assert step(chains, StepResults(replies=[reply])) == chains.appended([reply])
    assert prompt_of(chains, StepResults(replies=[reply])) == prompt_of(chains.appended([reply]))


def test_without_results_nothing_changes() -> None:
    chains = Chains.start([USER], "s")
    assert step(chains, StepResults()) == chains
    assert prepare(chains, ()) is chains
    assert prompt_of(chains, StepResults()) == prompt_of(chains)


def test_messages_leave_no_trace_and_lasting_messages_do() -> None:
    chains = Chains.start([USER, UserMessage("long")])
    content = [GeneratedText("a")]
    plain = step(chains, StepResults(content=content))
    assert step(chains, StepResults({"messages": [NOTE], "system": "other"}, content)) == plain
    lasting = step(chains, StepResults([None, {"lasting_messages": [NOTE]}, {"messages": [USER]}], content))
    assert list(lasting.step_input) == [NOTE, *plain.response]
    assert list(lasting.ids) == ["hook-1-0", "response-0"]
    assert (lasting.initial, lasting.response) == (plain.initial, plain.response)


def test_results_are_what_hooks_return_one_or_several() -> None:
    override = StepOverride(messages=[USER])
    assert StepResults(override) == StepResults([override]) == StepResults({"messages": [USER]})
    both = StepResults([override, {"system": "s"}])
    assert [edit.processor_id for edit in both.edits] == ["hook-0", "hook-1"]
    assert StepResults([override, {"system": "s"}]).override == StepOverride(messages=[USER], system="s")
    edits = StepResults(override).edits
    assert StepResults(edits).edits is edits
    assert StepResults(edits[0]).edits == edits
    with pytest.raises(InvalidOverrideError, match=r"\$\.mesages: no field of an override"):
        StepResults({"mesages": []})


@states(Rule.STEP_FOLDED)
@given(plays)
@example(
    Play(
        settings=attrs.evolve(SETTINGS["full"], active_tools=None, tool_choice=None),
        script=[[ToolCall(tool_call_id="c", tool_name="yes", input={}), CALL], [GeneratedText("a")]],
        replies=True,
    )
)
def test_folding_step_over_the_records_of_a_run_gives_its_chains(play: Play) -> None:
    run = played(play)[-1]
    for state in run.history[1:]:
        folded = run.history[0].chains
        for record in state.steps:
            prepared = prepare(folded.appended(record.replies), record.results.edits)
            assert prompt_of(prepared) == prompt_of(folded, record.results) == record.prompt
            folded = step(folded, record.results)
        assert (folded, folded.ids) == (state.chains, state.chains.ids)


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
