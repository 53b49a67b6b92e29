"""The events of a stream of an agent."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import attrs
from attrs import field

from agentcore.agent.models.base import PartDone, ReasoningDelta, TextDelta, ToolInputDelta
from agentcore.machine.effects import RunResult, StepStartEvent, ToolFailed, ToolSucceeded
from agentcore.machine.hooks import StepRecord
from agentcore.machine.processors import Tripwire
from agentcore.messages.content import ToolCall
from agentcore.messages.converters import value_json
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.values import JsonValue, frozen_list, sealed, strict_key

__all__ = [
    "AgentEvent",
    "ChunkEvent",
    "ModelRetry",
    "PartDone",
    "PartialObject",
    "ReasoningDelta",
    "RunFinished",
    "RunInterrupted",
    "RunTripped",
    "StepFinished",
    "StepStarted",
    "TextDelta",
    "ToolFinished",
    "ToolInputDelta",
    "ToolProgress",
    "ToolStarted",
]


@sealed
@attrs.frozen
class StepStarted:
    """The hooks of a step have run, and its model is called next; `step` is the step as they made it."""

    type: ClassVar[Literal["step-started"]] = "step-started"
    step: StepStartEvent


@sealed
@attrs.frozen(kw_only=True)
class ModelRetry:
    """A call of the model failed before its first event and is made again after `delay` seconds.

    `attempt` is the number of the attempt that failed, from 1.
    """

    type: ClassVar[Literal["model-retry"]] = "model-retry"
    step_number: int
    attempt: int
    delay: float
    error: Exception


@sealed
@attrs.frozen
class PartialObject:
    """The answer of a step that was asked for JSON, as far as its text has come (rule output.partial).

    `value` is the JSON of the text, checked against no schema: fields and items are missing, the last number
    may have more digits to come, and a type that is no object is in `{"result": ...}`.
    """

    type: ClassVar[Literal["partial-object"]] = "partial-object"
    step_number: int
    value: JsonValue = field(converter=value_json, eq=strict_key)


@sealed
@attrs.frozen
class ToolStarted:
    """A call is run."""

    type: ClassVar[Literal["tool-started"]] = "tool-started"
    call: ToolCall


@sealed
@attrs.frozen
class ToolProgress:
    """A preliminary result of a call that is running; the last one is the result."""

    type: ClassVar[Literal["tool-progress"]] = "tool-progress"
    call: ToolCall
    output: JsonValue = field(eq=strict_key)


@sealed
@attrs.frozen
class ToolFinished:
    """A call has run. Events of a step's calls come as they finish; its record has them in their order."""

    type: ClassVar[Literal["tool-finished"]] = "tool-finished"
    call: ToolCall
    outcome: ToolSucceeded | ToolFailed


@sealed
@attrs.frozen
class StepFinished:
    """A step is part of the run; `on_step_finish` is called next."""

    type: ClassVar[Literal["step-finished"]] = "step-finished"
    record: StepRecord


@sealed
@attrs.frozen
class RunTripped:
    """A processor ended the run: there are no more steps, and the run finishes with the tripwire."""

    type: ClassVar[Literal["run-tripped"]] = "run-tripped"
    tripwire: Tripwire


@sealed
@attrs.frozen
class RunFinished:
    """The last event of a stream that ended well, which is also by a tripwire."""

    type: ClassVar[Literal["run-finished"]] = "run-finished"
    result: RunResult


@sealed
@attrs.frozen
class RunInterrupted:
    """The last event of a stream whose run waits for answers to these questions."""

    type: ClassVar[Literal["run-interrupted"]] = "run-interrupted"
    interrupts: tuple[Interrupt, ...] = field(converter=frozen_list)


ChunkEvent: TypeAlias = (
    TextDelta | ReasoningDelta | ToolInputDelta | PartDone | ToolStarted | ToolProgress | ToolFinished
)
"""The events of models and tools during a step, which `on_chunk` gets as well."""

AgentEvent: TypeAlias = (
    ChunkEvent
    | StepStarted
    | ModelRetry
    | PartialObject
    | StepFinished
    | RunTripped
    | RunFinished
    | RunInterrupted
)
