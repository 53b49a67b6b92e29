"""`agentcore trace`: programs in, traces out."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any, BinaryIO, Final, TypeAlias

import attrs
import click

from agentcore.kit.families import DEFAULT_PROFILE, PROFILE_NAMES, Family, family_of
from agentcore.kit.program import BadProgram
from agentcore.oracle.campaign.executors import collect_seldom
from agentcore.oracle.drivers.protocol import Implementation, answers

Json: TypeAlias = dict[str, Any]
_DISTRIBUTION: Final = "agentcore-reference"


@attrs.frozen
class _Refusal:
    """Why there is no trace of a program; `id` is its own, if it is known."""

    id: Any
    name: str
    message: str


def _traced(parse: Callable[[], Json], family: Family, profile: str | None) -> Json | _Refusal:
    program: Json = {}
    try:
        program = parse()
        return family.trace(program, profile or f"{DEFAULT_PROFILE}/{program['path']}")
    except BadProgram as error:
        return _Refusal(error.id, "BadProgram", str(error))
    except Exception as error:  # noqa: BLE001 - nothing ends the command but the end of its input
        traceback.print_exc(file=sys.stderr)
        return _Refusal(program.get("id"), "InternalError", repr(error))


# ---------------------------------------------------------------- the filter


def traced(line: bytes, family: Family, profile: str | None) -> Json:
    """The trace of one line; of a line that gives none, the error that says so. Never raises."""
    found = _traced(partial(family.parse, line), family, profile)
    return family.refusal(found.id, found.name, found.message) if isinstance(found, _Refusal) else found


def filter_lines(source: BinaryIO, target: BinaryIO, profile: str | None) -> None:
    """Writes a trace for every line that is not empty, each as soon as it is known."""
    family = family_of(profile or DEFAULT_PROFILE)
    for line in iter(source.readline, b""):
        if line.strip():
            trace = traced(line, family, profile)
            _write(target, _text(trace) or _text(family.refusal(trace.get("id"), *_TOO_DEEP)))


# ---------------------------------------------------------------- the protocol


def answer_lines(source: BinaryIO, target: BinaryIO, profile: str | None) -> None:
    """Answers requests of the driver protocol, each as soon as it is known how, until one says to stop."""
    family = family_of(profile or DEFAULT_PROFILE)
    own = Implementation(name="agentcore", version=version(_DISTRIBUTION), formats=(family.name,))
    lines = iter(source.readline, b"")
    for answer in answers(lines, own, partial(_answer, family=family, profile=profile)):
        _write(target, _text(answer) or _text({"seq": answer["seq"], **_error(*_TOO_DEEP)}))


def _answer(program: Any, family: Family, profile: str | None) -> Json:
    def parse() -> Json:
        family.require(program)
        return dict(program)

    found = _traced(parse, family, profile)
    if isinstance(found, _Refusal):
        return _error(found.name, found.message)
    return {"unsupported": found["unsupported"]} if "unsupported" in found else {"trace": found}


def _error(name: str, message: str) -> Json:
    return {"error": {"name": name, "message": message}}


# ---------------------------------------------------------------- both

_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False)


_TOO_DEEP: Final = ("TooDeep", "the program's hooks built a value too deep to be written as JSON")


def _text(value: Json) -> str:
    """The value as JSON; empty if it is too deep for that."""
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        return ""


def _write(target: BinaryIO, text: str) -> None:
    target.write(text.encode("ascii") + b"\n")
    target.flush()


@click.command()
@click.option(
    "--profile",
    type=click.Choice(PROFILE_NAMES),
    help=f"Whose behaviour to trace. Without it, the program's path picks that of {DEFAULT_PROFILE}.",
)
@click.option(
    "--protocol",
    is_flag=True,
    help="Be a driver: read requests of the driver protocol and write answers.",
)
@click.argument("file", type=click.File("rb"), default="-")
def trace(profile: str | None, *, protocol: bool, file: BinaryIO) -> None:
    """Read programs from FILE or standard input, one JSON value per line, and write their traces, in order.

    A line that is no program gives a trace with the error BadProgram, and the next line is read.
    """
    collect_seldom()
    (answer_lines if protocol else filter_lines)(file, sys.stdout.buffer, profile)
