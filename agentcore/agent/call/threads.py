"""Sync functions of tools in threads of their own, which a cancelled run waits for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import anyio
from anyio.to_thread import run_sync

from agentcore.agent.call.cancelling import Cancellation, outlast

__all__ = ["in_thread"]


async def in_thread(call: Callable[[], Any], cancellation: Cancellation, *, left_behind: bool) -> Any:
    """Calls the function in a thread.

    A thread cannot be stopped. Unless it may be left behind, it is waited for whatever cancels the task
    (rule cancel.waits-for-threads): the scopes of anyio and of trio through the library's shield, the
    cancellation of asyncio, which no shield keeps off, through `outlast` and `Cancellation.hold`.

    Returns:
        What the function returned.

    Raises:
        BaseException: What the function raised, or what cancels the task.
    """
    job = _Job(call)
    try:
        await run_sync(job.work, abandon_on_cancel=left_behind)
    except asyncio.CancelledError as error:
        if left_behind or job.taken_up.acquire(blocking=False):
            raise  # the thread will do nothing
        await outlast(job.end_in(asyncio.get_running_loop()))
        cancellation.hold(error)
    if job.error is not None:
        raise job.error
    return job.value


class _Job:
    # Not a Future of `concurrent.futures`, whose condition costs a fifth of what a thread's turn does.
    __slots__ = ("call", "error", "has_ended", "taken_up", "tell", "value")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        # Whoever has it first: the thread, which then runs, or a cancellation, after which it does not.
        self.taken_up = threading.Lock()
        self.value: Any = None
        self.error: BaseException | None = None
        self.has_ended = False
        self.tell: Callable[[], object] | None = None

    def work(self) -> None:
        """Does the work, in the thread."""
        if not self.taken_up.acquire(blocking=False):
            return
        try:
            self.value = self.call()
        except BaseException as error:  # noqa: BLE001 - raised in the task
            self.error = error
        self.has_ended = True
        if self.tell is not None:
            self.tell()

    def end_in(self, loop: asyncio.AbstractEventLoop) -> anyio.Event:
        """Returns an event of the loop that is set once the work has been done."""
        ended = anyio.Event()
        self.tell = lambda: loop.call_soon_threadsafe(ended.set)
        # The thread looks for somebody to tell after it has noted its end, so one of the two sees the other.
        if self.has_ended:
            ended.set()
        return ended
