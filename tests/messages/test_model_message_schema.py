"""`model-message.schema.json` takes what `z.array(modelMessageSchema)` of ai@6.0.134 takes.

Every row of the table was given to the package's generateText; it was refused there, with
"The messages do not match the ModelMessage[] schema.", exactly where this table says so.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
from hypothesis import given

import agentcore
from agentcore.messages.messages import Message
from agentcore.messages.values import dump_json, parse_json
from agentcore.messages.wire import message_to_wire
from strategies import messages_without_bytes

_SCHEMAS: Final = Path(agentcore.__file__).parent / "schemas"


def user(content: Any, **more: Any) -> list[Any]:
    return [{"role": "user", "content": content, **more}]


def assistant(*parts: Any) -> list[Any]:
    return [{"role": "assistant", "content": [*parts]}]


def tool(*parts: Any) -> list[Any]:
    return [{"role": "tool", "content": [*parts]}]


def output(value: Any) -> list[Any]:
    return tool({"type": "tool-result", "toolCallId": "c", "toolName": "t", "output": value})


def item(**fields: Any) -> list[Any]:
    return output({"type": "content", "value": [fields]})


TEXT: Final = {"type": "text", "text": "hi"}
CALL: Final = {"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {"a": [1, None]}}
RESULT: Final = {
    "type": "tool-result",
    "toolCallId": "c",
    "toolName": "t",
    "output": {"type": "text", "value": ""},
}
REQUEST: Final = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c"}
RESPONSE: Final = {"type": "tool-approval-response", "approvalId": "a", "approved": True}


def without(part: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != key}


ACCEPTED: Final[dict[str, Any]] = {
    "a system message": [{"role": "system", "content": "s"}],
    "empty texts": [{"role": "system", "content": ""}, {"role": "user", "content": ""}],
    "a user message of no parts": user([]),
    "an assistant message of no parts": assistant(),
    "a tool message of no parts": tool(),
    "text, image and file of a user": user(
        [
            TEXT,
            {"type": "image", "image": "aGk="},
            {"type": "file", "data": "aGk=", "mediaType": "text/plain"},
        ]
    ),
    "an image with a media type": user([{"type": "image", "image": "aGk=", "mediaType": "image/png"}]),
    "a file with a name": user([{"type": "file", "data": "aGk=", "mediaType": "a/b", "filename": "f"}]),
    "an assistant's text as a string": [{"role": "assistant", "content": "a"}],
    "all parts of an assistant": assistant(
        TEXT,
        {"type": "reasoning", "text": "r"},
        {"type": "file", "data": "aGk=", "mediaType": "a/b"},
        CALL,
        RESULT,
        REQUEST,
    ),
    "a call with null as input": assistant({**CALL, "input": None}),
    "a call with a number as input": assistant({**CALL, "input": 1}),
    "a call that the provider executed": assistant({**CALL, "providerExecuted": True}),
    "a tool's result and response": tool(RESULT, RESPONSE),
    "a response with a reason": tool({**RESPONSE, "reason": "no", "approved": False}),
    "unknown keys everywhere": [
        {"role": "user", "content": [{**TEXT, "x": 1}], "y": None},
        *tool({**RESPONSE, "providerExecuted": "yes"}),
    ],
    "a wrong key that this part does not know": assistant({**REQUEST, "providerOptions": 1, "approved": 3}),
    "provider options": user(
        [{**TEXT, "providerOptions": {"p": {"a": [None, {"b": 1.5}]}}}], providerOptions={}
    ),
    "a part's key on a message": user("x", type="text"),
    "output json of null": output({"type": "json", "value": None}),
    "output json, nested": output({"type": "json", "value": {"a": [{"b": [True, 1e300, "x"]}]}}),
    "output error-json": output({"type": "error-json", "value": [1]}),
    "output error-text": output({"type": "error-text", "value": "e"}),
    "output execution-denied": output({"type": "execution-denied"}),
    "output execution-denied with a reason": output({"type": "execution-denied", "reason": "r"}),
    "output with provider options": output({"type": "text", "value": "", "providerOptions": {"p": {}}}),
    "output content of nothing": output({"type": "content", "value": []}),
    "output content with any provider options": output(
        {"type": "content", "value": [], "providerOptions": 1}
    ),
    "content text": item(type="text", text="x"),
    "content media": item(type="media", data="aGk=", mediaType="a/b"),
    "content media with any provider options": item(type="media", data="", mediaType="", providerOptions=3),
    "content file-data": item(type="file-data", data="aGk=", mediaType="a/b", filename="f"),
    "content file-url": item(type="file-url", url="u"),
    "content file-id": item(type="file-id", fileId="f"),
    "content file-id per provider": item(type="file-id", fileId={"p": "f"}),
    "content image-data": item(type="image-data", data="aGk=", mediaType="a/b"),
    "content image-url": item(type="image-url", url="u"),
    "content image-file-id": item(type="image-file-id", fileId={}),
    "content custom": item(type="custom", providerOptions={"p": {"x": 1}}),
}

REFUSED: Final[dict[str, Any]] = {
    "a message that is a string": ["hi"],
    "a message that is null": [None],
    "a message without role": [{"content": "x"}],
    "an unknown role": [{"role": "developer", "content": "x"}],
    "a message without content": [{"role": "user"}],
    "a system message of parts": [{"role": "system", "content": [TEXT]}],
    "content that is null": user(None),
    "content that is one part": user(TEXT),
    "a tool message of text": [{"role": "tool", "content": "x"}],
    "a part that is a string": user(["x"]),
    "a part without type": user([{"text": "x"}]),
    "an unknown part": user([{"type": "audio", "data": "x"}]),
    "text that is a number": user([{"type": "text", "text": 1}]),
    "text that is missing": user([{"type": "text"}]),
    "a call of a user": user([CALL]),
    "reasoning of a user": user([{"type": "reasoning", "text": "r"}]),
    "an image of an assistant": assistant({"type": "image", "image": "aGk="}),
    "a response of an assistant": assistant(RESPONSE),
    "text of a tool": tool(TEXT),
    "a request of a tool": tool(REQUEST),
    "image bytes in our form": user([{"type": "image", "image": {"bytes": "aGk="}}]),
    "a media type that is null": user([{"type": "image", "image": "x", "mediaType": None}]),
    "a file without media type": user([{"type": "file", "data": "x"}]),
    "a filename that is null": user([{"type": "file", "data": "x", "mediaType": "a/b", "filename": None}]),
    "a call without id": assistant(without(CALL, "toolCallId")),
    "a call without name": assistant(without(CALL, "toolName")),
    "a call without input": assistant(without(CALL, "input")),
    "an id that is a number": assistant({**CALL, "toolCallId": 1}),
    "providerExecuted that is null": assistant({**CALL, "providerExecuted": None}),
    "a result without output": tool(without(RESULT, "output")),
    "an output that is a string": output("x"),
    "an unknown output": output({"type": "xml", "value": ""}),
    "output text that is a number": output({"type": "text", "value": 1}),
    "output json without value": output({"type": "json"}),
    "output error-json without value": output({"type": "error-json"}),
    "a denial whose reason is null": output({"type": "execution-denied", "reason": None}),
    "output content that is text": output({"type": "content", "value": "x"}),
    "an unknown content item": item(type="audio", data="x"),
    "media without a type": item(type="media", data="x"),
    "a file id that is a number": item(type="file-id", fileId=1),
    "a file id of numbers": item(type="file-id", fileId={"p": 1}),
    "a url that is missing": item(type="image-url"),
    "a request without call": assistant(without(REQUEST, "toolCallId")),
    "approved that is a string": tool({**RESPONSE, "approved": "yes"}),
    "approved that is missing": tool(without(RESPONSE, "approved")),
    "a reason that is null": tool({**RESPONSE, "reason": None}),
    "provider options that are null": user("x", providerOptions=None),
    "provider options that are a list": user("x", providerOptions=[]),
    "provider options of a provider that are no object": user("x", providerOptions={"p": 1}),
    "provider options of a provider that are a list": user("x", providerOptions={"p": []}),
    "a good message before a bad one": [*user("x"), {"role": "user"}],
}


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads((_SCHEMAS / "model-message.schema.json").read_text(encoding="utf-8"))
    jsonschema_rs.meta.validate(schema)
    return jsonschema_rs.validator_for(schema)


@pytest.mark.parametrize("name", ACCEPTED)
def test_the_schema_takes(validator: Any, name: str) -> None:
    validator.validate(ACCEPTED[name])


@pytest.mark.parametrize("name", REFUSED)
def test_the_schema_refuses(validator: Any, name: str) -> None:
    assert not validator.is_valid(REFUSED[name])


def test_something_that_is_no_array_is_refused_and_an_empty_one_is_not(validator: Any) -> None:
    # The package says "messages must not be empty" before it gets to its schema.
    assert validator.is_valid([])
    assert not validator.is_valid({})


@given(messages_without_bytes)
def test_what_the_codec_writes_without_bytes_passes_the_schema(validator: Any, message: Message) -> None:
    # jsonschema-rs cannot take lone surrogates, and to the schema one character is as good as another.
    text = re.sub(r"\\ud[89a-f][0-9a-f]{2}", "?", dump_json(message_to_wire(message)))
    validator.validate([parse_json(text)])


def test_spec_shows_the_same_schemas() -> None:
    spec = Path(__file__).parents[2] / "spec" / "schemas"
    frameworks = _SCHEMAS.parent / "frameworks"
    own = [*_SCHEMAS.glob("*.json"), *frameworks.glob("*/*.schema.json")]
    assert sorted(file.resolve() for file in spec.iterdir()) == sorted(own)
