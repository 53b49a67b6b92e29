"""One call of an agent from its first hook to its result."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Generic, cast

import anyio
import attrs
from typing_extensions import TypeVar

from agentcore.agent.call.cancelling import Cancellation, cancellations
from agentcore.agent.call.config import Emit, Parts
from agentcore.agent.call.errors import (
    AgentError,
    ForeignCancellationError,
    RunningLoopError,
    resumable,
    signals,
    without_signals,
)
from agentcore.agent.call.loop import Driver
from agentcore.agent.call.stages import Chain
from agentcore.agent.middleware import AgentStreamContext, AgentStreamStage, Handlers
from agentcore.agent.output import Output
from agentcore.agent.result import AgentResult
from agentcore.agent.telemetry import Observer, Timings
from agentcore.errors import MissingToolResultsError, RefusedPromptError
from agentcore.machine.effects import Asked, Done
from agentcore.machine.pending import pending_of
from agentcore.machine.run import Failed, Interrupted, Run, give
from agentcore.messages.content import ContentPart, GeneratedText, check_content
from agentcore.messages.interrupts import InterruptSignal
from agentcore.messages.values import JsonObject, strict_key
from agentcore.records.history import has_begun, one_step, replay

__all__ = ["Call", "blocked_on"]

_T = TypeVar("_T", default=None)
_TASK: Final = "the task of the run"


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
        invocation_state: Any,
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
        self._handlers = parts.handlers_of(AgentStreamStage)
        self._cancellation = Cancellation()
        # Those of this call; a handler may let one of another agent's call through.
        self._errors: list[AgentError] = []
        self._driver = self._driver_of(run)

    def _driver_of(self, run: Run) -> Driver:
        return Driver(run, self._parts, self._observer, self._invocation_state, self._cancellation)

    @property
    def run(self) -> Run:
        """The run as far as it has come."""
        return self._driver.run

    @property
    def timings(self) -> Timings:
        """The times so far."""
        return self._observer.timings

    async def result(self, emit: Emit | None = None) -> AgentResult[_T, Any]:
        """Runs to the end.

        Raises:
            AgentError: if anything fails; it has the run as far as it has come.
            BaseException: what cancels the call, or ends the program.
        """
        await self._cancellation.begin()
        try:
            result = await self._observed(emit)
        except Exception as error:
            await self._cancellation.settle()
            if any(error is one for one in self._errors):
                raise
            raise AgentError(self.run, error) from error
        except cancellations() as error:
            failed = await self._cancellation.failure(error, "the call of the agent")
            raise AgentError(self.run, failed) from failed
        await self._cancellation.settle()
        return result

    async def broken_by(self, error: BaseException) -> AgentError:
        """Makes the failure of a call whose own task somebody has cancelled.

        Raises:
            BaseException: `error` itself if the call was cancelled by a scope around it.
        """
        await self._cancellation.failure(error, _TASK, own_task=True)
        return self.broken(error)

    def broken(self, error: BaseException | None = None) -> AgentError:
        """Makes the failure of a call whose own task has ended without a result."""
        failed = ForeignCancellationError(_TASK)
        failed.__cause__ = error
        return AgentError(self.run, failed)

    async def _observed(self, emit: Emit | None) -> AgentResult[_T, Any]:
        with self._observer.spans.run(self._name, self._parts.model) as span:
            try:
                if self._handlers is None:
                    return await self._driven(emit)
                return await self._through_handlers(self._handlers, emit)
            finally:
                span.ended(self.run)

    async def _driven(self, emit: Emit | None) -> AgentResult[_T, Any]:
        await self._driver.started(self._on_start)
        return self._result_of(await self._driver.drive(emit))

    def _result_of(self, run: Run) -> AgentResult[_T, Any]:
        if isinstance(run.pending, Failed):
            raise self._failed(run, self._named(run, run.pending.error))
        asked = self._asked(run)
        return AgentResult(
            run=run,
            timings=self.timings,
            invocation_state=self._invocation_state,
            response_format=asked,
            objects=self._objects(run, asked),
        )

    def _failed(self, run: Run, error: Exception) -> AgentError:
        self._errors.append(AgentError(run, error))
        return self._errors[-1]

    def _named(self, run: Run, error: Exception) -> Exception:
        """The error, with the hook that returned the messages of the run, if they are at fault."""
        if self._given_by is None or not isinstance(error, (RefusedPromptError, MissingToolResultsError)):
            return error
        as_given = run.given is self._begins.given and not run.steps
        return error.by(self._given_by, None) if as_given and error.returned_by is None else error

    def _asked(self, run: Run) -> JsonObject | None:
        return self._parts.asked_format(run.steps[-1].override.response_format if run.steps else None)

    def _objects(self, run: Run, asked: JsonObject | None) -> tuple[_T, ...]:
        """The object of the run, or none (rule output.of-the-last-step)."""
        if isinstance(run.pending, Interrupted):
            return ()
        if (self._output is not None or asked is not None) and not _has_answered(run):
            return ()
        if asked is None:
            return cast("tuple[_T, ...]", (None,))
        try:
            return (self._output_of(asked).parse(run.steps[-1].text),)
        except Exception as error:
            raise self._failed(run, error) from error

    def _output_of(self, asked: JsonObject) -> Output[Any]:
        """The output that was asked for: a hook's, the call's, or of a saved run what its JSON says."""
        key, own = strict_key(asked), self._output
        if key in self._driver.outputs:
            return self._driver.outputs[key]
        if own is not None and strict_key(own.response_format) == key:
            return own
        return Output.of_format(asked)

    # ------------------------------------------------------------ the stage of the whole call

    async def _through_handlers(self, handlers: Handlers, emit: Emit | None) -> AgentResult[_T, Any]:
        begins = self._begins
        chain = Chain(
            AgentStreamStage,
            handlers,
            self._called,
            observer=self._observer,
            cancellation=self._cancellation,
        )
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
        except BaseException as error:  # noqa: BLE001 - raised, or what is left of it
            asked = signals(error, InterruptSignal)
            if not asked:
                raise without_signals(error)  # noqa: B904 - it is that exception
            self._driver.run = give(resumable(self.run), Asked(signal.interrupt for signal in asked))
            return self._result_of(self.run)
        self._driver.run = result.run
        return attrs.evolve(result, timings=self.timings, invocation_state=self._invocation_state)

    async def _called(self, context: AgentStreamContext, emit: Emit | None) -> AgentResult[Any, Any]:
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
    ) -> AgentResult[Any, Any]:
        parts = [GeneratedText(content)] if isinstance(content, str) else list(content)
        check_content(parts)
        return self._result_of(one_step(context.settings, context.messages, parts))


def _has_answered(run: Run) -> bool:
    """Whether the run ended with an answer of the model, and not with calls or by a processor."""
    if cast("Done", run.pending).result.tripwire is not None or pending_of(run):
        return False
    return all(call.provider_executed for call in run.steps[-1].tool_calls)


_R = TypeVar("_R")


# ---------------------------------------------------------------- calls from code that is not async


def blocked_on(call: Callable[[], Awaitable[_R]], name: str) -> _R:
    """Run the call to its end on an event loop of its own, of asyncio, and return what it returns.

    Context variables are those of the caller. Raises what the call raises, and KeyboardInterrupt once the
    call has been cancelled.

    Raises:
        RunningLoopError: if an event loop runs in this thread, which would stand still meanwhile.
    """
    if _runs_in_loop():
        raise RunningLoopError(name)
    return anyio.run(call)


def _runs_in_loop() -> bool:
    # anyio knows tasks of asyncio and of trio, and raises an error of its own or of sniffio, by its version;
    # a callback of asyncio's loop is in no task.
    for ask in (asyncio.get_running_loop, anyio.get_cancelled_exc_class):
        try:
            ask()
        except RuntimeError:
            continue
        return True
    return False
