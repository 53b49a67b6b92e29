"""Hooks that do what examples of LangChain's documentation do, written anew, each with its verdict."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    after_model,
    before_model,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage, RemoveMessage, SystemMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES


# before_model: clean
@before_model(can_jump_to=["end"])
def ends_long_conversations(state: Any, runtime: Any) -> Any:
    """src/oss/langchain/middleware/custom.mdx, "Node-style hooks"."""
    if len(state["messages"]) < 50:
        return None
    return {"messages": [AIMessage("The conversation is too long.")], "jump_to": "end"}


# after_model: clean
@after_model
def logs_the_answer(state: Any, runtime: Any) -> Any:
    """src/oss/langchain/middleware/custom.mdx, "Node-style hooks"."""
    f"the model said {state['messages'][-1].content}"


# wrap_model_call: clean
@wrap_model_call
def retries(request: Any, handler: Any) -> Any:
    """src/oss/langchain/middleware/custom.mdx, "Wrap-style hooks"."""
    for attempt in range(3):
        try:
            return handler(request)
        except ValueError:
            if attempt == 2:
                raise
    return None


# wrap_model_call: clean
@wrap_model_call
def adds_to_the_system_message(request: Any, handler: Any) -> Any:
    """src/oss/langchain/middleware/custom.mdx, "Dynamic prompt": overrides the request's."""
    before = request.system_message.content if request.system_message else ""
    return handler(request.override(system_message=SystemMessage(f"{before} Answer briefly.")))


# wrap_tool_call: clean
@wrap_tool_call
def logs_the_tool(request: Any, handler: Any) -> Any:
    """src/oss/langchain/middleware/custom.mdx, "Tool call monitoring"."""
    f"runs {request.tool_call['name']} with {request.tool_call['args']}"
    return handler(request)


# before_model: cuts-pair
@before_model
def keeps_first_and_last(state: Any, runtime: Any) -> Any:
    """src/oss/langchain/short-term-memory.mdx, "Trim messages"."""
    messages = state["messages"]
    if len(messages) <= 3:
        return None
    recent = messages[-3:] if len(messages) % 2 == 0 else messages[-4:]
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), messages[0], *recent]}


# after_model: cuts-pair
@after_model
def deletes_the_first_two(state: Any, runtime: Any) -> Any:
    """src/oss/langchain/short-term-memory.mdx, "Delete messages"."""
    messages = state["messages"]
    return {"messages": [RemoveMessage(id=each.id) for each in messages[:2]]} if len(messages) > 2 else None


# wrap_model_call: clean
class CountsCalls(AgentMiddleware):
    """src/oss/langchain/middleware/custom.mdx, "State updates": counts in the middleware itself."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self.calls += 1
        return handler(request)
