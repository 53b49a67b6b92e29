"""Ends a campaign: by counts, program by program in the order of the seeds, or at a signal.

Rule oracle.order-of-seeds: that order, and not the one in which workers finish, decides what a campaign is.
So it ends at the same program, with the same findings, however many workers it has.
"""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    # The command imports this module whatever it runs, for signals.
    from agentcore.oracle.campaign.verdicts import Kind

__all__ = ["FRUITLESS", "Interrupted", "Limits", "Tally", "arrived", "interruptible", "reason"]

FRUITLESS: Final = 10_000
"""So many programs in a row that are left out end a campaign: what is asked for hardly occurs."""


_ANSWERED: Final = frozenset({"agreed", "unsupported", "wrong"})
_REASONS: Final = 100


@attrs.frozen(kw_only=True)
class Limits:
    """The limits that end a campaign.

    It ends after so many `programs`, those left out not counted (None: as many as the time allows); as soon
    as so many kinds of `findings` were seen, driver failures not counted; and after so many `failures` of the
    driver.
    """

    programs: int | None = None
    findings: int = 1
    failures: int = 3


class Tally:
    """Programs counted by kind until a limit is reached; `ended` then says which.

    `replayed` are counted apart: with `counts`, they are of kinds and they fail, but do not add to how many
    programs there are to be.
    """

    def __init__(self, limits: Limits) -> None:
        self.counts: Counter[Kind] = Counter()
        self.replayed: Counter[Kind] = Counter()
        self.ended: str | None = None
        self._outcomes: Counter[str] = Counter()
        self._limits = limits
        self._kinds = 0
        self._failures = 0
        self._fruitless = 0

    @property
    def run(self) -> int:
        """Counts the programs that were not left out, replayed ones excluded."""
        return self.counts.total() - self.having("left out")

    @property
    def has_answers(self) -> bool:
        """True if the driver answered any program, rightly or wrongly."""
        return any(kind.outcome in _ANSWERED for kind in (*self.counts, *self.replayed))

    def having(self, outcome: str) -> int:
        """Counts the programs with this outcome, replayed ones excluded."""
        return self._outcomes[outcome]

    def of(self, kind: Kind) -> int:
        """Counts the programs of this kind."""
        return self.counts[kind] + self.replayed[kind]

    def add(self, kind: Kind, *, replayed: bool = False) -> None:
        """Counts a program."""
        if kind.of_driver:
            self._failures += 1
        elif kind.is_fault and not self.of(kind):
            self._kinds += 1
        counts = self.replayed if replayed else self.counts
        counts[self._counted(kind, counts)] += 1
        if not replayed:
            self._outcomes[kind.outcome] += 1
        self._fruitless = self._fruitless + 1 if kind.outcome == "left out" else 0
        self.ended = self._end()

    @staticmethod
    def _counted(kind: Kind, counts: Counter[Kind]) -> Kind:
        """The kind, or that of all others where a driver has a reason of its own for each program."""
        # A driver may word its reason for each program: a million of them would fill memory, and no report
        # would be read.
        if kind.is_fault or not kind.where or kind in counts or len(counts) < _REASONS:
            return kind
        return attrs.evolve(kind, where="other reasons", hook="", op="")

    def _end(self) -> str | None:
        limits = self._limits
        if self._kinds >= limits.findings:
            return "findings"
        if self._failures >= limits.failures:
            return "failures"
        if self._fruitless >= FRUITLESS:
            return "nothing fits"
        if limits.programs is not None and self.run >= limits.programs:
            return "programs"
        return None


# Signals that ask this process to end, as an exception that lets it report first what it has found.
#
# Rule oracle.never-lost: a campaign that is interrupted still reports the disagreements that it has found.

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
    """Describes, in a line for people, what stopped some work."""
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
