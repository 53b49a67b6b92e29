"""`agentcore ask`, `lint-driver`, `skeleton`, for whoever writes a driver, and `frameworks`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any, BinaryIO, Final, TypeAlias

import attrs
import click
from rich.console import Console

from agentcore.cli.terminal import console, printable, require_program, say
from agentcore.kit.framework import Entry, Framework, entries
from agentcore.kit.program import BadProgram, parse_json
from agentcore.oracle.drivers.driver import Answer, Driver, Outcome
from agentcore.oracle.drivers.lint import CHECKS, Broken, Verdict, lint

_FAILURE: Final = 2

_FORM: Final = "each line has to hold one program"


@click.command()
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Seconds that the driver has for one program.",
)
@click.argument("file", type=click.File("rb"))
@click.argument("driver", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def ask(context: click.Context, *, time_limit: float, file: BinaryIO, driver: tuple[str, ...]) -> None:
    """Run the programs of FILE on DRIVER (`-- python driver.py`), and write the traces, one a line.

    Exits with 2 if a program has no trace, and writes the reason to standard error.
    """
    require_program(driver)
    failed = False
    with Driver(driver, time_limit=time_limit, trace_fields=()) as running:
        for number, program in _programs(file):
            outcome = running.run(program)
            if isinstance(outcome, Answer):
                click.echo(json.dumps(outcome.trace))
            else:
                failed = True
                say(console(stderr=True), printable(_describe_outcome(number, program, outcome)), "red")
    context.exit(_FAILURE if failed else 0)


def _programs(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each program, with the number of its line."""
    for number, line in enumerate(iter(file.readline, b""), 1):
        if not line.strip():
            continue
        try:
            program = parse_json(line)
        except BadProgram as error:
            raise click.BadParameter(f"{file.name}, line {number}: {error}; {_FORM}") from None
        if not isinstance(program, dict):
            raise click.BadParameter(f"{file.name}, line {number} is no JSON object; {_FORM}")
        yield number, program


def _describe_outcome(number: int, program: dict[str, Any], outcome: Outcome) -> str:
    fields = attrs.asdict(outcome)
    why = "; ".join(f"{name}: {value}" for name, value in fields.items() if value != "")
    return f"{program.get('id', f'line {number}')}: {type(outcome).__name__.lower()}: {why}"


_BROKEN: Final = 1


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


_FILES: Final = {"python": "driver.py", "javascript": "driver.mjs"}


@click.command()
@click.argument("language", type=click.Choice(tuple(_FILES)))
def skeleton(language: str) -> None:
    """Write a driver for an agent loop in LANGUAGE to standard output, to be filled in.

    It is one file, needs nothing else, and answers every program that it does not support it.
    """
    text = files("agentcore.skeletons").joinpath(_FILES[language]).read_text(encoding="utf-8")
    click.echo(text, nl=False)


Json: TypeAlias = dict[str, Any]
_UNUSABLE: Final = 2


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.pass_context
def frameworks(context: click.Context, *, as_json: bool) -> None:
    """List the frameworks that are installed: profiles, packages, and the distribution that provides each.

    Exits with 2 if one of them cannot be used.
    """
    found = entries()
    if as_json:
        click.echo(json.dumps([_to_json(entry) for entry in found]))
    else:
        for entry in found:
            _print_entry(console(), entry)
    context.exit(_UNUSABLE if any(entry.error for entry in found) else 0)


def _print_entry(target: Console, entry: Entry) -> None:
    if entry.framework is None:
        say(target, f"{entry.name}, from {entry.provider}: broken", "red")
        say(target, f"  {entry.error}")
        return
    framework = entry.framework
    say(target, f"{entry.name} ({framework.title}), from {entry.provider}", "bold")
    say(target, f"  profiles: {', '.join(framework.profiles)}")
    say(target, f"  packages: {', '.join(_packages(framework)) or 'none'}")


def _packages(framework: Framework) -> list[str]:
    return [f"{name} ({package.package})" for name, package in framework.packages.items()]


def _to_json(entry: Entry) -> Json:
    found: Json = {"name": entry.name, "provider": entry.provider}
    if entry.framework is None:
        return {**found, "error": str(entry.error)}
    packages = {name: package.package for name, package in entry.framework.packages.items()}
    profiles = [*entry.framework.profiles]
    return {**found, "title": entry.framework.title, "profiles": profiles, "packages": packages}
