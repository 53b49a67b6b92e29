"""The values that pass between a run and its driver: settings, what a run needs, the outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, cast

import attrs
from attrs import field

from agentcore.errors import InvalidJsonError
from agentcore.machine.hooks import (
    NO_USAGE,
    ProcessorEdit,
    StepRecord,
    tool_choice,
    total_usage,
)
from agentcore.machine.prepare import CallPreparation, StepPreparation
from agentcore.machine.processors import Tripwire
from agentcore.messages.chains import system_prompt
from agentcore.messages.content import ContentPart, ToolCall, Usage
from agentcore.messages.converters import context, error, metadata, model_state, names, options, output, texts
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.messages import Message, ToolOutput
from agentcore.messages.prompt import SystemPrompt
from agentcore.messages.values import (
    NO_ITEMS,
    FrozenDict,
    FrozenList,
    FrozenSet,
    JsonObject,
    JsonValue,
    Vector,
    freeze,
    frozen_list,
    sealed,
    strict_key,
    vector,
)

__all__ = [
    "Answered",
    "ApprovalsNeeded",
    "Asked",
    "Cancelled",
    "Done",
    "Forked",
    "HookFailed",
    "HookResult",
    "Logged",
    "ModelAnswer",
    "ModelFailed",
    "Need",
    "NeedApprovals",
    "NeedFinish",
    "NeedModel",
    "NeedPrepareStep",
    "NeedProcessInput",
    "NeedStepFinish",
    "NeedStepStart",
    "NeedStop",
    "NeedTools",
    "Outcome",
    "Processed",
    "Rejected",
    "RunResult",
    "Settings",
    "StepStartEvent",
    "ToolFailed",
    "ToolOutcomes",
    "ToolSpec",
    "ToolSucceeded",
    "ToolsFailed",
    "Tripped",
]

DEFAULT_MAX_STEPS: Final = 20


# ---------------------------------------------------------------- what a run is given


@sealed
@attrs.frozen
class ToolSpec:
    """A tool as the loop knows it.

    `needs_approval` is whether its calls wait for somebody's approval, "ask" if that depends on the call;
    a tool without `has_execute` is run by somebody else, after the run.
    """

    name: str
    has_execute: bool = True
    needs_approval: bool | Literal["ask"] = field(default=False, kw_only=True)
    dynamic: bool = field(default=False, kw_only=True)


def _tools(value: Iterable[ToolSpec] | None) -> Vector[ToolSpec] | None:
    return None if value is None else vector(value)


@sealed
@attrs.frozen(kw_only=True)
class Settings:
    """The settings of a whole run; as in the package, no tools (None) and an empty list of them differ.

    With `process_input` the run begins with NeedProcessInput. With `validate_prompt` a prompt that providers
    refuse fails the run before a model is asked; `holds_history` is whether the model holds the history on
    its side, so that a prompt makes sense together with that only (rule prompt.history-elsewhere).
    """

    model: str
    system: SystemPrompt | None = field(default=None, converter=system_prompt)
    tools: Vector[ToolSpec] | None = field(default=None, converter=_tools)
    tool_choice: JsonObject | None = field(default=None, converter=tool_choice, eq=strict_key)
    active_tools: tuple[str, ...] | None = field(default=None, converter=names)
    provider_options: JsonObject | None = field(default=None, converter=options, eq=strict_key)
    # Not in the text: what callers put here, such as who asks, would stand in logs and tracebacks.
    experimental_context: JsonValue = field(default=None, converter=context, eq=strict_key, repr=False)
    max_steps: int = field(default=DEFAULT_MAX_STEPS)
    process_input: bool = False
    validate_prompt: bool = True
    holds_history: bool = False
    _by_name: Mapping[str, ToolSpec] = field(init=False, eq=False, repr=False)

    @_by_name.default
    def _named(self) -> Mapping[str, ToolSpec]:
        # Of tools that share a name, the first.
        return FrozenDict({tool.name: tool for tool in reversed(self.tools or ())})

    asks_approval: bool = field(init=False, eq=False, repr=False)
    """Whether calls of a tool may wait for approval."""

    @asks_approval.default
    def _any_asks(self) -> bool:
        return any(tool.needs_approval for tool in self.tools or ())

    @max_steps.validator
    def _is_positive(self, _: attrs.Attribute[Any], value: int) -> None:
        if value < 1:
            raise ValueError("max_steps is 1 or more")

    def tool(self, name: str) -> ToolSpec | None:
        """The tool of that name."""
        return self._by_name.get(name)


# ---------------------------------------------------------------- what a run needs


@sealed
@attrs.frozen(kw_only=True)
class StepStartEvent:
    """The argument of `on_step_start`: the step under its override (claims X1, X2)."""

    step_number: int
    model: str
    system: SystemPrompt | None
    messages: Vector[Message]
    tools: Vector[ToolSpec] | None
    tool_choice: JsonObject | None = field(eq=strict_key)
    active_tools: tuple[str, ...] | None
    steps: Vector[StepRecord]
    provider_options: JsonObject | None = field(eq=strict_key)
    experimental_context: JsonValue = field(eq=strict_key, repr=False)


@sealed
@attrs.frozen(kw_only=True)
class RunResult:
    """The result of a run; `messages` is the response chain, which follows the messages of the caller.

    A run that a processor ended has a `tripwire`, and maybe no step.
    """

    steps: Vector[StepRecord]
    messages: Vector[Message]
    tripwire: Tripwire | None = None

    @property
    def text(self) -> str:
        """The text of the last step; empty without any."""
        return self.steps[-1].text if self.steps else ""

    @property
    def finish_reason(self) -> str:
        """Why the model stopped in the last step, or "tripwire"."""
        return self.steps[-1].finish_reason if self.tripwire is None else "tripwire"

    @property
    def usage(self) -> Usage:
        """The usage of all steps together."""
        return total_usage(self.steps)


@sealed
@attrs.frozen
class NeedProcessInput:
    """Call `process_input` of the processors in order; answered by Processed, HookResult or Tripped."""

    call: CallPreparation


@sealed
@attrs.frozen
class NeedPrepareStep:
    """Call the processors in order, `prepare_step` as the last; answered by Processed, HookResult or Tripped.

    The HookResult is what a `prepare_step` returned that is the only one, or None.
    """

    step: StepPreparation


@sealed
@attrs.frozen
class NeedStepStart:
    """Call `on_step_start`."""

    event: StepStartEvent


@sealed
@attrs.frozen(kw_only=True)
class NeedModel:
    """Call the model of that id; answered by ModelAnswer or ModelFailed.

    A `response_format` is that of the step's override; without one the driver's own holds. The
    `model_settings` are those of the override too, to be merged over the driver's own.
    """

    model: str
    prompt: Vector[Message]
    tools: Vector[ToolSpec] | None = None
    tool_choice: JsonObject | None = field(default=None, eq=strict_key)
    provider_options: JsonObject | None = field(default=None, eq=strict_key)
    response_format: JsonObject | None = field(default=None, eq=strict_key)
    model_settings: JsonObject | None = field(default=None, eq=strict_key)


@sealed
@attrs.frozen(kw_only=True)
class NeedApprovals:
    """Ask the tools of these calls whether approval is needed; answered by ApprovalsNeeded."""

    calls: Vector[ToolCall]
    messages: Vector[Message]
    experimental_context: JsonValue = field(default=None, eq=strict_key, repr=False)


@sealed
@attrs.frozen(kw_only=True)
class NeedTools:
    """Run these calls, in any order or at once; answered by ToolOutcomes. `messages`: the step input (X1).

    `finished` are outcomes of other calls of the same answer that the run was given before.
    """

    calls: Vector[ToolCall]
    messages: Vector[Message]
    experimental_context: JsonValue = field(default=None, eq=strict_key, repr=False)
    finished: tuple[ToolSucceeded | ToolFailed, ...] = NO_ITEMS


@sealed
@attrs.frozen
class NeedStepFinish:
    """Call `on_step_finish`."""

    record: StepRecord


@sealed
@attrs.frozen
class NeedStop:
    """Ask the stop conditions; the HookResult's value is taken as true or false."""

    steps: Vector[StepRecord]


