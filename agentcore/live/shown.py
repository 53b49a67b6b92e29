"""Objects as plain data: what is compared between runs, and short texts of values.

Nothing here runs code of the objects' classes.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, TypeAlias

from agentcore.guard.reading import Contents, Reader, Unread
from agentcore.live.seeded import EPOCH

__all__ = ["Path", "brief", "differences", "leaves", "show", "text_of"]

Path: TypeAlias = tuple[Any, ...]

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_CLASS: Final = "<class>"
_BOOKKEEPING: Final = frozenset({"__pydantic_fields_set__"})
# A UUID, or as many digits; a time as JSON has it.
_RANDOM: Final = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
_DATED: Final = re.compile(r"\d{4}-\d\d-\d\dT")
_DAY: Final = 86_400
_DEEPEST: Final = 60
_LONGEST: Final = 120
_MOST: Final = 200


def show(value: Any, reader: Reader, drop: Collection[str] = ()) -> Any:
    """Returns a value as plain dicts, lists and atoms that no later write can change.

    Args:
        value: anything.
        reader: reads the objects; what it does not look into is shown by its class only.
        drop: names of attributes that are left out, such as random ids.
    """
    return _Shower(reader, frozenset(drop)).shown(value, 0)


class _Shower:
    def __init__(self, reader: Reader, drop: frozenset[str]) -> None:
        self._reader = reader
        self._drop = drop
        self._above: set[int] = set()

    def shown(self, value: Any, depth: int) -> Any:
        cls = type(value)
        if cls in _PLAIN:
            # NaN equals itself nowhere, and True equals 1.
            return value if cls is str or value is None else f"<{value!r}>"
        number = id(value)
        if number in self._above or depth > _DEEPEST:
            return "<again>"
        self._above.add(number)
        try:
            return self._held(value, depth + 1)
        finally:
            self._above.discard(number)

    def _held(self, value: Any, depth: int) -> Any:
        cls = type(value)
        if id(value) in self._reader.kept:
            return f"<{cls.__name__}>"
        if cls is dict:
            return {_key(key): self.shown(each, depth) for key, each in value.items()}
        if cls is list:
            return [self.shown(each, depth) for each in value]
        contents = self._reader(value)
        if contents is Unread.ATOM:
            return repr(value)
        if isinstance(contents, Unread):
            return f"<{cls.__name__}>"
        return self._contents(cls, contents, depth)

    def _contents(self, cls: type, contents: Contents, depth: int) -> Any:
        if contents.items is not None and not contents.fields:
            return [self.shown(each, depth) for each in contents.items]
        if contents.members is not None:
            return sorted((self.shown(each, depth) for each in contents.members), key=repr)
        if contents.data is not None:
            return repr(contents.data)
        made: dict[str, Any] = {_CLASS: cls.__name__}
        if contents.entries is not None:
            made.update({_key(key): self.shown(each, depth) for key, each in contents.entries.items()})
        if contents.items is not None:
            made["<items>"] = [self.shown(each, depth) for each in contents.items]
        for name, each in (contents.fields or {}).items():
            if name not in _BOOKKEEPING and (name not in self._drop or not _is_drawn(each)):
                made[name] = self.shown(each, depth)
        return made


def _is_drawn(value: Any) -> bool:
    """Whether a value looks like an id, a time or a measure of a run, or is made of such."""
    if type(value) is str:
        return _RANDOM.search(value) is not None or _DATED.match(value) is not None
    if isinstance(value, dt.datetime):
        # By the clock of the run, or by the machine's, which code in C asks.
        now = dt.datetime.now(dt.timezone.utc).timestamp()  # noqa: UP017 - as in seeded
        return min(abs(value.timestamp() - each) for each in (now, EPOCH)) < _DAY
    return value is not None


def _key(key: Any) -> str:
    return key if type(key) is str else repr(key)


def differences(one: Any, other: Any) -> list[Path]:
    """Returns the places at which two shown values differ, at most the first two hundred."""
    found: list[Path] = []
    _compare(one, other, (), found)
    return found


def _compare(one: Any, other: Any, path: Path, found: list[Path]) -> None:
    if len(found) >= _MOST or one is other:
        return
    if type(one) is dict and type(other) is dict:
        for key in one.keys() | other.keys():
            if key in one and key in other:
                _compare(one[key], other[key], (*path, key), found)
            else:
                found.append((*path, key))
        if list(one) != list(other) and one.keys() == other.keys():
            found.append(path)
    elif type(one) is list and type(other) is list:
        for index, (left, right) in enumerate(zip(one, other, strict=False)):
            _compare(left, right, (*path, index), found)
        if len(one) != len(other):
            found.append((*path, min(len(one), len(other))))
    elif one != other:
        found.append(path)


def text_of(path: Path) -> str:
    """Returns a path as it is read: `[2].content[0].text`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def leaves(shown: Any) -> Iterator[str]:
    """Yields the texts in a shown value, without names of classes and keys."""
    if isinstance(shown, str):
        yield shown
    elif isinstance(shown, list):
        for each in shown:
            yield from leaves(each)
    elif isinstance(shown, dict):
        for key, each in shown.items():
            if key != _CLASS:
                yield from leaves(each)


def brief(value: Any) -> str:
    """Returns a value as one short line."""
    shown = show(value, Reader())
    text = repr(shown) if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
