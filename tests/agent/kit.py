"""Small agents for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentcore.agent.agent import Agent, AgentResult
from agentcore.agent.events import AgentEvent
from agentcore.agent.models import ScriptedModel
from agentcore.agent.tools import tool
from agentcore.errors import ProcessorFailedError
from agentcore.messages.content import GeneratedText, ToolCall
from agentcore.messages.messages import Message, TextPart, UserMessage
from agentcore.messages.values import JsonValue

USER = UserMessage([TextPart("u")])


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
async def echo(text: str) -> str:
    """Say it again."""
    return text


def text(value: str = "done") -> list[GeneratedText]:
    return [GeneratedText(value)]


def call(name: str = "add", call_id: str = "c", /, **arguments: JsonValue) -> ToolCall:
    return ToolCall(tool_call_id=call_id, tool_name=name, input=arguments)


def scripted(*answers: Any, **fields: Any) -> ScriptedModel:
    return ScriptedModel([*answers], **fields)


def adding(**fields: Any) -> Agent[None]:
    """An agent that adds once and is done."""
    return Agent(scripted([call(a=2)], text()), tools=[add], **fields)


async def streamed(agent: Agent[Any], *args: Any, **fields: Any) -> tuple[list[AgentEvent], AgentResult[Any]]:
    async with agent.stream(*args, **fields) as stream:
        events = [event async for event in stream]
    return events, stream.result()


async def run_by(path: str, agent: Agent[Any], *args: Any, **fields: Any) -> AgentResult[Any]:
    if path == "generate":
        return await agent.generate(*args, **fields)
    return (await streamed(agent, *args, **fields))[1]


def went_wrong(error: BaseException) -> BaseException | None:
    """What an AgentError is about; of a processor, what it raised."""
    cause = error.__cause__
    return cause.__cause__ if isinstance(cause, ProcessorFailedError) else cause


def types(events: Iterable[AgentEvent]) -> list[str]:
    return [event.type for event in events]


def roles(messages: Iterable[Message]) -> list[str]:
    return [message.role for message in messages]


def outputs(result: AgentResult[Any], step: int = 0) -> list[Any]:
    return [part.output for part in result.steps[step].content if part.type == "tool-result"]


def errors(result: AgentResult[Any], step: int = 0) -> list[Any]:
    return [part.error for part in result.steps[step].content if part.type == "tool-error"]
