"""Middleware as in an application: another model when one is down, and a person who is asked."""

from __future__ import annotations

import attrs
import pytest

from agentcore import (
    Agent,
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
    freeze,
    tool,
)
from agentcore.agent.middleware import CallModel, CallTool, ToolOutcome
from agentcore.agent.models import ModelError, ModelResponse, ScriptedModel
from agentcore.records.saved import from_json, to_json

pytestmark = pytest.mark.anyio


async def test_a_run_falls_back_asks_and_goes_on_from_a_file() -> None:
    deleted: list[str] = []
    call = {"type": "tool-call", "toolCallId": "1", "toolName": "delete_file", "input": {"path": "a.txt"}}
    down = ScriptedModel([ModelError("down")] * 2)
    spare = ScriptedModel([[call], [{"type": "text", "text": "It is gone."}]], model_id="spare")

    @tool
    async def delete_file(path: str) -> str:
        """Delete a file."""
        deleted.append(path)
        return f"deleted {path}"

    async def fall_back(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        try:
            return await call_next(context)
        except ModelError:
            return await call_next(attrs.evolve(context, model=spare))

    async def confirm(context: ExecuteToolContext, call_next: CallTool) -> ToolOutcome:
        if context.interrupt("confirm", reason=context.call.input) == "yes":
            return await call_next(context)
        return context.failed("the user does not want that")

    middleware = [InvokeModelStage.wrap(fall_back), ExecuteToolStage.wrap(confirm)]
    agent = Agent(down, tools=[delete_file], middleware=middleware)
    result = await agent.generate("Delete a.txt!")
    (question,) = result.interrupts
    assert (question.name, question.reason) == ("confirm", freeze({"path": "a.txt"}))
    assert deleted == []

    saved = to_json(result.run)  # and another day, in another process:
    result = await agent.resume(from_json(saved), answers={question.id: "yes"})
    assert deleted == ["a.txt"]
    assert result.text == "It is gone."
    assert [step.model for step in result.steps] == ["spare", "spare"]
