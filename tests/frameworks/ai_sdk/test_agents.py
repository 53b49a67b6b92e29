"""Agents under a profile: their own hooks, tools and model, with live views."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore import SystemMessage, TextPart, UserMessage
from agentcore.agent.agent import Agent
from agentcore.agent.call.config import step_count_is
from agentcore.agent.models.scripted import ScriptedModel
from agentcore.agent.tools import ToolContext, tool
from agentcore.frameworks.ai_sdk import Verdict
from agentcore.frameworks.ai_sdk.agents import run_agent
from agentcore.messages.content import (
    ContentPart,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolApprovalRequest,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentcore.messages.values import JsonObject, thaw, vector

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("profile", ["ai-sdk-6/stream", "ai-sdk-6/generate"])


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@tool
async def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def scripted() -> ScriptedModel:
    return ScriptedModel(
        [
            [ToolCall(tool_call_id="c0", tool_name="weather", input={"city": "Rome"})],
            [GeneratedText("sunny")],
        ]
    )


@BOTH
async def test_a_hook_of_an_agent_pollutes_under_a_profile_and_is_told_so(profile: str) -> None:
    def hook(step: Any) -> None:
        if step.step_number == 0:
            step.messages[-1]["content"] += "!"

    model = scripted()
    result = await run_agent(profile, Agent(model, tools=[weather], prepare_step=hook), [UserMessage("hi")])
    (finding,) = result.pollution
    assert (finding.verdict, finding.prompts) == (Verdict.POLLUTING, (0, 1))
    assert result.caller == [{"role": "user", "content": "hi!"}]
    prompted = UserMessage([TextPart("hi!")])
    assert [request.prompt[0] for request in model.calls] == [prompted, prompted]


@BOTH
async def test_async_hooks_return_views_and_messages_of_the_core(profile: str) -> None:
    async def hook(step: Any) -> Any:
        return {"messages": [*step.messages, UserMessage("only now")], "tool_choice": "auto"}

    model = scripted()
    result = await run_agent(
        profile,
        Agent(model, tools=[weather], prepare_step=hook, system="be brief"),
        [{"role": "user", "content": "hi"}],
    )
    assert (result.pollution, result.error, result.finish_reason) == ((), None, "stop")
    shown = [UserMessage([TextPart("hi")]), UserMessage([TextPart("only now")])]
    assert [[m for m in request.prompt if m.role == "user"] for request in model.calls] == [shown, shown]
    assert model.calls[0].prompt[0] == SystemMessage("be brief")


@BOTH
async def test_tools_get_validated_input_and_their_results_are_in_the_report(profile: str) -> None:
    result = await run_agent(profile, Agent(scripted(), tools=[weather]), [UserMessage("hi")])
    assert result.steps is not None
    tool_message = result.steps[-1]["response"]["messages"][1]
    assert tool_message["content"][0]["output"] == {"type": "text", "value": "sunny in Rome"}


@BOTH
async def test_stop_conditions_and_observers_of_an_agent_are_called(profile: str) -> None:
    seen: list[Any] = []
    agent = Agent(
        scripted(),
        tools=[weather],
        stop_when=step_count_is(1),
        on_step_finish=lambda step: seen.append(step.finish_reason),
    )
    result = await run_agent(profile, agent, [UserMessage("hi")])
    assert (seen, result.finish_reason) == (["tool-calls"], "tool-calls")


@BOTH
async def test_a_failing_model_is_the_error_of_the_run(profile: str) -> None:
    result = await run_agent(profile, Agent(ScriptedModel([RuntimeError("down")])), [UserMessage("hi")])
    assert str(result.error) == "down"


async def test_an_argument_says_what_it_has() -> None:
    def hook(step: Any) -> None:
        _ = step.message

    result = await run_agent("ai-sdk-6/generate", Agent(scripted(), prepare_step=hook), [UserMessage("hi")])
    assert "it has model, steps, stepNumber, messages" in str(result.error)


@BOTH
async def test_settings_of_an_agent_reach_its_model(profile: str) -> None:
    model = scripted()
    agent = Agent(
        model,
        tools=[weather],
        system=[SystemMessage("one"), SystemMessage("two")],
        tool_choice="required",
        active_tools=["weather"],
        provider_options={"p": {"a": 1}},
        settings={"temperature": 0},
    )
    await run_agent(profile, agent, [UserMessage("hi")])
    request = model.calls[0]
    assert [message.content for message in request.prompt[:2]] == ["one", "two"]
    assert request.tool_choice == JsonObject({"type": "required"})
    assert thaw(request.provider_options) == {"p": {"a": 1}}
    assert request.settings == JsonObject({"temperature": 0})
    assert request.tools == vector([weather.definition])


@BOTH
async def test_a_system_message_and_an_empty_answer(profile: str) -> None:
    agent = Agent(
        ScriptedModel([[]]), system=SystemMessage("be brief"), on_step_start=lambda _: None, stop_when=()
    )
    result = await run_agent(profile, agent, [UserMessage("hi")])
    assert (result.error, result.finish_reason) == (None, "stop")


@BOTH
async def test_what_the_provider_ran_stays_in_the_assistant_message(profile: str) -> None:
    def ran(call_id: str) -> dict[str, Any]:
        return {"tool_call_id": call_id, "tool_name": "search", "provider_executed": True}

    script: list[ContentPart] = [
        GeneratedReasoning("so", {"p": {"sig": "x"}}),
        Source({"sourceType": "url", "id": "s", "url": "https://example.com/"}),
        ToolCall(**ran("p0"), input={}, dynamic=True),
        ToolResult(**ran("p0"), output={"hits": 1}),
        ToolCall(**ran("p1"), input={}, dynamic=True),
        ToolError(**ran("p1"), error="down"),
    ]
    result = await run_agent(profile, Agent(ScriptedModel([script])), [UserMessage("hi")])
    assert result.steps is not None
    (message,) = result.steps[0]["response"]["messages"]
    kinds = sorted(part["type"] for part in message["content"])
    assert kinds == ["reasoning", "tool-call", "tool-call", "tool-result", "tool-result"]


@BOTH
async def test_a_call_that_needs_approval_ends_the_run_with_a_request(profile: str) -> None:
    asked: list[Any] = []

    def needs(arguments: Any, context: ToolContext) -> bool:
        asked.append((dict(arguments), context.tool_call_id, context.experimental_context))
        return True

    @tool(needs_approval=needs)
    def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError(amount)

    script = [[ToolCall(tool_call_id="c0", tool_name="pay", input={"amount": 1})]]
    agent = Agent(ScriptedModel(script), tools=[pay], experimental_context={"user": 7})
    result = await run_agent(profile, agent, [UserMessage("hi")])
    assert result.steps is not None
    assert [part["type"] for part in result.steps[0]["content"]] == ["tool-call", "tool-approval-request"]
    assert asked == [({"amount": 1}, "c0", {"user": 7})]


@BOTH
async def test_fields_that_a_hook_returns_as_none_count_as_absent(profile: str) -> None:
    agent = Agent(scripted(), prepare_step=lambda _: {"system": None, "provider_options": {"p": {"b": 1}}})
    result = await run_agent(profile, agent, [UserMessage("hi")])
    assert result.error is None


async def test_an_argument_can_be_read_by_its_own_keys() -> None:
    seen: list[Any] = []

    def hook(step: Any) -> None:
        seen.append(step["stepNumber"])

    agent = Agent(scripted(), prepare_step=hook)
    await run_agent("ai-sdk-6/generate", agent, [UserMessage("hi")])
    assert seen == [0, 1]


async def test_a_part_that_no_model_sends_is_an_error_of_the_run() -> None:
    call = ToolCall(tool_call_id="c0", tool_name="weather", input={})
    agent = Agent(ScriptedModel([[ToolApprovalRequest("a0", call)]]))
    result = await run_agent("ai-sdk-6/generate", agent, [UserMessage("hi")])
    assert "tool-approval-request" in str(result.error)
