"""Programs on which random programs once found an emulation wrong, with what the real package does."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcore.kit.families import family_of
from cli.commands import lines_of, run


def trace(profile: str, program: dict[str, Any]) -> Any:
    return json.loads(run("trace", "--profile", profile, given=lines_of([program])).stdout)


def test_no_approvals_are_looked_for_in_a_system_message() -> None:
    write = {"set": ["$caller", 0, "content"], "to": [None]}
    system = {"role": "system", "content": "y"}
    program = {
        "id": "a",
        "path": "stream",
        "messages": [system],
        "script": [],
        "hooks": {"prepareStep": [[write]]},
    }
    traced = trace("ai-sdk-6/stream", program)
    assert traced["error"] is None
    assert traced["steps"][0]["prompt"] == [{"role": "system", "content": [None]}]


def test_a_system_message_without_content_is_not_iterable() -> None:
    adds = {"op": "list", "call": "addSystem", "args": [{"role": "system"}]}
    traced = trace("mastra@1.0.4", {"id": "a", "callSystem": "y", "prepareStep": {"0": [adds]}})
    assert traced["received"][0]["threw"] == "content is not iterable"


def test_a_call_that_has_to_wait_for_others_takes_its_time_from_then_on() -> None:
    calls = [("c1", "look"), ("c2", "look"), ("c3", "save")]
    program = {
        "id": "a",
        "path": "stream",
        "messages": [{"role": "user", "content": "y"}],
        "options": {"toolCallConcurrency": 2},
        "tools": {"look": {"output": {}, "takes": 3}, "save": {"output": {}, "takes": 1}},
        "script": [
            [
                {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": {}}
                for call_id, name in calls
            ]
        ],
    }
    traced = trace("ai-sdk-7/stream", program)
    content = traced["steps"][0]["onStepFinish"]["content"]
    assert [part["toolCallId"] for part in content if part["type"] == "tool-result"] == ["c1", "c2", "c3"]


def test_the_text_of_an_error_without_a_message_is_a_text_like_any_other() -> None:
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "look", "input": {}}
    program = {
        "id": "a",
        "path": "generate",
        "messages": [{"role": "user", "content": "y"}],
        "tools": {"look": {"error": ""}},
        "script": [[call]],
    }
    traced = family_of("ai-sdk-7/generate").trace(program, "ai-sdk-7/generate")
    messages = traced["steps"][0]["onStepFinish"]["messages"]
    output = messages[1]["content"][0]["output"]
    # Not of a class of the emulation: a comparison in memory would find a difference.
    assert output == {"type": "error-text", "value": "Error"}
    assert type(output["value"]) is str


def test_a_clone_of_a_pattern_has_nothing_that_a_hook_put_there() -> None:
    pattern = ["model", "supportedUrls", "*/*", 0]
    into = ["messages", -1, "content", 0, "output", "x"]
    program = {
        "id": "a",
        "path": "generate",
        "messages": [{"role": "user", "content": "y"}],
        "script": [[{"type": "tool-call", "toolCallId": "c0", "toolName": "save", "input": "y"}]],
        "hooks": {
            "prepareStep": [[{"keep": pattern, "as": "pattern"}]],
            "onStepStart": [
                [{"set": ["$pattern", "x"], "to": "y"}],
                [{"set": into, "to": {"$clone": ["$pattern"]}}],
            ],
        },
    }
    for profile in ("ai-sdk-7/generate", "ai-sdk-6.0.326/generate"):
        output = trace(profile, program)["steps"][1]["prompt"][2]["content"][0]["output"]
        assert output["x"] == {}


@pytest.mark.parametrize(("path", "ran"), [("stream", [[]]), ("generate", [["save"], []])])
def test_a_stream_holds_the_tool_choice_against_the_last_call_of_an_id(
    path: str, ran: list[list[str]]
) -> None:
    call = {"type": "tool-call", "toolCallId": "c", "input": {}}
    program = {
        "id": "a",
        "path": path,
        "messages": [{"role": "user", "content": "y"}],
        "options": {"toolChoice": {"toolName": "look"}},
        "tools": {"save": {"output": {}}},
        "script": [[{**call, "toolName": "look"}, {**call, "toolName": "save"}]],
    }
    traced = trace(f"ai-sdk-7/{path}", program)
    assert [[tool["toolName"] for tool in step["tools"]] for step in traced["steps"]] == ran


MASTRA = ("mastra@1.71.0", "mastra@1.0.4")


def step_of(profile: str, *ops: dict[str, Any], **named: Any) -> Any:
    """The trace of a program whose prepareStep does these in its first step."""
    return trace(profile, {"id": "a", "prepareStep": {"0": [*ops]}, **named})


def roles_and_texts(prompt: Any) -> list[tuple[str, str]]:
    return [(message["role"], part["text"]) for message in prompt for part in message["content"]]


@pytest.mark.parametrize("path", ["generate", "stream"])
def test_an_error_is_recorded_under_the_id_that_the_step_began_with(path: str) -> None:
    throws = [{"type": "throw", "message": "y"}]
    returns = {"op": "return", "messageId": "y"}
    first = step_of("mastra@1.71.0", returns, path=path, script=[throws])
    assert [entry["message"]["id"] for entry in first["list"]] == ["<id1>", "<id2>"]
    call = [{"type": "tool-call", "toolCallId": "c", "toolName": "save", "input": {}}]
    program = {"id": "a", "path": path, "script": [call, throws], "tools": {"save": {"output": {}}}}
    clears = {"op": "list", "call": "clearAll"}
    ends = {"op": "return", "messageId": "z"}
    second = trace("mastra@1.71.0", {**program, "prepareStep": {"0": [returns], "1": [clears, ends]}})
    assert [entry["message"]["id"] for entry in second["list"]] == ["y"]


def test_after_an_empty_message_id_the_first_one_is_there_again() -> None:
    call = [{"type": "tool-call", "toolCallId": "c", "toolName": "save", "input": {}}]
    looks = {"op": "observe", "on": "messageId", "as": "id"}
    program = {
        "id": "a",
        "script": [call, [{"type": "text", "text": "y"}]],
        "tools": {"save": {"output": {}}},
        "prepareStep": {"0": [looks, {"op": "return", "messageId": ""}], "1": [looks]},
    }
    seen = trace("mastra@1.71.0", program)["observations"]
    assert seen[0]["value"] == seen[1]["value"] != ""


@pytest.mark.parametrize("profile", MASTRA)
@pytest.mark.parametrize("which", [{"index": 1}, {"ids": "all"}])
def test_a_message_without_an_id_is_removed_by_its_undefined_id(profile: str, which: dict[str, Any]) -> None:
    adds = {"op": "push", "message": {"role": "user", "text": "y", "id": None}}
    removes = {"op": "list", "call": "removeByIds", **which}
    traced = step_of(profile, adds, removes, {"op": "observe", "on": "list", "as": "left"})
    (seen,) = traced["observations"]
    texts = [part["text"] for message in seen["value"] for part in message["content"]["parts"]]
    assert texts == (["hi"] if "index" in which else [])


@pytest.mark.parametrize("profile", MASTRA)
def test_an_element_that_is_no_object_has_an_undefined_id_too(profile: str) -> None:
    adds = {"op": "push", "value": "t"}
    traced = step_of(profile, adds, {"op": "list", "call": "removeByIds", "index": 1})
    assert "opErrors" not in traced
    assert roles_and_texts(traced["model"][0]["prompt"]) == [("user", "hi")]


@pytest.mark.parametrize("profile", MASTRA)
def test_texts_are_changed_beside_an_empty_place_among_parts(profile: str) -> None:
    empties = {"op": "delete", "at": [0, "content", "parts", 0]}
    pipe = [{"mapText": {"suffix": "k"}}, {"reid": "q"}]
    returns = {"op": "return", "messages": {"from": "current", "pipe": pipe}}
    traced = step_of(profile, empties, returns)
    assert traced["received"][0]["returned"] == ["messages"]
    assert traced["list"][0]["message"]["id"] == "q0"
    assert traced["list"][0]["message"]["content"]["content"] == "hik"


@pytest.mark.parametrize("profile", MASTRA)
@pytest.mark.parametrize(("value", "returned"), [("t", ["messages"]), (None, "undefined")])
def test_texts_are_changed_beside_a_text_but_not_beside_null(profile: str, value: Any, returned: Any) -> None:
    adds = {"op": "push", "at": [0, "content", "parts"], "value": value}
    returns = {"op": "return", "messages": {"from": "current", "pipe": [{"mapText": {"suffix": "k"}}]}}
    traced = step_of(profile, adds, returns)
    assert traced["received"][0]["returned"] == returned


@pytest.mark.parametrize("profile", MASTRA)
def test_a_text_that_is_null_is_changed_as_the_text_null(profile: str) -> None:
    nulls = {"op": "set", "at": [0, "content", "parts", 0, "text"], "value": None}
    pipe = [{"mapText": {"suffix": "k"}}]
    traced = step_of(profile, nulls, {"op": "return", "messages": {"from": "current", "pipe": pipe}})
    assert roles_and_texts(traced["model"][0]["prompt"]) == [("user", "nullk")]


def _seen(profile: str, view: str) -> Any:
    """What a view shows of a list whose first place is empty: the value, or what is thrown."""
    looks = {"op": "observe", "on": f"view:{view}", "as": "view"}
    traced = step_of(profile, {"op": "delete", "at": [0]}, looks, messages=["a", "b"])
    if "observations" not in traced:
        return traced["received"][0]["threw"]
    return traced["observations"][0]["value"]


@pytest.mark.parametrize("profile", MASTRA)
def test_the_model_messages_leave_an_empty_place_out(profile: str) -> None:
    assert roles_and_texts(_seen(profile, "all.aiV5.model")) == [("user", "b")]


def test_the_views_of_a_list_with_an_empty_place() -> None:
    of_role = "Cannot read properties of undefined (reading 'role')"
    of_content = "Cannot read properties of undefined (reading 'content')"
    new, old = MASTRA
    assert _seen(new, "all.aiV5.ui") == of_role
    assert [one and one["role"] for one in _seen(old, "all.aiV5.ui")] == [None, "user"]
    for view in ("input.aiV5.model", "all.aiV5.prompt"):
        assert _seen(new, view) == of_content
        assert roles_and_texts(_seen(old, view)) == [("user", "b")]


def test_a_null_message_is_asked_for_its_role_first() -> None:
    nulls = {"op": "set", "at": [0], "value": None}
    looks = {"op": "observe", "on": "view:all.aiV5.model", "as": "view"}
    threw = step_of("mastra@1.71.0", nulls, looks)["received"][0]["threw"]
    assert threw == "Cannot read properties of null (reading 'role')"


@pytest.mark.parametrize("time", [8_640_000_000_000_001, 1e300])
def test_a_number_that_is_no_time_moves_no_date(time: float) -> None:
    breaks = {"op": "set", "at": [0, "createdAt"], "value": time}
    puts = {"op": "set", "at": [0], "message": {"role": "user", "text": "y"}}
    call = [{"type": "tool-call", "toolCallId": "c", "toolName": "save", "input": {}}]
    named = {"messages": ["x", "x"], "script": [call], "tools": {"save": {"output": {}}}}
    traced = step_of("mastra@1.0.4", breaks, puts, **named)
    assert roles_and_texts(traced["model"][1]["prompt"][:2]) == [("user", "x"), ("user", "y")]


def _parts(traced: Any, index: int) -> list[str | None]:
    """The texts of a message's parts, None for an empty place."""
    parts = traced["list"][index]["message"]["content"]["parts"]
    return [part and part["text"] for part in parts]


