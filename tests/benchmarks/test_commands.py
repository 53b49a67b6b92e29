from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyperf
import pytest
from click.testing import CliRunner

from benchmarks.__main__ import main
from benchmarks.goals import step
from benchmarks.install import ROOT
from benchmarks.results import Results

pytestmark = pytest.mark.slow


def results(folder: Path, seconds: dict[int, float]) -> Path:
    """Results of steps after histories of these lengths."""
    made = Results(folder)
    for history, value in seconds.items():
        cell = step("agentcore", history, 100)
        for number, noise in enumerate((0.99, 1.0, 1.01, 1.0, 0.995), 1):
            metadata = {"name": cell.name, **cell.metadata}
            one = pyperf.Run([value * noise], metadata=metadata, collect_metadata=False)
            made.add(cell, number, pyperf.Benchmark([one]))
    made.finish()
    return folder


def test_compare_says_what_got_slower_and_what_faster(tmp_path: Path) -> None:
    before = results(tmp_path / "before", {0: 1e-4, 100: 1e-4, 1_000: 1e-4})
    after = results(tmp_path / "after", {0: 2e-4, 100: 1.01e-4, 1_000: 5e-5})
    said = subprocess.run(
        (sys.executable, "-m", "benchmarks", "compare", str(before), str(after)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    slower, faster = said.index("Slower (1)"), said.index("Faster (1)")
    assert slower < said.index("step: agentcore, H=0, S=100") < faster
    assert faster < said.index("step: agentcore, H=1000, S=100")
    assert "H=100, S=100: " not in said


def test_report_writes_the_table_and_the_pictures(tmp_path: Path) -> None:
    folder = results(tmp_path, {0: 1e-4, 100: 1e-4})
    done = CliRunner().invoke(main, ["report", str(folder)])
    assert done.exit_code == 0
    written = [Path(line).name for line in done.output.split()]
    assert written == ["table.md", "step-by-history.svg", "step-by-steps.svg"]
    assert "| agentcore | 100 us (0%) | 100 us (0%) |" in (folder / "table.md").read_text()
