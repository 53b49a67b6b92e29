"""Dates and drawn ids, as a run makes them.

Mastra orders messages by dates of a millisecond. A real clock makes that order a matter of luck; here time
stands still but for what a model call takes, so the order is what the rules of the list make of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from agentcore.heap.heap import DateCell, HeapTypeError, Ref, Store, Value
from agentcore.heap.js import get

_START: Final = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp() * 1000)
THINKING: Final = 15
"""How many milliseconds a model call takes: more than a step makes messages."""

_MOMENT: Final = 2


class Clock:
    """The time of a run, and the ids that it draws."""

    def __init__(self) -> None:
        self.now = _START
        self._drawn = 0

    def think(self) -> None:
        """Lets the time of a model call pass."""
        self.now += THINKING

    def pass_by(self, dates: Iterable[float]) -> None:
        """Lets a little time pass, and what was dated ahead: messages that came at once are a tick apart."""
        ahead = (time for time in dates if time < self.now + THINKING)
        self.now = int(max(self.now, *ahead, 0)) + _MOMENT

    def draw_id(self) -> str:
        """An id that no message has."""
        self._drawn += 1
        return f"00000000-0000-4000-8000-{self._drawn:012x}"


def date(store: Store, time: int) -> Ref:
    """A new date."""
    return store.object({"time": time}, DateCell)


def is_date(store: Store, value: Value) -> bool:
    """Whether a value is a date."""
    return type(value) is Ref and type(store.cells[value.address]) is DateCell


def invalid_date(store: Store) -> Ref:
    """A date that is no time, as `new Date(undefined)` is."""
    return store.object({"time": math.nan}, DateCell)


def time_of(store: Store, value: Value) -> float:
    """`value.getTime()`: a whole number, or NaN for a date that is no time.

    Raises:
        HeapTypeError: if the value is no date.
    """
    if is_date(store, value):
        return get(store, value, "time")  # type: ignore[return-value]  # dates are made with a number
    get(store, value, "getTime")
    raise HeapTypeError("getTime is not a function")


def parsed(text: str) -> int:
    """The moment that an ISO text names, in milliseconds since 1970."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)
