"""Events on their way from a run to whoever reads them, and the task that such a run has."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from agentcore.agent.call.cancelling import outlast, running_task, single_cancellations

__all__ = ["Background", "Handover"]

_E = TypeVar("_E")


class _Offer(Generic[_E]):
    __slots__ = ("event", "taken")

    def __init__(self, event: _E) -> None:
        self.event = event
        self.taken = anyio.Event()


class Handover(Generic[_E]):
    """Passes events on one at a time: whoever puts one waits until it is taken.

    It is not a memory stream of anyio, because that one loses an event if the reader's task is cancelled (by
    a time limit for one event, say) after it was given the event and before it has run.
    """

    def __init__(self) -> None:
        self._offers: deque[_Offer[_E]] = deque()
        self._change = anyio.Event()
        self._is_closed = False

    async def put(self, event: _E) -> None:
        """Offers the event and waits until it is taken."""
        offer = _Offer(event)
        self._offers.append(offer)
        self._change.set()
        try:
            await offer.taken.wait()
        finally:
            if not offer.taken.is_set():
                self._offers.remove(offer)

    async def take(self) -> _E:
        """Returns the next event.

        Raises:
            anyio.EndOfStream: if no event will come any more.
        """
        await checkpoint_if_cancelled()
        while not self._offers:
            if self._is_closed:
                raise anyio.EndOfStream
            if self._change.is_set():
                self._change = anyio.Event()
            await self._change.wait()
        # Nothing is awaited from here on, so that nothing is lost.
        offer = self._offers.popleft()
        offer.taken.set()
        return offer.event

    def close(self) -> None:
        """Ends it: no event will come any more."""
        self._is_closed = True
        self._change.set()


class Background:
    """Runs a function in a task that belongs to no scope and no group of the task that starts it.

    A group of anyio keeps its scope in the task that enters it. A stream in such a group would leave the
    scope behind in its reader's task if the reader drops the stream (a `break` out of a generator around it,
    which the garbage collector closes in another task), and closing it would cancel the reader
    (rule stream.reader-untouched).
    """

    def __init__(self, main: Callable[[], Awaitable[None]], at_end: Callable[[], None]) -> None:
        self._main = main
        self._at_end = at_end
        self._scope = anyio.CancelScope()
        self._ended = anyio.Event()
        self._error: BaseException | None = None
        # The loop itself holds tasks weakly.
        self._task = self._started()

    def _started(self) -> Any:
        name = "agentcore stream"
        if running_task() is not None:
            task = asyncio.create_task(self._run(), name=name)
            # Not at the end of `_run`: a task that is cancelled before its first turn does not run at all.
            task.add_done_callback(lambda _: self._end())
            return task
        # Here, because trio is not installed everywhere.
        import trio  # noqa: PLC0415

        return trio.lowlevel.spawn_system_task(self._run, name=name, context=contextvars.copy_context())

    async def _run(self) -> None:
        try:
            with self._scope:
                await self._main()
        except single_cancellations():
            pass  # of the loop's own end
        except BaseException as error:  # noqa: BLE001 - raised by `close`; it would end all of trio
            self._error = error
        finally:
            self._end()

    def _end(self) -> None:
        self._at_end()
        self._ended.set()

    async def close(self) -> None:
        """Cancels the task and waits for its end.

        Raises:
            asyncio.CancelledError: What cancelled this task meanwhile; it waited all the same.
            BaseException: What the task raised on its way out.
        """
        self._scope.cancel()
        cancelled = await outlast(self._ended)
        if cancelled is not None:
            raise cancelled
        if self._error is not None:
            raise self._error
