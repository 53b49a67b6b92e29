"""`agentcore bisect`: which release changed who sees a hook's writes, or what programs come to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
import click

from agentcore.cli.contract import at_option, json_option, path_option, print_result, require, show_progress
from agentcore.cli.terminal import warn
from agentcore.live.contracts import text
from agentcore.live.contracts.bisect import Search, Undecided, bisect
from agentcore.live.contracts.measure import measure
from agentcore.live.contracts.releases import between, package_of, published, resolved
from agentcore.live.installs import InstallError
from agentcore.oracle.comparison.comparands import SideError
from agentcore.oracle.comparison.releases import Answers, Programs, Row, target_for
from agentcore.oracle.drivers.packages import TargetError

__all__ = ["bisect_releases"]

_NO_CHANGE: Final = 1
_UNDECIDED: Final = 3
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
