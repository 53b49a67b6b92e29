"""Pictures of runs: who holds what, what a model was shown, what was measured. Needs the extra `pictures`."""

from __future__ import annotations

import io
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Final, cast

import attrs
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullFormatter

from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import Heap, Ref, Value
from agentcore.heap.layered import Box, Edge, draw_edges, drawable, laid_out
from agentcore.messages.values import sealed

__all__ = ["Picture", "alias_graph", "alias_graphs", "curves", "spread", "timeline"]

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
    shared: bool


def alias_graph(
    snapshot: Snapshot,
    holders: Sequence[str] = ("caller", "initial", "response", "prompt"),
    *,
    written: Iterable[int] = (),
    deepest: int = 4,
) -> Picture:
    """Draw a moment: holders, and the lists, messages, contents and parts that they reach.

    A holder may be a field of one: `prompt.messages`. What several of them reach is orange: a write there is
    seen through all of them. A red rim is for the addresses in `written` (`Finding.write.address`); a mapping
    of them to texts writes these below. `deepest` is how many levels below a holder are drawn.

    Raises:
        KeyError: for a holder or a field that the snapshot has not.
    """
    return _graphs([_graph(snapshot, holders, _notes(written), deepest)])


def alias_graphs(
    moments: Sequence[tuple[Snapshot, Iterable[int]]], *, deepest: int = 4, most: int = 60
) -> Picture:
    """Draw what is shared at some moments, one below the other; with each, the addresses that were written.

    Of what the holders of a moment reach, only what is come to by several ways or was written is drawn, and
    what leads there: at most so many boxes a moment, the others being counted in its title. The addresses may
    be a mapping to texts, which are written below.

    Raises:
        ValueError: if there is no moment.
    """
    if not moments:
        raise ValueError("there is no moment to draw")
    found = [
        _graph(snapshot, tuple(snapshot.holders), _notes(written), deepest) for snapshot, written in moments
    ]
    return _graphs([_telling(graph, most) for graph in found])


def _notes(written: Iterable[int]) -> dict[int, str]:
    return {address: written[address] if isinstance(written, Mapping) else "" for address in written}


@attrs.frozen(kw_only=True)
class _Graph:
    title: str
    holders: tuple[str, ...]
    nodes: Mapping[int, _Node]
    edges: Mapping[tuple[str, str], str]
    written: Mapping[int, str]


def _graph(snapshot: Snapshot, holders: Sequence[str], written: Mapping[int, str], deepest: int) -> _Graph:
    nodes, edges = _reached(snapshot, holders, deepest)
    return _Graph(
        title=f"{snapshot.moment}, step {snapshot.step}",
        holders=tuple(holders),
        nodes=nodes,
        edges=edges,
        written={address: note for address, note in written.items() if address in nodes},
    )


def _telling(graph: _Graph, most: int) -> _Graph:
    """Selects the cells worth drawing: reached by several ways or written, and those that lead to them."""
    ways = Counter(target for _, target in graph.edges)
    wanted = {
        node.name for address, node in graph.nodes.items() if ways[node.name] > 1 or address in graph.written
    }
    for _ in range(len(graph.nodes)):
        more = {source for source, target in graph.edges if target in wanted}
        if more <= wanted:
            break
        wanted |= more
    kept = {address: node for address, node in graph.nodes.items() if node.name in wanted}
    left_out = max(0, len(kept) - most)
    nodes = dict([*kept.items()][:most])
    names = {node.name for node in nodes.values()}
    edges = {
        (source, target): label
        for (source, target), label in graph.edges.items()
        if target in names and source in {*names, *graph.holders}
    }
    sources = {source for source, _ in edges}
    return attrs.evolve(
        graph,
        title=graph.title + (f" ({left_out} more are not drawn)" if left_out else ""),
        holders=tuple(holder for holder in graph.holders if holder in sources),
        nodes=nodes,
        edges=edges,
        written={address: note for address, note in graph.written.items() if address in nodes},
    )


_MARGIN: Final = 0.15
_TITLE: Final = 0.35


def _graphs(graphs: Sequence[_Graph]) -> Picture:
    """The graphs, one below the other, with one legend at the top."""
    found = [(graph, laid_out(_boxes(graph), _edges(graph))) for graph in graphs]
    width = max(6.0, *(laid.width for _, laid in found)) + 2 * _MARGIN
    height = sum(laid.height + _TITLE + _MARGIN for _, laid in found) + _TITLE
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)
        kinds = {"holder": _HOLDER, "held by several": _SHARED, "held by one": _OWN}
        patches = [Patch(color=colour, label=kind) for kind, colour in kinds.items()]
        patches += _rims([address for graph in graphs for address in graph.written])
        axes.legend(handles=patches, loc="upper left", ncols=4, frameon=False, borderaxespad=0.3)
        top = _TITLE
        for graph, laid in found:
            axes.text(_MARGIN, top + _TITLE / 2, graph.title, va="center", weight="bold", fontsize=9)
            top += _TITLE
            draw_edges(axes, laid, at=(_MARGIN, top))
            for name, place in laid.boxes.items():
                _place_box(axes, graph, name, (place[0] + _MARGIN, place[1] + top))
            top += laid.height + _MARGIN
        return _drawn(figure)


