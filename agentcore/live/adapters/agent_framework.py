"""The adapter of Microsoft's Agent Framework: middleware, and providers of context."""

from __future__ import annotations

import base64
import operator
from collections.abc import Sequence
from typing import Any, Final

import agent_framework as sdk
from agent_framework import Content, Message

from agentcore.live import adapter as live
from agentcore.live import session as talk

__all__ = ["ADAPTER"]

_TEXT: Final = operator.itemgetter("text")
_MEMORY: Final = "in_memory"
_DATA: Final = ("messages", "arguments", "result", "input_messages", "context_messages", "_response")
_AROUND: Final = ("context", "call_next")
_WRAPS: Final[Any] = {
    "handler": "call_next",
    "methods": ("process",),
    "passive": lambda of: of["call_next"](),
}
_WHOLE: Final[Any] = {**_WRAPS, "messages_in": lambda of: of["context"].messages}
_PROVIDED: Final = ("agent", "session", "context", "state")


def _kept(given: live.Given) -> Sequence[Any]:
    # Of a context, these are conversation; all else is the framework's or the person's own, as the state is.
    result = getattr(given["context"], "result", None)
    stream = result if isinstance(result, sdk.ResponseStream) else None
    own = [given.get("agent"), given.get("session"), given.get("state")]
    return [*talk.attributes(given["context"], *_DATA), *own, stream]


def _handles(given: live.Given) -> Sequence[Any]:
    session = given.get("session", getattr(given["context"], "session", None))
    return [session.state[_MEMORY]] if session is not None and _MEMORY in session.state else []


def _outlets(given: live.Given) -> Sequence[Any]:
    # A context is documented to be changed: what it holds may be replaced, its list and arguments be edited.
    context = given["context"]
    held = [getattr(context, name, None) for name in ("messages", "arguments", "context_messages")]
    return [context, *held, *dict(held[-1] or {}).values()]


class _Provider(sdk.ContextProvider):
    def __init__(self) -> None:
        super().__init__("checked")


class _Adapter(live.AdapterBase):
    name = "agent-framework"
    package = "agent-framework-core"
    paths = ("generate", "stream")
    drop = ("response_id", "message_id", "id", "created_at", "usage_details")
    awaits = True
    classes = (sdk.AgentMiddleware, sdk.ChatMiddleware, sdk.FunctionMiddleware, sdk.ContextProvider)
    steering = (sdk.MiddlewareTermination,)
    boundaries = live.boundaries(
        {
            "chat_middleware": live.Boundary(_AROUND, **_WHOLE),
            "agent_middleware": live.Boundary(_AROUND, **_WHOLE),
            "function_middleware": live.Boundary(_AROUND, whole=False, after=True, **_WRAPS),
            "context_provider": live.Boundary(_PROVIDED, methods=("before_run",)),
            "context_provider_after_run": live.observer(*_PROVIDED, methods=("after_run",)),
        },
        kept=_kept,
        handles=_handles,
        outlets=_outlets,
    )

    def entry(self, message: Any) -> list[live.Entry]:
        return [_entry(message.role, content) for content in getattr(message, "contents", ())]

    def user(self, parts: Sequence[talk.Part]) -> Message:
        file: Any = lambda part: Content.from_data(base64.b64decode(part["data"]), part["mediaType"])  # noqa: E731
        return Message("user", talk.mapped(parts, text=_TEXT, file=file))

    def answer(self, parts: Sequence[talk.Part]) -> Message:
        thought: Any = lambda part: Content.from_text_reasoning(text=part["text"])  # noqa: E731
        return Message("assistant", talk.mapped(parts, text=_TEXT, reasoning=thought, call=_call))

    def result(self, call: talk.Part) -> Message:
        return Message("tool", [Content.from_function_result(call["id"], result=_output(call))])

    def begin(self, session: talk.Session, hook: live.Attached | None, at: str, path: str) -> Any:
        answer: Any = lambda prompt: self.answer(session.answer(prompt)).contents  # noqa: E731

        class Client(sdk.FunctionInvocationLayer, sdk.ChatMiddlewareLayer, sdk.BaseChatClient):
            def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
                async def updates() -> Any:
                    # The instructions come last, so that messages have the places of a context.
                    for content in answer([*messages, options.get("instructions")]):
                        yield sdk.ChatResponseUpdate(role="assistant", contents=[content], message_id="m")

                made = self._build_response_stream(updates())
                return made if stream else made.get_final_response()

        class Tool(sdk.FunctionTool):
            async def invoke(self, *, tool_call_id: Any = None, **_: Any) -> Any:
                return [Content.from_text(_output(session.call(tool_call_id)))]

        of: Any = {"func": talk.fresh, "input_model": talk.SCHEMA}
        of["approval_mode"] = "always_require" if session.gated else "never_require"
        kit: Any = [Tool(name=name, **of) for name in session.tools]
        memory: list[Any] = [sdk.InMemoryHistoryProvider(_MEMORY)]
        options: Any = {"context_providers": memory, "tools": kit, "instructions": session.instructions}
        if hook is not None and at.startswith("context_provider"):
            method = self.boundaries[at].methods[0]
            memory.append(live.as_object(hook, _Provider, method, live.as_async_method))
        elif hook is not None:
            options["middleware"] = [hook.owner or getattr(sdk, at)(hook.call)]
        agent = sdk.Agent(Client(), **options)
        held = agent.create_session()
        session.holder("store", held.state)

        async def turn(given: Any) -> talk.Reply:
            run = agent.run(given, session=held, stream=path == "stream")
            result = await (run.get_final_response() if path == "stream" else run)
            asked: Any = {each.function_call.call_id: each for each in result.user_input_requests}

            def resume(decisions: Any) -> Any:
                said = [it.to_function_approval_response(decisions[of] is None) for of, it in asked.items()]
                return turn([Message("user", said)])

            return talk.Reply([], result.messages, [*asked], resume)  # the session has what came before

        return turn


def _call(part: talk.Part) -> Content:
    return Content.from_function_call(part["id"], part["tool"], arguments=talk.fresh(part["input"]))


def _output(call: talk.Part) -> str:
    return talk.text_of(talk.returned(call, "Error: "))


def _entry(role: str, content: Any) -> live.Entry:
    of = {content.type: (content.call_id,)}
    text = content.text or content.arguments or content.result
    return live.Entry(role, f"{text}", of.get("function_call", ()), of.get("function_result", ()))


ADAPTER: Final = _Adapter()
