"""The needs of a run that models and tools answer."""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
import attrs
from anyio.lowlevel import checkpoint
from anyio.to_thread import run_sync

from agentcore.agent.call.config import Cancellation, cancellations, has_cancellation, outlast
from agentcore.agent.call.errors import ChunkHookError, ForeignCancellationError, signals
from agentcore.agent.call.stages import Chain, Tell
from agentcore.agent.events import ChunkEvent, ModelRetry, ToolFinished, ToolProgress, ToolStarted
from agentcore.agent.middleware import ExecuteToolContext, ExecuteToolStage, Handlers, ModelDelta, ToolOutcome
from agentcore.agent.models.base import (
    InvalidResponseError,
    LanguageModel,
    ModelError,
    ModelRequest,
    ModelResponse,
    ResponseDone,
    check_event,
    check_response,
    unfinished_stream,
)
from agentcore.agent.telemetry import Observer, ToolSpan
from agentcore.agent.tools import Arguments, Tool, ToolContext
from agentcore.machine.effects import (
    Asked,
    NeedApprovals,
    NeedTools,
    ToolFailed,
    ToolOutcomes,
    ToolsFailed,
    ToolSucceeded,
)
from agentcore.machine.hooks import handing
from agentcore.machine.run import Run
from agentcore.messages.content import ToolCall
from agentcore.messages.interrupts import Interrupt, InterruptSignal
from agentcore.messages.readonly import refused_write_in

if TYPE_CHECKING:
    import tenacity

__all__ = ["LONGEST_WAIT", "ModelCall", "ReadCalls", "ToolCalls", "context_of", "in_thread"]

_LOG: Final = logging.getLogger("agentcore")

_Listener: TypeAlias = Callable[[ModelDelta], Awaitable[None]]
_End: TypeAlias = ModelResponse | ChunkHookError | InvalidResponseError | None

LONGEST_WAIT: Final = 60.0
"""A provider that says to come back after more seconds than these fails the call: the caller decides then."""


