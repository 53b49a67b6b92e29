"""Short forms of values in errors and findings, and names of places within them.

A value may hold megabytes (an image, a file that a tool read, a thousand steps), and its text is asked for by
others than people: `asyncio.run` of Python 3.11 makes the text of a result, debuggers and logs make texts of
all that they meet. So a text costs what is shown of it. It is that of Python for what is small; of what is
large its beginning is shown, and how much there is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import islice
from json.encoder import encode_basestring_ascii as _quote
from typing import Any, Final, NamedTuple, TypeAlias

import attrs

__all__ = ["Trail", "brief", "brief_json", "json_path", "keys_of", "plain_path"]

WHOLE: Final = 20_000
"""The most characters of one value's text, or one more."""

_TEXT: Final = 1_000
_BYTES: Final = 100
_JSON: Final = 6_000
_ITEMS: Final = 100
_FIELD_ITEMS: Final = 16
_CUT: Final = "…"


class _Held(NamedTuple):
    """A value in the text of another one, to be shown there."""

    value: Any


_Parts: TypeAlias = Iterator[str | _Held]


def brief(value: object) -> str:
    """Return the text of a value, of at most some 20,000 characters; it is the `__repr__` of values.

    Mappings, sequences and sets are shown by their first items, texts and bytes by their beginning, each with
    how much there is. Objects of other libraries show themselves, and are cut.
    """
    pieces: list[str] = []
    left = WHOLE
    pending: list[_Parts] = [_parts_of(value)]
    while pending:
        for part in pending[-1]:
            if not isinstance(part, str):
                pending.append(_parts_of(part.value))
                break
            left -= len(part)
            if left < 0:
                return "".join((*pieces, _CUT))
            pieces.append(part)
        else:
            pending.pop()
    return "".join(pieces)


def brief_json(value: Any) -> str:
    """Return frozen JSON as JSON text, cut after some 6,000 characters."""
    pieces: list[str] = []
    left = _JSON
    for piece in _json_pieces(value):
        left -= len(piece)
        pieces.append(piece)
        if left < 0:
            return "".join(pieces)[:_JSON] + _CUT
    return "".join(pieces)


# ---------------------------------------------------------------- each kind of value


def _parts_of(value: object) -> _Parts:
    # Chosen by `__repr__` and not by type, so that a subclass with a `__repr__` of its own keeps it.
    way: Callable[[Any], _Parts] = _WAYS.get(type(value).__repr__, _foreign)
    return way(value)


def _ours(value: Any) -> _Parts:
    return _way_of(type(value))(value)  # type: ignore[arg-type] # classes are hashable


@lru_cache(1_000)
def _way_of(kind: type) -> Callable[[Any], _Parts]:
    """Return the `repr` of a value of one of our own classes."""
    if attrs.has(kind):
        return _fields
    if issubclass(kind, Mapping):
        opening = f"{kind.__name__}({{"
        return lambda value: _enclosed(opening, _pairs(value), "})")
    if issubclass(kind, AbstractSet):
        return _named_set
    return _tuple if issubclass(kind, tuple) else _vector


def _vector(value: Any) -> _Parts:
    return _enclosed("vector([", _items((value[index] for index in range(len(value))), len(value)), "])")


def _fields(value: Any) -> _Parts:
    lead = f"{type(value).__qualname__}("
    for each in attrs.fields(type(value)):
        if not each.repr:
            continue
        yield f"{lead}{each.name}="
        lead = ", "
        held = getattr(value, each.name)
        if _is_list(held) and len(held) > _FIELD_ITEMS:
            # Every step of a run has all messages: printed as their number, as long as nobody asks for them.
            yield f"<{len(held)} items>"
        else:
            yield each.repr(held) if callable(each.repr) else _Held(held)
    yield ")" if lead == ", " else f"{lead})"


def _is_list(value: object) -> bool:
    return isinstance(value, tuple) or (type(value).__repr__ is brief and hasattr(value, "tolist"))


def _enclosed(opening: str, inside: _Parts, closing: str) -> _Parts:
    yield opening
    yield from inside
    yield closing


def _items(items: Iterable[Any], length: int) -> _Parts:
    """Items with commas between, those past the first hundred by their count."""
    for index, item in enumerate(islice(items, _ITEMS)):
        if index:
            yield ", "
        yield _Held(item)
    if length > _ITEMS:
        yield f", <{length - _ITEMS} more>"


