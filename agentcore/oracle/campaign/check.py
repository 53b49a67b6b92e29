"""Random programs on a reference and on another implementation: until the first disagreement, or many.

`check` takes a reference, a driver and programs, and stops at the first thing to tell. `campaign` takes a
plan made of data, shares the work out, and tells several kinds of things; what it finds depends on the seeds
and on nothing else, as long as each answer of the driver depends on nothing but its program.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.kit.families import Family
from agentcore.messages.brief import brief
from agentcore.oracle.campaign import executors, worker
from agentcore.oracle.campaign.batches import WINDOW, Chunk, Found, parsed, run_chunk
from agentcore.oracle.campaign.choosing import chosen
from agentcore.oracle.campaign.executors import Crew, Promise
from agentcore.oracle.campaign.findings import (
    Disagreement,
    DriverFailure,
    Finding,
    ReferenceFailure,
    settled,
    unsettled,
)
from agentcore.oracle.campaign.interruption import Interrupted, arrived, reason
from agentcore.oracle.campaign.selection import Selection
from agentcore.oracle.campaign.stop_rules import Limits, Tally
from agentcore.oracle.campaign.verdicts import AGREED, Kind, Reference, Sides
from agentcore.oracle.campaign.worker import Plan
from agentcore.oracle.drivers.driver import Driver, Implementation

__all__ = [
    "Agreement",
    "Campaign",
    "CheckResult",
    "Disagreement",
    "DriverFailure",
    "Finding",
    "Limits",
    "Plan",
    "Reference",
    "ReferenceFailure",
    "Report",
    "campaign",
    "check",
]

Json: TypeAlias = dict[str, Any]


@attrs.frozen(kw_only=True)
class Report:
    """What was done before any shrinking.

    `programs` were run, `unsupported` of them not by the implementation, and `left_out` were not run because
    of their features. It took `seconds`, in which `working` seconds were worked (by several jobs, in sum),
    and of these `waiting` were spent waiting for drivers.
    """

    __repr__ = brief

    programs: int
    unsupported: int = 0
    left_out: int = 0
    seconds: float
    working: float
    waiting: float

    @property
    def per_second(self) -> float:
        """Programs per second."""
        return self.programs / self.seconds if self.seconds else 0.0

    @property
    def own_share(self) -> float:
        """The part of the working time, from 0 to 1, that was not spent waiting for drivers."""
        return 1 - self.waiting / self.working if self.working else 0.0


# --- one disagreement ---------------------------------------------------------------------------------------


@attrs.frozen
class Agreement:
    """All programs that the implementation supports gave the same traces."""

    report: Report


CheckResult: TypeAlias = Agreement | Finding
_FIRST: Final = Limits(findings=1, failures=1)


def check(  # noqa: PLR0913 - the last three have defaults that fit most uses
    reference: Reference,
    make_driver: Callable[[], Driver],
    programs: Iterable[Json],
    *,
    family: Family,
    window: int = WINDOW,
    shrink_seconds: float = 60.0,
    progress: Callable[[int], None] = lambda _: None,
) -> CheckResult:
    """Runs the programs on both sides until the first that is not answered alike, and shrinks that one.

    The programs are of the family. The driver works on up to `window` of them ahead while the reference runs
    in this process. `progress` is called with the number of programs done. Raises BadProgram if one of the
    programs is none.
    """
    with make_driver() as driver:
        sides = Sides(reference, driver, family)
        chunk = run_chunk(
            sides,
            parsed(programs, family),
            selection=Selection(family),
            limits=_FIRST,
            window=window,
            progress=progress,
        )
        tally = Tally(_FIRST)
        for kind in chunk.kinds:
            tally.add(kind)
        if not chunk.found:
            return Agreement(_report(tally, [chunk], chunk.seconds))
        [found] = chunk.found.values()
        if _worth_shrinking(found, tally):
            driver.close()
            return settled(sides, found, Selection(family), seconds=shrink_seconds, any_place=True)
        return unsettled(found)


def _worth_shrinking(found: Found, tally: Tally) -> bool:
    """A driver that has answered nothing at all fails whatever the program is."""
    return tally.answered or not found.fault.kind.of_driver


def _report(tally: Tally, chunks: Sequence[Chunk], seconds: float) -> Report:
    return Report(
        programs=tally.run,
        unsupported=tally.having("unsupported"),
        left_out=tally.having("left out"),
        seconds=seconds,
        working=sum(chunk.seconds for chunk in chunks),
        waiting=sum(chunk.waiting for chunk in chunks),
    )


# --- a campaign ---------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Campaign:
    """What came of a campaign.

    `ended` says why it did: `programs`, `seconds`, `findings` or `failures` (the limits), `nothing fits` (too
    many programs in a row were left out), or `interrupted` (after something was found; `stopped` is what
    stopped it, which may also be while programs were made smaller). `counts` are programs by what became of
    them, and `replayed` the same of those that were run first. `findings` are in the order in which they were
    found. `implementation` is what the driver said that it is.
    """

    __repr__ = brief

    ended: str
    counts: dict[Kind, int]
    replayed: dict[Kind, int]
    findings: tuple[Finding, ...]
    report: Report
    implementation: Implementation | None
    stopped: str = ""

    def reasons(self, outcome: str) -> dict[str, int]:
        """How many programs had an outcome (`unsupported`, `left out`) by reason, the most frequent first."""
        found = [(kind.where, count) for kind, count in self.counts.items() if kind.outcome == outcome]
        return dict(sorted(found, key=lambda each: (-each[1], each[0])))

    @property
    def verdict(self) -> str:
        """`disagreement` if a trace is wrong, `agreement` if some were compared and nothing failed.

        Else it is `no verdict`.
        """
        kinds = {**self.counts, **self.replayed}
        if any(isinstance(finding, Disagreement) for finding in self.findings):
            return "disagreement"
        failed = any(kind.is_fault for kind in kinds)
        return "agreement" if AGREED in kinds and not failed else "no verdict"


_SEEDS: Final = 50


def campaign(  # noqa: PLR0913 - the last four have defaults that fit most uses
    plan: Plan,
    *,
    first: int,
    seconds: float | None = None,
    replayed: Sequence[Json] = (),
    crew: Crew | None = None,
    progress: Callable[[int], None] = lambda _: None,
    report: Callable[[Finding], None] = lambda _: None,
) -> Campaign:
    """Runs the programs of the seeds from `first` on until a limit of the plan, and shrinks what was found.

    It ends after so many `seconds`, too, shrinking apart. The programs `replayed` come first, and are not
    counted as the others. The work is done by the crew, or else in this process. `progress` is called with
    the number of programs done, and `report` with each finding as soon as it is made.

    Whatever goes wrong after something was found ends it, and takes no finding with it (rule
    oracle.never-lost); what goes wrong before that is raised.

    Raises:
        ValueError: where neither programs nor seconds are limited.
        BadProgram: for a replayed program that is none.
        OtherFormatError: if the driver says that it runs programs of other formats only.
        TargetError, UnknownFeatureError, UnknownProfileError: for a plan that cannot be followed.
    """
    if seconds is None and plan.limits.programs is None:
        raise ValueError("a campaign without limits never ends; give `seconds`, or `programs` in the limits")
    if crew is not None:
        return _Campaign(plan, crew, seconds, progress, report).result(first, replayed)
    with executors.alone() as one:
        return _Campaign(plan, one, seconds, progress, report).result(first, replayed)


class _Campaign:
    def __init__(
        self,
        plan: Plan,
        crew: Crew,
        seconds: float | None,
        progress: Callable[[int], None],
        report: Callable[[Finding], None],
    ) -> None:
        self._plan = plan
        self._crew = crew
        self._progress = progress
        self._report = report
        self._begun = time.monotonic()
        self._deadline = None if seconds is None else self._begun + seconds
        self._tally = Tally(plan.run_limits)
        self._chunks: list[Chunk] = []
        self._found: dict[Kind, Found] = {}
        self._stopped = ""

    def result(self, first: int, replayed: Sequence[Json]) -> Campaign:
        try:
            self._run(first, replayed)
        except (Exception, Interrupted) as error:
            if not self._found:
                raise
            self._stopped = reason(error)
        self._crew.dismiss()
        # Before the rest, which is no part of what is measured.
        report = _report(self._tally, self._chunks, time.monotonic() - self._begun)
        findings = tuple(self._findings())
        return Campaign(
            ended="interrupted" if self._stopped else self._tally.ended or "seconds",
            counts=dict(self._tally.counts),
            replayed=dict(self._tally.replayed),
            findings=findings,
            report=report,
            implementation=next((c.implementation for c in self._chunks if c.implementation), None),
            stopped=self._stopped,
        )

    def _run(self, first: int, replayed: Sequence[Json]) -> None:
        if replayed:
            again = self._crew.submit(worker.run_programs, self._plan, replayed, self._left())
            self._count(again.result(), replayed=True)
        if self._stopped:
            return
        for chunk in self._chunks_from(first):
            self._count(chunk)
            self._progress(self._tally.run)

    def _left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def _count(self, chunk: Chunk, *, replayed: bool = False) -> None:
        """Counts program by program, and none that comes after the end: it may have been run, or not."""
        self._chunks.append(chunk)
        self._stopped = chunk.stopped
        for kind in chunk.kinds:
            if self._tally.ended:
                return
            self._tally.add(kind, replayed=replayed)
            if kind.is_fault and kind not in self._found:
                self._found[kind] = chunk.found[kind]

    # ---------------------------------------------------------------- sharing the work out

    def _chunks_from(self, first: int) -> Iterator[Chunk]:
        """The seeds from the first on, in their order, until the end; some chunks are under way meanwhile."""
        ahead = self._crew.size * 2 if self._crew.size > 1 else 1
        under_way: deque[tuple[int, Promise[Chunk]]] = deque()
        asked = 0
        try:
            while not self._tally.ended:
                while len(under_way) < ahead and (size := self._next_size(asked)):
                    seeds = range(first + asked, first + asked + size)
                    promise = self._crew.submit(worker.run_seeds, self._plan, seeds, self._left())
                    under_way.append((size, promise))
                    asked += size
                if not under_way:
                    return
                size, promise = under_way.popleft()
                chunk = promise.result()
                yield chunk
                if len(chunk.kinds) < size:
                    # Its time was over, or it was stopped; with what comes after it there would be a gap.
                    return
        finally:
            for _, promise in under_way:
                promise.cancel()

    def _next_size(self, asked: int) -> int:
        """How many seeds more to ask for. Where programs are left out, how many it takes is not known."""
        if self._left() == 0:
            return 0
        limit = self._plan.limits.programs
        if limit is None or self._tally.having("left out"):
            return _SEEDS
        return min(_SEEDS, limit - asked)

    # ---------------------------------------------------------------- what is told

    def _findings(self) -> Iterator[Finding]:
        """The findings, each reported when it is made; none is made smaller once the campaign was stopped."""
        for kind, found in chosen(self._found, self._tally, self._plan):
            finding = attrs.evolve(self._settled(found), programs=self._tally.of(kind))
            self._report(finding)
            yield finding

    def _settled(self, found: Found) -> Finding:
        if self._stopped or not _worth_shrinking(found, self._tally):
            return unsettled(found)
        try:
            promise: Promise[Finding] = self._crew.submit(worker.shrink_found, self._plan, found)
            finding = promise.result()
        except (Exception, Interrupted) as error:  # noqa: BLE001 - rule oracle.never-lost
            self._stopped = reason(error)
            return unsettled(found)
        if stop := arrived():
            # It was caught where it came, so as to keep what had been made smaller by then.
            self._stopped = reason(stop)
        return finding
