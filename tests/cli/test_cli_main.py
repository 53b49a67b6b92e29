from __future__ import annotations

import importlib
import pkgutil
import runpy
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import click
import pytest

import agentcore.cli
from agentcore.cli import COMMANDS, main
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
