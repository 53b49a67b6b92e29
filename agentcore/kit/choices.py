"""A generator's choices: the source that decides them, and the schema's choice points that programs reach.

Choices come from a seed, or from a test tool that shrinks. The generators follow a run and not their format's
schema. A schema allows any JSON for a message and any path for a write, so what is drawn from it alone mostly
ends in an error before a hook is called, and its writes lead nowhere: it has fewer features, and those it has
are not run. The schema says what a generator has to reach.

A choice point is where two valid programs can differ in kind: an optional field that is there, the member of
an enumeration, the alternative that a value is. A format says which definitions of its schema count and under
which word (`{"tool": "tool"}`: a tool with the field `takes` has the feature `tool takes`), so that a new
field of the schema is a feature, which the tests want to see drawn, without anybody naming it. Names that the
format derives otherwise (how many calls, where a path leads) are its extras.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar

__all__ = ["ChoicePoints", "Choices", "Marker", "RandomChoices", "Weights", "count_features", "slow_down"]

T = TypeVar("T")


class Choices(Protocol):
    """A source of decisions. Where it shrinks, simpler is: the lowest integer, the first item, no."""

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        ...

    def sample(self, items: Sequence[T]) -> T:
        """One of the items, of which there is at least one."""
        ...

    def chance(self, percent: float) -> bool:
        """Yes in so many of a hundred cases."""
        ...


class RandomChoices:
    """Choices drawn from a seed: the same seed, the same choices, on every version of Python."""

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        # random() alone: it is the one method whose sequence Python promises to keep.
        self._random = random.Random(seed).random  # noqa: S311 - test data, no secret

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return low + int(self._random() * (high - low + 1))

    def sample(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[int(self._random() * len(items))]

    def chance(self, percent: float) -> bool:
        """Yes in so many of a hundred cases."""
        return self._random() * 100 < percent


class Weights:
    """The alternatives of a generator at some point, by name, each with its percentage.

    Args:
        weights: the names, the simplest first; their weights add up to 100.

    Raises:
        ValueError: if the weights do not add up to 100.
    """

    __slots__ = ("_weights",)

    def __init__(self, weights: Mapping[str, int]) -> None:
        if sum(weights.values()) != _HUNDRED:
            raise ValueError(f"the weights add up to {sum(weights.values())} and not to 100: {weights}")
        self._weights = {**weights}

    def draw(self, choices: Choices) -> str:
        """Returns one of the names."""
        # One integer and no chain of chances: a test tool that shrinks moves it to 0, which is the simplest
        # name.
        drawn = choices.integer(0, _HUNDRED - 1)
        for name, weight in self._weights.items():
            if drawn < weight:
                return name
            drawn -= weight
        raise AssertionError("weights that add up to 100 have a name for each number below")


_HUNDRED: Final = 100


class Marker:
    """Makes texts that stand nowhere else in a program: a trace shows by them how far a write spread."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self._marks = 0

    def mark(self) -> str:
        """Returns a text that no other call returns: `#1`, `#2` and so on."""
        self._marks += 1
        return f"#{self._marks}"


def slow_down(tools: dict[str, dict[str, Any]], choices: Choices) -> None:
    """Has calls of some of the tools take moments, so that the order in which they end shows."""
    first, *others = tools.values()
    first["takes"] = choices.integer(1, 3)
    for tool in others:
        if choices.chance(75):
            tool["takes"] = choices.integer(1, 3)


# ---------------------------------------------------------------- what programs reach

Json: TypeAlias = dict[str, Any]
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "object": (dict,),
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


class ChoicePoints:
    """The choice points of a format's schema.

    Args:
        schema: the schema of programs.
        words: the definitions that count, with the first word of their features. `tool.returns` is the field
            of a definition, `program` the program itself, `[]` stands for the elements of a list.
        called: features that go by another name, or by none: what is seen otherwise, or never drawn.
    """

    def __init__(
        self, schema: Json, words: Mapping[str, str], called: Mapping[str, str | None] | None = None
    ) -> None:
        self._schema = schema
        self._words = words
        self._called = called or {}
        self._points: dict[tuple[int, str], _Point] = {}
        self._root = self._point(self._schema, "program")
        self.places: tuple[str, ...] = tuple(dict.fromkeys(point.place for point in self._points.values()))
        self._useful = self._leading_to_words()
        counted = [point for point in self._points.values() if point.place in words]
        possible = (name for point in counted for name in self._named(point, point.possible()))
        self.names: tuple[str, ...] = tuple(dict.fromkeys(possible))

    @classmethod
    def every(cls, schema: Json) -> ChoicePoints:
        """Returns the choice points of all definitions, each under its own name."""
        return cls(schema, {place: place for place in cls(schema, {}).places})

    def of(self, program: Json) -> set[str]:
        """Returns the features of a program."""
        found: set[str] = set()
        pending: list[tuple[Any, _Point]] = [(program, self._root)]
        while pending:
            value, point = pending.pop()
            if point.place in self._words:
                found.update(self._named(point, point.met(value)))
            pending += ((child, below) for child, below in point.inside(value) if below in self._useful)
        return found

    def _named(self, point: _Point, choices: Iterable[str]) -> Iterator[str]:
        for choice in choices:
            name = f"{self._words[point.place]} {choice}"
            called = self._called.get(name, name)
            if called is not None:
                yield called

    # --- the schema as points -------------------------------------------------------------------------------

    def _point(self, node: Json, place: str) -> _Point:
        while "$ref" in node:
            place = node["$ref"].rpartition("/")[2]
            node = self._schema["$defs"][place]
        known = self._points.get((id(node), place))
        if known is not None:
            return known
        point = self._points[id(node), place] = _Point(node, place)
        for key, field in node.get("properties", {}).items():
            point.fields[key] = self._point_or_none(field, f"{place}.{key}")
        point.items = self._point_or_none(node.get("items"), f"{place}[]")
        point.others = self._point_or_none(node.get("additionalProperties"), f"{place}[]")
        point.alternatives = [self._point(one, place) for one in node.get("anyOf", ())]
        return point

    def _point_or_none(self, node: Any, place: str) -> _Point | None:
        return self._point(node, place) if isinstance(node, dict) else None

    def _leading_to_words(self) -> set[_Point]:
        """The points that count, and those on the way there: what is below no other need be walked."""
        useful = {point for point in self._points.values() if point.place in self._words}
        while True:
            more = {
                point
                for point in self._points.values()
                if point not in useful and not useful.isdisjoint(point.below())
            }
            if not more:
                return useful
            useful |= more


