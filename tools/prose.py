"""Checks the words of the project: `python -m tools.prose [FILE ...]` (needs Node.js and npm).

textlint and its rule `pattern`, pinned in `tools/data/prose`, look for the words that `words.json` forbids,
each with what to write instead. Markdown is checked as it is, without its code. Of a Python file the
docstrings and the texts of errors are checked: they are laid out as Markdown, each on its own line, so that
what is found is at its line.
"""

from __future__ import annotations

import ast
import io
import json
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import attrs
from filelock import FileLock
from platformdirs import user_cache_path

from agentcore.oracle.spec.examples import blocks

__all__ = ["DATA", "FILES", "Finding", "check", "install", "prose_of"]

ROOT: Final = Path(__file__).parents[1]
DATA: Final = ROOT / "tools/data/prose"

FILES: Final = (
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "spec").rglob("*.md")),
    *sorted((ROOT / "agentcore").rglob("*.py")),
)
"""What the tests check: every page, and every module of the package."""

# Shorter strings are names, keys and formats.
_SENTENCE: Final = 3


@attrs.frozen
class Finding:
    """A forbidden word: where it is, and what to write instead."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        inside = self.file.is_relative_to(ROOT)
        return f"{self.file.relative_to(ROOT) if inside else self.file}:{self.line}: {self.text}"


def prose_of(source: str) -> str:
    """Returns the docstrings, comments and texts of Python code, each line under its number in the code."""
    lines = [""] * (source.count("\n") + 1)
    for number, text in (*_texts(ast.parse(source)), *_comments(source)):
        for offset, line in enumerate(text.splitlines()):
            # A text in several pieces is known by the line of the first.
            at = min(number - 1 + offset, len(lines) - 1)
            lines[at] = f"{lines[at]} {line.strip()}".strip()
    return "\n".join(lines)


def without_code(text: str) -> str:
    """Returns Markdown with empty lines for its fenced code: half of all pages, and slow to parse."""
    lines = text.splitlines()
    for block in blocks(text):
        end = block.line + block.text.count("\n") + 1
        lines[block.line - 1 : end] = [""] * (end - block.line + 1)
    return "\n".join(lines)


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings that are sentences, with dots for the values that are put into them."""
    match node:
        case ast.JoinedStr(values=values, lineno=number):
            parts = (part.value if isinstance(part, ast.Constant) else "..." for part in values)
            text = "".join(map(str, parts))
        case ast.Constant(value=str(text), lineno=number):
            pass
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _texts(child)
            return
    if len(text.split()) >= _SENTENCE:
        yield number, text


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.removeprefix("#")


def install() -> Path:
    """Installs what `tools/data/prose` pins, once, and returns the folder that has it.

    Raises:
        FileNotFoundError: if npm or Node.js is missing.
        CalledProcessError: if npm fails; what it wrote is on standard error.
    """
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise FileNotFoundError("the check of words needs Node.js and npm on the PATH")
    folder = user_cache_path("agentcore") / "prose"
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):
        pins = (DATA / "package-lock.json").read_text("utf-8")
        done = folder / "installed.json"
        if not done.exists() or done.read_text("utf-8") != pins:
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(DATA / name, folder / name)
            argv = [npm, "ci", "--ignore-scripts", "--silent"]
            subprocess.run(argv, cwd=folder, check=True, stdout=sys.stderr)  # noqa: S603 - npm, from the PATH
            done.write_text(pins, "utf-8")
    return folder


def check(files: Iterable[Path]) -> list[Finding]:
    """Returns the forbidden words of Markdown and Python files.

    Args:
        files: the files; of one whose name ends in `.py` the docstrings, comments and texts are checked.

    Returns:
        A finding for each forbidden word, in the order of the files.

    Raises:
        FileNotFoundError, CalledProcessError: as `install`; the second also if textlint fails.
    """
    folder = install()
    with TemporaryDirectory() as temporary:
        copies: dict[str, Path] = {}
        for number, file in enumerate(files):
            text = file.read_text("utf-8")
            copy = Path(temporary) / f"{number}.md"
            # Texts may have half a pair of surrogates, which no file has.
            prose = prose_of(text) if file.suffix == ".py" else without_code(text)
            copy.write_text(prose, "utf-8", errors="replace")
            copies[copy.name] = file
        argv = ["node", "node_modules/textlint/bin/textlint.js", "--format", "json"]
        argv += ["--config", str(DATA / "words.json"), temporary]
        ended = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if ended.returncode not in {0, 1} or not ended.stdout:
        raise subprocess.CalledProcessError(ended.returncode, argv, ended.stdout, ended.stderr)
    found = {Path(each["filePath"]).name: each["messages"] for each in json.loads(ended.stdout)}
    return [
        Finding(file, message["line"], message["message"])
        for name, file in copies.items()
        for message in found.get(name, ())
    ]


def main(arguments: list[str]) -> int:
    """Prints the forbidden words of the named files, or of `FILES`; returns 1 if there are any."""
    found = check([Path(each) for each in arguments] or FILES)
    for each in found:
        print(each)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
