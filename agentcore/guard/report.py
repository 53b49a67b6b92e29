"""`guard`, its report, and the error of one that is to be empty."""

from __future__ import annotations

import array
import enum
import functools
import gc
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

import attrs
from immutabledict import immutabledict

from agentcore.errors import AgentCoreError
from agentcore.guard.reading import (
    ATOMS,
    PROXIED,
    ClassState,
    Contents,
    Reader,
    Unread,
    container_of,
    is_core_value,
    plan_of,
)
from agentcore.guard.snapshot import Found, Snapshot, compared
from agentcore.messages.values import frozen, sealed

__all__ = [
    "Change",
    "ClassReader",
    "GuardedWriteError",
    "Instance",
    "Opaque",
    "Report",
    "Shower",
    "Unshown",
    "changes",
    "guard",
]


class GuardedWriteError(AgentCoreError):
    """A guarded value was changed; `paths` are the places, `report` has all of it.

    `path` is the first of the places.
    """

    wire_name = "GuardedWriteError"

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self.report = report
        self.paths = tuple(change.path for change in report.changes)
        self.path = self.paths[0]

    def __str__(self) -> str:
        return f"{self.report}\nreturn new messages and leave these as they are"


class Report:
    """The changes in a guarded block; true if there are any."""

    __slots__ = ("_changes", "_opaque")

    def __init__(self, opaque: tuple[Opaque, ...]) -> None:
        self._changes: tuple[Change, ...] = ()
        self._opaque = opaque

    @property
    def changes(self) -> tuple[Change, ...]:
        """The places that hold something else; none until the block has ended, in whatever way."""
        return self._changes

    @property
    def opaque(self) -> tuple[Opaque, ...]:
        """The values that were compared by identity only: what happens inside of them is not reported."""
        return self._opaque

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        if not self.changes:
            return "nothing was changed"
        count = len(self.changes)
        lines = (f"  {change}" for change in self.changes)
        return "\n".join((f"{count} place{'s' * (count > 1)} changed:", *lines))

    def require_unchanged(self) -> None:
        """Raises GuardedWriteError if anything changed."""
        if self.changes:
            raise GuardedWriteError(self)


@contextmanager
def guard(*values: object, raises: bool = False, opaque: tuple[type, ...] = ()) -> Iterator[Report]:
    """Reports what the code of a block changes of these values, and of everything that they lead to.

    Paths begin at `$`, the value; of several values, `$[0]` is the first. Changes are found by comparing
    before and after, so a value that is changed and changed back has no change. The values are held during
    the block, and by nothing afterwards.

    An exception of the block goes on, and the report is there all the same (rule guard.report-stands).

    Args:
        values: anything: containers, dataclasses, attrs and pydantic models, objects of any class.
        raises: whether the end of the block raises if anything changed.
        opaque: classes whose instances are not looked into.

    Raises:
        GuardedWriteError: if anything changed and `raises` is true.
    """
    reader = ClassReader(opaque)
    snapshot = Snapshot(values[0] if len(values) == 1 else values, reader)
    report = Report(_opaque(snapshot))
    try:
        yield report
    finally:
        report._changes = changes(snapshot, reader)  # noqa: SLF001 - read only for all others
        # An error that is raised here would keep them.
        del snapshot, values
    if raises:
        report.require_unchanged()


def _opaque(snapshot: Snapshot) -> tuple[Opaque, ...]:
    return tuple(
        Opaque(path=snapshot.path(number), type_name=type(value).__name__)
        for number, value in snapshot.opaque.items()
    )


# What changed since a snapshot: its objects are read again, also those that nothing leads to any more.


def changes(snapshot: Snapshot, reader: Reader) -> tuple[Change, ...]:
    """The changes since the snapshot was taken, in the order in which one reads what was given."""
    differing = _Differing(snapshot, reader)
    return tuple(
        differing.change(number, found)
        for number, record in snapshot.records.items()
        for found in compared(record, reader)
    )


class _Differing:
    def __init__(self, snapshot: Snapshot, reader: Reader) -> None:
        self._snapshot = snapshot
        self._before = Shower(lambda value: snapshot.held(value) or reader(value))
        self._after = Shower(reader)

    def change(self, number: int, found: Found) -> Change:
        paths, every = self._snapshot.paths(number, found.step)  # guard.every-path
        held = self._snapshot.holds(found.before)
        return Change(
            path=paths[0],
            aliases=paths[1:],
            kind=found.kind,
            before=self._before(found.before),
            after=self._after(found.after),
            in_place=found.kind != "replaced" or not held,  # guard.in-place
            all_aliases=every,
        )


# Values as a report keeps them: copies that cannot change, made of what was read.

_DEEPEST: Final = 50


