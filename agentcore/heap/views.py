"""Handles on cells: what a hook is given, so that Python does to the heap what it does to dicts and lists.

Putting a view into a value keeps the reference (rule compat.view-keeps-reference). Plain dicts and lists are
copied in as new cells: take them out again (`view["key"]`) for the live object. Every write through a view is
entered in the journal with the handle that it came through.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence
from contextlib import contextmanager
from operator import index as as_index
from typing import Any, Self, TypeAlias

import attrs

from agentcore.heap.heap import (
    UNDEFINED,
    Accepts,
    Cell,
    DateCell,
    Handle,
    HeapTypeError,
    HostValueError,
    Inherited,
    NotEmulatedError,
    ObjectCell,
    Ref,
    SchemaCell,
    Slot,
    Store,
    UrlCell,
    Value,
    getters,
    keyed,
    moment,
)
from agentcore.heap.js import fields, text
from agentcore.messages.brief import brief
from agentcore.messages.converters import parse_url
from agentcore.messages.values import json_path

Key: TypeAlias = str | int


@attrs.frozen(kw_only=True)
class Write:
    """One in-place write: who made it, through which handle, where, and what was there before and after.

    `handle` is where the writer got hold of the object (boundary, then keys) and may be of an earlier step
    than `step`, the step in which it was written. `key` is the field or index written, None for a change of
    an array as a whole. `size` is the number of cells at that time: what was made later has a higher address.
    """

    __repr__ = brief

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
    """The desk of views: the store, the journal of writes, and who is writing at the moment."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.step = -1
        self.hook = "caller"
        self.journal: list[Write] = []
        self.source: str | None = None
        self.refused: HostValueError | NotEmulatedError | None = None
        self.on_write: Callable[[Write], None] | None = None
        self.on_hand: Callable[[tuple[Key, ...], Value], None] | None = None

    def view(self, slot: Value, handle: tuple[Key, ...] = ()) -> Any:
        """The slot as a hook sees it: a view of a cell, or the scalar itself."""
        if type(slot) is not Ref:
            return slot
        kind = ArrayView if type(self.store.cells[slot.address]) is tuple else ObjectView
        return kind(self, slot, handle)

    def hand(self, slot: Value, handle: tuple[Key, ...]) -> Any:
        """Return a slot that passes a boundary as a view for the code behind it, named by `handle`."""
        self.require_accepted()  # or code would be called in a run that is over
        if self.on_hand is not None:
            self.on_hand(handle, slot)
        return self.view(slot, handle)

    def slot(self, value: Any, path: str = "$", accepts: Accepts = Accepts.OBJECTS) -> Slot:
        """Returns the slot for what Python code gave: the reference of a view, new cells for plain data.

        Raises:
            HostValueError: for a value that JavaScript has no counterpart of; `path` is where the value
                stands in what was given.
        """
        try:
            return self.store.load(value, accepts)  # type: ignore[no-any-return]
        except HostValueError as error:
            raise self.refuse(error, path) from None

    def refuse(self, error: HostValueError, path: str = "$") -> HostValueError:
        """Returns the error with who gave the value. The run ends with the first of them."""
        named = error.given_by(self.source or f"hook {self.hook}", path)
        # The first one: what follows is mostly what the hook made of that error.
        self.refused = self.refused or named
        return named

    def leave_out(self, what: str, instead: str) -> NotEmulatedError:
        """Returns the error for a part of the package that the emulation leaves out.

        Whatever the hook does with the error, the run ends with it (rule compat.not-emulated).
        """
        error = NotEmulatedError(f"hook {self.hook}", what, instead)
        self.refused = self.refused or error
        return error

    def settled(self, value: Any) -> Any:
        """Returns what a hook returned; raises HostValueError if somebody would have to await it."""
        return self.slot(value) if inspect.isawaitable(value) else value

    def require_accepted(self) -> None:
        """Raises the error of what was refused, whatever became of it in the run.

        Raises:
            HostValueError: if code gave a value that JavaScript has no counterpart of.
            NotEmulatedError: if a hook used a part of the package that is not emulated.
        """
        if self.refused is not None:
            raise self.refused

    @contextmanager
    def acting(self, source: str) -> Iterator[None]:
        """Names who gives values in a block, such as `tool look`."""
        self.source = source
        try:
            yield
        finally:
            self.source = None

    def plain(self, value: Value) -> Any:
        """The value as plain JSON; None for nothing."""
        return self.store.plain(value)

    def write(  # noqa: PLR0913 - the fields of a Write
        self, view: View, cell: Cell, *, key: Key | None, operation: str, before: Any, after: Any
    ) -> None:
        """Replaces a cell and enters that in the journal (rule compat.writes-journalled).

        `before` and `after` are plain.

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


class View(Handle):
    """Base of both kinds of view: the cell that it stands for, and the handle by which it was reached."""

    __slots__ = ("desk", "handle")

    def __init__(self, desk: Desk, ref: Ref, handle: tuple[Key, ...]) -> None:
        self.store = desk.store
        self.ref = ref
        self.desk = desk
        self.handle = handle

    def thaw(self) -> Any:
        """A deep copy as plain dicts and lists: what is one object here is one object there."""
        return _thawed(self, {})

    def clone(self) -> Any:
        """A structured clone, as a view of new cells.

        Raises:
            DataCloneError: if a function is reached.
        """
        return self.desk.view(self.store.clone(self.ref), self.handle)

    def as_text(self) -> str:
        """`String(value)`. Raises HeapTypeError for what has no text."""
        return text(self.store, self.ref)

    def spread(self) -> dict[str, Any]:
        """`{...value}`, as a dict of the same objects."""
        return {key: self._child(slot, key) for key, slot in fields(self.store, self.ref).items()}

    def is_same(self, other: object) -> bool:
        """Return whether both stand for one object."""
        return isinstance(other, View) and other.ref == self.ref and other.store is self.store

    def __deepcopy__(self, memo: dict[Any, Any]) -> Any:
        return _thawed(self, memo)

    def __repr__(self) -> str:
        return brief(self.store.plain(self.ref))

    def _loaded(self, value: Any, *keys: Key) -> Slot:
        """The slot for a value that is written at some place of this object."""
        return self.desk.slot(value, json_path("$", *self.handle[1:], *keys))

    def _loaded_all(self, values: Iterable[Any]) -> list[Slot]:
        """The slots for values that are written at one go; what is in several of them becomes one cell."""
        # Listed first: it may be the array itself, before it grows.
        listed = [*values]
        try:
            return self.store.load_all(listed)
        except HostValueError as error:
            raise self.desk.refuse(error, json_path("$", *self.handle[1:])) from None

    def _child(self, slot: Value, key: Key) -> Any:
        if type(slot) is not Ref:
            # What a name is to the error that has it, it is to nobody else.
            return str(slot) if type(slot) is Inherited else slot
        kind = ArrayView if type(self.store.cells[slot.address]) is tuple else ObjectView
        return kind(self.desk, slot, (*self.handle, key))


def _thawed(view: View, memo: dict[Any, Any]) -> Any:
    """The memo is that of `copy.deepcopy`: two views of one cell are one object in a copy that holds both."""
    store = view.store
    todo: list[tuple[Cell, Any]] = []

    def copy_of(slot: Slot) -> Any:
        if type(slot) is not Ref:
            return slot
        place = store, slot.address
        if place not in memo:
            cell = store.cells[slot.address]
            if type(cell) is DateCell or type(cell) is UrlCell:
                memo[place] = moment(cell["time"]) if type(cell) is DateCell else cell["href"]
                return memo[place]
            memo[place] = list(cell) if isinstance(cell, tuple) else dict(cell)
            todo.append((cell, memo[place]))
        return memo[place]

    copied = copy_of(view.ref)
    for cell, copy in todo:
        for key, slot in keyed(cell):
            copy[key] = copy_of(slot)
    return copied


def _address(slot: Slot) -> str:
    """The text of a URL as its parser writes it."""
    url = parse_url(slot) if isinstance(slot, str) else None
    if url is None:
        raise HeapTypeError("Invalid URL")
    return str(url.href)


class ObjectView(View, MutableMapping[str, Any]):
    """An object of the heap, used as a dict is.

    Two things no dict does: a field name is text (HeapTypeError), and a step result's computed fields are
    read and tested for as its own fields are, but not listed, and cannot be written.
    """

    __slots__ = ()

    @property
    def _cell(self) -> ObjectCell:
        return self.store.cells[self.ref.address]  # type: ignore[return-value]

    def __getitem__(self, key: str) -> Any:
        cell = self._cell
        slot: Value = cell.get(key, UNDEFINED)
        if slot is UNDEFINED:
            if key not in getters(cell):
                raise KeyError(key)
            slot = getters(cell)[key](self.store, self.ref)
        return self._child(slot, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise HeapTypeError(f"a field name is text, not {type(key).__name__}")
        cell = self._cell
        self._require_setter(cell, key)
        slot = self._loaded(value, key)
        if type(cell) is UrlCell and key == "href":
            slot = _address(slot)
        before, after = self.store.plain(cell.get(key, UNDEFINED)), self.store.plain(slot)
        changed = type(cell)({**cell, key: slot})
        self.desk.write(self, changed, key=key, operation="set", before=before, after=after)

    def __delitem__(self, key: str) -> None:
        cell = self._cell
        if key not in cell and key in getters(cell):
            return  # a getter of the class: deleting it from the object does nothing
        before = self.store.plain(cell[key])
        changed = type(cell)({other: slot for other, slot in cell.items() if other != key})
        self.desk.write(self, changed, key=key, operation="delete", before=before, after=None)

    def __iter__(self) -> Iterator[str]:
        return self._keys(self._cell, reverse=False)

    def __reversed__(self) -> Iterator[str]:
        return self._keys(self._cell, reverse=True)

    def _keys(self, cell: ObjectCell, *, reverse: bool) -> Iterator[str]:
        keys = iter(reversed(cell) if reverse else cell)
        while True:
            now = self._cell
            # As a dict does, with its texts: a hook that changes what it goes through is at fault in
            # Python, too.
            if len(now) != len(cell):
                raise RuntimeError("dictionary changed size during iteration")
            if now is not cell and now.keys() != cell.keys():
                raise RuntimeError("dictionary keys changed during iteration")
            key = next(keys, None)
            if key is None:
                return
            yield key

    def __len__(self) -> int:
        return len(self._cell)

    def __contains__(self, key: object) -> bool:
        cell = self._cell
        return key in cell or key in getters(cell)

    def owns(self, key: str) -> bool:
        """True if the field is the object's own; the `name` of most errors is inherited."""
        return type(self._cell.get(key)) is not Inherited

    def _require_setter(self, cell: ObjectCell, key: str) -> None:
        if type(cell) is UrlCell and key in cell.computed and key != "origin":
            raise self.desk.leave_out(f"URL.{key}", "assign its href, or put a text in its place")
        if key in getters(cell) or (type(cell) is SchemaCell and key == "jsonSchema" and key in cell):
            raise HeapTypeError(f"Cannot set property {key} which has only a getter")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return self.is_same(other) or dict(self) == dict(other)

    def __or__(self, other: object) -> dict[str, Any]:
        return {**self, **other} if isinstance(other, dict | ObjectView) else NotImplemented

    def __ror__(self, other: object) -> dict[str, Any]:
        return {**other, **self} if isinstance(other, dict | ObjectView) else NotImplemented

    def __ior__(self, other: Any) -> Self:  # type: ignore[misc]  # a copy is no view
        self.update(other)
        return self

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The field, which is set to the default first if it is not there; live, as what a dict gives is."""
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Takes out the field that was added last; KeyError if there is none."""
        for key in reversed(self._cell):
            return key, self.pop(key)
        raise KeyError("popitem(): dictionary is empty")

    def copy(self) -> dict[str, Any]:
        """A shallow copy: a dict whose values are the same objects."""
        return dict(self)

    __copy__ = copy
    __hash__ = None  # type: ignore[assignment]


