"""Environments that a project has, and those that are made for a release, by a Python that is a script."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Final

import pytest

from agentcore.live.check import Request
from agentcore.live.installs import InstallError, Place, installed, nearest, project_of

BASH: Final = shutil.which("bash") or "bash"
# Makes the environment at `python -m venv --clear FOLDER`, and has no release of `absent`.
PYTHON: Final = f"""#!{BASH}
echo "$*" >> "$LOG"
if [ "$2" = venv ]; then
  mkdir -p "$4/bin" && touch "$4/pyvenv.cfg" && cp "$0" "$4/bin/python"
elif [[ "$*" == *absent* ]]; then
  echo "no matching distribution" >&2
  exit 1
fi
"""


def environment(folder: Path, python: str = "bin/python") -> Path:
    (folder / python).parent.mkdir(parents=True)
    (folder / python).touch()
    (folder / "pyvenv.cfg").touch()
    return folder


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The commands that the script was given."""
    python = tmp_path / "python"
    python.write_text(PYTHON, "utf-8")
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("AGENTCORE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "log"


def test_a_project_is_the_nearest_folder_that_looks_like_one(tmp_path: Path) -> None:
    file = tmp_path / "project" / "src" / "hooks" / "hook.py"
    file.parent.mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    assert project_of(file) == tmp_path / "project"
    (tmp_path / "project" / "src" / ".venv").mkdir()
    assert project_of(file) == tmp_path / "project" / "src"


def test_an_environment_is_that_of_the_project_or_above_it_then_the_active_one_then_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project" / "part"
    project.mkdir(parents=True)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    assert nearest(project) == Place(sys.executable, sys.prefix)
    (project / ".venv").mkdir()  # no environment
    active = environment(tmp_path / "active")
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    assert nearest(project) == Place(str(active / "bin" / "python"), str(active))
    above = environment(tmp_path / "project" / "venv", "Scripts/python.exe")
    assert nearest(project) == Place(str(above / "Scripts" / "python.exe"), str(above))
    own = environment(project / "env")
    assert nearest(project).found == str(own)
    (own / "bin" / "python").unlink()
    assert nearest(project).found == str(above)


def test_a_release_is_installed_once_and_a_line_stands_for_its_newest_release(log: Path) -> None:
    place = installed("thing", "1.5")
    assert place == installed("thing", "1.5")
    assert Path(place.python).is_file()
    assert Path(place.found, "installed").read_text("utf-8") == "thing==1.5.*\n"
    made, got = log.read_text("utf-8").splitlines()
    assert made == f"-m venv --clear {place.found}"
    assert got == "-m pip install --quiet --disable-pip-version-check thing==1.5.*"


def test_a_lock_file_is_installed_as_it_stands(log: Path, tmp_path: Path) -> None:
    installed("thing", "1.5.2", tmp_path / "lock.txt")
    assert log.read_text("utf-8").endswith(f"-r {tmp_path / 'lock.txt'}\n")


@pytest.mark.usefixtures("log")
def test_a_release_that_cannot_be_installed_says_why_and_is_tried_again(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(InstallError, match=r"absent==1\.0\.0 failed:\nno matching distribution"):
            installed("absent", "1.0.0")
    assert not [*tmp_path.glob("cache/python/*/installed")]


@pytest.mark.usefixtures("log")
def test_a_check_of_a_release_runs_under_the_python_of_its_environment(tmp_path: Path) -> None:
    place = Request(hook="hooks.py#x", framework="langchain", at="before_model", version="1.0.0").place()
    assert place == installed("langchain", "1.0.0")
    assert Path(place.python).is_relative_to(tmp_path / "cache")
