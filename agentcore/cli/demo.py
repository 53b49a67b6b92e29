"""`agentcore demo`: the reminder hook, polluting and not, in all modes."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import attrs
import click
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from agentcore.cli.demonstration import (
    MESSAGES,
    REMINDER,
    Column,
    Step,
    Version,
    message_lines,
    verdict,
    versions,
)
from agentcore.cli.terminal import console, html_option, save_page, say
from agentcore.cli.terminal import console as console_of
from agentcore.frameworks.ai_sdk import Finding, Verdict
from agentcore.heap.player import Comparison, Player, document, recorded

_WIDTH: Final = 80
_ROLES: Final = {"user": "cyan", "assistant": "green", "tool": "magenta"}
_VERDICTS: Final = {"Right": "bold green", "Wrong": "bold red", "Refused": "bold yellow"}
_OWN_HOOK: Final = """
Check your own hook, in the framework release that your project has installed:
  agentcore check-hook hooks.py#my_hook --in langchain --at before_model
  agentcore check-hook prepareStep.ts#prepareStep --in ai --at prepareStep
  agentcore check-hook --list        names the frameworks and their boundaries
"""


@click.command()
@html_option("agentcore-demo.html")
def demo(*, html: Path | None) -> None:
    """Show what a model reads when a hook reminds it: on the immutable core, and as AI SDK 6 and 7 do it."""
    console = console_of(widest=_WIDTH)
    found = versions()
    if html is not None:
        save_page(_player(found), html)
        return
    _print_verdicts(console, found)
    console.print()
    story = (
        f"The user asks: {MESSAGES[0]['content']} The model calls a tool twice, then answers. The hook runs"
        " before each of the three steps, and wants the model to read one reminder in each."
    )
    _print_wrapped(console, Text(""), Text(story))
    for number, version in enumerate(found, 1):
        _print_version(console, number, version)
    _print_code(console, _OWN_HOOK.rstrip())


def _player(found: Sequence[Version]) -> Player:
    """The player of each version of the hook, in each mode beside the core."""
    comparisons = []
    for version in found:
        core, *others = _modes(version)
        comparisons += [
            Comparison(
                f"{version.title}: {mode.name} beside {core.name}",
                [*map(recorded, (mode.columns[0].run, core.columns[0].run))],
            )
            for mode in others
        ]
    return Player(document(comparisons, "A hook adds a reminder for one step"))


# ---------------------------------------------------------------- modes


@attrs.frozen
class _Mode:
    """Modes in which a version of the hook does the same, and its runs in the first of them."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        """The version where its two paths do the same (`ai-sdk-6`), else the modes."""
        versions = {name.partition("/")[0] for name in self.names}
        return versions.pop() if len(versions) == 1 and len(self.names) > 1 else ", ".join(self.names)


def _modes(version: Version) -> tuple[_Mode, ...]:
    """The modes of a version; those paths of a framework's version are one that do the same."""
    runs: dict[str, list[Column]] = {}
    for column in version.columns:
        runs.setdefault(column.mode, []).append(column)
    alike: dict[Any, list[str]] = {}
    for name, columns in runs.items():
        written = tuple(_describe_write(finding) for column in columns for finding in column.pollution)
        key = (name.partition("/")[0], repr([(each.steps, each.error) for each in columns]), written)
        alike.setdefault(key, []).append(name)
    return tuple(_Mode(tuple(names), tuple(runs[names[0]])) for names in alike.values())


# ---------------------------------------------------------------- the verdict


def _print_verdicts(console: Console, found: Sequence[Version]) -> None:
    console.print(Text("A hook adds a reminder for one step. What happens, by how it is written:", "bold"))
    width = max(len(mode.name) for version in found for mode in _modes(version))
    for number, version in enumerate(found, 1):
        console.print(Text(f"\n{number}. {version.title}", "bold"))
        for mode in _modes(version):
            sentence = Text(verdict(mode.columns))
            sentence.stylize(_VERDICTS[sentence.plain.partition(":")[0]], 0, sentence.plain.index(":") + 1)
            _print_row(console, Text(mode.name.ljust(width)), sentence, indent=3)


def _print_row(console: Console, first: Text, second: Text, *, indent: int) -> None:
    """Prints two texts side by side."""
    _print_wrapped(console, Text(" " * indent).append_text(first).append("  "), second)


