"""Randomness, ids and clocks that follow from a seed, so that two runs of a hook draw the same."""

from __future__ import annotations

import datetime as dt
import os
import random
import sys
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

__all__ = ["EPOCH", "clocked", "seeded"]

EPOCH: Final = 1_750_000_000.0
"""The time at which each run begins, for whoever asks the clock of a check."""
_TICK: Final = 0.001
# An id of the hook's own must not be one of the framework's: it would take a message for another.
_APART: Final = 1 << 40
_UTC: Final = dt.timezone.utc  # noqa: UP017 - the hook's interpreter may be older than the alias


class _Source:
    """A source of ids and times for the current run: one for the person's modules, one for all others.

    A framework that keeps something of its last run, as a maker of ids in the order of time does, draws
    another number of times in the next; the hook must not notice.
    """

    def __init__(self) -> None:
        self.random = random.Random(0)  # noqa: S311 - the same in two runs is the point
        self.ticks = 0

    def restart(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - as above
        self.ticks = 0

    def now(self) -> float:
        self.ticks += 1
        return EPOCH + self.ticks * _TICK


_OWN: Final = _Source()
_OTHERS: Final = _Source()
# Frames of these modules are passed over: they draw for whoever called them.
_BETWEEN: Final = frozenset({"uuid", "random", "secrets", "datetime", __name__})


@contextmanager
def seeded(seed: int, is_own: Callable[[str], bool] = lambda _: True) -> Iterator[None]:
    """Makes `random`, `os.urandom` (and so uuid4), `time.time` and `clocked` follow from a seed in the block.

    `time.monotonic` goes on, since event loops wait by it. `secrets` draws from the system all the same: a
    hook that uses it is found to be undetermined.

    Args:
        seed: what they follow from.
        is_own: whether a file is the person's.
    """

    def source() -> _Source:
        frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 - who asks is the point
        while frame is not None and frame.f_globals.get("__name__") in _BETWEEN:
            frame = frame.f_back
        return _OWN if frame is not None and is_own(frame.f_code.co_filename) else _OTHERS

    def urandom(size: int) -> bytes:
        return source().random.randbytes(size)

    _OWN.restart(seed)
    _OTHERS.restart(seed + _APART)
    before = os.urandom, time.time, time.time_ns, random.getstate()
    random.seed(seed)
    os.urandom = urandom
    time.time = lambda: source().now()
    time.time_ns = lambda: int(source().now() * 1e9)
    try:
        yield
    finally:
        os.urandom, time.time, time.time_ns = before[:3]
        random.setstate(before[3])


class _Type(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.__mro__[1])

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.__mro__[1])


class _DateTime(dt.datetime, metaclass=_Type):
    """`datetime` whose present is that of the run; makes instances of the class of Python."""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return dt.datetime(*args, **options)  # noqa: DTZ001 - the person's own arguments

    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> Any:
        return dt.datetime.fromtimestamp(_OWN.now(), tz)

    @classmethod
    def utcnow(cls) -> Any:
        return dt.datetime.fromtimestamp(_OWN.now(), _UTC).replace(tzinfo=None)

    @classmethod
    def today(cls) -> Any:
        return cls.now()


class _Date(dt.date, metaclass=_Type):
    """`date`, likewise."""

    def __new__(cls, *args: Any, **options: Any) -> Any:
        return dt.date(*args, **options)

    @classmethod
    def today(cls) -> Any:
        return dt.datetime.fromtimestamp(_OWN.now(), _UTC).date()


def _module() -> types.ModuleType:
    made = types.ModuleType("datetime")
    made.__dict__.update(vars(dt), datetime=_DateTime, date=_Date)
    return made


_CLOCKS: Final[dict[int, Any]] = {id(dt.datetime): _DateTime, id(dt.date): _Date, id(dt): _module()}


def clocked(module: types.ModuleType) -> None:
    """Gives a module of the person's own the clock of the run, in place of the `datetime` it imported.

    The class itself cannot be patched, and replacing it for everybody would break the packages that compare
    it.
    """
    names = vars(module)
    for name, value in [*names.items()]:
        if id(value) in _CLOCKS:
            names[name] = _CLOCKS[id(value)]
        elif value is _TIME:
            names[name] = lambda: time.time()  # noqa: PLW0108 - looked up when it is called


_TIME: Final = time.time
