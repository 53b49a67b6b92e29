"""pydantic-ai: a history processor that shortens old tool results for the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentcore.guard import guard

Processor = Callable[[list[ModelMessage]], list[ModelMessage]]


def shorten(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Writes to parts that the caller's history holds, too."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                part.content = part.content[:5] + "..."
    return messages


def shorten_mended(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Makes new parts and new messages."""

    def part_for(part: Any) -> Any:
        return replace(part, content=part.content[:5] + "...") if isinstance(part, ToolReturnPart) else part

    return [replace(message, parts=[part_for(part) for part in message.parts]) for message in messages]


def guarded(hook: Processor) -> Processor:
    """The same processor; prints what it changes of what it is given."""

    def processor(messages: list[ModelMessage]) -> list[ModelMessage]:
        with guard(messages) as report:
            returned = hook(messages)
        print(f"  guard: {report}")
        return returned

    return processor


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """A model that says what it read."""
    results = [
        part.content for message in messages for part in message.parts if part.part_kind == "tool-return"
    ]
    return ModelResponse(parts=[TextPart(f"read {results}")])


for hook in (shorten, shorten_mended):
    history: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("look it up")]),
        ModelResponse(parts=[ToolCallPart("look", {"q": 1}, tool_call_id="c1")]),
        ModelRequest(parts=[ToolReturnPart("look", "a long result", tool_call_id="c1")]),
        ModelResponse(parts=[TextPart("found")]),
    ]
    print(hook.__name__)
    agent = Agent(FunctionModel(answer), capabilities=[ProcessHistory(guarded(hook))])
    result = agent.run_sync("and now?", message_history=history)
    print(f"  model: {result.output}")
    print(f"  caller's history: {history[2].parts[0].content!r}")
