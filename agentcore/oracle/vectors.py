"""Vectors: programs with the traces that a real package gave for them, one file each.

A file holds `{profile, title, claims, requirements, program, traces}`. `profile` is whose traces they are,
`ai-sdk-6` if it is left out. Where that has paths, there is a trace for each, and the program stands without
`path`; else there is one trace, under the name of the profile. The program has no `id`: it is called as the
file is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from agentcore.brief import brief
from agentcore.errors import AgentCoreError
from agentcore.oracle.compare import Difference, differences
from agentcore.oracle.driver import Answer, Driver
from agentcore.oracle.families import (
    DEFAULT_PROFILE,
    Family,
    UnknownProfileError,
    family_of,
    profiles_under,
)
from agentcore.oracle.program import BadProgram


class VectorError(AgentCoreError):
    """A vector file is none, or the real package did not answer for it."""


@attrs.frozen(kw_only=True)
class Vector:
    """One file: the measured claims (C17, X3) and the requirements that it shows; `traces` are by run.

    A run is a path of the profile (`stream` of `ai-sdk-7`), or the profile itself where it has no paths.
    """

    __repr__ = brief

    file: Path
    title: str
    claims: tuple[str, ...]
    program: Mapping[str, Any]
    traces: Mapping[str, Any]
    profile: str = DEFAULT_PROFILE
    requirements: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.file.stem

    @property
    def family(self) -> Family:
        """Whose format the program and the traces have."""
        return family_of(self.profile)

    @property
    def runs(self) -> tuple[str, ...]:
        """What there is to be a trace of."""
        return tuple(profiles_under(self.profile))

    def on(self, run: str) -> dict[str, Any]:
        """The program as it is run."""
        path = {} if run == self.profile else {"path": run}
        return {"id": self.name, **path, **self.program}

    def expected(self, run: str) -> dict[str, Any]:
        """What the reference gives for a run, as plain JSON."""
        given = self.family.trace(self.on(run), profiles_under(self.profile)[run])
        found: dict[str, Any] = json.loads(json.dumps(given))
        return found


@attrs.frozen(kw_only=True)
class Recorded:
    """A vector with new traces, and where they are not the old ones."""

    __repr__ = brief

    vector: Vector
    differences: tuple[tuple[str, Difference], ...]


def load(folder: Path) -> Iterator[Vector]:
    """Every vector below a folder, in the order of their file names.

    Raises:
        VectorError: for a file that is no vector, with its name and what is wrong.
    """
    for file in sorted(folder.rglob("*.json")):
        yield _read(file)


def _read(file: Path) -> Vector:
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
        vector = Vector(
            file=file,
            title=fields["title"],
            claims=tuple(fields["claims"]),
            program=fields["program"],
            traces=fields.get("traces", {}),
            profile=fields.get("profile", DEFAULT_PROFILE),
            requirements=tuple(fields.get("requirements", ())),
        )
        _check(vector)
    except (ValueError, KeyError, TypeError, BadProgram, UnknownProfileError) as error:
        raise VectorError(f"{file} is no vector: {error}") from error
    return vector


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
    """Writes the file of a vector."""
    fields = {
        **({} if vector.profile == DEFAULT_PROFILE else {"profile": vector.profile}),
        "title": vector.title,
        "claims": vector.claims,
        "requirements": vector.requirements,
        "program": vector.program,
        "traces": vector.traces,
    }
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
