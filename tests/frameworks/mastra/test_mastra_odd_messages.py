"""What the message list makes of messages with odd fields, parts and values, as the real packages do."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from cli.commands import lines_of, run

OLD, NEW = BOTH = ("mastra@1.0.4", "mastra@1.71.0")
CALL: Final = {"toolCallId": "c1", "toolName": "look", "args": {"a": 1}}


def step(profile: str, *ops: dict[str, Any], messages: Any = ("q",), **program: Any) -> Any:
    """The trace of a program whose prepareStep does these in its first step."""
    program = {"id": "a", "messages": [*messages], "prepareStep": {"0": [*ops]}, **program}
    return json.loads(run("trace", "--profile", profile, given=lines_of([program])).stdout)


def shown(profile: str, message: dict[str, Any], *ops: dict[str, Any]) -> list[dict[str, Any]]:
    """What a model is shown of a message between two of the user's, without dates."""
    prompt = step(profile, *ops, messages=("q", message, "r"))["model"][0]["prompt"]
    return [_undated(one) for one in prompt[1:-1]]


def _undated(value: Any) -> Any:
    if isinstance(value, list):
        return [_undated(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {name: _undated(one) for name, one in value.items() if one != "<date>"}
    return {name: one for name, one in kept.items() if name != "providerOptions" or one != {"mastra": {}}}


def threw(profile: str, *ops: dict[str, Any], messages: Any = ("q",)) -> str | None:
    """What is thrown by one of these ops of a prepareStep."""
    told: str | None = step(profile, *ops, messages=messages)["received"][0].get("threw")
    return told


def adds(message: dict[str, Any], source: str = "response") -> dict[str, Any]:
    return {"op": "list", "call": "add", "args": [[message], source]}


def stored(*parts: Any, role: str = "assistant", **content: Any) -> dict[str, Any]:
    return {"id": "m", "role": role, "content": {"format": 2, "parts": [*parts], **content}}


def called(state: str, beside: dict[str, Any] | None = None, **named: Any) -> dict[str, Any]:
    invocation = {"state": state, **CALL, **named}
    return {"type": "tool-invocation", "toolInvocation": invocation, **(beside or {})}


def text(told: Any, **named: Any) -> dict[str, Any]:
    return {"type": "text", "text": told, **named}


def parts_of(traced: Any, index: int = -1) -> Any:
    return _undated(traced["list"][index]["message"]["content"]["parts"])


def parts_added(profile: str, message: dict[str, Any], *ops: dict[str, Any]) -> Any:
    """The parts that are stored of a message of the user's source, which one of the user's follows."""
    follows = adds({"role": "user", "content": "r"}, "input")
    return parts_of(step(profile, adds(message, "input"), *ops, follows), 1)


# ---------------------------------------------------------------- calls that failed


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize("state", ["output-error", "output-denied"])
def test_a_call_that_failed_or_was_refused_is_one_without_an_answer_to_the_old_release(
    profile: str, state: str
) -> None:
    part = called(state, errorText="down", approval={"reason": "no"})
    prompt = shown(profile, stored(part, text("so")))
    assert [message["role"] for message in prompt] == (
        ["assistant"] if profile == OLD else ["assistant", "tool", "assistant"]
    )
    if profile == NEW:
        failed = state == "output-error"
        output = {"type": "error-text", "value": "down"} if failed else {"type": "text", "value": "no"}
        assert prompt[1]["content"][0]["output"] == output


@pytest.mark.parametrize(("told", "says"), [({"k": 1}, '{"k":1}'), (5, "5"), (None, "")])
def test_what_failed_is_shown_as_text(told: Any, says: str) -> None:
    (_, answer) = shown(NEW, stored(called("output-error", errorText=told)))
    assert answer["content"][0]["output"] == {"type": "error-text", "value": says}


@pytest.mark.parametrize("profile", BOTH)
def test_a_ui_message_keeps_its_errors_in_the_new_release_alone(profile: str) -> None:
    tool = {"type": "tool-look", "toolCallId": "c1", "state": "output-error", "errorText": "down"}
    message = {"role": "user", "parts": [tool, {"type": "error"}]}
    kinds = [part["type"] for part in parts_added(profile, message)]
    assert kinds == (["tool-invocation"] if profile == OLD else ["tool-invocation", "error"])


def test_the_providers_answer_stands_beside_its_call() -> None:
    part = called("result", {"providerExecuted": True}, result="found")
    (message,) = shown(NEW, stored(part))
    assert [one["type"] for one in message["content"]] == ["tool-call", "tool-result"]
    assert [one["role"] for one in shown(OLD, stored(part))] == ["assistant", "tool"]


def test_a_call_of_the_provider_is_shown_while_nothing_follows() -> None:
    waits = stored(called("call", {"providerExecuted": True}))
    last = step(NEW, messages=("q", waits))["model"][0]["prompt"][-1]
    assert [part["type"] for part in last["content"]] == ["tool-call"]
    assert shown(NEW, waits) == []


def test_a_result_in_a_message_brings_its_options_and_who_ran_it() -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {}}
    output = {"type": "json", "value": 1}
    result: dict[str, Any] = {"type": "tool-result", "toolCallId": "c1", "toolName": "look", "output": output}
    result |= {"providerExecuted": True, "providerOptions": {"p": {"k": 1}}}
    message = {"role": "assistant", "content": [call, result, {"type": "none"}, text("y")]}
    (part, *_) = parts_added(NEW, message)
    assert (part["providerExecuted"], part["providerMetadata"]) == (True, {"p": {"k": 1}})
    assert "providerExecuted" not in parts_added(OLD, message)[0]


def test_a_message_of_the_latest_sdk_is_refused_by_name() -> None:
    asked = {"type": "tool-look", "toolCallId": "c1", "state": "approval-requested", "input": {}}
    refused = step(NEW, adds({"role": "assistant", "parts": [asked]}))["unsupported"]
    assert refused.startswith("a message of AI SDK 6")
    assert "unsupported" not in step(OLD, adds({"role": "assistant", "parts": [asked]}))


# ---------------------------------------------------------------- when parts are the same


_OPENAI: Final = {"openai": {"itemId": "i"}}
_AZURE: Final = {"azure": {"itemId": "i"}}
_NUMBER: Final = {"openai": {"itemId": 5}}


@pytest.mark.parametrize(
    ("kind", "options", "counts"),
    [
        ("text", (_OPENAI, {}), (1, 2)),
        ("text", ({**_OPENAI, **_AZURE}, _AZURE), (1, 1)),
        ("text", (_NUMBER, {}), (1, 1)),
        ("reasoning", (_AZURE, {}), (1, 2)),
        ("reasoning", (_OPENAI, {}), (2, 2)),
        ("reasoning", (_NUMBER, {}), (2, 1)),
    ],
)
def test_parts_are_the_same_by_the_providers_items(
    kind: str, options: tuple[Any, Any], counts: tuple[int, int]
) -> None:
    part = text("s") if kind == "text" else {"type": "reasoning", "reasoning": "s", "details": []}
    first, second = ({**part, "providerMetadata": one} for one in options)
    looks = {"op": "observe", "on": "list", "at": [-1, "content", "parts"], "as": "parts"}
    for profile, count in zip(BOTH, counts, strict=True):
        traced = step(profile, adds(stored(first)), adds(stored(second)), looks)
        assert len(traced["observations"][0]["value"]) == count


@pytest.mark.parametrize("profile", BOTH)
def test_reasoning_without_a_text_has_no_key_in_the_old_release(profile: str) -> None:
    message = {"role": "assistant", "content": [{"type": "reasoning"}]}
    told = "Cannot read properties of undefined (reading 'length')"
    assert threw(profile, adds(message), adds(message)) == (told if profile == OLD else None)


@pytest.mark.parametrize("profile", BOTH)
def test_a_part_without_its_call_has_no_key_in_the_old_release(profile: str) -> None:
    told = "Cannot read properties of undefined (reading 'toolCallId')"
    empty = stored({"type": "tool-invocation"})
    assert threw(profile, adds(stored(text("y"))), adds(empty)) == (told if profile == OLD else None)


@pytest.mark.parametrize("profile", BOTH)
def test_kinds_that_are_no_text_are_told_by_their_place(profile: str) -> None:
    kind = {"op": "set", "at": [0, "content", "parts", 0, "type"], "value": {}}
    other = {"id": "s", "role": "user", "content": {"format": 2, "parts": []}}
    looks = {"op": "observe", "on": "view:all.aiV5.ui", "as": "v"}
    assert threw(profile, kind, adds(other, "input"), looks) == "part.type.startsWith is not a function"


# ---------------------------------------------------------------- items in prompts


def test_texts_of_one_item_are_one_text_and_a_result_has_an_id_of_its_own() -> None:
    options = {"openai": {"itemId": "i"}}
    between = {"type": "source", "source": {"url": "u", "id": "s"}}
    texts = [text(told, providerMetadata=options) for told in "ab"]
    (message,) = shown(NEW, stored(texts[0], between, texts[1]))
    assert [part["text"] for part in message["content"]] == ["ab"]
    both = {"openai": {"itemId": "i", "resultItemId": "j"}}
    prompt = shown(NEW, stored(called("result", {"providerMetadata": both}, result=1)))
    ids = [one["content"][0]["providerOptions"]["openai"] for one in prompt]
    assert ids == [{"itemId": "i"}, {"itemId": "j"}]


@pytest.mark.parametrize("ids", [{}, {"itemId": "i"}, {"itemId": "i", "resultItemId": "j"}])
def test_a_search_of_tools_is_sent_again_with_both_ids_alone(ids: Any) -> None:
    beside = {"providerExecuted": True, "providerMetadata": {"openai": ids}}
    prompt = shown(NEW, stored(called("result", beside, toolName="tool_search", result=1)))
    assert bool(prompt) == (len(ids) == 2)


# ---------------------------------------------------------------- parts of other kinds


@pytest.mark.parametrize("profile", BOTH)
def test_a_source_is_stored_and_sends_a_message_without_content_in_the_old_release(profile: str) -> None:
    source = {"type": "source-url", "sourceId": "s", "url": "u"}
    (part,) = parts_added(profile, {"role": "user", "parts": [source]})
    assert part == {"type": "source", "source": {"url": "u", "sourceType": "url", "id": "u"}}
    prompt = shown(profile, stored(part, role="user"))
    assert prompt == ([{"role": "user", "content": []}] if profile == OLD else [])


@pytest.mark.parametrize("profile", BOTH)
def test_a_dynamic_tool_among_stored_parts_is_a_call_with_its_answer(profile: str) -> None:
    part = {"type": "dynamic-tool", "toolName": "seek", "toolCallId": "d", "state": "output-available"}
    message, answer = shown(profile, stored({**part, "input": {}, "output": "o"}))
    (call,) = message["content"]
    assert (call["type"], call["toolName"]) == ("tool-call", "seek")
    assert answer["content"][0]["output"] == {"type": "text", "value": "o"}


@pytest.mark.parametrize("profile", BOTH)
def test_part_of_a_kind_without_a_name_is_not_merged(profile: str) -> None:
    looks = {"op": "observe", "on": "list", "at": [-1, "content", "parts"], "as": "parts"}
    traced = step(profile, adds(stored(text("a"))), adds(stored({"type": ""}, text("b"))), looks)
    assert [part["text"] for part in traced["observations"][0]["value"]] == ["a", "b"]


@pytest.mark.parametrize("profile", BOTH)
def test_the_last_result_of_a_call_counts_even_if_it_is_none(profile: str) -> None:
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "look"}
    message = {"role": "assistant", "content": [{**result, "output": "t"}, result]}
    assert shown(profile, message)[1]["content"][0]["output"] == {"type": "json", "value": None}


