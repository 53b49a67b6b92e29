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


def test_each_marker_is_explained(pytestconfig: pytest.Config) -> None:
    own = {line.partition(":")[0] for line in pytestconfig.getini("markers")}
    assert {"live", "slow", "sample(n, group)"} <= own


CASES: Final = """
import pytest

@pytest.mark.sample(3)
@pytest.mark.parametrize("number", range(40))
def test_sampled(number): ...

@pytest.mark.parametrize("number", range(5))
def test_other(number): ...
"""


def picked(pytester: pytest.Pytester, *options: str) -> set[str]:
    """The cases that a run with the conftest of these tests has."""
    pytester.makeconftest((TESTS / "conftest.py").read_text("utf-8"))
    pytester.makeini("[pytest]\nmarkers = sample(n)\n live\n slow")
    file = pytester.makepyfile(CASES)
    options = options or (str(file),)
    done = pytester.runpytest_subprocess("--collect-only", "-q", "-p", "no:agentcore", *options)
    return {line for line in done.outlines if "::" in line}


@pytest.mark.slow
def test_a_sample_is_picked_by_the_seed_and_the_rest_is_as_it_was(pytester: pytest.Pytester) -> None:
    first, again = picked(pytester), picked(pytester)
    assert first == again
    assert len([name for name in first if "sampled" in name]) == 3
    assert len([name for name in first if "other" in name]) == 5
    name = next(iter(first)).partition("::")[0]
    assert picked(pytester, "--hypothesis-seed", "1", name) != first


@pytest.mark.slow
def test_the_whole_and_a_case_that_is_named_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = picked(pytester)
    name = next(iter(some)).partition("::")[0]
    case = next(case for number in range(40) if (case := f"{name}::test_sampled[{number}]") not in some)
    assert picked(pytester, case) == {case}
    monkeypatch.setenv("AGENTCORE_WHOLE", "1")
    assert len(picked(pytester)) == 45