def _stored(*texts: str) -> dict[str, Any]:
    parts = [{"type": "text", "text": text} for text in texts]
    return {"id": "s1", "role": "assistant", "content": {"format": 2, "parts": parts}}


@pytest.mark.parametrize("profile", MASTRA)
def test_an_empty_place_in_the_last_message_keeps_no_other_from_being_replaced(profile: str) -> None:
    empties = {"op": "delete", "at": [1, "content", "parts", 0]}
    changed = {"from": "current", "pipe": [{"mapText": {"suffix": "k"}}]}
    adds = {"op": "list", "call": "add", "messages": changed, "args": ["input"]}
    traced = step_of(profile, empties, adds, messages=["a", "b"])
    assert _parts(traced, 0) == ["ak"]


def test_merging_looks_for_a_step_among_all_parts_in_the_new_release_alone() -> None:
    empties = {"op": "delete", "at": [0, "content", "parts", 1]}
    adds = {"op": "list", "call": "add", "args": [{"role": "assistant", "content": "x"}, "response"]}
    new, old = (step_of(profile, empties, adds, messages=[_stored("a", "b")]) for profile in MASTRA)
    assert new["received"][0]["threw"] == "Cannot read properties of undefined (reading 'type')"
    assert _parts(old, 0) == ["a", None, "x"]


