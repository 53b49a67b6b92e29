"""Read-only sequences, mappings and sets: what all that leaves the core is made of.

`Vector` is pyrsistent's vector, of the pure-Python kind: vectors that grow from one another share nodes.
`FrozenList` is a tuple, `FrozenDict` an immutabledict, `FrozenSet` a frozenset. They are read as Python's own
are, they compare and hash by value, and every mutator raises ImmutableWriteError
(`agentcore.messages.readonly`).
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, TypeVar, cast, overload

from immutabledict import immutabledict
from pyrsistent._pvector import BRANCH_FACTOR, SHIFT, PythonPVector

from agentcore.messages.brief import brief
from agentcore.messages.readonly import read_only

__all__ = [
    "NO_ENTRIES",
    "NO_ITEMS",
    "FrozenDict",
    "FrozenList",
    "FrozenSet",
    "Vector",
    "changed_places",
    "extend_vector",
    "following",
    "frozen_list",
    "frozen_list_or_none",
    "is_known_json",
    "known_json",
    "note_json",
    "remove_item",
    "replace_item",
    "updated_vector",
    "vector",
]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)
_K = TypeVar("_K")
_V_co = TypeVar("_V_co", covariant=True)

_new: Final[Any] = object.__new__
# The only way to write an attribute: a class made by `read_only` refuses all others.
_put: Final[Any] = object.__setattr__


# ---------------------------------------------------------------- lists, dicts and sets

if TYPE_CHECKING:

    class FrozenDict(Mapping[_K, _V_co]):
        """A read-only mapping, in the order of its keys."""

        def __init__(
            self, entries: Mapping[_K, _V_co] | Iterable[tuple[_K, _V_co]] = ..., **fields: _V_co
        ) -> None: ...
        def __getitem__(self, key: _K) -> _V_co: ...
        def __iter__(self) -> Iterator[_K]: ...
        def __len__(self) -> int: ...
        def __hash__(self) -> int: ...
        def __or__(self, other: Mapping[_K, Any]) -> FrozenDict[_K, Any]: ...
        def copy(self) -> dict[_K, _V_co]:
            """Return a dict of one's own with the same entries."""

else:

    @read_only("dict")
    class FrozenDict(immutabledict):
        """A read-only mapping, in the order of its keys."""

        __repr__ = brief

        # Whether all of its content is known to be frozen JSON; freezing then returns it unread.
        _is_json = False

        def __new__(cls, *entries: Any, **fields: Any) -> Any:
            """Make one of what `dict` takes."""
            made = _new(cls)
            _put(made, "_dict", dict(*entries, **fields))
            _put(made, "_hash", None)
            return made

        def __hash__(self) -> int:
            if self._hash is None:
                _put(self, "_hash", hash(frozenset(self._dict.items())))
            return self._hash

        def get(self, key: Any, default: Any = None) -> Any:
            """Return the value of a key; that of Mapping raises and catches an error where there is none.

            Args:
                key: the key.
                default: the value for a key that is not there.

            Returns:
                The value, or the default.
            """
            return self._dict.get(key, default)

        def copy(self) -> dict[Any, Any]:
            """Return a dict of one's own with the same entries."""
            return dict(self._dict)


@read_only("list")
class FrozenList(tuple[_T_co, ...]):
    """A read-only list: a tuple whose list methods raise ImmutableWriteError, with what to write instead."""

    __slots__ = ()
    __repr__ = brief

    def copy(self) -> list[_T_co]:
        """Return a list of one's own with the same items."""
        return list(self)

    def __mul__(self, times: SupportsIndex) -> FrozenList[_T_co]:
        return FrozenList(tuple.__mul__(self, times))

    __rmul__ = __mul__

    if not TYPE_CHECKING:  # pragma: no branch # true where it is run
        # Without __radd__: `list += frozen` would call it first, and make a FrozenList of the list.
        def __add__(self, other: object) -> Any:
            return FrozenList((*self, *other)) if isinstance(other, (list, tuple, Vector)) else NotImplemented

        def __getitem__(self, index: Any) -> Any:
            found = tuple.__getitem__(self, index)
            return FrozenList(found) if isinstance(index, slice) else found


@read_only("set")
class FrozenSet(frozenset[_T_co]):
    """A set that cannot change: a frozenset that says what to do where somebody writes."""

    __slots__ = ()
    __repr__ = brief


