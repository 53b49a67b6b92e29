"""Runs on what a hook leaves behind, tasks and threads, while the model is called.

A model call takes seconds of the hook's own time and none of the machine's (rule live.late). Runs under the
interpreter of whoever's hook is checked: standard library only.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final

__all__ = ["Left"]

_MODEL_CALL: Final = 60.0  # seconds of the hook's own time
_STEPS: Final = 14  # the first of them is short, and each twice as long as the one before
_ROUNDS: Final = 3
# A thread that waits for something that never comes would otherwise cost its whole time in each of hundreds
# of runs.
_PATIENCE: Final = 0.3  # seconds of the machine's that threads are waited for

_of_hook: ContextVar[Left | None] = ContextVar("of_hook", default=None)


class Left:
    """The tasks and threads that the hook of one run has left running."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[Any]] = set()
        self._threads: list[threading.Thread] = []
        self._futures: list[Future[Any]] = []
        self._clocks: dict[asyncio.AbstractEventLoop, _Clock] = {}

    @contextmanager
    def by_hook(self, *, is_hook: bool = True) -> Iterator[None]:
        """Counts what is begun in the block as the hook's; as the framework's where a hook calls on."""
        token = _of_hook.set(self if is_hook else None)
        try:
            yield
        finally:
            with suppress(ValueError):  # a generator may be closed in another context
                _of_hook.reset(token)

    def each(self, values: Iterable[Any]) -> Iterator[Any]:
        """Yields what a generator of the hook's yields; between two values the framework goes on."""
        iterator, end = iter(values), object()
        while True:
            with self.by_hook():
                value = next(iterator, end)
            if value is end:
                return
            yield value

    async def each_async(self, values: AsyncIterable[Any]) -> AsyncIterator[Any]:
        """Yields what an async generator of the hook's yields, likewise."""
        iterator = aiter(values)
        while True:
            try:
                with self.by_hook():
                    value = await anext(iterator)
            except StopAsyncIteration:
                return
            yield value

    def watch_tasks(self) -> None:
        """Notes the tasks that the hook begins in the event loop that runs; nothing without one."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if loop in self._clocks:
            return
        self._clocks[loop] = _Clock(loop)
        before = loop.get_task_factory()

        def make(of: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
            made = before(of, coroutine, **options) if before else asyncio.Task(coroutine, loop=of, **options)
            if _of_hook.get() is self:
                self._tasks.add(made)
            return made

        loop.set_task_factory(make)

    async def settle(self) -> None:
        """Lets the hook's tasks and threads go on for as long as a model call takes."""
        self.settle_threads()
        loop = asyncio.get_running_loop() if self._tasks else None
        if loop is None or loop not in self._clocks:
            return
        # In growing steps, so that what sleeps for a moment and what sleeps for half a minute go on in
        # their order, and not all at once.
        seconds = _MODEL_CALL / (1 << _STEPS)
        for _ in range(_STEPS):
            # A task that goes on may wake another one, which needs a turn of its own.
            for _ in range(_ROUNDS):
                await asyncio.sleep(0)
            self._tasks = {each for each in self._tasks if not each.done()}
            if not self._tasks:
                return
            self._clocks[loop].ahead += seconds
            seconds *= 2

    def settle_threads(self) -> None:
        """Waits for the hook's threads and calls of executors, but not for long."""
        if not self._threads and not self._futures:
            return
        end = time.monotonic() + _PATIENCE
        wait_for(self._futures, timeout=_PATIENCE)
        for each in self._threads:
            each.join(max(0.0, end - time.monotonic()))
        self._futures.clear()
        self._threads.clear()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Notes the threads that the hook begins in the block; there, its timers and sleeps take no time."""
        start, submit, sleep = threading.Thread.start, ThreadPoolExecutor.submit, time.sleep
        own: set[int] = set()

        def marked(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
            own.add(threading.get_ident())
            try:
                return call(*args, **options)
            finally:
                own.discard(threading.get_ident())

        def start_noted(thread: threading.Thread) -> None:
            if _of_hook.get() is self and not _is_of_an_executor(thread):
                self._threads.append(thread)
                # It waits on an event and not by `time.sleep`, which is the only sleep that is replaced
                # here.
                if isinstance(thread, threading.Timer):
                    thread.interval = 0.0
                setattr(thread, "run", functools.partial(marked, thread.run))  # noqa: B010 - of this one only
            start(thread)

        def submit_noted(executor: Any, call: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
            if _of_hook.get() is not self:
                return submit(executor, call, *args, **options)
            made = submit(executor, functools.partial(marked, call), *args, **options)
            self._futures.append(made)
            return made

        def sleep_noted(seconds: float) -> None:
            sleep(0 if threading.get_ident() in own else seconds)

        _patch(start_noted, submit_noted, sleep_noted)
        try:
            yield
        finally:
            _patch(start, submit, sleep)


def _patch(start: Any, submit: Any, sleep: Any) -> None:
    setattr(threading.Thread, "start", start)  # noqa: B010 - put back at the end of the run
    setattr(ThreadPoolExecutor, "submit", submit)  # noqa: B010 - as above
    setattr(time, "sleep", sleep)  # noqa: B010 - as above


def _is_of_an_executor(thread: threading.Thread) -> bool:
    """True for a worker thread of an executor: it waits for more calls and does not end with its first."""
    target = getattr(thread, "_target", None)
    return getattr(target, "__module__", None) == ThreadPoolExecutor.__module__


class _Clock:
    """The clock of an event loop, which can be put ahead."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.ahead = 0.0
        time_of_loop = loop.time
        with suppress(AttributeError):  # a loop that is written in C waits by its own clock
            setattr(loop, "time", lambda: time_of_loop() + self.ahead)  # noqa: B010 - of this loop only
