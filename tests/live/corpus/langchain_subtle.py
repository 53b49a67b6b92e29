"""Subtle hooks for LangChain: shared parts, helpers, closures, late writes; each with its verdict."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import dataclasses
import datetime as dt
import secrets
import threading
import time
import uuid
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    after_model,
)
from langchain_core.messages import (
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)


def _texts(messages: Any) -> Any:
    return (b for m in messages if isinstance(m.content, list) for b in m.content if b.get("type") == "text")


# before_model: write messages[*].content[*].text
def helper_generator(state: Any, runtime: Any) -> Any:
    for block in _texts(state["messages"]):
        block["text"] = block["text"].strip() + "."


# before_model: write messages[*].additional_kwargs
def copy_shares_kwargs(state: Any, runtime: Any) -> Any:
    made = [m.model_copy(update={"additional_kwargs": m.additional_kwargs}) for m in state["messages"]]
    for m in made:
        m.additional_kwargs["trace"] = 1


# before_model: write messages[*].content
def deep_copies_half(state: Any, runtime: Any) -> Any:
    half = [copy.deepcopy(m) if i % 2 else m for i, m in enumerate(state["messages"])]
    for m in half:
        m.content = "x"
    return None


# before_model: write messages[*].response_metadata
def lists_in_metadata(state: Any, runtime: Any) -> Any:
    for m in state["messages"]:
        m.response_metadata.setdefault("tags", []).append("seen")


# after_model: write messages[*].tool_calls[*].args
def normalises_args(state: Any, runtime: Any) -> Any:
    for call in state["messages"][-1].tool_calls:
        if "query" in call["args"]:
            call["args"]["query"] = call["args"]["query"].upper()


# after_model: write messages[*].tool_calls
def drops_second_call(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    if len(last.tool_calls) > 1:
        last.tool_calls.pop()


# before_model: clean
def through_dicts(state: Any, runtime: Any) -> Any:
    again = messages_from_dict(messages_to_dict(state["messages"]))
    for m in again:
        m.additional_kwargs["x"] = 1
    return None


# before_model: clean
def through_dicts_copied(state: Any, runtime: Any) -> Any:
    again = messages_from_dict(copy.deepcopy(messages_to_dict(state["messages"])))
    for m in again:
        m.additional_kwargs["x"] = 1
    return {"messages": again}


# wrap_model_call: clean
def id_cache(request: Any, handler: Any) -> Any:
    made = []
    for m in request.messages:
        if id(m) not in _cache:
            _cache[id(m)] = (m, m.model_copy(deep=True, update={"name": None}))
        made.append(_cache[id(m)][1])
    return handler(request.override(messages=made))


_cache: dict[int, Any] = {}


def _make() -> Any:
    kept: list[Any] = []

    def hook(request: Any, handler: Any) -> Any:
        for m in kept:
            m.content = "old"
        kept[:] = request.messages[-1:]
        return handler(request)

    return hook


# wrap_model_call: write messages[*].content
keeps_in_closure = _make()


# wrap_model_call: write messages[*].content
def through_the_state(request: Any, handler: Any) -> Any:
    first = request.state["messages"][0]
    first.content = f"{first.content} (see rules)"[:40]
    return handler(request)


# wrap_model_call: write request.system_message
def edits_system_message(request: Any, handler: Any) -> Any:
    if request.system_message is not None:
        request.system_message.content += " Be brief."
    return handler(request)


# wrap_model_call: clean
def model_settings(request: Any, handler: Any) -> Any:
    return handler(request.override(model_settings={**request.model_settings, "temperature": 0}))


# wrap_model_call: clean
def assigns_messages(request: Any, handler: Any) -> Any:
    request.messages = [*request.messages, HumanMessage("hint")]
    return handler(request)


# wrap_model_call: write request.messages
def shallow_request(request: Any, handler: Any) -> Any:
    made = copy.copy(request)
    made.messages.append(HumanMessage("hint"))
    return handler(made)


# wrap_model_call: write request.messages
async def shallow_request_insert(request: Any, handler: Any) -> Any:
    made = dataclasses.replace(request)
    made.messages.insert(0, HumanMessage("hint"))
    return await handler(made)


# wrap_tool_call: write request.tool_call
def replaces_args(request: Any, handler: Any) -> Any:
    request.tool_call["args"] = {**request.tool_call["args"], "tenant": "t1"}
    return handler(request)


# wrap_tool_call: write
def keeps_result(request: Any, handler: Any) -> Any:
    result = handler(request)
    for each in _results:
        each.content = "old"
    _results.append(result)
    return result


_results: list[Any] = []


# wrap_tool_call: clean
def retries(request: Any, handler: Any) -> Any:
    for _ in range(2):
        result = handler(request)
        if result.status != "error":
            break
    return result


# wrap_tool_call: clean
async def override_args(request: Any, handler: Any) -> Any:
    call = copy.deepcopy(request.tool_call)
    call["args"]["tenant"] = "t1"
    return await handler(request.override(tool_call=call))


# after_agent: write messages[*].content
def edits_last(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    if isinstance(last.content, str):
        last.content = last.content.title() + "!"


# before_agent: clean
def unique(state: Any, runtime: Any) -> Any:
    seen = {}
    for m in state["messages"]:
        seen[m.id] = m
    state["messages"][:] = [*seen.values()]


# langgraph_node: write messages[*].content
def node_returns_edited(state: Any) -> Any:
    for m in state["messages"]:
        if isinstance(m.content, str):
            m.content = m.content.replace("o", "0")
    return {"messages": state["messages"]}


# langgraph_node: clean
def node_copies_state(state: Any) -> Any:
    mine = {**state}
    mine["messages"] = [*mine["messages"], HumanMessage("x")]
    return {}


# before_model: write messages[*].name
async def late_sleep(state: Any, runtime: Any) -> Any:
    async def later() -> Any:
        await asyncio.sleep(0.02)
        state["messages"][0].name = "late"

    _tasks.append(asyncio.ensure_future(later()))


_tasks: list[Any] = []


# before_model: write messages[*].name
async def late_sleep_long(state: Any, runtime: Any) -> Any:
    async def later() -> Any:
        await asyncio.sleep(1)
        state["messages"][0].name = "late"

    _tasks.append(asyncio.ensure_future(later()))


# before_model: write messages[*].name
def late_thread(state: Any, runtime: Any) -> Any:
    threading.Timer(0.01, lambda: setattr(state["messages"][0], "name", "late")).start()


# before_model: write messages[*].name
def late_thread_now(state: Any, runtime: Any) -> Any:
    threading.Thread(target=lambda: setattr(state["messages"][0], "name", "late")).start()


# wrap_model_call: clean
def dated(request: Any, handler: Any) -> Any:
    now = dt.datetime.now(dt.UTC).isoformat()
    return handler(
        request.override(
            messages=[*request.messages, HumanMessage(f"{now} {uuid.uuid4()} {time.monotonic_ns() * 0}")]
        )
    )


# wrap_model_call: undetermined
def secret(request: Any, handler: Any) -> Any:
    return handler(request.override(messages=[*request.messages, HumanMessage(secrets.token_hex(4))]))


# before_model: write messages[*].id
def sets_ids(state: Any, runtime: Any) -> Any:
    for i, m in enumerate(state["messages"]):
        m.id = f"m{i}"


# before_model: accumulates
def random_id_message(state: Any, runtime: Any) -> Any:
    return {"messages": [HumanMessage("be brief", id=str(uuid.uuid4()))]}


# before_model: clean
def fixed_id_message(state: Any, runtime: Any) -> Any:
    return {"messages": [SystemMessage("be brief", id="reminder")]}


# wrap_model_call: write messages[*].content[*].cache_control
def cache_control_copied_list(request: Any, handler: Any) -> Any:
    messages = list(request.messages)
    for m in messages[-2:]:
        if isinstance(m.content, list):
            blocks = list(m.content)
            blocks[-1]["cache_control"] = {"type": "ephemeral"}
            messages[messages.index(m)] = m.model_copy(update={"content": blocks})
    return handler(request.override(messages=messages))


# wrap_model_call: clean
def cache_control_right(request: Any, handler: Any) -> Any:
    messages = list(request.messages)
    for i, m in enumerate(messages):
        if isinstance(m.content, list):
            blocks = [dict(b) for b in m.content]
            blocks[-1]["cache_control"] = {"type": "ephemeral"}
            messages[i] = m.model_copy(update={"content": blocks})
    return handler(request.override(messages=messages))


# before_model: write messages[*].tool_calls[*].args
def edits_through_dump(state: Any, runtime: Any) -> Any:
    for m in state["messages"]:
        for call in vars(m).get("tool_calls", []):
            call["args"].pop("limit", None)
            call["args"]["v"] = 2


_var: contextvars.ContextVar[list] = contextvars.ContextVar("kept")


# before_model: write messages[*].content
def kept_in_contextvar(state: Any, runtime: Any) -> Any:
    kept = _glob
    for m in kept:
        m.content = "past"
    kept.append(state["messages"][-1])


_glob: list[Any] = []


# before_model: clean
def weak_cache(state: Any, runtime: Any) -> Any:
    for m in state["messages"]:
        _weak[id(m)] = len(str(m.content))
    return None


_weak: dict[int, int] = {}


# before_model: clean
def writes_and_restores(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    before, last.content = last.content, "tmp"
    last.content = before


# before_model: cuts-pair
def drops_tool_messages(state: Any, runtime: Any) -> Any:
    gone = [RemoveMessage(id=m.id) for m in state["messages"] if isinstance(m, ToolMessage)]
    return {"messages": gone}


# wrap_model_call: loses-request
def only_last_three_of_other(request: Any, handler: Any) -> Any:
    return handler(
        request.override(
            messages=[m for m in request.messages if not isinstance(m, HumanMessage)] or [SystemMessage("x")]
        )
    )


# wrap_model_call: raises
def raises_on_tool(request: Any, handler: Any) -> Any:
    if isinstance(request.messages[-1], ToolMessage):
        raise KeyError("no handler")
    return handler(request)


# before_model: clean
class Slotted(AgentMiddleware):
    state_schema = AgentMiddleware.state_schema

    def __init__(self) -> None:
        self.n = 0

    def before_model(self, state: Any, runtime: Any) -> Any:
        self.n += 1
        return None

    async def abefore_model(self, state: Any, runtime: Any) -> Any:
        return self.before_model(state, runtime)


# wrap_model_call: write messages[*].content
def sorted_blocks(request: Any, handler: Any) -> Any:
    for m in request.messages:
        if isinstance(m.content, list) and len(m.content) > 1:
            m.content.sort(key=lambda b: -len(str(b)))
    return handler(request)


# after_model: write messages[*].content
@after_model
def model_copy_shallow(state: Any, runtime: Any) -> Any:
    made = [m.model_copy() for m in state["messages"]]
    for m in made:
        if isinstance(m.content, list):
            m.content.append({"type": "text", "text": "[end]"})
    return None


# after_model: clean
@after_model
async def counts_answers(state: Any, runtime: Any) -> Any:
    _n.append(len(state["messages"]))
    return {"messages": []}


_n: list[int] = []


# wrap_tool_call: write messages
def appends_to_tool_state(request: Any, handler: Any) -> Any:
    request.state["messages"].append(HumanMessage("from tool"))
    return handler(request)


# wrap_tool_call: write messages[*].additional_kwargs
def runtime_state(request: Any, handler: Any) -> Any:
    request.runtime.state["messages"][-1].additional_kwargs["used"] = request.tool_call["name"]
    return handler(request)
