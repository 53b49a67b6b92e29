from __future__ import annotations

import fcntl
import inspect
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import termios
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs
import click
import pytest

from agentcore.cli import demonstration, main
from agentcore.machine.effects import Settings
from agentcore.machine.run import start
from agentcore.messages.messages import UserMessage
from cli.commands import AGENTCORE, ENVIRONMENT, run

WIDTH: Final = 80
CODES: Final = re.compile(r"\x1b\[([0-9;]*)m")
MODES: Final = ("immutable", "ai-sdk-6", "ai-sdk-7")
VERSIONS: Final = demonstration.versions()
HOOKS: Final = [hook for version in VERSIONS for hook in (version.hook, version.core_hook)]
SOURCES: Final = [inspect.getsource(hook) for hook in HOOKS]


def in_a_terminal(columns: int, environment: Mapping[str, str] = {}) -> str:
    """What `agentcore demo` writes to a terminal so wide."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    plain = {"TERM": "xterm-256color"} | {
        name: value for name, value in ENVIRONMENT.items() if name not in ("NO_COLOR", "COLUMNS", "COLORTERM")
    }
    with subprocess.Popen([*AGENTCORE, "demo"], stdout=its, env={**plain, **environment}) as process:
        os.close(its)
        written = b""
        # The end of a terminal is an error on Linux.
        while chunk := _read(ours):
            written += chunk
    os.close(ours)
    assert process.returncode == 0
    return written.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


# ---------------------------------------------------------------- what is said


def test_it_begins_with_one_sentence_a_mode_for_each_version() -> None:
    head, *_ = run("demo").stdout.partition("The user asks")
    first, second = head.split("2. Returned in a new list")
    for part in (first, second):
        sentences = re.findall(r"^   (\S+) +((?:.|\n {10,})+)", part, flags=re.MULTILINE)
        assert [mode for mode, _ in sentences] == [*MODES]
        assert all(text.count(".") == 1 and text.rstrip().endswith(".") for _, text in sentences)
    assert re.findall(r" (\w+): ", first) == ["Refused", "Wrong", "Wrong"]
    assert re.findall(r" (\w+): ", second) == ["Right", "Right", "Wrong"]


def test_both_branches_of_the_anti_example_are_refused_on_the_core() -> None:
    first, second = [column for column in VERSIONS[0].columns if column.mode == "immutable"]
    assert "content: UserMessage values do not change" in (first.error or "")
    assert "`append` is refused" in (second.error or "")
    assert [step.prompt for column in (first, second) for step in column.steps] == [None, None]
    shown = run("demo").stdout
    assert "immutable, where the last message is the tool's" in shown
    assert "`append` is refused" in shown


def test_what_lasts_is_permanent_and_what_does_not_snaps_back() -> None:
    shown = run("demo").stdout
    assert "lasts: permanent" in shown
    assert "lasts: this step" in shown
    assert "nothing, in any mode" in shown
    assert "          +  user: [reminder] answer in one line\n" in shown
    assert "          !  user: [reminder] answer in one line\n" in shown
    assert "          -  user: [reminder] answer in one line\n" in shown


@pytest.mark.parametrize("source", SOURCES)
def test_the_hooks_are_shown_as_they_are_written(source: str) -> None:
    assert source in run("demo").stdout


def test_it_ends_with_commands_that_check_a_hook_of_ones_own() -> None:
    _, _, last = run("demo").stdout.partition("Check your own hook")
    commands = [line.strip() for line in last.splitlines() if line.startswith("  agentcore ")]
    assert len(commands) == 3
    for command in commands:
        _, name, *words = shlex.split(command.partition("    ")[0])
        found = main.get_command(click.Context(main), name)
        assert found is not None
        options = {option for parameter in found.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options


# ---------------------------------------------------------------- the verdict is what was seen

USER: Final = {"role": "user", "content": "hi"}
ADDED: Final = {"role": "user", "content": demonstration.REMINDER}
KEPT: Final = {"role": "user", "content": f"hi\n{demonstration.REMINDER}"}


def column(*steps: demonstration.Step, error: str | None = None) -> demonstration.Column:
    return demonstration.Column(
        mode="some", steps=steps, error=error, run=start(Settings(model="m"), [UserMessage("hi")])
    )


def test_a_column_that_ends_in_an_error_is_a_refusal() -> None:
    refused = column(demonstration.Step((USER,)), error="no")
    assert demonstration.verdict([refused]).startswith("Refused: the hook raises ")
    assert demonstration.verdict([refused, refused]).startswith("Refused: both branches raise ")


def test_a_reminder_that_is_gone_is_right_and_one_that_is_carried_is_wrong() -> None:
    gone = column(
        demonstration.Step((USER,), (USER, ADDED)), demonstration.Step((USER, USER), (USER, USER, ADDED))
    )
    assert (
        demonstration.verdict([gone])
        == "Right: one reminder in each prompt; added messages are gone at the next step."
    )
    carried = column(
        demonstration.Step((USER,), (USER, ADDED)), demonstration.Step((USER, ADDED), (USER, ADDED, ADDED))
    )
    assert demonstration.verdict([carried]) == (
        "Wrong: 1, 2 reminders in the prompts, not 1, 1; added messages are carried into later steps."
    )


def test_one_reminder_in_each_prompt_is_wrong_if_the_caller_keeps_it() -> None:
    polluted = next(column for column in VERSIONS[0].columns if column.kept_by_caller)
    kept = attrs.evolve(polluted, steps=(demonstration.Step((USER,), (KEPT,)),))
    assert demonstration.verdict([kept]) == (
        "Wrong: 1 reminders in the prompts, not 1; one stays in the caller's own message."
    )


# ---------------------------------------------------------------- where it is shown


def test_what_is_piped_is_plain_ascii_of_one_width_whatever_the_environment_says() -> None:
    shown = run("demo", env={"COLUMNS": "40"}).stdout
    assert shown == run("demo").stdout
    assert shown.isascii()
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) == WIDTH
    assert [line for line in shown.splitlines() if line != line.rstrip()] == []


def test_where_colours_are_asked_for_there_are_some() -> None:
    shown = run("demo", env={"FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "xterm-256color"}).stdout
    assert "\x1b[1;33m" in shown
    assert all(source in CODES.sub("", shown) for source in SOURCES)


@pytest.mark.parametrize("columns", [WIDTH, 200])
def test_a_terminal_gets_colours_and_no_line_is_longer_than_80_columns(columns: int) -> None:
    shown = in_a_terminal(columns)
    plain = CODES.sub("", shown)
    assert max(map(len, plain.splitlines())) == WIDTH
    assert "─" in plain
    assert all(source in plain for source in SOURCES)
    # Yellow, red, and struck through.
    for mark, code in (("+", "1;33"), ("!", "1;31"), ("-", "2;9")):
        assert f"\x1b[{code}m{mark}\x1b[0m" in shown
        assert f"\x1b[{code}m{demonstration.REMINDER}\x1b[0m" in shown


def test_code_is_not_cut_in_a_narrow_terminal() -> None:
    plain = CODES.sub("", in_a_terminal(40))
    assert all(source in plain for source in SOURCES)
    assert "…" not in plain


def test_no_color_is_respected_and_the_marks_are_there() -> None:
    shown = in_a_terminal(WIDTH, {"NO_COLOR": "1"})
    assert {code for codes in CODES.findall(shown) for code in codes.split(";")} <= {"0", "1", "2", "9"}
    assert "!\x1b[0m" in shown


def test_all_of_the_code_fits_80_columns() -> None:
    assert max(len(line) for source in SOURCES for line in source.splitlines()) <= WIDTH


# ---------------------------------------------------------------- the player


def test_the_player_has_each_version_of_the_hook_in_each_mode_beside_the_core(tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    result = run("demo", "--html", str(page))
    assert (result.exit_code, page.as_uri() in result.stdout) == (0, True)
    (data,) = re.findall(r'id="document">(.*?)</script>', page.read_text("utf-8"))
    scenes = json.loads(data)["scenes"]
    assert [scene["title"] for scene in scenes] == [
        f"{version.title}: {mode} beside immutable" for version in VERSIONS for mode in MODES[1:]
    ]
    kinds = [[{moment["kind"] for moment in each["moments"]} for each in scene["runs"]] for scene in scenes]
    assert ["write" in live for live, _ in kinds] == [True, True, False, False]
    assert ["refusal" in core for _, core in kinds] == [True, True, False, False]
