"""LangChain: the graph of create_agent, without tracing; `keep` gives it an InMemorySaver."""

from __future__ import annotations

import os

# Before the import: it would look for a place to send traces to.
os.environ["LANGSMITH_TRACING"] = "false"

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.peers import serving
from benchmarks.peers.serving import REMINDER, Forks, Script, Task, serve

_CONFIG: dict[str, Any] = {"configurable": {"thread_id": "thread"}}


class _Model(BaseChatModel):
    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> _Model:
        del tools, kwargs
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        del args, kwargs
        number = self.script.call(len(messages))
        if number is None:
            message = AIMessage(serving.DONE)
        else:
            call = {"name": serving.TOOL, "args": {"q": number}, "id": f"call-{number}", "type": "tool_call"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])

    # Else it would be run in a thread.
    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return self._generate(messages, *args, **kwargs)


class _Reminded(AgentMiddleware[Any, Any]):
    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        return await handler(request.override(messages=[*request.messages, HumanMessage(REMINDER)]))


def _graph(task: Task, script: Script) -> Any:
    @tool
    async def look(q: int) -> str:
        """Look something up."""
        return script.look(q)

    return create_agent(
        _Model(script=script),
        tools=[look],
        middleware=[_Reminded()] if task.override else [],
        checkpointer=InMemorySaver() if task.keep else None,
    )


def _messages(task: Task) -> list[BaseMessage]:
    roles = {"user": HumanMessage, "assistant": AIMessage}
    return [roles[role](text) for role, text in task.messages()]


def _config(task: Task) -> dict[str, Any]:
    # Two nodes a step, and the end.
    return {**_CONFIG, "recursion_limit": 2 * task.steps + 2}


class _LangChain:
    def prepared(self, task: Task, script: Script) -> serving.Run:
        graph, messages = _graph(task, script), _messages(task)

        async def run() -> serving.Outcome:
            result = await graph.ainvoke({"messages": messages}, _config(task))
            return serving.Outcome(result["messages"][-1].content, (graph, result))

        return run

    async def forks(self, task: Task, script: Script) -> Forks:
        graph = _graph(Task(**{**vars(task), "keep": True}), script)
        await graph.ainvoke({"messages": _messages(task)}, _config(task))
        wanted = len(task.messages()) + 2 * (task.steps // 2)
        middle = next(
            state.config
            for state in graph.get_state_history(_CONFIG)
            if len(state.values["messages"]) == wanted
        )

        def fork(number: int) -> Any:
            return graph.update_state(
                middle, {"messages": [HumanMessage(f"{REMINDER} {number}")]}, as_node="tools"
            )

        return Forks(fork, lambda config: len(graph.get_state(config).values["messages"]))


if __name__ == "__main__":
    serve(_LangChain())
