"""Everything that can be reached from some values at one moment: each object once, with what it held.

The objects themselves are held as long as the snapshot is, so that no other object gets the number of one.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from functools import cached_property
from operator import is_
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from agentcore.guard.reading import ATOMS, PROXIED, Contents, Reader, Unread

__all__ = ["Record", "Snapshot", "Step", "slots"]

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
        """What it held."""
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
        now = reader(value)
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
        self._fill(reader)

    def _fill(self, reader: Reader) -> None:
        records = self.records
        pending: list[Any] = [self.root]
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
            if held is not Unread.OPAQUE:
                records[number] = Record(value, cls, held)
                # The last is taken up first, so that objects stand in the order in which one reads them.
                pending += [each for each in reversed(_values(held)) if type(each) not in ATOMS]

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
            for step, value in slots(record.contents):
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
            for step, value in slots(record.contents) if record else ():
                if type(value) not in ATOMS and id(value) not in found:
                    found[id(value)] = (number, step)
                    level.append(id(value))
        return found


def _values(held: Held) -> list[Any]:
    """The values that an object holds, keys of entries too."""
    if isinstance(held, list):
        return held
    if isinstance(held, dict):
        return [*held.values()] if _TEXT.issuperset(map(type, held)) else [*held, *held.values()]
    return [
        *(held.items or ()),
        *_values(held.entries or {}),
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
