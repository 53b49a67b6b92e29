"""What changed since a snapshot: its objects are read again, also those that nothing leads to any more."""

from __future__ import annotations

from agentcore.guard.places import Found, compared
from agentcore.guard.reading import Reader
from agentcore.guard.showing import Shower
from agentcore.guard.snapshot import Snapshot
from agentcore.guard.values import Change

__all__ = ["changes"]


def changes(snapshot: Snapshot, reader: Reader) -> tuple[Change, ...]:
    """The changes since the snapshot was taken, in the order in which one reads what was given."""
    differing = _Differing(snapshot, reader)
    return tuple(
        differing.change(number, found)
        for number, record in snapshot.records.items()
        for found in compared(record, reader)
    )


class _Differing:
    def __init__(self, snapshot: Snapshot, reader: Reader) -> None:
        self._snapshot = snapshot
        self._before = Shower(lambda value: snapshot.held(value) or reader(value))
        self._after = Shower(reader)

    def change(self, number: int, found: Found) -> Change:
        paths, every = self._snapshot.paths(number, found.step)  # guard.every-path
        held = self._snapshot.holds(found.before)
        return Change(
            path=paths[0],
            aliases=paths[1:],
            kind=found.kind,
            before=self._before(found.before),
            after=self._after(found.after),
            in_place=found.kind != "replaced" or not held,  # guard.in-place
            all_aliases=every,
        )
