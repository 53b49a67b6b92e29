"""Random conversations of a seed, in the form of `schemas/conversation.schema.json`, and smaller ones.

Runs under the interpreter of whoever's hook is checked, so it needs nothing but the standard library.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, Final, TypeAlias

__all__ = [
    "FORMAT",
    "PIXEL",
    "Conversation",
    "continued",
    "conversation",
    "fresh",
    "request_words",
    "smaller",
    "tools",
]

Conversation: TypeAlias = dict[str, Any]

FORMAT: Final = 1
_WORDS: Final = (
    *(
        "weather",
        "invoice",
        "Oslo",
        "please",
        "compare",
        "the",
        "old",
        "and",
        "new",
        "report",
        "for",
        "Monday",
    ),
    *("delete", "draft", "total", "of", "three", "orders", "with", "discount", "summary", "next", "train"),
)
# What hooks that redact look for.
_SENSITIVE: Final = (
    *("write to ann@example.com", "call +1 555 010 9999", "the api_key is sk-live-4242"),
    *("password: hunter2", "card 4111 1111 1111 1111", "secret token abc123", "ssn 078-05-1120"),
)
_TOOLS: Final = ("search", "read_file", "weather")
PIXEL: Final = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(24)).decode()


def conversation(seed: int, texts: Sequence[str] = ()) -> Conversation:
    """Makes the random conversation of a seed.

    Args:
        seed: what the conversation follows from.
        texts: what some of its texts begin with, for hooks that look for something.
    """
    return _Maker(Random(seed), tuple(texts)).conversation(f"seed {seed}")  # noqa: S311 - no secrets


def continued(base: Conversation, seed: int, texts: Sequence[str] = ()) -> Conversation:
    """Returns a recorded conversation with a random turn after it, and some without its first messages.

    Args:
        base: the recorded conversation.
        seed: what is random follows from it.
        texts: as in `conversation`.
    """
    random = Random(seed)  # noqa: S311 - no secrets
    first, *others = base["turns"]
    start = random.randrange(len(first["messages"])) if random.random() < 0.3 else 0
    first = {**first, "messages": first["messages"][start:]}
    turn = _Maker(random, tuple(texts), calls=1000).turn(0)
    return {**base, "name": f"{base['name']}, seed {seed}", "turns": [first, *others, turn]}


class _Maker:
    def __init__(self, random: Random, texts: tuple[str, ...], calls: int = 0) -> None:
        self._random = random
        self._texts = texts
        self._calls = calls

    def conversation(self, name: str) -> Conversation:
        random = self._random
        made: Conversation = {"format": FORMAT, "name": name}
        if random.random() < 0.6:
            made["instructions"] = self._text(4)
        long = random.random() < 0.06
        turns = random.choices((1, 2, 3), (6, 3, 1))[0]
        made["turns"] = [self.turn(random.randint(8, 20) if long else random.choice((0, 0, 1, 2)))]
        made["turns"] += [self.turn(0) for _ in range(turns - 1)]
        return made

    def turn(self, exchanges: int) -> dict[str, Any]:
        messages: list[Any] = []
        for _ in range(exchanges):
            messages += [self._user(), *({"role": "assistant", **self._answer(0.5)},)]
        if self._random.random() < 0.2:  # some people write twice before they are answered
            messages.append({"role": "user", "parts": [{"type": "text", "text": self._text(3)}]})
        messages.append(self._user())
        calling = self._random.choices((0, 1, 2, 4), (2, 4, 3, 1))[0]
        answers = [self._answer(1.0) for _ in range(calling)]
        return {"messages": messages, "answers": [*answers, self._answer(0.0)]}

    def _user(self) -> dict[str, Any]:
        parts: list[Any] = [{"type": "text", "text": self._text(5, marked=True)}]
        if self._random.random() < 0.12:
            parts.append({"type": "file", "mediaType": "image/png", "data": PIXEL})
        if self._random.random() < 0.15:
            parts.append({"type": "text", "text": self._text(3)})
        return {"role": "user", "parts": parts}

    def _answer(self, calling: float) -> dict[str, Any]:
        random = self._random
        parts: list[Any] = []
        if random.random() < calling:
            if random.random() < 0.4:
                parts.append({"type": "text", "text": self._text(3)})
            parts += [self._call() for _ in range(random.choices((1, 2, 3), (6, 3, 1))[0])]
        else:
            if random.random() < 0.1:
                parts.append({"type": "reasoning", "text": self._text(3)})
            parts.append({"type": "text", "text": self._text(4)})
        return {"parts": parts}

    def _call(self) -> dict[str, Any]:
        random = self._random
        self._calls += 1
        made: dict[str, Any] = {"type": "call", "id": f"call_{self._calls}", "tool": random.choice(_TOOLS)}
        made["input"] = {
            "query": self._text(2),
            **({"limit": random.randint(1, 9)} if random.random() < 0.3 else {}),
        }
        outcome = random.random()
        if outcome < 0.08:
            made["error"] = self._text(3)
        elif outcome < 0.12:
            made.update(denied=self._text(2), approval=True)
        else:
            made["output"] = self._output(2)
            if outcome > 0.95:
                made["approval"] = True
        return made

    def _output(self, depth: int) -> Any:
        kind = self._random.random()
        if kind < 0.07:
            return " ".join([self._text(6)] * self._random.choice((50, 200)))
        if kind < 0.45 or not depth:
            return self._text(6)
        if kind < 0.55:
            return self._random.choice((0, 7, 1.5, True, None))
        if kind < 0.75:
            return [self._output(depth - 1) for _ in range(self._random.randint(1, 3))]
        return {
            name: self._output(depth - 1)
            for name in ("title", "rows", "status")[: self._random.randint(1, 3)]
        }

    def _text(self, words: int, *, marked: bool = False) -> str:
        random = self._random
        made = [random.choice(_WORDS) for _ in range(random.randint(1, words))]
        if marked:
            made += [f"{random.choice(_WORDS)}{random.randint(1000, 9999)}" for _ in range(3)]
        if random.random() < 0.12:
            made.append(random.choice(_SENSITIVE))
        if self._texts and random.random() < 0.5:
            made.insert(0, random.choice(self._texts))
        return " ".join(made)


# ---------------------------------------------------------------- what adapters and the judge ask


def tools(of: Conversation) -> dict[str, dict[str, Any]]:
    """Returns the calls of the scripted answers by their ids; adapters make one tool of each name."""
    return {
        part["id"]: part
        for turn in of["turns"]
        for answer in turn["answers"]
        for part in answer["parts"]
        if part["type"] == "call"
    }


def fresh(output: Any) -> Any:
    """Returns a copy of a tool's output: each call of a tool makes its own."""
    if isinstance(output, dict):
        return {key: fresh(value) for key, value in output.items()}
    return [fresh(value) for value in output] if isinstance(output, list) else output


