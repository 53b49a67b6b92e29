"""What README shows is true: its Python runs, its commands exist, its output is the demo's."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from agentcore.cli import main
from agentcore.oracle.ai_sdk.reference import PROFILE_NAMES

ROOT: Final = Path(__file__).parent.parent
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("source", blocks("python"))
def test_python_of_the_readme_prints_what_its_last_comment_says(
    source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, comment = source.splitlines()
    exec(compile(source, "README.md", "exec"), {})  # noqa: S102 - the README's own code
    assert capsys.readouterr().out == comment.removeprefix("# ") + "\n"


def test_the_output_that_the_readme_shortens_is_the_demos() -> None:
    demo = iter(CliRunner().invoke(main, ["demo"]).output.splitlines())
    (shown,) = blocks("text")
    wanted = [line for line in shown.splitlines() if line != "..."]
    # Each line is looked for after the one before.
    assert wanted
    assert [line for line in wanted if line not in (printed.rstrip() for printed in demo)] == []


def agentcore_commands() -> list[list[str]]:
    lines = [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()]
    commands = [part.strip() for line in lines for part in line.split("&&")]
    return [shlex.split(command, comments=True)[1:] for command in commands if "bin/agentcore" in command]


@pytest.mark.parametrize("arguments", agentcore_commands(), ids=" ".join)
def test_commands_of_the_readme_have_the_options_that_it_uses(arguments: list[str]) -> None:
    name, *rest = arguments
    options = {option for parameter in main.commands[name].params for option in parameter.opts}
    used = [word for word in rest[: rest.index("--") if "--" in rest else None] if word.startswith("-")]
    assert set(used) <= options


def test_the_readme_has_one_command_for_the_demo_and_one_for_the_tests() -> None:
    first, second = (line for block in blocks("console") for line in block.splitlines() if "-m venv" in line)
    assert first.endswith("agentcore demo")
    assert second.endswith("pytest -q --cov -n auto")


def test_the_readme_lists_every_profile() -> None:
    assert re.findall(r"^\| `([a-z0-9/-]+)` \|", README, flags=re.MULTILINE) == list(PROFILE_NAMES)
