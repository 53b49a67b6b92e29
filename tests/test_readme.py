"""What README shows is true: its Python runs, its commands exist, its output is the demo's."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Final

import click
import pytest
from click.testing import CliRunner

from agentcore.cli import main
from agentcore.kit.framework import FRAMEWORKS

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


def shortened(block: str, output: str) -> bool:
    """Whether each line of a block, but for those left out, is in the output after the one before."""
    printed = (line.rstrip() for line in output.splitlines())
    wanted = [line for line in block.splitlines() if line != "..."]
    return bool(wanted) and all(line in printed for line in wanted)


def test_the_output_of_the_demo_is_that_of_the_readme() -> None:
    demo, *_ = blocks("text")
    assert shortened(demo, CliRunner().invoke(main, ["demo"]).output)


@pytest.mark.slow
def test_the_disagreement_of_the_readme_is_the_one_that_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENTCORE_DATABASE", str(tmp_path / "found"))
    _, found, _ = blocks("text")
    (command,) = (each for each in agentcore_commands() if "--seed" in each)
    split = command.index("--")
    driver = [sys.executable, "-c", "from agentcore.cli import main; main()", *command[split + 2 :]]
    result = CliRunner().invoke(main, [*command[:split], "--", *driver])
    assert result.exit_code == 1
    assert shortened(found, result.output)


def test_the_notebooks_of_the_readme_are_those_that_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    *_, listed = blocks("text")
    assert CliRunner().invoke(main, ["notebooks", "--copy-only"]).output == listed


def agentcore_commands() -> list[list[str]]:
    lines = [line.removeprefix("$ ") for block in blocks("console") for line in block.splitlines()]
    commands = [part.strip() for line in lines for part in line.split("&&")]
    return [shlex.split(command, comments=True)[1:] for command in commands if "bin/agentcore" in command]


@pytest.mark.parametrize("arguments", agentcore_commands(), ids=" ".join)
def test_commands_of_the_readme_have_the_options_that_it_uses(arguments: list[str]) -> None:
    name, *rest = arguments
    command = main.get_command(click.Context(main), name)
    assert command is not None
    options = {option for parameter in command.params for option in parameter.opts}
    used = [word for word in rest[: rest.index("--") if "--" in rest else None] if word.startswith("-")]
    assert set(used) <= options


def test_the_readme_has_one_command_for_the_demo_and_one_for_the_tests() -> None:
    first, second = (line for block in blocks("console") for line in block.splitlines() if "-m venv" in line)
    assert first.endswith("agentcore demo")
    assert second.endswith('pytest -q -n auto -m "not live and not slow"')


def test_the_readme_lists_every_profile_with_what_its_framework_says_of_it() -> None:
    rows = re.findall(r"^\| (`.+?`) \| (.+) \|$", README, flags=re.MULTILINE)
    profiles = [each for framework in FRAMEWORKS.values() for each in framework.profiles.items()]
    assert rows == [(f"`{name}`", what) for name, what in profiles]
