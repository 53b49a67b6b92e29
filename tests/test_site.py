"""The site is built of the repository's pages without a warning, is whole, and lies anywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import agentcore
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.frameworks.store_boundary.profiles import StoreProfile
from agentcore.frameworks.strands.profiles import StrandsProfile
from agentcore.kit.framework import fields_of
from tools.site import PAGES, ROOT, build, stage

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(folder, strict=True)
    # Links to pages and headings that there are not are warnings, and so is a page that is in no list.
    assert (built.returncode, built.stderr) == (0, "")
    return folder


def test_every_page_of_the_specification_is_in_it(site: Path) -> None:
    written = {file.relative_to(ROOT) for file in (ROOT / "spec").rglob("*.md")}
    assert written <= {*PAGES}
    assert all((site / page.with_suffix(".html")).exists() for page in PAGES if page.name != "README.md")


def test_the_reference_has_every_name_that_the_package_gives(site: Path) -> None:
    pages = "".join(page.read_text("utf-8") for page in (site / "spec/reference").glob("*.html"))
    described = {*re.findall(r'id="agentcore\.[\w.]*?(\w+)"', pages)}
    assert {*dir(agentcore)} - described == set()
    # The fields of profiles have their sentences from conf.py.
    decided = [
        each
        for kind in (AiSdkProfile, MastraProfile, StoreProfile, StrandsProfile)
        for each in fields_of(kind)
    ]
    assert {each.name for each in decided if each.statement} - described == set()


def test_it_lies_in_any_folder_and_below_any_path(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        linked = re.findall(r'(?:href|src)="(?!https?:|mailto:|data:|#)([^"]*)"', text)
        assert not [link for link in linked if link.startswith("/")], page
        # Nothing is fetched from elsewhere: what a page needs lies beside it.
        assert not re.findall(r'<(?:script|img|iframe)[^>]*src="https?:', text), page
        assert not re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="https?:', text), page


def test_what_is_linked_and_is_no_page_lies_beside_the_pages(tmp_path: Path) -> None:
    stage(tmp_path)
    assert (tmp_path / "spec/contracts/contracts.json").exists()
    assert "](agentcore/live/js)" not in (tmp_path / "index.md").read_text("utf-8")
