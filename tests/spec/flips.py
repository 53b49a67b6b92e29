"""Profiles in which one thing is decided otherwise: what shows a requirement tells such a profile apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentcore.heap.heap import NotEmulatedError
from agentcore.kit import framework
from agentcore.kit.framework import load_family
from spec.requirements import Field, ProfileFamily, families


def decided(names: tuple[str, ...]) -> list[tuple[ProfileFamily, Field]]:
    """The decisions of profiles among some requirements."""
    return [
        (family, field)
        for family in families().values()
        for field in family.fields
        if field.requirement in names
    ]


def tells(family: ProfileFamily, field: Field, profile: str, program: dict[str, Any]) -> bool:
    """Whether a program's trace is another when the profile decides otherwise."""
    emulation = load_family(family.name).emulation
    assert emulation is not None
    trace_under = emulation.trace
    mine = family.profiles[profile]

    def told(under: Any) -> str:
        try:
            return json.dumps(trace_under(under, program))
        except NotEmulatedError as error:
            return str(error)

    before = told(mine)
    return any(told(other) != before for other in flipped(family, mine, field.name))


def flipped(family: ProfileFamily, profile: Any, field: str) -> Iterator[Any]:
    """The profile with each other value that the field can have."""
    return framework.flipped(profile, field, family.profiles.values())
