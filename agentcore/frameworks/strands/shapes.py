"""The shapes of a run's objects: which value may stand at which path, and how to change it.

A `Shape` says whether a value of a program fits, and what lies inside the live object that stands there. A
`Place` is a live object (a view of the heap) with how to replace it and how to take it out. Who holds what is
described by places, too: whose objects a context has, and who shares objects after a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.heap.js import in_object_order
from agentcore.heap.views import ArrayView, ObjectView, View
from agentcore.kit.ops import NowhereError, index_in

__all__ = [
    "MISSING",
    "Container",
    "Field",
    "Place",
    "Record",
    "Shape",
    "ShapedField",
    "ShapedItems",
    "Shapes",
    "field_at",
    "held_in",
    "is_sdk_key",
    "objects_of",
    "place_at",
    "shared",
]

Path: TypeAlias = Sequence[Any]
MISSING: Final = object()
"""Stands where there is nothing; null is something."""


@attrs.frozen(kw_only=True)
class Place:
    """`put` and `drop` are None where the place can neither be replaced nor taken out.

    `renew` puts a copy of what stands there, which can be done everywhere.
    """

    shape: Shape
    live: Any
    put: Callable[[Any], None] | None = None
    drop: Callable[[], None] | None = None
    renew: Callable[[Any], None] | None = None


class Shape:
    """The values that may stand at a place; in this base class, a text."""

    grows = False

    def fits(self, value: Any) -> bool:
        """True if a value of a program may stand here."""
        return isinstance(value, str)


class Container(Shape, ABC):
    """A shape that has places inside."""

    @abstractmethod
    def step(self, live: Any, key: Any) -> Place | None:
        """The place under a key, None if there is none."""

    @abstractmethod
    def inside(self, live: Any) -> Iterator[tuple[Any, Place]]:
        """The places inside that there is something at."""


class Listing(Container):
    """A shape that a list may have."""

    @abstractmethod
    def element(self, live: Any, value: Any) -> Shape:
        """The shape of what can be added to the list."""


class Word(Shape):
    """One of some texts."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def fits(self, value: Any) -> bool:
        """True if the value is one of these texts."""
        return value in self._words


def _keyed(shape: Shape, live: Any, key: Any, *, fixed: bool = False, lasting: bool = False) -> Place:
    """The place under a key of an object or an index of a list."""
    found = live[key] if isinstance(live, ArrayView) else live.get(key, MISSING)

    def put(value: Any) -> None:
        live[key] = value

    def drop() -> None:
        del live[key]

    return Place(
        shape=shape,
        live=found,
        put=None if fixed else put,
        drop=None if lasting or found is MISSING else drop,
        renew=put,
    )


def _element(shape: Shape, live: Any, key: Any) -> Place | None:
    index = index_in(live, key) if isinstance(live, ArrayView) else None
    return None if index is None else _keyed(shape, live, index)


class Json(Listing):
    """Any JSON value. Objects that are missing on the way to a place inside can be made."""

    grows = True

    def __init__(self, *, dictionary: bool = False, hidden: Callable[[str], bool] = lambda _: False) -> None:
        self._dictionary = dictionary
        self._hidden = hidden

    def fits(self, value: Any) -> bool:
        """True for any value; for objects only, if this is a dictionary."""
        return isinstance(value, dict) or not self._dictionary

    def step(self, live: Any, key: Any) -> Place | None:
        """Any key of an object, and any element of a list."""
        if isinstance(live, ObjectView) and isinstance(key, str):
            return _keyed(_ANY, live, key)
        return _element(_ANY, live, key)

    def inside(self, live: Any) -> Iterator[tuple[Any, Place]]:
        """All of it, in JavaScript's order."""
        if isinstance(live, ObjectView):
            for key in in_object_order(live):
                if not self._hidden(key):
                    yield key, _keyed(_ANY, live, key)
        else:
            for index in range(len(live)):
                yield index, _keyed(_ANY, live, index)

    def element(self, live: Any, value: Any) -> Shape:
        """Anything can be added to a list."""
        del live, value
        return _ANY


_ANY: Final = Json()


class Options(Json):
    """The options of an invocation, in which the state is that of the invocation."""

    def __init__(self, state: Shape) -> None:
        super().__init__(dictionary=True)
        self._state = state

    def fits(self, value: Any) -> bool:
        """True if the value is an object whose invocation state fits, if it has one."""
        return super().fits(value) and self._state.fits(value.get("invocationState", {}))

    def step(self, live: Any, key: Any) -> Place | None:
        """Any key; what stands under that of the state has its shape."""
        place = super().step(live, key)
        if place is None or key != "invocationState":
            return place
        return attrs.evolve(place, shape=self._state)


