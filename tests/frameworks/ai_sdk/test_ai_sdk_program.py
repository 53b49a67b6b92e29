from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.kit.program import MAX_DEPTH, BadProgram
from oracle.driver_commands import small

PART = {"type": "text", "text": "x"}


def with_op(op: Any, hook: str = "prepareStep") -> dict[str, Any]:
    return {**small(), "hooks": {hook: [[op]]}}


def refusal(line: str | bytes) -> BadProgram:
    with pytest.raises(BadProgram) as caught:
        FAMILY.parse(line)
    return caught.value


def test_a_program_is_read_as_it_stands() -> None:
    assert FAMILY.parse(json.dumps(small())) == small()
    assert FAMILY.parse(json.dumps(small()).encode()) == small()


def test_a_program_survives_the_way_through_a_line() -> None:
    program = {**small(), "model": "m", "frozen": True, "maxSteps": 2}
    assert FAMILY.parse(FAMILY.to_line(program)) == program
    assert FAMILY.to_line(dict(reversed(program.items()))) == FAMILY.to_line(program)
    assert "\n" not in FAMILY.to_line(small(text="a\nb"))


@pytest.mark.parametrize(
    "op",
    [
        {"set": ["messages", -1, "content"], "to": None},
        {"set": ["messages", 0], "to": {"a": [{"$ref": ["steps"]}, {"$clone": ["$caller", 0]}]}},
        {"append": ["messages"], "with": {"role": "user", "content": "x"}},
        {"delete": ["messages", 0]},
        {"keep": ["messages"], "as": "m"},
        {"freeze": ["messages", 0]},
        {"throw": "no"},
        {"return": None},
        {"return": {}, "keep": "r"},
        {"return": {"messages": ["copy", "clone", {"keepRoles": ["user"]}, {"dropRoles": []}]}},
        {"return": {"messages": [{"replace": {"at": -1, "with": {"content": "x"}}}, {"append": [1]}]}},
        {"return": {"messages": [{"prepend": []}, {"slice": [1]}, {"slice": [0, -1]}, {"literal": []}]}},
        {"return": {"messages": None, "model": None, "system": "", "activeTools": [], "temperature": 1}},
    ],
)
def test_every_op_and_stage_of_the_format_is_read(op: Any) -> None:
    assert FAMILY.parse(json.dumps(with_op(op))) == with_op(op)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "reasoning", "text": "", "providerMetadata": {"p": {}}},
        {"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": None},
        {
            "type": "tool-call",
            "toolCallId": "c",
            "toolName": "t",
            "input": 1,
            "providerExecuted": True,
            "dynamic": True,
        },
        {"type": "tool-result", "toolCallId": "c", "toolName": "t", "result": {}, "isError": True},
        {"type": "source", "sourceType": "url", "id": "s", "url": "u", "title": "t"},
    ],
)
def test_every_part_of_a_script_is_read(part: Any) -> None:
    program = {**small(), "script": [[part]]}
    assert FAMILY.parse(json.dumps(program)) == program


@pytest.mark.parametrize(
    "tool",
    [
        {"output": None, "returns": "shared", "mutate": [{"delete": ["input", "a"]}]},
        {"error": "no"},
        {"noExecute": True},
        {"needsApproval": True},
        {"returns": "input"},
    ],
)
def test_a_tool_may_lack_an_output_that_it_never_gives(tool: Any) -> None:
    program = {**small(), "tools": {"t": tool}}
    assert FAMILY.parse(json.dumps(program)) == program


@pytest.mark.parametrize("message", [None, 1, "x", [], {}, {"role": "odd"}])
def test_messages_are_left_to_the_implementation(message: Any) -> None:
    program = {**small(), "messages": [message], "system": {"role": "user"}}
    assert FAMILY.parse(json.dumps(program)) == program


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"hook": {}}, "$", "unknown field hook; the fields are id,"),
        ({"path": "strem"}, "$.path", "must be one of stream, generate"),
        ({"id": None}, "$.id", "wrong type; make it number or string"),
        ({"maxSteps": 0}, "$.maxSteps", "minimum of 1"),
        ({"maxSteps": 1.5}, "$.maxSteps", "make it integer"),
        ({"hooks": {"onstart": []}}, "$.hooks", "unknown field onstart; the fields are prepareStep"),
        ({"hooks": {"model": [1]}}, "$.hooks.model[0]", "wrong type"),
        ({"script": [[{"type": "txt"}]]}, "$.script[0][0]", "whose type is one of: text, reasoning"),
        ({"script": [[7]]}, "$.script[0][0]", "whose type is one of"),
        ({"script": [[PART, {"type": "text"}]]}, "$.script[0][1]", "has no field text; add it"),
        ({"script": [[{**PART, "providerMetadata": {"p": 1}}]]}, "$.script[0][0].providerMetadata.p", "type"),
        ({"tools": {"t": {}}}, "$.tools.t", "a tool has an output, unless"),
        ({"tools": {"t": {"output": 1, "delay": 2}}}, "$.tools.t", "unknown field delay"),
        (
            {"tools": {"t": {"output": 1, "mutate": [{"return": 1}]}}},
            "$.tools.t.mutate[0]",
            "only prepareStep",
        ),
        ({"options": {"messages": []}}, "$.options", "no option may be any of model, messages"),
        ({"messages": [{"a": {"__proto__": 1}}]}, "$.messages[0].a", "cannot hold it as data"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: dict[str, Any], path: str, reason: str) -> None:
    error = refusal(json.dumps({**small(), **change}))
    assert error.path == path
    assert reason in error.reason
    assert error.id == (change.get("id", "a"))
    assert str(error) == f"{error.path}: {error.reason}"


