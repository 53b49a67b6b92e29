"""JavaScript's conversions and errors for unexpected values, on slots of a store.

A hook may put anything anywhere, and what the real packages then do follows from the language: a missing
field is undefined, a field of null throws, a method that a value does not have throws.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from json.encoder import encode_basestring as _quote
from typing import Any, Final

from agentcore.heap.heap import (
    DEEPEST,
    UNDEFINED,
    ComputedCell,
    DateCell,
    DepthError,
    Drawn,
    ErrorCell,
    Function,
    HeapTypeError,
    Inherited,
    Measured,
    ObjectCell,
    Ref,
    Slot,
    Store,
    Undefined,
    UrlCell,
    Value,
    iso_text,
    number,
)


class PackageError(Exception):
    """An error that the emulated package throws, under the name it has there."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def is_nullish(value: Value) -> bool:
    """Return whether `value == null`."""
    return value is None or value is UNDEFINED


def or_else(value: Value, other: Value) -> Value:
    """`value ?? other`."""
    return other if value is None or value is UNDEFINED else value


def get(store: Store, value: Value, key: str) -> Value:
    """`value[key]` for a field name.

    Raises:
        HeapTypeError: if the value is null or undefined, or a getter does not find what it reads.
    """
    if type(value) is Ref:
        cell = store.cells[value.address]
        if type(cell) is tuple:
            return len(cell) if key == "length" else UNDEFINED
        slot: Value = cell.get(key, UNDEFINED)  # type: ignore[union-attr]
        if slot is UNDEFINED and isinstance(cell, ComputedCell) and key in cell.computed:
            return cell.computed[key](store, value)
        return slot
    if value is None or value is UNDEFINED:
        raise HeapTypeError(f"Cannot read properties of {text(store, value)} (reading '{key}')")
    return len(code_units(value)) if key == "length" and isinstance(value, str) else UNDEFINED


def code_units(value: str) -> Sequence[str]:
    """Returns what a text is made of in JavaScript, where one beyond the first plane is two halves."""
    if value.isascii() or max(value) < "\U00010000":
        return value
    units = value.encode("utf-16-le", "surrogatepass")
    return [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(units), 2)]


def picked(store: Store, value: Value, names: Iterable[str]) -> dict[str, Value]:
    """`{a: value.a, b: value.b}` for some field names; what is undefined may be left out.

    Raises:
        HeapTypeError: if the value is null or undefined, or a getter does not find what it reads.
    """
    if type(value) is Ref:
        cell = store.cells[value.address]
        if type(cell) is ObjectCell:
            return {name: cell[name] for name in names if name in cell}
    return {name: get(store, value, name) for name in names}


def is_array(store: Store, value: Value) -> bool:
    """`Array.isArray(value)`."""
    return type(value) is Ref and type(store.cells[value.address]) is tuple


def is_object(value: Value) -> bool:
    """True if `typeof value` is "object" and the value is not null."""
    return type(value) is Ref


def elements(store: Store, value: Value, method: str = "filter") -> tuple[Slot, ...]:
    """The elements that an array's method goes over.

    Raises:
        HeapTypeError: if the value is no array.
    """
    if type(value) is Ref:
        cell = store.cells[value.address]
        if type(cell) is tuple:
            return cell
    if value is None or value is UNDEFINED:
        raise HeapTypeError(f"Cannot read properties of {text(store, value)} (reading '{method}')")
    raise HeapTypeError(f"{method} is not a function")


def iterated(store: Store, value: Value) -> Iterable[Slot]:
    """Returns the elements that `for (... of value)` and `[...value]` visit.

    Raises:
        HeapTypeError: if the value cannot be iterated.
    """
    if isinstance(value, str):
        return value
    if not is_array(store, value):
        raise HeapTypeError("value is not iterable")
    return elements(store, value)


