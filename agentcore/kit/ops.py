"""The algebra of ops: where the ops of every format lead, what they do there, and the record of a run.

A format has its own words for ops and ops of its own, both as data: `spelling` says which op of the algebra a
word means and which fields have its path and its value, `extras` has what the algebra lacks. How a path finds
a live object is the format's, too: from what a hook is given, below a name, within shapes.

An op that leads nowhere is skipped and listed (rule oracle.op-skipped); what becomes of one that the object
refuses is the format's (rule oracle.op-refused).

What a run shows to its hooks, tools and models is written down on one record for all formats, under the names
of the trace's fields. What a format's trace has of the record is then a list of names
(`Record.entries_of`); how a live value becomes JSON is the format's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Final, NoReturn, Protocol, TypeAlias

import attrs

from agentcore.heap.heap import UNDEFINED
from agentcore.kit.families import Refusal
from agentcore.machine.run import Run

__all__ = [
    "Field",
    "NowhereError",
    "Op",
    "Path",
    "Record",
    "RecordedRun",
    "Slot",
    "Spelling",
    "ThrownError",
    "Turn",
    "below",
    "index_in",
    "is_list",
    "slot",
]

Json: TypeAlias = dict[str, Any]

# ---------------------------------------------------------------- the record of a run


class Record:
    """The record of a run, by fields of its trace.

    `kept` are the live objects that ops keep, by name; `refusals` are the program's ops that a
    live object refused, each with its place and reason.
    """

    def __init__(self) -> None:
        self._entries: dict[str, list[Any]] = {}
        self.kept: Json = {}
        self.refusals: list[Refusal] = []

    def of(self, field: str) -> list[Any]:
        """Returns the entries of a field, in the order of the run."""
        return self._entries.setdefault(field, [])

    def add(self, field: str, entry: Any) -> Any:
        """Writes an entry down, and returns it."""
        self.of(field).append(entry)
        return entry

    def entries_of(self, *fields: str) -> Json:
        """Returns fields of a trace with their entries."""
        return {field: self.of(field) for field in fields}

    def entries_if_any(self, *fields: str) -> Json:
        """Returns those of the fields that have an entry."""
        return {field: self.of(field) for field in fields if self._entries.get(field)}


class RecordedRun:
    """A program about to run: its record, and what its model answers.

    `run` is the run of the core, once it has run; None where the core does not run it.

    Args:
        program: the program.
        at_end: what the model answers once the script has ended.
        script: the model's answers, unless the program has them.
    """

    def __init__(self, program: Mapping[str, Any], *, at_end: Any, script: Sequence[Any] = ()) -> None:
        self.program = program
        self.record = Record()
        self.model_calls = 0
        self.run: Run | None = None
        self._script: Sequence[Any] = program.get("script", script)
        self._at_end = at_end

    @property
    def refusals(self) -> Sequence[Refusal]:
        """The program's ops that a live object refused, each with its place and reason."""
        return self.record.refusals

    def answer(self) -> Any:
        """Returns what the script has for this call of the model, and counts the call."""
        number, self.model_calls = self.model_calls, self.model_calls + 1
        return self._script[number] if number < len(self._script) else self._at_end


# ---------------------------------------------------------------- ops


Op: TypeAlias = Mapping[str, Any]
Path: TypeAlias = Sequence[str | int]


class NowhereError(Exception):
    """A path leads to nothing, or to where the op cannot be done."""


class ThrownError(Exception):
    """The error that a program's hook or tool throws."""

    name = "Error"


# --- paths --------------------------------------------------------------------------------------------------


