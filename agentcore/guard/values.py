"""What a report consists of: changes, what was not looked into, and values as they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Literal

import attrs
from immutabledict import immutabledict

from agentcore.messages.values import frozen, sealed

__all__ = ["Change", "Instance", "Opaque", "Unshown"]

_LONGEST: Final = 120


@frozen
class Instance:
    """An object as it was: the name of its class, and its attributes by name."""

    type_name: str
    fields: immutabledict[str, Any]


@frozen
class Unshown:
    """Instead of a value that is `opaque`, that holds itself (`cycle`), or that lies too deep (`depth`)."""

    type_name: str
    reason: Literal["opaque", "cycle", "depth"]


@sealed
@attrs.frozen(kw_only=True)
class Opaque:
    """A value whose state cannot be seen, or not all of it: it was told from others by identity only."""

    path: str
    type_name: str


@sealed
@attrs.frozen(kw_only=True)
class Change:
    """One place that holds something else than before.

    `path` is the place. `aliases` are its other paths: one for every other way by which the object that has
    the place is reached. Paths are those before the block, but for the index of an element that is new.
    `all_aliases` tells that there are no more of them; 1000 are listed at most.

    `kind` is `added`, `removed`, `replaced`, or `reordered` of the keys of a dict. `before` and `after` are
    values that do not change: tuples for lists, `immutabledict` for dicts, `Instance` for objects. `before`
    of what was added is None, and so is `after` of what was removed.

    `in_place` says which object changed. True: the one that has the place; it got, lost or overwrote what is
    its own, and all who hold it see that. False: the place holds another object now, and the one before is as
    it was, unless it has changes of its own.
    """

    path: str
    aliases: tuple[str, ...]
    kind: Literal["added", "removed", "replaced", "reordered"]
    before: Any
    after: Any
    in_place: bool
    all_aliases: bool = True

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path of the place, `path` first."""
        return (self.path, *self.aliases)

    def __str__(self) -> str:
        more = "" if self.all_aliases else ", and more"
        also = f"; also {', '.join(self.aliases)}{more}" if self.aliases else ""
        return f"{self.path}: {self._what()}{also}"

    def _what(self) -> str:
        before, after = in_brief(self.before), in_brief(self.after)
        if self.kind == "added":
            return f"added {after}"
        if self.kind == "removed":
            return f"removed {before}"
        if self.kind == "reordered":
            return f"reordered {before} -> {after}"
        if self.in_place:
            return f"{before} -> {after}"
        return f"another object, {before} -> {after}"


# ---------------------------------------------------------------- texts


def in_brief(value: object) -> str:
    """A value of a report as one short line."""
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > _LONGEST:
            return f"{text[: _LONGEST - 3]}..."
    return text


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, Instance):
        yield from _joined(f"{value.type_name}(", _pairs(value.fields, "{}="), ")")
    elif isinstance(value, Unshown):
        yield f"<{value.type_name}>" if value.reason == "opaque" else "..."
    elif type(value) is immutabledict:
        yield from _joined("{", _pairs(value, "{!r}: "), "}")
    elif type(value) is tuple:
        yield from _joined("[", map(_pieces, value), "]")
    elif type(value) is frozenset:
        yield from _joined("{", map(_pieces, value), "}")
    elif isinstance(value, str | bytes):
        # Of a long one no more is made than is shown.
        yield repr(value[:_LONGEST])
    else:
        yield repr(value)


def _pairs(fields: immutabledict[Any, Any], lead: str) -> Iterator[Iterator[str]]:
    for key, value in fields.items():
        yield _after(lead.format(key), value)


def _after(lead: str, value: object) -> Iterator[str]:
    yield lead
    yield from _pieces(value)


def _joined(opening: str, items: Iterator[Iterator[str]], closing: str) -> Iterator[str]:
    yield opening
    for index, item in enumerate(items):
        if index:
            yield ", "
        yield from item
    yield closing
