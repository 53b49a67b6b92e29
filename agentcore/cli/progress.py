"""Shows how far a command has come: a bar in a terminal, lines where standard error is a file or a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from agentcore.cli.terminal import console, say

__all__ = ["Progressing", "progress"]


class Progressing(Protocol):
    """What a command tells how far it has come."""

    def update(self, what: str, done: int, total: int | None) -> None:
        """Shows how many things of a kind are done, and how many there are if that is known."""

    def stop(self) -> None:
        """Takes away what would be drawn into what is printed next."""


@contextmanager
def progress(
    *, every: float, ends: bool = False, clock: Callable[[], float] = time.monotonic
) -> Iterator[Progressing]:
    """Shows progress on standard error for as long as the block runs.

    Args:
        every: The least number of seconds between two lines where there is no terminal.
        ends: Whether a line is written when all of a kind are done, however quick they were. Only for what is
            no terminal: a bar goes away at the end.
        clock: The time in seconds.

    Yields:
        The bar, or what writes lines.
    """
    target = console(stderr=True)
    if not target.is_terminal:
        yield _Lines(target, clock, every=every, ends=ends)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=target, transient=True) as bar:
        yield _Bar(bar)


class _Bar:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, TaskID] = {}

    def update(self, what: str, done: int, total: int | None) -> None:
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(what, total=total)
        self._bar.update(self._tasks[what], completed=done)

    def stop(self) -> None:
        self._bar.stop()


class _Lines:
    def __init__(self, target: Console, clock: Callable[[], float], *, every: float, ends: bool) -> None:
        self._target = target
        self._clock = clock
        self._every = every
        self._ends = ends
        self._began = self._printed = clock()

    def update(self, what: str, done: int, total: int | None) -> None:
        now = self._clock()
        if now - self._printed < self._every and not (self._ends and done == total):
            return
        self._printed = now
        of = "" if total is None else f" of {total}"
        with suppress(OSError):
            say(self._target, f"{what}: {done}{of} after {now - self._began:.0f} s")

    def stop(self) -> None:
        """Lines are complete when they are written."""
