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
_REASONS: Final = "without.json"


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
    """A folder of results, while they are made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts = folder / "cells"
        self._parts.mkdir(parents=True, exist_ok=True)
        self._without: dict[str, tuple[Cell, str]] = {}

    def file_of(self, cell: Cell) -> Path:
        """The file that pyperf appends the cell's values to."""
        return self._parts / f"{''.join(c if c.isalnum() else '-' for c in cell.name)}.json"

    def without(self, cell: Cell, reason: str) -> None:
        """Note why a cell has no value, or fewer than the others."""
        self._without.setdefault(cell.name, (cell, reason))

    def finish(self) -> None:
        """Put it all into two files.

        Raises ValueError if no cell has a value.
        """
        benchmarks = [
            benchmark
            for path in sorted(self._parts.glob("*.json"))
            for benchmark in pyperf.BenchmarkSuite.load(str(path))
        ]
        if not benchmarks:
            raise ValueError("no cell has a value")
        pyperf.BenchmarkSuite(benchmarks).dump(str(self.folder / SUITE), replace=True)
        reasons = [{"cell": attrs.asdict(cell), "reason": reason} for cell, reason in self._without.values()]
        (self.folder / _REASONS).write_text(json.dumps(reasons, indent=1))


@attrs.frozen
class Found:
    """Results that are there: values by their cells, and reasons for there being none."""

    values: Mapping[Cell, Value]
    without: Mapping[Cell, str]
    machine: str

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
    reasons = json.loads((folder / _REASONS).read_text())
    return Found(
        {value.cell: value for value in values},
        {Cell(**each["cell"]): each["reason"] for each in reasons},
        _machine(suite.get_metadata()),
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
