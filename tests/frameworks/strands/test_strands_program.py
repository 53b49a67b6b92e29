from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest

from agentcore.frameworks.strands.family import FAMILY
from agentcore.frameworks.strands.program import check, handlers_of, phase_of, stage_of, to_line
from agentcore.kit.program import BadProgram, parse_program

Json = dict[str, Any]


def parse(program: Any) -> Json:
    return parse_program(json.dumps(program), check)


def refused(program: Json) -> tuple[str | None, str]:
    with pytest.raises(BadProgram) as caught:
        parse({"id": "a", **program})
    assert caught.value.id == "a"
    return caught.value.path, caught.value.reason


def wrapping(*ops: Any) -> Json:
    return {"middleware": [{"stage": "model", "ops": [*ops]}]}


def hooked(on: str, *ops: Any) -> Json:
    return {"hooks": [{"on": on, "ops": [*ops]}]}


FULL: Json = {
    "id": 7,
    "system": [{"text": "s"}, {"cachePoint": {"type": "default"}}],
    "messages": [
        {"role": "user", "content": [{"text": "q"}], "metadata": {"custom": {}}},
        {
            "role": "assistant",
            "content": [
                {"reasoning": {"text": "r", "signature": "s"}},
                {"toolUse": {"name": "t", "toolUseId": "u", "input": None}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "toolResult": {
                        "toolUseId": "u",
                        "status": "error",
                        "content": [{"text": "x"}, {"json": [1]}],
                    }
                },
                {"guardContent": {"text": {"text": "g", "qualifiers": []}}},
            ],
        },
    ],
    "messagesForm": "data",
    "inputs": ["go", [{"role": "user", "content": []}], [{"text": "b"}], []],
    "inputForm": "message",
    "script": [
        [{"text": "x"}],
        {
            "blocks": [],
            "stopReason": "maxTokens",
            "modelState": {"a": 1},
            "modelStateDelete": ["b"],
            "throwAfter": "t",
            "mutate": [{"op": "insert", "path": ["messages"], "index": 0, "value": 1}],
        },
    ],
    "tools": {
        "t": {
            "outputs": ["a", None],
            "description": "d",
            "inputSchema": {},
            "setInvocationState": {"a": 1},
            "mutateInput": [{"op": "delete", "path": ["input", "a"]}],
            "throw": "t",
        }
    },
    "middleware": [
        {"stage": "AgentStreamStage", "phase": "output", "ops": [{"op": "identity", "on": "result"}]},
        {"stage": "tool"},
    ],
    "hooks": [
        {"on": "afterTool", "ops": [{"op": "retry", "when": [0, 2]}]},
        {"on": "beforeTool", "ops": [{"op": "cancel", "message": "no", "when": 1}]},
    ],
    "invocationState": {"mine": 1},
    "options": {"note": 1},
    "modelState": {},
    "executor": "concurrent",
    "structuredOutput": True,
    "timeoutMs": 100,
}


def test_an_id_is_a_program() -> None:
    assert parse({"id": "a"}) == {"id": "a"}


def test_every_field_of_the_format_is_read() -> None:
    assert parse(FULL) == FULL


def test_a_program_survives_the_way_through_a_line_whatever_the_order_of_its_fields() -> None:
    assert parse_program(to_line(FULL), check) == FULL
    assert to_line(dict(reversed(FULL.items()))) == to_line(FULL)
    assert [*json.loads(to_line(FULL))] == [*FULL]


@pytest.mark.parametrize(
    "op",
    [
        {"op": "set", "path": ["messages", -1, "content"], "value": None, "when": 0},
        {"op": "append", "path": ["messages"], "value": {}, "on": "agent"},
        {"op": "insert", "path": ["messages"], "index": -1, "value": {}, "on": "result"},
        {"op": "delete", "path": ["messages", 0]},
        {"op": "with", "action": "set", "path": ["system"], "value": "x", "on": "result"},
        {"op": "with", "action": "insert", "path": ["messages"], "index": 0, "value": {}},
        {"op": "with", "action": "delete", "path": ["messages", 0]},
        {"op": "next", "ctx": "original", "catch": True, "events": "drop"},
        {"op": "shortCircuit", "blocks": [{"text": "x"}], "stopReason": "endTurn"},
        {"op": "shortCircuit", "status": "error", "content": [{"json": 1}]},
        {"op": "throw"},
        {"op": "stop"},
        {"op": "setModelState", "key": "a", "value": None},
        {"op": "deleteModelState", "key": "a"},
        {"op": "setModelStateViaContext", "key": "a", "value": 1},
        {"op": "setInvocationState", "key": "a", "value": 1},
        {"op": "observe", "path": ["messages"], "as": "x", "on": "agent"},
        {"op": "observeModelState", "as": "x"},
        {"op": "observeAgent"},
        {"op": "identity"},
    ],
)
def test_every_op_may_stand_in_a_wrap_handler(op: Json) -> None:
    assert parse({"id": "a", **wrapping(op)})


def test_what_has_ops_is_told_with_its_place_and_the_stages_have_short_names() -> None:
    found = [(path, place, len(ops)) for path, place, ops in handlers_of(FULL)]
    assert found == [
        ("$.middleware[0]", "output", 1),
        ("$.middleware[1]", "wrap", 0),
        ("$.hooks[0]", "afterTool", 1),
        ("$.hooks[1]", "beforeTool", 1),
    ]
    assert [(stage_of(handler), phase_of(handler)) for handler in FULL["middleware"]] == [
        ("stream", "output"),
        ("tool", "wrap"),
    ]


