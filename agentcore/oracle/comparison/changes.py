"""The classes of programs on which two sides differ, each with the programs that show it.

Every program of a range of seeds is run on both sides. What differs is put down to the profile fields that
cause it (`agentcore.oracle.comparison.attribution`), one class for each (rule oracle.class-by-cause); where
the profiles do not explain it, or a side is no profile, the class is the place of the first difference. Of
each class, programs are made smaller, and the smallest of those that show different things are its witnesses
(rule oracle.class-witness).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from agentcore.kit.families import Family
from agentcore.kit.shrink import size
from agentcore.messages.brief import brief
from agentcore.oracle.comparison.attribution import Places
from agentcore.oracle.comparison.comparands import Runner, Side, SideError
from agentcore.oracle.comparison.minimal_programs import Both, Witness, says_all, witness_of

__all__ = ["Change", "Changes", "compare"]

Json: TypeAlias = dict[str, Any]
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
    """What a comparison found: of the programs of these seeds, so many `differing`, and the classes of these.

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
    result is the same for any number of them. `progress` is told what is done, and how much of how much.

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
    """What comes of each task, in their order."""
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
    """What was found of one program: for each class that it is in, the first place that shows it."""

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
    first = _telling(different)
    pair = both.pair(program)
    if pair is None:
        return {(None, first): first}
    caused = pair.causes(program, different)
    found: dict[_Class, str] = {(field, None): _telling(shown) for field, shown in caused.items()}
    if not any(first in shown for shown in caused.values()):
        found[None, first] = first
    return found


# What an op of the program itself met with, which is the least telling of a difference.
_ASIDE: Final = frozenset({"$.opErrors", "$.pathErrors"})


def _telling(different: Places) -> str:
    """The first place, but what says how a program's own ops fared only if there is nothing else."""
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
    return _with_both(before, after, lambda both: [(task.of, one) for one in _shown(both, patience, task)])


def _shown(both: Both, patience: int, task: _Task) -> list[Witness]:
    """Witnesses of one class at one place, until nothing new is seen for a while."""
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
