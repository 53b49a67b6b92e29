"""The vectors of the specification, which a process of the tests reads once."""

from __future__ import annotations

from typing import Final

from agentcore.oracle.spec.vectors import Vector, load
from spec.requirements import SPEC

ALL: Final[tuple[Vector, ...]] = tuple(load(SPEC / "vectors"))


def of(profile: str) -> tuple[Vector, ...]:
    """The vectors of one version."""
    return tuple(vector for vector in ALL if vector.profile == profile)
