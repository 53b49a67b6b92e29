from __future__ import annotations

import doctest
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import pytest

from agent.tools.samples import CONTEXT, weather
from agentcore.agent import tools
from agentcore.agent.models.base import ToolDefinition
from agentcore.agent.tools import InvalidToolError, Tool, ToolContext, tool
from agentcore.machine.effects import ToolSpec
from agentcore.messages.values import FrozenDict, freeze, thaw

# ---------------------------------------------------------------- the schema


def test_the_schema_is_made_of_the_signature() -> None:
    schema = thaw(weather.input_schema)
    definitions = schema.pop("$defs")
    assert schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["city"],
        "properties": {
            "city": {"type": "string", "description": "Where,\nin words."},
            "days": {"type": "integer", "default": 3},
            "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            "colour": {"$ref": "#/$defs/Colour", "default": "red"},
            "since": {"type": "string", "format": "date", "default": "2020-01-02"},
            "place": {
                "anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}],
                "default": None,
                "description": "A place.",
            },
            "point": {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}], "default": None},
            "span": {"anyOf": [{"$ref": "#/$defs/Range"}, {"type": "null"}], "default": None},
            "either": {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/Place"}], "default": 0},
            "pair": {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "integer"}],
                "minItems": 2,
                "maxItems": 2,
                "default": [0, 0],
            },
            "share": {
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "default": 0.5,
                "description": "How much of it.",
            },
            "limit": {
                "type": "integer",
                "exclusiveMinimum": 0,
                "default": 10,
                "description": "At most so many.",
            },
        },
    }
    assert set(definitions) == {"Colour", "Place", "Point", "Range"}
    assert definitions["Place"]["description"] == "A place on earth."
    assert definitions["Place"]["properties"]["nickName"]["description"] == "What friends call it."


def test_no_property_has_a_title_made_of_its_name() -> None:
    nested = [thaw(weather.input_schema), *thaw(weather.input_schema)["$defs"].values()]
    assert not [one for each in nested for one in each.get("properties", {}).values() if "title" in one]


def test_name_and_description_are_those_of_the_function() -> None:
    assert weather.name == "weather"
    assert weather.description == "Say what the weather is.\n\nIt is made up."


@pytest.mark.parametrize(
    "text",
    [
        "Find.\n\nArgs:\n    where: At what place.",
        "Find.\n\n:param where: At what place.",
        "Find.\n\nParameters\n----------\nwhere : str\n    At what place.",
    ],
)
def test_docstrings_of_every_usual_style_are_read(text: str) -> None:
    def find(where: str) -> str:
        return where

    find.__doc__ = text
    made = tool(find)
    assert made.description == "Find."
    assert thaw(made.input_schema)["properties"]["where"]["description"] == "At what place."


def test_a_function_without_a_docstring_has_no_description() -> None:
    @tool
    def nothing() -> None: ...

    assert nothing.description is None
    assert thaw(nothing.input_schema) == {"type": "object", "additionalProperties": False, "properties": {}}
    assert nothing.validated(FrozenDict()) == {}


def test_names_that_pydantic_keeps_for_itself_are_names_of_parameters() -> None:
    @tool
    def save(json: str, copy: bool, _hidden: int, model_config: str) -> None: ...

    given = {"json": "{}", "copy": True, "_hidden": 1, "model_config": "x"}
    assert save.validated(freeze(given)) == given


def test_settings_overrule_what_the_function_says() -> None:
    @tool(
        name="other",
        description="Another one.",
        needs_approval=True,
        timeout=2,
        provider_options={"p": {"k": [1]}},
        dynamic=True,
    )
    def first() -> None:
        """One."""

    assert first.definition == ToolDefinition(
        "other",
        description="Another one.",
        input_schema=FrozenDict({"additionalProperties": False, "properties": {}, "type": "object"}),
        provider_options=FrozenDict({"p": {"k": [1]}}),
    )
    assert first.spec == ToolSpec("other", needs_approval=True, dynamic=True)
    assert first.timeout == 2


def test_the_example_of_the_module_runs() -> None:
    assert doctest.testmod(tools) == (0, 3)


def test_a_function_and_its_settings_can_be_given_at_once() -> None:
    def first() -> int:
        return 1

    assert tool(first, name="one").name == "one"


# ---------------------------------------------------------------- the function stays what it was


def test_calling_a_tool_calls_its_function() -> None:
    assert weather("Oslo", days=1).startswith("Oslo 1 c")


def test_an_async_function_is_awaited_as_before() -> None:
    @tool
    async def double(number: int) -> int:
        return 2 * number

    async def twice() -> int:
        return await double(await double(1))

    assert anyio.run(twice) == 4


