"""The calls of one step, run at once up to a limit."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

import anyio
import attrs
from anyio.to_thread import run_sync

from agentcore.agent.call.cancelling import Cancellation, cancellations, has_cancellation, outlast
from agentcore.agent.call.errors import ChunkHookError, ForeignCancellationError, signals
from agentcore.agent.call.stages import Chain, Tell
from agentcore.agent.events import ChunkEvent, ToolFinished, ToolProgress, ToolStarted
from agentcore.agent.middleware import ExecuteToolContext, ExecuteToolStage, Handlers, ToolOutcome
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
from agentcore.machine.run import Run
from agentcore.messages.content import ToolCall
from agentcore.messages.interrupts import Interrupt, InterruptSignal
from agentcore.messages.readonly import handing, refused_write_in

__all__ = ["ReadCalls", "ToolCalls", "context_of", "in_thread"]


def context_of(
    call: ToolCall, wanted: NeedTools | NeedApprovals, run: Run, invocation_state: Any
) -> ToolContext:
    """What a tool is told of its call."""
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
    """The calls that a run asks for, and whom to tell of them."""

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
        """What came of the calls that need not be run again, in their order.

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
        """Run them all: what came of each, or what fails the run, or what some of them ask.

        With a concurrency of 1 they run in their order, else they begin in any.
        """
        calls = self._wanted.calls
        try:
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
        for index, call in enumerate(self._wanted.calls):
            if index not in self._outcomes and index not in self._interrupts:
                # Somebody has cancelled the task of a call before its first turn, and with it the group.
                raise ForeignCancellationError(_task_of(call))

    async def _ran_alone(self, index: int, call: ToolCall) -> None:
        """Runs a call in a task of its own, where a cancellation of that task is an error of the call.

        Raised out of the task it would cancel the other calls as well, and nobody would be told why.
        """
        try:
            await self._ran(index, call)
        except cancellations() as error:
            failed = await self._cancellation.failure(error, _task_of(call), own_task=True)
            if index not in self._outcomes:
                await self._finished(index, call, ToolFailed(call.tool_call_id, str(failed)))

    # ------------------------------------------------------------ one call

    async def _ran(self, index: int, call: ToolCall) -> None:
        await self._told(ToolStarted(call))
        try:
            outcome = await self._outcome(call)
        except BaseException as error:
            asked = signals(error, InterruptSignal)
            if not asked:
                raise
            self._interrupts[index] = [signal.interrupt for signal in asked]
            return
        finally:
            self._cancellation.release()
        await self._finished(index, call, outcome)

    async def _finished(self, index: int, call: ToolCall, outcome: ToolOutcome) -> None:
        self._outcomes[index] = outcome
        await self._told(ToolFinished(call, outcome))

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

    async def _told(self, event: ChunkEvent) -> None:
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
    # Not a Future of `concurrent.futures`, whose condition costs a fifth of what a thread's turn does.
    __slots__ = ("call", "error", "has_ended", "taken_up", "tell", "value")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call = call
        # Whoever has it first: the thread, which then runs, or a cancellation, after which it does not.
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
        # The thread looks for somebody to tell after it has noted its end, so one of the two sees the other.
        if self.has_ended:
            ended.set()
        return ended
