"""Calls of models, made again where that may help."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeAlias

import anyio
import tenacity

from agentcore.agent.call.cancelling import Cancellation, cancellations
from agentcore.agent.call.errors import ChunkHookError
from agentcore.agent.call.stages import Tell
from agentcore.agent.events import ModelRetry
from agentcore.agent.middleware import ModelDelta
from agentcore.agent.models.base import (
    InvalidResponseError,
    LanguageModel,
    ModelError,
    ModelRequest,
    ModelResponse,
    ResponseDone,
    check_event,
    check_response,
)
from agentcore.agent.telemetry import Observer
from agentcore.messages.readonly import handing

__all__ = ["LONGEST_WAIT", "ModelCall"]

_LOG: Final = logging.getLogger("agentcore")
_BACKOFF: Final = tenacity.wait_exponential(multiplier=0.5, max=8.0) + tenacity.wait_random(0.0, 0.5)

_Listener: TypeAlias = Callable[[ModelDelta], Awaitable[None]]
_End: TypeAlias = ModelResponse | ChunkHookError | InvalidResponseError | None

LONGEST_WAIT: Final = 60.0
"""A provider that says to come back after more seconds than these fails the call: the caller decides then."""


class ModelCall:
    """One call of a model in one step, with all its attempts."""

    def __init__(  # noqa: PLR0913 - what a call is made of
        self,
        model: LanguageModel,
        request: ModelRequest,
        *,
        step_number: int,
        max_retries: int,
        observer: Observer,
        cancellation: Cancellation,
        tell: Tell[ModelDelta],
        tell_retry: Callable[[ModelRetry], Awaitable[None]],
    ) -> None:
        self._model = model
        self._request = request
        self._step_number = step_number
        self._max_retries = max_retries
        self._observer = observer
        self._cancellation = cancellation
        self._tell = tell
        self._tell_retry = tell_retry
        # Whether somebody was told of the answer: then it cannot begin anew.
        self._has_begun = False

    async def answer(self) -> ModelResponse:
        """The model's answer. Raises what the last attempt raised, or ChunkHookError."""
        try:
            return await self._attempt()
        except ModelError as error:
            if not self._may_help(error):
                raise
            return await self._again(error)

    async def _again(self, first: ModelError) -> ModelResponse:
        """The answer of a later attempt; the first, which has failed, counts as one."""
        failed: ModelError | None = first

        async def attempt() -> ModelResponse:
            nonlocal failed
            if failed is None:
                return await self._attempt()
            error, failed = failed, None
            raise error

        attempts = tenacity.AsyncRetrying(
            sleep=anyio.sleep,
            stop=tenacity.stop_after_attempt(self._max_retries + 1),
            wait=_wait,
            retry=tenacity.retry_if_exception(self._may_help),
            before_sleep=self._before_sleep,
            reraise=True,
        )
        return await attempts(attempt)

    async def _attempt(self) -> ModelResponse:
        spans, model, stream = self._observer.spans, self._model, self._tell is not None
        with (
            self._observer.timed("model", model.model_id, self._step_number),
            spans.model(model, self._request, stream=stream, hooks=self._observer.hooks) as span,
        ):
            try:
                with handing(f"model {model.model_id}", "model", self._step_number, self._request):
                    response = await (self._whole() if self._tell is None else self._streamed(self._tell))
            except cancellations() as error:  # cancel.own-error
                raise await self._cancellation.failure(error, f"model '{model.model_id}'") from error
            span.answered(response)
            return response

    async def _whole(self) -> ModelResponse:
        answer: object = self._model.generate(self._request)
        if not isinstance(answer, Awaitable):
            raise self._wrong(f"`generate` returned a {type(answer).__name__}; define it with `async def`")
        return check_response(await answer, self._model.model_id)  # model.answers-checked

    async def _streamed(self, tell: _Listener) -> ModelResponse:
        opened: object = self._model.stream(self._request)
        if not isinstance(opened, AbstractAsyncContextManager):
            if inspect.iscoroutine(opened):
                opened.close()
            kind = type(opened).__name__
            raise self._wrong(f"`stream` returned a {kind}; decorate it with @asynccontextmanager")
        end: _End = None
        async with opened as events:
            end = await self._taken(events, tell)
        if isinstance(end, BaseException):
            raise end
        if end is None:
            raise ModelError(
                "the stream ended without a whole answer",
                retryable=True,
                provider=self._model.provider,
                model_id=self._model.model_id,
            )
        return end

    async def _taken(self, events: object, tell: _Listener) -> _End:
        """Takes the events of a stream to its end.

        Returns:
            The response, None without one, or an error: an adapter may take what is raised in its
            `async with` for a failure of its own.
        """
        if not isinstance(events, AsyncIterable):
            return self._wrong(
                f"`stream` yielded a {type(events).__name__}; yield an async iterator of events"
            )
        response: ModelResponse | None = None
        async for event in events:
            if response is not None:
                return self._wrong(
                    f"the stream gave a {type(event).__name__} after ResponseDone, its last event"
                )
            try:
                response = await self._heard(event, tell)
            except (ChunkHookError, InvalidResponseError) as error:
                return error
        return response

    async def _heard(self, event: object, tell: _Listener) -> ModelResponse | None:
        checked = check_event(event, self._model.model_id)
        if isinstance(checked, ResponseDone):
            return checked.response
        self._has_begun = True
        await tell(checked)
        return None

    def _wrong(self, reason: str) -> InvalidResponseError:
        return InvalidResponseError("$", reason, self._model.model_id)

    # ------------------------------------------------------------ attempts

    def _may_help(self, error: BaseException) -> bool:
        if self._has_begun or not isinstance(error, ModelError):
            return False
        return error.retryable and (_after(error) or 0) <= LONGEST_WAIT

    async def _before_sleep(self, state: tenacity.RetryCallState) -> None:
        error, delay = _error(state), state.upcoming_sleep
        _LOG.info(
            "model %s failed at step %d (attempt %d), next attempt in %.1f s",
            self._model.model_id,
            self._step_number,
            state.attempt_number,
            delay,
        )
        await self._tell_retry(
            ModelRetry(step_number=self._step_number, attempt=state.attempt_number, delay=delay, error=error)
        )


def _error(state: tenacity.RetryCallState) -> Any:
    return None if state.outcome is None else state.outcome.exception()


def _wait(state: tenacity.RetryCallState) -> float:
    after = _after(_error(state))
    return _BACKOFF(state) if after is None else after


def _after(error: ModelError) -> float | None:
    # What a provider said; a model may hand on a text of it, or a number that is none.
    after: object = error.retry_after
    return float(after) if isinstance(after, int | float) and after >= 0 else None
