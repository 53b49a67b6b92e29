"""Places in what the SDK holds, by paths in the programs' neutral form (spec/program-format-middleware.md).

A `Shape` knows what may stand at a place: whether a value of a program fits, how to make the SDK's object
of it and to show it again, and what lies inside. A `Place` is a live object with how to replace it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Path = list[Any]
Edit = dict[str, Any]

# What the SDK keeps in the caller's own invocation state.
SDK_KEYS = frozenset({"agent", "model", "messages", "system_prompt", "tool_config", "request_state"})
SDK_PREFIX = "event_loop_"


MISSING: Any = object()
"""Stands where there is nothing; null is something."""


class NowhereError(Exception):
    """A path leads to nothing, or to where the edit cannot be made."""


def is_sdk_key(key: str) -> bool:
    return key in SDK_KEYS or key.startswith(SDK_PREFIX)


@dataclass
class Place:
    """`put` and `drop` are None where it can neither be replaced nor taken out; `renew` puts a copy."""

    shape: Shape
    native: Any
    put: Callable[[Any], None] | None = None
    drop: Callable[[], None] | None = None
    renew: Callable[[Any], None] | None = None


class Shape:
    """What may stand at a place; this one is a text."""

    grows = False

    def fits(self, value: Any) -> bool:
        return isinstance(value, str)

    def make(self, value: Any) -> Any:
        return value

    def show(self, native: Any) -> Any:
        return native

    def inside(self, native: Any) -> Iterator[tuple[Any, Place]]:
        del native
        yield from ()

    def step(self, native: Any, key: Any) -> Place | None:
        return next((place for at, place in self.inside(native) if at == key and type(at) is type(key)), None)

    def element(self) -> Shape | None:
        """The shape of what can be added to a list that stands here; None where no list does."""
        return None


class Word(Shape):
    """One of some texts, or a text that the SDK spells otherwise."""

    def __init__(
        self, *words: str, spelt: tuple[Callable[[str], str], Callable[[str], str]] | None = None
    ) -> None:
        self._words = words
        self._spelt = spelt

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and (not self._words or value in self._words)

    def make(self, value: Any) -> Any:
        return self._spelt[0](value) if self._spelt else value

    def show(self, native: Any) -> Any:
        return self._spelt[1](native) if self._spelt else native


class Json(Shape):
    """Any JSON value. Dictionaries that are missing on the way to a place inside can be made."""

    grows = True

    def __init__(self, *, dictionary: bool = False, hidden: Callable[[str], bool] = lambda _: False) -> None:
        self._dictionary = dictionary
        self._hidden = hidden

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) or not self._dictionary

    def make(self, value: Any) -> Any:
        return copy.deepcopy(value)

    def show(self, native: Any) -> Any:
        if isinstance(native, dict):
            return {key: JSON.show(value) for key, value in native.items() if not self._hidden(key)}
        return [JSON.show(value) for value in native] if isinstance(native, list) else native

    def inside(self, native: Any) -> Iterator[tuple[Any, Place]]:
        if isinstance(native, dict):
            keys: Any = [key for key in native if not self._hidden(key)]
        else:
            keys = range(len(native)) if isinstance(native, list) else ()
        for key in keys:
            yield key, _keyed(JSON, native, key)

    def step(self, native: Any, key: Any) -> Place | None:
        if isinstance(native, list):
            return _indexed(JSON, native, key)
        if isinstance(native, dict) and isinstance(key, str):
            return _keyed(JSON, native, key)
        return None

    def element(self) -> Shape:
        return JSON


class List(Shape):
    """A list of things of one shape."""

    def __init__(self, of: Shape) -> None:
        self._of = of

    def fits(self, value: Any) -> bool:
        return isinstance(value, list) and all(self._of.fits(item) for item in value)

    def make(self, value: Any) -> Any:
        return [self._of.make(item) for item in value]

    def show(self, native: Any) -> Any:
        return [self._of.show(item) for item in native]

    def inside(self, native: Any) -> Iterator[tuple[Any, Place]]:
        for index in range(len(native)):
            yield index, _keyed(self._of, native, index)

    def step(self, native: Any, key: Any) -> Place | None:
        return _indexed(self._of, native, key)

    def element(self) -> Shape:
        return self._of


@dataclass
class Field:
    """A field of a record: where the SDK has it, whether it may be missing, be replaced."""

    shape: Shape
    native: tuple[str, ...]
    optional: bool = False
    fixed: bool = False


class Record(Shape):
    """A dictionary with named fields. With `one`, it has exactly one of them, as a content block has."""

    def __init__(self, *, one: bool = False, **fields: Field) -> None:
        self._fields = fields
        self._one = one

    def fits(self, value: Any) -> bool:
        if not isinstance(value, dict) or not value.keys() <= self._fields.keys():
            return False
        if self._one and len(value) != 1:
            return False
        required = () if self._one else [name for name, field in self._fields.items() if not field.optional]
        return all(name in value for name in required) and all(
            self._fields[name].shape.fits(item) for name, item in value.items()
        )

    def make(self, value: Any) -> Any:
        made: dict[str, Any] = {}
        for name, item in value.items():
            *way, last = self._fields[name].native
            holder = made
            for key in way:
                holder = holder.setdefault(key, {})
            holder[last] = self._fields[name].shape.make(item)
        return made

    def show(self, native: Any) -> Any:
        return {name: place.shape.show(place.native) for name, place in self.inside(native)}

    def inside(self, native: Any) -> Iterator[tuple[Any, Place]]:
        for name, field in self._fields.items():
            place = _field(field, native)
            if place.native is not MISSING:
                yield name, place

    def step(self, native: Any, key: Any) -> Place | None:
        field = self._fields.get(key) if isinstance(key, str) else None
        if field is None:
            return None
        place = _field(field, native)
        # The kind of a block stays: what stands under another one is nowhere.
        return None if self._one and place.native is MISSING else place


class Metadata(Json):
    """A message's metadata without what the SDK measures."""

    def __init__(self) -> None:
        super().__init__(dictionary=True, hidden=lambda key: key in {"usage", "metrics"})


