"""The walk-through `spec/write-a-driver.md` as it is followed: its files are written, its commands run."""

from __future__ import annotations

import ast
import doctest
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import attrs

from agentcore.oracle.spec.examples import Block, blocks
from spec.requirements import SPEC

PAGE: Final = SPEC / "write-a-driver.md"
_CHECKER: Final = doctest.OutputChecker()
_SECONDS: Final = 120


@attrs.frozen
class Mismatch:
    """A command that wrote something else than stands below it."""

    command: str
    wanted: str
    wrote: str


def steps() -> list[Block]:
    """What there is to do, in order; installing apart, which the tests have behind them."""
    return [block for block in blocks(PAGE.read_text("utf-8")) if block.words[1:2] != ("install",)]


def follow(folder: Path) -> Iterator[Mismatch]:
    """Does what the page says in a folder."""
    environment = _environment(folder / "bin")
    for block in steps():
        match block.words:
            case ("console",):
                yield from _run(block.text, folder, environment)
            case ("diff", name):
                _patch(folder / name, block.text)
            case ("python", "driver.py"):
                _fill_in(folder / "driver.py", block.text)
            case ("python", name):
                (folder / name).write_text(block.text, "utf-8")
            case words:
                raise ValueError(f"line {block.line}: nothing is to be done with {words}")


def _environment(commands: Path) -> dict[str, str]:
    """One in which `python` is this one, and `agentcore` the package that is tested."""
    commands.mkdir()
    for name, line in (
        ("python", f'exec {sys.executable} "$@"'),
        ("agentcore", f"exec {sys.executable} -c 'from agentcore.cli import main; main()' \"$@\""),
    ):
        (commands / name).write_text(f"#!/bin/sh\n{line}\n", "utf-8")
        (commands / name).chmod(0o755)
    here = str(SPEC.parent)
    return {
        **os.environ,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": here,
        "AGENTCORE_DATABASE": str(commands.parent / "found"),
    }


def _run(text: str, folder: Path, environment: dict[str, str]) -> Iterator[Mismatch]:
    for part in text.removeprefix("$ ").split("\n$ "):
        command, _, wanted = part.partition("\n")
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
        wanted = wanted.removesuffix("\n") + "\n" if wanted.strip() else ""
        if not _CHECKER.check_output(wanted, done.stdout, doctest.ELLIPSIS):
            yield Mismatch(command, wanted, done.stdout + done.stderr)


def _patch(file: Path, diff: str) -> None:
    """Takes out the lines with `-`, each of which is there once; those with `+` come in their place."""
    lines = file.read_text("utf-8").splitlines()
    at = 0
    for line in diff.splitlines():
        if line.startswith("-"):
            at = lines.index(line[1:])
            del lines[at]
        else:
            lines.insert(at, line[1:])
    file.write_text("\n".join(lines) + "\n", "utf-8")


def _fill_in(file: Path, text: str) -> None:
    """Puts each statement into the place of the one that defines the same; others go to the top."""
    for node in ast.parse(text).body:
        source = file.read_text("utf-8")
        own = ast.get_source_segment(text, node) or ""
        name = _defined(node)
        old = next((each for each in ast.parse(source).body if name and _defined(each) == name), None)
        if old is not None:
            file.write_text(source.replace(ast.get_source_segment(source, old) or "", own), "utf-8")
        elif isinstance(node, ast.FunctionDef):
            file.write_text(source.replace("\n\ndef shown(", f"\n\n{own}\n\n\ndef shown("), "utf-8")
        else:
            file.write_text(source.replace("import sys\n", f"import sys\n{own}\n", 1), "utf-8")


def _defined(node: ast.stmt) -> str | None:
    match node:
        case ast.FunctionDef(name=name):
            return name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
    return None
