"""Live cells as plain dicts and lists, as a hook of an ordinary framework is given them."""

from __future__ import annotations

from typing import Any

from agentcore.compat.views import ArrayView, ObjectView, View

__all__ = ["Mirror"]


class Mirror:
    """Plain objects that stand for views: one for each cell, so that what is shared is shared.

    What a hook writes to them comes to the cells with `write_back`; what it returns keeps their references
    with `live`.
    """

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}
        # By number, with the object, which is thereby kept; and what it held.
        self._views: dict[int, tuple[Any, View, Any]] = {}

    def plain(self, value: Any) -> Any:
        """The value as dicts and lists; what is no view is itself."""
        if not isinstance(value, ObjectView | ArrayView):
            return value
        address = value.ref.address
        if address not in self._made:
            made: Any = {} if isinstance(value, ObjectView) else []
            self._made[address] = made
            if isinstance(value, ObjectView):
                made.update((key, self.plain(each)) for key, each in value.items())
            else:
                made.extend(self.plain(each) for each in value)
            self._views[id(made)] = (made, value, made.copy())
        return self._made[address]

    def live(self, value: Any) -> Any:
        """What a hook returned or put in, with the views for the objects that stand for them."""
        known = self._views.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, dict):
            return {key: self.live(each) for key, each in value.items()}
        return [self.live(each) for each in value] if isinstance(value, list | tuple) else value

    def write_back(self) -> None:
        """Does to the cells what was done to the objects."""
        for made, view, before in [*self._views.values()]:
            if isinstance(view, ObjectView):
                self._write_fields(made, view, before)
            elif isinstance(view, ArrayView) and not _same(made, before):
                view[:] = [self.live(each) for each in made]

    def _write_fields(self, made: dict[str, Any], view: ObjectView, before: dict[str, Any]) -> None:
        for key in before.keys() - made.keys():
            del view[key]
        for key, value in made.items():
            if key not in before or value is not before[key]:
                view[key] = self.live(value)


def _same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(lambda a, b: a is b, one, other))
