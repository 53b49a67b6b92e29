"""Results as pictures, SVG each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.cells import Cell
from benchmarks.loops import LOOPS
from benchmarks.results import Found, Value

_STYLES: Final = {"javascript": "--", "python": "-"}
_MICRO: Final = 1e6
_MEGA: Final = 1e6


def draw(found: Found, folder: Path) -> list[Path]:
    """Draws what there are values for; gives the files."""
    steps = list(found.of("step"))
    pictures: dict[str, Callable[[], Figure | None]] = {
        "step-by-history": lambda: _lines(
            [each for each in steps if each.cell.steps == _middle(steps)],
            lambda cell: cell.history,
            "messages in the history",
        ),
        "step-by-steps": lambda: _lines(
            [each for each in steps if each.cell.history == _least(steps)],
            lambda cell: cell.steps,
            "steps of the run",
        ),
        "memory": lambda: _bars(list(found.of("memory"))),
    }
    drawn: list[Path] = []
    # Text stays text, and the same results give the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "agentcore"}):
        for name, make in pictures.items():
            figure = make()
            if figure is not None:
                drawn.append(folder / f"{name}.svg")
                figure.savefig(drawn[-1], metadata={"Date": None})
    return drawn


def _middle(values: Sequence[Value]) -> int:
    steps = sorted({each.cell.steps for each in values})
    return steps[len(steps) // 2]


def _least(values: Sequence[Value]) -> int:
    return min(each.cell.history for each in values)


def _axes() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(9, 6), layout="constrained")
    return figure, figure.add_subplot()


def _lines(values: Sequence[Value], size: Callable[[Cell], int], label: str) -> Figure | None:
    if not values:
        return None
    figure, axes = _axes()
    for name, loop in LOOPS.items():
        mine = sorted((each for each in values if each.cell.loop == name), key=lambda each: size(each.cell))
        if not mine:
            continue
        medians = [each.median * _MICRO for each in mine]
        spread = (
            [(each.median - each.low) * _MICRO for each in mine],
            [(each.high - each.median) * _MICRO for each in mine],
        )
        axes.errorbar(
            [size(each.cell) for each in mine],
            medians,
            yerr=spread,
            label=name,
            marker="o",
            markersize=4,
            linestyle=_STYLES[loop.language],
            linewidth=2.5 if loop.ours else 1.0,
        )
    # Linear up to the first size that is not zero: a logarithm has no zero.
    axes.set_xscale("symlog", linthresh=10)
    axes.set_yscale("log")
    axes.set_xlabel(label)
    axes.set_ylabel("microseconds per step")
    figure.legend(loc="outside right upper", fontsize="small")
    return figure


def _bars(values: Sequence[Value]) -> Figure | None:
    if not values:
        return None
    history, steps = _least(values), max(each.cell.steps for each in values)
    mine = {
        each.cell.loop: each.median / _MEGA
        for each in values
        if (each.cell.history, each.cell.steps) == (history, steps)
    }
    names = [name for name in LOOPS if name in mine]
    figure, axes = _axes()
    axes.barh(names, [mine[name] for name in names])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel(f"MB kept after {steps:,} steps and a history of {history:,} messages")
    return figure
