"""What a guard costs: a block in which nothing happens, beside a deep copy of the same messages."""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any

from agentcore.guard import guard
from agentcore.messages.values import thaw
from agentcore.messages.wire import message_to_wire
from benchmarks.asking import NoValueError
from benchmarks.cells import Cell
from benchmarks.peers.own import last_prompt


class GuardClock:
    """How many seconds so many blocks, or copies, take; of the messages of the last of the cell's steps."""

    def __init__(self, cell: Cell) -> None:
        messages = [thaw(message_to_wire(message)) for message in last_prompt(cell.history, cell.steps)]
        self._messages = messages
        self._once: Callable[[Any], object] = copy.deepcopy if cell.case == "guard, deepcopy" else guarded
        if not _reports(messages):
            raise NoValueError("the guard reports nothing of a write")

    def __call__(self, loops: int) -> float:
        """The seconds."""
        once, messages = self._once, self._messages
        gc.collect()
        begun = perf_counter()
        for _ in range(loops):
            once(messages)
        return perf_counter() - begun


def guarded(messages: list[Any]) -> None:
    """A block in which nothing happens."""
    with guard(messages):
        pass


def _reports(messages: list[Any]) -> bool:
    with guard(messages) as report:
        messages[-1]["content"], kept = "x", messages[-1]["content"]
    messages[-1]["content"] = kept
    return len(report.changes) == 1
