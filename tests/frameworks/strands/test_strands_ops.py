"""Ops on live objects: which edits can be made where, and what is observed."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.frameworks.strands.ops import compact
from frameworks.strands.strands_scene import (
    BEFORE,
    EVERY,
    LOOK,
    NEXT,
    NOW,
    PYTHON,
    Json,
    add,
    by_profile,
    copied,
    hook,
    on_input,
    on_output,
    op,
    put,
    says,
    texts,
    traced,
    uses,
    wrap,
)

REASONED: Final = {"reasoning": {"text": "hm", "signature": "s"}}
RESULT: Final = {"toolUseId": "u1", "status": "success", "content": [{"json": {"a": 1}}]}
HISTORY: Final[list[Json]] = [
    {
        "role": "user",
        "content": [{"text": "a"}, {"cachePoint": {"type": "x"}}],
        "metadata": {"custom": {"n": [1]}},
    },
    {"role": "assistant", "content": [REASONED, uses(q=[1, {"a": None}])]},
    {"role": "user", "content": [{"toolResult": RESULT}]},
]
SYSTEM: Final = [{"text": "be good"}, {"guardContent": {"text": {"text": "x", "qualifiers": ["q"]}}}]


def edited(profile: str, *ops: Json, stage: str = "model") -> Json:
    return traced(
        profile,
        messages=HISTORY,
        system=SYSTEM,
        tools=LOOK,
        invocationState={"mine": {"a": 1}},
        middleware=[on_input(stage, *ops)],
    )


@EVERY
@pytest.mark.parametrize(
    "edit",
    [
        put("messages", 99, "role", value="user"),
        put("messages", 0, "role", value="system"),
        put("messages", 0, "content", value="text"),
        put("messages", 0, "content", 0, "text", value=1),
        put("messages", 0, "content", 0, "text", 0, value="x"),
        put("messages", 0, "content", 0, "json", value="x"),
        put("messages", 0, "content", 0, value={"text": "x", "more": 1}),
        put("messages", 0, "content", 0, value={}),
        put("messages", 0, "content", 0, value={"image": 1}),
        put("messages", 0, value={"role": "user"}),
        put("messages", 0, value={"role": "user", "content": [], "more": 1}),
        put("messages", 1, "content", 1, "toolUse", value={"name": "x", "toolUseId": "y", "input": 1}),
        put("messages", 2, "content", 0, "toolResult", "status", value="fine"),
        put("messages", "0", "role", value="user"),
        put("messages", 0, "metadata", value=[]),
        put("nothing", value=1),
        put("system", value=7),
        put("system", 0, value=uses()),
        put("toolSpecs", 0, value={"name": "x", "description": "y"}),
        put("toolChoice", value="any"),
        put("invocationState", value=[]),
        put("invocationState", "mine", 0, value=1),
        add("messages", 0, "role", value="x"),
        add("messages", 0, value="x"),
        add("messages", value=says("no message")[0]),
        add("system", 0, "text", value="x"),
        op("insert", path=["messages"], index=9, value={"role": "user", "content": []}),
        op("insert", path=["messages"], index=-9, value={"role": "user", "content": []}),
        op("delete", path=["messages"]),
        op("delete", path=["messages", 0, "role"]),
        op("delete", path=["messages", 9]),
        op("delete", path=["messages", 1, "metadata"]),
        op("delete", path=["messages", 0, "metadata", "absent"]),
        op("delete", path=["invocationState", "absent"]),
        copied("messages", 9, "role", value="user"),
    ],
    ids=lambda edit: compact([edit["op"], *edit["path"]]),
)
def test_an_edit_that_cannot_be_made_is_noted_and_raised(profile: str, edit: Json) -> None:
    trace = edited(profile, edit)
    name = edit["op"]
    assert trace["pathErrors"] == [{"by": "mw0:model.input", "op": name, "path": edit["path"]}]
    message = f"cannot {name} at {compact(edit['path'])}"
    assert trace["results"][0]["error"] == {"type": "PathError", "message": message}


@EVERY
@pytest.mark.parametrize(
    ("edit", "shown"),
    [
        (put("messages", 0, "metadata", "custom", "n", 0, value=2), {"n": [2]}),
        (put("messages", 0, "metadata", "custom", "made", "on", "way", value=2), None),
        (op("delete", path=["messages", 0, "metadata", "custom", "n"]), {}),
        (add("messages", 0, "metadata", "custom", "n", value=2), {"n": [1, 2]}),
        (op("insert", path=["messages", 0, "metadata", "custom", "n"], index=0, value=2), {"n": [2, 1]}),
        (op("insert", path=["messages", 0, "metadata", "custom", "n"], index=-1, value=2), {"n": [2, 1]}),
        (op("delete", path=["messages", 0, "metadata", "custom", "n", -1]), {"n": []}),
    ],
)
def test_json_inside_can_be_edited_freely(profile: str, edit: Json, shown: Any) -> None:
    trace = edited(profile, edit, op("observe", path=["messages", 0, "metadata", "custom"]))
    expected = {"n": [1], "made": {"on": {"way": 2}}} if shown is None else shown
    assert trace["observations"][0]["value"] == expected


@EVERY
def test_an_optional_field_can_be_taken_out_and_put_in(profile: str) -> None:
    signature = ["messages", 1, "content", 0, "reasoning", "signature"]
    trace = edited(
        profile,
        op("delete", path=signature),
        op("observe", path=["messages", 1, "content", 0]),
        put(*signature, value="new"),
        op("delete", path=["messages", 0, "metadata"]),
        op("observe", path=["messages", 0]),
    )
    assert [seen["value"] for seen in trace["observations"]] == [
        {"reasoning": {"text": "hm"}},
        {"role": "user", "content": HISTORY[0]["content"]},
    ]
    assert trace["calls"][0]["messages"][1]["content"][0] == {"reasoning": {"text": "hm", "signature": "new"}}


@EVERY
def test_objects_made_on_the_way_of_an_edit_that_fails_stay(profile: str) -> None:
    trace = traced(
        profile,
        invocationState={"mine": None},
        middleware=[wrap("model", put("invocationState", "new", "list", 0, value=1))],
    )
    assert trace["invocationState"] == {"mine": None, "new": {"list": {}}}
    assert trace["pathErrors"][0]["path"] == ["invocationState", "new", "list", 0]


@EVERY
def test_null_is_something_and_not_missing(profile: str) -> None:
    trace = traced(
        profile,
        invocationState={"mine": None},
        hooks=[hook("beforeModel", put("invocationState", "mine", "a", value=1))],
    )
    assert trace["pathErrors"][0]["path"] == ["invocationState", "mine", "a"]


@EVERY
def test_a_whole_field_of_the_context_can_be_replaced(profile: str) -> None:
    trace = edited(
        profile,
        put("messages", value=[{"role": "user", "content": says("other")}]),
        put("system", value="other"),
        put("toolSpecs", value=[]),
        put("toolChoice", "tool", "name", value="look"),
    )
    call = trace["calls"][0]
    assert texts(call["messages"]) == ["other"]
    assert call["system"] == "other"
    assert call["toolSpecs"] == []
    assert call["toolChoice"] == {"tool": {"name": "look"}}
    assert trace["system"] == SYSTEM


@EVERY
def test_a_system_prompt_can_be_taken_away(profile: str) -> None:
    trace = edited(profile, put("system", value=None), op("observe", path=["system"]), op("identity"))
    assert trace["calls"][0]["system"] is None
    assert trace["observations"][0]["value"] is None
    assert trace["identity"][0]["fields"]["system"] == {"mode": "absent"}


@EVERY
def test_of_events_only_a_tools_use_and_result_can_be_replaced(profile: str) -> None:
    edits = [
        ("beforeModel", put("invocationState", value={})),
        ("afterModel", put("message", value={"role": "user", "content": []})),
        ("afterModel", put("stopReason", value="endTurn")),
        ("afterTool", put("toolUse", value={"name": "x", "toolUseId": "y", "input": 1})),
        ("beforeModel", put("messages", value=[], on="agent")),
    ]
    for on, edit in edits:
        trace = traced(profile, script=[[uses()]], tools=LOOK, hooks=[hook(on, edit)])
        assert [error["path"] for error in trace["pathErrors"]][:1] == [edit["path"]]


@EVERY
def test_what_a_tool_or_a_provider_is_given_cannot_be_replaced_whole(profile: str) -> None:
    tools = {"look": {"output": "seen", "mutateInput": [put("input", value=1)]}}
    trace = traced(profile, script=[[uses()], {"mutate": [put("messages", value=[])]}], tools=tools)
    assert [(error["by"], error["path"]) for error in trace["pathErrors"]] == [
        ("tool:look", ["input"]),
        ("model#1", ["messages"]),
    ]


@EVERY
def test_a_result_can_be_edited_only_once_there_is_one(profile: str) -> None:
    early = wrap("model", op("observe", path=["stopReason"], on="result"))
    trace = traced(profile, middleware=[early])
    assert trace["pathErrors"] == [{"by": "mw0:model.wrap", "op": "observe", "path": ["stopReason"]}]
    late = wrap("model", NEXT, put("stopReason", value="stopSequence", on="result"))
    assert traced(profile, middleware=[late])["results"][0]["stopReason"] == "stopSequence"


@EVERY
def test_the_fields_of_results_can_be_replaced(profile: str) -> None:
    message = {"role": "assistant", "content": says("other")}
    result = {"toolUseId": "u1", "status": "error", "content": says("failed")}
    trace = traced(
        profile,
        script=[[uses()], says("end")],
        tools=LOOK,
        middleware=[
            on_output("tool", put("toolResult", value=result)),
            on_output("stream", put("lastMessage", value=message), copied("stopReason", value="other")),
        ],
    )
    assert trace["agentMessages"][2]["content"] == [{"toolResult": result}]
    assert trace["results"][0]["lastMessage"] == message
    assert trace["results"][0]["stopReason"] == "other"


@EVERY
def test_whose_objects_a_result_holds_can_be_asked(profile: str) -> None:
    handlers = [wrap("model", NEXT, op("identity", on="result")), on_output("stream", op("identity"))]
    trace = traced(profile, middleware=handlers)
    assert trace["identity"] == [
        {"by": "mw0:model.wrap", "fields": {"message": {"mode": "deep"}, "stopReason": {"mode": "value"}}},
        {
            "by": "mw1:stream.output",
            "fields": {"lastMessage": {"mode": "share"}, "stopReason": {"mode": "value"}},
        },
    ]


@EVERY
def test_an_observation_says_what_is_there_in_the_form_of_programs(profile: str) -> None:
    paths = [
        ["messages"],
        ["messages", 0],
        ["system", -1],
        ["invocationState"],
        ["messages", 9],
        ["toolChoice"],
    ]
    trace = edited(
        profile, *(op("observe", path=path) for path in paths), op("observeAgent", **{"as": "all"})
    )
    go = {"role": "user", "content": says("go")}
    seen = [entry["value"] for entry in trace["observations"]]
    assert seen == [[*HISTORY, go], HISTORY[0], SYSTEM[-1], {"mine": {"a": 1}}, None, None, [*HISTORY, go]]
    assert trace["observations"][-1]["what"] == "all"
    assert trace["observations"][1]["what"] == '["messages",0]'


@EVERY
def test_who_holds_a_tool_choice_is_not_known(profile: str) -> None:
    trace = edited(profile, put("toolChoice", "tool", value={"name": "look"}), op("identity"))
    assert trace["identity"][0]["fields"]["toolChoice"] == {"mode": "unknown"}


def test_measures_alone_are_no_metadata() -> None:
    handler = on_output("model", put("message", "metadata", value={"usage": {"n": 1}}))
    look = hook("afterModel", op("observe", path=["message"]), op("observe", path=["message", "metadata"]))
    seen = by_profile(
        lambda trace: [entry["value"] for entry in trace["observations"]], middleware=[handler], hooks=[look]
    )
    message = {"role": "assistant", "content": says("(end)")}
    assert seen == ([message, None], [message, None], [message, {}])


@pytest.mark.parametrize("profile", [BEFORE, NOW])
def test_the_state_of_the_stream_stage_is_in_its_options(profile: str) -> None:
    handler = wrap(
        "stream",
        op("identity"),
        op("setInvocationState", key="a", value=1),
        op("observe", path=["options", "invocationState"]),
        op("observe", path=["invocationState", "a"]),
        put("options", value={}),
        op("identity"),
        op("shortCircuit"),
    )
    trace = traced(profile, middleware=[handler])
    assert [entry["value"] for entry in trace["observations"]] == [{"a": 1}, 1]
    assert trace["identity"][0]["keys"] == ["agent", "args", "options", "interrupt"]
    assert trace["identity"][1]["fields"]["invocationState"] == {"mode": "absent"}
    assert trace["results"][0]["invocationState"] == {}


def test_contexts_have_the_fields_of_their_version_in_their_order() -> None:
    handlers = [wrap(stage, op("identity")) for stage in ("model", "tool")]
    keys = by_profile(
        lambda trace: [record["keys"] for record in trace["identity"][:2]],
        script=[[uses()]],
        tools=LOOK,
        system="x",
        middleware=handlers,
    )
    before, now, python = keys
    assert before == [
        ["agent", "messages", "systemPrompt", "toolSpecs", "modelState", "invocationState"],
        ["agent", "tool", "toolUse", "invocationState", "interrupt"],
    ]
    assert now[0][:4] == ["agent", "model", "messages", "systemPrompt"]
    assert now[0][-1] == "projectedInputTokens"
    assert python[1] == ["agent", "tool", "tool_use", "invocation_state", "cancel_signal"]


def test_the_message_whose_tools_run_is_the_agents_though_it_is_in_no_history_yet() -> None:
    handler = wrap("tool", op("identity"))
    shown = by_profile(
        lambda trace: trace["identity"][0]["fields"]["toolUse"],
        script=[[uses(q={"a": 1})]],
        tools=LOOK,
        middleware=[handler],
    )
    live = {"mode": "shallow", "paths": [["toolUse", "input"]]}
    assert shown == (live, {"mode": "deep"}, live)


@pytest.mark.parametrize(
    "edit", [put("invocationState", value=7), put("options", value={"invocationState": 7})]
)
def test_the_state_in_the_options_is_an_object(edit: Json) -> None:
    for profile in (BEFORE, NOW):
        assert traced(profile, middleware=[wrap("stream", edit)])["pathErrors"][0]["path"] == edit["path"]
    kept = traced(NOW, options={"a": [1]}, middleware=[wrap("stream", put("options", "a", 0, value=2))])
    assert kept["caller"]["options"] == {"a": [2]}


@EVERY
def test_arguments_may_be_replaced_by_what_else_they_may_be(profile: str) -> None:
    value: Any = [{"role": "user", "content": says("other")}]
    trace = traced(profile, middleware=[wrap("stream", put("args", value=value))])
    assert texts(trace["agentMessages"]) == ["other", "(end)"]


def test_arguments_may_be_a_text_or_blocks_in_typescript_only() -> None:
    for value in ("other", says("other")):
        asked = by_profile(
            lambda trace: texts(trace["agentMessages"]), middleware=[wrap("stream", put("args", value=value))]
        )
        assert asked == (["other", "(end)"], ["other", "(end)"], [])
    nothing = by_profile(
        lambda trace: texts(trace["agentMessages"]), middleware=[wrap("stream", put("args", value=[]))]
    )
    assert nothing == (["(end)"],) * 3


@EVERY
def test_a_run_that_asks_the_model_too_often_has_no_trace(profile: str) -> None:
    trace = traced(profile, script=[[uses()]] * 30, tools=LOOK)
    assert trace["driverError"] == "TooLong: more than 25 model calls"
    assert "results" not in trace


@EVERY
def test_a_run_that_goes_round_and_round_has_no_trace(profile: str) -> None:
    again = hook("afterModel", op("retry", when=list(range(1000))))
    trace = traced(profile, hooks=[again], middleware=[wrap("model", op("shortCircuit"))])
    assert trace["driverError"] == "TooLong: more than 400 entries of the log"


def test_hooks_of_what_is_streamed_are_none_of_pythons() -> None:
    hooks = [hook("beforeModel"), hook("contentBlock"), hook("modelDelta")]
    assert traced(PYTHON, hooks=hooks) == {
        "id": "test",
        "unsupported": "there is no hook contentBlock in Python",
    }


def test_json_is_written_as_both_languages_write_it() -> None:
    assert compact(["a\u2028", 1, True, None, {"b": [1.5]}]) == '["a\u2028",1,true,null,{"b":[1.5]}]'
    assert compact("\ud800") == '"\\ud800"'
