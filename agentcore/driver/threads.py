"""Sync functions of tools in threads of their own, which a cancelled run waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import anyio
from anyio.to_thread import run_sync

from agentcore.driver.cancelling import Cancellation, outlast

__all__ = ["in_thread"]


async def in_thread(call: Callable[[], Any], cancellation: Cancellation, *, left_behind: bool) -> Any:
    """Calls the function in a thread.

    A thread cannot be stopped. Unless it may be left behind, it is waited for whatever cancels the task
    (rule cancel.waits-for-threads): the scopes of anyio and of trio through the library's shield, the
    cancellation of asyncio, which no shield keeps off, through `Cancellation.hold`.

    Returns:
        What the function returned.

    Raises:
        BaseException: What the function raised, or what cancels the task.
    """
    # Its states settle who is first: a job that was cancelled before its thread took it up never runs.
    job: Future[Any] = Future()

    def work() -> None:
        if job.set_running_or_notify_cancel():
            try:
                job.set_result(call())
            except BaseException as error:  # noqa: BLE001 - raised in the task
                job.set_exception(error)

    try:
        await run_sync(work, abandon_on_cancel=left_behind)
    except asyncio.CancelledError as error:
        if left_behind or job.cancel():
            raise
        await outlast(_end_of(job))
        cancellation.hold(error)
    return job.result()


def _end_of(job: Future[Any]) -> anyio.Event:
    ended, loop = anyio.Event(), asyncio.get_running_loop()
    job.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
    return ended
