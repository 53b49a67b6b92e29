"""Cancellations that come out of something that was waited for, while nobody cancels the task that waits."""

from __future__ import annotations

import asyncio

import trio

from agentcore.agent.agent import ForeignCancellationError


async def stray() -> None:
    """Waits for something that another part of the program cancels."""
    if on_asyncio():
        task = asyncio.ensure_future(asyncio.sleep(3600))
        asyncio.get_running_loop().call_soon(task.cancel)
        await task
    # trio has no such thing, but for a Cancelled that somebody has kept.
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as error:
            kept = error
    raise kept


def stray_sync() -> None:
    """Asks for the result of something that was cancelled, as sync code may."""
    loop = asyncio.new_event_loop()
    future = loop.create_future()
    future.cancel()
    loop.close()
    future.result()


def on_asyncio() -> bool:
    try:
        return asyncio.current_task() is not None
    except RuntimeError:
        return False


def requests() -> int:
    """How many requests to cancel this task nobody has taken back; trio has none such."""
    task = asyncio.current_task() if on_asyncio() else None
    return 0 if task is None else task.cancelling()


def is_foreign(error: BaseException | None, source: str) -> bool:
    return isinstance(error, ForeignCancellationError) and error.source == source
