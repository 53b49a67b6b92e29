from __future__ import annotations

from pathlib import Path

import pytest

from pages import chapter_of, names, page
from spec.requirements import SPEC, rules, statements


@pytest.mark.parametrize("name", names(), ids=str)
def test_a_page_says_what_the_code_says(name: Path) -> None:
    assert (SPEC / name).read_text(encoding="utf-8") == page(name), "run: python tests/pages.py"


def test_each_rule_is_stated_in_one_chapter_and_no_other_name_is() -> None:
    where = chapter_of()
    assert {name: len(where.get(name, ())) for name in rules()} == dict.fromkeys(rules(), 1)
    assert {*where} <= {*statements()}
