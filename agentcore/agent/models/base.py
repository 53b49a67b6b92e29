"""What an agent and a model say to each other: values, one protocol, one error."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, cast

import attrs
from attrs import field

from agentcore.errors import AgentCoreError, InvalidMessageError
from agentcore.machine.hooks import tool_choice
from agentcore.messages.content import ContentPart, FieldTypes, Usage, check_content, check_part, check_type
from agentcore.messages.converters import (
    input_schema,
    metadata,
    model_settings,
    model_state,
    options,
    response_format,
)
from agentcore.messages.messages import Message
from agentcore.messages.values import (
    NO_ENTRIES,
    NO_ITEMS,
    JsonObject,
    Vector,
    frozen_list,
    sealed,
    strict_key,
    vector,
)

__all__ = [
    "InvalidResponseError",
    "LanguageModel",
    "ModelError",
    "ModelEvent",
    "ModelRequest",
    "ModelResponse",
    "PartDone",
    "ReasoningDelta",
    "ResponseDone",
    "TextDelta",
    "ToolDefinition",
    "ToolInputDelta",
    "Usage",
    "check_event",
    "check_response",
    "holds_history",
]

_BODY_CHARACTERS: Final = 500
_NO_USAGE: Final = Usage()


def _messages(value: Iterable[Message]) -> Vector[Message]:
    return vector(value)


def _definitions(value: Iterable[ToolDefinition] | None) -> Vector[ToolDefinition] | None:
    return None if value is None else vector(value)


# What is no list stays as it is, for `check_response` to refuse: a text would become a list of characters.


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _parts(value: Iterable[ContentPart]) -> Vector[ContentPart]:
    return vector(value) if _is_list(value) else cast("Vector[ContentPart]", value)


def _texts(value: Iterable[str]) -> tuple[str, ...]:
    return frozen_list(value) if _is_list(value) else cast("tuple[str, ...]", value)


# ---------------------------------------------------------------- what a model is asked


@sealed
@attrs.frozen
class ToolDefinition:
    """What a model is told of a tool. Raises InvalidJsonError if the schema is no JSON object."""

    name: str
    description: str | None = field(default=None, kw_only=True)
    input_schema: JsonObject = field(converter=input_schema, kw_only=True, eq=strict_key)
    provider_options: JsonObject | None = field(default=None, converter=options, kw_only=True, eq=strict_key)


@sealed
@attrs.frozen(kw_only=True)
class ModelRequest:
    """One call of a model.

    `prompt` is what `agentcore.messages.prompt` makes of messages. `settings` have the names of the AI SDK in
    Python form (`temperature`, `max_output_tokens`, `top_p`, `stop_sequences`, `seed`, ...).
    `response_format` is None for text, or `{"type": "json", "schema": {...}, "name": ...}`, schema and name
    optional. `model_state` is what this model's last answer in the run said it is to be given again, if any
    did.

    Raises InvalidJsonError for what is to be a JSON object and is none, InvalidOverrideError for a tool
    choice that is none.
    """

    prompt: Vector[Message] = field(converter=_messages)
    tools: Vector[ToolDefinition] | None = field(default=None, converter=_definitions)
    tool_choice: JsonObject | None = field(default=None, converter=tool_choice, eq=strict_key)
    settings: JsonObject = field(default=NO_ENTRIES, converter=model_settings, eq=strict_key)
    provider_options: JsonObject | None = field(default=None, converter=options, eq=strict_key)
    response_format: JsonObject | None = field(default=None, converter=response_format, eq=strict_key)
    model_state: JsonObject | None = field(default=None, converter=model_state, eq=strict_key)


# ---------------------------------------------------------------- what it answers


@sealed
@attrs.frozen
class ModelResponse:
    """A whole answer; the agent checks it with `check_response` before anything of it is kept.

    `finish_reason` is `stop`, `length`, `content-filter`, `tool-calls`, `error` or `other`. A tool call whose
    input is no JSON has the raw text as input, `invalid`, `dynamic` and an `error`. `warnings` say what of
    the request the model was not told.

    `model_state` is for models whose provider keeps something: JSON that the model is given with its next
    request of the same run, and that is saved with it; None leaves what it was given. `requested_model` is
    the id of the model that was asked, noted by the agent where middleware may have asked another one.
    """

    content: Vector[ContentPart] = field(converter=_parts)
    finish_reason: str = field(kw_only=True)
    usage: Usage = field(default=_NO_USAGE, kw_only=True)
    model_id: str | None = field(default=None, kw_only=True)
    response_id: str | None = field(default=None, kw_only=True)
    provider_metadata: JsonObject | None = field(
        default=None, converter=metadata, kw_only=True, eq=strict_key
    )
    warnings: tuple[str, ...] = field(default=NO_ITEMS, converter=_texts, kw_only=True)
    model_state: JsonObject | None = field(default=None, converter=model_state, kw_only=True, eq=strict_key)
    requested_model: str | None = field(default=None, kw_only=True)


@sealed
@attrs.frozen
class TextDelta:
    """More of a text; `id` is the same for all deltas of one part."""

    type: ClassVar[Literal["text-delta"]] = "text-delta"
    id: str
    text: str


@sealed
@attrs.frozen
class ReasoningDelta:
    """More of the reasoning; `id` is the same for all deltas of one part."""

    type: ClassVar[Literal["reasoning-delta"]] = "reasoning-delta"
    id: str
    text: str


@sealed
@attrs.frozen
class ToolInputDelta:
    """More of the JSON text of a tool call's input."""

    type: ClassVar[Literal["tool-input-delta"]] = "tool-input-delta"
    tool_call_id: str
    tool_name: str
    text: str = field(kw_only=True)