class ModelCall:
    """One call of a model in one step, with all its attempts."""

    def __init__(  # noqa: PLR0913 - what a call is made of
        self,
        model: LanguageModel,
        request: ModelRequest,
        *,
        step_number: int,
        max_retries: int,
        observer: Observer,
        cancellation: Cancellation,
        tell: Tell[ModelDelta],
        tell_retry: Callable[[ModelRetry], Awaitable[None]],
    ) -> None:
        self._model = model
        self._request = request
        self._step_number = step_number
        self._max_retries = max_retries
        self._observer = observer
        self._cancellation = cancellation
        self._tell = tell
        self._tell_retry = tell_retry
        # Whether a reader has seen part of the answer: then the model is not asked again.
        self._has_begun = False

    async def answer(self) -> ModelResponse:
        """The model's answer. Raises what the last attempt raised, or ChunkHookError."""
        try:
            return await self._attempt()
        except ModelError as error:
            if not self._may_help(error):
                raise
            return await self._again(error)

    async def _again(self, first: ModelError) -> ModelResponse:
        """The answer of a later attempt; the first, which has failed, counts as one."""
        failed: ModelError | None = first

        async def attempt() -> ModelResponse:
            nonlocal failed
            # The first attempt was made outside of tenacity, which is imported only when something failed:
            # most calls never need it.
            if failed is None:
                return await self._attempt()
            error, failed = failed, None
            raise error

        import tenacity  # noqa: PLC0415 - with the first failure

        # The random part keeps runs that a provider refused at the same moment from coming back at the same
        # moment.
        backoff = tenacity.wait_exponential(multiplier=0.5, max=8.0) + tenacity.wait_random(0.0, 0.5)

        def wait(state: tenacity.RetryCallState) -> float:
            after = _after(_error(state))
            return backoff(state) if after is None else after

        attempts = tenacity.AsyncRetrying(
            sleep=anyio.sleep,
            stop=tenacity.stop_after_attempt(self._max_retries + 1),
            wait=wait,
            retry=tenacity.retry_if_exception(self._may_help),
            before_sleep=self._before_sleep,
            reraise=True,
        )
        return await attempts(attempt)

    async def _attempt(self) -> ModelResponse:
        spans, model, stream = self._observer.spans, self._model, self._tell is not None
        with (
            self._observer.timed("model", model.model_id, self._step_number),
            spans.model(model, self._request, stream=stream, hooks=self._observer.hooks) as span,
        ):
            try:
                with handing(f"model {model.model_id}", "model", self._step_number, self._request):
                    response = await (self._whole() if self._tell is None else self._streamed(self._tell))
            except cancellations() as error:  # cancel.own-error
                raise await self._cancellation.failure(error, f"model '{model.model_id}'") from error
            span.record_response(response)
            return response

    async def _whole(self) -> ModelResponse:
        answer: object = self._model.generate(self._request)
        if not isinstance(answer, Awaitable):
            raise self._wrong(f"`generate` returned a {type(answer).__name__}; define it with `async def`")
        return check_response(await answer, self._model.model_id)  # model.answers-checked

    async def _streamed(self, tell: _Listener) -> ModelResponse:
        opened: object = self._model.stream(self._request)
        if not isinstance(opened, AbstractAsyncContextManager):
            # Closed, or Python warns of a coroutine that nobody awaited, on top of the error that says what
            # to do.
            if inspect.iscoroutine(opened):
                opened.close()
            kind = type(opened).__name__
            raise self._wrong(f"`stream` returned a {kind}; decorate it with @asynccontextmanager")
        end: _End = None
        async with opened as events:
            end = await self._taken(events, tell)
        if isinstance(end, BaseException):
            raise end
        if end is None:
            raise unfinished_stream(self._model)
        return end

    async def _taken(self, events: object, tell: _Listener) -> _End:
        """Takes the events of a stream to its end.

        Returns:
            The response, None without one, or an error: an adapter may take what is raised in its
            `async with` for a failure of its own.
        """
        if not isinstance(events, AsyncIterable):
            return self._wrong(
                f"`stream` yielded a {type(events).__name__}; yield an async iterator of events"
            )
        response: ModelResponse | None = None
        async for event in events:
            if response is not None:
                return self._wrong(
                    f"the stream gave a {type(event).__name__} after ResponseDone, its last event"
                )
            try:
                response = await self._heard(event, tell)
            except (ChunkHookError, InvalidResponseError) as error:
                return error
        return response

    async def _heard(self, event: object, tell: _Listener) -> ModelResponse | None:
        checked = check_event(event, self._model.model_id)
        if isinstance(checked, ResponseDone):
            return checked.response
        self._has_begun = True
        await tell(checked)
        return None

    def _wrong(self, reason: str) -> InvalidResponseError:
        return InvalidResponseError("$", reason, self._model.model_id)

    # ------------------------------------------------------------ attempts

    def _may_help(self, error: BaseException) -> bool:
        if self._has_begun or not isinstance(error, ModelError):
            return False
        return error.retryable and (_after(error) or 0) <= LONGEST_WAIT

    async def _before_sleep(self, state: tenacity.RetryCallState) -> None:
        error, delay = _error(state), state.upcoming_sleep
        _LOG.info(
            "model %s failed at step %d (attempt %d), next attempt in %.1f s",
            self._model.model_id,
            self._step_number,
            state.attempt_number,
            delay,
        )
        await self._tell_retry(
            ModelRetry(step_number=self._step_number, attempt=state.attempt_number, delay=delay, error=error)
        )


def _error(state: tenacity.RetryCallState) -> Any:
    return None if state.outcome is None else state.outcome.exception()


def _after(error: ModelError) -> float | None:
    # What a provider said; a model may pass on a text of it, or a NaN.
    after: object = error.retry_after
    return float(after) if isinstance(after, int | float) and after >= 0 else None


# The calls of one step, run at once up to a limit.


