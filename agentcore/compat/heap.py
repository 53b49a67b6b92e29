"""An explicit heap: aliasing made data.

A heap is a persistent vector of cells, the index being the address. A cell is an array of slots (a tuple) or an object of
slots (an `ObjectCell`, insertion order kept); a slot is a scalar, a `Function` or a `Ref` to a cell. A `Heap` is a value; a
`Store` is its transient form, which a run writes to and from which a `Heap` can be taken at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, ClassVar, Final, TypeAlias

from immutabledict import immutabledict

from agentcore.values import Vector, frozen, vector


@frozen
class Ref:
    """The address of a cell."""

    address: int


@frozen
class Function:
    """A slot that holds code of the host, such as a tool's `execute`: it can be shared and called, never copied or written."""

    name: str
    call: Callable[..., Any] | None = None


class _Undefined:
    """What reading a field that is not there gives; never stored."""

    _instance: ClassVar[_Undefined | None] = None

    def __new__(cls) -> _Undefined:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "UNDEFINED"

    def __bool__(self) -> bool:
        return False


UNDEFINED: Final = _Undefined()

Slot: TypeAlias = None | bool | int | float | str | Ref | Function
Value: TypeAlias = Slot | _Undefined


class ObjectCell(immutabledict[str, Slot]):
    """The slots of an object."""


class ErrorCell(ObjectCell):
    """The slots of an error: its text is `message`, and a structured clone keeps only the standard names."""


class StepCell(ObjectCell):
    """The slots of a step result, which also answers `text`, `toolCalls`, `toolResults` and the like, computed at each reading."""


Cell: TypeAlias = tuple[Slot, ...] | ObjectCell


class HeapTypeError(TypeError):
    """What JavaScript throws where a value is not what an operation needs; `name` is the name that a trace gives it."""

    name = "TypeError"


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


# JavaScript has one kind of number: integers above 2**53 are rounded, and 1.0 is 1.
_EXACT: Final = 2**53
_PRINTED_WHOLE: Final = 1e21


def number(value: int | float) -> int | float:
    """The number as JavaScript holds and prints it."""
    if type(value) is int and -_EXACT <= value <= _EXACT:
        return value
    double = float(value)
    if double.is_integer() and abs(double) < _PRINTED_WHOLE:
        return int(Decimal(repr(double)))
    return double


# Deeper than any program; what is deeper still may be an object inside itself, and is printed with care.
_QUICK_DEPTH: Final = 150


class _DeepError(Exception):
    pass


