"""The page that shows where versions of a framework differ: recorded traces of one program, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any, Final

from agentcore.kit.compare import Difference, differences
from agentcore.kit.framework import FRAMEWORKS
from agentcore.kit.safe_text import brief
from agentcore.oracle.spec.vectors import Vector
from spec.citations import VECTORS
from spec.requirements import SPEC
from tools import vector_releases

_HEAD: Final = """\
# Where versions differ

Each row is a program of [the vectors](../vectors) and the first place at which the traces of two versions of
the real package are not alike. Programs whose traces are alike are not listed: {alike} of {programs}. The
file holds both traces whole. "After" and "by" are the releases between which the newer traces began, as
`python -m tools.vector_releases` found them.
"""

_WIDTH: Final = 60
# In a table of markdown a backtick would end the cell's code.
_QUOTE: Final = "'"


def page() -> str:
    """`generated/versions.md`."""
    rows: dict[str, list[str]] = {}
    alike = programs = 0
    for _, group in groupby(VECTORS, key=lambda vector: vector.file):
        versions = list(group)
        if not FRAMEWORKS[versions[0].family.name].packages:
            continue
        found = [row for two in pairwise(versions) if _is_one_package(*two) for row in _rows(*two)]
        rows.setdefault(versions[0].family.name, []).extend(found)
        programs += 1
        alike += not found
    tables = "".join(_table(family, found) for family, found in rows.items() if found)
    return _HEAD.format(alike=alike, programs=programs) + tables


def _table(family: str, rows: list[str]) -> str:
    head = "| program | versions | place | before | after |\n|---|---|---|---|---|\n"
    return f"\n## `{family}`\n\n{head}{''.join(rows)}"


def _is_one_package(before: Vector, after: Vector) -> bool:
    """Whether these are two versions of a package, and not packages of one family in two languages."""
    one, other = (each.profile.partition("@")[0].rstrip("-.0123456789") for each in (before, after))
    return one == other


def _rows(before: Vector, after: Vector) -> Iterator[str]:
    """A row for each first difference; paths with the same one share it."""
    runs: dict[tuple[str, str, str], list[str]] = {}
    for one, other in _runs(before, after):
        found = differences(before.traces[one], after.traces[other], before.family.comparison)
        if found is not None:
            runs.setdefault(_cells(found), []).append("" if one == before.profile else one)
    for cells, paths in runs.items():
        yield f"| {_program(before)} | {_versions(before, after, paths)} | {' | '.join(cells)} |\n"


def _runs(before: Vector, after: Vector) -> Iterator[tuple[str, str]]:
    """The runs of both that belong together: of one path, or the only ones."""
    if [*before.traces] == [before.profile]:
        yield before.profile, after.profile
    else:
        yield from ((run, run) for run in before.traces if run in after.traces)


def _cells(found: Difference) -> tuple[str, str, str]:
    return f"`{found.path}`", _shown(found.expected), _shown(found.actual)


def _program(vector: Vector) -> str:
    return f"[{vector.title}](../{vector.file.relative_to(SPEC).as_posix()})"


def _versions(before: Vector, after: Vector, paths: list[str]) -> str:
    among = ", ".join(path for path in paths if path)
    told = [among] if among else []
    if after.profile == vector_releases.PROFILE:
        file = after.file.relative_to(vector_releases.VECTORS).as_posix()
        told += [each for each in (vector_releases.measured().get(file),) if each]
    beside = f" ({'; '.join(told)})" if told else ""
    return f"{before.profile} to {after.profile}{beside}"


def _shown(value: Any) -> str:
    return f"`{brief(value, _WIDTH).replace('|', '/').replace('`', _QUOTE)}`"
