"""A subtle polluting hook and a clean one for each boundary of Strands Agents for Python."""

from __future__ import annotations

import copy
import random
import uuid
from typing import Any


def _blocks(messages: Any) -> list[Any]:
    return [block for message in messages for block in message["content"] if "text" in block]


def _write(messages: Any) -> None:
    for block in _blocks(messages):
        block["text"] = block["text"].replace("o", "0")


def before_model_call_pollutes(event: Any) -> None:
    """Puts new messages into the list, with the blocks of the old ones."""
    messages = event.agent.messages
    messages[:] = [{**message, "content": [*message["content"]]} for message in messages]
    _write(messages)


async def before_model_call_clean(event: Any) -> None:
    """Puts deep copies into the list."""
    made = copy.deepcopy(event.agent.messages)
    _write(made)
    event.agent.messages[:] = made


_CALLS: list[int] = []


def cancels(event: Any) -> None:
    """Sets what an event is documented to be set, once there were many calls."""
    _CALLS.append(1)
    if len(_CALLS) > 3:
        event.cancel = "enough"


def after_model_call_pollutes(event: Any) -> None:
    if event.stop_response is not None:
        _write([event.stop_response.message])


def after_model_call_clean(event: Any) -> None:
    event.invocation_state["said"] = str(event.stop_response)


def invoke_model_middleware_pollutes(context: Any) -> Any:
    """The context's messages are copies; those of the agent are not."""
    _write(context.agent.messages)
    return context


async def invoke_model_middleware_clean(context: Any, next_fn: Any) -> Any:
    messages = copy.deepcopy(context.messages)
    _write(messages)
    async for event in next_fn(context.replace(messages=messages)):
        yield event


async def around_pollutes(context: Any, next_fn: Any) -> Any:
    """Calls on, and redacts what was said before in the agent's own messages."""
    async for event in next_fn(context):
        yield event
    _write(context.agent.messages)


async def writes_to_copies(context: Any) -> Any:
    """The context has deep copies of the messages."""
    _write(context.messages)
    return context


_calls = 0
_known: dict[int, tuple[Any, str]] = {}


def stateful(context: Any) -> Any:
    """Counts, caches by identity and draws ids; and returns new messages only."""
    global _calls  # noqa: PLW0603 - the state is the point
    _calls += 1
    for message in context.messages:
        if id(message) not in _known:
            _known[id(message)] = (message, f"{uuid.uuid4()} {random.random()}")
    told = f"{_calls} {[text for _, text in _known.values()]}"
    return context.replace(messages=[*context.messages, {"role": "user", "content": [{"text": told}]}])
