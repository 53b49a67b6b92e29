"""The statements of the source documents (`spec/statements`), and the page of where each is kept.

A file there is about one document: its title, which is the heading of its part of the errata, its version,
and its statements in its order, in our own words. Each has a place in the document, a state, and the places
where it is kept: names of requirements, headings of pages (`errata/a-page.md#a-heading`), and tests
(`machine/test_step.py::test_a_name`, below `tests`).
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from spec import errata
from spec.citations import VECTORS
from spec.requirements import SPEC, families, rules, statements
from test_links import anchors, without_blocks

FOLDER: Final = SPEC / "statements"
TESTS: Final = SPEC.parent / "tests"
STATES: Final = {
    "works": "it is so, and what is named holds it",
    "erratum": "the real packages contradict or qualify it",
    "difference": "the core does otherwise on purpose, and says so",
    "outside": "it is not about what an agent loop does, for the reason given",
    "open": "part of it is not kept yet, named in place of it",
}
WAS: Final = ("", "partial", "missing")
_ERRATUM: Final = re.compile(r"errata/[\w-]+\.md#")
_CLAIM: Final = re.compile(r"[CMSX][1-9]\d{0,2}")

_HEAD: Final = """\
# Statement by statement

The core and the emulations began with four documents about what agent loops do with messages. This page has
what they state, in our own words and in their order, with the place where each statement is kept: the
requirement that says it, the heading that corrects it, the test that holds it. A sentence that says two
things is two statements. The page is made of the files in [statements](../statements).

{states}

| document | {heads} | all |
|---|{rules}---|
{counts}
{left}

## What was partial or missing

When all four documents were first gone through, these statements were true in part of this package, or not at
all.

| document | statement | was | now | kept |
|---|---|---|---|---|
{audited}"""

_PART: Final = """
## {title}

{version}.

| place | statement | state | kept |
|---|---|---|---|
"""


# ---------------------------------------------------------------- the files


@attrs.frozen(kw_only=True)
class Statement:
    """What a document states: where, and what became of it.

    `claims` are the measured claims that it is about; `was` is what there was of it when the documents were
    first gone through; `why` says what is left of one that is open, and why one is outside.
    """

    place: str
    says: str
    state: str
    kept: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    claims: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    was: str = ""
    why: str = ""


@attrs.frozen(kw_only=True)
class Document:
    """A source document, named as the errata name it."""

    title: str
    version: str
    statements: tuple[Statement, ...]


@cache
def documents() -> tuple[Document, ...]:
    """All documents, in the order of their files."""
    return tuple(document(file.read_text("utf-8")) for file in sorted(FOLDER.glob("*.toml")))


def document(text: str) -> Document:
    """The document of a file's text."""
    table = tomllib.loads(text)
    found = tuple(Statement(**each) for each in table.pop("statement"))
    return Document(**table, statements=found)


# ---------------------------------------------------------------- what is wrong with one


def problems(about: Document) -> Iterator[str]:
    """What is wrong with the statements of a document, each with the statement."""
    if not errata_of(about.title):
        yield f"the errata have no part {about.title!r}"
    for each in about.statements:
        found = [*_unresolved(each), *_missing_for_state(each)]
        yield from (f"{each.says!r}: {problem}" for problem in found)


def _unresolved(about: Statement) -> Iterator[str]:
    for kept in about.kept:
        if not exists(kept):
            yield f"{kept} is no requirement, no heading of a page and no test"
    for claim in about.claims:
        if not _CLAIM.fullmatch(claim):
            yield f"{claim} is no id of a claim"


def _missing_for_state(about: Statement) -> Iterator[str]:
    """What its state asks for and it has not."""
    if about.state not in STATES:
        yield f"{about.state!r} is no state; there are {', '.join(STATES)}"
    if about.was not in WAS:
        yield f"{about.was!r} is not what a statement was: partial, or missing"
    if about.state in ("works", "erratum", "difference") and not about.kept:
        yield "it is kept nowhere"
    if about.state == "erratum" and not any(map(_ERRATUM.match, about.kept)):
        yield "no erratum is named"
    if about.state == "difference" and not any(each.startswith("difference.") for each in about.kept):
        yield "no difference is named"
    if (about.state in ("outside", "open")) is not bool(about.why):
        yield "a reason is for statements that are outside or open, and each of those has one"