def test_a_system_message_is_added_beside_an_empty_place() -> None:
    empties = {"op": "delete", "on": "systemMessages", "at": [0]}
    adds = {"op": "list", "call": "addSystem", "args": ["v"]}
    traced = step_of("mastra@1.71.0", empties, adds, system=["s", "t"])
    assert [one and one["content"] for one in traced["listSystem"]] == [None, "t", "v"]


@pytest.mark.parametrize("profile", MASTRA)
def test_reversing_a_copy_makes_an_empty_place_undefined(profile: str) -> None:
    empties = {"op": "delete", "at": [1]}
    returns = {"op": "return", "messages": {"from": "current", "pipe": [{"reverse": True}]}}
    traced = step_of(profile, empties, returns, messages=["a", "b", "c"])
    assert traced["list"][1] is None


def test_an_empty_place_in_a_returned_input_is_left_out() -> None:
    empties = {"op": "delete", "at": [1]}
    returns = {"op": "returnMessages", "messages": {"from": "current"}}
    program = {
        "id": "a",
        "messages": ["a", "b", "c"],
        "processors": [{"id": "p1", "input": [empties, returns]}],
    }
    traced = trace("mastra@1.0.4", program)
    assert roles_and_texts(traced["model"][0]["prompt"]) == [("user", "a"), ("user", "c")]


