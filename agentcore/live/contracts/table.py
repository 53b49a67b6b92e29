"""Rows of measurements: their answers, what differs between two, and the collapsed table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import attrs

from agentcore.live.contracts.measure import RULES, Measurement
from agentcore.live.contracts.releases import ordered

__all__ = [
    "ABSENT",
    "Answer",
    "Group",
    "Row",
    "answers_at",
    "answers_of",
    "changes",
    "collapsed",
    "missing",
    "text_of",
    "verdict",
    "words",
]

_T = TypeVar("_T", bound=Hashable)


class Row(NamedTuple):
    """One write of a probe: the object that it was made to, the place in it, and the act."""

    path: str
    boundary: str
    root: str
    owner: str
    role: str
    place: str
    act: str


Seen: TypeAlias = tuple[str, tuple[str, ...]]
"""A key of `results` in the rules, and who sees the write."""

Answer: TypeAlias = tuple[Seen, ...]
"""The outcomes of the writes of a row: more than one where its places differ, none without such a place."""

ABSENT: Final[Answer] = ()
_PLACES: Final[dict[str, str]] = RULES["places"]
_ACTS: Final[dict[str, str]] = RULES["acts"]
_HOLDERS: Final[dict[str, str]] = RULES["holders"]
_OWNERS: Final[dict[str, str]] = RULES["owners"]
_ALL: Final = "everything"
_FEW: Final = 2
_MANY: Final = frozenset({"list", "records"})
_MADE: Final = frozenset({"returned", "passed"})
_MADE_WORDS: Final = {_PLACES[name] for name in _MADE}
# The first that fits; the last fits what is only kept.
_VERDICTS: Final = {
    "the caller's messages, too": frozenset({"caller"}),
    "rest of the run": frozenset({"next-prompt", "later-prompts"}),
    "the result": frozenset({"later-runs", "result"}),
    "this step only": frozenset({"this-prompt"}),
    "records only": frozenset[str](),
}


def answers_of(measurement: Measurement) -> dict[Row, Answer]:
    """Returns the answer of each row of a measurement."""
    return {
        Row(*(each[name] for name in Row._fields)): tuple(
            sorted((one["result"], tuple(one.get("seen", ()))) for one in each["answers"])
        )
        for each in measurement["rows"]
    }


def answers_at(statements: Sequence[Mapping[str, Any]], version: str) -> list[dict[str, Any]]:
    """Returns the answers that hold at a release, of statements that are newest first."""
    versions = ordered([version, *(each["from"]["first_this"] for each in statements if each["from"])])
    place = versions.index(version)
    for each in statements:
        if each["from"] is None or versions.index(each["from"]["first_this"]) <= place:
            return list(each["answers"])
    return []


def missing(measurement: Measurement) -> dict[tuple[str, str], str]:
    """Returns why boundaries were not measured, by path and boundary."""
    return {
        (each["path"], each["boundary"]): each["why"]
        for each in measurement["unmeasured"]
        if "root" not in each
    }


def changes(old: Measurement, new: Measurement) -> dict[Row, tuple[Answer, Answer]]:
    """Returns the rows that differ, with both answers; boundaries that one of the two lacks are left out."""
    one, other = answers_of(old), answers_of(new)
    lacking = missing(old).keys() | missing(new).keys()
    pairs = {row: (one.get(row, ABSENT), other.get(row, ABSENT)) for row in [*one, *other]}
    return {
        row: pair
        for row, pair in pairs.items()
        if pair[0] != pair[1] and (row.path, row.boundary) not in lacking
    }


def verdict(answer: Answer) -> str:
    """Returns how long a write lasts, in the words of the pages (`spec/contracts.md`)."""
    if not answer:
        return "no such place"
    if len(answer) > 1:
        return "depends on the place"
    result, names = answer[0]
    if result != "seen":
        return str(RULES["results"][result])
    seen = frozenset(names)
    return (
        next(word for word, holders in _VERDICTS.items() if not holders or holders & seen)
        if seen
        else "no effect"
    )


def text_of(answer: Answer) -> str:
    """Returns who sees a write, in words."""
    if not answer:
        return "no such place"
    return " or ".join(_seen_text(*each) for each in answer)


def _seen_text(result: str, seen: Sequence[str]) -> str:
    if result != "seen":
        return str(RULES["results"][result])
    return ", ".join(name.replace("-", " ") for name in seen) or "nobody"


# ---------------------------------------------------------------- collapsing


Cell: TypeAlias = tuple[str, str, str, str]
"""Owner, role, place and act of a row."""


@attrs.frozen(kw_only=True)
class Group:
    """Rows of one boundary and root that have the same value.

    Attributes:
        boundary: the boundary.
        root: where the places begin; empty for what is returned or passed on.
        paths: the paths of the framework for which this holds.
        cells: owner, role, place and act of each row.
        value: what the rows have in common.
    """

    boundary: str
    root: str
    paths: tuple[str, ...]
    cells: tuple[Cell, ...]
    value: Any


def collapsed(rows: Mapping[Row, _T]) -> list[Group]:
    """Returns rows in groups of the same value, with the paths on which it holds; nothing is lost.

    Args:
        rows: a value for each row: an answer, or a pair of answers.
    """
    by_cell: dict[tuple[str, str], dict[tuple[str, str, str, str], dict[str, _T]]] = defaultdict(dict)
    for row, value in rows.items():
        cells = by_cell[row.boundary, row.root]
        cells.setdefault((row.owner, row.role, row.place, row.act), {})[row.path] = value
    found = []
    for (boundary, root), cells in by_cell.items():
        groups: dict[tuple[tuple[str, ...], _T], list[tuple[str, str, str, str]]] = defaultdict(list)
        for cell, by_path in cells.items():
            by_value: dict[_T, list[str]] = defaultdict(list)
            for path, value in by_path.items():
                by_value[value].append(path)
            for value, paths in by_value.items():
                groups[tuple(paths), value].append(cell)
        found += [
            Group(boundary=boundary, root=root, paths=paths, cells=tuple(cells), value=value)
            for (paths, value), cells in groups.items()
        ]
    return found


def words(group: Group, beside: Iterable[Group]) -> str:
    """Returns what is written, in words: `the caller's: content, text; list of messages (append)`.

    Args:
        group: the rows.
        beside: all groups; what is stated of a place as a whole has to hold for all acts there.
    """
    near = {
        cell
        for each in beside
        if (each.boundary, each.root) == (group.boundary, group.root) and {*each.paths} & {*group.paths}
        for cell in each.cells
    }
    said: dict[str, list[str]] = defaultdict(list)
    for owner in _OWNERS:
        of, all_of = _by_place(group.cells, owner), _by_place(near, owner)
        if of:
            parts = [_place_words(name, of[name], all_of[name]) for name in _PLACES if name in of]
            whole = of == all_of and len(of) > _FEW
            said[_ALL if whole else ", ".join(parts)].append(owner)
    if {*group.cells} == near and len({cell[2] for cell in near}) > _FEW:
        return _ALL
    alone = not any(cell[2] in _MADE for cell in near.difference(group.cells))
    return "; ".join(_phrase(parts, owners, alone=alone) for parts, owners in said.items())


_Acts: TypeAlias = dict[str, set[str]]
"""The roles of the messages in which something is done, by act."""


def _by_place(cells: Iterable[Cell], owner: str) -> dict[str, _Acts]:
    found: dict[str, _Acts] = defaultdict(lambda: defaultdict(set))
    for of, role, place, act in cells:
        if of == owner:
            found[place][act].add(role)
    return {place: dict(acts) for place, acts in found.items()}


def _phrase(parts: str, owners: Sequence[str], *, alone: bool) -> str:
    """Returns whose places they are, and which; what a hook makes is whose only if answers differ by that."""
    named = " and ".join(_OWNERS[owner] for owner in owners if owner)
    if (alone and parts in _MADE_WORDS) or not named:
        return parts
    return f"{parts} of {named} messages" if parts == _ALL else f"{named} {parts}"


def _place_words(place: str, acts: _Acts, all_acts: _Acts) -> str:
    """Returns a place, with the act there unless it was the only one."""
    name = _PLACES[place]
    if acts == all_acts and (len(acts) > 1 or place not in _MANY):
        return name
    notes = [
        _ACTS[act] + (f" of {' and '.join(sorted(acts[act]))}" if acts[act] != all_acts[act] else "")
        for act in _ACTS
        if act in acts
    ]
    return f"{name} ({', '.join(notes)})"
