"""The adapter of the OpenAI Agents SDK for Python."""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from agents import (
    Agent,
    InputGuardrail,
    InputGuardrailTripwireTriggered,
    RunConfig,
    RunHooks,
    Runner,
)
from agents.lifecycle import AgentHooksBase, RunHooksBase

from agentcore.live.adapter import Attached, Boundary, Entry, Given, Recorder
from agentcore.live.adapters.openai_agents_messages import Memory, ScriptedModel, entry_of, items_of, tools_of
from agentcore.live.conversations import Conversation

__all__ = ["ADAPTER"]


def _kept(given: Given) -> Sequence[Any]:
    context = given.get("context")
    kept = (
        [value for name, value in vars(context).items() if name != "turn_input"]
        if context is not None
        else []
    )
    data = given.get("data")
    kept += [data.agent, data.context] if data is not None else []
    return [*kept, given.get("agent"), given.get("tool")]


def _joined(given: Given) -> Any:
    return [*given["history"], *given["new"]]


def _observer(name: str, *parameters: str, **more: Any) -> Boundary:
    return Boundary(parameters=("context", "agent", *parameters), methods=(name,), kept=_kept, **more)


class _Adapter:
    name = "openai-agents"
    package = "openai-agents"
    paths = ("generate", "stream")
    drop = ("created_at",)
    boundaries: Mapping[str, Boundary] = {
        "call_model_input_filter": Boundary(
            parameters=("data",),
            kept=_kept,
            passive=lambda given: given["data"].model_data,
            messages_in=lambda given: given["data"].model_data.input,
            messages_out=lambda data: data.input,
            again=lambda given, returned: {"data": replace(given["data"], model_data=returned)},
        ),
        "session_input_callback": Boundary(
            parameters=("history", "new"),
            passive=_joined,
            messages_in=_joined,
            messages_out=lambda items: items,
        ),
        "on_llm_start": _observer("on_llm_start", "system_prompt", "input_items"),
        "on_llm_end": _observer("on_llm_end", "response", after=True, whole=False),
        "on_tool_end": _observer("on_tool_end", "tool", "result", after=True, whole=False),
        "input_guardrail": Boundary(
            parameters=("context", "agent", "input"), methods=("guardrail_function",), kept=_kept
        ),
    }

    def entries(self, messages: Any) -> Sequence[Entry]:
        items = messages["input"] if isinstance(messages, dict) else messages
        return [*map(entry_of, items if isinstance(items, list) else [{"role": "user", "content": items}])]

    def bases(self) -> Sequence[type]:
        return (RunHooksBase, AgentHooksBase)

    def control(self) -> Sequence[type[BaseException]]:
        return (InputGuardrailTripwireTriggered,)

    def run(
        self, conversation: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        asyncio.run(self._run(conversation, hook, at, path, recorder))

    async def _run(
        self, of: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        model = ScriptedModel(recorder)
        config = RunConfig(tracing_disabled=True)
        agent: Agent[Any] = Agent(
            name="checked", instructions=of.get("instructions"), model=model, tools=tools_of(of)
        )
        options: dict[str, Any] = {"run_config": config, "max_turns": 60}
        session = Memory() if at == "session_input_callback" else None
        if session is not None:
            options["session"] = session
            recorder.holder("store", session.items)
            config.session_input_callback = (
                hook.call if hook is not None else lambda history, new: [*history, *new]
            )
        elif hook is not None:
            _attach(agent, config, options, hook, at)
        items: list[Any] = []
        passed: list[Any] = []
        recorder.holder("caller", passed)
        for number, turn in enumerate(of["turns"]):
            recorder.begin_turn(number)
            model.script = turn["answers"]
            if session is None:
                items = [*items, *items_of(turn["messages"])]
            else:
                await session.add_items(items_of(turn["messages"][:-1]))
                items = items_of(turn["messages"][-1:])
            passed.append(items)
            if path == "stream":
                result: Any = Runner.run_streamed(agent, items, **options)
                async for _ in result.stream_events():
                    pass
            else:
                result = await Runner.run(agent, items, **options)
            items = result.to_input_list()
            recorder.result([items, result.new_items])


def _attach(agent: Any, config: Any, options: dict[str, Any], hook: Attached, at: str) -> None:
    if at == "call_model_input_filter":
        config.call_model_input_filter = hook.call
    elif at == "input_guardrail":
        agent.input_guardrails = [hook.owner if hook.owner is not None else InputGuardrail(hook.call)]
    elif isinstance(hook.owner, AgentHooksBase):
        agent.hooks = hook.owner
    elif hook.owner is not None:
        options["hooks"] = hook.owner
    else:

        async def observe(_: Any, *args: Any, **named: Any) -> None:
            returned = hook.call(*args, **named)
            if inspect.isawaitable(returned):
                await returned

        options["hooks"] = types.new_class(
            "Checked", (RunHooks,), {}, lambda body: body.update({at: observe})
        )()


ADAPTER: Final = _Adapter()