@sealed
@attrs.frozen
class NeedFinish:
    """Call `on_finish`."""

    result: RunResult


@sealed
@attrs.frozen
class Done:
    """Nothing: the run has ended well. While approvals or calls wait, it is answered by Answered."""

    result: RunResult


Need: TypeAlias = (
    NeedProcessInput
    | NeedPrepareStep
    | NeedStepStart
    | NeedModel
    | NeedApprovals
    | NeedTools
    | NeedStepFinish
    | NeedStop
    | NeedFinish
    | Done
)


# ---------------------------------------------------------------- outcomes


@sealed
@attrs.frozen
class HookResult:
    """A hook, a notification or a stop condition returned, or there is none."""

    value: object = None


NO_RESULT: Final = HookResult()
"""Nothing was returned. A run keeps every outcome, so the same value stands for all that are nothing."""


@sealed
@attrs.frozen
class HookFailed:
    """A hook, a notification or a stop condition raised; `hook` is its name, where the driver gives it."""

    error: Exception
    hook: str | None = field(default=None, kw_only=True)


def _edits(value: Iterable[ProcessorEdit]) -> tuple[ProcessorEdit, ...]:
    return frozen_list(value)


@sealed
@attrs.frozen
class Processed:
    """The processors of a step, or of a run's input, have run: what those did that did anything."""

    edits: tuple[ProcessorEdit, ...] = field(converter=_edits)


@sealed
@attrs.frozen
class Tripped:
    """A processor ended the run by `abort` (rule processor.abort-ends)."""

    tripwire: Tripwire


def _parts(value: Iterable[ContentPart]) -> Vector[ContentPart]:
    return vector(value)


