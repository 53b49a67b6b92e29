"""The scripted model, on asyncio and on trio."""

from __future__ import annotations

from typing import Any, Final

import anyio
import pytest

from agentcore.agent.models import (
    LanguageModel,
    ModelError,
    ModelEvent,
    ModelRequest,
    ModelResponse,
    PartDone,
    ReasoningDelta,
    ResponseDone,
    ScriptedModel,
    TextDelta,
    ToolInputDelta,
    Usage,
)
from agentcore.agent.models.base import holds_history
from agentcore.agent.models.scripted import Script
from agentcore.errors import WireError
from agentcore.messages.content import (
    ContentPart,
    GeneratedFile,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolApprovalRequest,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentcore.messages.messages import UserMessage

pytestmark = pytest.mark.anyio

REQUEST: Final = ModelRequest(prompt=[UserMessage("hi")])
OTHER: Final = ModelRequest(prompt=[UserMessage("ho")])
CALL: Final = ToolCall(tool_call_id="c", tool_name="t", input={"a": [1]})
INVALID: Final = ToolCall(
    tool_call_id="d", tool_name="t", input='{"a"', invalid=True, dynamic=True, error="e"
)
PARTS: Final[list[ContentPart]] = [
    GeneratedReasoning("think"),
    GeneratedText("hello"),
    GeneratedText(""),
    Source({"id": "s"}),
    CALL,
    INVALID,
]


async def events_of(model: LanguageModel, request: ModelRequest = REQUEST) -> list[ModelEvent]:
    async with model.stream(request) as events:
        return [event async for event in events]


async def test_answers_come_in_the_order_of_the_calls_and_then_there_is_nothing() -> None:
    model = ScriptedModel([[GeneratedText("a")], [CALL]])
    assert await model.generate(REQUEST) == ModelResponse([GeneratedText("a")], finish_reason="stop")
    assert await model.generate(REQUEST) == ModelResponse([CALL], finish_reason="tool-calls")
    assert await model.generate(REQUEST) == ModelResponse([], finish_reason="stop")


@pytest.mark.parametrize("chunk", [None, 1, 3, 100])
async def test_a_stream_is_the_answer_of_generate_in_pieces(chunk: int | None) -> None:
    whole = await ScriptedModel([PARTS]).generate(REQUEST)
    events = await events_of(ScriptedModel([PARTS], chunk=chunk))
    assert events[-1] == ResponseDone(whole)
    assert [event.part for event in events if isinstance(event, PartDone)] == list(whole.content)
    assert sum(isinstance(event, ResponseDone) for event in events) == 1
    text: dict[str, str] = {}
    for event in events:
        match event:
            case TextDelta() | ReasoningDelta():
                text[event.id] = text.get(event.id, "") + event.text
            case ToolInputDelta():
                assert event.tool_name == "t"
                text[event.tool_call_id] = text.get(event.tool_call_id, "") + event.text
            case _:
                pass
    assert text == {"0": "think", "1": "hello", "c": '{"a":[1]}', "d": '{"a"'}


async def test_pieces_have_the_length_that_was_asked_for() -> None:
    events = await events_of(ScriptedModel([[GeneratedText("hello")]], chunk=2))
    assert events[:-2] == [TextDelta("0", "he"), TextDelta("0", "ll"), TextDelta("0", "o")]


def test_pieces_have_a_length() -> None:
    with pytest.raises(ValueError, match="chunk is 1 or more"):
        ScriptedModel([], chunk=0)


async def test_every_call_is_recorded_as_it_was_made() -> None:
    model = ScriptedModel([[], OSError("down")], model_id="m")
    assert (model.provider, model.model_id, model.calls) == ("scripted", "m", ())
    await model.generate(REQUEST)
    with pytest.raises(OSError, match="down"):
        await model.generate(OTHER)
    await events_of(model)
    assert model.calls == (REQUEST, OTHER, REQUEST)
    assert model.calls[1] is OTHER
    assert repr(model) == "ScriptedModel(model_id='m', calls=3)"


async def test_an_exception_in_the_script_is_raised_at_its_call() -> None:
    down = ModelError("down", retryable=True)
    model = ScriptedModel([down, [GeneratedText("up")], down])
    with pytest.raises(ModelError) as caught:
        await model.generate(REQUEST)
    assert caught.value is down
    assert (await model.generate(REQUEST)).content[0] == GeneratedText("up")
    with pytest.raises(ModelError):
        await events_of(model)


async def test_an_exception_among_the_parts_breaks_the_stream_there() -> None:
    model = ScriptedModel([[GeneratedText("a"), OSError("broken"), GeneratedText("b")]] * 2)
    async with model.stream(REQUEST) as events:
        assert await anext(events) == TextDelta("0", "a")
        assert await anext(events) == PartDone(GeneratedText("a"))
        with pytest.raises(OSError, match="broken"):
            await anext(events)
    with pytest.raises(OSError, match="broken"):
        await model.generate(REQUEST)


async def test_a_whole_response_is_given_as_it_is() -> None:
    response = ModelResponse(PARTS, finish_reason="length", usage=Usage(1, 2), response_id="r")
    model = ScriptedModel([response, response])
    assert await model.generate(REQUEST) is response
    assert (await events_of(model))[-1] == ResponseDone(response)


async def test_a_function_answers_requests() -> None:
    async def later(request: ModelRequest) -> list[ContentPart | Exception]:
        await anyio.lowlevel.checkpoint()
        return [GeneratedText(str(request.prompt[0].content))]

    functions: list[Script] = [later, lambda request: [GeneratedText(str(request.prompt[0].content))]]
    for function in functions:
        model = ScriptedModel(function)
        assert [(await model.generate(r)).content[0] for r in (REQUEST, OTHER)] == [
            GeneratedText("hi"),
            GeneratedText("ho"),
        ]
        assert model.calls == (REQUEST, OTHER)


async def test_calls_at_once_get_the_answers_in_the_order_they_were_made() -> None:
    model = ScriptedModel([[GeneratedText(str(index))] for index in range(10)], delay=0.001)
    answers: dict[int, ModelResponse] = {}

    async def ask(index: int) -> None:
        answers[index] = await model.generate(ModelRequest(prompt=[UserMessage(str(index))]))

    async with anyio.create_task_group() as group:
        for index in range(10):
            group.start_soon(ask, index)
    for index, request in enumerate(model.calls):
        asked = int(str(request.prompt[0].content))
        assert answers[asked].content[0] == GeneratedText(str(index))


async def test_a_call_can_be_cancelled_while_it_waits() -> None:
    model = ScriptedModel([[GeneratedText("late")]], delay=60)
    with anyio.move_on_after(0.01) as scope:
        await model.generate(REQUEST)
    assert scope.cancelled_caught
    assert model.calls == (REQUEST,)


async def test_a_stream_can_be_left_early() -> None:
    model = ScriptedModel([PARTS], chunk=1)
    async with model.stream(REQUEST) as events:
        assert await anext(events) == ReasoningDelta("0", "t")
    with pytest.raises(StopAsyncIteration):
        await anext(events)


# ---------------------------------------------------------------- parts as JSON


@pytest.mark.parametrize(
    ("json", "part"),
    [
        ({"type": "text", "text": "a", "providerMetadata": {"p": {}}}, GeneratedText("a", {"p": {}})),
        ({"type": "reasoning", "text": "a"}, GeneratedReasoning("a")),
        ({"type": "file", "data": "eA==", "mediaType": "a/b"}, GeneratedFile("eA==", "a/b")),
        ({"type": "source", "sourceType": "url", "id": "s"}, Source({"sourceType": "url", "id": "s"})),
        ({"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {"a": [1]}}, CALL),
        ({"type": "tool-call", "tool_call_id": "c", "tool_name": "t", "input": {"a": [1]}}, CALL),
        (
            {
                "type": "tool-result",
                "toolCallId": "c",
                "toolName": "t",
                "output": 1,
                "providerExecuted": True,
            },
            ToolResult(tool_call_id="c", tool_name="t", output=1, provider_executed=True),
        ),
        (
            {"type": "tool-error", "toolCallId": "c", "toolName": "t", "error": "e"},
            ToolError(tool_call_id="c", tool_name="t", error="e"),
        ),
        (
            {
                "type": "tool-approval-request",
                "approvalId": "a",
                "toolCall": {"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": {"a": [1]}},
            },
            ToolApprovalRequest("a", CALL),
        ),
    ],
)
async def test_a_part_may_be_given_as_json(json: Any, part: ContentPart) -> None:
    assert list((await ScriptedModel([[json]]).generate(REQUEST)).content) == [part]
    assert list((await ScriptedModel(lambda _: [json]).generate(REQUEST)).content) == [part]


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"type": "song"}, "$[1][1].type"),
        ({"type": "text", "txt": "a"}, "$[1][1]"),
        ({"type": "text"}, "$[1][1]"),
        ({"type": "tool-approval-request", "approvalId": "a", "toolCall": {}}, "$[1][1].toolCall.type"),
        ({"type": "tool-approval-request", "approvalId": "a"}, "$[1][1]"),
        (1, "$[1][1]"),
    ],
)
def test_json_that_is_no_part_is_refused_with_its_path(part: Any, path: str) -> None:
    with pytest.raises(WireError) as caught:
        ScriptedModel([[], [GeneratedText("a"), part]])
    assert caught.value.path == path


async def test_a_model_holds_the_history_if_it_is_said_to() -> None:
    assert holds_history(ScriptedModel([], holds_history=True))
    assert not holds_history(ScriptedModel([]))
