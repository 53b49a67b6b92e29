"""Each chapter says why it matters, states a rule, has an example, and ends with what goes wrong without."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from spec.requirements import SPEC

# The index, the formats that schemas define, and the chapter that is made with the pages of the contracts.
_NO_CHAPTERS: Final = re.compile(r"README|contracts|program-format.*")
CHAPTERS: Final = [file for file in sorted(SPEC.glob("*.md")) if not _NO_CHAPTERS.fullmatch(file.stem)]


def missing(text: str) -> list[str]:
    """The parts that a chapter lacks."""
    opening = re.split(r"^## (?!What goes wrong)", text, maxsplit=1, flags=re.MULTILINE)[0]
    last = re.split(r"^## ", text, flags=re.MULTILINE)[-1]
    parts = {
        "why it matters, before the first heading": "**Why it matters.**" in opening,
        "a rule": re.search(r"^- \*\*`[\w.-]+`\*\*|\*\*The rule[.:]\*\*", text, re.MULTILINE) is not None,
        "an example": re.search(r"^\*\*Example\*\*|^```", text, re.MULTILINE) is not None,
        "what goes wrong without it, at the end": last.startswith("What goes wrong without it\n"),
    }
    return [part for part, present in parts.items() if not present]


@pytest.mark.parametrize("file", CHAPTERS, ids=lambda file: file.stem)
def test_a_chapter_has_its_four_parts(file: Path) -> None:
    assert missing(file.read_text("utf-8")) == []


def test_a_part_that_a_chapter_lacks_is_named() -> None:
    whole = (
        "# A chapter\n\n**Why it matters.** So.\n\n## Rules\n\n- **`a.rule`** It holds.\n\n"
        "**Example** (`a.rule`): one.\n\n## What goes wrong without it\n\nThis.\n"
    )
    assert missing(whole) == []
    assert missing(whole.replace("a.rule", "")) == ["a rule"]
    assert missing(whole.replace("**Example**", "Example")) == ["an example"]
    assert missing(whole + "\n## More\n") == ["what goes wrong without it, at the end"]
    late = whole.replace("**Why it matters.** So.\n\n", "").replace("It holds.", "**Why it matters.** So.")
    assert missing(late) == ["why it matters, before the first heading"]


def test_the_example_of_adapters_stands_in_the_skeleton() -> None:
    chapter = (SPEC / "live-adapters.md").read_text("utf-8")
    skeleton = (SPEC.parent / "agentcore/live/js/adapters/skeleton.js").read_text("utf-8")
    shown = re.findall(r"^```js\n(.*?)^```$", chapter, flags=re.DOTALL | re.MULTILINE)
    assert shown
    assert [block for block in shown if block not in skeleton] == []
