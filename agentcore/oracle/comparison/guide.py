"""A comparison of two sides as a guide: a page of markdown with examples that are run.

It begins with tables for people, by harm: what somebody wrote, what happens to it on each side, what to write
instead. They are made of the advice; the programs that show each difference are folded away below.

And what programs come to in the releases of a package, and which of them differ between two releases.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.heap.pollution import written_path
from agentcore.kit.compare import MISSING, places
from agentcore.kit.families import Comparison, Family, Trace, profiles_under
from agentcore.kit.framework import PACKAGES, Field, fields_of, words_of
from agentcore.kit.program import BadProgram
from agentcore.messages.brief import brief
from agentcore.messages.values import canonical_json
from agentcore.oracle.comparison.changes import Change, Changes, Witness, first_place
from agentcore.oracle.comparison.comparands import Runner, Side, SideError, side
from agentcore.oracle.drivers.packages import TargetError
from agentcore.oracle.spec.examples import ExampleError, reference, value_at
from agentcore.oracle.spec.vectors import pretty

__all__ = [
    "Advice",
    "Answers",
    "GuideError",
    "Programs",
    "Row",
    "advice_of",
    "guide",
    "target_for",
    "telling",
    "where",
]

Json: TypeAlias = dict[str, Any]

_SHORT: Final = 300
_MOST: Final = 10
_LEFT_OUT: Final = frozenset({"id", "path"})


class GuideError(AgentCoreError):
    """A guide that cannot be written; the message says which advice is wrong, and how."""


HARMS: Final = {
    "silent": "Silent: other messages or results, and no error",
    "loud": "Loud: a call fails, or fails no longer",
    "shape": "Shape: names, places and forms that your code reads",
}
"""What a difference does to code that was written for the first side, the worst first."""


@attrs.frozen(kw_only=True)
class Advice:
    """Advice: what to write to get the same on both sides, and a program whose values at `paths` show it.

    With a `harm`, one of `HARMS`, it is a row of the tables for people: what somebody `wrote`, and what
    happens to that on the first side (`before`) and on the second (`after`). All are Markdown.
    """

    text: str
    program: Mapping[str, Any] | None = None
    paths: tuple[str, ...] = ()
    harm: str | None = attrs.field(default=None, validator=attrs.validators.in_((*HARMS, None)))
    wrote: str = ""
    before: str = ""
    after: str = ""


def advice_of(file: Path) -> Mapping[str, Advice]:
    """Read advice from a file, JSON: an object of fields, each with the fields of `Advice`.

    Raises:
        GuideError: if it is something else.
    """
    try:
        return {
            field: Advice(**{**given, "paths": tuple(given.get("paths", ()))})
            for field, given in json.loads(file.read_text(encoding="utf-8")).items()
        }
    except json.JSONDecodeError as error:
        raise GuideError(f"{file} holds no advice, it is not JSON: {error}") from None
    except (TypeError, AttributeError, ValueError):
        raise GuideError(
            f"{file} holds no advice; it has to be an object of fields, each with a text, and with a program "
            'and paths or without: {"report": {"text": "read the content"}}; `harm` is one of '
            f"{', '.join(HARMS)}, with `wrote`, `before` and `after`"
        ) from None


# --- the page -----------------------------------------------------------------------------------------------

_HEAD: Final = """\
# From {before} to {after}

What a hook, a tool or a caller sees otherwise.

{people}## How it was found

This page is made by

```console
$ {command}
```

Of {programs} random programs, {differing} differ{unsupported}. A difference is put down to what the two
decide otherwise: the fields of their [profiles]({profiles}), each of which is undone alone to see what it
makes. A program may show several. Each has its smallest programs. "Alone" says that the first has to be given
nothing else of the second for the difference at that place to go away.

