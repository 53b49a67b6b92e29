"""What a step produced, read out of the agent's messages: the marks of steps in them say where it is.

What is written into an answer shows here and in later prompts (rule mastra.answers-live).
"""

from __future__ import annotations

from agentcore.frameworks.mastra.emulation.conversion import (
    ModelMessage,
    UiMessage,
    model_messages,
    of_messages,
    ui_message,
)
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.heap.heap import Ref, Slot
from agentcore.heap.js import fields, get


def response_messages(target: MessageList) -> list[ModelMessage]:
    """The agent's messages as model messages."""
    made = of_messages(target, target.of("response"))
    return [message for message in made if message.role in ("assistant", "tool")]


def step_content(target: MessageList, number: int) -> Ref:
    """The content of a step, counted from 1; that of a step 0 is empty."""
    store = target.store
    parts = [part for message in target.of("response") for part in ui_message(target, message).parts]
    starts = [index for index, part in enumerate(parts) if get(store, part, "type") == "step-start"]
    bounds = [-1, *starts, len(parts)]
    inside: list[Slot] = []
    if number == 1:
        inside = parts[: bounds[1]]
    elif 1 < number < len(bounds):
        inside = parts[bounds[number - 1] + 1 : bounds[number]]
    return store.array(_content(target, inside))


def _content(target: MessageList, parts: list[Slot]) -> list[Slot]:
    store = target.store
    content: list[Slot] = []
    for message in model_messages(target, [UiMessage("assistant", parts)], calls_end=False):
        if isinstance(message.content, str):
            continue
        for part in message.content:
            if get(store, part, "type") == "tool-result":
                names = ("type", "toolCallId", "toolName", "output")
                read = {name: get(store, part, name) for name in names}
                made = {**read, "input": target.known_args(get(store, part, "toolCallId"))}
            else:
                made = dict(fields(store, part))
            content.append(store.derive(store.object(made), part))
    return content
