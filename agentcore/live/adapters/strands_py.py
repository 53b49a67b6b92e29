"""The adapter of Strands Agents for Python: hooks of the model's calls, and middleware around them."""

from __future__ import annotations

import base64
import inspect
from collections.abc import Sequence
from typing import Any, Final

import strands
from strands import hooks, middleware
from strands.agent.conversation_manager import NullConversationManager
from strands.models import Model
from strands.tools import PythonAgentTool

from agentcore.live import adapter as live
from agentcore.live import session as talk

__all__ = ["ADAPTER"]

_EVENTS: Final = {
    "before_model_call": hooks.BeforeModelCallEvent,
    "after_model_call": hooks.AfterModelCallEvent,
}


def _subject(given: live.Given) -> Any:
    return given.get("event") or given["context"]


def _kept(given: live.Given) -> Sequence[Any]:
    # What it holds beside these is the framework's or the person's own, as the agent and the state are.
    return talk.attributes(_subject(given), "messages", "system_prompt", "stop_response")


def _handles(given: live.Given) -> Sequence[Any]:
    # Which messages are in the agent's list is for hooks to say; what the messages say is conversation.
    return [*_subject(given).agent.messages]


class _Model(Model):
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def get_config(self, *_: Any, **__: Any) -> Any:
        return {}

    update_config = structured_output = get_config

    async def stream(self, messages: Any, _: Any = None, system_prompt: Any = None, **__: Any) -> Any:
        # The instructions come last, so that messages have the places that they have in the context.
        blocks = self._answer([*messages, {"role": "system", "content": [{"text": system_prompt}]}])[
            "content"
        ]
        yield {"messageStart": {"role": "assistant"}}
        for block in blocks:
            use = block.get("toolUse")
            start = {} if use is None else {"toolUse": {"name": use["name"], "toolUseId": use["toolUseId"]}}
            yield {"contentBlockStart": {"start": start}}
            delta = block if use is None else {"toolUse": {"input": talk.text_of(use["input"])}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        calls = any("toolUse" in block for block in blocks)
        yield {"messageStop": {"stopReason": "tool_use" if calls else "end_turn"}}


class _Adapter(live.AdapterBase):
    name = "strands-py"
    package = "strands-agents"
    paths = ("generate", "stream")
    awaits = True
    boundaries = live.boundaries(
        {
            "before_model_call": live.Boundary(("event",), outlets=lambda given: [given["event"]]),
            "after_model_call": live.observer("event", outlets=lambda given: [given["event"]]),
            "invoke_model_middleware": live.Boundary(
                ("context", "next_fn"),
                handler="next_fn",
                passive=lambda given: given["context"],
                messages_in=lambda given: given["context"].messages,
                messages_out=live.messages_of,
            ),
        },
        kept=_kept,
        handles=_handles,
        reaches=lambda given: {"agent.messages": _subject(given).agent.messages},
    )

    def entry(self, message: Any) -> list[live.Entry]:
        return [_entry(message["role"], block) for block in message["content"]]

    def user(self, parts: Sequence[talk.Part]) -> Any:
        image: Any = lambda part: {"format": "png", "source": {"bytes": base64.b64decode(part["data"])}}  # noqa: E731
        made = talk.mapped(parts, text=_text, file=lambda part: {"image": image(part)})
        return {"role": "user", "content": made}

    def answer(self, parts: Sequence[talk.Part]) -> Any:
        thought: Any = lambda part: {"reasoningContent": {"text": part["text"]}}  # noqa: E731
        return {"role": "assistant", "content": talk.mapped(parts, text=_text, reasoning=thought, call=_use)}

    def results(self, calls: Sequence[talk.Part]) -> Any:
        return {"role": "user", "content": [{"toolResult": self.result(call)} for call in calls]}

    def result(self, call: talk.Part) -> Any:
        failed, output = talk.failure(call), talk.fresh(call.get("output"))
        block = {"text": failed or output} if failed or isinstance(output, str) else {"json": output}
        status = "error" if failed else "success"
        return {"toolUseId": call["id"], "status": status, "content": [block]}

    def begin(self, session: talk.Session, hook: live.Attached | None, at: str, path: str) -> Any:
        async def execute(use: Any, **_: Any) -> Any:
            return self.result(session.call(use["toolUseId"]))

        spec: Any = lambda name: {"name": name, "description": name, "inputSchema": {"json": talk.SCHEMA}}  # noqa: E731
        kit: Any = [PythonAgentTool(name, spec(name), execute) for name in session.tools]
        options: Any = {"callback_handler": None, "conversation_manager": NullConversationManager()}
        model = _Model(lambda prompt: self.answer(session.answer(prompt)))
        agent: Any = strands.Agent(model, tools=kit, system_prompt=session.instructions, **options)
        if hook is not None and at in _EVENTS:
            agent.add_hook(hook.call, _EVENTS[at])
        elif hook is not None:
            stage = middleware.InvokeModelStage
            agent.add_middleware(stage if inspect.isasyncgenfunction(hook.call) else stage.Input, hook.call)
        session.holder("store", agent.messages)

        async def turn(given: Any) -> talk.Reply:
            # The agent keeps the conversation; the caller passes what is new.
            agent.messages.extend(given[:-1])
            run: Any = agent.stream_async if path == "stream" else agent.invoke_async
            ended = await talk.ended(run(given[-1:]))
            result = ended["result"] if path == "stream" else ended
            return talk.Reply([], [result.message, result.stop_reason])

        return turn


def _text(part: talk.Part) -> Any:
    return {"text": part["text"]}


def _use(part: talk.Part) -> Any:
    return {"toolUse": {"toolUseId": part["id"], "name": part["tool"], "input": talk.fresh(part["input"])}}


def _entry(role: str, block: Any) -> live.Entry:
    calls, results = ([block[of]["toolUseId"]] if of in block else [] for of in ("toolUse", "toolResult"))
    return live.Entry("tool" if results else role, str(block.get("text", block)), (*calls,), (*results,))


ADAPTER: Final = _Adapter()