NO_ITEMS: Final[FrozenList[Any]] = FrozenList()
NO_ENTRIES: Final[FrozenDict[Any, Any]] = FrozenDict()
"""The mapping of nothing, for defaults; `FrozenDict[K, V]()` costs a refused write, as typing makes it."""


def known_json(entries: dict[str, Any]) -> FrozenDict[str, Any]:
    """Make a FrozenDict of entries that are frozen JSON already, and note so; it keeps this very dict."""
    made: Any = _new(FrozenDict)
    _put(made, "_dict", entries)
    _put(made, "_hash", None)
    return note_json(cast("FrozenDict[str, Any]", made))


def note_json(made: FrozenDict[_K, _V_co]) -> FrozenDict[_K, _V_co]:
    """Note that the mapping is frozen JSON, down to its leaves; returns it."""
    _put(made, "_is_json", True)  # noqa: FBT003 - it takes no names
    return made


def is_known_json(value: object) -> bool:
    """Whether it is a FrozenDict that is known to be frozen JSON (`known_json`, `note_json`)."""
    return type(value) is FrozenDict and cast("Any", value)._is_json


def frozen_list(items: Iterable[Any]) -> FrozenList[Any]:
    """Make a FrozenList; one that is given is returned as it is. Of any, because it converts attrs fields."""
    if type(items) is FrozenList:
        return items
    return FrozenList(items) if items else NO_ITEMS


def frozen_list_or_none(items: Iterable[Any] | None) -> FrozenList[Any] | None:
    """Make a FrozenList, or pass on None, which stands for no list."""
    return None if items is None else frozen_list(items)


# ---------------------------------------------------------------- vectors

# Private parts of pyrsistent are used in this module and in no other; pyproject.toml bounds its version.
if TYPE_CHECKING:

    class Vector(Sequence[_T_co]):
        """A read-only list; a vector made from another one shares its structure."""

        @overload
        def __getitem__(self, index: int) -> _T_co: ...
        @overload
        def __getitem__(self, index: slice) -> Vector[_T_co]: ...
        def __getitem__(self, index: int | slice) -> Any: ...
        def __len__(self) -> int: ...
        def __hash__(self) -> int: ...
        def __add__(self, other: Iterable[_T]) -> Vector[_T_co | _T]: ...
        def copy(self) -> list[_T_co]:
            """Return a list of one's own with the same items."""

else:

    @read_only("list")
    class Vector(PythonPVector):
        """A read-only list; a vector made from another one shares its structure.

        The pure-Python kind, because the C one lets the garbage collector clear live elements of vectors that
        share structure (tobgu/pyrsistent#283). A vector's last leaf is in `_tail`, which is empty only where
        the vector is: so vectors of one length have one shape, and are compared node by node.
        """

        __slots__ = ()

        def __new__(cls, count: int, shift: int, root: list[Any], tail: list[Any]) -> Any:
            """Make one of a tree of nodes, as pickles do; `vector` makes one of items."""
            return _made(count, shift, root, tail, count - len(tail))

        def __class_getitem__(cls, item: object) -> Any:
            return cls

        def __getitem__(self, index: Any) -> Any:
            if type(index) is slice:
                return vector(self.tolist()[index])
            if index < 0:
                index += self._count
            return PythonPVector._node_for(self, index)[index & (BRANCH_FACTOR - 1)]

        def __iter__(self) -> Iterator[Any]:
            # Nobody changes a leaf, so a vector of one is gone through without a copy.
            return iter(self.tolist() if self._root else self._tail)

        def __add__(self, other: object) -> Any:
            return extend_vector(self, other) if isinstance(other, Iterable) else NotImplemented

        def __mul__(self, times: int) -> Any:
            return vector(self.tolist() * times)

        __rmul__ = __mul__

        def __eq__(self, other: object) -> Any:
            if self is other:
                return True
            if isinstance(other, Vector):
                return self._count == other._count and _equal(self, other)
            return NotImplemented if isinstance(other, tuple) else super().__eq__(other)

        def __ne__(self, other: object) -> Any:
            same = self.__eq__(other)
            return same if same is NotImplemented else not same

        def __hash__(self) -> int:
            return _hash(self)

        __repr__ = brief

        def __reduce__(self) -> tuple[Any, ...]:
            # The nodes themselves, which vectors share: a pickle has each of them once.
            return Vector, (self._count, self._shift, self._root, self._tail)

        def copy(self) -> list[Any]:
            """Return a list of one's own with the same items."""
            return self.tolist()


