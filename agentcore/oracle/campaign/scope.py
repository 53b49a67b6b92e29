"""What of two traces is compared: all of them, or what patterns of paths choose (rule oracle.scope).

A pattern is a path of a trace, from `$`: `.field`, `.*` for any field, `[3]` for an element, `[]` for any
element. It stands for what is there and everything inside it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.families import Comparison, Each

__all__ = ["ALL", "PatternError", "Scope"]

Trace: TypeAlias = dict[str, Any]
Keys: TypeAlias = tuple[str | int | None, ...]
"""The keys of a pattern below `$`; None is any of them."""

_KEY: Final = re.compile(r"\.(?P<field>[^.\[\]]+)|\[(?P<index>\d*)\]")
_GONE: Final = object()


class PatternError(AgentCoreError, ValueError):
    """A text that is no pattern of a path, or one of a place that no trace has."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(pattern, reason)
        self.pattern = pattern
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.pattern!r} {self.reason}"


@attrs.frozen
class Scope:
    """What is compared: what one of `only` stands for (all, if there are none), without that of `ignored`."""

    only: tuple[Keys, ...] = ()
    ignored: tuple[Keys, ...] = ()

    @classmethod
    def of(cls, comparison: Comparison, only: Iterable[str], ignore: Iterable[str]) -> Scope:
        """From patterns of paths.

        Raises:
            PatternError: for a text that is no pattern, and for one of a field that traces do not have.
        """
        return cls(
            tuple(_keys(pattern, comparison) for pattern in only),
            tuple(_keys(pattern, comparison) for pattern in ignore),
        )

    def seen(self, trace: Trace) -> Trace:
        """What of a trace is compared. Elements that are not are None, so that all keep their places."""
        if self.only:
            trace = _kept(trace, self.only)
            trace = {} if trace is _GONE else trace
        return _without(trace, self.ignored) if self.ignored else trace


ALL: Final = Scope()
"""Everything is compared."""


def _keys(pattern: str, comparison: Comparison) -> Keys:
    keys: list[str | int | None] = []
    at = 1
    while at < len(pattern):
        found = _KEY.match(pattern, at)
        if found is None:
            break
        index = found["index"]
        keys.append(_named(found["field"]) if index is None else int(index) if index else None)
        at = found.end()
    if not pattern.startswith("$") or at < len(pattern) or not keys:
        raise PatternError(pattern, "is no path of a trace; write it like $.steps[].prompt or $.final.*")
    _check_known(pattern, keys, comparison)
    return tuple(keys)


def _named(field: str) -> str | None:
    return None if field == "*" else field


def _check_known(pattern: str, keys: Sequence[str | int | None], comparison: Comparison) -> None:
    """A field that no trace has would leave nothing, or all, to compare without anybody noticing."""
    known = {each.field if isinstance(each, Each) else each: each for each in comparison.order}
    first, *rest = keys
    _check_field(pattern, first, [*known])
    each = known.get(str(first))
    if isinstance(each, Each) and len(rest) > 1:
        _check_field(pattern, rest[1], each.fields)


def _check_field(pattern: str, key: str | int | None, known: Sequence[str]) -> None:
    if key is None or key in known:
        return
    near = difflib.get_close_matches(str(key), known, n=1) or known
    raise PatternError(pattern, f"names {key!r}, which no trace has; there is {', '.join(near)}")


def _below(patterns: Iterable[Keys], key: str | int) -> tuple[Keys, ...]:
    """The patterns of what is at the key, from there on."""
    return tuple(keys[1:] for keys in patterns if keys[0] is None or keys[0] == key)


def _kept(value: Any, patterns: tuple[Keys, ...]) -> Any:
    """What the patterns stand for, in the containers around it."""
    if () in patterns:
        return value
    if isinstance(value, dict):
        below = {key: _kept(child, _below(patterns, key)) for key, child in value.items()}
        found = {key: child for key, child in below.items() if child is not _GONE}
        return found or _GONE
    if not isinstance(value, list):
        return _GONE
    items = [_kept(child, _below(patterns, index)) for index, child in enumerate(value)]
    while items and items[-1] is _GONE:
        items.pop()
    return [None if child is _GONE else child for child in items] or _GONE


def _without(value: Any, patterns: tuple[Keys, ...]) -> Any:
    """The value without what the patterns stand for."""
    if not patterns:
        return value
    if isinstance(value, dict):
        below = {key: _below(patterns, key) for key in value}
        return {key: _without(child, below[key]) for key, child in value.items() if () not in below[key]}
    if not isinstance(value, list):
        return value
    listed = [(child, _below(patterns, index)) for index, child in enumerate(value)]
    return [None if () in below else _without(child, below) for child, below in listed]
