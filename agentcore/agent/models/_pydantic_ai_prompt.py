"""Prompts as pydantic-ai's messages."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from pydantic_ai import messages as theirs

from agentcore.errors import InvalidDataContentError
from agentcore.messages.media import detect_image_media_type, read_data
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
from agentcore.messages.values import JsonObject, JsonValue, freeze, thaw

__all__ = ["PromptWriter"]

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

    # ------------------------------------------------------------ what the model is told

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
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4))
    except binascii.Error as error:
        reason = f"the data of a file is neither bytes, base64 text nor a URL: {error}"
        raise InvalidDataContentError("$", reason) from None
