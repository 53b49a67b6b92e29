"""The values that a heap is made of.

A heap is a persistent vector of cells, the index being the address. A cell is an array of slots (a tuple) or
an object of slots (an `ObjectCell`, insertion order kept); a slot is a scalar, a `Function` or a `Ref` to a
cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, NoReturn, TypeAlias

from agentcore.errors import ImmutableWriteError
from agentcore.messages.converters import parse_url
from agentcore.messages.values import Vector, frozen

DEEPEST: Final = 384
"""How many levels of objects inside objects a walk goes down: three times what a program may hold."""


@frozen
class Ref:
    """The address of a cell."""

    address: int


# References are values, and nearly all are low: those are made once.
_LOW_REFS: Final = tuple(Ref(address) for address in range(1024))


def ref_to(address: int) -> Ref:
    """`Ref(address)`, at less cost."""
    return _LOW_REFS[address] if address < len(_LOW_REFS) else Ref(address)


@frozen
class Function:
    """A slot that holds code of the host, such as a tool's `execute`: shared and called, never copied."""

    name: str
    call: Callable[..., Any] | None = None


class Undefined(Enum):
    """The type of `UNDEFINED`, which is what reading a field that is not there gives; no cell holds it."""

    UNDEFINED = "undefined"

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __bool__(self) -> Literal[False]:
        return False


UNDEFINED: Final = Undefined.UNDEFINED

# `Drawn`, `Inherited` and `Measured` are texts and numbers.
Slot: TypeAlias = bool | int | float | str | Ref | Function | None
Value: TypeAlias = Slot | Undefined


def _no_write(cell: ObjectCell, *_: object, **__: object) -> NoReturn:
    raise ImmutableWriteError("$", f"an {type(cell).__name__} never changes: put another cell into the store")


class ObjectCell(dict[str, Slot]):
    """The slots of an object: a mapping that cannot be written, hashable by value.

    Cells of different kinds are different, whatever they hold.
    """

    # A dict because cells are made and read more than anything else, and a dict is made and read without
    # running Python; a test holds that no method of it writes.
    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _no_write
    clear = pop = popitem = setdefault = update = _no_write

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and dict.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((type(self), frozenset(self.items())))

    def __copy__(self) -> ObjectCell:
        return self

    def __deepcopy__(self, memo: object) -> ObjectCell:
        return self

    def __reduce__(self) -> tuple[type[ObjectCell], tuple[dict[str, Slot]]]:
        return type(self), (dict(self),)


class Drawn(str):
    """A text that the package draws at random, such as an id: readable, and in no trace."""

    __slots__ = ()


class Measured(float):
    """A number that the package takes from the clock: readable, and no trace can have it."""

    __slots__ = ()


class Inherited(str):
    """The name of an error that is its class's: no field of the error itself."""

    __slots__ = ()


class ErrorCell(ObjectCell):
    """The slots of an error: its text is `message`; a clone keeps that, `cause` and a standard name."""

    __slots__ = ()


class PatternCell(ObjectCell):
    """A regular expression that every text matches: no clone has what somebody put into it."""

    __slots__ = ()


class SchemaCell(ObjectCell):
    """The slots of a schema object, whose `jsonSchema` is computed and cannot be assigned."""

    __slots__ = ()


class MeasuredCell(ObjectCell):
    """The slots of an object that the package takes from the clock: it is in no trace."""

    __slots__ = ()


class DateCell(ObjectCell):
    """The slots of a date: `time`, in milliseconds since 1970. It is shown as ISO text."""

    __slots__ = ()


class ComputedCell(ObjectCell):
    """The slots of an object of a class with getters: it also has the fields `computed`, made when read.

    A getter is given the store and the object. A clone of the object has lost them.
    """

    __slots__ = ()

    computed: ClassVar[Mapping[str, Callable[[Any, Ref], Value]]] = MappingProxyType({})


def _of_url(name: str) -> Callable[[Any, Ref], Value]:
    def read(store: Any, ref: Ref) -> Value:
        url = parse_url(str(store.cells[ref.address]["href"]))
        return UNDEFINED if url is None else str(getattr(url, name))

    return read


class UrlCell(ComputedCell):
    """The slots of a URL object: `href` is its text, and all else in it is what somebody put there.

    It is shown as its text; a clone of it has only what was put there.
    """

    __slots__ = ()

    computed: ClassVar[Mapping[str, Callable[[Any, Ref], Value]]] = MappingProxyType(
        {
            name: _of_url(name)
            for name in (
                *("origin", "protocol", "username", "password", "host", "hostname", "port", "pathname"),
                *("search", "hash"),
            )
        }
    )


