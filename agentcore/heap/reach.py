"""What can be reached from where in heaps that follow each other, for marks on some of their cells.

A run has thousands of moments at which it is asked which of its writes a holder shows. A walk over all that a
holder reaches takes the whole history at each moment, so that a report takes the cube of a run's steps. Here
each cell keeps which marks are below it until a cell below it changes, and a moment costs what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from agentcore.heap.heap import Cell, Heap, ObjectCell, Ref, Value, keyed
from agentcore.messages.values import Vector, vector
from agentcore.messages.vectors import changed_places

__all__ = ["Reach", "ones"]


def ones(mask: int) -> Iterable[int]:
    """The numbers of the bits that are set, the lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class Reach:
    """Which marks are reached from a cell, in the heap that it was moved to last.

    `marks` are integers by address, one bit for each mark; marks of cells that a heap does not have yet count
    for nothing.
    """

    def __init__(self, marks: Mapping[int, int]) -> None:
        self._marks: Final = marks
        self._heap: Vector[Cell] = vector()
        self._cells: list[Cell] = []
        # The marks at and below a cell; and the cells whose own follow from it.
        self._below: dict[int, int] = {}
        self._above: dict[int, set[int]] = {}

    def move_to(self, heap: Heap) -> None:
        """Go on with another heap of the same run, a later or an earlier one."""
        for address in changed_places(self._heap, heap.cells):
            self._cells[address] = heap.cells[address]
            self._forget(address)
        known, size = len(self._cells), len(heap.cells)
        for address in range(size, known):
            self._forget(address)
        del self._cells[size:]
        self._cells += [heap.cells[address] for address in range(known, size)]
        self._heap = heap.cells

    def _forget(self, address: int) -> None:
        stale = [address]
        for one in stale:
            if self._below.pop(one, None) is not None:
                stale += self._above.pop(one, ())

    def of(self, root: Value) -> int:
        """The marks of all cells that the root reaches, its own included."""
        if not isinstance(root, Ref):
            return 0
        known = self._below.get(root.address)
        return self._summed(root.address) if known is None else known

    def _summed(self, root: int) -> int:
        below = self._below
        opened: set[int] = set()
        pending = [root]
        while pending:
            address = pending[-1]
            if address in below:
                pending.pop()
                continue
            children = self._children(address)
            unknown = [child for child in children if child not in below]
            if unknown and (address in opened or not opened.isdisjoint(unknown)):
                return self._walked(root)
            opened.add(address)
            pending += unknown
            if not unknown:
                self._close(address, children)
                opened.discard(pending.pop())
        return below[root]

    def _close(self, address: int, children: list[int]) -> None:
        total = self._marks.get(address, 0)
        for child in children:
            total |= self._below[child]
            self._above.setdefault(child, set()).add(address)
        self._below[address] = total

    def _walked(self, root: int) -> int:
        """The same where a cell is inside of itself, so that its marks do not follow from those below it."""
        seen = {root}
        pending = [root]
        total = 0
        for address in pending:
            total |= self._marks.get(address, 0)
            new = [child for child in self._children(address) if child not in seen]
            seen.update(new)
            pending += new
        return total

    def _children(self, address: int) -> list[int]:
        cell = self._cells[address]
        slots = cell.values() if isinstance(cell, ObjectCell) else cell
        return [slot.address for slot in slots if type(slot) is Ref]

    def path(self, root: Value, mark: int) -> tuple[str | int, ...] | None:
        """The shortest path to a cell of that mark, of several to the lowest address; None if there is none.

        To a cell, the path that comes first in breadth-first order.
        """
        level: dict[int, tuple[str | int, ...]] = {root.address: ()} if self.of(root) & mark else {}  # type: ignore[union-attr]
        seen: set[int] = set()
        while level:
            found = [address for address in level if self._marks.get(address, 0) & mark]
            if found:
                return level[min(found)]
            seen.update(level)
            below: dict[int, tuple[str | int, ...]] = {}
            for address, keys in level.items():
                for key, slot in keyed(self._cells[address]):
                    if type(slot) is Ref and slot.address not in seen and self.of(slot) & mark:
                        below.setdefault(slot.address, (*keys, key))
            level = below
        return None
