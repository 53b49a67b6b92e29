"""Structured output: how it is asked for, given and refused."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.frameworks import strands
from frameworks.strands.strands_scene import (
    EVERY,
    LOOK,
    NEXT,
    NOW,
    PYTHON,
    Json,
    by_profile,
    errors,
    hook,
    op,
    put,
    says,
    texts,
    traced,
    uses,
    wrap,
)

NAME: Final = "strands_structured_output"
GIVEN: Final = [uses(NAME, "s1", name="x", more=1)]


def wanted(**program: Any) -> Json:
    return {"structuredOutput": True, **program}


@EVERY
def test_output_that_the_tool_gets_is_the_result(profile: str) -> None:
    trace = traced(profile, **wanted(script=[GIVEN]))
    result = trace["results"][0]
    assert result["structuredOutput"] == {"name": "x"}
    assert result["stopReason"] == "toolUse"
    assert result["lastMessage"]["content"] == GIVEN


def test_the_model_is_told_of_its_output_in_each_sdks_words() -> None:
    told = by_profile(
        lambda trace: trace["agentMessages"][2]["content"][0]["toolResult"]["content"],
        **wanted(script=[GIVEN]),
    )
    shown = [{"json": {"name": "x"}}]
    assert told == (shown, shown, says(f"Successfully validated {NAME} structured output"))


@EVERY
def test_the_tool_is_there_for_the_pass_only(profile: str) -> None:
    trace = traced(profile, **wanted(script=[GIVEN]))
    assert [spec["name"] for spec in trace["calls"][0]["toolSpecs"]] == [NAME]
    assert trace["toolSpecs"] == []


def test_an_answer_in_words_is_dropped_in_typescript_and_kept_in_python() -> None:
    program = wanted(script=[says("no"), GIVEN])
    asked = by_profile(lambda trace: texts(trace["calls"][1]["messages"]), **program)
    prompt = "You must format the previous response as structured output."
    assert asked == (["go"], ["go"], ["go", "no", prompt])
    choices = by_profile(lambda trace: [call["toolChoice"] for call in trace["calls"]], **program)
    assert choices == ([None, {"tool": {"name": NAME}}],) * 3


def test_a_forced_model_is_told_of_one_tool_only_in_python() -> None:
    told = by_profile(
        lambda trace: [len(call["toolSpecs"]) for call in trace["calls"]],
        **wanted(script=[says("no"), GIVEN], tools=LOOK),
    )
    assert told == ([2, 2], [2, 2], [2, 1])


def test_a_forced_model_without_a_choice_is_told_of_all_tools() -> None:
    handler = wrap("model", put("toolChoice", value={"any": {}}, when=1))
    trace = traced(PYTHON, **wanted(script=[says("no"), GIVEN], tools=LOOK, middleware=[handler]))
    assert len(trace["calls"][1]["toolSpecs"]) == 2


def test_a_choice_that_is_none_fails_as_the_sdk_does() -> None:
    handler = wrap("model", put("toolChoice", value={"tool": 1}, when=1))
    trace = traced(PYTHON, **wanted(script=[says("no"), GIVEN], middleware=[handler]))
    assert trace["results"][0]["error"]["message"] == "'int' object is not subscriptable"


def test_a_model_that_refuses_again_ends_the_invocation() -> None:
    program = wanted(script=[says("no"), says("never")])
    names = (["StructuredOutputError"], ["StructuredOutputError"], ["StructuredOutputException"])
    assert by_profile(errors, **program) == names


def test_python_takes_an_object_in_text_for_the_output() -> None:
    trace = traced(PYTHON, **wanted(script=[says("no"), says('{"name": "x", "b": 1}')]))
    assert trace["results"][0]["structuredOutput"] == {"name": "x"}
    assert trace["results"][0]["stopReason"] == "endTurn"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{}", "Field required [type=missing, input_value={}, input_type=dict]"),
        ('{"name": 3}', "Input should be a valid string [type=string_type, input_value=3, input_type=int]"),
        (
            '{"a": "01234567890123456789012345678901234567890123"}',
            "input_value={'a': '012345678901234567...2345678901234567890123'}, input_type=dict",
        ),
    ],
)
def test_python_says_what_is_wrong_with_an_object_in_text(text: str, told: str) -> None:
    trace = traced(PYTHON, **wanted(script=[says("no"), says(text)]))
    error = trace["results"][0]["error"]
    assert error["type"] == "StructuredOutputException"
    assert told in error["message"]


@pytest.mark.parametrize("text", ["[1]", "3", "no"])
def test_text_that_is_no_object_is_no_output(text: str) -> None:
    trace = traced(PYTHON, **wanted(script=[says("no"), says(text)]))
    assert trace["results"][0]["error"]["message"].startswith("The model did not produce structured output")


@pytest.mark.parametrize(
    ("value", "received", "in_python"),
    [
        ({}, "string, received undefined", "Field 'name': Field required"),
        ({"name": 1}, "string, received number", "Field 'name': Input should be a valid string"),
        ({"name": None}, "string, received null", "Field 'name': Input should be a valid string"),
        ([1], "object, received array", "argument after ** must be a mapping, not list"),
        (True, "object, received boolean", "argument after ** must be a mapping, not bool"),
        ("x", "object, received string", "argument after ** must be a mapping, not str"),
    ],
)
def test_output_that_is_not_what_was_asked_for_is_an_error_that_the_model_is_told(
    value: Any, received: str, in_python: str
) -> None:
    use = {"toolUse": {"name": NAME, "toolUseId": "s1", "input": value}}
    results = by_profile(
        lambda trace: trace["agentMessages"][2]["content"][0]["toolResult"],
        **wanted(script=[[use], GIVEN]),
    )
    assert [result["status"] for result in results] == ["error"] * 3
    told = [result["content"][0]["text"] for result in results]
    assert received in told[0]
    assert told[0] == told[1]
    assert in_python in told[2]


@EVERY
def test_the_output_of_a_turn_whose_tools_a_hook_cancels_is_none(profile: str) -> None:
    hooks = [hook("beforeTools", op("cancel", when=0))]
    trace = traced(profile, **wanted(script=[GIVEN, [uses(NAME, "s2", name="y")]], hooks=hooks))
    assert trace["results"][0]["structuredOutput"] == {"name": "y"}


def test_typescript_takes_the_output_from_the_result_and_python_from_the_tool() -> None:
    hooks = [hook("afterTool", put("toolResult", "content", 0, value={"text": "hidden"}))]
    program = wanted(script=[GIVEN, [uses(NAME, "s2", name="y")]], hooks=hooks)
    outputs = by_profile(lambda trace: trace["results"][0].get("structuredOutput"), **program)
    assert outputs == (None, None, {"name": "x"})


def test_an_answer_that_stops_otherwise_needs_no_output_in_python() -> None:
    script = [{"blocks": says("no"), "stopReason": "stopSequence"}, GIVEN]
    outputs = by_profile(lambda trace: trace["results"][0].get("structuredOutput"), **wanted(script=script))
    assert outputs == ({"name": "x"}, {"name": "x"}, None)


def test_what_is_known_of_the_output_lasts_for_a_pass_in_python() -> None:
    script = [GIVEN, [uses()], says("end"), GIVEN]
    again = wrap("stream", NEXT, NEXT)
    program = wanted(script=script, tools=LOOK, middleware=[again])
    assert by_profile(lambda trace: len(trace["calls"]), **program) == (4, 4, 2)


def test_the_tool_is_asked_for_by_the_name_it_has_by_then_in_python() -> None:
    rename = hook("beforeModel", put("toolSpecs", -1, "name", value="renamed", on="agent", when=0))
    choices = by_profile(
        lambda trace: trace["calls"][1]["toolChoice"]["tool"]["name"],
        **wanted(script=[says("no"), GIVEN], hooks=[rename]),
    )
    assert choices == (NAME, NAME, "renamed")


def test_the_tool_is_there_when_the_input_enters_the_history_in_typescript_only() -> None:
    look = hook("messageAdded", op("observe", path=["toolSpecs", 0, "name"], on="agent", when=0))
    seen = by_profile(lambda trace: trace["observations"][0]["value"], **wanted(script=[GIVEN], hooks=[look]))
    assert seen == (NAME, NAME, None)


def test_uses_of_other_tools_beside_the_output_are_run() -> None:
    trace = traced(NOW, **wanted(script=[[uses("look", "u0"), *GIVEN]], tools=LOOK))
    assert len(trace["toolRuns"]) == 1
    assert trace["results"][0]["structuredOutput"] == {"name": "x"}


# ---------------------------------------------------------------- what Python makes of descriptions


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({}, {"type": "object", "properties": {}, "required": []}),
        (
            {"properties": {"a": {"type": "number"}, "b": 1, "c": {"$ref": "#/x"}, "d": {"anyOf": []}}},
            {
                "type": "object",
                "required": [],
                "properties": {
                    "a": {"type": "number", "description": "Property a"},
                    "b": {"type": "string", "description": "Property b"},
                    "c": {"$ref": "#/x"},
                    "d": {"anyOf": [], "description": "Property d"},
                },
            },
        ),
        (
            {"properties": {"a": {"type": "object", "properties": {"b": {}}}}},
            {
                "type": "object",
                "required": [],
                "properties": {
                    "a": {
                        "type": "object",
                        "required": [],
                        "description": "Property a",
                        "properties": {"b": {"type": "string", "description": "Property b"}},
                    }
                },
            },
        ),
    ],
)
def test_python_completes_a_schema_on_its_way_to_the_model(schema: Json, told: Json) -> None:
    trace = traced(PYTHON, tools={"look": {"output": "seen", "inputSchema": schema}})
    assert trace["calls"][0]["toolSpecs"][0]["inputSchema"] == told
    assert trace["toolSpecs"][0]["inputSchema"] == schema


def test_python_leaves_out_a_tool_whose_schema_is_too_deep() -> None:
    schema: Json = {}
    for _ in range(66):
        schema = {"type": "object", "properties": {"a": schema}}
    settings = strands.Settings(
        model=strands.Model.scripted(),
        inputs=["go"],
        tools={"look": strands.Tool(run=lambda _use, _state: "seen", input_schema=schema)},
    )
    assert strands.run(PYTHON, settings).prompts[0]["toolSpecs"] == []


def test_a_schema_that_is_none_ends_what_lists_the_tools_in_python() -> None:
    spoil = hook("beforeModel", put("toolSpecs", 0, "inputSchema", value="no", on="agent"))
    program: Json = {"tools": LOOK, "hooks": [spoil], "inputs": ["a", "b"]}
    trace = traced(PYTHON, **program)
    assert [result["error"]["type"] for result in trace["results"]] == ["AttributeError"] * 2
    assert trace["results"][0]["error"]["message"] == "'str' object has no attribute 'copy'"
    assert trace["calls"] == []
    assert errors(traced(NOW, **program)) == [None, None]
