"""What a stream says of an answer that is to be JSON, before it is whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pydantic_core import from_json

from agentcore.agent.events import ChunkEvent, PartDone, PartialObject, TextDelta
from agentcore.messages.content import ContentPart, GeneratedText
from agentcore.messages.values import freeze, strict_key

__all__ = ["PartialObjects"]

# The text is read again when it has grown by one part in so many: all readings of a text of n characters
# have at most about 20 n characters, where one reading a delta would have n squared.
_GROWTH: Final = 20


class PartialObjects:
    """The partial objects of one step (rule output.partial)."""

    def __init__(self, step_number: int) -> None:
        self._step_number = step_number
        # Of the parts that are done, then of the one that is going on.
        self._done: list[str] = []
        self._deltas: list[str] = []
        self._done_length = self._length = 0
        self._read_at = 0
        self._key: str | None = None

    def after(self, event: ChunkEvent) -> PartialObject | None:
        """Takes an event of the stream; returns the partial object if it is another one now."""
        if isinstance(event, TextDelta):
            self._deltas.append(event.text)
            self._length += len(event.text)
        elif isinstance(event, PartDone) and isinstance(event.part, GeneratedText):
            # The part says what its text is, whatever deltas there were.
            self._done.append(event.part.text)
            self._done_length += len(event.part.text)
            self._deltas.clear()
            self._length = self._done_length
        is_due = self._length > self._read_at + self._read_at // _GROWTH
        return self._changed("".join((*self._done, *self._deltas))) if is_due else None

    def ended(self, content: Iterable[ContentPart]) -> PartialObject | None:
        """Takes the whole answer; returns its object if no event has had that yet."""
        return self._changed("".join(part.text for part in content if isinstance(part, GeneratedText)))

    def _changed(self, text: str) -> PartialObject | None:
        self._read_at = len(text)
        try:
            value = freeze(_read(text))
        except (TypeError, ValueError):  # no JSON so far, or half a surrogate pair: the whole answer decides
            return None
        key = strict_key(value)
        if key == self._key:
            return None
        self._key = key
        return PartialObject(self._step_number, value)


def _read(text: str) -> Any:
    # Texts and names that are not complete are left out, and so is a number that cannot end there.
    return from_json(text, allow_inf_nan=False, allow_partial=True)
