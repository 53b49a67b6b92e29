"""Contracts as text for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias

from agentcore.live.contracts.bisect import Search
from agentcore.live.contracts.measure import Measurement
from agentcore.live.contracts.table import (
    Answer,
    Group,
    Row,
    answers_of,
    collapsed,
    missing,
    text_of,
    verdict,
    words,
)

__all__ = ["changes_as_json", "difference", "search", "search_as_json", "table"]

Changes: TypeAlias = Mapping[Row, tuple[Answer, Answer]]

_WHEN: Final = {"before": "before the model", "after": "after the model"}
_WIDTH: Final = 60


def table(measurement: Measurement) -> str:
    """Returns who sees a write, for each boundary and place."""
    groups = collapsed(answers_of(measurement))
    lines = [_heading(measurement)]
    lines += _by_boundary(groups, measurement, lambda value: f"{text_of(value)}  [{verdict(value)}]")
    lines += _not_measured(measurement)
    return "\n".join(lines)


def difference(old: Measurement, new: Measurement, differing: Changes) -> str:
    """Returns the rows that differ between two releases."""
    name, one, other = old["framework"], old["version"], new["version"]
    lines = [f"{name} {one} and {other}: {_counted(len(differing), 'row')} of {len(old['rows'])} differ"]
    lines += _changed_rows(differing, new)
    lacking = missing(old).items() ^ missing(new).items()
    alone = {boundary: why for (_, boundary), why in lacking if boundary not in _both(old, new)}
    lines += [f"only one of them has {boundary}: {why}" for boundary, why in alone.items()]
    return "\n".join(lines)


def _both(old: Measurement, new: Measurement) -> set[str]:
    return {each["boundary"] for each in old["rows"]} & {each["boundary"] for each in new["rows"]}


def search(framework: str, found: Search) -> str:
    """Returns what a bisection found, to paste into a report."""
    lines = []
    for edge in found.edges:
        gap = "" if not edge.unknown else f" (between them, not measured: {', '.join(edge.unknown)})"
        lines.append(
            f"{framework} {edge.first_new} changed {_counted(len(edge.rows), 'row')}; "
            f"{edge.last_old} is as before{gap}"
        )
        lines += _changed_rows(edge.rows, None)
    if not found.edges:
        lines.append(f"{framework}: no row differs between the releases that were measured")
    lines.append(
        f"measured {len(found.measured)} of {found.listed} releases in {found.seconds:.0f} seconds: "
        f"{', '.join(found.measured)}"
    )
    lines += [f"skipped {version}: {why}" for version, why in found.skipped.items()]
    return "\n".join(lines)


def _changed_rows(differing: Changes, measurement: Measurement | None) -> Iterable[str]:
    return _by_boundary(
        collapsed(differing), measurement, lambda pair: f"{text_of(pair[0])}  ->  {text_of(pair[1])}"
    )


def _heading(of: Measurement) -> str:
    lock = f", lock {of['lock']}" if of["lock"] else ""
    return f"{of['framework']} {of['version']} ({of['package']}, {of['runtime']}{lock}), {of['runs']} runs"


def _by_boundary(
    groups: Sequence[Group], measurement: Measurement | None, said: Callable[[Any], str]
) -> Iterable[str]:
    for boundary, of_boundary in groupby(groups, key=lambda group: group.boundary):
        when = _WHEN[measurement["when"][boundary]] if measurement and boundary in measurement["when"] else ""
        yield f"{boundary}{f', {when}' if when else ''}"
        near = [*of_boundary]
        for root, of_root in groupby(near, key=lambda group: group.root):
            if root:
                yield f"  {root}"
            for group in of_root:
                paths = f"{' and '.join(group.paths)}: " if _has_paths(near, group) else ""
                what = paths + words(group, near)
                indent = "    " if root else "  "
                gap = f"\n{'':8}" if len(what) > _WIDTH else " " * (_WIDTH - len(what) + 2)
                yield f"{indent}{what}{gap}{said(group.value)}"


def _has_paths(near: Sequence[Group], group: Group) -> bool:
    return len({path for each in near for path in each.paths}) > len(group.paths)


def _not_measured(measurement: Measurement) -> Iterable[str]:
    whys: dict[str, list[str]] = {}
    for each in measurement["unmeasured"]:
        name = f"{each['boundary']} {each['root']}" if "root" in each else each["boundary"]
        whys.setdefault(each["why"], []).append(f"{name} ({each['path']})")
    for why, names in whys.items():
        yield f"not known: {', '.join(names)}: {why}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


# ---------------------------------------------------------------- JSON


def _answer_data(answer: Answer) -> list[dict[str, Any]]:
    return [{"result": result, **({"seen": [*seen]} if result == "seen" else {})} for result, seen in answer]


def _rows_data(differing: Changes) -> list[dict[str, Any]]:
    return [
        {**row._asdict(), "old": _answer_data(old), "new": _answer_data(new)}
        for row, (old, new) in differing.items()
    ]


def changes_as_json(old: Measurement, new: Measurement, differing: Changes) -> dict[str, Any]:
    """Returns the differences between two releases as data; a place that is not there has no answers."""
    names = ("framework", "package", "version", "lock", "probe", "runtime")
    both = {side: {name: of[name] for name in names} for side, of in (("old", old), ("new", new))}
    return {"format": 1, **both, "rows": _rows_data(differing)}


def search_as_json(framework: str, found: Search) -> dict[str, Any]:
    """Returns what a bisection found as data."""
    edges = [
        {
            "last_old": edge.last_old,
            "first_new": edge.first_new,
            "unknown": dict(edge.unknown),
            "rows": _rows_data(edge.rows),
        }
        for edge in found.edges
    ]
    counts = {"listed": found.listed, "seconds": round(found.seconds, 1)}
    return {
        "format": 1,
        "framework": framework,
        "edges": edges,
        "measured": found.measured,
        "skipped": found.skipped,
        **counts,
    }
