"""The protocol between an agent and a model: requests, responses, events, and one error."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol, TypeAlias, cast

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

if TYPE_CHECKING:
    from agentcore.messages.values import JsonObject

__all__ = [
    "FallbackModel",
    "InvalidResponseError",
    "LanguageModel",
    "ModelError",
    "ModelEvent",
    "ModelRequest",
    "ModelResponse",
    "ModelsFailedError",
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
    "unfinished_stream",
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
    """The description of a tool for a model. Raises InvalidJsonError if the schema is no JSON object."""

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

    Raises InvalidJsonError for a value that must be a JSON object and is not, InvalidOverrideError for an
    invalid tool choice.
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
    the request did not reach the model.

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
        """The name of the provider, such as `openai`."""

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
    """Return whether the model holds the history on its side (rule prompt.history-elsewhere)."""
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


_FEWEST: Final = 2


class ModelsFailedError(ModelError):
    """No model of a FallbackModel could answer; `errors` are theirs, in the order in which they were asked.

    It is retryable if one of them is, after the shortest time that one of these said.
    """

    wire_name = "ModelsFailedError"

    def __init__(self, errors: tuple[ModelError, ...]) -> None:
        again = [error.retry_after for error in errors if error.retryable]
        after = [seconds for seconds in again if seconds is not None]
        super().__init__(
            "no model could answer: " + "; ".join(map(str, errors)),
            retryable=bool(again),
            retry_after=min(after) if after and len(after) == len(again) else None,
        )
        self.errors = errors

    def __reduce__(self) -> tuple[type, tuple[tuple[ModelError, ...]]]:
        return type(self), (self.errors,)


def _is_error(_: ModelError) -> bool:
    return True


def unfinished_stream(model: LanguageModel) -> ModelError:
    """The error of a stream that ended without the whole answer; another try may get it."""
    return ModelError(
        "the stream ended without a whole answer",
        retryable=True,
        provider=model.provider,
        model_id=model.model_id,
    )


class FallbackModel:
    """Asks the first model, and where it fails with a ModelError the next one, at each call anew.

    A stream of which something has been given is not begun again: its failure is that of the call. One that
    ends without an event has failed. An agent's `max_retries` counts rounds through all models.
    `response_model` of a step's record says which one has answered, and each model is given its own
    `model_state`.

    Args:
        models: two or more, in the order in which they are asked.
        when: whether another model is asked after this error; by default after each ModelError. Other
            exceptions are raised as they are.
        model_id: the name of the whole, which is that of the run's model; by default their ids with "|".

    Raises:
        ValueError: for fewer than two models, for two of one id, and for one whose provider holds the
            history (rule prompt.history-elsewhere): the others would not know it.
    """

    def __init__(
        self,
        *models: LanguageModel,
        when: Callable[[ModelError], bool] = _is_error,
        model_id: str | None = None,
    ) -> None:
        ids = [model.model_id for model in models]
        if len(models) < _FEWEST:
            raise ValueError(f"give two models or more to fall back on, not {len(models)}")
        if len({*ids}) < len(ids):
            raise ValueError(f"two of the models have the same id, so give each its own: {', '.join(ids)}")
        for model in models:
            if holds_history(model):
                raise ValueError(
                    f"the provider of {model.model_id} holds the history, which no other has; use it alone"
                )
        self._models = models
        self._when = when
        self._model_id = "|".join(ids) if model_id is None else model_id

    @property
    def provider(self) -> str:
        """The provider of the model that is asked first."""
        return self._models[0].provider

    @property
    def model_id(self) -> str:
        """The name of the whole."""
        return self._model_id

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the answer to `request` of the first model that gives one.

        Raises:
            ModelsFailedError: if no model answers.
            ModelError: the error after which no other model is to be asked.
        """
        errors: list[ModelError] = []
        for model in self._models:
            try:
                response = await model.generate(_for_model(request, model))
            except ModelError as error:
                self._note(errors, error)
            else:
                return _complete_response(response, request, model)
        raise ModelsFailedError((*errors,))

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Return the answer to `request`, as it comes, of the first model that begins one.

        Raises, when entered, as `generate` does.
        """
        return self._streamed(request)

    @asynccontextmanager
    async def _streamed(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        errors: list[ModelError] = []
        for model in self._models:
            async with AsyncExitStack() as stack:
                try:
                    events = await stack.enter_async_context(model.stream(_for_model(request, model)))
                    first = await anext(events, None)
                    if first is None:
                        raise unfinished_stream(model)
                except ModelError as error:
                    self._note(errors, error)
                    continue
                told = await stack.enter_async_context(aclosing(_events(first, events, request, model)))
                yield told
                return
        raise ModelsFailedError((*errors,))

    def _note(self, errors: list[ModelError], error: ModelError) -> None:
        if not self._when(error):
            raise error
        errors.append(error)


async def _events(
    first: ModelEvent, rest: AsyncIterator[ModelEvent], request: ModelRequest, model: LanguageModel
) -> AsyncGenerator[ModelEvent, None]:
    yield _of_whole(first, request, model)
    async for event in rest:
        yield _of_whole(event, request, model)


def _of_whole(event: ModelEvent, request: ModelRequest, model: LanguageModel) -> ModelEvent:
    if not isinstance(event, ResponseDone):
        return event
    return attrs.evolve(event, response=_complete_response(event.response, request, model))


def _for_model(request: ModelRequest, model: LanguageModel) -> ModelRequest:
    """The request with the state of that model alone, out of those of all models by id."""
    if request.model_state is None:
        return request
    return attrs.evolve(
        request, model_state=cast("JsonObject | None", request.model_state.get(model.model_id))
    )


def _complete_response(response: ModelResponse, request: ModelRequest, model: LanguageModel) -> ModelResponse:
    state = response.model_state
    return attrs.evolve(
        response,
        model_id=response.model_id or model.model_id,
        model_state=None if state is None else {**(request.model_state or {}), model.model_id: state},
    )
