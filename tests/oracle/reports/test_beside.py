from __future__ import annotations

from agentcore.oracle.reports.html import Line, beside


def shown(*values: object) -> tuple[list[Line], list[Line]]:
    left, right = ({"value": value} if value is not ... else {} for value in values)
    return beside(left, right)


def test_lines_that_differ_stand_beside_each_other() -> None:
    left, right = shown({"a": 1, "b": 2}, {"a": 1, "b": 3})
    assert [line.text for line in left] == ["{", ' "a": 1,', ' "b": 2', "}"]
    assert [line.kind for line in left] == ["same", "same", "gone", "same"]
    assert [line.kind for line in right] == ["same", "same", "added", "same"]


def test_both_sides_have_as_many_lines() -> None:
    left, right = shown([1], [1, 2, 3])
    assert len(left) == len(right)
    assert Line("pad", "") in left


def test_long_stretches_alike_are_left_out_and_counted() -> None:
    left, right = shown([*range(30), "x"], [*range(30), "y"])
    assert left[0] == right[0] == Line("gap", "... 28 lines alike")
    assert [line.kind for line in left].count("gone") == 1


def test_nothing_is_said_to_be_nothing() -> None:
    left, right = shown(..., "text")
    assert left == [Line("gone", "(nothing)")]
    assert right == [Line("added", '"text"')]
