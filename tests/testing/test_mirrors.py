"""Plain objects in the place of live cells: what is written to them is written to the cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentcore.heap.heap import Store
from agentcore.heap.views import Desk
from agentcore.testing.runs import Mirror

PART = {"type": "text", "text": "a"}


def live() -> Any:
    store = Store()
    shared = {"p": 1}
    return Desk(store).view(store.load([{"content": [PART], "options": shared}, {"options": shared}]))


@pytest.mark.parametrize(
    ("write", "after"),
    [
        (lambda m: m[0]["content"][0].update(text="b"), "b"),
        (lambda m: m[0]["content"][0].pop("text"), None),
        (lambda m: m[0].update(content=[{"text": "c"}]), "c"),
        (lambda m: m[0]["content"].insert(0, {"text": "d"}), "d"),
    ],
)
def test_a_write_to_the_mirror_comes_to_the_cells(write: Callable[[Any], object], after: str | None) -> None:
    view, mirror = live(), Mirror()
    write(mirror.plain(view))
    mirror.write_back()
    assert view[0]["content"][0].get("text") == after


def test_what_is_shared_is_shared_in_the_mirror_and_stays_so() -> None:
    view, mirror = live(), Mirror()
    plain = mirror.plain(view)
    assert plain[0]["options"] is plain[1]["options"]
    plain.append(plain[0])
    mirror.write_back()
    assert view[2].is_same(view[0])
    assert view[0]["options"].is_same(view[1]["options"])


def test_what_is_returned_keeps_the_references_of_what_was_given() -> None:
    view, mirror = live(), Mirror()
    plain = mirror.plain(view)
    returned = mirror.live({"messages": (plain[1], {"new": plain[0]["content"]}), "n": 1})
    assert returned["messages"][0].is_same(view[1])
    assert returned["messages"][1]["new"].is_same(view[0]["content"])
    assert returned["n"] == 1


def test_reading_a_mirror_writes_nothing() -> None:
    view, mirror = live(), Mirror()
    mirror.plain(view)
    mirror.write_back()
    assert view.desk.journal == []
