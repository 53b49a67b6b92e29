"""`agentcore check`: random programs on an implementation and on the reference."""

from __future__ import annotations

import json
import random
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

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
from agentcore.oracle.driver import Driver
from agentcore.oracle.program import program_to_line
from agentcore.oracle.programs import random_programs
from agentcore.oracle.reference import PROFILE_NAMES
from agentcore.oracle.reference import trace as trace_program

_DISAGREEMENT = 1
_FAILURE = 2


@click.command()
@click.option("--profile", type=click.Choice(PROFILE_NAMES), required=True, help="Whose behaviour is expected.")
@click.option("--target", type=click.Choice(tuple(targets.TARGETS)), help="A package that agentcore installs and drives.")
@click.option("-n", "--programs", type=click.IntRange(min=1), default=1000, show_default=True, help="How many programs.")
@click.option("--seed", type=int, help="The first program's seed; the others follow. Without it, one is drawn and printed.")
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("disagreement.json"),
    show_default=True,
    help="Where the smallest program that shows a disagreement is written.",
)
@click.option("--time-limit", type=float, default=20.0, show_default=True, help="Seconds a driver has for one program.")
@click.option("--shrink-seconds", type=float, default=60.0, show_default=True, help="Seconds to spend on shrinking.")
@click.argument("driver", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def check(  # noqa: PLR0913 - one parameter per option
    context: click.Context,
    profile: str,
    target: str | None,
    programs: int,
    seed: int | None,
    save: Path,
    time_limit: float,
    shrink_seconds: float,
    driver: tuple[str, ...],
) -> None:
    """Run random programs on DRIVER (`-- node driver.mjs`) or a --target and on the reference, until they disagree.

    A disagreement is shrunk to a small program, which is printed with its first difference and saved.

    Exits with 0 on agreement, 1 on a disagreement, 2 when the driver failed or could not be started.
    """
    if bool(target) == bool(driver):
        raise click.UsageError("name a driver after `--`, or a --target, and not both")
    console = Console(stderr=True)
    try:
        argv = targets.command(target) if target else driver
    except targets.TargetError as error:
        console.print(str(error), style="red", markup=False)
        context.exit(_FAILURE)
    first = random.SystemRandom().randrange(2**32) if seed is None else seed
    path = profile.rpartition("/")[2]
    stream = random_programs(range(first, first + programs), path if path in ("stream", "generate") else None)
    with _progress(console) as bar:
        task = bar.add_task("programs", total=programs)
        result = run_check(
            partial(trace_program, profile=profile),
            partial(Driver, argv, time_limit=time_limit),
            stream,
            shrink_seconds=shrink_seconds,
            progress=lambda done: bar.update(task, completed=done),
        )
    context.exit(_told(result, Console(highlight=False), first, save, argv))


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)


def _told(result: CheckResult, console: Console, seed: int, save: Path, argv: tuple[str, ...]) -> int:
    """Prints the result; the exit code."""
    console.print(_summary(result.report, seed), markup=False)
    match result:
        case Agreement():
            console.print("No disagreement.")
            return 0
        case Disagreement():
            _save(save, result.program)
            console.print(f"Disagreement, at {result.difference.path}:\n", markup=False)
            console.print(_pretty(result.program), markup=False, soft_wrap=True)
            console.print("\n" + render(result.difference), markup=False, soft_wrap=True)
            console.print(f"\nSaved as {save}; run it again with\n  {shlex.join(argv)} < {save}", markup=False, soft_wrap=True)
            return _DISAGREEMENT
        case DriverFailure():
            _save(save, result.program)
            console.print(f"The driver failed: {result.outcome}\nThe program is in {save}.", markup=False, soft_wrap=True)
            return _FAILURE
        case ReferenceFailure():
            _save(save, result.program)
            console.print(f"The reference failed:\n{result.traceback}\nThe program is in {save}.", markup=False, soft_wrap=True)
            return _FAILURE


def _summary(report: Report, seed: int) -> str:
    unsupported = f", {report.unsupported} of them unsupported" if report.unsupported else ""
    return (
        f"{report.programs} programs{unsupported} from seed {seed} in {report.seconds:.1f} s: "
        f"{report.per_second:.0f} a second, {report.own_share:.0%} of the time in this process."
    )


def _save(path: Path, program: dict[str, Any]) -> None:
    path.write_text(program_to_line(program) + "\n", encoding="utf-8")


def _pretty(program: dict[str, Any]) -> str:
    return json.dumps(program, indent=2)