@pytest.mark.parametrize(("own", "other"), [(0, 1), (1, 0)])
def test_arguments_that_a_call_takes_from_the_next_of_its_id_are_its_own(own: int, other: int) -> None:
    call = {"type": "tool-call", "toolCallId": "twice", "toolName": "save"}
    into = [1, "content", "parts", own, "toolInvocation", "args", "a", "b"]
    program = {
        "id": "a",
        "script": [[{**call, "input": {}}, {**call, "input": {"a": {"b": 1}}}]],
        "processors": [{"id": "p1", "steps": {"1": [{"op": "set", "at": into, "value": "y"}]}}],
        "prepareStep": {},
    }
    last = trace("mastra@1.71.0", program)["received"][-1]["got"]["messages"][1]
    seen = last["content"]["parts"]
    arguments = [part["toolInvocation"]["args"] for part in seen if part["type"] == "tool-invocation"]
    assert arguments[own] == {"a": {"b": "y"}}
    assert arguments[other] == {"a": {"b": 1}}


SIX = ("ai-sdk-6/generate", "ai-sdk-6/stream", "ai-sdk-6.0.326/generate", "ai-sdk-6.0.326/stream")
SEVEN = ("ai-sdk-7/generate", "ai-sdk-7/stream")


def answered(profile: str, *, call_id: str, approval_id: str = "a1", **answer: Any) -> Any:
    """The trace of a call whose history ends with an answer to a request about a call."""
    call = {"type": "tool-call", "toolCallId": call_id, "toolName": "look", "input": {}}
    asked = {"type": "tool-approval-request", "approvalId": "a1", "toolCallId": call_id}
    given = {"type": "tool-approval-response", "approvalId": approval_id, "approved": False, **answer}
    history = [{"role": "assistant", "content": [call, asked]}, {"role": "tool", "content": [given]}]
    path = profile.rpartition("/")[2]
    return trace(profile, {"id": "a", "path": path, "messages": history, "script": []})


