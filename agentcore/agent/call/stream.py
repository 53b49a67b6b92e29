"""A call of an agent as a stream of events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Final, Generic, NoReturn, cast

import anyio

# From typing_extensions for its default: without an output, the object is None.
from typing_extensions import TypeVar

from agentcore.agent.call.call import Call
from agentcore.agent.call.config import cancellations
from agentcore.agent.call.errors import ClosedStreamError, UnfinishedStreamError
from agentcore.agent.call.stages import Background, Handover
from agentcore.agent.events import AgentEvent, RunFinished, RunInterrupted
from agentcore.agent.output import AgentResult
from agentcore.agent.telemetry import Timings
from agentcore.conversations.conversation import Conversation
from agentcore.machine.effects import Done
from agentcore.machine.processors import State
from agentcore.machine.run import Run

__all__ = ["AgentStream", "Streaming"]

_LEFT: Final = (
    "the stream was left: iterate over it inside of its `async with`; its `run` is still there, and its "
    "`result()` if it had ended"
)
_ENTERED: Final = "the stream was entered before, and has one run: call `agent.stream(...)` again for another"
_NOT_ENTERED: Final = (
    "enter the stream first: `async with agent.stream(...) as stream: async for event in stream: ...`"
)

_T = TypeVar("_T", default=None)


class AgentStream(Generic[_T, State]):
    """The events of a run that is going on; the run waits for each to be taken.

    Iterating raises AgentError where the run fails. Leaving the `async with` before the end cancels the run,
    and nothing else: the task that reads the stream goes on (rule stream.reader-untouched).
    """

    def __init__(self, call: Call[_T]) -> None:
        self._call = call
        self._events: Handover[AgentEvent] = Handover()
        self._result: AgentResult[_T, Any] | None = None
        self._failure: BaseException | None = None
        self._is_left = False
        self._is_raised = False

    @property
    def run(self) -> Run:
        """The run as far as it has come, at any time; Failed after it has failed or was cancelled.

        It can be resumed in any case.
        """
        return self._call.run

    @property
    def conversation(self) -> Conversation:
        """The conversation with the turn as far as the run has come (`AgentResult.conversation`)."""
        return self._call.conversation

    @property
    def timings(self) -> Timings:
        """The times so far; those of models include the waiting for whoever takes the events."""
        return self._call.timings

    def result(self) -> AgentResult[_T, State]:
        """Returns what the run came to; also after the `async with`.

        Raises:
            AgentError: if the run has failed.
            UnfinishedStreamError: if it has not ended, or was left before its end.
        """
        if self._failure is not None:
            raise self._failure
        if self._result is None:
            raise UnfinishedStreamError
        return self._result

    def __aiter__(self) -> AgentStream[_T, State]:
        return self

    async def __anext__(self) -> AgentEvent:
        if not self._is_left:
            try:
                return await self._events.take()
            # No event is left; below follows why: it was left, it failed, or it has ended.
            except anyio.EndOfStream:
                pass
        if self._is_left:
            raise ClosedStreamError(_LEFT)
        if self._failure is not None:
            self._is_raised = True
            raise self._failure from self._failure.__cause__
        if self._result is None:  # somebody cancelled the task of the run before its first turn
            raise self._call.broken()
        raise StopAsyncIteration from None

    # ------------------------------------------------------------ the run's task

    async def _drive(self) -> None:
        try:
            self._result = await self._call.result(self._events.put)
            await self._events.put(_last_event(self._result))
        except cancellations() as error:
            self._failure = await self._call.broken_by(error)
        except BaseException as error:  # noqa: BLE001 - raised where the events are taken
            self._failure = error

    @asynccontextmanager
    async def _running(self) -> AsyncIterator[AgentStream[_T, State]]:
        task = Background(self._drive, self._events.close)
        try:
            yield self
        finally:
            self._is_left = True
            await task.close()
        # KeyboardInterrupt and the like must not vanish with a stream that was left before its end. An
        # Exception is in `result()`, and is not raised on top of what made the reader leave.
        if self._failure is not None and not isinstance(self._failure, Exception) and not self._is_raised:
            raise self._failure


def _last_event(result: AgentResult[Any, Any]) -> AgentEvent:
    if result.interrupts:
        return RunInterrupted(result.interrupts)
    return RunFinished(cast("Done", result.run.pending).result)


# ---------------------------------------------------------------- entering one


class Streaming(AbstractAsyncContextManager[AgentStream[_T, State]]):
    """A stream that has not begun: `async with agent.stream(...) as stream` begins it, once."""

    def __init__(self, begin: Callable[[], Awaitable[Call[_T]]]) -> None:
        self._begin = begin
        self._is_entered = False
        self._running: AbstractAsyncContextManager[AgentStream[_T, State]] | None = None

    async def __aenter__(self) -> AgentStream[_T, State]:
        if self._is_entered:
            raise ClosedStreamError(_ENTERED)
        # Before the await: a second `async with` may come while the first is still beginning.
        self._is_entered = True
        stream: AgentStream[_T, State] = AgentStream(await self._begin())
        self._running = stream._running()  # noqa: SLF001 - the other half of the stream
        return await self._running.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._running is None:
            raise ClosedStreamError(_NOT_ENTERED)
        return await self._running.__aexit__(kind, error, trace)

    def __aiter__(self) -> NoReturn:
        raise ClosedStreamError(_NOT_ENTERED)

    def __await__(self) -> Generator[Any, Any, NoReturn]:
        raise ClosedStreamError(_NOT_ENTERED)
