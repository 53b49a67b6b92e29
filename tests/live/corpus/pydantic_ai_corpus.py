"""Hooks of many kinds for pydantic-ai; a comment before each says where it runs and what is expected."""

from __future__ import annotations

import asyncio
import copy
import functools
import logging
import random
import secrets
import time
import uuid
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

_log = logging.getLogger(__name__)


# history_processor: accumulates
def appends_part(messages: list[ModelMessage]) -> list[ModelMessage]:
    last = messages[-1]
    if isinstance(last, ModelRequest):
        last.parts.append(UserPromptPart("Be brief."))  # type: ignore[attr-defined]
    return messages


# history_processor: write messages[*].parts[*].content
async def edits_content_lists(messages: list[ModelMessage]) -> list[ModelMessage]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart) and isinstance(part.content, list):
                part.content[0] = "redacted"
    return list(messages)


# history_processor: write messages[*].parts
def replace_shares_the_list(messages: list[ModelMessage]) -> list[ModelMessage]:
    made = [replace(message) for message in messages]
    for message in made:
        if isinstance(message, ModelRequest) and len(message.parts) > 1:
            message.parts.sort(key=lambda part: part.part_kind)  # type: ignore[attr-defined]
            message.parts.reverse()  # type: ignore[attr-defined]
    return made


# history_processor: write messages[*].parts[*].args
def drops_arguments(messages: list[ModelMessage]) -> list[ModelMessage]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolCallPart) and isinstance(part.args, dict):
                part.args.clear()
    return messages


# history_processor: write messages[*].parts[*].metadata
def sets_metadata(messages: list[ModelMessage]) -> list[ModelMessage]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                part.metadata = {"seen": True}
    return messages


# history_processor: harmless-write messages[*].parts[*].content
def edits_with_setattr(messages: list[ModelMessage]) -> list[ModelMessage]:
    for message in messages[-1:]:
        for part in message.parts:
            object.__setattr__(part, "content", f"{getattr(part, 'content', '')}.")
    return messages


# history_processor: write messages[*].parts[*].content
def edits_what_it_kept(messages: list[ModelMessage]) -> list[ModelMessage]:
    for part in _kept_parts:
        part.content = "forgotten"
    for message in messages:
        _kept_parts.extend(part for part in message.parts if isinstance(part, UserPromptPart))
    return messages


_kept_parts: list[Any] = []


