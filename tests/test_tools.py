from __future__ import annotations

import dataclasses
import datetime as dt
import doctest
import enum
import functools
import inspect
import pickle
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, Literal, cast

import anyio
import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutabledict import immutabledict
from pydantic import BaseModel, Field, field_validator
from pydantic import dataclasses as pydantic_dataclasses
from typing_extensions import TypedDict

from agentcore import tools
from agentcore.content import ToolCall
from agentcore.effects import ToolSpec, ToolSucceeded
from agentcore.errors import AgentCoreError, ImmutableWriteError, InvalidJsonError
from agentcore.hooks import Frozen
from agentcore.messages import ContentOutput, ErrorTextOutput, ExecutionDeniedOutput, TextOutput, UserMessage
from agentcore.models.base import ToolDefinition
from agentcore.tools import (
    InvalidToolError,
    InvalidToolInputError,
    InvalidToolOutputError,
    MismatchError,
    Problem,
    Tool,
    ToolContext,
    tool,
    tool_without_execute,
)
from agentcore.values import JsonValue, freeze, thaw, vector

CONTEXT = ToolContext(tool_call_id="c1", messages=vector([UserMessage("hi")]), step_number=2)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: int
    tags: list[str] = dataclasses.field(default_factory=list)


class Place(BaseModel):
    """A place on earth."""

    name: str
    nick_name: str | None = Field(default=None, alias="nickName", description="What friends call it.")

    @field_validator("name")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value == "Atlantis":
            raise ValueError("Atlantis is nowhere")
        if value == "Hades":
            raise RuntimeError("the map is torn")
        return value


class Range(TypedDict, total=False):
    low: int
    high: int


class Node(BaseModel):
    value: int
    below: list[Node] = []


@tool
def weather(  # noqa: PLR0913 - one parameter of every kind
    city: str,
    days: int = 3,
    *,
    unit: Literal["c", "f"] = "c",
    colour: Colour = Colour.RED,
    since: dt.date = dt.date(2020, 1, 2),
    place: Place | None = None,
    point: Point | None = None,
    span: Range | None = None,
    either: int | Place = 0,
    pair: tuple[int, int] = (0, 0),
    share: Annotated[float, Field(ge=0, le=1, description="How much of it.")] = 0.5,
    limit: int = Field(10, gt=0, description="At most so many."),
) -> str:
    """Say what the weather is.

    It is made up.

    Args:
        city: Where,
            in words.
        share: Overruled by the hint's own description.
        limit (int): Overruled as well.
        place: A place.
        nothing: No parameter.
        since:

    Returns:
        A text.
    """
    return f"{city} {days} {unit} {colour} {since} {place} {point} {span} {either} {pair} {share} {limit}"


def problems_of(tried: Tool, value: object) -> list[tuple[str, str]]:
    with pytest.raises(InvalidToolInputError) as caught:
        tried.validated(cast("JsonValue", value))
    return [(problem.path, problem.reason) for problem in caught.value.problems]


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
    assert nothing.validated(immutabledict()) == {}


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
        input_schema=immutabledict({"additionalProperties": False, "properties": {}, "type": "object"}),
        provider_options=immutabledict({"p": {"k": [1]}}),
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
    with pytest.raises(InvalidToolError, match="give it a name"):
        Tool("", immutabledict())


@pytest.mark.parametrize("timeout", [0, -1.0, float("inf"), float("nan")])
def test_a_timeout_that_is_no_time_is_refused(timeout: float) -> None:
    with pytest.raises(InvalidToolError, match="timeout is seconds above 0"):
        Tool("slow", immutabledict(), timeout=timeout)


@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"$ref": "https://example.com/schema.json"}])
def test_a_schema_that_is_none_is_refused(schema: dict[str, object]) -> None:
    with pytest.raises(InvalidToolError, match="tool 'odd': no valid JSON Schema: "):
        Tool("odd", immutabledict(schema))


