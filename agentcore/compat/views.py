"""Handles on cells: what a hook is given, so that ordinary Python does to the heap what it does to dicts and lists.

Putting a view into a value keeps the reference; plain dicts and lists become new cells. Every write through a view is
entered in the journal with the handle it came through.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, TypeAlias, cast

import attrs

from agentcore.compat.heap import UNDEFINED, Cell, Handle, HeapTypeError, ObjectCell, Ref, Slot, StepCell, Store, Value
from agentcore.compat.js import computed, computed_fields

Key: TypeAlias = str | int


@attrs.frozen(kw_only=True)
class Write:
    """One in-place write: who made it, through which handle, where, and what was there before and after.

    `handle` is where the writer got hold of the object (boundary, then keys) and may be of an earlier step than `step`, the
    step in which it was written. `key` is the field or index written; for a change of an array as a whole it is None.
    `size` is the number of cells at that time: what was made later has a higher address.
    """

    number: int
    step: int
    hook: str
    handle: tuple[Key, ...]
    address: int
    key: Key | None
    operation: str
    before: Any
    after: Any
    size: int


class Desk:
    """Where views write: the store, the journal, and who is writing at the moment."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.step = -1
        self.hook = "caller"
        self.journal: list[Write] = []
        self.on_write: Callable[[Write], None] | None = None

    def view(self, slot: Value, handle: tuple[Key, ...] = ()) -> Any:
        """The slot as a hook sees it: a view of a cell, or the scalar itself."""
        if type(slot) is not Ref:
            return slot
        cell = self.store.cells[slot.address]
        return ArrayView(self, slot, handle) if type(cell) is tuple else ObjectView(self, slot, handle)

    def slot(self, value: Any) -> Slot:
        """The slot for a value of a hook's: the reference of a view, new cells for plain data."""
        if isinstance(value, View):
            return value.ref
        if isinstance(value, Mapping):
            return self.store.object({_text(key): self.slot(item) for key, item in value.items()})
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return self.store.array([self.slot(item) for item in value])
        return self.store.load(value)

    def plain(self, value: Value) -> Any:
        """The value as plain JSON; None for nothing."""
        return None if value is UNDEFINED else self.store.plain(value)

    def write(self, view: View, cell: Cell, key: Key | None, operation: str, before: Any, after: Any) -> None:
        """Replaces a cell and enters that in the journal; `before` and `after` are plain.

        Raises:
            HeapTypeError: if the cell is frozen.
        """
        self.store.replace(view.ref, cell)
        entry = Write(
            number=len(self.journal),
            step=self.step,
            hook=self.hook,
            handle=view.handle,
            address=view.ref.address,
            key=key,
            operation=operation,
            before=before,
            after=after,
            size=len(self.store.cells),
        )
        self.journal.append(entry)
        if self.on_write is not None:
            self.on_write(entry)


def _text(key: object) -> str:
    if not isinstance(key, str):
        raise HeapTypeError(f"a field name is text, not {type(key).__name__}")
    return key


class View(Handle):
    """What both kinds of view have: the cell they stand for, and how it was come by."""

    __slots__ = ("desk", "handle")

    def __init__(self, desk: Desk, ref: Ref, handle: tuple[Key, ...]) -> None:
        self.desk = desk
        self.store = desk.store
        self.ref = ref
        self.handle = handle

    def thaw(self) -> Any:
        """A deep copy as plain dicts and lists."""
        return copy.deepcopy(self.desk.store.plain(self.ref))

    def clone(self) -> Any:
        """A structured clone, as a view of new cells.

        Raises:
            DataCloneError: if a function is reached.
        """
        return self.desk.view(self.desk.store.clone(self.ref), self.handle)

    def is_same(self, other: object) -> bool:
        """Whether both stand for one object."""
        return isinstance(other, View) and other.ref == self.ref and other.desk is self.desk

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.thaw()

    def __repr__(self) -> str:
        return repr(self.desk.store.plain(self.ref))

    def _child(self, slot: Value, key: Key) -> Any:
        return self.desk.view(slot, (*self.handle, key)) if type(slot) is Ref else slot