def request_words(turn: dict[str, Any]) -> frozenset[str]:
    """Returns the words of a turn's request that are long enough to know it by."""
    texts = (part.get("text", "") for part in turn["messages"][-1]["parts"])
    return frozenset(word for text in texts for word in text.split() if len(word) > 3)


# ---------------------------------------------------------------- smaller ones


def smaller(of: Conversation, shows: Callable[[Conversation], bool], most: int = 150) -> Conversation:
    """Returns the smallest conversation found that still shows something; tries at most `most` others."""
    tried = 0
    found = True
    while found:
        found = False
        for candidate in _cuts(of):
            if tried >= most:
                return of
            tried += 1
            if shows(candidate):
                of, found = candidate, True
                break
    return of


def _cuts(of: Conversation) -> Iterator[Conversation]:
    """Yields conversations with one thing less, those with much less first."""
    turns = of["turns"]
    if "instructions" in of:
        yield {key: value for key, value in of.items() if key != "instructions"}
    for turn in turns if len(turns) > 1 else ():
        yield {**of, "turns": [turn]}
    for index in range(len(turns)):
        if len(turns) > 2:
            yield {**of, "turns": [*turns[:index], *turns[index + 1 :]]}
    for index, turn in enumerate(turns):
        for cut in _turn_cuts(turn):
            yield {**of, "turns": [*turns[:index], cut, *turns[index + 1 :]]}


def _turn_cuts(turn: dict[str, Any]) -> Iterator[dict[str, Any]]:
    messages, answers = turn["messages"], turn["answers"]
    if len(messages) > 1:
        yield {**turn, "messages": messages[-1:]}
    if len(answers) > 1:
        yield {**turn, "answers": answers[-1:]}
    if len(messages) > 2:
        yield {**turn, "messages": messages[len(messages) // 2 :]}
    for index in range(len(messages) - 1):
        yield {**turn, "messages": [*messages[:index], *messages[index + 1 :]]}
    for index in range(len(answers) - 1):
        yield {**turn, "answers": [*answers[:index], *answers[index + 1 :]]}
    for name in ("messages", "answers"):
        for index, each in enumerate(turn[name]):
            for parts in _part_cuts(each["parts"]):
                cut = {**each, "parts": parts}
                yield {**turn, name: [*turn[name][:index], cut, *turn[name][index + 1 :]]}


def _part_cuts(parts: list[Any]) -> Iterator[list[Any]]:
    for index, part in enumerate(parts):
        if len(parts) > 1:
            yield [*parts[:index], *parts[index + 1 :]]
        for cut in _value_cuts(part):
            yield [*parts[:index], cut, *parts[index + 1 :]]


def _value_cuts(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in ("text", "error", "denied", "output"):
        value = part.get(name)
        if isinstance(value, str) and len(words := value.split()) > 1:
            yield {**part, name: words[0]}
            yield {**part, name: " ".join(words[: len(words) // 2])}
        elif isinstance(value, list | dict):
            held = [*(value.values() if isinstance(value, dict) else value)]
            yield {**part, name: "x"}
            yield from ({**part, name: each} for each in held)
    if part.get("approval") and "denied" not in part:
        yield {key: value for key, value in part.items() if key != "approval"}
    if len(part.get("input", ())) > 0:
        yield {**part, "input": {}}
