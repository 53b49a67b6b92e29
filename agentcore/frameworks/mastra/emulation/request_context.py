"""The request context: values by name that the caller and all processors of a call share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from agentcore.heap.heap import UNDEFINED, Ref
from agentcore.heap.views import Desk, Key, ObjectView

INSTEAD: Final = (
    "check the hook in the real package with `agentcore check-hook` (spec/mastra.md says what else)"
)
"""What an error says of a part of the package that the emulation leaves out."""

_SAME: Final = {
    "forEach": "for_each",
    "toJSON": "to_json",
    "setRaw": "set",
    "getRaw": "get",
    "hasRaw": "has",
    "deleteRaw": "delete",
}
_LEFT_OUT: Final = ("all", "isSerializable", "serializeForSpan")


class RequestContext:
    """The request context in the hands of a processor (rule mastra.request-context-shared).

    It is one object for the caller, every processor and every step. Its methods have the names of the
    package's, or those names as Python writes them.
    """

    def __init__(self, desk: Desk, ref: Ref, handle: tuple[Key, ...]) -> None:
        self.view = ObjectView(desk, ref, handle)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RequestContext) and other.view.is_same(self.view)

    def __hash__(self) -> int:
        return hash(self.view.ref)

    def get(self, key: str) -> Any:
        """Returns the live value of a key; UNDEFINED if there is none."""
        return self.view.get(key, UNDEFINED)

    def set(self, key: str, value: Any) -> None:
        """Puts a value under a key: everyone who reads the key from now on gets it.

        Raises:
            HostValueError: for a value that JavaScript has no counterpart of.
        """
        self.view[key] = value

    def has(self, key: str) -> bool:
        """Returns whether there is a key."""
        return key in self.view

    def delete(self, key: str) -> bool:
        """Takes a key out; returns whether it was there."""
        found = self.has(key)
        if found:
            del self.view[key]
        return found

    def clear(self) -> None:
        """Takes all keys out."""
        self.view.clear()

    def keys(self) -> list[str]:
        """Returns the keys, in their order."""
        return list(self.view)

    def values(self) -> list[Any]:
        """Returns the live values, in the order of their keys."""
        return list(self.view.values())

    def entries(self) -> list[tuple[str, Any]]:
        """Returns keys with their live values."""
        return list(self.view.items())

    def size(self) -> int:
        """Returns the number of keys."""
        return len(self.view)

    def for_each(self, act: Callable[[Any, str], Any]) -> None:
        """Calls a function with each value and its key."""
        for key, value in self.entries():
            act(value, key)

    def to_json(self) -> dict[str, Any]:
        """Returns a new object with the same live values."""
        return dict(self.view)

    def __getattr__(self, name: str) -> Any:
        if name in _SAME:
            return getattr(self, _SAME[name])
        if name in _LEFT_OUT:
            raise self.view.desk.leave_out(f"requestContext.{name}", INSTEAD)
        raise AttributeError(f"a request context has no {name!r}")
