"""Copies of what stands in a heap: deep, shallow, through JSON, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import attrs

from agentcore.heap.heap import (
    DEEPEST,
    UNDEFINED,
    DateCell,
    DepthError,
    Function,
    Heap,
    HeapTypeError,
    MeasuredCell,
    ObjectCell,
    Ref,
    Slot,
    Store,
    UrlCell,
    Value,
)
from agentcore.heap.js import date_text, fields, is_array
from agentcore.messages.brief import brief

__all__ = ["CopyDepth", "Snapshot", "deep_copy", "through_json"]


def through_json(store: Store, value: Value) -> Slot:
    """`JSON.parse(JSON.stringify(value))`, null for what JSON cannot hold; one object becomes several.

    Raises:
        HeapTypeError: if an object is inside itself.
        DepthError: if the value is too deep.
    """
    if value is UNDEFINED or isinstance(value, Function):
        return None
    return _through_json(store, value, ())


def _through_json(store: Store, value: Slot, above: tuple[int, ...]) -> Slot:
    if type(value) is not Ref:
        return value
    if value.address in above:
        raise HeapTypeError("Converting circular structure to JSON")
    if len(above) > DEEPEST:
        raise DepthError
    inside = (*above, value.address)
    cell = store.cells[value.address]
    if type(cell) is DateCell:
        return date_text(store, cell)
    if type(cell) is UrlCell:
        return cell["href"]
    if isinstance(cell, tuple):
        items: list[Slot] = []
        # Two Python frames a level at most, so no comprehension: the interpreter allows 1000.
        for item in cell:
            kept = None if isinstance(item, Function) else _through_json(store, item, inside)
            items.append(kept)
        return store.derive(store.array(items), value)
    copied: dict[str, Slot] = {}
    for key, item in fields(store, value).items():
        if not isinstance(item, Function):
            copied[key] = _through_json(store, item, inside)
    return store.derive(store.object(copied), value)


def deep_copy(store: Store, value: Value) -> Value:
    """A copy that shares nothing but functions; what is one object in the value is one in the copy.

    Every object becomes a plain one: of an error only what it owns is left.

    Raises:
        DepthError: if the value is too deep.
    """
    return _Copy(store).of(value, 0)


class _Copy:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.made: dict[int, Ref] = {}

    def of(self, value: Value, depth: int) -> Value:
        if type(value) is not Ref:
            return value
        known = self.made.get(value.address)
        if known is not None:
            return known
        if depth > DEEPEST:
            raise DepthError
        store = self.store
        cell = store.cells[value.address]
        if type(cell) is DateCell:
            copy = self.made[value.address] = store.object(cell, DateCell)
            return store.derive(copy, value)
        if type(cell) is UrlCell:
            copy = self.made[value.address] = store.object({"href": cell["href"]}, UrlCell)
            return store.derive(copy, value)
        listed = is_array(store, value)
        kind_of_copy = MeasuredCell if type(cell) is MeasuredCell else ObjectCell
        copy = self.made[value.address] = store.array(()) if listed else store.object({}, kind_of_copy)
        own: Mapping[object, Slot] = fields(store, value)  # type: ignore[assignment]
        inside: dict[object, Value] = {}
        for key, item in own.items():
            inside[key] = self.of(item, depth + 1)
        kind = store.cells[copy.address]
        store.replace(copy, tuple(inside.values()) if isinstance(kind, tuple) else type(kind)(inside))  # type: ignore[arg-type]
        return store.derive(copy, value)


# How much of a value is new when it crosses a boundary.


class CopyDepth(IntEnum):
    """The depth of a boundary's copy: how much of list -> message -> content -> part -> payload is new."""

    SHARE = 0
    LIST = 1
    MESSAGE = 2
    CONTENT = 3
    PART = 4
    DEEP = 5


# Moments of a run: who held what, and the heap as it was.


@attrs.frozen
class Snapshot:
    """A moment of a run: the holders by name, and the heap as it was."""

    __repr__ = brief

    moment: str
    step: int
    holders: Mapping[str, Value]
    heap: Heap

    def plain(self, holder: str) -> Any:
        """Return the value of a holder, as plain JSON.

        Raises:
            KeyError: if there is no such holder at this moment.
        """
        return Store.of(self.heap).plain(self.holders[holder])

    @property
    def heap_size(self) -> int:
        """The number of cells."""
        return len(self.heap.cells)