| changed | what it decides | programs |
|---|---|---|
"""


def guide(changes: Changes, command: str, advice: Mapping[str, Advice], *, profiles: str = "profiles") -> str:
    """The page of a comparison; `command` is what made it, `profiles` the folder of the profiles' pages.

    Raises:
        GuideError: if a program of the advice does not give the same on both sides.
    """
    page = _Page(changes, advice, profiles)
    before, after = changes.before.name, changes.after.name
    lacking = f", and {changes.unsupported} did not run on both" if changes.unsupported else ""
    head = _HEAD.format(
        before=f"`{before}`",
        after=f"`{after}`",
        people="".join(page.people()),
        command=command,
        programs=len(changes.seeds),
        differing=changes.differing,
        unsupported=lacking,
        profiles=f"{profiles}/{changes.before.family.name}.md",
    )
    page_of = head + "".join(page.rows()) + "".join(page.sections())
    return re.sub(r"\n{3,}", "\n\n", page_of).rstrip() + "\n"


@attrs.frozen
class _Page:
    changes: Changes
    advice: Mapping[str, Advice]
    profiles: str

    def people(self) -> Iterator[str]:
        """The tables that say what to write instead, by harm; in each the most frequent difference first."""
        known = [
            (change, advice)
            for change in self.changes.classes
            if change.field is not None and (advice := self.advice.get(change.field)) and advice.harm
        ]
        if known:
            yield "The rows that do most harm come first; each leads to the programs that show it.\n\n"
        for harm, title in HARMS.items():
            rows = [
                f"| {advice.wrote} ([{_title(change)}](#{_anchor(_title(change))})) | {advice.before} "
                f"| {advice.after} | {advice.text[:1].upper()}{advice.text[1:]} |\n"
                for change, advice in known
                if advice.harm == harm
            ]
            if rows:
                head = f"| you wrote | in `{self.changes.before.name}` | in `{self.changes.after.name}` "
                yield f"## {title}\n\n{head}| write instead |\n|---|---|---|---|\n{''.join(rows)}\n"

    def rows(self) -> Iterator[str]:
        known = self._fields()
        for change in self.changes.classes:
            title = _title(change)
            said = known[change.field].statement if change.field else "No field of the profiles explains it."
            yield f"| [{title}](#{_anchor(title)}) | {said} | {change.count} |\n"

    def _fields(self) -> Mapping[str, Field]:
        emulation = self.changes.before.family.emulation
        kinds = {} if emulation is None else {type(one): one for one in emulation.profiles.values()}
        return {field.name: field for kind in kinds for field in fields_of(kind)}

    def sections(self) -> Iterator[str]:
        known = self._fields()
        for change in self.changes.classes:
            yield f"\n## {_title(change)}\n\n"
            if change.field is not None:
                yield f"{known[change.field].statement}\n\n{self._values(change.field)}"
            advice = self.advice.get(change.field or "")
            if advice is not None:
                yield f"**The same in both:** {advice.text}\n\n"
            programs = "".join(self._programs(change, advice))
            if programs:
                yield f"<details>\n<summary>Programs</summary>\n\n{programs}</details>\n"

    def _programs(self, change: Change, advice: Advice | None) -> Iterator[str]:
        for witness in change.witnesses[:_MOST]:
            yield self._example(change, witness)
        if len(change.witnesses) > _MOST:
            yield f"{len(change.witnesses) - _MOST} more programs are larger (`--json` has them).\n\n"
        if advice is not None and advice.program is not None:
            yield self._advised(str(change.field), advice)

    def _values(self, field: str) -> str:
        """Returns each side's value of a field; several, if the side has paths."""
        lines = []
        for one in (self.changes.before, self.changes.after):
            values = dict.fromkeys(_in_words(getattr(profile, field)) for profile in _profiles(one))
            lines.append(f"- `{one.name}`: {'; or '.join(values)}\n")
        return "".join(lines) + "\n"

    def _example(self, change: Change, witness: Witness) -> str:
        cites = self._cited(change)
        sides = zip((self.changes.before, self.changes.after), (witness.before, witness.after), strict=True)
        shown = telling(witness, self.changes.before.family.comparison)
        blocks = "".join(
            f"```json trace {one.profile_for(one.own(dict(witness.program)))}\n{pretty(values)}\n```\n\n"
            for (one, _), values in zip(sides, shown, strict=True)
            if values
        )
        title = f"**Example** ({cites}): {where(change, witness, mark='`')}."
        return f"{title}\n\n```json program\n{_program(witness.program)}\n```\n\n{blocks}"

    def _cited(self, change: Change) -> str:
        family = self.changes.before.family.name
        return f"`{family}.{change.field.replace('_', '-')}`" if change.field else "`oracle.class-by-cause`"

    def _advised(self, field: str, advice: Advice) -> str:
        profiles, values = self._same(field, advice)
        return (
            f"**Example** (`oracle.class-advice`): the same in both.\n\n"
            f"```json program\n{_program(advice.program or {})}\n```\n\n"
            f"```json trace {' '.join(profiles)}\n{pretty(values)}\n```\n\n"
        )

    def _same(self, field: str, advice: Advice) -> tuple[list[str], Json]:
        """The profiles that the program is run under, and what they all have at the advice's paths."""
        names = [name for one in (self.changes.before, self.changes.after) for name in _names(one)]
        given = [self._run_advice(field, advice, name) for name in names]
        for name, values in zip(names, given, strict=True):
            if canonical_json(values) != canonical_json(given[0]):
                raise GuideError(
                    f"the program of the advice on {field} gives {json.dumps(values)} under {name}, "
                    f"and {json.dumps(given[0])} under {names[0]}"
                )
        return names, given[0]

    def _run_advice(self, field: str, advice: Advice, profile: str) -> Json:
        family = self.changes.before.family
        path = {"path": profile.rpartition("/")[2]} if "/" in profile else {}
        program = {"id": field, **path, **(advice.program or {})}
        try:
            family.require(program)
            trace = reference(program, profile)
            return {where: value_at(trace, where) for where in advice.paths}
        except (BadProgram, ExampleError) as error:
            raise GuideError(f"the advice on {field} cannot be run: {error}") from None


