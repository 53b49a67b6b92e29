from __future__ import annotations

import errno
import importlib
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import click
import pytest

import agentcore.cli
from agentcore.cli import COMMANDS, main
from agentcore.cli.terminal import open_standard_streams, tolerant
from agentcore.oracle.campaign.stop_rules import Interrupted
from cli.commands import AGENTCORE, run


def test_the_package_can_be_run_as_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["agentcore", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(files("agentcore") / "__main__.py"), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"agentcore, version {version('agentcore-reference')}\n"


def commands() -> dict[str, click.Command]:
    """The commands that the modules of the command line define, those of groups aside."""
    found = {}
    for module in pkgutil.iter_modules(agentcore.cli.__path__):
        for value in vars(importlib.import_module(f"agentcore.cli.{module.name}")).values():
            if isinstance(value, click.Command) and value.name not in {"replay", "record"}:
                found[str(value.name)] = value
    return found


def test_every_command_is_listed_and_found() -> None:
    context = click.Context(main)
    assert {name: main.get_command(context, name) for name in COMMANDS} == commands()
    assert main.get_command(context, "nothing") is None
    listed = run("--help").stdout
    assert all(f"\n  {name} " in listed for name in commands())


def test_help_imports_no_command() -> None:
    shown = subprocess.run(
        [sys.executable, "-X", "importtime", *AGENTCORE[1:], "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rsplit("|")[-1].strip() for line in shown.stderr.splitlines()}
    assert "agentcore.cli" in imported
    assert not imported & {f"agentcore.cli.{place.partition(':')[0]}" for place, _ in COMMANDS.values()}


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (Interrupted(signal.SIGTERM), 143, "agentcore was interrupted by SIGTERM\n"),
        (KeyboardInterrupt(), 130, ""),
        (FileNotFoundError(errno.ENOENT, "No such file", "a.json"), 2, "No such file: 'a.json'\n"),
        (
            OSError(errno.ENOSPC, "No space left"),
            2,
            "warning: standard output cannot be written: No space left\n",
        ),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
    ],
)
def test_what_ends_a_command_has_a_code_that_is_no_verdict(
    error: BaseException, code: int, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # In place of standard output, which is given up if it cannot be written.
    output = os.open(tmp_path / "output", os.O_CREAT | os.O_WRONLY)
    monkeypatch.setattr("agentcore.cli.terminal._STDOUT", output)

    def fails() -> None:
        raise error

    command = click.Command("frameworks", callback=fails)
    monkeypatch.setattr("agentcore.cli.drivers.frameworks", command)
    try:
        result = run("frameworks")
        given_up = not os.path.samestat(os.fstat(output), (tmp_path / "output").stat())
    finally:
        os.close(output)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.endswith(says)
    assert given_up == (isinstance(error, OSError) and error.filename is None)


def test_standard_output_that_fails_in_the_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    output = os.open(tmp_path / "output", os.O_CREAT | os.O_WRONLY)
    monkeypatch.setattr("agentcore.cli.terminal._STDOUT", output)

    def fails() -> None:
        raise OSError(errno.ENOSPC, "No space left")

    with tolerant():
        fails()
    os.write(output, b"lost")
    os.close(output)
    assert (tmp_path / "output").read_bytes() == b""
    assert capsys.readouterr().err == "warning: standard output cannot be written: No space left\n"


def test_a_standard_stream_that_is_closed_is_opened_and_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Numbers beyond those that are open stand for the three that a shell can close.
    for number, name in enumerate(("_STDIN", "_STDOUT", "_STDERR"), 200):
        monkeypatch.setattr(f"agentcore.cli.terminal.{name}", number)
    open_standard_streams()
    assert os.read(200, 1) == b""
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(201, b"x")
    assert os.write(202, b"x") == 1
    for number in (200, 201, 202):
        os.close(number)
