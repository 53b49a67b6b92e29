"""The lessons run from top to bottom, are stored with what they print, and each ends with an exercise."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import nbformat
import pytest

import agentcore
from tools import notebooks

pytestmark = pytest.mark.slow

FOLDER: Final = Path(agentcore.__file__).parent / "notebooks"
NOTEBOOKS: Final = notebooks.NOTEBOOKS
# What is another at each run, or tells of the machine.
OF_A_RUN: Final = re.compile(r"\bat 0x[0-9a-f]{6,}|/(home|root|tmp|usr|work)/|site-packages|\bid-[0-9a-f]{8}")
LARGEST: Final = 1_000_000
"""Bytes of a lesson with its players, so that it opens at once."""
PLAYER: Final = '<iframe title="Player: '
ANSWER: Final = re.compile(r"<details>\n<summary>Answer</summary>\n(.*)\n</details>$", re.DOTALL)
BLOCK: Final = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK: Final = re.compile(r"\]\(([^)#:\s]+)[^):\s]*\)")


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_gives_the_outputs_that_are_stored_with_it(file: Path) -> None:
    fresh = notebooks.executed(file)
    stored = notebooks.read(file)
    assert [*notebooks.differences(stored, fresh)] == [], "run: python tools/notebooks.py"


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_stored_with_outputs_and_asserts_what_it_says(file: Path) -> None:
    text = file.read_text("utf-8")
    cells = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == [*range(1, len(code) + 1)]
    assert sum(bool(cell["outputs"]) for cell in code) >= len(code) / 3
    assert not any(output["output_type"] == "error" for cell in code for output in cell["outputs"])
    assert not OF_A_RUN.search(text)
    assert sum("assert " in source(cell) for cell in code) >= len(code) / 3
    assert source(cells[0]).startswith(f"# {file.stem.split('-')[0]}. ")


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_lesson_has_a_player_and_opens_at_once(file: Path) -> None:
    players = file.read_text("utf-8").count(json.dumps(PLAYER)[1:-1])
    assert 1 <= players <= 3
    assert file.stat().st_size < LARGEST


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_lesson_ends_with_an_exercise_whose_folded_answer_is_run(file: Path) -> None:
    *_, task, answer = json.loads(file.read_text("utf-8"))["cells"]
    assert source(task).startswith("## Exercise\n")
    folded = ANSWER.search(source(task))
    assert folded is not None
    assert answer["cell_type"] == "code"
    assert {"answer", "hide-cell"} <= {*answer["metadata"]["tags"]}
    assert "assert " in source(answer)
    blocks = BLOCK.findall(folded[1])
    assert blocks
    assert [block for block in blocks if block not in source(answer)] == []


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_links_of_a_lesson_lead_to_lessons(file: Path) -> None:
    cells = json.loads(file.read_text("utf-8"))["cells"]
    prose = "\n".join(source(cell) for cell in cells if cell["cell_type"] == "markdown")
    assert [link for link in LINK.findall(prose) if not (FOLDER / link).is_file()] == []


def test_the_specification_has_the_notebooks_that_the_package_has() -> None:
    spec = Path(agentcore.__file__).parent.parent / "spec" / "notebooks"
    assert sorted(file.name for file in spec.glob("*.ipynb")) == [file.name for file in NOTEBOOKS]
    assert {file.parent for file in NOTEBOOKS} == {FOLDER}


# ---------------------------------------------------------------- the tool


def notebook(*cells: tuple[str, list[Any]], tags: tuple[str, ...] = ()) -> Any:
    made = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    for number, (code, outputs) in enumerate(cells, 1):
        cell = nbformat.v4.new_code_cell(code, outputs=outputs, execution_count=number)  # type: ignore[no-untyped-call]
        cell.metadata["tags"] = [*tags]
        made.cells.append(cell)
    return made


def printed(text: str) -> Any:
    return nbformat.v4.new_output("stream", name="stdout", text=text)  # type: ignore[no-untyped-call]


def picture(*texts: str, at: int = 0) -> Any:
    svg = "".join(f'<text x="{at}"><tspan>{text}</tspan></text>' for text in texts)
    return nbformat.v4.new_output("display_data", {"image/svg+xml": f"<svg>{svg}</svg>"})  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("stored", "fresh"),
    [
        ([printed("1\n")], [printed("2\n")]),
        ([printed("1\n")], []),
        ([picture("a", "b")], [picture("a", "c")]),
        ([picture("a")], [picture("a", "a")]),
    ],
)
def test_another_output_is_found_with_its_cell(stored: list[Any], fresh: list[Any]) -> None:
    same: tuple[str, list[Any]] = ("x = 1", [])
    found = [*notebooks.differences(notebook(same, ("", stored)), notebook(same, ("", fresh)))]
    assert [text.partition(":")[0] for text in found] == ["cell [2]"]


def test_coordinates_of_pictures_are_not_compared() -> None:
    stored, fresh = notebook(("", [picture("a", at=1)])), notebook(("", [picture("a", at=2)]))
    assert [*notebooks.differences(stored, fresh)] == []


def test_of_a_measured_cell_numbers_are_not_compared_and_words_are() -> None:
    def measured(text: str, *ticks: str) -> Any:
        return notebook(("", [printed(text), picture("us", *ticks)]), tags=(notebooks.MEASURED,))

    stored = measured("copy    1.5 us\n", "0.1", "1")
    assert [*notebooks.differences(stored, measured("copy  10.25 us\n", "1", "10", "100"))] == []
    assert [*notebooks.differences(stored, measured("copy  10.25 ms\n", "1"))] != []


def test_the_tool_stores_what_is_new_and_leaves_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "1-a.ipynb"
    nbformat.write(notebook(("print(1)", []), ("2 + 2", [])), file)  # type: ignore[no-untyped-call]
    monkeypatch.setattr(notebooks, "NOTEBOOKS", (file,))
    assert notebooks.main(["--check"]) == 1
    assert [cell.outputs for cell in notebooks.read(file).cells] == [[], []]
    assert notebooks.main([]) == 0
    assert [notebooks.shown(cell) for cell in notebooks.read(file).cells] == [
        ["stdout: 1\n"],
        ["text/plain: 4"],
    ]
    assert notebooks.main(["--check"]) == 0
    assert capsys.readouterr().out.count("2 cells with new outputs") == 2
