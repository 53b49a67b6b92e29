"""The pairs of features that a campaign's programs had, and an estimate of how many such programs can have.

Rule oracle.pairs.

A fault that needs two things shows in programs that have both. Which pairs a generator can make follows from
no schema (a program has one path, and no tool takes time where there is none), and is estimated from the
pairs that were met once and twice: Chao's estimate of how many kinds there are that nobody has seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import combinations
from typing import TypeAlias

import attrs

__all__ = ["Coverage", "Pair", "PairCounter"]

Pair: TypeAlias = tuple[str, str]


@attrs.frozen(kw_only=True)
class Coverage:
    """The pairs of features that programs had: `pairs` says in how many programs each of them was."""

    pairs: Mapping[Pair, int] = attrs.field(factory=dict)

    @property
    def met(self) -> int:
        """How many pairs were met."""
        return len(self.pairs)

    @property
    def expected(self) -> int:
        """How many pairs such programs have, by the pairs that were met once and twice: at least so many."""
        counts = Counter(self.pairs.values())
        once, twice = counts[1], counts[2]
        return self.met + once * (once - 1) // (2 * (twice + 1))

    def rarest(self, count: int) -> tuple[tuple[Pair, int], ...]:
        """Returns the pairs that were in the fewest programs, with how many those were."""
        return tuple(sorted(self.pairs.items(), key=lambda each: (each[1], each[0]))[:count])


class PairCounter:
    """Counts the pairs of features of programs."""

    def __init__(self) -> None:
        self._counts: Counter[Pair] = Counter()

    def add(self, features: Collection[str]) -> None:
        """Counts a program that has these features."""
        self._counts.update(combinations(sorted(features), 2))

    def coverage(self) -> Coverage:
        """Returns what was counted."""
        return Coverage(pairs=dict(self._counts))
