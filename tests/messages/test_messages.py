from __future__ import annotations

import copy
import enum
import pickle
from functools import partial
from typing import Any

import attrs
import pyrsistent
import pytest
from hypothesis import given

from agentcore.errors import InvalidJsonError, InvalidMessageError
from agentcore.messages.messages import (
    AssistantMessage,
    ContentOutput,
    FilePart,
    ImagePart,
    JsonOutput,
    Message,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import FrozenDict, Vector, thaw
from agentcore.messages.wire import message_to_wire
from strategies import messages


def call(value: Any, **more: Any) -> ToolCallPart:
    return ToolCallPart("c", "t", input=value, **more)


class Tool(enum.StrEnum):
    READ = "read"


@given(messages)
def test_equal_messages_have_equal_hashes_and_survive_pickling(message: Message) -> None:
    again = pickle.loads(pickle.dumps(message))
    assert again == message
    assert hash(again) == hash(message)
    assert copy.deepcopy(message) is message


@given(messages)
def test_a_rebuilt_message_is_equal_and_another_one_is_not(message: Message) -> None:
    assert attrs.evolve(message) == message
    assert attrs.evolve(message, provider_options={"other": {"x": [1]}}) != message


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [(1, True, False), (1, 1.0, True), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True), ([0], [False], False)],
)
def test_json_in_messages_is_compared_as_json(left: Any, right: Any, *, equal: bool) -> None:
    assert (call(left) == call(right)) is equal
    assert (len({call(left), call(right)}) == 1) is equal
    assert (AssistantMessage([call(left)]) == AssistantMessage([call(right)])) is equal
    assert (JsonOutput(left) == JsonOutput(right)) is equal


def test_part_types_are_told_apart_with_equal_fields() -> None:
    alike: list[Any] = [TextOutput("x"), JsonOutput("x"), UserMessage("x"), SystemMessage("x"), TextPart("x")]
    alike += [UserMessage([TextPart("x")]), ImagePart("aGk="), ImagePart(b"hi")]
    assert all((left == right) is (left is right) for left in alike for right in alike)


def test_lists_of_parts_become_vectors_of_the_pure_python_kind() -> None:
    part = TextPart("x")
    for given_parts in ([part], (part,), pyrsistent.pvector([part]), iter([part])):
        content: Any = UserMessage(given_parts).content
        assert type(content) is Vector
        assert content[0] is part
    assert type(pickle.loads(pickle.dumps(UserMessage([part]))).content) is Vector


def test_a_vector_of_parts_is_kept_as_it_is() -> None:
    content = AssistantMessage([TextPart("x")]).content
    assert AssistantMessage(content).content is content


def test_json_is_frozen_when_it_is_given() -> None:
    source = {"a": [1]}
    part = call(source)
    source["a"].append(2)
    assert part.input == FrozenDict(a=(1,))
    with pytest.raises(TypeError):
        part.input["a"] = 3  # type: ignore[index] # the write that is refused


def test_frozen_json_is_shared_by_the_messages_that_hold_it() -> None:
    once = call({"a": [1]}).input
    assert call(once).input is once
    assert TextPart("x", {"p": {"a": 1}}).provider_options == FrozenDict(p=FrozenDict(a=1))


def test_roles_and_types_are_class_attributes() -> None:
    assert [kind.role for kind in (SystemMessage, UserMessage, AssistantMessage, ToolMessage)] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert (TextPart.type, ToolCallPart.type, ToolResultPart.type) == ("text", "tool-call", "tool-result")


def test_text_of_an_enum_becomes_plain_text() -> None:
    part = ToolCallPart(Tool.READ, Tool.READ, input=Tool.READ)
    assert [type(x) for x in (part.tool_call_id, part.tool_name, part.input)] == [str, str, str]
    assert type(SystemMessage(Tool.READ).content) is type(UserMessage(Tool.READ).content) is str
    image = ImagePart(Tool.READ, Tool.READ)
    assert (type(image.image), type(image.media_type)) == (str, str)


WRONG: list[tuple[Any, dict[str, Any], str, str]] = [
    (TextPart, {"text": None}, "$.text", "expected str, got NoneType"),
    (ImagePart, {"image": bytearray(b"x")}, "$.image", "expected str or bytes, got bytearray"),
    (FilePart, {"data": "", "media_type": "", "filename": 1}, "$.filename", "expected str or None, got int"),
    (ToolApprovalResponsePart, {"approval_id": "a", "approved": 1}, "$.approved", "expected bool, got int"),
    (partial(call, 1), {"provider_executed": 0}, "$.provider_executed", "expected bool or None, got int"),
    (partial(ToolResultPart, "c", "t"), {"output": "x"}, "$.output", "expected TextOutput or JsonOutput or"),
    (ContentOutput, {"value": "x"}, "$.value", "expected list, got str"),
    (
        TextPart,
        {"text": "x", "provider_options": [1]},
        "$.provider_options",
        "dict or None, got FrozenList",
    ),
    (UserMessage, {"content": None}, "$.content", "a string or a list of TextPart or ImagePart or FilePart"),
    (UserMessage, {"content": [TextPart("x"), "y"]}, "$.content[1]", "with a str in it"),
    (UserMessage, {"content": [call(1)]}, "$.content[0]", "with a ToolCallPart in it"),
    (AssistantMessage, {"content": [ImagePart("x")]}, "$.content[0]", "with a ImagePart in it"),
    (ToolMessage, {"content": "x"}, "$.content[0]", "with a str in it"),
    (
        ToolMessage,
        {"content": 3},
        "$.content",
        "expected a list of ToolResultPart or ToolApprovalResponsePart",
    ),
    (SystemMessage, {"content": [TextPart("x")]}, "$.content", "expected str, got list"),
]


@pytest.mark.parametrize(("make", "fields", "path", "reason"), WRONG)
def test_a_field_of_the_wrong_type_is_refused_by_name(
    make: Any, fields: dict[str, Any], path: str, reason: str
) -> None:
    with pytest.raises(InvalidMessageError) as caught:
        make(**fields)
    assert caught.value.path == path
    assert reason in caught.value.reason
    assert isinstance(caught.value, TypeError)


def test_json_that_is_none_is_refused_with_the_path_from_the_part() -> None:
    with pytest.raises(InvalidJsonError) as caught:
        call({"a": [{1}]})
    assert caught.value.path == "$.input.a[0]"
    with pytest.raises(InvalidJsonError) as caught:
        TextPart("x", {"p": {"a": float("nan")}})
    assert caught.value.path == "$.provider_options.p.a"


def test_deep_json_in_a_message_is_compared_hashed_and_shown() -> None:
    def deep(inner: Any) -> AssistantMessage:
        for _ in range(5_000):
            inner = [inner]
        return AssistantMessage([call(inner)])

    assert deep(1) == deep(1.0)
    assert hash(deep(1)) == hash(deep(1.0))
    assert deep(1) != deep(True)  # noqa: FBT003 - the value is the point
    assert "[" * 5_000 in repr(deep(1))
    assert thaw(message_to_wire(deep(1)))["content"][0]["toolName"] == "t"


def test_a_message_shows_its_json_as_json_and_not_its_caches() -> None:
    message = UserMessage([TextPart("x", {"p": {"a": True}})])
    before = repr(message)
    message_to_wire(message)
    assert repr(message) == before
    assert 'provider_options={"p":{"a":true}}' in before
    assert "_wire" not in before
