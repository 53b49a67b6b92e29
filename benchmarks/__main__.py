"""`python -m benchmarks run`, `report` and `compare`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import attrs
import click

from benchmarks.cells import CASES, FULL, QUICK, cells
from benchmarks.install import ROOT
from benchmarks.loops import LOOPS
from benchmarks.plots import draw
from benchmarks.results import PARTS, SUITE, Results, load
from benchmarks.rounds import QUICK as QUICK_EFFORT
from benchmarks.rounds import Effort, measured, tried
from benchmarks.table import page

_RESULTS: Final = Path(__file__).parent / "results"


@click.group()
def main() -> None:
    """What agentcore costs, measured beside other loops."""


@main.command()
@click.option("--quick", is_flag=True, help="Small sizes, one round: to try the benchmarks, not to measure.")
@click.option("--loop", "loops", multiple=True, type=click.Choice(tuple(LOOPS)), help="Only these loops.")
@click.option("--case", "cases", multiple=True, type=click.Choice(tuple(CASES)), help="Only these cases.")
@click.option("--rounds", type=click.IntRange(min=1), help="Values of each cell; 5 by default.")
@click.option(
    "--limit", type=click.FloatRange(min=0, min_open=True), help="Seconds a run may take; 5 by default."
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the results are put; values that are there already are not taken again.",
)
def run(  # noqa: PLR0913 - one parameter per option
    *,
    quick: bool,
    loops: Sequence[str],
    cases: Sequence[str],
    rounds: int | None,
    limit: float | None,
    folder: Path | None,
) -> None:
    """Measure everything, interleaved, and write a table and plots."""
    effort = QUICK_EFFORT if quick else Effort()
    effort = attrs.evolve(effort, rounds=rounds or effort.rounds, limit=limit or effort.limit)
    wanted = cells(QUICK if quick else FULL, loops or LOOPS, cases or CASES)
    results = Results(folder or _RESULTS / datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%S"))
    _say(f"results are in {results.folder}; to go on with them, give that as --folder")
    for _ in measured(tried(wanted, effort, results, _say), effort, results, _say):
        results.finish()
        _report(results.folder)
    _say(f"what is in {results.folder} is complete")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
def report(folder: Path) -> None:
    """Write the table and the plots of results anew; also of a run that was cut off."""
    if (folder / PARTS).exists():
        Results(folder).finish()
    _report(folder)


@main.command()
@click.argument("before", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("after", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--slower", type=float, default=10.0, show_default=True, help="Percent that do not count.")
def compare(before: Path, after: Path, slower: float) -> None:
    """Say what got slower and what faster from one folder of results to another, by pyperf."""
    compared = (sys.executable, "-m", "pyperf", "compare_to", "--group-by-speed", f"--min-speed={slower}")
    done = subprocess.run((*compared, str(before / SUITE), str(after / SUITE)), cwd=ROOT, check=False)  # noqa: S603
    raise SystemExit(done.returncode)


def _report(folder: Path) -> None:
    found = load(folder)
    table = folder / "table.md"
    table.write_text(page(found))
    for path in (table, *draw(found, folder)):
        click.echo(path)


def _say(text: str) -> None:
    click.echo(text, err=True)


if __name__ == "__main__":
    main()
