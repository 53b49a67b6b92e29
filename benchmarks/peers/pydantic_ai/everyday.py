"""pydantic-ai, as the everyday cases measure it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from pydantic_ai import Agent, BinaryContent, UsageLimits
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from benchmarks.peers.everyday import Result, UnsupportedError, Work, serve

_LIMITS: Final = UsageLimits(request_limit=None)


def _agent(steps: int, found: int = 10) -> Agent[None, str]:
    calls = 0

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        del messages, info
        nonlocal calls
        calls += 1
        if calls >= steps:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("look", {"q": calls}, tool_call_id=f"call-{calls}")])

    agent = Agent(FunctionModel(answer))

    @agent.tool_plain
    async def look(q: int) -> str:
        """Look something up."""
        return f"found {q} ".ljust(found, "x")

    return agent


class _PydanticAi:
    def run(self, steps: int, found: int, image: int) -> Work:
        agent = _agent(steps, found)
        prompt: Any = ["go", *([BinaryContent(b"i" * image, media_type="image/png")] if image else [])]

        async def work() -> Result:
            result = await agent.run(prompt, usage_limits=_LIMITS)
            return Result(len(result.all_messages()))

        return work

    def stream(self, chunks: int) -> Work:
        async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
            del messages, info
            for _ in range(chunks):
                yield "word "

        agent = Agent(FunctionModel(stream_function=answer))

        async def work() -> Result:
            async with agent.run_stream("go") as result:
                count = sum([1 async for _ in result.stream_text(delta=True, debounce_by=None)])
            return Result(count)

        return work

    async def save(self, steps: int) -> Work:
        result = await _agent(steps).run("go", usage_limits=_LIMITS)

        async def work() -> Result:
            text = result.all_messages_json()
            return Result(len(result.all_messages()), len(text))

        return work

    async def load(self, steps: int) -> Work:
        text = (await _agent(steps).run("go", usage_limits=_LIMITS)).all_messages_json()

        async def work() -> Result:
            return Result(len(ModelMessagesTypeAdapter.validate_json(text)), len(text))

        return work

    def checkpoints(self, steps: int) -> Work:  # noqa: ARG002 - of the protocol
        raise UnsupportedError("it keeps no steps by itself")


if __name__ == "__main__":
    serve(_PydanticAi())