def _boxes(graph: _Graph) -> list[Box]:
    noted = {graph.nodes[address].name: note for address, note in graph.written.items() if note}
    below = {name: f"\n{_short(note, _COLUMN)}" for name, note in noted.items()}
    held = [Box(name=node.name, text=node.label + below.get(node.name, "")) for node in graph.nodes.values()]
    return [*(Box(name=name, text=name, first=True) for name in graph.holders), *held]


def _edges(graph: _Graph) -> list[Edge]:
    marked = {graph.nodes[address].name for address in graph.written}
    return [
        Edge(source=source, target=target, label=_short(label), marked=target in marked)
        for (source, target), label in graph.edges.items()
    ]


def _place_box(axes: Axes, graph: _Graph, name: str, place: tuple[float, float]) -> None:
    if name in graph.holders:
        _box(axes, place, name, _HOLDER)
        return
    address = int(name.removeprefix("@"))
    node = graph.nodes[address]
    text = next(box.text for box in _boxes(graph) if box.name == name)
    _box(axes, place, text, _SHARED if node.shared else _OWN, rim=address in graph.written)


def _box(axes: Axes, place: Iterable[float], label: str, colour: str, *, rim: bool = False) -> None:
    edge, width = (_WRITTEN, 2.0) if rim else ("#666666", 0.7)
    box = {"boxstyle": "round", "facecolor": colour, "edgecolor": edge, "linewidth": width}
    x, y = place
    axes.text(x, y, drawable(label), ha="center", va="center", bbox=box)


def _rims(written: Iterable[int]) -> list[Patch]:
    return [Patch(facecolor="white", edgecolor=_WRITTEN, label="written")] if written else []


def _explain(axes: Axes, kinds: Sequence[Patch]) -> None:
    axes.legend(handles=kinds, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=4, frameon=False)


def _reached(
    snapshot: Snapshot, holders: Sequence[str], deepest: int
) -> tuple[dict[int, _Node], dict[tuple[str, str], str]]:
    """Finds the cells to draw: those within so many levels of a holder, by whom and under which keys."""
    held = {name: _held(snapshot, name) for name in holders}
    reach = {name: snapshot.heap.reached(value) for name, value in held.items()}
    nodes: dict[int, _Node] = {}
    keys: dict[tuple[str, str], dict[str, None]] = {}
    for name, value in held.items():
        queue = [(name, "", value, 0)]
        seen: set[int] = set()
        for source, key, child, layer in queue:
            if not isinstance(child, Ref) or layer >= deepest:
                continue
            address = child.address
            if address not in nodes:
                nodes[address] = _Node(
                    name=f"@{address}",
                    label=_label(snapshot.heap, child),
                    shared=sum(address in reached for reached in reach.values()) > 1,
                )
            keys.setdefault((source, nodes[address].name), {})[key] = None
            if address not in seen:
                seen.add(address)
                below = snapshot.heap.children(child)
                queue.extend((nodes[address].name, _key(at), one, layer + 1) for at, one in below)
    return nodes, {edge: ", ".join(filter(None, found)) for edge, found in keys.items()}


def _key(key: str | int) -> str:
    return f"[{key}]" if isinstance(key, int) else str(key)


def _held(snapshot: Snapshot, name: str) -> Value:
    """Returns a holder's slot, or one of its fields: `prompt.messages`."""
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


# ---------------------------------------------------------------- how far a write goes


def spread(writers: Sequence[str], seen: Mapping[str, Sequence[str]]) -> Picture:
    """Draw how far writes go: who writes, who sees it, and where.

    Args:
        writers: what is drawn first, one box each; texts may have several lines.
        seen: the places by who sees them, in the order of the run.
    """
    first = [Box(name=f"w{number}", text=text, first=True) for number, text in enumerate(writers)]
    holders = [Box(name=f"h{name}", text=name) for name in seen]
    places = [
        Box(name=f"p{name} {number}", text=_short(text, _COLUMN))
        for name, texts in seen.items()
        for number, text in enumerate(texts)
    ]
    edges = [Edge(source=box.name, target=holder.name, marked=True) for box in first for holder in holders]
    edges += [
        Edge(source=f"h{name}", target=f"p{name} {number}")
        for name, texts in seen.items()
        for number in range(len(texts))
    ]
    laid = laid_out([*first, *holders, *places], edges)
    with rc_context(_STYLE):
        figure = Figure(figsize=(laid.width + 2 * _MARGIN, laid.height + 2 * _MARGIN))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, laid.width + 2 * _MARGIN)
        axes.set_ylim(laid.height + 2 * _MARGIN, 0)
        draw_edges(axes, laid, at=(_MARGIN, _MARGIN))
        for boxes, colour in ((first, _OWN), (holders, _SHARED), (places, _HOLDER)):
            for box in boxes:
                x, y = laid.boxes[box.name]
                _box(axes, (x + _MARGIN, y + _MARGIN), box.text, colour, rim=box in first)
        return _drawn(figure)


# ---------------------------------------------------------------- what each step saw


def timeline(prompts: Sequence[Sequence[Mapping[str, Any]]], title: str = "") -> Picture:
    """Draw the prompts: a column a step, a line a message (plain JSON, as `CompatRun.prompts`).

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
    with warnings.catch_warnings():
        # The browser has the glyphs that the font here, which only measures, has not.
        warnings.filterwarnings("ignore", "Glyph", UserWarning)
        figure.savefig(target, format="svg", metadata={"Date": None})
    return Picture(target.getvalue())