def test_an_output_kept_for_the_model_is_not_that_of_the_provider() -> None:
    kept = {"mastra": {"modelOutput": {"type": "text", "value": "kept"}}}
    beside = {"providerExecuted": True, "providerMetadata": kept}
    (message,) = shown(NEW, stored(called("result", beside, result="own")))
    assert message["content"][1]["output"] == {"type": "text", "value": "own"}


@pytest.mark.parametrize("profile", BOTH)
def test_part_of_a_ui_message_without_a_type_fails(profile: str) -> None:
    parts = [{"text": "t"}, {"type": "text", "text": "z", "metadata": 1}]
    told = "Cannot read properties of undefined (reading 'startsWith')"
    assert threw(profile, adds({"role": "user", "parts": parts}, "input")) == told


@pytest.mark.parametrize("profile", BOTH)
def test_an_array_among_parts_is_passed_over_where_parts_are_dated(profile: str) -> None:
    traced = step(profile, adds(stored([], text("y")), "input"))
    assert parts_of(traced, 1) == [[], text("y")]


def test_an_empty_text_follows_an_answer_only_if_nothing_else_does() -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {}}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "look", "output": 1}
    for content, ends in (
        ([call, result], "empty"),
        ([call, result, {"type": "none"}], "empty"),
        ([call, text("y"), result], "y"),
    ):
        last = parts_added(OLD, {"role": "assistant", "content": content})[-1]
        assert (last["text"] or "empty") == ends