@pytest.mark.parametrize("profile", [*SIX, *SEVEN])
@pytest.mark.parametrize("call_id", ["constructor", "toString", "__proto__"])
def test_a_call_whose_id_each_object_inherits_counts_as_answered(profile: str, call_id: str) -> None:
    messages = answered(profile, call_id=call_id)["steps"][0]["prepareStep"]["messages"]
    added = [part["type"] for message in messages[2:] for part in message["content"]]
    assert added == ([] if profile in SIX else ["tool-result"])


@pytest.mark.parametrize("profile", [*SIX, *SEVEN])
def test_a_request_whose_id_each_object_inherits_is_found_and_is_about_no_call(profile: str) -> None:
    error = answered(profile, call_id="c1", approval_id="valueOf")["error"]
    wrong = "ToolCallNotFoundForApproval" if profile in SIX else "InvalidToolApproval"
    assert error["name"] == f"AI_{wrong}Error"


@pytest.mark.parametrize("profile", [*SIX, *SEVEN])
def test_what_is_found_of_no_request_is_about_the_call_named_undefined(profile: str) -> None:
    traced = answered(profile, call_id="undefined", approval_id="valueOf")
    if profile in SEVEN:
        assert traced["error"]["name"] == "AI_InvalidToolApprovalError"
        return
    (denied,) = traced["steps"][0]["prepareStep"]["messages"][2]["content"]
    assert denied["toolCallId"] == "undefined"


@pytest.mark.parametrize("profile", [*SIX, *SEVEN])
def test_a_result_whose_messages_are_null_is_kept_itself(profile: str) -> None:
    hooks = {
        "prepareStep": [[{"return": {"messages": None}, "keep": "k"}]],
        "onStepFinish": [[{"set": ["$k", "a"], "to": "y"}]],
    }
    path = profile.rpartition("/")[2]
    messages = [{"role": "user", "content": "y"}]
    program = {"id": "a", "path": path, "messages": messages, "script": [], "hooks": hooks}
    assert "opErrors" not in trace(profile, program)


def _called(call_id: str, name: str = "save") -> dict[str, Any]:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": name, "input": {}}


@pytest.mark.parametrize("profile", MASTRA)
@pytest.mark.parametrize("call_id", ["constructor", "__proto__"])
def test_what_is_no_stream_breaks_off_at_a_call_whose_id_each_object_inherits(
    profile: str, call_id: str
) -> None:
    answer = [_called("c"), _called(call_id), {"type": "text", "text": "y"}]
    program = {"id": "a", "tools": {"save": {"output": {}}}, "script": [answer], "prepareStep": {}}
    broken = trace(profile, program)
    assert broken["events"] == ["prepareStep@0", "model:base", "tool:save"]
    assert broken["error"]["name"] == "TypeError"
    whole = trace(profile, {**program, "path": "stream"})
    assert whole["events"][:4] == ["prepareStep@0", "model:base", "tool:save", "tool:save"]
    assert whole["error"] is None


@pytest.mark.parametrize("profile", MASTRA)
def test_a_call_that_is_broken_off_leads_to_the_next_model(profile: str) -> None:
    program = {"id": "a", "script": [[_called("valueOf")]], "fallbackModels": ["z"]}
    assert [call["model"] for call in trace(profile, program)["model"]] == ["base", "z"]


@pytest.mark.parametrize("profile", MASTRA)
@pytest.mark.parametrize("retries", ["y", True, {}, -1])
def test_no_model_is_called_with_retries_that_are_no_number_from_0_on(profile: str, retries: Any) -> None:
    traced = step_of(profile, {"op": "set", "on": "modelSettings", "at": ["maxRetries"], "value": retries})
    assert traced["model"] == []
    assert traced["error"]["name"] == "TypeError"
    if profile == "mastra@1.71.0":
        (error,) = traced["list"][1]["message"]["content"]["parts"]
        kind = "non-negative number" if retries == -1 else "number or Infinity"
        assert error["error"]["message"] == f"Expected `retries` to be a {kind}."


