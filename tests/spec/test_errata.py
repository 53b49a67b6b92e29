"""The tables of the errata: every statement is in one, and says what its examples and measurements say."""

from __future__ import annotations

import re
import shutil
from typing import Final

import pytest

from spec import errata
from tools import errata_releases

TEXT: Final = errata.PAGE.read_text("utf-8")
TABLES: Final = errata.tables()
ROWS: Final = dict(re.findall(r"^\| \[(.+?)\]\(errata/[^)]*\) \| (.+) \|$", TABLES, flags=re.MULTILINE))
STATEMENTS: Final = [each for own in errata.statements().values() for each in own]


def test_the_file_of_documents_and_the_page_name_the_same() -> None:
    assert [*errata.faults()] == []
    pages = {errata.page_of(title) for title in errata.documents()}
    assert pages == {*(errata.PAGE.parent / "errata").glob("*.md")}


def test_the_page_begins_with_the_tables() -> None:
    headings = ["At a glance", "How to read and run them", "What goes wrong without it"]
    assert re.findall(r"^## (.+)$", TEXT, flags=re.MULTILINE) == headings


def test_every_document_is_named_by_title_and_version_before_its_table() -> None:
    for document in errata.documents().values():
        assert f"**[{document['title']}](errata/{document['page']})** ({document['version']})" in TABLES


def test_every_statement_is_in_a_table() -> None:
    beside = {
        "What cannot be checked",
        "What the tests show, and what cannot be checked",
        "What no program shows",
    }
    assert {*ROWS} | beside == {each.title for each in STATEMENTS}


@pytest.mark.parametrize(
    ("title", "row"),
    [
        ("The list is rebuilt from both chains at each step", "yes | no | no since 7.0.0"),
        ("toolChoice required forces a call", "no | yes | yes since 7.0.0"),
        ("`model` is for this step only", "no, on streamText | yes | yes between 6.0.260 and 6.0.290"),
        ("The response chain begins empty", "no | no | -"),
        ("The input of a tool is protected", "- | no | no | 1.6.0"),
        ("Nobody but tools and hooks writes to the invocation state", "- | - | no | -"),
        ("A tool that is filtered out is not available", "no | yes | after 1.0.4, by 1.71.0"),
    ],
)
def test_a_row_says_what_is_true_and_since_when(title: str, row: str) -> None:
    assert ROWS[title] == row


def test_a_page_gets_its_tables_and_keeps_the_rest() -> None:
    made = errata.with_tables("# Errata\n\n## At a glance\nold\n\n## Message Reference Model\nrest\n")
    assert made.startswith('# Errata\n\n## At a glance\n\n"No": ')
    assert "old" not in made
    assert made.endswith("\n\n## Message Reference Model\nrest\n")


def test_the_measured_releases_begin_with_the_pinned_one_and_end_with_it() -> None:
    assert errata_releases.RELEASES[0] == "6.0.134"
    assert errata_releases.RELEASES[-1] == "7.0.173"


@pytest.mark.live
@pytest.mark.slow
def test_the_pinned_release_gives_what_was_measured() -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm installs the package, and there is none on the PATH")
    found = errata_releases.found_on("6.0.134")
    assert found == errata_releases.measured()["6.0.134"]
