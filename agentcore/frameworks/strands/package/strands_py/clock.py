"""A loop of asyncio whose timers take no time."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop in which waiting takes no time: which of two tools ends first does not depend on the machine.

    A program waits for timers alone: where nothing else is left to be done, the time is that of the next.
    """

    def __init__(self) -> None:
        self._skipped = 0.0
        selector = selectors.DefaultSelector()
        select = selector.select

        def skip(timeout: float | None = None) -> Any:
            self._skipped += timeout or 0
            return select(0)

        selector.select = skip  # type: ignore[method-assign]
        super().__init__(selector)

    def time(self) -> float:
        """The seconds that were waited for since the loop began."""
        return self._skipped
