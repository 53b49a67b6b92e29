"""Requests as pydantic-ai's settings and parameters."""

from __future__ import annotations

import base64
import binascii
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from pydantic_ai import messages as theirs
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition as TheirToolDefinition
from pydantic_core import to_jsonable_python

from agentcore.agent.models.base import (
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
    ToolDefinition,
    ToolInputDelta,
    Usage,
)
from agentcore.errors import InvalidDataContentError, InvalidJsonError
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
from agentcore.messages.converters import detect_image_media_type, read_data
from agentcore.messages.messages import (
    AssistantMessage,
    AssistantPart,
    ContentOutput,
    ErrorJsonOutput,
    ErrorTextOutput,
    FilePart,
    ImagePart,
    JsonOutput,
    Message,
    ReasoningPart,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolPart,
    ToolResultPart,
    UserMessage,
    UserPart,
)
from agentcore.messages.values import JsonObject, JsonValue, dump_json, freeze, parse_json, thaw

__all__ = ["Call", "Deltas", "PromptWriter", "to_call", "to_response"]

# Names of the AI SDK for what pydantic-ai calls otherwise.
_NAMES: Final = {"max_output_tokens": "max_tokens", "headers": "extra_headers"}
_OWN: Final = "pydantic_ai"
"""The provider options of this name are settings of pydantic-ai, by its own names."""