def context_of(
    call: ToolCall, wanted: NeedTools | NeedApprovals, run: Run, invocation_state: Any
) -> ToolContext:
    """The options that a tool gets with its input."""
    return ToolContext(
        tool_call_id=call.tool_call_id,
        messages=wanted.messages,
        experimental_context=wanted.experimental_context,
        step_number=run.step_number,
        invocation_state=invocation_state,
        answers=run.answers,
    )


class ReadCalls:
    """Arguments that the input of calls was read to, so that large input is read once.

    The input is read when the model has answered, and what it made waits for the call to run. Input that is
    read before by nobody, or by somebody else's tool, is read when it is asked for.
    """

    def __init__(self) -> None:
        # By identity: a handler may have put another tool or other input in place. Both are held, so that
        # their ids stay theirs.
        self._kept: dict[tuple[int, int], list[tuple[Tool, object, Arguments]]] = {}

    def clear(self) -> None:
        """Forgets all arguments: another step begins."""
        self._kept.clear()

    def checked(self, tool: Tool, call: ToolCall) -> ToolCall:
        """Returns the call as `Tool.checked` does, and keeps its arguments."""
        checked, arguments = tool.read_call(call)
        if arguments is not None:
            self._kept.setdefault((id(tool), id(call.input)), []).append((tool, call.input, arguments))
        return checked

    def arguments(self, tool: Tool, call: ToolCall) -> Arguments:
        """Returns arguments that nobody else has (rule tool.arguments-its-own).

        Raises:
            InvalidToolInputError: as `Tool.validated` does.
        """
        kept = self._kept.get((id(tool), id(call.input)))
        return kept.pop()[-1] if kept else tool.validated(call.input)


