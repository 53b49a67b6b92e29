from __future__ import annotations

import pytest

from pages import PAGES, SPEC


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_what_the_code_says(name: str) -> None:
    assert (SPEC / name).read_text(encoding="utf-8") == PAGES[name](), "run: python tests/pages.py"
