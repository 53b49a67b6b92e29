"""Live cells as plain dicts and lists, as a hook of an ordinary framework is given them."""

from __future__ import annotations

from operator import is_
from typing import Any

from agentcore.heap.heap import Ref, Slot, Store
from agentcore.heap.views import View

__all__ = ["Mirror"]


class Mirror:
    """Plain objects that stand for views: one for each cell, so that what is shared is shared.

    What a hook writes to them comes to the cells with `write_back`; what it returns keeps their references
    with `live`.
    """

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        # By number: the object, which is thereby kept; what it held; and a view of any cell of its store.
        self._copied: dict[int, tuple[Any, Any, View, Ref]] = {}

    def plain(self, value: Any) -> Any:
        """The value as dicts and lists; what is no view is itself."""
        if not isinstance(value, View):
            return value
        store = value.store
        todo: list[tuple[Ref, Any]] = []
        copy = self._place(store, value.ref, todo)
        # A loop and no recursion: this is most of what a check takes.
        for ref, made in todo:
            cell = store.cells[ref.address]
            if isinstance(cell, tuple):
                made.extend([self._place(store, slot, todo) for slot in cell])
            else:
                made.update({key: self._place(store, slot, todo) for key, slot in cell.items()})
            self._copied[id(made)] = made, made.copy(), value, ref
        return copy

    def _place(self, store: Store, slot: Slot, todo: list[tuple[Ref, Any]]) -> Any:
        """What stands for a slot; if it is new, it is still to be filled."""
        if type(slot) is not Ref:
            return slot
        made = self._made.get(slot.address)
        if made is None:
            made = self._made[slot.address] = [] if type(store.cells[slot.address]) is tuple else {}
            todo.append((slot, made))
        return made

    def live(self, value: Any) -> Any:
        """What a hook returned or put in, with the views for the objects that stand for them."""
        known = self._copied.get(id(value))
        if known is not None:
            return known[2].desk.view(known[3])
        if isinstance(value, dict):
            return {key: self.live(each) for key, each in value.items()}
        return [self.live(each) for each in value] if isinstance(value, list | tuple) else value

    def write_back(self) -> None:
        """Does to the cells what was done to the objects."""
        for made, before, some_view, ref in [*self._copied.values()]:
            if _same(made, before):
                continue
            view = some_view.desk.view(ref)
            if isinstance(made, dict):
                self._write_fields(made, view, before)
            else:
                view[:] = [self.live(each) for each in made]

    def _write_fields(self, made: dict[str, Any], view: Any, before: dict[str, Any]) -> None:
        for key in before.keys() - made.keys():
            del view[key]
        for key, value in made.items():
            if key not in before or value is not before[key]:
                view[key] = self.live(value)


def _same(one: Any, other: Any) -> bool:
    """Whether two dicts or lists hold the very same, at the same places."""
    if len(one) != len(other) or not all(map(is_, one, other)):
        return False
    return isinstance(one, list) or all(map(is_, one.values(), other.values()))
