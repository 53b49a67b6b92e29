"""Where the decisions of a generator come from: a seed, or a test tool that shrinks; and weights by name.

The generators follow a run and not their format's schema. A schema allows any JSON for a message and any path
for a write, so what is drawn from the schema alone mostly ends in an error before a hook is called, and its
writes lead nowhere: it has fewer features, and those it has are not run. The schema is used to say what a
generator has to reach (`features.py`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

__all__ = ["Choices", "Marker", "RandomChoices", "Weights", "slow_down"]

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
    """What a generator may do at some point, by name: each so many times of a hundred.

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
