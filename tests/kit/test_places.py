from __future__ import annotations

from typing import Any

import pytest

from agentcore.kit.program import Place, at, has, places, put, without

VALUE: Any = {"a": [1, {"b": 2}], "c": {}}


def test_places_are_told_from_the_outside_in_and_lists_from_their_end() -> None:
    assert places(VALUE) == [("a",), ("c",), ("a", 1), ("a", 0), ("a", 1, "b")]
    assert places({}) == places([]) == []


@pytest.mark.parametrize(
    ("place", "there"), [((), True), (("a", 1, "b"), True), (("a", 2), False), (("a", 0, "b"), False)]
)
def test_a_value_has_the_places_that_can_be_reached(place: Place, there: bool) -> None:
    assert has(VALUE, place) is there


def test_what_is_at_every_place_can_be_changed_and_taken_out_of_a_copy() -> None:
    before = str(VALUE)
    for place in places(VALUE):
        assert at(put(VALUE, place, "new"), place) == "new"
        assert len(places(without(VALUE, place))) < len(places(VALUE))
    assert put(VALUE, (), "new") == "new"
    assert without(VALUE, ("a", 0)) == {"a": [{"b": 2}], "c": {}}
    assert without(VALUE, ("a", 1, "b")) == {"a": [1, {}], "c": {}}
    assert str(VALUE) == before
