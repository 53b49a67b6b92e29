"""Grades of tests of isolation: their outcomes under each copy depth, and the assertion they lack."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import pytest

__all__ = [
    "DEPTHS",
    "ISOLATION",
    "Depth",
    "HandOut",
    "Recorder",
    "Shared",
    "grades",
    "is_weak",
    "not_judged",
    "note",
    "noted",
    "shared",
]

Depth: TypeAlias = Literal["share", "list", "message", "content", "part", "deep"]

ISOLATION: Final[Depth] = "deep"
DEPTHS: Final[tuple[Depth, ...]] = ("share", "list", "message", "content", "part", ISOLATION)
"""The copy depths, from all shared to nothing shared: how much of the tree from the list down is new."""

_CONTENT: Final = ("content", "parts", "contents")
_PLAIN: Final = (str, bytes, int, float, bool, type(None))


@dataclass(frozen=True)
class Shared:
    """An object that the one who hands out and the one who is given still share.

    Attributes:
        place: the way to it, as code: `[0]["content"]`; empty for the list of messages itself.
        write: code that writes to it, with `{}` for the name of the list.
    """

    place: str
    write: str


@dataclass
class HandOut:
    """The value of the fixture `handed_out`: a function that hands messages out under one depth.

    Attributes:
        depth: the depth.
        calls: how often it was called.
        shared: the outermost objects that the messages of all calls share with what was handed out.
        on_call: called after each call.
    """

    depth: Depth = ISOLATION
    calls: int = 0
    shared: list[Shared] = field(default_factory=list)
    on_call: Callable[[HandOut], None] = lambda _: None

    def __call__(self, messages: Sequence[Any]) -> Any:
        """Returns the messages as a framework of this depth gives them to a hook.

        Args:
            messages: a list of messages: dicts, or objects with `content`, `parts` or `contents`.
        """
        self.calls += 1
        given = _copied(messages, DEPTHS.index(self.depth))
        self.shared += shared(messages, given)
        self.on_call(self)
        return given


def _copied(value: Any, levels: int) -> Any:
    """Copies the list if there is a level, the messages if there are two, and so on; all for the deepest."""
    if levels >= len(DEPTHS) - 1:
        return copy.deepcopy(value)
    if levels == 0:
        return value
    return type(value)([_copied_message(each, levels - 1) for each in value])


def _copied_message(message: Any, levels: int) -> Any:
    if levels == 0 or isinstance(message, _PLAIN):
        return message
    made = copy.copy(message)
    for name, content in _contents(message):
        if levels > 1 and isinstance(content, list):
            parts = [each if levels == 2 else copy.copy(each) for each in content]  # noqa: PLR2004 - as above
            _put(made, name, parts)
    return made


def _contents(message: Any) -> Iterator[tuple[str, Any]]:
    for name in _CONTENT:
        if isinstance(message, dict):
            if name in message:
                yield name, message[name]
        elif hasattr(message, name):
            yield name, getattr(message, name)


def _put(message: Any, name: str, value: Any) -> None:
    if isinstance(message, dict):
        message[name] = value
    else:
        object.__setattr__(message, name, value)


def shared(one: Any, other: Any) -> list[Shared]:
    """Returns the outermost objects that two values have in common at the same places.

    Args:
        one: a value.
        other: a copy of it.
    """
    found: list[Shared] = []
    level: list[tuple[str, Any, Any]] = [("", one, other)]
    while level:
        below: list[tuple[str, Any, Any]] = []
        for place, mine, theirs in level:
            if mine is theirs:
                if (write := _write_to(mine)) is not None:
                    found.append(Shared(place, f"{{}}{place}{write}"))
                continue
            below += _slots(place, mine, theirs)
        level = below
    return found


def _write_to(value: Any) -> str | None:
    """Returns code that writes to an object; None if nobody can."""
    if isinstance(value, list):
        return '.append("changed")'
    if isinstance(value, dict):
        return '["changed"] = True'
    if isinstance(value, (*_PLAIN, tuple, frozenset)) or not hasattr(value, "__dict__"):
        return None
    return f".{next(iter(vars(value)), 'changed')} = None"


def _slots(place: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
            yield f"{place}[{index}]", mine, theirs
    elif isinstance(one, dict) and isinstance(other, dict):
        for key, mine in one.items():
            if key in other:
                yield f"{place}[{key!r}]".replace("'", '"'), mine, other[key]
    elif not isinstance(one, _PLAIN) and hasattr(one, "__dict__"):
        for name, mine in vars(one).items():
            if name in vars(other):
                yield f"{place}.{name}", mine, vars(other)[name]


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

    A depth that is not told from isolation has the `assertion` that would tell it apart, or the reason `why`
    no assertion could.

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
