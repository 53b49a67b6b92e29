"""Hooks that hang, exit, fork, fill the memory or reach outside: each ends in time, with its outcome."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.live.check import Request, check
from agentcore.live.process import workspace

HOOKS: Final = Path(__file__).parent / "hooks" / "liars.py"
TOY: Final = "live.toy_loop:ADAPTER"


@pytest.fixture(autouse=True)
def _tests_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root.parent}")
    monkeypatch.setenv("AGENTCORE_CACHE", str(tmp_path))


def report_of(hook: str, **options: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {"examples": 6, "python": sys.executable, "project": HOOKS.parent, **options}
    return check(Request(hook=f"{HOOKS}#{hook}", framework=TOY, at="before_model", **settings))


# What each hook of hooks/liars.py comes to: exit, kind of finding, and its cause or why it is not judged.
LIARS: Final = {
    "hangs": (1, "raises", "hangs"),
    "exits": (1, "raises", "exits"),
    "system_exit": (1, "raises", "exits"),
    "kills_itself": (1, "raises", "killed"),
    "fills_the_memory": (1, "raises", "out-of-memory"),
    "forks": (1, "raises", "forks"),
    "calls_home": (3, "not judged", "needs-outside"),
    "starts_a_program": (3, "not judged", "needs-outside"),
    "writes_a_file": (3, "not judged", "needs-outside"),
    "replaces_builtins": (1, "write", None),
    "replaces_the_clock": (1, "write", None),
    "hides_its_error": (1, "write", None),
}


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize("hook", LIARS)
def test_a_hook_that_attacks_its_checker_has_its_outcome(hook: str) -> None:
    code, kind, cause = LIARS[hook]
    # Each conversation that fills the memory does so again.
    examples = 1 if cause == "out-of-memory" else 6
    report = report_of(hook, limit=3.0 if hook == "hangs" else 30.0, examples=examples)
    assert report["exit"] == code
    if kind == "not judged":
        assert (report["verdict"], report["not_judged"]["reason"]) == (None, cause)
    else:
        found = [(each["kind"], each["cause"]) for each in report["findings"]]
        assert (kind, cause) in found
        assert kind == "write" or found == [(kind, cause)]
        assert report["findings"][0]["conversation"] is not None
    assert not HOOKS.with_name("left_behind.txt").exists()


def test_what_a_hook_writes_to_every_descriptor_is_data() -> None:
    report = report_of("prints_events")
    assert (report["verdict"], report["conversations"]["judged"]) == ("clean", 6)


def test_an_object_that_lies_about_itself_is_compared_all_the_same() -> None:
    report = report_of("returns_a_liar")
    assert report["conversations"]["run"] == 6
    assert "write" in [each["kind"] for each in report["findings"]]


def test_nothing_is_left_in_the_cache(tmp_path: Path) -> None:
    report_of("prints_events")
    assert [*(tmp_path / "tmp").iterdir()] == []


def test_what_a_killed_check_left_is_removed_by_the_next_and_what_a_running_one_has_is_not(
    tmp_path: Path,
) -> None:
    with workspace(tmp_path) as running:
        killed = tmp_path / "tmp" / "killed"
        killed.mkdir()
        killed.with_suffix(".lock").touch()
        with workspace(tmp_path):
            assert running.is_dir()
            assert not killed.exists()
    assert [*(tmp_path / "tmp").iterdir()] == []
