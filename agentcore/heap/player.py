"""The player: recorded runs as a page of HTML that needs nothing besides itself.

A page has one JSON document. It has a run moment by moment: what passed each boundary, each write, the
prompt of each step. The graph of the moment has been placed before (`agentcore.heap.player_graph`), so that
the page only draws. Two runs stand side by side, their moments paired by step and name.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from agentcore.heap.heap import ObjectCell, Ref, Value
from agentcore.heap.player_graph import graph
from agentcore.heap.player_runs import Caption, Moment, Recorded, Scene, drawn_text, of_core
from agentcore.heap.pollution import Finding, Reach, ones, written_path
from agentcore.heap.views import Key, Write
from agentcore.machine.run import Run
from agentcore.messages.values import sealed

__all__ = ["Comparison", "Playable", "Player", "document", "pairs", "player", "recorded"]

Json: TypeAlias = dict[str, Any]
_FORMAT: Final = "agentcore-player-1"
_SHORT: Final = 80
_MOST: Final = 4
_HEIGHT: Final = 780
# What a page may load and send: nothing. Its own script and style are allowed by their digests.
_NOTHING: Final = ("default-src 'none'", "base-uri 'none'", "form-action 'none'")


# ---------------------------------------------------------------- the document


@sealed
@attrs.frozen
class Comparison:
    """One run, or two side by side, that a page plays, under a title; or none.

    `about` is what is true of all of it: labels, and texts, of which those of several lines are code. `steps`
    are the names of the steps, where their numbers do not do.
    """

    title: str
    runs: Sequence[Recorded]
    about: Sequence[tuple[str, str]] = attrs.field(default=(), kw_only=True)
    steps: Sequence[str] = attrs.field(default=(), kw_only=True)


def document(comparisons: Sequence[Comparison], title: str) -> Json:
    """The document of a page.

    Args:
        comparisons: what the page plays; a person picks one of several.
        title: what the page is called.
    """
    texts = _Texts()
    scenes = [
        {
            "title": drawn_text(one.title),
            "about": [[drawn_text(label), _code(text)] for label, text in one.about],
            "steps": [*map(drawn_text, one.steps)],
            "runs": [_Telling(run, texts).json() for run in one.runs],
            "pairs": pairs(one.runs),
        }
        for one in comparisons
    ]
    return {"format": _FORMAT, "title": drawn_text(title), "scenes": scenes, "texts": texts.all}


def _code(text: str) -> str:
    return "\n".join(map(drawn_text, text.splitlines()))


class _Texts:
    """The texts of a document: JSON of messages and fields, each once."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}
        # By identity: most of what one boundary hands out is what the one before had.
        self._known: dict[int, tuple[Any, int]] = {}

    def number(self, value: Any) -> int:
        """The number of the text of a value."""
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        text = drawn_text(json.dumps(value, ensure_ascii=False))
        number = self._numbers.setdefault(text, len(self.all))
        if number == len(self.all):
            self.all.append(text)
        if isinstance(value, dict | list):
            self._known[id(value)] = (value, number)
        return number


