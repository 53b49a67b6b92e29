"""Calls of models, made again where that may help."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
import tenacity

from agentcore.driver.errors import ChunkHookError
from agentcore.driver.stages import Tell
from agentcore.events import ModelRetry
from agentcore.middleware import ModelDelta
from agentcore.models.base import LanguageModel, ModelError, ModelRequest, ModelResponse, ResponseDone
from agentcore.observe import Observer
from agentcore.readonly import handing

__all__ = ["LONGEST_WAIT", "ModelCall"]

_LOG: Final = logging.getLogger("agentcore")
_BACKOFF: Final = tenacity.wait_exponential(multiplier=0.5, max=8.0) + tenacity.wait_random(0.0, 0.5)

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
        tell: Tell[ModelDelta],
        tell_retry: Callable[[ModelRetry], Awaitable[None]],
    ) -> None:
        self._model = model
        self._request = request
        self._step_number = step_number
        self._max_retries = max_retries
        self._observer = observer
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
            spans.model(model, self._request, stream=stream) as span,
        ):
            with handing(f"model {model.model_id}", "model", self._step_number, self._request):
                if self._tell is None:
                    response = await model.generate(self._request)
                else:
                    response = await self._streamed(self._tell)
            span.answered(response)
            return response

    async def _streamed(self, tell: Callable[[ModelDelta], Awaitable[None]]) -> ModelResponse:
        response: ModelResponse | None = None
        async with self._model.stream(self._request) as events:
            async for event in events:
                if isinstance(event, ResponseDone):
                    response = event.response
                    continue
                self._has_begun = True
                try:
                    await tell(event)
                except ChunkHookError as error:
                    # Raised below: an adapter may take what is raised here for a failure of its own.
                    failure = error
                    break
            else:
                failure = None
        if failure is not None:
            raise failure
        if response is None:
            raise ModelError(
                "the stream ended without a whole answer",
                retryable=True,
                provider=self._model.provider,
                model_id=self._model.model_id,
            )
        return response

    # ------------------------------------------------------------ attempts

    def _may_help(self, error: BaseException) -> bool:
        if self._has_begun or not isinstance(error, ModelError):
            return False
        return error.retryable and (error.retry_after or 0) <= LONGEST_WAIT

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
    after = _error(state).retry_after
    return _BACKOFF(state) if after is None else float(after)