@pytest.mark.parametrize("profile", MASTRA)
def test_retries_with_a_fraction_end_without_the_error_of_the_model(profile: str) -> None:
    sets = {"op": "set", "on": "modelSettings", "at": ["maxRetries"], "value": 0.5}
    traced = step_of(profile, sets, script=[[{"type": "throw", "message": "y"}]])
    assert len(traced["model"]) == 1
    assert traced["error"]["message"] == "Retry attempts exhausted without throwing an error."


@pytest.mark.parametrize("timeout", ["y", 5000, None, [], {"stepMs": -1}, {"totalMs": True}])
def test_a_timeout_of_model_calls_is_checked_or_is_a_setting_like_others(timeout: Any) -> None:
    program = {"id": "a", "modelSettings": {"timeout": timeout}, "prepareStep": {}}
    old = trace("mastra@1.0.4", program)
    assert old["model"][0]["settings"] == {"timeout": timeout, "temperature": 0}
    new = trace("mastra@1.71.0", program)
    assert new["error"]["domain"] == "AGENT"
    assert new["events"] == []
    returns = {"op": "return", "modelSettings": {"timeout": timeout}}
    late = trace("mastra@1.71.0", {"id": "a", "path": "stream", "prepareStep": {"0": [returns]}})
    # Null stands for the limits of the call.
    assert (late["events"] == ["prepareStep@0"]) == (timeout is not None)
    assert (late["chunks"] == ["start", "error"]) == (timeout is not None)


def test_a_timeout_that_can_be_is_not_sent() -> None:
    settings = {"timeout": {"stepMs": 90_000, "x": 0}, "temperature": 1}
    traced = trace("mastra@1.71.0", {"id": "a", "modelSettings": settings})
    assert traced["model"][0]["settings"] == {"temperature": 1}


@pytest.mark.parametrize("profile", MASTRA)
def test_a_processor_sees_what_the_package_adds_to_tools_and_models(profile: str) -> None:
    looks: list[dict[str, Any]] = [
        {"op": "observe", "on": "tools", "as": "tools"},
        {"op": "observe", "on": "model", "at": ["supportedUrls"], "as": "urls"},
    ]
    traced = step_of(profile, *looks, tools={"save": {"output": {}}})
    tools, urls = (seen["value"] for seen in traced["observations"])
    assert urls == {}
    assert tools["save"] == {
        "type": "function",
        "id": "save",
        "description": "save",
        "execute": "<function>",
        "requireApproval": False,
        "hasSuspendSchema": False,
        "parameters": {
            "jsonSchema": {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "type": "object",
                "properties": {},
                "additionalProperties": True,
            },
            "validate": "<function>",
        },
    }


@pytest.mark.parametrize("profile", MASTRA)
@pytest.mark.parametrize(
    ("at", "value", "named"),
    [
        (["save"], "y", "a tool that is no object"),
        (["save"], 0, "a tool that is no object"),
        (["save", "type"], "y", "the type or schema"),
        (["save", "inputSchema"], {"type": "string"}, "the type or schema"),
        (["save", "parameters"], {"jsonSchema": {}}, "the type or schema"),
        (["save", "requireApproval"], True, "requireApproval"),
    ],
)
def test_a_tool_that_is_none_any_more_is_told_as_not_emulated(
    profile: str, at: list[str], value: Any, named: str
) -> None:
    writes = {"op": "set", "on": "tools", "at": at, "value": value}
    traced = step_of(profile, writes, tools={"save": {"output": {}}}, script=[[_called("c")]])
    assert named in traced["unsupported"]


@pytest.mark.parametrize("profile", MASTRA)
def test_a_list_that_a_processor_takes_from_the_next_one_is_told_as_not_emulated(profile: str) -> None:
    clears = {"op": "return", "undefined": ["messageList"]}
    first = {"id": "p1", "where": "ctor", "steps": {"0": [clears]}}
    last = {"id": "p2", "where": "ctor", "steps": {}}
    assert "messageList" in trace(profile, {"id": "a", "processors": [first, last]})["unsupported"]
    assert trace(profile, {"id": "a", "processors": [last, first]})["error"] is None


