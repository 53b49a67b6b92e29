"""The notebooks run from top to bottom; their own asserts are what they show."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, Final

import nbformat
import pytest
from nbclient import NotebookClient

import agentcore

FOLDER: Final = Path(agentcore.__file__).parent / "notebooks"
NOTEBOOKS: Final = sorted(FOLDER.glob("*.ipynb"))


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs_from_top_to_bottom(file: Path) -> None:
    with warnings.catch_warnings():
        # Those of the notebook tools are not ours; in the kernel every warning is an error.
        warnings.simplefilter("ignore")
        notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
        strict = nbformat.v4.new_code_cell("import warnings; warnings.simplefilter('error')")  # type: ignore[no-untyped-call]
        notebook.cells.insert(0, strict)
        NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    pictures = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/svg+xml" in output.get("data", {})
    ]
    assert pictures


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_kept_without_outputs_and_asserts_what_it_says(file: Path) -> None:
    cells = json.loads(file.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert sum("assert " in source(cell) for cell in code) >= len(code) / 3
    assert source(cells[0]).startswith(f"# {file.stem.split('-')[0]}. ")


def test_the_specification_has_the_notebooks_that_the_package_has() -> None:
    spec = Path(agentcore.__file__).parent.parent / "spec" / "notebooks"
    assert sorted(file.name for file in spec.glob("*.ipynb")) == [file.name for file in NOTEBOOKS]
    assert NOTEBOOKS
