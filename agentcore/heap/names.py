"""Which objects have several names, at one moment of a run or at many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

import attrs

from agentcore.heap.heap import Cell, Heap, Ref, Value, keyed
from agentcore.heap.pollution import written_path
from agentcore.heap.snapshots import Snapshot
from agentcore.heap.views import Key
from agentcore.messages.brief import Trail, brief, keys_of
from agentcore.messages.values import Vector, vector
from agentcore.messages.vectors import changed_places

__all__ = ["Alias", "Names", "aliases"]

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
        """Who can reach the object under one of its names."""
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