@pytest.mark.parametrize(
    ("program", "path", "reason"),
    [
        ({"x": 1}, "$", "has the unknown field x; the fields are id, system, messages"),
        ({"system": 4}, "$.system", "make it null or string or array"),
        ({"messages": [{"role": "system", "content": []}]}, "$.messages[0].role", "user, assistant"),
        ({"messages": [{"role": "user"}]}, "$.messages[0]", "has no field content; add it"),
        ({"messages": [{"role": "user", "content": [{}]}]}, "$.messages[0].content[0]", "name it"),
        (
            {"messages": [{"role": "user", "content": [{"text": "a", "cachePoint": {"type": "b"}}]}]},
            "$.messages[0].content[0]",
            "make it several blocks",
        ),
        ({"messages": [{"role": "user", "content": [{"json": 1}]}]}, "$.messages[0].content[0]", "json"),
        ({"input": [{"role": "user"}]}, "$.input[0]", "has no field content; add it"),
        ({"input": [{"text": 1}]}, "$.input[0].text", "make it string"),
        ({"script": [[{"toolResult": 1}]]}, "$.script[0][0]", "the fields are text, toolUse, reasoning"),
        ({"script": ["x"]}, "$.script[0]", "make it array or object"),
        ({"script": [{"mutate": [{"op": "next"}]}]}, "$.script[0].mutate[0]", "set, append, insert, delete"),
        ({"tools": {"a b": {}}}, "$.tools", "1 to 64 letters"),
        ({"invocationState": {"event_loop_x": 1}}, "$.invocationState", "the Python SDK keeps things"),
        ({"options": {"limits": {}}}, "$.options", "no option is invocationState"),
        ({"middleware": [{"stage": "run"}]}, "$.middleware[0].stage", "must be one of model, tool, stream"),
        ({"hooks": [{"on": "never"}]}, "$.hooks[0].on", "must be one of beforeInvocation"),
        (wrapping({"op": "nothing"}), "$.middleware[0].ops[0]", "an op is an object whose `op` is one of"),
        (wrapping("next"), "$.middleware[0].ops[0]", "an op is an object whose `op` is one of"),
        (wrapping({"op": "set", "path": ["a"]}), "$.middleware[0].ops[0]", "has no field value; add it"),
        (
            wrapping({"op": "delete", "path": ["a", 1.5]}),
            "$.middleware[0].ops[0].path[1]",
            "a text other than __proto__, or a whole number",
        ),
        (
            wrapping({"op": "with", "action": "insert", "path": ["a"], "value": 1}),
            "$.middleware[0].ops[0]",
            "has no field index; add it",
        ),
        (
            wrapping({"op": "with", "action": "append", "path": ["a"]}),
            "$.middleware[0].ops[0]",
            "has no field value; add it",
        ),
        (
            wrapping({"op": "setInvocationState", "key": "agent", "value": 1}),
            "$.middleware[0].ops[0].key",
            "the Python SDK keeps things",
        ),
        (wrapping({"op": "next", "when": -1}), "$.middleware[0].ops[0].when", "less than the minimum"),
        (wrapping({"op": "retry"}), "$.middleware[0].ops[0]", "it may stand in afterModel, afterTool"),
        (hooked("beforeTool", {"op": "next"}), "$.hooks[0].ops[0]", "next has no meaning in beforeTool"),
        (hooked("afterTool", {"op": "cancel"}), "$.hooks[0].ops[0]", "cancel has no meaning in afterTool"),
        (
            hooked("afterTool", {"op": "observe", "path": ["x"], "on": "result"}),
            "$.hooks[0].ops[0]",
            "there is no result in afterTool; drop `on`",
        ),
        (
            {
                "middleware": [
                    {"stage": "model", "phase": "input", "ops": [{"op": "identity", "on": "result"}]}
                ]
            },
            "$.middleware[0].ops[0]",
            "there is no result in input",
        ),
        (
            {
                "middleware": [
                    {
                        "stage": "model",
                        "phase": "output",
                        "ops": [{"op": "setInvocationState", "key": "a", "value": 1}],
                    }
                ]
            },
            "$.middleware[0].ops[0]",
            "setInvocationState has no meaning in output",
        ),
    ],
)
def test_what_is_no_program_is_refused_with_its_path_and_what_to_do(
    program: Json, path: str, reason: str
) -> None:
    where, why = refused(program)
    assert where == path
    assert reason in why


def test_a_program_without_an_id_is_refused() -> None:
    with pytest.raises(BadProgram, match="has no field id; add it"):
        parse({})


def test_what_has_no_trace_is_answered_with_the_reason_in_a_word_and_a_text() -> None:
    answer = FAMILY.refusal("a", "BadProgram", "no JSON")
    assert answer == {"id": "a", "impl": "agentcore", "driverError": "BadProgram: no JSON"}


def test_the_schema_is_a_valid_schema_with_no_reference_astray() -> None:
    text = (files("agentcore.frameworks.strands") / "program.schema.json").read_text("utf-8")
    schema = json.loads(text)
    jsonschema_rs.meta.validate(schema)
    used = {part.split('"')[0] for part in text.split("#/$defs/")[1:]}
    assert used == {*schema["$defs"]}
