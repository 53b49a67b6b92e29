"""The adapter of LangChain 1: middleware of create_agent, and nodes of LangGraph."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from agentcore.live.adapter import Attached, Boundary, Entry, Given, Recorder
from agentcore.live.adapters.langchain_messages import (
    ScriptedModel,
    ScriptedTool,
    answer_of,
    entry_of,
    messages_of,
)
from agentcore.live.conversations import Conversation, tools

__all__ = ["ADAPTER"]

_LIMIT: Final = {"recursion_limit": 500}


def _kept(given: Given) -> Sequence[Any]:
    request = given.get("request")
    if request is None:
        return [given.get("runtime"), given.get("config")]
    kept = [getattr(request, name, None) for name in ("model", "tools", "tool", "response_format", "runtime")]
    runtime = kept[-1]
    if hasattr(runtime, "state"):  # of a tool: the conversation is in it
        kept[-1:] = [value for name, value in vars(runtime).items() if name != "state"]
    return kept


def _node(*, after: bool = False) -> Callable[[str], Boundary]:
    return lambda name: Boundary(
        parameters=("state", "runtime"), methods=(name, f"a{name}"), kept=_kept, after=after, delta=True
    )


def _around(*, whole: bool) -> Callable[[str], Boundary]:
    return lambda name: Boundary(
        parameters=("request", "handler"),
        methods=(name, f"a{name}"),
        kept=_kept,
        handler="handler",
        passive=lambda given: given["handler"](given["request"]),
        whole=whole,
        after=not whole,
        messages_in=(lambda given: given["request"].messages) if whole else None,
        messages_out=lambda request: request.messages,
    )


_BOUNDARIES: Final[dict[str, Callable[[str], Boundary]]] = {
    "before_agent": _node(),
    "before_model": _node(),
    "after_model": _node(after=True),
    "after_agent": _node(after=True),
    "wrap_model_call": _around(whole=True),
    "wrap_tool_call": _around(whole=False),
    "langgraph_node": lambda _: Boundary(
        parameters=("state", "config"), kept=_kept, delta=True, passive=lambda _: {}
    ),
}


class _Adapter:
    name = "langchain"
    package = "langchain"
    paths = ("generate", "stream")
    drop = ("id",)
    boundaries: Mapping[str, Boundary] = {name: make(name) for name, make in _BOUNDARIES.items()}

    def entries(self, messages: Any) -> Sequence[Entry]:
        return [*map(entry_of, messages)]

    def bases(self) -> Sequence[type]:
        return (AgentMiddleware,)

    def control(self) -> Sequence[type[BaseException]]:
        from langgraph.errors import GraphBubbleUp  # noqa: PLC0415 - beside its use

        return (GraphBubbleUp,)

    def run(
        self, conversation: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        script: list[Mapping[str, Any]] = []

        def answer(messages: list[Any]) -> AIMessage:
            step = recorder.prompt(messages)
            return answer_of(script[step]) if step < len(script) else AIMessage("done")

        calls = tools(conversation)
        kit = [
            ScriptedTool(name=name, description=name, calls=calls)
            for name in sorted({c["tool"] for c in calls.values()})
        ]
        model = ScriptedModel(answer=answer)
        build = _graph if at == "langgraph_node" else _agent
        agent = build(model, kit, conversation.get("instructions"), hook, at)
        messages: list[Any] = []
        passed: list[Any] = []
        recorder.holder("caller", passed)
        for number, turn in enumerate(conversation["turns"]):
            recorder.begin_turn(number)
            script[:] = turn["answers"]
            messages = [*messages, *messages_of(turn["messages"])]
            passed.append(messages)
            result = _called(agent, {"messages": messages}, path, is_async=hook is not None and hook.is_async)
            messages = result["messages"]
            recorder.result(messages)


def _called(agent: Any, given: Any, path: str, *, is_async: bool) -> Any:
    async def last() -> Any:
        return [each async for each in agent.astream(given, _LIMIT, stream_mode="values")][-1]

    if is_async:
        return asyncio.run(last() if path == "stream" else agent.ainvoke(given, _LIMIT))
    if path == "stream":
        return [*agent.stream(given, _LIMIT, stream_mode="values")][-1]
    return agent.invoke(given, _LIMIT)


def _agent(model: Any, kit: list[Any], instructions: str | None, hook: Attached | None, at: str) -> Any:
    middleware = []
    if hook is not None:
        middleware = [hook.owner if hook.owner is not None else _middleware(hook, at)]
    return create_agent(model, kit, system_prompt=instructions, middleware=middleware)


def _middleware(hook: Attached, at: str) -> Any:
    if hook.is_async:

        async def call_async(_: Any, *args: Any, **options: Any) -> Any:
            return await hook.call(*args, **options)

        made: Any = call_async
    else:

        def call(_: Any, *args: Any, **options: Any) -> Any:
            return hook.call(*args, **options)

        made = call
    name = f"a{at}" if hook.is_async else at
    functools.update_wrapper(made, getattr(AgentMiddleware, name))  # the agent looks at its parameters
    return type("Checked", (AgentMiddleware,), {name: made})()


def _graph(model: Any, kit: list[Any], instructions: str | None, hook: Attached | None, _: str) -> Any:
    by_name = {tool.name: tool for tool in kit}

    def call_model(state: Any) -> Any:
        system = [SystemMessage(instructions)] if instructions else []
        return {"messages": [model.invoke([*system, *state["messages"]])]}

    def call_tools(state: Any) -> Any:
        return {"messages": [by_name[call["name"]].invoke(call) for call in state["messages"][-1].tool_calls]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tools", call_tools)
    graph.add_node("hook", hook.call if hook is not None else lambda _: {})
    graph.add_edge(START, "hook")
    graph.add_edge("hook", "model")
    graph.add_edge("tools", "hook")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    return graph.compile()


ADAPTER: Final = _Adapter()
