"""What classes and members of enums hold for all who have them (rule guard.class-state)."""

from __future__ import annotations

import array
import enum
import functools
import gc
import types
from collections import OrderedDict, defaultdict, deque
from typing import Any, Final

from agentcore.guard.reading import (
    ATOMS,
    ClassState,
    Contents,
    Reader,
    Unread,
    container_of,
    is_core_value,
    plan_of,
)

__all__ = ["ClassReader"]

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
