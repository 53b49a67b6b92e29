"""The adapter of pydantic-ai 1 and 2."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

import pydantic_ai as sdk
from pydantic_ai import messages as m
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from agentcore.live import adapter as live
from agentcore.live import session as talk

__all__ = ["ADAPTER"]

_CAPABILITIES: Final = getattr(sdk, "capabilities", None)  # early releases have none
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
    steering = live.members(sdk.exceptions, *_STEERING)
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

    def entry(self, message: Any) -> list[live.Entry]:
        return [_entry(message, part) for part in message.parts]

    def user(self, parts: Sequence[talk.Part]) -> m.ModelRequest:
        file: Any = lambda part: m.BinaryContent(base64.b64decode(part["data"]), media_type=part["mediaType"])  # noqa: E731
        content = talk.plain(parts) or talk.mapped(parts, text=lambda part: part["text"], file=file)
        return m.ModelRequest([m.UserPromptPart(content)])

    def answer(self, parts: Sequence[talk.Part]) -> m.ModelResponse:
        return m.ModelResponse(
            talk.mapped(
                parts,
                text=lambda part: m.TextPart(part["text"]),
                reasoning=lambda part: m.ThinkingPart(part["text"]),
                call=lambda part: m.ToolCallPart(part["tool"], talk.fresh(part["input"]), part["id"]),
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
        def answer(messages: Any, _: Any) -> m.ModelResponse:
            return self.answer(session.answer(messages))

        # In a thread of its own each call would come in an order of chance.
        async def execute(ctx: sdk.RunContext[Any], **_: Any) -> Any:
            number = ctx.tool_call_id or ""
            if session.needs_approval(number) and not ctx.tool_call_approved:
                raise sdk.ApprovalRequired
            return session.outcome(number, sdk.ModelRetry)

        make: Any = sdk.Tool.from_schema
        kit = [make(execute, name, name, talk.SCHEMA, takes_ctx=True) for name in session.tools]
        output: Any = [str, sdk.DeferredToolRequests] if session.gated else str
        model = FunctionModel(answer, stream_function=lambda *given: _deltas(answer(*given)))
        options: Any = {"instructions": session.instructions, "output_type": output, **_attached(hook, at)}
        agent: Any = sdk.Agent(model, tools=kit, retries=50, **options)
        # With a handler of events the same run asks the model for streams.
        handler: Any = lambda _, events: talk.ended(events)  # noqa: E731 - one line
        events: Any = {"event_stream_handler": handler} if path == "stream" else {}

        async def turn(given: Any, **more: Any) -> talk.Reply:
            result = await agent.run(given[1], message_history=given[0], **events, **more)
            messages = result.all_messages()

            def resume(decisions: Any) -> Any:
                approvals = talk.decided(decisions, yes=True, no=sdk.ToolDenied)
                results = sdk.DeferredToolResults(approvals=approvals)
                return turn((messages, None), deferred_tool_results=results)

            asked = [each.tool_call_id for each in getattr(result.output, "approvals", ())]
            return talk.Reply(messages, asked=asked, resume=resume)

        return turn


async def _deltas(response: m.ModelResponse) -> Any:
    for index, part in enumerate(response.parts):
        if isinstance(part, m.ToolCallPart):
            call, text = part.tool_call_id, part.args_as_json_str()
            yield {index: DeltaToolCall(part.tool_name, text, tool_call_id=call)}
        elif isinstance(part, m.TextPart):
            yield part.content


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
