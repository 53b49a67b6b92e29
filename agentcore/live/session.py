"""One run of a conversation, as an adapter sees it: turns, scripted answers, outcomes of tools, records.

Beside it is what adapters share in translating a conversation into messages of a framework.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from agentcore.live.adapter import Recorder
from agentcore.live.conversations import Conversation, fresh, tools

__all__ = [
    "Memory",
    "Part",
    "Session",
    "attributes",
    "calls_in",
    "failure",
    "output_of",
    "text_in",
    "text_of",
    "translated",
]

Part: TypeAlias = Mapping[str, Any]
"""A part of a message: a text, a file, a reasoning, or a call with its outcome."""

_DONE: Final = ({"type": "text", "text": "done"},)


class Session:
    """One run of a conversation.

    Attributes:
        instructions: the system prompt; None if there is none.
        tools: the names of the tools that are called.
    """

    def __init__(self, conversation: Conversation, recorder: Recorder) -> None:
        self.instructions: str | None = conversation.get("instructions")
        self._turns = conversation["turns"]
        self._calls = tools(conversation)
        self.tools = sorted({call["tool"] for call in self._calls.values()})
        self._script: Sequence[Mapping[str, Any]] = ()
        self._recorder = recorder
        self._passed: list[Any] = []
        recorder.holder("caller", self._passed)

    def turns(self) -> Iterator[Sequence[Mapping[str, Any]]]:
        """Begins each turn, and yields the messages that the caller adds; the last is the request."""
        for number, turn in enumerate(self._turns):
            self._recorder.begin_turn(number)
            self._script = turn["answers"]
            yield turn["messages"]

    def answer(self, prompt: Any) -> Sequence[Part]:
        """Records a prompt as the model receives it, and returns the parts of its answer."""
        step = self._recorder.prompt(prompt)
        return self._script[step]["parts"] if step < len(self._script) else _DONE

    def call(self, number: str) -> Part:
        """Returns the part of a call with this id, its outcome included."""
        return self._calls[number]

    def passes(self, value: Any) -> Any:
        """Says that the caller passes an object to the framework, and returns it."""
        self._passed.append(value)
        return value

    def result(self, value: Any) -> None:
        """Records what the framework returned for the turn."""
        self._recorder.result(value)

    def holder(self, name: str, value: Any) -> None:
        """Names an object that is shown at the end of the run, such as the `store`."""
        self._recorder.holder(name, value)


def translated(
    messages: Sequence[Mapping[str, Any]],
    user: Callable[[Sequence[Part]], Any],
    answer: Callable[[Sequence[Part]], Any],
    results: Callable[[Sequence[Part]], Any],
) -> list[Any]:
    """Returns the caller's messages as those of a framework.

    Args:
        messages: the neutral messages.
        user: makes of a user's parts the message, or a list of messages.
        answer: the same of an answer's parts.
        results: the same of the calls of an answer that has some.
    """

    def add(new: Any) -> None:
        made.extend(new if isinstance(new, list) else [new])

    made: list[Any] = []
    for message in messages:
        parts = message["parts"]
        if message["role"] == "user":
            add(user(parts))
            continue
        add(answer(parts))
        if calls := calls_in(parts):
            add(results(calls))
    return made


def calls_in(parts: Sequence[Part]) -> list[Part]:
    """Returns the calls among parts."""
    return [part for part in parts if part["type"] == "call"]


def text_in(parts: Sequence[Part]) -> str:
    """Returns the texts among parts as one."""
    return " ".join(part["text"] for part in parts if part["type"] == "text")


def failure(call: Part) -> str | None:
    """Returns the error of a call, or why it was denied; None if it succeeded."""
    said: str | None = call.get("error", call.get("denied"))
    return said


def text_of(value: Any) -> str:
    """Returns an output as text."""
    return value if isinstance(value, str) else json.dumps(value)


def output_of(call: Part) -> Any:
    """Returns a fresh output; a list is one of texts, as parts that frameworks hand on as they are."""
    output = fresh(call.get("output"))
    return (
        [{"type": "text", "text": text_of(each)} for each in output] if isinstance(output, list) else output
    )


def attributes(value: Any, *but: str) -> list[Any]:
    """Returns what the attributes of an object hold, but for some; nothing of None."""
    return [] if value is None else [each for name, each in vars(value).items() if name not in but]


class Memory(list[Any]):
    """A session as people write it: a list of the items themselves, with async methods."""

    session_id = "checked"
    session_settings = None

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Returns the last items, or all."""
        return self[-limit:] if limit else [*self]

    async def add_items(self, items: list[Any]) -> None:
        """Adds items."""
        self += items

    async def pop_item(self) -> Any:
        """Takes the last item away."""
        return self.pop() if self else None

    async def clear_session(self) -> None:
        """Takes all items away."""
        self.clear()
