"""Pictures of runs: who holds what, what a model was shown, what was measured. Needs the extra `pictures`."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, cast

import attrs
import networkx as nx
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter

from agentcore.compat import Snapshot
from agentcore.compat.heap import Heap, Ref, Value
from agentcore.values import sealed

__all__ = ["Picture", "alias_graph", "alias_graphs", "curves", "timeline"]

_SHARED: Final = "#f4b183"
_OWN: Final = "#dddddd"
_HOLDER: Final = "#9dc3e6"
_WRITTEN: Final = "#c00000"
_NEW: Final = "#c6e0b4"
_WIDTH: Final = 22
_COLUMN: Final = 38
# The same picture gives the same file.
_STYLE: Final[Any] = {
    "svg.hashsalt": "agentcore",
    "svg.fonttype": "none",
    "font.size": 8,
    "text.parse_math": False,
}


@sealed
@attrs.frozen
class Picture:
    """A picture as SVG text; notebooks show it."""

    svg: str = attrs.field(repr=False)

    def save(self, file: Path) -> None:
        """Writes the picture to a file."""
        file.write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg


# ---------------------------------------------------------------- who holds what


@attrs.frozen(kw_only=True)
class _Node:
    name: str
    label: str
    layer: int
    shared: bool


def alias_graph(
    snapshot: Snapshot,
    holders: Sequence[str] = ("caller", "initial", "response", "prompt"),
    *,
    written: Iterable[int] = (),
    deepest: int = 4,
) -> Picture:
    """Who holds what at a moment: holders, and the lists, messages, contents and parts that they reach.

    A holder may be a field of one: `prompt.messages`. What several of them reach is orange: a write there is
    seen through all of them. A red rim is for the addresses in `written` (`Finding.write.address`). `deepest`
    is how many levels below a holder are drawn.

    Raises:
        KeyError: for a holder or a field that the snapshot has not.
    """
    return _graphs([_graph(snapshot, holders, set(written), deepest)])


def alias_graphs(
    moments: Sequence[tuple[Snapshot, Iterable[int]]], *, deepest: int = 4, most: int = 60
) -> Picture:
    """Who shares what at some moments, one below the other; with each, the addresses that were written.

    Of what the holders of a moment reach, only what is come to by several ways or was written is drawn, and
    what leads there: at most so many boxes a moment, the others being counted in its title.

    Raises:
        ValueError: if there is no moment.
    """
    if not moments:
        raise ValueError("there is no moment to draw")
    found = [
        _graph(snapshot, tuple(snapshot.holders), set(written), deepest) for snapshot, written in moments
    ]
    return _graphs([_telling(graph, most) for graph in found])


@attrs.frozen(kw_only=True)
class _Graph:
    title: str
    holders: tuple[str, ...]
    nodes: Mapping[int, _Node]
    edges: tuple[tuple[str, str], ...]
    written: frozenset[int]

    @property
    def columns(self) -> dict[int, list[str]]:
        # The layout puts what comes first at the bottom.
        columns: dict[int, list[str]] = {0: [*reversed(self.holders)]}
        for node in reversed([*self.nodes.values()]):
            columns.setdefault(node.layer + 1, []).append(node.name)
        return columns


def _graph(snapshot: Snapshot, holders: Sequence[str], written: set[int], deepest: int) -> _Graph:
    nodes, edges = _reached(snapshot, holders, deepest)
    return _Graph(
        title=f"{snapshot.moment}, step {snapshot.step}",
        holders=tuple(holders),
        nodes=nodes,
        edges=tuple(edges),
        written=frozenset(written & nodes.keys()),
    )


def _telling(graph: _Graph, most: int) -> _Graph:
    """What is come to by several ways or was written, and what leads there; the rest follows from it."""
    ways = Counter(target for _, target in graph.edges)
    wanted = {
        node.name for address, node in graph.nodes.items() if ways[node.name] > 1 or address in graph.written
    }
    for _ in range(len(graph.columns)):
        wanted |= {source for source, target in graph.edges if target in wanted}
    kept = {address: node for address, node in graph.nodes.items() if node.name in wanted}
    left_out = max(0, len(kept) - most)
    nodes = dict([*kept.items()][:most])
    names = {node.name for node in nodes.values()}
    edges = tuple(edge for edge in graph.edges if edge[1] in names and edge[0] in {*names, *graph.holders})
    sources = {source for source, _ in edges}
    return attrs.evolve(
        graph,
        title=graph.title + (f" ({left_out} more are not drawn)" if left_out else ""),
        holders=tuple(holder for holder in graph.holders if holder in sources),
        nodes=nodes,
        edges=edges,
    )


def _graphs(graphs: Sequence[_Graph]) -> Picture:
    """The graphs, one below the other."""
    heights = [0.42 * max(map(len, graph.columns.values())) + 0.9 for graph in graphs]
    width = 2.1 * max(len(graph.columns) for graph in graphs)
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, sum(heights)), layout="tight")
        every = figure.subplots(len(graphs), squeeze=False, height_ratios=heights)
        for axes, graph in zip(every[:, 0], graphs, strict=True):
            axes.set_axis_off()
            _draw(axes, graph)
        return _drawn(figure)


def _draw(axes: Axes, graph: _Graph) -> None:
    drawn: nx.DiGraph[str] = nx.DiGraph(graph.edges)
    drawn.add_nodes_from(graph.holders)
    place = nx.multipartite_layout(drawn, subset_key=graph.columns)
    nx.draw_networkx_edges(drawn, place, ax=axes, edge_color="#888888", arrowsize=7, node_size=900)
    for name in graph.holders:
        _box(axes, place[name], name, _HOLDER)
    for address, node in graph.nodes.items():
        colour = _SHARED if node.shared else _OWN
        _box(axes, place[node.name], node.label, colour, rim=address in graph.written)
    kinds = {"holder": _HOLDER, "held by several": _SHARED, "held by one": _OWN}
    _explain(axes, [Patch(color=colour, label=kind) for kind, colour in kinds.items()] + _rims(graph.written))
    axes.set_title(graph.title, loc="left")


def _box(axes: Axes, place: Iterable[float], label: str, colour: str, *, rim: bool = False) -> None:
    edge, width = (_WRITTEN, 2.0) if rim else ("#666666", 0.7)
    box = {"boxstyle": "round", "facecolor": colour, "edgecolor": edge, "linewidth": width}
    x, y = place
    axes.text(x, y, label, ha="center", va="center", bbox=box)


def _rims(written: Iterable[int]) -> list[Patch]:
    return [Patch(facecolor="white", edgecolor=_WRITTEN, label="written")] if written else []


def _explain(axes: Axes, kinds: Sequence[Patch]) -> None:
    axes.legend(handles=kinds, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False)


def _reached(
    snapshot: Snapshot, holders: Sequence[str], deepest: int
) -> tuple[dict[int, _Node], list[tuple[str, str]]]:
    """What is drawn: what the holders reach within so many levels, and who reaches it at any."""
    held = {name: _held(snapshot, name) for name in holders}
    reach = {name: snapshot.heap.reached(value) for name, value in held.items()}
    nodes: dict[int, _Node] = {}
    edges: dict[tuple[str, str], None] = {}
    for name, value in held.items():
        queue = [(name, value, 0)]
        seen: set[int] = set()
        for source, child, layer in queue:
            if not isinstance(child, Ref) or layer >= deepest:
                continue
            address = child.address
            if address not in nodes:
                nodes[address] = _Node(
                    name=f"@{address}",
                    label=_label(snapshot.heap, child),
                    layer=layer,
                    shared=sum(address in reached for reached in reach.values()) > 1,
                )
            edges[source, nodes[address].name] = None
            if address not in seen:
                seen.add(address)
                below = (one for _, one in snapshot.heap.children(child))
                queue.extend((nodes[address].name, one, layer + 1) for one in below)
    return nodes, list(edges)


def _held(snapshot: Snapshot, name: str) -> Value:
    """What the holder holds, or one of its fields: `prompt.messages`."""
    if name in snapshot.holders:
        return snapshot.holders[name]
    holder, *fields = name.split(".")
    value = snapshot.holders[holder]
    for field in fields:
        cell = snapshot.heap.cell(cast("Ref", value))
        value = cast("Mapping[str, Value]", cell)[field]
    return value


def _label(heap: Heap, ref: Ref) -> str:
    cell = heap.cell(ref)
    if isinstance(cell, tuple):
        return f"{len(cell)} in a list"
    kind = cell.get("role", cell.get("type"))
    said = cell.get("text", cell.get("content"))
    name = str(kind) if isinstance(kind, str) else "{" + ", ".join(list(cell)[:3]) + "}"
    return f"{name}: {_short(said)}" if isinstance(said, str) else name


def _short(text: str, width: int = _WIDTH) -> str:
    text = text.replace("\n", " / ")
    return text if len(text) <= width else text[: width - 1] + "…"


# ---------------------------------------------------------------- what each step saw


def timeline(prompts: Sequence[Sequence[Mapping[str, Any]]], title: str = "") -> Picture:
    """What the model was shown: a column a step, a line a message (plain JSON, as `CompatRun.prompts`).

    Compared with the step before, a message in the place of another is orange, one more is green.
    """
    rows = [max(_height(prompt, row) for prompt in prompts) for row in range(max(map(len, prompts)))]
    with rc_context(_STYLE):
        figure, axes = _canvas(2.7 * len(prompts), 0.16 * sum(rows) + 0.8)
        axes.set_xlim(-0.5, len(prompts) - 0.5)
        axes.set_ylim(sum(rows) + 0.5, -2)
        for step, prompt in enumerate(prompts):
            colours = _colours(prompts[step - 1] if step else prompt, prompt)
            axes.text(step, -1, f"step {step}", ha="center", va="center", weight="bold")
            for row, message in enumerate(prompt):
                middle = sum(rows[:row]) + rows[row] / 2
                _box(axes, (step, middle), "\n".join(_lines(message)), colours[row])
        kinds = {"as in the step before": _OWN, "in the place of another": _SHARED, "new": _NEW}
        _explain(axes, [Patch(color=colour, label=kind) for kind, colour in kinds.items()])
        axes.set_title(title, loc="left")
        return _drawn(figure)


def _colours(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[str]:
    colours = [_OWN] * len(now)
    matcher = SequenceMatcher(a=list(map(repr, before)), b=list(map(repr, now)), autojunk=False)
    for kind, gone, end, first, last in matcher.get_opcodes():
        if kind != "equal":
            for row in range(first, last):
                colours[row] = _SHARED if row - first < end - gone else _NEW
    return colours


def _height(prompt: Sequence[Mapping[str, Any]], row: int) -> float:
    # A box has its lines and its rim.
    return len(_lines(prompt[row])) + 1.4 if row < len(prompt) else 0


def _lines(message: Mapping[str, Any]) -> list[str]:
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    said = [line for part in parts for line in _part(part).splitlines()] or ["(nothing)"]
    return [_short(f"{message['role']}: {said[0]}", _COLUMN), *(_short(line, _COLUMN) for line in said[1:])]


def _part(part: Mapping[str, Any]) -> str:
    """A part of a message, or a block: what has its kind as its key instead of under `type`."""
    match part:
        case {"type": "text" | "reasoning", "text": said} | {"text": said}:
            return str(said)
        case {"type": "tool-call", "toolName": name} | {"toolUse": {"name": name}}:
            return f"calls {name}"
        case {"type": "tool-result", "output": {"value": got} | got}:
            return f"gets {got}"
        case {"toolResult": {"content": content}}:
            return f"gets {', '.join(map(_part, content))}"
        case {"type": kind}:
            return str(kind)
    return ", ".join(part)


# ---------------------------------------------------------------- measurements


def curves(points: Mapping[str, Mapping[float, float]], *, x: str, y: str, title: str = "") -> Picture:
    """Measurements by name, each a mapping of x to y, on logarithmic scales."""
    with rc_context(_STYLE):
        figure = Figure(figsize=(6, 3.4), layout="tight")
        axes = figure.add_subplot()
        for name, measured in points.items():
            axes.loglog(list(measured), list(measured.values()), marker="o", label=name)
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        for axis in (axes.xaxis, axes.yaxis):
            # Those of a logarithmic axis are formulas, which this style writes as they stand.
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            axis.set_minor_formatter(NullFormatter())
        axes.grid(visible=True, alpha=0.3)
        axes.legend(frameon=False)
        axes.set_title(title, loc="left")
        return _drawn(figure)


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="tight")
    axes = figure.add_subplot()
    axes.set_axis_off()
    return figure, axes


def _drawn(figure: Figure) -> Picture:
    target = io.StringIO()
    figure.savefig(target, format="svg", metadata={"Date": None})
    return Picture(target.getvalue())