# ---------------------------------------------------------------- odd values


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize(("args", "input_"), [("0", "0"), (7, 7), ("", {})])
def test_arguments_that_are_no_object_are_the_input_of_the_answer_in_the_old_release(
    profile: str, args: Any, input_: Any
) -> None:
    prompt = shown(profile, stored(called("result", args=args, result=1)))
    assert prompt[1]["content"][0]["input"] == (input_ if profile == OLD else {})


@pytest.mark.parametrize("profile", BOTH)
def test_an_old_result_of_a_call_without_arguments_fails(profile: str) -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "args": None}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "look", "result": "r"}
    told = "Cannot convert undefined or null to object"
    assert threw(profile, adds({"role": "assistant", "content": [call, result]})) == told


@pytest.mark.parametrize("profile", BOTH)
def test_options_in_the_metadata_of_a_message_are_its_options(profile: str) -> None:
    (message,) = shown(profile, stored(text("y"), metadata={"providerMetadata": {"p": {"k": 1}}}))
    assert message["providerOptions"] == {"p": {"k": 1}}


@pytest.mark.parametrize("profile", BOTH)
def test_calls_beside_the_parts_may_be_any_that_can_be_gone_through(profile: str) -> None:
    sets = {"op": "set", "at": [0, "content", "toolInvocations"]}
    looks = {"op": "observe", "on": "view:all.aiV5.ui", "as": "v"}
    traced = step(profile, {**sets, "value": "y"}, looks)
    assert traced["observations"][0]["value"][0]["parts"][0]["type"] == "tool-undefined"
    told = "dbMsg.content.toolInvocations is not iterable"
    assert threw(profile, {**sets, "value": 5}, looks) == told


