"""The published contracts: `contracts.json`, derived from measurements, and pages that are made of it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

from agentcore.live.contracts import pages
from agentcore.live.contracts.bisect import bisect
from agentcore.live.contracts.measure import Measurement, cached_measurements, digest, measure
from agentcore.live.contracts.releases import between, ordered, package_of, published, resolved
from agentcore.live.contracts.table import Answer, Row, answers_at, answers_of, changes, collapsed, missing
from agentcore.live.installs import InstallError

__all__ = ["measurement_of", "pages_of", "publish", "read"]

_FILE: Final = "contracts.json"
_NEIGHBOURS: Final = 2
_UNKNOWN: Final[Answer] = (("unknown", ()),)
Timeline: TypeAlias = tuple[tuple[str, Answer], ...]
"""Releases at which the answer became another one, with that answer; the first is the first one measured."""


def read(folder: Path) -> dict[str, Any]:
    """Returns the published contracts; those of no framework if there are none."""
    file = folder / _FILE
    empty: dict[str, Any] = {"format": 1, "frameworks": {}}
    return json.loads(file.read_text("utf-8")) if file.is_file() else empty


def publish(
    folder: Path,
    wanted: Sequence[str],
    *,
    at: str | None = None,
    quick: bool = False,
    report: Callable[[str], None],
) -> Iterator[str]:
    """Measures frameworks, writes `contracts.json` and the pages, and yields a line for each framework.

    Args:
        folder: where they are.
        wanted: frameworks, or releases as `NAME@6`, which are measured beside those measured before and the
            newest; without any, all frameworks that are published.
        at: the only boundary for which releases between are searched; None for all.
        quick: whether no releases between are searched.
        report: called with a text for each release that is measured.

    Raises:
        InstallError: if a package manager cannot be asked, or no release can be measured.
    """
    contracts = read(folder)
    asked: dict[str, list[str]] = defaultdict(list)
    for each in wanted or contracts["frameworks"]:
        framework, _, version = each.partition("@")
        asked[framework] += [version] if version else []
    for framework, versions in asked.items():
        before = contracts["frameworks"].get(framework, {"releases": []})
        releases = [each["version"] for each in before["releases"]]
        of = _Framework(framework, report)
        of.measure_all([*releases, *versions, "latest"])
        _write(folder, framework, of.contract())
        yield f"{framework}: {len(of.whole)} releases measured, {len(of.skipped)} skipped"
        if not quick:
            # This takes longest, and what was measured is kept: whoever stops it can go on later.
            of.narrow_all(at)
            _write(folder, framework, of.contract())


def pages_of(contracts: Mapping[str, Any]) -> dict[str, str]:
    """Returns the pages made of published contracts, by file name."""
    made = {f"{name}.md": pages.page(name, of) for name, of in contracts["frameworks"].items()}
    return {"README.md": pages.index(contracts), **made}


def _write(folder: Path, framework: str, of: dict[str, Any]) -> None:
    contracts = read(folder)
    contracts["frameworks"] = dict(sorted({**contracts["frameworks"], framework: of}.items()))
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(contracts, indent=1) + "\n"
    for name, content in {_FILE: text, **pages_of(contracts)}.items():
        (folder / name).write_text(content, encoding="utf-8")


def _at(boundary: str) -> str:
    """Returns the value of `--at` for a boundary, which may be a method of it."""
    return boundary.partition(".")[0]


class _Framework:
    """The measurements of one framework."""

    def __init__(self, name: str, report: Callable[[str], None]) -> None:
        self._name, self._report = name, report
        self._package = package_of(name)
        self._listed = published(self._package)
        self.whole: dict[str, Measurement] = {}
        self.skipped: dict[str, str] = {}
        self._measured: dict[tuple[str, str], set[str]] = defaultdict(set)

    def measure_all(self, wanted: Sequence[str]) -> None:
        """Measures releases whole.

        Raises:
            InstallError: if none can be measured.
        """
        for version in ordered({resolved(self._package, each) for each in wanted}):
            self._measure(version)
        if not self.whole:
            raise InstallError(f"no release of {self._name} could be measured: {self.skipped}")

    def _measure(self, version: str) -> None:
        if version in self.whole:
            return
        self._report(f"measuring {self._name} {version}")
        try:
            self.whole[version] = measure(self._name, version)
        except InstallError as error:
            self.skipped[version] = str(error).strip().splitlines()[0]
        self.whole = {each: self.whole[each] for each in ordered(self.whole)}

    def narrow_all(self, only: str | None) -> None:
        """Finds the releases that changed something, and measures each whole, with the one before it.

        One boundary is searched at a time: what changed with it has an edge then, too.

        Args:
            only: the only boundary that is looked at; None for all.
        """
        tried = set[tuple[str, str, str]]()
        while (gap := next(self._gaps(only, tried), None)) is not None:
            tried.add(gap)
            at, old, new = gap
            search = bisect(
                between(self._listed, old, new),
                partial(measure, self._name, at=at),
                samples=0,
                report=lambda what, at=at: self._report(f"{at}: {what}"),  # type: ignore[misc]
            )
            for edge in search.edges:
                self._measure(edge.last_old)
                self._measure(edge.first_new)

    def _gaps(self, only: str | None, tried: set[tuple[str, str, str]]) -> Iterator[tuple[str, str, str]]:
        """Yields boundaries that differ between releases with others between them, the smallest first."""
        for old, new in pairwise(self.whole):
            if len(between(self._listed, old, new)) == _NEIGHBOURS:
                continue
            size = Counter(_at(row["boundary"]) for row in self.whole[new]["rows"])
            differing = {_at(row.boundary) for row in changes(self.whole[old], self.whole[new])}
            for at in sorted(differing, key=lambda each: (size[each], each)):
                if only in (None, at) and (at, old, new) not in tried:
                    yield at, old, new

    def _observations(self) -> Iterator[tuple[str, str | None, Measurement]]:
        """Yields what is known: releases that were measured whole, then single boundaries of others."""
        yield from ((version, None, of) for version, of in self.whole.items())
        for version in self._listed:
            if version not in self.whole:
                yield from ((version, at, of) for at, of in cached_measurements(self._name, version))

    def contract(self) -> dict[str, Any]:
        """Returns what is published of the framework."""
        last = [*self.whole.values()][-1]
        timelines = self._timelines()
        sections: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for group in collapsed(timelines):
            sections[group.boundary, group.root].append(
                {
                    "paths": [*group.paths],
                    "rows": [".".join(cell) for cell in group.cells],
                    "statements": self._statements(group.value, group.boundary, group.paths[0]),
                }
            )
        boundaries = list(dict.fromkeys(boundary for boundary, _ in sections))
        in_order = sorted(sections.items(), key=lambda each: boundaries.index(each[0][0]))
        return {
            "package": self._package.name,
            "manager": self._package.manager,
            "probe": digest(self._name),
            "runtime": last["runtime"],
            "releases": [{"version": name, "lock": of["lock"]} for name, of in self.whole.items()],
            "skipped": self.skipped,
            "when": last["when"],
            "contracts": [
                {"boundary": boundary, "root": root, "groups": groups}
                for (boundary, root), groups in in_order
            ],
            "unmeasured": self._unmeasured(),
        }

    def _timelines(self) -> dict[Row, Timeline]:
        observations = [*self._observations()]
        seen: dict[Row, dict[str, Answer]] = defaultdict(dict)
        # As the newest release has them, then those that only others have.
        whole = [*self.whole.values()][::-1]
        rows = dict.fromkeys(
            row for of in (*whole, *(of for *_, of in observations)) for row in answers_of(of)
        )
        for version, at, of in observations:
            answers, lacking = answers_of(of), missing(of)
            covered = {(row.path, row.boundary) for row in answers} | lacking.keys()
            for row in rows:
                key = (row.path, row.boundary)
                if at is None or (_at(row.boundary) == at and key in covered):
                    seen[row][version] = _UNKNOWN if key in lacking else answers.get(row, ())
                    self._measured[key].add(version)
        return {row: self._timeline(seen[row]) for row in rows}

    def _timeline(self, seen: Mapping[str, Answer]) -> Timeline:
        found: list[tuple[str, Answer]] = []
        for version in ordered(seen):
            if not found or found[-1][1] != seen[version]:
                found.append((version, seen[version]))
        return tuple(found)

    def _statements(self, timeline: Timeline, boundary: str, path: str) -> list[dict[str, Any]]:
        """Returns the answers with the edge at which each began, newest first."""
        made = []
        for version, answer in reversed(timeline):
            data = [
                {"result": result, **({"seen": [*seen]} if result == "seen" else {})}
                for result, seen in answer
            ]
            made.append({"from": self._edge(version, boundary, path), "answers": data})
        return made

    def _edge(self, version: str, boundary: str, path: str) -> dict[str, Any] | None:
        measured = ordered(self._measured[path, boundary])
        index = measured.index(version)
        if index == 0:
            return None
        exact = len(between(self._listed, measured[index - 1], version)) == _NEIGHBOURS
        return {"last_other": measured[index - 1], "first_this": version, "exact": exact}

    def _unmeasured(self) -> list[dict[str, Any]]:
        last = [*self.whole.values()][-1]
        whys: dict[tuple[str, str], list[str]] = defaultdict(list)
        for each in last["unmeasured"]:
            root = f" {each['root']}" if "root" in each else ""
            whys[f"{each['boundary']}{root}", each["why"]].append(each["path"])
        return [{"boundary": name, "paths": paths, "why": why} for (name, why), paths in whys.items()]


def measurement_of(of: Mapping[str, Any], framework: str, version: str) -> Measurement:
    """Returns what is published of a release, in the form of a measurement."""
    rows, lacking = [], dict[tuple[str, str], dict[str, str]]()
    for section in of["contracts"]:
        for group in section["groups"]:
            answers = answers_at(group["statements"], version)
            for path in group["paths"]:
                if answers == [{"result": "unknown"}]:
                    key = (path, section["boundary"])
                    lacking[key] = {"path": path, "boundary": section["boundary"], "why": "not measured"}
                    continue
                for cell in group["rows"]:
                    owner, role, place, act = cell.split(".")
                    names = {"path": path, "boundary": section["boundary"], "root": section["root"]}
                    own = {"owner": owner, "role": role, "place": place, "act": act}
                    if answers:
                        rows.append({**names, **own, "answers": [{**each, "places": []} for each in answers]})
    locks = {each["version"]: each["lock"] for each in of["releases"]}
    about = {"format": 1, "framework": framework, "package": of["package"], "version": version}
    more = {"lock": locks.get(version), "probe": of["probe"], "runtime": of["runtime"], "when": of["when"]}
    return {**about, **more, "rows": rows, "unmeasured": [*lacking.values()], "runs": 0}
