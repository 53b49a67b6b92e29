"""The loop: what a run needs is done, and what came of it is given back, until the run has ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

from agentcore.content import ContentPart, ToolCall
from agentcore.driver.errors import ChunkHookError, UnknownModelError
from agentcore.driver.models import ModelCall
from agentcore.driver.parts import Emit, Parts, awaited
from agentcore.driver.processors import Processors
from agentcore.driver.tools import ToolCalls, context_of
from agentcore.effects import (
    ApprovalsNeeded,
    Cancelled,
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    ModelFailed,
    NeedApprovals,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedProcessInput,
    NeedStepFinish,
    NeedStepStart,
    NeedStop,
    NeedTools,
    Outcome,
    Tripped,
)
from agentcore.events import AgentEvent, ChunkEvent, RunTripped, StepFinished, StepStarted
from agentcore.hooks import merge_settings
from agentcore.models.base import LanguageModel, ModelRequest, ModelResponse
from agentcore.observe import Observer
from agentcore.run import Failed, Run, give, need
from agentcore.tools import Tool
from agentcore.values import JsonObject

__all__ = ["Driver"]

_T = TypeVar("_T")


class Driver:
    """Drives one run to its end. `run` is the run as far as it has come, at any time.

    With events to emit, models are asked to stream, and every event is awaited before the run goes on;
    without, models are asked for whole answers. Nothing else differs.
    """

    def __init__(self, run: Run, parts: Parts, observer: Observer) -> None:
        self.run = run
        self._parts = parts
        self._observer = observer
        self._emit_event: Emit | None = None
        self._tell: Callable[[ChunkEvent], Awaitable[None]] | None = None
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in parts.tools}
        self._processors = Processors(parts, observer)
        self._answers: Mapping[type, Callable[[Any], Awaitable[Outcome]]] = {
            NeedProcessInput: self._process_input,
            NeedPrepareStep: self._prepare_step,
            NeedStepStart: self._step_start,
            NeedModel: self._model,
            NeedApprovals: self._approvals,
            NeedTools: self._run_tools,
            NeedStepFinish: self._step_finish,
            NeedStop: self._stop,
            NeedFinish: self._finish,
        }

    async def drive(self, emit: Emit | None = None) -> Run:
        """The run at its end, Done or Failed. Raises only what cancels it, which `run` has then seen."""
        self._emit_event = emit
        self._tell = None if emit is None else self._told
        while not isinstance(wanted := need(self.run), Done | Failed):
            try:
                outcome = await self._answers[type(wanted)](wanted)
            except BaseException:
                self.run = give(self.run, Cancelled())
                raise
            self.run = give(self.run, outcome)
        return self.run

    @property
    def _step_number(self) -> int:
        return self.run.step_number

    # ------------------------------------------------------------ hooks

    async def started(self, hook: Callable[[_T], object] | None, event: _T) -> None:
        """Tell `on_start`. What it raises fails the run."""
        if hook is None:
            return
        outcome = await self._hook("on_start", -1, hook, event)
        if isinstance(outcome, HookFailed):
            self.run = give(self.run, outcome)

    async def _hook(self, name: str, step_number: int, hook: Callable[[_T], object], argument: _T) -> Outcome:
        try:
            with self._observer.hook(name, step_number):
                return HookResult(await awaited(hook(argument)))
        except Exception as error:  # noqa: BLE001 - whatever a hook raises fails the run
            return HookFailed(error)

    async def _process_input(self, wanted: NeedProcessInput) -> Outcome:
        return await self._processed(self._processors.process_input(wanted))

    async def _prepare_step(self, wanted: NeedPrepareStep) -> Outcome:
        return await self._processed(self._processors.prepare_step(wanted))

    async def _processed(self, outcome: Awaitable[Outcome]) -> Outcome:
        ended = await outcome
        if isinstance(ended, Tripped):
            await self._emit(RunTripped(ended.tripwire))
        return ended

    async def _step_start(self, wanted: NeedStepStart) -> Outcome:
        hook = self._parts.on_step_start
        outcome: Outcome = HookResult()
        if hook is not None:
            outcome = await self._hook("on_step_start", self._step_number, hook, wanted.event)
        if isinstance(outcome, HookResult):
            await self._emit(StepStarted(wanted.event))
        return outcome

    async def _step_finish(self, wanted: NeedStepFinish) -> Outcome:
        number = wanted.record.step_number
        if self._parts.checkpoint is not None:
            saved = await self._hook("checkpoint", number, self._parts.checkpoint, self.run)
            if isinstance(saved, HookFailed):
                return saved
        await self._emit(StepFinished(wanted.record))
        if self._parts.on_step_finish is None:
            return HookResult()
        return await self._hook("on_step_finish", number, self._parts.on_step_finish, wanted.record)

    async def _stop(self, wanted: NeedStop) -> Outcome:
        for condition in self._parts.stop_when:
            outcome = await self._hook("stop_when", self._step_number - 1, _truth(condition), wanted.steps)
            if isinstance(outcome, HookFailed) or (isinstance(outcome, HookResult) and outcome.value):
                return outcome
        return HookResult()

    async def _finish(self, wanted: NeedFinish) -> Outcome:
        if self._parts.on_finish is None:
            return HookResult()
        return await self._hook("on_finish", self._step_number - 1, self._parts.on_finish, wanted.result)

    # ------------------------------------------------------------ the model

    async def _model(self, wanted: NeedModel) -> Outcome:
        try:
            call = ModelCall(
                self._model_of(wanted.model),
                self._request(wanted),
                step_number=self._step_number,
                max_retries=self._parts.max_retries,
                observer=self._observer,
                tell=self._tell,
                tell_retry=self._emit,
            )
            return self._answer(wanted, await call.answer())
        except ChunkHookError as failed:
            return ModelFailed(failed.error)
        except Exception as error:  # noqa: BLE001 - whatever a model raises fails the run
            return ModelFailed(error)

    def _model_of(self, model_id: str) -> LanguageModel:
        known = (*self._processors.models.values(), self._parts.model, *self._parts.models)
        for model in known:
            if model.model_id == model_id:
                return model
        raise UnknownModelError(model_id, (model.model_id for model in known))

    def _request(self, wanted: NeedModel) -> ModelRequest:
        tools = wanted.tools
        return ModelRequest(
            prompt=wanted.prompt,
            tools=None if tools is None else [self._tools[tool.name].definition for tool in tools],
            tool_choice=wanted.tool_choice,
            settings=cast("JsonObject", merge_settings(self._parts.settings, wanted.model_settings)),
            provider_options=wanted.provider_options,
            response_format=self._response_format(wanted),
        )

    def _response_format(self, wanted: NeedModel) -> JsonObject | None:
        if wanted.response_format is None:
            return self._parts.response_format
        return None if wanted.response_format["type"] == "text" else wanted.response_format

    def _answer(self, wanted: NeedModel, response: ModelResponse) -> ModelAnswer:
        offered = {tool.name for tool in wanted.tools or ()}
        return ModelAnswer(
            [self._checked(part, offered) for part in response.content],
            response.finish_reason,
            usage=response.usage,
            model_id=response.model_id,
            response_id=response.response_id,
            provider_metadata=response.provider_metadata,
            warnings=response.warnings,
        )

    def _checked(self, part: ContentPart, offered: set[str]) -> ContentPart:
        # A call of a tool that the step does not offer is for the run to answer.
        if isinstance(part, ToolCall) and part.tool_name in offered:
            return self._tools[part.tool_name].checked(part)
        return part

    # ------------------------------------------------------------ tools

    async def _approvals(self, wanted: NeedApprovals) -> Outcome:
        needed: list[str] = []
        for call in wanted.calls:
            outcome = await self._hook(
                "needs_approval", self._step_number, self._needs_approval(wanted), call
            )
            if not isinstance(outcome, HookResult):
                return outcome
            if outcome.value:
                needed.append(call.tool_call_id)
        return ApprovalsNeeded(needed)

    def _needs_approval(self, wanted: NeedApprovals) -> Callable[[ToolCall], Awaitable[bool]]:
        async def ask(call: ToolCall) -> bool:
            tool = self._tools[call.tool_name]
            told = context_of(call, wanted.messages, wanted.experimental_context, self._step_number)
            return bool(await awaited(tool.approval(tool.validated(call.input), told)))

        return ask

    async def _run_tools(self, wanted: NeedTools) -> Outcome:
        calls = ToolCalls(
            wanted,
            self._tools,
            step_number=self._step_number,
            observer=self._observer,
            tell=self._tell,
        )
        return await calls.outcomes(self._parts.tool_concurrency)

    # ------------------------------------------------------------ events

    async def _emit(self, event: AgentEvent) -> None:
        if self._emit_event is not None:
            await self._emit_event(event)

    async def _told(self, event: ChunkEvent) -> None:
        hook = self._parts.on_chunk
        if hook is not None:
            try:
                with self._observer.chunk(self._step_number):
                    await awaited(hook(event))
            except Exception as error:
                raise ChunkHookError(error) from error
        await self._emit(event)


def _truth(condition: Callable[[_T], object]) -> Callable[[_T], Awaitable[bool]]:
    # Inside of the hook, because asking for a value's truth may raise.
    async def ask(argument: _T) -> bool:
        return bool(await awaited(condition(argument)))

    return ask
