from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import WireError
from agentcore.messages import wire
from agentcore.messages.messages import (
    AssistantMessage,
    ContentOutput,
    ExecutionDeniedOutput,
    FilePart,
    ImagePart,
    JsonOutput,
    Message,
    ReasoningPart,
    SystemMessage,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import FrozenDict, Vector, dump_json, parse_json, thaw, vector
from agentcore.messages.wire import message_from_wire, message_to_wire, messages_from_wire, messages_to_json
from strategies import messages

TEXT = {"type": "text", "text": "x"}


@given(messages)
def test_reading_undoes_writing(message: Message) -> None:
    wire = message_to_wire(message)
    assert message_from_wire(wire) == message
    assert message_from_wire(thaw(wire)) == message
    assert message_from_wire(parse_json(dump_json(wire))) == message


@given(messages)
def test_writing_undoes_reading_to_the_order_of_keys(message: Message) -> None:
    text = dump_json(message_to_wire(message))
    assert dump_json(message_to_wire(message_from_wire(parse_json(text)))) == text


@given(st.lists(messages, max_size=3))
def test_a_list_of_messages_is_read_into_a_vector(given_messages: list[Message]) -> None:
    found: Any = messages_from_wire([thaw(message_to_wire(message)) for message in given_messages])
    assert type(found) is Vector
    assert found == vector(given_messages)
    assert messages_from_wire(vector(map(message_to_wire, given_messages))) == found


@given(st.lists(messages, max_size=4))
def test_the_json_of_messages_is_that_of_their_wire_forms(given_messages: list[Message]) -> None:
    text = dump_json([message_to_wire(message) for message in given_messages])
    for _ in range(2):
        assert messages_to_json(vector(given_messages)) == text.encode()
    assert messages_to_json(iter(given_messages)) == text.encode()
    assert messages_from_wire(parse_json(text)) == vector(given_messages)


def test_the_bytes_of_a_message_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    message = UserMessage([TextPart("x")])
    first = messages_to_json([message, message])
    monkeypatch.setattr(wire, "message_to_wire", None)
    assert messages_to_json([message, message]) == first


def test_the_wire_form_is_made_once_per_message() -> None:
    message = UserMessage([TextPart("x")])
    assert message_to_wire(message) is message_to_wire(message)
    assert message_to_wire(attrs.evolve(message, content="y"))["content"] == "y"
    assert message_to_wire(message)["content"] == (FrozenDict(TEXT),)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (SystemMessage("s", {"p": {}}), '{"role":"system","content":"s","providerOptions":{"p":{}}}'),
        (
            UserMessage([ImagePart(b"hi", "image/png"), FilePart("u", "a/b", filename="f")]),
            (
                '{"role":"user","content":[{"type":"image","image":{"bytes":"aGk="},"mediaType":"image/png"},'
                '{"type":"file","data":"u","mediaType":"a/b","filename":"f"}]}'
            ),
        ),
        (
            AssistantMessage(
                [
                    ReasoningPart("r"),
                    ToolCallPart("c", "t", input=None, provider_executed=False),
                    ToolApprovalRequestPart("a", "c"),
                ]
            ),
            (
                '{"role":"assistant","content":[{"type":"reasoning","text":"r"},{"type":"tool-call","toolCallId":"c",'
                '"toolName":"t","input":null,"providerExecuted":false},{"type":"tool-approval-request",'
                '"approvalId":"a","toolCallId":"c"}]}'
            ),
        ),
        (
            ToolMessage(
                [
                    ToolResultPart("c", "t", output=JsonOutput(None)),
                    ToolResultPart("c", "t", output=ContentOutput([TEXT], {"p": {}})),
                    ToolResultPart("c", "t", output=ExecutionDeniedOutput()),
                    ToolApprovalResponsePart("a", approved=False, reason="no"),
                ]
            ),
            (
                '{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","toolName":"t","output":'
                '{"type":"json","value":null}},{"type":"tool-result","toolCallId":"c","toolName":"t","output":'
                '{"type":"content","value":[{"type":"text","text":"x"}],"providerOptions":{"p":{}}}},'
                '{"type":"tool-result","toolCallId":"c","toolName":"t","output":{"type":"execution-denied"}},'
                '{"type":"tool-approval-response","approvalId":"a","approved":false,"reason":"no"}]}'
            ),
        ),
    ],
)
def test_the_wire_form_is_that_of_the_ai_sdk(message: Message, text: str) -> None:
    assert dump_json(message_to_wire(message)) == text


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*parts]}


def response(approved: Any) -> dict[str, Any]:
    part = {"type": "tool-approval-response", "approvalId": "a", "approved": approved}
    return {"role": "tool", "content": [part]}


