"""What pydantic-ai's models answer, as ours."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic_ai import messages as theirs
from pydantic_core import to_jsonable_python

from agentcore.agent.models.base import (
    ModelEvent,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
    ToolInputDelta,
    Usage,
)
from agentcore.errors import InvalidJsonError
from agentcore.messages.content import (
    ContentPart,
    GeneratedFile,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentcore.messages.values import dump_json, parse_json

__all__ = ["Deltas", "to_response"]

_FINISH_REASONS: Final = {
    "stop": "stop",
    "length": "length",
    "content_filter": "content-filter",
    "tool_call": "tool-calls",
    "error": "error",
}


def to_response(answer: theirs.ModelResponse, provider: str, warnings: tuple[str, ...]) -> ModelResponse:
    """The answer of that provider; `warnings` are those of the request."""
    left_out: list[str] = []
    content: list[ContentPart] = []
    for part in answer.parts:
        found = list(_parts(part, provider))
        content += found
        if not found:
            left_out.append(f"a {part.part_kind} part of the answer was left out")
    details = _json(answer.provider_details)
    return ModelResponse(
        content,
        finish_reason=_FINISH_REASONS.get(answer.finish_reason or "", "other"),
        usage=Usage(
            answer.usage.input_tokens,
            answer.usage.output_tokens,
            cached_input_tokens=answer.usage.cache_read_tokens,
            reasoning_tokens=answer.usage.details.get("reasoning_tokens", 0),
        ),
        model_id=answer.model_name,
        response_id=answer.provider_response_id,
        provider_metadata={provider: details} if details else None,
        warnings=(*warnings, *left_out),
    )


def _parts(part: theirs.ModelResponsePart, provider: str) -> Iterator[ContentPart]:
    match part:
        case theirs.TextPart():
            yield GeneratedText(part.content, _metadata(part, provider))
            yield from _sources(part)
        case theirs.ThinkingPart():
            yield GeneratedReasoning(part.content, _metadata(part, provider))
        case theirs.ToolCallPart() | theirs.NativeToolCallPart():
            yield _call(part, provider)
        case theirs.NativeToolReturnPart():
            yield _result(part, provider)
        case theirs.FilePart():
            data = base64.b64encode(part.content.data).decode("ascii")
            yield GeneratedFile(data, part.content.media_type, provider_metadata=_metadata(part, provider))
        case _:
            pass


def _metadata(part: Any, provider: str) -> dict[str, Any] | None:
    """What only the provider understands, under its name: it comes back to it as provider options."""
    fields = {
        "id": part.id if hasattr(part, "id") else None,
        "signature": getattr(part, "signature", None) or None,
        "details": _json(part.provider_details),
    }
    told = {name: value for name, value in fields.items() if value is not None}
    return {part.provider_name or provider: told} if told else None


def _json(value: Mapping[str, Any] | None) -> Any:
    return to_jsonable_python(value) if value else None


def _sources(part: theirs.TextPart) -> Iterator[Source]:
    cited = [source for citation in part.citations or () for source in citation.sources]
    for index, source in enumerate(cited):
        if isinstance(source, theirs.WebCitationSource):
            title = {} if source.title is None else {"title": source.title}
            yield Source({"sourceType": "url", "id": f"source-{index}", "url": source.url, **title})


def _call(part: theirs.ToolCallPart | theirs.NativeToolCallPart, provider: str) -> ToolCall:
    native = isinstance(part, theirs.NativeToolCallPart)
    fields: dict[str, Any] = {
        "tool_call_id": part.tool_call_id,
        "tool_name": part.tool_name,
        "provider_metadata": _metadata(part, provider),
        # No tool of ours has the name of a provider's, and what it does is its own business.
        "provider_executed": True if native else None,
        "dynamic": True if native else None,
    }
    if not isinstance(part.args, str) or not part.args:
        return ToolCall(**fields, input=part.args or {})
    try:
        return ToolCall(**fields, input=parse_json(part.args))
    except InvalidJsonError as error:
        # In the form of InvalidToolInputError of agentcore.agent.tools: the model is shown it as the call's
        # result.
        text = f"Invalid input for tool '{part.tool_name}':\n{error}\nCall it again with valid input."
        return ToolCall(**fields | {"dynamic": True}, input=part.args, invalid=True, error=text)


def _result(part: theirs.NativeToolReturnPart, provider: str) -> ToolResult | ToolError:
    fields: dict[str, Any] = {
        "tool_call_id": part.tool_call_id,
        "tool_name": part.tool_name,
        "provider_executed": True,
        "dynamic": True,
        "provider_metadata": _metadata(part, part.provider_name or provider),
    }
    content = to_jsonable_python(part.content)
    if part.outcome == "success":
        return ToolResult(**fields, output=content)
    return ToolError(**fields, error=content)


class Deltas:
    """The events of a stream as ours; the parts themselves are those of the answer at its end."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[str, str]] = {}

    def of(self, event: object) -> Iterator[ModelEvent]:
        """What an event adds to texts and inputs; nothing, for most events."""
        match event:
            case theirs.PartStartEvent(index=index, part=part):
                yield from self._start(index, part)
            case theirs.PartDeltaEvent(index=index, delta=delta):
                yield from self._more(index, delta)
            case _:
                pass

    def _start(self, index: int, part: theirs.ModelResponsePart) -> Iterator[ModelEvent]:
        match part:
            case theirs.TextPart(content=text) if text:
                yield TextDelta(str(index), text)
            case theirs.ThinkingPart(content=text) if text:
                yield ReasoningDelta(str(index), text)
            case theirs.ToolCallPart() | theirs.NativeToolCallPart():
                self._calls[index] = (part.tool_call_id, part.tool_name)
                yield from self._input(index, part.args)
            case _:
                pass

    def _more(self, index: int, delta: object) -> Iterator[ModelEvent]:
        match delta:
            case theirs.TextPartDelta(content_delta=text) if text:
                yield TextDelta(str(index), text)
            case theirs.ThinkingPartDelta(content_delta=text) if text:
                yield ReasoningDelta(str(index), text)
            case theirs.ToolCallPartDelta(args_delta=text):
                yield from self._input(index, text)
            case _:
                pass

    def _input(self, index: int, text: object) -> Iterator[ModelEvent]:
        if text:
            call_id, name = self._calls[index]
            yield ToolInputDelta(call_id, name, text=text if isinstance(text, str) else dump_json(text))
