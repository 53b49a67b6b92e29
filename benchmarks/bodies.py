"""The body of a request from a run's prompt: of bytes that are kept per message, and of nothing kept."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final

from agentcore.messages import Message
from agentcore.values import dump_json
from agentcore.wire import message_to_wire
from benchmarks.asking import NoValueError
from benchmarks.cells import Cell
from benchmarks.peers.own import last_prompt

_BEGIN: Final = b'{"messages":['
_END: Final = b"]}"


class Bodies:
    """Makes bodies, and keeps the bytes of each message: by identity, since no message changes."""

    def __init__(self) -> None:
        # With the message, or its number could become another's.
        self._kept: dict[int, tuple[Message, bytes]] = {}

    def body(self, prompt: Sequence[Message]) -> bytes:
        """The body for the prompt."""
        return joined(self.pieces(prompt))

    def pieces(self, prompt: Sequence[Message]) -> list[bytes]:
        """The bytes of each message, made for those that are new."""
        kept = self._kept
        try:
            return [kept[id(message)][1] for message in prompt]
        except KeyError:
            for message in prompt:
                if id(message) not in kept:
                    kept[id(message)] = (message, dump_json(message_to_wire(message)).encode("ascii"))
            return [kept[id(message)][1] for message in prompt]


def joined(pieces: Sequence[bytes]) -> bytes:
    """The body of these messages."""
    return b"".join((_BEGIN, b",".join(pieces), _END))


def whole(prompt: Sequence[Message]) -> bytes:
    """The body of nothing kept but the messages' wire forms."""
    return dump_json({"messages": [message_to_wire(message) for message in prompt]}).encode("ascii")


class BodyClock:
    """How many seconds so many bodies take."""

    def __init__(self, cell: Cell) -> None:
        self._make = _maker(cell.case, last_prompt(cell.history, cell.steps))

    def __call__(self, loops: int) -> float:
        """The seconds."""
        make = self._make
        gc.collect()
        begun = perf_counter()
        for _ in range(loops):
            make()
        return perf_counter() - begun


def _maker(case: str, prompt: Sequence[Message]) -> Callable[[], bytes]:
    bodies = Bodies()
    if len(json.loads(bodies.body(prompt))["messages"]) != len(prompt) or bodies.body(prompt) != whole(
        prompt
    ):
        raise NoValueError("the bodies differ")
    match case:
        case "body":
            return lambda: bodies.body(prompt)
        case "body, joined":
            pieces = bodies.pieces(prompt)
            return lambda: joined(pieces)
        case _:
            return lambda: whole(prompt)
