"""The adapter of pydantic-ai 1 and 2."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic_ai import Agent
from pydantic_ai import messages as m
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from agentcore.live.adapter import Attached, Boundary, Entry, Given, Recorder
from agentcore.live.adapters.pydantic_ai_messages import (
    entries_of,
    history_of,
    response,
    tools_of,
    user_content,
)
from agentcore.live.conversations import Conversation

__all__ = ["ADAPTER"]

# Of a RunContext, these are conversation; deps, usage, model and agent are the framework's or the person's
# own.
_CONVERSATION: Final = frozenset({"messages", "prompt"})


def _kept(given: Given) -> Sequence[Any]:
    kept = (
        [value for name, value in vars(given["ctx"]).items() if name not in _CONVERSATION]
        if "ctx" in given
        else []
    )
    request = given.get("request_context")
    kept += (
        [value for name, value in vars(request).items() if name != "messages"] if request is not None else []
    )
    return [*kept, given.get("tool_def")]


def _outlets(given: Given) -> Sequence[Any]:
    # Both are documented to be assigned: ctx.messages[:] = ..., request_context.messages = ...
    context = given.get("ctx")
    assigned = [None if context is None else context.messages, given.get("request_context")]
    return [each for each in assigned if each is not None]


def _boundary(*parameters: str, passive: Callable[[Given], Any], **more: Any) -> Boundary:
    return Boundary(parameters=("ctx", *parameters), kept=_kept, outlets=_outlets, passive=passive, **more)


def _messages_in(given: Given) -> Any:
    return given["request_context"].messages


class _Adapter:
    name = "pydantic-ai"
    package = "pydantic-ai-slim"
    paths = ("generate", "stream")
    drop = ("timestamp", "run_id", "conversation_id", "provider_request_id", "usage")
    boundaries: Mapping[str, Boundary] = {
        "history_processor": Boundary(
            parameters=("messages",),
            context="ctx",
            kept=_kept,
            outlets=_outlets,
            passive=lambda given: given["messages"],
            messages_in=lambda given: given["messages"],
            messages_out=lambda returned: returned,
            again=lambda given, returned: {**given, "messages": returned},
        ),
        "before_model_request": _boundary(
            "request_context",
            methods=("before_model_request",),
            passive=lambda given: given["request_context"],
            messages_in=_messages_in,
            messages_out=lambda request: request.messages,
            again=lambda given, returned: {**given, "request_context": returned},
        ),
        "after_model_request": _boundary(
            methods=("after_model_request",), passive=lambda given: given["response"], after=True, whole=False
        ),
        "wrap_model_request": _boundary(
            methods=("wrap_model_request",),
            handler="handler",
            messages_in=_messages_in,
            messages_out=lambda request: request.messages,
            passive=lambda given: given["handler"](given["request_context"]),
        ),
        "before_tool_execute": _boundary(
            methods=("before_tool_execute",), passive=lambda given: given["args"], after=True, whole=False
        ),
        "after_tool_execute": _boundary(
            methods=("after_tool_execute",), passive=lambda given: given["result"], after=True, whole=False
        ),
    }

    def entries(self, messages: Any) -> Sequence[Entry]:
        return [each for message in messages for each in entries_of(message)]

    def bases(self) -> Sequence[type]:
        from pydantic_ai.capabilities import AbstractCapability  # noqa: PLC0415 - early releases have none

        return (AbstractCapability,)

    def control(self) -> Sequence[type[BaseException]]:
        import pydantic_ai.exceptions as known  # noqa: PLC0415 - beside its use

        names = ("ModelRetry", "SkipModelRequest", "SkipToolExecution", "CallDeferred", "ApprovalRequired")
        return [getattr(known, name) for name in names if hasattr(known, name)]

    def run(
        self, conversation: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        asyncio.run(self._run(conversation, hook, at, path, recorder))

    async def _run(
        self, of: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        script: list[m.ModelResponse] = []

        def answer(messages: list[m.ModelMessage], _: AgentInfo) -> m.ModelResponse:
            step = recorder.prompt(messages)
            return script[step] if step < len(script) else m.ModelResponse(parts=[m.TextPart("done")])

        async def stream(messages: list[m.ModelMessage], info: AgentInfo) -> Any:
            for index, part in enumerate(answer(messages, info).parts):
                if isinstance(part, m.ToolCallPart):
                    yield {
                        index: DeltaToolCall(
                            name=part.tool_name,
                            json_args=part.args_as_json_str(),
                            tool_call_id=part.tool_call_id,
                        )
                    }
                elif isinstance(part, m.TextPart):
                    yield part.content

        agent = Agent(
            FunctionModel(answer, stream_function=stream),
            instructions=of.get("instructions"),
            tools=tools_of(of),
            retries=50,
            **_attached(hook, at),
        )
        history: list[m.ModelMessage] = []
        passed: list[Any] = []
        recorder.holder("caller", passed)
        for number, turn in enumerate(of["turns"]):
            recorder.begin_turn(number)
            script[:] = [response(each) for each in turn["answers"]]
            history = [*history, *history_of(turn["messages"][:-1])]
            request = user_content(turn["messages"][-1])
            passed.append([history, request])
            # With a handler of events the same run asks the model for streams.
            events: dict[str, Any] = {"event_stream_handler": _drained} if path == "stream" else {}
            result = await agent.run(request, message_history=history, **events)
            history = result.all_messages()
            recorder.result(history)


async def _drained(_: Any, events: Any) -> None:
    async for _event in events:
        pass


def _attached(hook: Attached | None, at: str) -> dict[str, Any]:
    if hook is None:
        return {}
    if at == "history_processor":
        try:
            from pydantic_ai.capabilities import ProcessHistory  # noqa: PLC0415 - release 1 has none
        except ImportError:
            return {"history_processors": [hook.call]}
        return {"capabilities": [ProcessHistory(hook.call)]}
    if hook.owner is not None:
        return {"capabilities": [hook.owner]}
    from pydantic_ai.capabilities import AbstractCapability  # noqa: PLC0415 - early releases have none

    async def method(_: Any, *args: Any, **options: Any) -> Any:
        returned = hook.call(*args, **options)
        return await returned if inspect.isawaitable(returned) else returned

    return {"capabilities": [type("Checked", (AbstractCapability,), {at: method})()]}


ADAPTER: Final = _Adapter()