class _Trimmer:
    def __call__(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        for message in messages[:-1]:
            for part in message.parts:
                if isinstance(part, TextPart):
                    part.content = part.content[:3]
        return messages


# history_processor: write
class_instance_edits_shared = _Trimmer()


def _mask(word: str, messages: list[ModelMessage]) -> list[ModelMessage]:
    for message in messages[:-1]:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                part.content = f"{word} {part.content}"
    return messages


# history_processor: write content
partial_edits = functools.partial(_mask, "***")


# history_processor: clean
def last_pairs_only(messages: list[ModelMessage]) -> list[ModelMessage]:
    for index in range(len(messages) - 1, -1, -1):
        if any(isinstance(part, UserPromptPart) for part in messages[index].parts):
            return messages[index:]
    return messages


# history_processor: clean
async def new_everything(messages: list[ModelMessage]) -> list[ModelMessage]:
    await asyncio.sleep(0)
    made = copy.deepcopy(messages)
    for message in made:
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                part.content = str(part.content)[:7]
    return made


# history_processor: clean
def memo_by_content(messages: list[ModelMessage]) -> list[ModelMessage]:
    made = []
    for message in messages:
        # Contents that it has cut are alike, and so must be how the calls ended.
        told = ("part_kind", "content", "outcome")
        key = repr([[getattr(part, name, None) for name in told] for part in message.parts])
        if isinstance(message, ModelRequest) and any(isinstance(p, ToolReturnPart) for p in message.parts):
            if key not in _memo:
                _memo[key] = replace(
                    message,
                    parts=[
                        replace(p, content="x") if isinstance(p, ToolReturnPart) else p for p in message.parts
                    ],
                )
            made.append(
                replace(
                    _memo[key],
                    parts=[
                        replace(new, tool_call_id=old.tool_call_id)
                        if isinstance(new, ToolReturnPart)
                        else new
                        for new, old in zip(_memo[key].parts, message.parts, strict=True)
                    ],
                )
            )
        else:
            made.append(message)
    return made


_memo: dict[str, Any] = {}


# history_processor: clean
def counts_and_logs(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
    global _count
    _count += 1
    _log.debug("%s %s %s", _count, uuid.uuid4(), time.monotonic())
    _times[id(messages)] = random.random()
    return messages


_count = 0
_times: dict[int, float] = {}


# history_processor: clean
def generator_filter(messages: list[ModelMessage]) -> list[ModelMessage]:
    def kept() -> Any:
        for message in messages:
            if isinstance(message, ModelResponse):
                yield replace(message, parts=[p for p in message.parts if p.part_kind != "thinking"])
            else:
                yield message

    return [*kept()]


# history_processor: clean
def system_at_the_front(messages: list[ModelMessage]) -> list[ModelMessage]:
    if any(isinstance(part, SystemPromptPart) for part in messages[0].parts):
        return messages
    return [ModelRequest(parts=[SystemPromptPart("Be kind.")]), *messages]


# history_processor: undetermined
def secret_order(messages: list[ModelMessage]) -> list[ModelMessage]:
    return [
        *messages[:-1],
        replace(messages[-1], parts=[*messages[-1].parts, UserPromptPart(secrets.token_hex(4))]),
    ]


# before_model_request: write request_context.messages[*].parts[*].content
async def cuts_results(ctx: Any, request_context: Any) -> Any:
    for message in request_context.messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                part.content = "cut"
    return request_context


# before_model_request: write messages[*].parts
class InsertsNotes(AbstractCapability):
    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        request_context.messages[0].parts.insert(0, SystemPromptPart("note"))
        return request_context


# before_model_request: clean
class AssignsMessages(AbstractCapability):
    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        request_context.messages = [
            *request_context.messages[:-1],
            copy.deepcopy(request_context.messages[-1]),
        ]
        return request_context


# before_model_request: clean
async def only_counts(ctx: Any, request_context: Any) -> Any:
    global _count
    _count += len(request_context.messages)
    return request_context


# before_model_request: write messages[*].parts[*].content
async def background_write(ctx: Any, request_context: Any) -> Any:
    async def later() -> None:
        await asyncio.sleep(0)
        for part in request_context.messages[0].parts:
            part.content = "late"

    _tasks.add(asyncio.create_task(later()))
    return request_context


_tasks: set[Any] = set()


# after_model_request: harmless-write response.parts[*].content
async def strips_response_in_place(ctx: Any, *, request_context: Any, response: Any) -> Any:
    for part in response.parts:
        if isinstance(part, TextPart):
            part.content = part.content.upper()
    return response


# after_model_request: harmless-write response.parts[*]
async def pops_parts(ctx: Any, *, request_context: Any, response: Any) -> Any:
    if len(response.parts) > 1 and isinstance(response.parts[0], TextPart):
        del response.parts[0]
    return response


# after_model_request: write messages[*].parts[*].content
async def marks_requests(ctx: Any, *, request_context: Any, response: Any) -> Any:
    for message in request_context.messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                part.content = "answered"
    return response


# after_model_request: clean
async def new_response(ctx: Any, *, request_context: Any, response: Any) -> Any:
    return replace(
        response,
        parts=[
            replace(p, content=p.content.upper()) if isinstance(p, TextPart) else p for p in response.parts
        ],
    )


# after_model_request: clean
class CountsTokens(AbstractCapability):
    def __init__(self) -> None:
        self.total = 0

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        self.total += response.usage.output_tokens
        return response


# wrap_model_request: write messages[*].parts
async def wrap_edits(ctx: Any, *, request_context: Any, handler: Any) -> Any:
    request_context.messages[-1].parts.append(UserPromptPart("now"))
    return await handler(request_context)


# wrap_model_request: clean
async def wrap_edits_the_answer(ctx: Any, *, request_context: Any, handler: Any) -> Any:
    response = await handler(request_context)
    return replace(response, parts=[*response.parts])


# wrap_model_request: write
async def wrap_restores_wrongly(ctx: Any, *, request_context: Any, handler: Any) -> Any:
    first = request_context.messages[0].parts[0]
    first.content = "hidden"
    try:
        return await handler(request_context)
    finally:
        first.content = "restored, but not as it was"


# wrap_model_request: clean
async def wrap_new_messages(ctx: Any, *, request_context: Any, handler: Any) -> Any:
    last = request_context.messages[-1]
    more = replace(last, parts=[*last.parts, UserPromptPart("now")])
    return await handler(replace(request_context, messages=[*request_context.messages[:-1], more]))


# before_tool_execute: write ctx.messages[*].parts[*].content
async def tool_reads_and_marks(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
    for message in ctx.messages:
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                part.content = "asked"
    return args


# before_tool_execute: clean
async def tool_new_args(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
    return {key: value for key, value in args.items() if key != "limit"}


# before_tool_execute: clean
class Audits(AbstractCapability):
    def __init__(self) -> None:
        self.log: list[str] = []

    async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        self.log.append(f"{call.tool_name} {args} {time.time()}")
        return args


# after_tool_execute: clean
async def result_as_text(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    return str(result)[:9]


# after_tool_execute: write
async def edits_the_call(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    call.tool_name = "renamed"
    return result
