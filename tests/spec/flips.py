"""Profiles in which one thing is decided otherwise: what shows a requirement tells such a profile apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
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
    before = _traced_by(family.name, profile, json.dumps(program))
    mine = family.profiles[profile]
    return any(_traced(family.name, other, program) != before for other in flipped(family, mine, field.name))


# A program is asked about once for each decision that it cites, one after the other.
@lru_cache(maxsize=4)
def _traced_by(family: str, profile: str, program: str) -> str:
    return _traced(family, families()[family].profiles[profile], json.loads(program))


def _traced(family: str, profile: Any, program: dict[str, Any]) -> str:
    emulation = load_family(family).emulation
    assert emulation is not None
    try:
        return json.dumps(emulation.trace(profile, program))
    except NotEmulatedError as error:
        return str(error)


def flipped(family: ProfileFamily, profile: Any, field: str) -> Iterator[Any]:
    """The profile with each other value that the field can have."""
    return framework.flipped(profile, field, family.profiles.values())
