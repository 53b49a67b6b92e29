"""Timings of hooks, model calls and tools, and the tracing of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, Literal, Protocol, TypeVar

import attrs
from attrs import field

from agentcore.agent.models.base import LanguageModel, ModelRequest, ModelResponse
from agentcore.agent.tools import Tool
from agentcore.machine.hooks import ProcessorEdit
from agentcore.machine.processors import InputArguments, Mutation, StepArguments, TripwireError
from agentcore.machine.state import Run
from agentcore.messages.content import ToolCall
from agentcore.messages.interrupts import InterruptSignal
from agentcore.messages.values import NO_ITEMS, FrozenList, frozen_list, maker, sealed

__all__ = ["NO_SPANS", "NO_WAIT", "HookWatch", "Kind", "Observer", "Spans", "Timing", "Timings", "Wait"]

_A = TypeVar("_A")
_LOG: Final = logging.getLogger("agentcore")
_SLOW: Final = (
    "%s took %.0f ms at step %d, which is above %.0f ms; a run waits for its hooks; "
    "%.0f ms of it blocked the event loop%s"
)
_TOGETHER: Final = "together, the hooks before the model call (%s)"
_MEND: Final = ", and every other task with it: run what blocks in a thread (anyio.to_thread.run_sync)"

Kind = Literal["hook", "model", "tool", "middleware"]


# ---------------------------------------------------------------- times


@sealed
@attrs.frozen(kw_only=True)
class Timing:
    """The time of one thing that a run waited for.

    `name` is the hook's, the model's id, the tool's or the handler's; processors are hooks, by their ids. A
    model call that was made again has a timing for each attempt, and the time of a wrap has in it what it is
    around of. `step_number` is -1 for `prepare_call`, `on_start` and `process_input`, which come before step
    0, and for handlers of the whole call. `blocked_seconds` are those of a hook's own code between two
    awaits, a sync hook being all of it: nothing else runs in the event loop then. They are 0 for others than
    hooks, and have nothing of tasks that the hook started.
    """

    kind: Kind
    name: str
    step_number: int
    seconds: float
    failed: bool = False
    blocked_seconds: float = 0.0


_new_timing: Final = maker(Timing)


def _all(value: Iterable[Timing]) -> tuple[Timing, ...]:
    return frozen_list(value)


@sealed
@attrs.frozen
class Timings:
    """The times of one call of an agent, in the order in which things ended.

    They are of this process and no part of the run: a run that was saved and resumed has those since then.
    """

    entries: tuple[Timing, ...] = field(default=NO_ITEMS, converter=_all)

    def of(self, kind: Kind | None = None, *, step_number: int | None = None) -> tuple[Timing, ...]:
        """Return the timings of a kind, of a step, or both; None stands for all."""
        return FrozenList(
            entry
            for entry in self.entries
            if kind in (None, entry.kind) and step_number in (None, entry.step_number)
        )

    def seconds(self, kind: Kind | None = None, *, step_number: int | None = None) -> float:
        """The sum of those; tools that ran at the same time count each in full."""
        return sum(entry.seconds for entry in self.of(kind, step_number=step_number))

    def blocked_seconds(self, *, step_number: int | None = None) -> float:
        """The sum of the times in which hooks blocked the event loop."""
        return sum(entry.blocked_seconds for entry in self.of("hook", step_number=step_number))


NO_TIMINGS: Final = Timings()


@sealed
@attrs.frozen(kw_only=True)
class Wait:
    """The time of a step's hooks before its model call, and how much of it blocked the event loop."""

    seconds: float = 0.0
    blocked_seconds: float = 0.0


NO_WAIT: Final = Wait()

# ---------------------------------------------------------------- traces


class ModelSpan(Protocol):
    """A span of a model call that is open."""

    def record_response(self, response: ModelResponse) -> None:
        """Record the response of the call."""


class RunSpan(Protocol):
    """A span of a whole call of an agent that is open."""

    def record_end(self, run: Run) -> None:
        """Record the run at its end, which may have come by an error."""


class ToolSpan(Protocol):
    """A span of a tool call that is open."""

    def failed(self, error: Exception | str) -> None:
        """The call came to an error: the exception, or the name of what went wrong."""


class HandlerSpan(Protocol):
    """A span of a middleware handler that is open."""

    def called(self, given: object, passed: object) -> None:
        """The handler was given the one context and passed on the other."""

    def gave(self, inner: object, result: object) -> None:
        """The handler gave a result; `inner` is what it had from inside, None if it called nothing."""


class ProcessorSpan(Protocol):
    """A span of a processor's call that is open."""

    def returned(self, result: object, edit: ProcessorEdit | None, mutations: Iterable[Mutation]) -> None:
        """Record what a processor returned, the edit that follows from it, and the changes of its list."""

    def blocked(self, seconds: float) -> None:
        """Record how long it blocked the event loop, whatever its outcome."""


