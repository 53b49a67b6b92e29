"""What a named statement of the specification is."""

from __future__ import annotations

from enum import Enum

__all__ = ["Requirement"]


class Requirement(Enum):
    """A named statement of the specification; `value` is the dotted name.

    Each kind is an enum of its own in a module named `rules`: those of the core are in `agentcore.rules`.
    """

    statement: str

    @property
    def text(self) -> str:
        """What the specification says under the name."""
        return self.statement
