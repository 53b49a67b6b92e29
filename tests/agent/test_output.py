from __future__ import annotations

import dataclasses
import enum
import inspect
import pickle
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator
from typing_extensions import TypedDict

from agentcore.agent.output import Output, OutputError
from agentcore.errors import AgentCoreError, ImmutableWriteError
from agentcore.messages.values import FrozenDict, dump_json, freeze, thaw


class City(BaseModel):
    name: str
    people: int = 0

    @field_validator("name")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value == "Hades":
            raise RuntimeError("the map is torn")
        return value


@dataclasses.dataclass
class Point:
    x: int


class Pair(TypedDict):
    a: int
    b: int


class Tree(BaseModel):
    below: list[Tree] = []


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (City, '{"name": "Rome", "people": 3}', City(name="Rome", people=3)),
        (Point, '{"x": 1}', Point(1)),
        (Pair, '{"a": 1, "b": 2}', {"a": 1, "b": 2}),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (Tree, '{"below": [{}]}', Tree(below=[Tree()])),
        (list[City], '{"result": [{"name": "Rome"}]}', [City(name="Rome")]),
        (int | City, '{"result": 3}', 3),
        (Literal["a", "b"], '{"result": "a"}', "a"),
        (Colour, '{"result": "red"}', Colour.RED),
    ],
)
def test_a_text_becomes_an_object_of_the_type(kind: Any, text: str, expected: object) -> None:
    output: Output[Any] = Output.of(kind)
    assert output.parse(text) == expected
    assert output.schema["type"] == "object"


def test_a_response_format_has_the_schema_and_the_types_name() -> None:
    assert thaw(Output.of(City).response_format) == {
        "type": "json",
        "name": "City",
        "schema": {
            "type": "object",
            "title": "City",
            "properties": {"name": {"type": "string"}, "people": {"type": "integer", "default": 0}},
            "required": ["name"],
        },
    }


def test_the_response_format_of_a_list_is_an_object_with_a_result() -> None:
    schema = thaw(Output.of(list[Point]).response_format)["schema"]
    assert schema["properties"] == {"result": {"type": "array", "items": {"$ref": "#/$defs/Point"}}}
    assert schema["required"] == ["result"]


def test_a_name_can_be_given_and_a_union_has_none() -> None:
    assert Output.of(City, name="town").response_format["name"] == "town"
    assert "name" not in Output.json_schema({}).response_format
    assert Output.json_schema({}, name="any").response_format["name"] == "any"


def test_a_schema_gives_frozen_json() -> None:
    output = Output.json_schema({"type": "object", "properties": {"a": {"type": "array"}}})
    assert output.parse('{"a": [1]}') == FrozenDict({"a": (1,)})


def test_outputs_of_the_same_schema_are_equal_and_do_not_change() -> None:
    output = Output.of(City)
    assert output == Output.of(City)
    assert output.schema != Output.of(Point).schema
    assert hash(output) == hash(Output.of(City))
    with pytest.raises(ImmutableWriteError):
        output.name = "x"  # type: ignore[misc]


# ---------------------------------------------------------------- what is wrong with an answer


def failed(output: Output[Any], text: str) -> OutputError:
    with pytest.raises(OutputError) as caught:
        output.parse(text)
    return caught.value


def test_an_error_names_the_path_and_what_is_there() -> None:
    error = failed(Output.of(list[City]), '{"result": [{"name": "Rome"}, {"name": ["no"]}]}')
    assert (error.path, error.excerpt) == ("$.result[1].name", '["no"]')
    assert str(error) == (
        "the answer is not the output that was asked for:\n"
        '$.result[1].name: Input should be a valid string (given: ["no"])'
    )
    assert error.wire_name == "AI_NoObjectGeneratedError"
    assert isinstance(error, AgentCoreError)


def test_an_error_of_a_schema_names_the_path_and_what_is_there() -> None:
    output = Output.json_schema({"properties": {"a": {"items": {"type": "integer"}}}})
    error = failed(output, '{"a": [1, "x"]}')
    assert (error.path, error.excerpt) == ("$.a[1]", '"x"')
    assert error.problems[0].reason == 'the value is not of type "integer"'


def test_what_is_missing_is_named_by_where_it_belongs() -> None:
    assert failed(Output.of(City), "{}").path == "$.name"


def test_what_is_shown_of_an_answer_is_bounded() -> None:
    error = failed(Output.of(City), dump_json({"name": list(range(1000))}))
    assert len(error.excerpt) == 81


def test_a_text_that_is_no_json_is_shown() -> None:
    error = failed(Output.of(City), "Here it is: {}")
    assert (error.path, error.excerpt) == ("$", "Here it is: {}")
    assert error.problems[0].reason.startswith("not JSON text: ")


def test_a_text_that_was_cut_short_shows_both_its_ends() -> None:
    error = failed(Output.of(City), '{"name": "' + "x" * 500 + "the end")
    assert error.excerpt == '{"name": "' + "x" * 90 + " … " + "x" * 93 + "the end"


def test_a_validator_that_goes_wrong_is_the_cause() -> None:
    error = failed(Output.of(City), '{"name": "Hades"}')
    assert error.problems[0].reason == "checking it failed: RuntimeError: the map is torn"
    assert isinstance(error.__cause__, RuntimeError)


def test_an_output_error_can_be_pickled() -> None:
    error = failed(Output.of(City), "{}")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_type_that_pydantic_does_not_know_is_refused() -> None:
    with pytest.raises(TypeError, match="Unable to generate pydantic-core schema"):
        Output.of(inspect.Signature)


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="no valid JSON Schema"):
        Output.json_schema({"type": "objekt"})


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(), below, max_size=3),
        max_leaves=8,
    )
)
def test_any_json_is_what_the_empty_schema_allows(value: object) -> None:
    assert Output.json_schema({}).parse(dump_json(value)) == freeze(value)
