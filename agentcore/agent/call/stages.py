"""The handlers of a stage, run around what it is of; and how events get from there to a reader."""

from __future__ import annotations

import asyncio
import contextvars
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing
from functools import partial
from typing import Any, Final, Generic, TypeAlias, TypeVar

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from agentcore.agent.call.checks import check_given, check_passed
from agentcore.agent.call.config import (
    Cancellation,
    awaited,
    cancellations,
    outlast,
    running_task,
    single_cancellations,
)
from agentcore.agent.middleware import Handlers, Middleware, Stage
from agentcore.agent.telemetry import Observer
from agentcore.machine.hooks import handing

__all__ = ["Background", "Chain", "Handover", "Tell"]

_C = TypeVar("_C")
_R = TypeVar("_R")
_E = TypeVar("_E")

Tell: TypeAlias = Callable[[_E], Awaitable[None]] | None
"""Whom to notify of events; None where nobody takes them."""

_TASK: Final = "a call of `call_next`"


class Chain(Generic[_C, _R, _E]):
    """One call of a stage, with its handlers around it (rule stage.order)."""

    def __init__(  # noqa: PLR0913 - what a call is made with
        self,
        stage: Stage[_C, _R, _E],
        handlers: Handlers,
        inner: Callable[[_C, Tell[_E]], Awaitable[_R]],
        *,
        observer: Observer,
        cancellation: Cancellation,
        step_number: int | None = None,
    ) -> None:
        self._stage = stage
        self._handlers = handlers
        self._inner = inner
        self._observer = observer
        self._cancellation = cancellation
        self._step_number = step_number

    async def result(self, context: _C, tell: Tell[_E]) -> _R:
        """The outcome. Raises what a handler raised, or let pass."""
        context = await self._prepared(context)
        result = await self._around(0, context, tell)
        return await self._finished(context, result)

    # ------------------------------------------------------------ input and output

    async def _prepared(self, context: _C) -> _C:
        for one in self._handlers.inputs:
            with self._observer.handler(one.stage.name, one.phase, one.name, self._step_number) as span:
                passed = await self._handled(one, context)
                if passed is not None:
                    span.called(context, self._checked(one, passed))
                    context = passed
        return context

    async def _finished(self, context: _C, result: _R) -> _R:
        for one in self._handlers.outputs:
            with self._observer.handler(one.stage.name, one.phase, one.name, self._step_number) as span:
                given = await self._handled(one, context, result)
                if given is not None:
                    span.gave(result, self._result(one, given))
                    result = given
        return result

    async def _handled(self, one: Middleware, *arguments: object) -> Any:
        given = (
            arguments[0] if len(arguments) == 1 else dict(zip(("context", "result"), arguments, strict=True))
        )
        try:
            with self._handing(one, given):
                return await awaited(one.handler(*arguments))
        except cancellations() as error:
            raise await self._failure(one, error) from error

    def _handing(self, one: Middleware, given: object) -> handing:
        return handing(one.name, "middleware", self._step_number, given)

    async def _failure(self, one: Middleware, error: BaseException) -> Exception:
        # cancel.own-error
        return await self._cancellation.failure(error, f"{one.stage.name} {one.phase} handler '{one.name}'")

    def _checked(self, one: Middleware, passed: _C) -> _C:
        if not isinstance(passed, self._stage.context):
            kind = self._stage.context.__name__
            raise one.error(f"pass on {kind}, made with attrs.evolve, not {type(passed).__name__}")
        check_passed(one, passed)
        return passed

    def _result(self, one: Middleware, given: object) -> Any:
        if not isinstance(given, self._stage.results):
            kinds = " or ".join(kind.__name__ for kind in self._stage.results)
            raise one.error(f"return {kinds}, not {type(given).__name__}")
        check_given(one, given)
        return given

    # ------------------------------------------------------------ wraps

    async def _around(self, index: int, context: _C, tell: Tell[_E]) -> _R:
        """The wraps from this one on, and inside of them what the stage is of."""
        if index == len(self._handlers.wraps):
            return await self._inner(context, tell)
        wrap = self._handlers.wraps[index]
        calls: list[_Call[_R, _E]] = []
        with self._observer.handler(wrap.stage.name, wrap.phase, wrap.name, self._step_number) as span:

            def call_next(passed: _C) -> _Call[_R, _E]:
                span.called(context, self._checked(wrap, passed))
                inner = partial(self._around, index + 1, passed)
                calls.append(_Call(inner, tell, self._cancellation))
                return calls[-1]

            try:
                with self._handing(wrap, context):
                    made = await self._await_result(wrap, wrap.handler(context, call_next), tell)
                result: _R = self._result(wrap, made)
            except cancellations() as error:
                raise await self._failure(wrap, error) from error
            # Whatever the wrap did: a call that it began and did not read to the end would go on beside the
            # run.
            finally:
                for call in calls:
                    await call.close()
            span.gave(next((call.result for call in reversed(calls) if call.has_result), None), result)
            return result

    async def _await_result(self, wrap: Middleware, made: object, tell: Tell[_E]) -> object:
        if isinstance(made, Awaitable):
            return await made
        if not isinstance(made, AsyncGenerator):
            raise wrap.error(f"use `async def`: it gave {type(made).__name__}")
        results: list[object] = []
        async with aclosing(made) as items:
            async for item in items:
                is_event = isinstance(item, self._stage.events)
                if not is_event:
                    self._result(wrap, item)
                if results:
                    raise wrap.error(f"the result is the last item: it gave {type(item).__name__} after it")
                if not is_event:
                    results.append(item)
                elif tell is not None:
                    check_given(wrap, item)
                    await tell(item)
        if not results:
            raise wrap.error("yield the result as the last item, such as `call.result`")
        return results[0]