class ArrayView(View, MutableSequence[Any]):
    """An array of the heap, used as a list is."""

    __slots__ = ()

    @property
    def _cell(self) -> tuple[Slot, ...]:
        return self.store.cells[self.ref.address]  # type: ignore[return-value]

    def __len__(self) -> int:
        return len(self._cell)

    def __getitem__(self, key: Any) -> Any:
        cell = self._cell
        if isinstance(key, slice):
            return [self._child(cell[at], at) for at in range(*key.indices(len(cell)))]
        return self._child(cell[key], _place(key, len(cell)))

    def __iter__(self) -> Iterator[Any]:
        at = 0
        # The array is read anew at each element: one that grows on the way is gone through to its new end,
        # as a list is.
        while at < len(cell := self._cell):
            yield self._child(cell[at], at)
            at += 1

    def __reversed__(self) -> Iterator[Any]:
        at = len(self) - 1
        while 0 <= at < len(cell := self._cell):
            yield self._child(cell[at], at)
            at -= 1

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            added = self._loaded_all(value)
            slots = list(self._cell)
            slots[key] = added
            self._become(slots, "splice")
            return
        cell = self._cell
        slots = list(cell)
        slots[key] = slot = self._loaded(value, key)
        before, after = self.store.plain(cell[key]), self.store.plain(slot)
        at = _place(key, len(cell))
        self.desk.write(self, tuple(slots), key=at, operation="set", before=before, after=after)

    def __delitem__(self, key: Any) -> None:
        cell = self._cell
        slots = list(cell)
        del slots[key]
        if isinstance(key, slice):
            self._become(slots, "splice")
            return
        before = self.store.plain(cell[key])
        at = _place(key, len(cell))
        self.desk.write(self, tuple(slots), key=at, operation="remove", before=before, after=None)

    def vacate(self, index: int) -> None:
        """Leaves the place of an element empty, as JavaScript's `delete array[index]` does."""
        cell = self._cell
        at = _place(index, len(cell))
        before = self.store.plain(cell[at])
        # No hook can put this there by its value: an empty place is no element that is undefined.
        changed: Any = (*cell[:at], UNDEFINED, *cell[at + 1 :])
        self.desk.write(self, changed, key=at, operation="delete", before=before, after=None)

    def insert(self, index: int, value: Any) -> None:
        """Puts an element before the one at an index, as `list.insert` does."""
        at, _, _ = slice(as_index(index), None).indices(len(self))
        self._insert(at, self._loaded(value, at))

    def append(self, value: Any) -> None:
        """Puts an element at the end."""
        self._insert(len(self), self._loaded(value, len(self)))

    def extend(self, values: Iterable[Any]) -> None:
        """Puts elements at the end; none of them if there is one that is no JSON."""
        for slot in self._loaded_all(values):
            self._insert(len(self), slot)

    def clear(self) -> None:
        """Takes out all elements."""
        self._become([], "clear")

    def reverse(self) -> None:
        """Turns the order round in place."""
        self._become(list(reversed(self._cell)), "reverse")

    def sort(self, *, key: Callable[[Any], Any] | None = None, reverse: bool = False) -> None:
        """Sorts in place, stably, as `list.sort` does.

        Raises:
            ValueError: if the array was changed meanwhile.
        """
        cell = self._cell
        items = list(self)
        try:
            items.sort(key=key, reverse=reverse)
        finally:
            changed = self._cell is not cell
            # A comparison that fails leaves what is sorted up to there, as in a list.
            slots = [item.ref if isinstance(item, View) else item for item in items]
            if changed or any(new is not old for new, old in zip(slots, cell, strict=True)):
                self._become(slots, "sort")
        if changed:
            raise ValueError("list modified during sort")

    def copy(self) -> list[Any]:
        """A shallow copy: a list of the same elements."""
        return list(self)

    __copy__ = copy

    def __add__(self, other: object) -> list[Any]:
        return [*self, *other] if isinstance(other, list | ArrayView) else NotImplemented

    def __radd__(self, other: object) -> list[Any]:
        return [*other, *self] if isinstance(other, list) else NotImplemented

    def __iadd__(self, other: Iterable[Any]) -> Self:  # type: ignore[misc]  # a copy is no view
        self.extend(other)
        return self

    def __mul__(self, times: Any) -> list[Any]:
        return list(self) * times  # type: ignore[no-any-return]

    __rmul__ = __mul__

    def __imul__(self, times: Any) -> Self:
        self._become(list(self._cell) * times, "repeat")
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | ArrayView):
            return NotImplemented
        return self.is_same(other) or list(self) == list(other)

    def __lt__(self, other: Any) -> bool:
        return list(self) < list(other) if isinstance(other, list | ArrayView) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return list(self) <= list(other) if isinstance(other, list | ArrayView) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return list(self) > list(other) if isinstance(other, list | ArrayView) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return list(self) >= list(other) if isinstance(other, list | ArrayView) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def _insert(self, at: int, slot: Slot) -> None:
        cell = self._cell
        changed = (*cell[:at], slot, *cell[at:])
        after = self.store.plain(slot)
        self.desk.write(self, changed, key=at, operation="insert", before=None, after=after)

    def _become(self, slots: list[Slot], operation: str) -> None:
        before = self.store.plain(self.ref)
        after = [self.store.plain(slot) for slot in slots]
        self.desk.write(self, tuple(slots), key=None, operation=operation, before=before, after=after)


def _place(key: Any, length: int) -> int:
    at = as_index(key)
    return at if at >= 0 else length + at
