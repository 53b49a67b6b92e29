"""What `agentcore check` prints: each finding as soon as it is made, and in the end what was run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
from rich.console import Console

from agentcore.cli.terminal import say, tolerant, warn, written
from agentcore.kit.compare import render
from agentcore.kit.families import family_of
from agentcore.kit.isolation import Breach
from agentcore.oracle.campaign.check import Campaign, Plan, Report
from agentcore.oracle.campaign.coverage import Coverage
from agentcore.oracle.campaign.findings import Disagreement, Finding, ReferenceFailure
from agentcore.oracle.campaign.verdicts import AGREED, Kind
from agentcore.oracle.campaign.worker import profile_for
from agentcore.oracle.spec.vectors import pretty

__all__ = ["EXIT_CODES", "CheckPrinter"]

Json: TypeAlias = dict[str, Any]

_REASONS: Final = 5
EXIT_CODES: Final = {"agreement": 0, "disagreement": 1, "no verdict": 2}


@attrs.frozen(kw_only=True)
class CheckPrinter:
    """Prints what a campaign finds, and saves the programs of its findings.

    What cannot be printed or saved is a warning.
    """

    console: Console
    plan: Plan
    save: Path
    files: list[Path | None] = attrs.field(factory=list)
    _printed: list[Finding] = attrs.field(factory=list)

    def finding(self, finding: Finding) -> None:
        """Prints a finding, saves its program, and prints what to do with it."""
        self._printed.append(finding)
        with tolerant():
            self._say(f"{self._describe_finding(finding)}\n")
        file = _numbered(self.save, len(self._printed))
        saved = self._saved(finding.program, file)
        self.files.append(file if saved else None)
        with tolerant():
            self._say(self._next(finding.program, file) if saved else "The program was not saved.\n")

    def summary(self, done: Campaign, *, seed: int, jobs: int) -> None:
        """Prints how many programs were run, with their outcomes."""
        with tolerant():
            if self.plan.limits.programs == 0:
                self._say(_run_again(done.replayed))
            else:
                if done.replayed:
                    self._say(_replayed(done.replayed))
                self._say(_summary(done.report, seed, jobs))
                if self.plan.sweep is None and done.coverage.met:
                    self._say(_pairs(done.coverage, len(family_of(self.plan.profile).feature_names)))
            for line in _reasons(done):
                self._say(line)
            if not done.findings:
                is_clean = done.verdict == "agreement" or (done.stopped and AGREED in done.counts)
                self._say(self._nothing_found() if is_clean else _nothing(done))
            elif more := self._left_out(done):
                self._say(f"{more} more causes were seen; --max-findings prints more of them.")
        if done.stopped:
            warn(f"The check ended early: {done.stopped}")

    def _left_out(self, done: Campaign) -> int:
        """How many causes were seen and are not reported."""
        if not self.plan.isolated or done.stopped:
            return 0
        seen = {kind for kind in (*done.counts, *done.replayed) if kind.is_fault}
        return len(seen - {finding.kind for finding in done.findings})

    def _nothing_found(self) -> str:
        return "No write of a hook is seen by anybody else." if self.plan.isolated else "No disagreement."

    def _say(self, text: str) -> None:
        say(self.console, text)

    def _saved(self, program: Json, file: Path) -> bool:
        line = family_of(self.plan.profile).to_line(program)

        def write() -> None:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(line + "\n", encoding="utf-8")

        return written("the program", file, write)

    def _next(self, program: Json, file: Path) -> str:
        profile = profile_for(program, self.plan.profile)
        if self.plan.isolated:
            again = ("agentcore", "check", "--isolated", "--replay", str(file), "--", *self.plan.command())
            return f"The program is in {file}. To run it again:\n  {shlex.join(again)}\n"
        commands = (
            ("agentcore", "trace", "--profile", profile, str(file)),
            ("agentcore", "ask", str(file), "--", *self.plan.command()),
            ("agentcore", "explain", str(file), "--profile", profile),
        )
        lines = "".join(f"  {shlex.join(argv)}\n" for argv in commands)
        return f"The program is in {file}. What each side makes of it, and why:\n{lines}"

    def _describe_finding(self, finding: Finding) -> str:
        program = pretty(finding.program)
        found = f"found in {finding.original['id']}"
        others = "" if finding.programs == 1 else f" ({finding.programs} programs)"
        match finding:
            case Disagreement(breach=Breach() as breach):
                return _breach(finding, breach, found, program)
            case Disagreement(difference=difference):
                # One alone needs no place.
                kind = f" at {difference.kind}{others}" if self.plan.limits.findings > 1 else ""
                head = f"Disagreement{kind}, {found} and made smaller:"
                cause = f"cause: {finding.kind.cause}\n" if finding.kind.op else ""
                return f"{head}\n\n{program}\n\n{cause}{render(difference)}"
            case ReferenceFailure(traceback=text):
                return f"The reference failed{others}, {found}:\n{text}\n{program}"
        said = finding.outcome.stderr.strip()
        wrote = f"\nIt wrote to standard error:\n{said}" if said else ""
        again = "" if finding.repeated else "; given the program alone, it did not"
        head = f"The driver failed: {finding.reason}\nThis was {found}{others}{again}."
        return f"{head}{wrote}\n\n{program}"


def _breach(finding: Disagreement, breach: Breach, found: str, program: str) -> str:
    programs = "1 program" if finding.programs == 1 else f"{finding.programs} programs"
    rest = breach.first
    step = "" if rest.step is None else f" in step {rest.step}"
    shown = render(finding.difference, names=_SIDES.get(breach.rule, ("without the write", "with the write")))
    return (
        f"{breach.kind}: {breach.message} ({programs})\n"
        f"{found[0].upper()}{found[1:]} and made smaller:\n\n{program}\n\n"
        f"first seen in {rest.holder}{step}\n{shown}\n\n"
        f"Requirement {breach.rule}. What to do: {breach.remedy}."
    )


_SIDES: Final = {
    "isolated.call-order": ("tools in no time", "tools with times"),
    "isolated.accumulates": ("returned for the last step only", "returned for each step"),
    "isolated.caller-kept": ("before the run", "after the run"),
    "isolated.reports-kept": ("as it was given", "after the run"),
}


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


def _pairs(coverage: Coverage, names: int) -> str:
    there_are = names * (names - 1) // 2
    can_be = min(coverage.expected, there_are)
    return f"Pairs of features: {coverage.met} of about {can_be} that such programs have ({names} features)."


def _run_again(counts: dict[Kind, int]) -> str:
    run = sum(counts.values())
    faults = sum(count for kind, count in counts.items() if kind.is_fault)
    if run == 1:
        return f"1 program was run again; it shows {'this still' if faults else 'nothing now'}."
    return f"{run} programs were run again; {run - faults} of them show nothing now."


def _replayed(counts: dict[Kind, int]) -> str:
    run = sum(count for kind, count in counts.items() if kind.outcome != "left out")
    faults = sum(count for kind, count in counts.items() if kind.is_fault)
    return f"{run} programs that were found before were run first; {run - faults} of them show nothing now."


def _reasons(done: Campaign) -> Iterator[str]:
    """Why programs were not compared, the most frequent reasons first."""
    for outcome, head in (("unsupported", "Unsupported"), ("left out", "Left out")):
        reasons = done.reasons(outcome)
        shown = [f"  {count} {reason}" for reason, count in [*reasons.items()][:_REASONS]]
        rest = sum([*reasons.values()][_REASONS:])
        if shown:
            others = [f"  {rest} for other reasons"] if rest else []
            yield "\n".join((f"{head}, by reason:", *shown, *others))


def _nothing(done: Campaign) -> str:
    reason = "the driver supports none of these programs"
    if done.ended == "nothing fits":
        reason = (
            "too many programs in a row were left out; ask for less with --include, or leave less out with "
            "--exclude and the driver's own `unsupported`"
        )
    elif not done.report.programs:
        reason = "the time was over"
    return f"Nothing was compared: {reason}."
