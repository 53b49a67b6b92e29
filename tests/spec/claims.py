"""The measured claims of `spec/claims`, their pages, and who cites them.

A file there is about one package: `about` has its title, the packages that everything was run on, and a
text; any other table is a claim by its id. Claims are cited by their ids: in the sources of requirements, in
vectors, and in the words of code, tests and chapters.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import attrs

from agentcore.requirements.differences import Requirement
from spec import recorded
from spec.requirements import SPEC, rules

ROOT: Final = SPEC.parent
FOLDER: Final = SPEC / "claims"
VERDICTS: Final = {
    "holds": "it is so",
    "holds in part": "it is so with the limits under *Found*",
    "false": "it is not so",
    "not checkable": "nothing that can be run says whether it is so",
    "measured": "a fact that no document states",
}
ID: Final = re.compile(r"[A-Z][1-9]\d{0,2}|aliasing/[a-zA-Z0-9]+(?:[._-][a-zA-Z_-]+)?")
# What a source may name besides claims: the core, a release of a package, a requirement.
_OTHER_SOURCE: Final = re.compile(r"core|@?[\w/-]+@\d+(?:\.\d+)+")

_TEXTS: Final = {".py", ".pyi", ".md", ".mjs", ".js", ".ts", ".toml", ".json"}
_READ: Final = ("agentcore", "benchmarks", "spec", "tests", "tools")
# Made of what cites, and what is cited; ids for tests of this module; recorded figures; locks of packages.
_UNREAD: Final = {
    *("claims", "claims.md", "rules.md", "test_evidence.py"),
    *("vectors", "results", "package-lock.json", "node_modules", ".venv"),
}
# Codes of linters look as ids do. `%C3` is a byte.
_LINTED: Final = re.compile(r"#\s*(?:noqa|ruff|type):.*")
_WORD: Final = re.compile(r"(?<![%\w/.-])([A-Z][1-9]\d{0,2})(?![\w%])")
_RANGE: Final = re.compile(r"\b([A-Z])([1-9]\d{0,2}) to \1?([1-9]\d{0,2})\b")
_CLAIMS: Final = re.compile(r"\bclaims? ((?:[A-Z][1-9]\d{0,2}(?:, | and | or | to )?)+)")

_HEAD: Final = """\
# Claims

What has been said about the real packages, or asked of them, and what was found when it was run: one entry
for each id that requirements, vectors and tests cite. The sentences are ours; the documents have others.
*Ran* is what was run on the packages named at the head of the part, unless the entry names its own; what was
only read is marked so. The verdicts:

{verdicts}

Statements that are false, or true of one version only, are in the [errata](../../errata.md), most of them
with a program.

