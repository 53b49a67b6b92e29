from __future__ import annotations

import datetime as dt
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.samples import Colour, Place, Point, problems_of, weather
from agentcore.agent.tools import (
    InvalidToolError,
    InvalidToolInputError,
    InvalidToolOutputError,
    MismatchError,
    Problem,
    Tool,
    tool,
)
from agentcore.errors import AgentCoreError
from agentcore.messages.values import FrozenDict, freeze


def test_input_becomes_what_the_hints_say() -> None:
    value = freeze(
        {
            "city": "Oslo",
            "days": "4",
            "unit": "f",
            "colour": "blue",
            "since": "2024-05-06",
            "place": {"name": "Rome", "nickName": "R"},
            "point": {"x": 1, "tags": ["a"]},
            "span": {"low": 1},
            "either": {"name": "Bonn"},
            "pair": [1, 2],
            "share": 1,
        }
    )
    assert weather.validated(value) == {
        "city": "Oslo",
        "days": 4,
        "unit": "f",
        "colour": Colour.BLUE,
        "since": dt.date(2024, 5, 6),
        "place": Place(name="Rome", nickName="R"),
        "point": Point(1, ["a"]),
        "span": {"low": 1},
        "either": Place(name="Bonn"),
        "pair": (1, 2),
        "share": 1.0,
        "limit": 10,
    }


def test_each_call_has_its_own_objects() -> None:
    @tool
    def gather(words: list[str], more: list[str] = []) -> None: ...  # noqa: B006 - what is tested

    value = freeze({"words": ["a"]})
    first, second = gather.validated(value), gather.validated(value)
    first["words"].append("b")
    first["more"].append("c")
    assert second == {"words": ["a"], "more": []}
    assert gather.validated(value) == {"words": ["a"], "more": []}


def test_every_problem_of_an_input_is_named_with_its_path() -> None:
    value = {
        "days": "many",
        "unit": "k",
        "place": {"nickName": 3},
        "point": {"x": 1, "tags": ["a", 2]},
        "span": {"low": "a"},
        "either": {"name": 1},
        "pair": [1],
        "share": 2,
        "more": True,
    }
    assert problems_of(weather, value) == [
        ("$.city", "is missing; give it"),
        ("$.days", "Input should be a valid integer, unable to parse string as an integer"),
        ("$.unit", "Input should be 'c' or 'f'"),
        ("$.place.name", "is missing; give it"),
        ("$.place.nickName", "Input should be a valid string"),
        ("$.point.tags[1]", "Input should be a valid string"),
        ("$.span.low", "Input should be a valid integer, unable to parse string as an integer"),
        ("$.either", "Input should be a valid integer"),
        ("$.either.name", "Input should be a valid string"),
        ("$.pair[1]", "is missing; give it"),
        ("$.share", "Input should be less than or equal to 1"),
        ("$.more", "is not known here; leave it out"),
    ]


def test_an_input_error_tells_the_model_what_to_mend() -> None:
    with pytest.raises(InvalidToolInputError) as caught:
        weather.validated(freeze({"city": 1, "days": "x" * 500}))
    assert str(caught.value) == (
        "Invalid input for tool 'weather':\n"
        "$.city: Input should be a valid string (given: 1)\n"
        "$.days: Input should be a valid integer, unable to parse string as an integer"
        f' (given: "{"x" * 79}…)\n'
        "Call it again with valid input."
    )
    assert (caught.value.tool_name, caught.value.path) == ("weather", "$.city")
    assert caught.value.wire_name == "AI_InvalidToolInputError"


def test_an_input_error_lists_a_few_problems_and_counts_the_others() -> None:
    value = freeze({"city": "x", **dict.fromkeys("abcdefg", 1)})
    with pytest.raises(InvalidToolInputError) as caught:
        weather.validated(value)
    lines = str(caught.value).splitlines()
    assert len(caught.value.problems) == 7
    assert lines[1:6] == [f"$.{key}: is not known here; leave it out (given: 1)" for key in "abcde"]
    assert lines[6] == "and 2 more"


@pytest.mark.parametrize("value", [None, 1, "x", ["Oslo"]])
def test_an_input_that_is_no_object_is_refused(value: object) -> None:
    frozen = freeze(value)
    assert problems_of(weather, frozen) == [("$", "give an object of arguments by name")]
    assert problems_of(Tool("any", FrozenDict()), frozen) == [("$", "give an object of arguments by name")]


def test_a_validators_own_words_reach_the_model() -> None:
    value = {"city": "x", "place": {"name": "Atlantis"}}
    assert problems_of(weather, value) == [("$.place.name", "Value error, Atlantis is nowhere")]


def test_a_validator_that_goes_wrong_makes_the_input_invalid_and_is_the_cause() -> None:
    with pytest.raises(InvalidToolInputError, match="checking it failed: RuntimeError: the map is") as caught:
        weather.validated(freeze({"city": "x", "place": {"name": "Hades"}}))
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_half_a_surrogate_pair_is_refused_with_an_error() -> None:
    reason = "has half a surrogate pair in it, or is nested too deeply"
    assert problems_of(weather, {"city": "\ud800"}) == [("$", reason)]
    named = Tool("any", {"properties": {"city": {"minLength": 2}}})
    assert problems_of(named, {"city": "\ud800"}) == [("$", reason)]


def test_integers_of_any_size_arrive_exactly() -> None:
    @tool
    def keep(number: int) -> None: ...

    assert keep.validated(freeze({"number": 2**70 + 1})) == {"number": 2**70 + 1}


@given(
    st.dictionaries(
        st.sampled_from(["city", "days", "unit", "pair", "zz"]),
        st.from_type(type(None)) | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=3),
    )
)
def test_an_input_is_either_valid_or_has_problems_with_paths(value: dict[str, object]) -> None:
    try:
        arguments = weather.validated(freeze(value))
    except InvalidToolInputError as error:
        paths = [problem.path for problem in error.problems]
    else:
        assert isinstance(weather(**arguments), str)
        return
    assert all(path.startswith("$") for path in paths)


def test_a_problem_can_be_pickled_with_its_error() -> None:
    problems = (Problem("$.a", "is missing; give it", "{}"),)
    for error in (
        MismatchError(problems),
        InvalidToolInputError("t", problems),
        InvalidToolOutputError("t", "$", "x"),
        InvalidToolError("t", "x"),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))
        assert isinstance(error, AgentCoreError)
