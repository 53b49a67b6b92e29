from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from agentcore.cli import demo
from cli.commands import run


def test_notebooks_are_copied_and_what_was_changed_is_kept(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    result = run("notebooks", "--copy-only", "--folder", str(folder))
    names = sorted(file.name for file in folder.iterdir())
    assert result.exit_code == 0
    assert names[0] == "1-the-message-that-snapped-back.ipynb"
    assert [line[:3] for line in result.output.splitlines()[:-1]] == [f"{name[0]}. " for name in names]
    (folder / names[0]).write_text("mine", encoding="utf-8")
    (folder / names[1]).unlink()
    run("notebooks", "--copy-only", "--folder", str(folder))
    assert (folder / names[0]).read_text("utf-8") == "mine"
    assert sorted(file.name for file in folder.iterdir()) == names


def test_without_jupyterlab_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    result = run("notebooks", "--folder", str(tmp_path))
    assert result.exit_code == 2
    assert "pip install 'agentcore-reference[notebooks]'" in result.stderr


def test_jupyterlab_opens_the_folder_and_its_exit_code_is_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []

    def pretend(argv: list[str], *, check: bool) -> CompletedProcess[bytes]:
        started.append((argv, check))
        return CompletedProcess(argv, 3)

    monkeypatch.setattr(demo, "find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.setattr("agentcore.cli.demo.subprocess.run", pretend)
    assert run("notebooks", "--folder", str(tmp_path)).exit_code == 3
    assert started == [([sys.executable, "-m", "jupyterlab", str(tmp_path)], False)]
