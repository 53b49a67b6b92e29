from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from agentcore.frameworks.mastra.family import FAMILY
from agentcore.frameworks.mastra.program import check, to_line
from agentcore.kit.program import BadProgram, parse_program, schema

SPEC = {"role": "user", "text": "#1"}


def with_op(op: Any) -> dict[str, Any]:
    return {"id": "a", "processors": [{"id": "p", "steps": {"0": [op]}}]}


def refusal(program: Any) -> BadProgram:
    with pytest.raises(BadProgram) as caught:
        parse_program(json.dumps(program), check)
    return caught.value


def test_an_id_alone_is_a_program() -> None:
    assert parse_program('{"id": "a"}', check) == {"id": "a"}


def test_every_field_of_the_format_is_read_and_written() -> None:
    program = {
        "id": 1,
        "path": "stream",
        "system": ["#1", {"role": "system", "content": "#2"}],
        "callSystem": "#3",
        "messages": ["#4", {"role": "user", "content": "#5", "createdAt": "2000-01-01T00:00:00Z"}],
        "context": [{"role": "user", "content": "#6"}],
        "script": [
            [{"type": "reasoning", "text": "#7"}, {"type": "text", "text": "#8"}],
            [{"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {}}],
            [{"type": "throw", "message": "#9"}],
        ],
        "tools": {"look": {"output": 1, "error": "#10", "mutateInput": {"a": 1}, "description": "#11"}},
        "processors": [{"id": "p", "where": "ctor", "steps": {"0": [], "12": [], "*": []}, "input": []}],
        "emptyCallProcessors": True,
        "prepareStep": {"1": []},
        "defaultPrepareStep": {"2": []},
        "providerOptions": {"x": {"k": 1}},
        "modelSettings": {"temperature": 1},
        "toolChoice": {"type": "tool", "toolName": "look"},
        "activeTools": ["look"],
        "requestContext": {"user": "#12"},
        "maxSteps": 3,
        "maxRetries": 0,
        "fallbackModels": ["second"],
        "timeoutMs": 100,
    }
    assert {*program} == {*schema("program", "agentcore.frameworks.mastra")["properties"]}
    assert parse_program(to_line(program), check) == program


@pytest.mark.parametrize(
    "op",
    [
        {"op": "set", "at": [0, "content"], "value": None},
        {"op": "set", "on": "list", "at": [-1], "message": SPEC},
        {"op": "append", "on": "systemMessages", "at": [0, "content"], "value": "#1"},
        {"op": "delete", "on": "tools", "at": ["look"]},
        {"op": "push", "on": "stash:a", "value": 1},
        {"op": "splice", "start": 1, "count": 0, "items": [{"value": 1}, {"message": SPEC}]},
        {"op": "reverse", "at": [0, "content", "parts"]},
        {"op": "stash", "name": "a", "at": [0]},
        {"op": "list", "call": "add", "messages": [SPEC], "args": ["input"]},
        {"op": "list", "call": "removeByIds", "ids": "all"},
        {"op": "list", "call": "removeByIds", "ids": ["a"]},
        {"op": "list", "call": "removeByIds", "index": -1},
        {"op": "return", "model": {"version": "v3", "id": "m"}, "any": 1, "undefined": ["toolChoice"]},
        {"op": "return", "model": {"router": "some/model"}, "tools": {"t": {}}, "messageList": "same"},
        {"op": "return", "model": "m", "systemMessages": ["#1"]},
        {"op": "return", "systemMessages": {"from": "current", "pipe": [{"drop": 1}, {"concat": ["#1"]}]}},
        {"op": "returnMessages", "messages": {"from": "stash:a", "pipe": [{"mapText": {"suffix": "!"}}]}},
        {"op": "returnMessages", "messages": [{**SPEC, "id": None, "createdAt": "omit", "mirror": True}]},
        {"op": "returnMessages", "messages": [{"role": "system", "content": [], "core": True}]},
        {"op": "returnList", "which": "external"},
        {"op": "returnValue"},
        {"op": "returnArgs", "fields": ["messages"]},
        {"op": "abort", "reason": "#1", "options": {"retry": True}},
        {"op": "throw", "message": "#1"},
    ],
)
def test_every_op_of_the_format_is_read(op: Any) -> None:
    assert parse_program(json.dumps(with_op(op)), check) == with_op(op)


@pytest.mark.parametrize(
    ("change", "path", "reason"),
    [
        ({"processor": []}, "$", "unknown field processor; the fields are id, path, system"),
        ({"path": "strem"}, "$.path", "must be one of generate, stream"),
        ({"id": None}, "$.id", "wrong type; make it number or string"),
        ({"messages": "hi"}, "$.messages", "make it array"),
        ({"messages": [{"createdAt": "now"}]}, "$.messages[0].createdAt", "2000-01-01T00:00:00Z"),
        ({"messages": [{"createdAt": "2000-02-30T00:00:00Z"}]}, "$.messages[0].createdAt", "at most 28"),
        ({"script": [[{"type": "txt"}]]}, "$.script[0][0]", "one of: text, reasoning, tool-call, throw"),
        ({"script": [[7]]}, "$.script[0][0]", "whose type is one of"),
        ({"script": [[{"type": "text"}]]}, "$.script[0][0]", "has no field text; add it"),
        ({"tools": {"t": {"delay": 2}}}, "$.tools.t", "unknown field delay"),
        ({"processors": [{"steps": {}}]}, "$.processors[0]", "has no field id"),
        ({"processors": [{"id": "p", "where": "there"}]}, "$.processors[0].where", "one of call, ctor"),
        ({"prepareStep": {"first": []}}, "$.prepareStep", "steps are named by their numbers"),
        ({"prepareStep": {"1": {}}}, "$.prepareStep.1", "make it array"),
        ({"maxSteps": 0}, "$.maxSteps", "minimum of 1"),
        ({"fallbackModels": []}, "$.fallbackModels", "is empty"),
        ({"messages": [{"a": {"__proto__": 1}}]}, "$.messages[0].a", "cannot hold it as data"),
    ],
)
def test_what_is_wrong_with_a_program_is_told_with_its_place(
    change: dict[str, Any], path: str, reason: str
) -> None:
    error = refusal({"id": "a", **change})
    assert error.path == path
    assert reason in error.reason


@pytest.mark.parametrize(
    ("op", "below", "reason"),
    [
        ({"op": "put"}, "", "an op is an object whose op is one of: set, append"),
        ({"set": 1}, "", "whose op is one of"),
        (7, "", "whose op is one of"),
        ({"op": "set", "at": [0]}, "", "neither value nor message"),
        ({"op": "push"}, "", "neither value nor message"),
        ({"op": "set", "at": [], "value": 1}, ".at", "is empty"),
        ({"op": "set", "at": [1.5], "value": 1}, ".at[0]", "whole numbers"),
        ({"op": "set", "at": ["__proto__"], "value": 1}, ".at[0]", "no __proto__"),
        ({"op": "append", "at": [0], "value": 1}, ".value", "make it string"),
        ({"op": "splice", "items": [{}]}, ".items[0]", "neither value nor message"),
        ({"op": "push", "message": {"role": "user"}}, ".message", "neither text nor content"),
        ({"op": "push", "message": {**SPEC, "createdAt": "then"}}, ".message.createdAt", "after, before"),
        ({"op": "list", "call": "remove"}, ".call", "one of add, addSystem"),
        ({"op": "list", "call": "removeByIds", "ids": 1}, ".ids", "is all, or a list of ids"),
        ({"op": "return", "model": 1}, ".model", "a name, {version, id} or {router}"),
        ({"op": "return", "model": {"version": "v2"}}, ".model", "has no field id"),
        ({"op": "return", "model": {"router": 1}}, ".model.router", "make it string"),
        ({"op": "return", "messages": [{"text": "x"}]}, ".messages[0]", "has no field role"),
        ({"op": "return", "messages": {"from": "there"}}, ".messages.from", "is current, list, empty"),
        ({"op": "return", "systemMessages": {"from": "list"}}, ".systemMessages.from", "current, empty"),
        ({"op": "return", "systemMessages": [1]}, ".systemMessages[0]", "make it string or object"),
        (
            {"op": "returnMessages", "messages": {"from": "list", "pipe": [{"drop": 1, "take": 1}]}},
            ".messages.pipe[0]",
            "make items of the others",
        ),
        (
            {"op": "returnMessages", "messages": {"from": "list", "pipe": [{}]}},
            ".messages.pipe[0]",
            "this has none",
        ),
        (
            {"op": "returnMessages", "messages": {"from": "list", "pipe": [{"cut": 1}]}},
            ".messages.pipe[0]",
            "unknown field cut; the fields are drop, take",
        ),
    ],
)
def test_a_wrong_op_is_told_with_its_place(op: Any, below: str, reason: str) -> None:
    error = refusal(with_op(op))
    assert error.path == f"$.processors[0].steps.0[0]{below}"
    assert reason in error.reason


RUN: dict[str, Any] = {
    "id": "a",
    "version": "1.71.0",
    "path": "stream",
    "events": ["p@0", "model:base", "tool:look"],
    "received": [
        {
            "step": "input",
            "processor": "p",
            "got": {
                "messages": [],
                "systemMessages": [],
                "listMessages": [],
                "listSystem": [],
                "live": {"messages": True, "elements": True, "systemMessages": False},
            },
            "returned": "undefined",
        }
    ],
    "model": [{"model": "base", "method": "doStream", "prompt": [], "settings": {}}],
    "tools": [{"name": "look", "input": {}}],
    "final": {"text": "ok", "streamText": "ok", "finishReason": "stop", "steps": ["ok"]},
    "error": None,
    "logged": [{"line": "x"}, {"name": "Error", "message": "x", "cause": {"message": "y"}}],
    "chunks": ["start"],
    "list": [{"source": "none", "message": {}}],
    "listSystem": [],
    "callerChanged": {},
    "opErrors": ["p@0, op 0: nothing there"],
}


def test_the_trace_schema_takes_runs_refusals_and_the_unsupported() -> None:
    validator = jsonschema_rs.validator_for(schema("trace", "agentcore.frameworks.mastra"))
    assert validator.is_valid(RUN)
    assert validator.is_valid({"id": "a", "driverError": "no outcome after 1 ms"})
    assert validator.is_valid({"id": "a", "unsupported": "no such thing here"})
    for missing in ("events", "received", "error", "callerChanged"):
        assert not validator.is_valid({key: value for key, value in RUN.items() if key != missing})
    both = {**RUN["received"][0], "threw": "x"}
    assert not validator.is_valid({**RUN, "received": [both]})


def test_a_line_that_is_no_program_is_answered_by_a_driver_error() -> None:
    assert FAMILY.refusal("a", "BadProgram", "$: is wrong") == {
        "id": "a",
        "driverError": "BadProgram: $: is wrong",
    }


def test_the_reference_answers_with_traces_that_the_schema_takes() -> None:
    validator = jsonschema_rs.validator_for(schema("trace", "agentcore.frameworks.mastra"))
    for program in FAMILY.programs(range(100), "mastra@1.71.0"):
        assert validator.is_valid(json.loads(json.dumps(FAMILY.trace(program, "mastra@1.71.0"))))
