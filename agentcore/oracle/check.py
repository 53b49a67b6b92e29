"""Random programs on a reference and on another implementation, until the first disagreement."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

import attrs

from agentcore.oracle.compare import Difference, differences
from agentcore.oracle.driver import Answer, Driver, Failure, Malformed, Outcome, Unsupported
from agentcore.oracle.families import Family
from agentcore.oracle.shrink import shrink

__all__ = [
    "Agreement",
    "CheckResult",
    "Disagreement",
    "DriverFailure",
    "Reference",
    "ReferenceFailure",
    "Report",
    "check",
]

Json: TypeAlias = dict[str, Any]
Reference: TypeAlias = Callable[[Json], Json]


@attrs.frozen(kw_only=True)
class Report:
    """What was done before any shrinking; `waiting` is the part of `seconds` spent waiting for the driver."""

    programs: int
    unsupported: int
    seconds: float
    waiting: float

    @property
    def per_second(self) -> float:
        """Programs per second."""
        return self.programs / self.seconds if self.seconds else 0.0

    @property
    def own_share(self) -> float:
        """The part of the time, from 0 to 1, that this process was at work and not waiting for the driver."""
        return 1 - self.waiting / self.seconds if self.seconds else 0.0


@attrs.frozen
class Agreement:
    """All programs that the implementation supports gave the same traces."""

    report: Report


@attrs.frozen(kw_only=True)
class Disagreement:
    """A program with two traces, made as small as the time allowed; `original` is the one that was found."""

    program: Json
    expected: Json
    actual: Json
    difference: Difference
    original: Json
    report: Report


@attrs.frozen(kw_only=True)
class DriverFailure:
    """The driver did not answer; says nothing about the implementation."""

    program: Json
    outcome: Failure
    report: Report


@attrs.frozen(kw_only=True)
class ReferenceFailure:
    """The reference raised, which it does for no program; made as small as the time allowed."""

    program: Json
    traceback: str
    original: Json
    report: Report


CheckResult: TypeAlias = Agreement | Disagreement | DriverFailure | ReferenceFailure
_WINDOW: Final = 16


def check(  # noqa: PLR0913 - the last three have defaults that fit most uses
    reference: Reference,
    make_driver: Callable[[], Driver],
    programs: Iterable[Json],
    *,
    family: Family,
    window: int = _WINDOW,
    shrink_seconds: float = 60.0,
    progress: Callable[[int], None] = lambda _: None,
) -> CheckResult:
    """Runs the programs on both sides until the first that is not answered alike, and shrinks that one.

    The programs are of the family. The driver works on up to `window` of them ahead while the reference runs
    in this process. `progress` is called with the number of programs done. Raises BadProgram if one of the
    programs is none.
    """
    with make_driver() as driver:
        run = _Run(reference, driver, family, _parsed(programs, family), window)
        found = run.first(progress)
        report = run.report()
        if found is None:
            return Agreement(report)
        program, wrong = found
        if isinstance(wrong, Difference):
            driver.close()
            return run.shrunk_disagreement(program, shrink_seconds, report)
        if isinstance(wrong, str):
            return run.shrunk_failure(program, shrink_seconds, report)
        return DriverFailure(program=program, outcome=wrong, report=report)


def _parsed(programs: Iterable[Json], family: Family) -> Iterator[Json]:
    # Through the text, so that both sides run what the line says, whatever the program shares in memory.
    return (family.parse(family.to_line(program)) for program in programs)


_Found: TypeAlias = tuple[Json, Failure | Difference | str]


class _Run:
    def __init__(
        self, reference: Reference, driver: Driver, family: Family, programs: Iterator[Json], window: int
    ) -> None:
        self._reference = reference
        self._driver = driver
        self._family = family
        self._programs = programs
        self._window = window
        self._started = time.monotonic()
        self._waiting = 0.0
        self._done = 0
        self._unsupported = 0

    def report(self) -> Report:
        return Report(
            programs=self._done,
            unsupported=self._unsupported,
            seconds=time.monotonic() - self._started,
            waiting=self._waiting,
        )

    def first(self, progress: Callable[[int], None]) -> _Found | None:
        """The first program not answered alike, with what was wrong (a text: the reference failed)."""
        queue: deque[Json] = deque()
        while True:
            self._fill(queue)
            if not queue:
                return None
            program = queue.popleft()
            expected = _trace_or_text(self._reference, program)
            wrong = expected if isinstance(expected, str) else self._compare(expected)
            self._done += 1
            progress(self._done)
            if wrong is not None:
                return program, wrong

    def _fill(self, queue: deque[Json]) -> None:
        while len(queue) < self._window and (program := next(self._programs, None)) is not None:
            self._driver.submit(program)
            queue.append(program)

    def _compare(self, expected: Json) -> Failure | Difference | None:
        outcome = self._receive()
        match outcome:
            case Answer(trace):
                return differences(expected, trace, self._family.comparison)
            case Unsupported():
                self._unsupported += 1
                return None
        return outcome

    def _receive(self) -> Outcome:
        since = time.monotonic()
        outcome = self._driver.receive()
        self._waiting += time.monotonic() - since
        return outcome

    def shrunk_disagreement(self, program: Json, seconds: float, report: Report) -> CheckResult:
        """The smallest program found on which the traces differ."""
        reference, driver, family = self._reference, self._driver, self._family
        latest: dict[str, tuple[Json, Json, Difference]] = {}

        def disagree(candidate: Json) -> bool:
            expected, outcome = _trace_or_text(reference, candidate), driver.run(candidate)
            if isinstance(expected, str) or not isinstance(outcome, Answer):
                return False
            difference = differences(expected, outcome.trace, family.comparison)
            if difference is not None:
                latest[family.to_line(candidate)] = expected, outcome.trace, difference
            return difference is not None

        if not disagree(program):
            reason = "the answer changed when the program was run a second time"
            return DriverFailure(program=program, outcome=Malformed(reason, "", ""), report=report)
        smallest = shrink(program, disagree, family, seconds=seconds)
        expected, actual, difference = latest[family.to_line(smallest)]
        return Disagreement(
            program=smallest,
            expected=expected,
            actual=actual,
            difference=difference,
            original=program,
            report=report,
        )

    def shrunk_failure(self, program: Json, seconds: float, report: Report) -> CheckResult:
        """The smallest program found on which the reference fails."""
        reference = self._reference

        def fails(candidate: Json) -> bool:
            return isinstance(_trace_or_text(reference, candidate), str)

        smallest = shrink(program, fails, self._family, seconds=seconds)
        text = _trace_or_text(reference, smallest)
        return ReferenceFailure(program=smallest, traceback=str(text), original=program, report=report)


def _trace_or_text(reference: Reference, program: Json) -> Json | str:
    try:
        return reference(program)
    except Exception:  # noqa: BLE001 - whatever it raises is reported with the program
        return traceback.format_exc()