_Vector: Final[Any] = Vector


def vector(items: Iterable[_T] = ()) -> Vector[_T]:
    """Return the `items` as a vector; a vector is returned as it is."""
    if type(items) is Vector:
        return items
    new = [*items]
    if len(new) > BRANCH_FACTOR:
        return extend_vector(_EMPTY, new)
    made: Vector[_T] = _made(len(new), SHIFT, _EMPTY._root, new, 0) if new else _EMPTY
    return made


def _made(count: int, shift: int, root: list[Any], tail: list[Any], tail_offset: int) -> Any:
    # Filled before it is one, because a vector refuses writes; in half of the time of the class's own
    # constructor, as a step makes some twenty vectors.
    made: Any = _new(PythonPVector)
    made._count = count
    made._shift = shift
    made._root = root
    made._tail = tail
    made._tail_offset = tail_offset
    made.__class__ = _Vector
    return made


_EMPTY: Final[Any] = _made(0, SHIFT, [], [], 0)


def extend_vector(kept: Vector[_T], items: Iterable[_T]) -> Vector[_T]:
    """Return a vector with more items after those of another, in the time that the new ones take.

    Its last leaf is exactly as long as it has to be, without the room for more that pyrsistent's lists keep:
    every step has a few such vectors, and each of them is kept.

    Args:
        kept: the vector.
        items: the items after its own.

    Returns:
        The new vector, which shares its nodes with `kept`; `kept` itself if there are no items.
    """
    base: Any = kept
    new = [*items]
    if not new:
        return kept
    count = base._count + len(new)
    tail = base._tail + new
    if len(tail) <= BRANCH_FACTOR:
        # The offset itself, not another one: one integer for all that grow alike.
        made: Vector[_T] = _made(count, base._shift, base._root, tail, base._tail_offset)
        return made
    last = (count - 1) % BRANCH_FACTOR + 1
    grown: Any = PythonPVector(base._count, base._shift, base._root, [*base._tail])  # type: ignore[no-untyped-call] # it has no types
    if last < len(new):
        grown._mutating_extend(new[:-last])
    else:
        grown._mutating_insert_tail()
    return cast("Vector[_T]", _Vector(count, grown._shift, grown._root, new[-last:]))


def replace_item(kept: Vector[_T], index: int, item: _T) -> Vector[_T]:
    """Return a vector with another item at an index.

    Args:
        kept: the vector.
        index: the index; a negative one counts from the end.
        item: the item in its place.

    Returns:
        The new vector, which shares its other nodes with `kept`.

    Raises:
        IndexError: if there is no such index.
    """
    if not -len(kept) <= index < len(kept):
        raise IndexError(f"no item {index} in a vector of {len(kept)}")
    made: Any = PythonPVector.set(cast("Any", kept), index, item)  # type: ignore[no-untyped-call] # as above
    return cast("Vector[_T]", _Vector(made._count, made._shift, made._root, made._tail))


def updated_vector(kept: Vector[_T], changes: Mapping[int, _T], new: Iterable[_T] = ()) -> Vector[_T]:
    """Return the vector with other items at some indices, and more at its end; copies each node once."""
    if changes:
        evolver = PythonPVector.evolver(cast("Any", kept))  # type: ignore[no-untyped-call] # as above
        for index, item in changes.items():
            evolver[index] = item
        made: Any = evolver.persistent()
        kept = cast("Vector[_T]", _Vector(made._count, made._shift, made._root, made._tail))
    return extend_vector(kept, new)


def remove_item(kept: Vector[_T], index: int) -> Vector[_T]:
    """Return a vector without the item at an index.

    Args:
        kept: the vector.
        index: the index; a negative one counts from the end.

    Returns:
        The new vector.

    Raises:
        IndexError: if there is no such index.
    """
    items = list(kept)
    del items[index]
    return vector(items)


def following(longer: Vector[_T], kept: Vector[_T]) -> list[_T] | None:
    """Return the items after those of `kept`, if `longer` begins with the very same ones; else None.

    A vector that grew from `kept` shares its nodes, which are told apart as wholes: then this costs what is
    new, whatever the length.
    """
    if len(longer) < len(kept) or not _grew(cast("Any", longer), cast("Any", kept)):
        return None
    return [longer[index] for index in range(len(kept), len(longer))]


