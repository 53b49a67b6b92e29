"""The graph of a run: holders and objects, each at one place through all moments.

The columns are the copy depths: list, message, content, part, payload. Boxes are placed once, for the union
of all moments, so that a moment changes texts and arrows and never a place (rule oracle.player-keeps-places).
What a moment shows of a box is a state; a state that several moments show is kept once.

No library places boxes so: layered layouts (igraph's, Graphviz's) order the boxes of a layer for one graph,
and know neither columns by kind, nor rows by the position in a list, nor boxes that are there only for a
time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final, TypeAlias
from unicodedata import east_asian_width

import attrs

from agentcore.heap.heap import Cell, Function, Heap, ObjectCell, Ref, keyed
from agentcore.heap.player_runs import DEEPEST, FIRST, LAST, Found, Kind, Node, Scene, Walk, drawn_text
from agentcore.heap.pollution import ones
from agentcore.heap.views import Key

__all__ = ["Graph", "graph"]

Json: TypeAlias = dict[str, Any]

# In CSS pixels: the width of a letter of the fixed-width font, lines, and the space between boxes.
_LETTER: Final = 7.25
_LINE: Final = 16
_HEAD: Final = 20
_PAD: Final = 6
_GAP: Final = 13
_BAND_GAP: Final = 18
_COLUMN_GAP: Final = 30
_TOP: Final = 42
_MARGIN: Final = 8
# Of a text that is cut the end is shown beside the beginning from so many letters on.
_BOTH_ENDS: Final = 9
# Of each column the widest text that is not cut, in letters, and the narrowest.
_WIDEST: Final = (18, 9, 19, 9, 23, 19)
_NARROWEST: Final = 6
_MOST_ROWS: Final = 16
_TITLES: Final = ("holders", "list", "message", "content", "part", "payload")


@attrs.frozen(kw_only=True)
class Graph:
    """Boxes with their places, the states that they have, and which states each scene shows.

    All is plain JSON. A box has `x`, `y`, `width`, `height` and `kind`; a state has the index of its `box`, a
    `title`, `rows`, the holders that reach it (`chips`) and the writes that it carries (`writes`). A row has
    its `key`, and a `text` or the box that it refers `to`.
    """

    holders: Sequence[Json]
    columns: Sequence[Json]
    boxes: Sequence[Json]
    states: Sequence[Json]
    shown: Sequence[Sequence[int]]
    width: float
    height: float


def graph(
    scenes: Sequence[Scene],
    lasting: Iterable[str],
    marks: Mapping[int, int],
    writes: Sequence[Key | None],
) -> Graph:
    """Places what the holders of some moments reach.

    Args:
        scenes: the moments, in order.
        lasting: the names of the holders that outlive a step, in order.
        marks: which writes a cell carries, as bits by their numbers, by the cell's address.
        writes: the key that each write wrote, None for a change of a whole object.
    """
    return _Drawing(scenes, Walk(scenes, [*lasting], marks), writes, marks).graph()


def _wide(text: str) -> int:
    """Returns a text's width in letters; some letters are as wide as two."""
    return len(text) if text.isascii() else len(text) + sum(east_asian_width(one) in "WF" for one in text)


def _cut(text: str, letters: int) -> str:
    """The text, if it is not wider; else as much of its beginning as fits."""
    if _wide(text[: letters + 1]) <= letters:
        return text
    text = text[: letters - 1]
    while _wide(text) >= letters:
        text = text[:-1]
    return f"{text}…"


def _cut_inside(text: str, letters: int) -> str:
    """The text, if it is not wider; else its beginning and its end, where an edit shows as a rule."""
    if len(text) <= letters or letters < _BOTH_ENDS or not text.isascii():
        return _cut(text, letters)
    end = letters // 3
    return f"{text[: letters - 1 - end]}…{text[-end:]}"


def _end_of(text: str, letters: int) -> str:
    """The text, if it is not wider; else as much of its end as fits: of a path, the last key."""
    return text if _wide(text) <= letters else f"…{text[1 - letters :]}"


