"""What a command found: a folder with pyperf's file of all values, and why some cells have none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs
import pyperf

from benchmarks.cells import Cell

SUITE: Final = "result.json"
PARTS: Final = "cells"
_REASONS: Final = "without.json"
# What pyperf notes that is nobody's business: whose machine it was, and its paths.
_PRIVATE: Final = frozenset({"hostname", "python_executable", "python_config_args", "boot_time"})


@attrs.frozen(kw_only=True)
class Value:
    """The values of a cell: their median and how far they lie apart, in seconds or bytes."""

    cell: Cell
    median: float
    low: float
    high: float
    count: int
    deviation: float

    @property
    def spread(self) -> float:
        """The median of the distances from the median, as a part of it."""
        return self.deviation / self.median


class Results:
    """A folder of results while they are made: each value is in a file as soon as it is taken.

    A folder that is there already is gone on with.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = folder / PARTS
        self._parts.mkdir(parents=True, exist_ok=True)
        self._without = _read_reasons(folder)

    def file_of(self, cell: Cell, number: int = 1) -> Path:
        """The file of the cell's value in that round."""
        name = "".join(c if c.isalnum() else "-" for c in cell.name)
        return self._parts / f"{name}.{number}.json"

    def add(self, cell: Cell, number: int, benchmark: pyperf.Benchmark) -> None:
        """Store the value: whole, or not at all."""
        path = self.file_of(cell, number)
        unfinished = path.with_suffix(".part")
        benchmark.dump(str(unfinished), replace=True)
        unfinished.replace(path)

    def without(self, cell: Cell, reason: str) -> None:
        """Note why a cell has no value, or fewer than the others; the first reason stays."""
        self._without.setdefault(cell, reason)
        reasons = [{"cell": attrs.asdict(cell), "reason": reason} for cell, reason in self._without.items()]
        (self.folder / _REASONS).write_text(json.dumps(reasons, indent=1))

    def reason(self, cell: Cell) -> str | None:
        """What was noted of the cell."""
        return self._without.get(cell)

    def finish(self) -> None:
        """Put all values there are into one file.

        Raises ValueError if no cell has a value.
        """
        benchmarks: dict[str, pyperf.Benchmark] = {}
        for path in sorted(self._parts.glob("*.json")):
            benchmark = pyperf.Benchmark.load(str(path))
            name = benchmark.get_name()
            if name in benchmarks:
                benchmarks[name].add_runs(benchmark)
            else:
                benchmarks[name] = benchmark
        if not benchmarks:
            raise ValueError("no cell has a value")
        path = self.folder / SUITE
        pyperf.BenchmarkSuite(list(benchmarks.values())).dump(str(path), replace=True)
        path.write_text(json.dumps(json.loads(path.read_text(), object_hook=_shared)))


def _shared(noted: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in noted.items() if name not in _PRIVATE}


def _read_reasons(folder: Path) -> dict[Cell, str]:
    path = folder / _REASONS
    noted = json.loads(path.read_text()) if path.exists() else []
    return {Cell(**each["cell"]): each["reason"] for each in noted}


@attrs.frozen
class Found:
    """Results that are there: values by their cells, and reasons for there being none."""

    values: Mapping[Cell, Value]
    without: Mapping[Cell, str]
    machine: str
    versions: Mapping[str, str] = attrs.field(factory=dict)

    def median(self, cell: Cell) -> float | None:
        """The median of the cell's values, if there are any."""
        value = self.values.get(cell)
        return None if value is None else value.median

    def of(self, case: str) -> Iterator[Value]:
        """The values of a case."""
        return (value for cell, value in self.values.items() if cell.case == case)


def load(folder: Path) -> Found:
    """The results in the folder."""
    suite = pyperf.BenchmarkSuite.load(str(folder / SUITE))
    values = [_value(benchmark) for benchmark in suite]
    return Found(
        {value.cell: value for value in values},
        _read_reasons(folder),
        _machine(suite.get_metadata()),
        {each.get_metadata()["loop"]: each.get_metadata()["version"] for each in suite},
    )


def _value(benchmark: pyperf.Benchmark) -> Value:
    values = benchmark.get_values()
    return Value(
        cell=Cell.of(benchmark.get_metadata()),
        median=benchmark.median(),
        low=min(values),
        high=max(values),
        count=len(values),
        deviation=benchmark.median_abs_dev() if len(values) > 1 else 0.0,
    )


def _machine(metadata: Mapping[str, object]) -> str:
    cpu = f"{metadata.get('cpu_count', '?')} CPUs ({metadata.get('cpu_model_name', 'model unknown')})"
    return f"Python {metadata.get('python_version', '?')}, {cpu}"