def spread(store: Store, *sources: Value, **named: Value) -> Ref:
    """A new object, `{...source, ...}` with more fields: what was written into a source shows in it."""
    made: dict[str, Value] = {}
    for source in sources:
        made |= fields(store, source)
    return store.derive(store.object({**made, **named}), *sources)


def fields(store: Store, value: Value) -> dict[str, Slot]:
    """The own fields that `{...value}` and `Object.entries` give, as a new dict.

    Of an error that is neither its text nor its stack; errors of the package own their name, those of the
    language do not. Of a URL it is what somebody put there.
    """
    if isinstance(value, str):
        return {str(index): unit for index, unit in enumerate(code_units(value))}
    if type(value) is not Ref:
        return {}
    cell = store.cells[value.address]
    if isinstance(cell, tuple):
        return {str(index): slot for index, slot in enumerate(cell)}
    if isinstance(cell, ErrorCell):
        named = cell.get("name")
        given = ErrorCell in store.of_one_value and type(named) is not Inherited
        owned = given or str(named).startswith("AI_")
        return {key: slot for key, slot in cell.items() if key not in _OF_ERRORS and (owned or key != "name")}
    if type(cell) is UrlCell:
        return {key: slot for key, slot in cell.items() if key != "href"}
    # What a date is, is no field of it.
    return {} if type(cell) is DateCell else dict(cell)


# No enumeration lists them.
_OF_ERRORS: Final = frozenset({"message", "stack"})


def url_object(store: Store, href: str) -> Ref:
    """A new URL object."""
    return store.object({"href": href}, UrlCell)


def url_text(store: Store, value: Value) -> str | None:
    """The text of a URL object; None for anything else."""
    cell = store.cells[value.address] if type(value) is Ref else ()
    return str(cell["href"]) if type(cell) is UrlCell else None


_LARGEST_INDEX: Final = 2**32 - 2


def in_object_order(keys: Iterable[str]) -> list[str]:
    """Field names as JavaScript lists an object's: array indexes ascending, then the others as they came."""
    keys = list(dict.fromkeys(keys))
    return sorted(filter(_is_index, keys), key=int) + [key for key in keys if not _is_index(key)]


def _is_index(key: str) -> bool:
    if not (key.isascii() and key.isdigit()) or len(key) > len(str(_LARGEST_INDEX)):
        return False
    return (key == "0" or key[0] != "0") and int(key) <= _LARGEST_INDEX


def text(store: Store, value: Value) -> str:
    """`String(value)`.

    Raises:
        DepthError: for arrays that are too deep in each other.
    """
    return _text_of(store, value, ())


def joined(store: Store, values: Iterable[Value], separator: str = "") -> str:
    """`values.join(separator)`: null and undefined are empty, and so is an array inside itself."""
    return _joined(store, values, separator, ())


def _joined(store: Store, values: Iterable[Value], separator: str, above: tuple[int, ...]) -> str:
    pieces = []
    for value in values:
        piece = "" if is_nullish(value) else _text_of(store, value, above)
        pieces.append(piece)
    whole = separator.join(pieces)
    # A text of which there is one is that very text.
    return next((piece for piece in pieces if type(piece) is Drawn and piece == whole), whole)


def _text_of(store: Store, value: Value, above: tuple[int, ...]) -> str:
    if isinstance(value, str):
        return value
    if value is None or value is UNDEFINED:
        return "null" if value is None else "undefined"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        store.clock_shown = store.clock_shown or type(value) is Measured
        return number_text(value)
    if isinstance(value, Function):
        return value.name
    cell = store.cells[value.address]
    if type(cell) is UrlCell:
        return str(cell["href"])
    if isinstance(cell, tuple):
        return "" if value.address in above else _joined(store, cell, ",", _nested(above, value))
    if isinstance(cell, ErrorCell):
        return _error_line(store, cell)
    if "toString" in cell:
        # Data under this name stands before the method that every object inherits.
        raise HeapTypeError("Cannot convert object to primitive value")
    return "[object Object]"


