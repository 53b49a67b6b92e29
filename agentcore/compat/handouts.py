"""What each boundary of a run handed out, and which names are names of one object at that moment.

Every argument that a hook, a tool or a model is given passes `Desk.hand`. A `Watch` on a run that has not
begun keeps each of them with the heap as it was, and of each write which names the written object had.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import attrs

from agentcore.brief import brief
from agentcore.compat.heap import Heap, Ref, Value
from agentcore.compat.pollution import Watched, written_path
from agentcore.compat.snapshots import Snapshot
from agentcore.compat.views import Key, Write

__all__ = ["Alias", "HandOut", "Watch", "aliases"]

Place: TypeAlias = tuple[str, tuple[Key, ...]]
"""A holder, and the keys that lead on from it."""


@attrs.frozen
class Alias:
    """One object that has several names, in the order of the holders."""

    __repr__ = brief

    places: tuple[Place, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The names as a person reads them: `caller[0]`, `prepareStep.messages[0]`."""
        return tuple(written_path(holder, keys, None) for holder, keys in self.places)

    @property
    def holders(self) -> frozenset[str]:
        """Who can reach the object under one of its names."""
        return frozenset(holder for holder, _ in self.places)


@attrs.frozen(kw_only=True)
class HandOut:
    """What passed a boundary: its name in the step (`execute`, a second time `execute (2)`), and the slot.

    `writes` is how many writes the journal had by then. In the `snapshot` are what outlives a step, by the
    names for people, and all that the step had handed out until then, this included.
    """

    __repr__ = brief

    boundary: str
    slot: Value
    writes: int
    snapshot: Snapshot

    @property
    def step(self) -> int:
        """The step it was handed out in; -1 before the first."""
        return self.snapshot.step


class Watch:
    """Looks on while a loop runs, which has not begun: `handed` in order, and `names` by a write's number."""

    def __init__(self, run: Watched) -> None:
        self.run = run
        self.handed: list[HandOut] = []
        self.names: dict[int, tuple[str, ...]] = {}
        run.store.watching = True
        run.desk.on_hand = self._hand
        run.desk.on_write = self._write

    def _hand(self, handle: tuple[Key, ...], slot: Value) -> None:
        name = written_path(str(handle[0]), handle[1:], None)
        before = self._of_this_step()
        given = sum(one == name or one.startswith(f"{name} (") for one in before)
        boundary = f"{name} ({given + 1})" if given else name
        self.handed.append(
            HandOut(
                boundary=boundary,
                slot=slot,
                writes=len(self.run.desk.journal),
                snapshot=self._now(boundary, {**before, boundary: slot}),
            )
        )

    def _of_this_step(self) -> dict[str, Value]:
        return {one.boundary: one.slot for one in self.handed if one.step == self.run.desk.step}

    def _now(self, moment: str, handed: Mapping[str, Value]) -> Snapshot:
        named = {self.run.holders[name]: slot for name, slot in self.run.held().items()}
        return Snapshot(
            moment=moment,
            step=self.run.desk.step,
            holders={**named, **handed},
            heap=self.run.store.heap(),
        )

    def _write(self, write: Write) -> None:
        now = self._now("write", self._of_this_step())
        reached = ((name, now.heap.reached(slot)) for name, slot in now.holders.items())
        self.names[write.number] = tuple(
            written_path(name, paths[write.address], None)
            for name, paths in reached
            if write.address in paths
        )


# ---------------------------------------------------------------- which names are names of one object


def aliases(heap: Heap, holders: Mapping[str, Value]) -> tuple[Alias, ...]:
    """The objects with several names, those left out that follow: if `a` is `b`, then `a[0]` is `b[0]`."""
    named: dict[int, list[Place]] = {}
    for holder, root in holders.items():
        queue: list[tuple[Value, tuple[Key, ...]]] = [(root, ())]
        for at, keys in queue:
            if not isinstance(at, Ref):
                continue
            if at.address not in named:
                named[at.address] = []
                queue.extend((child, (*keys, key)) for key, child in heap.children(at))
            named[at.address].append((holder, keys))
    return tuple(Alias(tuple(places)) for places in named.values() if len(places) > 1)
