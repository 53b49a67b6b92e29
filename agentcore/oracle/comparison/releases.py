"""What programs come to in the releases of a package, and which of them differ between two releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import attrs

from agentcore.kit.compare import places
from agentcore.kit.families import Family, Trace
from agentcore.kit.framework import PACKAGES
from agentcore.messages.brief import brief
from agentcore.oracle.comparison.changes import first_place
from agentcore.oracle.comparison.comparands import Runner, Side, SideError, side
from agentcore.oracle.drivers.packages import TargetError

__all__ = ["Answers", "Programs", "Row", "target_for"]

Json: TypeAlias = dict[str, Any]


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
