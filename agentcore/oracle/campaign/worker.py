"""The work of a campaign as functions of plain data, which any process of any machine can be given."""

from __future__ import annotations

import hashlib
import sqlite3
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeAlias

import attrs

from agentcore.kit.compare import Difference, differences
from agentcore.kit.families import Comparison, Family, family_of, profiles_under
from agentcore.kit.isolation import Breach, Judge, JudgedBy, isolation_of
from agentcore.kit.program import Answer, Outcome, Unsupported
from agentcore.kit.sweeps import sweep_programs
from agentcore.oracle.campaign.findings import Chunk, Finding, Found, Selection, parsed, run_chunk, settled
from agentcore.oracle.campaign.stop_rules import Limits
from agentcore.oracle.campaign.verdicts import (
    ALL,
    Failed,
    Fault,
    Reference,
    Scope,
    Sides,
    Tested,
    Verdict,
    Wrong,
)
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Driver

__all__ = [
    "Isolated",
    "Plan",
    "close_drivers",
    "prepared",
    "profile_for",
    "reference_of",
    "run_programs",
    "run_seeds",
    "shrink_found",
    "until",
    "watch",
]

Json: TypeAlias = dict[str, Any]

_ALL: Final = 1 << 30


@attrs.frozen(kw_only=True)
class Plan:
    """A campaign's plan: what is checked, and how; plain data that can be sent to the workers.

    `profile` is whose behaviour is expected (without its path: on all). For an `isolated` check programs are
    made for that profile, and the driver is compared with itself (rule isolated.two-runs). The programs are
    random ones, or those of a `sweep`, of which seed 0 is the first. The driver is that of the `target`,
    which installs itself where it is needed, or else what `argv` starts. `include` and `exclude` are patterns
    of features, `only` and `ignore` patterns of paths of traces. `time_limit` and `shrink_seconds` are
    seconds for one program and for one finding.
    `agreements` is a file of answers that agreed before (`Agreements`); without it none are kept.
    """

    profile: str
    isolated: bool = False
    sweep: str | None = None
    target: str | None = None
    argv: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    limits: Limits = attrs.field(factory=Limits)
    time_limit: float = 20.0
    shrink_seconds: float = 60.0
    agreements: str | None = None

    @property
    def run_limits(self) -> Limits:
        """The limits on running programs; a check of isolation has no limit of findings."""
        return attrs.evolve(self.limits, findings=_ALL) if self.isolated else self.limits

    def command(self) -> tuple[str, ...]:
        """The command line of the driver. Raises TargetError for a target that cannot be set up."""
        return targets.command(self.target) if self.target else self.argv

    def programs(self, seeds: range) -> Iterable[Json]:
        """The programs of these seeds. Raises NoSweepError for a sweep that the format does not have."""
        if self.sweep is None:
            return family_of(self.profile).programs(seeds, self.profile)
        return sweep_programs(self.sweep, self.profile)[seeds.start : seeds.stop]

    def selection(self) -> Selection:
        """The selection of programs. Raises UnknownFeatureError for a pattern that no feature's name fits."""
        return Selection.of(family_of(self.profile), self.include, self.exclude)

    def scope(self) -> Scope:
        """The scope of the comparison. Raises PatternError for a pattern that fits no path of the traces."""
        return Scope.of(family_of(self.profile).comparison, self.only, self.ignore)


def reference_of(profile: str) -> Reference:
    """Returns the reference of a profile; without a path in its name, each program's own path decides.

    Raises:
        UnknownProfileError: where there is no such profile.
    """
    family = family_of(profile)
    return lambda program: family.trace(program, profile_for(program, profile))


def profile_for(program: Json, profile: str) -> str:
    """The profile itself, or of one without its path the one of the program's path.

    Raises:
        UnknownProfileError: where there is no such profile.
    """
    runs = profiles_under(profile)
    found: str = profile if profile in runs else runs[program["path"]]
    return found


# --- drivers: a process keeps those that it has started -----------------------------------------------------

_idle: Final[dict[Plan, list[Driver]]] = {}
_lock: Final = Lock()


@contextmanager
def _sides(plan: Plan, family: Family, known: Agreements | None = None) -> Iterator[Tested]:
    """Both sides, with a driver that nobody else has meanwhile; it is kept for the next one."""
    with _lock:
        waiting = _idle.setdefault(plan, [])
        driver = waiting.pop() if waiting else None
    if driver is None:
        driver = Driver(plan.command(), time_limit=plan.time_limit, trace_fields=family.trace_fields)
    try:
        scope = plan.scope()
        if plan.isolated:
            yield Isolated(driver, family, scope)
        else:
            yield Sides(reference_of(plan.profile), driver, family, scope, known)
    # Whatever stopped the work may have left answers under way: the next one would read them as its own.
    except BaseException:
        driver.close()
        raise
    with _lock:
        waiting.append(driver)


def close_drivers() -> None:
    """Ends the drivers that this process keeps."""
    with _lock:
        drivers = [driver for waiting in _idle.values() for driver in waiting]
        _idle.clear()
    for driver in drivers:
        driver.close()