@attrs.frozen
class _Row:
    """A slot as it is drawn: its key, and its text or the object that it refers to.

    `flag` is 2 if it was written just now, 1 if it carries a write, else 0.
    """

    key: str
    text: str | None
    to: int | None = None
    flag: int = 0


class _Boxes:
    """Decides which of the found objects get boxes of their own, in which column, and beside which box."""

    def __init__(self, found: Mapping[int, Found]) -> None:
        self._found = found
        self.columns: dict[Node, int] = {}
        self.owners: dict[int, Node] = {}
        for address in found:
            if not self.is_nested(address):
                self._place(address)

    def is_nested(self, address: int) -> bool:
        """Whether an object is drawn inside the one that has it, which is the only one in all scenes."""
        found = self._found[address]
        if len(found.slots) > 1:
            return False
        above = found.owner[0]
        same = isinstance(above, int) and self._found[above].kind is found.kind
        return found.kind in (Kind.RECORD, Kind.PAYLOAD) or (found.kind is Kind.CONTENT and same)

    def box_of(self, node: Node) -> Node:
        """The box in which an object is drawn: itself, or the one that it is nested in."""
        while isinstance(node, int) and self.is_nested(node):
            node = self._found[node].owner[0]
        return node

    def column(self, node: Node) -> int:
        """The column of a box."""
        return self.columns[node] if isinstance(node, int) else 0

    def _place(self, address: int) -> None:
        """Finds the column of a box, and the box beside which it is placed, in a column before."""
        if address in self.columns:
            return
        found = self._found[address]
        column = self.columns[address] = int(max(found.kind, Kind.LIST))
        owner = self.box_of(found.owner[0])
        seen = {address}
        while isinstance(owner, int) and owner not in seen:
            self._place(owner)
            if found.kind is Kind.PAYLOAD:
                column = self.columns[address] = max(column, self.columns[owner] + 1)
            if self.columns[owner] < column:
                break
            seen.add(owner)
            owner = self.box_of(self._found[owner].owner[0])
        self.owners[address] = owner


