"""Graphs in layers from left to right, whose edges run beside boxes and never behind them.

igraph orders the boxes of a layer so that few edges cross (`layout_sugiyama`). An edge over several layers
gets a place of its own in each of them, as if it were a box, and runs there as a level line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

import attrs
from igraph import Graph
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

__all__ = ["Box", "Edge", "Laid", "draw_edges", "drawable", "laid_out"]

_GAP: Final = 1.15
_ROW: Final = 0.36
_LETTER: Final = 0.056
_PADDING: Final = 0.2
_ARROW: Final = 0.07
_GREY: Final = "#777777"
_MARKED: Final = "#c00000"


def drawable(text: str) -> str:
    """The text with what no font has, such as half a character or a control, as its escape."""
    return "".join(one if one.isprintable() or one == "\n" else f"\\u{ord(one):04x}" for one in text)


@attrs.frozen(kw_only=True)
class Box:
    """A box to draw: its name, its text, and whether it belongs into the first layer."""

    name: str
    text: str = attrs.field(converter=drawable)
    first: bool = False


@attrs.frozen(kw_only=True)
class Edge:
    """A labelled arrow from one box to another; a marked one is red."""

    source: str
    target: str
    label: str = attrs.field(default="", converter=drawable)
    marked: bool = False


@attrs.frozen(kw_only=True)
class Laid:
    """A graph with places, in inches from its upper left corner.

    `boxes` are middles by name, `widths` the widths of boxes, `ways` the points that each edge goes through.
    """

    boxes: Mapping[str, tuple[float, float]]
    widths: Mapping[str, float]
    ways: Sequence[tuple[Edge, Sequence[tuple[float, float]]]]
    width: float
    height: float


def laid_out(boxes: Sequence[Box], edges: Sequence[Edge]) -> Laid:
    """Places the boxes in layers, and the edges beside them.

    Args:
        boxes: with different names.
        edges: between these boxes.
    """
    if not boxes:
        return Laid(boxes={}, widths={}, ways=[], width=0.0, height=0.0)
    numbers = {box.name: number for number, box in enumerate(boxes)}
    layers = _layers(boxes, [(numbers[edge.source], numbers[edge.target]) for edge in edges])
    chains, layers = _chains([(numbers[edge.source], numbers[edge.target]) for edge in edges], layers)
    rows = _rows(chains, layers)
    widths = [max(map(len, box.text.split("\n"))) * _LETTER + _PADDING for box in boxes]
    columns = [
        max((widths[n] for n in range(len(boxes)) if layers[n] == layer), default=0.0)
        for layer in range(max(layers) + 1)
    ]
    starts = [sum(columns[:layer]) + _GAP * layer for layer in range(len(columns))]
    tallest = max(box.text.count("\n") for box in boxes) + 1
    row = _ROW + (tallest - 1) * 0.14

    def middle(number: int) -> tuple[float, float]:
        return starts[layers[number]] + columns[layers[number]] / 2, (rows[number] + 0.5) * row

    def way(chain: Sequence[int]) -> list[tuple[float, float]]:
        source, target = chain[0], chain[-1]
        forth = 1 if layers[target] >= layers[source] else -1
        points = [(middle(source)[0] + forth * widths[source] / 2, middle(source)[1])]
        for number in chain[1:-1]:
            x, y = middle(number)
            half = columns[layers[number]] / 2
            points += [(x - forth * half, y), (x + forth * half, y)]
        return [*points, (middle(target)[0] - forth * widths[target] / 2, middle(target)[1])]

    return Laid(
        boxes={box.name: middle(number) for number, box in enumerate(boxes)},
        widths={box.name: widths[number] for number, box in enumerate(boxes)},
        ways=[(edge, way(chain)) for edge, chain in zip(edges, chains, strict=True)],
        width=starts[-1] + columns[-1],
        height=(max(rows) + 1) * row,
    )


def _layers(boxes: Sequence[Box], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Returns each box's longest distance from the first layer; edges that close a cycle are ignored."""
    graph = Graph(n=len(boxes), edges=list(edges), directed=True)
    graph.delete_edges(graph.feedback_arc_set())
    layers = [0 if box.first else int(any(other.first for other in boxes)) for box in boxes]
    for number in graph.topological_sorting():
        for target in graph.successors(number):
            layers[target] = max(layers[target], layers[number] + 1)
    return layers