class Shower:
    """Shows values by what `read` says they hold; each object once."""

    def __init__(self, read: Callable[[Any], Contents | Unread]) -> None:
        self._read = read
        # With the object, or its number could become another's.
        self._known: dict[int, tuple[Any, Any]] = {}

    def __call__(self, value: Any) -> Any:
        """The value: an atom itself, anything else as a copy."""
        return self._show_value(value, ())

    def _show_value(self, value: Any, above: tuple[int, ...]) -> Any:
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
            return tuple(self._show_value(item, above) for item in contents.items)
        if contents.members is not None:
            return frozenset(self._show_value(member, above) for member in contents.members)
        if contents.entries is not None:
            return self._mapping(contents.entries, above)
        fields = contents.fields or {}
        if set(fields) == {PROXIED}:
            return self._show_value(fields[PROXIED], above)
        # What classes note for themselves is compared, but not worth reading.
        public = {name: each for name, each in fields.items() if not name.startswith("__")}
        return Instance(type(value).__name__, self._mapping(public, above))

    def _mapping(self, entries: dict[Any, Any], above: tuple[int, ...]) -> immutabledict[Any, Any]:
        return immutabledict(
            {self._show_value(key, above): self._show_value(each, above) for key, each in entries.items()}
        )


# What a report consists of: changes, what was not looked into, and values as they are shown.

_LONGEST: Final = 120


@frozen
class Instance:
    """An object as it was: the name of its class, and its attributes by name."""

    type_name: str
    fields: immutabledict[str, Any]


@frozen
class Unshown:
    """Instead of a value that is `opaque`, that holds itself (`cycle`), or that lies too deep (`depth`)."""

    type_name: str
    reason: Literal["opaque", "cycle", "depth"]


@sealed
@attrs.frozen(kw_only=True)
class Opaque:
    """A value whose state cannot be seen, or not all of it: it was told from others by identity only."""

    path: str
    type_name: str


@sealed
@attrs.frozen(kw_only=True)
class Change:
    """One place that holds something else than before.

    `path` is the place. `aliases` are its other paths: one for every other way by which the object that has
    the place is reached. Paths are those before the block, but for the index of an element that is new.
    `all_aliases` means that there are no more of them; 1000 are listed at most.

    `kind` is `added`, `removed` or `replaced`, or, for a dict whose keys have another order,
    `reordered`. `before` and `after` are values that do not change: tuples for lists,
    `immutabledict` for dicts, `Instance` for objects. `before`
    of what was added is None, and so is `after` of what was removed.

    `in_place` says which object changed. True: the one that has the place; it got, lost or overwrote what is
    its own, and all who hold it see that. False: the place holds another object now, and the one before is as
    it was, unless it has changes of its own.
    """

    path: str
    aliases: tuple[str, ...]
    kind: Literal["added", "removed", "replaced", "reordered"]
    before: Any
    after: Any
    in_place: bool
    all_aliases: bool = True

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path of the place, `path` first."""
        return (self.path, *self.aliases)

    def __str__(self) -> str:
        more = "" if self.all_aliases else ", and more"
        also = f"; also {', '.join(self.aliases)}{more}" if self.aliases else ""
        return f"{self.path}: {self._what()}{also}"

    def _what(self) -> str:
        before, after = in_brief(self.before), in_brief(self.after)
        if self.kind == "added":
            return f"added {after}"
        if self.kind == "removed":
            return f"removed {before}"
        if self.kind == "reordered":
            return f"reordered {before} -> {after}"
        if self.in_place:
            return f"{before} -> {after}"
        return f"another object, {before} -> {after}"


# ---------------------------------------------------------------- texts


def in_brief(value: object) -> str:
    """A value of a report as one short line."""
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > _LONGEST:
            return f"{text[: _LONGEST - 3]}..."
    return text


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, Instance):
        yield from _joined(f"{value.type_name}(", _pairs(value.fields, "{}="), ")")
    elif isinstance(value, Unshown):
        yield f"<{value.type_name}>" if value.reason == "opaque" else "..."
    elif type(value) is immutabledict:
        yield from _joined("{", _pairs(value, "{!r}: "), "}")
    elif type(value) is tuple:
        yield from _joined("[", map(_pieces, value), "]")
    elif type(value) is frozenset:
        yield from _joined("{", map(_pieces, value), "}")
    elif isinstance(value, str | bytes):
        # Of a long one no more is made than is shown.
        yield repr(value[:_LONGEST])
    else:
        yield repr(value)


def _pairs(fields: immutabledict[Any, Any], lead: str) -> Iterator[Iterator[str]]:
    for key, value in fields.items():
        yield _after(lead.format(key), value)


def _after(lead: str, value: object) -> Iterator[str]:
    yield lead
    yield from _pieces(value)


def _joined(opening: str, items: Iterator[Iterator[str]], closing: str) -> Iterator[str]:
    yield opening
    for index, item in enumerate(items):
        if index:
            yield ", "
        yield from item
    yield closing


# What classes and members of enums hold for all who have them (rule guard.class-state).

# Py_TPFLAGS_HEAPTYPE: classes that a class statement made, and some made in C.
_HEAP_TYPE: Final = 1 << 9
# Code: what a class says its objects do, which is no state.
_CODE: Final = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.MethodWrapperType,
    types.MethodType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.GenericAlias,
    property,
    staticmethod,
    classmethod,
    functools.cached_property,
    functools.partialmethod,
    functools.singledispatchmethod,
)
_WRITABLE: Final = frozenset({list, dict, set, deque, bytearray, array.array, OrderedDict, defaultdict})


def class_data(cls: type) -> Contents:
    """Returns what a class holds for all its objects: its data by name, that of the nearest base first.

    Methods, properties and what Python or the class's own kind notes for itself are no data.
    """
    found: dict[str, Any] = {}
    for base in cls.__mro__:
        if _is_made_in_python(base):
            own = {name: value for name, value in vars(base).items() if _is_data(cls, name, value)}
            found = {**own, **found}
    return Contents(fields=found)


def _is_data(cls: type, name: object, value: Any) -> bool:
    if not isinstance(name, str) or name.startswith("__") or name == "_abc_impl":
        return False
    kind = type(value)
    if enum.Enum in cls.__mro__ and (cls in kind.__mro__ or _is_sunder(name)):
        return False
    return kind in ATOMS or not _is_code(value)


def _is_sunder(name: str) -> bool:
    """Whether a name is one of those that enums keep for themselves."""
    return name.startswith("_") and name.endswith("_")


def _is_code(value: Any) -> bool:
    """Whether a class's attribute is code: a function that keeps nothing, or a descriptor of nothing else."""
    kind = type(value)
    if kind in (staticmethod, classmethod):
        return _is_code(value.__func__)
    if kind is types.FunctionType:
        return not _keeps_data(value)
    if issubclass(kind, _CODE) or vars(kind).get("__module__") == "typing":
        return True
    if not any("__get__" in vars(base) for base in kind.__mro__):
        return False
    held = plan_of(kind).fields(value).values()
    return all(type(each) in ATOMS or issubclass(type(each), (*_CODE, type)) for each in held)


