"""How much of a value is new when it crosses a boundary."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["CopyDepth"]


class CopyDepth(IntEnum):
    """How much of list -> message -> content -> part -> payload is new when a value crosses a boundary."""

    SHARE = 0
    LIST = 1
    MESSAGE = 2
    CONTENT = 3
    PART = 4
    DEEP = 5