def is_list(value: Any) -> bool:
    """Whether a live value is a list: a Python one, a frozen one or a view."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def index_in(items: Sequence[Any], key: Any) -> int | None:
    """Returns the index of the element that a key of a path names, None where there is no such element."""
    if type(key) is not int:
        return None
    index = key + len(items) if key < 0 else key
    return index if 0 <= index < len(items) else None


def slot(container: Any, key: str | int, *, fresh: bool = False) -> Any:
    """Returns the key as the container has it.

    Args:
        container: a live object or list.
        key: a key of a path.
        fresh: whether a field that the object lacks will do.

    Raises:
        NowhereError: if the container has no such field or element.
    """
    if isinstance(container, Mapping):
        if not isinstance(key, str) or not (fresh or _has_own(container, key)):
            raise NowhereError(f"no field {key!r}")
        return key
    if not is_list(container):
        raise NowhereError(f"{key!r} of something that is not an object")
    index = index_in(container, key)
    if index is None:
        raise NowhereError(f"no element {key!r}")
    return index


def below(value: Any, path: Iterable[str | int]) -> Any:
    """Returns what a path leads to from a live value.

    Raises:
        NowhereError: if the path leads to nothing.
    """
    for key in path:
        value = value[slot(value, key)]
    return value


def _has_own(container: Mapping[str, Any], key: str) -> bool:
    """True if the object has the field itself; the name of an error is its class's."""
    owns = getattr(container, "owns", None)
    return container.get(key, UNDEFINED) is not UNDEFINED and (owns is None or owns(key))


# --- what a format says of its ops --------------------------------------------------------------------------


class Field(Protocol):
    """A slot that an op writes to: a field of a live object or an element of a live list."""

    def get(self) -> Any:
        """Returns what is there."""

    def put(self, value: Any) -> None:
        """Replaces what is there. Raises NowhereError where that cannot be done."""

    def drop(self) -> None:
        """Takes the field or the element out. Raises NowhereError where that cannot be done."""


@attrs.frozen
class Slot:
    """A field or an element that takes any value."""

    container: Any
    key: Any

    def get(self) -> Any:
        """Returns what is there."""
        return self.container[self.key]

    def put(self, value: Any) -> None:
        """Replaces what is there."""
        self.container[self.key] = value

    def drop(self) -> None:
        """Takes the field or the element out."""
        del self.container[self.key]


@attrs.frozen
class Spelling:
    """A format's spelling of an op: the op of the algebra, and the fields with its path and its value.

    The value of `keep` is the name to keep something by, that of `throw` the text, that of `observe` the name
    of the observation.
    """

    means: str
    path: str = "path"
    value: str = "value"


class Turn(ABC):
    """The ops of one call of a hook; `by` is the hook as texts name it, `over` whether an op was the last."""

    spelling: ClassVar[Mapping[str, Spelling]]
    extras: ClassVar[Mapping[str, Callable[[Any, Op], None]]] = MappingProxyType({})
    refusals: ClassVar[tuple[type[Exception], ...]] = (TypeError, ValueError, LookupError, AttributeError)

    def __init__(self, record: Record, by: str) -> None:
        self.record = record
        self.by = by
        self.over = False

    def run(self, ops: Sequence[Op] | None) -> None:
        """Does ops in order, as far as they go.

        Raises:
            Exception: what an op throws.
        """
        for number, op in enumerate(ops or ()):
            if self.over:
                break
            try:
                self.do(op)
            except NowhereError as error:
                # Listed and passed over: where a path leads depends on the framework, and a program has to
                # run on all of them.
                self.list_error(number, str(error))
            except self.refusals as error:
                self.refused(number, op, error)

    def do(self, op: Op) -> None:
        """Does one op."""
        word = self.word(op)
        spelling = self.spelling.get(word)
        if spelling is None:
            self.extras[word](self, op)
        else:
            _ALGEBRA[spelling.means](self, spelling, op)

    def list_error(self, number: int, reason: str) -> None:
        """Lists an op that was not done."""
        self.record.add("opErrors", f"{self.by}, op {number}: {reason}")

    def observe(self, what: str, value: Any) -> None:
        """Writes an observation down."""
        self.record.add("observations", {"by": self.by, "what": what, "value": value})

    def word(self, op: Op) -> str:
        """Returns the word of an op."""
        word: str = op["op"]
        return word

    def thrown(self, message: str) -> Exception:
        """Returns the error that an op throws."""
        return ThrownError(message)

    def value(self, op: Op, spelling: Spelling) -> Any:
        """Returns the value of an op, as it is written into live objects."""
        return op[spelling.value]

    def item(self, item: Any) -> Any:
        """Returns an item of an op that writes several."""
        return item

    def observed_value(self, op: Op, path: Path) -> Any:
        """Returns what an op observes, as a trace has it."""
        return self.at(op, path)

    def written(self, path: Path) -> str:
        """Returns a path as a text, the name of an observation that has none."""
        return str(path)

    def items(self, live: Any, what: str) -> Any:
        """Returns a live list to change; `what` is named where there is none. Raises NowhereError."""
        if not is_list(live):
            raise NowhereError(f"{what} is not an array")
        return live

    @abstractmethod
    def at(self, op: Op, path: Path) -> Any:
        """Returns what a path of an op leads to. Raises NowhereError where it leads to nothing."""

    @abstractmethod
    def field(self, op: Op, path: Path, *, fresh: bool = False) -> Field:
        """Returns where an op writes; `fresh`: a field that is not there will do. Raises NowhereError."""

    @abstractmethod
    def refused(self, number: int, op: Op, error: Exception) -> None:
        """Called where a live object refuses an op; may raise."""


