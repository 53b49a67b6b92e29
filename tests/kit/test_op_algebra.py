"""Where the paths of ops lead, whatever format the op is of, and what is done there."""

from __future__ import annotations

import pytest

from agentcore.heap.cells import UNDEFINED
from agentcore.heap.heap import Store
from agentcore.heap.views import Desk
from agentcore.kit.ops import NowhereError, below, index_in, slot

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