class ToolCalls:
    """The calls that a run asks for, and whom to notify of them."""

    def __init__(  # noqa: PLR0913 - what calls are made with
        self,
        run: Run,
        wanted: NeedTools,
        tools: Mapping[str, Tool],
        *,
        read: ReadCalls,
        handlers: Handlers | None,
        invocation_state: Any,
        observer: Observer,
        cancellation: Cancellation,
        tell: Callable[[ChunkEvent], Awaitable[None]] | None,
    ) -> None:
        self._run = run
        self._wanted = wanted
        self._tools = tools
        self._read = read
        self._handlers = handlers
        self._invocation_state = invocation_state
        self._observer = observer
        self._cancellation = cancellation
        self._tell = tell
        self._outcomes: dict[int, ToolOutcome] = {}
        self._interrupts: dict[int, list[Interrupt]] = {}

    @property
    def finished(self) -> list[ToolOutcome]:
        """The outcomes of the calls that need not be run again, in their order.

        Outcomes are told apart by ids, so of calls that share one only the first ones are finished.
        """
        unfinished: set[str] = set()
        finished: list[ToolOutcome] = []
        for index, call in enumerate(self._wanted.calls):
            if index not in self._outcomes:
                unfinished.add(call.tool_call_id)
            elif call.tool_call_id not in unfinished:
                finished.append(self._outcomes[index])
        return finished

    async def ran(self, concurrency: int) -> ToolOutcomes | ToolsFailed | Asked:
        """Run them all: the outcome of each, or what fails the run, or what some of them ask.

        With a concurrency of 1 they run in their order, else they begin in any.
        """
        calls = self._wanted.calls
        try:
            # One call needs no task of its own, and calls one by one keep their order, which tasks would
            # not.
            if len(calls) == 1 or concurrency == 1:
                for index, call in enumerate(calls):
                    await self._ran(index, call)
            else:
                await self._ran_together(concurrency)
        except Exception as error:  # noqa: BLE001 - Difference.REFUSED_WRITE_FAILS, HANDLER_FAILURE_FAILS
            return ToolsFailed(error)
        except BaseException as error:
            for failed in signals(error, ChunkHookError):
                return ToolsFailed(failed.error, hook="on_chunk")
            raise
        if self._interrupts:
            return Asked(one for index in sorted(self._interrupts) for one in self._interrupts[index])
        return ToolOutcomes(self.finished)  # Difference.RESULTS_IN_CALL_ORDER

    async def _ran_together(self, concurrency: int) -> None:
        limiter = anyio.CapacityLimiter(concurrency)
        fatal: list[BaseException] = []

        async def run(index: int, call: ToolCall) -> None:
            async with limiter:
                try:
                    await self._ran_alone(index, call)
                except BaseException as error:
                    if has_cancellation(error):
                        raise
                    # Raised below and not in the group, which would wrap it.
                    fatal.append(error)
                    group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for index, call in enumerate(self._wanted.calls):
                group.start_soon(run, index, call)
        if fatal:
            raise fatal[0]
        self._require_all()

    def _require_all(self) -> None:
        for index, call in enumerate(self._wanted.calls):
            if index not in self._outcomes and index not in self._interrupts:
                # Somebody has cancelled the task of a call before its first turn, and with it the group.
                raise ForeignCancellationError(_task_of(call))

    async def _ran_alone(self, index: int, call: ToolCall) -> None:
        """Runs a call in a task of its own, where a cancellation of that task is an error of the call.

        Raised out of the task it would cancel the other calls as well, without a reason for anybody.
        """
        try:
            await self._ran(index, call)
            if self._cancellation.requests:
                # One that the tool did not wait for: it arrives here, and not in the group.
                await checkpoint()
        except cancellations() as error:
            failed = await self._cancellation.failure(error, _task_of(call), own_task=True)
            if index not in self._outcomes:
                await self._finished(index, call, ToolFailed(call.tool_call_id, str(failed)))

    # ------------------------------------------------------------ one call

    async def _ran(self, index: int, call: ToolCall) -> None:
        await self._tell_event(ToolStarted(call))
        try:
            outcome = await self._outcome(call)
        except BaseException as error:
            asked = signals(error, InterruptSignal)
            if not asked:
                raise
            self._interrupts[index] = [signal.interrupt for signal in asked]
            return
        finally:
            # In any case: a cancellation that was held back while a thread ran has to arrive now.
            self._cancellation.release()
        await self._finished(index, call, outcome)

    async def _finished(self, index: int, call: ToolCall, outcome: ToolOutcome) -> None:
        self._outcomes[index] = outcome
        await self._tell_event(ToolFinished(call, outcome))

    async def _outcome(self, call: ToolCall) -> ToolOutcome:
        tool = self._tools[call.tool_name]
        if self._handlers is None:
            return await self._executed(tool, call, self._tell)
        number = self._run.step_number
        chain = Chain(
            ExecuteToolStage,
            self._handlers,
            lambda context, tell: self._executed(context.tool, context.call, tell),
            observer=self._observer,
            cancellation=self._cancellation,
            step_number=number,
        )
        context = ExecuteToolContext(
            tool=tool,
            call=call,
            step_number=number,
            invocation_state=self._invocation_state,
            answers=self._run.answers,
        )
        outcome = await chain.result(context, self._tell)
        return attrs.evolve(outcome, tool_call_id=call.tool_call_id)  # stage.tool-answers-its-call

    async def _executed(self, tool: Tool, call: ToolCall, tell: Tell[ToolProgress]) -> ToolOutcome:
        with (
            self._observer.timed("tool", tool.name, self._run.step_number),
            self._observer.spans.tool(call, tool) as span,
        ):
            requests = self._cancellation.requests
            try:
                arguments = self._read.arguments(tool, call)
                if tool.timeout is None:  # without a scope, which costs as much as a short tool
                    return await self._result(tool, call, arguments, tell)
                with anyio.move_on_after(tool.timeout):
                    return await self._result(tool, call, arguments, tell)
            except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to see
                refused = refused_write_in(error)
                if refused is not None:  # Difference.REFUSED_WRITE_FAILS, whatever the tool made of it
                    raise refused  # noqa: B904 - it is what was raised, or in it
                self._cancellation.hold_since(requests)
                return _failed(call, error, span)
            except cancellations() as error:  # cancel.own-error
                failed = await self._cancellation.failure(error, f"tool '{tool.name}'")
                return _failed(call, failed, span)
            span.failed("timeout")
            reason = f"Tool '{tool.name}' gave no result within {tool.timeout} s."
            return ToolFailed(call.tool_call_id, reason)

    async def _result(
        self, tool: Tool, call: ToolCall, arguments: Arguments, tell: Tell[ToolProgress]
    ) -> ToolSucceeded:
        context = context_of(call, self._wanted, self._run, self._invocation_state)
        with handing(f"tool {tool.name}", "tool", self._run.step_number, context):
            if tool.is_generator:
                return await self._last(tool, call, tool.call(arguments, context), tell)
            if tool.is_async:
                value = await tool.call(arguments, context)
            else:
                value = await self._result_of_thread(tool, partial(tool.call, arguments, context))
        return tool.succeeded(call.tool_call_id, value)

    async def _result_of_thread(self, tool: Tool, called: Callable[[], Any]) -> Any:
        left_behind = tool.timeout is not None
        value = await in_thread(called, self._cancellation, left_behind=left_behind)
        if isinstance(value, Awaitable):
            self._cancellation.release()  # what is awaited now is not in a thread
            return await value
        return value

    async def _last(
        self, tool: Tool, call: ToolCall, generator: Any, tell: Tell[ToolProgress]
    ) -> ToolSucceeded:
        result: ToolSucceeded | None = None
        async with aclosing(generator) as values:
            async for value in values:
                result = tool.succeeded(call.tool_call_id, value)
                if tell is not None:
                    await tell(ToolProgress(call, result.output))
        return tool.succeeded(call.tool_call_id, None) if result is None else result

    async def _tell_event(self, event: ChunkEvent) -> None:
        if self._tell is not None:
            await self._tell(event)


