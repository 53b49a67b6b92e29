"""The values that agents and models exchange cannot change, and are checked when they are made."""

from __future__ import annotations

import copy
import pickle
from typing import Any, Final

import attrs
import pytest

from agentcore.agent.models import (
    ModelError,
    ModelRequest,
    ModelResponse,
    PartDone,
    ReasoningDelta,
    ResponseDone,
    TextDelta,
    ToolDefinition,
    ToolInputDelta,
    Usage,
)
from agentcore.errors import AgentCoreError, ImmutableWriteError, InvalidJsonError, InvalidOverrideError
from agentcore.messages.content import GeneratedText
from agentcore.messages.messages import UserMessage
from agentcore.messages.values import FrozenDict
from test_public_values import CLASSES, mutable_parts

TOOL: Final = ToolDefinition(
    "t", description="d", input_schema={"type": "object", "properties": {"a": {}}}, provider_options={"p": {}}
)
REQUEST: Final = ModelRequest(
    prompt=[UserMessage("hi")],
    tools=[TOOL],
    tool_choice={"type": "tool", "toolName": "t"},
    settings={"stop_sequences": ["x"]},
    provider_options={"p": {"a": [1]}},
    response_format={"type": "json", "schema": {"type": "object"}},
)
RESPONSE: Final = ModelResponse(
    [GeneratedText("hi")],
    finish_reason="stop",
    usage=Usage(1, 2),
    provider_metadata={"p": {"a": [1]}},
    warnings=["w"],
)
VALUES: Final = (
    TOOL,
    REQUEST,
    RESPONSE,
    Usage(1, 2),
    TextDelta("0", "x"),
    ReasoningDelta("0", "x"),
    ToolInputDelta("c", "t", text="{"),
    PartDone(GeneratedText("x")),
    ResponseDone(RESPONSE),
)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_is_hashable_deeply_immutable_and_survives_a_pickle(
    value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in map(type, VALUES):
        monkeypatch.setitem(CLASSES, kind.__name__, kind)
    assert list(mutable_parts(value)) == []
    assert hash(value) == hash(attrs.evolve(value))
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) is value
    with pytest.raises(ImmutableWriteError):
        value.anything = 1


def test_usages_add_up() -> None:
    first = Usage(1, 2, cached_input_tokens=3, reasoning_tokens=4)
    second = Usage(10, 20, cached_input_tokens=30, reasoning_tokens=40)
    assert first + second == Usage(11, 22, cached_input_tokens=33, reasoning_tokens=44)
    assert sum([first, second], Usage()).total_tokens == 33
    with pytest.raises(TypeError):
        first + 1


def test_a_request_is_compared_as_json_is() -> None:
    assert ModelRequest(prompt=[], settings={"a": 1, "b": 2}) == ModelRequest(
        prompt=[], settings={"b": 2, "a": 1.0}
    )
    assert ModelRequest(prompt=[], settings={"a": 1}) != ModelRequest(prompt=[], settings={"a": True})


def test_a_request_without_settings_has_none() -> None:
    request = ModelRequest(prompt=[])
    assert request.settings == FrozenDict()
    assert request.tools is None
    assert request.tool_choice is None
    assert request.provider_options is None
    assert request.response_format is None


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"settings": [1]}, "$.settings"),
        ({"settings": {"a": {1, 2}}}, "$.settings.a"),
        ({"provider_options": "x"}, "$.provider_options"),
        ({"response_format": [1]}, "$.response_format"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_path(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidJsonError) as caught:
        ModelRequest(prompt=[], **fields)
    assert caught.value.path == path


def test_a_schema_that_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidJsonError, match=r"\$\.input_schema: expected an object, got str"):
        ToolDefinition("t", input_schema="object")  # type: ignore[arg-type] # this is what is tested


def test_a_tool_choice_is_checked_and_may_be_short() -> None:
    short: Any = "required"
    assert ModelRequest(prompt=[], tool_choice=short).tool_choice == FrozenDict({"type": "required"})
    with pytest.raises(InvalidOverrideError):
        ModelRequest(prompt=[], tool_choice={"type": "maybe"})


# ---------------------------------------------------------------- errors


def test_an_error_says_who_failed_and_how() -> None:
    error = ModelError("slow down", status=429, retryable=True, retry_after=2.0, provider="p", model_id="m")
    assert str(error) == "p m: HTTP 429: slow down"
    assert str(ModelError("gone")) == "gone"
    assert isinstance(error, AgentCoreError)
    assert error.wire_name == "ModelError"


def test_the_body_in_an_error_is_bounded() -> None:
    assert ModelError("x", body="y" * 500).body == "y" * 500
    assert ModelError("x", body="y" * 501).body == "y" * 500 + "…"


def test_an_error_survives_a_pickle_with_its_fields() -> None:
    error = ModelError(
        "slow", status=429, retryable=True, retry_after=1.5, provider="p", model_id="m", body="b"
    )
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is ModelError
    assert vars(again) == vars(error)
    assert str(again) == str(error)
