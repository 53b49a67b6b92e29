"""How a cost grows: the exponent of a power law, by least squares on the logarithms."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

_TWO = 2


@attrs.frozen
class Growth:
    """A cost that goes with size to this power, between these sizes; `last` between the last two only."""

    exponent: float
    last: float
    smallest: int
    largest: int


def growth(costs: Mapping[int, float]) -> Growth | None:
    """How costs grow with their sizes; sizes of zero are left out. None for fewer than two sizes."""
    points = sorted((size, cost) for size, cost in costs.items() if size > 0)
    if len(points) < _TWO:
        return None
    return Growth(
        exponent=_slope(points), last=_slope(points[-_TWO:]), smallest=points[0][0], largest=points[-1][0]
    )


def _slope(points: list[tuple[int, float]]) -> float:
    sizes = [math.log(size) for size, _ in points]
    costs = [math.log(cost) for _, cost in points]
    middle, level = sum(sizes) / len(sizes), sum(costs) / len(costs)
    covariance = sum((size - middle) * (cost - level) for size, cost in zip(sizes, costs, strict=True))
    return covariance / sum((size - middle) ** 2 for size in sizes)
