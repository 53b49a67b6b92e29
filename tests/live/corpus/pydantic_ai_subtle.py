"""Subtle hooks for pydantic-ai: shared parts, helpers, closures, late writes; each with its verdict."""

from __future__ import annotations

import asyncio
import collections
import copy
import functools
import itertools
import random
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)


# history_processor: write messages[*].parts
def replaced_list_shared(messages: Any) -> Any:
    made = [replace(m, parts=m.parts) for m in messages]
    for m in made:
        if m.kind == "request":
            m.parts[:] = [p for p in m.parts if p.part_kind != "system-prompt"] + [UserPromptPart("z")][:0]
            m.parts[0] = replace(m.parts[0])
            if isinstance(m.parts[0], UserPromptPart):
                m.parts[0] = UserPromptPart("shortened")
    return made


# history_processor: write messages[*].parts[*].content
def half_deep(messages: Any) -> Any:
    half = [copy.deepcopy(m) if i % 2 else m for i, m in enumerate(messages)]
    for m in half:
        for p in m.parts:
            if isinstance(p, (UserPromptPart, TextPart)):
                p.content = "x" if isinstance(p.content, str) else ["x"]
    return half


# history_processor: write content
def nested_results(messages: Any) -> Any:
    for m in messages:
        for p in m.parts:
            if isinstance(p, ToolReturnPart) and isinstance(p.content, dict):
                p.content["rows"] = "cut"
    return messages


# history_processor: write messages[*].metadata
def metadata_lists(messages: Any) -> Any:
    for m in messages:
        if isinstance(m, ModelRequest):
            m.metadata = m.metadata or {}
            m.metadata.setdefault("seen", []).append(1)
    return messages


# history_processor: write tool_call_id
def renames_ids(messages: Any) -> Any:
    for m in messages:
        for p in m.parts:
            if hasattr(p, "tool_call_id") and p.tool_call_id:
                p.tool_call_id = f"{p.tool_call_id[:20]}_x"
    return messages


# history_processor: clean
def through_json(messages: Any) -> Any:
    made = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages))
    for m in made:
        for p in m.parts:
            if isinstance(p, TextPart):
                p.content = p.content[:3]
    return made


# history_processor: clean
def through_python(messages: Any) -> Any:
    made = ModelMessagesTypeAdapter.validate_python(ModelMessagesTypeAdapter.dump_python(messages))
    for m in made:
        for p in m.parts:
            if isinstance(p, TextPart):
                p.content = p.content[:3]
    return made


# history_processor: write
def args_of_calls(messages: Any) -> Any:
    def clip(part: Any) -> Any:
        if isinstance(part, ToolCallPart) and isinstance(part.args, dict):
            part.args["query"] = "..."
        return replace(part) if isinstance(part, ToolCallPart) else part

    return [replace(m, parts=[clip(p) for p in m.parts]) for m in messages]


# history_processor: write content
def pooled(messages: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_cut, messages).result()
    return messages


def _cut(messages: Any) -> Any:
    for m in messages:
        for p in m.parts:
            if isinstance(p, UserPromptPart):
                p.content = "cut"


# history_processor: write content
async def gathered(messages: Any) -> Any:
    async def one(m: Any) -> Any:
        await asyncio.sleep(0)
        for p in m.parts:
            if isinstance(p, TextPart):
                p.content = "summary"

    await asyncio.gather(*map(one, messages[:-1]))
    return messages


# history_processor: write content
async def late_thread(messages: Any) -> Any:
    asyncio.get_running_loop().run_in_executor(None, _cut, messages)
    return messages


# history_processor: write content
async def late_long(messages: Any) -> Any:
    async def later() -> Any:
        await asyncio.sleep(1)
        _cut(messages)

    _tasks.append(asyncio.create_task(later()))
    return messages


_tasks: list[Any] = []


# history_processor: write
def template_part(messages: Any) -> Any:
    _note.content = f"{len(messages)} messages so far"
    return [ModelRequest(parts=[_note]), *messages]


_note = SystemPromptPart("")


_constant = ModelRequest(parts=[SystemPromptPart("Be kind.")])


# history_processor: clean
def id_cache(messages: Any) -> Any:
    made = []
    for m in messages:
        if id(m) not in _ids:
            _ids[id(m)] = (m, replace(m, parts=[replace(p) for p in m.parts]))
        made.append(_ids[id(m)][1])
    return made


_ids: dict[int, Any] = {}


# history_processor: accumulates
def stamps(messages: Any) -> Any:
    last = messages[-1]
    return [*messages[:-1], replace(last, parts=[*last.parts, UserPromptPart(f"it is {time.time()}")])]


# history_processor: clean
def redacts(messages: Any) -> Any:
    def red(p: Any) -> Any:
        return (
            replace(p, content="[redacted]")
            if isinstance(p, UserPromptPart) and "invoice" in str(p.content)
            else p
        )

    return [replace(m, parts=[red(p) for p in m.parts]) for m in messages]


# history_processor: loses-request
def only_responses_and_tools(messages: Any) -> Any:
    return [m for m in messages if not any(isinstance(p, UserPromptPart) for p in m.parts)] or [
        ModelRequest(parts=[UserPromptPart("?")])
    ]


# history_processor: raises
def returns_none(messages: Any) -> Any:
    messages[0]


# history_processor: raises
def index_error(messages: Any) -> Any:
    return [messages[0], messages[1], *messages[2:]]