def _chains(edges: Iterable[tuple[int, int]], layers: list[int]) -> tuple[list[list[int]], list[int]]:
    """Each edge as a chain of places, one a layer, and the layers of boxes and places."""
    layers = [*layers]
    chains = []
    for source, target in edges:
        step = 1 if layers[target] >= layers[source] else -1
        between = range(layers[source] + step, layers[target], step)
        chains.append([source, *range(len(layers), len(layers) + len(between)), target])
        layers += between
    return chains, layers


def _rows(chains: Iterable[Sequence[int]], layers: Sequence[int]) -> list[float]:
    """The place of everything in its layer, from the top."""
    links = [pair for chain in chains for pair in pairwise(chain)]
    graph = Graph(n=len(layers), edges=links, directed=True)
    placed = graph.layout_sugiyama(layers=list(layers), hgap=1, vgap=1, maxiter=500)
    xs = [float(x) for x, _ in placed.coords[: len(layers)]]
    return [x - min(xs) for x in xs]


# --- drawing ------------------------------------------------------------------------------------------------


def draw_edges(axes: Axes, laid: Laid, *, at: tuple[float, float]) -> None:
    """Draws the edges with their labels; `at` is where the graph's upper left corner is."""
    into = Counter(edge.target for edge, _ in laid.ways)
    for edge, points in laid.ways:
        moved = [(x + at[0], y + at[1]) for x, y in points]
        colour = _MARKED if edge.marked else _GREY
        axes.add_patch(PathPatch(_curve(moved), facecolor="none", edgecolor=colour, linewidth=0.9))
        axes.add_patch(PathPatch(_head(moved), facecolor=colour, edgecolor=colour, linewidth=0.5))
        if edge.label:
            # Where ways come together they are apart at their beginning, and else at their end.
            _label(axes, edge, moved, colour, part=0.38 if into[edge.target] > 1 else 0.6)


def _label(
    axes: Axes, edge: Edge, points: Sequence[tuple[float, float]], colour: str, *, part: float
) -> None:
    """On the last piece of the way, where each edge is alone, in a gap between layers."""
    (x, y), (to_x, to_y) = points[-2], points[-1]
    box = {"boxstyle": "square,pad=0.12", "facecolor": "white", "edgecolor": "none"}
    place = (x + (to_x - x) * part, y + (to_y - y) * _eased(part))
    axes.text(*place, edge.label, ha="center", va="center", fontsize=7, color=colour, bbox=box)


def _eased(part: float) -> float:
    """Returns the height of an edge after a part of its width, eased at both ends."""
    return float(part * part * (3 - 2 * part))


def _curve(points: Sequence[tuple[float, float]]) -> Path:
    """A line that leaves and enters each point level."""
    vertices, codes = [points[0]], [Path.MOVETO]
    for (x, y), (to_x, to_y) in pairwise(points):
        if y == to_y:
            vertices.append((to_x, to_y))
            codes.append(Path.LINETO)
            continue
        half = (x + to_x) / 2
        vertices += [(half, y), (half, to_y), (to_x, to_y)]
        codes += [Path.CURVE4] * 3
    return Path(vertices, codes)


def _head(points: Sequence[tuple[float, float]]) -> Path:
    x, y = points[-1]
    back = -_ARROW if points[-2][0] <= x else _ARROW
    corners = [(x, y), (x + back, y - _ARROW / 2), (x + back, y + _ARROW / 2), (x, y)]
    return Path(corners, [Path.MOVETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY])
