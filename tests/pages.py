"""What the specification has from code; `python tests/pages.py` writes it, a test holds it.

The index of requirements, the claims, the pages of profiles and the index of cases are made whole. In the
chapters, an item that begins with the name of a requirement is given the requirement's statement, the errata
their tables, and the chapter about runs the table of the machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import attrs

from agentcore.kit.framework import words_of
from agentcore.requirements.rules import Requirement
from spec import campaigns, cases, claims, errata, machine_table, pull_request, versions
from spec.requirements import SPEC, Field, ProfileFamily, families, rules, statements
from spec.statements import page as statements_page
from spec.tables import Table

# Rules of live checks hold for two languages: stated by hand, held by tests/live/test_spec.py.
_ITEM: Final = re.compile(r"^- \*\*`(?!live\.)([^`]+)`\*\*(?:$| .*$)", flags=re.MULTILINE)

_RULES: Final = """\
# Requirements by name

Each has the same name in code, in vectors and in the chapter that states it. The source is a measured
[claim](claims/README.md), the package itself, or the core. What profiles decide is on the pages of their
families: {}.

| requirement | statement | source | chapter |
|---|---|---|---|
"""

_PROFILES: Final = """\
# Profiles of `{0}`

{1}: {2}.

Each row is a requirement: its name, what is decided, and what each profile says. A profile is data
(`agentcore.frameworks.{3}.profiles`), and this page is made of it.
"""


# ---------------------------------------------------------------- chapters


def stated(text: str) -> str:
    """The text with the statement of each requirement that it lists."""
    known = statements()

    def item(match: re.Match[str]) -> str:
        return f"- **`{match[1]}`** {known[match[1]]}" if match[1] in known else match[0]

    return _ITEM.sub(item, text)


def chapters() -> Iterator[Path]:
    """The pages that are written by hand."""
    yield from sorted(file for file in SPEC.rglob("*.md") if file.relative_to(SPEC) not in _MADE)


def chapter_of() -> Mapping[str, list[str]]:
    """Where each requirement is stated."""
    found: dict[str, list[str]] = {}
    for file in chapters():
        for name in _ITEM.findall(file.read_text(encoding="utf-8")):
            found.setdefault(name, []).append(file.relative_to(SPEC).as_posix())
    return found


# ---------------------------------------------------------------- whole pages


def rules_page() -> str:
    """`generated/rules.md`."""
    where = chapter_of()
    links = ", ".join(f"[{name}](profiles/{name}.md)" for name in families())
    return _RULES.format(links) + "".join(_rule(rule, where[name]) for name, rule in rules().items())


def _rule(rule: Requirement, files: list[str]) -> str:
    source = ", ".join(map(_source, getattr(rule, "source", "core").split(", ")))
    links = ", ".join(f"[{file.removesuffix('.md')}](../{file})" for file in files)
    return f"| `{rule.value}` | {rule.statement} | {source} | {links} |\n"


def _source(name: str) -> str:
    return f"[{name}](claims/{claims.place(name)})" if name in claims.claims() else name


def profile_page(family: ProfileFamily) -> str:
    """`generated/profiles/<family>.md`."""
    packages = dict.fromkeys(f"`{name}` is `{each.package}`" for name, each in family.profiles.items())
    head = _PROFILES.format(family.name, family.title, ", ".join(packages), family.name.replace("-", "_"))
    groups = dict.fromkeys(field.group for field in family.fields)
    return head + _measured(family) + "".join(_group(family, group) for group in groups)


def _measured(family: ProfileFamily) -> str:
    """The tables of a family that has a module which measures them: `spec.crossings_<family>`."""
    module = f"spec.crossings_{family.name.replace('-', '_')}"
    tables = import_module(module).TABLES if find_spec(module) else ()
    return "".join(_measured_table(family, table) for table in tables)


def _measured_table(family: ProfileFamily, table: Table) -> str:
    found = [table.measured(name) for name in family.profiles]
    rows = dict.fromkeys(row for each in found for row in each)
    told = (_row(row, [each.get(row) for each in found]) for row in rows)
    return f"\n## {table.title}\n\n{table.text}\n{_head(table.rows, family)}{''.join(told)}"


def _head(title: str, family: ProfileFamily) -> str:
    names = "".join(f" `{name}` |" for name in family.profiles)
    return f"| {title} |{names}\n|{'---|' * title.count('|')}---|{'---|' * len(family.profiles)}\n"


def _group(family: ProfileFamily, group: str) -> str:
    head = f"\n## {group}\n\n{_head('requirement | what it decides', family)}"
    own = (field for field in family.fields if field.group == group)
    return head + "".join(_rows(family, field) for field in own)


def _rows(family: ProfileFamily, field: Field) -> str:
    values = [getattr(profile, field.name) for profile in family.profiles.values()]
    if not any(attrs.has(type(value)) for value in values):
        return _row(f"`{field.requirement}` | {field.statement}", values)
    kind = next(type(value) for value in values if attrs.has(type(value)))
    parts = [
        _row(f"... `{part.name}` |", [getattr(value, part.name, None) for value in values])
        for part in attrs.fields(kind)
    ]
    told = ["" if attrs.has(type(value)) else value for value in values]
    return _row(f"`{field.requirement}` | {field.statement}", told) + "".join(parts)


def _row(first: str, values: list[Any]) -> str:
    return f"| {first} | {' | '.join(map(words_of, values))} |\n"


_GENERATED: Final = Path("generated")
"""Where pages lie that are made whole; what is an index of a folder lies in that folder."""

_MADE: Final[Mapping[Path, Callable[[], str]]] = {
    _GENERATED / "rules.md": rules_page,
    Path("cases/README.md"): cases.index,
    _GENERATED / "versions.md": versions.page,
    _GENERATED / "campaigns.md": campaigns.page,
    _GENERATED / "strands-pull-request.md": pull_request.page,
    **{_GENERATED / "claims" / name: page for name, page in claims.pages().items()},
    **{
        _GENERATED / f"profiles/{name}.md": partial(profile_page, family)
        for name, family in families().items()
    },
    _GENERATED / "statements.md": lambda: statements_page(chapter_of()),
}


_WITH_TABLES: Final[Mapping[Path, Callable[[str], str]]] = {
    errata.PAGE: errata.with_tables,
    machine_table.PAGE: machine_table.with_table,
}


def names() -> list[Path]:
    """Every page of the specification, by its path below it."""
    return [*(file.relative_to(SPEC) for file in chapters()), *_MADE]


def page(name: Path) -> str:
    """A page as it has to be."""
    if name in _MADE:
        return _MADE[name]()
    text = stated((SPEC / name).read_text(encoding="utf-8"))
    return _WITH_TABLES[SPEC / name](text) if SPEC / name in _WITH_TABLES else text


if __name__ == "__main__":
    # All are made of what there is before any of them is written.
    for path, text in {name: page(name) for name in names()}.items():
        (SPEC / path).parent.mkdir(parents=True, exist_ok=True)
        (SPEC / path).write_text(text, encoding="utf-8")