| claims | about | run on |
|---|---|---|
{rows}"""


@attrs.frozen(kw_only=True)
class Claim:
    """A statement or a question, what was run, and what came of it.

    `verdict` is by the version where it is not the same for all. `background` is a claim that nothing cites.
    """

    id: str
    claim: str
    ran: str
    verdict: Mapping[str, str]
    found: str = ""
    package: str = ""
    background: bool = False


@attrs.frozen(kw_only=True)
class Part:
    """The claims about one package. A page begins with the first of them, and with each of `begins`."""

    file: str
    title: str
    package: str
    text: str
    claims: tuple[Claim, ...]
    begins: tuple[str, ...] = attrs.field(default=(), converter=tuple)

    def pages(self) -> Iterator[tuple[str, tuple[Claim, ...]]]:
        """The names of its pages, with the claims of each."""
        starts = [
            0,
            *(next(n for n, each in enumerate(self.claims) if each.id == name) for name in self.begins),
        ]
        for start, end in zip(starts, [*starts[1:], len(self.claims)], strict=True):
            suffix = f"-{anchor(self.claims[start].id.rpartition('/')[2])}" if start else ""
            yield f"{self.file}{suffix}.md", self.claims[start:end]


@cache
def parts() -> tuple[Part, ...]:
    """All parts, in the order of their files."""
    return tuple(_part(file) for file in sorted(FOLDER.glob("*.toml")))


def _part(file: Path) -> Part:
    table = tomllib.loads(file.read_text("utf-8"))
    about = table.pop("about")
    return Part(file=file.stem, **about, claims=tuple(_claim(name, each) for name, each in table.items()))


def _claim(name: str, table: dict[str, Any]) -> Claim:
    verdict = table.pop("verdict")
    return Claim(id=name, verdict=verdict if isinstance(verdict, dict) else {"": verdict}, **table)


def claims() -> Mapping[str, Claim]:
    """All claims by their ids."""
    return {claim.id: claim for part in parts() for claim in part.claims}


# ---------------------------------------------------------------- who cites them


def ids_in(text: str, letters: str) -> Iterator[str]:
    """The ids that a text cites: words of these letters, and any after the word claim; no ranges."""
    plain = _RANGE.sub("", _LINTED.sub("", text))
    yield from (name for name in _WORD.findall(plain) if name[0] in letters)
    for named in _CLAIMS.findall(plain):
        yield from _WORD.findall(named)


def ranges_in(text: str, letters: str) -> Iterator[str]:
    """The ids of ranges such as C43 to C81."""
    for letter, first, last in _RANGE.findall(_LINTED.sub("", text)):
        if letter in letters:
            yield from (f"{letter}{number}" for number in range(int(first), int(last) + 1))


def ids_of_source(source: str) -> Iterator[str]:
    """The ids in the source of a requirement.

    Raises:
        ValueError: for what is no id, no package and not the core.
    """
    for part in source.split(", "):
        if ID.fullmatch(part):
            yield part
        elif not _OTHER_SOURCE.fullmatch(part):
            raise ValueError(f"{part!r} is no claim, no release of a package and not 'core'")


def files() -> Iterator[Path]:
    """The texts that may cite claims."""
    for folder in _READ:
        for file in sorted((ROOT / folder).rglob("*")):
            inside = file.relative_to(ROOT).parts
            if file.suffix in _TEXTS and not _UNREAD & {*inside} and file.is_file():
                yield file


def letters() -> str:
    """The letters that ids begin with."""
    return "".join(sorted({name[0] for name in claims() if name[1].isdigit()}))


@cache
def by_requirement() -> Mapping[str, list[str]]:
    """The requirements that each id is a source of."""
    found: dict[str, list[str]] = {}
    for rule in rules().values():
        for name in _ids_of(rule):
            found.setdefault(name, []).append(f"`{rule.value}`")
    return found


def _ids_of(rule: Requirement) -> Iterator[str]:
    source = getattr(rule, "source", "core")
    yield from dict.fromkeys((*ids_of_source(source), *ids_in(rule.statement, letters())))


@cache
def by_vector() -> Mapping[str, list[str]]:
    """The vectors that cite each id, by their names, once for all versions."""
    found: dict[str, dict[str, None]] = {}
    for vector in recorded.ALL:
        for name in vector.claims:
            found.setdefault(name, {})[vector.file.stem] = None
    return {name: sorted(vectors) for name, vectors in found.items()}


@cache
def by_text() -> Mapping[str, list[str]]:
    """The files that cite each id in their words."""
    found: dict[str, list[str]] = {}
    for file in files():
        for name in dict.fromkeys(ids_in(file.read_text("utf-8"), letters())):
            found.setdefault(name, []).append(file.relative_to(ROOT).as_posix())
    return found


def cited() -> set[str]:
    """All ids that something cites one by one."""
    return {*by_requirement(), *by_vector(), *by_text()}


def in_ranges() -> set[str]:
    """All ids that lie in a range that something cites."""
    return {name for file in files() for name in ranges_in(file.read_text("utf-8"), letters())}


# ---------------------------------------------------------------- the pages


def pages() -> Mapping[str, Callable[[], str]]:
    """The pages of `generated/claims` by their names: an index, and the claims in some files."""
    each = {name: partial(_page, part, some) for part in parts() for name, some in part.pages()}
    return {"README.md": index, **each}


def index() -> str:
    """`generated/claims/README.md`."""
    verdicts = "\n".join(f"- *{name}*: {meaning}" for name, meaning in VERDICTS.items())
    rows = (
        f"| [{_span(some)}]({name}) | {part.title} | {_packages(part.package)} |\n"
        for part in parts()
        for name, some in part.pages()
    )
    return _HEAD.format(verdicts=verdicts, rows="".join(rows))


def _page(part: Part, some: tuple[Claim, ...]) -> str:
    head = f"# {part.title}: {_span(some)}\n\n[Claims](README.md) run on {_packages(part.package)}.\n\n"
    return head + f"{part.text.strip()}\n" + "".join(map(_entry, some))


def _span(some: tuple[Claim, ...]) -> str:
    return f"{some[0].id} to {some[-1].id}"


def _entry(claim: Claim) -> str:
    lines = [f"\n## {claim.id}\n\n{claim.claim}\n"]
    lines.append(f"- *Verdict:* {_verdict(claim.verdict)}")
    lines.append(f"- *Ran:* {claim.ran}")
    if claim.found:
        lines.append(f"- *Found:* {claim.found}")
    if claim.package:
        lines.append(f"- *Run on:* {_packages(claim.package)}")
    lines.append(f"- *Cited by:* {_citing(claim)}")
    return "\n".join(lines) + "\n"


def anchor(name: str) -> str:
    """The anchor of a claim on its page."""
    return re.sub(r"[^\w-]", "", name.lower())


@cache
def _page_of() -> Mapping[str, str]:
    return {claim.id: name for part in parts() for name, some in part.pages() for claim in some}


def place(name: str) -> str:
    """The page of a claim and its anchor, such as `ai-sdk.md#c1`."""
    return f"{_page_of()[name]}#{anchor(name)}"


def _verdict(verdict: Mapping[str, str]) -> str:
    return "; ".join(f"{version}: {word}" if version else word for version, word in verdict.items()) + "."


def _packages(text: str) -> str:
    return re.sub(r"(@?[\w/-]+(?:@|==)[\d.]+\d)", r"`\1`", text)


_SHOWN_VECTORS: Final = 3


def _citing(claim: Claim) -> str:
    if claim.background:
        return "nothing; it is here because the document states it."
    vectors = by_vector().get(claim.id, [])
    shown = [f"vector `{name}`" for name in vectors[:_SHOWN_VECTORS]]
    tests = dict.fromkeys(
        f"`{Path(name).name}`" for name in by_text().get(claim.id, ()) if Path(name).name.startswith("test_")
    )
    others = () if by_requirement().get(claim.id) or shown or tests else by_text().get(claim.id, ())
    return ", ".join(
        (*by_requirement().get(claim.id, ()), *tests, *shown, *(f"`{Path(name).name}`" for name in others))
    )
