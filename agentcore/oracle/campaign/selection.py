"""Which programs are run: those with features that are asked for, without those that are left out.

Rule oracle.left-out.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.families import Family, without_writes
from agentcore.kit.places import Place, at, put, without
from agentcore.kit.program import BadProgram

__all__ = ["Selection", "UnknownFeatureError", "matching"]

Json: TypeAlias = dict[str, Any]


class UnknownFeatureError(AgentCoreError, LookupError):
    """No feature of the family has this name or fits this pattern; `near` are names like it."""

    def __init__(self, pattern: str, family: str, near: Sequence[str]) -> None:
        super().__init__(pattern, family, near)
        self.pattern = pattern
        self.family = family
        self.near = tuple(near)

    def __str__(self) -> str:
        hint = f"; near it are {', '.join(self.near)}" if self.near else ""
        return f"no feature of {self.family} programs is named {self.pattern!r}{hint}"


def matching(pattern: str, family: Family) -> frozenset[str]:
    """The names of features that fit a pattern of the shell (`op *`), in which case counts.

    Raises:
        UnknownFeatureError: where none does.
    """
    found = frozenset(name for name in family.feature_names if fnmatchcase(name, pattern))
    if not found:
        near = difflib.get_close_matches(pattern, family.feature_names, n=5, cutoff=0.5)
        raise UnknownFeatureError(pattern, family.name, near)
    return found


@attrs.frozen
class Selection:
    """A program is run if of each of the `wanted` sets it has a feature, and none of the `unwanted`."""

    family: Family
    wanted: tuple[frozenset[str], ...] = ()
    unwanted: frozenset[str] = frozenset()

    @classmethod
    def of(cls, family: Family, include: Iterable[str], exclude: Iterable[str]) -> Selection:
        """From patterns, every one of `include` and none of `exclude`.

        Raises:
            UnknownFeatureError: for a pattern that no feature's name fits.
        """
        unwanted = frozenset[str]().union(*(matching(pattern, family) for pattern in exclude))
        return cls(family, tuple(matching(pattern, family) for pattern in include), unwanted)

    def without(self, features: Collection[str]) -> Selection:
        """The same, with these features left out too."""
        return attrs.evolve(self, unwanted=self.unwanted.union(features))

    def has(self, program: Json) -> bool:
        """Whether the program is run."""
        return self.refused(program) is None

    def refused(self, program: Json) -> str | None:
        """Why the program is not run; None if it is."""
        if not self.wanted and not self.unwanted:
            return None
        features = {*self.family.features(program)}
        missing = next((wanted for wanted in self.wanted if wanted.isdisjoint(features)), None)
        if missing is not None:
            name, *others = sorted(missing)
            return f"has no {name}" + (f", nor {len(others)} others" if others else "")
        return next((f"has {name}" for name in sorted(self.unwanted & features)), None)

    def trimmed(self, program: Json) -> Json:
        """The program without what has features that are left out, as far as it can do without.

        What is left is still a program of the format, and has lost nothing else (rule oracle.left-out).
        """
        left = self._left(program)
        while left:
            smaller = (
                self._without_ops(program, left)
                or self._without_kind(program, left)
                or self._without_part(program, left, ())
            )
            if smaller is None:
                break
            program, left = smaller, self._left(smaller)
        return program

    def _left(self, program: Json) -> frozenset[str]:
        """What the program has of what is left out."""
        return self.unwanted.intersection(self.family.features(program)) if self.unwanted else frozenset()

    def _better(self, candidate: Json, left: frozenset[str]) -> bool:
        return self._is_program(candidate) and len(self._left(candidate)) < len(left)

    def _without_ops(self, program: Json, left: frozenset[str]) -> Json | None:
        """The program without an op, all ops of a verb, or all those of a hook: the first that helps."""
        writes = [*self.family.writes(program)]
        groups = [[write] for write in reversed(writes)]
        groups += [[one for one in writes if one.op == op] for op in {write.op: None for write in writes}]
        groups += [[one for one in writes if one.hook == hook] for hook in {w.hook: None for w in writes}]
        return self._first(left, (without_writes(program, group) for group in groups))

    def _without_kind(self, program: Json, left: frozenset[str]) -> Json | None:
        """The program without all parts of one type in one of its fields: the first that helps."""
        kinds = [(field, kind) for field in program for kind in dict.fromkeys(_types(program[field]))]
        without_one = ({**program, field: _without_type(program[field], kind)} for field, kind in kinds)
        return self._first(left, without_one)

    def _first(self, left: frozenset[str], candidates: Iterable[Json]) -> Json | None:
        return next((each for each in candidates if self._better(each, left)), None)

    def _without_part(self, program: Json, left: frozenset[str], inside: Place) -> Json | None:
        """The program without the smallest part inside a place that has something unwanted."""
        value = at(program, inside)
        for key in [*value] if isinstance(value, dict) else [*reversed(range(len(value)))]:
            place = (*inside, key)
            whole: Json = without(program, place)
            is_program = self._is_program(whole)
            if is_program and not self._better(whole, left):
                # Without all of it there is nothing less, so there is not without a part of it either.
                continue
            if smaller := self._less(program, left, place):
                return smaller
            if is_program:
                return whole
        return None

    def _less(self, program: Json, left: frozenset[str], place: Place) -> Json | None:
        """The program with less at a place where something unwanted may be, or must be something."""
        value = at(program, place)
        less = (put(program, place, other) for other in self.family.shrinking.merged(value))
        found = self._first(left, less)
        if found is None and isinstance(value, dict | list):
            found = self._without_part(program, left, place)
        return found

    def _is_program(self, value: Json) -> bool:
        try:
            self.family.require(value)
        except BadProgram:
            return False
        return bool(self.family.shrinking.within(value))


def _types(value: Any) -> Iterator[str]:
    """The types of the parts in lists, at any depth."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(value, list) and isinstance(part, dict) and isinstance(part.get("type"), str):
            yield part["type"]
        yield from _types(part)


def _without_type(value: Any, kind: str) -> Any:
    """The value without the parts of a type in its lists."""
    if isinstance(value, dict):
        return {key: _without_type(child, kind) for key, child in value.items()}
    if not isinstance(value, list):
        return value
    kept = (part for part in value if not (isinstance(part, dict) and part.get("type") == kind))
    return [_without_type(part, kind) for part in kept]
