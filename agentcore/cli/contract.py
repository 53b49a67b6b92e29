"""`agentcore contract`: who sees a hook's writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from agentcore.cli.terminal import console, say, warn
from agentcore.live.adapters.known import KNOWN
from agentcore.live.contracts import publish, text
from agentcore.live.contracts.measure import Measurement, measure, measure_project
from agentcore.live.contracts.releases import newest, package_of, published, resolved
from agentcore.live.contracts.table import changes
from agentcore.live.installs import InstallError

__all__ = ["at_option", "contract", "json_option", "path_option", "print_result", "require", "show_progress"]

_UNDECIDED: Final = 3
_PUBLISHED: Final = Path("spec/contracts")

at_option = click.option(
    "--at", metavar="BOUNDARY", help="Only this boundary; `agentcore check-hook --list` has all."
)
path_option = click.option(
    "--path", metavar="PATH", help="Only this path of the framework: generate or stream."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command()
@click.argument("frameworks", nargs=-1, metavar="[FRAMEWORK[@VERSION]] [FRAMEWORK@VERSION]")
@at_option
@path_option
@json_option
@click.option(
    "--project",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=Path(),
    help="The folder whose installation is measured where no VERSION is named; by default this one.",
)
@click.option("--changed", is_flag=True, help="Say whether newer releases than the published ones differ.")
@click.option(
    "--publish", "publishing", is_flag=True, help="Measure again, and write the published contracts."
)
@click.option("--quick", is_flag=True, help="With --publish: do not search between the releases measured.")
@click.option(
    "--published",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=_PUBLISHED,
    show_default=True,
    help="The folder of contracts.json and its pages.",
)
@click.pass_context
def contract(  # noqa: PLR0913 - the options
    context: click.Context,
    /,
    frameworks: tuple[str, ...],
    *,
    at: str | None,
    path: str | None,
    as_json: bool,
    project: Path,
    changed: bool,
    publishing: bool,
    quick: bool,
    folder: Path,
) -> None:
    """Print who sees what a hook writes, in a release of a framework.

    One conversation is run for each place that a hook can reach, with one write there. With two releases,
    print the rows that differ. Without a VERSION, the release that --project has installed is measured, or
    else the newest one. `1` and `1.5` stand for the newest release of that line.

    Exits with 0, or 1 if there are differences, 2 for wrong usage, 3 if a release cannot be measured.
    """
    try:
        if publishing:
            for line in publish.publish(folder, frameworks, at=at, quick=quick, report=show_progress):
                say(console(), line)
        elif changed:
            context.exit(_changed(folder, frameworks))
        else:
            context.exit(_measured(frameworks, at, path, project, as_json=as_json))
    except InstallError as error:
        warn(str(error))
        context.exit(_UNDECIDED)


def _measured(
    frameworks: tuple[str, ...], at: str | None, path: str | None, project: Path, *, as_json: bool
) -> int:
    if len(frameworks) not in (1, 2):
        raise click.UsageError("name one framework, or two releases of one")
    for each in frameworks:
        require(each, at, path)
    found = [_measure(each, at, path, project) for each in frameworks]
    if len(found) == 1:
        print_result(found[0], text.table(found[0]), as_json=as_json)
        return 0
    old, new = found
    if old["framework"] != new["framework"]:
        raise click.UsageError(f"{old['framework']} and {new['framework']} have no rows in common")
    differing = changes(old, new)
    print_result(
        text.changes_as_json(old, new, differing), text.difference(old, new, differing), as_json=as_json
    )
    return 1 if differing else 0


def _measure(wanted: str, at: str | None, path: str | None, project: Path) -> Measurement:
    framework, _, version = wanted.partition("@")
    package = package_of(framework)
    if version:
        return _of_cache(framework, resolved(package, version), at, path)
    try:
        return measure_project(framework, project, at, path)
    except InstallError:
        return _of_cache(framework, newest(published(package)), at, path)


def _of_cache(framework: str, version: str, at: str | None, path: str | None) -> Measurement:
    show_progress(f"measuring {framework} {version}")
    return measure(framework, version, at, path)


def _changed(folder: Path, frameworks: tuple[str, ...]) -> int:
    contracts = publish.read(folder)
    differs = False
    for framework in frameworks or tuple(contracts["frameworks"]):
        require(framework, None, None)
        of = contracts["frameworks"].get(framework)
        if of is None:
            raise click.UsageError(f"{folder} has no contract of {framework}")
        known, latest = of["releases"][-1]["version"], newest(published(package_of(framework)))
        if latest in [each["version"] for each in of["releases"]]:
            say(console(), f"{framework}: {latest} is the newest release, and measured")
            continue
        now = _of_cache(framework, latest, None, None)
        before = publish.measurement_of(of, framework, known)
        differing = changes(before, now)
        differs = differs or bool(differing)
        say(console(), text.difference(before, now, differing))
    return 1 if differs else 0


def require(wanted: str, at: str | None, path: str | None) -> None:
    """Raises BadParameter for a framework, boundary or path that there is not."""
    framework = wanted.partition("@")[0]
    known = KNOWN.get(framework)
    if known is None:
        raise click.BadParameter(f"no framework is named {framework}; there are {', '.join(KNOWN)}")
    if at is not None and at not in known.boundaries:
        raise click.BadParameter(
            f"{framework} has no boundary {at}; it has {', '.join(known.boundaries)}", param_hint="--at"
        )
    if path is not None and path not in known.paths:
        raise click.BadParameter(f"{framework} has the paths {', '.join(known.paths)}", param_hint="--path")


def show_progress(what: str) -> None:
    """Prints what is being done."""
    say(console(stderr=True), what)


def print_result(data: Mapping[str, Any], lines: str, *, as_json: bool) -> None:
    """Prints a result as JSON or as text."""
    click.echo(json.dumps(data, indent=2)) if as_json else say(console(), lines)
