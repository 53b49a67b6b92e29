"""Which programs are run: those with features that are asked for, without those that are left out.

Rule oracle.left-out.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.oracle.families import Family
from agentcore.oracle.places import at, has, places, put, without
from agentcore.oracle.program import BadProgram

__all__ = ["Selection", "UnknownFeatureError", "matching", "trims"]

Json: TypeAlias = dict[str, Any]

# A part of a message of the history: `messages`, its index, `content`, its index, a field of it.
_DEEPEST: Final = 5


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
        if not self.unwanted:
            return program
        left = self.unwanted.intersection(self.family.features(program))
        trimmed = [program]
        for smaller in trims(self.family, lambda: trimmed[-1]) if left else ():
            if not self._is_program(smaller):
                continue
            still = self.unwanted.intersection(self.family.features(smaller))
            if len(still) < len(left):
                trimmed.append(smaller)
                left = still
            if not left:
                break
        return trimmed[-1]

    def _is_program(self, value: Json) -> bool:
        try:
            self.family.require(value)
        except BadProgram:
            return False
        return self.family.shrinking.within(value)


def trims(family: Family, current: Callable[[], Json]) -> Iterator[Json]:
    """The current program without one thing: an op, then what stands deep in it, then what stands around.

    `current` is asked anew for each, so that what was taken out stays out.
    """
    for write in reversed([*family.writes(current())]):
        if has(current(), write.place):
            yield without(current(), write.place)
    found = sorted(places(current()), key=len, reverse=True)
    for place in (place for place in found if len(place) <= _DEEPEST):
        program = current()
        if not has(program, place):
            continue
        yield from (put(program, place, less) for less in family.shrinking.merged(at(program, place)))
        if len(place) > 1 or place[0] not in family.shrinking.required:
            yield without(program, place)
