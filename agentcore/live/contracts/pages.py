"""The pages of published contracts: made of `contracts.json`, and of nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, Final

from agentcore.kit.emulate import Emulated
from agentcore.live.contracts.emulated import emulations, not_emulated
from agentcore.live.contracts.releases import ordered
from agentcore.live.contracts.table import Answer, Group, text_of, verdict, words

__all__ = ["index", "page"]

_WHEN: Final = {"before": "Runs before the model is called.", "after": "Runs after the model was called."}
_UNKNOWN: Final[Answer] = (("unknown", ()),)
_INDEX: Final = """\
# Contracts

Who sees what a hook writes, measured from the real packages; [the chapter](../contracts.md) says how, and
what the words mean. The pages are made of [contracts.json](contracts.json) by `agentcore contract --publish`.

| framework | package | measured releases | boundaries | changes |
|---|---|---|---|---|
"""
_PAGE: Final = """\
# Contract of `{name}`

Made of [contracts.json](contracts.json); [the chapter](../contracts.md) says how this is measured, and what
the words mean. `{package}`, {runtime}; measured: {releases}. {skipped}

A table has a line for each kind of place in what a hook gets, in the newest release measured. "Can I change
this?" says how far a write goes that is made in place there, and "since" the first release that was measured
with that answer; nothing stands for the oldest one measured. A star: releases between that one and the last
one with another answer were not measured. ≤: the answer of the one measured before is not known.
"""


def index(contracts: Mapping[str, Any]) -> str:
    """Returns the page that lists the frameworks."""
    lines = []
    for name, of in contracts["frameworks"].items():
        boundaries = len({each["boundary"] for each in of["contracts"]})
        releases = [each["version"] for each in of["releases"]]
        edges = {
            edge["first_this"]
            for section in of["contracts"]
            for group in _groups(section)
            for edge, *_ in _changes(group)
        }
        changed = ", ".join(f"`{each}`" for each in ordered(edges)) or "none"
        lines.append(
            f"| [{name}]({name}.md) | `{of['package']}` | {_span(releases)} | {boundaries} | {changed} |\n"
        )
    return _INDEX + "".join(lines)


def _span(releases: list[str]) -> str:
    return ", ".join(f"`{each}`" for each in releases)


def page(name: str, of: Mapping[str, Any]) -> str:
    """Returns the page of a framework."""
    releases = _span([each["version"] for each in of["releases"]])
    skipped = "; ".join(
        f"`{version}` could not be measured ({why})" for version, why in of["skipped"].items()
    )
    lines = [
        _PAGE.format(
            name=name,
            package=of["package"],
            runtime=of["runtime"],
            releases=releases,
            skipped=f"{skipped}." if skipped else "",
        ).replace(" \n", "\n")
    ]
    for boundary, sections in groupby(of["contracts"], key=lambda each: each["boundary"]):
        lines += _boundary(boundary, [*sections], of)
    lines += _timeline(of)
    lines += _emulation(name, of)
    lines += _unknown(of)
    return "\n".join(lines)


def _groups(section: Mapping[str, Any]) -> list[Group]:
    return [
        Group(
            boundary=section["boundary"],
            root=section["root"],
            paths=tuple(each["paths"]),
            cells=tuple(tuple(cell.split(".")) for cell in each["rows"]),
            value=each["statements"],
        )
        for each in section["groups"]
    ]


def _answer(statement: Mapping[str, Any]) -> Answer:
    return tuple((each["result"], tuple(each.get("seen", ()))) for each in statement["answers"])


def _boundary(boundary: str, sections: list[Mapping[str, Any]], of: Mapping[str, Any]) -> Iterator[str]:
    rows = [*_rows(sections)]
    if not rows:
        return
    yield f"## {boundary}\n"
    if boundary in of["when"]:
        yield f"{_WHEN[of['when'][boundary]]}\n"
    yield "| where | what | can I change this? | who sees it | since |\n|---|---|---|---|---|"
    yield from rows
    yield ""


def _rows(sections: list[Mapping[str, Any]]) -> Iterator[str]:
    for section in sections:
        groups = _groups(section)
        paths = {path for group in groups for path in group.paths}
        for group in groups:
            latest = group.value[0]
            answer = _answer(latest)
            if answer in ((), _UNKNOWN):
                continue
            where = f"`{section['root']}`" if section["root"] else ""
            only = f"{' and '.join(group.paths)}: " if len(group.paths) < len(paths) else ""
            said = f"{only}{words(group, groups)}".replace("|", "\\|")
            yield f"| {where} | {said} | {verdict(answer)} | {text_of(answer)} | {_since(group.value)} |"


def _since(statements: Sequence[Mapping[str, Any]]) -> str:
    edge = statements[0]["from"]
    if edge is None:
        return ""
    if len(statements) > 1 and _answer(statements[1]) == _UNKNOWN:
        return f"≤ {edge['first_this']}"
    return f"{edge['first_this']}{'' if edge['exact'] else '*'}"


def _changes(group: Group) -> Iterator[tuple[Mapping[str, Any], Answer, Answer]]:
    """Yields the edges at which rows changed, newest first, with the answers before and after."""
    for new, old in pairwise(group.value):
        if _UNKNOWN not in (_answer(old), _answer(new)):
            yield new["from"], _answer(old), _answer(new)


def _timeline(of: Mapping[str, Any]) -> Iterator[str]:
    found: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    for section in of["contracts"]:
        groups = _groups(section)
        for group in groups:
            for edge, old, new in _changes(group):
                root = f"`{group.root}` " if group.root else ""
                paths = "" if len(group.paths) > 1 else f", {group.paths[0]}"
                what = f"`{group.boundary}` {root}{words(group, groups)}{paths}"
                found[edge["first_this"], edge["last_other"], edge["exact"]].append(
                    f"- {what}: {text_of(old)} → {text_of(new)}"
                )
    if not found:
        return
    yield "## Changes\n"
    versions = ordered(first for first, *_ in found)
    for stretch in sorted(found, key=lambda each: versions.index(each[0]), reverse=True):
        first, last, exact = stretch
        gap = "" if exact else " (releases between the two were not measured)"
        count = len(found[stretch])
        # Folded: a large release has a hundred of them, and the tables above say what is so now.
        yield f"### {first}\n\nAfter `{last}`{gap}:\n\n<details>\n<summary>{count} changed</summary>\n"
        yield from found[stretch]
        yield "\n</details>\n"


def _emulation(name: str, of: Mapping[str, Any]) -> Iterator[str]:
    """Yields what profiles are held to, and what is not known of them."""
    for emulated in emulations():
        if emulated.framework != name:
            continue
        yield "## Emulation\n"
        for release, profiles in emulated.releases.items():
            names = _span([*dict.fromkeys(profiles.values())])
            lacks = _missing(emulated, of, release)
            yield f"- `{release}`: tests hold {names} to these answers. {lacks}"
        yield ""
        for holder, why in emulated.unheld.items():
            yield f"- Whether the {holder} of a profile see a write is not known: {why}."
        for rows, why in emulated.unexpressed.items():
            yield f"- Rows `{rows}` of a profile are not known: {why}."
        if emulated.unheld or emulated.unexpressed:
            yield ""


def _missing(emulated: Emulated, of: Mapping[str, Any], release: str) -> str:
    names = [f"`{each}`" for each in sorted(not_emulated(emulated, of, release))]
    return f"Not emulated, so not known: {', '.join(names)}." if names else "All boundaries are emulated."


def _unknown(of: Mapping[str, Any]) -> Iterator[str]:
    if not of["unmeasured"]:
        return
    yield "## Not known\n"
    for each in of["unmeasured"]:
        yield f"- `{each['boundary']}` ({', '.join(each['paths'])}): {each['why']}"
    yield ""
