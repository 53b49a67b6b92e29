"""A subtle polluting hook and a clean one for each boundary of pydantic-ai, and hooks with a state."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart


def _short(part: Any) -> Any:
    return replace(part, content=str(part.content)[:5]) if isinstance(part, ToolReturnPart) else part


def _shortened(messages: list[Any]) -> list[Any]:
    return [replace(message, parts=[_short(part) for part in message.parts]) for message in messages]


def _shorten(messages: list[Any]) -> list[Any]:
    made = []
    for message in messages:
        made.append(replace(message))  # a new message, with the parts of the old one
        for part in made[-1].parts:
            if isinstance(part, ToolReturnPart):
                part.content = str(part.content)[:5]
    return made


def history_processor_pollutes(messages: list[ModelMessage]) -> list[ModelMessage]:
    return _shorten(messages)


def history_processor_clean(messages: list[ModelMessage]) -> list[ModelMessage]:
    return _shortened(messages)


async def history_processor_with_context_clean(
    ctx: RunContext[Any], messages: list[ModelMessage]
) -> list[ModelMessage]:
    assert ctx.run_step >= 0
    return _shortened(messages)


def before_model_request_pollutes(ctx: Any, request_context: Any) -> Any:
    request_context.messages = _shorten(request_context.messages)
    return request_context


async def before_model_request_clean(ctx: Any, request_context: Any) -> Any:
    request_context.messages = _shortened(request_context.messages)
    return request_context


def after_model_request_pollutes(ctx: Any, *, request_context: Any, response: Any) -> Any:
    for message in request_context.messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                part.content = "seen"
    return response


def after_model_request_clean(ctx: Any, *, request_context: Any, response: Any) -> Any:
    return replace(response, parts=list(response.parts))


async def wrap_model_request_pollutes(
    ctx: Any, *, request_context: Any, handler: Callable[[Any], Any]
) -> Any:
    return await handler(replace(request_context, messages=_shorten(request_context.messages)))


async def wrap_model_request_clean(ctx: Any, *, request_context: Any, handler: Callable[[Any], Any]) -> Any:
    return await handler(replace(request_context, messages=_shortened(request_context.messages)))


def before_tool_execute_pollutes(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
    if isinstance(call.args, dict):  # a text in streams
        call.args["injected"] = True
    return args


def before_tool_execute_clean(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
    return {**args, "injected": True}


def after_tool_execute_pollutes(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    for message in ctx.messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                part.content = "used"
    return result


def after_tool_execute_clean(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    return {"result": result, "of": call.tool_name}


# ---------------------------------------------------------------- states

_calls = 0
_known: dict[int, tuple[Any, str]] = {}


def stateful(messages: list[Any]) -> list[Any]:
    """Counts, caches by identity, draws ids and reads clocks; and returns new messages only."""
    global _calls  # noqa: PLW0603 - the state is the point
    _calls += 1
    for message in messages:
        if id(message) not in _known:
            _known[id(message)] = (
                message,
                f"{uuid.uuid4()} {random.random()} {datetime.now(UTC)} {time.time()}",
            )
    told = f"{_calls} {len(_known)} {' '.join(text for _, text in _known.values())}"

    def part_for(part: Any) -> Any:
        return replace(part, content=told) if isinstance(part, ToolReturnPart) else part

    return [replace(message, parts=[part_for(part) for part in message.parts]) for message in messages]


def reminder(messages: list[ModelMessage]) -> list[ModelMessage]:
    return [*messages, ModelRequest(parts=[UserPromptPart("remember the rules")])]


def reminder_once(messages: list[ModelMessage]) -> list[ModelMessage]:
    texts = [getattr(part, "content", None) for message in messages for part in message.parts]
    return messages if "remember the rules" in texts else reminder(messages)


# ---------------------------------------------------------------- the kinds that are judged wrong easily

_template = UserPromptPart("call 0")
_request = ModelRequest(parts=[_template])


def returns_own_and_edits_later(messages: list[ModelMessage]) -> list[ModelMessage]:
    """The first message is an object of this module; each call edits it, after it was returned before."""
    global _calls  # noqa: PLW0603 - as above
    _calls += 1
    _template.content = f"call {_calls}"
    return messages if any(message is _request for message in messages) else [*messages, _request]


async def writes_after_return(messages: list[ModelMessage]) -> list[ModelMessage]:
    import asyncio

    async def later() -> None:
        for message in messages[:1]:
            for part in message.parts:
                if isinstance(part, UserPromptPart):
                    part.content = "late"

    _tasks.append(asyncio.ensure_future(later()))
    return messages


_tasks: list[Any] = []


def draws_secretly(messages: list[ModelMessage]) -> list[ModelMessage]:
    import secrets

    return [*messages, *(ModelRequest(parts=[UserPromptPart("x")]) for _ in range(secrets.randbelow(4)))]


def writes_and_restores(messages: list[ModelMessage]) -> list[ModelMessage]:
    for message in messages:
        parts = message.parts
        message.parts = []
        message.parts = parts
    return messages


def writes_through_context(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
    for message in ctx.messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                part.content = "through the context"
    return list(messages)


# ---------------------------------------------------------------- prompts


def cuts_pairs(messages: list[ModelMessage]) -> list[ModelMessage]:
    def is_call(message: Any) -> bool:
        return any(part.part_kind == "tool-call" for part in message.parts)

    return [message for message in messages if not is_call(message)]


def loses_request(messages: list[ModelMessage]) -> list[ModelMessage]:
    return messages[-1:]


def raises_late(messages: list[ModelMessage]) -> list[ModelMessage]:
    if len(messages) > 3:
        raise KeyError("too long")
    return messages


def writes_two_places(messages: list[ModelMessage]) -> list[ModelMessage]:
    first: Any = messages[0]
    first.parts[0].content = f"{first.parts[0].content} written"
    first.instructions = "Answer briefly."
    return messages


def writes_two_places_at_once(messages: list[ModelMessage]) -> list[ModelMessage]:
    first: Any = messages[0]
    first.instructions, first.parts[0].content = "Answer briefly.", "written"
    return messages


# ---------------------------------------------------------------- approvals

_before: list[Any] = []


def approval_pollutes(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Marks, once a person has answered, the requests that it saw before they were asked."""
    if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
        for part in _before:
            part.content[0] = "reviewed"
    _before[:] = [part for each in messages for part in each.parts if isinstance(part, UserPromptPart)]
    return messages


def approval_clean(messages: list[Any]) -> list[Any]:
    """Marks them in new messages."""
    if not any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
        _before[:] = messages
        return messages

    def marked(part: Any) -> Any:
        return (
            replace(part, content=["reviewed", *part.content[1:]])
            if isinstance(part, UserPromptPart)
            else part
        )

    return [
        replace(each, parts=[*map(marked, each.parts)]) if any(each is kept for kept in _before) else each
        for each in messages
    ]


# ---------------------------------------------------------------- what an earlier call gave

_results: list[Any] = []


def after_tool_execute_later(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    """Appends to the lists that earlier calls gave it."""
    for each in _results:
        each.append("later")
    if isinstance(result, list):
        _results.append(result)
    return result


def texts_pollute(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Looks at contents that are texts only."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                part.content = part.content.upper()
    return messages
