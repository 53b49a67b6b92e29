"""Signals that ask this process to end, as an exception that lets it report first what it has found.

Rule oracle.never-lost: a campaign that is interrupted still reports the disagreements that it has found.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

__all__ = ["Interrupted", "arrived", "interruptible", "reason"]

_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Interrupted(BaseException):
    """Raised where a signal arrives that asks the process to end; no `except Exception` stops it."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """The exit code that shells give a process that a signal ended."""
        return 128 + self.signum

    def __str__(self) -> str:
        return f"interrupted by {signal.Signals(self.signum).name}"


def reason(error: BaseException) -> str:
    """What stopped some work, as a line for people."""
    return str(error) if isinstance(error, Interrupted) else f"{type(error).__name__}: {error}"


# Process-wide, as signals are.
_arrived: Interrupted | None = None


def arrived() -> Interrupted | None:
    """The first signal that arrived in this block, for work that caught it to keep what it had."""
    return _arrived


def _raise(signum: int, _: FrameType | None) -> None:
    global _arrived  # noqa: PLW0603 - as above
    _arrived = _arrived or Interrupted(signum)
    raise Interrupted(signum)


@contextmanager
def interruptible() -> Iterator[None]:
    """Makes SIGINT, SIGTERM and SIGHUP raise Interrupted in this block, where `arrived` knows of them.

    A signal that the process was started to ignore stays ignored, as `nohup` needs it. Outside of the main
    thread, which alone may change handlers, nothing changes.
    """
    global _arrived  # noqa: PLW0603 - as above
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.getsignal(one) for one in _SIGNALS}
    # None is a handler that another language has put there, which Python could not put back.
    before = {one: old for one, old in before.items() if old not in (signal.SIG_IGN, None)}
    for one in before:
        signal.signal(one, _raise)
    try:
        yield
    finally:
        for one, old in before.items():
            signal.signal(one, old)
        _arrived = None
