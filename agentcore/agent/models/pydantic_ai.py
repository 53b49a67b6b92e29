"""Models of real providers, reached through pydantic-ai's direct model API (the extra `providers`).

Why that library. What was compared, for reaching the providers people use through one well-kept dependency:

- The official clients `openai` and `anthropic` speak two protocols, each with its own messages, streams and
  errors; every other provider would need a client and a mapping of our own.
- any-llm (1.40) is one function for many providers, whose answers all have the shape of OpenAI's chat
  message: one text, one reasoning with one signature, then calls. Several parts in an order of their own, a
  signature for each, do not fit, and it holds the Anthropic client below 1.0.
- pydantic-ai's models (OpenAI, Anthropic, Google, Bedrock, Mistral, Groq, OpenRouter, Ollama and more) sit on
  the official clients, are typed, speak nearly every part of our messages in their order, classify errors
  and read `retry-after`, and the `direct` functions send one request without an agent around it: our loop
  stays ours.

What it does not do, and is done here: provider options become its settings, tool inputs are parsed, errors
lose their secrets, and a stream that ends without a reason is an error.

It works on asyncio, and with OpenAI and Anthropic on trio too; there the clients leave generators of a stream
to the garbage collector, which trio reports with a ResourceWarning.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast
from urllib.parse import parse_qsl, unquote, urlsplit

try:
    from pydantic_ai import exceptions as theirs
    from pydantic_ai.direct import model_request, model_request_stream
    from pydantic_ai.models import Model, StreamedResponse, infer_model
except ImportError as error:
    raise ImportError("install the extra: pip install 'agentcore-reference[providers]'") from error

from agentcore.agent.models._pydantic_ai_request import Call, Deltas, header_values, to_call, to_response
from agentcore.agent.models.base import (
    ModelError,
    ModelEvent,
    ModelRequest,
    ModelResponse,
    PartDone,
    ResponseDone,
)

__all__ = ["PydanticAIModel"]

# What pydantic-ai's models raise, as ModelError, without anything secret in it.

_T = TypeVar("_T")

_REASON_CHARACTERS: Final = 500
_HIDDEN: Final = "***"
# Replacing a shorter value would blot out parts of ordinary words.
_SHORTEST_SECRET: Final = 4
_SECRET_NAME: Final = re.compile(r"auth|key|token|secret|password|credential|cookie", re.IGNORECASE)
# Names of variables are a weaker sign than a client's own field, so more of the value is asked for.
_SHORTEST_ENVIRONMENT_SECRET: Final = 8
_SECRETS: Final = (
    (re.compile(r"(?<=://)[^/\s@'\"]+@"), f"{_HIDDEN}@"),
    (re.compile(r"(?<=\?)[^\s'\"<>]*=[^\s'\"<>]*"), _HIDDEN),
    (re.compile(r"(?i)(bearer|basic)\s+[\w.~+/=-]+"), rf"\1 {_HIDDEN}"),
    (re.compile(r"\b(sk|pk|rk|gsk|xai|key)-[\w*-]{4,}"), _HIDDEN),
)
_AGAIN: Final = frozenset({408, 409, 425, 429})
_FIRST_SERVER_ERROR: Final = 500
_TRANSIENT: Final = (
    theirs.ModelRateLimitError,
    theirs.ModelUnavailableError,
    theirs.ModelServerError,
    theirs.ModelConnectionError,
    theirs.ModelRequestTimeout,
)
_PERMANENT: Final = (theirs.ModelRequestRejectedError, theirs.ModelQuotaExceededError)


class Reporter:
    """Makes errors of what one call of a model raised; `hide` are values that no error may hold."""

    def __init__(self, model: Any, provider: str, model_id: str, hide: Iterable[str] = ()) -> None:
        self._model = model
        self._provider = provider
        self._model_id = model_id
        self._hide = tuple(hide)

    # Not context managers: what is raised while one handles an error has that error as its context, and with
    # it the request, its headers and its key. Here it is raised when nothing is being handled any more.

    def attempt(self, work: Callable[[], _T]) -> _T:
        """Return what the work returns. Raises a ModelError for any exception but a warning made an error."""
        try:
            return work()
        except (ModelError, Warning):
            raise
        except Exception as error:  # noqa: BLE001 - a library's own mistakes are failures of the model too
            failed = self.report(error)
        raise failed

    async def awaited(self, work: Awaitable[_T]) -> _T:
        """Return what the work returns. Raises as `attempt` does."""
        try:
            return await work
        except (ModelError, Warning):
            raise
        except Exception as error:  # noqa: BLE001 - as above
            failed = self.report(error)
        raise failed

    def report(self, error: Exception) -> ModelError:
        """The error as ours; of a group, that of the model that was tried last."""
        if isinstance(error, ExceptionGroup):
            return self.report(error.exceptions[-1])
        return self.error(
            _reason(error),
            status=error.status_code if isinstance(error, theirs.ModelHTTPError) else None,
            retryable=_is_retryable(error),
            retry_after=_retry_after(error),
            body=getattr(error, "body", None),
        )

    def error(
        self,
        reason: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        body: object = None,
    ) -> ModelError:
        """An error about this model, with nothing secret in it."""
        # The longest first: replacing a shorter one that is part of it would leave the rest of the longer
        # one in the text.
        secrets = sorted({*self._hide, *_secrets(self._model)}, key=len, reverse=True)
        text = _bounded(_hidden(reason, secrets))
        return ModelError(
            text,
            status=status,
            retryable=retryable,
            retry_after=retry_after,
            provider=self._provider,
            model_id=self._model_id,
            body=None if body is None else _hidden(_body_text(body), secrets),
        )


def _reason(error: Exception) -> str:
    if isinstance(error, theirs.ModelHTTPError):
        return _message(error.body) or "the provider refused the request"
    if isinstance(error, theirs.ModelRequestTimeout | theirs.ModelTimeoutError):
        return f"no answer in time: {error}"
    if isinstance(error, theirs.ModelConnectionError):
        return f"the connection failed: {error}"
    if isinstance(error, theirs.UnexpectedModelBehavior):
        return f"the provider's answer is malformed: {error.message}"
    if isinstance(error, theirs.ModelAPIError | theirs.UserError):
        return str(error)
    return f"pydantic-ai failed with {type(error).__name__}: {error}"


def _message(body: object) -> str | None:
    """The provider's own words, where it has put them."""
    while isinstance(body, Mapping):
        if isinstance(body.get("message"), str):
            return str(body["message"])
        body = body.get("error")
    return body if isinstance(body, str) else None


