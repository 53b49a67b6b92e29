"""A skeleton of an adapter for live checks: a loop of your own, or a framework that is not known yet.

Copy it, fill in the five places marked 1 to 5, run the suite of `agentcore.live.compliance` over it, and
check hooks with `agentcore check-hook hooks.py#my_hook --in my_loop:ADAPTER --at before_model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentcore.live.adapter import Attached, Boundary, Entry, Recorder
from agentcore.live.conversations import Conversation, fresh, tools

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


def _translated(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "user":
            made.append({"role": "user", "content": [dict(part) for part in message["parts"]]})
            continue
        made.append(_answer(message))
        made += [
            {"role": "tool", "id": part["id"], "content": _outcome(part)}
            for part in message["parts"]
            if part["type"] == "call"
        ]
    return made


def _answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    texts = [part["text"] for part in answer["parts"] if part["type"] == "text"]
    calls = [
        {"id": part["id"], "tool": part["tool"], "input": fresh(part["input"])}
        for part in answer["parts"]
        if part["type"] == "call"
    ]
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text} for text in texts],
        "calls": calls,
    }


def _outcome(call: Mapping[str, Any]) -> Any:
    failed = call.get("error", call.get("denied"))
    return f"error: {failed}" if failed is not None else fresh(call["output"])


class Adapter:
    """What a live check asks of a loop."""

    name = "my_loop"
    package = ""  # the distribution whose version is reported
    paths: Sequence[str] = ("generate",)
    drop: Sequence[str] = ()  # attributes that differ from run to run

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

    def bases(self) -> Sequence[type]:
        """Returns base classes of hooks, whose own methods do nothing."""
        return ()

    def control(self) -> Sequence[type[BaseException]]:
        """Returns the exceptions by which a hook steers the loop."""
        return ()

    def run(
        self, conversation: Conversation, hook: Attached | None, at: str, path: str, recorder: Recorder
    ) -> None:
        """Runs all turns, with the scripted model and the hook."""
        del at, path  # there is one of each
        script: list[Mapping[str, Any]] = []
        calls = tools(conversation)

        # 4. The scripted model records each prompt, and answers by its step.
        def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
            step = recorder.prompt(messages)
            done: Mapping[str, Any] = {"parts": [{"type": "text", "text": "done"}]}
            return _answer(script[step] if step < len(script) else done)

        messages: list[dict[str, Any]] = []
        passed: list[Any] = []
        recorder.holder("caller", passed)
        for number, turn in enumerate(conversation["turns"]):
            recorder.begin_turn(number)
            script[:] = turn["answers"]
            messages = [*messages, *_translated(turn["messages"])]
            passed.append(messages)
            # 5. Call the loop with the hook attached; without a hook it has to run as well.
            messages = loop(messages, model, lambda call: _outcome(calls[call["id"]]), hook and hook.call)
            recorder.result(messages)


ADAPTER = Adapter()
