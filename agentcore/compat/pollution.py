"""The pollution report: for every in-place write of a run, how long and how far it is seen.

Computed, never listed. A write is *carried* by the cell that was written and by every cell that the run
made of it later (a prompt's part of a message's part, a message of a step's content, a clone): rule
compat.copies-carry. It is polluting if something that outlives the step (what the caller has, the chains or
the history, the reports) reaches a carrier, or a later prompt does; ephemeral otherwise (rule
compat.polluting).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, Protocol

import attrs

from agentcore.brief import brief
from agentcore.compat.heap import Store, Value
from agentcore.compat.snapshots import Snapshot
from agentcore.compat.views import Desk, Key, Write

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
        """Where writes were entered."""

    @property
    def snapshots(self) -> Sequence[Snapshot]:
        """The moments of the run, in order."""

    @property
    def holders(self) -> Mapping[str, str]:
        """What outlives a step."""

    def held(self) -> Mapping[str, Value]:
        """What each holder holds now."""


class Verdict(Enum):
    """How long a write is seen."""

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


def findings(run: Watched) -> tuple[Finding, ...]:
    """A finding for every write of a run, in the order in which they were made.

    Raises:
        ValueError: if the run was not watched (`Store.watching`).
    """
    carried = carriers(run)
    looks = _Looks(run.snapshots, run.holders)
    return tuple(
        _finding(write, cells, looks) for write, cells in zip(run.desk.journal, carried, strict=True)
    )


def carriers(run: Watched) -> tuple[frozenset[int], ...]:
    """For every write of a run, the addresses of the cells that carry it.

    Raises:
        ValueError: if the run was not watched (`Store.watching`).
    """
    if not run.store.watching:
        raise ValueError("the run was not watched: set `store.watching` before it starts, or use compat.run")
    derived: dict[int, list[tuple[int, frozenset[str] | None]]] = defaultdict(list)
    for made, sources in run.store.origins.items():
        for source, fields in sources:
            derived[source].append((made, fields))
    return tuple(_carriers(write, derived) for write in run.desk.journal)


def _carriers(write: Write, derived: Mapping[int, list[tuple[int, frozenset[str] | None]]]) -> frozenset[int]:
    """The cells that hold what was written: the cell itself, and what was made of it after the write."""
    found = {write.address}
    queue = [write.address]
    for source in queue:
        for made, fields in derived.get(source, ()):
            copied = fields is None or not isinstance(write.key, str) or write.key in fields
            if made >= write.size and copied and made not in found:
                found.add(made)
                queue.append(made)
    return frozenset(found)


class _Looks:
    """What each holder reached at each moment, worked out once."""

    def __init__(self, snapshots: Iterable[Snapshot], holders: Mapping[str, str]) -> None:
        self.snapshots = tuple(snapshots)
        self.holders = holders
        self._reached: dict[tuple[int, str], Mapping[int, tuple[Key, ...]]] = {}

    def paths(self, index: int, holder: str) -> Mapping[int, tuple[Key, ...]]:
        known = self._reached.get((index, holder))
        if known is None:
            snapshot = self.snapshots[index]
            root: Value = snapshot.holders.get(holder)
            known = self._reached[index, holder] = snapshot.heap.reached(root)
        return known

    def prompts(self, write: Write, carriers: frozenset[int]) -> Iterator[int]:
        for index, snapshot in enumerate(self.snapshots):
            made_after = snapshot.moment == "prompt" and snapshot.heap_size >= write.size
            if made_after and not carriers.isdisjoint(self.paths(index, "prompt")):
                yield snapshot.step

    def after(self, write: Write) -> Iterator[int]:
        for index, snapshot in enumerate(self.snapshots):
            if snapshot.step > write.step or snapshot.moment == "end":
                yield index


def _finding(write: Write, carriers: frozenset[int], looks: _Looks) -> Finding:
    prompts = tuple(looks.prompts(write, carriers))
    later = [step for step in prompts if step > write.step]
    paths: dict[str, str] = {}
    seen = set(later)
    for index in looks.after(write):
        for holder, name in looks.holders.items():
            reached = looks.paths(index, holder)
            shown = min(
                carriers.intersection(reached),
                key=lambda address: (len(reached[address]), address),
                default=None,
            )
            if shown is not None:
                paths[name] = written_path(name, reached[shown], write.key)
                if looks.snapshots[index].step > write.step:
                    seen.add(looks.snapshots[index].step)
    reach = (*paths, *([LATER_PROMPTS] if later else []))
    return Finding(
        write=write,
        verdict=Verdict.POLLUTING if reach else Verdict.EPHEMERAL,
        reach=reach,
        paths=paths,
        prompts=prompts,
        first_seen=min(seen, default=None),
    )


def written_path(root: str, keys: tuple[Key, ...], key: Key | None) -> str:
    """A path as a person reads it: `caller[0].content[1].text`."""
    keys = keys if key is None else (*keys, key)
    return root + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in keys)