# --- the algebra --------------------------------------------------------------------------------------------


def _set(turn: Turn, spelling: Spelling, op: Op) -> None:
    field = turn.field(op, op[spelling.path], fresh=True)
    field.put(turn.value(op, spelling))


def _delete(turn: Turn, spelling: Spelling, op: Op) -> None:
    turn.field(op, op[spelling.path]).drop()


def _add_text(turn: Turn, spelling: Spelling, op: Op) -> None:
    field = turn.field(op, op[spelling.path])
    found = field.get()
    if not isinstance(found, str):
        raise NowhereError("only a string can be appended to")
    field.put(found + op[spelling.value])


def _items(turn: Turn, spelling: Spelling, op: Op, what: str) -> Any:
    return turn.items(turn.at(op, op.get(spelling.path, ())), what)


def _push(turn: Turn, spelling: Spelling, op: Op) -> None:
    _items(turn, spelling, op, "what is pushed to").append(turn.value(op, spelling))


def _insert(turn: Turn, spelling: Spelling, op: Op) -> None:
    items, index = _items(turn, spelling, op, "what is inserted into"), op["index"]
    at = index + len(items) if index < 0 else index
    if not 0 <= at <= len(items):
        raise NowhereError(f"no place {index}")
    items.insert(at, turn.value(op, spelling))


def _splice(turn: Turn, spelling: Spelling, op: Op) -> None:
    items, start = _items(turn, spelling, op, "what is spliced"), op.get("start", 0)
    start = max(len(items) + start, 0) if start < 0 else min(start, len(items))
    count = max(op.get("count", len(items)), 0)
    items[start : min(start + count, len(items))] = [turn.item(item) for item in op.get("items", ())]


def _reverse(turn: Turn, spelling: Spelling, op: Op) -> None:
    _items(turn, spelling, op, "what is reversed").reverse()


def _clear(turn: Turn, spelling: Spelling, op: Op) -> None:
    _items(turn, spelling, op, "what is cleared").clear()


def _keep(turn: Turn, spelling: Spelling, op: Op) -> None:
    turn.record.kept[op[spelling.value]] = turn.at(op, op.get(spelling.path, ()))


def _observe(turn: Turn, spelling: Spelling, op: Op) -> None:
    path = op.get(spelling.path, ())
    value = turn.observed_value(op, path)
    turn.observe(op[spelling.value] if spelling.value in op else turn.written(path), value)


def _throw(turn: Turn, spelling: Spelling, op: Op) -> NoReturn:
    raise turn.thrown(op.get(spelling.value, "thrown"))


_ALGEBRA: Final[Mapping[str, Callable[[Turn, Spelling, Op], None]]] = MappingProxyType(
    {
        "set": _set,
        "delete": _delete,
        "add text": _add_text,
        "push": _push,
        "insert": _insert,
        "splice": _splice,
        "reverse": _reverse,
        "clear": _clear,
        "keep": _keep,
        "observe": _observe,
        "throw": _throw,
    }
)
