"""`agentcore examples`: the programs in a text, run to see what the text says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from agentcore.cli.terminal import console, say
from agentcore.kit.families import family_of
from agentcore.oracle.drivers import packages as targets
from agentcore.oracle.drivers.driver import Answer, Driver
from agentcore.oracle.spec.examples import (
    LANGUAGES,
    Example,
    ExampleError,
    Tracer,
    examples,
    failure,
    mismatches,
    reference,
    scripts,
)

Json: TypeAlias = dict[str, Any]
_DIFFERENT: Final = 1
_FAILURE: Final = 2


@click.command(name="examples")
@click.option(
    "--target",
    type=click.Choice(tuple(targets.TARGETS)),
    help="Run them on this real package; what is said of others is passed over.",
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
                wrong = _tell(found, tracer, profiles, _failures(found, target))
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
        said = [each for each in example.expectations if each.profile.startswith(profiles)]
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


def _failures(found: Iterable[Example], target: str | None) -> Iterator[str]:
    """What is wrong with each program that uses a target's package; an empty text if nothing is."""
    for example in found:
        for script in scripts(example, LANGUAGES):
            if target in script.targets:
                yield failure(script, targets.command(target))
