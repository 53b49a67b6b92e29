"""Real agents under a profile: the same `Agent`, with hooks that get live views.

The loop is synchronous, as the heap needs it; it runs in a worker thread, and whatever awaits (the model,
async hooks and tools) is awaited on the event loop that called.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import anyio.from_thread
import anyio.to_thread

from agentcore.agent.agent import Agent
from agentcore.agent.models.base import LanguageModel, ModelRequest
from agentcore.agent.tools import Tool, ToolContext
from agentcore.frameworks.ai_sdk import CompatRun, run
from agentcore.frameworks.ai_sdk.emulation.settings import Hook, Hooks, Model, Settings
from agentcore.frameworks.ai_sdk.emulation.settings import Tool as CompatTool
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.views import ObjectView, View
from agentcore.messages.content import (
    ContentPart,
    GeneratedReasoning,
    GeneratedText,
    Source,
    ToolCall,
    ToolError,
    ToolResult,
)
from agentcore.messages.messages import Message, SystemMessage
from agentcore.messages.values import freeze, thaw
from agentcore.messages.wire import message_to_wire, messages_from_wire

_CAMEL: Final = {
    "step_number": "stepNumber",
    "tool_choice": "toolChoice",
    "active_tools": "activeTools",
    "provider_options": "providerOptions",
    "tool_calls": "toolCalls",
    "tool_results": "toolResults",
    "finish_reason": "finishReason",
}
_UNLIMITED: Final = 2**31


class Argument:
    """A hook's argument under a profile: its fields have the core's names and hold live views."""

    __slots__ = ("_view",)

    def __init__(self, view: ObjectView) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Any:
        key = _CAMEL.get(name, name)
        if key in self._view:
            return self._view[key]
        raise AttributeError(f"this hook's argument has no {name}; it has {', '.join(self._view)}")

    def __getitem__(self, key: str) -> Any:
        return self._view[key]


async def run_agent(
    profile: AiSdkProfile | str, agent: Agent[Any], messages: Iterable[Message | Mapping[str, Any]]
) -> CompatRun:
    """Runs an agent under a profile, and reports what its hooks wrote in place and how far that spread.

    `prepare_step`, `on_step_start`, `on_step_finish`, `on_finish` and `stop_when` are the agent's own,
    called with an argument whose fields are live views: `step.messages[-1]["content"] += "..."` writes.
    `prepare_step` returns a mapping with the core's names; `messages` may hold views and plain messages.
    Tools get their validated input. `prepare_call`, `on_start`, `on_chunk`, retries and structured output
    belong to the core's own loop.

    Raises:
        KeyError: if there is no profile of that name.
        WireError: for something among the messages that is not a message.
    """
    listed = [
        message if isinstance(message, Mapping) else thaw(message_to_wire(message)) for message in messages
    ]
    return await anyio.to_thread.run_sync(run, profile, _settings(agent, listed))


def _settings(agent: Agent[Any], messages: list[Any]) -> Settings:
    options = {
        "toolChoice": _tool_choice(agent.tool_choice),
        "activeTools": agent.active_tools,
        "providerOptions": agent.provider_options,
        "experimental_context": agent.experimental_context,
    }
    return Settings(
        messages=messages,
        model=_model(agent, agent.model),
        tools={tool.name: _tool(tool) for tool in agent.tools} or None,
        system=_system(agent.system),
        options={name: _plain(value) for name, value in options.items() if value is not None},
        hooks=Hooks(
            prepare_step=_prepare_step(agent),
            on_step_start=_observer(agent.on_step_start),
            on_step_finish=_observer(agent.on_step_finish),
            on_finish=_observer(agent.on_finish),
            stop_when=_stop_when(agent),
        ),
        max_steps=_UNLIMITED,
    )


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else thaw(freeze(value))


def _tool_choice(choice: Mapping[str, Any] | None) -> Any:
    """As the AI SDK takes it: a word, or an object where a tool is named."""
    return choice if choice is None or "toolName" in choice else choice["type"]


def _system(system: Any) -> Any:
    if system is None or isinstance(system, str):
        return system
    if isinstance(system, SystemMessage):
        return thaw(message_to_wire(system))
    return [thaw(message_to_wire(message)) for message in system]


def _awaited(value: Any) -> Any:
    """The value, or what it comes to on the event loop that called."""
    return anyio.from_thread.run(_come_to, value) if isinstance(value, Awaitable) else value


async def _come_to(value: Awaitable[Any]) -> Any:
    return await value


# ---------------------------------------------------------------- hooks


def _observer(hook: Callable[[Any], object] | None) -> Hook | None:
    return None if hook is None else lambda view: _awaited(hook(Argument(view)))


def _prepare_step(agent: Agent[Any]) -> Hook | None:
    hook: Callable[[Any], Any] | None = agent.prepare_step
    if hook is None:
        return None

    def called(view: ObjectView) -> Any:
        result = _awaited(hook(Argument(view)))
        return (
            {_CAMEL.get(name, name): _returned(value) for name, value in result.items()} if result else None
        )

    return called


def _returned(value: Any) -> Any:
    """Returns what the hook returned, with the core's messages in it as plain JSON."""
    if isinstance(value, View) or value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: _returned(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [_returned(item) for item in value]
    return thaw(message_to_wire(value)) if hasattr(value, "role") else value


def _stop_when(agent: Agent[Any]) -> Hook | None:
    conditions: tuple[Callable[[Any], Any], ...] = agent.stop_when
    if not conditions:
        return None

    def stops(view: ObjectView) -> bool:
        steps = [Argument(step) for step in view["steps"]]
        return any(_awaited(condition(steps)) for condition in conditions)

    return stops


# ---------------------------------------------------------------- models and tools


def _model(agent: Agent[Any], model: LanguageModel) -> Model:
    def answer(options: ObjectView) -> list[dict[str, Any]]:
        offered = {tool["name"] for tool in options["tools"]} if "tools" in options else set()
        request = ModelRequest(
            prompt=messages_from_wire(options["prompt"].thaw()),
            tools=[tool.definition for tool in agent.tools if tool.name in offered] or None,
            tool_choice=options["toolChoice"].thaw() if "toolChoice" in options else None,
            settings=agent.settings,
            provider_options=options["providerOptions"].thaw() if "providerOptions" in options else None,
        )
        response = anyio.from_thread.run(model.generate, request)
        return [_part(part) for part in response.content]

    return Model(id=model.model_id, answer=answer)


def _part(part: ContentPart) -> dict[str, Any]:
    """A part as a model sends it."""
    metadata = {"providerMetadata": _metadata(part)} if _metadata(part) is not None else {}
    match part:
        case GeneratedText() | GeneratedReasoning():
            return {"type": part.type, "text": part.text, **metadata}
        case Source():
            return {**thaw(part.fields), "type": "source"}
        case ToolCall():
            own = {"providerExecuted": part.provider_executed, "dynamic": part.dynamic}
            named = {"toolCallId": part.tool_call_id, "toolName": part.tool_name, "input": thaw(part.input)}
            return {"type": part.type, **named, **_without_none(own), **metadata}
        case ToolResult() | ToolError():
            failed = isinstance(part, ToolError)
            result = thaw(part.error if isinstance(part, ToolError) else part.output)
            named = {"toolCallId": part.tool_call_id, "toolName": part.tool_name, "result": result}
            return {"type": "tool-result", **named, **({"isError": True} if failed else {}), **metadata}
        case _:
            raise TypeError(f"a model does not send a part of type {part.type}")


def _metadata(part: ContentPart) -> Any:
    kept = getattr(part, "provider_metadata", None)
    return None if kept is None else thaw(kept)


def _without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _tool(tool: Tool[..., Any]) -> CompatTool:
    needs: Any = tool.needs_approval
    return CompatTool(
        execute=None if tool.execute is None else partial(_execute, tool),
        needs_approval=partial(_needs_approval, tool) if callable(needs) else needs,
    )


def _context(options: ObjectView) -> ToolContext:
    context = options.get("experimental_context")
    return ToolContext(
        tool_call_id=options["toolCallId"],
        messages=messages_from_wire(options["messages"].thaw()),
        experimental_context=context.thaw() if isinstance(context, View) else context,
        step_number=0,
    )


def _thawed(value: Any) -> Any:
    return value.thaw() if isinstance(value, View) else value


def _execute(tool: Tool[..., Any], given: Any, options: ObjectView) -> Any:
    returned = _awaited(tool.call(tool.validated(freeze(_thawed(given))), _context(options)))
    return thaw(tool.output(returned))


def _needs_approval(tool: Tool[..., Any], given: Any, options: ObjectView) -> bool:
    return bool(_awaited(tool.approval(tool.validated(freeze(_thawed(given))), _context(options))))