def test_a_bound_method_is_a_tool_of_its_instance() -> None:
    class Store:
        def __init__(self, rows: dict[str, int]) -> None:
            self.rows = rows

        def look(self, key: str) -> int:
            """Look something up."""
            return self.rows[key]

    look = tool(Store({"a": 1}).look)
    assert look("a") == 1
    assert list(thaw(look.input_schema)["properties"]) == ["key"]


def test_a_wrapped_function_keeps_its_signature() -> None:
    def logged(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> int:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @logged
    def add(one: int, two: int) -> int:
        return one + two

    assert list(thaw(add.input_schema)["properties"]) == ["one", "two"]
    assert add.call(add.validated(freeze({"one": 1, "two": 2})), CONTEXT) == 3


# ---------------------------------------------------------------- kinds of functions


def test_a_sync_function_is_for_a_thread() -> None:
    assert (weather.is_async, weather.is_generator) == (False, False)


def test_a_coroutine_function_is_for_the_event_loop() -> None:
    @tool
    async def wait() -> None: ...

    assert (wait.is_async, wait.is_generator) == (True, False)


def test_an_async_generator_gives_preliminary_results() -> None:
    @tool
    async def count(to: int) -> AsyncIterator[int]:
        for number in range(to):
            yield number

    async def collected() -> list[int]:
        return [number async for number in count.call({"to": 3}, CONTEXT)]

    assert (count.is_async, count.is_generator) == (True, True)
    assert anyio.run(collected) == [0, 1, 2]


def test_a_sync_generator_is_refused() -> None:
    def numbers() -> Iterator[int]:
        yield 1

    with pytest.raises(InvalidToolError, match="tool 'numbers': use an async generator"):
        tool(numbers)


# ---------------------------------------------------------------- what cannot be a tool


def test_a_parameter_without_a_hint_is_refused() -> None:
    def loose(one, two: int) -> None: ...  # type: ignore[no-untyped-def] # noqa: ANN001

    with pytest.raises(InvalidToolError, match="give the parameter one a type hint"):
        tool(loose)


def test_a_method_of_no_instance_is_refused() -> None:
    class Store:
        def look(self, key: str) -> None: ...

    with pytest.raises(InvalidToolError, match="a method is made a tool on the instance"):
        tool(Store.look)


@pytest.mark.parametrize("signature", ["one: int, /", "*ones: int", "**ones: int"])
def test_a_parameter_that_has_no_name_to_a_model_is_refused(signature: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def loose({signature}): ...", space)  # noqa: S102 - a text above
    with pytest.raises(InvalidToolError, match="models give arguments by name"):
        tool(space["loose"])


def test_a_hint_that_cannot_be_resolved_is_refused() -> None:
    def loose(one: Nowhere) -> None: ...  # type: ignore[name-defined] # noqa: F821 - the test

    with pytest.raises(InvalidToolError, match="'Nowhere' is not defined; define the type at the top"):
        tool(loose)


def test_a_type_that_pydantic_does_not_know_is_refused() -> None:
    def loose(one: inspect.Signature) -> None: ...

    with pytest.raises(InvalidToolError, match="tool 'loose': Unable to generate pydantic-core schema"):
        tool(loose)


def test_a_type_that_has_no_json_schema_is_refused() -> None:
    def loose(one: Callable[[], int]) -> None: ...

    with pytest.raises(InvalidToolError, match="tool 'loose': Cannot generate a JsonSchema"):
        tool(loose)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(InvalidToolError, match="tool 'partial': make it of a function or a method"):
        tool(functools.partial(print, "x"))


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(InvalidToolError, match="must be a text that is not empty"):
        Tool("", FrozenDict())


@pytest.mark.parametrize("timeout", [0, -1.0, float("inf"), float("nan")])
def test_a_timeout_that_is_no_time_is_refused(timeout: float) -> None:
    with pytest.raises(InvalidToolError, match="timeout is seconds above 0"):
        Tool("slow", FrozenDict(), timeout=timeout)


@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"$ref": "https://example.com/schema.json"}])
def test_a_schema_that_is_none_is_refused(schema: dict[str, object]) -> None:
    with pytest.raises(InvalidToolError, match="tool 'odd': no valid JSON Schema: "):
        Tool("odd", FrozenDict(schema))


def test_two_contexts_are_refused() -> None:
    def loose(one: ToolContext, two: ToolContext) -> None: ...

    with pytest.raises(InvalidToolError, match="one parameter takes the ToolContext, not one and two"):
        tool(loose)