class Spans(Protocol):
    """The receiver of traces. An exception marks a span as failed, by its type, never by its text."""

    def run(self, name: str | None, model: LanguageModel) -> AbstractContextManager[RunSpan]:
        """A span for one call of an agent."""

    def model(
        self, model: LanguageModel, request: ModelRequest, *, stream: bool, hooks: Wait
    ) -> AbstractContextManager[ModelSpan]:
        """A span for one attempt of a model call, which waited for these hooks of its step."""

    def tool(self, call: ToolCall, tool: Tool) -> AbstractContextManager[ToolSpan]:
        """A span for one call of a tool."""

    def handler(
        self, stage: str, phase: str, name: str, step_number: int | None
    ) -> AbstractContextManager[HandlerSpan]:
        """A span for a handler of middleware; the step is None where it is of the whole call."""

    def processor(
        self, way: str, arguments: StepArguments | InputArguments
    ) -> AbstractContextManager[ProcessorSpan]:
        """A call of a processor's `process_input` or `process_input_step`."""


class _NoSpan:
    def record_response(self, response: ModelResponse) -> None:
        """Nothing."""

    def record_end(self, run: Run) -> None:
        """Nothing."""

    def failed(self, error: Exception | str) -> None:
        """Nothing."""

    def called(self, given: object, passed: object) -> None:
        """Nothing."""

    def gave(self, inner: object, result: object) -> None:
        """Nothing."""

    def returned(self, result: object, edit: object, mutations: object) -> None:
        """Nothing."""

    def blocked(self, seconds: float) -> None:
        """Nothing."""


_NO_SPAN: Final = nullcontext(_NoSpan())


class _NoSpans:
    def run(self, name: str | None, model: LanguageModel) -> AbstractContextManager[RunSpan]:
        del name, model
        return _NO_SPAN

    def model(
        self, model: LanguageModel, request: ModelRequest, *, stream: bool, hooks: Wait
    ) -> AbstractContextManager[ModelSpan]:
        del model, request, stream, hooks
        return _NO_SPAN

    def tool(self, call: ToolCall, tool: Tool) -> AbstractContextManager[ToolSpan]:
        del call, tool
        return _NO_SPAN

    def handler(
        self, stage: str, phase: str, name: str, step_number: int | None
    ) -> AbstractContextManager[HandlerSpan]:
        del stage, phase, name, step_number
        return _NO_SPAN

    def processor(
        self, way: str, arguments: StepArguments | InputArguments
    ) -> AbstractContextManager[ProcessorSpan]:
        del way, arguments
        return _NO_SPAN


NO_SPANS: Final[Spans] = _NoSpans()
"""Traces that nobody wants."""


# ---------------------------------------------------------------- one call's observer


class Observer:
    """Takes the times of one call of an agent, and warns of slow hooks.

    The hooks before a step's model call have one limit together, because the call waits for all of them; a
    hook elsewhere has it alone.
    """

    def __init__(
        self, slow_hook_seconds: float, spans: Spans = NO_SPANS, earlier: Timings = NO_TIMINGS
    ) -> None:
        self.spans = spans
        self._slow_hook_seconds = slow_hook_seconds
        self._entries = [*earlier.entries]
        # Of `on_chunk` the sum by step: there may be thousands of chunks.
        self._chunks: dict[int, Timing] = {}
        self._before_model: list[Timing] = []

    @property
    def timings(self) -> Timings:
        """The times so far."""
        return Timings([*self._entries, *self._chunks.values()])

    @property
    def hooks(self) -> Wait:
        """The hooks that the model call of this step waited for."""
        before = self._before_model
        if not before:
            return NO_WAIT
        return Wait(
            seconds=sum(entry.seconds for entry in before),
            blocked_seconds=sum(entry.blocked_seconds for entry in before),
        )

    def timed(self, kind: Kind, name: str, step_number: int) -> AbstractContextManager[None]:
        """Take the time of what happens inside, whatever its outcome."""
        return _Timed(self._entries.append, kind, name, step_number)

    def hook(self, name: str, step_number: int, *, before_model: bool = False) -> HookWatch:
        """Take the time of a hook; one that is not before a model call has the limit alone."""
        return HookWatch(self._of_step if before_model else self._alone, "hook", name, step_number)

    def chunk(self, step_number: int) -> HookWatch:
        """Take the time of `on_chunk`."""
        return HookWatch(self._of_chunk, "hook", "on_chunk", step_number)

    @contextmanager
    def handler(self, stage: str, phase: str, name: str, step_number: int | None) -> Iterator[HandlerSpan]:
        """Take the time of a handler of middleware, and open its span."""
        number = -1 if step_number is None else step_number
        with (
            self.timed("middleware", name, number),
            self.spans.handler(stage, phase, name, step_number) as span,
        ):
            yield span

    # ------------------------------------------------------------ limits

    def before_model(self, step_number: int) -> None:
        """Log a warning if the hooks of the step have taken too long together; its model is called next."""
        if not self._before_model:
            return
        waited, before = self.hooks, self._before_model
        who = before[0].name if len(before) == 1 else _TOGETHER % ", ".join(map(_named, before))
        self._warn(who, step_number, waited.seconds, waited.blocked_seconds)

    def begin_limit(self) -> None:
        """Begin the limit of a step's hooks: after the model call before, and where they run once more."""
        self._before_model.clear()

    def _of_step(self, entry: Timing) -> None:
        self._entries.append(entry)
        self._before_model.append(entry)

    def _alone(self, entry: Timing) -> None:
        self._entries.append(entry)
        self._warn_of(entry)

    def _of_chunk(self, entry: Timing) -> None:
        before = self._chunks.get(entry.step_number)
        self._chunks[entry.step_number] = entry if before is None else _sum(before, entry)
        self._warn_of(entry)

    def _warn_of(self, entry: Timing) -> None:
        # Its error says more than that it was slow, and fails the run.
        if not entry.failed:
            self._warn(entry.name, entry.step_number, entry.seconds, entry.blocked_seconds)

    def _warn(self, who: str, step_number: int, took: float, blocked: float) -> None:
        if took > self._slow_hook_seconds:
            limit, mend = 1000 * self._slow_hook_seconds, _MEND if 2 * blocked > took else ""
            _LOG.warning(_SLOW, who, 1000 * took, step_number, limit, 1000 * blocked, mend)


