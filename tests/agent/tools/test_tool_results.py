from __future__ import annotations

import dataclasses
import datetime as dt
import uuid
from typing import Any

import attrs
import pytest
from pydantic import dataclasses as pydantic_dataclasses

from agent.tools.samples import Colour, Place, Point, weather
from agentcore.agent.tools import (
    InvalidToolOutputError,
)
from agentcore.errors import InvalidJsonError
from agentcore.machine.effects import ToolSucceeded
from agentcore.messages.messages import ContentOutput, ErrorTextOutput, ExecutionDeniedOutput, TextOutput
from agentcore.messages.values import FrozenDict, freeze, vector
from counting import bytes_of


@dataclasses.dataclass
class Holder:
    held: object


@pydantic_dataclasses.dataclass
class Kept:
    held: bytes


KEPT_ID = uuid.UUID(int=1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("text", "text"),
        ({"a": [1, 2.5, True]}, {"a": [1, 2.5, True]}),
        (Place(name="Rome", nickName="R"), {"name": "Rome", "nickName": "R"}),
        (Point(1, ["a"]), {"x": 1, "tags": ["a"]}),
        ([dt.date(2024, 5, 6)], ["2024-05-06"]),
        ({"c": Colour.RED}, {"c": "red"}),
        ({1: KEPT_ID}, {"1": str(KEPT_ID)}),
        ({"s": frozenset({1})}, {"s": [1]}),
        (FrozenDict(a=dt.date(2024, 5, 6)), {"a": "2024-05-06"}),
        (vector([Holder(Colour.BLUE)]), [{"held": "blue"}]),
        (Kept(b"abc"), {"held": "abc"}),
    ],
)
def test_what_a_tool_returns_becomes_frozen_json(value: object, expected: object) -> None:
    output = weather.output(value)
    assert output == freeze(expected)
    hash(output)
    assert weather.succeeded("c", value) == ToolSucceeded("c", output)


def test_frozen_json_is_returned_as_it_is() -> None:
    value = freeze({"a": [1]})
    assert weather.output(value) is value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (b"abc", "$"),
        ({"a": [1, b"abc"]}, "$.a[1]"),
        ([Holder({"x": bytearray(b"y")})], "$[0].held.x"),
        ({"a": memoryview(b"q")}, "$.a"),
    ],
)
def test_bytes_are_refused_with_their_path(value: object, path: str) -> None:
    with pytest.raises(InvalidToolOutputError, match="bytes are no JSON; return text") as caught:
        weather.output(value)
    assert (caught.value.path, caught.value.tool_name) == (path, "weather")


def test_what_is_no_json_is_refused_with_its_path() -> None:
    with pytest.raises(InvalidToolOutputError) as caught:
        weather.output({"a": [dt.date(2024, 5, 6), object()]})
    assert str(caught.value) == (
        "tool 'weather' returned no JSON at $.a[1]: "
        "object is no JSON; return a pydantic model, a dataclass or plain JSON"
    )
    assert isinstance(caught.value, InvalidJsonError)


def test_a_value_within_itself_is_refused() -> None:
    value: list[object] = [dt.date(2024, 5, 6)]
    value.append(value)
    with pytest.raises(InvalidToolOutputError, match="Circular reference"):
        weather.output(value)


def test_numbers_that_are_no_json_are_refused_with_their_path() -> None:
    with pytest.raises(InvalidToolOutputError) as caught:
        weather.output(Holder([1, float("nan")]))
    assert caught.value.path == "$.held[1]"


def test_to_model_output_says_what_the_model_is_shown() -> None:
    made = attrs.evolve(weather, to_model_output=lambda place: TextOutput(place.name.upper()))
    assert made.succeeded("c", Place(name="Rome")) == ToolSucceeded(
        "c", FrozenDict({"name": "Rome", "nickName": None}), model_output=TextOutput("ROME")
    )


@pytest.mark.parametrize(
    ("shown", "recorded"),
    [
        (TextOutput("3 bytes"), {"type": "text", "value": "3 bytes"}),
        (ErrorTextOutput("no"), {"type": "error-text", "value": "no"}),
        (ExecutionDeniedOutput(), {"type": "execution-denied"}),
        (
            ContentOutput([{"type": "text", "text": "x"}]),
            {"type": "content", "value": [{"type": "text", "text": "x"}]},
        ),
    ],
)
def test_what_is_no_json_is_recorded_as_the_model_is_shown_it(shown: Any, recorded: object) -> None:
    made = attrs.evolve(weather, to_model_output=lambda _: shown)
    assert made.succeeded("c", b"abc") == ToolSucceeded("c", recorded, model_output=shown)


def test_to_model_output_that_returns_something_else_is_refused() -> None:
    made = attrs.evolve(weather, to_model_output=lambda value: value)
    with pytest.raises(InvalidToolOutputError, match="to_model_output returns a ToolOutput such as TextOut"):
        made.succeeded("c", "text")


LONG = "k" * 20_000


@pytest.mark.parametrize(
    "value",
    [
        {LONG: [dt.date(2024, 5, 6)] * 2_000},
        [{LONG: Holder([Colour.RED] * 2_000)}],
        {LONG: dict.fromkeys(range(2000), KEPT_ID)},
    ],
)
def test_no_path_is_made_of_what_can_be_json(value: Any) -> None:
    assert bytes_of(lambda: weather.output(value)) < 3_000_000
    wrong = [value, {"b c": [object()]}]
    with pytest.raises(InvalidToolOutputError) as caught:
        weather.output(wrong)
    assert caught.value.path == '$[1]["b c"][0]'
