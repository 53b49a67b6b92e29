"""Each case shows a fault and what is right instead, and each report is told once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from spec.cases import KINDS, LIFETIMES, LINK, Case, cases, elsewhere, index, reports

CASES: Final = [*cases()]
CITED: Final = [*(case.cited for case in CASES), *elsewhere()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_case_has_a_live_outcome_and_another_that_is_right(case: Case) -> None:
    assert case.live is not None
    assert case.right is not None
    assert case.live.value != case.right.value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_a_case_says_how_long_the_edit_is_to_last(case: Case) -> None:
    assert case.lifetime in LIFETIMES


@pytest.mark.parametrize("cited", CITED, ids=lambda cited: reports(cited)[0])
def test_a_report_is_cited_by_repository_and_number(cited: str) -> None:
    names = [link[1] for link in LINK.finditer(cited)]
    assert LINK.sub("", cited).replace(", ", "") == ""
    repository = ""
    for name, report in zip(names, reports(cited), strict=True):
        assert name in {report, f"#{report.partition('#')[2]}" if report.startswith(f"{repository}#") else ""}
        repository = report.partition("#")[0]


def test_no_report_is_told_twice() -> None:
    told = Counter(report for cited in CITED for report in reports(cited))
    assert [report for report, times in told.items() if times > 1] == []


def test_there_are_cases_of_every_kind() -> None:
    assert {case.kind for case in CASES} == {*KINDS}


def test_the_index_counts_cases_and_reports() -> None:
    counts = [int(number) for number in re.findall(r"^\| .+ \| (\d+) \|$", index(), flags=re.MULTILINE)]
    *shown, total = counts
    assert sum(shown) == total == len(CITED)
    assert sum(shown[:-1]) == len(CASES)


# ---------------------------------------------------------------- what is no case

_HEAD: Final = (
    "# Page\n\n## A title\n\n*Report:* [a/b#1](https://github.com/a/b/issues/1). *Should last:* for good.\n"
)
_PROGRAM: Final = '**Example** (`x`): y\n\n```json program\n{"messages": [], "script": []}\n```\n'


def of(folder: Path, text: str) -> Case:
    (folder / "page.md").write_text(text, encoding="utf-8")
    (case,) = cases(folder)
    return case


def test_a_case_is_read_from_its_page(tmp_path: Path) -> None:
    live = '```json trace ai-sdk-6/stream ai-sdk-6/generate\n{"caller": 1, "error": 2}\n```\n'
    refused = '```json trace immutable\n{"error": 3}\n```\n'
    right = '**Example**: z\n\n```python\nprint("right: 4")\n```\n\n```text\nright: 4\nright: 5\n```\n'
    case = of(tmp_path, f"{_HEAD}\nText.\n\n{_PROGRAM}\n{live}\n{refused}\n{right}")
    assert (case.title, case.reports, case.lifetime) == ("A title", ("a/b#1",), "for good")
    assert (case.kind, case.profiles) == ("ai-sdk", ("ai-sdk-6/stream", "ai-sdk-6/generate"))
    assert case.live is not None
    assert (case.live.path, case.live.value) == ("caller", 1)
    assert case.right is not None
    assert (case.right.path, case.right.value) == ("", "4")


def test_what_is_right_at_the_place_of_the_fault_comes_before_all_else(tmp_path: Path) -> None:
    live = '```json trace ai-sdk-6/stream\n{"caller": 1}\n```\n'
    right = '```json trace immutable\n{"error": 3, "caller": 2, "final": 4}\n```\n'
    case = of(tmp_path, f"{_HEAD}\nText.\n\n{_PROGRAM}\n{live}\n{right}")
    assert case.right is not None
    assert (case.right.path, case.right.value) == ("caller", 2)


def test_an_outcome_that_is_missing_is_none(tmp_path: Path) -> None:
    python = "**Example**: y\n\n```python\nprint(1)\n```\n\n```text\n1\n```\n"
    case = of(tmp_path, f"{_HEAD}\nText.\n\n{python}")
    assert (case.kind, case.live, case.right) == ("profile", None, None)


def test_a_case_without_a_report_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"page.md: A title: 'Text.' cites no report"):
        of(tmp_path, "# Page\n\n## A title\n\nText.\n")
