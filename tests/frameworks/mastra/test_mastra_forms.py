"""Messages of every form: what is stored of them, and what a model is shown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agentcore.frameworks.mastra.emulation.equality import part_key, system_key
from agentcore.frameworks.mastra.emulation.forms import (
    Form,
    assign,
    form_of,
    starts_with,
)
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.frameworks.mastra.emulation.settings import Clock, date, time_of
from agentcore.frameworks.mastra.profiles import MASTRA_1_71
from agentcore.heap.heap import HeapTypeError, Store
from agentcore.heap.js import get
from frameworks.mastra.stage import Stage, processor, stored, text

OPTIONS = {"x": {"k": 1}}
CALL = {"type": "tool-call", "toolCallId": "h1", "toolName": "look", "input": {"a": 1}}
RESULT = {
    "type": "tool-result",
    "toolCallId": "h1",
    "toolName": "look",
    "output": {"type": "json", "value": {"b": 2}},
}


def listed(*messages: Any, source: str = "input") -> MessageList:
    store = Store()
    made = MessageList(store, Clock(), MASTRA_1_71)
    for message in messages:
        made.add(store.load([message]), source)
    return made


def contents(*messages: Any, source: str = "input") -> list[dict[str, Any]]:
    made = listed(*messages, source=source)
    return [undated(made.store.plain(one)["content"]) for one in made.all()]


def undated(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: undated(item) for name, item in value.items() if name != "createdAt"}
    return [undated(item) for item in value] if isinstance(value, list) else value


def invocation(state: str = "result", **more: Any) -> dict[str, Any]:
    call = {"toolCallId": "h1", "toolName": "look", "args": {"a": 1}, "state": state, **more}
    return {"type": "tool-invocation", "toolInvocation": call}


def told(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def of_parts(*parts: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "parts": [*parts], **fields}


def of_content(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*parts]}


@pytest.mark.parametrize(
    ("message", "form"),
    [
        (of_parts(told("source-url")), Form.UI_5),
        (of_parts(told("source"), told("source-url")), Form.UI_4),
        (of_parts(told("reasoning", text="t")), Form.UI_5),
        (of_parts(told("reasoning", reasoning="t")), Form.UI_4),
        (of_parts(told("reasoning"), told("file", mediaType="image/png")), Form.UI_5),
        (of_parts(told("file", mimeType="image/png")), Form.UI_4),
        (of_parts(told("tool-look", toolCallId="c")), Form.UI_5),
        (of_parts(told("tool-invocation", toolInvocation={})), Form.UI_4),
        (of_parts(told("source-url"), annotations=[]), Form.UI_4),
        (of_content(told("file", mediaType="image/png")), Form.CORE_5),
        (of_content(told("file", mimeType="image/png")), Form.CORE_4),
        (of_content(told("tool-call", input={})), Form.CORE_5),
        (of_content(told("tool-call", args={})), Form.CORE_4),
        (of_content(told("reasoning", signature="s")), Form.CORE_4),
        (of_content(text("t")), Form.CORE_5),
        ({"role": "user", "threadId": "t", "content": "hi"}, Form.OLD),
        ({"role": "user"}, None),
    ],
)
def test_the_form_of_a_message_is_told_by_the_first_part_that_says_it(
    message: Any, form: Form | None
) -> None:
    store = Store()
    assert form_of(store, store.load(message), lists_only=True) is form


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (told("file", data="QQ==", mimeType="a/b"), told("file", url="QQ==", mediaType="a/b"), True),
        (told("file", data="QQ==", mimeType="a/b"), told("file", data="QQ==", mimeType="a/c"), False),
        (
            told("reasoning", reasoning="r", details=[told("text", text="abc"), told("redacted", text="x")]),
            told("reasoning", reasoning="r", details=[told("text", text="a", signature="bc")]),
            True,
        ),
        (told("reasoning", reasoning="r"), told("reasoning", reasoning="s"), False),
        (
            told("data-x", data={"a": 1, "b": [{"d": 2, "c": 3}]}),
            told("data-x", data={"b": [{"c": 3, "d": 2}], "a": 1}),
            True,
        ),
        (told("data-x", data={"a": 1}), told("data-x", data={"a": 2}), False),
        (told("step-start"), told("step-start", more=1), True),
    ],
)
def test_parts_are_the_same_by_what_their_kind_compares(one: Any, other: Any, *, same: bool) -> None:
    store = Store()

    def key(part: Any) -> str:
        return part_key(store, store.load(part), MASTRA_1_71)

    assert (key(one) == key(other)) == same


def test_system_messages_are_the_same_by_the_kinds_of_their_parts_and_the_lengths_of_their_texts() -> None:
    store = Store()

    def key(*parts: Any) -> str:
        return system_key(store, store.load([*parts]), MASTRA_1_71)

    assert key(text("abc"), told("zip")) == key(text("xyz"), told("zip")) == "text3zip"
    assert key(text("ab")) != key(text("abc"))
    assert system_key(store, "be brief", MASTRA_1_71) == "be brief"


def test_fields_of_what_is_no_object_cannot_be_set_and_a_number_begins_with_nothing() -> None:
    store = Store()
    for value, says in (
        (None, "Cannot set properties of null (setting 'id')"),
        ("a", "Cannot create property 'id' on string 'a'"),
        (True, "Cannot create property 'id' on boolean 'true'"),
        (7, "Cannot create property 'id' on number '7'"),
    ):
        with pytest.raises(HeapTypeError, match=re.escape(says)):
            assign(store, value, "id", "x")
    with pytest.raises(HeapTypeError, match="startsWith is not a function"):
        starts_with(store, 7, "data-")


def test_a_call_and_its_result_become_one_part() -> None:
    (content,) = contents(
        {"role": "assistant", "content": [text("t"), CALL]}, {"role": "tool", "content": [RESULT]}
    )
    assert content["parts"] == [text("t"), invocation(result={"b": 2})]
    assert content["toolInvocations"] == [invocation(result={"b": 2})["toolInvocation"]]


def test_a_result_without_its_call_has_no_arguments() -> None:
    (content,) = contents({"role": "tool", "content": [RESULT]})
    assert content["parts"] == [{"type": "tool-invocation", "toolInvocation": {
        "toolCallId": "h1", "toolName": "look", "args": {}, "state": "result", "result": {"b": 2},
    }}]  # fmt: skip


def test_reasoning_options_and_metadata_are_kept() -> None:
    (content,) = contents(
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "text": "why", "providerOptions": OPTIONS}, text("")],
            "providerOptions": OPTIONS,
            "metadata": {"m": 1},
        }
    )
    assert content == {
        "format": 2,
        "parts": [
            {
                "type": "reasoning",
                "reasoning": "why",
                "details": [{"type": "text", "text": "why"}],
                "providerMetadata": OPTIONS,
            }
        ],
        "reasoning": "why",
        "metadata": {"m": 1},
        "providerMetadata": OPTIONS,
    }


def test_messages_of_ai_sdk_4_are_told_by_their_field_names() -> None:
    old_call = {"type": "tool-call", "toolCallId": "h1", "toolName": "look", "args": {"a": 1}}
    old_result = {"type": "tool-result", "toolCallId": "h1", "toolName": "look", "result": "r"}
    (content,) = contents({"role": "assistant", "content": [old_call, old_result, text("t")]})
    assert content["parts"] == [
        {"type": "tool-invocation", "toolInvocation": {**invocation("call")["toolInvocation"]}},
        invocation(result="r"),
        {"type": "step-start"},
        text("t"),
    ]
    signed = {"type": "reasoning", "text": "why", "signature": "s"}
    (content,) = contents(
        {"role": "assistant", "content": [signed, {"type": "redacted-reasoning", "data": "d"}]}
    )
    assert [part["details"][0] for part in content["parts"]] == [
        {"type": "text", "text": "why", "signature": "s"},
        {"type": "redacted", "data": "d"},
    ]


def test_a_single_text_of_an_answer_becomes_the_content() -> None:
    signed = {"role": "assistant", "content": [{**text("t"), "experimental_providerMetadata": {}}]}
    (content,) = contents(signed, source="response")
    assert content["content"] == "t"


def test_a_role_that_nobody_knows_is_an_error() -> None:
    with pytest.raises(Exception, match="BUG: add handling for message role nobody"):
        listed({"role": "nobody", "content": [{**text("t"), "experimental_providerMetadata": {}}]})


def test_ui_messages_of_ai_sdk_4_keep_what_stands_beside_the_parts() -> None:
    call = invocation(result="r")
    (content,) = contents(
        {
            "id": "u",
            "role": "assistant",
            "parts": [call],
            "toolInvocations": [call["toolInvocation"]],
            "metadata": {},
        }
    )
    assert content == {
        "format": 2,
        "parts": [call],
        "toolInvocations": [call["toolInvocation"]],
        "metadata": {},
    }


def test_ui_messages_of_ai_sdk_5_have_calls_of_a_type_of_their_own() -> None:
    tool = {"type": "tool-look", "toolCallId": "h1", "input": {"a": 1}}
    (content,) = contents(
        {
            "role": "assistant",
            "metadata": {"createdAt": "2000-01-01T00:00:00Z", "m": 1},
            "parts": [
                {**tool, "state": "output-available", "output": {"value": "r"}, "providerExecuted": False},
                {**tool, "toolCallId": "h2", "state": "output-error", "errorText": "e"},
                {**tool, "toolCallId": "h3", "state": "input-available"},
                {"type": "reasoning", "text": "why"},
                {"type": "step-start"},
                {"type": "data-x", "data": 1},
                {"type": "unknown"},
                text("t"),
            ],
        }
    )
    kinds = [part.get("toolInvocation", {}).get("state", part["type"]) for part in content["parts"]]
    assert kinds == ["result", "output-error", "call", "reasoning", "step-start", "data-x", "text"]
    assert content["parts"][0]["providerExecuted"] is False
    assert content["parts"][0]["toolInvocation"]["result"] == "r"
    assert (content["reasoning"], content["content"], content["metadata"]) == ("why", "t", {"m": 1})


def test_messages_of_an_older_store_are_converted() -> None:
    made = listed(
        {"id": "v1", "role": "user", "content": "old", "threadId": "t", "createdAt": "2000-01-01T00:00:00Z"}
    )
    message = made.store.plain(made.all()[0])
    # Converting takes a date by itself, and the message's own is before that.
    assert (message["id"], message["createdAt"]) == ("v1", "2026-01-01T00:00:00.001Z")
    assert message["content"]["content"] == "old"


def test_stored_messages_get_what_they_lack_in_place() -> None:
    listed_call = {"toolCallId": "h1", "toolName": "look", "args": {}, "state": "result"}
    mine = {
        "role": "assistant",
        "content": {"format": 2, "parts": [None, invocation()], "toolInvocations": [listed_call]},
    }
    made = listed({**mine, "createdAt": 946684800000})
    message = made.store.plain(made.all()[0])
    assert message["createdAt"] == "2000-01-01T00:00:00.000Z"
    assert len(message["id"]) == 36
    assert len(message["content"]["parts"]) == 1
    assert message["content"]["toolInvocations"][0]["args"] == {"a": 1}


def test_what_has_no_form_is_an_error() -> None:
    with pytest.raises(HeapTypeError, match="Cannot use 'in' operator to search for 'content' in 7"):
        listed(7)


# ---------------------------------------------------------------- dates


def test_messages_that_come_at_once_are_a_tick_apart() -> None:
    made = listed("one", "two", "three")
    times = [time_of(made.store, get(made.store, one, "createdAt")) for one in made.all()]
    assert [time - times[0] for time in times] == [0, 1, 2]


def test_a_later_message_is_dated_after_one_that_is_ahead_of_the_clock() -> None:
    made = listed(stored("far", "far", createdAt="2100-01-01T00:00:00Z"), "now")
    assert made.store.plain(made.all()[1])["createdAt"] == "2100-01-01T00:00:00.001Z"


def test_messages_from_memory_keep_their_dates_and_are_not_added_twice() -> None:
    mine = stored("m1", "mine", createdAt="2000-01-01T00:00:00Z")
    made = listed("now", mine, mine, source="memory")
    assert [made.store.plain(one)["content"]["parts"][0]["text"] for one in made.all()] == ["mine", "now"]


def test_the_list_removes_and_clears() -> None:
    made = listed("one", stored("m1", "two"))
    before = made.messages
    made.remove(["nobody"])
    assert made.messages != before
    made.remove(["m1"])
    assert len(made.all()) == 1
    made.clear_source("input")
    assert made.all() == ()


# ---------------------------------------------------------------- prompts


def shown(*messages: Any) -> list[dict[str, Any]]:
    prompt: list[dict[str, Any]] = undated(Stage(messages=list(messages)).asked[0]["prompt"])
    return prompt


def test_a_prompt_begins_with_the_users_turn() -> None:
    assert shown({"role": "assistant", "content": "me"})[0] == {"role": "user", "content": [text(".")]}


def test_calls_without_answers_are_left_out_of_prompts() -> None:
    assert [one["role"] for one in shown("hi", {"role": "assistant", "content": [CALL]})] == ["user"]


def test_calls_and_answers_of_a_step_are_two_messages_and_text_after_them_a_third() -> None:
    parts = [text("t"), invocation(result="r"), text("u")]
    found = shown("hi", {"id": "s", "role": "assistant", "content": {"format": 2, "parts": parts}})
    assert [(one["role"], [part["type"] for part in one["content"]]) for one in found] == [
        ("user", ["text"]),
        ("assistant", ["text", "tool-call"]),
        ("tool", ["tool-result"]),
        ("assistant", ["text"]),
    ]
    assert found[2]["content"][0]["output"] == {"type": "text", "value": "r"}
    assert found[2]["content"][0]["input"] == {"a": 1}


@pytest.mark.parametrize(
    ("call", "output"),
    [
        (invocation("output-error", errorText="e"), {"type": "error-text", "value": "e"}),
        (invocation("output-denied", approval={"reason": "why"}), {"type": "text", "value": "why"}),
        (invocation("output-denied"), {"type": "text", "value": "Tool call was not approved by the user"}),
        (invocation(result={"value": 1}), {"type": "json", "value": 1}),
        (
            invocation(result={"type": "content", "value": []}),
            {"type": "json", "value": {"type": "content", "value": []}},
        ),
    ],
)
def test_every_ending_of_a_call_has_an_answer(call: Any, output: Any) -> None:
    found = shown("hi", {"id": "s", "role": "assistant", "content": {"format": 2, "parts": [call]}})
    assert found[-1]["content"][0]["output"] == output


def test_what_stands_beside_the_parts_is_shown_where_they_say_nothing() -> None:
    listed_call = invocation(result="r")["toolInvocation"]
    content = {
        "format": 2,
        "parts": [],
        "content": "beside",
        "reasoning": "why",
        "toolInvocations": [listed_call],
    }
    found = shown("hi", {"id": "s", "role": "assistant", "content": content})
    assert [[part["type"] for part in one["content"]] for one in found[1:]] == [
        ["tool-call"],
        ["tool-result"],
        ["reasoning", "text"],
    ]


def test_reasoning_is_shown_from_its_details_and_blank_texts_are_left_out() -> None:
    why = {"type": "reasoning", "reasoning": "", "details": [text("why")]}
    parts = [
        why,
        text(" "),
        {"type": "reasoning", "reasoning": ""},
        {"type": "error", "error": {}},
        {"type": "data-x"},
    ]
    found = shown("hi", {"id": "s", "role": "assistant", "content": {"format": 2, "parts": parts}})
    assert [part["text"] for part in found[1]["content"]] == ["why"]


def test_a_messages_own_options_are_its_prompts() -> None:
    found = shown({"role": "user", "content": "hi", "providerOptions": OPTIONS})
    assert found[0]["providerOptions"] == OPTIONS


def test_an_unknown_role_fails_the_call_and_a_stored_system_role_is_shown() -> None:
    def name(role: str) -> Any:
        return processor(lambda args: args["messages"][0].update(role=role))

    assert Stage(processors=[name("nobody")]).outcome.error is not None
    assert Stage(processors=[name("system")]).prompts == [["system: hi"]]


def test_a_part_that_is_null_fails_the_call() -> None:
    def spoil(args: Any) -> None:
        args["messages"][0]["content"]["parts"].append(None)

    error = Stage(processors=[processor(spoil)]).outcome.error
    assert error is not None
    assert error.message == "Cannot read properties of null (reading 'type')"


def test_dates_are_shown_as_text_and_survive_a_clone() -> None:
    store = Store()
    made = store.object({"at": date(store, 0)})
    assert store.plain(store.clone(made)) == {"at": "1970-01-01T00:00:00.000Z"}
    looped = store.object({"at": date(store, 0)})
    store.put(looped, "self", looped)
    assert store.plain(looped) == {"at": "1970-01-01T00:00:00.000Z", "self": {"cycle": 1}}
