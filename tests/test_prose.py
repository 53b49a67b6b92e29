"""Pages, docstrings, comments and texts have no word that tools/data/prose/words.json forbids."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from tools import prose

pytestmark = pytest.mark.live

PATTERNS: Final[list[dict[str, Any]]] = json.loads((prose.DATA / "words.json").read_text("utf-8"))["rules"][
    "@textlint-rule/pattern"
]["patterns"]

# A sentence for each entry of the list, in its order, and one with the same word that is right.
SENTENCES: Final = (
    ("The model is told why.", "Types are told apart, and nobody can tell which."),
    ("What is said holds.", "What the user said is kept, though little was said."),
    ("A hook is shown the messages.", "The messages are shown in the table."),
    ("Each is handed a list.", "A list that is handed out, in many hands."),
    ("A text is none.", "There is none, and it is none of these."),
    ("It reports what was done.", "The work was done."),
    ("Nothing came of it.", "It came from a hook."),
    ("A value, be it valid or not.", "It may be valid or not."),
)


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    """Skips where Node.js is missing: the package needs it for real packages only, and so do tests."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("textlint runs on Node.js, and node or npm is not on the PATH")
    prose.install()


def test_no_page_and_no_module_has_a_forbidden_word() -> None:
    assert [str(each) for each in prose.check(prose.FILES)] == []


def test_each_entry_of_the_list_finds_its_word_and_leaves_the_right_use(tmp_path: Path) -> None:
    files = []
    for number, sentences in enumerate(SENTENCES):
        files.append(tmp_path / f"{number}.md")
        files[-1].write_text("\n\n".join(sentences), "utf-8")
    found = prose.check(files)
    expected = [(file, 1, each["message"]) for file, each in zip(files, PATTERNS, strict=True)]
    assert [(each.file, each.line, each.text) for each in found] == expected


def test_python_is_checked_where_it_speaks_to_people(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        '"""Something that is told."""\n\n'
        "# told in a comment\n"
        "told = 'told'\n"
        '"""What is below, be it valid or not."""\n\n\n'
        "def tell() -> None:\n"
        '    """A sentence.\n\n'
        "    What the hook is told, of `told`.\n"
        '    """\n'
        "    raise ValueError(\n"
        '        f"{told!r} is handed to the hook "\n'
        '        "and told it"\n'
        "    )\n",
        "utf-8",
    )
    found = prose.check([file])
    assert [each.line for each in found] == [1, 3, 5, 11, 14, 14]
    assert str(found[0]) == f"{file}:1: {PATTERNS[0]['message']}"


def test_code_and_quotations_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text("`told`\n\n```\ntold\n```\n\n> They told us.\n\n[it is told](a.md)\n", "utf-8")
    assert prose.check([file]) == []


def test_the_command_prints_what_it_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "page.md"
    file.write_text("Fine.\n\nThe hook is told.\n", "utf-8")
    assert prose.main([str(file)]) == 1
    assert capsys.readouterr().out == f"{file}:3: {PATTERNS[0]['message']}\n"
    file.write_text("Fine.\n", "utf-8")
    assert prose.main([str(file)]) == 0


def test_without_npm_the_command_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"needs Node\.js and npm"):
        prose.install()
