"""An explicit heap: aliasing made data (rule compat.one-heap).

A `Heap` is a value; a `Store` is its transient form, which a run writes to and from which a `Heap` can be
taken at any moment. What both hold is in `cells`, and is to be imported from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from agentcore.heap.cells import (
    DEEPEST,
    UNDEFINED,
    Cell,
    ComputedCell,
    DataCloneError,
    DateCell,
    DepthError,
    Drawn,
    ErrorCell,
    Function,
    Heap,
    HeapTypeError,
    Inherited,
    Measured,
    MeasuredCell,
    ObjectCell,
    PatternCell,
    Ref,
    SchemaCell,
    Slot,
    Undefined,
    UrlCell,
    Value,
    getters,
    iso_text,
    keyed,
    moment,
    number,
    ref_to,
)
from agentcore.heap.loading import Accepts, Handle, HostValueError, Loading, NotEmulatedError
from agentcore.messages.values import Vector, updated_vector, vector

__all__ = [
    "DEEPEST",
    "UNDEFINED",
    "Accepts",
    "Cell",
    "ComputedCell",
    "DataCloneError",
    "DateCell",
    "DepthError",
    "Drawn",
    "ErrorCell",
    "Function",
    "Handle",
    "Heap",
    "HeapTypeError",
    "HostValueError",
    "Inherited",
    "Measured",
    "MeasuredCell",
    "NotEmulatedError",
    "ObjectCell",
    "PatternCell",
    "Ref",
    "SchemaCell",
    "Slot",
    "Store",
    "Undefined",
    "UrlCell",
    "Value",
    "getters",
    "iso_text",
    "keyed",
    "moment",
    "number",
]


_KEPT: Final = frozenset({str, bool, type(None), Ref, Function, Drawn, Inherited, Measured})
# An empty place of an array is undefined; JSON leaves it out of objects, and has null for it in arrays.
_LEFT_OUT: Final = frozenset({Function, Undefined, Drawn, Measured})
# What stands for a cell that is in no trace.
_HIDDEN: Final = object()
_WITH_CARE: Final = frozenset({Ref, Function})
_NUMBERS: Final = frozenset({int, float})
# The names that a structured clone of an error keeps.
_ERROR_NAMES: Final = frozenset(
    {"Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"}
)
# What stands for a cell that is being printed.
_PRINTING: Final = object()


class _CycleError(Exception):
    pass


_Holders: TypeAlias = "int | tuple[int, _Holders]"


class Store:
    """A heap that a run writes to. Its own writes are `put` and `push`; those of hooks come through views.

    `origins` names, for every cell that the run copied, from which cells and which of their fields it was
    made; it is kept while `watching`.
    """

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.sealed: set[int] = set()
        self.origins: dict[int, tuple[tuple[int, frozenset[str] | None], ...]] = {}
        self.watching = False
        self.of_one_value: frozenset[type] = _OF_ONE_VALUE
        """The kinds of cells that are shown as one value; with `ErrorCell`, errors as name and message."""
        self.clock_shown = False
        """Whether the trace has a number from the clock."""
        # What was printed, by address, and which printed cells hold it: those are stale when it is written.
        # Most have one holder: its address; of more, the last and what there was before it, as a pair.
        self._printed: dict[int, Any] = {}
        self._printed_in: dict[int, _Holders] = {}
        # How deep printed cells are, which building on printed ones does not show.
        self._levels: dict[int, int] = {}
        self._kept: Vector[Cell] = vector()
        self._changed: set[int] = set()

    @classmethod
    def of(cls, heap: Heap) -> Store:
        """A store that goes on from a heap."""
        store = cls()
        store.cells = list(heap.cells)
        store.sealed = set(heap.sealed)
        return store

    # ---------------------------------------------------------------- making

    def array(self, slots: Iterable[Slot]) -> Ref:
        """A new array."""
        cells = self.cells
        cells.append(tuple(slots))
        return ref_to(len(cells) - 1)

    def object(self, fields: Mapping[str, Value], kind: type[ObjectCell] = ObjectCell) -> Ref:
        """A new object; undefined fields are left out, which no program can tell from holding undefined."""
        cells = self.cells
        cell = kind(fields)  # type: ignore[arg-type]  # until the next lines
        for key, slot in fields.items():
            # No test by `in`: comparing is far slower than telling identities apart.
            if slot is UNDEFINED:
                dict.__delitem__(cell, key)
        cells.append(cell)
        return ref_to(len(cells) - 1)

    def load(self, value: Any, accepts: Accepts = Accepts.OBJECTS) -> Any:
        """Returns the slot for a value: new cells for dicts, lists and the like (see `loading`).

        A `Ref`, a `Function` or a handle of this store inside it is kept. A dict, list or object that is in
        the value more than once, or inside itself, becomes one cell. UNDEFINED stays what it is, but null in
        an array.

        Raises:
            HostValueError: for a value that JavaScript has no counterpart of.
            DepthError: if the value is too deep.
        """
        if type(value) in _KEPT:
            return value
        return Loading(self, accepts).load([value])[0]

    def load_all(self, values: Iterable[Any], keys: Sequence[str | int] | None = None) -> list[Any]:
        """Returns the slots for some values; what is in several of them becomes one cell. See `load`.

        `keys` are where the values stand, for errors; their indexes if left out.
        """
        listed = [*values]
        return Loading(self).load(listed, range(len(listed)) if keys is None else keys)

    def derive(self, ref: Ref, *sources: Value, fields: frozenset[str] | None = None) -> Ref:
        """Records that a new cell was made from these cells (from these fields of them only, if given)."""
        # Most runs are checks, which ask only for the trace: noting origins for all of them would be paid
        # at each copy.
        if self.watching:
            new = tuple([(source.address, fields) for source in sources if type(source) is Ref])
            known = self.origins.get(ref.address)
            self.origins[ref.address] = new if known is None else known + new
        return ref

    def clone(self, slot: Slot) -> Slot:
        """A structured clone: shares nothing with the original; what is one object in it is one in the clone.

        Errors keep only message, cause and a name that the language has; computed fields are lost.

        Raises:
            DataCloneError: if a function is reached.
            DepthError: if the value is too deep.
        """
        if type(slot) is not Ref:
            return _not_function(slot)
        cells, origins = self.cells, self.origins if self.watching else None
        copy = self._place(0)
        made = {slot.address: copy}
        todo = [(slot.address, copy, 1)]
        for source, ref, depth in todo:
            cell = cells[source]
            kept = cell if type(cell) is tuple or type(cell) is ObjectCell else _cloned(cell)
            below: dict[Any, Ref] = {}
            for key, item in keyed(kept):
                if type(item) is Ref:
                    known = made.get(item.address)
                    if known is None:
                        known = made[item.address] = self._place(depth)
                        todo.append((item.address, known, depth + 1))
                    below[key] = known
                elif type(item) is Function:
                    _not_function(item)
            # A cell never changes, so one without references is its own copy.
            cells[ref.address] = _with_refs(kept, below) if below else kept
            if origins is not None:
                origins[ref.address] = ((source, None),)
        return copy

    def _place(self, depth: int) -> Ref:
        if depth > DEEPEST:
            raise DepthError
        self.cells.append(())
        return ref_to(len(self.cells) - 1)

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
        # Cells beyond are new since the last heap was taken, and come with it in any case.
        if address < len(self._kept):
            self._changed.add(address)
        stale = [address]
        while stale:
            one = stale.pop()
            if self._printed.pop(one, None) is not None:
                holders = self._printed_in.pop(one, None)
                while holders is not None:
                    last, holders = (holders, None) if isinstance(holders, int) else holders
                    stale.append(last)

    def put(self, ref: Ref, key: str, value: Slot) -> None:
        """Assigns a field of an object."""
        cell = self.cells[ref.address]
        if not isinstance(cell, ObjectCell):
            raise HeapTypeError(f"an array has no field {key!r}")
        self.replace(ref, type(cell)({**cell, key: value}))

    def push(self, ref: Ref, slots: Iterable[Slot]) -> None:
        """Appends to an array in place."""
        cell = self.cells[ref.address]
        if not isinstance(cell, tuple):
            raise HeapTypeError("push is not a function")
        self.replace(ref, (*cell, *slots))

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
        self._kept = updated_vector(
            self._kept,
            {address: self.cells[address] for address in self._changed},
            self.cells[len(self._kept) :],
        )
        self._changed.clear()
        return Heap(cells=self._kept, sealed=frozenset(self.sealed))

    def plain(self, slot: Value) -> Any:
        """The value as it is in a trace: plain JSON.

        Functions are dropped (null in an array); an object inside itself is `{"cycle": levels up}`. Equal
        parts may be one object, so the value is to be read, not written.

        Raises:
            DepthError: if the value is too deep.
        """
        if type(slot) is not Ref:
            return self._plain_scalar(slot)
        printed = self._printed.get(slot.address)
        if printed is not None:
            return None if printed is _HIDDEN else printed
        try:
            printed = self._print(slot.address, 0)
        except (_CycleError, DepthError, RecursionError) as error:
            # Without a call of our own: there may be no room for one.
            self._printed.clear()
            self._printed_in.clear()
            if not isinstance(error, _CycleError):
                raise DepthError from None
        else:
            return None if printed is _HIDDEN else printed
        try:
            return self._print_cyclic(slot, {})
        except RecursionError:
            raise DepthError from None

    def printed(self, address: int) -> Any:
        """Returns the remembered JSON of a cell; None if there is none, or the cell was written since.

        So whatever was made of all that is in the cell can be made again as long as this is the same object.
        """
        return self._printed.get(address)

    def _print(self, address: int, depth: int) -> Any:  # noqa: C901 - a call more at each level costs too much
        if depth > DEEPEST:
            raise DepthError
        printed, printed_in, levels = self._printed, self._printed_in, self._levels
        printed[address] = _PRINTING
        cell = self.cells[address]
        if type(cell) in self.of_one_value:
            printed[address], levels[address] = self._one_value(cell), 0  # type: ignore[arg-type]
            return printed[address]
        level = 0
        # Scalars are copied with their container, in one go.
        shown: Any = list(cell) if isinstance(cell, tuple) else dict(cell)
        for key, item in enumerate(cell) if isinstance(cell, tuple) else cell.items():
            if type(item) is Ref:
                inside = item.address
                value = printed.get(inside)
                if value is None:
                    value = self._print(inside, depth + 1)
                elif value is _PRINTING:
                    raise _CycleError
                if value is _HIDDEN:
                    _leave_out(shown, key)
                else:
                    shown[key] = value
                held = printed_in.get(inside)
                printed_in[inside] = address if held is None else (address, held)
                if levels[inside] >= level:
                    level = levels[inside] + 1
            elif type(item) in _LEFT_OUT:
                self._leave_out(shown, key, item)
        # Checked again: a cell built on printed ones adds up depths that no single call went through.
        if level > DEEPEST:
            raise DepthError
        printed[address] = shown
        levels[address] = level
        return shown

    def _print_cyclic(self, slot: Ref, above: dict[int, int]) -> Any:
        if slot.address in above:
            return {"cycle": len(above) - above[slot.address]}
        if len(above) > DEEPEST:
            raise DepthError
        cell = self.cells[slot.address]
        if type(cell) in self.of_one_value:
            return self._one_value(cell)  # type: ignore[arg-type]
        above[slot.address] = len(above)
        shown: Any = list(cell) if isinstance(cell, tuple) else dict(cell)
        for key, item in keyed(cell):
            if isinstance(item, Ref):
                shown[key] = self._print_cyclic(item, above)
                if shown[key] is _HIDDEN:
                    _leave_out(shown, key)
            elif type(item) in _LEFT_OUT:
                self._leave_out(shown, key, item)
        del above[slot.address]
        return shown

    def is_hidden(self, slot: Value) -> bool:
        """Return whether a trace leaves a field with this value out."""
        if type(slot) is not Ref:
            return slot is UNDEFINED or type(slot) in (Function, Drawn)
        cell = self.cells[slot.address]
        return type(cell) is MeasuredCell or (type(cell) is DateCell and type(cell["time"]) is Measured)

    def _plain_scalar(self, slot: Value) -> Any:
        self.clock_shown = self.clock_shown or type(slot) is Measured
        if type(slot) is Inherited:
            return str(slot)
        return None if type(slot) in _LEFT_OUT or slot is UNDEFINED else slot

    def _leave_out(self, shown: Any, key: str | int, item: Slot) -> None:
        self.clock_shown = self.clock_shown or type(item) is Measured
        _leave_out(shown, key)

    def _one_value(self, cell: ObjectCell) -> Any:
        """A cell of which a trace has one value, or as much as its name and its message."""
        kind = type(cell)
        if kind is MeasuredCell:
            return _HIDDEN
        if kind is UrlCell:
            return cell["href"]
        if kind is DateCell:
            return _HIDDEN if type(cell["time"]) is Measured else iso_text(cell["time"])
        named = {key: cell[key] for key in ("name", "message") if key in cell}
        return {
            key: self._plain_scalar(item) if type(item) is not Ref else self.plain(item)
            for key, item in named.items()
        }


_OF_ONE_VALUE: Final = frozenset({DateCell, UrlCell, MeasuredCell})


def _not_function(slot: Slot) -> Slot:
    if isinstance(slot, Function):
        raise DataCloneError(f"{slot.name} could not be cloned.")
    return slot


def _cloned(cell: Cell) -> Cell:
    """Returns what a clone keeps of a cell: of an error some fields, of others all that is not computed.

    Of a date and of a regular expression it keeps what they are, and nothing that somebody put there.
    """
    if type(cell) is DateCell:
        return DateCell({"time": cell["time"]})
    if type(cell) is PatternCell:
        return PatternCell()
    if type(cell) is UrlCell:
        # A URL keeps its text in an internal slot, which a structured clone leaves out: the package's
        # clones are empty objects.
        return ObjectCell({key: slot for key, slot in cell.items() if key != "href"})
    if isinstance(cell, ComputedCell | SchemaCell):
        return ObjectCell(cell)
    if not isinstance(cell, ErrorCell):
        return cell
    name = cell.get("name")
    kept: dict[str, Slot] = {"name": name if name in _ERROR_NAMES else "Error"}
    return ErrorCell(kept | {key: cell[key] for key in ("message", "cause") if key in cell})


def _with_refs(cell: Cell, refs: Mapping[Any, Ref]) -> Cell:
    if isinstance(cell, tuple):
        return tuple([refs.get(index, slot) for index, slot in enumerate(cell)])
    return type(cell)({**cell, **refs})


def _leave_out(shown: Any, key: str | int) -> None:
    if isinstance(shown, list):
        shown[key] = None  # type: ignore[index]
    else:
        del shown[key]
