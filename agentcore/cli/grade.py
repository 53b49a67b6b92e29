"""`agentcore grade`: which copy depths tests of isolation can't tell from isolation."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from agentcore.cli.terminal import console, say, warn
from agentcore.testing.plugin import GRADE

__all__ = ["grade", "lines"]

_WEAK: Final = 1
_NOT_JUDGED: Final = 3
_TOOL: Final = 4
_NO_TESTS: Final = 5
_OF_USAGE: Final = 4


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("tests", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def grade(context: click.Context, /, tests: tuple[str, ...], *, as_json: bool) -> None:
    """Say which copy depths the pytest tests TESTS can't tell from isolation.

    TESTS are what pytest takes: files, folders, names of tests, and options. Those that ask for the fixture
    `handed_out` run once for each depth to which a framework may copy messages; a test that passes though
    objects are shared is too weak, and the assertion that it lacks is printed.

    Exits with 0 if each test tells all depths, 1 if one does not, 2 for wrong usage, 3 if no test could be
    judged or one could not, 4 if the tool failed.
    """
    from agentcore.testing.grading import grades, is_weak, not_judged  # noqa: PLC0415 - it needs pytest

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.json"
        done = subprocess.run(  # noqa: S603 - pytest, with what the person asks for
            [sys.executable, "-m", "pytest", *tests, "-q", GRADE, str(file)],
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode == _OF_USAGE:
            raise click.UsageError(done.stderr.strip() or done.stdout.strip())
        outcomes = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    found = grades(outcomes)
    if not found:
        warn(f"no test that asks for handed_out was run:\n{(done.stdout + done.stderr).strip()[-1500:]}")
        context.exit(_NOT_JUDGED if done.returncode in (0, 1, 2, _NO_TESTS) else _TOOL)
    if as_json:
        click.echo(json.dumps({"format": 1, "tests": found}, indent=2))
    else:
        say(console(), "\n".join(lines(found)))
    weak = any(map(is_weak, found))
    context.exit(_WEAK if weak else _NOT_JUDGED if not_judged(found) else 0)


def lines(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yields what people read of grades."""
    for test in found:
        if test["not_judged"] is not None:
            yield f"{test['test']}: not judged: {test['not_judged']}"
            continue
        weak = [each for each in test["depths"] if not each["told"]]
        told = ", ".join(each["depth"] for each in test["depths"] if each["told"]) or "none"
        yield f"{test['test']}: tells {told} from isolation"
        for each in weak:
            yield f"  cannot tell {each['depth']}" + (
                f": {each['why']}" if "why" in each else "; this would:"
            )
            if "assertion" in each:
                yield textwrap.indent(each["assertion"], "    ")
