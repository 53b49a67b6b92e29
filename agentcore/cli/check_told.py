"""What `agentcore check` prints of a campaign."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
from rich.console import Console

from agentcore.cli.terminal import say
from agentcore.oracle.check import Campaign, Plan, Report
from agentcore.oracle.compare import render
from agentcore.oracle.families import family_of
from agentcore.oracle.findings import Disagreement, Finding, ReferenceFailure
from agentcore.oracle.vectors import pretty
from agentcore.oracle.verdicts import LEFT_OUT, Kind
from agentcore.oracle.work import profile_for

__all__ = ["EXIT_CODES", "Teller"]

Json: TypeAlias = dict[str, Any]

EXIT_CODES: Final = {"agreement": 0, "disagreement": 1, "no verdict": 2}


@attrs.frozen(kw_only=True)
class Teller:
    """Prints what came of a campaign for the one who asked for it."""

    console: Console
    plan: Plan
    seed: int
    save: Path

    def tell(self, done: Campaign, *, jobs: int) -> int:
        """Prints it, and saves the programs of the findings; the exit code."""
        if done.replayed:
            self._say(_replayed(done.replayed))
        self._say(_summary(done.report, self.seed, jobs))
        for number, finding in enumerate(done.findings, 1):
            self._say(f"\n{self._told(finding)}\n")
            self._saved(finding.program, _numbered(self.save, number))
        if not done.findings:
            self._say("No disagreement." if done.verdict == "agreement" else _nothing(done))
        return EXIT_CODES[done.verdict]

    def _say(self, text: str) -> None:
        say(self.console, text)

    def _saved(self, program: Json, file: Path) -> None:
        line = family_of(self.plan.profile).to_line(program)
        file.write_text(line + "\n", encoding="utf-8")
        expected = ("agentcore", "trace", "--profile", profile_for(program, self.plan.profile))
        actual = ("agentcore", "ask", str(file), "--", *self.plan.command())
        self._say(f"The program is in {file}. What each side makes of it:")
        self._say(f"  {shlex.join(expected)} < {shlex.quote(str(file))}")
        self._say(f"  {shlex.join(actual)}")

    def _told(self, finding: Finding) -> str:
        program = pretty(finding.program)
        found = f"found in {finding.original['id']}"
        others = "" if finding.programs == 1 else f" ({finding.programs} programs)"
        match finding:
            case Disagreement(difference=difference):
                # One alone needs no name.
                kind = f" at {difference.kind}{others}" if self.plan.limits.findings > 1 else ""
                head = f"Disagreement{kind}, {found} and made smaller:"
                return f"{head}\n\n{program}\n\n{render(difference)}"
            case ReferenceFailure(traceback=text):
                return f"The reference failed{others}, {found}:\n{text}\n{program}"
        said = finding.outcome.stderr.strip()
        wrote = f"\nIt wrote to standard error:\n{said}" if said else ""
        again = "" if finding.repeated else "; given the program alone, it did not"
        head = f"The driver failed: {finding.reason}\nThis was {found}{others}{again}."
        return f"{head}{wrote}\n\n{program}"


def _numbered(file: Path, number: int) -> Path:
    return file if number == 1 else file.with_stem(f"{file.stem}-{number}")


def _summary(report: Report, seed: int, jobs: int) -> str:
    unsupported = f", {report.unsupported} of them unsupported" if report.unsupported else ""
    left_out = f" ({report.left_out} others were left out)" if report.left_out else ""
    place = "in this process" if jobs == 1 else f"in {jobs} processes"
    return (
        f"{report.programs} programs{unsupported} from seed {seed}{left_out} in {report.seconds:.1f} s: "
        f"{report.per_second:.0f} a second, {report.own_share:.0%} of the time {place}."
    )


def _replayed(counts: dict[Kind, int]) -> str:
    run = sum(count for kind, count in counts.items() if kind != LEFT_OUT)
    faults = sum(count for kind, count in counts.items() if kind.is_fault)
    return f"{run} programs that were found before were run first; {run - faults} of them show nothing now."


def _nothing(done: Campaign) -> str:
    reason = "the driver supports none of these programs"
    if done.ended == "nothing fits":
        reason = "hardly a program has the features that are asked for, and none that is left out"
    elif not done.report.programs:
        reason = "the time was over"
    return f"Nothing was compared: {reason}."
