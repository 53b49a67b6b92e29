"""Where the paths of ops lead, whatever format the op is of, and what is done there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

import pytest

from agentcore.heap.cells import UNDEFINED
from agentcore.heap.heap import Store
from agentcore.heap.views import Desk
from agentcore.kit.ops import (
    NowhereError,
    Op,
    Path,
    Record,
    Slot,
    Spelling,
    ThrownError,
    Turn,
    below,
    index_in,
    slot,
)

ITEMS = ["a", "b", "c"]


@pytest.mark.parametrize(("key", "index"), [(0, 0), (2, 2), (-1, 2), (-3, 0)])
def test_an_element_is_counted_from_either_end(key: int, index: int) -> None:
    assert index_in(ITEMS, key) == index
    assert slot(ITEMS, key) == index


@pytest.mark.parametrize("key", [3, -4, True, False, "1", 1.0])
def test_what_counts_no_element_is_nowhere(key: object) -> None:
    assert index_in(ITEMS, key) is None
    with pytest.raises(NowhereError, match=r"^no element "):
        slot(ITEMS, key)  # type: ignore[arg-type]


def test_a_field_has_to_be_there_unless_a_new_one_will_do() -> None:
    with pytest.raises(NowhereError, match=r"^no field 'b'$"):
        slot({"a": 1}, "b")
    assert slot({"a": 1}, "b", fresh=True) == "b"
    with pytest.raises(NowhereError, match=r"^no field 0$"):
        slot({"a": 1}, 0, fresh=True)


@pytest.mark.parametrize("scalar", ["text", 7, None, True])
def test_nothing_is_below_what_is_no_object(scalar: object) -> None:
    with pytest.raises(NowhereError, match=r"^'a' of something that is not an object$"):
        slot(scalar, "a", fresh=True)


def test_a_path_leads_through_objects_and_lists_to_the_live_object() -> None:
    inner = {"text": "x"}
    assert below({"parts": [1, inner]}, ("parts", -1)) is inner
    assert below(inner, ()) is inner
    with pytest.raises(NowhereError, match=r"^no field 'nothing'$"):
        below(inner, ("nothing", "where"))


def test_a_field_that_holds_undefined_is_not_there() -> None:
    store = Store()
    view = Desk(store).view(store.object({"a": UNDEFINED, "b": None}))
    assert slot(view, "b") == "b"
    with pytest.raises(NowhereError, match=r"^no field 'a'$"):
        slot(view, "a")


# --- the algebra, in a format of its own --------------------------------------------------------------------

SPELLING: Final = {
    "put": Spelling("set", "where", "what"),
    "drop": Spelling("delete", "where"),
    "say": Spelling("add text", "where", "what"),
    "push": Spelling("push", "where", "what"),
    "insert": Spelling("insert", "where", "what"),
    "splice": Spelling("splice", "where"),
    "reverse": Spelling("reverse", "where"),
    "empty": Spelling("clear", "where"),
    "keep": Spelling("keep", "where", "as"),
    "see": Spelling("observe", "where", "as"),
    "fail": Spelling("throw", value="text"),
}


class _Own(Turn):
    spelling = SPELLING

    def __init__(self, record: Record, root: Any) -> None:
        super().__init__(record, "own")
        self.root = root

    def at(self, op: Op, path: Path) -> Any:
        del op
        return below(self.root, path)

    def field(self, op: Op, path: Path, *, fresh: bool = False) -> Slot:
        container = self.at(op, path[:-1])
        return Slot(container, slot(container, path[-1], fresh=fresh))

    def refused(self, number: int, op: Op, error: Exception) -> None:
        self.list_error(number, f"{op['op']} refused: {type(error).__name__}")

    def _leave(self, op: Op) -> None:
        del op
        self.over = True

    extras: ClassVar[Mapping[str, Callable[[Any, Op], None]]] = {"leave": _leave}


ROOT: Final[dict[str, Any]] = {"text": "a", "list": [1, 2, 3], "in": {"x": 1}}


def done(*ops: Op) -> tuple[dict[str, Any], Record]:
    root, record = copy.deepcopy(ROOT), Record()
    _Own(record, root).run(ops)
    return root, record


@pytest.mark.parametrize(
    ("op", "changed"),
    [
        ({"op": "put", "where": ["in", "y"], "what": 2}, {"in": {"x": 1, "y": 2}}),
        ({"op": "put", "where": ["list", -1], "what": 9}, {"list": [1, 2, 9]}),
        ({"op": "drop", "where": ["in", "x"]}, {"in": {}}),
        ({"op": "drop", "where": ["list", 0]}, {"list": [2, 3]}),
        ({"op": "say", "where": ["text"], "what": "b"}, {"text": "ab"}),
        ({"op": "push", "where": ["list"], "what": 4}, {"list": [1, 2, 3, 4]}),
        ({"op": "insert", "where": ["list"], "index": 3, "what": 4}, {"list": [1, 2, 3, 4]}),
        ({"op": "insert", "where": ["list"], "index": -1, "what": 4}, {"list": [1, 2, 4, 3]}),
        (
            {"op": "splice", "where": ["list"], "start": -2, "count": 1, "items": [8, 9]},
            {"list": [1, 8, 9, 3]},
        ),
        ({"op": "splice", "where": ["list"]}, {"list": []}),
        ({"op": "reverse", "where": ["list"]}, {"list": [3, 2, 1]}),
        ({"op": "empty", "where": ["list"]}, {"list": []}),
    ],
    ids=lambda value: str(value.get("op", "")),
)
def test_each_op_of_the_algebra_writes_under_any_word(op: Op, changed: dict[str, Any]) -> None:
    root, record = done(op)
    assert root == {**ROOT, **changed}
    assert record.entries_if_any("opErrors", "observations") == {}
    assert record.kept == {}


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        ({"op": "put", "where": ["nothing", "y"], "what": 2}, "no field 'nothing'"),
        ({"op": "say", "where": ["list"], "what": "b"}, "only a string can be appended to"),
        ({"op": "push", "where": ["text"], "what": 4}, "what is pushed to is not an array"),
        ({"op": "insert", "where": ["list"], "index": 4, "what": 4}, "no place 4"),
        ({"op": "insert", "where": ["list"], "index": -4, "what": 4}, "no place -4"),
        ({"op": "say", "where": ["text"], "what": 1}, "say refused: TypeError"),
    ],
    ids=lambda value: str(value.get("op", "")) if isinstance(value, dict) else "",
)
def test_an_op_that_is_not_done_is_listed_and_the_next_is_done(op: Op, reason: str) -> None:
    root, record = done(op, {"op": "put", "where": ["after"], "what": True})
    assert root == {**ROOT, "after": True}
    assert record.of("opErrors") == [f"own, op 0: {reason}"]


def test_what_is_kept_is_the_live_object_and_what_is_seen_has_a_name() -> None:
    root, record = done(
        {"op": "keep", "where": ["in"], "as": "k"},
        {"op": "see", "where": ["list", 0], "as": "first"},
        {"op": "see", "where": ["text"]},
    )
    assert record.kept["k"] is root["in"]
    assert record.of("observations") == [
        {"by": "own", "what": "first", "value": 1},
        {"by": "own", "what": "['text']", "value": "a"},
    ]


def test_nothing_is_done_after_an_op_that_ends_the_turn_or_throws() -> None:
    after = {"op": "put", "where": ["after"], "what": True}
    root, _ = done({"op": "leave"}, after)
    assert root == ROOT
    with pytest.raises(ThrownError, match=r"^gone$"):
        done({"op": "fail", "text": "gone"}, after)