class List(Listing):
    """A list of things of one shape, which its first element may decide."""

    def __init__(self, of: Shape | Callable[[Any], Shape]) -> None:
        self._of = of

    def _shape(self, items: Any) -> Shape:
        return self._of if isinstance(self._of, Shape) else self._of(items)

    def fits(self, value: Any) -> bool:
        """True if the value is a list whose elements all fit."""
        return isinstance(value, list) and all(self._shape(value).fits(item) for item in value)

    def step(self, live: Any, key: Any) -> Place | None:
        """Any element."""
        return _element(self._shape(live), live, key)

    def inside(self, live: Any) -> Iterator[tuple[Any, Place]]:
        """All elements."""
        for index in range(len(live)):
            yield index, _keyed(self._shape(live), live, index)

    def element(self, live: Any, value: Any) -> Shape:
        """The shape of the elements."""
        return self._shape(live if len(live) else [value])


@attrs.frozen
class Field:
    """A field of a record: whether it may be missing, and whether it can be replaced."""

    shape: Shape
    optional: bool = False
    fixed: bool = False


class Record(Container):
    """An object with named fields. With `one`, it has exactly one of them, as a block has.

    `empty` says that null is nothing, as it is in the fields of a context.
    """

    def __init__(self, fields: Mapping[str, Field], *, one: bool = False, empty: bool = False) -> None:
        self.fields = fields
        self._one = one
        self._empty = empty

    def fits(self, value: Any) -> bool:
        """True if the value has these fields and no others."""
        if not isinstance(value, dict) or not value.keys() <= self.fields.keys():
            return False
        needed = [] if self._one else [name for name, field in self.fields.items() if not field.optional]
        complete = len(value) == 1 if self._one else all(name in value for name in needed)
        return complete and all(self.fields[name].shape.fits(item) for name, item in value.items())

    def step(self, live: Any, key: Any) -> Place | None:
        """A known field; of a block only its own kind."""
        field = self.fields.get(key) if isinstance(key, str) else None
        if field is None or not isinstance(live, ObjectView):
            return None
        place = _keyed(field.shape, live, key, fixed=field.fixed, lasting=not field.optional)
        if self._empty and place.live is None and not isinstance(field.shape, Either):
            return attrs.evolve(place, live=MISSING)
        return None if self._one and place.live is MISSING else place

    def inside(self, live: Any) -> Iterator[tuple[Any, Place]]:
        """The fields that are there."""
        for name in self.fields:
            place = self.step(live, name)
            if place is not None and place.live is not MISSING:
                yield name, place


class Either(Listing):
    """A text or a list; with `nothing`, null as well."""

    def __init__(self, items: List, *, nothing: bool) -> None:
        self._items = items
        self._nothing = nothing

    def fits(self, value: Any) -> bool:
        """True if the value is a text, a list that fits, or, where that is allowed, null."""
        return (value is None and self._nothing) or isinstance(value, str) or self._items.fits(value)

    def step(self, live: Any, key: Any) -> Place | None:
        """An element of the list."""
        return self._items.step(live, key)

    def inside(self, live: Any) -> Iterator[tuple[Any, Place]]:
        """The elements of the list."""
        return self._items.inside(live)

    def element(self, live: Any, value: Any) -> Shape:
        """The shape of the list's elements."""
        return self._items.element(live, value)


_MEASURES: Final = frozenset({"usage", "metrics"})
_SDK_KEYS: Final = frozenset({"agent", "model", "messages", "system_prompt", "tool_config", "request_state"})


def is_sdk_key(key: str) -> bool:
    """True if the Python SDK keeps a value of its own under this key of the invocation state."""
    return key in _SDK_KEYS or key.startswith("event_loop_")


class Shapes:
    """The shapes of a run. With `state_filled` the SDK's own keys are hidden, and its measures."""

    def __init__(self, *, state_filled: bool, listed_args: bool) -> None:
        text, json = Shape(), Json()
        hidden = is_sdk_key if state_filled else (lambda _: False)
        measured = _MEASURES.__contains__ if state_filled else (lambda _: False)
        self.text, self.json, self.dictionary = text, json, Json(dictionary=True)
        self.state = Json(dictionary=True, hidden=hidden)
        self.options = Options(self.state)
        self.tool_use = Record({"name": Field(text), "toolUseId": Field(text), "input": Field(json)})
        result_block = Record({"text": Field(text), "json": Field(json)}, one=True)
        self.tool_result = Record(
            {
                "toolUseId": Field(text),
                "status": Field(Word("success", "error")),
                "content": Field(List(result_block)),
            }
        )
        guarded = Record({"text": Field(text), "qualifiers": Field(List(text))})
        system_kinds = {
            "text": Field(text),
            "cachePoint": Field(Record({"type": Field(text)}), fixed=True),
            "guardContent": Field(Record({"text": Field(guarded)}), fixed=True),
        }
        reasoning = Record({"text": Field(text), "signature": Field(text, optional=True)})
        self.block = Record(
            {
                **system_kinds,
                "toolUse": Field(self.tool_use, fixed=True),
                "toolResult": Field(self.tool_result, fixed=True),
                "reasoning": Field(reasoning, fixed=True),
            },
            one=True,
        )
        self.message = Record(
            {
                "role": Field(Word("user", "assistant")),
                "content": Field(List(self.block)),
                "metadata": Field(Json(dictionary=True, hidden=measured), optional=True),
            }
        )
        self.messages = List(self.message)
        self.system = Either(List(Record(system_kinds, one=True)), nothing=True)
        spec = {"name": Field(text), "description": Field(text), "inputSchema": Field(json)}
        self.specs = List(Record(spec))
        self.input = Either(List(self._first_decides), nothing=False)
        self.args: Shape = self.messages if listed_args else self.input

    def _first_decides(self, items: Any) -> Shape:
        first = items[0] if len(items) else None
        return self.message if isinstance(first, dict | ObjectView) and "role" in first else self.block


