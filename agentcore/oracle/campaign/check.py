"""Random programs on a reference and on another implementation: until the first disagreement, or many.

`check` takes a reference, a driver and programs, and stops at the first finding. `campaign` takes a
plan made of data, shares the work out, and reports several kinds of findings; what it finds depends on the
seeds and on nothing else, as long as each answer of the driver depends on nothing but its program.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
import platformdirs

from agentcore.kit.families import Family, family_of, profiles_under
from agentcore.messages.brief import brief
from agentcore.oracle.campaign import executors, worker
from agentcore.oracle.campaign.coverage import Coverage, PairCounter
from agentcore.oracle.campaign.executors import Crew, Promise
from agentcore.oracle.campaign.findings import (
    WINDOW,
    Chunk,
    Disagreement,
    DriverFailure,
    Finding,
    Found,
    ReferenceFailure,
    Selection,
    parsed,
    run_chunk,
    settled,
    unsettled,
)
from agentcore.oracle.campaign.stop_rules import Interrupted, Limits, Tally, arrived, reason
from agentcore.oracle.campaign.verdicts import AGREED, Kind, Reference, Sides, Wrong
from agentcore.oracle.campaign.worker import Plan, profile_for
from agentcore.oracle.drivers.driver import Driver, Implementation

__all__ = [
    "Agreement",
    "Campaign",
    "CheckResult",
    "Database",
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
    "chosen",
    "default_folder",
]

Json: TypeAlias = dict[str, Any]


@attrs.frozen(kw_only=True)
class Report:
    """The work before any shrinking.

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
    programs is invalid.
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
            # A new process for the shrinking, in which nothing is left of the programs before.
            driver.close()
            return settled(sides, found, Selection(family), seconds=shrink_seconds, any_place=True)
        return unsettled(found)


def _worth_shrinking(found: Found, tally: Tally) -> bool:
    """A driver that has answered nothing at all fails whatever the program is."""
    return tally.has_answers or not found.fault.kind.of_driver


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
    """The outcome of a campaign.

    `ended` says why it did: `programs`, `seconds`, `findings` or `failures` (the limits), `nothing fits` (too
    many programs in a row were left out), or `interrupted` (after something was found, or by a signal after
    programs were counted; `stopped` is what stopped it, which may also be while programs were made smaller).
    `counts` are programs by what became of them, and `replayed` the same of those that were run first.
    `findings` are in the order in which they were found. `implementation` is what the driver said that it is.
    `coverage` is of the programs that were not replayed.
    """

    __repr__ = brief

    ended: str
    counts: dict[Kind, int]
    replayed: dict[Kind, int]
    findings: tuple[Finding, ...]
    report: Report
    implementation: Implementation | None
    coverage: Coverage = attrs.field(factory=Coverage)
    stopped: str = ""

    def reasons(self, outcome: str) -> dict[str, int]:
        """Counts programs of an outcome (`unsupported`, `left out`) by reason, the most frequent first."""
        found = [(kind.where, count) for kind, count in self.counts.items() if kind.outcome == outcome]
        return dict(sorted(found, key=lambda each: (-each[1], each[0])))

    @property
    def verdict(self) -> str:
        """`disagreement` if a trace is wrong, `agreement` if some were compared and nothing failed.

        Else, or where a signal came before the end, it is `no verdict`.
        """
        kinds = {**self.counts, **self.replayed}
        if any(isinstance(finding, Disagreement) for finding in self.findings):
            return "disagreement"
        failed = any(kind.is_fault for kind in kinds)
        return "agreement" if AGREED in kinds and not failed and not self.stopped else "no verdict"


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
        BadProgram: for a replayed program that is invalid.
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
        self._pairs = PairCounter()
        self._found: dict[Kind, Found] = {}
        self._stopped = ""

    def result(self, first: int, replayed: Sequence[Json]) -> Campaign:
        try:
            self._run(first, replayed)
        except (Exception, Interrupted) as error:
            # Rule oracle.never-lost: a signal does not take away what was counted before it.
            if not self._found and not (isinstance(error, Interrupted) and self._chunks):
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
            coverage=self._pairs.coverage(),
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
        for kind, features in zip(chunk.kinds, chunk.features, strict=True):
            if self._tally.ended:
                return
            self._tally.add(kind, replayed=replayed)
            if not replayed:
                self._pairs.add(features)
            if kind.is_fault and kind not in self._found:
                self._found[kind] = chunk.found[kind]

    # ---------------------------------------------------------------- sharing the work out

    def _chunks_from(self, first: int) -> Iterator[Chunk]:
        """The seeds from the first on, in their order, until the end; some chunks are under way meanwhile."""
        # One chunk each to work on and one waiting, so that nobody idles while this process counts. Alone
        # it would only be work that the end throws away.
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
        """Returns how many more seeds to ask for; if programs are left out, the need is unknown."""
        if self._left() == 0:
            return 0
        limit = self._plan.limits.programs
        if limit is None or self._tally.having("left out"):
            return _SEEDS
        return min(_SEEDS, limit - asked)

    # ---------------------------------------------------------------- the report

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


