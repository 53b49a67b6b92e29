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
to the garbage collector, which trio tells with a ResourceWarning.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from types import TracebackType
from typing import Any, Self, cast

try:
    from pydantic_ai.direct import model_request, model_request_stream
    from pydantic_ai.models import Model, StreamedResponse, infer_model
except ImportError as error:
    raise ImportError("install the extra: pip install 'agentcore-reference[providers]'") from error

from agentcore.agent.models._pydantic_ai_errors import Reporter
from agentcore.agent.models._pydantic_ai_request import Call, header_values, to_call
from agentcore.agent.models._pydantic_ai_response import Deltas, to_response
from agentcore.agent.models.base import ModelEvent, ModelRequest, ModelResponse, PartDone, ResponseDone

__all__ = ["PydanticAIModel"]


class PydanticAIModel:
    """A model of a real provider: `PydanticAIModel("openai:gpt-5")`, or one of pydantic-ai's model objects.

    A name finds its key where the provider's own client does, in the environment. Entered as an async context
    manager, it closes its connections at the end.

    Settings have the AI SDK's names in Python form or pydantic-ai's; a provider's options are its settings
    (`{"anthropic": {"thinking": {...}}}` is `anthropic_thinking`), and options under `pydantic_ai` are
    settings by the library's own names. What a model cannot be told is left out, and the response's
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
        """Whether the provider holds the history on its side, as was said when the model was made."""
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
                instrument=False,
            )
        )
        return reporter.attempt(lambda: to_response(answer, self.provider, call.warnings))

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """The answer as it comes; parts are told once the whole answer is there. Raises ModelError."""
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
