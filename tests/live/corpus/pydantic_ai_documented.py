"""Hooks that do what examples of pydantic-ai's documentation do, written anew, each with its verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import SkipModelRequest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolReturnPart, UserPromptPart


# history_processor: cuts-pair
def requests_only(messages: list[ModelMessage]) -> list[ModelMessage]:
    """docs/message-history.md, "Usage": leaves the model's responses out."""
    return [each for each in messages if each.kind == "request"]


# history_processor: cuts-pair
async def last_five(messages: list[ModelMessage]) -> list[ModelMessage]:
    """docs/message-history.md, "Keep Only Recent Messages"."""
    return messages if len(messages) <= 5 else messages[-5:]


# history_processor: clean
def by_usage(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
    """docs/message-history.md, "RunContext parameter": cuts where many tokens were used."""
    return messages[-3:] if ctx.usage.total_tokens > 1_000_000 else messages


# before_model_request: clean
async def logs_the_request(ctx: Any, request_context: Any) -> Any:
    """docs/hooks.md, "Quick start": prints how many messages there are."""
    f"sending {len(request_context.messages)} messages"
    return request_context


# before_model_request: clean
async def skips_what_matches(ctx: Any, request_context: Any) -> Any:
    """docs/hooks.md, "Pre-flight input validation": raises instead of asking the model."""
    for message in request_context.messages:
        for part in message.parts:
            if isinstance(getattr(part, "content", None), str) and "ignore all rules" in part.content:
                raise SkipModelRequest(ModelResponse(parts=[TextPart("The request is blocked.")]))
    return request_context


# before_tool_execute: clean
async def audits_the_call(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
    """docs/hooks.md, "Tool hook filtering": keeps the names of the tools that ran."""
    _log.append(call.tool_name)
    return args


_log: list[str] = []


# history_processor: clean
def latest_turn_if_full(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
    """docs/message-history.md, "Compact when the context window fills"."""
    used = getattr(ctx, "context_window_used", None)
    if used is None or used <= 0.8:
        return messages
    turns = [index for index, each in enumerate(messages) if isinstance(each.parts[0], UserPromptPart)]
    return messages[turns[-1] :] if turns else messages


# after_tool_execute: write content
async def mutates_the_first_part(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    """docs/message-history.md, "Editing existing messages": what the page warns of."""
    ctx.messages[0].parts[0].content = "changed in place"
    return result


# history_processor: clean
def compacts_with_replace(messages: list[ModelMessage]) -> list[ModelMessage]:
    """docs/message-history.md, "Editing existing messages": what the page recommends."""

    def short(part: Any) -> Any:
        return replace(part, content="compacted") if isinstance(part, ToolReturnPart) else part

    return [replace(each, parts=[*map(short, each.parts)]) for each in messages]
