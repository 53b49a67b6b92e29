"""`agentcore contract`: who sees a hook's writes; `agentcore bisect`: which release changed that."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import click

from agentcore.cli.terminal import console, say, warn
from agentcore.live.adapters.known import KNOWN
from agentcore.live.contracts import publish, text
from agentcore.live.contracts.bisect import Search, Undecided, bisect
from agentcore.live.contracts.measure import Measurement, measure, measure_project
from agentcore.live.contracts.releases import between, newest, package_of, published, resolved
from agentcore.live.contracts.table import changes
from agentcore.live.installs import InstallError
from agentcore.oracle.comparison.comparands import SideError
from agentcore.oracle.comparison.guide import Answers, Programs, Row, target_for
from agentcore.oracle.drivers.packages import TargetError

__all__ = [
    "at_option",
    "bisect_releases",
    "contract",
    "json_option",
    "path_option",
    "print_result",
    "require",
    "show_progress",
]

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


_NO_CHANGE: Final = 1
_MOST_SEEDS: Final = 8


@click.command(name="bisect")
@click.argument("framework")
@click.argument("old")
@click.argument("new")
@click.option(
    "--by",
    type=click.Choice(["contract", "programs"]),
    default="contract",
    show_default=True,
    help="What is compared: who sees a write, or what random programs come to.",
)
@at_option
@path_option
@click.option(
    "-n", "--programs", type=click.IntRange(min=1), default=100, show_default=True, help="How many."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the first program; others follow.")
@json_option
@click.option(
    "--samples",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="Releases between the two that are measured first: a change may have been taken back.",
)
@click.pass_context
def bisect_releases(  # noqa: PLR0913 - the options
    context: click.Context,
    /,
    framework: str,
    old: str,
    new: str,
    *,
    by: str,
    at: str | None,
    path: str | None,
    programs: int,
    seed: int,
    as_json: bool,
    samples: int,
) -> None:
    """Find the releases of FRAMEWORK from OLD to NEW that changed who sees what a hook writes.

    Each release that is needed is installed into the cache with a lock of its own, and measured once.
    Releases that cannot be measured are skipped and named. With `--by programs` the same random programs are
    run in each of these releases, of frameworks that have profiles.

    Exits with 0 if a change was found, 1 if there is none, 2 for wrong usage, 3 if OLD or NEW cannot be
    measured.
    """
    require(framework, at, path)
    try:
        package = package_of(framework)
        releases = between(published(package), resolved(package, old), resolved(package, new))
        if by == "contract":
            search = bisect(
                releases,
                lambda version: measure(framework, version, at, path),
                samples=samples,
                report=show_progress,
            )
            data, lines = text.search_as_json(framework, search), text.search(framework, search)
        else:
            if at is not None or path is not None:
                raise click.UsageError(
                    "--at and --path choose rows of a contract, and a program has all of them"
                )
            found = _Found(package.name, framework, releases, range(seed, seed + programs))
            search = found.search(samples)
            data, lines = found.as_json(search), "\n".join(found.lines(search))
    except LookupError as error:
        raise click.UsageError(str(error)) from error
    except (InstallError, SideError, TargetError, Undecided) as error:
        warn(str(error))
        context.exit(_UNDECIDED)
    print_result(data, lines, as_json=as_json)
    context.exit(0 if search.edges else _NO_CHANGE)


class _Found:
    """A search by programs, and what it found in words and as data."""

    def __init__(self, package: str, framework: str, releases: list[str], seeds: range) -> None:
        self._framework, self._releases = framework, releases
        self._target = target_for(package)
        self._programs = Programs(self._named, releases[0], releases[-1], seeds)

    def _named(self, version: str) -> str:
        return f"live:{self._target}@{version}"

    def search(self, samples: int) -> Search:
        return bisect(
            self._releases,
            self._measured,
            samples=samples,
            differ=self._programs.differing,
            report=show_progress,
        )

    def _measured(self, version: str) -> Answers:
        try:
            return self._programs.answers(version)
        except (SideError, TargetError) as error:
            raise InstallError(str(error)) from error

    def lines(self, search: Search) -> Iterator[str]:
        """Yields what was found, to paste into a report."""
        seeds = self._programs.seeds
        for edge in search.edges:
            gap = f" (between them, not run: {', '.join(edge.unknown)})" if edge.unknown else ""
            count = f"{len(edge.rows)} of {len(seeds)} programs differ"
            yield f"{self._framework} {edge.first_new}: {count} from {edge.last_old}{gap}"
            for place, of in _by_place(edge.rows).items():
                listed = ", ".join(map(str, of[:_MOST_SEEDS])) + (", ..." if len(of) > _MOST_SEEDS else "")
                yield f"  first at {place}: program{'s' if len(of) > 1 else ''} {listed}"
                yield f"    the first has {', '.join(self._programs.features(of[0])) or 'no feature'}"
            sides = f"{self._named(edge.last_old)} {self._named(edge.first_new)}"
            yield f"  agentcore compare {sides} --programs {len(seeds)} --seed {seeds.start}"
        if not search.edges:
            yield f"{self._framework}: no program differs between the releases in which they were run"
        yield (
            f"ran {len(seeds)} programs in {len(search.measured)} of {search.listed} releases in "
            f"{search.seconds:.0f} seconds: {', '.join(search.measured)}"
        )
        yield from (f"skipped {version}: {why}" for version, why in search.skipped.items())

    def as_json(self, search: Search) -> dict[str, Any]:
        """Returns what was found as data."""
        edges = [
            {
                "last_old": edge.last_old,
                "first_new": edge.first_new,
                "unknown": dict(edge.unknown),
                "programs": [
                    {**row._asdict(), "features": self._programs.features(row.seed)} for row in edge.rows
                ],
            }
            for edge in search.edges
        ]
        seeds = self._programs.seeds
        about = {"format": 1, "framework": self._framework, "programs": len(seeds), "seed": seeds.start}
        rest = attrs.asdict(search, filter=attrs.filters.exclude("edges"))
        return {**about, "edges": edges, **rest, "seconds": round(search.seconds, 1)}


def _by_place(rows: Mapping[Row, Any]) -> dict[str, list[int]]:
    """Returns the seeds of programs by the place at which they differ first; those of most programs first."""
    found: dict[str, list[int]] = defaultdict(list)
    for place, seed in rows:
        found[place].append(seed)
    return dict(sorted(found.items(), key=lambda each: -len(each[1])))
