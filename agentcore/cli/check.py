"""`agentcore check`: random programs on an implementation and on the reference."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agentcore.cli.terminal import console, say
from agentcore.oracle import targets
from agentcore.oracle.check import (
    Agreement,
    CheckResult,
    Disagreement,
    DriverFailure,
    ReferenceFailure,
    Report,
)
from agentcore.oracle.check import check as run_check
from agentcore.oracle.compare import render
from agentcore.oracle.driver import Driver, Failure, Hung, Malformed
from agentcore.oracle.families import PROFILE_NAMES, Family, family_of
from agentcore.oracle.vectors import pretty

Json: TypeAlias = dict[str, Any]
_DISAGREEMENT: Final = 1
_FAILURE: Final = 2


@click.command()
@click.option(
    "--profile", type=click.Choice(PROFILE_NAMES), required=True, help="Whose behaviour is expected."
)
@click.option(
    "--target",
    type=click.Choice(tuple(targets.TARGETS)),
    help="A package that agentcore installs and drives.",
)
@click.option(
    "-n",
    "--programs",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="How many programs.",
)
@click.option(
    "--seed",
    type=int,
    help="The first program's seed; the others follow. Without it, one is drawn and printed.",
)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    default=Path("disagreement.json"),
    show_default=True,
    help="Where the smallest program that shows a disagreement is written.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Seconds a driver has for one program.",
)
@click.option(
    "--shrink-seconds",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds to spend on shrinking.",
)
@click.argument("driver", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def check(  # noqa: PLR0913 - one parameter per option
    context: click.Context,
    *,
    profile: str,
    target: str | None,
    programs: int,
    seed: int | None,
    save: Path,
    time_limit: float,
    shrink_seconds: float,
    driver: tuple[str, ...],
) -> None:
    """Run random programs on DRIVER (`-- node driver.mjs`) or a --target, and on the reference.

    The first disagreement ends it: that is shrunk to a small program, which is printed with its first
    difference and saved.

    Exits with 0 on agreement, 1 on a disagreement, 2 when the driver failed or could not be started.
    """
    if bool(target) == bool(driver):
        raise click.UsageError("name a driver after `--`, or a --target, and not both")
    if not save.absolute().parent.is_dir():
        raise click.UsageError(f"the folder of --save {save} does not exist")
    try:
        argv = targets.command(target) if target else driver
    except targets.TargetError as error:
        say(console(stderr=True), str(error), "red")
        context.exit(_FAILURE)
    first = random.SystemRandom().randrange(2**32) if seed is None else seed
    family = family_of(profile)
    result = _run(
        family,
        profile,
        partial(Driver, argv, time_limit=time_limit, trace_fields=family.trace_fields),
        range(first, first + programs),
        shrink_seconds,
    )
    context.exit(_Teller(console(), family, profile, argv, first, save).tell(result))


def _run(
    family: Family, profile: str, make_driver: Callable[[], Driver], seeds: range, shrink_seconds: float
) -> CheckResult:
    with _progress(console(stderr=True)) as bar:
        task = bar.add_task("programs", total=len(seeds))
        return run_check(
            lambda program: family.trace(program, profile),
            make_driver,
            family.programs(seeds, profile),
            family=family,
            shrink_seconds=shrink_seconds,
            progress=lambda done: bar.update(task, completed=done),
        )


def _progress(target: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=target, transient=True, disable=not target.is_terminal)


@attrs.frozen
class _Teller:
    """Prints a result for the one who asked for it."""

    console: Console
    family: Family
    profile: str
    argv: tuple[str, ...]
    seed: int
    save: Path

    def tell(self, result: CheckResult) -> int:
        """Prints the result and saves its program; the exit code."""
        self._say(_summary(result.report, self.seed))
        if isinstance(result, Agreement):
            self._say("No disagreement.")
            return 0
        if isinstance(result, Disagreement):
            self._disagreement(result)
            return _DISAGREEMENT
        self._say(_failure(result))
        self._saved(result.program)
        return _FAILURE

    def _say(self, text: str) -> None:
        say(self.console, text)

    def _disagreement(self, found: Disagreement) -> None:
        self._say(f"Disagreement, found in {found.original['id']} and made smaller:\n")
        self._say(pretty(found.program))
        self._say(f"\n{render(found.difference)}\n")
        self._saved(found.program)

    def _saved(self, program: Json) -> None:
        self.save.write_text(self.family.to_line(program) + "\n", encoding="utf-8")
        mine = ("agentcore", "trace", "--profile", self.profile)
        file = shlex.quote(str(self.save))
        self._say(f"The program is in {self.save}. What each side makes of it:")
        for argv in (mine, self.argv):
            self._say(f"  {shlex.join(argv)} < {file}")


def _failure(result: DriverFailure | ReferenceFailure) -> str:
    if isinstance(result, ReferenceFailure):
        return f"The reference failed:\n{result.traceback}"
    said = result.outcome.stderr.strip()
    wrote = f"\nIt wrote to standard error:\n{said}" if said else ""
    return f"The driver failed: {_what_it_did(result.outcome)}{wrote}"


def _what_it_did(outcome: Failure) -> str:
    if isinstance(outcome, Hung):
        return f"no answer within {outcome.seconds:g} seconds"
    if isinstance(outcome, Malformed) and outcome.output:
        return f"{outcome.reason}: {outcome.output}"
    return outcome.reason


def _summary(report: Report, seed: int) -> str:
    unsupported = f", {report.unsupported} of them unsupported" if report.unsupported else ""
    return (
        f"{report.programs} programs{unsupported} from seed {seed} in {report.seconds:.1f} s: "
        f"{report.per_second:.0f} a second, {report.own_share:.0%} of the time in this process."
    )