def test_two_contexts_are_refused() -> None:
    def loose(one: ToolContext, two: ToolContext) -> None: ...

    with pytest.raises(InvalidToolError, match="one parameter takes the ToolContext, not one and two"):
        tool(loose)


# ---------------------------------------------------------------- input


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
    assert problems_of(Tool("any", immutabledict()), frozen) == [("$", "give an object of arguments by name")]


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


# ---------------------------------------------------------------- calls that are checked before they run


def test_a_valid_call_is_left_as_it_is() -> None:
    call = ToolCall(tool_call_id="c", tool_name="weather", input={"city": "x"})
    assert weather.checked(call) is call


def test_an_invalid_call_is_marked_with_the_error_for_the_model() -> None:
    call = ToolCall(tool_call_id="c", tool_name="weather", input={"city": 1})
    error = (
        "Invalid input for tool 'weather':\n$.city: Input should be a valid string (given: 1)\n"
        "Call it again with valid input."
    )
    assert weather.checked(call) == attrs.evolve(call, invalid=True, dynamic=True, error=error)


@pytest.mark.parametrize("field", ["provider_executed", "invalid"])
def test_calls_that_are_not_ours_to_check_are_left_as_they_are(field: str) -> None:
    flags: dict[str, Any] = {field: True}
    call = ToolCall(tool_call_id="c", tool_name="weather", input=1, **flags)
    assert weather.checked(call) is call


# ---------------------------------------------------------------- context and calls


def test_the_context_is_no_part_of_the_schema_and_is_given_to_the_function() -> None:
    @tool
    def who(context: ToolContext, name: str) -> str:
        return f"{context.tool_call_id} {context.step_number} {context.messages[0].content} {name}"

    assert list(thaw(who.input_schema)["properties"]) == ["name"]
    assert who.context_parameter == "context"
    assert who.call(who.validated(freeze({"name": "x"})), CONTEXT) == "c1 2 hi x"
    assert problems_of(who, {"name": "x", "context": {}}) == [
        ("$.context", "is not known here; leave it out")
    ]


def test_a_context_that_may_be_none_is_one_as_well() -> None:
    @tool
    def who(name: str, context: ToolContext | None = None) -> str:
        return name if context is None else context.tool_call_id

    assert who("x") == "x"
    assert who.call({"name": "x"}, CONTEXT) == "c1"


def test_the_contexts_context_is_frozen() -> None:
    made = attrs.evolve(CONTEXT, experimental_context={"a": [1]})
    assert made.experimental_context == immutabledict({"a": (1,)})
    with pytest.raises(ImmutableWriteError):
        made.step_number = 3  # type: ignore[misc]


def test_a_context_that_is_frozen_already_is_taken_as_it_is() -> None:
    value = freeze({"a": [1]})
    assert attrs.evolve(CONTEXT, experimental_context=Frozen(value)).experimental_context is value


def test_a_tool_does_not_change() -> None:
    with pytest.raises(ImmutableWriteError, match=r"attrs\.evolve\(value, name="):
        weather.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError, match="immutabledict"):
        weather.input_schema["type"] = "array"  # type: ignore[index]
    assert attrs.evolve(weather, name="other").validated(freeze({"city": "x"}))["city"] == "x"


def test_tools_are_equal_by_what_they_are_made_of() -> None:
    def same() -> None: ...

    assert tool(same) == tool(same)
    assert hash(tool(same)) == hash(tool(same))
    assert tool(same) != tool(same, dynamic=True)


def test_approval_is_a_flag_or_a_rule_over_the_arguments() -> None:
    def pay(amount: int) -> None: ...

    def rule(arguments: dict[str, Any], context: ToolContext) -> bool:
        return bool(arguments["amount"] > 10 and context.step_number == 2)

    always, asked = tool(pay, needs_approval=True), tool(pay, needs_approval=rule)
    assert always.spec.needs_approval is True
    assert always.approval({"amount": 1}, CONTEXT) is True
    assert asked.spec.needs_approval == "ask"
    assert asked.approval({"amount": 11}, CONTEXT) is True
    assert asked.approval({"amount": 1}, CONTEXT) is False


