"""The classes of programs on which two sides differ, each with the programs that show it.

Every program of a range of seeds is run on both sides. What differs is put down to the profile fields that
cause it (`Pair`), one class for each (rule oracle.class-by-cause); where
the profiles do not explain it, or a side is no profile, the class is the place of the first difference. Of
each class, programs are made smaller, and the smallest of those that show different things are its witnesses
(rule oracle.class-witness).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from agentcore.kit.compare import places
from agentcore.kit.families import Emulation, Family, Trace
from agentcore.kit.framework import IDENTITY
from agentcore.kit.program import BadProgram, at, put
from agentcore.kit.program import places as places_in
from agentcore.kit.shrink import shrink, size
from agentcore.messages.brief import brief
from agentcore.oracle.comparison.comparands import Runner, Side, SideError

__all__ = [
    "Both",
    "Change",
    "Changes",
    "Pair",
    "Places",
    "Witness",
    "compare",
    "first_place",
    "marked",
    "pair_of",
    "says_all",
    "witness_of",
]

Json: TypeAlias = dict[str, Any]

# Witnesses of a class: programs made smaller while what they are to show stays to be seen.

Test: TypeAlias = Callable[[Json], bool]

_FOREVER = float("inf")


@attrs.frozen(kw_only=True)
class Witness:
    """A smallest program that shows a class, and what it shows.

    `place` is where; `places` are all places at which undoing the cause shows, or all that differ where there
    is none. `fields` are those that have to be given to the first profile for the difference at `place` to go
    away, the cause first; none where no profiles explain it. `features` are those of the program (see
    `Family.features`), `before` and `after` its two traces.
    """

    __repr__ = brief

    program: Mapping[str, Any]
    place: str
    places: Places
    fields: tuple[str, ...]
    features: frozenset[str]
    before: Trace = attrs.field(repr=False)
    after: Trace = attrs.field(repr=False)


def says_all(one: Witness, other: Witness) -> bool:
    """True if one witness shows all that another does, with no more in its program."""
    no_more = one.features <= other.features and len(one.fields) <= len(other.fields)
    return no_more and other.place in one.places


@attrs.frozen
class Both:
    """The two sides, running."""

    __repr__ = brief

    before: Runner
    after: Runner
    family: Family

    def program(self, seed: int) -> Json:
        """The program of a seed, of the first side and of the second in turn."""
        profile = (self.before, self.after)[seed % 2].side.profile
        return next(self.family.programs([seed], profile))

    def differ(self, program: Json) -> Places:
        """Returns the places where the traces differ."""
        return self.different(self.before.trace(program), self.after.trace(program))

    def different(self, one: Trace | None, other: Trace | None) -> Places:
        """Returns the places where two traces differ; none, if a trace is missing."""
        return () if one is None or other is None else places(one, other, self.family.comparison)

    def pair(self, program: Json) -> Pair | None:
        """The profiles of the sides; None if a side is no profile, or does not do as its profile says."""
        pair = pair_of(self.before.side, self.after.side, program)
        if pair is None:
            return None
        for runner, traced in ((self.before, pair.traced_before), (self.after, pair.traced_after)):
            if runner.side.target is not None and self.different(runner.trace(program), traced(program)):
                return None
        return pair


def witness_of(both: Both, program: Json, field: str | None, place: str) -> Witness | None:
    """The witness that a program is made to; None if a live side does not show what its profile does."""
    pair = both.pair(program)
    if pair is None or field is None:
        shows: Test = partial(_differs_at, both, place)
        smallest = shrink(program, shows, both.family, seconds=_FOREVER)
    else:
        smallest, shows = _shrunk_alone(both.family, pair, program, field, place)
    return _described(both, marked(smallest, shows, both.family), field, place)


def _differs_at(both: Both, place: str, program: Json) -> bool:
    return place in both.differ(program)


def _shrunk_alone(family: Family, pair: Pair, program: Json, field: str, place: str) -> tuple[Json, Test]:
    """A smallest program in which the field causes the difference, with as few other fields as were found.

    Each round holds the program to the fields that were needed before it, so that no other cause comes in.
    """
    needed = pair.needed(program, field, place)
    while True:
        shows = partial(pair.caused_by, fields=needed, place=place)
        program = shrink(program, shows, family, seconds=_FOREVER)
        fewer = pair.needed(program, field, place)
        if len(fewer) >= len(needed):
            return program, shows
        needed = fewer


def marked(program: Json, shows: Test, family: Family) -> Json:
    """The program with a text of its own in place of each empty one, where it still shows what it did."""
    number = 0
    for place in places_in(program):
        if at(program, place) != "" or place[-1] in family.shrinking.names:
            continue
        candidate = put(program, place, f"#{number + 1}")
        if _is_program(candidate, family) and shows(candidate):
            program, number = candidate, number + 1
    return program


def _is_program(candidate: Json, family: Family) -> bool:
    try:
        family.require(candidate)
    except BadProgram:
        return False
    return True


def _described(both: Both, program: Json, field: str | None, place: str) -> Witness | None:
    before, after = both.before.trace(program), both.after.trace(program)
    different = both.different(before, after)
    if before is None or after is None or place not in different:
        return None
    pair = both.pair(program)
    shown = different
    if pair is not None and field is not None:
        shown = pair.differing(pair.undone(program, field), after)
    return Witness(
        program=program,
        place=place,
        places=tuple(one for one in shown if one in different),
        fields=() if pair is None else pair.needed(program, field, place),
        features=frozenset(both.family.features(program)),
        before=before,
        after=after,
    )


T = TypeVar("T")
R = TypeVar("R")

_BATCH: Final = 50
_WINDOW: Final = 16


@attrs.frozen(kw_only=True)
class Change:
    """A class: what it is, in how many programs, and its witnesses, those of the cause alone first.

    `field` is the profile field that causes it; None where none does, and the class is the programs that
    first differ at `place`.
    """

    __repr__ = brief

    field: str | None
    place: str | None
    count: int
    witnesses: tuple[Witness, ...]


@attrs.frozen(kw_only=True)
class Changes:
    """The result of a comparison: how many programs of these seeds differ (`differing`), and their classes.

    A program may be in several classes. `unsupported` programs did not run on both sides.
    """

    __repr__ = brief

    before: Side
    after: Side
    seeds: range
    unsupported: int
    differing: int
    classes: tuple[Change, ...]


def compare(  # noqa: PLR0913 - the last three have defaults that fit most uses
    before: Side,
    after: Side,
    seeds: range,
    *,
    patience: int = 4,
    jobs: int = 1,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Changes:
    """Runs the programs of some seeds on both sides, and puts in classes what differs.

    Seeds name programs of the first side and of the second in turn. Of each class, programs are made smaller
    until so many (`patience`) of them, one after the other, have shown nothing new. `jobs` are processes; the
    result is the same for any number of them. `progress` gets the name of the work, and how much of how much
    is finished.

    Raises:
        SideError: if the sides are of two families, or a side's driver fails.
        TargetError: if a target cannot be installed.
    """
    if before.family is not after.family:
        raise SideError(
            f"{before.name} runs programs of {before.family.name}, {after.name} those of "
            f"{after.family.name}; compare two profiles or packages that run the same programs"
        )

    def batches_done(done: int, _: int) -> None:
        progress("programs", min(done * _BATCH, len(seeds)), len(seeds))

    survey = partial(_survey, before, after)
    surveyed = _spread(survey, _batches(seeds, _BATCH), jobs, batches_done)
    found = [one for batch in surveyed for one in batch]
    show = partial(_show, before, after, patience)
    tasks = [*_tasks(found)]
    shown = _spread(show, tasks, jobs, partial(progress, "classes"))
    return Changes(
        before=before,
        after=after,
        seeds=seeds,
        unsupported=sum(one.unsupported for one in found),
        differing=sum(bool(one.causes) for one in found),
        classes=tuple(_classes(before.family, found, [one for some in shown for one in some])),
    )


def _batches(seeds: range, length: int) -> list[range]:
    return [seeds[start : start + length] for start in range(0, len(seeds), length)]


def _spread(
    work: Callable[[T], R], tasks: Sequence[T], jobs: int, progress: Callable[[int, int], None]
) -> list[R]:
    """The outcome of each task, in their order."""
    if jobs == 1:
        return [*_counted(map(work, tasks), len(tasks), progress)]
    # Spawned: a fork would share the pipes of this process's drivers.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return [*_counted(pool.map(work, tasks), len(tasks), progress)]


def _counted(results: Iterable[R], total: int, progress: Callable[[int, int], None]) -> Iterator[R]:
    for done, result in enumerate(results, 1):
        progress(done, total)
        yield result


# --- what differs, and why ----------------------------------------------------------------------------------

_Class: TypeAlias = tuple[str | None, str | None]
"""A field, or a place that no field explains."""


@attrs.frozen(kw_only=True)
class _Found:
    """One program's classes, each with the first place that shows it."""

    seed: int
    unsupported: bool
    causes: Mapping[_Class, str]


