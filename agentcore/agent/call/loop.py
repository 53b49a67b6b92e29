"""The loop: it does what a run needs, and gives back the outcome, until the run has ended."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Container, Mapping
from typing import Any, ClassVar, Final, TypeVar, cast

import attrs

from agentcore.agent.call.checks import check_passed_on
from agentcore.agent.call.config import (
    Cancellation,
    Emit,
    Parts,
    Processors,
    Spending,
    StepCount,
    awaited,
    cancellations,
)
from agentcore.agent.call.errors import (
    ChunkHookError,
    InvalidAnswerError,
    UnknownModelError,
    UsageLimitError,
    signals,
    without_signals,
)
from agentcore.agent.call.needs import ModelCall, ReadCalls, ToolCalls, context_of
from agentcore.agent.call.stages import Chain, Tell
from agentcore.agent.events import (
    AgentEvent,
    ChunkEvent,
    PartialObject,
    RunTripped,
    StepFinished,
    StepStarted,
)
from agentcore.agent.middleware import (
    ExecuteToolStage,
    Handlers,
    InvokeModelContext,
    InvokeModelStage,
    ModelDelta,
)
from agentcore.agent.models.base import LanguageModel, ModelRequest, ModelResponse, ToolDefinition
from agentcore.agent.output import Output, OutputError, PartialObjects
from agentcore.agent.telemetry import Observer
from agentcore.agent.tools import Tool
from agentcore.machine.effects import (
    NO_RESULT,
    Answered,
    ApprovalsNeeded,
    Asked,
    Cancelled,
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    ModelFailed,
    Need,
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
    Rejected,
    ToolOutcomes,
    ToolsFailed,
    ToolSpec,
    Tripped,
)
from agentcore.machine.hooks import handing, merge_settings
from agentcore.machine.pending import pending_of
from agentcore.machine.processors import NamedProcessor
from agentcore.machine.run import Failed, Interrupted, Run, give, need
from agentcore.messages.content import ContentPart, ToolCall
from agentcore.messages.interrupts import InterruptSignal
from agentcore.messages.messages import UserMessage
from agentcore.messages.values import NO_ITEMS, JsonObject, Vector, maker, strict_key, vector

__all__ = ["ASKED_AGAIN", "Driver", "has_answered"]

_T = TypeVar("_T")

_ENDS: Final = frozenset({Done, Failed, Interrupted})

ASKED_AGAIN: Final = "output-asked-again"
"""The id under which the message that asks again is among the edits of its step."""

_new_request: Final = maker(ModelRequest)
_new_answer: Final = maker(ModelAnswer)
_ASKED_AGAIN: Final = "Answer again, with the whole of it and nothing else."


class Driver:
    """Drives one run to its end. `run` is the run as far as it has come, at any time.

    With events to emit, models are asked to stream, and every event is awaited before the run goes on;
    without, models are asked for whole answers. Nothing else differs.
    """

    def __init__(
        self,
        run: Run,
        parts: Parts,
        observer: Observer,
        invocation_state: Any,
        cancellation: Cancellation,
    ) -> None:
        self.run = run
        self._cancellation = cancellation
        self._parts = parts
        self._invocation_state = invocation_state
        self._model_handlers = parts.handlers_of(InvokeModelStage)
        self._tool_handlers = parts.handlers_of(ExecuteToolStage)
        self._observer = observer
        self._emit_event: Emit | None = None
        self._tell: Callable[[ChunkEvent], Awaitable[None]] | None = None
        # Of the step whose model is called, if it is asked for JSON.
        self._partial: PartialObjects | None = None
        self._tools: Mapping[str, Tool] = {tool.name: tool for tool in parts.tools}
        self._definitions = {tool.name: tool.definition for tool in parts.tools}
        # What the step before offered, and how a model gets it.
        self._offered: Vector[ToolSpec] | None = None
        self._described: Vector[ToolDefinition] = vector()
        self._processors = Processors(parts, observer, invocation_state, cancellation)
        self._spending = None if parts.usage_limits is None else Spending(parts.usage_limits)
        self._read = ReadCalls()
        self._unheard: Container[type[Need]] = NO_ITEMS
        # The tools that are running.
        self._tool_calls: ToolCalls | None = None

    async def drive(self, emit: Emit | None = None) -> Run:
        """The run at its end, Done, Failed or Interrupted.

        Raises only what cancels it, which `run` has then seen.
        """
        self._emit_event = emit
        self._tell = None if emit is None else self._emit_chunk
        self._unheard = self._unheard_needs()
        try:
            while type(wanted := need(self.run)) not in _ENDS:
                outcome = await self._outcome(wanted)
                # The reason of a rejection is added by a processor, whether there are others or not.
                unheard = NO_ITEMS if type(outcome) is Rejected else self._unheard
                self.run = give(self.run, outcome, unheard)
        finally:
            self._emit_event = self._tell = None  # its own method, which is a reference cycle
        return self.run

    async def _outcome(self, wanted: object) -> Outcome:
        try:
            return await self._ANSWERS[type(wanted)](self, wanted)
        except BaseException as error:  # noqa: BLE001 - raised, or what is left of it
            asked = signals(error, InterruptSignal)
            if not asked:
                # Before the cancellation is given: a failed run takes no outcomes any more, and a
                # resumed one would run these tools a second time.
                self._keep_finished()
                self.run = give(self.run, Cancelled())
                raise without_signals(error)  # noqa: B904 - it is that exception
            return Asked(signal.interrupt for signal in asked)

    def _unheard_needs(self) -> frozenset[type[Need]]:
        """The needs that no hook and no reader of events is there for."""
        parts, heard = self._parts, self._emit_event is not None
        answered: dict[type[Need], object] = {
            NeedPrepareStep: parts.processors,
            NeedStepStart: heard or parts.on_step_start is not None,
            NeedStop: parts.stop_when,
        }
        return frozenset(kind for kind, by in answered.items() if not by)

    def _keep_finished(self) -> None:
        """Give the run the outcomes of the tools that have finished (rule interrupt.finished-kept)."""
        if self._tool_calls is not None and self._tool_calls.finished:
            self.run = give(self.run, ToolOutcomes(self._tool_calls.finished))
        self._tool_calls = None

    def output_of(self, asked: JsonObject) -> Output[Any]:
        """The output that was asked for: a hook's, the call's, or of a saved run what its JSON says."""
        key, own, of_hooks = strict_key(asked), self._parts.output, self._processors.outputs
        if key in of_hooks:
            return of_hooks[key]
        if own is not None and strict_key(own.response_format) == key:
            return own
        return Output.of_format(asked)

    @property
    def _step_number(self) -> int:
        return self.run.step_number

    # ------------------------------------------------------------ hooks

    async def started(self, hook: Callable[[Run], object] | None) -> None:
        """Call `on_start`. What it raises fails the run."""
        if hook is None:
            return
        outcome = await self._hook("on_start", -1, hook, self.run)
        if isinstance(outcome, HookFailed):
            self.run = give(self.run, outcome)

    async def _hook(self, name: str, step_number: int, hook: Callable[[_T], object], argument: _T) -> Outcome:
        try:
            watch = self._observer.hook(name, step_number, before_model=name == "on_step_start")
            with handing(name, "observer", step_number, argument), watch:
                value = await watch.called(hook, argument)
                return NO_RESULT if value is None else HookResult(value)
        except Exception as error:  # noqa: BLE001 - whatever a hook raises fails the run
            return HookFailed(error, hook=name)
        except cancellations() as error:  # cancel.own-error
            return HookFailed(await self._cancellation.failure(error, f"hook '{name}'"), hook=name)

    async def _process_input(self, wanted: NeedProcessInput) -> Outcome:
        return await self._processed(self._processors.process_input(wanted))

    async def _prepare_step(self, wanted: NeedPrepareStep) -> Outcome:
        self._observer.begin_limit()
        return await self._processed(self._processors.prepare_step(wanted, _asking_again(self.run)))

    async def _processed(self, outcome: Awaitable[Outcome]) -> Outcome:
        ended = await outcome
        if isinstance(ended, Tripped):
            await self._emit(RunTripped(ended.tripwire))
        return ended

    async def _step_start(self, wanted: NeedStepStart) -> Outcome:
        hook = self._parts.on_step_start
        outcome: Outcome = NO_RESULT
        if hook is not None:
            outcome = await self._hook("on_step_start", self._step_number, hook, wanted.event)
        if isinstance(outcome, HookResult):
            await self._emit(StepStarted(wanted.event))
        return outcome

    async def _step_finish(self, wanted: NeedStepFinish) -> Outcome:
        number = wanted.record.step_number
        if self._parts.checkpoint is not None:
            saved = await self._hook("checkpoint", number, self._parts.checkpoint, self.run)
            # The checkpoint comes first and its failure ends the run: nobody is notified of a step that
            # could not be kept.
            if isinstance(saved, HookFailed):
                return saved
        await self._emit(StepFinished(wanted.record))
        if self._parts.on_step_finish is None:
            return NO_RESULT
        return await self._hook("on_step_finish", number, self._parts.on_step_finish, wanted.record)

    async def _stop(self, wanted: NeedStop) -> Outcome:
        for condition in self._parts.stop_when:
            # No person's code: there is no time to take, and no write to refuse.
            if isinstance(condition, StepCount):
                if condition(wanted.steps):
                    return HookResult(value=True)
                continue
            outcome = await self._hook("stop_when", self._step_number - 1, _truth(condition), wanted.steps)
            if isinstance(outcome, HookFailed) or (isinstance(outcome, HookResult) and outcome.value):
                return outcome
        return NO_RESULT

    async def _finish(self, wanted: NeedFinish) -> Outcome:
        rejected = self._rejected()
        if rejected is not None:
            return rejected
        if self._parts.on_finish is None:
            return NO_RESULT
        return await self._hook("on_finish", self._step_number - 1, self._parts.on_finish, wanted.result)

    def _rejected(self) -> Rejected | None:
        """The reason to ask the model again, as long as it may be: the answer is not the output."""
        run, left = self.run, self._parts.output_retries
        asked = self._parts.asked_format(run.steps[-1].override.response_format) if run.steps else None
        if not left or asked is None or run.reply is not None or not has_answered(run):
            return None
        # Counted in the run and not here, so that a resumed run has no more retries than one that was not
        # interrupted.
        if sum(isinstance(outcome, Rejected) for outcome in run.outcomes) >= left:
            return None
        try:
            self.output_of(asked).parse(run.steps[-1].text)
        except OutputError as error:
            return Rejected(str(error))
        return None

    # ------------------------------------------------------------ the model

    async def _model(self, wanted: NeedModel) -> Outcome:
        self._observer.before_model(self._step_number)
        self._read.clear()
        is_json = self._parts.asked_format(wanted.response_format) is not None
        self._partial = PartialObjects(self._step_number) if is_json and self._tell else None
        try:
            if self._spending is not None:
                self._spending.check_request(self.run)
            model, request = self._model_of(wanted.model), self._request(wanted)
            if self._model_handlers is None:
                response = await self._ask_model(model, request, self._tell)
            else:
                response = await self._through_handlers(self._model_handlers, model, request)
            if self._partial is not None:
                await self._show(self._partial.take_answer(response.content))
            return self._answer(wanted, response)
        # A limit is not the model's failure: under its own name a caller can allow more and resume.
        except UsageLimitError as error:
            return ModelFailed(error, hook="usage_limits")
        except Exception as error:  # noqa: BLE001 - whatever a model raises fails the run
            return ModelFailed(error)
        except BaseException as error:
            # It passes adapters and middleware as a BaseException: those may take an Exception for the
            # provider's failure and try again.
            for failed in signals(error, ChunkHookError):
                return ModelFailed(failed.error, hook="on_chunk")
            raise
        finally:
            self._observer.begin_limit()

    async def _through_handlers(
        self, handlers: Handlers, model: LanguageModel, request: ModelRequest
    ) -> ModelResponse:
        async def inner(context: InvokeModelContext, tell: Tell[ModelDelta]) -> ModelResponse:
            if self.run.settings.validate_prompt:
                check_passed_on(self.run, context, handlers)
            response = await self._ask_model(context.model, context.request, tell)
            return attrs.evolve(response, requested_model=context.model.model_id)

        number = self._step_number
        chain = Chain(
            InvokeModelStage,
            handlers,
            inner,
            observer=self._observer,
            cancellation=self._cancellation,
            step_number=number,
        )
        context = InvokeModelContext(
            model=model,
            request=request,
            step_number=number,
            invocation_state=self._invocation_state,
            answers=self.run.answers,
        )
        return await chain.result(context, self._tell)

    async def _ask_model(
        self, model: LanguageModel, request: ModelRequest, tell: Tell[ModelDelta]
    ) -> ModelResponse:
        # model.state-is-a-snapshot: of the run, which a step changes at its end only.
        state = cast("JsonObject | None", self.run.model_states.get(model.model_id))
        if request.model_state is not state:
            request = attrs.evolve(request, model_state=state)
        call = ModelCall(
            model,
            request,
            step_number=self._step_number,
            max_retries=self._parts.max_retries,
            observer=self._observer,
            cancellation=self._cancellation,
            tell=tell,
            tell_retry=self._emit,
        )
        return await call.answer()

    def _model_of(self, model_id: str) -> LanguageModel:
        # What a hook returned comes first: a model of its own may have the id of one of the agent's.
        known = (*self._processors.models.values(), self._parts.model, *self._parts.models)
        for model in known:
            if model.model_id == model_id:
                return model
        raise UnknownModelError(model_id, (model.model_id for model in known))

    def _request(self, wanted: NeedModel) -> ModelRequest:
        if wanted.tools is not self._offered:
            self._offered = wanted.tools
            self._described = vector(self._definitions[tool.name] for tool in wanted.tools or ())
        return _new_request(
            prompt=wanted.prompt,
            tools=None if wanted.tools is None else self._described,
            tool_choice=wanted.tool_choice,
            settings=cast("JsonObject", merge_settings(self._parts.settings, wanted.model_settings)),
            provider_options=wanted.provider_options,
            response_format=self._parts.asked_format(wanted.response_format),
        )

    def _answer(self, wanted: NeedModel, response: ModelResponse) -> ModelAnswer:
        other = response.requested_model if response.requested_model != wanted.model else None
        return _new_answer(
            vector([self._checked(part, wanted) for part in response.content]),
            response.finish_reason,
            usage=response.usage,
            model_id=response.model_id,
            response_id=response.response_id,
            provider_metadata=response.provider_metadata,
            warnings=response.warnings,
            requested_model=other,
            model_state=response.model_state,
        )

    def _checked(self, part: ContentPart, wanted: NeedModel) -> ContentPart:
        # A call of a tool that the step does not offer is for the run to answer.
        if isinstance(part, ToolCall) and any(tool.name == part.tool_name for tool in wanted.tools or ()):
            return self._read.checked(self._tools[part.tool_name], part)
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
            told = context_of(call, wanted, self.run, self._invocation_state)
            with handing(f"needs_approval of {tool.name}", "observer", self._step_number, told):
                needed = await awaited(tool.approval(tool.validated(call.input), told))
            if not isinstance(needed, bool):  # None, say, which would let the call pass unseen
                raise InvalidAnswerError(f"needs_approval of tool '{tool.name}'", type(needed).__name__)
            return needed

        return ask

    async def _run_tools(self, wanted: NeedTools) -> Outcome:
        if self._spending is not None:
            try:
                self._spending.check_tools(self.run, len(wanted.calls))
            except UsageLimitError as error:
                return ToolsFailed(error, hook="usage_limits")
        self._tool_calls = ToolCalls(
            self.run,
            wanted,
            self._tools,
            read=self._read,
            handlers=self._tool_handlers,
            invocation_state=self._invocation_state,
            observer=self._observer,
            cancellation=self._cancellation,
            tell=self._tell,
        )
        outcome = await self._tool_calls.ran(self._parts.tool_concurrency)
        # Other calls of the step may have finished before one asked or failed; a resumed run must not
        # repeat them.
        if not isinstance(outcome, ToolOutcomes):
            self._keep_finished()
        self._tool_calls = None
        if isinstance(outcome, ToolsFailed) and not isinstance(self.run.pending, NeedTools):
            return HookFailed(outcome.error, hook=outcome.hook)  # all have finished, and `on_chunk` raised
        return outcome

    # ------------------------------------------------------------ events

    async def _emit(self, event: AgentEvent) -> None:
        if self._emit_event is not None:
            await self._emit_event(event)

    async def _emit_chunk(self, event: ChunkEvent) -> None:
        hook = self._parts.on_chunk
        if hook is not None:
            try:
                watch = self._observer.chunk(self._step_number)
                with handing("on_chunk", "observer", self._step_number, event), watch:
                    await watch.called(hook, event)
            except Exception as error:
                raise ChunkHookError(error) from error
            except cancellations() as error:
                failed = await self._cancellation.failure(error, "hook 'on_chunk'")
                raise ChunkHookError(failed) from failed
        await self._emit(event)
        if self._partial is not None:
            await self._show(self._partial.after(event))

    async def _show(self, partial: PartialObject | None) -> None:
        if partial is not None:
            await self._emit(partial)

    # Of the class: a driver that held its own methods would be a reference cycle, and its whole run garbage
    # that waits for the collector.
    _ANSWERS: ClassVar[Mapping[type, Callable[[Any, Any], Awaitable[Outcome]]]] = {
        NeedProcessInput: _process_input,
        NeedPrepareStep: _prepare_step,
        NeedStepStart: _step_start,
        NeedModel: _model,
        NeedApprovals: _approvals,
        NeedTools: _run_tools,
        NeedStepFinish: _step_finish,
        NeedStop: _stop,
        NeedFinish: _finish,
    }


def _asking_again(run: Run) -> NamedProcessor | None:
    """The processor that says why the last result was rejected; None where none was before this step.

    It is a lasting edit: a user message is in no response chain, and what comes after the answer is about it.
    """
    before = (one for one in reversed(run.outcomes) if not isinstance(one, Asked | Answered))
    last = next(before, None)
    if not isinstance(last, Rejected):
        return None
    told = UserMessage(f"{last.reason}\n{_ASKED_AGAIN}")
    return NamedProcessor(
        id=ASKED_AGAIN, process_input_step=lambda step: {"lasting_messages": [*step.messages, told]}
    )


def has_answered(run: Run) -> bool:
    """Return whether a run ended with an answer of the model, not with calls and not by a processor."""
    if cast("NeedFinish | Done", run.pending).result.tripwire is not None or pending_of(run):
        return False
    return all(call.provider_executed for call in run.steps[-1].tool_calls)


def _truth(condition: Callable[[_T], object]) -> Callable[[_T], Awaitable[bool]]:
    # Inside of the hook, because asking for a value's truth may raise.
    async def ask(argument: _T) -> bool:
        answer = await awaited(condition(argument))
        # A condition that makes one instead of asking it would end every run, and so would a generator.
        if callable(answer) or isinstance(answer, AsyncIterable):
            name = getattr(condition, "__name__", type(condition).__name__)
            raise InvalidAnswerError(f"stop condition '{name}'", type(answer).__name__)
        return bool(answer)

    return ask
