"""One run of a conversation, as an adapter sees it: turns, scripted answers, outcomes of tools, records.

Beside it is what adapters share in translating a conversation into messages of a framework.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from agentcore.live.adapter import Recorder
from agentcore.live.conversations import Conversation, fresh, tools

__all__ = [
    "SCHEMA",
    "Dialect",
    "Memory",
    "Part",
    "Reply",
    "Session",
    "attributes",
    "calls_in",
    "data_url",
    "decided",
    "ended",
    "failure",
    "fresh",
    "mapped",
    "output_of",
    "plain",
    "returned",
    "text_in",
    "text_of",
    "translated",
]

Part: TypeAlias = Mapping[str, Any]
"""A part of a message: a text, a file, a reasoning, or a call with its outcome."""

_DONE: Final = ({"type": "text", "text": "done"},)
SCHEMA: Final = {"type": "object", "properties": {}}
"""The JSON schema of a tool that takes any arguments."""


@dataclass
class Reply:
    """What a framework returned for a turn.

    Attributes:
        messages: the conversation after the turn, which the caller passes on with the next one.
        result: what the framework returned, as far as it is compared; the messages if it is None.
        asked: the ids of the calls that wait for a person's approval, in order.
        resume: continues the turn with the person's decision on each of them: None if it is approved, else
            the reason why not.
    """

    messages: Sequence[Any]
    result: Any = None
    asked: Sequence[str] = ()
    resume: Callable[[Mapping[str, str | None]], Any] | None = None


class Dialect(Protocol):
    """How a framework writes the messages of a caller; an adapter has these methods."""

    def user(self, parts: Sequence[Part]) -> Any:
        """Returns a message of the user, or a list of messages."""
        ...

    def answer(self, parts: Sequence[Part]) -> Any:
        """Returns an answer of the model, likewise."""
        ...

    def results(self, calls: Sequence[Part]) -> Any:
        """Returns the results of an answer's calls, likewise."""
        ...

    def passed(self, messages: list[Any]) -> Any:
        """Returns what the caller passes to the framework for a turn."""
        ...


class Session:
    """One run of a conversation.

    Attributes:
        instructions: the system prompt; None if there is none.
        tools: the names of the tools that are called.
        calls: the ids of all calls.
        gated: whether a call of them needs a person's approval.
        turn: the number of the turn.
    """

    def __init__(self, conversation: Conversation, recorder: Recorder) -> None:
        self.instructions: str | None = conversation.get("instructions")
        self._turns = conversation["turns"]
        self._calls = tools(conversation)
        self.tools = sorted({call["tool"] for call in self._calls.values()})
        self.calls = tuple(self._calls)
        self.gated = any(map(self.needs_approval, self._calls))
        self.turn = 0
        self._script: Sequence[Mapping[str, Any]] = ()
        self._recorder = recorder
        self._passed: list[Any] = []
        recorder.holder("caller", self._passed)

    def turns(self) -> Iterator[Sequence[Mapping[str, Any]]]:
        """Begins each turn, and yields the messages that the caller adds; the last is the request."""
        for number, turn in enumerate(self._turns):
            self.turn = number
            self._recorder.begin_turn(number)
            self._script = turn["answers"]
            yield turn["messages"]

    def answer(self, prompt: Any) -> Sequence[Part]:
        """Records a prompt as the model receives it, and returns the parts of its answer."""
        step = self._recorder.prompt(prompt)
        return self._script[step]["parts"] if step < len(self._script) else _DONE

    async def converse(self, dialect: Dialect, turn: Callable[[Any], Any]) -> None:
        """Runs all turns, and answers each request for an approval as the conversation says.

        Args:
            dialect: translates the messages that the caller adds.
            turn: runs one turn with what `dialect.passed` returned; returns a Reply, awaited or not.
        """
        messages: list[Any] = []
        for added in self.turns():
            new = translated(added, dialect.user, dialect.answer, dialect.results)
            reply = await ended(turn(self.passes(dialect.passed([*messages, *new]))))
            decided = set[str]()
            # A framework that asks for the same calls again would do so for ever.
            while reply.resume is not None and not decided.issuperset(reply.asked):
                decided.update(reply.asked)
                decisions = {number: self.denial(number) for number in reply.asked}
                reply = await ended(reply.resume(decisions))
            await self._recorder.settle()
            messages = [*reply.messages]
            self.result(messages if reply.result is None else reply.result)

    def needs_approval(self, number: str) -> bool:
        """Returns whether the call with this id needs a person's approval."""
        return bool(self._calls.get(number, {}).get("approval"))

    def denial(self, number: str) -> str | None:
        """Returns why a person denies the call with this id; None if they approve it."""
        said: str | None = self._calls.get(number, {}).get("denied")
        return said

    def call(self, number: str) -> Part:
        """Returns the part of a call with this id, its outcome included."""
        return self._calls[number]

    def outcome(self, number: str, error: Callable[[str], BaseException]) -> Any:
        """Returns the output of a call, or raises the error that `error` makes of why it fails."""
        call = self._calls[number]
        if (failed := failure(call)) is not None:
            raise error(failed)
        return fresh(call["output"])

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


def decided(decisions: Mapping[str, str | None], yes: Any, no: Callable[[str], Any]) -> dict[str, Any]:
    """Returns a framework's form of each decision: `yes`, or what `no` makes of the reason why not."""
    return {number: yes if reason is None else no(reason) for number, reason in decisions.items()}


def mapped(parts: Sequence[Part], **make: Callable[[Part], Any]) -> list[Any]:
    """Returns what the function for its type makes of each part; parts of other types are left out."""
    return [make[part["type"]](part) for part in parts if part["type"] in make]


def plain(parts: Sequence[Part]) -> str | None:
    """Returns the text of a message that is one text, of about every second such message; else None.

    Most frameworks take a text or a list of parts, and a hook may look at one of them only. Texts of odd
    length stay parts: the published contracts were measured with such.
    """
    text = parts[0].get("text", "") if len(parts) == 1 else ""
    return text if len(text) % 2 == 0 else None


async def ended(running: Any) -> Any:
    """Returns what a framework's run comes to: of a stream, the last that it yields; None if that is nothing.

    Args:
        running: a value, an awaitable, or a stream, sync or async.
    """
    if inspect.isawaitable(running):
        return await running
    found = None
    if isinstance(running, AsyncIterable):
        async for each in running:
            found = each
        return found
    if not isinstance(running, Iterator):
        return running
    for each in running:
        found = each
    return found


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


def data_url(part: Part) -> str:
    """Returns the data of a file as an address."""
    return f"data:{part['mediaType']};base64,{part['data']}"


def returned(call: Part, failed: str) -> Any:
    """Returns what a tool returns that never raises: its output, or `failed` and the error."""
    error = failure(call)
    return output_of(call) if error is None else f"{failed}{error}"


def attributes(value: Any, *but: str) -> list[Any]:
    """Returns what the attributes of an object hold, but for some; nothing of None."""
    return [] if value is None else [each for name, each in vars(value).items() if name not in but]


class Memory(list[Any]):
    """A session as people write it: a list of the items themselves, with async methods."""

    session_id = "checked"
    session_settings = None

    def passed(self, items: list[Any]) -> list[Any]:
        """Adds what came before, and returns the request, which the framework adds itself."""
        self += items[:-1]
        return items[-1:]

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
