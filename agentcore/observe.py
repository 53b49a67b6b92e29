"""How long hooks, model calls and tools took, and where traces of them go."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, Literal, Protocol

import attrs
from attrs import field

from agentcore.content import ToolCall
from agentcore.hooks import ProcessorEdit
from agentcore.interrupts import InterruptSignal
from agentcore.message_list import Mutation
from agentcore.models.base import LanguageModel, ModelRequest, ModelResponse, Usage
from agentcore.processors import InputArguments, StepArguments, TripwireError
from agentcore.tools import Tool
from agentcore.values import NO_ITEMS, FrozenList, frozen_list, sealed

__all__ = ["NO_SPANS", "Kind", "Observer", "Spans", "Timing", "Timings"]

_LOG: Final = logging.getLogger("agentcore")
_SLOW: Final = "%s took %.0f ms at step %d, which is above %.0f ms; a run waits for its hooks"

Kind = Literal["hook", "model", "tool", "middleware"]


# ---------------------------------------------------------------- times


@sealed
@attrs.frozen(kw_only=True)
class Timing:
    """How long one thing took that a run waited for.

    `name` is the hook's, the model's id, the tool's or the handler's; processors are hooks, by their ids. A
    model call that was made again has a timing for each attempt, and the time of a wrap has in it what it is
    around of. `step_number` is -1 for `prepare_call`, `on_start` and `process_input`, which come before step
    0, and for handlers of the whole call.
    """

    kind: Kind
    name: str
    step_number: int
    seconds: float
    failed: bool = False


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
        """Those of one kind, of one step, or both."""
        return FrozenList(
            entry
            for entry in self.entries
            if kind in (None, entry.kind) and step_number in (None, entry.step_number)
        )

    def seconds(self, kind: Kind | None = None, *, step_number: int | None = None) -> float:
        """The sum of those; tools that ran at the same time count each in full."""
        return sum(entry.seconds for entry in self.of(kind, step_number=step_number))


NO_TIMINGS: Final = Timings()


# ---------------------------------------------------------------- traces


class ModelSpan(Protocol):
    """A span of a model call that is open."""

    def answered(self, response: ModelResponse) -> None:
        """The call had this answer."""


class RunSpan(Protocol):
    """A span of a whole call of an agent that is open."""

    def ended(self, finish_reason: str | None, usage: Usage) -> None:
        """What it came to so far."""


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
        """It returned this, which makes that edit of what it was handed; its list was changed so."""


class Spans(Protocol):
    """Where traces go. What raises through one of these is marked as failed by its type, never its text."""

    def run(self, name: str | None, model: LanguageModel) -> AbstractContextManager[RunSpan]:
        """A call of an agent."""

    def model(
        self, model: LanguageModel, request: ModelRequest, *, stream: bool
    ) -> AbstractContextManager[ModelSpan]:
        """One attempt of a model call."""

    def tool(self, call: ToolCall, tool: Tool) -> AbstractContextManager[ToolSpan]:
        """A call of a tool."""

    def handler(
        self, stage: str, phase: str, name: str, step_number: int | None
    ) -> AbstractContextManager[HandlerSpan]:
        """A handler of middleware; the step is None where it is of the whole call."""

    def processor(
        self, way: str, arguments: StepArguments | InputArguments
    ) -> AbstractContextManager[ProcessorSpan]:
        """A call of a processor's `process_input` or `process_input_step`."""


class _NoSpan:
    def answered(self, response: ModelResponse) -> None:
        """Nothing."""

    def ended(self, finish_reason: str | None, usage: Usage) -> None:
        """Nothing."""

    def failed(self, error: Exception | str) -> None:
        """Nothing."""

    def called(self, given: object, passed: object) -> None:
        """Nothing."""

    def gave(self, inner: object, result: object) -> None:
        """Nothing."""

    def returned(self, result: object, edit: object, mutations: object) -> None:
        """Nothing."""


_NO_SPAN: Final = nullcontext(_NoSpan())


class _NoSpans:
    def run(self, name: str | None, model: LanguageModel) -> AbstractContextManager[RunSpan]:
        del name, model
        return _NO_SPAN

    def model(
        self, model: LanguageModel, request: ModelRequest, *, stream: bool
    ) -> AbstractContextManager[ModelSpan]:
        del model, request, stream
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
    """Takes the times of one call of an agent, and warns of slow hooks."""

    def __init__(
        self, slow_hook_seconds: float, spans: Spans = NO_SPANS, earlier: Timings = NO_TIMINGS
    ) -> None:
        self.spans = spans
        self._slow_hook_seconds = slow_hook_seconds
        self._entries = [*earlier.entries]
        # Of `on_chunk` the sum by step: there may be thousands of chunks.
        self._chunks: dict[int, float] = {}

    @property
    def timings(self) -> Timings:
        """The times so far."""
        chunks = [_hook_timing("on_chunk", step, seconds) for step, seconds in self._chunks.items()]
        return Timings([*self._entries, *chunks])

    def timed(self, kind: Kind, name: str, step_number: int) -> AbstractContextManager[None]:
        """Take the time of what happens inside, whatever comes of it."""
        return _Timed(self._entries, kind, name, step_number)

    def hook(self, name: str, step_number: int) -> AbstractContextManager[None]:
        """Take the time of a hook, and log a warning if it is too long: every step waits for its hooks."""
        return _Timed(self._entries, "hook", name, step_number, self._warn)

    @contextmanager
    def handler(self, stage: str, phase: str, name: str, step_number: int | None) -> Iterator[HandlerSpan]:
        """Take the time of a handler of middleware, and open its span."""
        number = -1 if step_number is None else step_number
        with (
            self.timed("middleware", name, number),
            self.spans.handler(stage, phase, name, step_number) as span,
        ):
            yield span

    @contextmanager
    def chunk(self, step_number: int) -> Iterator[None]:
        """Take the time of `on_chunk`."""
        begun = time.perf_counter()
        yield
        took = time.perf_counter() - begun
        self._chunks[step_number] = self._chunks.get(step_number, 0.0) + took
        self._warn("on_chunk", step_number, took)

    def _warn(self, name: str, step_number: int, took: float) -> None:
        if took > self._slow_hook_seconds:
            limit = 1000 * self._slow_hook_seconds
            _LOG.warning(_SLOW, name, 1000 * took, step_number, limit)


class _Timed:
    # A class, because one made of a generator costs as much as a short hook.
    __slots__ = ("_begun", "_entries", "_kind", "_name", "_step_number", "_warn")

    def __init__(
        self,
        entries: list[Timing],
        kind: Kind,
        name: str,
        step_number: int,
        warn: Callable[[str, int, float], None] | None = None,
    ) -> None:
        self._entries = entries
        self._kind: Kind = kind
        self._name = name
        self._step_number = step_number
        self._warn = warn

    def __enter__(self) -> None:
        self._begun = time.perf_counter()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        took = time.perf_counter() - self._begun
        # Those two are an end, and no failure.
        failed = kind is not None and not issubclass(kind, (InterruptSignal, TripwireError))
        self._entries.append(
            Timing(
                kind=self._kind, name=self._name, step_number=self._step_number, seconds=took, failed=failed
            )
        )
        if self._warn is not None and kind is None:
            self._warn(self._name, self._step_number, took)


def _hook_timing(name: str, step_number: int, seconds: float) -> Timing:
    return Timing(kind="hook", name=name, step_number=step_number, seconds=seconds)
