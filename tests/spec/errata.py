"""The tables at the beginning of `errata.md`: which statement is true of which release, and since when.

They are made of the pages in `errata/`, one for each document: a statement is not true of a release under
which its examples have a block `claimed`, or a program in the package's own language. `errata.toml` has the
documents, what is true of a statement that no example shows, and since when, where
`tools/errata_releases.py` does not measure it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import attrs

from agentcore.oracle.spec.examples import Example, examples, scripts
from spec.requirements import SPEC
from tools import errata_releases

PAGE: Final = SPEC / "errata.md"
_TABLES: Final = re.compile(r"(^## At a glance\n).*?(?=^## )", flags=re.MULTILINE | re.DOTALL)
_HEADING: Final = re.compile(r"^## (.+)$", flags=re.MULTILINE)
_NONE: Final = "-"
# The releases of a document's package, and the profiles and targets that stand for each.
_COLUMNS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "ai": {
        "6.0.134": ("ai-sdk-6/stream", "ai-sdk-6/generate", "ai-sdk@6.0.134"),
        "7.0.173": ("ai-sdk-7/stream", "ai-sdk-7/generate", "ai-sdk@7.0.173"),
    },
    "strands": {
        "1.5.0": ("strands-ts@1.5.0",),
        "1.19.0": ("strands-ts@1.19.0",),
        "Python 1.62.0": ("strands-py@1.62.0",),
    },
    "mastra": {"1.0.4": ("mastra@1.0.4",), "1.71.0": ("mastra@1.71.0",)},
}
_PATHS: Final = {"stream": "streamText", "generate": "generateText"}


@attrs.frozen(kw_only=True)
class Statement:
    """A statement of a document, and the examples below it."""

    title: str
    examples: tuple[Example, ...]


def documents() -> Mapping[str, Any]:
    """What `errata.toml` says of each document, by its heading."""
    return tomllib.loads((SPEC / "errata.toml").read_text("utf-8"))


def page_of(title: str) -> Path:
    """The page of a document."""
    return SPEC / "errata" / str(documents()[title]["page"])


def statements() -> Mapping[str, list[Statement]]:
    """The statements of each document, in the order of its page."""
    return {title: _statements(page_of(title)) for title in documents()}


def _statements(page: Path) -> list[Statement]:
    below: dict[str, list[Example]] = {}
    headings = errata_releases.by_example(page)
    for example in examples(page):
        below.setdefault(headings[example.place.number], []).append(example)
    return [
        Statement(title=title, examples=tuple(below.get(title, ())))
        for title in _HEADING.findall(page.read_text("utf-8"))
    ]


def verdict(statement: Statement, names: tuple[str, ...], said: Mapping[str, str], release: str) -> str:
    """Whether a statement is true of a release: yes, no, no on one path, or a dash if nothing shows it."""
    if release in said:
        return said[release]
    shown = {each.profile for one in statement.examples for each in one.expectations} & {*names}
    untrue = {each.profile for one in statement.examples for each in one.expectations if each.claimed} & {
        *names
    }
    run = {target for one in statement.examples for script in scripts(one) for target in script.targets} & {
        *names
    }
    if untrue and shown > untrue:
        return "no, on " + ", ".join(_PATHS[name.rpartition("/")[2]] for name in sorted(untrue))
    if untrue or run:
        return "no"
    return "yes" if shown else _NONE


def since(title: str) -> str:
    """From which release on a statement about the AI SDK is what it is in the newest, if that changed."""
    found = [(release, so.get(title)) for release, so in errata_releases.measured().items()]
    known = [(release, so is None or all(so.values())) for release, so in found]
    changes = [
        _change(before, release, now=so) for (before, was), (release, so) in pairwise(known) if was != so
    ]
    return "; ".join(changes) or _NONE


def _change(before: str, release: str, *, now: bool) -> str:
    word = "yes" if now else "no"
    if before.partition(".")[0] == release.partition(".")[0]:
        # Those between the two were not run.
        return f"{word} between {before} and {release}"
    return f"{word} since {release}"


def tables() -> str:
    """All tables, one for each document."""
    return "".join(_table(title, own) for title, own in statements().items())


def _table(title: str, own: list[Statement]) -> str:
    document = documents()[title]
    columns = _COLUMNS[document["package"]]
    head = "".join(f" {release} |" for release in columns)
    rows = "".join(_row(statement, document, columns) for statement in own if statement.title not in _BESIDE)
    named = f"[{document['title']}](errata/{document['page']})"
    return (
        f"\n**{named}** ({document['version']}), about {document['about']}:\n\n"
        f"| statement |{head} since |\n|---|{'---|' * len(columns)}---|\n{rows}"
    )


# What is no statement of a document.
_BESIDE: Final = {
    "What cannot be checked",
    "What the tests show, and what cannot be checked",
    "What no program shows",
}


def _row(statement: Statement, document: Mapping[str, Any], columns: Mapping[str, tuple[str, ...]]) -> str:
    said = document.get("said", {}).get(statement.title, {})
    cells = {release: verdict(statement, names, said, release) for release, names in columns.items()}
    if cells.get(document.get("before", "")) == "yes":
        cells[document["before"]] = _NONE
    when = said.get("since") or _when(statement.title, document, cells)
    anchor = re.sub(r"[^\w\- ]", "", statement.title.lower()).replace(" ", "-")
    link = f"errata/{document['page']}#{anchor}"
    return f"| [{statement.title}]({link}) | {' | '.join(cells.values())} | {when} |\n"


def _when(title: str, document: Mapping[str, Any], cells: Mapping[str, str]) -> str:
    newest = [cell for release, cell in cells.items() if release[0].isdigit()][-1]
    changed = len({cell for cell in cells.values() if cell != _NONE}) > 1
    if document["package"] == "ai":
        return since(title) if newest != _NONE and changed else _NONE
    about_the_change = "before" in document and newest != _NONE
    return str(document["since"]) if about_the_change or (changed and "before" not in document) else _NONE


def with_tables(text: str) -> str:
    """The page with its tables made anew."""
    return _TABLES.sub(lambda match: f"{match[1]}{_INTRO}{tables()}\n", text)


_INTRO: Final = """
"No": a program shows something else. "Yes": the programs show nothing else; "-": none is about it. "Since" is
the release from which on it is so, as far as releases between were run. Each row leads to the statement in
full.
"""


def faults() -> Iterator[str]:
    """What `errata.toml` names that the page has not."""
    own = statements()
    for title, document in documents().items():
        known = {statement.title for statement in own.get(title, ())}
        yield from (
            f"{title}: no statement {name!r}" for name in document.get("said", {}) if name not in known
        )