# Chooses which of many causes to report: some of each kind, hook and field, not all of the first.
#
# Rule isolated.grouped: one fault of a loop, such as a list that is handed out as it is, shows in dozens of
# causes, because each op and each place below it is one. They must not take the place of another fault.

_FIELD: Final = re.compile(r"[.\[]")


def chosen(found: Mapping[Kind, Found], tally: Tally, plan: Plan) -> Iterator[tuple[Kind, Found]]:
    """Yields the findings to report, in order: all of them, but of a check of isolation a choice."""
    if not plan.isolated:
        return iter(found.items())
    groups: dict[tuple[str, ...], list[Kind]] = {}
    for kind, one in found.items():
        groups.setdefault(_group(kind, one), []).append(kind)
    for kinds in groups.values():
        # The most frequent cause of a group stands for it. The sort is stable: ties stay in the order of
        # the seeds, with any number of jobs.
        kinds.sort(key=lambda kind: -tally.of(kind))
    rounds = zip_longest(*groups.values())
    ordered = (kind for kinds in rounds for kind in kinds if kind is not None)
    return ((kind, found[kind]) for kind in islice(ordered, plan.limits.findings))


def _group(kind: Kind, found: Found) -> tuple[str, ...]:
    """The kind, the hook and the field of its argument that was written."""
    breach = found.fault.breach if isinstance(found.fault, Wrong) else None
    return (kind.outcome,) if breach is None else (breach.kind, breach.hook, _FIELD.split(breach.place, 1)[0])


# A folder of programs that were found once, to be run first the next time (rule oracle.found-before).
#
# A file is one JSON object, `{format, profile, kind, program}`, in a folder that is named after its
# profile. Files are only added: a program that no longer shows anything is what a regression test is, for
# this driver and for others of the profile. Who wants one gone deletes its file.

_FORMAT: Final = 1
_NAME: Final = 16


def default_folder() -> Path:
    """Returns the default folder for found programs, in the user's cache."""
    return platformdirs.user_cache_path("agentcore") / "found"


@attrs.frozen
class Database:
    """The programs in a folder, which need not be there yet."""

    folder: Path

    @property
    def agreements(self) -> Path:
        """The file of the answers that agreed, which are not compared again (`worker.Agreements`)."""
        return self.folder / "agreed.sqlite"

    def programs(self, profile: str) -> tuple[list[Json], list[str]]:
        """The programs of a profile (without its path: of all paths) by file, and why a file holds none."""
        found: list[Json] = []
        problems: list[str] = []
        for file in sorted(file for run in profiles_under(profile).values() for file in self._files(run)):
            try:
                found.append(self._read(file, profile))
            # A file of an older format, or one that somebody edited, must not end the check of all others.
            except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
                problems.append(f"{file} holds no program, and is passed over: {error}; delete it")
        return found, problems

    def add(self, profile: str, finding: Finding) -> Path | None:
        """Keeps the program of a finding under its own path's profile; the file.

        What happened once and not again is not kept. Raises OSError where the folder cannot be written to.
        """
        if isinstance(finding, DriverFailure) and not finding.repeated:
            return None
        run = profile_for(finding.program, profile)
        line = family_of(run).to_line({**finding.program, "id": ""})
        folder = self.folder / run
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{hashlib.sha256(line.encode()).hexdigest()[:_NAME]}.json"
        fields = {
            "format": _FORMAT,
            "profile": run,
            "kind": str(finding.kind),
            "program": finding.program,
        }
        # Whole or not at all: others may read the folder, or write the same file.
        new = file.with_suffix(f".{os.getpid()}.new")
        new.write_text(json.dumps(fields, indent=1) + "\n", encoding="utf-8")
        new.replace(file)
        return file

    def _files(self, profile: str) -> list[Path]:
        return [*(self.folder / profile).glob("*.json")]

    def _read(self, file: Path, profile: str) -> Json:
        fields = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
            raise ValueError(f"its format is not {_FORMAT}")
        family_of(profile).require(fields["program"])
        program: Json = fields["program"]
        return program