class _Timed:
    # A class, because one made of a generator costs as much as a short hook.
    __slots__ = ("_begun", "_keep", "_kind", "_name", "_step_number", "blocked_seconds")

    def __init__(self, keep: Callable[[Timing], None], kind: Kind, name: str, step_number: int) -> None:
        self._keep = keep
        self._kind: Kind = kind
        self._name = name
        self._step_number = step_number
        self.blocked_seconds = 0.0

    def __enter__(self) -> None:
        self._begun = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        took = time.perf_counter() - self._begun
        # Those two are an end, and no failure.
        failed = kind is not None and not issubclass(kind, (InterruptSignal, TripwireError))
        self._keep(
            _new_timing(
                kind=self._kind,
                name=self._name,
                step_number=self._step_number,
                seconds=took,
                failed=failed,
                blocked_seconds=self.blocked_seconds,
            )
        )


class HookWatch(_Timed):
    """Takes the time of a hook inside of its `with`, and how much of it blocks the event loop."""

    __slots__ = ()

    async def called(self, hook: Callable[[_A], Any], argument: _A) -> Any:
        """Returns what the hook returns, or what that comes to."""
        begun = time.perf_counter()
        try:
            value = hook(argument)
        finally:
            self.blocked_seconds += time.perf_counter() - begun
        return await _Awaited(value, self) if isinstance(value, Awaitable) else value


class _Awaited(Generator[Any, Any, Any]):
    """Awaits an awaitable as `yield from` does, and takes the times between its awaits.

    The clock is the wall's: a thread's CPU time would miss a `time.sleep` and every read of a socket, which
    block the loop as much as a computation does.
    """

    __slots__ = ("_steps", "_watch")

    def __init__(self, value: Awaitable[Any], watch: HookWatch) -> None:
        self._steps: Any = value.__await__()
        self._watch = watch

    def __await__(self) -> Generator[Any, Any, Any]:
        return self

    def send(self, value: Any) -> Any:
        # An iterator that is no generator, such as one written by hand, has no `send`.
        send = getattr(self._steps, "send", None)
        return self._timed(next, self._steps) if value is None or send is None else self._timed(send, value)

    def throw(self, *error: Any) -> Any:
        throw = getattr(self._steps, "throw", None)
        return self._timed(super().throw if throw is None else throw, *error)

    def _timed(self, do: Callable[..., Any], *arguments: Any) -> Any:
        begun = time.perf_counter()
        try:
            return do(*arguments)
        finally:
            self._watch.blocked_seconds += time.perf_counter() - begun


def _sum(before: Timing, entry: Timing) -> Timing:
    return attrs.evolve(
        entry,
        seconds=before.seconds + entry.seconds,
        blocked_seconds=before.blocked_seconds + entry.blocked_seconds,
    )


def _named(entry: Timing) -> str:
    return f"{entry.name} {1000 * entry.seconds:.0f} ms"