class _Telling:
    """One run of a document."""

    def __init__(self, run: Recorded, texts: _Texts) -> None:
        self._run = run
        self._texts = texts
        self._reach = Reach(run.marks)
        # The holders that have shown a write: the page reports when each shows it first.
        self._seen: set[tuple[int, str]] = set()

    def json(self) -> Json:
        """The run as plain JSON."""
        run = self._run
        scenes = [
            Scene(
                heap=moment.heap,
                holders=moment.holders,
                writes=moment.writes,
                written=None if moment.write is None else (moment.write.address, moment.write.key),
            )
            for moment in run.moments
            if moment.heap is not None
        ]
        drawn = graph(scenes, run.lasting, run.marks, [one.write.key for one in run.findings])
        shown = iter(drawn.shown)
        numbers = {one["name"]: number for number, one in enumerate(drawn.holders)}
        return {
            "name": drawn_text(run.name),
            "notes": [*map(drawn_text, run.notes)],
            "graph": {
                "holders": drawn.holders,
                "columns": drawn.columns,
                "boxes": drawn.boxes,
                "states": drawn.states,
                "width": round(drawn.width),
                "height": round(drawn.height),
            },
            "moments": [
                self._moment(moment)
                | {
                    "shown": [] if moment.heap is None else [*next(shown)],
                    "event": numbers.get(moment.name) if moment.kind == "boundary" else None,
                }
                for moment in run.moments
            ],
            "prompts": [*self._prompts()],
        }

    def _moment(self, moment: Moment) -> Json:
        if moment.caption is not None:
            return self._with_caption(moment, moment.caption)
        carried = self._carried(moment)
        return {
            "kind": moment.kind,
            "step": moment.step,
            "name": drawn_text(moment.name),
            "says": self._sentence(moment, carried),
            "fields": [*self._fields(moment)] if moment.kind == "boundary" else [],
            "sight": self._is_first_sight(moment),
            "same": [drawn_text(" = ".join(names)) for names in moment.names if len(names) > 1][:_MOST],
            "lines": [*self._lines(moment)],
        }

    def _with_caption(self, moment: Moment, caption: Caption) -> Json:
        """A moment of which it is known what to say: nothing is drawn."""
        named = moment.value or {}
        fields = self._fields(moment) if named else ()
        return {
            "kind": moment.kind,
            "step": moment.step,
            "name": drawn_text(moment.name),
            "says": drawn_text(caption.says),
            "headed": drawn_text(caption.headed),
            "fields": [
                field | {"apart": [*self._apart(caption.apart.get(name, {}))]}
                for name, field in zip(named, fields, strict=True)
            ],
            "changes": [
                [drawn_text(name), self._change_rows(before, after)]
                for name, (before, after) in caption.changes.items()
            ],
            "sight": caption.sight,
            "same": [],
            "lines": [*map(drawn_text, caption.lines)],
        }

    def _apart(self, apart: Mapping[int, Any]) -> Iterator[list[int | None]]:
        for number, other in apart.items():
            yield [number, None if other is None else self._texts.number(other)]

    def _change_rows(self, before: Sequence[Any], after: Sequence[Any]) -> list[list[Any]]:
        """The rows of a difference, without what both have."""
        numbered = ([*map(self._texts.number, items)] for items in (before, after))
        return [row for row in self._changes(*numbered) if row[0] != "="]

    # ---------------------------------------------------------------- what was handed out

    def _writes_in(self, slot: Value, moment: Moment) -> list[int]:
        """The numbers of the writes that were made by then and can be seen in a slot, from 1."""
        if moment.heap is None:
            return []
        self._reach.move_to(moment.heap)
        return [number + 1 for number in ones(self._reach.of(slot) & ((1 << moment.writes) - 1))]

    def _carried(self, moment: Moment) -> list[int]:
        if moment.write is not None:
            return [moment.write.number + 1]
        return self._writes_in(moment.slot, moment)

    def _fields(self, moment: Moment) -> Iterator[Json]:
        """Returns a boundary's fields, and each element of a list, with the writes that each shows."""
        fields = moment.value if isinstance(moment.value, dict) else {"": moment.value}
        for name, value in fields.items():
            slot = self._child(moment, moment.slot, name) if name else moment.slot
            items = value if isinstance(value, list) else [value]
            slots = (
                [self._child(moment, slot, index) for index in range(len(items))]
                if items is value
                else [slot]
            )
            yield {
                "name": drawn_text(name),
                "listed": items is value,
                "items": [
                    [self._texts.number(item), *self._writes_in(inside, moment)]
                    for item, inside in zip(items, slots, strict=True)
                ],
            }

    def _child(self, moment: Moment, slot: Value, key: Key) -> Value:
        if moment.heap is None or not isinstance(slot, Ref):
            return None
        cell = moment.heap.cells[slot.address]
        if isinstance(cell, ObjectCell):
            return cell.get(str(key))
        return cell[key] if isinstance(key, int) and key < len(cell) else None

    # ---------------------------------------------------------------- sentences

    def _sentence(self, moment: Moment, carried: Sequence[int]) -> str:
        if moment.write is not None:
            return drawn_text(_said_of_write(moment.write))
        if moment.kind == "refusal":
            return drawn_text(f"{moment.name}: {moment.text}")
        if moment.kind == "end":
            return drawn_text(f"The run failed: {moment.text}" if moment.text else "The run has ended.")
        seen = f" It shows {_numbered(carried)}." if carried else ""
        return drawn_text(f"{moment.name} gets {_amount(moment.value)}.{seen}")

    def _lines(self, moment: Moment) -> Iterator[str]:
        """Returns further lines about a moment: for a write, whom it reaches and how long it lasts."""
        if moment.write is not None:
            finding = self._run.findings[moment.write.number]
            now = [
                name
                for name, slot in moment.holders.items()
                if moment.write.number + 1 in self._writes_in(slot, moment)
            ]
            yield drawn_text(f"It reaches {', '.join(now)}." if now else "Nobody reaches it any more.")
            yield drawn_text(_lasting(finding))
        if moment.kind == "end":
            for finding in self._run.findings:
                where = ", ".join(finding.paths.values())
                left = f"is left in {where}" if where else "has left nothing"
                yield drawn_text(f"Write {finding.write.number + 1} {left}.")

    def _is_first_sight(self, moment: Moment) -> bool:
        """True if some holder shows a write here for the first time."""
        sights = {
            (number, name)
            for name, slot in moment.holders.items()
            for number in self._writes_in(slot, moment)
        }
        new = not sights <= self._seen
        self._seen |= sights
        return new

    # ---------------------------------------------------------------- prompts

    def _prompts(self) -> Iterator[Json]:
        """Returns each prompt with its difference from the prompt before."""
        before: list[int] = []
        for number, (step, messages) in enumerate(self._run.prompts):
            now = [self._texts.number(message) for message in messages]
            kept = _shared_beginning(before, now)
            whole = sum(len(self._texts.all[one]) for one in now)
            cached = sum(len(self._texts.all[one]) for one in now[:kept])
            yield {
                "step": step,
                "first": not number,
                "rows": [*self._changes(before, now)] if number else [["=", one] for one in now],
                "kept": kept,
                "count": len(now),
                "share": cached / whole if whole else 0.0,
            }
            before = now

    def _changes(self, before: Sequence[int], now: Sequence[int]) -> Iterator[list[Any]]:
        """Rows of a difference: `=`, `+`, `-` and a text; or `~`, both texts, and what they share.

        What they share are the lengths of the beginning and of the end.
        """
        matcher = SequenceMatcher(a=before, b=now, autojunk=False)
        for _, start, end, first, last in matcher.get_opcodes():
            if before[start:end] == now[first:last]:
                yield from (["=", one] for one in now[first:last])
                continue
            pairs = min(end - start, last - first)
            for old, new in zip(before[start : start + pairs], now[first : first + pairs], strict=True):
                yield from self._change(old, new)
            yield from (["-", one] for one in before[start + pairs : end])
            yield from (["+", one] for one in now[first + pairs : last])

    def _change(self, old: int, new: int) -> Iterator[list[Any]]:
        before, after = self._texts.all[old], self._texts.all[new]
        start, end = _shared(before, after)
        if 2 * (start + end) < min(len(before), len(after)):
            yield from (["-", old], ["+", new])
        else:
            yield ["~", old, new, start, end]


