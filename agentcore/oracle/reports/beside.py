"""Two values beside each other: lines of both, those that differ marked, long stretches alike left out."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs

__all__ = ["Line", "beside"]

Json: TypeAlias = dict[str, Any]

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