@sealed
@attrs.frozen
class PartDone:
    """A part is complete."""

    type: ClassVar[Literal["part-done"]] = "part-done"
    part: ContentPart


@sealed
@attrs.frozen
class ResponseDone:
    """The last event of a stream: the whole answer, its content being the parts that were done, in order."""

    type: ClassVar[Literal["response-done"]] = "response-done"
    response: ModelResponse


ModelEvent: TypeAlias = TextDelta | ReasoningDelta | ToolInputDelta | PartDone | ResponseDone

# ---------------------------------------------------------------- checks of what it answers


class InvalidResponseError(AgentCoreError, TypeError):
    """A model answered with something that is no answer (rule model.answers-checked).

    `path` is the place in the answer, `reason` what is wrong there, `model_id` the model's, if it is known.
    """

    wire_name = "InvalidResponseError"
    path: str

    def __init__(self, path: str, reason: str, model_id: str | None = None) -> None:
        super().__init__(path, reason, model_id)
        self.path = path
        self.reason = reason
        self.model_id = model_id

    def __str__(self) -> str:
        who = "a model" if self.model_id is None else f"model {self.model_id!r}"
        return f"{who} gave a wrong answer: {self.path}: {self.reason}"


_RESPONSE: Final = FieldTypes(ModelResponse, finish_reason=(str, type(None)))
_USAGE: Final = FieldTypes(Usage)
_EVENTS: Final[dict[type, FieldTypes]] = {
    cls: FieldTypes(cls) for cls in (TextDelta, ReasoningDelta, ToolInputDelta, PartDone)
}


def check_response(response: object, model_id: str | None = None) -> ModelResponse:
    """Checks a whole answer, so that a run that has it can be saved and loaded.

    Returns:
        The response itself.

    Raises:
        InvalidResponseError: If it is no ModelResponse, or a field of it or of its parts has another type
            than it is declared with.
    """
    if not isinstance(response, ModelResponse):
        reason = f"expected a ModelResponse, got {type(response).__name__}; return ModelResponse([...], ...)"
        raise InvalidResponseError("$", reason, model_id)
    try:
        check_content(response.content, "$.content")
        _RESPONSE.check(response, "$")
        if response.usage is not _NO_USAGE:
            _USAGE.check(response.usage, "$.usage")
        if response.warnings != ():
            _check_warnings(response.warnings)
    except InvalidMessageError as error:
        raise InvalidResponseError(error.path, error.reason, model_id) from None
    return response


def _check_warnings(warnings: object) -> None:
    if not isinstance(warnings, tuple):
        raise InvalidMessageError("$.warnings", f"expected a list of texts, got {type(warnings).__name__}")
    for index, warning in enumerate(warnings):
        check_type(warning, (str,), f"$.warnings[{index}]")


def check_event(event: object, model_id: str | None = None) -> ModelEvent:
    """Checks an event of a model's stream, with the whole answer that the last one has.

    Returns:
        The event itself.

    Raises:
        InvalidResponseError: If it is no ModelEvent, or has a field of another type than it is declared with.
    """
    if isinstance(event, ResponseDone):
        check_response(event.response, model_id)
        return event
    types = _EVENTS.get(type(event))
    if types is None:
        reason = f"expected an event such as TextDelta, PartDone or ResponseDone, got {type(event).__name__}"
        raise InvalidResponseError("$", reason, model_id)
    try:
        types.check(event, "$")
        if isinstance(event, PartDone):
            check_part(event.part, "$.part")
    except InvalidMessageError as error:
        raise InvalidResponseError(error.path, error.reason, model_id) from None
    return cast("ModelEvent", event)


class LanguageModel(Protocol):
    """A model that agents can call. Both ways of calling it give the same answer to the same request.

    Failures are raised as ModelError (a scripted model raises whatever its script says). A call can be
    cancelled at any time, and retries nothing on its own: that is for the agent to do.

    A model whose provider keeps the history on its side, so that a request may have results of calls that are
    kept there, says so by an attribute `holds_history` that is True (`holds_history` reads it). The attribute
    is no member of the protocol, because a model without it is a model too, and holds nothing.
    """

    @property
    def provider(self) -> str:
        """Who offers the model, such as `openai`."""

    @property
    def model_id(self) -> str:
        """The model's name at its provider."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """The answer, once it is there. Raises ModelError."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """The answer as it comes; the last event, and only it, is a ResponseDone.

        The call begins on entering. Entering and iterating raise ModelError; leaving early ends the call.
        """


def holds_history(model: LanguageModel) -> bool:
    """Whether the model says that it holds the history on its side (rule prompt.history-elsewhere)."""
    return getattr(model, "holds_history", False) is True


# ---------------------------------------------------------------- what goes wrong


class ModelError(AgentCoreError):
    """A model could not answer.

    `retryable` says whether the same request may succeed later, `retry_after` after how many seconds at the
    earliest, if the provider said so. `status` is the HTTP status and `body` the beginning of the provider's
    answer; neither they nor the text hold a key or a header.
    """

    wire_name = "ModelError"

    def __init__(  # noqa: PLR0913 - the fields of an error
        self,
        reason: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        provider: str | None = None,
        model_id: str | None = None,
        body: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.provider = provider
        self.model_id = model_id
        self.body = body if body is None or len(body) <= _BODY_CHARACTERS else body[:_BODY_CHARACTERS] + "…"

    def __str__(self) -> str:
        who = " ".join(name for name in (self.provider, self.model_id) if name)
        status = None if self.status is None else f"HTTP {self.status}"
        return ": ".join(text for text in (who, status, self.reason) if text)

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is rebuilt from its positional arguments, and these are the one.
        return type(self), self.args, dict(vars(self))