def _shared(old: str, new: str) -> tuple[int, int]:
    """Counts the characters that two texts share at the beginning, and at the end of the rest."""
    start = _shared_beginning(old, new)
    return start, _shared_beginning(old[start:][::-1], new[start:][::-1])


def _shared_beginning(first: Sequence[Any], second: Sequence[Any]) -> int:
    pairs = enumerate(zip(first, second, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(first), len(second)))


def _said_of_write(write: Write) -> str:
    # What code has made itself on the heap was handed out by nobody, and has no name.
    root, *keys = write.handle or ("object",)
    path = written_path(str(root), tuple(keys), write.key)
    number = f"Write {write.number + 1}: {write.hook}"
    before, after = (
        drawn_text(json.dumps(value, ensure_ascii=False), _SHORT) for value in (write.before, write.after)
    )
    if isinstance(write.before, list) and isinstance(write.after, list):
        length = f"it had {_count(len(write.before), 'element')} and has {len(write.after)}"
        return f"{number} changes {path} in place ({write.operation}): {length}."
    match write.operation:
        case "set":
            return f"{number} sets {path} in place, from {before} to {after}."
        case "delete":
            return f"{number} deletes {path} in place; it was {before}."
        case operation:
            return f"{number} changes {path} in place ({operation}), from {before} to {after}."


def _lasting(finding: Finding) -> str:
    later = "" if finding.first_seen is None else f", seen again from step {finding.first_seen} on"
    where = f". At the end it is in {', '.join(finding.paths.values())}" if finding.paths else ""
    return f"How long: {finding.verdict.value}{later}{where}."


def _numbered(numbers: Sequence[int]) -> str:
    named = ", ".join(map(str, numbers[:_MOST])) + (", …" if len(numbers) > _MOST else "")
    return f"write{'s' if len(numbers) > 1 else ''} {named}"