class Store:
    """A heap that a run writes to. Its own writes are `put`, `push` and `splice`; those of hooks come through views.

    `origins` tells, for every cell that the run copied, from which cells and which of their fields it was made.
    """

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.sealed: set[int] = set()
        self.origins: dict[int, tuple[tuple[int, frozenset[str] | None], ...]] = {}
        self.watching = False
        self._printed: dict[int, Any] = {}
        self._kept: Vector[Cell] = vector()
        self._changed: set[int] = set()

    # ---------------------------------------------------------------- making

    def array(self, slots: Iterable[Slot]) -> Ref:
        """A new array."""
        self.cells.append(tuple(slots))
        return Ref(len(self.cells) - 1)

    def object(self, fields: Mapping[str, Value], kind: type[ObjectCell] = ObjectCell) -> Ref:
        """A new object; undefined fields are left out, which no program can tell from holding undefined."""
        if UNDEFINED in fields.values():
            fields = {key: slot for key, slot in fields.items() if slot is not UNDEFINED}
        self.cells.append(kind(fields))
        return Ref(len(self.cells) - 1)

    def load(self, value: Any) -> Slot:
        """New cells for a JSON value; a `Ref` or `Function` inside it is kept."""
        kind = type(value)
        if kind is str or value is None or kind is bool or kind is Ref or kind is Function:
            return value  # type: ignore[no-any-return]
        if kind is int or kind is float:
            return number(value)
        if isinstance(value, Mapping):
            return self.object({key: self.load(item) for key, item in value.items()})
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            return self.array([self.load(item) for item in value])
        raise HeapTypeError(f"a heap holds JSON, not {type(value).__name__}")

    def derive(self, ref: Ref, *sources: Value, fields: frozenset[str] | None = None) -> Ref:
        """Records that a new cell was made from these cells (from these fields of them only, if given)."""
        if self.watching:
            known = self.origins.get(ref.address, ())
            self.origins[ref.address] = known + tuple((s.address, fields) for s in sources if isinstance(s, Ref))
        return ref

    def clone(self, slot: Slot, made: dict[int, Ref] | None = None) -> Slot:
        """A structured clone: nothing is shared with the original, and what is one object in it is one in the clone.

        Raises:
            DataCloneError: if a function is reached.
        """
        made = {} if made is None else made
        if isinstance(slot, Function):
            raise DataCloneError(f"{slot.name} could not be cloned.")
        if not isinstance(slot, Ref):
            return slot
        known = made.get(slot.address)
        if known is not None:
            return known
        cell = self.cells[slot.address]
        copy = made[slot.address] = self.array(()) if isinstance(cell, tuple) else self.object({})
        self.cells[copy.address] = self._cloned(cell, made)
        return self.derive(copy, slot)

    def _cloned(self, cell: Cell, made: dict[int, Ref]) -> Cell:
        if isinstance(cell, tuple):
            return tuple([self.clone(item, made) for item in cell])
        fields = {key: self.clone(item, made) for key, item in cell.items()}
        if isinstance(cell, ErrorCell):
            return ErrorCell({**fields, "name": "Error"})
        return ObjectCell(fields)

    # ---------------------------------------------------------------- writing

    def replace(self, ref: Ref, cell: Cell) -> None:
        """Puts another cell at an address.

        Raises:
            HeapTypeError: if the cell is frozen.
        """
        address = ref.address
        if address in self.sealed:
            raise HeapTypeError("Cannot assign to a property of a frozen object")
        self.cells[address] = cell
        self._printed.clear()
        if address < len(self._kept):
            self._changed.add(address)

    def put(self, ref: Ref, key: str, value: Slot) -> None:
        """Assigns a field of an object."""
        cell = self.cells[ref.address]
        self.replace(ref, type(cell)({**cell, key: value}))  # type: ignore[arg-type, dict-item]

    def push(self, ref: Ref, slots: Iterable[Slot]) -> None:
        """Appends to an array in place."""
        self.replace(ref, (*self.cells[ref.address], *slots))  # type: ignore[arg-type]

    def seal(self, slot: Value) -> None:
        """Freezes what a slot refers to, deeply."""
        stack = [slot]
        while stack:
            ref = stack.pop()
            if isinstance(ref, Ref) and ref.address not in self.sealed:
                self.sealed.add(ref.address)
                stack.extend(child for _, child in keyed(self.cells[ref.address]))

    # ---------------------------------------------------------------- looking

    def heap(self) -> Heap:
        """The heap as it is now. Only what changed since the last one was taken is new."""
        kept = self._kept.evolver()
        for address in self._changed:
            kept[address] = self.cells[address]
        kept.extend(self.cells[len(self._kept) :])
        self._kept = kept.persistent()
        self._changed.clear()
        return Heap(cells=self._kept, sealed=frozenset(self.sealed))

    def plain(self, slot: Value) -> Any:
        """The value as it is in a trace: plain JSON, functions dropped, an object inside itself as `{"cycle": levels up}`.

        Equal parts may be one object, so the value is to be read, not written.
        """
        try:
            return self._quickly(slot, 0)
        except _DeepError:
            return self._carefully(slot, [])

    def _quickly(self, slot: Value, depth: int) -> Any:
        if type(slot) is not Ref:
            return slot
        address = slot.address
        printed = self._printed.get(address)
        if printed is not None:
            return printed
        if depth > _QUICK_DEPTH:
            raise _DeepError
        cell = self.cells[address]
        depth += 1
        result: Any
        if type(cell) is tuple:
            result = [self._quickly(item, depth) if type(item) is Ref else _shown(item) for item in cell]
        else:
            result = {
                key: self._quickly(item, depth) if type(item) is Ref else item
                for key, item in cell.items()  # type: ignore[union-attr]
                if type(item) is not Function
            }
        self._printed[address] = result
        return result

    def _carefully(self, slot: Value, above: list[int]) -> Any:
        if not isinstance(slot, Ref):
            return _shown(slot)
        if slot.address in above:
            return {"cycle": len(above) - above.index(slot.address)}
        inside = [*above, slot.address]
        cell = self.cells[slot.address]
        if isinstance(cell, tuple):
            return [self._carefully(item, inside) for item in cell]
        return {
            key: self._carefully(item, inside) for key, item in cell.items() if not isinstance(item, Function)
        }


def _shown(slot: Value) -> Any:
    return None if isinstance(slot, Function | _Undefined) else slot
