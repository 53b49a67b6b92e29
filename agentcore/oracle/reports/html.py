"""The report as a page of HTML that needs nothing besides itself, and runs nothing."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

import attrs
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from agentcore.kit.families import family_of
from agentcore.kit.safe_text import visible
from agentcore.oracle.spec.vectors import pretty

__all__ = ["Line", "alias_picture", "beside", "spread_picture", "text"]

Json: TypeAlias = dict[str, Any]

_SIDES: Final = ("expected", "the driver")
_RUNS: Final = ("without the write", "with the write")
_OF_RULES: Final = {
    "isolated.call-order": ("tools in no time", "tools with times"),
    "isolated.accumulates": ("returned for the last step only", "returned for each step"),
    "isolated.caller-kept": ("before the run", "after the run"),
    "isolated.reports-kept": ("as it was given", "after the run"),
}


def text(document: Json) -> str:
    """The page. With the extra `pictures` each wrong trace has a picture of how far the difference goes.

    Programs that have a profile have another one, of who holds what as it is expected, where their family
    says what a picture has.
    """
    # Every text is data: made visible first, then escaped. Only our own pictures are markup.
    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=_visible, trim_blocks=True)
    source = files(__package__).joinpath("report.html.jinja").read_text(encoding="utf-8")
    isolated = document["isolated"]
    return environment.from_string(source).render(
        report=document,
        title="hooks get copies" if isolated else document["profile"],
        pretty=pretty,
        beside=beside,
        headline=_headline,
        sides=_sides,
        spread=lambda finding: _markup(spread_picture(finding)),
        picture=lambda finding: (
            None if isolated else _markup(alias_picture(finding["program"], finding["profile"]))
        ),
    )


def _visible(value: Any) -> Any:
    return value if isinstance(value, Markup) else visible(str(value))


def _markup(svg: str | None) -> Markup | None:
    return None if svg is None else Markup(visible(svg))  # noqa: S704 - drawn here, with its texts escaped


def _headline(finding: Json) -> str:
    """Describes a finding on one line."""
    match finding:
        case {"breach": {"kind": kind, "hook": hook, "op": op, "place": place}}:
            return f"{kind}: {hook}, {op} {place}"
    cause = f", by {finding['op']} in {finding['hook']}" if finding["op"] else ""
    return (
        f"{finding['outcome']} at {finding['where']}{cause}" if finding["where"] else str(finding["outcome"])
    )


def _sides(finding: Json) -> tuple[str, str]:
    """Names the two sides."""
    if "breach" not in finding:
        return _SIDES
    return _OF_RULES.get(finding["breach"]["requirement"], _RUNS)


# Two values beside each other: lines of both, those that differ marked, long stretches alike left out.

_AROUND: Final = 3
_MOST: Final = 400


@attrs.frozen
class Line:
    """One line on one side; `kind` is `same`, `gone`, `added`, `gap` (lines left out) or `pad` (no line)."""

    kind: str
    text: str


def beside(expected: Json, actual: Json) -> tuple[list[Line], list[Line]]:
    """The lines of both sides, as many on the one as on the other.

    Args:
        expected: `{"value": ...}`, or `{}` for nothing.
        actual: likewise.
    """
    rows = list(_rows(_lines(expected), _lines(actual)))
    return [left for left, _ in rows], [right for _, right in rows]


def _lines(shown: Json) -> list[str]:
    if "value" not in shown:
        return ["(nothing)"]
    return json.dumps(shown["value"], indent=1, ensure_ascii=False).splitlines()[:_MOST]


def _rows(mine: Sequence[str], theirs: Sequence[str]) -> Iterator[tuple[Line, Line]]:
    matcher = difflib.SequenceMatcher(a=mine, b=theirs, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            yield from _alike(mine[start:end], is_first=not start, is_last=end == len(mine))
            continue
        left = [Line("gone", text) for text in mine[start:end]]
        right = [Line("added", text) for text in theirs[first:last]]
        height = max(len(left), len(right))
        pad = Line("pad", "")
        yield from zip(_padded(left, height, pad), _padded(right, height, pad), strict=True)


def _padded(lines: list[Line], height: int, pad: Line) -> list[Line]:
    return [*lines, *[pad] * (height - len(lines))]


def _alike(lines: Sequence[str], *, is_first: bool, is_last: bool) -> Iterator[tuple[Line, Line]]:
    before, after = (0 if is_first else _AROUND), (0 if is_last else _AROUND)
    if len(lines) <= before + after + 1:
        kept = [Line("same", text) for text in lines]
    else:
        left_out = len(lines) - before - after
        gap = Line("gap", f"... {left_out} lines alike")
        kept = [
            *(Line("same", text) for text in lines[:before]),
            gap,
            *(Line("same", text) for text in lines[len(lines) - after :]),
        ]
    yield from ((line, line) for line in kept)


# A picture for a report: who holds what in the run of a program, where it can be drawn.

# A picture of more cannot be read.
_CELLS: Final = 400


# A picture of more places cannot be read, and the report lists all.
_PLACES: Final = 4


def spread_picture(finding: dict[str, Any]) -> str | None:
    """Draws how far a difference goes as an SVG element: who writes, who sees it, and where.

    None without the extra `pictures`, and for a finding without a difference.
    """
    if not finding.get("spread") or not _can_draw():
        return None
    from agentcore.heap.pictures import spread  # noqa: PLC0415 - takes a second, and is an extra

    shown = {
        holder: [*places[:_PLACES], *([f"{len(places) - _PLACES} more"] if len(places) > _PLACES else [])]
        for holder, places in finding["spread"].items()
    }
    svg = spread(finding["writers"][:_PLACES], shown).svg
    return svg[svg.index("<svg") :]


def _can_draw() -> bool:
    return find_spec("matplotlib") is not None and find_spec("igraph") is not None


def alias_picture(program: dict[str, Any], profile: str) -> str | None:
    """Draws who holds what at the last model call, as an SVG element.

    None without the extra `pictures`, for a profile whose family has no picture or that runs on no heap, for
    a run that calls no model, and for one too large to be looked at.
    """
    if not _can_draw():
        return None
    from agentcore.heap.pictures import alias_graph  # noqa: PLC0415 - takes a second, and is an extra
    from agentcore.heap.pollution import findings  # noqa: PLC0415

    family = family_of(profile)
    if family.recording is None or not family.pictured:
        return None
    recorded = family.recording(program, profile)
    if recorded.loop is None:
        return None
    recorded.loop.store.watching = True
    recorded.trace()
    moments = [one for one in recorded.loop.snapshots if one.moment == "prompt"]
    if not moments or moments[-1].heap_size > _CELLS:
        return None
    holders = [name for name in family.pictured if name in moments[-1].holders]
    written = {finding.write.address for finding in findings(recorded.loop)}
    svg = alias_graph(moments[-1], holders, written=written).svg
    return svg[svg.index("<svg") :]
