"""`agentcore vectors`: programs with the traces that a real package gave for them."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from agentcore.oracle import targets
from agentcore.oracle.compare import render
from agentcore.oracle.vectors import load, record, replay, write

_DIFFERENT = 1
_FAILURE = 2


@click.group()
def vectors() -> None:
    """Replay recorded vectors on the reference, or record them again from the real package."""


@vectors.command(name="replay")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.pass_context
def replay_command(context: click.Context, folder: Path) -> None:
    """Run the reference on every vector below FOLDER. Exits with 1 if one differs."""
    console = Console(highlight=False)
    count = failed = 0
    for vector in load(folder):
        for path, difference in replay(vector):
            count += 1
            if difference is not None:
                failed += 1
                console.print(f"{vector.name}, {path}:\n{render(difference)}", markup=False, soft_wrap=True)
    console.print(f"{count} vectors, {failed} different")
    context.exit(_DIFFERENT if failed else 0)


@vectors.command(name="record")
@click.option("--target", type=click.Choice(tuple(targets.TARGETS)), default="ai-sdk@6.0.134", show_default=True)
@click.option("--check", is_flag=True, help="Write nothing; only show differences.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.pass_context
def record_command(context: click.Context, target: str, check: bool, folder: Path) -> None:
    """Run the real package on every vector below FOLDER, show where its trace is not the recorded one, and write it.

    Exits with 1 if one differs, 2 if the package could not be driven.
    """
    console = Console(highlight=False)
    try:
        argv = targets.command(target)
    except targets.TargetError as error:
        console.print(str(error), style="red", markup=False)
        context.exit(_FAILURE)
    different = 0
    for recorded in record(load(folder), argv):
        for path, difference in recorded.differences:
            different += 1
            console.print(f"{recorded.vector.name}, {path}:\n{render(difference)}", markup=False, soft_wrap=True)
        if not check:
            write(recorded.vector)
    console.print(f"{different} different")
    context.exit(_DIFFERENT if different else 0)
