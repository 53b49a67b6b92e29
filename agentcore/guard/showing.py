"""Values as a report keeps them: copies that cannot change, made of what was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from immutabledict import immutabledict

from agentcore.guard.reading import ATOMS, PROXIED, Contents, Unread
from agentcore.guard.values import Instance, Unshown

__all__ = ["Shower"]

_DEEPEST: Final = 50


class Shower:
    """Shows values by what `read` says they hold; each object once."""

    def __init__(self, read: Callable[[Any], Contents | Unread]) -> None:
        self._read = read
        # With the object, or its number could become another's.
        self._known: dict[int, tuple[Any, Any]] = {}

    def __call__(self, value: Any) -> Any:
        """The value: an atom itself, anything else as a copy."""
        return self._shown(value, ())

    def _shown(self, value: Any, above: tuple[int, ...]) -> Any:
        if type(value) in ATOMS:
            return value
        number = id(value)
        if number in above:
            return Unshown(type(value).__name__, "cycle")
        if number in self._known:
            return self._known[number][1]
        if len(above) == _DEEPEST:
            return Unshown(type(value).__name__, "depth")
        contents = self._read(value)
        if contents is Unread.ATOM or (isinstance(contents, Contents) and contents.constant):
            return value
        shown = self._copied(value, contents, (*above, number))
        self._known[number] = (value, shown)
        return shown

    def _copied(self, value: Any, contents: Contents | Unread, above: tuple[int, ...]) -> Any:
        if isinstance(contents, Unread):
            return Unshown(type(value).__name__, "opaque")
        if contents.data is not None:
            return contents.data
        if contents.items is not None:
            return tuple(self._shown(item, above) for item in contents.items)
        if contents.members is not None:
            return frozenset(self._shown(member, above) for member in contents.members)
        if contents.entries is not None:
            return self._mapping(contents.entries, above)
        fields = contents.fields or {}
        if set(fields) == {PROXIED}:
            return self._shown(fields[PROXIED], above)
        # What classes note for themselves is compared, but not worth reading.
        public = {name: each for name, each in fields.items() if not name.startswith("__")}
        return Instance(type(value).__name__, self._mapping(public, above))

    def _mapping(self, entries: dict[Any, Any], above: tuple[int, ...]) -> immutabledict[Any, Any]:
        return immutabledict(
            {self._shown(key, above): self._shown(each, above) for key, each in entries.items()}
        )