def getters(cell: ObjectCell) -> Mapping[str, Callable[[Any, Ref], Value]]:
    """The fields of an object that are made at each reading."""
    return cell.computed if isinstance(cell, ComputedCell) else _NO_GETTERS


_NO_GETTERS: Final[Mapping[str, Callable[[Any, Ref], Value]]] = MappingProxyType({})


Cell: TypeAlias = tuple[Slot, ...] | ObjectCell


class HeapTypeError(TypeError):
    """The error that JavaScript throws for an unsuitable value; `name` is its name in a trace."""

    name = "TypeError"


class DepthError(HeapTypeError):
    """A value is nested deeper than `DEEPEST` levels, which only hooks can make: make flatter ones there."""

    name = "RangeError"

    def __init__(self) -> None:
        super().__init__(f"nested more than {DEEPEST} levels deep; make it flatter")


class DataCloneError(Exception):
    """A structured clone met a function (claim C37)."""

    name = "DataCloneError"


@frozen
class Heap:
    """A heap at one moment: its cells, and the addresses of those that are frozen."""

    cells: Vector[Cell]
    sealed: frozenset[int]

    def cell(self, ref: Ref) -> Cell:
        """The cell at an address; IndexError if the heap has none there."""
        return self.cells[ref.address]

    def children(self, ref: Ref) -> Iterable[tuple[str | int, Ref]]:
        """The references that a cell holds, by key."""
        for key, slot in keyed(self.cell(ref)):
            if type(slot) is Ref:
                yield key, slot

    def reached(self, root: Value) -> dict[int, tuple[str | int, ...]]:
        """Every address that can be reached from a root, with the first path to it in breadth-first order."""
        paths: dict[int, tuple[str | int, ...]] = {}
        queue: list[tuple[Ref, tuple[str | int, ...]]] = [(root, ())] if isinstance(root, Ref) else []
        for ref, path in queue:
            if ref.address in paths:
                continue
            paths[ref.address] = path
            queue.extend((child, (*path, key)) for key, child in self.children(ref))
        return paths


def keyed(cell: Cell) -> Iterable[tuple[str | int, Slot]]:
    """The slots of a cell with their keys."""
    return cell.items() if isinstance(cell, ObjectCell) else enumerate(cell)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


_LATEST_TIME: Final = 8.64e15
_DAY: Final = 86_400_000


def moment(time: Any) -> datetime | None:
    """Returns the moment that milliseconds since 1970 are; None for no time, and beyond Python's years."""
    try:
        return _EPOCH + timedelta(milliseconds=time)
    except (OverflowError, ValueError):
        return None


def iso_text(time: Any) -> str | None:
    """Returns the text of milliseconds since 1970 as JSON has it: null for no time, six digits far away."""
    if not abs(time) <= _LATEST_TIME:
        return None
    days, within = divmod(int(time), _DAY)
    year, month, day = _civil(days)
    years = f"{year:04d}" if 0 <= year <= _LAST_SHORT_YEAR else f"{year:+07d}"
    seconds, milliseconds = divmod(within, 1000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{milliseconds:03d}"
    return f"{years}-{month:02d}-{day:02d}T{clock}Z"


_LAST_SHORT_YEAR: Final = 9999
_DAYS_OF_400_YEARS: Final = 146_097


def _civil(days: int) -> tuple[int, int, int]:
    """Returns year, month and day of a day since 1970, of any year: Python's own dates end with 9999."""
    cycles, rest = divmod(days, _DAYS_OF_400_YEARS)
    found = _EPOCH + timedelta(days=rest)
    return found.year + 400 * cycles, found.month, found.day


# JavaScript has one kind of number: integers above 2**53 are rounded, and 1.0 is 1.
_EXACT: Final = 2**53
_PRINTED_WHOLE: Final = 1e21


def number(value: float) -> int | float:
    """The number as JavaScript holds and prints it.

    Raises:
        HeapTypeError: for what JSON has no number for: NaN, infinities, and integers beyond them.
    """
    if type(value) is int and -_EXACT <= value <= _EXACT:
        return value
    try:
        double = float(value)
    except OverflowError:
        double = float("inf")
    # True of NaN and the infinities alone, without a call of math's.
    if double - double != 0:
        raise HeapTypeError(f"a heap holds JSON, which has no number {double}")
    if double.is_integer() and abs(double) < _PRINTED_WHOLE:
        # The shortest digits that mean this double, as JavaScript prints them: not the double's own digits.
        return int(Decimal(repr(double)))
    return double