def _with_both(before: Side, after: Side, work: Callable[[Both], R]) -> R:
    with Runner(before) as one, Runner(after) as other:
        return work(Both(one, other, before.family))


def _survey(before: Side, after: Side, seeds: range) -> list[_Found]:
    return _with_both(before, after, lambda both: [*_surveyed(both, seeds)])


def _surveyed(both: Both, seeds: range) -> Iterator[_Found]:
    for some in _batches(seeds, _WINDOW):
        programs = [both.program(seed) for seed in some]
        traces = zip(both.before.traces(programs), both.after.traces(programs), strict=True)
        for seed, program, (one, other) in zip(some, programs, traces, strict=True):
            different = both.different(one, other)
            yield _Found(
                seed=seed,
                unsupported=one is None or other is None,
                causes=_causes(both, program, different) if different else {},
            )


def _causes(both: Both, program: Json, different: Places) -> Mapping[_Class, str]:
    first = first_place(different)
    pair = both.pair(program)
    if pair is None:
        return {(None, first): first}
    caused = pair.causes(program, different)
    found: dict[_Class, str] = {(field, None): first_place(shown) for field, shown in caused.items()}
    if not any(first in shown for shown in caused.values()):
        found[None, first] = first
    return found


# What an op of the program itself met with, which says least about a difference.
_ASIDE: Final = frozenset({"$.opErrors", "$.pathErrors"})


