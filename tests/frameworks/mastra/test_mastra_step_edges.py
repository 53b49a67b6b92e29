"""What a hook writes or returns that no step counts on, with what the real package makes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.commands import lines_of, run

RELEASES = ("mastra@1.71.0", "mastra@1.0.4")
NEW, OLD = RELEASES


def trace(profile: str, **named: Any) -> Any:
    program = {"id": "a", **named}
    return json.loads(run("trace", "--profile", profile, given=lines_of([program])).stdout)


def prepared(profile: str, *ops: dict[str, Any], **named: Any) -> Any:
    """The trace of a program whose prepareStep does these in its first step."""
    return trace(profile, prepareStep={"0": [*ops]}, **named)


def writes(on: str, name: str, value: Any) -> dict[str, Any]:
    return {"op": "set", "on": on, "at": [name], "value": value}


def call(call_id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": given}


# ---------------------------------------------------------------- the model of a step


@pytest.mark.parametrize("profile", RELEASES)
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({}, "model.provider.split is not a function"),
        (0, "model.provider.split is not a function"),
        (["x"], "model.provider.split is not a function"),
        (None, "Cannot read properties of null (reading 'split')"),
    ],
)
def test_no_model_is_called_whose_provider_is_no_text(profile: str, value: Any, told: str) -> None:
    traced = prepared(profile, writes("model", "provider", value))
    assert traced["events"] == ["prepareStep@0"]
    assert traced["error"]["message"] == (
        told if profile == NEW else "Exhausted all fallback models and reached the maximum number of retries."
    )


@pytest.mark.parametrize("profile", RELEASES)
@pytest.mark.parametrize(("value", "text"), [("v9", "v9"), ({}, "[object Object]"), (None, "null")])
def test_no_model_is_called_that_was_made_one_of_an_unknown_version(
    profile: str, value: Any, text: str
) -> None:
    wrote = writes("model", "specificationVersion", value)
    written = prepared(profile, wrote)
    returned = prepared(profile, wrote, {"op": "returnArgs", "fields": ["model"]})
    assert written["events"] == returned["events"] == ["prepareStep@0"]
    if profile == NEW:
        known = "Supported versions: v2, v3, v4"
        assert written["error"]["message"] == f"Unsupported model version: {text}. {known}"
        assert f"unsupported model version {text} in step 0" in returned["error"]["message"]


@pytest.mark.parametrize("profile", RELEASES)
@pytest.mark.parametrize("name", ["modelId", "supportedUrls", "x"])
def test_what_else_is_written_into_a_model_does_not_keep_it_from_being_called(
    profile: str, name: str
) -> None:
    values: tuple[Any, ...] = ({}, None, 7, "y")
    for value in values:
        assert prepared(profile, writes("model", name, value))["final"]["text"] == "ok"


@pytest.mark.parametrize("profile", RELEASES)
def test_the_tools_are_looked_at_before_the_provider_is(profile: str) -> None:
    active = {"op": "return", "activeTools": 5}
    traced = prepared(profile, writes("model", "provider", 5), active, tools={"save": {}})
    assert traced["model"] == []
    if profile == NEW:
        assert "provider" not in traced["error"]["message"]


def test_the_version_of_a_model_is_looked_at_before_a_time_limit_is() -> None:
    limits = {"op": "return", "modelSettings": {"timeout": 5}}
    traced = prepared(NEW, writes("model", "specificationVersion", "v9"), limits)
    assert traced["error"]["message"].startswith("Unsupported model version")


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ({"specificationVersion": "v9"}, "unsupported model version v9"),
        ({"specificationVersion": {}}, "unsupported model version [object Object]"),
        ({"a": 1}, "Invalid model configuration provided"),
        ([], "Invalid model configuration provided"),
        (5, "Invalid model configuration provided"),
    ],
)
def test_json_that_stands_for_no_model_is_refused(model: Any, told: str) -> None:
    traced = prepared(NEW, {"op": "returnValue", "value": {"model": model}})
    assert traced["events"] == ["prepareStep@0"]
    assert told in traced["error"]["message"]


@pytest.mark.parametrize("profile", RELEASES)
@pytest.mark.parametrize(
    "model",
    [{"specificationVersion": "v2"}, {"id": "openai/x"}, {"providerId": "openai", "modelId": "x"}],
    ids=["version", "id", "provider"],
)
def test_json_that_stands_for_a_model_is_told_as_not_emulated(profile: str, model: dict[str, Any]) -> None:
    traced = prepared(profile, {"op": "returnValue", "value": {"model": model}})
    assert "a model given as an object of JSON" in traced["unsupported"]


@pytest.mark.parametrize("profile", RELEASES)
def test_what_is_not_emulated_of_a_step_is_told_by_its_name(profile: str) -> None:
    output = {"op": "return", "structuredOutput": {"schema": {"type": "object"}}}
    assert "structuredOutput with a schema" in prepared(profile, output)["unsupported"]
    routed = {"op": "return", "model": {"router": "nobody/gpt"}}
    assert "the provider nobody" in prepared(profile, routed)["unsupported"]
    for free in ({}, "y", None, {"jsonPromptInjection": "auto"}):
        traced = prepared(profile, {"op": "return", "structuredOutput": free})
        assert traced["final"]["text"] == "ok"


@pytest.mark.parametrize("name", ["nobody", "openai/", "/gpt", "/"])
def test_the_name_of_a_model_has_a_provider_and_a_model(name: str) -> None:
    traced = prepared(NEW, {"op": "return", "model": {"router": name}})
    assert traced["error"]["message"].startswith(f"Attempted to parse provider/model from {name} but")
    assert len(traced["list"]) == 1


@pytest.mark.parametrize("profile", RELEASES)
def test_an_error_of_types_does_not_have_a_model_called_again(profile: str) -> None:
    traced = prepared(profile, {"op": "return", "modelSettings": {"tools": 5, "maxRetries": 2}})
    assert traced["events"] == ["prepareStep@0", "model:base"]


# ---------------------------------------------------------------- what a hook is given


@pytest.mark.parametrize("profile", RELEASES)
def test_only_a_release_that_has_them_shows_the_next_hook_the_id_of_a_message(profile: str) -> None:
    looks = {"op": "observe", "on": "messageId", "as": "id"}
    first = {"id": "p", "steps": {"0": [{"op": "return", "messageId": "y"}]}}
    traced = trace(profile, processors=[first], prepareStep={"0": [looks]})
    assert ("opErrors" in traced) == (profile == OLD)


@pytest.mark.parametrize("profile", RELEASES)
@pytest.mark.parametrize(("tools", "shown"), [(0, 0), ("", ""), (None, None), (True, []), ({}, [])])
def test_tools_that_are_none_are_shown_as_they_are(profile: str, tools: Any, shown: Any) -> None:
    first = {"id": "p", "steps": {"0": [{"op": "returnValue", "value": {"tools": tools}}]}}
    traced = trace(profile, processors=[first], prepareStep={})
    assert traced["received"][1]["got"]["tools"] == shown


@pytest.mark.parametrize("profile", RELEASES)
def test_a_model_without_a_name_is_shown_without_one(profile: str) -> None:
    first = {"id": "p", "steps": {"0": [{"op": "delete", "on": "model", "at": ["modelId"]}]}}
    assert "model" not in trace(profile, processors=[first], prepareStep={})["received"][1]["got"]


# ---------------------------------------------------------------- before the first step


@pytest.mark.parametrize("profile", RELEASES)
@pytest.mark.parametrize(
    "op", [{"op": "stash", "name": "s"}, {"op": "abort"}, {"op": "throw", "message": "y"}]
)
def test_processors_see_the_input_though_the_tools_cannot_be_named(profile: str, op: dict[str, Any]) -> None:
    tools: dict[str, Any] = {"é": {}, "_": {}}
    traced = trace(profile, tools=tools, processors=[{"id": "p", "input": [op]}])
    assert traced["events"] == ["p@input"]
    assert traced["error"]["cause"]["code"] == "AGENT_TOOL_NAME_COLLISION"


@pytest.mark.parametrize(
    ("op", "told"),
    [
        ({"op": "stash", "name": "s"}, "modelSettings.timeout"),
        ({"op": "throw", "message": "y"}, "Input processor error"),
        ({"op": "set", "at": [0, "role"], "value": "zz"}, "Unsupported role: zz"),
    ],
    ids=["timeout", "processor", "role"],
)
def test_a_time_limit_is_looked_at_once_the_messages_are_ready(op: dict[str, Any], told: str) -> None:
    traced = trace(NEW, modelSettings={"timeout": []}, processors=[{"id": "p", "input": [op]}])
    assert traced["events"] == ["p@input"]
    assert told in traced["error"]["message"]


@pytest.mark.parametrize("timeout", [None, {"stepMs": 60_000}])
def test_the_time_limits_of_a_step_are_a_copy_of_those_of_the_call(timeout: Any) -> None:
    limits = {"stepMs": 90_000, "x": 1}
    looks = {"op": "observe", "on": "modelSettings", "as": "settings"}
    wrote = {"op": "set", "on": "modelSettings", "at": ["timeout", "x"], "value": 5}
    returns = {"op": "return", "modelSettings": {"timeout": timeout}}
    first = {"id": "p", "steps": {"0": [wrote]}}
    traced = trace(
        NEW, modelSettings={"timeout": limits}, processors=[first], prepareStep={"0": [looks, returns]}
    )
    assert traced["observations"][0]["value"] == {"timeout": {**limits, "x": 5}, "maxRetries": 0}
    assert traced["callerChanged"] == {}
    assert traced["final"]["text"] == "ok"


@pytest.mark.parametrize("op", [{"op": "delete"}, {"op": "set", "value": None}])
def test_a_model_is_called_two_times_more_where_a_hook_took_the_number_away(op: dict[str, Any]) -> None:
    for profile in RELEASES:
        taken = {**op, "on": "modelSettings", "at": ["maxRetries"]}
        traced = prepared(profile, taken, script=[[{"type": "throw", "message": "y"}]] * 3)
        assert traced["events"][:4] == ["prepareStep@0", *["model:base"] * 3]


def test_what_a_hook_wrote_into_the_settings_stands_in_for_what_it_did_not_return() -> None:
    wrote = {"op": "set", "on": "modelSettings", "at": ["maxRetries"], "value": 1}
    throws = [[{"type": "throw", "message": "y"}]] * 3
    traced = prepared(NEW, wrote, {"op": "return", "modelSettings": {}}, script=throws)
    assert traced["events"] == ["prepareStep@0", *["model:base"] * 2]


@pytest.mark.parametrize("place", ["call", "ctor"])
def test_a_message_made_one_of_the_system_stays_where_input_is_run_directly(place: str) -> None:
    makes = {"op": "set", "at": [0, "role"], "value": "system"}
    for last in ({"op": "returnMessages"}, {"op": "return", "systemMessages": []}):
        returns = {**last, "messages": {"from": "list", "pipe": [{"spread": True}]}}
        hooks = [{"id": each, "where": place, "input": [op]} for each, op in (("p", makes), ("q", returns))]
        for profile in RELEASES:
            shown = trace(profile, processors=hooks, prepareStep={})["received"][2]["got"]["messages"]
            assert len(shown) == (profile == OLD and place == "call")


# ---------------------------------------------------------------- the steps so far

STEPS = {
    "tools": {"save": {"output": 1}},
    "script": [
        [
            {"type": "text", "text": "y"},
            {"type": "tool-call", "toolCallId": "c", "toolName": "save", "input": {}},
        ],
        [{"type": "throw", "message": "z"}],
    ],
}


@pytest.mark.parametrize("profile", RELEASES)
def test_a_step_that_is_said_to_be_rejected_has_no_text(profile: str) -> None:
    rejects = {"op": "set", "on": "steps", "at": [0, "tripwire"], "value": "y"}
    first = {"id": "p", "steps": {"1": [rejects]}}
    traced = trace(profile, processors=[first], prepareStep={}, **STEPS)
    texts = [got["got"]["stepTexts"] for got in traced["received"] if got["step"] == 1]
    assert texts[-1] == [""]
    assert texts[0] == ["y" if profile == NEW else ""]


@pytest.mark.parametrize("value", ["y", None, 0, {"x": 1}])
def test_the_last_step_is_read_anew_by_its_own_fields_before_each_model(value: Any) -> None:
    looks = {"op": "observe", "on": "steps", "at": [0], "as": "step"}
    for at in ([0, "x"], [0]):
        wrote = {"op": "set", "on": "steps", "at": at, "value": value}
        traced = trace(NEW, prepareStep={"1": [looks, wrote]}, fallbackModels=["z"], **STEPS)
        last = traced["observations"][-1]["value"]
        if at == [0] and not value:
            assert last == value
        else:
            assert set(last) - {"content"} <= {"usage", "warnings", "request", "response"}
            assert last["content"][0]["text"] == "y"


# ---------------------------------------------------------------- tools


@pytest.mark.parametrize("profile", RELEASES)
@pytest.mark.parametrize(
    ("resume", "late"), [(1, RELEASES), (0, (NEW,)), (None, ())], ids=["true", "false", "null"]
)
def test_a_call_that_resumes_another_runs_after_those_that_do_not(
    profile: str, resume: Any, late: tuple[str, ...]
) -> None:
    answer = [call("1", "look", resumeData=resume), call("2", "save")]
    traced = trace(profile, tools={"look": {}, "save": {}}, script=[answer])
    assert traced["events"][1:] == (
        ["tool:save", "tool:look"] if profile in late else ["tool:look", "tool:save"]
    )


def test_a_stream_of_the_new_release_runs_a_call_that_resumes_another_as_it_comes() -> None:
    answer = [call("1", "look", resumeData=1), call("2", "save")]
    for profile, first in zip(RELEASES, ("look", "save"), strict=True):
        traced = trace(profile, path="stream", tools={"look": {}, "save": {}}, script=[answer])
        assert traced["tools"][0]["name"] == first


@pytest.mark.parametrize(
    ("name", "given", "stops"),
    [
        ("workflow-x", {}, False),
        ("agent-x", {}, False),
        ("look", {"_background": 0}, False),
        ("look", {}, True),
    ],
)
def test_a_stream_runs_no_call_as_it_comes_that_may_wait(
    name: str, given: dict[str, Any], *, stops: bool
) -> None:
    stop = {"op": "set", "on": "tools", "at": [name, "hasSuspendSchema"], "value": stops}
    answer = [call("1", name, **given), call("2", "save")]
    tools: dict[str, Any] = {name: {}, "save": {}}
    traced = prepared(NEW, stop, path="stream", tools=tools, script=[answer])
    assert [ran["name"] for ran in traced["tools"]] == ["save", name]
    traced = prepared(NEW, stop, tools=tools, script=[answer])
    assert [ran["name"] for ran in traced["tools"]] == [name, "save"]


def test_calls_of_an_id_that_came_before_wait_as_long_as_those_that_resume_one() -> None:
    tools: dict[str, Any] = {name: {} for name in "abcd"}
    answer = [call("1", "a"), call("1", "b", x=1), call("2", "c", resumeData=1), call("3", "d")]
    traced = trace(NEW, tools=tools, script=[answer])
    # The first call has no arguments, and takes those of the second.
    assert "".join(ran["name"] for ran in traced["tools"]) == "adbc"
    both = [call("1", "a", x=1), call("1", "b", resumeData=1), call("2", "c", resumeData=1)]
    traced = trace(NEW, tools=tools, script=[both])
    assert "".join(ran["name"] for ran in traced["tools"]) == "acb"


@pytest.mark.parametrize("path", ["generate", "stream"])
def test_a_tool_that_may_stop_a_run_has_all_calls_run_in_turn(path: str) -> None:
    stops = {"op": "set", "on": "tools", "at": ["save", "hasSuspendSchema"], "value": True}
    answer = [call("1", "look", resumeData=1), call("2", "save")]
    for profile, first in zip(RELEASES, ("look", "save"), strict=True):
        traced = prepared(profile, stops, path=path, tools={"look": {}, "save": {}}, script=[answer])
        assert traced["tools"][0]["name"] == first


def test_the_new_release_keeps_arguments_back_that_are_for_itself() -> None:
    given = {"resumeData": None, "suspendedToolCallId": 1, "suspendedToolRunId": 2, "a": 3}
    for background in ({"b": 4}, 0):
        answer = [call("1", "look", **given, _background=background)]
        new, old = (
            trace(each, tools={"look": {}}, script=[answer])["tools"][0]["input"] for each in RELEASES
        )
        assert new == {"a": 3, **({} if background else {"_background": 0})}
        assert old == {name: value for name, value in answer[0]["input"].items() if name != "resumeData"}


def test_a_prompt_for_an_agent_as_a_tool_is_told_as_not_emulated() -> None:
    traced = trace(NEW, tools={"agent-x": {}}, script=[[call("1", "agent-x", prompt="y")]])
    assert "a prompt for the tool agent-x" in traced["unsupported"]


def test_a_blank_error_of_a_tool_is_told_by_another_text_to_the_next_model() -> None:
    ops = [{"op": "set", "at": [0, "createdAt"], "value": "y"}]
    traced = trace(
        NEW,
        path="stream",
        tools={"save": {"error": ""}},
        script=[[call("1", "save")]],
        prepareStep={"0": ops},
        fallbackModels=["z"],
    )
    (part,) = traced["received"][1]["got"]["messages"][1]["content"]["parts"]
    assert part["toolInvocation"]["errorText"] == "Tool execution failed"


@pytest.mark.parametrize(
    ("field", "value"),
    [("strict", True), ("title", "y"), ("toModelOutput", 1), ("needsApprovalFn", 1), ("parameters", {})],
)
@pytest.mark.parametrize("profile", RELEASES)
def test_a_field_of_a_tool_that_no_scripted_tool_has_is_told_as_not_emulated(
    profile: str, field: str, value: Any
) -> None:
    wrote = {"op": "set", "on": "tools", "at": ["save", field], "value": value}
    assert "in tools.save" in prepared(profile, wrote, tools={"save": {}})["unsupported"]


@pytest.mark.parametrize("profile", RELEASES)
def test_what_is_no_object_among_tools_is_not_offered(profile: str) -> None:
    tools = {"a": 5, "b": {"description": "y"}, "c": "", "d": False}
    traced = prepared(profile, {"op": "returnValue", "value": {"tools": tools}})
    assert traced["model"][0]["tools"] == ["b"]
    nothing = prepared(profile, {"op": "returnValue", "value": {"tools": {"a": None}}})
    assert "a tool that is no object" in nothing["unsupported"]


def test_a_tool_whose_function_is_none_ends_a_run_of_the_old_release_alone() -> None:
    wrote = {"op": "set", "on": "tools", "at": ["save", "execute"], "value": 5}
    for profile, receiver in zip(RELEASES, ("tool", "tool2"), strict=True):
        traced = prepared(profile, wrote, tools={"save": {}}, script=[[call("1", "save")]])
        assert ("prepareStep@1" in traced["events"]) == (profile == NEW)
        assert f"{receiver}.execute is not a function" in json.dumps(traced["list"])


# ---------------------------------------------------------------- models of Google's

ANSWERED = ["x", {"role": "assistant", "content": "y"}]


@pytest.mark.parametrize(
    ("provider", "name", "asked"),
    [
        ("google", "x", True),
        ("Google.generative-ai", "gemini-3-pro", True),
        ("vertex-x", "gemini-2.5", False),
        ("google", 7, True),
        ("scripted", "google/x", True),
        ("googles", "x", False),
        ("anthropic", "google/x", False),
    ],
)
def test_only_google_has_a_conversation_end_with_the_user(provider: str, name: Any, asked: bool) -> None:
    wrote = (writes("model", "provider", provider), writes("model", "modelId", name))
    new, old = (prepared(profile, *wrote, messages=ANSWERED) for profile in RELEASES)
    added = [{"role": "user", "content": [{"type": "text", "text": "Continue."}]}]
    told = json.loads(json.dumps(new["model"][0]["prompt"]))
    for part in [part for message in told for part in message["content"]]:
        part.pop("providerOptions", None)
    assert told[2:] == (added if asked else [])
    assert ("Continue." in json.dumps(new["list"])) == asked
    assert len(old["model"][0]["prompt"]) == 2


@pytest.mark.parametrize(
    ("parts", "asked"),
    [
        ([{"type": "text", "text": "y"}, {"type": "step-start"}], True),
        ([{"state": "call"}], False),
        ([{"type": "text", "text": "y"}, {"state": "call"}], True),
        ([{"type": "text", "text": "y"}, {"state": "result", "result": 1}], False),
    ],
    ids=["text", "call", "text and call", "result"],
)
def test_a_call_alone_and_what_a_tool_answered_are_no_answer_at_the_end(
    parts: list[dict[str, Any]], asked: bool
) -> None:
    called = {"toolCallId": "c", "toolName": "t", "args": {}}
    made = [
        part if "type" in part else {"type": "tool-invocation", "toolInvocation": {**called, **part}}
        for part in parts
    ]
    message = {"id": "q", "role": "assistant", "content": {"format": 2, "parts": made}}
    traced = prepared(NEW, writes("model", "provider", "google"), messages=["x", message])
    assert ("Continue." in json.dumps(traced["model"])) == asked


def test_a_model_of_google_is_looked_at_without_any_hook_too() -> None:
    throws = [[{"type": "throw", "message": "y"}], [{"type": "text", "text": "z"}]]
    traced = trace(NEW, messages=ANSWERED, script=throws, fallbackModels=["google/x"])
    assert [len(asked["prompt"]) for asked in traced["model"]] == [2, 3]


def test_how_a_model_of_another_provider_samples_is_told_as_not_emulated() -> None:
    settings = {"op": "return", "modelSettings": {"topP": 1}}
    wrote = writes("model", "provider", "openai")
    assert "the setting topP" in prepared(NEW, wrote, settings)["unsupported"]
    assert prepared(OLD, wrote, settings)["model"][0]["settings"] == {"topP": 1}
    assert prepared(NEW, settings)["model"][0]["settings"] == {"topP": 1}
