"""Where the decisions of a generator come from: a seed, or a test tool that shrinks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

__all__ = ["Choices", "RandomChoices", "slow_down"]

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


def slow_down(tools: dict[str, dict[str, Any]], choices: Choices) -> None:
    """Has calls of some of the tools take moments, so that the order in which they end shows."""
    first, *others = tools.values()
    first["takes"] = choices.integer(1, 3)
    for tool in others:
        if choices.chance(75):
            tool["takes"] = choices.integer(1, 3)
