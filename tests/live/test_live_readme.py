"""What README shows of live checks is what they print, on the pinned releases."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from live.packages import RELEASES
from live.test_js import root

pytestmark = pytest.mark.live

__all__ = ["root"]

README: Final = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
RELEASE: Final = re.compile(r"\d+\.\d+\.\d+")


def block(language: str, index: int = 0) -> str:
    return str(re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)[index])


def printed(folder: Path, *argv: str, code: int = 1) -> list[str]:
    command = [sys.executable, "-m", "agentcore", "check-hook", *argv]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    if "could not be installed" in done.stdout and "CI" not in os.environ:
        pytest.skip(done.stdout)
    assert done.returncode == code, done.stdout + done.stderr
    return [RELEASE.sub("X", line.rstrip()) for line in done.stdout.splitlines()]


def assert_shown(shown: str, lines: list[str]) -> None:
    """Each line of the block, but for those left out, is printed after the one before."""
    rest = iter(lines)
    for line in shown.splitlines():
        assert line == "..." or RELEASE.sub("X", line) in rest, "\n".join((line, *lines))


@pytest.mark.parametrize("project", ["ai-6", "ai-7"])
def test_the_hook_that_is_right_in_both_versions_is_judged_clean(
    root: Path, tmp_path: Path, project: str
) -> None:
    file = tmp_path / "prepareStep.ts"
    file.write_text(block("ts"), encoding="utf-8")
    where = ("--in", "ai", "--at", "prepareStep", "--project", str(root / project), "--examples", "20")
    lines = printed(tmp_path, f"{file.name}#prepareStep", *where, code=0)
    assert lines[-1] == "clean: no difference between the hook and its returned values alone"


def test_the_hook_in_typescript_is_judged_as_the_readme_says(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "prepareStep.ts"
    file.write_text(block("ts", 1), encoding="utf-8")
    where = ("--in", "ai", "--at", "prepareStep", "--project", str(root / "ai-6"))
    assert_shown(block("txt"), printed(tmp_path, f"{file.name}#prepareStep", *where))


def test_the_hook_in_python_is_judged_as_the_readme_says(tmp_path: Path) -> None:
    file = tmp_path / "agent.py"
    file.write_text(block("py"), encoding="utf-8")
    release = f"pydantic-ai@{RELEASES['pydantic-ai']}"
    where = ("--in", release, "--at", "history_processor")
    assert_shown(block("txt", 1), printed(tmp_path, f"{file.name}#shorten", *where, "--html"))
    page = (tmp_path / "agentcore-hook.html").read_text("utf-8")
    (data,) = re.findall(r'id="document">(.*?)</script>', page)
    (scene,) = json.loads(data)["scenes"]
    assert [bool(run["prompts"]) for run in scene["runs"]] == [True, True]
    (written, *_) = (one for one in scene["runs"][0]["moments"] if one["kind"] == "write")
    assert written["lines"] == ["In this conversation it reaches the caller's messages."]
