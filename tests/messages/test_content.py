from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import InvalidToolApprovalError, ToolCallNotFoundForApprovalError
from agentcore.messages.content import (
    Approvals,
    ContentPart,
    GeneratedFile,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolApprovalRequest,
    ToolCall,
    ToolError,
    ToolResult,
    approval_messages,
    collect_approvals,
    error_text,
    to_response_messages,
)
from agentcore.messages.messages import (
    AssistantMessage,
    AssistantPart,
    ContentOutput,
    ErrorJsonOutput,
    ErrorTextOutput,
    ExecutionDeniedOutput,
    FilePart,
    JsonOutput,
    Message,
    ReasoningPart,
    TextOutput,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import freeze, vector
from agentcore.requirements.rules import Rule
from rulebook import states

CALL = ToolCall(tool_call_id="c", tool_name="t", input={"x": 1})


def result(output: object, call_id: str = "c", *, by_provider: bool | None = None) -> ToolResult:
    return ToolResult(
        tool_call_id=call_id, tool_name="t", output=freeze(output), provider_executed=by_provider
    )


def failure(error: object, call_id: str = "c", *, by_provider: bool | None = None) -> ToolError:
    return ToolError(tool_call_id=call_id, tool_name="t", error=freeze(error), provider_executed=by_provider)


def result_part(output: object, call_id: str = "c") -> ToolResultPart:
    return ToolResultPart(call_id, "t", output=output)  # type: ignore[arg-type]


content_parts: st.SearchStrategy[ContentPart] = st.one_of(
    st.builds(GeneratedText, st.sampled_from(["", "a"])),
    st.builds(GeneratedReasoning, st.sampled_from(["", "a"])),
    st.builds(GeneratedFile, st.just("AA=="), st.just("image/png")),
    st.just(Source({"id": "s"})),
    st.just(CALL),
    st.builds(result, st.sampled_from(["", 1, None]), by_provider=st.none() | st.booleans()),
    st.builds(failure, st.sampled_from(["", 1, None]), by_provider=st.none() | st.booleans()),
    st.just(ToolApprovalRequest("a", CALL)),
)


# ---------------------------------------------------------------- content to messages


@states(Rule.CONTENT_SOURCES_DROPPED)
def test_a_source_is_in_no_message() -> None:
    content: list[ContentPart] = [Source({"sourceType": "url", "url": "u"}), GeneratedText("a")]
    assert to_response_messages(content) == vector([AssistantMessage([TextPart("a")])])


@states(Rule.CONTENT_EMPTY_TEXT_DROPPED)
def test_empty_text_is_dropped_and_empty_reasoning_is_not() -> None:
    content: list[ContentPart] = [GeneratedText("", {"p": {"k": 1}}), GeneratedReasoning("")]
    assert to_response_messages(content) == vector([AssistantMessage([ReasoningPart("")])])


@states(Rule.CONTENT_NO_EMPTY_MESSAGE)
def test_a_step_of_which_nothing_is_left_adds_no_message() -> None:
    assert to_response_messages([Source({}), GeneratedText("")]) == vector()


@states(Rule.CONTENT_ONE_ASSISTANT_MESSAGE, Rule.CONTENT_METADATA_BECOMES_OPTIONS)
def test_generated_parts_go_into_one_assistant_message_in_order() -> None:
    meta = {"p": {"k": 1}}
    content: list[ContentPart] = [
        GeneratedText("a", meta),
        GeneratedReasoning("r", meta),
        GeneratedFile("AA==", "image/png", provider_metadata=meta),
        ToolCall(tool_call_id="c", tool_name="t", input=1, provider_executed=True, provider_metadata=meta),
        ToolApprovalRequest("approval-c", CALL),
        GeneratedText("b"),
    ]
    parts: list[AssistantPart] = [
        TextPart("a", meta),
        ReasoningPart("r", meta),
        FilePart("AA==", "image/png", provider_options=meta),
        ToolCallPart("c", "t", input=1, provider_executed=True, provider_options=meta),
        ToolApprovalRequestPart("approval-c", "c"),
        TextPart("b"),
    ]
    assert to_response_messages(content) == vector([AssistantMessage(parts)])


@states(Rule.CONTENT_ONE_TOOL_MESSAGE)
def test_results_of_client_tools_go_into_one_tool_message_after_the_assistant_message() -> None:
    content: list[ContentPart] = [result("x"), CALL, failure("no", "d"), GeneratedText("a")]
    assistant, tool = to_response_messages(content)
    assert assistant == AssistantMessage([ToolCallPart("c", "t", input={"x": 1}), TextPart("a")])
    assert tool == ToolMessage([result_part(TextOutput("x")), result_part(ErrorTextOutput("no"), "d")])


@states(Rule.CONTENT_PROVIDER_RESULTS_STAY, Rule.OUTPUT_PROVIDER_ERROR_JSON)
def test_results_and_errors_of_the_provider_stay_where_they_happened() -> None:
    content: list[ContentPart] = [
        result({"n": 1}, by_provider=True),
        failure({"why": "no"}, "d", by_provider=True),
    ]
    parts = [result_part(JsonOutput({"n": 1})), result_part(ErrorJsonOutput({"why": "no"}), "d")]
    assert to_response_messages(content) == vector([AssistantMessage(parts)])


@states(Rule.OUTPUT_TEXT_OR_JSON)
@pytest.mark.parametrize("output", [None, 0, False, {"a": []}, [1]])
def test_an_output_that_is_no_string_becomes_json(output: object) -> None:
    (message,) = to_response_messages([result(output)])
    assert message == ToolMessage([result_part(JsonOutput(freeze(output)))])


def test_an_output_that_is_an_empty_string_becomes_text() -> None:
    assert to_response_messages([result("")]) == vector([ToolMessage([result_part(TextOutput(""))])])


@states(Rule.OUTPUT_MODEL_OUTPUT_ONCE)
def test_a_tools_own_conversion_is_what_the_model_is_shown() -> None:
    shown = ContentOutput([{"type": "text", "text": "short"}])
    own = ToolResult(tool_call_id="c", tool_name="t", output="long", model_output=shown)
    assert to_response_messages([own]) == vector([ToolMessage([result_part(shown)])])


@states(Rule.OUTPUT_CLIENT_ERROR_TEXT)
@pytest.mark.parametrize(
    ("error", "text"), [("no", "no"), (None, "unknown error"), ({"a": [1]}, '{"a":[1]}')]
)
def test_an_error_has_a_text(error: object, text: str) -> None:
    assert error_text(freeze(error)) == text


@given(st.lists(content_parts, max_size=6))
def test_a_step_makes_at_most_one_assistant_message_and_then_one_tool_message(
    content: list[ContentPart],
) -> None:
    roles = [message.role for message in to_response_messages(content)]
    assert roles in ([], ["assistant"], ["tool"], ["assistant", "tool"])


@given(st.lists(content_parts, max_size=6))
def test_messages_do_not_depend_on_what_is_dropped(content: list[ContentPart]) -> None:
    dropped = [part for part in content if not isinstance(part, Source) and part != GeneratedText("")]
    assert to_response_messages(dropped) == to_response_messages(content)


# ---------------------------------------------------------------- approvals


def asking(
    call_id: str = "c", approval_id: str = "a", *, by_provider: bool | None = None
) -> AssistantMessage:
    call = ToolCallPart(call_id, "t", input={"x": 1}, provider_executed=by_provider)
    return AssistantMessage([TextPart("may I?"), call, ToolApprovalRequestPart(approval_id, call_id)])


def answer(*, approved: bool, approval_id: str = "a", reason: str | None = None) -> ToolApprovalResponsePart:
    return ToolApprovalResponsePart(approval_id, approved, reason=reason)


@states(Rule.APPROVAL_LAST_MESSAGE)
def test_only_the_last_message_brings_approvals() -> None:
    history: list[Message] = [asking(), ToolMessage([answer(approved=True)]), UserMessage("and?")]
    assert collect_approvals(history) == Approvals()
    assert collect_approvals([]) == Approvals()
    assert collect_approvals([asking(), ToolMessage([result_part(TextOutput("x"))])]) == Approvals()
    assert [a.call.tool_call_id for a in collect_approvals(history[:2]).approved] == ["c"]


@states(Rule.APPROVAL_ANSWERED)
def test_a_response_whose_call_has_its_result_beside_it_is_passed_over() -> None:
    last = ToolMessage([answer(approved=True), result_part(TextOutput("x"))])
    assert collect_approvals([asking(), last]) == Approvals()


@states(Rule.APPROVAL_KNOWN)
def test_a_response_to_no_request_and_a_request_about_no_call_are_errors() -> None:
    with pytest.raises(InvalidToolApprovalError) as unknown:
        collect_approvals([AssistantMessage("text"), UserMessage("u"), ToolMessage([answer(approved=True)])])
    assert unknown.value.approval_id == "a"
    orphan = AssistantMessage([ToolApprovalRequestPart("a", "gone")])
    with pytest.raises(ToolCallNotFoundForApprovalError) as missing:
        collect_approvals([orphan, ToolMessage([answer(approved=False)])])
    assert missing.value.tool_call_id == "gone"


@states(Rule.APPROVAL_RESULTS_THEN_DENIALS)
def test_results_stand_in_the_order_of_the_responses_and_denials_come_after_them() -> None:
    history: list[Message] = [
        asking("c1", "a1"),
        asking("c2", "a2"),
        asking("c3", "a3"),
        ToolMessage(
            [
                answer(approved=True, approval_id="a3"),
                answer(approved=False, approval_id="a1", reason="no"),
                answer(approved=True, approval_id="a2"),
            ]
        ),
    ]
    approvals = collect_approvals(history)
    assert [call.tool_call_id for call in approvals.to_run] == ["c3", "c2"]
    messages = approval_messages(approvals, [result("x", "c3"), failure("bad", "c2")])
    parts = [
        result_part(TextOutput("x"), "c3"),
        result_part(ErrorTextOutput("bad"), "c2"),
        result_part(ExecutionDeniedOutput("no"), "c1"),
    ]
    assert messages == vector([ToolMessage(parts)])


@states(Rule.APPROVAL_PROVIDER_RESPONSES)
def test_the_provider_is_told_first_and_gets_no_denied_result() -> None:
    history: list[Message] = [
        asking("p1", "a1", by_provider=True),
        asking("p2", "a2", by_provider=True),
        asking("c", "a3"),
        ToolMessage(
            [
                answer(approved=False, approval_id="a1", reason="no"),
                answer(approved=True, approval_id="a2"),
                answer(approved=False, approval_id="a3"),
            ]
        ),
    ]
    approvals = collect_approvals(history)
    assert approvals.to_run == ()
    told = [
        ToolApprovalResponsePart("a2", approved=True, provider_executed=True),
        ToolApprovalResponsePart("a1", approved=False, reason="no", provider_executed=True),
    ]
    denied = [result_part(ExecutionDeniedOutput(), "c")]
    assert approval_messages(approvals, []) == vector([ToolMessage(told), ToolMessage(denied)])


def test_no_approvals_make_no_message() -> None:
    assert approval_messages(Approvals(), []) == vector()
