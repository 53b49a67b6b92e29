"""Answers of pydantic-ai's models become parts of ours, whatever is in them."""

from __future__ import annotations

import importlib
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic_ai import messages as theirs
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.usage import RequestUsage

from agentcore.agent.models import ModelError, ModelRequest, ModelResponse, ResponseDone, ToolInputDelta
from agentcore.agent.models._pydantic_ai_request import Deltas, to_response
from agentcore.agent.models.pydantic_ai import PydanticAIModel
from agentcore.messages.content import (
    GeneratedFile,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentcore.messages.messages import UserMessage
from agentcore.messages.values import thaw

REQUEST = ModelRequest(prompt=[UserMessage("hi")])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def read(*parts: theirs.ModelResponsePart, **fields: Any) -> ModelResponse:
    return to_response(theirs.ModelResponse(parts=list(parts), **fields), "maker", ("of the request",))


def test_a_text_with_citations_is_followed_by_its_sources() -> None:
    cited = [
        theirs.Citation([theirs.WebCitationSource("https://x.org", title="X")]),
        theirs.Citation(
            [theirs.DocumentCitationSource(document_id="d"), theirs.WebCitationSource("https://y.org")]
        ),
    ]
    assert list(read(theirs.TextPart("hi", citations=cited)).content) == [
        GeneratedText("hi"),
        Source({"sourceType": "url", "id": "source-0", "url": "https://x.org", "title": "X"}),
        Source({"sourceType": "url", "id": "source-2", "url": "https://y.org"}),
    ]


def test_what_only_the_provider_understands_is_kept_under_its_name() -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    text = theirs.TextPart("a", id="i", provider_name="other", provider_details={"when": when})
    thought = theirs.ThinkingPart("b", signature="s")
    assert list(read(text, thought).content) == [
        GeneratedText("a", {"other": {"id": "i", "details": {"when": "2026-01-01T00:00:00Z"}}}),
        GeneratedReasoning("b", {"maker": {"signature": "s"}}),
    ]


def test_a_file_is_base64_text() -> None:
    file = theirs.FilePart(theirs.BinaryContent(b"x", media_type="image/png"), id="i")
    assert list(read(file).content) == [
        GeneratedFile("eA==", "image/png", provider_metadata={"maker": {"id": "i"}})
    ]


def test_calls_that_the_provider_ran_have_their_results() -> None:
    call = theirs.NativeToolCallPart("web_search", {"query": "q"}, tool_call_id="c", provider_name="maker")
    found = theirs.NativeToolReturnPart(
        "web_search", [{"url": "u"}], tool_call_id="c", provider_name="maker", provider_details={"k": 1}
    )
    failed = theirs.NativeToolReturnPart("web_search", "down", tool_call_id="c", outcome="failed")
    by_provider: dict[str, Any] = {
        "tool_call_id": "c",
        "tool_name": "web_search",
        "provider_executed": True,
        "dynamic": True,
    }
    assert list(read(call, found, failed).content) == [
        ToolCall(**by_provider, input={"query": "q"}),
        ToolResult(**by_provider, output=[{"url": "u"}], provider_metadata={"maker": {"details": {"k": 1}}}),
        ToolError(**by_provider, error="down"),
    ]


def test_parts_of_unknown_kinds_are_left_out_and_named() -> None:
    response = read(theirs.CompactionPart("short"), theirs.TextPart("a"))
    assert list(response.content) == [GeneratedText("a")]
    assert response.warnings == ("of the request", "a compaction part of the answer was left out")


def test_usage_reason_and_details_are_read() -> None:
    usage = RequestUsage(
        input_tokens=1, output_tokens=2, cache_read_tokens=3, details={"reasoning_tokens": 4}
    )
    response = read(usage=usage, provider_details={"a": {"b": 1}}, finish_reason="error", model_name="m")
    assert (response.usage.cached_input_tokens, response.usage.reasoning_tokens) == (3, 4)
    assert thaw(response.provider_metadata) == {"maker": {"a": {"b": 1}}}
    assert (response.finish_reason, response.model_id) == ("error", "m")
    assert read().finish_reason == "other"


def test_inputs_of_a_stream_may_come_as_objects_and_not_at_all() -> None:
    deltas = Deltas()
    started = theirs.PartStartEvent(index=0, part=theirs.ToolCallPart("t", tool_call_id="c"))
    more = theirs.PartDeltaEvent(index=0, delta=theirs.ToolCallPartDelta(args_delta={"a": 1}))
    nothing = theirs.PartDeltaEvent(index=0, delta=theirs.ToolCallPartDelta(tool_name_delta="x"))
    assert list(deltas.of(started)) == []
    assert list(deltas.of(more)) == [ToolInputDelta("c", "t", text='{"a":1}')]
    assert list(deltas.of(nothing)) == []


@pytest.mark.anyio
async def test_a_model_of_the_librarys_own_can_be_used() -> None:
    def answers(_messages: list[theirs.ModelMessage], _info: AgentInfo) -> theirs.ModelResponse:
        return theirs.ModelResponse([theirs.ToolCallPart("t", '{"a": 1}', tool_call_id="c")])

    async def streams(_messages: list[theirs.ModelMessage], _info: AgentInfo) -> Any:
        calls: DeltaToolCalls = {0: DeltaToolCall(name="t", json_args='{"a": 1}', tool_call_id="c")}
        yield calls

    function = FunctionModel(answers, stream_function=streams)
    model = PydanticAIModel(function, require_finish_reason=False)
    assert (model.holds_history, PydanticAIModel(function, holds_history=True).holds_history) == (False, True)
    whole = await model.generate(REQUEST)
    assert whole.content[0] == ToolCall(tool_call_id="c", tool_name="t", input={"a": 1})
    async with model.stream(REQUEST) as events:
        last = [event async for event in events][-1]
    assert isinstance(last, ResponseDone)
    assert last.response.content == whole.content


@pytest.mark.anyio
async def test_an_answer_that_is_no_json_value_is_malformed() -> None:
    def answers(_messages: list[theirs.ModelMessage], _info: AgentInfo) -> theirs.ModelResponse:
        return theirs.ModelResponse([theirs.ToolCallPart("t", {"a": float("nan")}, tool_call_id="c")])

    with pytest.raises(ModelError, match="InvalidJsonError"):
        await PydanticAIModel(FunctionModel(answers)).generate(REQUEST)


def test_without_the_extra_the_import_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai.direct", None)
    monkeypatch.delitem(sys.modules, "agentcore.agent.models.pydantic_ai")
    with pytest.raises(ImportError, match=r"pip install 'agentcore-reference\[providers\]'"):
        importlib.import_module("agentcore.agent.models.pydantic_ai")


class Plain(FunctionModel):
    unsupported_settings = frozenset({"max_retries"})


@pytest.mark.anyio
async def test_a_model_whose_client_never_retries_is_not_told_so() -> None:
    seen: list[Any] = []

    def answers(_messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        seen.append(info.model_settings)
        return theirs.ModelResponse([])

    for model in (Plain(answers), FunctionModel(answers)):
        assert (await PydanticAIModel(model).generate(REQUEST)).warnings == ()
    assert seen == [{}, {"max_retries": 0}]
