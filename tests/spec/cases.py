"""The cases of `spec/cases`: public reports with a live and a right outcome, and their index.

A page has a case under each heading of the second level. Its first paragraph cites the report and says how
long the edit should last, and its examples hold what is there. The live outcome is that of its first example:
a program's first expectation, or what Python prints after `live:`. The right one is what the profile
`immutable` has (for turns on a store, `store/agentcore`), or what Python prints after `right:`; of several,
the one that is something else at the same place of the trace, or else the first of the last example.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import attrs

from agentcore.kit.families import family_of
from agentcore.oracle.spec.examples import Example, blocks, examples, scripts
from spec.requirements import SPEC

FOLDER: Final = SPEC / "cases"
LIFETIMES: Final = ("this step", "for good", "not at all")
KINDS: Final = {
    "ai-sdk": "a program",
    "mastra": "a program of processors",
    "strands": "a program of middleware",
    "store-boundary": "a program of turns on a store",
    "profile": "a profile of one's own",
    "guard": "a guard",
}
_ELSEWHERE: Final = "elsewhere.md"
_RIGHT: Final = ("immutable", "store/agentcore")
_TOLD: Final = re.compile(r"^(live|right): (.*)$", flags=re.MULTILINE)
_CITED: Final = re.compile(r"\*Report:\* (.+)\. \*Should last:\* (.+)\.")
LINK: Final = re.compile(r"\[([^\]]+)\]\((https://github\.com/([^/]+/[^/]+)/(?:issues|pull)/(\d+))\)")


# ---------------------------------------------------------------- cases


@attrs.frozen
class Seen:
    """One thing that is there: in which example, on which side, at which place of a trace, and what."""

    example: int
    live: bool
    path: str
    value: Any

    @property
    def shown(self) -> str:
        """The value as text."""
        return self.value if not self.path else json.dumps(self.value)


@attrs.frozen(kw_only=True)
class Case:
    """A report with what shows it."""

    file: Path
    title: str
    cited: str
    lifetime: str
    examples: tuple[Example, ...]

    @property
    def reports(self) -> tuple[str, ...]:
        """The reports, each as `owner/name#number`."""
        return reports(self.cited)

    @property
    def kind(self) -> str:
        """The key in KINDS of what the live outcome is shown by."""
        first = self.examples[0]
        if first.program is not None:
            return family_of(first.expectations[0].profile).name
        return "guard" if guards(first) else "profile"

    @property
    def profiles(self) -> tuple[str, ...]:
        """The profiles of the live outcome; none for Python."""
        first = self.examples[0].expectations
        return tuple(each.profile for each in first if each.values == first[0].values)

    @property
    def live(self) -> Seen | None:
        """What the reported fault looks like."""
        return next((seen for seen in self._seen() if seen.live), None)

    @property
    def right(self) -> Seen | None:
        """What is there instead."""
        seen, live = [each for each in self._seen() if not each.live], self.live
        here = (each for each in seen if live and each.path == live.path and each.value != live.value)
        last = (each for each in seen if each.example == seen[-1].example)
        return next(here, next(last, None))

    def _seen(self) -> Iterator[Seen]:
        for number, example in enumerate(self.examples):
            for expected in example.expectations:
                for path, value in expected.values.items():
                    yield Seen(number, expected.profile not in _RIGHT, path, value)
            for script in scripts(example, ("python",)):
                for side, told in _TOLD.findall(script.output):
                    yield Seen(number, side == "live", "", told)


def guards(example: Example) -> bool:
    """Whether an example is of code in a guard."""
    return any("from agentcore.guard import" in script.source for script in scripts(example, ("python",)))


def reports(text: str) -> tuple[str, ...]:
    """The reports that a text links to, each as `owner/name#number`."""
    return tuple(f"{name}#{number}" for _, _, name, number in LINK.findall(text))


def cases(folder: Path = FOLDER) -> Iterator[Case]:
    """The cases of all pages, in order.

    Raises:
        ValueError: if the first paragraph of one is not as it has to be.
    """
    for file in sorted(folder.glob("*.md")):
        if file.name not in ("README.md", _ELSEWHERE):
            yield from _of_page(file)


def _of_page(file: Path) -> Iterator[Case]:
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines()
    inside = {line for b in blocks(text) for line in range(b.line, b.line + b.text.count("\n") + 2)}
    heads = [n for n, line in enumerate(lines, 1) if line.startswith("## ") and n not in inside]
    every = [*examples(file)]
    for head, end in zip(heads, [*heads[1:], len(lines) + 1], strict=False):
        paragraph = "\n".join(lines[head : end - 1]).strip().partition("\n\n")[0].replace("\n", " ")
        cited = _CITED.fullmatch(paragraph)
        title = lines[head - 1].removeprefix("## ")
        if cited is None:
            raise ValueError(f"{file.name}: {title}: {paragraph!r} cites no report and lifetime")
        own = tuple(each for each in every if head < each.place.lines[0] < end)
        yield Case(file=file, title=title, cited=cited[1], lifetime=cited[2], examples=own)


# ---------------------------------------------------------------- those that are none


def elsewhere(folder: Path = FOLDER) -> tuple[str, ...]:
    """The first cell of each report that is listed as no case."""
    text = (folder / _ELSEWHERE).read_text(encoding="utf-8")
    return tuple(line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if "](http" in line)


# ---------------------------------------------------------------- the index

_INDEX: Final = """\
# Cases

