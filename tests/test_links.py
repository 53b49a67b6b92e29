"""Links of all texts lead to a file that is there, and to a heading in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from agentcore.oracle.spec.examples import blocks

ROOT: Final = Path(__file__).parent.parent
_LEFT_OUT: Final = {"node_modules", "build", "dist"}
_LINK: Final = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_IMAGE: Final = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")


def texts() -> Iterator[Path]:
    for file in sorted(ROOT.rglob("*.md")):
        inside = file.relative_to(ROOT).parts[:-1]
        if not any(part.startswith(".") or part in _LEFT_OUT for part in inside):
            yield file


def without_blocks(text: str) -> str:
    lines = text.splitlines()
    for block in blocks(text):
        for number in range(block.line - 1, block.line + block.text.count("\n") + 1):
            lines[number] = ""
    return "\n".join(lines)


def anchors(text: str) -> set[str]:
    """The anchors that the headings of a text get."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", without_blocks(text), flags=re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = found[name] = found.get(name, -1) + 1
        names.add(f"{name}-{count}" if count else name)
    return names


def links(text: str) -> list[str]:
    prose = re.sub(r"`[^`\n]*`", "", without_blocks(text))
    found = [*_LINK.findall(prose), *_IMAGE.findall(prose)]
    return [link for link in found if "://" not in link and not link.startswith("mailto:")]


def broken(file: Path, text: str) -> list[str]:
    """The links of a text that lead nowhere."""
    lost = []
    for link in links(text):
        name, _, anchor = link.partition("#")
        target = file.parent / name if name else file
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            lost.append(link)
    return lost


@pytest.mark.parametrize("file", list(texts()), ids=lambda file: str(file.relative_to(ROOT)))
def test_links_lead_somewhere(file: Path) -> None:
    assert broken(file, file.read_text("utf-8")) == []


def test_links_to_what_is_not_there_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(
        "# One `x`, two!\n\n```sh\n# not a heading\n```\n\n## Twice\n\n## Twice\n", "utf-8"
    )
    there = "[a](a.md) [b](a.md#one-x-two) [c](a.md#twice-1)"
    text = f"{there} [d](b.md) [e](a.md#not-a-heading) ![f](g.png) [h](#i)"
    assert broken(tmp_path / "t.md", text) == ["b.md", "a.md#not-a-heading", "#i", "g.png"]
    assert (
        broken(tmp_path / "t.md", "`[d](b.md)` [k](https://example.com/b.md)\n\n```\n[d](b.md)\n```\n") == []
    )


def test_there_are_texts_to_look_at() -> None:
    names = {file.relative_to(ROOT).as_posix() for file in texts()}
    assert {"README.md", "spec/README.md", "spec/errata.md"} <= names
