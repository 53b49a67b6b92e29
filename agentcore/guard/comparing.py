"""What changed since a snapshot: its objects are read again, also those that nothing leads to any more."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Final, Literal, NamedTuple

from agentcore.guard.reading import Contents, Reader, Unread, token
from agentcore.guard.showing import Shower
from agentcore.guard.snapshot import Record, Snapshot, Step
from agentcore.guard.values import Change

__all__ = ["changes"]

_LONG: Final = 1_000
_NOTHING: Final = Contents()


class _Found(NamedTuple):
    """A place that holds something else; no step if it is the object itself."""

    kind: Literal["added", "removed", "replaced", "reordered"]
    step: Step | None
    before: Any = None
    after: Any = None


def changes(snapshot: Snapshot, reader: Reader) -> tuple[Change, ...]:
    """The changes since the snapshot was taken, in the order in which one reads what was given."""
    differing = _Differing(snapshot, reader)
    return tuple(
        differing.change(number, found)
        for number, record in snapshot.records.items()
        for found in _compared(record, reader)
    )


class _Differing:
    def __init__(self, snapshot: Snapshot, reader: Reader) -> None:
        self._snapshot = snapshot
        self._before = Shower(
            lambda value: known.contents if (known := snapshot.records.get(id(value))) else reader(value)
        )
        self._after = Shower(reader)

    def change(self, number: int, found: _Found) -> Change:
        paths, every = self._snapshot.paths(number, found.step)  # guard.every-path
        held = id(found.before) in self._snapshot.records or id(found.before) in self._snapshot.opaque
        return Change(
            path=paths[0],
            aliases=paths[1:],
            kind=found.kind,
            before=self._before(found.before),
            after=self._after(found.after),
            in_place=found.kind != "replaced" or not held,  # guard.in-place
            all_aliases=every,
        )


# ---------------------------------------------------------------- one object


def _compared(record: Record, reader: Reader) -> Iterator[_Found]:
    if type(record.value) is record.cls and record.unchanged(reader):
        return
    before, after = record.contents, reader(record.value)
    if record.cls is not type(record.value):
        yield _Found("replaced", Step("field", "__class__"), record.cls.__name__, type(record.value).__name__)
    if isinstance(after, Unread):
        after = _NOTHING
    if before.data != after.data:
        yield _Found("replaced", None, before.data, after.data)
    yield from _elements(before.items or [], after.items or [])
    yield from _keyed("key", before.entries or {}, after.entries or {})
    yield from _members(before.members or [], after.members or [])
    yield from _keyed("field", before.fields or {}, after.fields or {})


def _elements(before: list[Any], after: list[Any]) -> Iterator[_Found]:
    old, new = list(map(token, before)), list(map(token, after))
    start = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    for gone, come in _stretches(range(start, len(old) - end), range(start, len(new) - end), old, new):
        for there, here in zip(gone, come, strict=False):
            if old[there] != new[here]:
                yield _Found("replaced", Step("item", there), before[there], after[here])
        for there in gone[len(come) :]:
            yield _Found("removed", Step("item", there), before=before[there])
        for here in come[len(gone) :]:
            yield _Found("added", Step("item", here), after=after[here])


def _stretches(
    gone: range, come: range, old: list[object], new: list[object]
) -> Iterator[tuple[range, range]]:
    """The stretches that differ; long ones are compared place by place, since matching takes long."""
    if max(len(gone), len(come)) > _LONG:
        yield gone, come
        return
    matcher = SequenceMatcher(
        a=[old[index] for index in gone], b=[new[index] for index in come], autojunk=False
    )
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield gone[i1:i2], come[j1:j2]


def _common(one: list[object], other: list[object]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _keyed(kind: Literal["key", "field"], before: dict[Any, Any], after: dict[Any, Any]) -> Iterator[_Found]:
    old = {token(key): (key, value) for key, value in before.items()}
    new = {token(key): (key, value) for key, value in after.items()}
    for mark, (key, value) in old.items():
        step = Step(kind, key)
        if mark not in new:
            yield _Found("removed", step, before=value)
        elif token(value) != token(new[mark][1]):
            yield _Found("replaced", step, value, new[mark][1])
    for mark, (key, value) in new.items():
        if mark not in old:
            yield _Found("added", Step(kind, key), after=value)
    kept = [mark for mark in old if mark in new]
    if kind == "key" and kept != [mark for mark in new if mark in old]:
        yield _Found("reordered", None, tuple(before), tuple(after))


def _members(before: list[Any], after: list[Any]) -> Iterator[_Found]:
    old = {token(member): member for member in before}
    new = {token(member): member for member in after}
    for mark, member in old.items():
        if mark not in new:
            yield _Found("removed", Step("member", member), before=member)
    for mark, member in new.items():
        if mark not in old:
            yield _Found("added", Step("member", member), after=member)