class Call(NamedTuple):
    """One call of a pydantic-ai model, and what of the request it leaves out."""

    messages: list[theirs.ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters
    warnings: tuple[str, ...]


def to_call(request: ModelRequest, model: Model) -> Call:
    """The call that the request is."""
    writer = PromptWriter(model.system)
    messages = writer.messages(request.prompt)
    warnings = writer.warnings
    settings = _settings(request, model, warnings)
    tools = [_tool(tool, model.system) for tool in request.tools or ()]
    if tools and request.tool_choice is not None:
        settings["tool_choice"] = _tool_choice(request.tool_choice)
    output = {} if request.response_format is None else _output(request.response_format, model, warnings)
    parameters = ModelRequestParameters(function_tools=tools, **output)
    return Call(messages, cast("ModelSettings", settings), parameters, tuple(warnings))


def _settings(request: ModelRequest, model: Model, warnings: list[str]) -> dict[str, Any]:
    known = _known_settings(model)
    given = {_NAMES.get(name, name): value for name, value in request.settings.items()}
    for name, value in _options(request.provider_options, model.system).items():
        setting = f"{model.system.replace('-', '_')}_{_snake(name)}"
        given[setting if setting in known else _snake(name)] = value
    given.update(_options(request.provider_options, _OWN))
    # Agents retry on their own, see LanguageModel.
    given["max_retries"] = 0
    settings: dict[str, Any] = {}
    for name, value in given.items():
        if name in known and name not in model.unsupported_settings:
            settings[name] = thaw(value)
        elif name != "max_retries":
            warnings.append(
                f"setting {name} was left out: {model.system} {model.model_name} has no such setting"
            )
    return settings


def _known_settings(model: Model) -> set[str]:
    # The library ignores settings that it does not know; each model's are typed dicts in its class's module.
    known = set(ModelSettings.__annotations__)
    for cls in type(model).__mro__:
        for name, value in vars(sys.modules.get(cls.__module__, object)).items():
            if name.endswith("ModelSettings"):
                known |= set(getattr(value, "__annotations__", ()))
    # It has a field of its own in requests; as a setting it would go past what the step's hooks decided.
    return known - {"tool_choice"}


def _options(options: JsonObject | None, provider: str) -> Mapping[str, Any]:
    return {} if options is None else _object(options.get(provider))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def _tool(tool: ToolDefinition, provider: str) -> TheirToolDefinition:
    strict = _options(tool.provider_options, provider).get("strict")
    return TheirToolDefinition(
        name=tool.name,
        description=tool.description,
        parameters_json_schema=thaw(tool.input_schema),
        strict=strict if isinstance(strict, bool) else None,
    )


def _tool_choice(choice: JsonObject) -> str | list[str]:
    return [str(choice["toolName"])] if choice["type"] == "tool" else str(choice["type"])


def _output(wanted: JsonObject, model: Model, warnings: list[str]) -> dict[str, Any]:
    """Structured output: by the provider's own means if it has them, else by asking for it in the prompt."""
    schema = wanted.get("schema")
    native = schema is not None and model.profile.get("supports_json_schema_output", False)
    if schema is not None and not native:
        warnings.append("the response format was asked for in the prompt: the model takes no JSON schema")
    return {
        "output_mode": "native" if native else "prompted",
        "output_object": OutputObjectDefinition(
            json_schema={"type": "object"} if schema is None else thaw(schema),
            name=_text(wanted, "name"),
            description=_text(wanted, "description"),
            strict=wanted["strict"] if isinstance(wanted.get("strict"), bool) else None,  # type: ignore[arg-type]
        ),
    }


def _text(fields: Mapping[str, Any], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def header_values(settings: Mapping[str, Any]) -> Iterable[str]:
    """The values of the headers among the settings."""
    return [value for value in _object(settings.get("extra_headers")).values() if isinstance(value, str)]


# Prompts as pydantic-ai's messages.

_DENIED: Final = "Tool execution denied."
_ANY_IMAGE: Final = "image/*"
# The names that the AI SDK's providers give to what pydantic-ai has a field for.
_ALIASES: Final = {
    "itemId": "id",
    "reasoningEncryptedContent": "signature",
    "redactedData": "signature",
}
_URLS: Final[dict[str, Any]] = {
    "image": theirs.ImageUrl,
    "audio": theirs.AudioUrl,
    "video": theirs.VideoUrl,
}


class PromptWriter:
    """Writes one prompt for one provider; `warnings` say what of it has no place there."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.warnings: list[str] = []

    def messages(self, prompt: Iterable[Message]) -> list[theirs.ModelMessage]:
        """The prompt: what stands between two answers of the model is one request, each answer a response."""
        written: list[theirs.ModelMessage] = []
        request: list[theirs.ModelRequestPart] = []
        for message in prompt:
            if not isinstance(message, AssistantMessage):
                request += self._request_parts(message)
                continue
            if request:
                written.append(theirs.ModelRequest(parts=request))
                request = []
            parts = list(self._response_parts(message))
            written.append(theirs.ModelResponse(parts=parts, provider_name=self.provider))
        if request:
            written.append(theirs.ModelRequest(parts=request))
        return written

    # ------------------------------------------------------------ the request to the model

    def _request_parts(
        self, message: SystemMessage | UserMessage | ToolMessage
    ) -> Iterator[theirs.ModelRequestPart]:
        match message:
            case SystemMessage():
                if _fields(message.provider_options, self.provider):
                    self._left_out("provider options of a system message")
                yield theirs.SystemPromptPart(message.content)
            case UserMessage():
                yield theirs.UserPromptPart(self._user_content(message))
            case _:
                for part in message.content:
                    yield from self._tool_part(part)

    def _user_content(self, message: UserMessage) -> str | list[theirs.UserContent]:
        if isinstance(message.content, str):
            return message.content
        content = [item for part in message.content for item in self._user_part(part)]
        content += self._cache_point(message.provider_options)
        # One plain text is what it is, not a list of one: some providers take only text.
        return content[0] if len(content) == 1 and isinstance(content[0], str) else content

    def _user_part(self, part: UserPart) -> Iterator[theirs.UserContent]:
        match part:
            case TextPart():
                yield part.text
            case ImagePart():
                media_type = part.media_type or _ANY_IMAGE
                yield self._file(part.image, media_type, options=part.provider_options)
            case _:
                yield self._file(part.data, part.media_type, part.filename, part.provider_options)
        yield from self._cache_point(part.provider_options)

    def _cache_point(self, options: JsonObject | None) -> Iterator[theirs.CachePoint]:
        control = _fields(options, self.provider).get("cacheControl")
        if isinstance(control, Mapping):
            yield theirs.CachePoint(ttl="1h" if control.get("ttl") == "1h" else "5m")

    def _file(
        self,
        data: str | bytes,
        media_type: str,
        filename: str | None = None,
        options: JsonObject | None = None,
    ) -> theirs.ImageUrl | theirs.AudioUrl | theirs.VideoUrl | theirs.DocumentUrl | theirs.BinaryContent:
        inline, told, address = read_data(data)
        media_type = told or media_type
        details = _fields(options, self.provider)
        detail = details.get("imageDetail", details.get("detail"))
        vendor = None if detail is None else {"detail": detail}
        if address is not None and isinstance(inline, str):
            exact = None if media_type.endswith("/*") else media_type
            kind = _URLS.get(media_type.partition("/")[0], theirs.DocumentUrl)
            return cast(
                "theirs.ImageUrl",
                kind(url=inline, media_type=exact, identifier=filename, vendor_metadata=vendor),
            )
        raw = inline if isinstance(inline, bytes) else _decoded(inline)
        if media_type == _ANY_IMAGE:
            media_type = detect_image_media_type(raw) or "image/jpeg"
        return theirs.BinaryContent(raw, media_type=media_type, identifier=filename, vendor_metadata=vendor)

    def _tool_part(self, part: ToolPart) -> Iterator[theirs.ModelRequestPart]:
        if not isinstance(part, ToolResultPart):
            self._left_out("an approval of a call that the provider runs")
            return
        content, outcome = self._output(part.output)
        yield theirs.ToolReturnPart(part.tool_name, content, tool_call_id=part.tool_call_id, outcome=outcome)

    def _output(self, output: ToolOutput) -> tuple[Any, Any]:
        match output:
            case TextOutput():
                return output.value, "success"
            case JsonOutput():
                return _json_text(output.value), "success"
            case ContentOutput():
                return [item for value in output.value for item in self._item(value)], "success"
            case ErrorTextOutput():
                return output.value, "failed"
            case ErrorJsonOutput():
                return _json_text(output.value), "failed"
            case _:
                return output.reason or _DENIED, "denied"

    def _item(self, item: JsonValue) -> Iterator[Any]:
        fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
        match fields.get("type"):
            case "text":
                yield str(fields.get("text", ""))
            case "image-data" | "file-data" | "media":
                filename = fields.get("filename")
                yield self._file(str(fields.get("data", "")), str(fields.get("mediaType")), filename)
            case "image-url":
                yield self._file(str(fields.get("url")), _ANY_IMAGE)
            case "file-url":
                yield self._file(str(fields.get("url")), str(fields.get("mediaType", "")))
            case kind:
                self._left_out(f"a {kind} item of a tool's output")

    # ------------------------------------------------------------ what the model said

    def _response_parts(self, message: AssistantMessage) -> Iterator[theirs.ModelResponsePart]:
        if isinstance(message.content, str):
            yield theirs.TextPart(message.content)
            return
        for part in message.content:
            yield from self._response_part(part)

    def _response_part(self, part: AssistantPart) -> Iterator[theirs.ModelResponsePart]:
        match part:
            case TextPart():
                yield theirs.TextPart(part.text, **self._origin(part.provider_options))
            case ReasoningPart():
                yield self._thinking(part)
            case ToolCallPart():
                yield self._call(part)
            case ToolResultPart():
                content, outcome = self._output(part.output)
                origin = self._origin(part.provider_options)
                yield theirs.NativeToolReturnPart(
                    part.tool_name,
                    content,
                    tool_call_id=part.tool_call_id,
                    outcome=outcome,
                    provider_name=origin["provider_name"] or self.provider,
                    provider_details=origin["provider_details"],
                )
            case FilePart():
                file = self._file(part.data, part.media_type, part.filename)
                if isinstance(file, theirs.BinaryContent):
                    yield theirs.FilePart(file, **self._origin(part.provider_options))
                else:
                    self._left_out("a file that the model made, given by URL")
            case _:
                self._left_out("a request for approval")

    def _thinking(self, part: ReasoningPart) -> theirs.ThinkingPart:
        origin = self._origin(part.provider_options)
        fields = _fields(part.provider_options, origin["provider_name"] or "")
        signature = _aliased(fields, "signature")
        if "redactedData" in fields:
            origin["id"] = "redacted_thinking"
        return theirs.ThinkingPart(part.text, signature=signature, **origin)

    def _call(self, part: ToolCallPart) -> theirs.ToolCallPart | theirs.NativeToolCallPart:
        kind: Any = theirs.NativeToolCallPart if part.provider_executed else theirs.ToolCallPart
        origin = self._origin(part.provider_options)
        if part.provider_executed and origin["provider_name"] is None:
            origin["provider_name"] = self.provider
        # The text of an invalid call goes back as it came; the library wraps what is no JSON object.
        given = part.input
        arguments = given if isinstance(given, str) else _json_text(given)
        return cast(
            "theirs.ToolCallPart",
            kind(part.tool_name, arguments, tool_call_id=part.tool_call_id, **origin),
        )

    def _origin(self, options: JsonObject | None) -> dict[str, Any]:
        """Who made a part, and what only they understand of it: this provider, or the first one named."""
        names = [self.provider, *(options or {})]
        name = next((name for name in names if _fields(options, name)), None)
        fields = {} if name is None else _fields(options, name)
        details = fields.get("details")
        return {
            "id": _aliased(fields, "id"),
            "provider_name": name,
            "provider_details": thaw(details) if isinstance(details, Mapping) else None,
        }

    def _left_out(self, what: str) -> None:
        self.warnings.append(f"{what} was left out: pydantic-ai has no place for it")


def _fields(options: JsonObject | None, provider: str) -> Mapping[str, JsonValue]:
    fields = None if options is None else options.get(provider)
    return fields if isinstance(fields, Mapping) else {}


def _aliased(fields: Mapping[str, JsonValue], name: str) -> str | None:
    names = (name, *(alias for alias, known in _ALIASES.items() if known == name))
    return next((value for key in names if isinstance(value := fields.get(key), str)), None)


def _json_text(value: JsonValue) -> str:
    # Not ASCII as in `dump_json`: the model reads this, and escapes cost it tokens.
    return json.dumps(thaw(freeze(value)), ensure_ascii=False, separators=(",", ":"))


def _decoded(text: str) -> bytes:
    try:
        # Browsers and other SDKs write the URL-safe alphabet, and leave the padding out.
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4))
    except binascii.Error as error:
        reason = f"the data of a file is neither bytes, base64 text nor a URL: {error}"
        raise InvalidDataContentError("$", reason) from None


# What pydantic-ai's models answer, as ours.

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
    """The provider's own metadata under its name, which comes back to it as provider options."""
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
        """The text that an event adds to a text or an input; most events add none."""
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
