"""pydantic-ai: Agent.run, without instrumentation, limits of requests or usage to estimate."""

from __future__ import annotations

from typing import Any, Final

from pydantic_ai import Agent, RunContext, UsageLimits
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters

from benchmarks.peers import serving
from benchmarks.peers.serving import REMINDER, Forks, Script, Task, UnsupportedError, serve


class _Model(Model):
    def __init__(self, script: Script) -> None:
        super().__init__()
        self._script = script

    @property
    def model_name(self) -> str:
        return "scripted"

    @property
    def system(self) -> str:
        return "scripted"

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: Any,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        del model_settings, model_request_parameters
        # A reminder becomes one more part of the last message.
        number = self._script.call(len(messages) + len(messages[-1].parts) - 1)
        if number is None:
            return ModelResponse(parts=[TextPart(serving.DONE)])
        call = ToolCallPart(serving.TOOL, {"q": number}, tool_call_id=f"call-{number}")
        return ModelResponse(parts=[call])


class _Reminded(AbstractCapability[None]):
    # ProcessHistory would put the reminder into the run for good.
    async def before_model_request(
        self, ctx: RunContext[None], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        del ctx
        reminder = ModelRequest(parts=[UserPromptPart(REMINDER)])
        request_context.messages = [*request_context.messages, reminder]
        return request_context


def _message(role: str, text: str) -> ModelMessage:
    if role == "user":
        return ModelRequest(parts=[UserPromptPart(text)])
    return ModelResponse(parts=[TextPart(text)])


_LIMITS: Final = UsageLimits(request_limit=None)


class _PydanticAi:
    def prepared(self, task: Task, script: Script) -> serving.Run:
        if task.keep:
            raise UnsupportedError("it keeps no states of a run")
        agent = Agent(_Model(script), capabilities=[_Reminded()] if task.override else [])

        @agent.tool_plain
        async def look(q: int) -> str:
            """Look something up."""
            return script.look(q)

        *history, (_, prompt) = task.messages()
        messages = [_message(role, text) for role, text in history]

        async def run() -> serving.Outcome:
            result = await agent.run(prompt, message_history=messages, usage_limits=_LIMITS)
            return serving.Outcome(result.output, result)

        return run

    async def forks(self, task: Task, script: Script) -> Forks:
        del task, script
        raise UnsupportedError("it has no states to go back to")


if __name__ == "__main__":
    serve(_PydanticAi())
