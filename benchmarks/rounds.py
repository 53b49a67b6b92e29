"""Cells are tried once, then timed in rounds: each takes a value of every cell, ours and peers' by turns."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from agentcore.oracle import targets
from benchmarks.asking import Asking, NoValueError, OverLimitError
from benchmarks.cells import CASES, ORACLE, Cell
from benchmarks.install import ROOT, InstallError
from benchmarks.results import Results

# What a worker may need from here; pyperf starts it with little else.
_INHERITED: Final = "AGENTCORE_CACHE,XDG_CACHE_HOME,PYTHONPATH"
_OVER_A_SMALLER: Final = "not tried: a smaller one was over the limit"


@attrs.frozen(kw_only=True)
class Effort:
    """How much time goes into what.

    A run may take `limit` seconds. A value is of so many runs that they take about
    `value` seconds, after `warm_up` seconds of small ones and, unless one takes `long`, as many like them.
    Values of the oracle's cases are of `programs`.
    """

    rounds: int = 5
    limit: float = 20.0
    value: float = 0.2
    warm_up: float = 1.0
    long: float = 2.0
    programs: int = 2_000


QUICK: Final = Effort(rounds=1, limit=10.0, value=0.02, warm_up=0.1, programs=100)


@attrs.frozen
class Plan:
    """How a value of a cell is taken."""

    loops: int
    warmups: int


def tried(
    cells: Sequence[Cell], effort: Effort, results: Results, say: Callable[[str], None]
) -> dict[Cell, Plan]:
    """The cells that can be timed; of the others it is noted why not."""
    plans: dict[Cell, Plan] = {}
    for loop in dict.fromkeys(cell.loop for cell in cells):
        say(f"trying {loop}")
        # Small ones first, so that what is over the limit is known before it is waited for again.
        mine = sorted(
            (cell for cell in cells if cell.loop == loop), key=lambda cell: (cell.history, cell.steps)
        )
        for cell, plan in _plans(loop, mine, effort):
            if isinstance(plan, Plan):
                plans[cell] = plan
            else:
                say(f"  {cell.name}: {plan}")
                results.without(cell, plan)
    return {cell: plans[cell] for cell in cells if cell in plans}


def _plans(loop: str, cells: Sequence[Cell], effort: Effort) -> Iterator[tuple[Cell, Plan | str]]:
    if loop in ORACLE:
        yield from _oracle_plans(loop, cells, effort)
        return
    try:
        asking = Asking(loop, effort.limit)
    except InstallError as error:
        yield from ((cell, f"not installed: {error}") for cell in cells)
        return
    over: list[Cell] = []
    with asking:
        for cell in cells:
            if any(_contains(cell, other) for other in over):
                yield cell, _OVER_A_SMALLER
                continue
            try:
                yield cell, _plan(asking, cell, effort)
            except OverLimitError as error:
                over.append(cell)
                yield cell, str(error)
            except NoValueError as error:
                yield cell, str(error)


def _oracle_plans(profile: str, cells: Sequence[Cell], effort: Effort) -> Iterator[tuple[Cell, Plan | str]]:
    try:
        targets.command(ORACLE[profile])
    except targets.TargetError as error:
        yield from ((cell, f"not installed: {error}") for cell in cells)
        return
    yield from ((cell, Plan(loops=effort.programs, warmups=0)) for cell in cells)


def _contains(cell: Cell, smaller: Cell) -> bool:
    return cell.case == smaller.case and cell.history >= smaller.history and cell.steps >= smaller.steps


def _plan(asking: Asking, cell: Cell, effort: Effort) -> Plan:
    answer = asking.answer(cell)
    if CASES[cell.case].measure != "time":
        return Plan(loops=1, warmups=0)
    taken = sum(answer["seconds"])
    return Plan(loops=max(1, round(effort.value / taken)), warmups=int(taken < effort.long))


# ---------------------------------------------------------------- rounds


def timed(plans: Mapping[Cell, Plan], effort: Effort, results: Results, say: Callable[[str], None]) -> None:
    """Takes the values. A cell without one in some round keeps those of the others."""
    for number in range(1, effort.rounds + 1):
        for cell, plan in plans.items():
            say(f"round {number} of {effort.rounds}: {cell.name}")
            _value(cell, plan, effort, results)


def _value(cell: Cell, plan: Plan, effort: Effort, results: Results) -> None:
    mine = ("--cell", cell.dumps(), "--limit", str(2 * effort.limit), "--warm-up", str(effort.warm_up))
    counts = {"processes": 1, "values": 1, "warmups": plan.warmups, "loops": plan.loops}
    of_pyperf = [text for name, count in counts.items() for text in (f"--{name}", str(count))]
    argv = [sys.executable, "-m", "benchmarks.timed", *mine, *of_pyperf, "--inherit-environ", _INHERITED]
    done = subprocess.run(  # noqa: S603 - our own program
        [*argv, "--quiet", "--append", str(results.file_of(cell))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        results.without(cell, _last_line(done.stderr))


def _last_line(text: str) -> str:
    errors = [line for line in text.splitlines() if "Error: " in line]
    return errors[0] if errors else text.strip()[-500:]
