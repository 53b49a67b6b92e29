"""Moments of a run: who held what, and the heap as it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from agentcore.heap.heap import Heap, Store, Value
from agentcore.messages.brief import brief

__all__ = ["Snapshot"]


@attrs.frozen
class Snapshot:
    """Who held what at a moment of the run: holders by name, and the heap as it was."""

    __repr__ = brief

    moment: str
    step: int
    holders: Mapping[str, Value]
    heap: Heap

    def plain(self, holder: str) -> Any:
        """What a holder held, as plain JSON.

        Raises:
            KeyError: if there is no such holder at this moment.
        """
        return Store.of(self.heap).plain(self.holders[holder])

    @property
    def heap_size(self) -> int:
        """How many cells there were."""
        return len(self.heap.cells)
