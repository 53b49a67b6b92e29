"""Builds the site: `python -m tools.site FOLDER [--strict]` (the extra `site`).

The pages are the repository's own files. They are put into a tree of their own, in which a link to a page
stays one, a link to another file becomes one to a copy of that file, and README is the start page. What a
reader sees first, and in which order, is `SECTIONS`. Sphinx builds the tree with the settings of
`spec/reference/conf.py`; its links are relative, so the site works from a folder and below any path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

__all__ = ["PAGES", "SECTIONS", "build", "stage"]

ROOT: Final = Path(__file__).parents[1]
_START: Final = Path("README.md")

SECTIONS: Final = {
    "Guide": [
        *("guide/README", "guide/first-agent", "guide/tools", "guide/streaming", "guide/structured-output"),
        *("guide/approvals", "guide/providers", "guide/edits", "guide/conversations", "guide/service"),
        *("guide/testing", "guide/tracing", "guide/coming-from"),
    ],
    "Lessons": ["notebooks/*"],
    "Check a hook": [
        "live",
        "/agentcore/live/js/README",
        "contracts",
        "contracts/README",
        "contracts/*",
        "surprises/README",
        "surprises/*",
        "guard",
        "guard-frameworks",
        "testing",
    ],
    "Specification: use": [
        *(
            "README",
            "terms",
            "chains",
            "step",
            "prompt",
            "prepare-step",
            "processors",
            "patterns",
            "context",
            "output",
        ),
        *("limits", "middleware", "run", "conversations", "differences"),
    ],
    "Specification: conform": [
        *("oracle", "check", "isolated", "driver-protocol", "write-a-driver", "compare", "explain", "player"),
        *("program-format", "program-format-*"),
    ],
    "Specification: emulate": [
        "compat",
        "heap",
        "stores",
        "mastra",
        "strands",
        "generated/profiles/*",
        "live-adapters",
        "generated/strands-pull-request",
    ],
    "From 6 to 7": ["generated/migrate-*"],
    "Evidence": [
        *("errata", "errata/*", "cases/README", "cases/*", "generated/claims/README", "generated/claims/*"),
        *("generated/statements", "generated/versions", "generated/campaigns", "generated/rules"),
    ],
    "API": ["reference/index"],
    "The project": [
        "/ARCHITECTURE",
        "/CONTRIBUTING",
        "/CHANGELOG",
        "/VERSIONING",
        "/SECURITY",
        "/benchmarks/README",
        "/benchmarks/results/*/table",
    ],
}
"""The side bar: captions with pages of `spec/`, of which `*` stands for all that are not named elsewhere."""

_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_KINDS: Final = (".md", ".ipynb", ".rst")


def _pages() -> Iterator[Path]:
    """The files that are pages, from the root of the repository."""
    yield _START
    for patterns in SECTIONS.values():
        for pattern in patterns:
            folder, name = (ROOT, pattern[1:]) if pattern.startswith("/") else (ROOT / "spec", pattern)
            for kind in _KINDS:
                yield from (found.relative_to(ROOT) for found in sorted(folder.glob(name + kind)))
    yield from (found.relative_to(ROOT) for found in sorted((ROOT / "spec/reference").glob("*.rst")))


PAGES: Final = tuple(dict.fromkeys(_pages()))
"""The pages, in the order of the side bar, from the root of the repository."""


def _document(page: Path) -> str:
    return "index" if page == _START else page.with_suffix("").as_posix()


def stage(folder: Path) -> None:
    """Put the pages and what they link to into the folder, as Sphinx reads them."""
    for page in PAGES:
        target = folder / (Path("index.md") if page == _START else page)
        target.parent.mkdir(parents=True, exist_ok=True)
        if page.suffix == ".md":
            target.write_text(_linked((ROOT / page).read_text("utf-8"), page, folder), "utf-8")
        else:
            shutil.copy(ROOT / page, target)
    start = folder / "index.md"
    start.write_text(start.read_text("utf-8") + "\n" + "\n".join(_side_bar()), "utf-8")
    shutil.copy(ROOT / "spec/reference/conf.py", folder / "conf.py")


def _side_bar() -> Iterator[str]:
    seen = {"index"}
    named = {f"spec/{name}" for names in SECTIONS.values() for name in names if "*" not in name}
    for caption, patterns in SECTIONS.items():
        yield f"```{{toctree}}\n:hidden:\n:caption: {caption}\n:maxdepth: 1\n"
        for pattern in patterns:
            wanted = pattern[1:] if pattern.startswith("/") else f"spec/{pattern}"
            for page in PAGES:
                name = _document(page)
                by_name = "*" not in wanted
                if name in seen or not page.with_suffix("").match(wanted) or (name in named and not by_name):
                    continue
                if wanted.count("/") == name.count("/"):
                    seen.add(name)
                    yield name
        yield "```\n"


# ---------------------------------------------------------------- links


def _linked(text: str, page: Path, folder: Path) -> str:
    lines, fence = [], ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
        lines.append(line if fence or mark else _LINK.sub(lambda found: _link(found, page, folder), line))
    return "\n".join(lines) + "\n"


def _link(found: re.Match[str], page: Path, folder: Path) -> str:
    image, text, target = found.groups()
    if target.startswith(("#", "http:", "https:", "mailto:")):
        return found[0]
    name, _, anchor = target.partition("#")
    place = Path(os.path.normpath(page.parent / name))
    if (ROOT / place).is_dir():
        place = next((each for each in PAGES if each.parent == place), place)
    if place in PAGES:
        document = _document(place) + place.suffix
        return f"[{text}](</{document}{'#' if anchor else ''}{anchor}>)"
    if (ROOT / place).is_file():
        copy = folder / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / place, copy)
        return f"{image}[{text}](</{place.as_posix()}>)"
    return text


# ---------------------------------------------------------------- the build


def build(folder: Path, *, strict: bool = False) -> subprocess.CompletedProcess[str]:
    """Build the site into the folder; with `strict`, a warning is an error.

    Args:
        folder: where the pages go; it is made if it is not there.
        strict: whether a warning makes the build fail.

    Returns:
        Sphinx's process, ended, with what it wrote.
    """
    with TemporaryDirectory() as tree:
        stage(Path(tree))
        options = ["-W", "--keep-going"] if strict else []
        argv = [sys.executable, "-m", "sphinx", "-q", "-b", "html", *options, tree, str(folder)]
        return subprocess.run(argv, capture_output=True, text=True, check=False)  # noqa: S603 - Sphinx


def main(arguments: list[str]) -> int:
    """Build the site, and say where its start page is."""
    folder = Path(next((each for each in arguments if not each.startswith("-")), "site"))
    built = build(folder, strict="--strict" in arguments)
    sys.stderr.write(built.stderr)
    if built.returncode == 0:
        sys.stdout.write(f"{folder / 'index.html'}\n")
    return built.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
