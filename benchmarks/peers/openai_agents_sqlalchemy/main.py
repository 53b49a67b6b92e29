"""The OpenAI Agents SDK's SQLAlchemySession: the items of a turn are added in one call."""

from __future__ import annotations

from typing import Any

from agents.extensions.memory import SQLAlchemySession
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.peers.keeping import CONNECTIONS, Texts, serve


def _text(item: Any) -> str:
    if item.get("type") == "function_call_output":
        return str(item["output"])
    content = item.get("content", "")
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class _OpenAiAgents:
    async def open(self, url: str) -> None:
        # Through asyncpg, as its documentation shows.
        self._engine = create_async_engine(
            url.replace("postgresql:", "postgresql+asyncpg:", 1), pool_size=CONNECTIONS, max_overflow=0
        )

    def _session(self, conversation: str) -> SQLAlchemySession:
        return SQLAlchemySession(conversation, engine=self._engine, create_tables=True)

    async def append(self, conversation: str, texts: Texts) -> None:
        call = {"type": "function_call", "call_id": "c", "name": "weather"}
        items: list[Any] = [
            {"role": "user", "content": texts.question},
            {**call, "arguments": '{"city": "Rome", "days": [1, 2, 3]}'},
            {"type": "function_call_output", "call_id": "c", "output": texts.found},
            {
                "type": "message",
                "id": "m",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": texts.answer, "annotations": []}],
            },
        ]
        await self._session(conversation).add_items(items)

    async def load(self, conversation: str) -> list[str]:
        return [_text(item) for item in await self._session(conversation).get_items()]

    async def close(self) -> None:
        await self._engine.dispose()


if __name__ == "__main__":
    serve(_OpenAiAgents())
