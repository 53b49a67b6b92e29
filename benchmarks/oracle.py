"""The reference as a program, and the checker beside a real package: programs per second."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from threading import Thread
from typing import IO, Any, Final

from agentcore.kit.families import Family, family_of
from agentcore.oracle.campaign.check import Agreement, Report
from agentcore.oracle.campaign.check import check as run_check
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Driver
from benchmarks.asking import NoValueError
from benchmarks.cells import ORACLE

Json = dict[str, Any]

_AGENTCORE: Final = (sys.executable, "-c", "from agentcore.cli import main; main()")
_DISTINCT: Final = 50
_STEPS: Final = 4
_WARM: Final = 100
# Programs of checks are others than those of traces.
_CHECKED_FROM: Final = 1_000_000


def programs_of_four_steps(family: Family, profile: str, count: int = _DISTINCT) -> Iterator[Json]:
    """Random programs, always the same, of which the profile makes runs of four model calls and no error."""
    programs = family.programs(itertools.count(), profile)
    return itertools.islice(
        (program for program in programs if _has_four_steps(family.trace(program, profile))), count
    )


def _has_four_steps(trace: Json) -> bool:
    return trace["error"] is None and len(trace["steps"]) == _STEPS


class TraceClock:
    """How many seconds `agentcore trace` takes for so many programs of four steps, once it is warm."""

    def __init__(self, profile: str) -> None:
        self._profile = profile

    def __call__(self, programs: int) -> float:
        """The seconds. Raises NoValueError if a trace is not of four steps."""
        lines = _lines(self._profile)
        argv = (*_AGENTCORE, "trace", "--profile", self._profile)
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:  # noqa: S603
            if process.stdin is None or process.stdout is None:
                raise NoValueError("the process has no pipes")
            _answered(process.stdin, process.stdout, lines)
            asked = list(itertools.islice(itertools.cycle(lines), programs))
            begun = time.perf_counter()
            answers = _answered(process.stdin, process.stdout, asked)
            seconds = time.perf_counter() - begun
        if not all(_has_four_steps(json.loads(answer)) for answer in answers):
            raise NoValueError("a trace is not of four steps")
        return seconds


@cache
def _lines(profile: str) -> list[bytes]:
    family = family_of(profile)
    return [
        family.to_line(program).encode("ascii") + b"\n" for program in programs_of_four_steps(family, profile)
    ]


def _answered(source: IO[bytes], target: IO[bytes], lines: Sequence[bytes]) -> list[bytes]:
    # In a thread, because the process does not read on before its answers are read.
    sender = Thread(target=_send, args=(source, b"".join(lines)))
    sender.start()
    answers = [target.readline() for _ in lines]
    sender.join()
    return answers


def _send(source: IO[bytes], data: bytes) -> None:
    source.write(data)
    source.flush()


class CheckClock:
    """How many seconds checking so many programs against the real package takes, and our part of it."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._report: Report | None = None

    def whole(self, programs: int) -> float:
        """The seconds. Raises NoValueError unless all programs were supported and gave the same traces."""
        return self._checked(programs).seconds

    def ours(self, programs: int) -> float:
        """Our part of the seconds, of the same check if there was one."""
        report = self._checked(programs) if self._report is None else self._report
        return report.seconds - report.waiting

    def _checked(self, programs: int) -> Report:
        family = family_of(self._profile)
        driver = Driver(targets.command(ORACLE[self._profile]), trace_fields=family.trace_fields)
        for program in family.programs(range(_WARM), self._profile):
            driver.run(program)
            family.trace(program, self._profile)
        result = run_check(
            lambda program: family.trace(program, self._profile),
            lambda: driver,
            family.programs(range(_CHECKED_FROM, _CHECKED_FROM + programs), self._profile),
            family=family,
        )
        if not isinstance(result, Agreement) or result.report.unsupported:
            raise NoValueError(f"no agreement: {result}")
        self._report = result.report
        return result.report