def _print_wrapped(console: Console, head: Text, text: Text) -> None:
    """Prints a text beside `head` in as many lines as it needs; a word too long for a line is folded."""
    for line in text.wrap(console, max(1, console.width - len(head)), overflow="fold"):
        line.rstrip()
        console.print(head.copy().append_text(line), soft_wrap=True)
        head = Text(" " * len(head))


# ---------------------------------------------------------------- one version


def _print_version(console: Console, number: int, version: Version) -> None:
    console.print()
    line = "─" if console.is_terminal and console.encoding.startswith("utf") else "-"
    console.rule(Text(f"{number}. {version.title}", style="bold"), characters=line)
    console.print(Text("\nThe hook, under the profiles of the AI SDK and on the core:\n", "bold"))
    for function in (version.hook, version.core_hook):
        _print_code(console, inspect.getsource(function))
    console.print(Text("What the model reads", "bold"))
    console.print(_legend())
    for name, steps in _runs(version):
        _print_run(console, name, steps)
    console.print(Text("\nWritten in place", "bold"))
    _print_writes(console, version)


def _print_code(console: Console, source: str) -> None:
    """Prints code as it is: what is too long for a line goes on in the next, and is not cut."""
    if console.is_terminal:
        console.print(Syntax("", "python", theme="ansi_dark").highlight(source), soft_wrap=True)
    else:
        console.print(Text(source), soft_wrap=True)


# ---------------------------------------------------------------- what the model reads


@attrs.frozen
class _Mark:
    """A kind of line in a prompt: how it is marked, its style, and what that means."""

    sign: str
    style: str
    meaning: str


_INJECTED: Final = _Mark("+", "bold yellow", "injected by the hook")
_LEFT: Final = _Mark("!", "bold red", "left from an earlier step")
_GONE: Final = _Mark("-", "strike dim", "snapped back")
_REFUSED: Final = _Mark("x", "bold yellow", "refused")
_PLAIN: Final = _Mark(" ", "", "")


@attrs.frozen
class _Line:
    """A line of a message, with the role if it is the first one."""

    mark: _Mark
    text: str
    role: str = ""


def _legend() -> Text:
    legend = Text()
    for mark in (_INJECTED, _LEFT, _GONE):
        legend.append("  ").append(f"{mark.sign} {mark.meaning}", mark.style)
    return legend


def _runs(version: Version) -> Iterator[tuple[str, list[list[_Line]]]]:
    """The lines of each step of each run, under the names of all the modes in which they are the same."""
    names: dict[str, list[str]] = {}
    runs: dict[str, list[list[_Line]]] = {}
    for mode in _modes(version):
        both = " (both paths)" if len(mode.names) > 1 else ""
        for column in mode.columns:
            last = column.start[-1]["role"]
            begun = "" if column.start == MESSAGES else f", where the last message is the {last}'s"
            lines = _lines_of(column)
            runs[repr(lines)] = lines
            names.setdefault(repr(lines), []).append(f"{mode.name}{both}{begun}")
    for key, lines in runs.items():
        yield ", ".join(names[key]), lines


def _lines_of(column: Column) -> list[list[_Line]]:
    """The lines of each step of a run, with those that the step before had and this one has not."""
    befores = [(), *(step.prompt or () for step in column.steps)]
    lines = [[*_lines(*each)] for each in zip(befores, column.steps, strict=False)]
    if column.error is not None:
        lines[-1].append(_Line(_REFUSED, f"refused: {column.error}"))
    return lines


def _print_run(console: Console, name: str, steps: list[list[_Line]]) -> None:
    console.print(Text(f"\n  {name}", "bold"))
    for number, lines in enumerate(steps):
        first = f"step {number}"
        for line in lines:
            mark = line.mark
            text = Text().append(f"{line.role}: ", mark.style or _ROLES[line.role]) if line.role else Text()
            text.append(line.text, mark.style)
            _print_row(console, Text(f"{first}  ").append(mark.sign, mark.style), text, indent=2)
            first = " " * len(first)


