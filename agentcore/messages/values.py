"""JSON values that cannot change, and the few functions that make, compare, read and print them.

Integers are kept exactly, also above 2**53, where JavaScript would round them; integers beyond the largest
64-bit float, NaN and infinities are refused. `1` and `1.0` are the same number, `1` and `True` are different
values.

Every walk here is iterative, so nesting is limited by memory alone and never by the interpreter's stack.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from json.encoder import encode_basestring_ascii as _quote
from operator import is_
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar, Union, cast, dataclass_transform

import attrs

from agentcore.errors import InvalidJsonError
from agentcore.messages.brief import brief, json_path
from agentcore.messages.readonly import refused_write
from agentcore.messages.vectors import (
    NO_ENTRIES,
    NO_ITEMS,
    FrozenDict,
    FrozenList,
    FrozenSet,
    Vector,
    extend_vector,
    following,
    frozen_list,
    frozen_list_or_none,
    is_known_json,
    known_json,
    note_json,
    remove_item,
    replace_item,
    updated_vector,
    vector,
)

__all__ = [
    "NO_ENTRIES",
    "NO_ITEMS",
    "FrozenDict",
    "FrozenList",
    "FrozenSet",
    "JsonObject",
    "JsonValue",
    "Vector",
    "canonical_json",
    "dump_json",
    "extend_vector",
    "following",
    "freeze",
    "frozen",
    "frozen_list",
    "frozen_list_or_none",
    "grown",
    "is_value",
    "json_path",
    "maker",
    "parse_json",
    "remove_item",
    "replace_item",
    "sealed",
    "strict_key",
    "thaw",
    "updated_vector",
    "vector",
    "with_fields",
]

# Unions spelt out, not `|`, because the names refer to each other before they exist at run time.
JsonValue: TypeAlias = Union[bool, int, float, str, tuple["JsonValue", ...], "JsonObject", None]
"""JSON that cannot change: arrays are FrozenLists, which are tuples. Made by `freeze`."""
JsonObject: TypeAlias = FrozenDict[str, JsonValue]
"""A JSON object that cannot change; it keeps the order of its keys."""

_T = TypeVar("_T")
_P = ParamSpec("_P")
_Key: TypeAlias = str | int | None

MAX_DEPTH: Final = 100_000
"""Deeper values are refused: nothing real is that deep, but an endless view of a cycle is."""

_LARGEST: Final = int(sys.float_info.max)
_ROOM: Final = 32
_FIRST_CYCLE_CHECK: Final = 64
_TEXT: Final = frozenset({str})
_ATOMS: Final = frozenset({str, bool, type(None)})
_CONTAINERS: Final = frozenset({dict, list, tuple, FrozenDict, FrozenList})
_BYTES: Final = (bytes, bytearray, memoryview)
_MANY_DIGITS: Final = 300
_POSITIONAL_FIELDS: Final = 2


# ---------------------------------------------------------------- freeze and thaw


class _Node:
    """A container on its way to being frozen; `children` are by key or, for an array, by index."""

    __slots__ = ("changed", "children", "depth", "is_object", "key", "parent", "source")

    def __init__(self, parent: _Node | None, key: _Key, source: object) -> None:
        kind = type(source)
        self.parent = parent
        self.key = key
        self.source = source
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.is_object = kind is dict or kind is FrozenDict or isinstance(source, Mapping)
        self.changed = kind is not FrozenDict and kind is not FrozenList
        self.children: dict[_Key, object] = {}

    def put(self, key: _Key, value: object) -> None:
        if value is not self.children[key]:
            self.children[key] = value
            self.changed = True

    def close(self) -> object:
        if not self.changed:
            return note_json(cast("Any", self.source)) if self.is_object else self.source
        children: Any = self.children
        return known_json(children) if self.is_object else FrozenList(children.values())

    def ancestors(self) -> Iterator[_Node]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def path(self, start: str, last: _Key = None) -> str:
        keys = [last, self.key, *(node.key for node in self.ancestors())]
        return json_path(start, *(key for key in reversed(keys) if key is not None))


def freeze(value: object, path: str = "$") -> JsonValue:
    """Return a JSON value as a deeply immutable one; what is frozen already is returned as it is.

    Mappings become `FrozenDict` in their own order, sequences `FrozenList`, and subclasses of `str`,
    `int` and `float` become the plain types.

    Args:
        value: the JSON value.
        path: its place in a larger value, for errors.

    Returns:
        The frozen value, equal to the given one.

    Raises:
        InvalidJsonError: for anything that is not JSON, with its path.
    """
    # Most are, as every value that is made of another one converts its JSON anew.
    if type(value) in _ATOMS or is_known_json(value):
        return cast("JsonValue", value)
    try:
        return cast("JsonValue", _quickly_frozen(value, _ROOM))
    except (_UnusualError, RecursionError):
        return _walked_freeze(value, path)


class _UnusualError(Exception):
    """Raised when the fast path meets a value it cannot decide: the walk then freezes or rejects it."""


def _quickly_frozen(value: Any, room: int) -> Any:
    # Recursion is three times as fast as the walk, and enough for plain values that are not deep.
    kind = type(value)
    if kind in _ATOMS or ((kind is int or kind is float) and -_LARGEST <= value <= _LARGEST):
        return value
    if not room or kind not in _CONTAINERS:
        raise _UnusualError
    if kind is list or kind is FrozenList or kind is tuple:
        done = [child if type(child) in _ATOMS else _quickly_frozen(child, room - 1) for child in value]
        return value if kind is FrozenList and all(map(is_, done, value)) else FrozenList(done)
    if is_known_json(value):
        return value
    if not _TEXT.issuperset(map(type, value.keys())):
        raise _UnusualError
    members = {
        key: child if type(child) in _ATOMS else _quickly_frozen(child, room - 1)
        for key, child in value.items()
    }
    if kind is FrozenDict and all(map(is_, members.values(), value.values())):
        return note_json(value)
    return known_json(members)


def _walked_freeze(value: object, path: str) -> JsonValue:
    holder = _Node(None, None, ())
    holder.children[None] = value
    opened: list[_Node] = []
    pending = [holder]
    while pending:
        found = _open_children(pending.pop(), path)
        opened += found
        pending += found
    # A container is opened before its items. Closing in reverse order closes items before their container.
    for node in reversed(opened):
        cast("_Node", node.parent).put(node.key, node.close())
    return cast("JsonValue", holder.children[None])


def _open_children(node: _Node, path: str) -> list[_Node]:
    found = []
    for key, child in node.children.items():
        kind = type(child)
        if kind in _ATOMS or is_known_json(child):
            continue
        if kind in _CONTAINERS:
            found.append(_open(node, key, child, path))
        elif isinstance(child, (str, int, float)):
            node.put(key, _plain_atom(child, node, key, path))
        elif isinstance(child, (Mapping, Sequence)) and not isinstance(child, _BYTES):
            found.append(_open(node, key, child, path))
        else:
            raise InvalidJsonError(node.path(path, key), _advice(child))
    return found


def _open(parent: _Node, key: _Key, source: Any, path: str) -> _Node:
    node = _Node(parent, key, source)
    # At powers of two, so that the walks up cost no more than the way down did.
    if node.depth >= _FIRST_CYCLE_CHECK and node.depth & (node.depth - 1) == 0:
        _refuse_cycle(node, path)
    if not node.is_object:
        node.children = dict(enumerate(source))
        return node
    # An FrozenDict's own `items` is a dict's, and faster than its `__getitem__`.
    node.children = dict(source.items())
    for name in node.children:
        if type(name) is not str:
            return _with_plain_keys(node, path)
    return node


def _with_plain_keys(node: _Node, path: str) -> _Node:
    for name in node.children:
        if not isinstance(name, str):
            reason = f"object keys are strings in JSON, this one is {_a(name)}: {name!r}; use str({name!r})"
            raise InvalidJsonError(node.path(path), reason)
    node.children = {str.__str__(cast("str", name)): child for name, child in node.children.items()}
    node.changed = True
    return node


def _refuse_cycle(node: _Node, path: str) -> None:
    if any(above.source is node.source for above in node.ancestors()):
        raise InvalidJsonError(
            node.path(path), "this value contains itself; JSON is a tree, so break the cycle"
        )
    if node.depth > MAX_DEPTH:
        raise InvalidJsonError(
            path, f"nested deeper than {MAX_DEPTH} levels, or without end; make it flatter"
        )


def _plain_atom(value: str | float, node: _Node, key: _Key, path: str) -> str | int | float:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        if -_LARGEST <= value <= _LARGEST:
            return int.__int__(value)
        reason = "an integer beyond the largest 64-bit float, which JSON readers cannot hold; use a string"
    elif math.isfinite(value):
        return float.__float__(value)
    else:
        reason = f"{float.__repr__(value)} is not a JSON number; use None or a string"
    raise InvalidJsonError(node.path(path, key), reason)


def _a(value: object) -> str:
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


def _advice(value: object) -> str:
    if isinstance(value, _BYTES):
        what = "bytes are allowed only as ImagePart.image and FilePart.data; use base64 text"
    elif isinstance(value, AbstractSet):
        what = "a set has no order; use a list, such as sorted(value)"
    elif hasattr(value, "isoformat"):
        what = "use value.isoformat()"
    elif attrs.has(type(value)):
        what = "use its JSON form, for a message that of message_to_wire"
    else:
        what = "use dicts, lists, strings, numbers, booleans and None"
    return f"{_a(value)} is not JSON; {what}"


def thaw(value: object) -> Any:
    """Return the `value` as plain, new dicts and lists; the inverse of `freeze`."""
    holder: list[Any] = [value]
    pending: list[Any] = [holder]
    while pending:
        target = pending.pop()
        # Keys stay, so that writing during the iteration is safe.
        for key, child in target.items() if type(target) is dict else enumerate(target):
            if type(child) in _ATOMS or isinstance(child, (str, int, float)):
                continue
            if type(child) is FrozenDict or isinstance(child, Mapping):
                target[key] = dict(child.items())
            elif isinstance(child, Sequence) and not isinstance(child, _BYTES):
                target[key] = list(child)
            else:
                continue
            pending.append(target[key])
    return holder[0]


# ---------------------------------------------------------------- text


def _integer(value: int) -> str:
    return "true" if value is True else "false" if value is False else int.__repr__(value)


def _exact_float(value: float) -> str:
    return int.__repr__(int(value)) if value.is_integer() else float.__repr__(value)


def _plain(value: Any) -> object:
    return dict(value.items()) if isinstance(value, Mapping) else list(value)


def _encoder(*, canonical: bool) -> json.JSONEncoder:
    return json.JSONEncoder(
        check_circular=False,
        allow_nan=False,
        sort_keys=canonical,
        separators=(",", ":"),
        default=_plain,
    )


_PLAIN_ENCODER: Final = _encoder(canonical=False)
_CANONICAL_ENCODER: Final = _encoder(canonical=True)


def _text(value: JsonValue, source: object, *, canonical: bool) -> str:
    # The encoder in C is ten times as fast as the walk, and its text is the same if it does not fail. It gets
    # the value before freezing, because it is fast on plain dicts only.
    try:
        text = (_CANONICAL_ENCODER if canonical else _PLAIN_ENCODER).encode(source)
    except RecursionError:
        return _walked_text(value, canonical=canonical)
    # Python prints 2.0 as "2.0" and 1e22 as "1e+22"; canonical text has both as integers.
    if canonical and (".0" in text or "e+" in text):
        return _walked_text(value, canonical=True)
    return text


def _walked_text(value: JsonValue, *, canonical: bool) -> str:
    out: list[str] = []
    write_float = _exact_float if canonical else float.__repr__
    walks: list[tuple[Iterator[tuple[str, JsonValue]], str]] = [(iter((("", value),)), "")]
    while walks:
        walk, closer = walks[-1]
        for lead, child in walk:
            if type(child) is str:
                out.append(lead + _quote(child))
            elif type(child) is FrozenDict:
                out.append(lead + "{")
                walks.append((_members(child, ordered=canonical), "}"))
                break
            elif isinstance(child, tuple):
                out.append(lead + "[")
                walks.append((_elements(child), "]"))
                break
            elif child is None:
                out.append(lead + "null")
            elif type(child) is float:
                out.append(lead + write_float(child))
            else:
                out.append(lead + _integer(cast("int", child)))
        else:
            walks.pop()
            out.append(closer)
    return "".join(out)


def _members(value: JsonObject, *, ordered: bool) -> Iterator[tuple[str, JsonValue]]:
    lead = ""
    for key, child in sorted(value.items()) if ordered else value.items():
        yield f"{lead}{_quote(key)}:", child
        lead = ","


def _elements(value: tuple[JsonValue, ...]) -> Iterator[tuple[str, JsonValue]]:
    lead = ""
    for child in value:
        yield lead, child
        lead = ","


def strict_key(value: JsonValue) -> str:
    """Return a hashable key of a frozen value: two keys are equal exactly if the values are equal as JSON.

    `True` is not `1`, `1.0` is `1`, and the order of keys does not count. It is the `eq=` of all JSON fields.
    """
    return "null" if value is None else _text(value, value, canonical=True)


def canonical_json(value: object) -> str:
    """Return the one text of a JSON value, frozen or plain: keys sorted, `1.0` as `1`, only ASCII.

    Raises:
        InvalidJsonError: as `freeze` does.
    """
    return _text(freeze(value), value, canonical=True)


def dump_json(value: object) -> str:
    """Return JSON text without spaces, keys in their order, only ASCII (lone surrogates are escaped).

    Raises:
        InvalidJsonError: as `freeze` does.
    """
    return _text(freeze(value), value, canonical=False)


def parse_json(text: str) -> Any:
    """Read JSON text as plain Python values; integers of any size that a float reaches are kept exactly.

    Raises:
        InvalidJsonError: for text that is not JSON (NaN and infinities included), for numbers beyond every
            float, and for text nested deeper than Python's own reader goes.
    """
    try:
        return json.loads(text, parse_constant=_no_constant, parse_int=_read_int, parse_float=_read_float)
    except json.JSONDecodeError as error:
        reason = f"not JSON text: {error.msg} at line {error.lineno}, column {error.colno}"
        raise InvalidJsonError("$", reason) from None
    except RecursionError:
        raise InvalidJsonError("$", "nested too deeply to be read; make it flatter") from None


def _no_constant(name: str) -> Any:
    raise InvalidJsonError("$", f"{name} is not JSON; use null or a string")


def _read_int(text: str) -> int:
    # Shorter ones cannot be too large, and Python refuses to convert much longer ones.
    if len(text) < _MANY_DIGITS:
        return int(text)
    _read_float(text)
    return int(text)


def _read_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        reason = f"the number {text[:20]}... ({len(text)} characters) is beyond every float; use a string"
        raise InvalidJsonError("$", reason)
    return value


# ---------------------------------------------------------------- immutable classes and vectors


grown = extend_vector


_OPEN: Final = object()


def _no_subclass(cls: type, /, key: object = None, **_: object) -> None:
    if key is not _OPEN:
        raise TypeError(f"{cls.__mro__[1].__name__} is final; hold one in a field of your own class instead")


def _no_write(self: object, name: str, _value: object = None) -> None:
    raise refused_write(self, name, _return_instead(self, name))  # step.nothing-written


def _no_item_write(self: object, key: object, _value: object = None) -> None:
    name = key if isinstance(key, (str, int)) else str(key)
    raise refused_write(self, name, _return_instead(self, str(name)))  # step.nothing-written


def _return_instead(self: object, name: str) -> str:
    kind = type(self).__name__
    # A class whose values nobody makes, such as the arguments of hooks, has an advice of its own.
    own = getattr(self, "_instead", None)
    if own is not None:
        return str(own(name))
    return f"{kind} values do not change; return a new one, made by attrs.evolve(value, {name}=...)"


def _itself(self: _T, _memo: object = None) -> _T:
    return self


def _reduce(self: Any) -> tuple[Any, ...]:
    values = {a.alias: getattr(self, a.name) for a in attrs.fields(type(self)) if a.init}
    return _rebuild, (type(self), values)


def _rebuild(cls: type[_T], values: dict[str, object]) -> _T:
    return cls(**values)


def sealed(cls: type[_T]) -> type[_T]:
    """Make an `attrs.frozen` class a proper value; for classes whose converters mypy is to see.

    It cannot be subclassed, a write raises `ImmutableWriteError`, a copy is the value itself, and pickling
    goes through the constructor. Its `repr` is short, whatever it holds (`agentcore.messages.brief`). Past
    two fields they are keyword-only, or this raises TypeError.
    """
    positional = [
        a.name for a in attrs.fields(cast("type[attrs.AttrsInstance]", cls)) if a.init and not a.kw_only
    ]
    if len(positional) > _POSITIONAL_FIELDS:
        raise TypeError(f"{cls.__name__}: make {', '.join(positional[_POSITIONAL_FIELDS:])} keyword-only")
    methods: dict[str, Callable[..., Any] | classmethod[Any, Any, Any]] = {
        "__init_subclass__": classmethod(_no_subclass),
        "__setattr__": _no_write,
        "__setitem__": _no_item_write,
        "__delitem__": _no_item_write,
        "__delattr__": _no_write,
        "__copy__": _itself,
        "__deepcopy__": _itself,
        "__reduce__": _reduce,
        "__repr__": brief,
    }
    for name, method in methods.items():
        setattr(cls, name, method)
    return cls


@cache
def _open_class(cls: Any) -> Any:
    """The class of a value of `cls` until its fields are there: of the same layout, and it takes writes."""
    writes = {"__slots__": (), "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    return type(cls)(cls.__name__, (cls,), writes, key=_OPEN)


def with_fields(value: _T, **fields: object) -> _T:
    """Return a copy of a value with other fields, which are of the kind that its own are.

    Nothing is converted or checked again, as `attrs.evolve` would; fields that follow from others are not
    for this to change.
    """
    cls: Any = type(value)
    return cast("_T", _copier(cls)(value, fields))


@cache
def _copier(cls: Any) -> Callable[[Any, dict[str, object]], Any]:
    names = (each.name for each in attrs.fields(cls))
    writes = (f"made.{name} = fields[{name!r}] if {name!r} in fields else value.{name}" for name in names)
    return _filling(cls, "value, fields", writes)


def _filling(cls: Any, takes: str, writes: Iterable[str], **scope: Any) -> Callable[..., Any]:
    """Return a function that makes a value of a class by these assignments to the fields of `made`."""
    head, end = f"def make({takes}):", ("made.__class__ = cls", "return made")
    scope |= {"cls": cls, "new": object.__new__, "open_class": _open_class(cls)}
    lines = [head, "made = new(open_class)", *writes, *end]
    exec("\n ".join(lines), scope)  # noqa: S102 - as attrs makes constructors, of the names of fields alone
    return cast("Callable[..., Any]", scope["make"])


def maker(cls: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function that makes values of a class as its constructor does, in a quarter of the time.

    For what the machine makes at every step, of what is of the kind that its fields are: nothing is converted
    or checked, as in `with_fields`.
    """
    fields = attrs.fields(cast("type[attrs.AttrsInstance]", cls))
    scope: dict[str, Any] = {}
    takes: list[str] = []
    writes: list[str] = []
    for each in fields:
        name, default = each.alias, f"default_{each.name}"
        # What attrs would make anew for each value is made once: it cannot change either.
        factory = getattr(each.default, "factory", None)
        scope[default] = each.default if factory is None else factory()
        writes.append(f"made.{each.name} = {name if each.init else default}")
        if each.init:
            takes += ["*"] if each.kw_only and "*" not in takes else []
            takes.append(name if each.default is attrs.NOTHING else f"{name}={default}")
    return _filling(cls, ", ".join(takes), writes, **scope)


def is_value(cls: type) -> bool:
    """Return whether `sealed` made the class a value."""
    return cls.__setattr__ is _no_write


@dataclass_transform(frozen_default=True, field_specifiers=(attrs.field,))
def frozen(cls: type[_T]) -> type[_T]:
    """Make the class a value: `attrs.frozen` with slots, then `sealed`."""
    return sealed(attrs.frozen(cls))
