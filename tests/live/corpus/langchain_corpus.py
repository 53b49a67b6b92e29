"""Hooks of many kinds for LangChain; a comment before each says where it runs and what is expected."""

from __future__ import annotations

import asyncio
import copy
import logging
import random
import time
import uuid
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    after_model,
    before_model,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig

try:
    from langgraph.graph.message import REMOVE_ALL_MESSAGES
except ImportError:
    REMOVE_ALL_MESSAGES = "__remove_all__"

_log = logging.getLogger(__name__)


# before_agent: write messages[*].additional_kwargs
def tags_additional_kwargs(state: Any, runtime: Any) -> Any:
    state["messages"][-1].additional_kwargs["checked"] = True


# before_agent: write state.messages
async def appends_to_state(state: Any, runtime: Any) -> Any:
    state["messages"].append(HumanMessage("be brief"))


# before_agent: clean
class CountsAgents(AgentMiddleware):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.seen: dict[int, int] = {}

    def before_agent(self, state: Any, runtime: Any) -> Any:
        self.count += 1
        self.seen[id(state)] = self.count


# before_agent: write messages[*].content
def keeps_and_edits_later(state: Any, runtime: Any) -> Any:
    for message in _held:
        message.content = "seen before"
    _held.extend(state["messages"])


_held: list[Any] = []


# before_model: write messages[*].content
def replaces_content(state: Any, runtime: Any) -> Any:
    for message in state["messages"]:
        if isinstance(message, ToolMessage):
            message.content = "[cut]"


# before_model: write messages[*].content
@before_model
def redacts_through_setattr(state: Any, runtime: Any) -> Any:
    for message in state["messages"]:
        if isinstance(message, HumanMessage) and isinstance(message.content, str):
            setattr(message, "content", message.content.replace("e", "*"))  # noqa: B010


# before_model: write messages[*].content
class DeletesImages(AgentMiddleware):
    async def abefore_model(self, state: Any, runtime: Any) -> Any:
        for message in state["messages"]:
            if isinstance(message.content, list):
                del message.content[1:]


# before_model: write messages
def trims_in_place(state: Any, runtime: Any) -> Any:
    messages = state["messages"]
    if len(messages) > 3:
        del messages[1:3]


# before_model: clean
def trims_with_remove(state: Any, runtime: Any) -> Any:
    messages = state["messages"]
    if len(messages) > 4 and messages[0].type == messages[1].type == "human":
        return {"messages": [RemoveMessage(id=messages[0].id)]}
    return None


# before_model: clean
def rewrites_all(state: Any, runtime: Any) -> Any:
    kept = [copy.deepcopy(each) for each in state["messages"]]
    for each in kept:
        each.additional_kwargs["n"] = 1
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept]}


