"""What a type checker knows of structured output; running shows that it is true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

import pytest
from pydantic import BaseModel

from agentcore.agent.agent import Agent, AgentResult
from agentcore.agent.events import AgentEvent
from agentcore.agent.models import ScriptedModel
from agentcore.agent.output import Output
from agentcore.machine.processors import StepArguments
from agentcore.messages.values import FrozenDict, JsonObject, JsonValue


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


def asks_for_a_city(step: StepArguments) -> dict[str, Any] | None:
    return {"structured_output": Output.of(City)} if step.step_number == 0 else None


@pytest.mark.anyio
async def test_object_stays_typed_by_the_declared_output_and_object_as_by_the_one_it_is_given() -> None:
    model = ScriptedModel([[{"type": "text", "text": '{"name": "Rome"}'}]])
    agent = Agent(model, output=Output.of(Point), prepare_step=asks_for_a_city)
    result = await agent.generate("q")
    assert_type(result, AgentResult[Point, dict[str, Any]])
    assert_type(result.object_as(Output.of(City)), City)
    assert result.object_as(Output.of(City)).name == "Rome"


def partial_of(event: AgentEvent) -> JsonValue:
    if event.type == "partial-object":
        assert_type(event.step_number, int)
        return event.value
    return None


@pytest.mark.anyio
async def test_a_partial_object_is_json() -> None:
    model = ScriptedModel([[{"type": "text", "text": '{"x": 1}'}]])
    async with Agent(model, output=Output.of(Point)).stream("q") as stream:
        seen = [partial_of(event) async for event in stream]
    assert seen[-2:] == [None, None]
    assert FrozenDict({"x": 1}) in seen
