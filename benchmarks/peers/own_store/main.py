"""agentcore's SqlStore: one append a turn, to the head that was read."""

from __future__ import annotations

from agentcore.conversations.conversation import Turn, TurnMessage, new_id
from agentcore.conversations.sql import SqlStore
from agentcore.messages.messages import (
    AssistantMessage,
    Message,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from benchmarks.peers.keeping import CONNECTIONS, Texts, serve


class Own:
    """Our store, as all are measured."""

    def __init__(self) -> None:
        self._heads: dict[str, str | None] = {}

    async def open(self, url: str) -> None:
        """Connect, and make the tables."""
        self._store = SqlStore(url, connections=CONNECTIONS)
        await self._store.migrate()

    async def append(self, conversation: str, texts: Texts) -> None:
        """Keep one turn, after the head that was read last."""
        turn = _turn(texts, self._heads.get(conversation))
        await self._store.append(conversation, turn.parent, turn)
        self._heads[conversation] = turn.id

    async def load(self, conversation: str) -> list[str]:
        """The texts of its messages."""
        loaded = await self._store.load(conversation)
        self._heads[conversation] = loaded.head
        return [_text(message) for message in loaded.messages]

    async def close(self) -> None:
        """Close the connections."""
        await self._store.aclose()


def _turn(texts: Texts, parent: str | None) -> Turn:
    call = ToolCallPart("c", "weather", input={"city": "Rome", "days": [1, 2, 3]})
    messages: list[Message] = [
        UserMessage(texts.question),
        AssistantMessage([call]),
        ToolMessage([ToolResultPart("c", "weather", output=TextOutput(texts.found))]),
        AssistantMessage([TextPart(texts.answer)]),
    ]
    name = new_id()
    return Turn(
        id=name,
        parent=parent,
        messages=[
            TurnMessage(
                id=f"{name}-{place}",
                turn=name,
                message=message,
                given_by="run" if place else "caller",
                step=place // 3 if place else None,
            )
            for place, message in enumerate(messages)
        ],
    )


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    (part,) = message.content
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, ToolResultPart) and isinstance(part.output, TextOutput):
        return part.output.value
    return ""


if __name__ == "__main__":
    serve(Own())