def where(change: Change, witness: Witness, *, mark: str = "") -> str:
    """Describes where a witness differs, and which fields the first side needs for that to go away."""
    place = f"at {mark}{witness.place}{mark}"
    others = witness.fields if change.field is None else witness.fields[1:]
    named = ", ".join(f"{mark}{field}{mark}" for field in others)
    if change.field is None:
        return f"{place}, which goes away with {named}" if others else place
    return f"{place}, together with {named}" if others else f"{place}, alone"


def _title(change: Change) -> str:
    return f"`{change.field}`" if change.field else f"Unexplained, at `{change.place}`"


def _anchor(title: str) -> str:
    """As GitHub makes one of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _names(one: Side) -> tuple[str, ...]:
    return tuple(profiles_under(one.profile).values())


def _profiles(one: Side) -> Iterator[Any]:
    emulation = one.family.emulation
    known: Mapping[str, Any] = {} if emulation is None else emulation.profiles
    yield from (known[name] for name in _names(one) if name in known)


def _in_words(value: Any) -> str:
    if attrs.has(type(value)):
        return ", ".join(
            f"{key}: {words_of(item)}" for key, item in attrs.asdict(value, recurse=False).items()
        )
    return words_of(value)


def _program(program: Mapping[str, Any]) -> str:
    return pretty({key: value for key, value in program.items() if key not in _LEFT_OUT})


# --- what two traces show -----------------------------------------------------------------------------

_Keys: TypeAlias = tuple[str | int, ...]


def telling(witness: Witness, comparison: Comparison) -> tuple[Json, Json]:
    """For each of a witness's traces, what is at a path where they differ: the most that is still short.

    Where one of them has nothing, the lengths of what would hold it are given; what may differ is left out.
    """
    both = witness.before, witness.after
    compared = _permitted(witness.before, comparison), _permitted(witness.after, comparison)
    apart = [*_apart(*compared, ())]
    for where in _candidates(apart, witness.place):
        values = [_at(trace, where) for trace in compared]
        if values == [_at(trace, where) for trace in both] and all(map(_is_short, values)):
            path = _written(where)
            return {path: values[0]}, {path: values[1]}
    for keys in apart:
        path = f"{_written(keys[:-1])}.length"
        lists = [_at(trace, keys[:-1]) for trace in both]
        one, other = ({path: len(value)} if isinstance(value, list) else {} for value in lists)
        if one or other:
            return one, other
    return _each(both[0], compared[0], apart), _each(both[1], compared[1], apart)


def _candidates(apart: Iterable[_Keys], place: str) -> Iterator[_Keys]:
    """Yields what may be printed of a place: all, then less and less; last, its container if no list."""
    for keys in apart:
        start = next((n for n in range(len(keys) + 1) if _place(keys[:n]) == place), None)
        if start is not None:
            yield from (keys[:end] for end in range(start, len(keys) + 1))
            if isinstance(keys[start - 1], str):
                yield keys[: start - 1]


def _each(trace: Trace, compared: Trace, apart: Iterable[_Keys]) -> Json:
    """Returns a trace's value at the first place that is short enough to print."""
    for keys in apart:
        value = _at(trace, keys)
        inside = [(*keys, key) for key in value] if isinstance(value, dict) else []
        for where in (keys, *inside):
            found = _at(trace, where)
            if found == _at(compared, where) and _is_short(found):
                return {_written(where): found}
    return {}