def _task_of(call: ToolCall) -> str:
    return f"the task of tool '{call.tool_name}'"


def _failed(call: ToolCall, error: Exception, span: ToolSpan) -> ToolFailed:
    span.failed(error)
    return ToolFailed(call.tool_call_id, str(error) or type(error).__name__)


async def in_thread(call: Callable[[], Any], cancellation: Cancellation, *, left_behind: bool) -> Any:
    """Calls the function in a thread.

    A thread cannot be stopped. Unless it may be left behind, it is waited for whatever cancels the task
    (rule cancel.waits-for-threads): the scopes of anyio and of trio through the library's shield, the
    cancellation of asyncio, which no shield keeps off, through `outlast` and `Cancellation.hold`.

    Returns:
        What the function returned.

    Raises:
        BaseException: What the function raised, or what cancels the task.
    """
    job = _Job(call)
    try:
        await run_sync(job.work, abandon_on_cancel=left_behind)
    except asyncio.CancelledError as error:
        if left_behind or job.taken_up.acquire(blocking=False):
            raise  # the thread will do nothing
        await outlast(job.end_in(asyncio.get_running_loop()))
        cancellation.hold(error)
    if job.error is not None:
        raise job.error
    return job.value


class _Job:
    # Not a Future of `concurrent.futures`: its condition costs a fifth as much as a whole turn of a thread.
    __slots__ = ("call", "error", "has_ended", "taken_up", "tell", "value")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        # The first to take it decides: the thread runs the call, or a cancellation keeps it from running.
        self.taken_up = threading.Lock()
        self.value: Any = None
        self.error: BaseException | None = None
        self.has_ended = False
        self.tell: Callable[[], object] | None = None

    def work(self) -> None:
        """Does the work, in the thread."""
        if not self.taken_up.acquire(blocking=False):
            return
        try:
            self.value = self.call()
        except BaseException as error:  # noqa: BLE001 - raised in the task
            self.error = error
        self.has_ended = True
        if self.tell is not None:
            self.tell()

    def end_in(self, loop: asyncio.AbstractEventLoop) -> anyio.Event:
        """Returns an event of the loop that is set once the work has been done."""
        ended = anyio.Event()
        self.tell = lambda: loop.call_soon_threadsafe(ended.set)
        # The thread looks for whom to notify after it has noted its end, so one of the two sees the other.
        if self.has_ended:
            ended.set()
        return ended
