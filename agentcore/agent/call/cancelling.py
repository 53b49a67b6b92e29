"""Tells the cancellation of a run from cancellations that come out of foreign code by themselves.

Hooks, models, handlers and tools wait for things of their own: a shared task, a client that others use too.
When somebody cancels such a thing, they raise the same exception as when the run itself is cancelled. Only
the run's own cancellation may end the run (rule cancel.only-the-run); any other is a failure of the code that
raised it (rule cancel.own-error).

How the two are told apart, and why that is enough:

* asyncio cancels a task by `Task.cancel` and by nothing else: `asyncio.timeout`, `wait_for`, `TaskGroup` and
  the scopes of anyio call it, too. `Task.cancelling()` counts these requests, and whoever made one takes it
  back (`uncancel`) after catching the exception. So as long as a request is on its way out through a frame,
  the count is above what it was when the call began. A CancelledError at the old count was not thrown at this
  task: it is the result of something that was awaited, or somebody raised it. Tasks that the driver makes
  begin at 0.
* A scope of anyio on asyncio calls `Task.cancel` one turn later if the task itself cancels it; its effective
  deadline is minus infinity at once.
* trio raises Cancelled only in a cancelled scope and catches it at that scope's edge, so the effective
  deadline decides there. A Cancelled without such a scope is rare: somebody has kept one and raised it again.
* The message of a CancelledError decides nothing: it is that of the task that was cancelled first, whoever's.
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

import anyio
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from agentcore.agent.call.errors import ForeignCancellationError

__all__ = [
    "Background",
    "Cancellation",
    "Handover",
    "cancellations",
    "has_cancellation",
    "outlast",
    "running_task",
    "single_cancellations",
]

# A cancellation takes a turn of the loop for each task that it passes on: the reader's of a stream, the
# run's, those of handlers and of calls.
_TURNS: Final = 8


def running_task() -> asyncio.Task[Any] | None:
    """Returns the current task of asyncio, None on trio."""
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop of asyncio is running
        return None


def single_cancellations() -> tuple[type[BaseException], ...]:
    """Returns the types of exceptions that are a cancellation.

    Both libraries count, whichever runs: a sync tool may run the other one in its thread.
    """
    trio = sys.modules.get("trio")
    return (asyncio.CancelledError,) if trio is None else (asyncio.CancelledError, trio.Cancelled)


def cancellations() -> tuple[type[BaseException], ...]:
    """Returns what an `except` clause names where a cancellation may come alone or in a group."""
    return (*single_cancellations(), BaseExceptionGroup)


def _is_cancellation(error: BaseException) -> bool:
    """Returns whether it is a cancellation, or a group of cancellations, maybe with exceptions among them."""
    kinds = single_cancellations()
    if isinstance(error, BaseExceptionGroup):
        only_these = error.split((*kinds, Exception))[1] is None
        return only_these and not isinstance(error, Exception)
    return isinstance(error, kinds)


def has_cancellation(error: BaseException) -> bool:
    """Returns whether it is a cancellation, or a group that has one in it."""
    kinds = single_cancellations()
    if isinstance(error, BaseExceptionGroup):
        return error.split(kinds)[0] is not None
    return isinstance(error, kinds)


def _is_scope_cancelled() -> bool:
    return anyio.current_effective_deadline() == -math.inf


async def outlast(ended: anyio.Event) -> asyncio.CancelledError | None:
    """Waits for the event, whatever cancels the task meanwhile.

    Returns:
        The first cancellation of asyncio's own that came: shields of anyio do not keep those off.
    """
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not ended.is_set():
            try:
                await ended.wait()
            except asyncio.CancelledError as error:
                cancelled = cancelled or error
    return cancelled


class Cancellation:
    """Knows whether a call of an agent is being cancelled; one for each call."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._before = 0
        self._held: asyncio.CancelledError | None = None
        self._is_asked_again = False

    async def begin(self) -> None:
        """Notes what the count of this task is before the call.

        Raises:
            asyncio.CancelledError: if a cancellation was requested before that has not arrived yet.
        """
        self._task = running_task()
        if self._task is not None and self._task.cancelling():
            await checkpoint()
            self._before = self._task.cancelling()

    def _is_under_way(self, *, own_task: bool = False) -> bool:
        task = running_task()
        return (task is not None and not own_task and self._is_requested(task)) or _is_scope_cancelled()

    def _is_requested(self, task: asyncio.Task[Any]) -> bool:
        return task.cancelling() > (self._before if task is self._task else 0)

    async def failure(
        self, error: BaseException, source: str, *, own_task: bool = False
    ) -> ForeignCancellationError:
        """Makes an error of a cancellation that came out of foreign code.

        Args:
            error: What was raised, one of `cancellations()`.
            source: Who raised it, such as "tool 'look'".
            own_task: Whether this is the outermost place in a task that the driver made: a request to cancel
                that task then came from nobody who would wait for it there, so only scopes count.

        Returns:
            An error that names the source.

        Raises:
            BaseException: `error` itself if the call is being cancelled, or if it is no cancellation.
        """
        if not _is_cancellation(error) or self._is_under_way(own_task=own_task):
            raise error
        # Of two cancellations at the same time, the run's may be the one that has not arrived yet. It arrives
        # here, and is the one that counts (rule cancel.only-the-run).
        for _ in range(_TURNS):
            await checkpoint()
        failed = ForeignCancellationError(source)
        failed.__cause__ = error
        return failed

    # ------------------------------------------------------------ cancellations that arrive later

    def hold(self, error: asyncio.CancelledError) -> None:
        """Notes that a tool had a cancellation of the call's task, and that it did not end the call.

        Tasks that the driver made for calls of tools are passed over: nobody who cancels one waits for it.
        """
        if running_task() is self._task:
            self._held = error

    @property
    def requests(self) -> int:
        """The requests to cancel this task that nobody has taken back."""
        try:  # not by `running_task`, because each call of a tool asks
            task = asyncio.current_task()
        except RuntimeError:
            return 0
        return 0 if task is None else task.cancelling()

    def hold_since(self, requests: int) -> None:
        """Notes a cancellation that a tool answered with another error, if there are more requests now."""
        if self.requests > requests:
            self.hold(asyncio.CancelledError())

    def release(self) -> None:
        """Requests again what was held, so that it arrives at the next `await`.

        The count stays as it was. Nothing is requested if whoever made the request has taken it back, as a
        time limit in a handler does, nor in a scope that is cancelled, which requests it again by itself.
        """
        if self._held is None or self._task is None or running_task() is not self._task:
            return
        error, self._held = self._held, None
        if self._is_requested(self._task) and not _is_scope_cancelled():
            self._task.uncancel()
            self._task.cancel(*error.args)
            self._is_asked_again = True

    async def settle(self) -> None:
        """Ends the call with the cancellation that was requested again, if no `await` has come since.

        After the call it would hit code that has nothing to do with the run.
        """
        if self._is_asked_again:
            self._is_asked_again = False
            await checkpoint()


# ---------------------------------------------------------------- events on their way to a reader

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
