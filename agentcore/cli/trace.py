"""`agentcore trace`: programs in, traces out."""

from __future__ import annotations

import json
import sys
import traceback
from typing import Any, BinaryIO, Final

import click

from agentcore.oracle.collecting import collect_seldom
from agentcore.oracle.families import DEFAULT_PROFILE, PROFILE_NAMES, Family, family_of
from agentcore.oracle.program import BadProgram


def traced(line: bytes, family: Family, profile: str | None) -> dict[str, Any]:
    """The trace of one line; of a line that gives none, the error that says so. Never raises."""
    program: dict[str, Any] = {}
    try:
        program = family.parse(line)
        return family.trace(program, profile or f"{DEFAULT_PROFILE}/{program['path']}")
    except BadProgram as error:
        return family.refusal(error.id, "BadProgram", str(error))
    except Exception as error:  # noqa: BLE001 - nothing ends the filter but the end of its input
        traceback.print_exc(file=sys.stderr)
        return family.refusal(program.get("id"), "InternalError", repr(error))


def filter_lines(source: BinaryIO, target: BinaryIO, profile: str | None) -> None:
    """Writes a trace for every line that is not empty, each as soon as it is known."""
    family = family_of(profile or DEFAULT_PROFILE)
    for line in iter(source.readline, b""):
        if line.strip():
            target.write(_text(traced(line, family, profile), family).encode("ascii") + b"\n")
            target.flush()


_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False)


def _text(trace: dict[str, Any], family: Family) -> str:
    try:
        return _ENCODER.encode(trace)
    except RecursionError:
        message = "the program's hooks built a value too deep to be written as JSON"
        return _ENCODER.encode(family.refusal(trace.get("id"), "TooDeep", message))


@click.command()
@click.option(
    "--profile",
    type=click.Choice(PROFILE_NAMES),
    help="Whose behaviour to trace. Without it, the program's path picks that of AI SDK 6.",
)
@click.argument("file", type=click.File("rb"), default="-")
def trace(profile: str | None, file: BinaryIO) -> None:
    """Read programs from FILE or standard input, one JSON value per line, and write their traces, in order.

    A line that is no program gives a trace with the error BadProgram, and the next line is read.
    """
    collect_seldom()
    filter_lines(file, sys.stdout.buffer, profile)
