"""One call of an agent from its first hook to its result, whole or as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic, cast

import anyio
import attrs
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

# From typing_extensions for its default: without an output, the object is None.
from typing_extensions import TypeVar

from agentcore.content import ContentPart, GeneratedText
from agentcore.driver.errors import AgentError, UnfinishedStreamError, resumable
from agentcore.driver.loop import Driver
from agentcore.driver.parts import Emit, Parts
from agentcore.driver.stages import Chain
from agentcore.effects import Asked, Done
from agentcore.errors import MissingToolResultsError, RefusedPromptError
from agentcore.events import AgentEvent, RunFinished, RunInterrupted
from agentcore.history import has_begun, one_step, replay
from agentcore.interrupts import InterruptSignal
from agentcore.messages import Message
from agentcore.middleware import AgentStreamContext, AgentStreamStage, Handlers, handlers_of
from agentcore.observe import Observer, Timings
from agentcore.output import Output, OutputError
from agentcore.pending import pending_of
from agentcore.result import AgentResult
from agentcore.run import Failed, Interrupted, Run, give

__all__ = ["AgentStream", "Call", "streaming"]

_T = TypeVar("_T", default=None)


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
        invocation_state: dict[str, Any],
        on_start: Callable[[Run], object] | None = None,
        given_by: str | None = None,
    ) -> None:
        self._begins = run
        self._parts = parts
        self._observer = observer
        self._name = name
        self._output = output
        self._invocation_state = invocation_state
        self._on_start = on_start
        # The hook that returned the messages that the run begins with.
        self._given_by = given_by
        self._handlers = handlers_of(AgentStreamStage, parts.middleware)
        self._driver = self._driver_of(run)

    def _driver_of(self, run: Run) -> Driver:
        return Driver(run, self._parts, self._observer, self._invocation_state)

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
        with self._observer.spans.run(self._name, self._parts.model) as span:
            try:
                if self._handlers is None:
                    return await self._driven(emit)
                return await self._through_handlers(self._handlers, emit)
            finally:
                span.ended(_finish_reason(self.run), self.run.usage)

    async def _driven(self, emit: Emit | None) -> AgentResult[_T]:
        await self._driver.started(self._on_start)
        return self._result_of(await self._driver.drive(emit))

    def _result_of(self, run: Run) -> AgentResult[_T]:
        if isinstance(run.pending, Failed):
            raise AgentError(run, self._named(run, run.pending.error))
        objects = self._objects(run)
        return AgentResult(
            run=run, timings=self.timings, invocation_state=self._invocation_state, objects=objects
        )

    def _named(self, run: Run, error: Exception) -> Exception:
        """The error, with the hook that returned the messages of the run, if they are at fault."""
        if self._given_by is None or not isinstance(error, (RefusedPromptError, MissingToolResultsError)):
            return error
        as_given = run.given is self._begins.given and not run.steps
        return error.by(self._given_by, None) if as_given and error.returned_by is None else error

    def _objects(self, run: Run) -> tuple[_T, ...]:
        if isinstance(run.pending, Interrupted):
            return ()
        if self._output is None:
            return cast("tuple[_T, ...]", (None,))
        result = cast("Done", run.pending).result
        if result.tripwire is not None or pending_of(run):
            return ()
        last = result.steps[-1]
        if any(not call.provider_executed for call in last.tool_calls):
            return ()
        try:
            return (self._output.parse(last.text),)
        except OutputError as error:
            raise AgentError(run, error) from error

    # ------------------------------------------------------------ the stage of the whole call

    async def _through_handlers(self, handlers: Handlers, emit: Emit | None) -> AgentResult[_T]:
        begins = self._begins
        chain = Chain(AgentStreamStage, handlers, self._called, observer=self._observer)
        context = AgentStreamContext(
            messages=begins.chains.initial,
            settings=begins.settings,
            resumed=has_begun(begins),
            invocation_state=self._invocation_state,
            answers=begins.answers,
            answered=self._answered,
        )
        try:
            result = await chain.result(context, emit)
        except InterruptSignal as signal:
            self._driver.run = give(resumable(self.run), Asked([signal.interrupt]))
            return self._result_of(self.run)
        except AgentError:
            raise
        except Exception as error:
            raise AgentError(self.run, error) from error
        self._driver.run = result.run
        return attrs.evolve(result, timings=self.timings, invocation_state=self._invocation_state)

    async def _called(self, context: AgentStreamContext, emit: Emit | None) -> AgentResult[Any]:
        self._driver = self._driver_of(self._begun_with(context))
        return await self._driven(emit)

    def _begun_with(self, context: AgentStreamContext) -> Run:
        begins = self._begins
        if has_begun(begins):  # stage.run-begins-once
            return begins
        if context.messages is begins.chains.initial and context.settings is begins.settings:
            return begins
        # What was asked and answered before it began is in its outcomes.
        return replay(context.settings, context.messages, begins.outcomes)

    def _answered(
        self, context: AgentStreamContext, content: Iterable[ContentPart] | str
    ) -> AgentResult[Any]:
        parts = [GeneratedText(content)] if isinstance(content, str) else content
        return self._result_of(one_step(context.settings, context.messages, parts))


def _finish_reason(run: Run) -> str | None:
    if isinstance(run.pending, Interrupted):
        return "interrupt"
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
    def conversation(self) -> Sequence[Message]:
        """The messages that the next turn begins with, as far as the run has come (`Run.conversation`)."""
        return self.run.conversation

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
            await events.send(_last_event(self._result))


def _last_event(result: AgentResult[Any]) -> AgentEvent:
    if result.interrupts:
        return RunInterrupted(result.interrupts)
    return RunFinished(cast("Done", result.run.pending).result)


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