def _lines(before: Sequence[Mapping[str, Any]], step: Step) -> Iterator[_Line]:
    """The lines that the model reads, or the hook was shown, and those of the prompt before that are gone."""
    shown = [*_lines_of_messages(step.shown)]
    prompt = shown if step.prompt is None else [*_lines_of_messages(step.prompt)]
    # What is gone stands before that line of `shown` which came after it.
    gone: list[list[_Line]] = [[] for _ in range(len(shown) + 1)]
    at = 0
    for line in _changes([*_lines_of_messages(before)], shown):
        if line.mark is _GONE:
            gone[at].append(line)
        else:
            at += 1
    at = 0
    for line in _changes(shown, prompt):
        yield from gone[at]
        gone[at] = []
        yield attrs.evolve(line, mark=_LEFT) if line.mark is _PLAIN and REMINDER in line.text else line
        at += line.mark is not _INJECTED
    yield from gone[at]


def _lines_of_messages(messages: Iterable[Mapping[str, Any]]) -> Iterator[_Line]:
    """Each line of each message, with the role before its first one."""
    for message in messages:
        role = message["role"]
        for number, line in enumerate(message_lines(message)):
            yield _Line(_PLAIN, " " * len(f"{role}: ") + line) if number else _Line(_PLAIN, line, role)


def _changes(before: Sequence[_Line], after: Sequence[_Line]) -> Iterator[_Line]:
    """All lines of both: those that only the first has are gone, those of the second injected."""
    for _, i, i_end, j, j_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if before[i:i_end] == after[j:j_end]:
            yield from before[i:i_end]
        else:
            yield from (attrs.evolve(line, mark=_GONE) for line in before[i:i_end])
            yield from (attrs.evolve(line, mark=_INJECTED) for line in after[j:j_end])


# ---------------------------------------------------------------- what was written


def _print_writes(console: Console, version: Version) -> None:
    findings = [
        (mode.name, finding)
        for mode in _modes(version)
        for column in mode.columns
        for finding in column.pollution
    ]
    for name, finding in findings:
        step, what, lasts, seen = _describe_write(finding)
        style = "bold red" if lasts == Verdict.POLLUTING.value else "green"
        told = Text(f"{what}\nlasts: ").append(lasts, style).append(f"; {seen}")
        _print_row(console, Text(f"{name} step {step}"), told, indent=2)
    if not findings:
        _print_row(console, Text(""), Text("nothing, in any mode", "green"), indent=0)


def _describe_write(finding: Finding) -> tuple[int | None, str, str, str]:
    """The step of a write, what it did, how long it lasts, and where it was seen."""
    write = finding.write
    keys = write.handle if write.key is None else (*write.handle, write.key)
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")
    changed = repr(write.after) if write.before is None else f"{write.before!r} -> {write.after!r}"
    prompts = [f"prompt {step}" for step in finding.prompts]
    seen = ", ".join([*prompts, *finding.paths.values()])
    return write.step, f"{write.operation} {path}: {changed}", finding.verdict.value, f"seen in {seen}"


# `agentcore notebooks`: the pollution notebooks, to read and to change.

_FAILURE: Final = 2


@click.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("agentcore-notebooks"),
    show_default=True,
    help="Where the notebooks are copied to. What is there already is left as it is.",
)
@click.option("--copy-only", is_flag=True, help="Copy the notebooks, and open nothing.")
@click.pass_context
def notebooks(context: click.Context, *, folder: Path, copy_only: bool) -> None:
    """Copy the notebooks to a folder and open them in JupyterLab (the extra `notebooks`).

    Exits with 2 where JupyterLab is not installed, else as JupyterLab does.
    """
    out = console()
    for title in _copied(folder):
        say(out, title)
    say(out, f"The notebooks are in {folder}.")
    if copy_only:
        return
    if find_spec("jupyterlab") is None:
        missing = "JupyterLab is not installed: pip install 'agentcore-reference[notebooks]'"
        say(console(stderr=True), missing, "red")
        context.exit(_FAILURE)
    done = subprocess.run([sys.executable, "-m", "jupyterlab", str(folder)], check=False)  # noqa: S603
    context.exit(done.returncode)


def _copied(folder: Path) -> list[str]:
    """The titles of the notebooks, which are copied to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    titles = []
    with as_file(files("agentcore") / "notebooks") as source:
        for file in sorted(source.glob("*.ipynb")):
            if not (folder / file.name).exists():
                shutil.copyfile(file, folder / file.name)
            first = json.loads(file.read_text(encoding="utf-8"))["cells"][0]["source"]
            titles.append("".join(first).partition("\n")[0].removeprefix("# "))
    return titles
