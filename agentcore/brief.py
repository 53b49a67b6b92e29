"""Short texts of values, for people: what `repr` gives, whatever a value holds.

A value may hold megabytes (an image, a file that a tool read, a thousand steps), and its text is asked for by
others than people: `asyncio.run` of Python 3.11 makes the text of a result, debuggers and logs make texts of
all that they meet. So a text costs what is shown of it. It is that of Python for what is small; of what is
large its beginning is shown, and how much there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from json.encoder import encode_basestring_ascii as _quote
from typing import Any, Final

import attrs

__all__ = ["brief", "brief_json"]

WHOLE: Final = 50_000
"""The most characters of one value's text, or few more."""

_TEXT: Final = 1_000
_BYTES: Final = 100
_JSON: Final = 6_000
_ITEMS: Final = 100
_FIELD_ITEMS: Final = 16
_DEEPEST: Final = 100
_CUT: Final = "…"


def brief(value: object) -> str:
    """Return the text of a value, of at most some 50,000 characters; it is the `__repr__` of values.

    Mappings, sequences and sets are shown by their first items, texts and bytes by their beginning, each with
    how much there is. Objects of other libraries show themselves, and are cut.
    """
    writer = _Writer()
    try:
        writer.write(value, 0)
    except _FullError:
        writer.pieces.append(_CUT)
    return "".join(writer.pieces)


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


class _FullError(Exception):
    """There is no room for more of a text."""


class _Writer:
    """A text being made: its pieces, and the room that is left."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._left = WHOLE

    def put(self, text: str) -> None:
        self._left -= len(text)
        if self._left < 0:
            raise _FullError
        self.pieces.append(text)

    def write(self, value: Any, depth: int) -> None:
        """Write the value, by the function that shows its kind: what shows itself in its own way does."""
        if depth > _DEEPEST:
            self.put(_CUT)
        else:
            _WAYS.get(type(value).__repr__, _foreign)(self, value, depth)

    def items(self, items: Iterable[Any], length: int, depth: int) -> None:
        """Write items with commas between, those past the first hundred by their count."""
        for index, item in enumerate(islice(items, _ITEMS)):
            self.put(", " if index else "")
            self.write(item, depth + 1)
        if length > _ITEMS:
            self.put(f", <{length - _ITEMS} more>")

    def pairs(self, value: Mapping[Any, Any], depth: int) -> None:
        for index, (key, item) in enumerate(islice(value.items(), _ITEMS)):
            self.put(", " if index else "")
            self.write(key, depth + 1)
            self.put(": ")
            self.write(item, depth + 1)
        if len(value) > _ITEMS:
            self.put(f", <{len(value) - _ITEMS} more>")


# ---------------------------------------------------------------- ways of writing


def _ours(writer: _Writer, value: Any, depth: int) -> None:
    kind = type(value)
    if attrs.has(kind):
        _fields(writer, value, depth)
    elif isinstance(value, Mapping):
        writer.put(f"{kind.__name__}({{")
        writer.pairs(value, depth)
        writer.put("})")
    elif isinstance(value, tuple):
        _tuple(writer, value, depth)
    elif isinstance(value, AbstractSet):
        _named_set(writer, value, depth)
    else:
        writer.put("vector([")
        writer.items((value[index] for index in range(len(value))), len(value), depth)
        writer.put("])")


def _fields(writer: _Writer, value: Any, depth: int) -> None:
    writer.put(f"{type(value).__qualname__}(")
    first = True
    for each in attrs.fields(type(value)):
        if not each.repr:
            continue
        writer.put(f"{'' if first else ', '}{each.name}=")
        first = False
        held = getattr(value, each.name)
        if _is_list(held) and len(held) > _FIELD_ITEMS:
            # Every step of a run has all messages: told by their number, as long as nobody asks for them.
            writer.put(f"<{len(held)} items>")
        elif callable(each.repr):
            writer.put(each.repr(held))
        else:
            writer.write(held, depth + 1)
    writer.put(")")


def _is_list(value: object) -> bool:
    return isinstance(value, tuple) or (type(value).__repr__ is brief and hasattr(value, "tolist"))


def _tuple(writer: _Writer, value: tuple[Any, ...], depth: int) -> None:
    writer.put("(")
    writer.items(value, len(value), depth)
    writer.put(",)" if len(value) == 1 else ")")


def _list(writer: _Writer, value: list[Any], depth: int) -> None:
    writer.put("[")
    writer.items(value, len(value), depth)
    writer.put("]")


def _dict(writer: _Writer, value: Mapping[Any, Any], depth: int) -> None:
    writer.put("{")
    writer.pairs(value, depth)
    writer.put("}")


def _set(writer: _Writer, value: AbstractSet[Any], depth: int) -> None:
    if not value:
        writer.put("set()")
        return
    writer.put("{")
    writer.items(value, len(value), depth)
    writer.put("}")


def _named_set(writer: _Writer, value: AbstractSet[Any], depth: int) -> None:
    writer.put(f"{type(value).__name__}(")
    if value:
        _set(writer, value, depth)
    writer.put(")")


def _text(writer: _Writer, value: str, _: int) -> None:
    shown = str.__repr__(value[:_TEXT])
    writer.put(shown if len(value) <= _TEXT else f"{shown}{_CUT} ({len(value)} characters)")


def _bytes(writer: _Writer, value: bytes | bytearray, _: int) -> None:
    shown = repr(value[:_BYTES])
    writer.put(shown if len(value) <= _BYTES else f"{shown}{_CUT} ({len(value)} bytes)")


def _error(writer: _Writer, value: BaseException, depth: int) -> None:
    writer.put(f"{type(value).__name__}(")
    writer.items(value.args, len(value.args), depth)
    writer.put(")")


def _foreign(writer: _Writer, value: object, _: int) -> None:
    try:
        shown = repr(value)
    except Exception:  # noqa: BLE001 - what cannot show itself is no reason to show nothing
        shown = f"<{type(value).__name__} object>"
    writer.put(shown if len(shown) <= _TEXT else f"{shown[:_TEXT]}{_CUT} ({len(shown)} characters)")


_WAYS: Final[dict[Any, Callable[[_Writer, Any, int], None]]] = {
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
    """JSON text in pieces, as `agentcore.values.dump_json` has it but for long texts, which are cut."""
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
