"""The adapter of LangChain 1: middleware of create_agent, and nodes of LangGraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from agentcore.live import adapter as live
from agentcore.live import session as talk

__all__ = ["ADAPTER"]

_STATE: Final = ("state", "runtime")


def _kept(given: live.Given) -> Sequence[Any]:
    request = given.get("request")
    if request is None:
        return [given.get("runtime"), given.get("config")]
    kept = [getattr(request, name, None) for name in ("model", "tools", "tool", "response_format", "runtime")]
    if hasattr(kept[-1], "state"):  # the runtime of a tool: the conversation is in it
        kept[-1:] = talk.attributes(kept[-1], "state")
    return kept


class _Model(BaseChatModel):
    answer: Any = None  # Any: a field with a type of containers would be copied when the model is made
    _llm_type = "scripted"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self


class _Tool(BaseTool):
    result: Any = None
    args_schema: Any = talk.SCHEMA

    def invoke(self, input: Any, config: Any = None, **_: Any) -> Any:  # noqa: A002 - its name there
        return self.result(input["id"])

    async def ainvoke(self, input: Any, config: Any = None, **_: Any) -> Any:  # noqa: A002 - as above
        return self.invoke(input)

    _run = invoke


class _Adapter(live.AdapterBase):
    name = package = "langchain"
    paths = ("generate", "stream")
    drop = ("id",)
    classes = (AgentMiddleware,)
    steering = (GraphBubbleUp,)
    boundaries = live.boundaries(
        {
            **dict.fromkeys(("before_agent", "before_model"), live.Boundary(_STATE, delta=True)),
            **dict.fromkeys(("after_model", "after_agent"), live.observer(*_STATE, whole=True, delta=True)),
            "wrap_model_call": live.around("request", assigned=True),
            "wrap_tool_call": live.around("request", whole=False, assigned=True),
            "langgraph_node": live.Boundary(("state", "config"), delta=True, passive=lambda _: {}),
        },
        prefixes=("", "a"),
        kept=_kept,
    )

    def user(self, parts: Sequence[talk.Part]) -> HumanMessage:
        if len(parts) == 1 and len(parts[0]["text"]) % 2:
            return HumanMessage(parts[0]["text"])
        image: Any = lambda part: {"type": "image", "base64": part["data"], "mime_type": part["mediaType"]}  # noqa: E731
        return HumanMessage(talk.mapped(parts, text=dict, file=image))

    def answer(self, parts: Sequence[talk.Part]) -> AIMessage:
        call: Any = lambda part: {"name": part["tool"], "args": talk.fresh(part["input"]), "id": part["id"]}  # noqa: E731
        calls = talk.mapped(parts, call=lambda part: {**call(part), "type": "tool_call"})
        return AIMessage(talk.text_in(parts), tool_calls=calls)

    def result(self, call: talk.Part) -> ToolMessage:
        output, failed = talk.output_of(call), talk.failure(call)
        content: Any = output if isinstance(output, list) else talk.text_of(output)
        options: Any = {"name": call["tool"], "status": "error" if failed else "success", "artifact": output}
        return ToolMessage(failed or content, tool_call_id=call["id"], **options)

    def entry(self, message: BaseMessage) -> live.Entry:
        role = {"human": "user", "ai": "assistant"}.get(message.type, message.type)
        calls = tuple(call["id"] for call in getattr(message, "tool_calls", ()))
        results = (message.tool_call_id,) if isinstance(message, ToolMessage) else ()
        return live.Entry(role, f"{message.content}", calls, results)

    def passed(self, messages: list[Any]) -> Any:
        return {"messages": messages}

    def begin(self, session: talk.Session, hook: live.Attached | None, at: str, path: str) -> Any:
        model = _Model(answer=lambda prompt: self.answer(session.answer(prompt)))
        result: Any = lambda number: self.result(session.call(number))  # noqa: E731
        kit = [_Tool(name=name, description=name, result=result) for name in session.tools]
        prefix = "a" if hook is not None and hook.is_async else ""
        agent = (_graph if at == "langgraph_node" else _agent)(model, kit, session, hook, f"{prefix}{at}")
        call = getattr(agent, f"{prefix}{'stream' if path == 'stream' else 'invoke'}")

        async def turn(given: Any) -> talk.Reply:
            config = {"recursion_limit": 500, "configurable": {"thread_id": session.turn}}
            messages = (await talk.ended(call(given, config=config, stream_mode="values")))["messages"]
            asked = [each["id"] for each in getattr(messages[-1], "tool_calls", ()) if session.gated]
            return talk.Reply(messages, asked=asked, resume=resume)

        def resume(decisions: Any) -> Any:
            said = talk.decided(decisions, {"type": "approve"}, lambda no: {"type": "reject", "message": no})
            return turn(Command(resume={"decisions": [*said.values()]}))

        return turn


def _agent(model: Any, kit: Any, session: talk.Session, hook: live.Attached | None, name: str) -> Any:
    middleware = [] if hook is None else [live.as_object(hook, AgentMiddleware, name)]
    options: Any = {"system_prompt": session.instructions}
    if session.gated:
        # First, so that the hook still gets the answer as the model gave it: these run last to first.
        middleware.insert(0, HumanInTheLoopMiddleware(dict.fromkeys(session.tools, True)))
        options["checkpointer"] = InMemorySaver()
    return create_agent(model, kit, middleware=middleware, **options)


def _graph(model: Any, kit: Any, session: talk.Session, hook: live.Attached | None, _: str) -> Any:
    system = [SystemMessage(session.instructions)] if session.instructions else []
    graph = StateGraph(MessagesState)
    graph.add_node("hook", hook.call if hook is not None else lambda _: {})
    graph.add_node("model", lambda state: {"messages": [model.invoke([*system, *state["messages"]])]})
    graph.add_node("review", lambda _: {} if not session.gated else interrupt("?") and {})
    graph.add_node("tools", ToolNode(kit))
    for begin, end in ((START, "hook"), ("hook", "model"), ("review", "tools"), ("tools", "hook")):
        graph.add_edge(begin, end)
    graph.add_conditional_edges("model", tools_condition, {"tools": "review", END: END})
    return graph.compile(InMemorySaver() if session.gated else None)


ADAPTER: Final = _Adapter()
