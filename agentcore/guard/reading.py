"""Reads what an object holds, without running any code of its class.

Containers are read by the methods of the built-in types, attributes through the descriptors that Python made
for `__dict__` and `__slots__`. So no property, `__getattr__`, `__eq__` or overridden method is called.

Needs nothing but the standard library: `agentcore.live` reads with it in environments that have none of the
packages that this one depends on.
"""

from __future__ import annotations

import array
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import gc
import pathlib
import re
import sys
import types
import uuid
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, cast

__all__ = ["ATOMS", "PROXIED", "ClassState", "Contents", "Plan", "Reader", "Unread", "plan_of", "token"]


@dataclasses.dataclass(slots=True, eq=False)
class Contents:
    """The content of an object at a moment: elements by index, entries by key, members, attributes, or bytes.

    `whole` is False if there is more, which cannot be seen. `constant` is True of an enum's member, which is
    shown as itself.
    """

    items: list[Any] | None = None
    entries: dict[Any, Any] | None = None
    members: list[Any] | None = None
    fields: dict[str, Any] | None = None
    data: bytes | None = None
    whole: bool = True
    constant: bool = False


class ClassState(NamedTuple):
    """The content of a class: all of it, the values to read in turn, and those that are not looked into."""

    contents: Contents
    read: tuple[Any, ...]
    opaque: tuple[Any, ...]


class Unread(enum.Enum):
    """Instead of contents, of what is not looked into."""

    ATOM = "a value that cannot change"
    OPAQUE = "a value whose state cannot be seen"


# ---------------------------------------------------------------- values that cannot change

_Repr: TypeAlias = Callable[[Any], str]
_BASES: Final[dict[type, _Repr]] = {
    base: cast("_Repr", base.__repr__)
    for base in (
        str,
        bytes,
        bool,
        int,
        float,
        complex,
        type(None),
        type(...),
        type(NotImplemented),
        range,
        decimal.Decimal,
        fractions.Fraction,
        dt.datetime,
        dt.date,
        dt.time,
        dt.timedelta,
        dt.timezone,
        uuid.UUID,
        re.Pattern,
        pathlib.PurePosixPath,
        pathlib.PureWindowsPath,
        pathlib.PosixPath,
        pathlib.WindowsPath,
    )
}
ATOMS: Final = frozenset(_BASES)
"""Classes whose instances cannot change and hold nothing that can."""

_PLAIN: Final = frozenset({str, bytes, int, bool})


def token(value: Any) -> object:
    """The key that tells values apart: equal for the same object, and for atoms of one class and value.

    NaN is NaN, and 0.0 is not -0.0 (rule guard.by-value). Two tokens can be compared as long as both values
    are held.
    """
    cls = type(value)
    if cls in _PLAIN:
        return cls, value
    plan = plan_of(cls)
    if plan.atom is None or plan.constant or (cls not in ATOMS and plan.fields(value)):
        return id(value)
    return cls, plan.atom(value)


# ---------------------------------------------------------------- containers

PROXIED: Final = "__wrapped__"
"""The attribute as which a mapping is held by its read-only view; in paths the two are one."""


def _proxied(value: Any) -> Contents:
    """The mapping that a `MappingProxyType` is a view of is the one thing it refers to."""
    return Contents(fields={PROXIED: gc.get_referents(value)[0]})


_CONTAINERS: Final[dict[type, Callable[[Any], Contents]]] = {
    dict: lambda value: Contents(entries=dict(dict.items(value))),
    OrderedDict: lambda value: Contents(entries=dict(OrderedDict.items(value))),
    list: lambda value: Contents(items=list.copy(value)),
    tuple: lambda value: Contents(items=[*tuple.__iter__(value)]),
    set: lambda value: Contents(members=[*set.__iter__(value)]),
    frozenset: lambda value: Contents(members=[*frozenset.__iter__(value)]),
    deque: lambda value: Contents(items=[*deque.__iter__(value)]),
    bytearray: lambda value: Contents(data=bytes(memoryview(value))),
    array.array: lambda value: Contents(data=bytes(memoryview(value).cast("B"))),
    types.MappingProxyType: _proxied,
    BaseException: lambda value: Contents(items=[*vars(BaseException)["args"].__get__(value)]),
}
# Read by name: whoever has an instance has imported the class, and others need not have the package.
_NAMED: Final[dict[tuple[str, str], Callable[[Any], Callable[[Any], Contents]]]] = {
    ("immutabledict", "immutabledict"): lambda base: lambda value: Contents(entries=dict(base.items(value))),
    ("pyrsistent._pvector", "PythonPVector"): lambda base: (
        lambda value: Contents(items=[*base.__iter__(value)])
    ),
    ("pvectorc", "PVector"): lambda base: lambda value: Contents(items=[*base.__iter__(value)]),
}


def container_of(base: type) -> Callable[[Any], Contents] | None:
    """Return the reader of an instance's elements, if `base` is a container."""
    named = _NAMED.get((base.__module__, base.__qualname__))
    return _CONTAINERS.get(base) if named is None else named(base)


_OPAQUE: Final = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.GeneratorType,
    types.CoroutineType,
    types.AsyncGeneratorType,
    types.CodeType,
    types.FrameType,
    types.TracebackType,
    weakref.ReferenceType,
    property,
    staticmethod,
    classmethod,
)
# What is closed or entered is a resource, not data: files, locks, sessions, clients.
_RESOURCE: Final = ("close", "aclose", "__enter__", "__aenter__")
# What is read otherwise, and what attrs keeps.
_MADE: Final = ("__dict__", "_attrs_cached_hash")
_WORD: Final = object.__basicsize__ // 2


