"""How a run of the loop ended, and who held what on the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from agentcore.compat.heap import UNDEFINED, Heap, Ref, Store, Value


@attrs.define
class Outcome:
    """How a run ended: `steps` is the result's list of steps, None if the caller gets no result.

    `hung` tells that the real result would never settle.
    """

    error: BaseException | None = None
    steps: Ref | None = None
    finish_reason: Value = UNDEFINED
    hung: bool = False


@attrs.frozen
class Snapshot:
    """Who held what at a moment of the run: holders by name, and the heap as it was."""

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