def first_place(different: Places) -> str:
    """Returns the first place, but what says how a program's own ops fared only if there is nothing else."""
    return min(different, key=lambda place: place in _ASIDE)


# --- witnesses ----------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _Task:
    of: _Class
    place: str
    seeds: tuple[int, ...]


def _tasks(found: Iterable[_Found]) -> Iterator[_Task]:
    seeds: dict[tuple[_Class, str], list[int]] = {}
    for one in found:
        for of, place in one.causes.items():
            seeds.setdefault((of, place), []).append(one.seed)
    for (of, place), named in seeds.items():
        yield _Task(of=of, place=place, seeds=tuple(named))


_Shown: TypeAlias = tuple[_Class, Witness]


def _show(before: Side, after: Side, patience: int, task: _Task) -> list[_Shown]:
    return _with_both(
        before, after, lambda both: [(task.of, one) for one in _find_witnesses(both, patience, task)]
    )


def _find_witnesses(both: Both, patience: int, task: _Task) -> list[Witness]:
    """Returns witnesses of one class at one place, until nothing new is seen for a while."""
    kept: list[Witness] = []
    idle = 0
    for seed in task.seeds:
        if idle == patience:
            break
        witness = witness_of(both, both.program(seed), task.of[0], task.place)
        new = witness is not None and not any(says_all(one, witness) for one in kept)
        if witness is not None and new:
            kept = [*(one for one in kept if not says_all(witness, one)), witness]
        idle = 0 if new else idle + 1
    return kept


# --- classes ------------------------------------------------------------------------------------------------


def _classes(family: Family, found: Sequence[_Found], shown: Sequence[_Shown]) -> Iterator[Change]:
    """The classes, the most frequent first, what no field explains last."""
    counts: dict[_Class, int] = {}
    for one in found:
        for of in one.causes:
            counts[of] = counts.get(of, 0) + 1
    for of in sorted(counts, key=lambda of: (of[0] is None, -counts[of], of[0] or "", of[1] or "")):
        field, place = of
        own = [witness for name, witness in shown if name == of]
        yield Change(field=field, place=place, count=counts[of], witnesses=tuple(_fewest(family, own)))


def _fewest(family: Family, witnesses: Sequence[Witness]) -> Iterator[Witness]:
    """The witnesses of which no smaller one shows all: those of the cause alone first, then by size.

    At a place where the cause is shown to need few other fields, those that need more show those fields.
    """
    least: dict[str, int] = {}
    for one in witnesses:
        least[one.place] = min(len(one.fields), least.get(one.place, len(one.fields)))
    fewest = [one for one in witnesses if len(one.fields) == least[one.place]]
    kept: list[Witness] = []
    ordered = sorted(fewest, key=lambda one: (len(one.fields), size(dict(one.program), family)))
    for witness in ordered:
        if not any(says_all(one, witness) for one in kept):
            kept.append(witness)
            yield witness


