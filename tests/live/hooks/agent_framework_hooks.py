"""A subtle polluting hook and a clean one for each boundary of the Agent Framework."""

from __future__ import annotations

import copy
import random
import uuid
from typing import Any

from agent_framework import ChatMiddleware, Content, ContextProvider, Message


def _texts(messages: Any) -> list[Any]:
    return [content for message in messages for content in message.contents if content.type == "text"]


async def chat_middleware_pollutes(context: Any, call_next: Any) -> None:
    """Puts new messages into the context, with the contents of the old ones."""
    context.messages = [Message(each.role, [*each.contents]) for each in context.messages]
    for content in _texts(context.messages):
        content.text = content.text[:9]
    await call_next()


class ChatMiddlewareClean(ChatMiddleware):
    async def process(self, context: Any, call_next: Any) -> None:
        context.messages = copy.deepcopy(context.messages)
        for content in _texts(context.messages):
            content.text = content.text[:9]
        await call_next()


chat_middleware_clean = ChatMiddlewareClean


async def edits_the_context(context: Any, call_next: Any) -> None:
    """Edits in place what the documentation says may be, and answers in the place of the model at times."""
    context.messages.insert(0, Message("system", ["Be brief."]))
    context.metadata["seen"] = len(context.messages)
    await call_next()
    if not context.stream:
        context.metadata["said"] = context.result.text


async def writes_to_the_session(context: Any, call_next: Any) -> None:
    """Redacts what the session holds, whose messages later prompts are made of."""
    await call_next()
    for content in _texts(context.session.state.get("in_memory", {}).get("messages", [])):
        content.text = content.text.replace("o", "0")


async def agent_middleware_pollutes(context: Any, call_next: Any) -> None:
    for content in _texts(context.messages):
        content.text = content.text.replace("delete", "***") + " "
    await call_next()


async def agent_middleware_clean(context: Any, call_next: Any) -> None:
    context.messages = [
        Message(each.role, [copy.copy(content) for content in each.contents]) for each in context.messages
    ]
    for content in _texts(context.messages):
        content.text = content.text.replace("delete", "***") + " "
    await call_next()


_RESULT = [Content.from_text("cached")]


async def function_middleware_pollutes(context: Any, call_next: Any) -> None:
    """Answers from contents of its own, which the conversation keeps, and goes on to write them."""
    _RESULT[0].text = f"{_RESULT[0].text}, again"
    context.result = _RESULT


async def function_middleware_clean(context: Any, call_next: Any) -> None:
    """Edits the arguments in place, and puts another result in the place of the function's."""
    context.arguments["query"] = str(context.arguments.get("query", "")).lower()
    await call_next()
    context.result = [Content.from_text(f"{each.text} (checked)") for each in context.result]


async def context_provider_pollutes(agent: Any, session: Any, context: Any, state: Any) -> None:
    for content in _texts(context.input_messages):
        content.text = content.text.upper()


class ContextProviderClean(ContextProvider):
    """Adds messages by the method for it, and keeps what it likes in its own state."""

    def __init__(self) -> None:
        super().__init__("notes")

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        state["runs"] = state.get("runs", 0) + 1
        context.extend_messages(self, [Message("user", [f"run {state['runs']}"])])
        context.extend_instructions(self.source_id, "Be brief.")


context_provider_clean = ContextProviderClean


async def context_provider_after_run_pollutes(agent: Any, session: Any, context: Any, state: Any) -> None:
    for content in _texts(context.response.messages):
        content.text = content.text.upper()


async def context_provider_after_run_clean(agent: Any, session: Any, context: Any, state: Any) -> None:
    state["said"] = [each.text for each in context.response.messages]


_calls = 0
_known: dict[int, tuple[Any, str]] = {}


async def stateful(context: Any, call_next: Any) -> None:
    """Counts, caches by identity and draws ids; and adds a message of its own."""
    global _calls  # noqa: PLW0603 - the state is the point
    _calls += 1
    for message in context.messages:
        if id(message) not in _known:
            _known[id(message)] = (message, f"{uuid.uuid4()} {random.random()}")
    told = f"{_calls} {[text for _, text in _known.values()]}"
    context.messages = [*context.messages, Message("user", [told])]
    await call_next()
