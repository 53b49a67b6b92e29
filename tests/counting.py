"""Work as counts of calls and of bytes, so that tests of growth depend on no clock and no other program."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

_T = TypeVar("_T")


def calls_of(work: Callable[[], object]) -> int:
    """How many functions the work calls, those in C included."""
    count = 0

    def note(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def growth(work: Callable[[_T], object], of: Callable[[int], _T], size: int) -> float:
    """By how much the calls grow when the size is doubled: 2 for what is linear, 4 for what is quadratic.

    `of` makes what the work is done on, of a size; making it is not counted.
    """
    small, large = of(size), of(2 * size)
    return calls_of(lambda: work(large)) / calls_of(lambda: work(small))


def bytes_of(work: Callable[[], object]) -> int:
    """How many bytes the work holds at once, at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