@pytest.mark.parametrize(
    ("op", "below", "reason"),
    [
        ({"put": ["a"]}, "", "one verb of: set, append, clear, delete, return, keep, freeze, throw"),
        (7, "", "one verb of"),
        ({"set": ["a"]}, "", "has no field to"),
        ({"set": ["a"], "to": 1, "delete": ["a"]}, "", "unknown field delete"),
        ({"set": [], "to": 1}, ".set", "has less than 1 item"),
        ({"set": [0], "to": 1}, ".set[0]", "make it string"),
        ({"set": ["a", 1.5], "to": 1}, ".set[1]", "indexes that are whole numbers"),
        ({"set": ["a", "__proto__"], "to": 1}, ".set[1]", "__proto__ is not one of them"),
        ({"set": ["a"], "to": [{"$ref": 1}]}, ".to[0].$ref", "make it array"),
        ({"set": ["a"], "to": {"$ref": ["a"], "b": 1}}, ".to", "no other field"),
        ({"keep": ["a"], "as": ""}, ".as", "shorter than 1"),
        ({"return": {"messages": ["copi"]}}, ".return.messages[0]", "a stage is copy, clone"),
        ({"return": {"messages": [{"slice": []}]}}, ".return.messages[0].slice", "less than 1 item"),
        ({"return": {"messages": [{"replace": {"at": 1}}]}}, ".return.messages[0].replace", "no field with"),
    ],
)
def test_a_wrong_op_is_told_as_the_op_it_was_meant_to_be(op: Any, below: str, reason: str) -> None:
    error = refusal(json.dumps(with_op(op)))
    assert error.path == f"$.hooks.prepareStep[0][0]{below}"
    assert reason in error.reason


def test_only_prepare_step_returns() -> None:
    assert "only prepareStep has return" in refusal(json.dumps(with_op({"return": None}, "model"))).reason


def test_a_whole_number_may_be_written_as_a_fraction() -> None:
    program = FAMILY.parse(json.dumps({**small(), "maxSteps": 2.0}))
    assert type(program["maxSteps"]) is int


def test_lone_surrogates_are_data() -> None:
    program = {**small(text="\ud800"), "options": {"\udfff": ["\ud800"]}}
    assert FAMILY.parse(json.dumps(program)) == program
    assert FAMILY.parse(FAMILY.to_line(program)) == program
    bad = {**program, "path": "strem"}
    assert refusal(json.dumps(bad)).path == "$.path"


def test_a_value_in_memory_is_checked_like_a_line() -> None:
    FAMILY.require(small())
    wrong: list[Any] = [[], {**small(), "x": 1}, {**small(), "messages": [{"__proto__": 1}]}]
    for value in wrong:
        with pytest.raises(BadProgram):
            FAMILY.require(value)
    deep: list[Any] = []
    for _ in range(MAX_DEPTH):
        deep = [deep]
    with pytest.raises(BadProgram, match="levels deep"):
        FAMILY.require({**small(), "messages": deep})


def test_the_trace_schema_takes_runs_refusals_and_the_unsupported() -> None:
    schema = json.loads(files("agentcore").joinpath("frameworks/ai_sdk/trace.schema.json").read_text("utf-8"))
    valid = jsonschema_rs.validator_for(schema).is_valid
    shown = {"stepNumber": 0, "steps": 0, "messages": []}
    steps = [{"step": 0, "prepareStep": shown, "tools": []}]
    run = {
        "id": "a",
        "path": "stream",
        "package": "p",
        "steps": steps,
        "final": None,
        "caller": [],
        "error": None,
    }
    assert valid(run)
    assert valid({**run, "hung": True, "opErrors": ["x"], "error": {"name": "E", "message": "m"}})
    assert valid({"id": "a", "error": {"name": "BadProgram", "message": "m"}})
    assert valid({"id": "a", "unsupported": "hooks"})
    assert not valid({**run, "extra": 1})
    assert not valid({**run, "steps": [{"step": 0, "tools": []}]})
