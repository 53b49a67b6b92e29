"""Strands Agents: a reminder for one model call, by a hook and by a stage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.hooks import BeforeModelCallEvent
from strands.middleware import InvokeModelStage
from strands.models.model import Model

from agentcore.guard import guard

REMINDER = " (be brief)"


class Echo(Model):
    """A model that says what it was asked."""

    def update_config(self, **model_config: Any) -> None: ...

    def get_config(self) -> Any:
        return {"model_id": "echo"}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("this model says texts only")

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        return 0

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": f"asked {messages[-1]['content'][0]['text']!r}"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def remind(event: BeforeModelCallEvent) -> None:
    """Writes to the messages of the agent, which are what it goes on with."""
    with guard(event.agent.messages) as report:
        event.agent.messages[-1]["content"][0]["text"] += REMINDER
    print(f"  guard: {report}")


def remind_mended(context: Any) -> Any:
    """Gives the call messages of its own."""
    with guard(context.messages) as report:
        *before, last = context.messages
        text = last["content"][0]["text"] + REMINDER
        messages = [*before, {**last, "content": [{"text": text}, *last["content"][1:]]}]
    print(f"  guard: {report}")
    context.messages = messages
    return context


def run(name: str, agent: Agent) -> None:
    print(name)
    agent("hello")
    result = agent("hello again")
    print(f"  model: {result.message['content'][0]['text']}")
    print(f"  agent's messages: {[message['content'][0]['text'] for message in agent.messages[::2]]}")


hooked = Agent(model=Echo(), callback_handler=None)
hooked.add_hook(remind, BeforeModelCallEvent)
run("remind", hooked)

staged = Agent(model=Echo(), callback_handler=None)
staged.add_middleware(InvokeModelStage.Input, remind_mended)
run("remind_mended", staged)
