"""The pollution report: for every in-place write of a run, how long and how far it is seen.

Computed, never listed. A write is *carried* by the cell that was written and by every cell that the run
made of it later (a prompt's part of a message's part, a message of a step's content, a clone): rule
compat.copies-carry. It is polluting if something that outlives the step (what the caller has, the chains or
the history, the reports) reaches a carrier, or a later prompt does; ephemeral otherwise (rule
compat.polluting).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import Final, Protocol, cast

import attrs

from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import Cell, Heap, ObjectCell, Ref, Store, Value, keyed
from agentcore.heap.views import Desk, Key, Write
from agentcore.messages.brief import brief
from agentcore.messages.values import Vector, vector
from agentcore.messages.vectors import changed_places

__all__ = [
    "LATER_PROMPTS",
    "Finding",
    "Pollution",
    "Reach",
    "Verdict",
    "Watched",
    "findings",
    "ones",
    "written_path",
]

LATER_PROMPTS: Final = "later prompts"


class Watched(Protocol):
    """A run of any family, ended, whose store was watched.

    A step's snapshot of the moment `prompt` has what the model is asked with under that name; the last
    snapshot's moment is `end`. `holders` are what outlives a step, by the names that they have in snapshots,
    and for people.
    """

    @property
    def store(self) -> Store:
        """The heap."""

    @property
    def desk(self) -> Desk:
        """The journal of writes, and the writer of the moment."""

    @property
    def snapshots(self) -> Sequence[Snapshot]:
        """The moments of the run, in order."""

    @property
    def holders(self) -> Mapping[str, str]:
        """The holders that outlive a step."""

    def held(self) -> Mapping[str, Value]:
        """The value of each holder now."""


class Verdict(Enum):
    """The verdict on a write: seen in its step only, or for good."""

    EPHEMERAL = "this step"
    POLLUTING = "permanent"


@attrs.frozen(kw_only=True)
class Finding:
    """One write and what became of it.

    `reach` names what outlives the step and shows the write, such as "caller", "initial chain" and "later
    prompts". `paths` says where in each holder a carrier is, at the end of the run.
    `prompts` are the steps whose prompts show it, its own step's included. `first_seen` is the first later
    step that showed it, None if none did.
    """

    __repr__ = brief

    write: Write
    verdict: Verdict
    reach: tuple[str, ...]
    paths: Mapping[str, str]
    prompts: tuple[int, ...]
    first_seen: int | None


class Pollution:
    """The report of a run that has ended, made when it is read: most runs are read for something else.

    What it is made of is taken when the run has ended, so that a view that a hook kept may write on.

    Raises:
        ValueError: if the run was not watched (`Store.watching`).
    """

    def __init__(self, run: Watched) -> None:
        if not run.store.watching:
            raise ValueError(
                "the run was not watched: set `store.watching` before it starts, or use compat.run"
            )
        self._origins = run.store.origins
        self._journal = tuple(run.desk.journal)
        self._snapshots = tuple(run.snapshots)
        self._holders = run.holders

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """A finding for every write of the run, in the order in which they were made."""
        looks = _Looks(self._journal, self.marks, self._holders)
        # From the end back, because paths are those at the end of the run: the first path noted for a
        # holder is then the one to keep.
        for snapshot in reversed(self._snapshots):
            looks.at(snapshot)
        return tuple(map(looks.finding, self._journal))

    @cached_property
    def marks(self) -> Mapping[int, int]:
        """The writes that each cell carries, by the cell's address: bit n is write n."""
        marks: dict[int, int] = {}
        for number, cells in enumerate(self.carriers):
            for address in cells:
                marks[address] = marks.get(address, 0) | (1 << number)
        return marks

    @cached_property
    def carriers(self) -> tuple[frozenset[int], ...]:
        """For every write of the run, the addresses of the cells that carry it."""
        derived: dict[int, list[tuple[int, frozenset[str] | None]]] = defaultdict(list)
        for made, sources in self._origins.items():
            for source, fields in sources:
                derived[source].append((made, fields))
        return tuple(_carriers(write, derived) for write in self._journal)


def findings(run: Watched) -> tuple[Finding, ...]:
    """A finding for every write of a run, in the order in which they were made.

    Raises:
        ValueError: if the run was not watched (`Store.watching`).
    """
    return Pollution(run).findings


