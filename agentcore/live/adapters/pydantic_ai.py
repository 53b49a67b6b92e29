"""The adapter of pydantic-ai 1 and 2."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from typing import Any, Final

import pydantic_ai
from pydantic_ai import Agent, ModelRetry, RunContext, Tool
from pydantic_ai import messages as m
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from agentcore.live import session as talk
from agentcore.live.adapter import (
    AdapterBase,
    Attached,
    Boundary,
    Entry,
    Given,
    around,
    as_async_method,
    rewriting,
)
from agentcore.live.conversations import fresh

__all__ = ["ADAPTER"]

_CAPABILITIES: Final = getattr(pydantic_ai, "capabilities", None)  # early releases have none
_STEERING: Final = ("ModelRetry", "SkipModelRequest", "SkipToolExecution", "CallDeferred", "ApprovalRequired")


def _kept(given: Given) -> Sequence[Any]:
    # Of the contexts, these are conversation; all else is the framework's or the person's own.
    kept = talk.attributes(given.get("ctx"), "messages", "prompt")
    kept += talk.attributes(given.get("request_context"), "messages")
    return [*kept, given.get("tool_def")]


def _outlets(given: Given) -> Sequence[Any]:
    # Both are documented to be assigned: ctx.messages[:] = ..., request_context.messages = ...
    assigned = [given["ctx"].messages if "ctx" in given else None, given.get("request_context")]
    return [each for each in assigned if each is not None]


_OWN: Final[Any] = {"kept": _kept, "outlets": _outlets}


def _request(make: Any, name: str) -> Boundary:
    found: Boundary = make(
        "request_context", "ctx", messages=lambda each: each.messages, methods=(name,), **_OWN
    )
    return found


def _after(name: str, passed: str) -> Boundary:
    passive: Any = lambda given: given[passed]  # noqa: E731 - one line
    return Boundary(("ctx",), methods=(name,), passive=passive, after=True, whole=False, **_OWN)


class _Adapter(AdapterBase):
    name = "pydantic-ai"
    package = "pydantic-ai-slim"
    paths = ("generate", "stream")
    drop = ("timestamp", "run_id", "conversation_id", "provider_request_id", "usage")
    classes = (_CAPABILITIES.AbstractCapability,) if _CAPABILITIES else ()
    steering = tuple(
        getattr(pydantic_ai.exceptions, name) for name in _STEERING if hasattr(pydantic_ai.exceptions, name)
    )
    boundaries = {  # noqa: RUF012 - a constant
        "history_processor": rewriting("messages", context="ctx", **_OWN),
        "before_model_request": _request(rewriting, "before_model_request"),
        "after_model_request": _after("after_model_request", "response"),
        "wrap_model_request": _request(around, "wrap_model_request"),
        "before_tool_execute": _after("before_tool_execute", "args"),
        "after_tool_execute": _after("after_tool_execute", "result"),
    }

    def entries(self, messages: Any) -> Sequence[Entry]:
        return [_entry(message, part) for message in messages for part in message.parts]

    def run(self, session: talk.Session, hook: Attached | None, at: str, path: str) -> None:
        def answer(messages: Any, _: AgentInfo) -> m.ModelResponse:
            return _answer(session.answer(messages))

        async def stream(messages: Any, info: AgentInfo) -> Any:
            for index, part in enumerate(answer(messages, info).parts):
                if isinstance(part, m.ToolCallPart):
                    call, text = part.tool_call_id, part.args_as_json_str()
                    yield {index: DeltaToolCall(part.tool_name, text, tool_call_id=call)}
                elif isinstance(part, m.TextPart):
                    yield part.content

        # In a thread of its own each call would come in an order of chance.
        async def execute(ctx: RunContext[Any], **_: Any) -> Any:
            call = session.call(ctx.tool_call_id or "")
            if (failed := talk.failure(call)) is not None:
                raise ModelRetry(failed)
            return fresh(call["output"])

        model, schema = FunctionModel(answer, stream_function=stream), {"type": "object", "properties": {}}
        kit = [Tool.from_schema(execute, name, name, schema, takes_ctx=True) for name in session.tools]
        options: Any = {"instructions": session.instructions, **_attached(hook, at)}
        agent = Agent(model, tools=kit, retries=50, **options)
        asyncio.run(_turns(agent, session, path))


async def _turns(agent: Any, session: talk.Session, path: str) -> None:
    user: Any = lambda parts: m.ModelRequest([m.UserPromptPart(_content(parts))])  # noqa: E731 - one line
    # With a handler of events the same run asks the model for streams.
    events: Any = {"event_stream_handler": _drained} if path == "stream" else {}
    history: list[Any] = []
    for added in session.turns():
        past = talk.translated(
            added[:-1], user, _answer, lambda calls: m.ModelRequest([*map(_result, calls)])
        )
        history, request = session.passes(([*history, *past], _content(added[-1]["parts"])))
        history = (await agent.run(request, message_history=history, **events)).all_messages()
        session.result(history)


async def _drained(_: Any, events: Any) -> None:
    async for _event in events:
        pass


def _attached(hook: Attached | None, at: str) -> dict[str, Any]:
    if hook is None:
        return {}
    if at == "history_processor":
        process = getattr(_CAPABILITIES, "ProcessHistory", None)
        return {"capabilities": [process(hook.call)]} if process else {"history_processors": [hook.call]}
    made: Any = type("Checked", tuple(ADAPTER.classes), {at: as_async_method(hook)})
    return {"capabilities": [hook.owner if hook.owner is not None else made()]}


def _content(parts: Sequence[talk.Part]) -> list[Any]:
    image: Any = lambda part: m.BinaryContent(base64.b64decode(part["data"]), media_type=part["mediaType"])  # noqa: E731
    return [part["text"] if part["type"] == "text" else image(part) for part in parts]


def _answer(parts: Sequence[talk.Part]) -> m.ModelResponse:
    make: Any = {
        "text": lambda part: m.TextPart(part["text"]),
        "reasoning": lambda part: m.ThinkingPart(part["text"]),
        "call": lambda part: m.ToolCallPart(part["tool"], dict(part["input"]), part["id"]),
    }
    return m.ModelResponse(parts=[make[part["type"]](part) for part in parts])


def _result(call: talk.Part) -> Any:
    of: Any = {"tool_name": call["tool"], "tool_call_id": call["id"]}
    if (failed := talk.failure(call)) is not None:
        return m.RetryPromptPart(content=failed, **of)
    return m.ToolReturnPart(content=fresh(call["output"]), **of)


def _entry(message: Any, part: Any) -> Entry:
    kind, text = part.part_kind, str(getattr(part, "content", None) or "")
    if kind == "tool-call":
        return Entry("assistant", part.args_as_json_str(), calls=(part.tool_call_id,))
    if kind == "tool-return" or (kind == "retry-prompt" and part.tool_name):
        return Entry("tool", text, results=(part.tool_call_id,))
    said = "user" if message.kind == "request" else "assistant"
    return Entry({"user-prompt": "user", "system-prompt": "system"}.get(kind, said), text)


ADAPTER: Final = _Adapter()