def _pairs(value: Mapping[Any, Any]) -> _Parts:
    for index, (key, item) in enumerate(islice(value.items(), _ITEMS)):
        if index:
            yield ", "
        yield _Held(key)
        yield ": "
        yield _Held(item)
    if len(value) > _ITEMS:
        yield f", <{len(value) - _ITEMS} more>"


def _tuple(value: tuple[Any, ...]) -> _Parts:
    return _enclosed("(", _items(value, len(value)), ",)" if len(value) == 1 else ")")


def _list(value: list[Any]) -> _Parts:
    return _enclosed("[", _items(value, len(value)), "]")


def _dict(value: dict[Any, Any]) -> _Parts:
    return _enclosed("{", _pairs(value), "}")


def _set(value: AbstractSet[Any]) -> _Parts:
    return _enclosed("{", _items(value, len(value)), "}") if value else iter(("set()",))


def _named_set(value: AbstractSet[Any]) -> _Parts:
    return _enclosed(f"{type(value).__name__}(", _set(value) if value else iter(()), ")")


def _text(value: str) -> _Parts:
    shown = str.__repr__(value[:_TEXT])
    yield shown if len(value) <= _TEXT else f"{shown}{_CUT} ({len(value)} characters)"


def _bytes(value: bytes | bytearray) -> _Parts:
    shown = repr(value[:_BYTES])
    yield shown if len(value) <= _BYTES else f"{shown}{_CUT} ({len(value)} bytes)"


def _error(value: BaseException) -> _Parts:
    return _enclosed(f"{type(value).__name__}(", _items(value.args, len(value.args)), ")")


def _foreign(value: object) -> _Parts:
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - what cannot show itself is no reason to show nothing
        shown = f"<{type(value).__name__} object>"
    yield shown if len(shown) <= _TEXT else f"{shown[:_TEXT]}{_CUT} ({len(shown)} characters)"


_WAYS: Final[Mapping[object, Callable[[Any], _Parts]]] = {
    brief: _ours,
    str.__repr__: _text,
    bytes.__repr__: _bytes,
    bytearray.__repr__: _bytes,
    tuple.__repr__: _tuple,
    list.__repr__: _list,
    dict.__repr__: _dict,
    set.__repr__: _set,
    frozenset.__repr__: _named_set,
    BaseException.__repr__: _error,
}


# ---------------------------------------------------------------- JSON


def _json_pieces(value: Any) -> Iterator[str]:
    """JSON text in pieces, as `dump_json` of `messages.values` has it but for long texts, which are cut."""
    if not isinstance(value, (tuple, Mapping)):
        yield _scalar(value)
        return
    pending: list[Iterator[tuple[str, Any]]] = [_inside("", value)]
    while pending:
        for lead, child in pending[-1]:
            if isinstance(child, (tuple, Mapping)):
                pending.append(_inside(lead, child))
                break
            yield lead if child is _NOTHING else lead + _scalar(child)
        else:
            pending.pop()


_NOTHING: Final = object()


def _inside(lead: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The members of a container, each with the text before it, and the brackets."""
    yield f"{lead}{'{' if isinstance(value, Mapping) else '['}", _NOTHING
    lead = ""
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield f"{lead}{_scalar(key)}:", child
            lead = ","
        yield "}", _NOTHING
    else:
        for child in value:
            yield lead, child
            lead = ","
        yield "]", _NOTHING


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value[:_JSON])
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return int.__repr__(value) if isinstance(value, int) else float.__repr__(value)


# JSON paths: where in a value something is, as errors and findings have it.

Trail: TypeAlias = tuple[Any, str | int] | None
"""The trail of a walk: what holds a place, and its key there; None at the start.

A walk over what others gave keeps trails and makes a path only of the one that it reports: the text of a path
has all keys above, so that paths of all elements of a list under one long key take their product in memory.
"""

_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


def json_path(path: str, *keys: str | int) -> str:
    """Extend a JSON path by keys: `json_path("$", "a", 0, "b c")` is `$.a[0]["b c"]`."""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        else:
            path += f".{key}" if _NAME.fullmatch(key) else f"[{_quote(key)}]"
    return path


def keys_of(trail: Trail) -> list[str | int]:
    """Return the keys that lead to a place, the outermost first."""
    keys: list[str | int] = []
    while trail is not None:
        trail, key = trail
        keys.append(key)
    return keys[::-1]


def plain_path(path: str, trail: Trail) -> str:
    """Return the path that a trail leads to, with keys as they are: `$.a[0].b c`."""
    return path + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys_of(trail))