# --- the work -----------------------------------------------------------------------------------------------

Over: TypeAlias = Callable[[], bool]
_dismissed: Over = lambda: False  # noqa: E731 - what `watch` puts another one in the place of


def until(seconds: float | None) -> Over:
    """Returns a function that is True once so many seconds have passed; never, if None."""
    if seconds is None:
        return lambda: False
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() >= deadline


def watch(dismissed: Over) -> None:
    """From now on programs are only run as long as this is not so."""
    global _dismissed  # noqa: PLW0603 - process-wide flag, set once by the pool initialiser
    _dismissed = dismissed


def run_seeds(plan: Plan, seeds: range, seconds: float | None) -> Chunk:
    """The programs of these seeds, on both sides, for at most so many seconds."""
    return _run(plan, family_of(plan.profile), plan.programs(seeds), seconds, trims=plan.sweep is None)


def run_programs(plan: Plan, programs: Sequence[Json], seconds: float | None) -> Chunk:
    """These programs likewise."""
    return _run(plan, family_of(plan.profile), programs, seconds, trims=False)


def _run(
    plan: Plan, family: Family, programs: Iterable[Json], seconds: float | None, *, trims: bool
) -> Chunk:
    late = until(seconds)
    # How many programs there are to be is for the one who counts all of them.
    limits = attrs.evolve(plan.run_limits, programs=None)
    with _agreements(plan) as known, _sides(plan, family, known) as sides:
        return run_chunk(
            sides,
            parsed(prepared(programs, family) if plan.isolated else programs, family),
            selection=plan.selection(),
            limits=limits,
            trims=trims,
            over=lambda: late() or _dismissed(),
        )


def shrink_found(plan: Plan, found: Found) -> Finding:
    """The found program, made as small as the time allows, within what the plan selects."""
    family = family_of(plan.profile)
    with _sides(plan, family) as sides:
        # Whatever the programs before may have left behind in the process.
        sides.driver.close()
        return settled(
            sides,
            found,
            plan.selection(),
            seconds=plan.shrink_seconds,
            any_place=False,
        )


# Answers that agreed (rule oracle.agreed-before). A verdict depends on nothing but the program, the answer,
# what of it is compared, and this package's code, so that none of it is worked out twice: not the expected
# trace, and not even what is in the answer's JSON.


_TABLE: Final = "create table if not exists agreed (digest blob primary key) without rowid"


class Agreements:
    """Keeps which lines of programs and of traces were found to agree, in an SQLite file.

    Only digests are kept, some 40 bytes a program, and only those of one release of this package: each of its
    source files is part of the digest.
    """

    def __init__(self, connection: sqlite3.Connection, plan: Plan) -> None:
        self._connection = connection
        text = repr((_source_digest(), plan.profile, plan.only, plan.ignore))
        self._key = hashlib.blake2b(text.encode(), digest_size=32).digest()
        self._added: list[tuple[bytes]] = []

    @classmethod
    def opened(cls, file: Path, plan: Plan) -> Agreements:
        """From a file, which is made where there is none.

        Raises:
            OSError: where there can be no such file.
            sqlite3.Error: where the file is no database, or others hold it for too long.
        """
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file)
        try:
            # What is lost is worked out again, so that nothing has to wait for the disk.
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = off")
            release = int(_source_digest()[:7], 16)
            with connection:
                connection.execute(_TABLE)
                if connection.execute("pragma user_version").fetchone() != (release,):
                    connection.execute("delete from agreed")
                    connection.execute(f"pragma user_version = {release}")
        except BaseException:
            connection.close()
            raise
        return cls(connection, plan)

    def has(self, program: bytes, trace: bytes) -> bool:
        """Whether the lines are known to agree."""
        query = "select 1 from agreed where digest = ?"
        try:
            found = self._connection.execute(query, [self._digest(program, trace)]).fetchone()
        except sqlite3.Error:
            return False
        return found is not None

    def add(self, program: bytes, trace: bytes) -> None:
        """Keeps that the lines agree, from `close` on."""
        self._added.append((self._digest(program, trace),))

    def close(self) -> None:
        """Writes what was added."""
        with closing(self._connection), self._connection:
            self._connection.executemany("insert or ignore into agreed values (?)", self._added)

    def _digest(self, program: bytes, trace: bytes) -> bytes:
        # A program's line has no line end in it, so that no two pairs are one text.
        return hashlib.blake2b(program + b"\n" + trace, digest_size=16, key=self._key).digest()


