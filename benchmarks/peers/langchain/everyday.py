"""LangChain, as the everyday cases measure it; checkpoints are those of InMemorySaver, which keeps all."""

from __future__ import annotations

import os

# Before the import: it would look for a place to send traces to.
os.environ["LANGSMITH_TRACING"] = "false"

from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumps, loads
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.peers.everyday import Result, Work, serve

_THREAD: Final = {"configurable": {"thread_id": "thread"}}


class _Model(BaseChatModel):
    steps: int
    chunks: int = 0
    calls: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> _Model:
        del tools, kwargs
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        del messages, args, kwargs
        self.calls += 1
        call = {"name": "look", "args": {"q": self.calls}, "id": f"call-{self.calls}", "type": "tool_call"}
        last = self.calls >= self.steps
        message = AIMessage("done") if last else AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])

    # Else it would be run in a thread.
    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate(messages, *args, **kwargs)

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        del messages, args, kwargs
        for _ in range(self.chunks):
            yield ChatGenerationChunk(message=AIMessageChunk(content="word "))


def _graph(steps: int, found: int = 10, saver: Any = None) -> Any:
    @tool
    async def look(q: int) -> str:
        """Look something up."""
        return f"found {q} ".ljust(found, "x")

    return create_agent(_Model(steps=steps), tools=[look], checkpointer=saver)


def _config(steps: int) -> Any:
    return {**_THREAD, "recursion_limit": 2 * steps + 2}


async def _finished(steps: int) -> list[BaseMessage]:
    ended = await _graph(steps).ainvoke({"messages": [HumanMessage("go")]}, _config(steps))
    messages: list[BaseMessage] = ended["messages"]
    return messages


class _LangChain:
    def run(self, steps: int, found: int, image: int) -> Work:
        graph = _graph(steps, found)
        picture = {"type": "image", "base64": "i" * (image * 4 // 3), "mime_type": "image/png"}
        content: Any = [{"type": "text", "text": "go"}, *([picture] if image else [])]

        async def work() -> Result:
            ended = await graph.ainvoke({"messages": [HumanMessage(content=content)]}, _config(steps))
            return Result(len(ended["messages"]))

        return work

    def stream(self, chunks: int) -> Work:
        graph = create_agent(_Model(steps=1, chunks=chunks), tools=[])

        async def work() -> Result:
            count = 0
            async for part, _ in graph.astream({"messages": [HumanMessage("go")]}, stream_mode="messages"):
                count += part.content == "word "
            return Result(count)

        return work

    async def save(self, steps: int) -> Work:
        messages = await _finished(steps)

        async def work() -> Result:
            return Result(len(messages), len(dumps(messages)))

        return work

    async def load(self, steps: int) -> Work:
        text = dumps(await _finished(steps))

        async def work() -> Result:
            return Result(len(loads(text, allowed_objects="core")), len(text))

        return work

    def checkpoints(self, steps: int) -> Work:
        saver = InMemorySaver()
        graph = _graph(steps, saver=saver)

        async def work() -> Result:
            ended = await graph.ainvoke({"messages": [HumanMessage("go")]}, _config(steps))
            kept = sum(len(blob[1]) for blob in saver.blobs.values())
            return Result(len(ended["messages"]), kept)

        return work


if __name__ == "__main__":
    serve(_LangChain())