def _amount(value: Any) -> str:
    """Return the amount of a value, in words."""
    if isinstance(value, dict):
        for name in ("messages", "prompt"):
            if isinstance(value.get(name), list):
                return _count(len(value[name]), "message")
        return _count(len(value), "field")
    return _count(len(value), "element") if isinstance(value, list) else "a value"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def pairs(runs: Sequence[Recorded]) -> list[list[int | None]]:
    """The moments of all runs in one order: those of one step and one name stand together."""
    if len(runs) < 2:  # noqa: PLR2004 - two
        return [[number] for run in runs for number in range(len(run.moments))]
    left, right = ([_name_of(moment) for moment in run.moments] for run in runs)
    found: list[list[int | None]] = []
    for _, start, end, first, last in SequenceMatcher(a=left, b=right, autojunk=False).get_opcodes():
        if left[start:end] == right[first:last]:
            found += [[a, b] for a, b in zip(range(start, end), range(first, last), strict=True)]
        else:
            found += _in_turn(range(start, end), range(first, last), left, right)
    return found


def _in_turn(
    mine: Sequence[int], theirs: Sequence[int], left: Sequence[Any], right: Sequence[Any]
) -> Iterator[list[int | None]]:
    """Moments that only one of two runs has, by step."""
    both = [*((left[n][0], 0, n) for n in mine), *((right[n][0], 1, n) for n in theirs)]
    for _, side, number in sorted(both):
        yield [None, number] if side else [number, None]


def _name_of(moment: Moment) -> tuple[int, str, str]:
    kind = "write" if moment.kind == "refusal" else moment.kind
    return moment.step, kind, re.sub(r"[^a-z]", "", moment.name.lower())


# ---------------------------------------------------------------- the page


@sealed
@attrs.frozen
class Player:
    """A page that plays one run, or two side by side; notebooks show it."""

    document: Json = attrs.field(repr=False, eq=False, hash=False)

    @property
    def page(self) -> str:
        """The page as HTML: one file that loads nothing."""
        return _page(self.document)

    def save(self, file: Path) -> None:
        """Write the page to a file.

        Args:
            file: the path; a file that is there is replaced.

        Raises:
            OSError: if the file cannot be written.
        """
        file.write_text(self.page, encoding="utf-8")

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that nothing in it reaches the notebook."""
        title = html.escape(self.document["title"], quote=True)
        return (
            f'<iframe title="Player: {title}" sandbox="allow-scripts" width="100%" height="{_HEIGHT}" '
            f'style="border:0" srcdoc="{html.escape(self.page, quote=True)}"></iframe>'
        )


class Playable(ABC):
    """A value that has a recorded run: notebooks show its player."""

    __slots__ = ()

    @property
    @abstractmethod
    def recorded(self) -> Recorded:
        """The run as the player takes it."""

    def _repr_html_(self) -> str:
        return player(self)._repr_html_()


def player(*runs: Run | Recorded | Playable, title: str = "") -> Player:
    """Return the player of one run, or of two side by side.

    Args:
        runs: runs of the core, or values that have a recorded run: what `emulate.run` and `explain` return.
        title: the title of the page; by default the names of the runs.

    Returns:
        The player: a notebook shows it, and its `page` is HTML.

    Raises:
        ValueError: unless there are one or two runs.
    """
    if len(runs) not in (1, 2):
        raise ValueError(f"the player shows one run or two, and was given {len(runs)}")
    shown = [recorded(run) for run in runs]
    title = title or " and ".join(run.name for run in shown)
    return Player(document([Comparison(title, shown)], title))


def recorded(run: Run | Recorded | Playable) -> Recorded:
    """A run as the player takes it."""
    if isinstance(run, Run):
        return of_core(run)
    return run if isinstance(run, Recorded) else run.recorded


@cache
def _files() -> tuple[str, str, str]:
    folder = files("agentcore.heap")
    names = ("player.html.jinja", "player.css", "player_graph.js", "player.js")
    page, style, *scripts = (folder.joinpath(name).read_text(encoding="utf-8") for name in names)
    return page, style, "\n".join(scripts)


def _page(shown: Json) -> str:
    source, style, script = _files()
    # The document is data: a script element that is not run, in which no `<` can end it.
    data = json.dumps(shown, separators=(",", ":")).replace("<", "\\u003c")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(source).render(
        title=shown["title"],
        style=Markup(style),  # noqa: S704 - files of this package
        script=Markup(script),  # noqa: S704 - as above
        data=Markup(data),  # noqa: S704 - JSON without any `<`
        policy="; ".join([*_NOTHING, _allowed("script", script), _allowed("style", style)]),
    )


def _allowed(kind: str, source: str) -> str:
    digest = base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode("ascii")
    return f"{kind}-src 'sha256-{digest}'"