@cache
def _source_digest() -> str:
    """Returns the digest of this package's files, in hexadecimal digits."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for file in sorted(path for kind in ("*.py", "*.json") for path in root.rglob(kind)):
        digest.update(b"%s\n%b" % (str(file.relative_to(root)).encode(), file.read_bytes()))
    return digest.hexdigest()


@contextmanager
def _agreements(plan: Plan) -> Iterator[Agreements | None]:
    """Those of the plan; None where it has none, and where the file cannot be used: they only save time."""
    known = None
    if plan.agreements and not plan.isolated:
        with suppress(OSError, sqlite3.Error):
            known = Agreements.opened(Path(plan.agreements), plan)
    try:
        yield known
    finally:
        if known is not None:
            with suppress(sqlite3.Error):
                known.close()


# A driver beside itself: each program with its writes and by value (rule isolated.two-runs).

Waited: TypeAlias = Callable[[Callable[[], Any]], Any]


def prepared(programs: Iterable[Json], family: Family) -> Iterator[Json]:
    """Yields the programs as a check of isolation runs them."""
    known = isolation_of(family)
    return (known.prepared(known.varied(program)) for program in programs)


class Isolated:
    """The driver of an implementation, and the judge of what it does with each program by value.

    Of the faults that a program shows one is its verdict, picked by the program's text: else a fault that
    every program shows would hide all others.
    """

    def __init__(self, driver: Driver, family: Family, scope: Scope = ALL) -> None:
        self.driver = driver
        self.family = family
        self._judge = Judge(family)
        self._scope = scope
        self._variants: deque[int] = deque()
        # Answered already, because something else had to be run in between.
        self._ahead: deque[Outcome] = deque()

    def submit(self, program: Json) -> None:
        """Hands over the runs that every judgement begins with."""
        variants = self._judge.variants(self._judge.known.prepared(program))
        self._variants.append(len(variants))
        for variant in variants:
            self.driver.submit(variant)

    def receive(self, program: Json, waited: Waited) -> Verdict:
        """Returns the verdict on the program that was submitted first."""
        program = self._judge.known.prepared(program)
        outcomes = [waited(self._next) for _ in range(self._variants.popleft())]
        return self._verdict(
            program, self._judged(program, outcomes, lambda one: waited(lambda: self._ask(one)))
        )

    def verdict(self, program: Json) -> Verdict:
        """Returns the verdict on one program, while nothing else is pending."""
        self.submit(program)
        return self.receive(program, lambda ask: ask())

    def explained(self, program: Json, wrong: Wrong) -> Wrong:  # noqa: ARG002 - it is known by now
        """The same: what causes it was found when the program was judged."""
        return wrong

    def again(self, program: Json, fault: Fault, *, any_place: bool) -> Fault | None:
        """The fault of a program if it has the kind and the cause of another one."""
        program = self._judge.known.prepared(program)
        variants = self._judge.variants(program)
        found = self._judged(program, [self._ask(one) for one in variants], self._ask)
        faults = map(self._wrong, found) if isinstance(found, tuple) else [self._verdict(program, found)]
        for one in faults:
            if isinstance(one, Fault) and _is_alike(one, fault, any_place=any_place):
                return one
        return None

    # ---------------------------------------------------------------- running

    def _next(self) -> Outcome:
        return self._limit_to_scope(self._ahead.popleft() if self._ahead else self.driver.receive())

    def _ask(self, program: Json) -> Outcome:
        while self.driver.pending:
            self._ahead.append(self.driver.receive())
        return self._limit_to_scope(self.driver.run(program))

    def _limit_to_scope(self, outcome: Outcome) -> Outcome:
        return Answer(self._scope.seen(outcome.trace)) if isinstance(outcome, Answer) else outcome

    def _judged(self, program: Json, outcomes: Sequence[Outcome], ask: Callable[[Json], Outcome]) -> JudgedBy:
        return self._judge.judge(program, outcomes, ask)

    # ---------------------------------------------------------------- verdicts

    def _verdict(self, program: Json, found: JudgedBy) -> Verdict:
        match found:
            case ():
                return None
            case (*breaches,):
                line = self.family.to_line({**program, "id": ""})
                # By a checksum of the program and not by `hash`, which differs from process to process: the
                # same seeds find the same with any number of jobs.
                return self._wrong(breaches[zlib.crc32(line.encode()) % len(breaches)])
            case Unsupported():
                return found
        return Failed(found)

    def _wrong(self, breach: Breach) -> Wrong:
        difference = _difference(breach)
        return Wrong(expected=breach.expected, actual=breach.actual, difference=difference, breach=breach)


def _is_alike(fault: Fault, other: Fault, *, any_place: bool) -> bool:
    """True if two faults have one cause; `any_place` ignores the place that is written."""
    one, two = fault.kind, other.kind
    if any_place and isinstance(fault, Wrong) and isinstance(other, Wrong):
        return (one.hook, one.op) == (two.hook, two.op)
    return one == two


def _difference(breach: Breach) -> Difference:
    """The first difference of what should be alike."""
    seen = breach.observations[0]
    found = differences({"seen": seen.expected}, {"seen": seen.actual}, Comparison(permitted={}, order=()))
    assert found is not None  # noqa: S101 - a breach is of what differs
    return Difference(
        path=found.path.replace("$.seen", seen.path, 1),
        expected=found.expected,
        actual=found.actual,
        observation=seen.path,
        expected_observation=seen.expected,
        actual_observation=seen.actual,
    )
