"""The program generators as a Hypothesis strategy, for tests: examples shrink to small programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from agentcore.kit.families import family_of, profiles_under

__all__ = ["HypothesisChoices", "programs"]

T = TypeVar("T")
_integers = cache(st.integers)


class HypothesisChoices:
    """Choices drawn by Hypothesis, which shrinks them towards the lowest integer, the first item, and no."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return low if low == high else self._draw(_integers(low, high))

    def sample(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.integer(0, len(items) - 1)]

    def chance(self, percent: float) -> bool:
        """Yes in so many of a hundred cases; shrinks to no."""
        return self.integer(0, 999) >= 1000 - percent * 10


@st.composite
def _programs(draw: DrawFn, profile: str) -> dict[str, Any]:
    return family_of(profile).program(HypothesisChoices(draw), "example", profile)


def programs(profile: str) -> SearchStrategy[dict[str, Any]]:
    """Programs for a profile; of one whose path is not named, for all of its paths.

    Raises:
        UnknownProfileError: if there is no such profile.
    """
    profiles_under(profile)
    return _programs(profile)
