"""A skeleton of an adapter for live checks: a loop of your own, or a framework that is not known yet.

Copy it, fill in the five places marked 1 to 5, run the suite of `agentcore.live.compliance` over it, and
check hooks with `agentcore check-hook hooks.py#my_hook --in my_loop:ADAPTER --at before_model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.live import adapter as live
from agentcore.live import session as talk

# 1. Import your loop in place of this one.


def loop(messages: list[dict[str, Any]], model: Any, execute: Any, before_model: Any) -> list[dict[str, Any]]:
    """Asks the model until it calls no tool."""
    while True:
        if before_model is not None:
            messages = before_model(messages) or messages
        answer = model(messages)
        messages = [*messages, answer]
        if not answer["calls"]:
            return messages
        messages += [{"role": "tool", "id": each["id"], "content": execute(each)} for each in answer["calls"]]


class Adapter(live.AdapterBase):
    """What a live check asks of a loop."""

    name = "my_loop"  # and `package`, the distribution whose version is reported, if there is one

    # 2. Say how the loop calls a hook at each of its boundaries.
    boundaries: Mapping[str, live.Boundary] = {"before_model": live.rewriting("messages")}

    # 3. Translate the neutral conversation (`schemas/conversation.schema.json`) into messages of your loop.

    def user(self, parts: Sequence[talk.Part]) -> dict[str, Any]:
        """Makes a message of the user."""
        return {"role": "user", "content": talk.mapped(parts, text=dict, file=dict)}

    def answer(self, parts: Sequence[talk.Part]) -> dict[str, Any]:
        """Makes an answer of the model."""
        calls = [
            {"id": each["id"], "tool": each["tool"], "input": talk.fresh(each["input"])}
            for each in talk.calls_in(parts)
        ]
        return {"role": "assistant", "content": talk.mapped(parts, text=dict), "calls": calls}

    def result(self, call: talk.Part) -> dict[str, Any]:
        """Makes the message with the result of a call."""
        failed = talk.failure(call)
        content = f"error: {failed}" if failed is not None else talk.fresh(call["output"])
        return {"role": "tool", "id": call["id"], "content": content}

    def entry(self, message: Any) -> live.Entry:
        """Says of a message what role it has, what it calls, and what it answers."""
        calls = tuple(call["id"] for call in message.get("calls", ()))
        results = (message["id"],) if message["role"] == "tool" else ()
        return live.Entry(message["role"], f"{message['content']}", calls, results)

    def begin(self, session: talk.Session, hook: live.Attached | None, at: str, path: str) -> Any:
        """Attaches the hook, and returns what runs a turn."""
        del at, path  # there is one of each

        # 4. The scripted model gives each prompt to the session, which has the answer.
        def model(prompt: list[dict[str, Any]]) -> dict[str, Any]:
            return self.answer(session.answer(prompt))

        def execute(call: Mapping[str, Any]) -> Any:
            return self.result(session.call(call["id"]))["content"]

        # 5. Call the loop with the hook attached; without a hook it has to run as well.
        def turn(messages: list[Any]) -> talk.Reply:
            return talk.Reply(loop(messages, model, execute, hook and hook.call))

        return turn


ADAPTER = Adapter()
