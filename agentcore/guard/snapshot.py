"""Everything that can be reached from some values at one moment: each object once, with what it held.

The objects themselves are held as long as the snapshot is, so that no other object gets the number of one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import cached_property
from operator import is_
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from agentcore.guard.reading import ATOMS, PROXIED, Contents, Reader, Unread, token

__all__ = ["Found", "Record", "Snapshot", "Step", "compared", "slots", "values_of"]

_MOST_PATHS: Final = 1_000
# Of ways from an object up to what was given: where many lead in circles, looking for more is not worth it.
_MOST_WAYS: Final = 20_000


Held: TypeAlias = Contents | dict[Any, Any] | list[Any]
_TEXT: Final = frozenset({str})


class Step(NamedTuple):
    """From an object to what it holds."""

    kind: Literal["item", "key", "member", "field"]
    key: Any

    def __str__(self) -> str:
        key = self.key
        if self.kind == "item":
            return f"[{key}]"
        if self.kind == "member":
            return f"{{{_name(key)}}}"
        if self == _THROUGH:
            return ""
        if type(key) is str and key.isidentifier():
            return f".{key}"
        return f"[{_name(key)}]"


_THROUGH: Final = Step("field", PROXIED)


def _name(key: object) -> str:
    plain = type(key) in ATOMS or (type(key) is tuple and ATOMS.issuperset(map(type, key)))
    return repr(key) if plain else f"<{type(key).__name__}>"


def slots(contents: Contents) -> Iterator[tuple[Step, Any]]:
    """Everything that an object holds, with the step that leads there."""
    if contents.items is not None:
        yield from ((Step("item", index), item) for index, item in enumerate(contents.items))
    if contents.entries is not None:
        for key, value in contents.entries.items():
            yield Step("key", key), value
            if type(key) not in ATOMS:
                yield Step("member", key), key
    if contents.members is not None:
        yield from ((Step("member", member), member) for member in contents.members)
    if contents.fields is not None:
        yield from ((Step("field", name), value) for name, value in contents.fields.items())


class Record(NamedTuple):
    """An object, its class and what it held; of dicts and lists, which are most of all, a copy only."""

    value: Any
    cls: type
    held: Held

    @property
    def contents(self) -> Contents:
        """The content."""
        held = self.held
        if isinstance(held, Contents):
            return held
        return Contents(entries=held) if isinstance(held, dict) else Contents(items=held)

    def unchanged(self, reader: Reader) -> bool:
        """Whether it holds the very same at the same places, being of the same class.

        If not, what it holds may still be of the same value.
        """
        value, held = self.value, self.held
        if isinstance(held, dict):
            return _all_same_entries(held, value)
        if isinstance(held, list):
            return _all_same(held, value)
        now = reader.again(value)
        return isinstance(now, Contents) and _same(held, now)


class _Way(NamedTuple):
    """A way up from an object: where it is, the steps down from there, and the objects it went through."""

    at: int
    steps: tuple[Step, ...]
    seen: frozenset[int]


class Snapshot:
    """The records of all objects that a value leads to, by their numbers, and what was not looked into."""

    def __init__(self, root: object, reader: Reader) -> None:
        self.root = root
        self.records: dict[int, Record] = {}
        self.opaque: dict[int, Any] = {}
        # Those that are looked into, by number. They come last: nobody reads of them first.
        self.classes: dict[int, Record] = {}
        pending = [root]
        while pending:
            found = self._read(pending, reader)
            pending = [value for cls in found for value in self._read_class(cls, reader)]
        self.records |= self.classes

    def _read(self, pending: list[Any], reader: Reader) -> dict[type, None]:
        """Reads objects and all they hold; the classes that came up on the way."""
        records = self.records
        found: dict[type, None] = {}
        while pending:
            value = pending.pop()
            number = id(value)
            if number in records:
                continue
            cls = type(value)
            plain = (cls is dict or cls is list) and number not in reader.kept
            held = value.copy() if plain else reader(value)
            if held is Unread.ATOM:
                continue
            if held is Unread.OPAQUE or (type(held) is Contents and not held.whole):
                self.opaque[number] = value
                if issubclass(cls, type):
                    found[value] = None
            if held is not Unread.OPAQUE:
                if type(held) is Contents:
                    found[cls] = None
                records[number] = Record(value, cls, held)
                # The last is taken up first, so that objects stand in the order in which one reads them.
                pending += [each for each in reversed(values_of(held)) if type(each) not in ATOMS]
        return found

    def _read_class(self, cls: type, reader: Reader) -> Iterator[Any]:
        """Reads what a class and its own class hold (guard.class-state); what of that is to be read, too."""
        while id(cls) not in self.classes and (state := reader.class_state(cls)) is not None:
            self.classes[id(cls)] = Record(cls, type(cls), state.contents)
            self.opaque |= {id(each): each for each in state.opaque}
            yield from state.read
            cls = type(cls)

    def held(self, value: Any) -> Contents | None:
        """Return the content of an object; None if it was not read, or is a class."""
        record = self.records.get(id(value))
        return None if record is None or id(value) in self.classes else record.contents

    def holds(self, value: Any) -> bool:
        """Whether the value is an object that was there, and no constant."""
        held = self.held(value)
        return id(value) in self.opaque or (held is not None and not held.constant)

    def _slots(self, record: Record) -> Iterator[tuple[Step, Any]]:
        yield from slots(record.contents)
        if id(record.cls) in self.classes:
            yield _THROUGH, record.cls

    def path(self, number: int) -> str:
        """A shortest path to an object."""
        return f"${''.join(map(str, self._shortest(number)))}"

    def paths(self, number: int, last: Step | None = None) -> tuple[tuple[str, ...], bool]:
        """Every path to an object, and to a place of it; shortest first, and whether these are all.

        Where objects hold each other in a circle, a path goes through none of them twice.
        """
        first = self._shortest(number)
        found = {first: None}
        ways = [_Way(number, (), frozenset((number,)))]
        looked = 0
        while ways and len(found) < _MOST_PATHS and looked < _MOST_WAYS:
            looked += 1
            way = ways.pop()
            if way.at == id(self.root):
                found[way.steps] = None
            ways += [
                _Way(holder, (step, *way.steps), way.seen | {holder})
                for holder, step in reversed(self.holders.get(way.at, ()))
                if holder not in way.seen
            ]
        end = "" if last is None else str(last)
        every = sorted(found, key=len)
        every.remove(first)
        return tuple(f"${''.join(map(str, steps))}{end}" for steps in (first, *every)), not ways

    def _shortest(self, number: int) -> tuple[Step, ...]:
        steps: list[Step] = []
        while number != id(self.root):
            number, step = self.above[number]
            steps.append(step)
        return tuple(reversed(steps))

    @cached_property
    def holders(self) -> dict[int, list[tuple[int, Step]]]:
        """By which objects, and where in them, each object is held."""
        found: dict[int, list[tuple[int, Step]]] = defaultdict(list)
        for number, record in self.records.items():
            for step, value in self._slots(record):
                if type(value) not in ATOMS:
                    found[id(value)].append((number, step))
        return found

    @cached_property
    def above(self) -> dict[int, tuple[int, Step]]:
        """By which object, and where in it, each object is held on a shortest path."""
        found: dict[int, tuple[int, Step]] = {}
        level = deque([id(self.root)])
        while level:
            number = level.popleft()
            record = self.records.get(number)
            for step, value in self._slots(record) if record else ():
                if type(value) not in ATOMS and id(value) not in found:
                    found[id(value)] = (number, step)
                    level.append(id(value))
        return found


def values_of(held: Held) -> list[Any]:
    """The values that an object holds, keys of entries too."""
    if isinstance(held, list):
        return held
    if isinstance(held, dict):
        return [*held.values()] if _TEXT.issuperset(map(type, held)) else [*held, *held.values()]
    return [
        *(held.items or ()),
        *values_of(held.entries or {}),
        *(held.members or ()),
        *(held.fields or {}).values(),
    ]


def _same(one: Contents, other: Contents) -> bool:
    """Whether the very same is held at the same places; if not, what is held may still be the same."""
    return (
        _all_same(one.items, other.items)
        and _all_same(one.members, other.members)
        and _all_same_entries(one.entries, other.entries)
        and _all_same_entries(one.fields, other.fields)
        and one.data == other.data
    )


def _all_same(one: list[Any] | None, other: list[Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return len(one) == len(other) and all(map(is_, one, other))


def _all_same_entries(one: dict[Any, Any] | None, other: dict[Any, Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return (
        len(one) == len(other) and all(map(is_, one, other)) and all(map(is_, one.values(), other.values()))
    )


# The places of a snapshot's objects that hold something else than before.
#
# Needs nothing but the standard library, as `agentcore.guard.reading`.

_LONG: Final = 1_000
_NOTHING: Final = Contents()


class Found(NamedTuple):
    """A place that holds something else; no step if it is the object itself."""

    kind: Literal["added", "removed", "replaced", "reordered"]
    step: Step | None
    before: Any = None
    after: Any = None


def compared(record: Record, reader: Reader) -> Iterator[Found]:
    """Yields the places of one object that hold something else than its record says."""
    if type(record.value) is record.cls and record.unchanged(reader):
        return
    before, after = record.contents, reader.again(record.value)
    if record.cls is not type(record.value):
        yield Found("replaced", Step("field", "__class__"), record.cls.__name__, type(record.value).__name__)
    if isinstance(after, Unread):
        after = _NOTHING
    if before.data != after.data:
        yield Found("replaced", None, before.data, after.data)
    yield from _elements(before.items or [], after.items or [])
    yield from _keyed("key", before.entries or {}, after.entries or {})
    yield from _members(before.members or [], after.members or [])
    yield from _keyed("field", before.fields or {}, after.fields or {})


def _elements(before: list[Any], after: list[Any]) -> Iterator[Found]:
    old, new = list(map(token, before)), list(map(token, after))
    start = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    for gone, come in _stretches(range(start, len(old) - end), range(start, len(new) - end), old, new):
        for there, here in zip(gone, come, strict=False):
            if old[there] != new[here]:
                yield Found("replaced", Step("item", there), before[there], after[here])
        for there in gone[len(come) :]:
            yield Found("removed", Step("item", there), before=before[there])
        for here in come[len(gone) :]:
            yield Found("added", Step("item", here), after=after[here])


def _stretches(
    gone: range, come: range, old: list[object], new: list[object]
) -> Iterator[tuple[range, range]]:
    """The stretches that differ; long ones are compared place by place, since matching takes long."""
    if max(len(gone), len(come)) > _LONG:
        yield gone, come
        return
    matcher = SequenceMatcher(
        a=[old[index] for index in gone], b=[new[index] for index in come], autojunk=False
    )
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            yield gone[i1:i2], come[j1:j2]


def _common(one: list[object], other: list[object]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _keyed(kind: Literal["key", "field"], before: dict[Any, Any], after: dict[Any, Any]) -> Iterator[Found]:
    old = {token(key): (key, value) for key, value in before.items()}
    new = {token(key): (key, value) for key, value in after.items()}
    for mark, (key, value) in old.items():
        step = Step(kind, key)
        if mark not in new:
            yield Found("removed", step, before=value)
        elif token(value) != token(new[mark][1]):
            yield Found("replaced", step, value, new[mark][1])
    for mark, (key, value) in new.items():
        if mark not in old:
            yield Found("added", Step(kind, key), after=value)
    kept = [mark for mark in old if mark in new]
    if kind == "key" and kept != [mark for mark in new if mark in old]:
        yield Found("reordered", None, tuple(before), tuple(after))


def _members(before: list[Any], after: list[Any]) -> Iterator[Found]:
    old = {token(member): member for member in before}
    new = {token(member): member for member in after}
    for mark, member in old.items():
        if mark not in new:
            yield Found("removed", Step("member", member), before=member)
    for mark, member in new.items():
        if mark not in old:
            yield Found("added", Step("member", member), after=member)