class _Drawing:
    """Draws every scene with the boxes, and then places the boxes."""

    def __init__(
        self, scenes: Sequence[Scene], walk: Walk, writes: Sequence[Key | None], marks: Mapping[int, int]
    ) -> None:
        self.scenes = scenes
        self.walk = walk
        self.found = walk.found
        self.keys = writes
        self.marks = marks
        self.boxes = _Boxes(walk.found)
        self.nodes: list[Node] = [*walk.names, *self.boxes.owners]
        self.numbers = {node: number for number, node in enumerate(self.nodes)}
        self.rows: dict[Node, int] = {}
        self.spans: dict[Node, tuple[int, int]] = {}
        columns = max(self.boxes.columns.values(), default=0) + 1
        self.letters: list[int] = [0] * columns
        self.states: dict[str, int] = {}

    def graph(self) -> Graph:
        """The graph; boxes that no scene shows are not in it."""
        shown = [[*self._draw_scene(number)] for number in range(len(self.scenes))]
        drawn = [node for node in self.nodes if node in self.rows]
        places = _Places(self, drawn)
        index = {self.numbers[node]: number for number, node in enumerate(drawn)}
        states = [_renumbered(json.loads(text), index) for text in self.states]
        holders = [name for name in self.walk.names if name in self.rows]
        return Graph(
            holders=[
                {"name": name, "chip": chip} for name, chip in zip(holders, _chips(holders), strict=True)
            ],
            columns=places.columns(),
            boxes=[places.box(node) for node in drawn],
            states=states,
            shown=shown,
            width=places.width,
            height=places.height,
        )

    # ---------------------------------------------------------------- one scene

    def _draw_scene(self, number: int) -> Iterator[int]:
        followed = self.walk.followed[number]
        rows = {node: [*self._rows_of(number, node)] for node in self.nodes if node in followed}
        # What is no message is drawn only if it leads to something that is.
        while empty := {node for node, own in rows.items() if not own and _is_aside(node, self.found)}:
            rows = {
                node: [row for row in own if row.to not in empty]
                for node, own in rows.items()
                if node not in empty
            }
        holding = self._holding(number, [name for name in self.walk.names if name in rows])
        for node, own in rows.items():
            yield self._state(number, node, own, holding)

    def _holding(self, number: int, holders: Sequence[str]) -> dict[Node, list[int]]:
        """The numbers of the holders that reach each object."""
        followed = self.walk.followed[number]
        holding: dict[Node, list[int]] = defaultdict(list)
        for name in holders:
            queue: list[Node] = [name]
            seen = {name, *queue}
            for node in queue:
                holding[node].append(self.numbers[name])
                for child in followed.get(node, {}).values():
                    if child not in seen:
                        seen.add(child)
                        queue.append(child)
        return holding

    def _state(self, number: int, node: Node, rows: Sequence[_Row], holding: Mapping[Node, list[int]]) -> int:
        scene = self.scenes[number]
        title, chips = self._title(number, node), holding.get(node, [])
        owner = self.boxes.owners[node] if isinstance(node, int) else None
        if len(chips) == 1 or (owner is not None and chips == holding.get(owner)):
            chips = []
        writes = self._writes(node, scene)
        now = scene.written is not None and self._inside(scene.written[0]) == node
        state: Json = {
            "box": self.numbers[node],
            "title": title,
            "head": next((self.numbers[row.to] for row in rows if not row.key and row.to is not None), None),
            "rows": [
                [row.key, row.text, None if row.to is None else self.numbers[row.to], row.flag]
                for row in rows
                if row.key
            ],
            "hot": [
                self.numbers[row.to]
                for row in rows
                if row.to is not None and self.walk.written[number].get(row.to)
            ],
            "chips": chips,
            "writes": writes,
            "now": now,
        }
        first, _ = self.spans.get(node, (number, number))
        self.spans[node] = (first, number)
        self.rows[node] = max(self.rows.get(node, 0), len(state["rows"]))
        column = self.boxes.column(node)
        texts = [
            title + " " * len(str(writes or "")),
            *(f"{row.key} {row.text or ''}" for row in rows),
        ]
        self.letters[column] = max(self.letters[column], 2 * len(chips) + 1, *map(_wide, texts))
        return self.states.setdefault(json.dumps(state), len(self.states))

    def _inside(self, address: int) -> Node | None:
        return self.boxes.box_of(address) if address in self.found else None

    def _writes(self, node: Node, scene: Scene) -> list[int]:
        """The numbers of the writes that a box carries itself."""
        return [*ones(self.marks.get(node, 0) & ((1 << scene.writes) - 1))] if isinstance(node, int) else []

    def _title(self, number: int, node: Node) -> str:
        if isinstance(node, str):
            return _cut(drawn_text(node), _WIDEST[0])
        cell, kind = self.scenes[number].heap.cells[node], self.found[node].kind
        named = cell.get("role" if kind is Kind.MESSAGE else "type") if isinstance(cell, ObjectCell) else None
        if kind in (Kind.MESSAGE, Kind.PART) and isinstance(named, str):
            return _cut(drawn_text(str(named)), _WIDEST[kind])
        key = self.found[node].owner[1]
        if kind in (Kind.PAYLOAD, Kind.RECORD) and key != "":
            return _cut(drawn_text(_path("", key)), _WIDEST[kind])
        if kind is Kind.RECORD:
            return "object" if isinstance(cell, ObjectCell) else "list"
        return kind.name.lower()

    # ---------------------------------------------------------------- the rows of a box

    def _rows_of(self, number: int, node: Node) -> Iterator[_Row]:
        rows = [*self._rows(number, node, "")]
        told = [row for row in rows if row.to is not None or row.flag or not _is_aside(node, self.found)]
        yield from told[:_MOST_ROWS]
        if len(told) > _MOST_ROWS:
            yield _Row("…", f"{len(told) - _MOST_ROWS} more")

    def _rows(self, number: int, node: Node, prefix: str) -> Iterator[_Row]:
        followed = self.walk.followed[number].get(node, {})
        if isinstance(node, str):
            (address,) = followed.values()
            if self.boxes.is_nested(address):
                yield from self._rows(number, address, "")
            else:
                yield _Row("", None, address)
            return
        cell = self.scenes[number].heap.cells[node]
        skipped = {Kind.MESSAGE: "role", Kind.PART: "type"}.get(self.found[node].kind)
        elided = (
            self.found[node].kind is not Kind.RECORD and isinstance(cell, tuple) and len(cell) > FIRST + LAST
        )
        hidden = 0
        for key, slot in keyed(cell):
            if key == skipped and isinstance(slot, str):
                continue
            if elided and isinstance(slot, Ref) and key not in followed:
                hidden += 1
                continue
            if hidden:
                yield _Row("…", f"{hidden} more")
                hidden = 0
            yield from self._row(number, node, key, _path(prefix, key), followed.get(key))

    def _row(self, number: int, node: int, key: Key, path: str, child: int | None) -> Iterator[_Row]:
        scene = self.scenes[number]
        slot = _slot(scene.heap.cells[node], key)
        flag = self._flag(scene, node, key)
        widest = _WIDEST[min(self.boxes.column(self.boxes.box_of(node)), len(_WIDEST) - 1)]
        if child is not None and self.boxes.is_nested(child):
            inside = [*self._rows(number, child, path)]
            if any(row.to is not None or row.flag for row in inside):
                yield from inside
                return
        elif child is not None:
            forth = self.boxes.column(child) > self.boxes.column(self.boxes.box_of(node))
            key_text = _end_of(drawn_text(path), widest if forth else widest - 5)
            yield _Row(key_text, None if forth else "→", child, flag)
            return
        key_text = _cut(drawn_text(path), widest - 4)
        text = drawn_text(_plain(scene.heap, slot, DEEPEST), 200) if isinstance(slot, Ref) else _scalar(slot)
        yield _Row(key_text, _cut_inside(text, max(4, widest - _wide(key_text) - 1)), None, flag)

    def _flag(self, scene: Scene, address: int, key: Key) -> int:
        if scene.written is not None and scene.written[0] == address and scene.written[1] in (key, None):
            return 2 if scene.written[1] == key else 0
        made = self.marks.get(address, 0) & ((1 << scene.writes) - 1)
        return int(any(self.keys[number] == key for number in ones(made)))


