"""The calls of one step, run at once up to a limit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

import anyio
from anyio.to_thread import run_sync

from agentcore.content import ToolCall
from agentcore.driver.errors import ChunkHookError
from agentcore.driver.parts import awaited
from agentcore.effects import NeedTools, ToolFailed, ToolOutcomes, ToolsFailed, ToolSucceeded
from agentcore.errors import ImmutableWriteError
from agentcore.events import ChunkEvent, ToolFinished, ToolProgress, ToolStarted
from agentcore.hooks import Frozen
from agentcore.observe import Observer, ToolSpan
from agentcore.tools import Arguments, Tool, ToolContext
from agentcore.values import JsonValue, Vector

__all__ = ["ToolCalls", "context_of"]

_FATAL: Final = (ImmutableWriteError, ChunkHookError)


def context_of(
    call: ToolCall, messages: Vector[Any], experimental_context: JsonValue, step_number: int
) -> ToolContext:
    """What a tool is told of its call."""
    return ToolContext(
        tool_call_id=call.tool_call_id,
        messages=messages,
        experimental_context=Frozen(experimental_context),
        step_number=step_number,
    )


class ToolCalls:
    """The calls that a run asks for, and whom to tell of them."""

    def __init__(
        self,
        wanted: NeedTools,
        tools: Mapping[str, Tool],
        *,
        step_number: int,
        observer: Observer,
        tell: Callable[[ChunkEvent], Awaitable[None]] | None,
    ) -> None:
        self._wanted = wanted
        self._tools = tools
        self._step_number = step_number
        self._observer = observer
        self._tell = tell

    async def outcomes(self, concurrency: int) -> ToolOutcomes | ToolsFailed:
        """What came of each call, in their order, or of one that it fails the run.

        With a concurrency of 1 they run in their order, else they begin in any.
        """
        calls = self._wanted.calls
        try:
            if len(calls) == 1 or concurrency == 1:
                return ToolOutcomes([await self._run(call) for call in calls])
            return ToolOutcomes(await self._run_together(calls, concurrency))
        except ChunkHookError as error:
            return ToolsFailed(error.error)
        except ImmutableWriteError as error:  # Difference.REFUSED_WRITE_FAILS
            return ToolsFailed(error)

    async def _run_together(
        self, calls: Vector[ToolCall], concurrency: int
    ) -> list[ToolSucceeded | ToolFailed]:
        limiter = anyio.CapacityLimiter(concurrency)
        outcomes: dict[int, ToolSucceeded | ToolFailed] = {}
        fatal: list[Exception] = []

        async def run(index: int) -> None:
            async with limiter:
                try:
                    outcomes[index] = await self._run(calls[index])
                except _FATAL as error:
                    # Not raised in the group, which would wrap it.
                    fatal.append(error)
                    group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for index in range(len(calls)):
                group.start_soon(run, index)
        if fatal:
            raise fatal[0]
        return [outcomes[index] for index in range(len(calls))]  # Difference.RESULTS_IN_CALL_ORDER

    # ------------------------------------------------------------ one call

    async def _run(self, call: ToolCall) -> ToolSucceeded | ToolFailed:
        tool = self._tools[call.tool_name]
        await self._told(ToolStarted(call))
        with (
            self._observer.timed("tool", tool.name, self._step_number),
            self._observer.spans.tool(call, tool) as span,
        ):
            outcome = await self._outcome(tool, call, span)
        await self._told(ToolFinished(call, outcome))
        return outcome

    async def _outcome(self, tool: Tool, call: ToolCall, span: ToolSpan) -> ToolSucceeded | ToolFailed:
        try:
            arguments = tool.validated(call.input)
            with anyio.move_on_after(tool.timeout):
                return await self._result(tool, call, arguments)
        except _FATAL:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is for the model to see
            span.failed(error)
            return ToolFailed(call.tool_call_id, str(error) or type(error).__name__)
        span.failed("timeout")
        return ToolFailed(call.tool_call_id, f"Tool '{tool.name}' gave no result within {tool.timeout} s.")

    async def _result(self, tool: Tool, call: ToolCall, arguments: Arguments) -> ToolSucceeded:
        wanted = self._wanted
        context = context_of(call, wanted.messages, wanted.experimental_context, self._step_number)
        if tool.is_generator:
            return await self._last(tool, call, tool.call(arguments, context))
        if tool.is_async:
            value = await tool.call(arguments, context)
        else:
            # A thread cannot be stopped: it is left behind where a time limit says so, else waited for.
            # In a tuple, because trio refuses a thread's result that is a coroutine.
            left_behind = tool.timeout is not None
            (value,) = await run_sync(lambda: (tool.call(arguments, context),), abandon_on_cancel=left_behind)
            value = await awaited(value)
        return tool.succeeded(call.tool_call_id, value)

    async def _last(self, tool: Tool, call: ToolCall, generator: Any) -> ToolSucceeded:
        result: ToolSucceeded | None = None
        async with aclosing(generator) as values:
            async for value in values:
                result = tool.succeeded(call.tool_call_id, value)
                await self._told(ToolProgress(call, result.output))
        return tool.succeeded(call.tool_call_id, None) if result is None else result

    async def _told(self, event: ChunkEvent) -> None:
        if self._tell is not None:
            await self._tell(event)