# ---------------------------------------------------------------- tools of a schema, and without a function


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"items": {"enum": ["x", "y"]}}},
    "required": ["a"],
    "additionalProperties": False,
}


def test_a_tool_can_be_made_of_a_schema() -> None:
    made = Tool("sum", SCHEMA, execute=lambda **given: given)
    arguments = made.validated(freeze({"a": 1, "b": ["x"]}))
    assert made.call(arguments, CONTEXT) == {"a": 1, "b": ["x"]}
    assert type(arguments["b"]) is list


def test_the_input_of_a_schemas_tool_is_checked_with_paths() -> None:
    made = Tool("sum", SCHEMA, execute=lambda **given: given)
    assert problems_of(made, {"b": ["x", "z"], "c": 1, "d e": 2}) == [
        ("$.b[1]", 'the value is not one of "x" or "y"'),
        ("$.c", "is not known here; leave it out"),
        ('$["d e"]', "is not known here; leave it out"),
        ("$.a", "is missing; give it"),
    ]


def test_no_more_problems_are_looked_for_than_anybody_reads() -> None:
    made = Tool("many", {"properties": {"a": {"items": {"type": "null"}}}})
    assert len(problems_of(made, {"a": list(range(1000))})) == 50


def test_a_reader_of_ones_own_takes_input_that_is_no_object() -> None:
    made = Tool("raw", immutabledict(), execute=lambda value: value, read=lambda given: {"value": given})
    assert made.call(made.validated("text"), CONTEXT) == "text"


def test_a_tool_without_a_function_is_for_somebody_else_to_run() -> None:
    made = tool_without_execute("ask", SCHEMA, "Ask.", needs_approval=True, provider_options={"p": {}})
    assert made.spec == ToolSpec("ask", has_execute=False, needs_approval=True)
    assert made.definition.description == "Ask."
    assert made.provider_options == immutabledict({"p": immutabledict()})
    assert not made.is_async
    with pytest.raises(InvalidToolError, match="its calls are for the caller of the run"):
        made()
    with pytest.raises(InvalidToolError, match="its calls are for the caller of the run"):
        made.call({}, CONTEXT)


@pytest.mark.parametrize("kind", [Place, Point, Range])
def test_a_type_makes_the_schema_of_a_tool_without_a_function(kind: type) -> None:
    assert tool_without_execute("ask", kind).input_schema["type"] == "object"


def test_a_type_checks_the_input_of_a_tool_without_a_function() -> None:
    made = tool_without_execute("ask", Place)
    assert made.validated(freeze({"name": "Rome"})) == {"name": "Rome"}
    assert problems_of(made, {}) == [("$.name", "is missing; give it")]


def test_a_recursive_type_has_an_object_at_the_root_of_its_schema() -> None:
    made = tool_without_execute("tree", Node)
    schema = thaw(made.input_schema)
    assert schema["type"] == "object"
    assert schema["properties"]["below"]["items"] == {"$ref": "#/$defs/Node"}
    assert problems_of(made, {"value": 1, "below": [{"value": "x"}]}) == [
        ("$.below[0].value", "Input should be a valid integer, unable to parse string as an integer")
    ]


def test_a_type_that_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidToolError, match="its input is an object"):
        tool_without_execute("ask", int)


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(InvalidToolError, match="tool 'ask': Unable to generate"):
        tool_without_execute("ask", inspect.Signature)


# ---------------------------------------------------------------- what a tool returns


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
        (immutabledict(a=dt.date(2024, 5, 6)), {"a": "2024-05-06"}),
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
        "c", immutabledict({"name": "Rome", "nickName": None}), model_output=TextOutput("ROME")
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
