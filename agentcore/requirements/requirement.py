"""What a named statement of the specification is."""

from __future__ import annotations

from enum import Enum
from typing import Self

__all__ = ["Requirement", "SourcedRequirement"]


class Requirement(Enum):
    """A named statement of the specification; `value` is the dotted name.

    Each kind is an enum of its own in a module named `rules`: those of the core are in
    `agentcore.requirements.rules`.
    """

    statement: str

    def __new__(cls, name: str, statement: str) -> Self:
        """Take name and statement from the member's definition."""
        requirement = object.__new__(cls)
        requirement._value_ = name
        requirement.statement = statement
        return requirement

    @property
    def text(self) -> str:
        """What the specification says under the name."""
        return self.statement


class SourcedRequirement(Requirement):
    """A requirement with its source: a measured claim, a package, or the core."""

    source: str

    def __new__(cls, name: str, statement: str, source: str) -> Self:
        """Take name, statement and source from the member's definition."""
        requirement = object.__new__(cls)
        requirement._value_ = name
        requirement.statement = statement
        requirement.source = source
        return requirement
