"""One value of one cell, taken by pyperf: `python -m benchmarks.timed --cell ... --append FILE`.

pyperf starts a worker process for it, which starts the peer; the peer reads the clock.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Protocol

import pyperf

from benchmarks.asking import Asking
from benchmarks.cells import CASES, Cell
from benchmarks.oracle import CheckClock, TraceClock


class _Clock(Protocol):
    def __call__(self, loops: int, /) -> float: ...

    def close(self) -> None: ...


class _PeerClock:
    """What counts of the cell, summed over so many runs; the first call starts and warms up the peer."""

    def __init__(self, cell: Cell, limit: float, warm_up: float) -> None:
        self._cell = cell
        self._limit = limit
        self._warm_up = warm_up
        self._asking: Asking | None = None

    def __call__(self, loops: int) -> float:
        if self._asking is None:
            self._asking = Asking(self._cell.loop, self._limit)
            self._asking.warm_up(self._cell, self._warm_up)
        return CASES[self._cell.case].total(self._asking.answer(self._cell, loops))

    def close(self) -> None:
        if self._asking is not None:
            self._asking.close()


def _clock(cell: Cell, limit: float, warm_up: float) -> _Clock:
    if CASES[cell.case].measure != "oracle":
        return _PeerClock(cell, limit, warm_up)
    return TraceClock(cell) if cell.case == "trace" else CheckClock(cell)


def _parts(cell: Cell) -> int:
    case = CASES[cell.case]
    # Of the oracle's cases, a loop is a program.
    return 1 if case.measure == "oracle" else case.parts(cell)


def _pass_on(argv: list[str], args: Namespace) -> None:
    argv.extend(["--cell", args.cell, "--limit", str(args.limit), "--warm-up", str(args.warm_up)])


def main() -> None:
    """Take the value, as pyperf's own arguments say."""
    runner = pyperf.Runner(program_args=("-m", "benchmarks.timed"), add_cmdline_args=_pass_on)
    runner.argparser.add_argument("--cell", required=True)
    runner.argparser.add_argument("--limit", type=float, required=True)
    runner.argparser.add_argument("--warm-up", type=float, required=True)
    args = runner.parse_args()
    cell = Cell.loads(args.cell)
    clock = _clock(cell, args.limit, args.warm_up)
    try:
        runner.bench_time_func(cell.name, clock, inner_loops=_parts(cell), metadata=cell.metadata)
    finally:
        clock.close()


if __name__ == "__main__":
    main()
