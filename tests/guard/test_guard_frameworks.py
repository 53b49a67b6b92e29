"""The guard in real frameworks: the chapter's programs print what stands below them."""

from __future__ import annotations

import os
import re
from typing import Final

import pytest

from guard.frameworks import EXAMPLES, ROOT, NoFrameworksError, output, python

pytestmark = pytest.mark.live

CHAPTER: Final = (ROOT / "spec" / "guard-frameworks.md").read_text("utf-8")
SECTIONS: Final = {
    match[1]: match[2]
    for match in re.finditer(r"\(examples/guard/(\w+)\.py\)(.*?)(?=\n## |\Z)", CHAPTER, flags=re.DOTALL)
}


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", section, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module", autouse=True)
def _frameworks() -> None:
    try:
        python()
    except NoFrameworksError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"the frameworks could not be installed: {error}")


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", SECTIONS)
def test_the_program_of_a_section_prints_what_stands_below_it(name: str) -> None:
    (printed,) = blocks(SECTIONS[name], "text")
    assert output(EXAMPLES / f"{name}.py") == printed


def test_every_program_has_a_section_whose_code_is_its_own() -> None:
    assert {*SECTIONS} == {path.stem for path in EXAMPLES.glob("*.py")}
    for name, section in SECTIONS.items():
        source = (EXAMPLES / f"{name}.py").read_text("utf-8")
        assert all(block in source for block in blocks(section, "py")), name
        assert blocks(section, "py"), name