def _is_aside(node: Node, found: Mapping[int, Found]) -> bool:
    """True for a box of which only the slots that lead on are drawn: a holder, or a non-message."""
    return isinstance(node, str) or found[node].kind is Kind.RECORD


def _slot(cell: Cell, key: Key) -> Any:
    return cell[key]  # type: ignore[index]


def _path(prefix: str, key: Key) -> str:
    if isinstance(key, int):
        return f"{prefix}[{key}]"
    return f"{prefix}.{key}" if prefix else key


def _plain(heap: Heap, slot: Any, levels: int) -> Any:
    """The beginning of a value as plain JSON."""
    if not isinstance(slot, Ref):
        return slot if slot is None or isinstance(slot, bool | int | float | str) else str(slot)
    cell = heap.cells[slot.address]
    if not levels:
        return "…"
    if isinstance(cell, ObjectCell):
        return {key: _plain(heap, child, levels - 1) for key, child in islice(cell.items(), 8)}
    return [_plain(heap, child, levels - 1) for child in cell[:8]]


def _scalar(slot: Any) -> str:
    if isinstance(slot, Function):
        return f"function {slot.name}"
    if slot is None or isinstance(slot, bool | int | float | str):
        return drawn_text(json.dumps(slot, ensure_ascii=False))
    return str(slot)


def _chips(names: Sequence[str]) -> Iterator[str]:
    """A letter for each holder, the first of its name that no other has; then numbers."""
    used: set[str] = set()
    for name in names:
        letters = [one.upper() for one in name if one.isascii() and one.isalpha()]
        chip = next((one for one in letters if one not in used), str(len(used)))
        used.add(chip)
        yield chip