def exists(kept: str) -> bool:
    """Whether there is such a requirement, such a heading, or such a test."""
    if "::" in kept:
        name, _, test = kept.partition("::")
        return test in _tests(TESTS / name)
    if ".md" in kept:
        name, _, heading = kept.partition("#")
        return (SPEC / name).is_file() and (not heading or heading in _anchors(SPEC / name))
    return kept in statements()


@cache
def _tests(file: Path) -> frozenset[str]:
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(
        each.name for each in tree.body if isinstance(each, kinds) and each.name.startswith("test_")
    )


@cache
def _anchors(file: Path) -> Mapping[str, str]:
    """The headings of a page by their anchors."""
    text = file.read_text("utf-8")
    heads = re.findall(r"^#{1,6} +(.+?) *$", without_blocks(text), flags=re.MULTILINE)
    return {name: head for head in heads for name in anchors(f"# {head}\n")}


@cache
def errata_of(title: str) -> frozenset[str]:
    """The headings of a document's page of the errata, as places where a statement is kept."""
    if title not in errata.documents():
        return frozenset()
    page = errata.page_of(title)
    heads = re.findall(r"^## +(.+?) *$", without_blocks(page.read_text("utf-8")), flags=re.MULTILINE)
    return frozenset(f"errata/{page.name}#{name}" for head in heads for name in anchors(f"# {head}\n"))


# ---------------------------------------------------------------- the page


def page(where: Mapping[str, list[str]]) -> str:
    """`generated/statements.md`; `where` are the chapters of requirements."""
    found = documents()
    every = [each for one in found for each in one.statements]
    head = _HEAD.format(
        states="\n".join(f"- *{state}*: {text}" for state, text in STATES.items()),
        heads=" | ".join(STATES),
        rules="---|" * len(STATES),
        counts="".join(_count_row(one.title, one.statements) for one in found) + _count_row("all", every),
        left=_open_statements([each for each in every if each.state == "open"]),
        audited="".join(
            f"| {one.title} | {each.says} | {each.was} | {each.state} | {_kept_cell(each, where)} |\n"
            for one in found
            for each in one.statements
            if each.was
        ),
    )
    return head + "".join(_document_part(one, where) for one in found)


def _count_row(name: str, found: Collection[Statement]) -> str:
    numbers = [sum(each.state == state for each in found) for state in STATES]
    return f"| {name} | {' | '.join(map(str, numbers))} | {len(found)} |\n"


def _open_statements(found: Collection[Statement]) -> str:
    if not found:
        return "Every statement that is about the product is kept."
    return f"{len(found)} statements are open; their rows say what is left."


def _document_part(about: Document, where: Mapping[str, list[str]]) -> str:
    rows = (
        f"| {each.place} | {each.says} | {each.state} | {_kept_cell(each, where)} |\n"
        for each in about.statements
    )
    version = about.version[0].upper() + about.version[1:]
    return _PART.format(title=about.title, version=version) + "".join(rows)


def _kept_cell(about: Statement, where: Mapping[str, list[str]]) -> str:
    links = [_link(each, where) for each in about.kept]
    vectors = sum(not {*about.claims}.isdisjoint(vector.claims) for vector in VECTORS)
    if vectors:
        word = "vector" if vectors == 1 else "vectors"
        links.append(f"[{vectors} {word}](../vectors) of {', '.join(about.claims)}")
    if about.why:
        links.append(f"*{'left' if about.state == 'open' else 'because'}:* {about.why}")
    return "; ".join(links)


def _link(kept: str, where: Mapping[str, list[str]]) -> str:
    if "::" in kept:
        name, _, test = kept.partition("::")
        return f"[{test.removeprefix('test_').replace('_', ' ')}](../../tests/{name})"
    if ".md" in kept:
        name, _, heading = kept.partition("#")
        chapter = name.removesuffix(".md")
        return (
            f"[{chapter}: {_anchors(SPEC / name)[heading]}](../{kept})"
            if heading
            else f"[{chapter}](../{kept})"
        )
    return f"[`{kept}`]({f'../{where[kept][0]}' if kept in rules() else _profile_page(kept)})"


def _profile_page(requirement: str) -> str:
    """The page of the profiles that decide it."""
    family = next(
        family for family in families().values() for each in family.fields if each.requirement == requirement
    )
    return f"profiles/{family.name}.md"