@pytest.mark.parametrize("profile", MASTRA)
def test_the_schema_of_a_returned_tool_is_told_as_not_emulated(profile: str) -> None:
    program = {
        "id": "a",
        "processors": [{"id": "p", "steps": {"0": [{"op": "return", "tools": {"look": {"output": {}}}}]}}],
        "prepareStep": {"0": [{"op": "observe", "on": "tools", "as": "tools"}]},
    }
    assert "schema of a tool" in trace(profile, program)["unsupported"]


@pytest.mark.parametrize("profile", MASTRA)
@pytest.mark.parametrize("path", ["generate", "stream"])
def test_a_model_without_a_key_ends_the_run_though_there_are_others(profile: str, path: str) -> None:
    returns = {"op": "return", "model": {"router": "openai/gpt"}}
    traced = step_of(profile, returns, path=path, fallbackModels=["z"], maxRetries=1)
    assert traced["events"] == ["prepareStep@0"]
    assert traced["error"]["message"].startswith("Could not find API key process.env.OPENAI_API_KEY")


def test_what_failed_first_is_told_whatever_ends_the_run_after_it() -> None:
    answer = [_called("c", "look"), _called("constructor", "look")]
    for ends in ({"op": "abort", "reason": "z"}, {"op": "returnArgs", "fields": ["messages", "messageList"]}):
        traced = trace("mastra@1.71.0", {"id": "a", "script": [answer], "prepareStep": {"1": [ends]}})
        assert traced["events"] == ["prepareStep@0", "model:base", "prepareStep@1"]
        assert traced["error"]["name"] == "TypeError"
        assert traced["final"] is None


def test_a_time_that_is_observed_alone_is_told_as_not_emulated() -> None:
    place = [0, "content", "parts", 0]
    alone = step_of("mastra@1.71.0", {"op": "observe", "at": [*place, "createdAt"], "as": "time"})
    assert "a time as a number" in alone["unsupported"]
    inside = step_of("mastra@1.71.0", {"op": "observe", "at": place, "as": "part"})
    assert inside["observations"][0]["value"] == {"type": "text", "text": "hi", "createdAt": "<date>"}


@pytest.mark.parametrize("profile", MASTRA)
def test_only_the_new_version_lets_a_model_mend_calls_of_an_answer_that_broke_off(profile: str) -> None:
    answer = [_called("c", "look"), _called("constructor")]
    program = {"id": "a", "tools": {"look": {"error": "y"}}, "script": [answer], "prepareStep": {}}
    events = trace(profile, program)["events"]
    assert ("prepareStep@1" in events) == (profile == "mastra@1.71.0")
    assert events[:3] == ["prepareStep@0", "model:base", "tool:look"]


@pytest.mark.parametrize("profile", MASTRA)
@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": [{"type": "image", "image": "AAAA"}]},
        {"id": "u", "role": "user", "parts": [{"type": "file", "mediaType": "image/png", "url": "data:,"}]},
        {"id": "u", "role": "user", "content": {"format": 2, "parts": [{"type": "file", "data": "AAAA"}]}},
        {
            "id": "u",
            "role": "user",
            "content": {"format": 2, "parts": [], "experimental_attachments": [{"url": "data:,"}]},
        },
    ],
    ids=["image", "ui", "stored", "attachments"],
)
def test_files_and_images_are_refused_by_name(profile: str, message: dict[str, Any]) -> None:
    for program in (
        {"id": "a", "messages": ["q", message]},
        {"id": "a", "prepareStep": {"0": [{"op": "list", "call": "add", "args": [message, "input"]}]}},
    ):
        refused = trace(profile, program)["unsupported"]
        assert "a part of the type" in refused or "attachments" in refused
    writes = {"op": "set", "at": [0, "content", "parts", 0, "type"], "value": "file"}
    assert "type file" in step_of(profile, writes)["unsupported"]


def test_a_message_of_data_alone_is_sent_without_content_by_the_old_release() -> None:
    data = {"format": 2, "parts": [{"type": "data-x", "data": {"a": 1}}]}
    program = {"id": "a", "messages": ["q", {"id": "d", "role": "assistant", "content": data}]}
    new, old = (trace(profile, program)["model"][0]["prompt"] for profile in MASTRA)
    assert [message["role"] for message in new] == ["user"]
    assert old[1:] == [{"role": "assistant", "content": []}]
