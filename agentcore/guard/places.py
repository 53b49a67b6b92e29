"""The places of a snapshot's objects that hold something else than before.

Needs nothing but the standard library, as `agentcore.guard.reading`.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Final, Literal, NamedTuple

from agentcore.guard.reading import Contents, Reader, Unread, token
from agentcore.guard.snapshot import Record, Step

__all__ = ["Found", "compared"]

_LONG: Final = 1_000
_NOTHING: Final = Contents()


class Found(NamedTuple):
    """A place that holds something else; no step if it is the object itself."""

    kind: Literal["added", "removed", "replaced", "reordered"]
    step: Step | None
    before: Any = None
    after: Any = None


def compared(record: Record, reader: Reader) -> Iterator[Found]:
    """Yields the places of one object that hold something else than its record says."""
    if type(record.value) is record.cls and record.unchanged(reader):
        return
    before, after = record.contents, reader.again(record.value)
    if record.cls is not type(record.value):
        yield Found("replaced", Step("field", "__class__"), record.cls.__name__, type(record.value).__name__)
    if isinstance(after, Unread):
        after = _NOTHING
    if before.data != after.data:
        yield Found("replaced", None, before.data, after.data)
    yield from _elements(before.items or [], after.items or [])
    yield from _keyed("key", before.entries or {}, after.entries or {})
    yield from _members(before.members or [], after.members or [])
    yield from _keyed("field", before.fields or {}, after.fields or {})


def _elements(before: list[Any], after: list[Any]) -> Iterator[Found]:
    old, new = list(map(token, before)), list(map(token, after))
    start = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    for gone, come in _stretches(range(start, len(old) - end), range(start, len(new) - end), old, new):
        for there, here in zip(gone, come, strict=False):
            if old[there] != new[here]:
                yield Found("replaced", Step("item", there), before[there], after[here])
        for there in gone[len(come) :]:
            yield Found("removed", Step("item", there), before=before[there])
        for here in come[len(gone) :]:
            yield Found("added", Step("item", here), after=after[here])


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


def _keyed(kind: Literal["key", "field"], before: dict[Any, Any], after: dict[Any, Any]) -> Iterator[Found]:
    old = {token(key): (key, value) for key, value in before.items()}
    new = {token(key): (key, value) for key, value in after.items()}
    for mark, (key, value) in old.items():
        step = Step(kind, key)
        if mark not in new:
            yield Found("removed", step, before=value)
        elif token(value) != token(new[mark][1]):
            yield Found("replaced", step, value, new[mark][1])
    for mark, (key, value) in new.items():
        if mark not in old:
            yield Found("added", Step(kind, key), after=value)
    kept = [mark for mark in old if mark in new]
    if kind == "key" and kept != [mark for mark in new if mark in old]:
        yield Found("reordered", None, tuple(before), tuple(after))


def _members(before: list[Any], after: list[Any]) -> Iterator[Found]:
    old = {token(member): member for member in before}
    new = {token(member): member for member in after}
    for mark, member in old.items():
        if mark not in new:
            yield Found("removed", Step("member", member), before=member)
    for mark, member in new.items():
        if mark not in old:
            yield Found("added", Step("member", member), after=member)
