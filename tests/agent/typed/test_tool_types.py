"""What a type checker knows of tools; mypy checks the claims, and running shows that they are true."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from typing import Any, assert_type

import anyio
import pytest

from agentcore.agent.agent import Agent
from agentcore.agent.models import ScriptedModel
from agentcore.agent.models.base import ToolDefinition
from agentcore.agent.tools import Tool, ToolContext, tool, tool_without_execute
from agentcore.messages.messages import TextOutput
from agentcore.messages.values import JsonObject, vector


@tool
def add(one: int, two: int = 0) -> int:
    return one + two


@tool(needs_approval=lambda arguments, context: arguments["to"] == "x" and context.step_number > 0, timeout=1)
async def send(to: str) -> str:
    return to


@tool
async def count(context: ToolContext, to: int) -> AsyncIterator[int]:
    yield to + context.step_number


def plain(word: str) -> str:
    return word


def test_a_tool_is_called_as_its_function() -> None:
    assert_type(add(1, two=2), int)
    assert add(1, two=2) == 3
    with pytest.raises(TypeError):
        add("1", three=2)  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError):
        add()  # type: ignore[call-arg]


def test_a_tool_with_settings_is_called_as_its_function() -> None:
    async def sent() -> str:
        return await assert_type(send(to="x"), Coroutine[Any, Any, str])

    assert anyio.run(sent) == "x"


def test_a_generator_stays_one() -> None:
    context = ToolContext(tool_call_id="c", messages=vector(), step_number=1)
    assert_type(count(context, 1), AsyncIterator[int])

    async def collected() -> list[int]:
        return [number async for number in count(context, to=1)]

    assert anyio.run(collected) == [2]


def test_a_function_and_its_settings_at_once_keep_the_type() -> None:
    said = tool(plain, name="say", to_model_output=TextOutput)
    assert_type(said("x"), str)
    assert said("x") == "x"


def test_tools_of_any_kind_go_into_one_list() -> None:
    tools: list[Tool] = [add, send, count, tool_without_execute("ask", dict[str, int]), Tool("raw", {})]
    assert [each.name for each in tools] == ["add", "send", "count", "ask", "raw"]


def test_what_others_are_told_is_typed() -> None:
    assert_type(add.definition, ToolDefinition)
    assert_type(add.input_schema, JsonObject)
    assert_type(add.is_async, bool)
    assert not add.is_async


def test_unknown_settings_are_errors() -> None:
    with pytest.raises(TypeError):
        tool(plain, patience=1)  # type: ignore[call-overload]


def test_a_list_of_different_tools_in_a_variable_is_a_list_of_tools() -> None:
    @tool
    async def weather(city: str) -> str:
        return city

    @tool
    def add(a: int, b: int) -> int:
        return a + b

    tools = [weather, add]
    assert [each.name for each in Agent(ScriptedModel([]), tools=tools).tools] == ["weather", "add"]
