"""What a type checker knows of structured output; running shows that it is true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from pydantic import BaseModel

from agentcore.output import Output
from agentcore.values import JsonObject, JsonValue


class City(BaseModel):
    name: str


@dataclass
class Point:
    x: int


def test_a_model_is_parsed_to_the_model() -> None:
    output = Output.of(City)
    assert_type(output, Output[City])
    assert_type(output.parse('{"name": "Rome"}'), City)
    assert output.parse('{"name": "Rome"}').name == "Rome"


def test_a_dataclass_is_parsed_to_the_dataclass() -> None:
    assert_type(Output.of(Point).parse('{"x": 1}'), Point)
    assert Output.of(Point).parse('{"x": 1}').x == 1


def test_a_list_is_parsed_to_the_list() -> None:
    cities = Output.of(list[City]).parse('{"result": [{"name": "Rome"}]}')
    assert_type(cities, list[City])
    assert cities == [City(name="Rome")]


def test_a_union_is_parsed_to_anything() -> None:
    answer = Output.of(City | None).parse('{"result": null}')
    assert_type(answer, Any)
    assert answer is None


def test_a_schema_is_parsed_to_frozen_json() -> None:
    output = Output.json_schema({"type": "array"})
    assert_type(output.parse("[1]"), JsonValue)
    assert_type(output.response_format, JsonObject)
    assert output.parse("[1]") == (1,)
