"""LangGraph's AsyncPostgresSaver under a graph of MessagesState, with its pool of connections.

A turn is one invocation of a graph with one node, which answers with the call, the result and the answer. A
graph of a model and its tools writes a checkpoint for each of them, so this is the least that a turn takes.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from benchmarks.peers.keeping import CONNECTIONS, Texts, serve


class _LangGraph:
    async def open(self, url: str) -> None:
        self._pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
            url,
            min_size=CONNECTIONS,
            max_size=CONNECTIONS,
            open=False,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        )
        await self._pool.open(wait=True)
        saver = AsyncPostgresSaver(self._pool)
        await saver.setup()

        async def answer(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            del state
            texts: Texts = config["configurable"]["texts"]
            call = {"name": "weather", "args": {"city": "Rome", "days": [1, 2, 3]}, "id": "c"}
            return {
                "messages": [
                    AIMessage("", tool_calls=[call]),
                    ToolMessage(texts.found, tool_call_id="c"),
                    AIMessage(texts.answer),
                ]
            }

        graph = StateGraph(MessagesState)
        graph.add_node("answer", answer)
        graph.add_edge(START, "answer")
        graph.add_edge("answer", END)
        self._graph = graph.compile(checkpointer=saver)

    async def append(self, conversation: str, texts: Texts) -> None:
        await self._graph.ainvoke(
            {"messages": [HumanMessage(texts.question)]},
            {"configurable": {"thread_id": conversation, "texts": texts}},
        )

    async def load(self, conversation: str) -> list[str]:
        state = await self._graph.aget_state({"configurable": {"thread_id": conversation}})
        return [str(message.content) for message in state.values.get("messages", [])]

    async def close(self) -> None:
        await self._pool.close()


if __name__ == "__main__":
    serve(_LangGraph())