# Which fields of two profiles a difference comes from, found by running profiles in between.
#
# Profiles are data: with one field of the second as the first has it, the reference runs what no package
# is. A field *causes* a difference at a place if undoing it alone, in the second profile, changes the trace
# there. It does so *alone* if giving it to the first profile makes the difference there go away; otherwise
# other fields have to be given with it.

Places: TypeAlias = tuple[str, ...]
"""Where traces differ (`agentcore.kit.compare.places`), in the order of the run."""


@attrs.frozen
class Pair:
    """Two profiles as data, and the fields that they differ in, in the order of the class."""

    family: Family
    emulation: Emulation
    before: Any
    after: Any

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields that differ."""
        names = (field.name for field in attrs.fields(type(self.after)) if field.name not in IDENTITY)
        return tuple(name for name in names if getattr(self.before, name) != getattr(self.after, name))

    def traced_before(self, program: Json) -> Trace:
        """Returns the trace under the first profile."""
        return self._trace(self.before, program)

    def traced_after(self, program: Json) -> Trace:
        """The trace under the second profile."""
        return self._trace(self.after, program)

    def undone(self, program: Json, *fields: str) -> Trace:
        """The trace under the second profile with some fields as the first has them."""
        values = {field: getattr(self.before, field) for field in fields}
        return self._trace(attrs.evolve(self.after, **values), program)

    def trace_with(self, program: Json, fields: Iterable[str]) -> Trace:
        """Returns the trace under the first profile with some fields as the second has them."""
        values = {field: getattr(self.after, field) for field in fields}
        return self._trace(attrs.evolve(self.before, **values), program)

    def differing(self, one: Trace, other: Trace) -> Places:
        """The places at which two traces differ."""
        return places(one, other, self.family.comparison)

    def causes(self, program: Json, different: Collection[str]) -> Mapping[str, Places]:
        """By each field that causes some of what is different, the places of it."""
        after = self.traced_after(program)

        def caused(fields: Sequence[str]) -> Mapping[str, Places]:
            # Fields of which nothing shows when all are undone are not looked at one by one.
            shown = self.differing(self.undone(program, *fields), after)
            if not shown:
                return {}
            if len(fields) > 1:
                middle = len(fields) // 2
                return {**caused(fields[:middle]), **caused(fields[middle:])}
            own = tuple(place for place in shown if place in different)
            return {fields[0]: own} if own else {}

        return caused(self.fields)

    def caused_by(self, program: Json, fields: Sequence[str], place: str) -> bool:
        """True if the first field causes a difference at a place, and all the fields together remove it."""
        after = self.traced_after(program)
        return (
            place in self.differing(self.undone(program, fields[0]), after)
            and place in self.differing(self.traced_before(program), after)
            and place not in self.differing(self.trace_with(program, fields), after)
        )

    def needed(self, program: Json, field: str | None, place: str) -> tuple[str, ...]:
        """The fewest fields found that, given to the first profile, make a place alike; `field` is first."""
        after = self.traced_after(program)

        def alike(fields: Iterable[str]) -> bool:
            return place not in self.differing(self.trace_with(program, fields), after)

        if field is not None and alike([field]):
            return (field,)
        kept = sorted(self.fields, key=lambda name: name != field)
        for name in reversed(self.fields):
            fewer = [one for one in kept if one != name]
            if name != field and alike(fewer):
                kept = fewer
        return tuple(kept)

    def _trace(self, profile: Any, program: Json) -> Trace:
        trace = self.emulation.trace(profile, program)
        return {key: value for key, value in trace.items() if key != "path"}


def pair_of(before: Side, after: Side, program: Json) -> Pair | None:
    """The profiles of two sides for a program; None where one of them is not data."""
    family = before.family
    emulation = family.emulation
    names = before.profile_for(before.own(program)), after.profile_for(after.own(program))
    if emulation is None or not {*names} <= emulation.profiles.keys():
        return None
    return Pair(family, emulation, *(emulation.profiles[name] for name in names))
