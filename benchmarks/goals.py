"""What is to be reached, each goal with the figure that was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import attrs

from benchmarks.cells import ORACLE, SHORT, Cell
from benchmarks.growth import growth
from benchmarks.loops import LOOPS, OURS
from benchmarks.results import Found, Value

_LONG: Final = 10_000
_STEPS: Final = 100
_MANY_STEPS: Final = 1_000


@attrs.frozen
class Goal:
    """A figure that has to be at most its bound, or at `least`; it is None where a value is missing."""

    says: str
    bound: float
    measured: Callable[[Found], float | None]
    least: bool = attrs.field(default=False, kw_only=True)

    def met(self, figure: float) -> bool:
        """Whether the figure is good enough."""
        return figure >= self.bound if self.least else figure <= self.bound


def step(loop: str, history: int, steps: int) -> Cell:
    """The cell of a step's time."""
    return Cell(case="step", loop=loop, history=history, steps=steps)


def _ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None else above / below


def _worst(figures: Iterable[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return max(known) if known else None


# ---------------------------------------------------------------- steps


def _long_over_short(found: Found) -> float | None:
    return _ratio(found.median(step(OURS, _LONG, _STEPS)), found.median(step(OURS, SHORT, _STEPS)))


def _ours(found: Found) -> list[Value]:
    return [value for value in found.of("step") if value.cell.loop == OURS]


def _slope_in_history(found: Found) -> float | None:
    def slope(steps: int) -> float | None:
        costs = {each.cell.history: each.median for each in _ours(found) if each.cell.steps == steps}
        fitted = growth({history: cost for history, cost in costs.items() if history > SHORT})
        return None if fitted is None or fitted.largest < _LONG else fitted.exponent

    return _worst(slope(steps) for steps in {each.cell.steps for each in _ours(found)})


def _slope_in_steps(found: Found) -> float | None:
    def slope(history: int) -> float | None:
        fitted = growth(
            {each.cell.steps: each.median for each in _ours(found) if each.cell.history == history}
        )
        return None if fitted is None or fitted.largest < _MANY_STEPS else fitted.exponent

    return _worst(slope(history) for history in {each.cell.history for each in _ours(found)})


def _faster_than(history: int, language: str | None = None) -> Callable[[Found], float | None]:
    def measured(found: Found) -> float | None:
        peers = [
            value.median
            for value in found.of("step")
            if (value.cell.history, value.cell.steps) == (history, _STEPS)
            and not LOOPS[value.cell.loop].ours
            and language in (None, LOOPS[value.cell.loop].language)
        ]
        return _ratio(min(peers, default=None), found.median(step(OURS, history, _STEPS)))

    return measured


# ---------------------------------------------------------------- memory


def _memory(found: Found, loop: str, history: int, steps: int) -> float | None:
    return found.median(Cell(case="memory", loop=loop, history=history, steps=steps))


def per_state(found: Found, loop: str, history: int) -> float | None:
    """What one more state costs, between runs of 100 and of 1,000 steps."""
    few, many = (_memory(found, loop, history, steps) for steps in (_STEPS, _MANY_STEPS))
    return None if few is None or many is None else (many - few) / (_MANY_STEPS - _STEPS)


def _bytes_per_state(found: Found) -> float | None:
    return _worst(per_state(found, OURS, value.cell.history) for value in found.of("memory"))


def _of_generate_text(found: Found) -> float | None:
    theirs = _memory(found, "ai 6 generateText", 0, _MANY_STEPS)
    return _ratio(_memory(found, OURS, 0, _MANY_STEPS), theirs)


def _body(found: Found) -> float | None:
    kept, joined = (
        found.median(Cell(case=case, loop=OURS, history=_LONG, steps=_STEPS))
        for case in ("body", "body, joined")
    )
    return _ratio(kept, joined)


# ---------------------------------------------------------------- the oracle


def per_second(found: Found, profile: str) -> float | None:
    """Programs that `agentcore trace` answers in a second."""
    return _ratio(1.0, found.median(Cell(case="trace", loop=profile)))


def own_share(found: Found, profile: str) -> float | None:
    """The part of a check's time that is spent in our process."""
    both = (found.median(Cell(case=case, loop=profile)) for case in ("check, ours", "check"))
    return _ratio(*both)


def _slowest_trace(found: Found) -> float | None:
    seconds = _worst(value.median for value in found.of("trace"))
    return _ratio(1.0, seconds)


def _largest_share(found: Found) -> float | None:
    return _worst(own_share(found, profile) for profile in ORACLE)


GOALS: Final = (
    Goal("step after 10,000 messages over one after 10, 100 steps", 1.3, _long_over_short),
    Goal("exponent of a step's time in the history, 100 to 10,000, the worst", 0.05, _slope_in_history),
    Goal("exponent of a step's time in the steps, 10 to 1,000, the worst", 0.05, _slope_in_steps),
    Goal("fastest peer's step over ours, 10,000 messages, 100 steps", 100, _faster_than(_LONG), least=True),
    Goal("fastest peer's step over ours, no history, 100 steps", 5, _faster_than(0), least=True),
    Goal("the same of the peers in Python", 20, _faster_than(0, "python"), least=True),
    Goal("bytes kept per state, 100 to 1,000 steps, the worst", 6_000, _bytes_per_state),
    Goal("what 1,000 steps keep over what `ai` 6 generateText keeps", 0.01, _of_generate_text),
    Goal("a request's body over joining its bytes, 10,000 messages", 2, _body),
    Goal(
        "programs of four steps a second through `agentcore trace`, the slowest",
        1_000,
        _slowest_trace,
        least=True,
    ),
    Goal("our part of a check against the real package, the largest", 0.2, _largest_share),
)
