"""`agentcore lint-driver`: whether a program keeps the driver protocol."""

from __future__ import annotations

from typing import Final

import click
from rich.console import Console

from agentcore.cli.terminal import console, printable, require_program, say
from agentcore.oracle.drivers.lint import CHECKS, Broken, Verdict, lint

_BROKEN: Final = 1
_FAILURE: Final = 2


@click.command(name="lint-driver")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds that the driver has for one answer.",
)
@click.argument("driver", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def lint_driver(context: click.Context, *, time_limit: float, driver: tuple[str, ...]) -> None:
    """Check DRIVER (`-- python driver.py`) rule by rule of the protocol; say what is wrong, and what to do.

    Exits with 0 if every rule is kept, 1 if one is broken, 2 if the driver cannot be started.
    """
    require_program(driver)
    target = console()
    verdicts: list[Verdict] = []
    try:
        for verdict in lint(driver, time_limit=time_limit):
            verdicts.append(verdict)
            _tell(target, verdict)
    except OSError as error:
        mend = f"name its interpreter first, as in -- node {driver[0]}"
        what = f"could not start {driver[0]}: {error.strerror}; {mend}"
        say(console(stderr=True), printable(what), "red")
        context.exit(_FAILURE)
    broken = sum(isinstance(verdict, Broken) for verdict in verdicts)
    left = len(CHECKS) - len(verdicts)
    more = f", {left} not checked" if left else ""
    say(target, f"\n{len(verdicts) - broken} rules kept, {broken} broken{more}")
    context.exit(_BROKEN if broken else 0)


def _tell(target: Console, verdict: Verdict) -> None:
    name = verdict.rule.value
    if not isinstance(verdict, Broken):
        say(target, f"kept    {name}" + (f" ({verdict.note})" if verdict.note else ""), "green")
        return
    say(target, f"BROKEN  {name}: {printable(verdict.what)}", "red")
    lines = {"rule": verdict.rule.statement, "sent": verdict.sent, "heard": verdict.heard, "do": verdict.todo}
    for title, text in lines.items():
        if text:
            say(target, f"        {title + ':':7}{printable(text)}")
