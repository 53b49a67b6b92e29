from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from agentcore.kit.compare import MISSING, Difference, differences, ids_may_differ, places, render
from agentcore.kit.families import Comparison, Each
from counting import bytes_of


def texts_may_differ(trace: dict[str, Any]) -> dict[str, Any]:
    """For the tests of what is permitted."""
    return {**trace, "text": None}


COMPARISON = Comparison(
    permitted={"id": ids_may_differ, "text": texts_may_differ},
    order=("first", Each("steps", ("step", "prompt")), "error"),
)
TRACE: dict[str, Any] = {
    "id": "a",
    "text": "one",
    "final": {"messages": [], "text": "x"},
    "caller": [{"role": "user", "content": "hi"}],
    "error": None,
    "steps": [
        {"tools": [], "prompt": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "step": 0}
    ],
}


def changed(*path: str | int, to: Any) -> dict[str, Any]:
    trace = copy.deepcopy(TRACE)
    place: Any = trace
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return trace


def found(expected: dict[str, Any], actual: dict[str, Any]) -> Difference:
    difference = differences(expected, actual, COMPARISON)
    assert difference is not None
    return difference


def test_a_trace_agrees_with_itself_in_any_order_of_keys() -> None:
    assert differences(TRACE, copy.deepcopy(TRACE), COMPARISON) is None
    assert differences(TRACE, dict(reversed(TRACE.items())), COMPARISON) is None


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        (1, 1.0, True),
        (0, -0.0, True),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        (None, False, False),
        (None, 0, False),
        ([], {}, False),
        ("", None, False),
        ("\ud800", "\ud800", True),
        ({"a": 1.0, "b": 2}, {"b": 2.0, "a": 1}, True),
        ({"a": None}, {}, False),
        ([1], [1, None], False),
    ],
)
def test_values_are_compared_as_json(mine: Any, theirs: Any, same: bool) -> None:
    assert (differences(changed("caller", to=mine), changed("caller", to=theirs), COMPARISON) is None) is same
    assert (differences(changed("caller", to=theirs), changed("caller", to=mine), COMPARISON) is None) is same


def test_values_that_are_too_deep_for_python_to_compare_are_compared_all_the_same() -> None:
    def nested(inner: Any) -> Any:
        for _ in range(5_000):
            inner = [inner]
        return inner

    deep, same, other = (changed("caller", to=nested(inner)) for inner in (1, 1.0, True))
    assert differences(deep, same, COMPARISON) is None
    assert differences(deep, deep, COMPARISON) is None
    difference = differences(deep, other, COMPARISON)
    assert difference is not None
    assert difference.actual is True


def test_a_missing_entry_is_told_as_missing() -> None:
    difference = found(TRACE, changed("steps", to=[]))
    assert (difference.path, difference.actual) == ("$.steps[0]", MISSING)
    assert repr(difference.actual) == "nothing"
    assert found(TRACE, changed("steps", to=None)).path == "$.steps"


def test_equal_nonsense_in_a_list_of_objects_is_passed_over() -> None:
    for steps in (None, ["x"]):
        assert (
            found(changed("steps", to=steps), changed("steps", to=steps) | {"caller": 1}).path == "$.caller"
        )


def test_unknown_fields_count_too() -> None:
    assert found(TRACE, {**TRACE, "new": 1}).path == "$.new"
    assert found(TRACE, changed("steps", 0, "new", to=1)).path == "$.steps[0].new"
    assert found(TRACE, changed("final", "a key", to=1)).path == '$.final["a key"]'


def test_differences_of_the_same_observation_are_of_one_kind() -> None:
    first = found(TRACE, changed("steps", 0, "prompt", 0, "content", to="other"))
    second = found(TRACE, changed("steps", 0, "prompt", to=[]))
    assert first.observation == second.observation == "$.steps[0].prompt"
    assert first.kind == second.kind == "$.steps[].prompt"
    assert found(TRACE, changed("caller", to=[])).kind == "$.caller"


def test_the_diff_shows_the_observation() -> None:
    text = render(found(TRACE, changed("steps", 0, "prompt", 0, "content", 0, "text", to="bye")))
    assert text.splitlines()[0] == "first difference: $.steps[0].prompt[0].content[0].text"
    assert '-        "text": "hi",' in text
    assert '+        "text": "bye",' in text
    assert "caller" not in text