# ---------------------------------------------------------------- classes


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The plan by which a class's instances are read; made once for each class."""

    container: Callable[[Any], Contents] | None
    atom: _Repr | None
    dictionary: Any
    slots: tuple[tuple[str, Any], ...]
    computed: frozenset[str]
    constant: bool
    opaque: bool
    whole: bool

    def fields(self, value: Any) -> dict[str, Any]:
        """Returns the attributes of an instance, by name."""
        found: dict[str, Any] = {}
        if self.dictionary is not None:
            found = dict.copy(self.dictionary.__get__(value))
            for name in self.computed:
                found.pop(name, None)
        for name, descriptor in self.slots:
            try:
                found[name] = descriptor.__get__(value)
            except AttributeError:
                continue
        return found


def _planned(cls: type) -> Plan:
    bases = cls.__mro__
    container = next(filter(None, map(container_of, bases)), None)
    atom = next((_BASES[base] for base in bases if base in _BASES), None)
    dictionary = next(filter(_is_dictionary, (vars(base).get("__dict__") for base in bases)), None)
    slots = _slots(cls)
    hidden = atom is None and _hides(cls)
    unseen = hidden and container is None and dictionary is None and not slots
    resource = container is None and atom is None and any(map(_is_resource, bases))
    return Plan(
        container=container,
        atom=atom,
        dictionary=dictionary,
        slots=slots,
        computed=frozenset(_computed(cls)),
        constant=issubclass(cls, enum.Enum),
        opaque=issubclass(cls, _OPAQUE) or unseen or resource or cls is object,
        whole=not hidden,
    )


# Bounded, because a plan keeps its class.
plan_of: Final = cast("Callable[[type], Plan]", lru_cache(maxsize=1_000)(_planned))


def _is_resource(base: type) -> bool:
    # A field may have such a name, too.
    return any(callable(vars(base).get(name)) for name in _RESOURCE)


def _is_dictionary(found: object) -> bool:
    # The second in classes made in C.
    return type(found) in (types.GetSetDescriptorType, types.MemberDescriptorType)


def _slots(cls: type) -> tuple[tuple[str, Any], ...]:
    found: dict[str, Any] = {}
    # A value of ours cannot change; what it keeps in private slots was worked out from its fields.
    private = is_core_value(cls)
    for base in cls.__mro__:
        if container_of(base) is not None or base in _BASES:
            continue
        for name, member in vars(base).items():
            made = (private and name.startswith("_")) or name in _MADE
            if type(member) is types.MemberDescriptorType and not made:
                found.setdefault(name, member)
    return tuple(found.items())


def is_core_value(cls: type) -> bool:
    """Whether a class is one of this package's values, which cannot change."""
    values = sys.modules.get("agentcore.messages.values")
    return values is not None and values.is_value(cls)


def _computed(cls: type) -> Iterator[str]:
    """Attributes that a read makes: what a cached property keeps is no state."""
    for base in cls.__mro__:
        for name, member in vars(base).items():
            if type(member).__name__ == "cached_property":
                yield name


def _hides(cls: type) -> bool:
    """Whether instances have room for more than the references that Python shows, as those of C types do."""
    while cls is not object and container_of(cls) is None:
        own = vars(cls)
        members = sum(type(member) is types.MemberDescriptorType for member in own.values())
        seen = members + ("__dict__" in own) + ("__weakref__" in own)
        base = cls.__base__ or object
        if cls.__basicsize__ - base.__basicsize__ > seen * _WORD:
            return True
        cls = base
    return False


class Reader:
    """Reads objects, and runs no code of theirs (rule guard.only-read).

    Those of some classes are opaque, and so are the objects whose numbers are `kept`.
    """

    def __init__(self, opaque: tuple[type, ...] = (), kept: Collection[int] = ()) -> None:
        self._opaque = opaque
        self.kept = frozenset(kept)

    def __call__(self, value: Any) -> Contents | Unread:
        """What the object holds, or why it is not looked into."""
        cls = type(value)
        if cls in ATOMS:
            return Unread.ATOM
        if id(value) in self.kept:
            return Unread.OPAQUE
        plan = plan_of(cls)
        if plan.constant:
            return Unread.ATOM
        if plan.opaque or self.is_opaque(cls):
            return Unread.OPAQUE  # guard.opaque-told
        fields = plan.fields(value)
        if plan.atom is not None and not fields:
            return Unread.ATOM
        return _filled(value, plan, fields)

    def is_opaque(self, cls: type) -> bool:
        """Whether objects of a class are not to be looked into."""
        return bool(self._opaque) and issubclass(cls, self._opaque)

    def again(self, value: Any) -> Contents | Unread:
        """What an object that was recorded holds now."""
        return self(value)

    def class_state(self, cls: type) -> ClassState | None:  # noqa: ARG002 - for readers that look there
        """What a class holds for its objects; None if that is not looked into."""
        return None


def _filled(value: Any, plan: Plan, fields: dict[str, Any]) -> Contents:
    found = Contents() if plan.container is None else plan.container(value)
    names = vars(type(value)).get("_fields") if found.items is not None else None
    if type(names) is tuple and found.items is not None and len(names) == len(found.items):
        # A named tuple is read as it is used.
        fields = {**dict(zip(names, found.items, strict=True)), **fields}
        found.items = None
    if fields or plan.container is None:
        found.fields = {**(found.fields or {}), **fields}
    found.whole = plan.whole
    return found