def _keeps_data(function: types.FunctionType) -> bool:
    """Whether a function keeps a container from call to call: a default, an attribute, or in its closure."""
    held = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    held += vars(function).values()
    # gc: the contents of a cell that is still empty cannot be asked for.
    held += gc.get_referents(*(function.__closure__ or ()))
    return any(type(each) in _WRITABLE for each in held)


class ClassReader(Reader):
    """Reads objects, members of enums, and what classes hold."""

    def __call__(self, value: Any) -> Contents | Unread:
        """What the object holds, or why it is not looked into."""
        plan = None if type(value) in ATOMS else plan_of(type(value))
        return _member(plan.fields(value)) if plan is not None and plan.constant else super().__call__(value)

    def again(self, value: Any) -> Contents | Unread:
        """What an object that was recorded holds now; of a class, what it holds for its objects."""
        return class_data(value) if issubclass(type(value), type) else self(value)

    def class_state(self, cls: type) -> ClassState | None:
        """What a class holds for its objects; None if nothing can be there."""
        if self.is_opaque(cls) or not _has_state(cls):
            return None
        contents = class_data(cls)
        objects = [each for each in (contents.fields or {}).values() if type(each) not in ATOMS]
        read = tuple(each for each in objects if _is_looked_into(each))
        return ClassState(contents, read, tuple(each for each in objects if not _is_looked_into(each)))


@functools.lru_cache(maxsize=1_000)
def _has_state(cls: type) -> bool:
    """Whether a class may hold something for its objects; values of the core are constants."""
    return not is_core_value(cls) and any(map(_is_made_in_python, cls.__mro__))


def _is_made_in_python(base: type) -> bool:
    return bool(base.__flags__ & _HEAP_TYPE) and container_of(base) is None and base not in ATOMS


def _is_looked_into(value: Any) -> bool:
    """Whether what a class holds is looked into: containers and members of enums are."""
    plan = plan_of(type(value))
    return plan.constant or (plan.container is not None and not plan.opaque)


def _member(fields: dict[str, Any]) -> Contents:
    """What a member of an enum holds: its value, and what was set besides."""
    found = {name: each for name, each in fields.items() if not _is_sunder(name)}
    if "_value_" in fields:
        found = {"value": fields["_value_"], **found}
    return Contents(fields=found, constant=True)
