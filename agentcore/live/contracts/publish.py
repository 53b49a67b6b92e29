"""The published contracts: `contracts.json`, derived from measurements, and pages that are made of it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

from agentcore.live.contracts import pages
from agentcore.live.contracts.bisect import bisect
from agentcore.live.contracts.measure import Measurement, digest, measure
from agentcore.live.contracts.releases import between, ordered, package_of, published, resolved
from agentcore.live.contracts.table import Answer, Row, answers_of, changes, collapsed, missing
from agentcore.live.installs import InstallError

__all__ = ["measurement_of", "pages_of", "publish", "read"]

_FILE: Final = "contracts.json"
_UNKNOWN: Final[Answer] = (("unknown", ()),)
Timeline: TypeAlias = tuple[tuple[str, Answer], ...]
"""Releases at which the answer became another one, with that answer; the first is the first one measured."""


def read(folder: Path) -> dict[str, Any]:
    """Returns the published contracts; those of no framework if there are none."""
    file = folder / _FILE
    empty: dict[str, Any] = {"format": 1, "frameworks": {}}
    return json.loads(file.read_text("utf-8")) if file.is_file() else empty


def publish(folder: Path, wanted: Sequence[str], report: Callable[[str], None]) -> Iterator[str]:
    """Measures frameworks, writes `contracts.json` and the pages, and yields a line for each framework.

    Args:
        folder: where they are.
        wanted: frameworks, or releases as `ai@6`, which are measured beside those measured before and the
            newest; without any, all frameworks that are published.
        report: is told what is measured.

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
        contracts["frameworks"][framework] = of.contract()
        contracts["frameworks"] = dict(sorted(contracts["frameworks"].items()))
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in {_FILE: _written(contracts), **pages_of(contracts)}.items():
            (folder / name).write_text(content, encoding="utf-8")
        yield f"{framework}: {len(of.whole)} releases measured, {len(of.skipped)} skipped"


def pages_of(contracts: Mapping[str, Any]) -> dict[str, str]:
    """Returns the pages made of published contracts, by file name."""
    made = {f"{name}.md": pages.page(name, of) for name, of in contracts["frameworks"].items()}
    return {"README.md": pages.index(contracts), **made}


def _written(contracts: Mapping[str, Any]) -> str:
    return json.dumps(contracts, indent=1) + "\n"


class _Framework:
    """The measurements of one framework."""

    def __init__(self, name: str, report: Callable[[str], None]) -> None:
        self._name, self._report = name, report
        self._package = package_of(name)
        self._listed = published(self._package)
        self.whole: dict[str, Measurement] = {}
        self.skipped: dict[str, str] = {}
        self._parts: dict[str, list[tuple[str, Measurement]]] = defaultdict(list)

    def measure_all(self, wanted: Sequence[str]) -> None:
        """Measures these releases, and between two that differ those that it takes to name the first ones."""
        for version in ordered({resolved(self._package, each) for each in wanted}):
            self._report(f"measuring {self._name} {version}")
            try:
                self.whole[version] = measure(self._name, version)
            except InstallError as error:
                self.skipped[version] = str(error).strip().splitlines()[0]
        if not self.whole:
            raise InstallError(f"no release of {self._name} could be measured: {self.skipped}")
        known = [*self.whole]
        for old, new in pairwise(known):
            differing = changes(self.whole[old], self.whole[new])
            for at in sorted({row.boundary.partition(".")[0] for row in differing}):
                self._narrow(at, old, new)

    def _narrow(self, at: str, old: str, new: str) -> None:
        of = partial(self._part, at)
        bisect(
            between(self._listed, old, new), of, samples=0, report=lambda what: self._report(f"{at}: {what}")
        )

    def _part(self, at: str, version: str) -> Measurement:
        found = self.whole.get(version) or measure(self._name, version, at)
        self._parts[version].append((at, found))
        return found

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
                    "statements": self._statements(group.value, group.boundary),
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
        seen: dict[Row, dict[str, Answer]] = defaultdict(dict)
        observations: list[tuple[str, str | None, Measurement]]
        observations = [(version, None, of) for version, of in self.whole.items()]
        observations += [(version, at, of) for version, parts in self._parts.items() for at, of in parts]
        # As the newest release has them, then those that only others have.
        whole = [*self.whole.values()][::-1]
        rows = dict.fromkeys(
            row for of in (*whole, *(of for *_, of in observations)) for row in answers_of(of)
        )
        for version, at, of in observations:
            answers, lacking = answers_of(of), missing(of)
            for row in rows:
                if at is None or row.boundary.partition(".")[0] == at:
                    unknown = (row.path, row.boundary) in lacking
                    seen[row][version] = _UNKNOWN if unknown else answers.get(row, ())
        return {row: self._timeline(seen[row]) for row in rows}

    def _timeline(self, seen: Mapping[str, Answer]) -> Timeline:
        found: list[tuple[str, Answer]] = []
        for version in ordered(seen):
            if not found or found[-1][1] != seen[version]:
                found.append((version, seen[version]))
        return tuple(found)

    def _statements(self, timeline: Timeline, boundary: str) -> list[dict[str, Any]]:
        """Returns the answers with the edge at which each began, newest first."""
        made = []
        for version, answer in reversed(timeline):
            data = [
                {"result": result, **({"seen": [*seen]} if result == "seen" else {})}
                for result, seen in answer
            ]
            made.append({"from": self._edge(version, boundary), "answers": data})
        return made

    def _edge(self, version: str, boundary: str) -> dict[str, Any] | None:
        at = boundary.partition(".")[0]
        measured = {*self.whole, *(each for each, parts in self._parts.items() if at in dict(parts))}
        earlier = ordered(measured)[: ordered(measured).index(version)]
        if not earlier:
            return None
        exact = len(between(self._listed, earlier[-1], version)) == 2  # noqa: PLR2004 - the two themselves
        return {"last_other": earlier[-1], "first_this": version, "exact": exact}

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
            answers = _at(group["statements"], version)
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


def _at(statements: Sequence[Mapping[str, Any]], version: str) -> list[dict[str, Any]]:
    """Returns the answers that hold at a release, of statements that are newest first."""
    versions = ordered([version, *(each["from"]["first_this"] for each in statements if each["from"])])
    place = versions.index(version)
    for each in statements:
        if each["from"] is None or versions.index(each["from"]["first_this"]) <= place:
            return list(each["answers"])
    return []
