"""Which programs are run: those with features that are asked for, without those that are left out.

Rule oracle.left-out.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import attrs

from agentcore.errors import AgentCoreError
from agentcore.oracle.families import Family

__all__ = ["Selection", "UnknownFeatureError", "matching"]


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

    def has(self, program: dict[str, Any]) -> bool:
        """Whether the program is run."""
        if not self.wanted and not self.unwanted:
            return True
        features = self.family.features(program)
        return self.unwanted.isdisjoint(features) and all(
            not wanted.isdisjoint(features) for wanted in self.wanted
        )
