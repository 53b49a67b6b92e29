"""Which fields of two profiles a difference comes from, found by running profiles in between.

Profiles are data: with one field of the second as the first has it, the reference runs what no package is.
A field *causes* a difference at a place if undoing it alone, in the second profile, changes the trace there.
It does so *alone* if giving it to the first profile makes the difference there go away; otherwise other
fields have to be given with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from agentcore.heap.profile_fields import IDENTITY
from agentcore.kit.compare import places
from agentcore.kit.families import Emulation, Family, Trace
from agentcore.oracle.comparison.comparands import Side

__all__ = ["Pair", "Places", "pair_of"]

Json: TypeAlias = dict[str, Any]
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
        """The trace under the first profile."""
        return self._trace(self.before, program)

    def traced_after(self, program: Json) -> Trace:
        """The trace under the second profile."""
        return self._trace(self.after, program)

    def undone(self, program: Json, *fields: str) -> Trace:
        """The trace under the second profile with some fields as the first has them."""
        values = {field: getattr(self.before, field) for field in fields}
        return self._trace(attrs.evolve(self.after, **values), program)

    def given(self, program: Json, fields: Iterable[str]) -> Trace:
        """The trace under the first profile with some fields as the second has them."""
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
        """Whether the first of some fields causes a difference at a place, and no others are needed."""
        after = self.traced_after(program)
        return (
            place in self.differing(self.undone(program, fields[0]), after)
            and place in self.differing(self.traced_before(program), after)
            and place not in self.differing(self.given(program, fields), after)
        )

    def needed(self, program: Json, field: str | None, place: str) -> tuple[str, ...]:
        """The fewest fields found that, given to the first profile, make a place alike; `field` is first."""
        after = self.traced_after(program)

        def alike(fields: Iterable[str]) -> bool:
            return place not in self.differing(self.given(program, fields), after)

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
