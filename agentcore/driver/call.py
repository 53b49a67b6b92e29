"""One call of an agent from its first hook to its result, whole or as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Generic, cast

import anyio
import attrs
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from attrs import field

# From typing_extensions for its default: without an output, the object is None.
from typing_extensions import TypeVar

from agentcore.driver.errors import AgentError, NoObjectError, UnfinishedStreamError
from agentcore.driver.loop import Driver
from agentcore.driver.parts import Emit, Parts
from agentcore.effects import Done, RunResult
from agentcore.events import AgentEvent, RunFinished
from agentcore.hooks import StepRecord
from agentcore.messages import Message
from agentcore.models.base import Usage
from agentcore.observe import Observer, Timings
from agentcore.output import Output, OutputError
from agentcore.processors import Tripwire
from agentcore.run import Failed, Run
from agentcore.values import Vector, sealed

__all__ = ["AgentResult", "AgentStream", "Call", "streaming"]

_T = TypeVar("_T", default=None)


@sealed
@attrs.frozen(kw_only=True)
class AgentResult(Generic[_T]):
    """What a call of an agent came to; `run` is all of it, `timings` are how long it took."""

    run: Run
    timings: Timings = field(eq=False)
    # Empty if there is none.
    _objects: tuple[_T, ...] = field(repr=False)

    @property
    def _result(self) -> RunResult:
        return cast("Done", self.run.pending).result

    @property
    def text(self) -> str:
        """The text of the last step; empty without any."""
        return self._result.text

    @property
    def tripwire(self) -> Tripwire | None:
        """Why a processor ended the run, if one did."""
        return self._result.tripwire

    @property
    def object(self) -> _T:
        """The text of the last step as the agent's output; None for an agent without.

        Raises:
            NoObjectError: if the run ended before the model had answered.
        """
        if not self._objects:
            raise NoObjectError
        return self._objects[0]

    @property
    def steps(self) -> Vector[StepRecord]:
        """The finished steps."""
        return self.run.steps

    @property
    def messages(self) -> Vector[Message]:
        """The messages that the run has produced, to be put after those that it was given."""
        return self.run.chains.response

    @property
    def finish_reason(self) -> str:
        """Why the model stopped in the last step, or "tripwire"."""
        return self._result.finish_reason

    @property
    def usage(self) -> Usage:
        """What all steps used together."""
        return self.run.usage


class Call(Generic[_T]):
    """One call: a run, its driver, and what is made of its end."""

    def __init__(  # noqa: PLR0913 - what a call is made of
        self,
        run: Run,
        parts: Parts,
        observer: Observer,
        *,
        name: str | None,
        output: Output[_T] | None,
        on_start: Callable[[Any], object] | None = None,
        start_event: object = None,
    ) -> None:
        self._driver = Driver(run, parts, observer)
        self._model = parts.model
        self._observer = observer
        self._name = name
        self._output = output
        self._on_start = on_start
        self._start_event = start_event

    @property
    def run(self) -> Run:
        """The run as far as it has come."""
        return self._driver.run

    @property
    def timings(self) -> Timings:
        """The times so far."""
        return self._observer.timings

    async def result(self, emit: Emit | None = None) -> AgentResult[_T]:
        """Run to the end. Raises AgentError, and what cancels it."""
        driver = self._driver
        with self._observer.spans.run(self._name, self._model) as span:
            try:
                await driver.started(self._on_start, self._start_event)
                run = await driver.drive(emit)
            finally:
                span.ended(_finish_reason(driver.run), driver.run.usage)
            if isinstance(run.pending, Failed):
                raise AgentError(run, run.pending.error)
            return AgentResult(run=run, timings=self.timings, objects=self._objects(run))

    def _objects(self, run: Run) -> tuple[_T, ...]:
        if self._output is None:
            return cast("tuple[_T, ...]", (None,))
        result = cast("Done", run.pending).result
        if result.tripwire is not None:
            return ()
        last = result.steps[-1]
        if any(not call.provider_executed for call in last.tool_calls):
            return ()
        try:
            return (self._output.parse(last.text),)
        except OutputError as error:
            raise AgentError(run, error) from error


def _finish_reason(run: Run) -> str | None:
    if isinstance(run.pending, Done):
        return run.pending.result.finish_reason
    return run.steps[-1].finish_reason if run.steps else None


# ---------------------------------------------------------------- streams


class AgentStream(Generic[_T]):
    """The events of a run that is going on; the run waits for each to be taken.

    Iterating raises AgentError where the run fails. Leaving the `async with` before the end cancels the run.
    """

    def __init__(self, call: Call[_T], events: MemoryObjectReceiveStream[AgentEvent]) -> None:
        self._call = call
        self._events = events
        self._result: AgentResult[_T] | None = None
        self._error: Exception | None = None

    @property
    def run(self) -> Run:
        """The run as far as it has come, at any time; Failed after it has failed or was cancelled.

        It can be resumed in any case.
        """
        return self._call.run

    @property
    def timings(self) -> Timings:
        """The times so far; those of models include the waiting for whoever takes the events."""
        return self._call.timings

    def result(self) -> AgentResult[_T]:
        """What it came to.

        Raises:
            AgentError: if the run has failed.
            UnfinishedStreamError: if it has not ended, or was left before its end.
        """
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise UnfinishedStreamError
        return self._result

    def __aiter__(self) -> AgentStream[_T]:
        return self

    async def __anext__(self) -> AgentEvent:
        try:
            return await self._events.receive()
        except anyio.EndOfStream:
            if self._error is not None:
                raise self._error from self._error.__cause__
            raise StopAsyncIteration from None

    async def _drive(self, events: MemoryObjectSendStream[AgentEvent]) -> None:
        with events:
            try:
                self._result = await self._call.result(events.send)
            except Exception as error:  # noqa: BLE001 - raised where the events are taken
                self._error = error
                return
            await events.send(RunFinished(cast("Done", self._result.run.pending).result))


@asynccontextmanager
async def streaming(begin: Callable[[], Awaitable[Call[_T]]]) -> AsyncIterator[AgentStream[_T]]:
    """A stream of a call, which runs in a task of its own for as long as the `async with` lasts."""
    send, receive = anyio.create_memory_object_stream[AgentEvent](0)
    with send, receive:
        stream = AgentStream(await begin(), receive)
        failure: BaseException | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(stream._drive, send)  # noqa: SLF001 - the other half of the stream
            try:
                yield stream
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - raised below: the group would wrap it
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
