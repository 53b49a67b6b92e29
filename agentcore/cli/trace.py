"""`agentcore trace`, programs in and traces out, and `agentcore explain`."""

from __future__ import annotations

import json
import sys
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias, TypeVar

import attrs
import click
from rich.console import Console

from agentcore.cli.terminal import console, html_option, save_page, say
from agentcore.heap.boundary_log import Alias
from agentcore.heap.pollution import Verdict, written_path
from agentcore.kit.families import DEFAULT_PROFILE, PROFILE_NAMES, Family, family_of
from agentcore.kit.program import BadProgram
from agentcore.kit.safe_text import cut, one_line
from agentcore.oracle.campaign.executors import Crew, Promise, collect_seldom, processes
from agentcore.oracle.drivers.protocol import Implementation, answers
from agentcore.oracle.reports.explain import Boundary, Explanation, ExplanationError, Step, Writing
from agentcore.oracle.reports.explain import explain as run_explain

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
    for line in iter(source.readline, b""):
        if line.strip():
            _write(target, _trace_line(line, profile))


def filter_blocks(source: BinaryIO, target: BinaryIO, profile: str | None, crew: Crew) -> None:
    """Writes the same, in the same order, worked out by a crew, which is given blocks of lines."""
    lines = filter(bytes.strip, iter(source.readline, b""))
    under_way: deque[Promise[list[str]]] = deque()
    while block := [*islice(lines, _BLOCK)]:
        under_way.append(crew.submit(trace_lines, block, profile))
        # Two blocks for each process: one that it works at, and one that waits for it.
        if len(under_way) > 2 * crew.size:
            _write(target, *under_way.popleft().result())
    for promise in under_way:
        _write(target, *promise.result())


def trace_lines(lines: Sequence[bytes], profile: str | None) -> list[str]:
    """Returns the line of a trace for each line; never raises."""
    return [_trace_line(line, profile) for line in lines]


def _trace_line(line: bytes, profile: str | None) -> str:
    family = family_of(profile or DEFAULT_PROFILE)
    trace = traced(line, family, profile)
    return _text(trace) or _text(family.refusal(trace.get("id"), *_TOO_DEEP))


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

_BLOCK: Final = 32
_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), check_circular=False)


_TOO_DEEP: Final = ("TooDeep", "the program's hooks built a value too deep to be written as JSON")


def _text(value: Json) -> str:
    """The value as JSON; empty if it is too deep for that."""
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        return ""


def _write(target: BinaryIO, *texts: str) -> None:
    target.write("".join(f"{text}\n" for text in texts).encode("ascii"))
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
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Processes. With more than one, traces come some dozens of programs later than with one.",
)
@click.argument("file", type=click.File("rb"), default="-")
def trace(profile: str | None, *, protocol: bool, jobs: int, file: BinaryIO) -> None:
    """Read programs from FILE or standard input, one JSON value per line, and write their traces, in order.

    A line that is no program gives a trace with the error BadProgram, and the next line is read.
    """
    if protocol and jobs > 1:
        raise click.UsageError("--protocol answers one request after the other: leave out --jobs")
    if jobs > 1:
        with processes(jobs) as crew:
            filter_blocks(file, sys.stdout.buffer, profile, crew)
        return
    collect_seldom()
    (answer_lines if protocol else filter_lines)(file, sys.stdout.buffer, profile)


# `agentcore explain`: one program's run, step by step.

_T = TypeVar("_T")
_FAILURE: Final = 2
_WIDTH: Final = 100
_MOST: Final = 12


@click.command()
@click.option(
    "--profile",
    type=click.Choice(PROFILE_NAMES),
    help=f"Whose run. Without it, the program's path picks that of {DEFAULT_PROFILE}.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON, whole.")
@click.option(
    "--svg",
    type=click.Path(path_type=Path, dir_okay=False, writable=True),
    help="Draw who holds what at the end of each step (needs the extra `pictures`).",
)
@html_option("agentcore-run.html")
@click.option(
    "--against",
    type=click.Choice(PROFILE_NAMES),
    help="With --html: a second profile, whose run stands beside the first.",
)
@click.argument("program", type=click.File("rb"))
@click.pass_context
def explain(context: click.Context, /, **given: Any) -> None:
    """Run PROGRAM, a file with one program as JSON, and print its run step by step.

    Told are what each boundary handed out and which names are names of one object then, each write in place
    with who made it, and how far it went. Exits with 2 if the program cannot be run so.
    """
    program, profile, html = given["program"], given["profile"], given["html"]
    if given["against"] is not None and html is None:
        raise click.UsageError("--against needs --html: add --html, or run explain once for each profile")
    try:
        text = program.read()
        known = family_of(profile or DEFAULT_PROFILE).parse(text)
        found = run_explain(known, profile or f"{DEFAULT_PROFILE}/{known['path']}")
        if html is not None:
            save_page(found.player(_against(known, given["against"])), html)
        elif given["as_json"]:
            click.echo(json.dumps(found.to_json()))
        else:
            _tell(console(), found)
        if given["svg"] is not None:
            found.picture().save(given["svg"])
    except (BadProgram, ExplanationError) as error:
        say(console(stderr=True), f"{program.name}: {error}", "red")
        context.exit(_FAILURE)


