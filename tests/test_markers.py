"""Tests that need real packages are marked `live`: the others run without Node.js and without a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parent
# How tests here come by a package: a target, an environment of frameworks, a project with npm.
_PACKAGES: Final = re.compile(
    r"targets\.command\(|except TargetError|NoFrameworksError"
    r"|live\.packages import|\bnpm\b.*\bci\b|found_on\("
)
# Helpers that tests import, and tests of the installer itself, which run with an npm of their own.
_OTHERS: Final = {"packages.py", "test_targets.py", "test_markers.py"}


def unmarked(sources: dict[str, str]) -> list[str]:
    return [name for name, text in sources.items() if _PACKAGES.search(text) and "mark.live" not in text]


def test_a_module_that_installs_a_package_marks_its_tests() -> None:
    found = {
        file.relative_to(TESTS).as_posix(): file.read_text("utf-8")
        for file in TESTS.rglob("test_*.py")
        if file.name not in _OTHERS
    }
    assert unmarked(found) == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("argv = targets.command('ai-sdk@6.0.134')", 1),
        ("from live.packages import checked", 1),
        ("pytestmark = pytest.mark.live\nargv = targets.command('x')", 0),
        ("assert True", 0),
    ],
)
def test_a_module_without_the_mark_is_found(text: str, count: int) -> None:
    assert len(unmarked({"test_x.py": text})) == count


def test_both_markers_are_explained(pytestconfig: pytest.Config) -> None:
    own = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert {"live", "slow"} <= own
