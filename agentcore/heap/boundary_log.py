"""The log of boundaries: what each handed out, and which names stood for one object at that moment.

Every argument that a hook, a tool or a model is given passes `Desk.hand`. A `Watch` on a run that has not
begun keeps each of them with the heap as it was, and of each write the moment at which it was made. Names are
looked up afterwards, moment by moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

import attrs

from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import Cell, DepthError, Heap, Ref, Value, keyed
from agentcore.heap.pollution import Reach, Watched, written_path
from agentcore.heap.views import Key, Write
from agentcore.messages.brief import Trail, brief, keys_of
from agentcore.messages.values import Vector, vector
from agentcore.messages.vectors import changed_places

__all__ = ["Alias", "HandOut", "Names", "Watch", "aliases"]


@attrs.frozen(kw_only=True)
class HandOut:
    """A slot that passed a boundary, and its name in the step: `execute`, a second time `execute (2)`.

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
    """Looks on while a loop runs, which has not begun: `handed` in order, and the moment after each write."""

    def __init__(self, run: Watched) -> None:
        self.run = run
        self.handed: list[HandOut] = []
        self.write_moments: list[Snapshot] = []
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

    def _write(self, _: Write) -> None:
        self._begin_step()
        self.write_moments.append(self._now("write"))

    # ---------------------------------------------------------------- looked up afterwards

    @cached_property
    def objects(self) -> tuple[tuple[str, ...], ...]:
        """For each write, the names that the written object had then."""
        marks: dict[int, int] = {}
        for write in self.run.desk.journal:
            marks[write.address] = marks.get(write.address, 0) | (1 << write.number)
        reach = Reach(marks)
        pairs = zip(self.run.desk.journal, self.write_moments, strict=True)
        return tuple(_names_of(write, now, reach) for write, now in pairs)

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


# Which objects have several names, at one moment of a run or at many.

Place: TypeAlias = tuple[str, tuple[Key, ...]]
"""A holder, and the keys that lead on from it."""

_Named: TypeAlias = dict[int, list[tuple[str, Trail]]]


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
        """The holders that can reach the object under one of its names."""
        return frozenset(holder for holder, _ in self.places)


def aliases(heap: Heap, holders: Mapping[str, Value]) -> tuple[Alias, ...]:
    """The objects with several names, those left out that follow: if `a` is `b`, then `a[0]` is `b[0]`."""
    names = Names([*holders])
    names.move_to(heap, holders)
    return names.aliases()


class Names:
    """The names of all that holders reach, at moments of a run that follow each other.

    Each object is followed from its first name only. What outlives a step changes seldom, and its objects are
    most of all there are: their names are kept from moment to moment until one of them holds something else.
    """

    def __init__(self, lasting: Iterable[str]) -> None:
        self._lasting: Final = [*lasting]
        self._heap: Vector[Cell] = vector()
        self._cells: list[Cell] = []
        self._below: dict[int, tuple[Cell, list[tuple[Key, int]]]] = {}
        self._roots: dict[str, Value] = {}
        self._own: list[tuple[str, Value]] = []
        # The names of what outlives a step, in the order in which its objects were found, and which have
        # several; and what the step's own holders add: names of these, and other objects.
        self._kept: _Named = {}
        self._several: list[int] = []
        self._added: _Named = {}
        self._order: dict[int, int] = {}

    def at(self, snapshot: Snapshot, holder: str) -> tuple[Alias, ...]:
        """Go on to a moment; the objects of that holder, its last one, that others hold as well."""
        self.move_to(snapshot.heap, snapshot.holders)
        return self._aliases(
            address
            for address, places in self._added.items()
            # Names are in the order of the holders, of which this one is the last.
            if places[-1][0] == holder and (address in self._kept or places[0][0] != holder)
        )

    def aliases(self) -> tuple[Alias, ...]:
        """All objects with several names, at the moment that was gone to last."""
        added = (
            address
            for address, places in self._added.items()
            if len(places) + len(self._kept.get(address, ())) > 1
        )
        return self._aliases({*self._several, *added})

    def _aliases(self, addresses: Iterable[int]) -> tuple[Alias, ...]:
        ordered = sorted(addresses, key=self._order.__getitem__)
        named = ((*self._kept.get(address, ()), *self._added.get(address, ())) for address in ordered)
        return tuple(Alias(tuple((holder, tuple(keys_of(trail))) for holder, trail in one)) for one in named)

    def move_to(self, heap: Heap, holders: Mapping[str, Value]) -> None:
        """Go on to another moment, with its holders in their order."""
        changed = self._changed(heap)
        roots = {name: holders[name] for name in self._lasting if name in holders}
        if not self._kept or roots != self._roots or any(address in self._kept for address in changed):
            self._roots, self._kept, self._order = roots, {}, {}
            for name, root in roots.items():
                self._name(name, root, self._kept, {})
            self._several = [address for address, places in self._kept.items() if len(places) > 1]
            self._forget_added()
        own = [(name, root) for name, root in holders.items() if name not in roots]
        if own[: len(self._own)] != self._own or any(address in self._added for address in changed):
            self._forget_added()
        for name, root in own[len(self._own) :]:
            self._name(name, root, self._added, self._kept)
        self._own = own

    def _forget_added(self) -> None:
        for address in self._added:
            if address not in self._kept:
                self._order.pop(address, None)
        self._added, self._own = {}, []

    def _changed(self, heap: Heap) -> list[int]:
        """The cells that hold other objects than at the moment before."""
        places = changed_places(self._heap, heap.cells)
        before = [self._children(address) for address in places]
        for address in places:
            self._cells[address] = heap.cells[address]
        self._cells += [heap.cells[address] for address in range(len(self._cells), len(heap.cells))]
        self._heap = heap.cells
        pairs = zip(places, before, strict=True)
        return [address for address, children in pairs if self._children(address) != children]

    def _children(self, address: int) -> list[tuple[Key, int]]:
        cell = self._cells[address]
        known = self._below.get(address)
        if known is None or known[0] is not cell:
            found = [(key, slot.address) for key, slot in keyed(cell) if type(slot) is Ref]
            known = self._below[address] = (cell, found)
        return known[1]

    def _name(self, holder: str, root: Value, named: _Named, kept: _Named) -> None:
        """Name what the holder reaches, but for what follows from the names of others."""
        queue: list[tuple[int, Trail]] = [(root.address, None)] if isinstance(root, Ref) else []
        for address, trail in queue:
            places = named.get(address)
            if places is not None:
                places.append((holder, trail))
                continue
            named[address] = [(holder, trail)]
            if address not in kept:
                self._order[address] = len(self._order)
                queue += [(child, (trail, key)) for key, child in self._children(address)]
