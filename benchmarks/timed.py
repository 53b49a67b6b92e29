"""One round: a value of each cell, taken by a worker of pyperf's: `python -m benchmarks.timed` reads its job.

Peers live as long as the round, and read the clock. Those whose memory is read are started for it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import attrs
import pyperf

from benchmarks.asking import Asking, NoValueError, OverLimitError
from benchmarks.bodies import BodyClock
from benchmarks.cells import CASES, Cell, Json
from benchmarks.guards import GuardClock
from benchmarks.oracle import CheckClock, TraceClock
from benchmarks.results import Results
from benchmarks.rounds import Plan, contains

Clock = Callable[[int], float]

# No clock is read for memory, so as many processes may be at it as there are processors on a small machine.
_AT_ONCE: Final = 2
_WORKER: Final = ("--worker", "--loops", "1", "--warmups", "0", "--values", "1")


@attrs.frozen(kw_only=True)
class Job:
    """What a round does."""

    results: Results
    number: int
    plans: Mapping[Cell, Plan]
    limit: float
    memory_limit: float
    warm_up: float

    @classmethod
    def loads(cls, text: str) -> Job:
        """From the text that is read."""
        job = json.loads(text)
        limit, memory_limit = job["limits"]
        return cls(
            results=Results(Path(job["folder"])),
            number=job["number"],
            plans={Cell(**each["cell"]): Plan(**each["plan"]) for each in job["cells"]},
            limit=limit,
            memory_limit=memory_limit,
            warm_up=job["warm_up"],
        )

    def cells(self, *, memory: bool) -> Iterable[Cell]:
        """Those whose memory is read, or the others; without those that turned out to be over the limit."""
        over = "over the limit"
        return (
            cell
            for cell in self.plans
            if (CASES[cell.case].unit == "byte") is memory and over not in (self.results.reason(cell) or "")
        )


class Peers:
    """The peers of a round, started when they are asked first."""

    def __init__(self, job: Job, stack: ExitStack) -> None:
        self._job = job
        self._stack = stack
        self._asking: dict[str, Asking] = {}
        self._answers: dict[tuple[object, ...], Json] = {}

    def clock(self, cell: Cell) -> Clock:
        """What counts of the cell, summed over so many runs. Raises NoValueError, as does what it gives."""
        total = CASES[cell.case].total
        known = self._answers.get(cell.shape)
        if known is not None:
            return lambda _: total(known)
        asking = self._of(cell.loop)
        if CASES[cell.case].measure == "time":
            asking.warm_up(cell, self._job.warm_up)

        def asked(loops: int) -> float:
            answer = self._answers[cell.shape] = asking.answer(cell, loops)
            return total(answer)

        return asked

    def _of(self, loop: str) -> Asking:
        if loop not in self._asking:
            # Twice what it may take when it is tried: a value is not lost because the machine was busy.
            self._asking[loop] = self._stack.enter_context(Asking(loop, 2 * self._job.limit))
        return self._asking[loop]


class Memories:
    """Memory of cells, each in a process of its own."""

    def __init__(self, job: Job, pool: ThreadPoolExecutor) -> None:
        self._limit = job.memory_limit
        self._over: list[Cell] = []
        self._bytes: dict[Cell, Future[float]] = {
            cell: pool.submit(self._asked, cell) for cell in sorted(job.cells(memory=True), key=_size)
        }

    def clock(self, cell: Cell) -> Clock:
        """The bytes, once they are known."""
        return lambda _: self._bytes[cell].result()

    def _asked(self, cell: Cell) -> float:
        if any(contains(cell, other) for other in self._over):
            raise OverLimitError("not tried: a smaller one was over the limit")
        with Asking(cell.loop, self._limit) as asking:
            try:
                return CASES[cell.case].total(asking.answer(cell))
            except OverLimitError:
                self._over.append(cell)
                raise


def _size(cell: Cell) -> tuple[int, int]:
    return cell.steps, cell.history


class Oracles:
    """Clocks of the oracle's cases; a check and our part of it are of the same programs."""

    def __init__(self) -> None:
        self._checks: dict[str, CheckClock] = {}

    def clock(self, cell: Cell) -> Clock:
        """The clock of the cell."""
        if cell.case == "trace":
            return TraceClock(cell.loop)
        check = self._checks.setdefault(cell.loop, CheckClock(cell.loop))
        return check.ours if cell.case == "check, ours" else check.whole


# ---------------------------------------------------------------- a round


class Round:
    """Takes values and stores them."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._runner: Any = pyperf.Runner()
        self._runner.parse_args(list(_WORKER))

    def take(self, cell: Cell, clock: Callable[[Cell], Clock]) -> None:
        """The value of the cell; if there is none, it is noted why."""
        plan, case = self._job.plans[cell], CASES[cell.case]
        # Of the oracle's cases, a loop is a program.
        parts = 1 if case.measure == "oracle" else case.parts(cell)
        self._runner.args.loops, self._runner.args.warmups = plan.loops, plan.warmups
        try:
            benchmark = self._runner.bench_time_func(
                cell.name, clock(cell), inner_loops=parts, metadata=cell.metadata
            )
        except (NoValueError, ValueError) as error:
            self._job.results.without(cell, str(error))
        else:
            self._job.results.add(cell, self._job.number, benchmark)

    def run(self) -> None:
        """All of the round."""
        oracles = Oracles()
        with ExitStack() as stack:
            peers = Peers(self._job, stack)
            clocks: dict[str, Callable[[Cell], Clock]] = {
                "oracle": oracles.clock,
                "body": BodyClock,
                "guard": GuardClock,
            }
            for cell in self._job.cells(memory=False):
                _say(self._job.number, cell)
                self.take(cell, clocks.get(CASES[cell.case].measure, peers.clock))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            memories = Memories(self._job, pool)
            for cell in sorted(self._job.cells(memory=True), key=_size):
                _say(self._job.number, cell)
                self.take(cell, memories.clock)


def _say(number: int, cell: Cell) -> None:
    sys.stderr.write(f"round {number}: {cell.name}\n")


if __name__ == "__main__":
    Round(Job.loads(sys.stdin.read())).run()
