"""Vectors: programs with the traces that a real package gave for them, one file each.

A file holds `{title, claims, program, traces}`: the program without `id` and `path`, and a trace for each
path; and `profile`, the version whose traces they are, unless that is the first one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from agentcore.errors import AgentCoreError
from agentcore.oracle.ai_sdk.reference import trace
from agentcore.oracle.compare import Difference, differences
from agentcore.oracle.driver import Answer, Driver
from agentcore.oracle.program import BadProgram, check_program

PATHS = ("stream", "generate")
_FIRST: Final = "ai-sdk-6"


class VectorError(AgentCoreError):
    """A vector file is none, or the real package did not answer for it."""


@attrs.frozen(kw_only=True)
class Vector:
    """One file; `claims` are the measured claims it shows (C17, X3).

    `profile` with a path after it is the profile that gives the traces: `ai-sdk-7`, `ai-sdk-7/stream`.
    """

    file: Path
    title: str
    claims: tuple[str, ...]
    program: Mapping[str, Any]
    traces: Mapping[str, Any]
    profile: str = _FIRST

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.file.stem

    def on(self, path: str) -> dict[str, Any]:
        """The program as it is run on a path."""
        return {"id": self.name, "path": path, **self.program}


@attrs.frozen(kw_only=True)
class Recorded:
    """A vector with new traces, and where they are not the old ones."""

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
            profile=fields.get("profile", _FIRST),
        )
        for path in PATHS:
            check_program(vector.on(path))
    except (ValueError, KeyError, TypeError, BadProgram) as error:
        raise VectorError(f"{file} is no vector: {error}") from error
    return vector


def replay(vector: Vector) -> Iterator[tuple[str, Difference | None]]:
    """For each path with a recorded trace, where the reference differs from it; None where it does not."""
    for path, recorded in vector.traces.items():
        given = trace(vector.on(path), f"{vector.profile}/{path}")
        yield path, differences(recorded, json.loads(json.dumps(given)))


def record(vectors: Iterable[Vector], argv: Sequence[str]) -> Iterator[Recorded]:
    """Each vector with the traces that a driver gives now.

    Raises:
        VectorError: if the driver does not answer.
    """
    with Driver(argv) as driver:
        for vector in vectors:
            traces = {path: _answer(driver, vector, path) for path in PATHS}
            pairs = ((path, differences(vector.traces.get(path, {}), traces[path])) for path in PATHS)
            found = tuple((path, difference) for path, difference in pairs if difference is not None)
            yield Recorded(vector=attrs.evolve(vector, traces=traces), differences=found)


def _answer(driver: Driver, vector: Vector, path: str) -> Any:
    outcome = driver.run(vector.on(path))
    if not isinstance(outcome, Answer):
        raise VectorError(f"{vector.name}, {path}: the driver did not answer: {outcome}")
    return outcome.trace


def write(vector: Vector) -> None:
    """Writes the file of a vector."""
    fields = {
        **({} if vector.profile == _FIRST else {"profile": vector.profile}),
        "title": vector.title,
        "claims": vector.claims,
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