class Message(Record):
    """Metadata that is empty but for measures is not shown."""

    def show(self, native: Any) -> Any:
        shown = super().show(native)
        return {name: value for name, value in shown.items() if name != "metadata" or value}


class Either(Shape):
    """A text or a list, or nothing at all."""

    def __init__(self, items: List) -> None:
        self._items = items

    def _of(self, value: Any) -> Shape:
        return TEXT if isinstance(value, str) else self._items

    def fits(self, value: Any) -> bool:
        return value is None or self._of(value).fits(value)

    def make(self, value: Any) -> Any:
        return None if value is None else self._of(value).make(value)

    def show(self, native: Any) -> Any:
        return None if native is None else self._of(native).show(native)

    def inside(self, native: Any) -> Iterator[tuple[Any, Place]]:
        if native is not None:
            yield from self._of(native).inside(native)

    def step(self, native: Any, key: Any) -> Place | None:
        return None if native is None else self._of(native).step(native, key)

    def element(self) -> Shape:
        return self._items.element()


class Input(Shape):
    """What an agent is invoked with: a text, messages or blocks. Programs' own; no path begins in it."""

    def _of(self, value: Any) -> Shape:
        if isinstance(value, str):
            return TEXT
        return MESSAGES if value and "role" in value[0] else BLOCKS

    def make(self, value: Any) -> Any:
        return self._of(value).make(value)

    def show(self, native: Any) -> Any:
        return self._of(native).show(native)

    def inside(self, native: Any) -> Iterator[tuple[Any, Place]]:
        yield from self._of(native).inside(native)


def _keyed(shape: Shape, container: Any, key: Any) -> Place:
    present = isinstance(container, list) or key in container

    def put(value: Any) -> None:
        container[key] = value

    def drop() -> None:
        del container[key]

    return Place(shape, container[key] if present else MISSING, put, drop if present else None, put)


def _indexed(shape: Shape, container: Any, key: Any) -> Place | None:
    if type(key) is not int:
        return None
    index = key + len(container) if key < 0 else key
    return _keyed(shape, container, index) if 0 <= index < len(container) else None


def _field(field: Field, native: Any) -> Place:
    *way, last = field.native
    holder = native
    for key in way:
        holder = holder.get(key, {})
    value = holder.get(last, MISSING)

    def put(new: Any) -> None:
        holder[last] = new

    def drop() -> None:
        del holder[last]

    def renew(new: Any) -> None:
        inner = native
        for key in way:
            inner[key] = dict(inner[key])
            inner = inner[key]
        inner[last] = new

    return Place(
        field.shape,
        value,
        None if field.fixed else put,
        drop if field.optional and value is not MISSING else None,
        renew,
    )


TEXT = Shape()
JSON = Json()
DICTIONARY = Json(dictionary=True)
STATE = Json(dictionary=True, hidden=is_sdk_key)


def _plain(shape: Shape, name: str, **traits: bool) -> Field:
    return Field(shape, (name,), **traits)