class _Call(Generic[_R, _E]):
    """A call of what is inside of a wrap (`agentcore.agent.middleware.NextCall`)."""

    def __init__(
        self,
        run: Callable[[Tell[_E]], Awaitable[_R]],
        tell: Tell[_E],
        cancellation: Cancellation,
    ) -> None:
        self._run = run
        self._tell = tell
        self._cancellation = cancellation
        self._begun = False
        self._results: list[_R] = []
        self._feed: _Feed[_R, _E] | None = None

    @property
    def has_result(self) -> bool:
        """Whether the call has ended without an error."""
        return bool(self._results)

    @property
    def result(self) -> _R:
        """The result. Raises LookupError if there is none."""
        if not self._results:
            raise LookupError("the call has no result: it has not ended, or not well; `await` it first")
        return self._results[0]

    def __await__(self) -> Generator[Any, Any, _R]:
        return self._awaited().__await__()

    async def _awaited(self) -> _R:
        if self._feed is not None:
            async for event in self:
                await self._feed.outwards(event)
        elif not self._begun:
            self._begun = True
            self._results.append(await self._run(self._tell))
        return self.result

    def __aiter__(self) -> _Call[_R, _E]:
        return self

    async def __anext__(self) -> _E:
        if self._feed is None:
            if self._tell is None or self._begun:
                await self
                raise StopAsyncIteration
            self._begun = True
            self._feed = _Feed(self._run, self._tell, self._results, self._cancellation)
        return await self._feed.event()

    async def close(self) -> None:
        """End it, if somebody has iterated over its beginning only."""
        if self._feed is not None:
            await self._feed.close()


class _Feed(Generic[_R, _E]):
    """A call that runs in a task of its own and waits for each of its events to be taken."""

    def __init__(
        self,
        run: Callable[[Tell[_E]], Awaitable[_R]],
        outwards: Callable[[_E], Awaitable[None]],
        results: list[_R],
        cancellation: Cancellation,
    ) -> None:
        self.outwards = outwards
        self._run = run
        self._results = results
        self._cancellation = cancellation
        self._events: Handover[_E] = Handover()
        self._error: BaseException | None = None
        # In no scope of the handler's: it may begin in one and go on outside of it.
        self._task = Background(self._guarded, self._events.close)

    async def _guarded(self) -> None:
        try:
            self._results.append(await self._run(self._events.put))
        except cancellations() as error:
            self._error = await self._cancellation.failure(error, _TASK, own_task=True)
        except BaseException as error:  # noqa: BLE001 - raised where the events are taken
            self._error = error

    async def event(self) -> _E:
        """The next event. Raises StopAsyncIteration at the end, or what the call raised."""
        try:
            return await self._events.take()
        except anyio.EndOfStream:
            pass
        except single_cancellations():
            # An awaited call has ended before its caller goes on; a stream does the same.
            await self.close()
            raise
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def close(self) -> None:
        """Cancel what still runs, and wait for it. Raises what cancels this task meanwhile."""
        await self._task.close()


# ---------------------------------------------------------------- events on their way to a reader


class _Signal:
    """An `asyncio.Event` that is set once, in half of the time: a stream makes two for each event."""

    __slots__ = ("_is_set", "_waiting")

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: list[asyncio.Future[None]] = []

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        for future in self._waiting:
            if not future.done():  # as that of a task that was cancelled is
                future.set_result(None)

    async def wait(self) -> None:
        if not self._is_set:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future


_Event: TypeAlias = _Signal | anyio.Event


class _Offer(Generic[_E]):
    __slots__ = ("event", "taken")

    def __init__(self, event: _E, taken: _Event) -> None:
        self.event = event
        self.taken = taken


class Handover(Generic[_E]):
    """Passes events on one at a time: whoever puts one waits until it is taken.

    It is not a memory stream of anyio, because that one loses an event if the reader's task is cancelled (by
    a time limit for one event, say) after it was given the event and before it has run.
    """

    def __init__(self) -> None:
        self._offers: deque[_Offer[_E]] = deque()
        # Each of anyio's finds out anew which library runs, which costs as much as a switch of tasks.
        self._event: type[_Event] = anyio.Event if running_task() is None else _Signal
        self._change = self._event()
        self._is_closed = False

    async def put(self, event: _E) -> None:
        """Offers the event and waits until it is taken."""
        offer = _Offer(event, self._event())
        self._offers.append(offer)
        self._change.set()
        try:
            await offer.taken.wait()
        finally:
            # The writer was cancelled: a reader must not get an event that nobody waits to have taken.
            if not offer.taken.is_set():
                self._offers.remove(offer)

    async def take(self) -> _E:
        """Returns the next event.

        Raises:
            anyio.EndOfStream: if no event will come any more.
        """
        if self._offers or self._is_closed:  # else waiting, below, is one
            await checkpoint_if_cancelled()
        while not self._offers:
            if self._is_closed:
                raise anyio.EndOfStream
            if self._change.is_set():
                self._change = self._event()
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
