"""A subtle polluting hook and a clean one for each boundary of LangChain."""

from __future__ import annotations

import random
import time
import uuid
from typing import Any

from langchain.agents.middleware import AgentMiddleware, before_model
from langchain_core.messages import HumanMessage, ToolMessage


def _parts(message: Any) -> list[Any]:
    return [part for part in message.content if "text" in part] if isinstance(message.content, list) else []


def _pollute(messages: list[Any]) -> list[Any]:
    made = [message.model_copy() for message in messages]  # new messages, with the parts of the old ones
    for message in made:
        for part in _parts(message):
            part["text"] = part["text"][:9]
    return made


def _clean(messages: list[Any]) -> list[Any]:
    def shortened(message: Any) -> Any:
        if not _parts(message):
            return message
        parts = [{**part, "text": part["text"][:9]} if "text" in part else part for part in message.content]
        return message.model_copy(update={"content": parts})

    return [shortened(message) for message in messages]


def before_agent_pollutes(state: Any, runtime: Any) -> Any:
    return {"messages": _pollute(state["messages"])[:0]}


def before_agent_clean(state: Any, runtime: Any) -> Any:
    return {"messages": _clean(state["messages"])}


def before_model_pollutes(state: Any, runtime: Any) -> Any:
    _pollute(state["messages"])


async def before_model_clean(state: Any, runtime: Any) -> Any:
    return {"messages": _clean(state["messages"])}


def after_model_pollutes(state: Any, runtime: Any) -> Any:
    for call in state["messages"][-1].tool_calls:
        call["args"]["checked"] = True


def after_model_clean(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    calls = [{**call, "args": {**call["args"], "checked": True}} for call in last.tool_calls]
    return {"messages": [last.model_copy(update={"tool_calls": calls})]}


def after_agent_pollutes(state: Any, runtime: Any) -> Any:
    _pollute(state["messages"][:1])


def after_agent_clean(state: Any, runtime: Any) -> Any:
    return {"messages": _clean(state["messages"][:1])}


def wrap_model_call_pollutes(request: Any, handler: Any) -> Any:
    return handler(request.override(messages=_pollute(request.messages)))


class WrapModelCallClean(AgentMiddleware):
    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(messages=_clean(request.messages)))


def wrap_tool_call_pollutes(request: Any, handler: Any) -> Any:
    request.tool_call["args"]["injected"] = True
    return handler(request)


def wrap_tool_call_clean(request: Any, handler: Any) -> Any:
    call = {**request.tool_call, "args": {**request.tool_call["args"], "injected": True}}
    result = handler(request.override(tool_call=call))
    return result.model_copy(update={"content": "short"}) if isinstance(result, ToolMessage) else result


def langgraph_node_pollutes(state: Any) -> Any:
    _pollute(state["messages"])
    return {}


def langgraph_node_clean(state: Any) -> Any:
    return {"messages": _clean(state["messages"])}


@before_model
def reminder(state: Any, runtime: Any) -> Any:
    return {"messages": [HumanMessage("remember the rules")]}


_calls = 0
_known: dict[int, tuple[Any, str]] = {}


def stateful(request: Any, handler: Any) -> Any:
    """Counts, caches by identity, draws ids and reads the clock; and passes new messages on only."""
    global _calls  # noqa: PLW0603 - the state is the point
    _calls += 1
    for message in request.messages:
        if id(message) not in _known:
            _known[id(message)] = (message, f"{uuid.uuid4()} {random.random()} {time.time()}")
    told = f"{_calls} {len(_known)} {[text for _, text in _known.values()]}"
    return handler(request.override(messages=[*request.messages, HumanMessage(told)]))


_before: list[Any] = []


def approval_pollutes(state: Any, runtime: Any) -> Any:
    """Marks, once a person has answered, what it saw before they were asked."""
    if isinstance(state["messages"][-1], ToolMessage):
        for message in _before:
            message.additional_kwargs["reviewed"] = True
    _before[:] = state["messages"]


def approval_clean(state: Any, runtime: Any) -> Any:
    """Marks them in new messages."""
    last = state["messages"][-1]
    known, _before[:] = len(_before), state["messages"]
    if not isinstance(last, ToolMessage):
        return None
    return {"messages": [last.model_copy(update={"additional_kwargs": {"reviewed": known}})]}


def approval_pollutes_after(request: Any, handler: Any) -> Any:
    """Writes, after the approval, to the call that the person approved."""
    request.tool_call["args"]["approved"] = True
    return handler(request)


# ---------------------------------------------------------------- nodes that are generators


def node_yields_pollutes(state: Any) -> Any:
    yield {}
    _pollute(state["messages"])


def node_yields_clean(state: Any) -> Any:
    yield {}
    yield {"messages": _clean(state["messages"])}


async def node_yields_async_pollutes(state: Any) -> Any:
    _pollute(state["messages"])
    yield {}


async def node_yields_async_clean(state: Any) -> Any:
    yield {"messages": _clean(state["messages"])}


def texts_pollute(state: Any, runtime: Any) -> None:
    """Looks at contents that are texts only."""
    for message in state["messages"]:
        if isinstance(message, HumanMessage) and isinstance(message.content, str):
            message.content = message.content.upper()
