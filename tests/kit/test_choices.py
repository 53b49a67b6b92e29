"""What generators are made of: weights by name, and marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentcore.kit.choices import Marker, RandomChoices, Weights


class Numbers:
    """Choices that are numbers given beforehand."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = [*numbers]

    def integer(self, low: int, high: int) -> int:
        assert (low, high) == (0, 99)
        return self.numbers.pop(0)

    def sample(self, items: Sequence[Any]) -> Any:
        return items[0]

    def chance(self, percent: float) -> bool:
        return percent > 0


def test_a_weight_is_how_many_of_a_hundred_numbers_lead_to_a_name() -> None:
    weights = Weights({"first": 60, "second": 39, "last": 1})
    names = [weights.draw(Numbers(number)) for number in range(100)]
    assert names == ["first"] * 60 + ["second"] * 39 + ["last"]


@pytest.mark.parametrize("weight", [39, 41])
def test_weights_that_do_not_add_up_to_a_hundred_are_an_error(weight: int) -> None:
    with pytest.raises(ValueError, match=rf"the weights add up to {60 + weight} and not to 100"):
        Weights({"a": 60, "b": weight})


def test_no_two_marks_are_alike() -> None:
    marker = Marker(RandomChoices(0))
    assert [marker.mark() for _ in range(3)] == ["#1", "#2", "#3"]
