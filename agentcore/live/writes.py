"""Writes of a hook: where objects that it was given, or had returned, hold something else than before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from agentcore.guard.reading import Reader
from agentcore.guard.snapshot import Found, Snapshot, compared
from agentcore.live.shown import brief

__all__ = ["Write", "general", "group_of", "writes"]

_MOST: Final = 20
# Which fields were ever assigned: the field itself is the place. Extra fields are attributes of the object.
_KEPT_BY_PYDANTIC: Final = "__pydantic_fields_set__"
_EXTRA: Final = ".__pydantic_extra__"
# Contexts lead to the conversation, too; people reach it by the argument that is it.
_ASIDE: Final = ("ctx.", "context.", "runtime.", "config.")
Source = Literal["argument", "handle", "returned"]


@dataclass(frozen=True)
class Write:
    """One place that the hook wrote, and when it was found.

    Attributes:
        place: the place, as a path from the hook's argument: `messages[2].content[0].text`.
        places: all paths of the place, `place` first.
        before: the value before, as short text; None if there was none.
        after: the value after, likewise.
        turn: the turn of the hook's call.
        step: the step of the hook's call.
        source: an argument, a handle that stays itself, or something that the hook had returned.
        number: the number of the object that has the place.
        late: whether it was found after the call had returned.
    """

    place: str
    places: tuple[str, ...]
    before: str | None
    after: str | None
    turn: int
    step: int
    source: Source
    number: int
    late: bool = False


def writes(  # noqa: PLR0913, PLR0917 - what is known of a call
    snapshot: Snapshot,
    reader: Reader,
    turn: int,
    step: int,
    source: Source,
    beside: Sequence[Snapshot] = (),
) -> Iterator[Write]:
    """Yields the places of a snapshot that hold something else now, at most the first twenty.

    Args:
        snapshot: what the hook was given, or had returned.
        reader: what of it is data.
        turn: the turn of the hook's call.
        step: the step of the hook's call.
        source: what the snapshot is of.
        beside: snapshots of the calls that went on at the same time, any of which may have written.
    """
    count = 0
    for number, record in snapshot.records.items():
        if type(record.value) is record.cls and record.unchanged(reader):
            continue
        for found in compared(record, reader):
            if count == _MOST:
                return
            named = _places(snapshot, number, found, beside)
            if _KEPT_BY_PYDANTIC in named[0]:
                continue
            count += 1
            before = None if found.kind == "added" else brief(found.before)
            after = None if found.kind == "removed" else brief(found.after)
            yield Write(named[0], named, before, after, turn, step, source, number)


def group_of(snapshot: Snapshot, number: int, found: Found, beside: Sequence[Snapshot] = ()) -> str:
    """Returns the group of writes that one of an object belongs to: its place, without indices."""
    return general(_places(snapshot, number, found, beside)[0])


def _places(
    snapshot: Snapshot, number: int, found: Found, beside: Sequence[Snapshot] = ()
) -> tuple[str, ...]:
    # Calls at the same time may get each other's arguments: the call that owns one has the shortest path.
    others = [each for each in beside if number in each.records]
    return min(
        (_places_in(each, number, found) for each in (snapshot, *others)), key=lambda each: len(each[0])
    )


def _places_in(snapshot: Snapshot, number: int, found: Found) -> tuple[str, ...]:
    found_at = [_named(path) for path in snapshot.paths(number, found.step)[0][:_MOST]]
    return tuple(sorted(found_at, key=lambda place: place.startswith(_ASIDE)))


def _named(path: str) -> str:
    return path.replace(_EXTRA, "").removeprefix("$").removeprefix(".") or "arguments"


def general(place: str) -> str:
    """Returns a place without its indices, for grouping: `messages[*].content`."""
    return re.sub(r"\[\d+\]", "[*]", place)
