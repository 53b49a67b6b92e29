"""What a version of Parrot copies, and what it keeps, as data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

import attrs

from agentcore.kit.framework import decision


class Handed(Enum):
    """What a hook is handed."""

    HISTORY = "the conversation itself"
    COPY = "a copy of it"


@attrs.frozen(kw_only=True)
class ParrotProfile:
    """A version of Parrot."""

    name: str
    package: str

    caller_copied: bool = attrs.field(
        metadata=decision(
            "Whether the conversation is a copy of the caller's list, rather than the list itself.",
            heading="Lists",
        )
    )
    handed: Handed = attrs.field(metadata=decision("What a hook is handed before a step."))
    returned_kept: bool = attrs.field(
        metadata=decision(
            "Whether the list that a hook returns is the conversation from then on, rather than for the step."
        )
    )


FIRST: Final = ParrotProfile(
    name="parrot@1", package="parrot@1", caller_copied=False, handed=Handed.HISTORY, returned_kept=True
)
SECOND: Final = ParrotProfile(
    name="parrot@2", package="parrot@2", caller_copied=True, handed=Handed.COPY, returned_kept=False
)
THIRD: Final = attrs.evolve(SECOND, name="parrot@3", package="parrot@3", returned_kept=True)
PROFILES: Final[Mapping[str, ParrotProfile]] = MappingProxyType(
    {profile.name: profile for profile in (FIRST, SECOND, THIRD)}
)