@pytest.mark.parametrize("profile", BOTH)
def test_details_are_read_where_reasoning_has_no_text(profile: str) -> None:
    part = {"type": "reasoning", "details": "y"}
    sets = {"op": "set", "at": [0, "content", "parts", 0]}
    looks = {"op": "observe", "on": "view:all.aiV5.ui", "as": "v"}
    told = "part.details?.reduce is not a function"
    assert threw(profile, {**sets, "value": part}, looks) == told
    assert threw(profile, {**sets, "value": {**part, "reasoning": "z"}}, looks) is None


@pytest.mark.parametrize("profile", BOTH)
def test_a_view_reads_the_metadata_of_the_content_first(profile: str) -> None:
    empties = {"op": "set", "on": "list", "at": [0], "value": {}}
    looks = {"op": "observe", "on": "view:all.aiV5.ui", "as": "v"}
    assert threw(profile, empties, looks) == "Cannot read properties of undefined (reading 'metadata')"


@pytest.mark.parametrize("profile", BOTH)
def test_a_message_that_the_list_made_is_a_stored_one_whatever_it_holds(profile: str) -> None:
    deforms = {"op": "set", "at": [0, "content"], "value": [None]}
    copies = {"op": "returnMessages", "messages": {"from": "current", "pipe": [{"spread": True}]}}
    traced = step(profile, deforms, copies)
    assert traced["model"] == []
    emptied = step(profile, {**deforms, "value": {}}, {"op": "return", "messages": {"from": "current"}})
    if profile == OLD:
        assert parts_of(emptied, 0) == []


