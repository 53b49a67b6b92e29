"""Rows of measurements: their answers, what differs between two, and the collapsed table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import attrs

from agentcore.live.contracts.measure import RULES, Measurement

__all__ = [
    "ABSENT",
    "Answer",
    "Group",
    "Row",
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
    """What was written, and where."""

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
"""What came of the writes of a row: more than one where its places differ, none if there is no such place."""

ABSENT: Final[Answer] = ()
_PLACES: Final[dict[str, str]] = RULES["places"]
_ACTS: Final[dict[str, str]] = RULES["acts"]
_HOLDERS: Final[dict[str, str]] = RULES["holders"]
_OWNERS: Final[dict[str, str]] = RULES["owners"]
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
    cells: tuple[tuple[str, str, str, str], ...]
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
        beside: all groups; what is said of a place as a whole has to hold for all that is done there.
    """
    near = [each for each in beside if (each.boundary, each.root) == (group.boundary, group.root)]
    acts: dict[tuple[str, str], set[str]] = defaultdict(set)
    roles: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for each in near:
        if {*each.paths} & {*group.paths}:
            for owner, role, place, act in each.cells:
                acts[owner, place].add(act)
                roles[owner, place, act].add(role)
    said: dict[str, list[str]] = defaultdict(list)
    for owner in _OWNERS:
        places: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for of, role, place, act in group.cells:
            if of == owner:
                places[place][act].add(role)
        parts = [
            _place_words(owner, place, places[place], acts, roles) for place in _PLACES if place in places
        ]
        if parts:
            said[", ".join(parts)].append(_OWNERS[owner])
    return "; ".join(f"{' and '.join(owners)} {parts}".strip() for parts, owners in said.items())


def _place_words(
    owner: str,
    place: str,
    found: Mapping[str, set[str]],
    acts: Mapping[tuple[str, str], set[str]],
    roles: Mapping[tuple[str, str, str], set[str]],
) -> str:
    name = _PLACES[place]
    partly = {act for act in found if found[act] != roles[owner, place, act]}
    if (
        not partly
        and found.keys() == acts[owner, place]
        and (len(found) > 1 or place not in ("list", "records"))
    ):
        return name
    notes = [
        _ACTS[act] + (f" of {' and '.join(sorted(found[act]))}" if act in partly else "")
        for act in _ACTS
        if act in found
    ]
    return f"{name} ({', '.join(notes)})"
