"""The body of a request from a run's prompt: of bytes that are kept per message, and of nothing kept."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final

from agentcore.messages.messages import Message
from agentcore.messages.values import dump_json
from agentcore.messages.wire import message_to_wire, messages_to_json
from benchmarks.asking import NoValueError
from benchmarks.cells import Cell
from benchmarks.peers.own import last_prompt

_BEGIN: Final = b'{"messages":'
_END: Final = b"}"


def body(prompt: Sequence[Message]) -> bytes:
    """The body for the prompt, of the bytes that are kept with its messages."""
    return b"".join((_BEGIN, messages_to_json(prompt), _END))


def pieces(prompt: Sequence[Message]) -> list[bytes]:
    """The bytes of each message; those of all are these, joined by commas."""
    return [messages_to_json((message,))[1:-1] for message in prompt]


def joined(parts: Sequence[bytes]) -> bytes:
    """The body of messages of which the bytes are at hand, the brackets of the list among them."""
    return b"".join((_BEGIN, b",".join(parts), _END))


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
    first, *others = pieces(prompt)
    parts = [b"[" + first, *others]
    parts[-1] += b"]"
    if not body(prompt) == joined(parts) == whole(prompt) or len(parts) != len(prompt):
        raise NoValueError("the bodies differ")
    match case:
        case "body":
            return lambda: body(prompt)
        case "body, joined":
            return lambda: joined(parts)
        case _:
            return lambda: whole(prompt)
