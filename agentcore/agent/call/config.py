"""The configuration of a driver: models, tools, hooks, limits, processors, and its cancellation."""

from __future__ import annotations

import asyncio
import inspect
import math
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import anyio
import attrs
from anyio.lowlevel import checkpoint
from attrs import field

from agentcore.agent.call.errors import (
    ForeignCancellationError,
    InvalidAgentError,
    UsageLimitError,
    outcome_of_error,
)
from agentcore.agent.events import AgentEvent, ChunkEvent
from agentcore.agent.middleware import Handlers, Middleware, Stage, handlers_of
from agentcore.agent.models.base import LanguageModel, holds_history
from agentcore.agent.output import Output
from agentcore.agent.telemetry import Observer
from agentcore.agent.tools import Tool
from agentcore.errors import InvalidOverrideError
from agentcore.machine.effects import (
    NO_RESULT,
    HookFailed,
    HookResult,
    ModelAnswer,
    NeedPrepareStep,
    NeedProcessInput,
    Processed,
    RunResult,
    StepStartEvent,
    ToolOutcomes,
    Tripped,
)
from agentcore.machine.hooks import ProcessorEdit, StepRecord, handing
from agentcore.machine.processors import (
    PREPARE_STEP,
    NamedProcessor,
    ProcessInputStep,
    State,
    StepArguments,
    Tripwire,
)
from agentcore.machine.run import Run
from agentcore.messages.content import Usage
from agentcore.messages.values import NO_ENTRIES, JsonObject, Vector, sealed, strict_key

__all__ = [
    "Cancellation",
    "Checkpoint",
    "Emit",
    "OnChunk",
    "OnFinish",
    "OnStepFinish",
    "OnStepStart",
    "Parts",
    "PrepareStep",
    "Processors",
    "Spending",
    "StepCount",
    "StopCondition",
    "UsageLimits",
    "any_of",
    "awaited",
    "cancellations",
    "has_cancellation",
    "has_tool_call",
    "outlast",
    "running_task",
    "single_cancellations",
    "step_count_is",
    "with_prepare_step",
]

_T = TypeVar("_T")

PrepareStep: TypeAlias = ProcessInputStep[State]
"""Returns what the step uses in place of the call's own values, as every processor may."""

OnStepStart: TypeAlias = Callable[[StepStartEvent], object]
OnStepFinish: TypeAlias = Callable[[StepRecord], object]
OnFinish: TypeAlias = Callable[[RunResult], object]
OnChunk: TypeAlias = Callable[[ChunkEvent], object]
Checkpoint: TypeAlias = Callable[[Run], object]
Emit: TypeAlias = Callable[[AgentEvent], Awaitable[None]]


async def awaited(value: Awaitable[_T] | _T) -> _T:
    """The value, or what it comes to."""
    return await value if isinstance(value, Awaitable) else value


def with_prepare_step(
    processors: tuple[NamedProcessor, ...], prepare_step: ProcessInputStep[Any] | None
) -> tuple[NamedProcessor, ...]:
    """The processors, and after them `prepare_step` as the last, if there is one (rule processor.order)."""
    if prepare_step is None:
        return processors
    return (*processors, NamedProcessor(id=PREPARE_STEP, process_input_step=prepare_step))


