"""Asking a peer for a cell: its answer counts only if the run did what it was to do."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Final, Self

import attrs

from agentcore.oracle.drivers.driver import Answer, Crashed, Driver, Hung, Malformed
from benchmarks.cells import CASES, Cell, Json, expected, request
from benchmarks.install import command, environment
from benchmarks.loops import LOOPS

# For starting a peer, preparing a run and one step of it: the peer itself looks at the limit at each step.
_PREPARATION: Final = 30.0
_WARM_HISTORY: Final = 100
_WARM_STEPS: Final = 10
_WARM_RUNS: Final = 10


class NoValueError(Exception):
    """The cell has no value; the text says why."""


class OverLimitError(NoValueError):
    """The loop took longer than it may."""


class Asking:
    """A peer that runs, to be asked for cells of one loop; each of its runs may take `limit` seconds."""

    def __init__(self, loop: str, limit: float) -> None:
        self._limit = limit
        self._warm: set[tuple[int, bool, bool, bool]] = set()
        self._driver = Driver(
            command(LOOPS[loop].peer),
            time_limit=limit + _PREPARATION,
            trace_fields=(),
            env=environment(),
            # What a peer is asked are no programs.
            handshake=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the peer."""
        self._driver.close()

    def answer(self, cell: Cell, runs: int = 1) -> Json:
        """The answer, of so many runs. Raises NoValueError."""
        answer = self._asked(cell, runs)
        if CASES[cell.case].measure == "time" and max(answer["seconds"]) > self._limit:
            raise self._over_limit()
        if answer["check"] != expected(cell):
            raise NoValueError(f"it did {answer['check']} and not {expected(cell)}")
        return answer

    def warm_up(self, cell: Cell, seconds: float) -> None:
        """Small runs of the same kind for at least so long: compilers have compiled, imports are made.

        Once for each kind, as long as the peer lives. Raises NoValueError.
        """
        small = attrs.evolve(
            cell, history=min(cell.history, _WARM_HISTORY), steps=min(cell.steps, _WARM_STEPS)
        )
        case = CASES[cell.case]
        kind = (self._driver.starts, case.override, case.keep, case.handler)
        begun = time.monotonic()
        while kind not in self._warm and time.monotonic() - begun < seconds:
            self.answer(small, _WARM_RUNS)
        # The first run may have started the peer.
        self._warm.add((self._driver.starts, *kind[1:]))

    def _asked(self, cell: Cell, runs: int) -> Json:
        match self._driver.run({**request(cell, runs), "limit": self._limit}):
            case Answer({"over": _}) | Hung():
                raise self._over_limit()
            case Answer({"check": _} as answer):
                return dict(answer)
            case Answer({"failed": reason}):
                raise NoValueError(reason)
            case Crashed() | Malformed() as failure:
                raise NoValueError(f"{failure.reason}: {failure.stderr[-500:]}")
            case Answer(answer):
                raise NoValueError(f"it answered {answer}")
            case other:
                raise NoValueError(other.reason)

    def _over_limit(self) -> OverLimitError:
        return OverLimitError(f"over the limit of {self._limit:g} s")
