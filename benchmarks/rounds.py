"""Cells are tried once, then measured in rounds: each takes a value of every cell, all loops by turns."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from agentcore.oracle.drivers import packages as targets
from benchmarks.asking import Asking, NoValueError, OverLimitError
from benchmarks.bodies import BodyClock
from benchmarks.cells import CASES, HERE, ORACLE, Cell
from benchmarks.guards import GuardClock
from benchmarks.install import ROOT, InstallError
from benchmarks.results import Results

Say = Callable[[str], None]

PLANS: Final = "plans.json"
_OVER_A_SMALLER: Final = "not tried: a smaller one was over the limit"


@attrs.frozen(kw_only=True)
class Effort:
    """How much time goes into what.

    A run may take `limit` seconds, one whose memory is read `memory_limit`. A value is of so many runs that
    they take about `value` seconds, after `warm_up` seconds of small ones and, unless one takes `long`, as
    many like them. Values of the oracle's cases are of `programs`.
    """

    rounds: int = 5
    limit: float = 5.0
    memory_limit: float = 30.0
    value: float = 0.1
    warm_up: float = 0.5
    long: float = 0.5
    programs: int = 500


QUICK: Final = Effort(rounds=1, limit=5.0, memory_limit=10.0, value=0.02, warm_up=0.1, programs=50)


@attrs.frozen
class Plan:
    """How a value of a cell is taken."""

    loops: int
    warmups: int


def tried(cells: Sequence[Cell], effort: Effort, results: Results, say: Say) -> dict[Cell, Plan]:
    """The cells that can be measured; of the others it is noted why not. Nothing is tried twice."""
    plans = _read_plans(results.folder)
    left = [cell for cell in cells if cell not in plans and results.reason(cell) is None]
    for loop in dict.fromkeys(cell.loop for cell in left):
        say(f"trying {loop}")
        # Small ones first, so that what is over the limit is known before it is waited for again.
        mine = sorted(
            (cell for cell in left if cell.loop == loop), key=lambda cell: (cell.history, cell.steps)
        )
        for cell, plan in _plans(loop, mine, effort):
            if isinstance(plan, Plan):
                plans[cell] = plan
            else:
                say(f"  {cell.name}: {plan}")
                results.without(cell, plan)
        _write_plans(results.folder, plans)
    return {cell: plans[cell] for cell in cells if cell in plans}


def _read_plans(folder: Path) -> dict[Cell, Plan]:
    path = folder / PLANS
    stored = json.loads(path.read_text()) if path.exists() else []
    return {Cell(**each["cell"]): Plan(**each["plan"]) for each in stored}


def _write_plans(folder: Path, plans: Mapping[Cell, Plan]) -> None:
    (folder / PLANS).write_text(json.dumps(_stored(plans), indent=1))


def _stored(plans: Mapping[Cell, Plan]) -> list[dict[str, Any]]:
    return [{"cell": attrs.asdict(cell), "plan": attrs.asdict(plan)} for cell, plan in plans.items()]


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
    known: dict[tuple[object, ...], Plan] = {}
    with asking:
        for cell in cells:
            if any(contains(cell, other) for other in over):
                yield cell, _OVER_A_SMALLER
                continue
            try:
                known[cell.shape] = plan = known.get(cell.shape) or _plan(asking, cell, effort)
                yield cell, plan
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


def contains(cell: Cell, smaller: Cell) -> bool:
    """Whether the cell's run does all that the smaller one's does, and is timed like it."""
    larger = cell.loop == smaller.loop and cell.history >= smaller.history and cell.steps >= smaller.steps
    if CASES[cell.case].measure != "time" or CASES[smaller.case].measure != "time":
        return larger and cell.case == smaller.case
    return larger and (smaller.case in ("step", "run") or cell.case == smaller.case)


def _plan(asking: Asking, cell: Cell, effort: Effort) -> Plan:
    measure = CASES[cell.case].measure
    if measure not in ("time", *HERE):
        # A process of its own is asked for each: nothing is tried in this one.
        return Plan(loops=1, warmups=0)
    if measure in HERE:
        taken = (BodyClock if measure == "body" else GuardClock)(cell)(1)
    else:
        taken = sum(asking.answer(cell)["seconds"])
    return Plan(loops=max(1, round(effort.value / taken)), warmups=int(taken < effort.long))


# ---------------------------------------------------------------- rounds


def measured(plans: Mapping[Cell, Plan], effort: Effort, results: Results, say: Say) -> Iterator[int]:
    """Takes the values that are not there yet; gives the number of each round that took some."""
    for number in range(1, effort.rounds + 1):
        wanted = {cell: plan for cell, plan in plans.items() if not results.file_of(cell, number).exists()}
        if wanted:
            say(f"round {number} of {effort.rounds}")
            _round(number, wanted, effort, results)
            yield number


def _round(number: int, plans: Mapping[Cell, Plan], effort: Effort, results: Results) -> None:
    job = {
        "folder": str(results.folder.resolve()),
        "number": number,
        "cells": _stored(plans),
        "limits": [effort.limit, effort.memory_limit],
        "warm_up": effort.warm_up,
    }
    # By pyperf, which wants a process for each; values go to files.
    subprocess.run(
        (sys.executable, "-m", "benchmarks.timed"),
        cwd=ROOT,
        input=json.dumps(job),
        stdout=subprocess.DEVNULL,
        text=True,
        check=True,
    )
