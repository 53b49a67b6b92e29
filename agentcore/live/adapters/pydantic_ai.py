"""The adapter of pydantic-ai 1 and 2."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

import pydantic_ai
from pydantic_ai import Agent, ModelRetry, RunContext, Tool
from pydantic_ai import messages as m
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from agentcore.live import adapter as live
from agentcore.live import session as talk

__all__ = ["ADAPTER"]

_CAPABILITIES: Final = getattr(pydantic_ai, "capabilities", None)  # early releases have none
_STEERING: Final = ("ModelRetry", "SkipModelRequest", "SkipToolExecution", "CallDeferred", "ApprovalRequired")


def _kept(given: live.Given) -> Sequence[Any]:
    # Of the contexts, these are conversation; all else is the framework's or the person's own.
    kept = talk.attributes(given.get("ctx"), "messages", "prompt")
    kept += talk.attributes(given.get("request_context"), "messages")
    return [*kept, given.get("tool_def")]


def _outlets(given: live.Given) -> Sequence[Any]:
    # Both are documented to be assigned: ctx.messages[:] = ..., request_context.messages = ...
    assigned = [given["ctx"].messages if "ctx" in given else None, given.get("request_context")]
    return [each for each in assigned if each is not None]


class _Adapter(live.AdapterBase):
    name = "pydantic-ai"
    package = "pydantic-ai-slim"
    paths = ("generate", "stream")
    drop = ("timestamp", "run_id", "conversation_id", "provider_request_id", "usage")
    awaits = True
    classes = live.members(_CAPABILITIES, "AbstractCapability")
    steering = live.members(pydantic_ai.exceptions, *_STEERING)
    boundaries = live.boundaries(
        {
            "history_processor": live.rewriting("messages", context="ctx"),
            "before_model_request": live.rewriting("request_context", "ctx", messages=live.messages_of),
            "after_model_request": live.observer("ctx", passed="response"),
            "wrap_model_request": live.around("request_context", "ctx"),
            "before_tool_execute": live.observer("ctx", passed="args"),
            "after_tool_execute": live.observer("ctx", passed="result"),
        },
        kept=_kept,
        outlets=_outlets,
    )

    def entries(self, messages: Any) -> Sequence[live.Entry]:
        return [_entry(message, part) for message in messages for part in message.parts]

    def user(self, parts: Sequence[talk.Part]) -> m.ModelRequest:
        file: Any = lambda part: m.BinaryContent(base64.b64decode(part["data"]), media_type=part["mediaType"])  # noqa: E731
        content = talk.mapped(parts, text=lambda part: part["text"], file=file)
        return m.ModelRequest([m.UserPromptPart(content)])

    def answer(self, parts: Sequence[talk.Part]) -> m.ModelResponse:
        return m.ModelResponse(
            talk.mapped(
                parts,
                text=lambda part: m.TextPart(part["text"]),
                reasoning=lambda part: m.ThinkingPart(part["text"]),
                call=lambda part: m.ToolCallPart(part["tool"], dict(part["input"]), part["id"]),
            )
        )

    def results(self, calls: Sequence[talk.Part]) -> m.ModelRequest:
        return m.ModelRequest([*map(self.result, calls)])

    def result(self, call: talk.Part) -> Any:
        of: Any = {"tool_name": call["tool"], "tool_call_id": call["id"]}
        if (failed := talk.failure(call)) is not None:
            return m.RetryPromptPart(content=failed, **of)
        return m.ToolReturnPart(content=talk.fresh(call["output"]), **of)

    def passed(self, messages: list[Any]) -> Any:
        return messages[:-1], messages[-1].parts[0].content

    def begin(self, session: talk.Session, hook: live.Attached | None, at: str, path: str) -> Any:
        def answer(messages: Any, _: AgentInfo) -> m.ModelResponse:
            return self.answer(session.answer(messages))

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
            return talk.fresh(call["output"])

        kit = [Tool.from_schema(execute, name, name, talk.SCHEMA, takes_ctx=True) for name in session.tools]
        options: Any = {"instructions": session.instructions, **_attached(hook, at)}
        agent = Agent(FunctionModel(answer, stream_function=stream), tools=kit, retries=50, **options)
        # With a handler of events the same run asks the model for streams.
        handler: Any = lambda _, events: talk.ended(events)  # noqa: E731 - one line
        events: Any = {"event_stream_handler": handler} if path == "stream" else {}

        async def turn(given: Any) -> talk.Reply:
            history, request = given
            return talk.Reply((await agent.run(request, message_history=history, **events)).all_messages())

        return turn


def _attached(hook: live.Attached | None, at: str) -> dict[str, Any]:
    if hook is None:
        return {}
    if at == "history_processor":
        process = getattr(_CAPABILITIES, "ProcessHistory", None)
        return {"capabilities": [process(hook.call)]} if process else {"history_processors": [hook.call]}
    return {"capabilities": [live.as_object(hook, ADAPTER.classes[0], at, live.as_async_method)]}


def _entry(message: Any, part: Any) -> live.Entry:
    kind, text = part.part_kind, str(getattr(part, "content", None) or "")
    if kind == "tool-call":
        return live.Entry("assistant", part.args_as_json_str(), calls=(part.tool_call_id,))
    if kind == "tool-return" or (kind == "retry-prompt" and part.tool_name):
        return live.Entry("tool", text, results=(part.tool_call_id,))
    said = "user" if message.kind == "request" else "assistant"
    return live.Entry({"user-prompt": "user", "system-prompt": "system"}.get(kind, said), text)


ADAPTER: Final = _Adapter()