def _is_retryable(error: Exception) -> bool:
    if isinstance(error, theirs.ModelHTTPError) and error.provider_retry_hint is not None:
        return error.provider_retry_hint
    # Before the status: a quota that is used up may come with one that is otherwise worth another attempt,
    # and no wait helps (ModelQuotaExceededError).
    if isinstance(error, _PERMANENT):
        return False
    if isinstance(error, _TRANSIENT):
        return True
    if isinstance(error, theirs.ModelHTTPError):
        return error.status_code in _AGAIN or error.status_code >= _FIRST_SERVER_ERROR
    # A malformed answer, most often the error page of something between here and the model.
    return isinstance(error, theirs.ModelAPIError | theirs.UnexpectedModelBehavior)


def _retry_after(error: Exception) -> float | None:
    if isinstance(error, theirs.ModelAPIError) and error.retry_after is not None:
        return error.retry_after
    if not isinstance(error, theirs.ModelHTTPError) or error.headers is None:
        return None
    # The library reads whole seconds only.
    try:
        seconds = float(error.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


# ---------------------------------------------------------------- what nobody is to see


def _body_text(body: object) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, default=repr)


def _bounded(text: str) -> str:
    return text if len(text) <= _REASON_CHARACTERS else text[:_REASON_CHARACTERS] + "…"


