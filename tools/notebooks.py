"""Executes the notebooks of the package and stores their outputs: `python tools/notebooks.py [--check]`.

An output is stored only if it says something new: what differs from run to run, or from one version of
matplotlib to the next, is left as it is.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

FOLDER: Final = Path(__file__).parent.parent / "agentcore" / "notebooks"
NOTEBOOKS: Final = tuple(sorted(FOLDER.glob("*.ipynb")))
MEASURED: Final = "measured"
"""The tag of a cell whose numbers are times: they are another machine's, and not compared."""

_SECONDS: Final = 120
_SVG: Final = "image/svg+xml"
_SVG_TEXT: Final = re.compile(r"<text\b[^>]*>(.*?)</text>", re.DOTALL)
_TAG: Final = re.compile(r"<[^>]*>")
_NUMBER: Final = re.compile(r"\d[\d.,]*")
_STRICT: Final = "import warnings; warnings.simplefilter('error')"


def read(file: Path) -> Any:
    """Returns the notebook as it is stored."""
    return nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]


def executed(file: Path) -> Any:
    """Returns the notebook with the outputs of running it from top to bottom, warnings being errors.

    Raises:
        CellExecutionError: if a cell fails.
    """
    with warnings.catch_warnings():
        # Those of the notebook tools are not ours.
        warnings.simplefilter("ignore")
        notebook = read(file)
        strict = nbformat.v4.new_code_cell(_STRICT)  # type: ignore[no-untyped-call]
        run = nbformat.from_dict({**notebook, "cells": [strict, *notebook.cells]})  # type: ignore[no-untyped-call]
        # What a cell prints comes in pieces if the machine is busy.
        client = NotebookClient(
            run, timeout=_SECONDS, kernel_name="python3", record_timing=False, coalesce_streams=True
        )
        client.execute()
    for cell, fresh in zip(_code(notebook), _code(run)[1:], strict=True):
        cell.outputs = fresh.outputs
        # The strict cell is not there.
        cell.execution_count = fresh.execution_count - 1
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = cell.execution_count
    return notebook


def differences(stored: Any, fresh: Any) -> Iterator[str]:
    """Says which cells of a notebook have another output than is stored."""
    for number, (old, new) in enumerate(zip(_code(stored), _code(fresh), strict=True), 1):
        if shown(old) != shown(new) or old.execution_count != new.execution_count:
            yield f"cell [{number}]: stored {shown(old)!r}, fresh {shown(new)!r}"


def shown(cell: Any) -> list[str]:
    """Returns what a cell's outputs say: texts, and of pictures the texts in them.

    Coordinates depend on the version of matplotlib, and the numbers of a measured cell on the machine.
    """
    says = [text for output in cell.outputs for text in _texts(output)]
    if MEASURED not in cell.metadata.get("tags", ()):
        return says
    # How many ticks an axis has depends on the times, too.
    says = [" ".join(_NUMBER.sub("#", text).split()) for text in says]
    return sorted({*says} - {"picture: #"})


def _texts(output: Any) -> Iterator[str]:
    if output.output_type == "stream":
        yield f"{output.name}: {output.text}"
        return
    data = output.get("data", {})
    yield from (f"{kind}: {text}" for kind, text in sorted(data.items()) if kind != _SVG)
    yield from (f"picture: {_TAG.sub('', text)}" for text in _SVG_TEXT.findall(data.get(_SVG, "")))


def _code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def main(arguments: list[str] | None = None) -> int:
    """Stores the outputs; with `--check` stores nothing, and returns 1 if one is not what is stored."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if an output is new")
    check = parser.parse_args(arguments).check
    changed = 0
    for file in NOTEBOOKS:
        fresh = executed(file)
        found = [*differences(read(file), fresh)]
        changed += bool(found)
        print(f"{file.name}: {len(found)} cells with new outputs")
        if found and not check:
            nbformat.write(fresh, file)  # type: ignore[no-untyped-call]
    return int(check and changed > 0)


if __name__ == "__main__":
    sys.exit(main())