def _renumbered(state: Json, index: Mapping[int, int]) -> Json:
    """The state with the numbers of the boxes that are drawn."""
    rows = [[key, text, None if to is None else index[to], flag] for key, text, to, flag in state["rows"]]
    head = None if state["head"] is None else index[state["head"]]
    listed = {name: [index[number] for number in state[name]] for name in ("chips", "hot")}
    return state | {"box": index[state["box"]], "rows": rows, "head": head, **listed}


# ---------------------------------------------------------------- places


class _Places:
    """Places the boxes: each beside the one that it was found below, in its column.

    Boxes that are there at different times may have one place.
    """

    def __init__(self, drawing: _Drawing, drawn: Sequence[Node]) -> None:
        self._drawing = drawing
        self._drawn = {*drawn}
        self._below: dict[Node, list[int]] = defaultdict(list)
        for address, owner in drawing.boxes.owners.items():
            if address in self._drawn:
                self._below[owner].append(address)
        widths = [
            max(_NARROWEST, letters) * _LETTER + 2 * _PAD if letters else 0 for letters in drawing.letters
        ]
        self._widths = widths
        self._lefts = [
            _MARGIN + sum(width + _COLUMN_GAP for width in widths[:column] if width)
            for column in range(len(widths))
        ]
        self._tops: dict[Node, float] = {}
        top = float(_TOP)
        for node in drawn:
            if isinstance(node, str):
                self._put(node, top)
                top += self._height(node) + _BAND_GAP
        self.height = top
        self.width = max(left + width for left, width in zip(self._lefts, widths, strict=True)) + _MARGIN

    def columns(self) -> list[Json]:
        """The titles of the columns that have boxes, with the places of their left edges."""
        named = [*_TITLES, *["inside"] * len(self._widths)]
        found = zip(named, self._lefts, self._widths, strict=False)
        return [{"title": title, "x": round(left)} for title, left, width in found if width]

    def box(self, node: Node) -> Json:
        """A box with its place."""
        column = self._drawing.boxes.column(node)
        kind = "holder" if isinstance(node, str) else self._drawing.found[node].kind.name.lower()
        return {
            "x": round(self._lefts[column]),
            "y": round(self._tops[node]),
            "width": round(self._widths[column]),
            "height": round(self._own(node)),
            "kind": kind,
            "first": self._drawing.spans[node][0],
        }

    def _own(self, node: Node) -> float:
        rows = self._drawing.rows[node]
        return _HEAD + rows * _LINE + (_PAD if rows else 0)

    @cache  # noqa: B019 - the object lives as long as the drawing
    def _height(self, node: Node) -> float:
        """The height of a box and of all that is placed below it."""
        lanes = sum(height for height, _ in self._lanes(node)) + _GAP * max(0, len(self._lanes(node)) - 1)
        return max(self._own(node), lanes)

    @cache  # noqa: B019 - as above
    def _span(self, node: Node) -> tuple[int, int]:
        """The first and the last scene that shows a box or something that is placed below it."""
        spans = [self._drawing.spans[node], *map(self._span, self._below[node])]
        return min(first for first, _ in spans), max(last for _, last in spans)

    @cache  # noqa: B019 - as above
    def _lanes(self, node: Node) -> Sequence[tuple[float, Sequence[int]]]:
        """Returns what is placed beside a box, from the top: heights, and the boxes that share each place."""
        lanes: list[tuple[int, list[int]]] = []
        found = self._drawing.found
        for child in sorted(self._below[node], key=lambda one: (self._span(one)[0], found[one].order)):
            first, last = self._span(child)
            number = next((n for n, (end, _) in enumerate(lanes) if end < first), len(lanes))
            lanes[number : number + 1] = [(last, [*(lanes[number][1] if number < len(lanes) else ()), child])]
        return [(max(map(self._height, boxes)), boxes) for _, boxes in lanes]

    def _put(self, node: Node, top: float) -> None:
        self._tops[node] = top
        for height, boxes in self._lanes(node):
            for box in boxes:
                self._put(box, top)
            top += height + _GAP