def _hidden(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    for pattern, shown in _SECRETS:
        text = pattern.sub(shown, text)
    return text


def _secrets(model: Any) -> Iterator[str]:
    """Keys, headers and credentials in URLs of the model's clients, and what of that the environment has."""
    for client in _clients(model):
        for value in _client_values(client):
            if len(value) >= _SHORTEST_SECRET:
                yield value
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_ENVIRONMENT_SECRET:
            yield value


def _clients(model: Any) -> Iterator[Any]:
    for inner in getattr(model, "models", None) or [getattr(model, "wrapped", None)]:
        if inner is not None:
            yield from _clients(inner)
    client = getattr(model, "client", None)
    if client is not None:
        yield client


def _client_values(client: Any) -> Iterator[str]:
    for name in ("api_key", "auth_token", "admin_api_key"):
        if isinstance(value := getattr(client, name, None), str):
            yield value
    headers = getattr(client, "default_headers", None)
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        if _SECRET_NAME.search(name) and isinstance(value, str):
            yield value
    url = urlsplit(str(getattr(client, "base_url", "")))
    for value in (url.username, url.password, *(value for _, value in parse_qsl(url.query))):
        if value:
            yield from (value, unquote(value))


class PydanticAIModel:
    """A model of a real provider: `PydanticAIModel("openai:gpt-5")`, or one of pydantic-ai's model objects.

    A name finds its key where the provider's own client does, in the environment. Entered as an async context
    manager, it closes its connections at the end.

    Settings have the AI SDK's names in Python form or pydantic-ai's; a provider's options are its settings
    (`{"anthropic": {"thinking": {...}}}` is `anthropic_thinking`), and options under `pydantic_ai` are
    settings by the library's own names. What a model does not take is left out, and the response's
    `warnings` name it. Retries of the provider's client are off.

    `require_finish_reason` says that a stream that ends without the provider's word why is broken; turn it
    off for servers that never say so.

    `holds_history` says that the provider keeps the history on its side (a conversation that is continued by
    its id, say): then agents send results whose calls are kept there.

    Raises ModelError for a name that no model has, and for a key that is missing.
    """

    def __init__(
        self, model: str | Model, *, require_finish_reason: bool = True, holds_history: bool = False
    ) -> None:
        if isinstance(model, str):
            provider, _, name = model.partition(":")
            wanted = model
            model = Reporter(None, provider, name).attempt(lambda: infer_model(wanted))
        self._model = model
        self._require_finish_reason = require_finish_reason
        self._holds_history = holds_history

    def __repr__(self) -> str:
        return f"PydanticAIModel({f'{self.provider}:{self.model_id}'!r})"

    @property
    def provider(self) -> str:
        """The provider's name in pydantic-ai, such as `openai`."""
        return self._model.system

    @property
    def model_id(self) -> str:
        """The model's name at its provider."""
        return self._model.model_name

    @property
    def holds_history(self) -> bool:
        """Whether the provider holds the history on its side, as given when the model was made."""
        return self._holds_history

    async def __aenter__(self) -> Self:
        await self._model.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._model.__aexit__(kind, error, trace)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """The answer to the request. Raises ModelError."""
        call, reporter = self._call(request)
        answer = await reporter.awaited(
            model_request(
                self._model,
                call.messages,
                model_settings=call.settings,
                model_request_parameters=call.parameters,
                # Agents have spans of their own; the library's would report each call a second time.
                instrument=False,
            )
        )
        return reporter.attempt(lambda: to_response(answer, self.provider, call.warnings))

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """The answer as it comes; its parts are yielded once the whole answer is there. Raises ModelError."""
        call, reporter = self._call(request)
        async with AsyncExitStack() as stack:
            opening = model_request_stream(
                self._model,
                call.messages,
                model_settings=call.settings,
                model_request_parameters=call.parameters,
                instrument=False,
            )
            streamed = await reporter.awaited(stack.enter_async_context(opening))
            yield await stack.enter_async_context(aclosing(self._events(streamed, call, reporter)))

    def _call(self, request: ModelRequest) -> tuple[Call, Reporter]:
        call = self._reporter(request.settings).attempt(lambda: to_call(request, self._model))
        return call, self._reporter(call.settings)

    def _reporter(self, settings: Any) -> Reporter:
        return Reporter(self._model, self.provider, self.model_id, header_values(settings))

    async def _events(
        self, streamed: StreamedResponse, call: Call, reporter: Reporter
    ) -> AsyncGenerator[ModelEvent, None]:
        deltas = Deltas()
        async with aclosing(cast("AsyncGenerator[object, None]", aiter(streamed))) as source:
            while True:
                event = await reporter.awaited(anext(source, None))
                if event is None:
                    break
                for delta in deltas.of(event):
                    yield delta
        answer = streamed.get()
        if self._require_finish_reason and _is_cut(answer):
            raise reporter.error("the stream ended without saying why the model stopped", retryable=True)
        response = reporter.attempt(lambda: to_response(answer, self.provider, call.warnings))
        for part in response.content:
            yield PartDone(part)
        yield ResponseDone(response)


def _is_cut(answer: Any) -> bool:
    # The library fills in `stop` where the provider said nothing, and keeps the provider's word in details.
    said = (answer.provider_details or {}).get("finish_reason")
    return answer.state == "incomplete" or (said is None and answer.finish_reason in (None, "stop"))
