"""No page of the specification is longer than a reader takes in: 600 lines, without what is folded away."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from spec.requirements import SPEC

MOST: Final = 600
_FOLDED: Final = re.compile(r"^<details>$.*?^</details>$", flags=re.MULTILINE | re.DOTALL)


def length(text: str) -> int:
    """The lines of a page; a folded part is one."""
    return _FOLDED.sub("folded", text).count("\n")


@pytest.mark.parametrize(
    "file", sorted(SPEC.rglob("*.md")), ids=lambda file: file.relative_to(SPEC).as_posix()
)
def test_no_page_is_longer_than_600_lines(file: Path) -> None:
    assert length(file.read_text("utf-8")) <= MOST


def test_folded_parts_count_as_one_line() -> None:
    folded = "<details>\n<summary>Program</summary>\n\n```json\n1\n```\n\n</details>\n"
    assert length(f"# A page\n\n{folded}\n{folded}end\n") == 2 + 1 + 1 + 1 + 1
    assert length("1\n" * 601) == 601