Public reports of messages that changed, stayed or vanished when they should not, in frameworks of all
kinds. Each is described in our own words, and shown by something that runs: what there is where state is
live, and what there is where it is not. The reports are evidence of what goes wrong in practice; what they
say of their frameworks is theirs.

| shown by | cases |
|---|---|
{counts}| [no case](elsewhere.md), with the reason | {others} |
| reports | {all} |

A **program** is run under a profile whose boundary is as live as the reported one, and under `immutable`.
The profile is that of another framework, as a rule; that framework's own may have been mended since.
Programs of [processors](../program-format-processors.md) and of
[middleware](../program-format-middleware.md) have no profile `immutable`: there, the right outcome is that
of a program of the [first format](../program-format.md), or of an `Agent`, that does the same. For
[turns on a store](../program-format-store-boundary.md) it is that of `store/agentcore`. **A profile of
one's own** has a [copy depth](../compat.md#copy-depth) that no other of its family has. **A guard** is
around a few lines of Python that do what the report describes, and says which places were written.

Where a hook writes in place, the core refuses the write; so most cases have two examples. The first is the
faulty code, and what becomes of it. The second says the same wish as a value that is returned.

"Should last" is how long the author of the edit wanted it: *this step*, *for good*, or *not at all*, where
nobody meant to edit what was edited.

All outcomes are tests. Programs can be run on the real packages:

```console
$ agentcore examples --target ai-sdk@6.0.134 spec/cases
```
"""

_PAGE: Final = """
## {title}

| case | report | shown by | live | right | should last |
|---|---|---|---|---|---|
"""
_LONGEST: Final = 110


def index() -> str:
    """`cases/README.md`."""
    found, others = [*cases()], elsewhere()
    numbers = {kind: sum(case.kind == kind for case in found) for kind in KINDS}
    counts = "".join(f"| {KINDS[kind]} | {number} |\n" for kind, number in numbers.items())
    head = _INDEX.format(counts=counts, others=len(others), all=len(found) + len(others))
    return head + "".join(_section(file, found) for file in dict.fromkeys(case.file for case in found))


def _section(file: Path, found: list[Case]) -> str:
    title = file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    return _PAGE.format(title=title) + "".join(_row(case) for case in found if case.file == file)


def _row(case: Case) -> str:
    anchor = re.sub(r"[^\w\- ]", "", case.title.lower()).replace(" ", "-")
    shown = KINDS[case.kind] + "".join(f", `{name}`" for name in _together(case.profiles))
    cells = (
        f"[{case.title}]({case.file.name}#{anchor})",
        case.cited,
        shown,
        _told(case.live),
        _told(case.right),
        case.lifetime,
    )
    return f"| {' | '.join(cells)} |\n"


def _together(profiles: tuple[str, ...]) -> tuple[str, ...]:
    """The names of profiles; those of all paths of a version as one."""
    versions = [name.rpartition("/")[0] for name in profiles]
    both = {version for version in versions if version and versions.count(version) > 1}
    return tuple(
        dict.fromkeys(
            version if version in both else name for version, name in zip(versions, profiles, strict=True)
        )
    )


def _told(seen: Seen | None) -> str:
    if seen is None:
        return ""
    text = seen.shown if len(seen.shown) <= _LONGEST else f"{seen.shown[:_LONGEST]}..."
    return f"`{seen.path}`: `{text}`" if seen.path else f"`{text}`"