@pytest.mark.parametrize("profile", BOTH)
def test_a_blank_system_message_among_the_messages_is_sent(profile: str) -> None:
    traced = step(profile, {"op": "push", "message": {"role": "system", "text": ""}})
    assert {"role": "system", "content": ""} in [
        {name: one[name] for name in ("role", "content")} for one in traced["model"][0]["prompt"]
    ]


def test_a_date_that_is_null_is_the_first_one_in_the_old_release() -> None:
    traced = step(OLD, adds({**stored(text("y"), role="user"), "createdAt": None}, "input"))
    told = [message["content"][0]["text"] for message in traced["model"][0]["prompt"]]
    assert told == ["y", "q"]


# ---------------------------------------------------------------- merging into odd messages


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("y", "latestParts.every is not a function"),
        (5, "latestMessage.content.parts.filter is not a function"),
        (None, "Cannot read properties of null (reading 'filter')"),
    ],
)
def test_an_answer_is_merged_into_parts_that_are_a_list(value: Any, told: str) -> None:
    sets = {"op": "set", "at": [1, "content", "parts"], "value": value}
    own = stored(text("a"))
    assert threw(NEW, sets, adds({**stored(text("b")), "id": "n"}), messages=("q", own)) == told


def test_metadata_is_merged_into_content_that_is_a_list_without_a_trace() -> None:
    sets = {"op": "set", "at": [1, "content"], "value": []}
    answer = {**stored(called("call"), metadata={"k": 1}), "id": "n"}
    told = "latestMessage.content.parts is not iterable"
    assert threw(NEW, sets, adds(answer), messages=("q", stored(text("a")))) == told


def test_a_remembered_message_reads_the_live_parts_by_their_methods() -> None:
    sets = {"op": "set", "at": [1, "content", "parts"], "value": ""}
    again = adds(stored(text("b"), called("call")), "memory")
    told = "live.content.parts.flatMap is not a function"
    assert threw(NEW, sets, again, messages=("q", stored(text("a")))) == told


def test_a_failure_brings_who_ran_the_call_and_its_title_along() -> None:
    beside = {"providerExecuted": True, "title": "t", "preliminary": False}
    failed = stored(called("output-error", beside, errorText="e"))
    traced = step(NEW, adds(stored(called("call"))), adds(failed))
    (part, *_) = parts_of(traced, 1)
    assert {name: part[name] for name in beside} == beside


# ---------------------------------------------------------------- what no model knows, past the prompt


def asked(role: Any, source: str = "input") -> dict[str, Any]:
    """Adds a message of a role with a call that nobody answered, which prompts leave out."""
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {"a": 1}}
    return adds({"role": role, "content": [call]}, source)


CALLS: Final = [{"type": "tool-call", "toolCallId": "c5", "toolName": "look", "input": {"a": 1}}]
SAYS: Final = [{"type": "text", "text": "z"}]


@pytest.mark.parametrize("profile", BOTH)
@pytest.mark.parametrize("path", ["generate", "stream"])
def test_a_role_that_no_model_knows_fails_after_the_step_though_the_prompt_leaves_it_out(
    profile: str, path: str
) -> None:
    given = {"script": [CALLS, SAYS], "tools": {"look": {"output": 1}}, "path": path}
    traced = step(profile, asked("zz"), **given)
    assert traced["error"]["message"] == "Unsupported role: zz"
    assert len(traced["model"]) == 1
    assert traced["tools"] == []


@pytest.mark.parametrize("profile", BOTH)
def test_a_model_that_fails_is_the_error_though_a_role_fails_after_it(profile: str) -> None:
    traced = step(profile, asked("zz"), script=[[{"type": "throw", "message": "down"}]] * 3)
    assert traced["error"]["message"] == "down"