def changed_places(one: Vector[_T], other: Vector[_T]) -> list[int]:
    """Return the indices that both vectors have and at which they hold different objects.

    Nodes that they share are told apart as wholes: for vectors that grew from one another this costs what has
    changed.
    """
    shorter: Any
    longer: Any
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    node, shift = longer._root, longer._shift
    while shift > shorter._shift:
        node, shift = node[0] if node else [], shift - SHIFT
    offset = shorter._tail_offset
    places = [*_changed_in(shorter._root, node, shift, 0)]
    return places + [offset + n for n, item in enumerate(shorter._tail) if item is not longer[offset + n]]


def _changed_in(one: list[Any], other: list[Any], shift: int, first: int) -> Iterator[int]:
    if one is other:
        return
    for index, (left, right) in enumerate(zip(one, other, strict=False)):
        if left is right:
            continue
        place = first + (index << shift)
        if shift:
            yield from _changed_in(left, right, shift - SHIFT, place)
        else:
            yield place


def _grew(longer: Any, kept: Any) -> bool:
    node, shift = longer._root, longer._shift
    while shift > kept._shift:
        node, shift = node[0], shift - SHIFT
    tail = range(kept._tail_offset, len(kept))
    return _same_nodes(kept._root, node, shift) and all(
        item is longer[index] for item, index in zip(kept._tail, tail, strict=True)
    )


def _same_nodes(kept: list[Any], longer: list[Any], shift: int) -> bool:
    if kept is longer:
        return True
    if shift == 0:
        return all(map(operator.is_, kept, longer))
    return all(_same_nodes(*nodes, shift - SHIFT) for nodes in zip(kept, longer, strict=False))


# ---------------------------------------------------------------- equality and hashes

# The steps of a run each hold all messages until then, in vectors that share their nodes. Nodes and items
# that were compared, or hashed, are remembered until the outermost comparison ends: so two runs are compared,
# and a run is hashed, in the time that their messages take once, and not once a step.


class _Memory(threading.local):
    """The objects that this thread's comparison and hash have seen, by ids, which stay theirs so."""

    equal: dict[tuple[int, int], tuple[object, object]] | None = None
    hashes: dict[int, tuple[object, int]] | None = None


_MEMORY: Final = _Memory()
_TEXT: Final = (str, int)


def _equal(left: Any, right: Any) -> bool:
    if _MEMORY.equal is not None:
        return _equal_nodes(left._root, right._root, left._shift) and _equal_items(left._tail, right._tail)
    if left._count <= BRANCH_FACTOR:
        return bool(left._tail == right._tail)
    _MEMORY.equal = {}
    try:
        return _equal(left, right)
    finally:
        _MEMORY.equal = None


def _equal_nodes(left: list[Any], right: list[Any], shift: int) -> bool:
    if left is right or (id(left), id(right)) in _equal_pairs():
        return True
    if shift:
        same = all(_equal_nodes(*nodes, shift - SHIFT) for nodes in zip(left, right, strict=True))
    else:
        same = _equal_items(left, right)
    if same:
        _equal_pairs()[id(left), id(right)] = (left, right)
    return same


def _equal_items(left: list[Any], right: list[Any]) -> bool:
    return all(map(_equal_item, left, right))


def _equal_item(left: Any, right: Any) -> bool:
    if left is right or (id(left), id(right)) in _equal_pairs():
        return True
    same = bool(left == right)
    if same and not isinstance(left, _TEXT):
        _equal_pairs()[id(left), id(right)] = (left, right)
    return same


def _equal_pairs() -> dict[tuple[int, int], tuple[object, object]]:
    return cast("dict[tuple[int, int], tuple[object, object]]", _MEMORY.equal)


def _hash(value: Any) -> int:
    if _MEMORY.hashes is not None:
        return hash((value._count, _hash_node(value._root, value._shift), *map(_hash_item, value._tail)))
    _MEMORY.hashes = {}
    try:
        return _hash(value)
    finally:
        _MEMORY.hashes = None


def _hash_node(node: list[Any], shift: int) -> int:
    inner = (lambda each: _hash_node(each, shift - SHIFT)) if shift else _hash_item
    return _remembered(node, lambda: hash(tuple(map(inner, node))))


def _hash_item(item: Any) -> int:
    return hash(item) if isinstance(item, _TEXT) else _remembered(item, lambda: hash(item))


def _remembered(value: object, make: Any) -> int:
    known = cast("dict[int, tuple[object, int]]", _MEMORY.hashes)
    if id(value) not in known:
        known[id(value)] = (value, make())
    return known[id(value)][1]
