"""The page of surprises: its commands print what it says, in the releases that it names."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from agentcore.live.installs import InstallError, installed

ROOT: Final = Path(__file__).parent.parent.parent
PAGE: Final = ROOT / "spec" / "surprises" / "README.md"
COMMAND: Final = re.compile(
    r"^\$ pip install (?P<package>[\w-]+)==(?P<version>[\d.]+) && python (?P<file>\S+)\n"
    r"(?P<output>(?:[^$`].*\n)+)",
    re.MULTILINE,
)
SHOWN: Final = [each.groupdict() for each in COMMAND.finditer(PAGE.read_text("utf-8"))]


def test_each_command_of_the_page_is_found_and_each_program_is_on_it() -> None:
    assert len(SHOWN) == PAGE.read_text("utf-8").count("\n$ ")
    assert {each["file"] for each in SHOWN} == {
        f"spec/surprises/{file.name}" for file in PAGE.parent.glob("*.py")
    }


@pytest.mark.live
@pytest.mark.sample(3)
@pytest.mark.parametrize("shown", SHOWN, ids=lambda each: f"{each['package']}-{each['version']}")
def test_a_command_prints_what_the_page_says(shown: dict[str, str]) -> None:
    try:
        place = installed(shown["package"], shown["version"])
    except InstallError as error:
        if "CI" in os.environ:
            raise
        pytest.skip(str(error))
    command = [place.python, "-B", str(ROOT / shown["file"])]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == shown["output"]