def test_an_answer_after_which_the_own_messages_cant_be_read_is_a_failure() -> None:
    traced = step(NEW, asked(None, "response"))
    told = {"name": "AI_MessageConversionError", "message": "Unsupported role: null"}
    assert parts_of(traced, 2) == [{"type": "error", "error": told}]
    assert traced["error"]["message"] == told["message"]


@pytest.mark.parametrize("profile", BOTH)
def test_the_next_model_is_asked_when_the_own_messages_cant_be_read(profile: str) -> None:
    traced = step(profile, asked(None, "response"), script=[SAYS, SAYS], fallbackModels=["b"])
    assert [one["model"] for one in traced["model"]] == ["base", "b"]


@pytest.mark.parametrize("path", ["generate", "stream"])
@pytest.mark.parametrize("tool", [{"output": 1}, {"error": "e"}])
def test_calls_that_cannot_be_gone_through_fail_the_step_once_its_tools_have_answered(
    path: str, tool: Any
) -> None:
    part = {"type": "tool-look", "toolCallId": "c3", "state": "input-available", "input": {"a": 1}}
    write = {"op": "set", "at": [-1, "content", "toolInvocations"], "value": {"a": 1}}
    given = [{"role": "assistant", "parts": [part]}]
    call = {"type": "tool-call", "toolCallId": "c5", "toolName": "look", "input": {}}
    traced = step(NEW, write, messages=given, script=[[call], SAYS], tools={"look": tool}, path=path)
    assert traced["error"]["message"] == "msg.content.toolInvocations.find is not a function"
    # The next step has not begun, and the one of the calls does not end in chunks.
    assert "step-start" not in [kept["type"] for kept in traced["list"][-1]["message"]["content"]["parts"]]
    assert "step-finish" not in traced.get("chunks", [])


# ---------------------------------------------------------------- the end of a run


ENDS: Final = ({"role": "user", "content": "r"}, {**stored(text("a"), text("b ")), "id": "n"})


def text_at_end(*ops: dict[str, Any], messages: Any = ("q",)) -> Any:
    """The text beside the parts of the last message: 't' if the agent's own were added to it at the end."""
    said, answered = (adds(one, source) for one, source in zip(ENDS, ("input", "response"), strict=True))
    traced = step(OLD, *ops[:1], said, answered, *ops[1:], messages=messages)
    assert traced["final"]["text"] == "ok"
    return traced["list"][-1]["message"]["content"]["content"]


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (called("call"), "t"),
        (called("result", result=1), "t"),
        (called("result"), "a\nb \nok"),
        (called("output-error"), "a\nb \nok"),
        (called("output-denied"), "a\nb \nok"),
        ({"type": "tool-invocation"}, "a\nb \nok"),
        ({"type": "reasoning", "reasoning": "r"}, "a\nb \nok"),
    ],
)
def test_the_old_release_adds_its_messages_again_if_ai_sdk_4_can_have_the_conversation(
    part: dict[str, Any], told: str
) -> None:
    assert text_at_end(adds(stored(part, text("t")))) == told


@pytest.mark.parametrize(
    ("at", "value", "told"),
    [
        (["role"], "user", "t"),
        (["role"], "system", "t"),
        (["role"], "zz", "a\nb \nok"),
        (["content"], 0, "a\nb \nok"),
        (["content", "content"], [None], "a\nb \nok"),
        (["content", "parts"], [{"type": "tool-invocation"}], "a\nb \nok"),
        (["content", "parts"], [{"type": "reasoning", "reasoning": "r"}], "a\nb \nok"),
    ],
)
def test_what_ai_sdk_4_cant_have_may_be_anyones_message(at: list[str], value: Any, told: str) -> None:
    own = adds({**stored(called("result", result=1), text("t")), "id": "x"})
    sets = {"op": "set", "at": [1, *at], "value": value}
    assert text_at_end(own, sets, messages=("q", stored({"type": "tool-x"}), "r")) == told


def test_a_result_that_is_undefined_is_one_to_ai_sdk_4() -> None:
    call = {"type": "tool-look", "toolCallId": "c1", "state": "output-available", "input": {"a": 1}}
    assert text_at_end(adds({"role": "assistant", "parts": [call, text("t")]})) == "t"
