"""A model of a real protocol that talks to a provider on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from agent.models.server import ANTHROPIC, OPENAI, Provider, Reply
from agentcore.agent.models import ModelEvent, ModelRequest, ModelResponse
from agentcore.agent.models.pydantic_ai import PydanticAIModel
from agentcore.messages.messages import UserMessage

BOTH = (OPENAI, ANTHROPIC)
KEY = "sk-very-secret-key-of-somebody"


def client_model(protocol: str, url: str, name: str | None = None) -> Model:
    """The library's model of that protocol, at that URL."""
    if protocol == ANTHROPIC:
        return AnthropicModel(name or "claude-test", provider=AnthropicProvider(api_key=KEY, base_url=url))
    return OpenAIChatModel(name or "gpt-4o", provider=OpenAIProvider(api_key=KEY, base_url=f"{url}/v1"))


@asynccontextmanager
async def talking(
    protocol: str, *script: Reply, name: str | None = None, **options: Any
) -> AsyncIterator[tuple[PydanticAIModel, Provider]]:
    """The model and its provider, which answers by the script."""
    with Provider(script) as provider:
        async with PydanticAIModel(client_model(protocol, provider.url, name), **options) as model:
            yield model, provider


def asking(text: str = "hi", **fields: Any) -> ModelRequest:
    return ModelRequest(**{"prompt": [UserMessage(text)], **fields})


async def stream_events(model: PydanticAIModel, request: ModelRequest) -> list[ModelEvent]:
    async with model.stream(request) as events:
        return [event async for event in events]


async def answered(protocol: str, reply: Reply, request: ModelRequest, **options: Any) -> ModelResponse:
    """The answer to one request."""
    async with talking(protocol, reply, **options) as (model, _):
        return await model.generate(request)


async def sent(
    protocol: str, request: ModelRequest, reply: Reply, **options: Any
) -> tuple[Any, tuple[str, ...]]:
    """The body that the provider got, and the warnings of the response."""
    async with talking(protocol, reply, **options) as (model, provider):
        response = await model.generate(request)
        return provider.requests[0].body, response.warnings
