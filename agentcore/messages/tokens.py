"""How many tokens messages take, by an estimate that is made once for each message.

A hook that decides by tokens whether to compact is asked at every step about a history that has hardly
changed. So a count is remembered by message value, and of a vector that grew from the one counted before
only what is new is looked at: the structure is shared, and told apart as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import ceil
from typing import Final

from agentcore.messages.messages import FilePart, ImagePart, Message
from agentcore.messages.values import Vector, following
from agentcore.messages.wire import messages_to_json

__all__ = ["TokenCounter", "estimate_tokens"]

_CHARACTERS: Final = 4
_PER_MESSAGE: Final = 4
_PER_FILE: Final = 1_000
_REMEMBERED: Final = 100_000


def estimate_tokens(message: Message) -> int:
    """Returns about how many tokens a message takes, without a tokenizer.

    A quarter of the characters of its JSON, four for the message itself, and a thousand for each image or
    file, whose price depends on the provider. For exact numbers give TokenCounter the provider's tokenizer.
    """
    parts = () if isinstance(message.content, str) else message.content
    files = [part for part in parts if isinstance(part, FilePart | ImagePart)]
    if files:
        text = "".join(getattr(part, "text", "") for part in parts)
        return _PER_MESSAGE + ceil(len(text) / _CHARACTERS) + _PER_FILE * len(files)
    return _PER_MESSAGE + ceil(len(messages_to_json([message])) / _CHARACTERS)


class TokenCounter:
    """Counts the tokens of messages, each message value once.

    Args:
        count: how many tokens one message takes; asked once for each of the last 100,000 message values.

    A counter is a memory, and no value: make one beside the hook that uses it.
    """

    def __init__(self, count: Callable[[Message], int] = estimate_tokens) -> None:
        self._count = lru_cache(maxsize=_REMEMBERED)(count)
        self._last: tuple[Vector[Message], int] | None = None

    def of(self, message: Message) -> int:
        """Returns the tokens of one message."""
        return self._count(message)

    def __call__(self, messages: Iterable[Message]) -> int:
        """Returns the tokens of messages together; counts what is new of a vector that grew from the last."""
        if not isinstance(messages, Vector):
            return sum(map(self.of, messages))
        total = self._grown(messages)
        if total is None:
            total = sum(map(self.of, messages))
        self._last = (messages, total)
        return total

    def _grown(self, messages: Vector[Message]) -> int | None:
        if self._last is None:
            return None
        counted, total = self._last
        new = following(messages, counted)
        return None if new is None else total + sum(map(self.of, new))
