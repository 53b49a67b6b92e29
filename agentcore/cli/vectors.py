"""`agentcore vectors`: programs with the traces that a real package gave for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from agentcore.cli.terminal import console, say
from agentcore.kit.compare import render
from agentcore.kit.families import DEFAULT_PROFILE, family_of
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.spec.vectors import Vector, VectorError, load, record, replay, write

_DIFFERENT: Final = 1
_FAILURE: Final = 2


@click.group()
def vectors() -> None:
    """Replay recorded vectors on the reference, or record them again from the real package."""


def _default_target() -> str | None:
    """The package whose behaviour is the default profile."""
    return next((name for name, one in targets.TARGETS.items() if one.profile == DEFAULT_PROFILE), None)


_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@vectors.command(name="replay")
@click.argument("folder", type=_FOLDER)
@click.pass_context
def replay_command(context: click.Context, folder: Path) -> None:
    """Run the reference on every vector below FOLDER.

    Exits with 1 if one differs, 2 if a file there is no vector.
    """
    target = console()
    traces = different = 0
    with _failures(context):
        found = _loaded(folder)
        for vector in found:
            for run, difference in replay(vector):
                traces += 1
                if difference is not None:
                    different += 1
                    say(target, f"{vector.name}, {run}:\n{render(difference)}")
    say(target, f"{len(found)} vectors with {traces} traces, {different} different")
    context.exit(_DIFFERENT if different else 0)


@vectors.command(name="record")
@click.option(
    "--target", type=click.Choice(tuple(targets.TARGETS)), default=_default_target(), show_default=True
)
@click.option("--check", is_flag=True, help="Write nothing; only show differences.")
@click.argument("folder", type=_FOLDER)
@click.pass_context
def record_command(context: click.Context, *, target: str, check: bool, folder: Path) -> None:
    """Run the real package on every vector of its version below FOLDER, show what is new, and write it.

    Exits with 1 if one differs, 2 if the package could not be driven or a file there is no vector.
    """
    output = console()
    different = 0
    with _failures(context):
        profile = targets.TARGETS[target].profile
        own = (vector for vector in _loaded(folder) if vector.profile == profile)
        for recorded in record(own, targets.command(target), family_of(profile)):
            for run, difference in recorded.differences:
                different += 1
                say(output, f"{recorded.vector.name}, {run}:\n{render(difference)}")
            if not check:
                write(recorded.vector)
    say(output, f"{different} different")
    context.exit(_DIFFERENT if different else 0)


def _loaded(folder: Path) -> tuple[Vector, ...]:
    found = tuple(load(folder))
    if not found:
        raise VectorError(f"there are no vectors below {folder}")
    return found


@contextmanager
def _failures(context: click.Context) -> Iterator[None]:
    try:
        yield
    except (targets.TargetError, VectorError) as error:
        say(console(stderr=True), str(error), "red")
        context.exit(_FAILURE)
