"""`agentcore demo`: the reminder hook, polluting and not, in three modes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from agentcore.cli.terminal import console as console_of
from agentcore.compat import Finding, Verdict
from agentcore.demo import MESSAGES, Column, Version, versions


@click.command()
def demo() -> None:
    """Show what a model sees when a hook reminds it: on the immutable core, and as AI SDK 6 does it."""
    console = console_of()
    console.print(f"The caller's messages: {MESSAGES[0]['role']}: {MESSAGES[0]['content']!r}", markup=False)
    console.print(
        "The model calls a tool twice, then answers; the hook runs before each of the three steps.\n"
    )
    for version in versions():
        _show(console, version)
    console.print(
        "\nYour own hook, in the framework you installed:"
        " agentcore check-hook hooks.py#my_hook --in langchain --at before_model",
        markup=False,
        soft_wrap=True,
    )


def _show(console: Console, version: Version) -> None:
    console.rule(Text(version.title, style="bold"), characters="─" if console.is_terminal else "-")
    source = inspect.getsource(version.hook)
    console.print(Syntax(source, "python") if console.is_terminal else Text(source))
    console.print(_prompts(console, version))
    console.print(_pollution(console, version))
    console.print()


def _table(console: Console, title: str) -> Table:
    lines = box.ROUNDED if console.is_terminal else box.ASCII
    return Table(title=title, title_justify="left", box=lines, expand=True)


def _prompts(console: Console, version: Version) -> Table:
    table = _table(console, "What the model saw")
    table.add_column("step")
    for column in version.columns:
        table.add_column(column.mode, ratio=1)
    for step in range(max(len(column.prompts) for column in version.columns)):
        table.add_row(str(step), *(_cell(column, step) for column in version.columns), end_section=True)
    return table


def _cell(column: Column, step: int) -> Text:
    if step < len(column.prompts):
        return Text("\n").join(_line(message) for message in column.prompts[step])
    if step == len(column.prompts) and column.error is not None:
        return Text(f"refused: {column.error}", style="red")
    return Text("")


def _line(message: Mapping[str, Any]) -> Text:
    style = {"user": "cyan", "assistant": "green", "tool": "magenta"}.get(message["role"], "")
    content = message["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    said = "; ".join(_part(part) for part in parts)
    return Text(message["role"], style=style).append(f": {said}", style="default")


def _part(part: Mapping[str, Any]) -> str:
    match part["type"]:
        case "text":
            return str(part["text"]).replace("\n", " / ")
        case "tool-call":
            return f"calls {part['toolName']}({part['input']['city']})"
        case _:
            return f"gets {part['output']['value']}"


def _pollution(console: Console, version: Version) -> Table | Text:
    modes: dict[tuple[str, str, str, str], list[str]] = {}
    for column in version.columns:
        for finding in column.pollution:
            row = (_who(finding), _what(finding), finding.verdict.value, _seen(finding))
            modes.setdefault(row, []).append(column.mode)
    if not modes:
        return Text("Nothing was written in place: no pollution in any mode.", style="green")
    table = _table(console, "Written in place")
    for name in ("mode", "who", "what", "lasts", "seen by"):
        table.add_column(name, ratio=1 if name in ("what", "seen by") else None, overflow="fold")
    for (who, what, lasts, seen), written_in in modes.items():
        style = "red" if lasts == Verdict.POLLUTING.value else "green"
        table.add_row("\n".join(written_in), who, Text(what), Text(lasts, style=style), Text(seen))
    return table


def _who(finding: Finding) -> str:
    return f"{finding.write.hook}\nstep {finding.write.step}"


def _what(finding: Finding) -> str:
    write = finding.write
    keys = write.handle if write.key is None else (*write.handle, write.key)
    path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")
    changed = repr(write.after) if write.before is None else f"{write.before!r} -> {write.after!r}"
    return f"{write.operation} {path}\n{changed}"


def _seen(finding: Finding) -> str:
    prompts = ", ".join(f"prompt {step}" for step in finding.prompts) or "no prompt"
    where = ", ".join(finding.paths.values()) or "nothing that outlives the step"
    return f"{prompts}\n{where}"