# An empty place of an array is undefined.
_NULL_IN_ARRAYS: Final = frozenset({Function, Undefined})


# A walk goes through two Python frames a level at most (so: no comprehensions): the interpreter allows 1000.
def _nested(above: tuple[int, ...], ref: Ref) -> tuple[int, ...]:
    if len(above) > DEEPEST:
        raise DepthError
    return (*above, ref.address)


def _error_line(store: Store, cell: ErrorCell) -> str:
    name, message = text(store, cell.get("name", "Error")), text(store, cell.get("message", ""))
    if not message:
        return str(name) if type(name) is Inherited else name  # a text of its own, of no error any more
    return f"{name}: {message}" if name else message


_FIXED_FROM: Final = 1e-6
_FIXED_TO: Final = 1e21


def number_text(value: float) -> str:
    """A number as JavaScript prints it (`String(value)`); integers beyond 2**53 are to be rounded before."""
    if value == 0:
        return "0"
    if isinstance(value, int) or _FIXED_FROM <= abs(value) < _FIXED_TO:
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    mantissa, _, exponent = repr(value).partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"


def stringified(store: Store, value: Value) -> Value:
    """`JSON.stringify(value)`: undefined for what JSON cannot hold.

    Raises:
        HeapTypeError: if an object is inside itself.
        DepthError: if the value is too deep.
    """
    if value is UNDEFINED or isinstance(value, Function):
        return UNDEFINED
    return _stringified(store, value, ())


def _stringified(store: Store, value: Value, above: tuple[int, ...]) -> str:
    if isinstance(value, str):
        return quoted(value)
    if type(value) is not Ref:
        return "null" if isinstance(value, Function) else text(store, value)
    if value.address in above:
        raise HeapTypeError("Converting circular structure to JSON")
    inside = _nested(above, value)
    pieces = []
    cell = store.cells[value.address]
    if type(cell) is DateCell:
        shown = date_text(store, cell)
        return "null" if shown is None else quoted(shown)
    if type(cell) is UrlCell:
        return quoted(str(cell["href"]))
    if isinstance(cell, tuple):
        for item in cell:
            shown = "null" if type(item) in _NULL_IN_ARRAYS else _stringified(store, item, inside)
            pieces.append(shown)
        return f"[{','.join(pieces)}]"
    own = fields(store, value)
    for key in in_object_order(own):
        if not isinstance(own[key], Function):
            item = _stringified(store, own[key], inside)
            pieces.append(f"{quoted(key)}:{item}")
    return f"{{{','.join(pieces)}}}"


def date_text(store: Store, cell: DateCell) -> str | None:
    """The text of a date as JSON has it; of one from the clock, no trace can have that."""
    store.clock_shown = store.clock_shown or type(cell["time"]) is Measured
    return iso_text(cell["time"])


_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def quoted(value: str) -> str:
    """A string as JSON.stringify writes it: beyond the control characters, only lone surrogates escaped."""
    if value.isascii():
        return _quote(value)
    paired = value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", _quote(paired))


def plus(store: Store, one: Value, other: Value) -> Value:
    """`one + other`."""
    if isinstance(one, str | Ref | Function) or isinstance(other, str | Ref | Function):
        return text(store, one) + text(store, other)
    total = float(0 if one is None else one) + float(0 if other is None else other)  # type: ignore[arg-type]
    return number(total)


def error_text(store: Store, error: Value) -> Value:
    """Return the message that the package takes from any thrown value."""
    if is_nullish(error):
        return "unknown error"
    if isinstance(error, str):
        return error
    if type(error) is Ref and isinstance(store.cells[error.address], ErrorCell):
        return get(store, error, "message")
    return stringified(store, error)


def described(error: BaseException) -> dict[str, Any]:
    """An error as a trace shows it."""
    return {"name": getattr(error, "name", type(error).__name__), "message": str(error)}