# --- edits --------------------------------------------------------------------------------------------------


def _within(place: Place, key: Any) -> Place:
    if isinstance(place.live, View) and isinstance(place.shape, Container):
        found = place.shape.step(place.live, key)
        if found is not None:
            return found
    raise NowhereError


def place_at(root: Place, path: Path, *, making: bool = False, copying: bool = False) -> Place:
    """The place that a path leads to.

    `making`: objects that are missing on the way are made. `copying`: containers on the way are copied.

    Raises:
        NowhereError: if it leads nowhere.
    """
    place = root
    for key in path:
        holder, place = place, _within(place, key)
        if place.live is MISSING and making and place.shape.grows and place.put is not None:
            place.put({})
            place = _within(holder, key)
        elif copying and isinstance(place.live, ArrayView | ObjectView) and place.renew is not None:
            place.renew(place.live.copy())
            place = _within(holder, key)
    return place


@attrs.frozen
class ShapedField:
    """A place to write to, in a holder; the place's shape says what fits."""

    place: Place
    is_lasting: bool = False

    def get(self) -> Any:
        """Returns what is there."""
        return self.place.live

    def put(self, value: Any) -> None:
        """Replaces what is there. Raises NowhereError if it stays or the value does not fit."""
        if self.place.put is None or not self.place.shape.fits(value):
            raise NowhereError
        self.place.put(value)

    def drop(self) -> None:
        """Takes the field or element out. Raises NowhereError if it stays."""
        if self.place.drop is None or self.is_lasting:
            raise NowhereError
        self.place.drop()


def field_at(root: Place, path: Path, *, making: bool = False, copying: bool = False) -> ShapedField:
    """Returns the slot at a path, to write there. A field of the root can be replaced but not removed.

    Raises:
        NowhereError: if the path leads nowhere.
    """
    holder = place_at(root, path[:-1], making=making, copying=copying)
    return ShapedField(_within(holder, path[-1]), holder is root)


class ShapedItems:
    """The list at a place, which takes what fits the shape of its elements.

    Raises:
        NowhereError: if there is no list at the place.
    """

    def __init__(self, place: Place) -> None:
        if not isinstance(place.live, ArrayView) or not isinstance(place.shape, Listing):
            raise NowhereError
        self._items = place.live
        self._shape = place.shape

    def __len__(self) -> int:
        return len(self._items)

    def insert(self, index: int, value: Any) -> None:
        """Puts an element before the one at an index. Raises NowhereError if it does not fit."""
        if not self._shape.element(self._items, value).fits(value):
            raise NowhereError
        self._items.insert(index, value)

    def append(self, value: Any) -> None:
        """Puts an element at the end. Raises NowhereError if it does not fit."""
        self.insert(len(self), value)


# --- who holds what -----------------------------------------------------------------------------------------


def _visit(place: Place, path: Path, visit: Callable[[int, Path], bool]) -> None:
    """Goes over the objects at a place and inside it, outermost first, as far as `visit` says."""
    live, shape = place.live, place.shape
    if isinstance(live, View) and isinstance(shape, Container) and visit(live.ref.address, path):
        for key, inner in shape.inside(live):
            _visit(inner, [*path, key], visit)


def objects_of(places: Iterable[tuple[Place, Path]]) -> Mapping[int, Path]:
    """The objects at these places and inside them, by address; of one that is there twice the first path."""
    found: dict[int, Path] = {}

    def visit(address: int, at: Path) -> bool:
        new = address not in found
        found.setdefault(address, at)
        return new

    for place, path in places:
        _visit(place, path, visit)
    return found


def shared(place: Place, path: Path, known: Mapping[int, Path]) -> list[list[Path]]:
    """The outermost objects of a place that `known` has: `[path here, what known has of it]`."""
    found: list[list[Path]] = []

    def visit(address: int, at: Path) -> bool:
        if address in known:
            found.append([at, known[address]])
        return address not in known

    _visit(place, path, visit)
    return found


def held_in(name: str, place: Place | None, known: Mapping[int, Path]) -> dict[str, Any]:
    """Classifies a field: it is a known object (share), holds one inside (shallow), or neither (deep)."""
    live = MISSING if place is None else place.live
    if place is None or live is MISSING or (live is None and name in {"system", "modelState"}):
        return {"mode": "absent"}
    if not isinstance(live, View):
        return {"mode": "value"}
    # Nothing outside the loop holds the tool choice that it forces.
    if name == "toolChoice":
        return {"mode": "unknown"}
    if live.ref.address in known:
        return {"mode": "share"}
    paths = [path for path, _ in shared(place, [name], known)]
    return {"mode": "shallow", "paths": paths} if paths else {"mode": "deep"}
