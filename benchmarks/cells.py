"""What is measured: cells, each one case on one loop at one size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal

import attrs

from benchmarks.install import version
from benchmarks.loops import LOOPS, OURS, Loop

Json = dict[str, Any]


@attrs.frozen(kw_only=True)
class Cell:
    """A case on a loop, after `history` messages, with runs of `steps` steps, of which `forks` are made.

    The cases of the oracle have no sizes; their loop is the profile that is traced or checked. A body is
    that of the request for the last of `steps`, whose messages are those that are guarded.
    """

    case: str
    loop: str
    history: int = 0
    steps: int = 0
    forks: int = 0

    @property
    def name(self) -> str:
        """Its name among the benchmarks of a result."""
        size = f", H={self.history}, S={self.steps}" if self.steps else ""
        return f"{self.case}: {self.loop}{size}"

    @property
    def shape(self) -> tuple[object, ...]:
        """What its run is like: cells of one shape read different figures of the same runs."""
        case = CASES[self.case]
        measure = self.case if case.measure in HERE else case.measure
        size = (self.history, self.steps, self.forks)
        return measure, self.loop, size, case.override, case.keep, case.handler

    @property
    def metadata(self) -> Json:
        """What is stored with its values, and makes it again."""
        return {**attrs.asdict(self), "unit": CASES[self.case].unit, "version": self._version}

    @property
    def _version(self) -> str:
        if self.loop in ORACLE:
            return ORACLE[self.loop]
        return version(LOOPS[self.loop].peer, LOOPS[self.loop].package)

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Cell:
        """The cell of stored metadata."""
        return cls(**{field.name: metadata[field.name] for field in attrs.fields(cls)})


@attrs.frozen(kw_only=True)
class Case:
    """What a case asks of a loop, and what of the answer counts.

    `total` reads what counts from an answer to `measure`, and `parts` says of how many alike it is the sum:
    values are per part and per run.
    """

    says: str
    measure: Literal["time", "memory", "forks", "fork memory", "body", "guard", "oracle"]
    unit: Literal["second", "byte"] = "second"
    override: bool = False
    keep: bool = False
    handler: bool = False
    total: Callable[[Json], float] = lambda answer: sum(answer["between"])
    parts: Callable[[Cell], int] = lambda cell: cell.steps - 1


def _seconds(answer: Json) -> float:
    return sum(answer["seconds"])


def _bytes(answer: Json) -> float:
    return float(answer["bytes"])


def _one(_: Cell) -> int:
    return 1


def _forks(cell: Cell) -> int:
    return cell.forks


CASES: Final[Mapping[str, Case]] = MappingProxyType(
    {
        "step": Case(says="a step, from the first model call to the last", measure="time"),
        "run": Case(
            says="a step's share of a run, with what precedes its first model call and follows its last",
            measure="time",
            total=_seconds,
            parts=lambda cell: cell.steps,
        ),
        "override": Case(
            says="a step with a hook that adds a message to its prompt only", measure="time", override=True
        ),
        "handler": Case(
            says="a step with a handler around its model call that passes on what it is given",
            measure="time",
            handler=True,
        ),
        "states": Case(says="a step with every step's state kept", measure="time", keep=True),
        "memory": Case(
            says="what stays allocated after a run", measure="memory", unit="byte", total=_bytes, parts=_one
        ),
        "states memory": Case(
            says="what stays allocated after a run with every step's state kept",
            measure="memory",
            unit="byte",
            keep=True,
            total=_bytes,
            parts=_one,
        ),
        "fork": Case(
            says="a fork of a run at its middle, with one more message",
            measure="forks",
            total=_seconds,
            parts=_forks,
        ),
        "fork memory": Case(
            says="what a fork keeps allocated", measure="fork memory", unit="byte", total=_bytes, parts=_forks
        ),
        "body": Case(says="the body of a request, of each message's bytes, kept", measure="body", parts=_one),
        "body, joined": Case(says="joining those bytes alone", measure="body", parts=_one),
        "body, whole": Case(
            says="the same body, of nothing kept but the wire forms", measure="body", parts=_one
        ),
        "guard": Case(says="a guarded block in which nothing happens", measure="guard", parts=_one),
        "guard, deepcopy": Case(says="a deep copy of the same messages", measure="guard", parts=_one),
        "trace": Case(says="a program of four steps through `agentcore trace`", measure="oracle"),
        "check": Case(says="a random program checked against the real package", measure="oracle"),
        "check, ours": Case(says="the part of that spent in our process", measure="oracle"),
    }
)
"""Every case by its name."""
HERE: Final = ("body", "guard")
"""What is measured without a peer."""


def request(cell: Cell, runs: int) -> Json:
    """What a peer is asked for the cell."""
    case, loop = CASES[cell.case], LOOPS[cell.loop]
    return {
        "id": cell.name,
        "measure": case.measure,
        "history": cell.history,
        "steps": cell.steps,
        "override": case.override,
        "keep": case.keep,
        "handler": case.handler,
        "variant": loop.variant,
        "runs": runs,
        "forks": cell.forks,
    }


def expected(cell: Cell) -> Json:
    """What the answer's check has to be: the run did what it was to do, all of it."""
    case, steps = CASES[cell.case], cell.steps
    given = cell.history + 1
    check: Json = {
        "calls": steps,
        "looks": steps - 1,
        # The last one: what was given, a call and a result for each step before, the override's reminder.
        "prompt": given + 2 * (steps - 1) + case.override,
        "text": "done",
    }
    if cell.forks:
        check["forked"] = [given + 2 * (steps // 2) + 1]
    return check


# ---------------------------------------------------------------- which cells there are

ORACLE: Final = MappingProxyType(
    {
        "ai-sdk-6/generate": "ai-sdk@6.0.134",
        "ai-sdk-6/stream": "ai-sdk@6.0.134",
        "ai-sdk-7/generate": "ai-sdk@7.0.173",
        "ai-sdk-7/stream": "ai-sdk@7.0.173",
    }
)
"""Profiles that are traced and checked, and the packages they are checked against."""


@attrs.frozen(kw_only=True)
class Sizes:
    """The sizes of one command: histories and steps of the grid, and those of single cases."""

    histories: Sequence[int] = (0, 100, 1_000, 10_000)
    steps: Sequence[int] = (10, 100, 1_000)
    run_steps: int = 100
    many_steps: int = 1_000
    few_histories: Sequence[int] = (0, 1_000, 10_000)
    forks: int = 1_000


FULL: Final = Sizes()
QUICK: Final = Sizes(
    histories=(100,), steps=(10, 30), run_steps=10, many_steps=30, few_histories=(100,), forks=20
)
SHORT: Final = 10
"""The goals compare with a history that is short, but is one: ours only, and of no growth."""


def cells(sizes: Sizes, loops: Iterable[str], cases: Iterable[str]) -> list[Cell]:
    """The cells of these loops and cases; cells of one case and size stand together, ours first."""
    chosen, wanted = [LOOPS[name] for name in loops], set(cases)
    everything = [*_timed(sizes, chosen), *_forking(sizes, chosen), *_bodies(sizes, chosen), *_oracle()]
    everything += _kept(sizes, chosen)
    return [cell for cell in everything if cell.case in wanted]


def _timed(sizes: Sizes, loops: Sequence[Loop]) -> Iterator[Cell]:
    for steps in sizes.steps:
        for history in sizes.histories:
            yield from _each("step", loops, history, steps)
    if OURS in {loop.name for loop in loops}:
        yield Cell(case="step", loop=OURS, history=SHORT, steps=sizes.run_steps)
    asked = [loop for loop in loops if loop.states == "asked"]
    handling = [loop for loop in loops if loop.handlers]
    for case, those in (("run", loops), ("override", loops), ("handler", handling), ("states", asked)):
        for history in sizes.histories:
            yield from _each(case, those, history, sizes.run_steps)


def _forking(sizes: Sizes, loops: Sequence[Loop]) -> Iterator[Cell]:
    forking = [loop for loop in loops if loop.forks]
    for case in ("fork", "fork memory"):
        for history in sizes.few_histories:
            for cell in _each(case, forking, history, sizes.run_steps):
                yield attrs.evolve(cell, forks=sizes.forks)


def _bodies(sizes: Sizes, loops: Sequence[Loop]) -> Iterator[Cell]:
    mine = [loop for loop in loops if loop.name == OURS]
    for history in sizes.histories:
        for case in ("body", "body, joined", "body, whole", "guard", "guard, deepcopy"):
            yield from _each(case, mine, history, sizes.run_steps)


def _kept(sizes: Sizes, loops: Sequence[Loop]) -> Iterator[Cell]:
    asked = [loop for loop in loops if loop.states == "asked"]
    for history in sizes.few_histories:
        yield from _each("memory", loops, history, sizes.run_steps)
        yield from _each("states memory", asked, history, sizes.run_steps)
    # What a state costs at every history is asked of ours only: most others would be over the limit.
    for history in sizes.few_histories:
        every = [loop for loop in loops if loop.ours or history == sizes.few_histories[0]]
        yield from _each("memory", every, history, sizes.many_steps)


def _each(case: str, loops: Sequence[Loop], history: int, steps: int) -> Iterator[Cell]:
    return (Cell(case=case, loop=loop.name, history=history, steps=steps) for loop in loops)


def _oracle() -> Iterator[Cell]:
    cases = ("trace", "check", "check, ours")
    return (Cell(case=case, loop=profile) for profile in ORACLE for case in cases)