def _against(program: Json, profile: str | None) -> Explanation | None:
    """The run of the program under a second profile, on the path that this is for."""
    if profile is None:
        return None
    _, mark, path = profile.partition("/")
    return run_explain({**program, "path": path} if mark and "path" in program else program, profile)


def _tell(target: Console, found: Explanation) -> None:
    shown = _writes_by_boundary(found)
    for step in found.steps:
        say(target, "before the first step" if step.number < 0 else f"step {step.number}", "bold")
        for event in step.events:
            if isinstance(event, Boundary):
                _tell_boundary(target, event, shown.get((event.step, event.name), []))
            else:
                _tell_write(target, event)
        _tell_aliases(target, step)
    for refusal in found.refusals:
        say(target, f"refused: {_line(refusal.where)}, op {refusal.op}: {_line(refusal.reason)}", "yellow")
    if found.error is not None:
        say(target, f"the run failed: {_json(found.error)}", "red")
    if not found.writes:
        say(target, "Nothing was written in place.")
    for note in found.notes:
        say(target, note)


def _writes_by_boundary(found: Explanation) -> dict[tuple[int, str], list[int]]:
    """Returns the numbers of the writes that each boundary shows."""
    numbers: dict[tuple[int, str], list[int]] = {}
    for writing in found.writes:
        for place in dict.fromkeys(writing.shown):
            numbers.setdefault(place, []).append(writing.write.number + 1)
    return numbers


def _tell_boundary(target: Console, boundary: Boundary, shown: Sequence[int]) -> None:
    named = ", ".join(map(str, shown[:_MOST]))
    mark = f", and sees write {named}" if shown else ""
    say(target, f"  {_line(boundary.name)} gets{mark}", "cyan")
    value = boundary.value
    fields = value if isinstance(value, dict) else {"value": value}
    _bounded(target, [*fields.items()], lambda field: f"    {_line(field[0])}: {_json(field[1])}")
    _bounded(target, boundary.aliases, lambda alias: f"    one object: {_names(alias)}")


def _tell_write(target: Console, writing: Writing) -> None:
    finding, write = writing.finding, writing.write
    polluting = finding.verdict is Verdict.POLLUTING
    path = written_path(str(write.handle[0]), write.handle[1:], write.key)
    changed = f"{_json(write.before)} -> {_json(write.after)}"
    mark = f">>> write {write.number + 1}:"
    say(target, f"{mark} {_line(write.hook)} writes {_line(path)} ({write.operation}): {changed}", "magenta")
    if len(writing.objects) > 1:
        say(target, f"    the object is {_line(' = '.join(writing.objects))}")
    shown = [f"{name} in step {step}" if step != write.step else name for step, name in writing.shown]
    say(target, f"    shown to {_line(', '.join(shown[:_MOST]))}" if shown else "    shown to nobody")
    if not polluting:
        say(target, f"    lasts: {finding.verdict.value}", "green")
        return
    first = "" if finding.first_seen is None else f", first seen again in step {finding.first_seen}"
    where = ", ".join(finding.paths.values()) or ", ".join(finding.reach)
    say(target, f"    lasts: {finding.verdict.value}{first}; at the end in {_line(where)}", "red")


def _tell_aliases(target: Console, step: Step) -> None:
    if step.aliases:
        say(target, "  names of one object at the end of the step", "cyan")
        _bounded(target, step.aliases, lambda alias: f"    {_names(alias)}")


def _names(alias: Alias) -> str:
    return _line(" = ".join(alias.paths))


def _bounded(target: Console, items: Sequence[_T], line: Callable[[_T], str]) -> None:
    for item in items[:_MOST]:
        say(target, line(item))
    if len(items) > _MOST:
        say(target, f"    ... {len(items) - _MOST} more (--json has all)")


def _json(value: Any) -> str:
    return cut(json.dumps(value), _WIDTH)


def _line(text: str) -> str:
    """A text of the program's on one line: what would steer a terminal is escaped."""
    return one_line(text, _WIDTH)
