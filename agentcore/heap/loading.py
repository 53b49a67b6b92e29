"""Cells made of Python values: plain data, and what JavaScript has besides (rule compat.host-values).

A date becomes a date, a function a function, an exception an error, and an object of a class an object with
its attributes. What JavaScript has no counterpart of is refused, with the place.
"""

from __future__ import annotations

import datetime as dt
import enum
import functools
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from agentcore.errors import AgentCoreError, InvalidJsonError
from agentcore.heap.cells import (
    UNDEFINED,
    DateCell,
    Drawn,
    ErrorCell,
    Function,
    HeapTypeError,
    Inherited,
    Measured,
    ObjectCell,
    Ref,
    Slot,
    Value,
    number,
)
from agentcore.messages.values import freeze, is_value, json_path

if TYPE_CHECKING:
    from agentcore.heap.heap import Store
    from agentcore.heap.views import Desk

__all__ = [
    "Accepts",
    "Handle",
    "HostValueError",
    "Loading",
    "answer_parts",
    "is_list",
    "is_mapping_of",
    "is_one",
    "require_json",
    "unfit",
]


class Handle:
    """A cell's stand-in outside of its store: loading a value that contains one keeps the reference."""

    __slots__ = ("ref", "store")

    ref: Ref
    store: Store


class HostValueError(AgentCoreError, HeapTypeError):
    """A value that Python code gave to an emulation, and that the emulated package could not be given.

    `source` is who gave it, such as `tool look` or `hook prepareStep`; `path` is where it stands in what was
    given; `reason` is what it is, and what to give instead.
    """

    wire_name = "HostValueError"

    path: str

    def __init__(self, source: str, path: str, reason: str) -> None:
        super().__init__(source, path, reason)
        self.source = source
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.source}: {self.path}: {self.reason}"

    def given_by(self, source: str, path: str = "$") -> HostValueError:
        """The same, with who gave it, and with the path of what was given."""
        return HostValueError(source, path + self.path.removeprefix("$"), self.reason)


class NotEmulatedError(AgentCoreError):
    """A hook used a part of the emulated package that the emulation leaves out.

    `what` is the name of that part in the package, such as `messageList.get.all.aiV4.core`; `user` is who
    used it, such as `hook p1`.
    """

    wire_name = "NotEmulatedError"

    def __init__(self, user: str, what: str, instead: str) -> None:
        super().__init__(user, what, instead)
        self.user = user
        self.what = what
        self.instead = instead

    def __str__(self) -> str:
        return f"{self.user}: {self.what} is not emulated; {self.instead}"


class Accepts(enum.Enum):
    """The types that are taken besides JSON."""

    OBJECTS = "dates, functions, errors and objects of classes"
    BYTES = "the same, and bytes as objects of numbers"
    JSON = "nothing"


class _RefusedError(Exception):
    """A value is refused; where it stands is looked for only then."""

    def __init__(self, value: object, reason: str) -> None:
        super().__init__(reason)
        self.value = value
        self.reason = reason


_KEPT: Final = frozenset({str, bool, type(None), Ref, Function, Drawn, Inherited, Measured})
_NUMBERS: Final = frozenset({int, float})
_FUNCTIONS: Final = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    functools.partial,
    type,
)
_BYTES: Final = (bytes, bytearray, memoryview)
# Each byte becomes a slot: a file that a tool returned would fill heap and trace.
_MOST_BYTES: Final = 65_536
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND: Final = dt.timedelta(milliseconds=1)
# Py_TPFLAGS_HEAPTYPE: what a class statement made, and some of what is made in C.
_HEAP_TYPE: Final = 1 << 9


