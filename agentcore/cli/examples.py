"""`agentcore examples`: the programs in a text, run to see what the text says of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

import click

from agentcore.cli.terminal import console, say
from agentcore.oracle import targets
from agentcore.oracle.driver import Answer, Driver
from agentcore.oracle.examples import (
    Example,
    ExampleError,
    Script,
    Tracer,
    examples,
    mismatches,
    reference,
    scripts,
)
from agentcore.oracle.families import family_of

Json: TypeAlias = dict[str, Any]
_DIFFERENT: Final = 1
_FAILURE: Final = 2
_SCRIPT_SECONDS: Final = 60


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
        found = [example for file in _texts(files) for example in examples(file)]
        if printed:
            _print(found)
        else:
            profiles = targets.TARGETS[target].profile if target else ""
            with _tracer(target) as tracer:
                wrong = _tell(found, tracer, profiles) + sum(map(_tell_script, _scripts(found, target)))
            context.exit(_DIFFERENT if wrong else 0)
    except (ExampleError, targets.TargetError) as error:
        say(console(stderr=True), str(error), "red")
        context.exit(_FAILURE)


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


def _tell(found: Iterable[Example], tracer: Tracer, profiles: str) -> int:
    output = console()
    ran = different = 0
    for example in found:
        said = [each for each in example.expectations if each.profile.startswith(profiles)]
        ran += bool(said)
        for mismatch in mismatches(example, tracer, profiles=profiles):
            different += 1
            say(output, str(mismatch))
    say(output, f"{ran} examples, {different} different")
    return different


# ---------------------------------------------------------------- programs of other languages

# How the interpreter of a target's driver is told to read a program from its input.
_FROM_INPUT: Final = {"js": ("--input-type=module", "-"), "py": ("-",)}


def _scripts(found: Iterable[Example], target: str | None) -> Iterator[tuple[Script, tuple[str, ...]]]:
    for example in found:
        for script in scripts(example, _FROM_INPUT):
            if target in script.targets:
                yield script, targets.command(target)


def _tell_script(using: tuple[Script, tuple[str, ...]]) -> int:
    """Runs a program where the target's package is found; 1 if it writes something else than it is to."""
    script, (*interpreter, driver) = using
    done = subprocess.run(  # noqa: S603 - the interpreter of a target, with the text that was named
        [*interpreter, *_FROM_INPUT[script.language]],
        cwd=Path(driver).parent,
        input=script.source,
        capture_output=True,
        text=True,
        timeout=_SCRIPT_SECONDS,
        check=False,
    )
    if done.stdout == script.output and not done.returncode:
        return 0
    say(console(), f"{script.example.place}: the program wrote\n{done.stdout}{done.stderr[-2000:]}")
    return 1
