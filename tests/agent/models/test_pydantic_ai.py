"""Answers of real protocols over HTTP on loopback: what comes back, whole and in a stream."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agent.models.server import ANTHROPIC, OPENAI, Answer, Call, Text, Thinking
from agent.models.talk import BOTH, answered, asking, stream_events, talking
from agentcore.agent.models import (
    ModelError,
    ModelRequest,
    PartDone,
    ReasoningDelta,
    ResponseDone,
    TextDelta,
    ToolDefinition,
    ToolInputDelta,
    Usage,
)
from agentcore.agent.models.pydantic_ai import PydanticAIModel
from agentcore.messages.content import GeneratedReasoning, GeneratedText, ToolCall, to_response_messages
from agentcore.messages.messages import JsonOutput, Message, ToolMessage, ToolResultPart, UserMessage

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("protocol", BOTH)]

FULL: Final = Answer(
    [
        Thinking("let me see", "signed"),
        Text("hello there"),
        Call("c1", "weather", '{"city": "Paris"}'),
        Call("c2", "weather", '{"city": "Oslo", "days": [1, 2]}'),
    ],
    finish="tool_calls",
    tokens=(100, 20),
    cached=30,
    reasoning=8,
)
MODEL_IDS: Final = {OPENAI: "gpt-test-2026", ANTHROPIC: "claude-test-2026"}
WEATHER: Final = ToolDefinition(
    "weather",
    description="of a city",
    input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
THOUGHT_BY: Final = {
    OPENAI: {"openai": {"id": "reasoning_content"}},
    ANTHROPIC: {"anthropic": {"signature": "signed"}},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_an_answer_has_the_parts_the_usage_and_the_reason(protocol: str) -> None:
    response = await answered(protocol, FULL, asking(tools=[WEATHER]))
    assert list(response.content) == [
        GeneratedReasoning("let me see", THOUGHT_BY[protocol]),
        GeneratedText("hello there"),
        ToolCall(tool_call_id="c1", tool_name="weather", input={"city": "Paris"}),
        ToolCall(tool_call_id="c2", tool_name="weather", input={"city": "Oslo", "days": [1, 2]}),
    ]
    assert response.finish_reason == "tool-calls"
    # Anthropic does not tell how many of the tokens were reasoning.
    reasoning = 8 if protocol == OPENAI else 0
    assert response.usage == Usage(100, 20, cached_input_tokens=30, reasoning_tokens=reasoning)
    assert response.model_id == MODEL_IDS[protocol]
    assert response.response_id in ("chatcmpl-1", "msg_1")
    assert response.warnings == ()


async def test_a_stream_has_deltas_and_ends_with_the_answer_of_generate(protocol: str) -> None:
    async with talking(protocol, FULL, FULL) as (model, provider):
        whole = await model.generate(asking(tools=[WEATHER]))
        events = await stream_events(model, asking(tools=[WEATHER]))
        assert provider.requests[1].body["stream"] is True
    last = events.pop()
    assert isinstance(last, ResponseDone)
    assert last.response == whole
    assert [event.part for event in events if isinstance(event, PartDone)] == list(whole.content)
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "let me see"
    texts = [event for event in events if isinstance(event, TextDelta)]
    assert [event.text for event in texts] == ["hello", " ther", "e"]
    assert len({event.id for event in texts}) == 1
    inputs: dict[str, str] = {}
    for event in events:
        if isinstance(event, ToolInputDelta):
            assert event.tool_name == "weather"
            inputs[event.tool_call_id] = inputs.get(event.tool_call_id, "") + event.text
    assert inputs == {"c1": '{"city": "Paris"}', "c2": '{"city": "Oslo", "days": [1, 2]}'}


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool-calls"),
        ("content_filter", "content-filter"),
    ],
)
async def test_reasons_have_one_name_for_all_providers(protocol: str, told: str, reason: str) -> None:
    answer = Answer([Text("x")], finish=told)
    async with talking(protocol, answer, answer) as (model, _):
        assert (await model.generate(asking())).finish_reason == reason
        last = (await stream_events(model, asking()))[-1]
        assert isinstance(last, ResponseDone)
        assert last.response.finish_reason == reason


async def test_the_next_step_sends_the_calls_and_their_results(protocol: str) -> None:
    async with talking(protocol, FULL, Answer([Text("sunny")])) as (model, provider):
        prompt: list[Message] = [UserMessage("weather?")]
        first = await model.generate(ModelRequest(prompt=prompt, tools=[WEATHER]))
        results = ToolMessage(
            [
                ToolResultPart("c1", "weather", output=JsonOutput({"sky": "clär"})),
                ToolResultPart("c2", "weather", output=JsonOutput([1, "x"])),
            ]
        )
        prompt = [*prompt, *to_response_messages(first.content), results]
        second = await model.generate(ModelRequest(prompt=prompt, tools=[WEATHER]))
        assert second.content[0] == GeneratedText("sunny")
        assert provider.requests[1].body["messages"] == SENT_BACK[protocol]


SENT_BACK: Final[dict[str, list[Any]]] = {
    OPENAI: [
        {"role": "user", "content": "weather?"},
        {
            "role": "assistant",
            "reasoning_content": "let me see",
            "content": "hello there",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Paris"}'},
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": {"name": "weather", "arguments": '{"city":"Oslo","days":[1,2]}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"sky":"clär"}'},
        {"role": "tool", "tool_call_id": "c2", "content": '[1,"x"]'},
    ],
    ANTHROPIC: [
        {"role": "user", "content": [{"type": "text", "text": "weather?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "let me see", "signature": "signed"},
                {"type": "text", "text": "hello there"},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}},
                {
                    "type": "tool_use",
                    "id": "c2",
                    "name": "weather",
                    "input": {"city": "Oslo", "days": [1, 2]},
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": '{"sky":"clär"}'}],
                    "is_error": False,
                },
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [{"type": "text", "text": '[1,"x"]'}],
                    "is_error": False,
                },
            ],
        },
    ],
}


async def test_an_input_that_is_no_json_makes_an_invalid_call_in_a_stream(protocol: str) -> None:
    answer = Answer([Call("c1", "weather", '{"city": "Par')], finish="length")
    async with talking(protocol, answer) as (model, _):
        last = (await stream_events(model, asking(tools=[WEATHER])))[-1]
    assert isinstance(last, ResponseDone)
    call = last.response.content[0]
    assert isinstance(call, ToolCall)
    assert call.input == '{"city": "Par'
    assert (call.invalid, call.dynamic) == (True, True)
    assert call.error is not None
    assert call.error.startswith("Invalid input for tool 'weather':\n$: not JSON text")


async def test_a_call_without_input_has_an_empty_object(protocol: str) -> None:
    answer = Answer([Call("c1", "now", "{}")], finish="tool_calls")
    empty = Answer([Call("c1", "now", "")], finish="tool_calls")
    async with talking(protocol, answer, empty) as (model, _):
        whole = await model.generate(asking())
        last = (await stream_events(model, asking()))[-1]
    assert isinstance(last, ResponseDone)
    assert list(whole.content) == list(last.response.content)
    assert whole.content[0] == ToolCall(tool_call_id="c1", tool_name="now", input={})


async def test_a_stream_left_early_ends_and_the_next_call_works(protocol: str) -> None:
    long = Answer([Text("x" * 200_000)])
    async with talking(protocol, long, Answer([Text("next")])) as (model, _):
        async with model.stream(asking()) as events:
            assert await anext(events) == TextDelta("0", "xxxxx")
        assert (await model.generate(asking())).content[0] == GeneratedText("next")


async def test_what_the_reader_of_a_stream_raises_is_not_the_models(protocol: str) -> None:
    async with talking(protocol, FULL) as (model, _):

        async def read() -> None:
            async with model.stream(asking()) as events:
                async for _event in events:
                    raise KeyError("mine")

        with pytest.raises(KeyError, match="mine"):
            await read()


async def test_a_model_says_who_it_is_but_not_its_key(protocol: str) -> None:
    async with talking(protocol, Answer()) as (model, _):
        assert model.provider == protocol
        assert repr(model) == f"PydanticAIModel('{protocol}:{model.model_id}')"


async def test_an_unknown_name_or_a_missing_key_is_a_model_error(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(f"{protocol.upper()}_API_KEY", raising=False)
    with pytest.raises(ModelError, match="API_KEY") as caught:
        PydanticAIModel(f"{protocol}:some-model")
    assert not caught.value.retryable
    with pytest.raises(ModelError, match="Unknown model"):
        PydanticAIModel("nobody:some-model")


async def test_a_name_finds_its_key_in_the_environment(
    protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{protocol.upper()}_API_KEY", "sk-from-the-environment")
    async with PydanticAIModel(f"{protocol}:some-model") as model:
        assert (model.provider, model.model_id) == (protocol, "some-model")