def result(output: Any) -> dict[str, Any]:
    part = {"type": "tool-result", "toolCallId": "c", "toolName": "t", "output": output}
    return {"role": "tool", "content": [part]}


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (3, "$", "expected an object, got a number"),
        ([], "$", "expected an object, got an array"),
        (b"x", "$", "expected an object, got a bytes"),
        ({}, "$.role", "expected one of system, user, assistant, tool here, got nothing"),
        ({"role": None}, "$.role", "got null"),
        ({"role": "usr"}, "$.role", "got 'usr'"),
        ({"role": "user"}, "$.content", "this required field is missing"),
        ({"role": "system", "content": []}, "$.content", "expected a string, got an array"),
        ({"role": "user", "content": True}, "$.content", "a string or an array of parts, got a boolean"),
        ({"role": "tool", "content": "x"}, "$.content", "expected an array of parts, got a string"),
        ({"role": "user", "content": "x", "more": 1}, "$.more", "unknown key"),
        ({"role": "user", "content": "x", "a": 1, 0: 1}, "$[0]", "unknown key"),
        (user(TEXT, {"type": "text", "text": 1}), "$.content[1].text", "expected a string, got a number"),
        (user({"type": "text"}), "$.content[0].text", "missing"),
        (user({"type": "tool-call"}), "$.content[0].type", "expected one of text, image, file here"),
        (user({"type": "thinking"}), "$.content[0].type", "'thinking'; what only a provider knows goes into"),
        (user({**TEXT, "x y": 1}), '$.content[0]["x y"]', "unknown key"),
        (user({**TEXT, "providerOptions": []}), "$.content[0].providerOptions", "an object, got an array"),
        (user({**TEXT, "providerOptions": None}), "$.content[0].providerOptions", "an object, got null"),
        (user({**TEXT, "providerOptions": {"a": [{1}]}}), "$.content[0].providerOptions.a[0]", "a set"),
        (user({"type": "image", "image": {"bytes": "?"}}), "$.content[0].image.bytes", "not base64"),
        (user({"type": "image", "image": {"bytes": "ä"}}), "$.content[0].image.bytes", "not base64"),
        (user({"type": "image", "image": {"bytes": 1}}), "$.content[0].image", "got an object"),
        (user({"type": "image", "image": {"b": "aGk="}}), "$.content[0].image", "got an object"),
        (user({"type": "image", "image": None}), "$.content[0].image", "got null"),
        (user({"type": "image", "image": "x", "mediaType": None}), "$.content[0].mediaType", "got null"),
        (result("x"), "$.content[0].output", "expected an object, got a string"),
        (result({"type": "json"}), "$.content[0].output.value", "missing"),
        (result({"type": "json", "value": {"a": [{1}]}}), "$.content[0].output.value.a[0]", "a set"),
        (
            result({"type": "content", "value": {}}),
            "$.content[0].output.value",
            "expected an array, got an object",
        ),
        (
            {
                "role": "tool",
                "content": [{"type": "tool-approval-response", "approvalId": "a", "approved": 1}],
            },
            "$.content[0].approved",
            "expected true or false, got a number",
        ),
    ],
)
def test_what_is_no_message_is_refused_with_its_path(value: Any, path: str, reason: str) -> None:
    with pytest.raises(WireError) as caught:
        message_from_wire(value)
    assert caught.value.path == path
    assert reason in caught.value.reason
    with pytest.raises(WireError) as caught:
        messages_from_wire([{"role": "user", "content": ""}, value], "$.messages")
    assert caught.value.path == path.replace("$", "$.messages[1]", 1)


@pytest.mark.parametrize("value", [3, None, "x", {}])
def test_what_is_no_list_of_messages_is_refused(value: Any) -> None:
    with pytest.raises(WireError, match="expected an array of messages"):
        messages_from_wire(value)


json_like_messages = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "type", "user", "text"]), inner, max_size=3)
    ),
)


@given(json_like_messages)
def test_whatever_json_is_given_is_a_message_or_a_wire_error(value: Any) -> None:
    try:
        message = message_from_wire(value)
    except WireError:
        return
    assert thaw(message_to_wire(message)) == value


@given(messages, json_like_messages, st.data())
def test_a_spoilt_message_is_a_message_or_a_wire_error(
    message: Message, other: Any, data: st.DataObject
) -> None:
    spoilt = thaw(message_to_wire(message))
    spoilt[data.draw(st.sampled_from([*spoilt]))] = other
    try:
        read = message_from_wire(spoilt)
    except WireError:
        return
    assert thaw(message_to_wire(read)) == spoilt
