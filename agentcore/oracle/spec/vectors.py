"""Vectors: programs with the traces that real packages gave for them, one file a program.

A file holds `{title, program, versions}`; `versions` has for each profile `{claims, requirements, traces}`,
and a `title` of its own where this version shows something else. Where a profile has paths, there is a trace
for each, and the program stands without `path`; else there is one trace, under the name of the profile. The
program has no `id`: it is called as the file is. What versions do differently is thus seen side by side.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.compare import Difference, differences
from agentcore.kit.families import (
    Family,
    UnknownProfileError,
    family_of,
    framework_of,
    profiles_under,
)
from agentcore.kit.program import BadProgram
from agentcore.messages.brief import brief
from agentcore.oracle.drivers.driver import Answer, Driver


class VectorError(AgentCoreError):
    """A vector file is invalid, or the real package did not answer for it."""


@attrs.frozen(kw_only=True)
class Vector:
    """One version of a file: the claims (C17, X3) and requirements that it shows; `traces` are by run.

    A run is a path of the profile (`stream` of `name-7`), or the profile itself where it has no paths.
    """

    __repr__ = brief

    file: Path
    title: str
    claims: tuple[str, ...]
    program: Mapping[str, Any]
    traces: Mapping[str, Any]
    profile: str
    requirements: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.file.stem

    @property
    def family(self) -> Family:
        """The family whose format the program and the traces have."""
        return family_of(self.profile)

    @property
    def runs(self) -> tuple[str, ...]:
        """Returns the runs that the vector should have traces for."""
        return tuple(profiles_under(self.profile))

    def on(self, run: str) -> dict[str, Any]:
        """The program as it is run."""
        path = {"path": run} if run != self.profile and framework_of(self.profile).has_path else {}
        return {"id": self.name, **path, **self.program}

    def expected(self, run: str) -> dict[str, Any]:
        """Returns the reference's trace of a run, as plain JSON."""
        given = self.family.trace(self.on(run), profiles_under(self.profile)[run])
        found: dict[str, Any] = json.loads(json.dumps(given))
        return found


@attrs.frozen(kw_only=True)
class Recorded:
    """A vector with new traces, and where they are not the old ones."""

    __repr__ = brief

    vector: Vector
    differences: tuple[tuple[str, Difference], ...]


def load(folder: Path, profile: str | None = None) -> Iterator[Vector]:
    """Every vector below a folder, file by file in the order of paths, its versions as they stand there.

    Args:
        folder: Where the files are, in folders of any depth.
        profile: The one version that is asked for; all of them if it is left out.

    Raises:
        VectorError: for a file that is no vector, with its name and what is wrong.
    """
    for file in sorted(folder.rglob("*.json")):
        try:
            for vector in _read(file, json.loads(file.read_text(encoding="utf-8"))):
                if profile in (None, vector.profile):
                    yield vector
        except (ValueError, KeyError, TypeError, AttributeError, BadProgram, UnknownProfileError) as error:
            raise VectorError(f"{file} is no vector: {error}") from error


def _read(file: Path, fields: Mapping[str, Any]) -> Iterator[Vector]:
    for profile, version in fields["versions"].items():
        vector = Vector(
            file=file,
            title=version.get("title", fields["title"]),
            claims=tuple(version["claims"]),
            program=fields["program"],
            traces=version.get("traces", {}),
            profile=profile,
            requirements=tuple(version.get("requirements", ())),
        )
        _check(vector)
        yield vector


def _check(vector: Vector) -> None:
    for run in vector.runs:
        vector.family.require(vector.on(run))
    if unknown := {*vector.traces}.difference(vector.runs):
        raise ValueError(f"of {vector.profile} there are no traces named {', '.join(sorted(unknown))}")


def replay(vector: Vector) -> Iterator[tuple[str, Difference | None]]:
    """For each run with a recorded trace, where the reference differs from it; None where it does not."""
    for run, recorded in vector.traces.items():
        yield run, differences(recorded, vector.expected(run), vector.family.comparison)


def record(vectors: Iterable[Vector], argv: Sequence[str], family: Family) -> Iterator[Recorded]:
    """Each vector of the family with the traces that a driver gives now.

    Raises:
        VectorError: if the driver does not answer.
    """
    with Driver(argv, trace_fields=family.trace_fields) as driver:
        for vector in vectors:
            traces = {run: _answer(driver, vector, run) for run in vector.runs}
            found = tuple(
                (run, difference)
                for run, trace in traces.items()
                if (difference := differences(vector.traces.get(run, {}), trace, family.comparison))
                is not None
            )
            yield Recorded(vector=attrs.evolve(vector, traces=traces), differences=found)


def _answer(driver: Driver, vector: Vector, run: str) -> Any:
    outcome = driver.run(vector.on(run))
    if not isinstance(outcome, Answer):
        raise VectorError(f"{vector.name}, {run}: the driver did not answer: {outcome}")
    return outcome.trace


def write(vector: Vector) -> None:
    """Writes a version into the file of its program, beside the versions that are there.

    Raises:
        VectorError: if the file has another program, which would become this one for its other versions too.
    """
    fields: dict[str, Any] = {"title": vector.title, "program": vector.program, "versions": {}}
    if vector.file.exists():
        there = json.loads(vector.file.read_text(encoding="utf-8"))
        if {*there["versions"]} - {vector.profile}:
            if there["program"] != vector.program:
                raise VectorError(
                    f"{vector.file} has another program; a vector of a new program is a new file"
                )
            fields = {**there, "program": vector.program}
    own_title = {} if vector.title == fields["title"] else {"title": vector.title}
    version = {
        **own_title,
        "claims": vector.claims,
        "requirements": vector.requirements,
        "traces": vector.traces,
    }
    fields["versions"] = {**fields["versions"], vector.profile: version}
    vector.file.write_text(pretty(fields) + "\n", encoding="utf-8")


_WIDTH = 120


def pretty(value: Any, indent: str = "") -> str:
    """JSON in which what fits on a line is on one: traces stay readable in a diff."""
    flat = json.dumps(value)
    if len(indent) + len(flat) <= _WIDTH or not isinstance(value, dict | list | tuple) or not value:
        return flat
    inner = indent + " "
    if isinstance(value, dict):
        lines = [f"{inner}{json.dumps(key)}: {pretty(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return "[\n" + ",\n".join(inner + pretty(item, inner) for item in value) + f"\n{indent}]"
