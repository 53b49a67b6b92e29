"""What a driver is given besides a run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

import attrs
from attrs import field

from agentcore.agent.events import AgentEvent, ChunkEvent
from agentcore.agent.middleware import Middleware
from agentcore.agent.models.base import LanguageModel
from agentcore.agent.stop import StopCondition
from agentcore.agent.tools import Tool
from agentcore.machine.effects import RunResult, StepStartEvent
from agentcore.machine.hooks import StepRecord
from agentcore.machine.processors import NamedProcessor, ProcessInputStep
from agentcore.machine.run import Run
from agentcore.messages.shared_state import State
from agentcore.messages.values import JsonObject, sealed

__all__ = [
    "Checkpoint",
    "Emit",
    "OnChunk",
    "OnFinish",
    "OnStepFinish",
    "OnStepStart",
    "Parts",
    "PrepareStep",
    "awaited",
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
    settings: JsonObject = field(factory=JsonObject)
    response_format: JsonObject | None = None
    max_retries: int = 2
    tool_concurrency: int = 8

    def asked_format(self, response_format: JsonObject | None) -> JsonObject | None:
        """Returns what a step asks its model for, None for text, if its hooks returned this format."""
        if response_format is None:
            return self.response_format
        return None if response_format["type"] == "text" else response_format

    @property
    def processes_input(self) -> bool:
        """Whether one of the processors is for the input of a run."""
        return any(each.process_input is not None for each in self.processors)
