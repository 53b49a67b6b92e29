"""What a type checker takes for handlers, what they are given, and what comes of a run that asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, assert_type

import anyio
import attrs

from agentcore.agent.agent import Agent, AgentResult
from agentcore.agent.events import AgentEvent, ToolProgress
from agentcore.agent.middleware import (
    AgentStreamContext,
    AgentStreamStage,
    CallAgent,
    CallModel,
    CallTool,
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
    Middleware,
    ModelDelta,
)
from agentcore.agent.models import ModelRequest, ModelResponse, ScriptedModel
from agentcore.agent.tools import Tool, ToolContext, tool
from agentcore.machine.effects import ToolFailed, ToolSucceeded
from agentcore.messages.content import ToolCall
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.values import JsonValue


@tool
def add(a: int, told: ToolContext) -> int:
    assert_type(told.invocation_state, dict[str, Any])
    assert_type(told.interrupt("sure"), JsonValue)
    return a


def shown(context: InvokeModelContext) -> None:
    assert_type(context.request, ModelRequest)
    assert_type(context.invocation_state, dict[str, Any])


async def shorter(context: InvokeModelContext) -> InvokeModelContext | None:
    return attrs.evolve(context, request=attrs.evolve(context.request, settings={"max_output_tokens": 9}))


async def twice(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
    assert_type(await call_next(context), ModelResponse)
    return await call_next(context)


async def told(
    context: InvokeModelContext, call_next: CallModel
) -> AsyncIterator[ModelDelta | ModelResponse]:
    made = call_next(context)
    async for event in made:
        assert_type(event, ModelDelta)
        yield event
    assert_type(made.result, ModelResponse)
    yield made.result


def model_said(_: InvokeModelContext, response: ModelResponse) -> ModelResponse:
    return response


async def guarded(context: ExecuteToolContext, call_next: CallTool) -> ToolSucceeded | ToolFailed:
    assert_type(context.call, ToolCall)
    assert_type(context.tool, Tool[..., Any])
    return await call_next(context) if context.interrupt("allow") else context.failed("no")


async def quietly(
    context: ExecuteToolContext, call_next: CallTool
) -> AsyncIterator[ToolProgress | ToolSucceeded | ToolFailed]:
    yield await call_next(context)


async def watched(
    context: AgentStreamContext, call_next: CallAgent
) -> AsyncIterator[AgentEvent | AgentResult[Any]]:
    made = call_next(context)
    async for event in made:
        assert_type(event, AgentEvent)
        yield event
    yield made.result


class Counting:
    """A handler that is an object."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        self.calls += 1
        return await call_next(context)


HANDLERS: list[Middleware] = [
    InvokeModelStage.input(shown),
    InvokeModelStage.input(shorter),
    InvokeModelStage.wrap(twice),
    InvokeModelStage.wrap(told),
    InvokeModelStage.wrap(Counting()),
    InvokeModelStage.output(model_said),
    ExecuteToolStage.wrap(guarded),
    ExecuteToolStage.wrap(quietly),
    AgentStreamStage.wrap(watched),
]


def test_a_handler_of_another_stage_is_an_error() -> None:
    InvokeModelStage.input(guarded)  # type: ignore[arg-type]
    InvokeModelStage.wrap(guarded)  # type: ignore[arg-type]
    ExecuteToolStage.output(model_said)  # type: ignore[arg-type]
    AgentStreamStage.wrap(twice)  # type: ignore[arg-type]


def test_runs_that_ask_and_go_on_are_typed() -> None:
    async def main() -> None:
        call = {"type": "tool-call", "toolCallId": "c", "toolName": "add", "input": {"a": 1}}
        done = {"type": "text", "text": "done"}
        model = ScriptedModel(lambda request: [done] if len(request.prompt) > 1 else [call])
        agent = Agent(model, tools=[add], middleware=HANDLERS)
        result = await agent.generate("q", invocation_state={"mine": 1})
        assert_type(result, AgentResult[None])
        assert_type(result.interrupts, tuple[Interrupt, ...])
        assert_type(result.invocation_state, dict[str, Any])
        while result.interrupts:
            answers = {question.id: True for question in result.interrupts}
            result = await agent.resume(result.run, answers=answers, invocation_state={})
        assert result.text == "done"

    anyio.run(main)
