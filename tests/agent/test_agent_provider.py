"""The agent of the README with a real provider's protocol, over HTTP on loopback."""

from __future__ import annotations

from typing import Any

import pytest

from agent.models.server import ANTHROPIC, OPENAI, Answer, Call, Failure, Text
from agent.models.talk import talking
from agentcore import Agent, UserMessage, tool
from agentcore.agent.models import TextDelta
from agentcore.machine.processors import StepArguments

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("protocol", [OPENAI, ANTHROPIC])
SCRIPT = (
    Answer([Call("c0", "weather", '{"city": "Rome"}')], finish="tool_calls"),
    Answer([Text("It is sunny.")]),
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # what the providers' clients are made for; trio has tests of its own


@tool
async def weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def brief(step: StepArguments) -> dict[str, Any]:
    return {"messages": [*step.messages, UserMessage("Be brief.")]}


@BOTH
async def test_an_agent_runs_its_tool_and_gets_the_answer(protocol: str) -> None:
    async with talking(protocol, *SCRIPT) as (model, provider):
        result = await Agent(model, tools=[weather], prepare_step=brief).generate("Weather?")
    assert result.text == "It is sunny."
    assert [message.role for message in result.messages] == ["assistant", "tool", "assistant"]
    assert result.usage.total_tokens == 30
    assert len(provider.requests) == 2
    assert "sunny in Rome" in str(provider.requests[1].body)
    # For its step only: each request ends with one reminder.
    assert [str(request.body).count("Be brief.") for request in provider.requests] == [1, 1]


@BOTH
async def test_a_streamed_run_is_the_same_run(protocol: str) -> None:
    async with (
        talking(protocol, *SCRIPT) as (model, _),
        Agent(model, tools=[weather]).stream("Weather?") as stream,
    ):
        events = [event async for event in stream]
        result = stream.result()
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It is sunny."
    async with talking(protocol, *SCRIPT) as (model, _):
        whole = await Agent(model, tools=[weather]).generate("Weather?")
    assert result.messages == whole.messages


@BOTH
async def test_a_busy_provider_is_asked_again(protocol: str) -> None:
    busy = Failure(429, {"error": {"message": "slow down"}}, {"retry-after": "0"})
    async with talking(protocol, busy, Answer([Text("hi")])) as (model, provider):
        result = await Agent(model).generate("hello")
    assert (result.text, len(provider.requests)) == ("hi", 2)