def _permitted(trace: Trace, comparison: Comparison) -> Trace:
    for permit in comparison.permitted.values():
        trace = permit(trace)
    return trace


def _apart(one: Any, other: Any, keys: _Keys) -> Iterator[_Keys]:
    """The paths of all that differs, as deep as both go."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in {**one, **other}:
            yield from _apart(one.get(key, MISSING), other.get(key, MISSING), (*keys, key))
    elif isinstance(one, list) and isinstance(other, list):
        for index in range(max(len(one), len(other))):
            here, there = (side[index] if index < len(side) else MISSING for side in (one, other))
            yield from _apart(here, there, (*keys, index))
    elif not _same(one, other):
        yield keys


def _same(one: Any, other: Any) -> bool:
    if MISSING in (one, other):
        return one is other
    return canonical_json(one) == canonical_json(other)


def _at(trace: Any, keys: _Keys) -> Any:
    for key in keys:
        has = isinstance(key, str) if isinstance(trace, dict) else isinstance(trace, list)
        if not has or (isinstance(key, int) and key >= len(trace)):
            return MISSING
        trace = trace.get(key, MISSING) if isinstance(trace, dict) else trace[key]
    return trace


def _is_short(value: Any) -> bool:
    return value is not MISSING and len(json.dumps(value)) <= _SHORT


def _written(keys: _Keys) -> str:
    return written_path("", keys, None).removeprefix(".")


def _place(keys: _Keys) -> str:
    return "$" + "".join("[]" if isinstance(key, int) else f".{key}" for key in keys)


# ---------------------------------------------------------------- what programs come to in releases


class Row(NamedTuple):
    """A program that differs: where it does so first, and its seed."""

    place: str
    seed: int


@attrs.frozen
class Answers:
    """The traces of programs in one release, by seed; None for what the release's driver does not support."""

    __repr__ = brief

    traces: Mapping[int, Trace | None] = attrs.field(repr=False)


def target_for(package: str) -> str:
    """Returns the name of the targets that drive a package, such as `name` of `name@1.2.3`.

    Raises:
        TargetError: if no framework drives it.
    """
    for name, each in PACKAGES.items():
        separator = "==" if each.installer == "pip" else "@"
        if each.package.rpartition(separator)[0] == package:
            return name.rpartition("@")[0]
    raise TargetError(f"no framework has a driver for {package}; search its contract instead")


class Programs:
    """The same random programs, run in one release after the other."""

    def __init__(self, name_of: Callable[[str], str], old: str, new: str, seeds: range) -> None:
        """Makes the programs, in turn of the profile of the old release and of that of the new one.

        Args:
            name_of: returns what `agentcore compare` calls a release.
            old: the first release.
            new: the last one.
            seeds: those of the programs.

        Raises:
            SideError: if one of the two releases is held to no profile.
        """
        self._name_of, self.seeds = name_of, seeds
        self._sides = side(name_of(old)), side(name_of(new))
        if self._sides[0].family is not self._sides[1].family:
            raise SideError(f"{old} and {new} run programs of two kinds")

    @property
    def family(self) -> Family:
        """The family of the programs."""
        return self._sides[0].family

    @cached_property
    def programs(self) -> Mapping[int, Json]:
        """The programs by seed."""
        return {
            seed: next(self.family.programs([seed], self._sides[seed % 2].profile)) for seed in self.seeds
        }

    def answers(self, version: str) -> Answers:
        """Returns what the programs come to in a release.

        Raises:
            SideError: if the release is held to no profile, or its driver fails.
            TargetError: if it cannot be installed.
        """
        of: Side = side(self._name_of(version))
        with Runner(of) as runner:
            traces = runner.traces([*self.programs.values()])
        return Answers(dict(zip(self.programs, traces, strict=True)))

    def differing(self, one: Answers, other: Answers) -> Mapping[Row, tuple[Trace, Trace]]:
        """Returns the programs that differ between two releases, of those that both support."""
        found = {}
        for seed in self.seeds:
            before, after = one.traces[seed], other.traces[seed]
            if before is None or after is None:
                continue
            different = places(before, after, self.family.comparison)
            if different:
                found[Row(first_place(different), seed)] = before, after
        return found

    def features(self, seed: int) -> list[str]:
        """Returns what a program has in it, by the family's names."""
        return sorted(self.family.features(self.programs[seed]))