def test_the_diff_is_bounded() -> None:
    many = changed("caller", to=[{"role": "user", "content": str(index) * 300} for index in range(500)])
    lines = render(found(TRACE, many), max_lines=20).splitlines()
    assert len(lines) == 22
    assert lines[-1].endswith("more lines")
    assert max(len(line) for line in lines) < 200


def test_a_difference_behind_the_bound_is_still_shown() -> None:
    numbers = [*range(5000)]
    text = render(found(changed("caller", to=numbers), changed("caller", to=[*numbers, "end"])))
    assert text.splitlines() == ["first difference: $.caller[5000]", "-(nothing)", '+"end"']


def test_what_is_absent_is_an_empty_side_of_the_diff() -> None:
    text = render(found(TRACE, {key: value for key, value in TRACE.items() if key != "final"}))
    assert '-  "text": "x"' in text


@pytest.mark.parametrize("field", ["id", "text"])
def test_what_is_permitted_to_differ_does_until_that_is_switched_off(field: str) -> None:
    other = changed(field, to="other")
    assert differences(TRACE, other, COMPARISON) is None
    assert differences(TRACE, other, COMPARISON, strict_about=[field]) is not None
    with pytest.raises(KeyError):
        differences(TRACE, other, COMPARISON, strict_about=["texts"])


def test_fields_are_told_in_the_order_that_is_given_and_others_after_them() -> None:
    steps = [f"$.steps[0].{field}" for field in ("step", "prompt", "tools")]
    places = ["$.first", *steps, "$.error", "$.final", "$.caller"]
    for index, place in enumerate(places):
        actual = copy.deepcopy(TRACE)
        for later in places[index:]:
            field = later.rpartition(".")[2]
            (actual["steps"][0] if later in steps else actual)[field] = "other"
        assert found(TRACE, actual).observation == place


def test_all_places_that_differ_are_told_in_order_whatever_their_place_in_a_list() -> None:
    other = copy.deepcopy(TRACE)
    other["final"]["text"] = "y"
    other["final"]["more"] = 1
    other["steps"][0]["prompt"] = []
    other["steps"].append({"step": 1})
    assert places(TRACE, other, COMPARISON) == (
        "$.steps[].prompt",
        "$.steps[]",
        "$.final.text",
        "$.final.more",
    )


def test_no_place_differs_where_only_what_may_differ_does_or_numbers_are_written_otherwise() -> None:
    assert places(TRACE, TRACE | {"id": "b", "text": "two"}, COMPARISON) == ()
    one, other = ({"steps": [{"step": 0, "prompt": {"n": number}}]} for number in (1, 1.0))
    assert places(TRACE | one, TRACE | other, COMPARISON) == ()


def test_of_two_long_texts_what_is_around_the_first_difference_is_rendered() -> None:
    mine, theirs = "a" * 5_000 + "mine" + "b" * 5_000, "a" * 5_000 + "other" + "b" * 5_000
    _, gone, added = render(found(changed("caller", to=mine), changed("caller", to=theirs))).splitlines()
    assert gone.startswith('-(after 4960 characters) "' + "a" * 40 + "mine")
    assert added.startswith('+(after 4960 characters) "' + "a" * 40 + "other")
    assert len(gone) < 300


@pytest.mark.parametrize(
    "wrap", [lambda value: [value], lambda value: {"x": value}, lambda value: [[], value]]
)
def test_a_difference_however_deep_is_rendered(wrap: Callable[[Any], Any]) -> None:
    mine: Any = 1
    theirs: Any = 2
    for _ in range(900):
        mine, theirs = wrap(mine), wrap(theirs)
    lines = render(found(changed("caller", to=mine), changed("caller", to=theirs))).splitlines()
    assert lines[0].startswith("first difference: $.caller")
    assert [line[:2] for line in lines[1:]] == ["-1", "+2"]


LONG = "k" * 20_000


@pytest.mark.parametrize(
    "value",
    [{LONG: [0] * 2_000}, {LONG: [[0]] * 2_000}, {LONG: {f"{n}": {"a": n} for n in range(2_000)}}],
)
def test_no_path_is_made_of_what_does_not_differ(value: Any) -> None:
    mine, theirs = changed("final", to=value), changed("final", to={**value, "z": 1})

    def compare() -> None:
        assert found(mine, theirs).path == "$.final.z"
        assert places(mine, theirs, COMPARISON) == ("$.final.z",)

    assert bytes_of(compare) < 3_000_000