class ObjectView(View, MutableMapping[str, Any]):
    """An object of the heap, used as a dict is."""

    __slots__ = ()

    @property
    def _cell(self) -> ObjectCell:
        return cast("ObjectCell", self.desk.store.cells[self.ref.address])

    def __getitem__(self, key: str) -> Any:
        cell = self._cell
        try:
            return self._child(cell[key], key)
        except KeyError:
            if isinstance(cell, StepCell) and key in computed_fields:
                return self._child(computed(self.desk.store, self.ref, key), key)
            raise

    def __setitem__(self, key: str, value: Any) -> None:
        cell = self._cell
        if isinstance(cell, StepCell) and key in computed_fields:
            raise HeapTypeError(f"Cannot set property {key} of a step result which has only a getter")
        slot = self.desk.slot(value)
        changed = type(cell)({**cell, _text(key): slot})
        plain = self.desk.plain
        self.desk.write(self, changed, key, "set", plain(cell.get(key, UNDEFINED)), plain(slot))

    def __delitem__(self, key: str) -> None:
        cell = self._cell
        if key not in cell and isinstance(cell, StepCell) and key in computed_fields:
            return  # a getter of the class: deleting it from the object does nothing
        before = self.desk.plain(cell[key])
        changed = type(cell)({other: slot for other, slot in cell.items() if other != key})
        self.desk.write(self, changed, key, "delete", before, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._cell)

    def __len__(self) -> int:
        return len(self._cell)

    def __contains__(self, key: object) -> bool:
        cell = self._cell
        return key in cell or (isinstance(cell, StepCell) and key in computed_fields)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ior__(self, other: Mapping[str, Any]) -> ObjectView:
        self.update(other)
        return self

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def copy(self) -> dict[str, Any]:
        """A shallow copy: a dict whose values are the same objects."""
        return dict(self)

    __hash__ = None  # type: ignore[assignment]


class ArrayView(View, MutableSequence[Any]):
    """An array of the heap, used as a list is."""

    __slots__ = ()

    @property
    def _cell(self) -> tuple[Slot, ...]:
        return cast("tuple[Slot, ...]", self.desk.store.cells[self.ref.address])

    def __len__(self) -> int:
        return len(self._cell)

    def __getitem__(self, key: Any) -> Any:
        cell = self._cell
        if isinstance(key, slice):
            return [self._child(cell[i], i) for i in range(*key.indices(len(cell)))]
        slot = cell[key]
        return self._child(slot, key if key >= 0 else len(cell) + key)

    def __iter__(self) -> Iterator[Any]:
        index = 0
        while index < len(self._cell):
            yield self[index]
            index += 1

    def __setitem__(self, key: Any, value: Any) -> None:
        cell = self._cell
        slots = list(cell)
        if isinstance(key, slice):
            slots[key] = [self.desk.slot(item) for item in value]
            self._become(slots, "splice")
            return
        slots[key] = slot = self.desk.slot(value)
        index = key if key >= 0 else len(cell) + key
        plain = self.desk.plain
        self.desk.write(self, tuple(slots), index, "set", plain(cell[key]), plain(slot))

    def __delitem__(self, key: Any) -> None:
        cell = self._cell
        slots = list(cell)
        del slots[key]
        if isinstance(key, slice):
            self._become(slots, "splice")
        else:
            index = key if key >= 0 else len(cell) + key
            self.desk.write(self, tuple(slots), index, "remove", self.desk.plain(cell[key]), None)

    def insert(self, index: int, value: Any) -> None:
        """Puts an element before the one at an index, as `list.insert` does."""
        slots = list(self._cell)
        slot = self.desk.slot(value)
        at = slice(*slice(index, None).indices(len(slots))).start
        slots.insert(at, slot)
        self.desk.write(self, tuple(slots), at, "insert", None, self.desk.plain(slot))

    def append(self, value: Any) -> None:
        """Puts an element at the end."""
        self.insert(len(self), value)

    def clear(self) -> None:
        """Takes out all elements."""
        self._become([], "clear")

    def reverse(self) -> None:
        """Turns the order round in place."""
        self._become(list(reversed(self._cell)), "reverse")

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sorts in place, stably, as `list.sort` does."""
        items = list(self)
        items.sort(key=key, reverse=reverse)  # type: ignore[arg-type, type-var]
        self._become([self.desk.slot(item) for item in items], "sort")

    def copy(self) -> list[Any]:
        """A shallow copy: a list of the same elements."""
        return list(self)

    def __copy__(self) -> list[Any]:
        return list(self)

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        return [*other, *self]

    def __iadd__(self, other: Iterable[Any]) -> ArrayView:  # type: ignore[override, misc]
        self.extend(list(other))
        return self

    def __mul__(self, times: int) -> list[Any]:
        return list(self) * times

    def __imul__(self, times: int) -> ArrayView:
        self._become(list(self._cell) * times, "repeat")
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | ArrayView):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _become(self, slots: list[Slot], operation: str) -> None:
        before = self.desk.plain(self.ref)
        after = [self.desk.plain(slot) for slot in slots]
        self.desk.write(self, tuple(slots), None, operation, before, after)