# before_model: write messages[*].additional_kwargs
def shares_kwargs(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    made = last.model_copy()
    made.additional_kwargs |= {"cache": "ephemeral"}
    return {"messages": [made]}


# before_model: write messages[*].content
def content_blocks_are_shared(state: Any, runtime: Any) -> Any:
    for message in state["messages"]:
        if isinstance(message, HumanMessage) and isinstance(message.content, list):
            for block in message.content_blocks:
                if block["type"] == "text":
                    block["text"] = "x"


# before_model: clean
def logs_and_counts(state: Any, runtime: Any) -> Any:
    _log.info("%d messages, %s", len(state["messages"]), time.time())
    _seen[id(state["messages"][-1])] = uuid.uuid4().hex
    random.random()


_seen: dict[int, str] = {}


# before_model: clean
def edits_deep_copies(state: Any, runtime: Any) -> Any:
    messages = copy.deepcopy(state["messages"])
    for message in messages:
        if isinstance(message, HumanMessage):
            message.content = "short"
    return {"messages": messages}


# before_model: accumulates
def reminds_each_time(state: Any, runtime: Any) -> Any:
    return {"messages": [SystemMessage("Answer in one sentence.")]}


# after_model: write messages[*].tool_calls
@after_model
def clears_tool_calls_args(state: Any, runtime: Any) -> Any:
    for call in state["messages"][-1].tool_calls:
        call["args"].pop("query", None)


# after_model: write messages[*].content
def uppercases_answer(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    if isinstance(last.content, str):
        last.content = last.content.upper()


# after_model: write messages[*].response_metadata
async def notes_cost(state: Any, runtime: Any) -> Any:
    state["messages"][-1].response_metadata.update(cost=1)


# after_model: clean
def copies_answer(state: Any, runtime: Any) -> Any:
    last = state["messages"][-1]
    return {
        "messages": [last.model_copy(update={"response_metadata": {**last.response_metadata, "cost": 1}})]
    }


# after_model: write messages[*].name
async def later_task(state: Any, runtime: Any) -> Any:
    async def later() -> None:
        await asyncio.sleep(0)
        state["messages"][0].name = "late"

    _tasks.append(asyncio.ensure_future(later()))


_tasks: list[Any] = []


# after_agent: write messages[*].content
class SummarisesRequests(AgentMiddleware):
    def after_agent(self, state: Any, runtime: Any) -> Any:
        for message in state["messages"][:-1]:
            if isinstance(message, HumanMessage):
                message.content = "summary"


# after_agent: write messages
def sorts_messages(state: Any, runtime: Any) -> Any:
    state["messages"].sort(key=lambda each: each.type)


# after_agent: clean
def reports(state: Any, runtime: Any) -> Any:
    _log.info("%s", [each.model_dump() for each in state["messages"]])
    return None


# wrap_model_call: write request.messages
def appends_to_request(request: Any, handler: Any) -> Any:
    request.messages.append(HumanMessage("remember"))
    return handler(request)


# wrap_model_call: write messages[*].content
@wrap_model_call
def marks_cache(request: Any, handler: Any) -> Any:
    last = request.messages[-1]
    if isinstance(last.content, list):
        last.content[-1]["cache_control"] = {"type": "ephemeral"}
    return handler(request)


# wrap_model_call: clean
@wrap_model_call
def overrides_with_reminder(request: Any, handler: Any) -> Any:
    return handler(request.override(messages=[*request.messages, HumanMessage("remember")]))


# wrap_model_call: clean
class Retries(AgentMiddleware):
    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        for _ in range(3):
            try:
                return await handler(request)
            except ValueError:
                continue
        return await handler(request)


# wrap_model_call: clean
def memoised(request: Any, handler: Any) -> Any:
    made = []
    for message in request.messages:
        key = repr(message.content)
        if key not in _memo:
            _memo[key] = message.model_copy(deep=True)
        made.append(message if message.type in ("ai", "tool") else _memo[key])
    return handler(request.override(messages=made))


_memo: dict[str, Any] = {}


# wrap_model_call: write request.messages
async def strips_results(request: Any, handler: Any) -> Any:
    for message in request.messages:
        if message.type == "tool":
            message.artifact = None
            message.content = str(message.content)[:3]
    return await handler(request)


# wrap_model_call: write
def edits_the_answer_later(request: Any, handler: Any) -> Any:
    for answer in _answers:
        answer.content = "old"
    answer = handler(request)
    _answers.extend(answer.result)
    return answer


_answers: list[Any] = []


# wrap_tool_call: write request.tool_call
@wrap_tool_call
def adds_user_id(request: Any, handler: Any) -> Any:
    request.tool_call["args"].update(user="u1")
    return handler(request)


# wrap_tool_call: write messages[*].content
def edits_state_of_the_request(request: Any, handler: Any) -> Any:
    request.state["messages"][0].content = "from the tool"
    return handler(request)


# wrap_tool_call: clean
async def shortens_results(request: Any, handler: Any) -> Any:
    result = await handler(request)
    return result.model_copy(update={"content": str(result.content)[:10]})


# wrap_tool_call: clean
def edits_fresh_result(request: Any, handler: Any) -> Any:
    result = handler(request)
    result.content = str(result.content)[:10]
    return result


# wrap_tool_call: clean
class TimesTools(AgentMiddleware):
    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        began = time.perf_counter()
        result = handler(request)
        self.spent = time.perf_counter() - began
        return result


# langgraph_node: write messages[*].content
def node_edits(state: Any) -> Any:
    for message in state["messages"]:
        if message.type == "human":
            message.content = "edited"
    return {"messages": []}


# langgraph_node: write messages[*].content
async def node_edits_generator(state: Any, config: RunnableConfig) -> Any:
    for message in (each for each in state["messages"] if each.type == "tool"):
        message.content += "!"
    return {}


# langgraph_node: clean
def node_replaces(state: Any) -> Any:
    return {
        "messages": [
            each.model_copy(update={"content": "x"}) for each in state["messages"] if each.type == "human"
        ]
    }


# langgraph_node: clean
async def node_reads(state: Any, config: RunnableConfig) -> Any:
    assert all(each.id for each in state["messages"])
    return {"messages": []}


# langgraph_node: accumulates
def node_reminds(state: Any) -> Any:
    return {"messages": [HumanMessage("remember the rules")]}