_USE_FIELDS = {
    "name": _plain(TEXT, "name"),
    "toolUseId": _plain(TEXT, "toolUseId"),
    "input": _plain(JSON, "input"),
}
TOOL_USE = Record(**_USE_FIELDS)
_RESULT_BLOCK = Record(one=True, text=_plain(TEXT, "text"), json=_plain(JSON, "json"))
TOOL_RESULT = Record(
    toolUseId=_plain(TEXT, "toolUseId"),
    status=_plain(Word("success", "error"), "status"),
    content=_plain(List(_RESULT_BLOCK), "content"),
)
_REASONING = Record(text=_plain(TEXT, "text"), signature=_plain(TEXT, "signature", optional=True))
_CACHE_POINT = Record(type=_plain(TEXT, "type"))
_GUARD = Record(
    text=_plain(Record(text=_plain(TEXT, "text"), qualifiers=_plain(List(TEXT), "qualifiers")), "text")
)
_SYSTEM_KINDS = {
    "text": _plain(TEXT, "text"),
    "cachePoint": _plain(_CACHE_POINT, "cachePoint", fixed=True),
    "guardContent": _plain(_GUARD, "guardContent", fixed=True),
}
BLOCK = Record(
    one=True,
    **_SYSTEM_KINDS,
    toolUse=_plain(TOOL_USE, "toolUse", fixed=True),
    toolResult=_plain(TOOL_RESULT, "toolResult", fixed=True),
    reasoning=Field(_REASONING, ("reasoningContent", "reasoningText"), fixed=True),
)
BLOCKS = List(BLOCK)
MESSAGE = Message(
    role=_plain(Word("user", "assistant"), "role"),
    content=_plain(BLOCKS, "content"),
    metadata=_plain(Metadata(), "metadata", optional=True),
)
MESSAGES = List(MESSAGE)
SYSTEM = Either(List(Record(one=True, **_SYSTEM_KINDS)))
SPECS = List(
    Record(
        name=_plain(TEXT, "name"),
        description=_plain(TEXT, "description"),
        inputSchema=Field(JSON, ("inputSchema", "json")),
    )
)
INPUT = Input()


def _camel(word: str) -> str:
    first, *rest = word.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _snake(word: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in word)


STOP_REASON = Word(spelt=(_snake, _camel))


# --- edits ------------------------------------------------------------------------------------------------


def _within(place: Place, key: Any) -> Place:
    found = place.shape.step(place.native, key) if place.native is not MISSING else None
    if found is None:
        raise NowhereError
    return found


def _reach(root: Place, path: Path, *, making: bool = False, copying: bool = False) -> Place:
    place = root
    for key in path:
        place = _within(place, key)
        if place.native is MISSING and making and place.shape.grows and place.put:
            place.native = {}
            place.put(place.native)
        elif copying and isinstance(place.native, (dict, list)) and place.renew:
            place.native = copy.copy(place.native)
            place.renew(place.native)
    return place


def edit(root: Place, action: str, op: Edit, *, copying: bool = False) -> None:
    """Makes one edit, or raises NowhereError, with all as it was but for dictionaries made on the way."""
    path = op["path"]
    if action in {"append", "insert"}:
        _extend(
            _reach(root, path, copying=copying),
            op.get("index") if action == "insert" else None,
            op.get("value"),
        )
        return
    container = _reach(root, path[:-1], making=action == "set", copying=copying)
    place = _within(container, path[-1])
    if action == "delete":
        if place.drop is None or container is root:
            raise NowhereError
        place.drop()
    else:
        # Where the SDK has one more object on the way, a copy of it is put, too.
        put = place.renew if copying else place.put
        if place.put is None or not place.shape.fits(op.get("value")):
            raise NowhereError
        put(place.shape.make(op.get("value")))


def _extend(place: Place, index: int | None, value: Any) -> None:
    of, items = place.shape.element(), place.native
    if of is None or not isinstance(items, list) or not of.fits(value):
        raise NowhereError
    at = len(items) if index is None else index + len(items) if index < 0 else index
    if not 0 <= at <= len(items):
        raise NowhereError
    items.insert(at, of.make(value))


def look(root: Place, path: Path) -> Any:
    """What stands at a path, as JSON; None where nothing does."""
    try:
        place = _reach(root, path)
    except NowhereError:
        return None
    return None if place.native is MISSING else place.shape.show(place.native)


# --- who holds what ---------------------------------------------------------------------------------------


def _visit(place: Place, path: Path, visit: Callable[[Any, Path], bool]) -> None:
    if not isinstance(place.native, (dict, list)) or not visit(place.native, path):
        return
    for key, inner in place.shape.inside(place.native):
        _visit(inner, [*path, key], visit)


def objects_of(place: Place, path: Path) -> dict[int, Path]:
    """The objects at a place by their id(), with their paths; of one that is there twice the first path."""
    found: dict[int, Path] = {}

    def visit(native: Any, at: Path) -> bool:
        new = id(native) not in found
        found.setdefault(id(native), at)
        return new

    _visit(place, path, visit)
    return found


def shared(place: Place, path: Path, known: dict[int, Path]) -> list[list[Path]]:
    """The outermost objects of a place that `known` has: `[path here, what known has of it]`."""
    found: list[list[Path]] = []

    def visit(native: Any, at: Path) -> bool:
        if id(native) in known:
            found.append([at, known[id(native)]])
        return id(native) not in known

    _visit(place, path, visit)
    return found
