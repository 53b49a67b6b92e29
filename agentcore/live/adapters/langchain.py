"""The adapter of LangChain 1: middleware of create_agent, and nodes of LangGraph."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from agentcore.live import session as talk
from agentcore.live.adapter import AdapterBase, Attached, Boundary, Entry, Given, around, as_method
from agentcore.live.conversations import fresh

__all__ = ["ADAPTER"]


def _kept(given: Given) -> Sequence[Any]:
    request = given.get("request")
    if request is None:
        return [given.get("runtime"), given.get("config")]
    kept = [getattr(request, name, None) for name in ("model", "tools", "tool", "response_format", "runtime")]
    if hasattr(kept[-1], "state"):  # the runtime of a tool: the conversation is in it
        kept[-1:] = talk.attributes(kept[-1], "state")
    return kept


def _node(name: str, *, after: bool) -> Boundary:
    methods = (name, f"a{name}")
    return Boundary(parameters=("state", "runtime"), methods=methods, kept=_kept, after=after, delta=True)


def _around(name: str, *, whole: bool) -> Boundary:
    methods = (name, f"a{name}")
    return around("request", messages=lambda each: each.messages, whole=whole, methods=methods, kept=_kept)


class _Model(BaseChatModel):
    answer: Any = None  # Any: a field with a type of containers would be copied when the model is made
    _llm_type = "scripted"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_answer(self.answer(messages)))])

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


class _Tool(BaseTool):
    call: Any = None
    args_schema: Any = {"type": "object", "properties": {}}  # noqa: RUF012 - a field of pydantic

    def invoke(self, input: Any, config: Any = None, **_: Any) -> Any:  # noqa: A002 - its name there
        return _result(self.call(input["id"]))

    async def ainvoke(self, input: Any, config: Any = None, **_: Any) -> Any:  # noqa: A002 - as above
        return self.invoke(input)

    def _run(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def _result(call: talk.Part) -> ToolMessage:
    output, failed = talk.output_of(call), talk.failure(call)
    content: Any = output if isinstance(output, list) else talk.text_of(output)
    options: Any = {"name": call["tool"], "status": "error" if failed else "success", "artifact": output}
    return ToolMessage(failed or content, tool_call_id=call["id"], **options)


def _user(parts: Sequence[talk.Part]) -> HumanMessage:
    if len(parts) == 1 and len(parts[0]["text"]) % 2:
        return HumanMessage(parts[0]["text"])
    image: Any = lambda part: {"type": "image", "base64": part["data"], "mime_type": part["mediaType"]}  # noqa: E731
    return HumanMessage([{**part} if part["type"] == "text" else image(part) for part in parts])


def _answer(parts: Sequence[talk.Part]) -> AIMessage:
    call: Any = lambda part: {"name": part["tool"], "args": fresh(part["input"]), "id": part["id"]}  # noqa: E731
    calls = [{**call(part), "type": "tool_call"} for part in talk.calls_in(parts)]
    return AIMessage(talk.text_in(parts), tool_calls=calls)


def _entry(message: BaseMessage) -> Entry:
    role = {"human": "user", "ai": "assistant"}.get(message.type, message.type)
    calls = tuple(call["id"] for call in getattr(message, "tool_calls", ()))
    results = (message.tool_call_id,) if isinstance(message, ToolMessage) else ()
    return Entry(role, f"{message.content}", calls, results)


class _Adapter(AdapterBase):
    name = package = "langchain"
    paths = ("generate", "stream")
    drop = ("id",)
    classes = (AgentMiddleware,)
    steering = (GraphBubbleUp,)
    boundaries = {  # noqa: RUF012 - a constant
        **{name: _node(name, after=False) for name in ("before_agent", "before_model")},
        **{name: _node(name, after=True) for name in ("after_model", "after_agent")},
        "wrap_model_call": _around("wrap_model_call", whole=True),
        "wrap_tool_call": _around("wrap_tool_call", whole=False),
        "langgraph_node": Boundary(("state", "config"), kept=_kept, delta=True, passive=lambda _: {}),
    }

    def entries(self, messages: Any) -> Sequence[Entry]:
        return [*map(_entry, messages)]

    def run(self, session: talk.Session, hook: Attached | None, at: str, path: str) -> None:
        model = _Model(answer=session.answer)
        kit = [_Tool(name=name, description=name, call=session.call) for name in session.tools]
        make = _graph if at == "langgraph_node" else _agent
        agent = make(model, kit, session.instructions, hook, at).with_config({"recursion_limit": 500})
        messages: list[Any] = []
        for added in session.turns():
            messages += talk.translated(added, _user, _answer, lambda calls: [*map(_result, calls)])
            given = {"messages": session.passes([*messages])}
            result = _called(agent, given, path, is_async=hook is not None and hook.is_async)
            messages = [*result["messages"]]
            session.result(messages)


def _called(agent: Any, given: Any, path: str, *, is_async: bool) -> Any:
    async def last() -> Any:
        return [each async for each in agent.astream(given, stream_mode="values")][-1]

    if is_async:
        return asyncio.run(last() if path == "stream" else agent.ainvoke(given))
    return [*agent.stream(given, stream_mode="values")][-1] if path == "stream" else agent.invoke(given)


def _agent(model: Any, kit: list[Any], instructions: str | None, hook: Attached | None, at: str) -> Any:
    middleware = [] if hook is None else [_checked(hook, f"a{at}" if hook.is_async else at)]
    return create_agent(model, kit, system_prompt=instructions, middleware=middleware)


def _checked(hook: Attached, name: str) -> Any:
    if hook.owner is not None:
        return hook.owner
    like = functools.wraps(getattr(AgentMiddleware, name))  # the agent looks at its parameters
    return type("Checked", (AgentMiddleware,), {name: like(as_method(hook))})()


def _graph(model: Any, kit: list[Any], instructions: str | None, hook: Attached | None, _: str) -> Any:
    system = [SystemMessage(instructions)] if instructions else []
    graph = StateGraph(MessagesState)
    graph.add_node("hook", hook.call if hook is not None else lambda _: {})
    graph.add_node("model", lambda state: {"messages": [model.invoke([*system, *state["messages"]])]})
    graph.add_node("tools", ToolNode(kit))
    for begin, end in ((START, "hook"), ("hook", "model"), ("tools", "hook")):
        graph.add_edge(begin, end)
    graph.add_conditional_edges("model", tools_condition)
    return graph.compile()


ADAPTER: Final = _Adapter()
