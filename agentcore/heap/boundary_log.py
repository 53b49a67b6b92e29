"""What each boundary of a run handed out, and which names are names of one object at that moment.

Every argument that a hook, a tool or a model is given passes `Desk.hand`. A `Watch` on a run that has not
begun keeps each of them with the heap as it was, and of each write the moment at which it was made. Names are
looked up afterwards, moment by moment.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import attrs

from agentcore.heap.heap import DepthError, Value
from agentcore.heap.names import Alias, Names, aliases
from agentcore.heap.pollution import Watched, written_path
from agentcore.heap.reach import Reach
from agentcore.heap.snapshots import Snapshot
from agentcore.heap.views import Key, Write
from agentcore.messages.brief import brief

__all__ = ["Alias", "HandOut", "Watch", "aliases"]


@attrs.frozen(kw_only=True)
class HandOut:
    """What passed a boundary: its name in the step (`execute`, a second time `execute (2)`), and the slot.

    `value` is plain JSON, or the DepthError of what is too deep to be shown. `writes` is how many writes the
    journal had by then. In the `snapshot` are what outlives a step, by the names for people, and all that the
    step had handed out until then, this included.
    """

    __repr__ = brief

    number: int
    boundary: str
    slot: Value
    value: Any
    writes: int
    snapshot: Snapshot

    @property
    def step(self) -> int:
        """The step it was handed out in; -1 before the first."""
        return self.snapshot.step


class Watch:
    """Looks on while a loop runs, which has not begun: `handed` in order."""

    def __init__(self, run: Watched) -> None:
        self.run = run
        self.handed: list[HandOut] = []
        self._writes: list[tuple[Write, Snapshot]] = []
        # What the step has handed out, by boundary, and how often by name.
        self._step = -1
        self._given: dict[str, Value] = {}
        self._times: dict[str, int] = {}
        run.store.watching = True
        run.desk.on_hand = self._hand
        run.desk.on_write = self._write

    def _hand(self, handle: tuple[Key, ...], slot: Value) -> None:
        self._begin_step()
        name = written_path(str(handle[0]), handle[1:], None)
        times = self._times[name] = self._times.get(name, 0) + 1
        boundary = name if times == 1 else f"{name} ({times})"
        self._given[boundary] = slot
        self.handed.append(
            HandOut(
                number=len(self.handed),
                boundary=boundary,
                slot=slot,
                value=self._plain(slot),
                writes=len(self.run.desk.journal),
                snapshot=self._now(boundary),
            )
        )

    def _begin_step(self) -> None:
        if self.run.desk.step != self._step:
            self._step = self.run.desk.step
            self._given, self._times = {}, {}

    def _plain(self, slot: Value) -> Any:
        # While the store still has what it printed before: most of it is what it was.
        try:
            return self.run.store.plain(slot)
        except DepthError as error:
            return error

    def _now(self, moment: str) -> Snapshot:
        named = {self.run.holders[name]: slot for name, slot in self.run.held().items()}
        return Snapshot(
            moment=moment,
            step=self.run.desk.step,
            holders={**named, **self._given},
            heap=self.run.store.heap(),
        )

    def _write(self, write: Write) -> None:
        self._begin_step()
        self._writes.append((write, self._now("write")))

    # ---------------------------------------------------------------- looked up afterwards

    @cached_property
    def objects(self) -> tuple[tuple[str, ...], ...]:
        """For each write, the names that the written object had then."""
        marks: dict[int, int] = {}
        for write, _ in self._writes:
            marks[write.address] = marks.get(write.address, 0) | (1 << write.number)
        reach = Reach(marks)
        return tuple(_names_of(write, now, reach) for write, now in self._writes)

    @cached_property
    def aliases(self) -> tuple[tuple[Alias, ...], ...]:
        """For each that was handed out, the objects in it that others hold as well."""
        return tuple(own for own, _ in self._named)

    def aliases_after(self, number: int) -> tuple[Alias, ...]:
        """The objects with several names when that was handed out, which was the last of its step."""
        return self._named[number][1]

    @cached_property
    def _named(self) -> tuple[tuple[tuple[Alias, ...], tuple[Alias, ...]], ...]:
        lasting = [*self.run.holders.values()]
        names = Names(lasting)
        last = {one.step: one.number for one in self.handed}
        return tuple(
            (names.at(one.snapshot, one.boundary), names.aliases() if last[one.step] == one.number else ())
            for one in self.handed
        )


def _names_of(write: Write, now: Snapshot, reach: Reach) -> tuple[str, ...]:
    reach.move_to(now.heap)
    paths = ((name, reach.path(slot, 1 << write.number)) for name, slot in now.holders.items())
    return tuple(written_path(name, keys, None) for name, keys in paths if keys is not None)
