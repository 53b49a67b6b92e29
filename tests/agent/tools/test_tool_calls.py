from __future__ import annotations

import inspect
from typing import Any

import attrs
import pytest

from agent.tools.samples import CONTEXT, Node, Place, Point, Range, problems_of, weather
from agentcore.agent.tools import InvalidToolError, Tool, ToolContext, tool, tool_without_execute
from agentcore.errors import ImmutableWriteError
from agentcore.machine.effects import ToolSpec
from agentcore.messages.content import ToolCall
from agentcore.messages.values import FrozenDict, freeze, thaw

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
    assert made.experimental_context == FrozenDict({"a": (1,)})
    with pytest.raises(ImmutableWriteError):
        made.step_number = 3  # type: ignore[misc]


def test_a_context_that_is_frozen_already_is_taken_as_it_is() -> None:
    value = freeze({"a": [1]})
    assert attrs.evolve(CONTEXT, experimental_context=value).experimental_context is value


def test_a_tool_does_not_change() -> None:
    with pytest.raises(ImmutableWriteError, match=r"attrs\.evolve\(value, name="):
        weather.name = "other"  # type: ignore[misc]
    with pytest.raises(ImmutableWriteError, match=r"^\$\.type: this dict cannot change"):
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
    made = Tool("raw", FrozenDict(), execute=lambda value: value, read=lambda given: {"value": given})
    assert made.call(made.validated("text"), CONTEXT) == "text"


def test_a_tool_without_a_function_is_for_somebody_else_to_run() -> None:
    made = tool_without_execute("ask", SCHEMA, "Ask.", needs_approval=True, provider_options={"p": {}})
    assert made.spec == ToolSpec("ask", has_execute=False, needs_approval=True)
    assert made.definition.description == "Ask."
    assert made.provider_options == FrozenDict({"p": FrozenDict()})
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
    with pytest.raises(InvalidToolError, match="the input of a tool is an object"):
        tool_without_execute("ask", int)


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(InvalidToolError, match="tool 'ask': Unable to generate"):
        tool_without_execute("ask", inspect.Signature)
