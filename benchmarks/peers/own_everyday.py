"""agentcore, as the everyday cases measure it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from agentcore import Agent, RunLog, UserMessage, tool
from agentcore.agent.models.base import ModelEvent, ModelRequest, ModelResponse, ResponseDone, TextDelta
from agentcore.messages.content import GeneratedText, ToolCall
from agentcore.messages.messages import ImagePart, TextPart
from agentcore.records.saved import from_json, to_json
from benchmarks.peers.everyday import Result, Work, serve


class _Model:
    provider = "scripted"
    model_id = "scripted"

    def __init__(self, steps: int, chunks: int = 0) -> None:
        self._steps = steps
        self._chunks = chunks
        self._calls = 0

    async def generate(self, request: ModelRequest) -> ModelResponse:
        del request
        self._calls += 1
        if self._calls >= self._steps:
            return ModelResponse([GeneratedText("done")], finish_reason="stop")
        call = ToolCall(tool_call_id=f"call-{self._calls}", tool_name="look", input={"q": self._calls})
        return ModelResponse([call], finish_reason="tool-calls")

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        del request
        yield self._events()

    async def _events(self) -> AsyncIterator[ModelEvent]:
        for _ in range(self._chunks):
            yield TextDelta("t", "word ")
        text = "word " * self._chunks
        yield ResponseDone(ModelResponse([GeneratedText(text)], finish_reason="stop"))


def _agent(steps: int, found: int = 10) -> Agent[Any, Any]:
    @tool
    async def look(q: int) -> str:
        """Look something up."""
        return f"found {q} ".ljust(found, "x")

    return Agent(_Model(steps), tools=[look], stop_when=())


class Own:
    """Our agent, as all are measured."""

    def run(self, steps: int, found: int, image: int) -> Work:
        """An agent's run."""
        agent = _agent(steps, found)
        picture = [ImagePart(b"i" * image, media_type="image/png")] if image else []
        messages = [UserMessage([TextPart("go"), *picture])]

        async def work() -> Result:
            result = await agent.generate(messages=messages)
            return Result(len(result.run.chains.step_input))

        return work

    def stream(self, chunks: int) -> Work:
        """An agent's stream, of whose events the text deltas are counted."""
        agent = Agent(_Model(1, chunks))

        async def work() -> Result:
            count = 0
            async with agent.stream("go") as stream:
                async for event in stream:
                    count += isinstance(event, TextDelta)
            return Result(count)

        return work

    async def save(self, steps: int) -> Work:
        """`to_json`, as text."""
        run = (await _agent(steps).generate("go")).run

        async def work() -> Result:
            text = json.dumps(to_json(run))
            return Result(len(run.chains.step_input), len(text))

        return work

    async def load(self, steps: int) -> Work:
        """`from_json` of that text."""
        run = (await _agent(steps).generate("go")).run
        text = json.dumps(to_json(run))

        async def work() -> Result:
            return Result(len(from_json(json.loads(text)).chains.step_input), len(text))

        return work

    def checkpoints(self, steps: int) -> Work:
        """A run whose checkpoint is a RunLog, on the disk."""
        agent = _agent(steps)

        async def work() -> Result:
            with TemporaryDirectory() as folder:
                file = Path(folder, "run.jsonl")
                result = await agent.generate("go", checkpoint=RunLog(file))
                size = await anyio.Path(file).stat()
                return Result(len(result.run.chains.step_input), size.st_size)

        return work


if __name__ == "__main__":
    serve(Own())
