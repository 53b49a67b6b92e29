"""A model made of several: the next one is asked where one fails (rule model.falls-back)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final, cast

import attrs

from agentcore.agent.models.base import (
    LanguageModel,
    ModelError,
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ResponseDone,
    holds_history,
)

if TYPE_CHECKING:
    from agentcore.messages.values import JsonObject

__all__ = ["FallbackModel", "ModelsFailedError"]

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


class FallbackModel:
    """Asks the first model, and where it fails with a ModelError the next one, at each call anew.

    A stream of which something has been given is not begun again: its failure is that of the call. An
    agent's `max_retries` counts rounds through all models. `response_model` of a step's record says which
    one has answered, and each model is given its own `model_state`.

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
            raise ValueError(f"two of the models have one id: {', '.join(ids)}")
        for model in models:
            if holds_history(model):
                raise ValueError(
                    f"the provider of {model.model_id} holds the history, which others do not know"
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
        """The answer of the first model that gives one.

        Raises:
            ModelsFailedError: if none does.
            ModelError: the error after which no other model is to be asked.
        """
        errors: list[ModelError] = []
        for model in self._models:
            try:
                response = await model.generate(_for_model(request, model))
            except ModelError as error:
                self._note(errors, error)
            else:
                return _answered(response, request, model)
        raise ModelsFailedError((*errors,))

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """The answer, as it comes, of the first model that begins one; raises as `generate` does."""
        return self._streamed(request)

    @asynccontextmanager
    async def _streamed(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        errors: list[ModelError] = []
        for model in self._models:
            async with AsyncExitStack() as stack:
                try:
                    events = await stack.enter_async_context(model.stream(_for_model(request, model)))
                    first = await anext(events, None)
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
    first: ModelEvent | None, rest: AsyncIterator[ModelEvent], request: ModelRequest, model: LanguageModel
) -> AsyncGenerator[ModelEvent, None]:
    if first is None:
        return
    yield _of_whole(first, request, model)
    async for event in rest:
        yield _of_whole(event, request, model)


def _of_whole(event: ModelEvent, request: ModelRequest, model: LanguageModel) -> ModelEvent:
    if not isinstance(event, ResponseDone):
        return event
    return attrs.evolve(event, response=_answered(event.response, request, model))


def _for_model(request: ModelRequest, model: LanguageModel) -> ModelRequest:
    """The request with the state of that model alone, out of those of all models by id."""
    if request.model_state is None:
        return request
    return attrs.evolve(
        request, model_state=cast("JsonObject | None", request.model_state.get(model.model_id))
    )


def _answered(response: ModelResponse, request: ModelRequest, model: LanguageModel) -> ModelResponse:
    state = response.model_state
    return attrs.evolve(
        response,
        model_id=response.model_id or model.model_id,
        model_state=None if state is None else {**(request.model_state or {}), model.model_id: state},
    )