def _carriers(write: Write, derived: Mapping[int, list[tuple[int, frozenset[str] | None]]]) -> frozenset[int]:
    """The cells that hold what was written: the cell itself, and what was made of it after the write."""
    found = {write.address}
    queue = [write.address]
    for source in queue:
        for made, fields in derived.get(source, ()):
            # A cell that took over some fields only does not carry a write to another one; a change of an
            # array is in all that was made of it.
            copied = fields is None or not isinstance(write.key, str) or write.key in fields
            if made >= write.size and copied and made not in found:
                found.add(made)
                queue.append(made)
    return frozenset(found)


class _Looks:
    """The writes that each holder showed at each moment; moments are read from the last one back."""

    def __init__(
        self, journal: Sequence[Write], marks: Mapping[int, int], holders: Mapping[str, str]
    ) -> None:
        self._journal = journal
        self._holders = holders
        self._reach = Reach(marks)
        self._prompts: list[list[int]] = [[] for _ in journal]
        self._seen: list[set[int]] = [set() for _ in journal]
        # Of each write, by the holder's name for people: the path at the last moment that showed it, and the
        # number of the first one, counted from the last.
        self._paths: list[dict[str, tuple[str, int]]] = [{} for _ in journal]
        self._looked = 0

    def at(self, snapshot: Snapshot) -> None:
        """Look at a moment before those that were looked at."""
        self._looked += 1
        self._reach.move_to(snapshot.heap)
        if snapshot.moment == "prompt":
            # A write made after the prompt, in the same step, may be to a cell that the prompt holds: the
            # model has been called by then.
            made_before = self._writes(lambda write: snapshot.heap_size >= write.size)
            for number in ones(self._reach.of(snapshot.holders.get("prompt")) & made_before):
                self._prompts[number].append(snapshot.step)
        is_end = snapshot.moment == "end"
        before = self._writes(lambda write: is_end or snapshot.step > write.step)
        for holder, name in self._holders.items():
            root: Value = snapshot.holders.get(holder)
            for number in ones(self._reach.of(root) & before):
                self._note(number, name, root, snapshot.step)

    def _writes(self, matches: Callable[[Write], bool]) -> int:
        return sum(1 << write.number for write in self._journal if matches(write))

    def _note(self, number: int, name: str, root: Value, step: int) -> None:
        write, paths = self._journal[number], self._paths[number]
        if name in paths:
            shown = paths[name][0]
        else:
            keys = self._reach.path(root, 1 << number)
            shown = written_path(name, cast("tuple[Key, ...]", keys), write.key)
        paths[name] = (shown, self._looked)
        if step > write.step:
            self._seen[number].add(step)

    def finding(self, write: Write) -> Finding:
        """The verdict on the write."""
        prompts = tuple(reversed(self._prompts[write.number]))
        later = [step for step in prompts if step > write.step]
        order = [*self._holders.values()]
        # In the order in which the holders showed it first.
        paths = sorted(self._paths[write.number].items(), key=lambda one: (-one[1][1], order.index(one[0])))
        reach = (*(name for name, _ in paths), *([LATER_PROMPTS] if later else []))
        return Finding(
            write=write,
            verdict=Verdict.POLLUTING if reach else Verdict.EPHEMERAL,
            reach=reach,
            paths={name: shown for name, (shown, _) in paths},
            prompts=prompts,
            first_seen=min({*later, *self._seen[write.number]}, default=None),
        )


def written_path(root: str, keys: tuple[Key, ...], key: Key | None) -> str:
    """A path as a person reads it: `caller[0].content[1].text`."""
    keys = keys if key is None else (*keys, key)
    return root + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in keys)


# What can be reached from where in heaps that follow each other, for marks on some of their cells.
#
# A run has thousands of moments at which it is asked which of its writes a holder shows. A walk over all
# that a holder reaches takes the whole history at each moment, so that a report takes the cube of a run's
# steps. Here each cell keeps which marks are below it until a cell below it changes, and a moment costs
# what changed.


def ones(mask: int) -> Iterable[int]:
    """The numbers of the bits that are set, the lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class Reach:
    """Finds the marks that can be reached from a cell, in the heap of the latest move.

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
            # A cycle: the sums below depend on each other, so nothing is remembered of it, and the root is
            # walked as a whole.
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
                # The lowest address is the oldest cell: the original, rather than a copy of it that is as
                # near.
                return level[min(found)]
            seen.update(level)
            below: dict[int, tuple[str | int, ...]] = {}
            for address, keys in level.items():
                for key, slot in keyed(self._cells[address]):
                    if type(slot) is Ref and slot.address not in seen and self.of(slot) & mark:
                        below.setdefault(slot.address, (*keys, key))
            level = below
        return None
