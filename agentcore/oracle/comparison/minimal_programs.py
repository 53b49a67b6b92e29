"""Witnesses of a class: programs made smaller while what they are to show stays to be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import attrs

from agentcore.kit.compare import places
from agentcore.kit.families import Family, Trace
from agentcore.kit.places import at, put
from agentcore.kit.places import places as places_in
from agentcore.kit.program import BadProgram
from agentcore.kit.shrink import shrink
from agentcore.messages.brief import brief
from agentcore.oracle.comparison.attribution import Pair, Places, pair_of
from agentcore.oracle.comparison.comparands import Runner

__all__ = ["Both", "Witness", "marked", "says_all", "witness_of"]

Json: TypeAlias = dict[str, Any]
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
    """Whether one witness shows what another does, with no more in its program."""
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
        """Where the traces differ."""
        return self.different(self.before.trace(program), self.after.trace(program))

    def different(self, one: Trace | None, other: Trace | None) -> Places:
        """Where two traces differ; nowhere, if there is one at most."""
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
