"""`agentcore ask`: programs of a file on a driver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

import attrs
import click

from agentcore.cli.terminal import console, printable, require_program, say
from agentcore.kit.program import BadProgram, parse_json
from agentcore.oracle.drivers.driver import Answer, Driver, Outcome

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

    Exits with 2 if one of them has no trace; why not is told on standard error.
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
                say(console(stderr=True), printable(_told(number, program, outcome)), "red")
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


def _told(number: int, program: dict[str, Any], outcome: Outcome) -> str:
    fields = attrs.asdict(outcome)
    why = "; ".join(f"{name}: {value}" for name, value in fields.items() if value != "")
    return f"{program.get('id', f'line {number}')}: {type(outcome).__name__.lower()}: {why}"
