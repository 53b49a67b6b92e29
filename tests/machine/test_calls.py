from __future__ import annotations

from typing import Any

import attrs
import pytest

from agentcore.errors import (
    InvalidPromptError,
    InvalidToolApprovalError,
    MissingToolResultsError,
    ToolCallNotFoundForApprovalError,
    ToolChoiceViolationError,
    UnexpectedOutcomeError,
    UnknownToolCallError,
)
from agentcore.machine.effects import (
    ApprovalsNeeded,
    HookResult,
    ModelAnswer,
    NeedApprovals,
    NeedModel,
    NeedPrepareStep,
    NeedStepFinish,
    NeedTools,
    Outcome,
    Settings,
    ToolFailed,
    ToolOutcomes,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.run import give, need, start
from agentcore.messages.content import (
    ContentPart,
    GeneratedText,
    ToolApprovalRequest,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentcore.messages.messages import (
    AssistantMessage,
    ErrorTextOutput,
    ExecutionDeniedOutput,
    JsonOutput,
    Message,
    TextOutput,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
)
from agentcore.messages.values import vector
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from rulebook import states
from scripted import SETTINGS, TOOL, USER, call, drive, failed, of, roles

# ---------------------------------------------------------------- calls


@states(Rule.CALL_UNKNOWN_TOOL)
@pytest.mark.parametrize(
    ("tools", "text"),
    [
        (None, "Model tried to call unavailable tool 'x'. No tools are available."),
        ([], "Model tried to call unavailable tool 'x'. Available tools: ."),
        ([TOOL, ToolSpec("o")], "Model tried to call unavailable tool 'x'. Available tools: t, o."),
    ],
)
def test_a_call_of_an_unknown_tool_is_answered_with_the_packages_text(
    tools: list[ToolSpec] | None, text: str
) -> None:
    settings = Settings(model="m", tools=tools)
    run, needs = drive([[call("c", "x")], [GeneratedText("b")]], settings=settings)
    bad, error = run.steps[0].content
    assert bad == call("c", "x", dynamic=True, invalid=True, error=text)
    assert error == ToolError(tool_call_id="c", tool_name="x", input={"id": "c"}, error=text, dynamic=True)
    shown = ToolResultPart("c", "x", output=ErrorTextOutput(text))
    assert of(NeedModel, needs)[1].prompt[-1] == ToolMessage([shown])
    assert of(NeedTools, needs) == []


@states(Difference.HIDDEN_TOOL_IS_AN_ERROR)
def test_a_call_of_a_hidden_tool_is_not_run() -> None:
    settings = Settings(model="m", tools=[TOOL, ToolSpec("o")], active_tools=["o"])
    hidden_by_provider = call("p", provider_executed=True)
    run, needs = drive([[call(), hidden_by_provider], [GeneratedText("b")]], settings=settings)
    assert of(NeedTools, needs) == []
    text = "Model tried to call unavailable tool 't'. Available tools: o."
    assert [part.error for part in run.steps[0].content if isinstance(part, ToolError)] == [text]
    assert run.steps[0].content[1] == hidden_by_provider


@states(Difference.TOOL_CHOICE_ENFORCED)
@pytest.mark.parametrize(
    ("choice", "text"),
    [
        ("none", "No tool can be called at this step."),
        ({"type": "tool", "toolName": "o"}, "Only the tool 'o' can be called at this step."),
    ],
)
def test_a_call_that_the_tool_choice_forbids_is_not_run(choice: Any, text: str) -> None:
    by_provider = call("p", provider_executed=True)
    script: list[list[ContentPart]] = [[call(), by_provider, call("c1", "o")], [GeneratedText("b")]]
    settings = Settings(model="m", tools=[TOOL, ToolSpec("o")], tool_choice=choice)
    run, needs = drive(script, settings=settings)
    ran = [one.tool_name for need in of(NeedTools, needs) for one in need.calls]
    assert ran == ([] if choice == "none" else ["o"])
    errors = [part.error for part in run.steps[0].content if isinstance(part, ToolError)]
    assert errors == [text] * (2 if choice == "none" else 1)
    assert run.steps[0].content[1] == by_provider


@states(Difference.TOOL_CHOICE_ENFORCED)
@pytest.mark.parametrize(
    ("choice", "named"),
    [("required", None), ({"type": "tool", "toolName": "o"}, "o")],
)
def test_an_answer_without_the_call_that_is_required_fails_the_run(choice: Any, named: str | None) -> None:
    settings = Settings(model="m", tools=[TOOL, ToolSpec("o")], tool_choice=choice)
    run, _ = drive([[GeneratedText("no")]], settings=settings)
    error = failed(run).error
    assert isinstance(error, ToolChoiceViolationError)
    assert error.tool_name == named


@pytest.mark.parametrize("choice", ["required", {"type": "tool", "toolName": "t"}])
def test_a_call_that_is_required_is_run(choice: Any) -> None:
    settings = Settings(model="m", tools=[TOOL], tool_choice=choice, max_steps=1)
    _, needs = drive([[call()]], settings=settings)
    assert len(of(NeedTools, needs)) == 1


def test_a_call_that_an_adapter_could_not_read_is_answered_with_its_error() -> None:
    script: list[list[ContentPart]] = [
        [call("c", invalid=True, error="no JSON"), call("d", invalid=True)],
        [GeneratedText("b")],
    ]
    run, _ = drive(script)
    errors = [part.error for part in run.steps[0].content if isinstance(part, ToolError)]
    assert errors == ["no JSON", "invalid tool call"]


@states(Rule.CALL_PROVIDER_DYNAMIC)
def test_a_dynamic_call_of_the_provider_needs_no_tool() -> None:
    dynamic = call("c", "x", provider_executed=True, dynamic=True)
    assert drive([[dynamic]])[0].steps[0].content[0] == dynamic
    plain = call("c", "x", provider_executed=True)
    assert drive([[plain]])[0].steps[0].tool_calls[0].invalid


def test_whether_a_call_is_dynamic_is_for_its_tool_to_say_if_there_is_one() -> None:
    run, _ = drive([[call(provider_executed=True, dynamic=True)]])
    assert run.steps[0].content[0] == call(provider_executed=True)


def test_calls_and_results_of_a_dynamic_tool_are_dynamic() -> None:
    settings = Settings(model="m", tools=[ToolSpec("t", dynamic=True)])
    run, _ = drive([[call()], [GeneratedText("b")]], settings=settings)
    made, result = run.steps[0].content
    assert isinstance(made, ToolCall)
    assert isinstance(result, ToolResult)
    assert (made.dynamic, result.dynamic) == (True, True)


def test_results_of_the_provider_are_given_the_input_of_their_call() -> None:
    made = call(tool="x", provider_executed=True, dynamic=True)
    result = ToolResult(tool_call_id="c", tool_name="x", output=1)
    error = ToolError(tool_call_id="c", tool_name="x", error=1)
    asked = ToolApprovalRequest("a", attrs.evolve(made, input=None))
    run, _ = drive([[made, result, error, asked]])
    fields: dict[str, Any] = {"input": {"id": "c"}, "provider_executed": True, "dynamic": True}
    expected = [
        made,
        attrs.evolve(result, **fields),
        attrs.evolve(error, **fields),
        ToolApprovalRequest("a", made),
    ]
    assert run.steps[0].content == vector(expected)


@states(Rule.CALL_RESULT_NEEDS_CALL)
def test_a_result_or_a_request_without_its_call_fails_the_run() -> None:
    run, _ = drive([[ToolResult(tool_call_id="c", tool_name="t", output=1)]])
    assert isinstance(failed(run).error, UnknownToolCallError)
    run, _ = drive([[ToolApprovalRequest("a", call())]])
    assert isinstance(failed(run).error, ToolCallNotFoundForApprovalError)


# ---------------------------------------------------------------- results


@states(Difference.RESULTS_IN_CALL_ORDER, Difference.CONTENT_AS_GENERATE)
def test_results_stand_in_the_order_of_the_calls_whatever_finished_first() -> None:
    metadata = {"p": {"k": 1}}
    calls = [call("1", provider_metadata=metadata), call("2", "x"), call("3")]

    def backwards(wanted: NeedTools) -> Outcome:
        assert [c.tool_call_id for c in wanted.calls] == ["1", "3"]
        return ToolOutcomes([ToolFailed("3", "broke"), ToolSucceeded("1", {"n": 1})])

    run, _ = drive([[*calls, GeneratedText("after")], [GeneratedText("b")]], {NeedTools: backwards})
    kinds = [part.type for part in run.steps[0].content]
    assert kinds == ["tool-call", "tool-call", "tool-call", "text", "tool-result", "tool-error", "tool-error"]
    tool_message = run.chains.response[1]
    assert isinstance(tool_message, ToolMessage)
    assert [part.tool_call_id for part in tool_message.content if isinstance(part, ToolResultPart)] == [
        "1",
        "2",
        "3",
    ]
    assert tool_message.content[0] == ToolResultPart(
        "1", "t", output=JsonOutput({"n": 1}), provider_options=metadata
    )


def test_two_calls_of_one_id_get_their_outcomes_in_order() -> None:
    both = ToolOutcomes([ToolSucceeded("c", "one"), ToolFailed("c", "two")])
    run, _ = drive([[call(), call()], [GeneratedText("b")]], {NeedTools: lambda _: both})
    assert [part.type for part in run.steps[0].content][2:] == ["tool-result", "tool-error"]


@pytest.mark.parametrize(
    "outcomes", [[], [ToolSucceeded("c", 1), ToolSucceeded("d", 1)], [ToolSucceeded("d", 1)]]
)
def test_outcomes_of_other_calls_than_those_asked_for_are_the_drivers_fault(outcomes: list[Any]) -> None:
    run = start(SETTINGS, [USER])
    for outcome in (HookResult(), HookResult(), ModelAnswer([call()])):
        run = give(run, outcome)
    with pytest.raises(UnexpectedOutcomeError):
        give(run, ToolOutcomes(outcomes))
    assert isinstance(need(give(run, ToolOutcomes([ToolSucceeded("c", 1)]))), NeedStepFinish)


# ---------------------------------------------------------------- approvals


@states(Rule.APPROVAL_REQUESTED)
def test_a_call_that_needs_approval_is_asked_about_and_not_run() -> None:
    settings = Settings(model="m", tools=[TOOL, ToolSpec("asks", needs_approval=True)])
    asks = call("d", "asks")
    run, needs = drive([[call(), asks, GeneratedText("a")]], settings=settings)
    assert [c.tool_call_id for c in of(NeedTools, needs)[0].calls] == ["c"]
    assert run.steps[0].content[-1] == ToolApprovalRequest("approval-d", asks)
    assert run.chains.response[0].content[-1] == ToolApprovalRequestPart("approval-d", "d")


def test_a_tool_that_decides_by_the_call_is_asked() -> None:
    settings = Settings(model="m", tools=[ToolSpec("t", needs_approval="ask")], experimental_context=1)
    calls = [call("c"), call("d"), call("e", "x")]
    run, needs = drive([calls], {NeedApprovals: lambda _: ApprovalsNeeded(["d"])}, settings)
    (question,) = of(NeedApprovals, needs)
    assert list(question.calls) == calls[:2]
    assert (list(question.messages), question.experimental_context) == ([USER], 1)
    assert [c.tool_call_id for c in of(NeedTools, needs)[0].calls] == ["c"]
    assert run.steps[0].content[-1] == ToolApprovalRequest("approval-d", calls[1])


def asked(call_id: str, tool: str = "t") -> AssistantMessage:
    return AssistantMessage(
        [ToolCallPart(call_id, tool, input={"id": call_id}), ToolApprovalRequestPart(f"a-{call_id}", call_id)]
    )


@states(Rule.APPROVAL_BEFORE_STEP_0, Difference.APPROVALS_AS_STREAM)
def test_approved_calls_run_before_step_0_and_their_message_begins_the_response_chain() -> None:
    history: list[Message] = [
        asked("c"),
        asked("d"),
        ToolMessage(
            [
                ToolApprovalResponsePart("a-d", approved=False, reason="no"),
                ToolApprovalResponsePart("a-c", approved=True),
            ]
        ),
    ]
    settings = Settings(model="m", tools=[TOOL], experimental_context=1)
    run, needs = drive([[GeneratedText("b")]], settings=settings, messages=history)
    tools = needs[0]
    assert isinstance(tools, NeedTools)
    assert (list(tools.calls), list(tools.messages), tools.experimental_context) == ([call()], history, 1)
    first = ToolMessage(
        [
            ToolResultPart("c", "t", output=TextOutput("did c")),
            ToolResultPart("d", "t", output=ExecutionDeniedOutput("no")),
        ]
    )
    assert needs[1].step.messages == vector([*history, first])
    assert run.steps[0].messages == vector([first, AssistantMessage([TextPart("b")])])
    assert of(NeedModel, needs)[0].prompt[-1] == first


def test_an_approved_call_of_a_tool_that_is_gone_fails_the_run_before_a_model_is_asked() -> None:
    history: list[Message] = [
        asked("gone", "x"),
        ToolMessage([ToolApprovalResponsePart("a-gone", approved=True)]),
    ]
    run, needs = drive([[GeneratedText("b")]], settings=Settings(model="m", tools=[TOOL]), messages=history)
    error = failed(run).error
    assert isinstance(error, MissingToolResultsError)
    assert (error.tool_call_ids, error.waiting) == (("gone",), ())
    assert not of(NeedModel, needs)


def test_a_denied_call_is_answered_without_running_anything() -> None:
    history: list[Message] = [asked("c"), ToolMessage([ToolApprovalResponsePart("a-c", approved=False)])]
    run = start(SETTINGS, history)
    assert isinstance(run.pending, NeedPrepareStep)
    assert roles(run.chains.response) == ["tool"]


def test_an_approval_of_nothing_fails_the_run_before_any_step() -> None:
    run = start(SETTINGS, [USER, ToolMessage([ToolApprovalResponsePart("a", approved=True)])])
    assert isinstance(failed(run).error, InvalidToolApprovalError)
    assert list(failed(run).run.steps) == []


def test_without_messages_there_is_no_run() -> None:
    with pytest.raises(InvalidPromptError):
        start(SETTINGS, [])