@sealed
@attrs.frozen
class ModelAnswer:
    """The answer of a model; its reason is by default `tool-calls` if it has calls, else `stop`.

    `requested_model` is the id of the model that was asked, if it is not the one that the need names.
    `model_state` is what that model is to be given at its next call; None leaves what it was given.
    The rest is what the provider said besides, and is kept on the step's record.
    """

    content: Vector[ContentPart] = field(converter=_parts)
    finish_reason: str | None = None
    usage: Usage = field(default=NO_USAGE, kw_only=True)
    model_id: str | None = field(default=None, kw_only=True)
    response_id: str | None = field(default=None, kw_only=True)
    provider_metadata: JsonObject | None = field(
        default=None, converter=metadata, kw_only=True, eq=strict_key
    )
    warnings: tuple[str, ...] = field(default=NO_ITEMS, converter=texts, kw_only=True)
    requested_model: str | None = field(default=None, kw_only=True)
    model_state: JsonObject | None = field(default=None, converter=model_state, kw_only=True, eq=strict_key)


@sealed
@attrs.frozen
class ModelFailed:
    """The model could not answer, or the hook of that name raised when it was given a part of the answer."""

    error: Exception
    hook: str | None = field(default=None, kw_only=True)


def _ids(value: Iterable[str]) -> frozenset[str]:
    return FrozenSet(value)


@sealed
@attrs.frozen
class ApprovalsNeeded:
    """The calls, of those asked about, that need approval."""

    tool_call_ids: frozenset[str] = field(converter=_ids)


@sealed
@attrs.frozen
class ToolSucceeded:
    """A tool returned. `model_output` is its own conversion for the model, if it has one."""

    tool_call_id: str
    output: JsonValue = field(converter=output, eq=strict_key)
    model_output: ToolOutput | None = field(default=None, kw_only=True)


@sealed
@attrs.frozen
class ToolFailed:
    """A tool raised; `error` is the text of the exception."""

    tool_call_id: str
    error: JsonValue = field(converter=error, eq=strict_key)


@sealed
@attrs.frozen
class ToolsFailed:
    """A tool did what fails the run and not only its call: it wrote into a value that cannot change.

    Difference.REFUSED_WRITE_FAILS. Or the hook of that name raised when it was given an event of a tool.
    """

    error: Exception
    hook: str | None = field(default=None, kw_only=True)


def _outcomes(value: Iterable[ToolSucceeded | ToolFailed]) -> tuple[ToolSucceeded | ToolFailed, ...]:
    return frozen_list(value)


@sealed
@attrs.frozen
class ToolOutcomes:
    """The outcome of each call, in the order they finished; of some calls, the others are needed still."""

    outcomes: tuple[ToolSucceeded | ToolFailed, ...] = field(converter=_outcomes)


def _questions(value: Iterable[Interrupt]) -> tuple[Interrupt, ...]:
    # By id: parallel tools may ask by one name, and a person answers once (rule interrupt.one-question).
    return FrozenList({interrupt.id: interrupt for interrupt in value}.values())


@sealed
@attrs.frozen
class Asked:
    """Whoever was to do it asks first; the run waits for Answered. Questions of one id are one question."""

    interrupts: tuple[Interrupt, ...] = field(converter=_questions)

    @interrupts.validator
    def _are_some(self, _: attrs.Attribute[Any], value: tuple[Interrupt, ...]) -> None:
        # A run that waits for nothing could be answered by nothing, and would wait for ever.
        if not value:
            raise ValueError("who asks has one question or more")


def _answers(value: Mapping[str, object]) -> JsonObject:
    if not isinstance(value, Mapping):
        raise InvalidJsonError("$.answers", f"use an object of answers by id, not {type(value).__name__}")
    return cast("JsonObject", freeze(value, "$.answers"))


@sealed
@attrs.frozen
class Answered:
    """An answer to each thing that a run waits for, JSON by id (`agentcore.machine.pending`).

    For a run that was Interrupted, and for one that is Done while approvals or calls wait for somebody.
    """

    answers: JsonObject = field(converter=_answers, eq=strict_key)


@sealed
@attrs.frozen
class Rejected:
    """The caller cannot use the result, for this reason: the run goes on with another step.

    Answers a NeedFinish, so `on_finish` does not get this result (rule output.asked-again). The driver gives
    the model the reason by an edit of that step.
    """

    reason: str


@sealed
@attrs.frozen
class Cancelled:
    """Somebody cancelled the run, whatever it was waiting for."""


@sealed
@attrs.frozen
class Forked:
    """No outcome, but among them in what a run keeps: from here on other settings, and messages, hold.

    `ids` are those of the messages.
    """

    settings: Settings
    messages: Vector[Message] | None = None
    ids: Vector[str] | None = field(default=None, kw_only=True)


Outcome: TypeAlias = (
    HookResult
    | HookFailed
    | Processed
    | Tripped
    | ModelAnswer
    | ModelFailed
    | ApprovalsNeeded
    | ToolOutcomes
    | ToolsFailed
    | Asked
    | Answered
    | Rejected
    | Cancelled
)
Logged: TypeAlias = Outcome | Forked
