"""What pydantic-ai's models raise, as ModelError, without anything secret in it."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic_ai import exceptions as theirs

from agentcore.agent.models.base import ModelError

__all__ = ["Reporter"]

_T = TypeVar("_T")

_REASON_CHARACTERS: Final = 500
_HIDDEN: Final = "***"
_SHORTEST_SECRET: Final = 4
_SECRET_NAME: Final = re.compile(r"auth|key|token|secret|password|credential|cookie", re.IGNORECASE)
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
        """What the work returns. Raises a ModelError for whatever it raises, but for warnings made errors."""
        try:
            return work()
        except (ModelError, Warning):
            raise
        except Exception as error:  # noqa: BLE001 - a library's own mistakes are failures of the model too
            failed = self.report(error)
        raise failed

    async def awaited(self, work: Awaitable[_T]) -> _T:
        """What the work comes to. Raises as `attempt` does."""
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
