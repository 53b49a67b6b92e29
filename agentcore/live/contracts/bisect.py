"""Finds the releases that changed a contract, row by row."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import attrs

from agentcore.live.contracts.table import changes
from agentcore.live.installs import InstallError

__all__ = ["Edge", "Search", "Undecided", "bisect"]

Rows: TypeAlias = Mapping[Any, tuple[Any, Any]]
"""What changed, by row, with what was there before and after: of contracts, rows with their answers."""

Differ: TypeAlias = Callable[[Any, Any], Rows]
"""Returns what differs between two measurements, by row."""


class Undecided(Exception):  # noqa: N818 - an answer, too
    """One of the two ends cannot be measured, so nothing can be searched between them."""


@attrs.frozen(kw_only=True)
class Edge:
    """Two releases between which rows changed.

    Attributes:
        last_old: the last release measured before the change.
        first_new: the first one measured after it.
        unknown: the releases between them, with why they could not be measured; empty if the two follow each
            other.
        rows: the rows that changed, with what was there before and after.
    """

    last_old: str
    first_new: str
    unknown: Mapping[str, str]
    rows: Rows


@attrs.define(kw_only=True)
class Search:
    """The result of a search for the release of a change, and its cost.

    Attributes:
        edges: all changes, oldest first; a change and its reversal are two.
        measured: the releases that were measured.
        skipped: the releases that could not be, with the reason.
        listed: how many releases there are from one end to the other.
        seconds: how long it took.
    """

    edges: list[Edge] = attrs.field(factory=list)
    measured: list[str] = attrs.field(factory=list)
    skipped: dict[str, str] = attrs.field(factory=dict)
    listed: int = 0
    seconds: float = 0.0


def bisect(
    releases: Sequence[str],
    measure: Callable[[str], Any],
    *,
    samples: int = 4,
    differ: Differ = changes,
    report: Callable[[str], None] = lambda _: None,
) -> Search:
    """Measures as few releases as it takes to name those that changed something.

    Args:
        releases: from the old one to the new one, in order.
        measure: measures a release; raises InstallError if it cannot be.
        samples: how many releases between the ends are measured first: equal ends do not exclude a change and
            its reversal between them.
        differ: returns the rows that differ between two measurements.
        report: called with a text for each release that is measured.

    Raises:
        Undecided: if one of the ends cannot be measured.
    """
    return _Bisector(releases, measure, differ, report).search(samples)


class _Bisector:
    def __init__(
        self,
        releases: Sequence[str],
        measure: Callable[[str], Any],
        differ: Differ,
        report: Callable[[str], None],
    ) -> None:
        self._releases, self._measure, self._differ, self._report = releases, measure, differ, report
        self._found: dict[int, Any] = {}
        self._search = Search(listed=len(releases))

    def search(self, samples: int) -> Search:
        begin, last = time.monotonic(), len(self._releases) - 1
        for end in (0, last):
            if not self._is_known(end):
                version = self._releases[end]
                raise Undecided(f"{version} cannot be measured: {self._search.skipped[version]}")
        for number in range(1, samples + 1):
            self._middle(0, last, near=round(number * last / (samples + 1)))
        while (gap := self._open_gap()) is not None:
            self._middle(*gap)
        self._search.edges = [*self._edges()]
        self._search.measured = [self._releases[index] for index in sorted(self._found)]
        self._search.seconds = time.monotonic() - begin
        return self._search

    def _is_known(self, index: int) -> bool:
        """Measures a release if it was not yet; returns whether there is an answer."""
        version = self._releases[index]
        if index in self._found or version in self._search.skipped:
            return index in self._found
        self._report(f"measuring {version} ({len(self._found) + 1} of at most {len(self._releases)})")
        try:
            self._found[index] = self._measure(version)
        except InstallError as error:
            self._search.skipped[version] = str(error).strip().splitlines()[0]
        return index in self._found

    def _middle(self, low: int, high: int, near: int | None = None) -> None:
        """Measures the release nearest to the middle of two that can be."""
        wanted = (low + high) // 2 if near is None else near
        for index in sorted(range(low + 1, high), key=lambda each: abs(each - wanted)):
            if self._is_known(index):
                return

    def _open_gap(self) -> tuple[int, int] | None:
        """Returns two measured releases that differ, with one between them that was not tried."""
        for low, high in self._pairs():
            untried = [
                index for index in range(low + 1, high) if self._releases[index] not in self._search.skipped
            ]
            if untried and self._differ(self._found[low], self._found[high]):
                return low, high
        return None

    def _pairs(self) -> Iterable[tuple[int, int]]:
        known = sorted(self._found)
        return pairwise(known)

    def _edges(self) -> Iterable[Edge]:
        for low, high in self._pairs():
            rows = self._differ(self._found[low], self._found[high])
            if rows:
                between = self._releases[low + 1 : high]
                unknown = {each: self._search.skipped[each] for each in between}
                yield Edge(
                    last_old=self._releases[low], first_new=self._releases[high], unknown=unknown, rows=rows
                )


def transitions(search: Search) -> dict[Any, list[Edge]]:
    """Returns the edges of each row: more than one where a change was taken back."""
    found: dict[Any, list[Edge]] = defaultdict(list)
    for edge in search.edges:
        for row in edge.rows:
            found[row].append(edge)
    return dict(found)
