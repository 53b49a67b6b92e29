"""LangChain: middleware that hides an address from the model, before the model and around its call."""

from __future__ import annotations

import os

os.environ["LANGSMITH_TRACING"] = "false"

from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, before_model, wrap_model_call
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from agentcore.guard import guard


class Echo(BaseChatModel):
    """A model that says what it was asked."""

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(f"asked {messages[-1].content!r}"))])


def hidden(text: str) -> str:
    return text.replace("ann@example.com", "<address>")


@before_model
def hide_before(state: Any, runtime: Any) -> None:
    """Returns no update, and changes the state for good."""
    with guard(state["messages"]) as report:
        for message in state["messages"]:
            message.content = hidden(message.content)
    print(f"  guard: {report}")


@wrap_model_call
def hide_around(request: Any, handler: Callable[[Any], Any]) -> Any:
    """Writes to the messages of a request that is for this call only; they are those of the state."""
    with guard(request.messages) as report:
        for message in request.messages:
            message.content = hidden(message.content)
    print(f"  guard: {report}")
    return handler(request)


@wrap_model_call
def hide_mended(request: Any, handler: Callable[[Any], Any]) -> Any:
    """Asks with new messages; the state keeps what was said."""
    with guard(request.messages) as report:
        messages = [
            message.model_copy(update={"content": hidden(message.content)}) for message in request.messages
        ]
    print(f"  guard: {report}")
    return handler(request.override(messages=messages))


def run(middleware: AgentMiddleware[Any, Any]) -> None:
    asked = HumanMessage("write to ann@example.com")
    print(middleware.name)
    result = create_agent(Echo(), middleware=[middleware]).invoke({"messages": [asked]})
    print(f"  model: {result['messages'][-1].content}")
    print(f"  caller's message: {asked.content!r}")


run(hide_before)
run(hide_around)
run(hide_mended)
