"""Strands Agents for Python: Agent.invoke_async, in its best light, which is without spans.

It serializes every message into the events of a span at each model call, also when nobody traces it; that is
patched out. `keep` takes a snapshot before every model call.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.agent.conversation_manager import NullConversationManager
from strands.hooks import BeforeModelCallEvent
from strands.middleware import InvokeModelStage
from strands.models.model import Model
from strands.telemetry.tracer import Tracer
from strands.tools.decorator import tool

from benchmarks.peers import serving
from benchmarks.peers.serving import REMINDER, Forks, Script, Task, serve


class _Model(Model):
    def __init__(self, script: Script) -> None:
        self._script = script

    def update_config(self, **model_config: Any) -> None:
        del model_config

    def get_config(self) -> Any:
        return {"model_id": "scripted"}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        raise TypeError("nobody asks for that")

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        del args, kwargs
        return 0

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        del args, kwargs
        number = self._script.call(len(messages))
        yield {"messageStart": {"role": "assistant"}}
        if number is None:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": serving.DONE}}}
        else:
            use = {"name": serving.TOOL, "toolUseId": f"call-{number}"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"q": number})}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if number is None else "tool_use"}}


def _message(role: str, text: str) -> Any:
    return {"role": role, "content": [{"text": text}]}


def _reminded(context: Any) -> Any:
    context.messages = [*context.messages, _message("user", REMINDER)]
    return context


async def _passed_on(context: Any, call_next: Any) -> AsyncIterator[Any]:
    async for event in call_next(context):
        yield event


def _agent(task: Task, script: Script, messages: list[Any]) -> Agent:
    @tool
    async def look(q: int) -> str:
        """Look something up."""
        return script.look(q)

    agent = Agent(
        model=_Model(script),
        messages=messages,
        tools=[look],
        callback_handler=None,
        conversation_manager=NullConversationManager(),
    )
    if task.override:
        agent.add_middleware(InvokeModelStage.Input, _reminded)
    if task.handler:
        agent.add_middleware(InvokeModelStage, _passed_on)
    return agent


def _snapshots(agent: Agent) -> list[Any]:
    taken: list[Any] = []

    def take(event: BeforeModelCallEvent) -> None:
        del event
        taken.append(agent.take_snapshot(preset="session"))

    agent.add_hook(take, BeforeModelCallEvent)
    return taken


class _Strands:
    def prepared(self, task: Task, script: Script) -> serving.Run:
        *history, (_, prompt) = task.messages()
        agent = _agent(task, script, [_message(role, text) for role, text in history])
        kept = _snapshots(agent) if task.keep else []

        async def run() -> serving.Outcome:
            result = await agent.invoke_async(prompt)
            return serving.Outcome(result.message["content"][0]["text"], (agent, result, kept))

        return run

    async def forks(self, task: Task, script: Script) -> Forks:
        *history, (_, prompt) = task.messages()
        agent = _agent(task, script, [_message(role, text) for role, text in history])
        taken = _snapshots(agent)
        await agent.invoke_async(prompt)
        middle = taken[task.steps // 2]

        def fork(number: int) -> Agent:
            other = _agent(task, script, [])
            other.load_snapshot(middle)
            other.messages.append(_message("user", f"{REMINDER} {number}"))
            return other

        return Forks(fork, lambda other: len(other.messages))


def _no_event(*_: Any, **__: Any) -> None:
    """Nothing is serialized."""


if __name__ == "__main__":
    Tracer._add_event_messages = _no_event  # noqa: SLF001 - there is no switch
    serve(_Strands())
