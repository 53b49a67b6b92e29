"""A skeleton of an adapter for live checks: a loop of your own, or a framework that is not known yet.

Copy it, fill in the five places marked 1 to 5, run the suite of `agentcore.live.compliance` over it, and
check hooks with `agentcore check-hook hooks.py#my_hook --in my_loop:ADAPTER --at before_model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.live.adapter import AdapterBase, Attached, Boundary, Entry
from agentcore.live.conversations import fresh
from agentcore.live.session import Part, Session, calls_in, failure, translated

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


# 2. Translate the neutral conversation (`schemas/conversation.schema.json`) into messages of your loop.


def _user(parts: Sequence[Part]) -> dict[str, Any]:
    return {"role": "user", "content": [dict(part) for part in parts]}


def _answer(parts: Sequence[Part]) -> dict[str, Any]:
    calls = [
        {"id": each["id"], "tool": each["tool"], "input": fresh(each["input"])} for each in calls_in(parts)
    ]
    texts = [{"type": "text", "text": part["text"]} for part in parts if part["type"] == "text"]
    return {"role": "assistant", "content": texts, "calls": calls}


def _outcome(call: Part) -> Any:
    failed = failure(call)
    return f"error: {failed}" if failed is not None else fresh(call["output"])


def _results(calls: Sequence[Part]) -> list[dict[str, Any]]:
    return [{"role": "tool", "id": call["id"], "content": _outcome(call)} for call in calls]


class Adapter(AdapterBase):
    """What a live check asks of a loop."""

    name = "my_loop"  # and `package`, the distribution whose version is reported, if there is one

    # 3. Say how the loop calls a hook at each of its boundaries.
    boundaries: Mapping[str, Boundary] = {
        "before_model": Boundary(
            parameters=("messages",),
            messages_in=lambda given: given["messages"],
            messages_out=lambda returned: returned,
            again=lambda _, returned: {"messages": returned},
        )
    }

    def entries(self, messages: Any) -> Sequence[Entry]:
        """Says of each message what role it has, what it calls, and what it answers."""
        return [
            Entry(
                each["role"],
                f"{each['content']}",
                tuple(call["id"] for call in each.get("calls", ())),
                (each["id"],) if each["role"] == "tool" else (),
            )
            for each in messages
        ]

    def run(self, session: Session, hook: Attached | None, at: str, path: str) -> None:
        """Runs all turns, with the scripted model and the hook."""
        del at, path  # there is one of each

        # 4. The scripted model hands each prompt to the session, which has the answer.
        def model(prompt: list[dict[str, Any]]) -> dict[str, Any]:
            return _answer(session.answer(prompt))

        def execute(call: Mapping[str, Any]) -> Any:
            return _outcome(session.call(call["id"]))

        messages: list[dict[str, Any]] = []
        for added in session.turns():
            messages = session.passes([*messages, *translated(added, _user, _answer, _results)])
            # 5. Call the loop with the hook attached; without a hook it has to run as well.
            messages = loop(messages, model, execute, hook and hook.call)
            session.result(messages)


ADAPTER = Adapter()
