"""`agentcore ask`: programs of a file on a driver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import attrs
import click

from agentcore.cli.terminal import console, printable, say
from agentcore.oracle.driver import Answer, Driver, Outcome
from agentcore.oracle.program import BadProgram, parse_json

_FAILURE: Final = 2


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

    Exits with 2 if one of them has no trace; why not is told on standard error.
    """
    failed = False
    with Driver(driver, time_limit=time_limit, trace_fields=()) as running:
        for program in _programs(file):
            outcome = running.run(program)
            if isinstance(outcome, Answer):
                click.echo(json.dumps(outcome.trace))
            else:
                failed = True
                say(console(stderr=True), printable(_told(program, outcome)), "red")
    context.exit(_FAILURE if failed else 0)


def _programs(file: BinaryIO) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(iter(file.readline, b""), 1):
        if not line.strip():
            continue
        try:
            program = parse_json(line)
        except BadProgram as error:
            raise click.BadParameter(f"line {number}: {error}") from None
        if not isinstance(program, dict):
            raise click.BadParameter(f"line {number} is no JSON object")
        yield program


def _told(program: dict[str, Any], outcome: Outcome) -> str:
    fields = attrs.asdict(outcome)
    why = "; ".join(f"{name}: {value}" for name, value in fields.items() if value != "")
    return f"{program.get('id')}: {type(outcome).__name__.lower()}: {why}"