class _Point:
    """A node of a schema, with the nodes below it."""

    def __init__(self, node: Json, place: str) -> None:
        self.place = place
        self.fields: dict[str, _Point | None] = {}
        self.items: _Point | None = None
        self.others: _Point | None = None
        self.alternatives: list[_Point] = []
        self.members = _members(node)
        self._needed: Sequence[str] = node.get("required", ())
        types = node.get("type", ())
        self._types = tuple(
            kind for name in ([types] if isinstance(types, str) else types) for kind in _TYPES[name]
        )

    def below(self) -> Iterator[_Point]:
        """The points that values inside a value here can be at."""
        yield from (point for point in (*self.fields.values(), self.items, self.others) if point is not None)
        yield from self.alternatives

    def inside(self, value: Any) -> Iterator[tuple[Any, _Point]]:
        """Yields the values inside a value, with their points; the value itself at its own alternative."""
        alternative = self._alternative(value)
        if alternative is not None:
            yield value, alternative
        if isinstance(value, dict):
            for key, child in value.items():
                point = self.fields.get(key) or (None if key in self.fields else self.others)
                if point is not None:
                    yield child, point
        elif isinstance(value, list) and self.items is not None:
            for child in value:
                yield child, self.items

    def possible(self) -> Iterator[str]:
        """The choices that the schema leaves here."""
        yield from (member for member in self.members if isinstance(member, str))
        yield from (key for key in self.fields if key not in self._needed)
        yield from (name for alternative in self.alternatives for name in alternative.called())

    def met(self, value: Any) -> Iterator[str]:
        """The choices that a value has made here."""
        if isinstance(value, str) and value in self.members:
            yield value
        if isinstance(value, dict):
            yield from (key for key in value if key in self.fields and key not in self._needed)
        alternative = self._alternative(value)
        if alternative is not None:
            tag = next(alternative.tags(), None)
            yield from [value[tag]] if tag is not None else alternative.called()

    def called(self) -> Iterable[str]:
        """The names of this as an alternative: the values of its tag, or the field that it has to have."""
        tag = next(self.tags(), None)
        point = None if tag is None else self.fields[tag]
        return self._needed[:1] if point is None else map(str, point.members)

    def tags(self) -> Iterator[str]:
        """The fields that tell an alternative from the others by their value."""
        for key in self._needed:
            point = self.fields.get(key)
            if point is not None and point.members:
                yield key

    def _alternative(self, value: Any) -> _Point | None:
        return next((one for one in self.alternatives if one.fits(value)), None)

    def fits(self, value: Any) -> bool:
        """True if a value can be one of this point, judged by its outermost level."""
        if self.members:
            return value in self.members
        if self._types and not isinstance(value, self._types):
            return False
        if self.alternatives and self._alternative(value) is None:
            return False
        if not isinstance(value, dict):
            return True
        return all(key in value for key in self._needed) and all(
            point.fits(value[key]) for key in self.tags() if (point := self.fields[key]) is not None
        )


def _members(node: Json) -> Sequence[Any]:
    members: Sequence[Any] = node["enum"] if "enum" in node else [node["const"]] if "const" in node else ()
    return members


def count_features(
    programs: Iterable[Json],
    features: Callable[[Json], Collection[str]],
    names: Iterable[str],
    *,
    alive: Callable[[Json], bool] | None = None,
) -> dict[str, int]:
    """Returns in how many of the programs each feature occurs, those that never do included.

    Args:
        programs: the programs.
        features: the features that a program has.
        names: the features that programs may have.
        alive: says of a program whether it ran as it was meant to; the answers are counted as `alive`.
    """
    counts: Counter[str] = Counter(dict.fromkeys(names, 0))
    for program in programs:
        counts.update(features(program))
        if alive is not None:
            counts["alive"] += alive(program)
    return dict(counts)