def _is_limit(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and (type(value) is not int or value < 0):
        reason = f"expected a whole number from 0, or None for no limit, got {value!r}"
        raise InvalidAgentError(f"$.usage_limits.{attribute.name}", reason)


@sealed
@attrs.frozen(kw_only=True)
class UsageLimits:
    """The most that a run may use; None sets no limit.

    A run that goes on counts what it used before, so `agent.resume(error.run, usage_limits=...)` takes higher
    limits. A model call or tools that would go beyond a limit are not begun, and the run fails by a
    UsageLimitError with all that has been paid for in it (rule usage.limited).

    Args:
        requests: answers of models, one a step; attempts that failed are not counted.
        tool_calls: calls that the run's own tools have answered, with an error or without.
        input_tokens: tokens of prompts, as providers report them, those in a cache included.
        output_tokens: tokens of answers.
        total_tokens: both.

    Raises:
        InvalidAgentError: for a limit that is not a whole number from 0.
    """

    requests: int | None = field(default=None, validator=_is_limit)
    tool_calls: int | None = field(default=None, validator=_is_limit)
    input_tokens: int | None = field(default=None, validator=_is_limit)
    output_tokens: int | None = field(default=None, validator=_is_limit)
    total_tokens: int | None = field(default=None, validator=_is_limit)


class Spending:
    """Counts what a run has used, each outcome once, and checks it against the limits."""

    def __init__(self, limits: UsageLimits) -> None:
        self._limits = limits
        self._counted = 0
        self._requests = 0
        self._tool_calls = 0
        self._usage = Usage()

    def check_request(self, run: Run) -> None:
        """Raises UsageLimitError if the run may not ask a model once more."""
        self._count(run)
        limits, usage = self._limits, self._usage
        self._check("requests", limits.requests, self._requests, 1)
        # How many a call will use is not known: it is begun while one token is left.
        self._check("input_tokens", limits.input_tokens, usage.input_tokens, 1)
        self._check("output_tokens", limits.output_tokens, usage.output_tokens, 1)
        self._check("total_tokens", limits.total_tokens, usage.total_tokens, 1)

    def check_tools(self, run: Run, count: int) -> None:
        """Raises UsageLimitError if the run may not run so many tool calls."""
        self._count(run)
        self._check("tool_calls", self._limits.tool_calls, self._tool_calls, count)

    def _count(self, run: Run) -> None:
        for index in range(self._counted, len(run.outcomes)):
            outcome = run.outcomes[index]
            if isinstance(outcome, ModelAnswer):
                self._requests += 1
                self._usage += outcome.usage
            elif isinstance(outcome, ToolOutcomes):
                self._tool_calls += len(outcome.outcomes)
        self._counted = len(run.outcomes)

    @staticmethod
    def _check(name: str, limit: int | None, used: int, wanted: int) -> None:
        if limit is not None and used + wanted > limit:
            raise UsageLimitError(name, limit, used, wanted)


@sealed
@attrs.frozen(kw_only=True)
class Parts:
    """The models, tools, hooks and limits that answer a run's needs; values, so runs share nothing.

    The last of the processors is `prepare_step`, where there is one.
    """

    model: LanguageModel
    models: tuple[LanguageModel, ...] = ()
    tools: tuple[Tool, ...] = ()
    middleware: tuple[Middleware, ...] = ()
    processors: tuple[NamedProcessor, ...] = ()
    stop_when: tuple[StopCondition, ...] = ()
    on_step_start: OnStepStart | None = None
    on_step_finish: OnStepFinish | None = None
    on_finish: OnFinish | None = None
    on_chunk: OnChunk | None = None
    checkpoint: Checkpoint | None = None
    settings: JsonObject = field(default=NO_ENTRIES)
    output: Output[Any] | None = None
    output_retries: int = 0
    usage_limits: UsageLimits | None = None
    max_retries: int = 2
    tool_concurrency: int = 8

    @property
    def response_format(self) -> JsonObject | None:
        """The response format of the call's own output; None for text."""
        return None if self.output is None else self.output.response_format

    def asked_format(self, response_format: JsonObject | None) -> JsonObject | None:
        """Returns what a step asks its model for, None for text, if its hooks returned this format."""
        if response_format is None:
            return self.response_format
        return None if response_format["type"] == "text" else response_format

    def handlers_of(self, stage: Stage[Any, Any, Any]) -> Handlers | None:
        """Returns the handlers around a stage, None without any."""
        return handlers_of(stage, self.middleware) if self.middleware else None

    @property
    def processes_input(self) -> bool:
        """Whether one of the processors is for the input of a run."""
        return any(each.process_input is not None for each in self.processors)


# The step number of `process_input` and of everything else before step 0.
_BEFORE_STEPS: Final = -1
_Ended = HookResult | HookFailed | Processed | Tripped


class _Preparation(Protocol):
    """A run's input or a step, which processors are folded over, each with arguments of its own."""

    @property
    def edits(self) -> tuple[ProcessorEdit, ...]: ...
    def arguments(self, processor_id: str, invocation_state: Any, /) -> Any: ...
    def edit(self, arguments: Any, result: object) -> ProcessorEdit | None: ...
    def after(self, edit: ProcessorEdit | None) -> _Preparation: ...


class Processors:
    """The processors of one run.

    `models` are those that the processors of the last step returned, by id, and `outputs` the outputs, by the
    keys of their response formats.
    """

    def __init__(
        self,
        parts: Parts,
        observer: Observer,
        invocation_state: Any,
        cancellation: Cancellation,
    ) -> None:
        self._parts = parts
        self._cancellation = cancellation
        self._observer = observer
        self._invocation_state = invocation_state
        self.models: dict[str, LanguageModel] = {}
        self.outputs: dict[str, Output[Any]] = {}

    async def process_input(self, wanted: NeedProcessInput) -> _Ended:
        """Runs `process_input` of each, and returns what the last one left."""
        return await self._each("process_input", wanted.call, self._parts.processors)

    async def prepare_step(self, wanted: NeedPrepareStep, first: NamedProcessor | None = None) -> _Ended:
        """Runs `process_input_step` of each, of `first` before others; returns what the last one left."""
        # Of the last step only: an override is gone at the next one.
        self.models.clear()
        self.outputs.clear()
        processors = self._parts.processors if first is None else (first, *self._parts.processors)
        if not processors:
            return NO_RESULT
        step = wanted.step.of_call(self._parts.settings, self._parts.response_format)
        return await self._each("process_input_step", step, processors)

    async def _each(self, way: str, so_far: _Preparation, processors: tuple[NamedProcessor, ...]) -> _Ended:
        for processor in processors:
            processor_id, call = processor.id, getattr(processor, way)
            if call is None:
                continue
            arguments = so_far.arguments(processor_id, self._invocation_state)
            try:
                so_far = so_far.after(await self._edit(way, call, so_far, arguments))
            except Exception as error:  # noqa: BLE001 - whatever a processor raises ends the run
                return _end(arguments, error)
            except cancellations() as error:  # cancel.own-error
                failed = await self._cancellation.failure(error, f"processor '{processor_id}'")
                return _end(arguments, failed)
            finally:  # also where it was cancelled
                arguments.message_list.close()
        return Processed(so_far.edits) if so_far.edits else NO_RESULT

    async def _edit(self, way: str, call: Any, so_far: _Preparation, arguments: Any) -> ProcessorEdit | None:
        is_of_step = isinstance(arguments, StepArguments)
        number = arguments.step_number if is_of_step else _BEFORE_STEPS
        watch = self._observer.hook(arguments.processor_id, number, before_model=is_of_step)
        with self._observer.spans.processor(way, arguments) as span:
            try:
                with watch:
                    with handing(arguments.processor_id, "processor", arguments.step_number, arguments):
                        result = await watch.called(call, arguments)
                    edit = self._with_model(so_far.edit(arguments, result))
                    span.returned(result, edit, arguments.message_list.close().mutations)
                    self._note_model(result)
                    self._note_output(arguments, result, edit)
                    return edit
            finally:
                span.blocked(watch.blocked_seconds)

    def _with_model(self, edit: ProcessorEdit | None) -> ProcessorEdit | None:
        """The edit, with what is known of a model that it names by its id."""
        if edit is None or edit.override.model is None or edit.holds_history is not None:
            return edit
        for model in (*self.models.values(), self._parts.model, *self._parts.models):
            if model.model_id == edit.override.model:
                return attrs.evolve(edit, holds_history=holds_history(model))
        return edit

    def _note_model(self, result: object) -> None:
        """Keep a model that was returned itself; the run knows it by its id."""
        model = result.get("model") if isinstance(result, Mapping) else None
        if model is not None and not isinstance(model, str):
            self.models[model.model_id] = model

    def _note_output(self, arguments: Any, result: object, edit: ProcessorEdit | None) -> None:
        """Keep how to read an answer that was asked for; the run knows the JSON (output.of-the-last-step)."""
        asked = None if edit is None else edit.override.response_format
        if asked is None or asked["type"] == "text":
            return
        output = _output(result)
        if output is not None:
            self.outputs[strict_key(asked)] = output
        elif asked != self._parts.response_format:
            try:  # a wrong schema fails here, and not when the model has answered
                Output.of_format(asked)
            except TypeError as error:
                path, whose = "$.response_format.schema", (arguments.processor_id, arguments.step_number)
                raise InvalidOverrideError(path, str(error), *whose) from None


def _output(result: object) -> Output[Any] | None:
    """The Output that a processor returned itself, under either name."""
    fields = result if isinstance(result, Mapping) else {}
    given = (fields.get(name) for name in ("response_format", "structured_output"))
    return next((each for each in given if isinstance(each, Output)), None)


def _end(arguments: Any, error: Exception) -> Tripped | HookFailed:
    end = outcome_of_error(arguments, error)
    return Tripped(end) if isinstance(end, Tripwire) else HookFailed(end)


# ---------------------------------------------------------------- how a run knows that it is cancelled

# Hooks, models, handlers and tools wait for things of their own: a shared task, a client that others use
# too. When somebody cancels such a thing, they raise the same exception as when the run itself is
# cancelled. Only the run's own cancellation may end the run (rule cancel.only-the-run); any other is a
# failure of the code that raised it (rule cancel.own-error).
#
# How to know which of the two it was, and why that is enough:
#
# * asyncio cancels a task by `Task.cancel` and by nothing else: `asyncio.timeout`, `wait_for`, `TaskGroup`
#   and the scopes of anyio call it, too. `Task.cancelling()` counts these requests, and whoever made one
#   takes it back (`uncancel`) after catching the exception. So as long as a request is on its way out
#   through a frame, the count is above what it was when the call began. A CancelledError at the old count
#   was not thrown at this task: it is the result of something that was awaited, or somebody raised it.
#   Tasks that the driver makes begin at 0.
# * A scope of anyio on asyncio calls `Task.cancel` one turn later if the task itself cancels it; its
#   effective deadline is minus infinity at once.
# * trio raises Cancelled only in a cancelled scope and catches it at that scope's edge, so the effective
#   deadline decides there. A Cancelled without such a scope is rare: somebody has kept one and raised it
#   again.
# * The message of a CancelledError decides nothing: it is that of the task that was cancelled first,
#   whoever's.

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
            BaseException: `error` itself, if it is no cancellation or if the call is being cancelled.
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


# ---------------------------------------------------------------- when a run stops

StopCondition: TypeAlias = Callable[[Vector[StepRecord]], bool | Awaitable[bool]]
"""Asked after every step that another would follow; true ends the run."""


@sealed
@attrs.frozen
class StepCount:
    """The condition of `step_count_is`."""

    count: int

    def __call__(self, steps: Vector[StepRecord]) -> bool:
        """Return whether there are so many."""
        return len(steps) >= self.count


def step_count_is(count: int) -> StopCondition:
    """Stop once there are that many steps, or more: a resumed run may begin with more.

    Raises ValueError for less than one, because a run has a step before anything is asked.
    """
    if count < 1:
        raise ValueError(f"a run has at least one step, so it cannot stop at {count}; use 1 or more")
    return StepCount(count)


def has_tool_call(tool_name: str) -> StopCondition:
    """Stop once the last step has a call of the tool, whatever its outcome."""

    def condition(steps: Vector[StepRecord]) -> bool:
        return bool(steps) and any(call.tool_name == tool_name for call in steps[-1].tool_calls)

    return condition


def any_of(*conditions: StopCondition) -> StopCondition:
    """Stop once one of the conditions holds; they are asked in order, and none after the first that holds.

    Raises ValueError without conditions.
    """
    if not conditions:
        raise ValueError("any_of without conditions never stops a run; give one or more")

    async def condition(steps: Vector[StepRecord]) -> bool:
        for each in conditions:
            answer = each(steps)
            if await answer if inspect.isawaitable(answer) else answer:
                return True
        return False

    return condition
