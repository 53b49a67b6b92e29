"""Calls of an agent from code that is not async."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from agentcore.agent.call.errors import RunningLoopError

__all__ = ["blocked_on"]

_R = TypeVar("_R")


def blocked_on(call: Callable[[], Awaitable[_R]], name: str) -> _R:
    """Run the call to its end on an event loop of its own, of asyncio, and return what it returns.

    Context variables are those of the caller. Raises what the call raises, and KeyboardInterrupt once the
    call has been cancelled.

    Raises:
        RunningLoopError: if an event loop runs in this thread, which would stand still meanwhile.
    """
    if _runs_in_loop():
        raise RunningLoopError(name)
    return anyio.run(call)


def _runs_in_loop() -> bool:
    # anyio knows tasks of asyncio and of trio, and raises an error of its own or of sniffio, by its version;
    # a callback of asyncio's loop is in no task.
    for ask in (asyncio.get_running_loop, anyio.get_cancelled_exc_class):
        try:
            ask()
        except RuntimeError:
            continue
        return True
    return False
