"""What tests of isolation can tell: their outcomes under each copy depth, and the assertion they lack."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore.testing.handed_out import DEPTHS, ISOLATION, HandOut

__all__ = ["Recorder", "grades", "is_weak", "not_judged", "note", "noted"]

_PROPERTY: Final = "agentcore.handed_out"

_ASSERTION: Final = """\
before = copy.deepcopy(messages)
given = handed_out(messages)
{write}
assert messages == before"""
_NONE_SHARED: Final = (
    "nothing of the messages that the test hands out is shared at this depth: hand out some with {what}"
)
_WANTED: Final = {
    "share": "a message",
    "list": "a message",
    "message": "a list of parts as content",
    "content": "a part that is an object",
    "part": "a part that holds an object, such as the input of a tool call",
}


class Recorder:
    """A plugin of pytest that keeps the outcomes of a graded run, and writes them to a file at its end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._outcomes: dict[str, dict[str, dict[str, Any]]] = {}

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps what became of a test under a depth, and what was handed out."""
        handed: Any = dict(report.user_properties).get(_PROPERTY)
        if handed is None:
            return
        depths = self._outcomes.setdefault(handed["test"], {})
        kept = depths.setdefault(handed["depth"], {"outcome": "passed"})
        kept.update(calls=handed["calls"], shared=handed["shared"])
        if report.outcome != "passed":
            kept["outcome"] = report.outcome

    @pytest.hookimpl
    def pytest_sessionfinish(self) -> None:
        """Writes the outcomes."""
        self._file.write_text(json.dumps(self._outcomes), encoding="utf-8")


def note(item: pytest.Item) -> bool:
    """Notes in an item under which depth it runs; returns whether it runs under one."""
    depth = getattr(item, "callspec", None) and item.callspec.params.get("handed_out")  # type: ignore[attr-defined]
    if not depth:
        return False
    # Its parameters have the depth first.
    name = item.nodeid.replace(f"[{depth}]", "").replace(f"[{depth}-", "[")
    item.user_properties.append((_PROPERTY, {"test": name, "depth": depth, "calls": 0, "shared": []}))
    return True


def noted(item: pytest.Item) -> HandOut:
    """Returns the function that hands out under the depth of an item, and keeps in the item what it does."""
    kept: Any = dict(item.user_properties)[_PROPERTY]

    def keep(handed: HandOut) -> None:
        kept.update(calls=handed.calls, shared=[each.write for each in handed.shared[:1]])

    return HandOut(kept["depth"], on_call=keep)


def grades(outcomes: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Returns the grade of each test: `test`, `not_judged` with the reason or None, and its `depths`.

    A depth that is not told from isolation has the `assertion` that would tell it, or the reason `why` no
    assertion could.

    Args:
        outcomes: those that the `Recorder` wrote, by test and depth.
    """
    return [_grade(test, of) for test, of in outcomes.items()]


def _grade(test: str, of: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    isolated = of.get(ISOLATION, {"outcome": "skipped", "calls": 0})
    reason = None
    if isolated["outcome"] == "failed":
        reason = "it fails even if nothing is shared"
    elif any(each["outcome"] == "skipped" for each in of.values()):
        reason = "it was skipped"
    elif not isolated["calls"]:
        reason = "it does not call handed_out"
    if reason is not None:
        return {"test": test, "not_judged": reason, "depths": []}
    depths = [_depth(each, of[each]) for each in DEPTHS if each in of and each != ISOLATION]
    return {"test": test, "not_judged": None, "depths": depths}


def _depth(depth: str, of: Mapping[str, Any]) -> dict[str, Any]:
    if of["outcome"] == "failed":
        return {"depth": depth, "told": True}
    if not of["shared"]:
        return {"depth": depth, "told": False, "why": _NONE_SHARED.format(what=_WANTED[depth])}
    write = of["shared"][0].format("given")
    return {"depth": depth, "told": False, "assertion": _ASSERTION.format(write=write)}


def is_weak(grade: Mapping[str, Any]) -> bool:
    """Returns whether a test passes under a depth in which objects are shared."""
    return any(not each["told"] for each in grade["depths"])


def not_judged(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the tests that say nothing of isolation."""
    return [each for each in found if each["not_judged"] is not None]
