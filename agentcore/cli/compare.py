"""`agentcore compare`: what differs between two profiles or packages, and why."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Final, TypeAlias

import click
from rich.console import Console

from agentcore.cli.terminal import console, progress, say
from agentcore.oracle.comparison.changes import Change, Changes, Witness
from agentcore.oracle.comparison.changes import compare as run_compare
from agentcore.oracle.comparison.comparands import SideError, side
from agentcore.oracle.comparison.guide import Advice, GuideError, advice_of, guide, telling, where
from agentcore.oracle.drivers.packages import TargetError
from agentcore.oracle.spec.vectors import pretty

Json: TypeAlias = dict[str, Any]
_DIFFERENT: Final = 1
_FAILURE: Final = 2
_PROGRESS_SECONDS: Final = 5.0
_FILE = click.Path(path_type=Path, dir_okay=False, writable=True)


@click.command()
@click.option("-n", "--programs", type=click.IntRange(min=1), default=300, show_default=True, help="Number.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the first; the others follow.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="How many processes.")
@click.option(
    "--patience",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="How many programs of a class are made smaller without anything new before that ends.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the classes as JSON.")
@click.option("--markdown", type=_FILE, help="Write the classes as a page whose examples can be run.")
@click.option(
    "--advice",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="For the page: what to write to have the same on both, by field (JSON).",
)
@click.argument("a")
@click.argument("b")
@click.pass_context
def compare(  # noqa: PLR0913 - one parameter per option
    context: click.Context,
    *,
    programs: int,
    seed: int,
    jobs: int,
    patience: int,
    as_json: bool,
    markdown: Path | None,
    advice: Path | None,
    a: str,
    b: str,
) -> None:
    """Find the classes of programs on which A and B differ, with the smallest programs of each.

    A and B are profiles (the part before a / stands for all paths) or real packages (with `live:` before
    the name where a profile is called alike); `agentcore frameworks` lists both. Where both do as profiles
    say, a class is a field of the profiles that makes the difference.

    Exits with 0 if no program differs, 1 if some do, 2 if one of the two cannot be run.
    """
    try:
        sides = side(a), side(b)
        known = advice_of(advice) if advice else {}
        seeds = range(seed, seed + programs)
        with progress(every=_PROGRESS_SECONDS, ends=True) as shown:
            changes = run_compare(*sides, seeds, patience=patience, jobs=jobs, progress=shown.update)
        _tell(changes, as_json=as_json)
        if markdown is not None:
            _write(changes, known, markdown, advice, patience)
    except (SideError, GuideError, TargetError) as error:
        say(console(stderr=True), str(error), "red")
        context.exit(_FAILURE)
    context.exit(_DIFFERENT if changes.differing else 0)


def _write(
    changes: Changes, known: dict[str, Advice] | Any, file: Path, advice: Path | None, patience: int
) -> None:
    """The page. The command in it is the one that makes it again, whatever the number of jobs."""
    words = ["agentcore", "compare", changes.before.name, changes.after.name]
    words += ["--programs", str(len(changes.seeds)), "--seed", str(changes.seeds.start)]
    words += ["--patience", str(patience), *(["--advice", str(advice)] if advice else [])]
    page = guide(changes, shlex.join([*words, "--markdown", str(file)]), known)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page, encoding="utf-8")


# --- for people ---------------------------------------------------------------------------------------------


def _tell(changes: Changes, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(to_json(changes)))
        return
    target = console()
    lacking = f", {changes.unsupported} unsupported" if changes.unsupported else ""
    say(target, f"{len(changes.seeds)} programs, {changes.differing} differ{lacking}.")
    for change in changes.classes:
        say(target, f"\n{_named(change)}: {change.count} programs", "bold")
        for witness in change.witnesses:
            _tell_witness(target, changes, change, witness)


def _named(change: Change) -> str:
    return change.field or f"not explained by one field, at {change.place}"


def _tell_witness(target: Console, changes: Changes, change: Change, witness: Witness) -> None:
    say(target, f"  {where(change, witness)}")
    shown = {key: value for key, value in witness.program.items() if key != "id"}
    say(target, _indented(pretty(shown), "    "))
    shown_by = telling(witness, changes.before.family.comparison)
    for one, values in zip((changes.before, changes.after), shown_by, strict=True):
        for path, value in values.items():
            say(target, f"    {one.name}: {path} = {json.dumps(value)}")


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line for line in text.splitlines())


def to_json(changes: Changes) -> Json:
    """The classes as plain JSON."""
    return {
        "a": changes.before.name,
        "b": changes.after.name,
        "programs": len(changes.seeds),
        "seed": changes.seeds.start,
        "unsupported": changes.unsupported,
        "differing": changes.differing,
        "classes": [
            {
                "field": change.field,
                "place": change.place,
                "programs": change.count,
                "witnesses": [_witness_json(witness) for witness in change.witnesses],
            }
            for change in changes.classes
        ],
    }


def _witness_json(witness: Witness) -> Json:
    return {
        "program": dict(witness.program),
        "place": witness.place,
        "places": list(witness.places),
        "fields": list(witness.fields),
        "features": sorted(witness.features),
        "a": witness.before,
        "b": witness.after,
    }