# history_processor: clean
def with_context(ctx: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
    return messages if ctx.usage.requests < 100 else messages[-2:]


# before_model_request: write content
async def nested(ctx: Any, request_context: Any) -> Any:
    for m in request_context.messages:
        for p in m.parts:
            if isinstance(getattr(p, "content", None), list):
                p.content.insert(0, "note")
    return request_context


# before_model_request: clean
async def replaced_context(ctx: Any, request_context: Any) -> Any:
    return replace(request_context, messages=[*request_context.messages])


# before_model_request: clean
async def assigns_new(ctx: Any, request_context: Any) -> Any:
    request_context.messages = [replace(m, parts=[*m.parts]) for m in request_context.messages]
    return request_context


# before_model_request: accumulates
async def appends_to_list(ctx: Any, request_context: Any) -> Any:
    request_context.messages.append(ModelRequest(parts=[UserPromptPart("be brief")]))
    return request_context


# before_model_request: write
async def edits_ctx_messages(ctx: Any, request_context: Any) -> Any:
    ctx.messages[0].parts[0].content = "edited"
    return request_context


# after_model_request: write
async def keeps_responses(ctx: Any, *, request_context: Any, response: Any) -> Any:
    for each in _responses:
        for p in each.parts:
            if isinstance(p, TextPart):
                p.content = "old"
    _responses.append(response)
    return response


_responses: list[Any] = []


# after_model_request: clean
async def keeps_copies(ctx: Any, *, request_context: Any, response: Any) -> Any:
    for each in _copies:
        for p in each.parts:
            if isinstance(p, TextPart):
                p.content = "old"
    _copies.append(copy.deepcopy(response))
    return response


_copies: list[Any] = []


# after_model_request: write
async def edits_last_request(ctx: Any, *, request_context: Any, response: Any) -> Any:
    request_context.messages[-1].parts.append(UserPromptPart("seen"))
    return response


# wrap_model_request: write
async def after_handler(ctx: Any, *, request_context: Any, handler: Any) -> Any:
    response = await handler(request_context)
    for m in request_context.messages:
        for p in m.parts:
            if isinstance(p, UserPromptPart):
                p.content = "done"
    return response


# wrap_model_request: clean
async def retry(ctx: Any, *, request_context: Any, handler: Any) -> Any:
    for _ in range(2):
        try:
            return await handler(request_context)
        except ValueError:
            continue
    return await handler(request_context)


# wrap_model_request: write
async def shallow(ctx: Any, *, request_context: Any, handler: Any) -> Any:
    mine = copy.copy(request_context)
    mine.messages = [copy.copy(m) for m in mine.messages]
    mine.messages[0].parts.append(SystemPromptPart("note"))
    return await handler(mine)


# wrap_model_request: clean
async def deep(ctx: Any, *, request_context: Any, handler: Any) -> Any:
    mine = replace(request_context, messages=copy.deepcopy(request_context.messages))
    mine.messages[0].parts.append(SystemPromptPart("note"))
    return await handler(mine)


# before_tool_execute: write
async def args_in_place(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
    args["tenant"] = "t1"
    return args


# before_tool_execute: write
async def call_args(ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
    if isinstance(call.args, dict):
        call.args["tenant"] = "t1"
    else:
        call.args = '{"tenant": "t1"}'
    return args


# after_tool_execute: clean
async def new_result(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    return {**result, "checked": True} if isinstance(result, dict) else result


# after_tool_execute: harmless-write result
async def result_in_place(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    if isinstance(result, dict):
        result["checked"] = True
    return result


# after_tool_execute: write
async def keeps_results(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    for each in _results:
        each["old"] = True
    if isinstance(result, dict):
        _results.append(result)
    return result


_results: list[Any] = []


# after_tool_execute: write
async def args_after(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
    args.clear()
    return result


# history_processor: clean
def iterator_of_new(messages: Any) -> Any:
    return list(itertools.chain(messages[:-1], [replace(messages[-1])]))


# history_processor: write
def map_in_place(messages: Any) -> Any:
    [m.parts.reverse() if m.kind == "request" and len(m.parts) > 1 else None for m in messages]
    return messages


# history_processor: write
def deque_window(messages: Any) -> Any:
    window = collections.deque(messages, maxlen=50)
    window[0].parts[0] = replace(window[0].parts[0], content="first")
    return list(window)


# history_processor: clean
class Frozen:
    def __init__(self) -> None:
        self.store = {}

    def __call__(self, messages: Any) -> Any:
        out = []
        for m in messages:
            got = self.store.get(id(m))
            if got is None or got[0] is not m:
                got = self.store[id(m)] = (m, copy.deepcopy(m))
            out.append(got[1])
        return out


# history_processor: write
def try_except(messages: Any) -> Any:
    for m in messages:
        try:
            m.parts[0].content += " "
            m.parts[0].content = m.parts[0].content.strip() + "!"
        except (TypeError, AttributeError):
            continue
    return messages


# history_processor: write
def walrus(messages: Any) -> Any:
    if (part := messages[0].parts[0]) and isinstance(part.content, list):
        part.content.insert(0, "x")
    return list(messages)


# history_processor: write
def vars_write(messages: Any) -> Any:
    vars(messages[0].parts[0])["content"] = "direct"
    return messages


# history_processor: write
def swaps_parts(messages: Any) -> Any:
    if len(messages) > 2:
        a, b = messages[0], messages[2]
        if a.kind == b.kind == "request":
            a.parts, b.parts = b.parts, a.parts
    return messages


# history_processor: clean
def random_sampling(messages: Any) -> Any:
    return messages if random.random() < 2 else messages[:1]


# history_processor: clean
def lru(messages: Any) -> Any:
    return [replace(m) if _lru(m.kind) else m for m in messages]


@functools.lru_cache
def _lru(kind: Any) -> Any:
    return kind == "request" and bool(uuid.uuid4())


# history_processor: write
def del_attr(messages: Any) -> Any:
    for m in messages:
        if isinstance(m, ModelResponse) and len(m.parts) > 1:
            del m.parts[0]
    return messages