class Loading:
    """Cells being made of values: a place for each container first, then what is in it."""

    def __init__(self, store: Store, accepts: Accepts = Accepts.OBJECTS) -> None:
        self.store = store
        self.accepts = accepts
        self.todo: list[tuple[Any, Ref, int]] = []
        # The value is kept with its cell, so that its id stays its own.
        self.made: dict[int, tuple[Any, Ref]] = {}

    def load(self, values: Sequence[Any], keys: Sequence[str | int] = ()) -> list[Any]:
        """The slots for some values; `keys` are where they stand, the value itself being given if left out.

        Raises:
            HostValueError: for a value that is refused.
            DepthError: if one is too deep.
        """
        try:
            slots = [self._slot(value, 0) for value in values]
            self._fill()
        except _RefusedError as refused:
            index, *steps = _place_of(refused.value, values)
            place = (*keys[index : index + 1], *steps)
            raise HostValueError("a value", json_path("$", *place), refused.reason) from None
        return slots

    def _slot(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind in _KEPT or value is UNDEFINED:
            return value
        if kind in _NUMBERS:
            return _number(value)
        if isinstance(value, Handle) and value.store is self.store:
            return value.ref
        if not isinstance(value, dict | list):
            if _is_container(value):
                # Only what can be written has an identity: the same tuple twice is two arrays.
                return self._place(value, depth)
            scalar = self._scalar(value)
            if scalar is not UNDEFINED:
                return scalar
        known = self.made.get(id(value))
        if known is None:
            known = self.made[id(value)] = value, self._place(value, depth)
        return known[1]

    def _scalar(self, value: Any) -> Any:
        """The slot of what is no object; UNDEFINED for an object. Subclasses are what they are a kind of."""
        if isinstance(value, str):
            # A plain text of the same letters, though the class has a `__str__` of its own, as members of a
            # StrEnum do.
            return str.__str__(value)
        if isinstance(value, int | float):
            return _number(int(value) if isinstance(value, int) else float(value))
        if self.accepts is Accepts.JSON:
            raise _RefusedError(value, _why_refused(value) or f"a {type(value).__name__}; give JSON")
        if isinstance(value, _FUNCTIONS):
            named: object = getattr(value, "__name__", None)
            return Function(name=str(named or type(value).__name__), call=value)
        return UNDEFINED

    def _place(self, value: Any, depth: int) -> Ref:
        ref = self.store._place(depth)  # noqa: SLF001 - a part of the store, apart for its state's sake
        self.todo.append((value, ref, depth + 1))
        return ref

    def _fill(self) -> None:
        cells, load = self.store.cells, self._slot
        for value, ref, depth in self.todo:
            if isinstance(value, Mapping):
                fields = {
                    key if type(key) is str else _field_name(key, value): load(item, depth)
                    for key, item in value.items()
                }
                cells[ref.address] = ObjectCell(_defined(fields))
            elif _is_container(value):
                slots = [load(item, depth) for item in value]
                cells[ref.address] = tuple([None if slot is UNDEFINED else slot for slot in slots])
            else:
                kind, own = self._object(value)
                cells[ref.address] = kind(_defined({key: load(item, depth) for key, item in own.items()}))

    def _object(self, value: Any) -> tuple[type[ObjectCell], Mapping[str, Any]]:
        """The kind of cell that an object becomes, and its fields."""
        if isinstance(value, dt.date):
            return DateCell, {"time": _milliseconds(value)}
        if isinstance(value, _BYTES) and self.accepts is Accepts.BYTES and len(value) <= _MOST_BYTES:
            # As JSON has those of JavaScript: an object with a number for each.
            return ObjectCell, {str(index): byte for index, byte in enumerate(bytes(value))}
        if isinstance(value, BaseException):
            return ErrorCell, {"name": Inherited(type(value).__name__), "message": str(value)}
        reason = _why_refused(value)
        if reason is not None:
            raise _RefusedError(value, reason)
        return ObjectCell, _attributes(value)


def _is_container(value: Any) -> bool:
    return isinstance(value, Mapping) or (
        isinstance(value, Sequence) and not isinstance(value, (str, *_BYTES))
    )


def _defined(fields: Mapping[str, Value]) -> Mapping[str, Slot]:
    # No test by `in`: comparing is far slower than telling identities apart.
    for slot in fields.values():
        if slot is UNDEFINED:
            return {key: slot for key, slot in fields.items() if slot is not UNDEFINED}
    return fields  # type: ignore[return-value]


def _field_name(key: Any, holder: object) -> str:
    if not isinstance(key, str):
        raise _RefusedError(holder, f"a field name is text, not {type(key).__name__}; use str(key)")
    return str.__str__(key)


def _number(value: float) -> int | float:
    try:
        return number(value)
    except HeapTypeError:
        raise _RefusedError(value, "JSON has no such number; give None, or its text") from None


# ---------------------------------------------------------------- objects


def _milliseconds(value: dt.date) -> int:
    """Milliseconds since 1970; a day is its first moment, and a time without a zone is UTC."""
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
    aware = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    return (aware - _EPOCH) // _MILLISECOND


def _attributes(value: Any) -> Mapping[str, Any]:
    """The attributes of an object, those of slots included; names of two underscores are private."""
    found: dict[str, Any] = {}
    bases = type(value).__mro__
    for base in reversed(bases):
        for name, member in vars(base).items():
            # Only what Python made for `__slots__`: reading through any other descriptor would run code of
            # the object's class.
            if type(member) is types.MemberDescriptorType:
                with suppress(AttributeError):
                    found[name] = member.__get__(value)
    found |= getattr(value, "__dict__", {})
    private = ("__", *(f"_{base.__name__.lstrip('_')}__" for base in bases))
    return {name: each for name, each in found.items() if not name.startswith(private)}


# What to give in its place; the first of which it is an instance counts.
_INSTEAD: Final[tuple[tuple[Any, str], ...]] = (
    (_BYTES, "bytes; give their base64 text"),
    ((set, frozenset), "a set; JSON has none, give a list, such as sorted(value)"),
    (enum.Enum, "a member of an enum; give its value"),
    ((dt.time, dt.timedelta, dt.tzinfo), "a time without a date; give its text, or a number"),
    (types.ModuleType, "a module; give what it holds"),
    ((types.GeneratorType, types.AsyncGeneratorType), "a generator; give a list"),
)
_AWAITABLE: Final = (
    "an awaitable, and nobody awaits it here; give a plain function, or run it on a loop that"
    " awaits, such as run_agent in the framework's module agents"
)
# Their objects are values of which JavaScript has no counterpart, though their classes are like others.
_MODULES: Final = frozenset(
    {"_decimal", "collections", "decimal", "fractions", "ipaddress", "pathlib", "re", "uuid"}
)
# By these an object that holds something open, or can be read once only, is known: it is no data.
_RESOURCE: Final = ("close", "aclose", "__enter__", "__aenter__", "__next__")


def _why_refused(value: Any) -> str | None:
    """Return why a value cannot be loaded, and what to give instead; None if it can be."""
    kind = type(value)
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()  # or Python warns that nobody waited for it
        return _AWAITABLE
    for kinds, instead in _INSTEAD:
        if isinstance(value, kinds):
            return instead
    if is_value(kind):
        return f"a {kind.__name__} of the core; give its JSON, such as thaw(message_to_wire(value))"
    made = all(base.__flags__ & _HEAP_TYPE and _library(base) not in _MODULES for base in kind.__mro__[:-1])
    if made and not any(hasattr(kind, name) for name in _RESOURCE):
        return None
    return f"a {kind.__name__}; JavaScript has no counterpart of it, give JSON"


def _library(kind: type) -> str:
    # In Python 3.13 paths are of `pathlib._local`.
    return kind.__module__.partition(".")[0]


# ---------------------------------------------------------------- where it stands


def _place_of(value: object, values: Sequence[Any]) -> tuple[int, *tuple[str | int, ...]]:
    """The place of a value in others, by identity: the index of one, and the keys that lead on."""
    pending: list[tuple[tuple[int, *tuple[str | int, ...]], Any]] = [
        ((index,), each) for index, each in enumerate(values)
    ]
    seen: set[int] = set()
    for place, each in pending:
        if each is value:
            return place
        if id(each) not in seen:
            seen.add(id(each))
            pending.extend(((*place, key), child) for key, child in _children(each))
    raise AssertionError("a value that was refused is not where it was found")


def _children(value: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(value, Mapping):
        yield from ((str(key), child) for key, child in value.items())
    elif _is_container(value):
        yield from enumerate(value)
    elif type(value) not in _KEPT and not isinstance(value, (str, *_BYTES, *_FUNCTIONS)):
        yield from _attributes(value).items()


# ---------------------------------------------------------------- settings, and answers of models

_Attribute: TypeAlias = "attrs.Attribute[Any]"


def _refused(attribute: _Attribute, value: object, wanted: str, path: str = "") -> HostValueError:
    return HostValueError("settings", f"$.{attribute.name}{path}", f"{_value_text(value)}; give {wanted}")


def is_list(wanted: str) -> Any:
    """A validator of settings: a list, as `wanted` says."""

    def validate(_: object, attribute: _Attribute, value: object) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray):
            raise _refused(attribute, value, wanted)

    return validate


def is_one(kind: type, wanted: str, *, optional: bool = False) -> Any:
    """A validator of settings: an object of a class."""

    def validate(_: object, attribute: _Attribute, value: object) -> None:
        if not (isinstance(value, kind) or (optional and value is None)):
            raise _refused(attribute, value, wanted)

    return validate


def is_mapping_of(kind: type, wanted: str, *, optional: bool = False) -> Any:
    """A validator of settings: a mapping from names to objects of a class."""

    def validate(_: object, attribute: _Attribute, value: Any) -> None:
        if optional and value is None:
            return
        if not isinstance(value, Mapping):
            raise _refused(attribute, value, f"a mapping from names to {wanted}")
        for name, each in value.items():
            if not isinstance(each, kind):
                raise _refused(attribute, each, wanted, f".{name}")

    return validate


def answer_parts(desk: Desk, answer: Any) -> Sequence[Mapping[str, Any]]:
    """Returns the parts that a model answered.

    Raises:
        HostValueError: if they are not a list of objects, each with a type.
    """
    desk.settled(answer)
    if not isinstance(answer, Sequence) or isinstance(answer, str | bytes):
        raise desk.refuse(unfit("$", answer, "a list of parts"))
    for index, part in enumerate(answer):
        if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
            raise desk.refuse(unfit(f"$[{index}]", part, "an object with a type"))
    require_json(desk, answer)
    return answer


def require_json(desk: Desk, value: Any) -> None:
    """Raises HostValueError if a value is not JSON, as what comes over a wire always is."""
    try:
        freeze(value)
    except InvalidJsonError as error:
        raise desk.refuse(HostValueError("", error.path, error.reason)) from None


def unfit(path: str, value: object, wanted: str) -> HostValueError:
    """The error of a value in a model's answer that is not what is wanted there."""
    return HostValueError("model", path, f"{_value_text(value)}; give {wanted}")


def _value_text(value: object) -> str:
    return repr(value) if value is None or isinstance(value, str) else f"a {type(value).__name__}"
