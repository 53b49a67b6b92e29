"""`agentcore vectors`, programs with the traces that a package gave for them, and `agentcore examples`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from agentcore.cli.terminal import console, say
from agentcore.kit.compare import render
from agentcore.kit.families import DEFAULT_PROFILE, family_of
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Answer, Driver
from agentcore.oracle.spec.examples import (
    LANGUAGES,
    Example,
    ExampleError,
    Tracer,
    examples,
    failure,
    is_meant_by,
    mismatches,
    reference,
    scripts,
)
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


# `agentcore examples`: the programs in a text, run to see what the text says of them.

Json: TypeAlias = dict[str, Any]


@click.command(name="examples")
@click.option(
    "--target",
    type=click.Choice(tuple(targets.TARGETS)),
    help="Run them on this real package; what it has of others is passed over.",
)
@click.option("--print", "printed", is_flag=True, help="Only print the programs, one a line.")
@click.argument("files", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
@click.pass_context
def examples_command(
    context: click.Context, *, target: str | None, printed: bool, files: tuple[Path, ...]
) -> None:
    """Run the examples of FILES, markdown or folders of it, on the reference or on a --target.

    Exits with 0 if all is as the texts say, 1 if something is not, 2 if an example cannot be run.
    """
    try:
        found = _read_examples(files)
        if printed:
            _print(found)
        else:
            profiles = targets.TARGETS[target].profile if target else ""
            with _tracer(target) as tracer:
                wrong = _tell(found, tracer, profiles, _example_failures(found, target))
            context.exit(_DIFFERENT if wrong else 0)
    except (ExampleError, targets.TargetError) as error:
        say(console(stderr=True), str(error), "red")
        context.exit(_FAILURE)


def _read_examples(files: Iterable[Path]) -> list[Example]:
    found = [example for file in _texts(files) for example in examples(file)]
    if not found:
        raise ExampleError(
            f"there is no example in {', '.join(map(str, files))}: one begins with a line **Example** "
            "(`names.of-requirements`) and has fenced blocks; name other files, or a folder of them"
        )
    return found


def _texts(files: Iterable[Path]) -> Iterator[Path]:
    for file in files:
        yield from sorted(file.rglob("*.md")) if file.is_dir() else [file]


def _print(found: Iterable[Example]) -> None:
    for example in found:
        if example.program is None:
            continue
        profile = example.expectations[0].profile
        click.echo(family_of(profile).to_line(example.on(profile)))


@contextmanager
def _tracer(target: str | None) -> Iterator[Tracer]:
    if target is None:
        yield reference
        return
    family = family_of(targets.TARGETS[target].profile)
    with Driver(targets.command(target), trace_fields=family.trace_fields) as driver:
        yield lambda program, _: _answer(driver, program)


def _answer(driver: Driver, program: Json) -> Any:
    outcome = driver.run(program)
    if not isinstance(outcome, Answer):
        raise ExampleError(f"{program['id']}: the driver did not answer: {outcome}")
    return outcome.trace


def _tell(found: Iterable[Example], tracer: Tracer, profiles: str, failures: Iterable[str]) -> int:
    """Prints what is not as the examples say, and how many were run; the number of those that differ."""
    output = console()
    ran = different = 0
    for example in found:
        said = [each for each in example.expectations if is_meant_by(profiles, each.profile)]
        ran += bool(said)
        for mismatch in mismatches(example, tracer, profiles=profiles):
            different += 1
            say(output, str(mismatch))
    for failed in failures:
        ran += 1
        if failed:
            different += 1
            say(output, failed)
    say(output, f"{ran} examples, {different} different")
    return different


# ---------------------------------------------------------------- programs of other languages


def _example_failures(found: Iterable[Example], target: str | None) -> Iterator[str]:
    """What is wrong with each program that uses a target's package; an empty text if nothing is."""
    for example in found:
        for script in scripts(example, LANGUAGES):
            if target in script.targets:
                yield failure(script, targets.command(target))
