"""The AI SDK's step loop on an explicit heap, as a profile has it: cells alias as the real objects do.

The order of things is that of ai@6.0.134 (claims C1 to C83, X1 to X19); where the two paths differ, a field
of the profile decides.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from agentcore.compat.approving import Approving
from agentcore.compat.calls import Calls, HookError, StepCalls, called, notify, observe
from agentcore.compat.convert import check_messages, check_system, prompt
from agentcore.compat.heap import (
    UNDEFINED,
    DataCloneError,
    Function,
    HeapTypeError,
    Ref,
    Slot,
    StepCell,
    Store,
    Value,
)
from agentcore.compat.js import PackageError, computed_fields, elements, get, is_nullish, or_else
from agentcore.compat.models import Models
from agentcore.compat.offered import merged, offered_choice, offered_tools
from agentcore.compat.outcome import Outcome, Snapshot
from agentcore.compat.profiles import AiSdkProfile, CopyDepth, Failure, Lifetime, Moment, Report
from agentcore.compat.record import Recorded, Sent, record
from agentcore.compat.settings import Settings
from agentcore.compat.views import Desk

_CAUGHT = (HeapTypeError, PackageError, DataCloneError, HookError)


@attrs.define
class _Step:
    """One step on its way: what the hooks returned and what was derived from it."""

    number: int
    input: Ref
    model: Ref
    model_info: Ref
    system: Value
    messages: Value
    prompt: Ref
    tools: Value
    tool_choice: Value
    active_tools: Value
    provider_options: Value


class AiSdkLoop:
    """One run of `generateText` or `streamText`, as the profile says."""

    def __init__(self, profile: AiSdkProfile, settings: Settings, desk: Desk | None = None) -> None:
        self.profile = profile
        self.settings = settings
        self.hooks = settings.hooks
        self.desk = desk if desk is not None else Desk(Store())
        self.store = self.desk.store
        self.calls = Calls(self.desk, settings.tools, settings.hooks)
        self.caller = self.store.array([self.store.load(message) for message in settings.messages])
        if settings.frozen:
            self.store.seal(self.caller)
        self.models = Models(self.desk)
        self.model = self.models.new(settings.model)
        options = {key: self.store.load(value) for key, value in settings.options.items()}
        self.options: Mapping[str, Value] = options
        self.system: Value = UNDEFINED if settings.system is None else self.store.load(settings.system)
        self.context: Value = options.get("experimental_context", UNDEFINED)
        self.initial = self.caller
        self.response = self.store.array(())
        self.steps = self.store.array(())
        self.reported: tuple[Slot, ...] = ()
        self.in_stream = False
        self.last_reason = "other"
        self.step_context = self.context
        self.outcome = Outcome()
        self.snapshots: list[Snapshot] = []

    # ---------------------------------------------------------------- the run

    def run(self) -> Outcome:
        """Runs to the end. Never raises what the real package would report: see the outcome."""
        try:
            self._start()
            self._approvals()
            while self._step():
                pass
            self._finish(ended=True)
        except _CAUGHT as error:
            self._failed(error)
        self._snapshot("end")
        return self.outcome

    def _failed(self, error: BaseException) -> None:
        self.outcome.error = error.original if isinstance(error, HookError) else error
        if self.profile.failure is Failure.REJECTED or self.outcome.steps is not None:
            return
        self.outcome.hung = self.in_stream
        if not self.in_stream:
            try:
                self._finish(ended=False)
            except _CAUGHT:
                return

    def _start(self) -> None:
        check_system(self.store, self.system)
        check_messages(self.store, self.caller)
        self.initial = self._crossed(self.caller, self.profile.caller_to_initial)
        event = {"messages": self.caller, "system": self.system, "tools": self.calls.tools, **self.options}
        notify(self.desk, "onStart", self.hooks.on_start, lambda: self.store.object(event))

    def _crossed(self, messages: Ref, depth: CopyDepth) -> Ref:
        """The list on the other side of a boundary."""
        if depth is CopyDepth.SHARE:
            return messages
        if depth is CopyDepth.LIST:
            return self.store.derive(self.store.array(elements(self.store, messages)), messages)
        return self.store.clone(messages)  # type: ignore[return-value]

    def _approvals(self) -> None:
        step = StepCalls(
            step_number=0, model=self.models.info(self.model), messages=self.initial, context=self.context
        )
        messages = Approving(self.profile, self.calls).messages(step)
        self.store.push(self.response, messages)
        self.reported = tuple(messages)

    # ---------------------------------------------------------------- one step

    def _step(self) -> bool:
        """Runs a step; whether another follows."""
        self.in_stream = False
        step = self._prepared()
        self._step_started(step)
        sent = self._model_called(step)
        self.in_stream = True
        context = StepCalls(
            step_number=step.number, model=step.model_info, messages=step.input, context=self.context
        )
        recorded = record(self.profile, self.calls, sent, context)
        self._record_step(step, recorded, sent)
        return self._goes_on(recorded)

    def _prepared(self) -> _Step:
        store = self.store
        self.desk.step += 1
        number = len(elements(store, self.steps))
        both = (*elements(store, self.initial), *elements(store, self.response))
        listed = store.derive(store.array(both), self.initial, self.response)
        step_input = listed if self.profile.chains_to_hooks <= CopyDepth.LIST else store.clone(listed)
        result = self._prepare_step(number, step_input)  # type: ignore[arg-type]
        model = self.models.resolved(or_else(self._override(result, "model"), self.model))
        system = or_else(self._override(result, "system"), self.system)
        messages = or_else(self._override(result, "messages"), step_input)
        model_prompt = prompt(store, system, messages)
        self._snapshot("prompt", stepInput=step_input, override=messages, prompt=model_prompt)
        active = or_else(self._override(result, "activeTools"), self._option("activeTools"))
        choice = or_else(self._override(result, "toolChoice"), self._option("toolChoice"))
        tools = offered_tools(store, self.calls.tools, active)
        tool_choice = UNDEFINED if tools is UNDEFINED else offered_choice(store, choice)
        step_context = or_else(self._override(result, "experimental_context"), self.context)
        self.step_context = step_context
        if self.profile.context_lives is Lifetime.RUN:
            self.context = step_context
        return _Step(
            number=number,
            input=step_input,  # type: ignore[arg-type]
            model=model,
            model_info=self.models.info(model),
            system=system,
            messages=messages,
            prompt=model_prompt,
            tools=tools,
            tool_choice=tool_choice,
            active_tools=active,
            provider_options=merged(
                store, self._option("providerOptions"), self._override(result, "providerOptions")
            ),
        )

    def _option(self, name: str) -> Value:
        return self.options.get(name, UNDEFINED)

    def _override(self, result: Value, name: str) -> Value:
        return UNDEFINED if is_nullish(result) else get(self.store, result, name)

    def _prepare_step(self, number: int, step_input: Ref) -> Value:
        if self.hooks.prepare_step is None:
            return UNDEFINED
        argument = self.store.object(
            {
                "model": self.model,
                "steps": self.steps,
                "stepNumber": number,
                "messages": step_input,
                "experimental_context": self.context,
            }
        )
        self.desk.hook = "prepareStep"
        returned = called(self.hooks.prepare_step, self.desk.view(argument, ("prepareStep",)))
        return UNDEFINED if returned is None else self.desk.slot(returned)

    def _step_started(self, step: _Step) -> None:
        if self.hooks.on_step_start is None:
            return
        event = {
            "stepNumber": step.number,
            "model": step.model_info,
            "system": step.system,
            "messages": step.messages,
            "tools": self.calls.tools,
            "toolChoice": step.tool_choice,
            "activeTools": step.active_tools,
            "steps": self.store.array(elements(self.store, self.steps)),
            "providerOptions": step.provider_options,
            "stopWhen": self.store.array([Function(name="stopWhen"), Function(name="stepCountIs")]),
            "experimental_context": self.step_context,
        }
        observe(self.desk, "onStepStart", self.hooks.on_step_start, self.store.object(event))

    def _model_called(self, step: _Step) -> Sent:
        options = self.store.object(
            {
                "tools": step.tools,
                "toolChoice": step.tool_choice,
                "prompt": step.prompt,
                "providerOptions": step.provider_options,
            }
        )
        return self.models.answered(step.model, options)

    # ---------------------------------------------------------------- recording it

    def _record_step(self, step: _Step, recorded: Recorded, sent: Sent) -> None:
        profile, store = self.profile, self.store
        content = store.array(recorded.content)
        if profile.response_made is Moment.BEFORE_STEP_FINISH:
            store.push(self.response, self.calls.conversion.messages(content))
        report, own = self._report(content)
        self.last_reason = sent.finish_reason
        result = self._step_result(step, content, report)
        if profile.step_recorded is Moment.BEFORE_STEP_FINISH:
            store.push(self.steps, [result])
        self._snapshot("finish", report=report, content=content)
        observe(self.desk, "onStepFinish", self.hooks.on_step_finish, result)
        if profile.step_recorded is not Moment.BEFORE_STEP_FINISH:
            store.push(self.steps, [result])
        self.reported = (*self.reported, *own)

    def _report(self, content: Ref) -> tuple[Ref, list[Ref]]:
        """`response.messages` of the step, and the messages in it that later reports share."""
        if self.profile.report is Report.CHAIN:
            return self.store.clone(self.response), []  # type: ignore[return-value]
        own = self.calls.conversion.messages(content)
        return self.store.array((*self.reported, *own)), own

    def _step_result(self, step: _Step, content: Ref, report: Ref) -> Ref:
        store = self.store
        model = step.model_info if self.profile.records_step_model else self.models.info(self.model)
        response = store.object({"modelId": get(store, model, "modelId"), "messages": report})
        return store.object(
            {
                "stepNumber": step.number,
                "model": model,
                "experimental_context": self.step_context,
                "content": content,
                "finishReason": self.last_reason,
                "usage": store.load(
                    {
                        "inputTokens": 1,
                        "inputTokenDetails": {},
                        "outputTokens": 1,
                        "outputTokenDetails": {},
                        "totalTokens": 2,
                    }
                ),
                "warnings": store.array(()),
                "request": store.object({}),
                "response": response,
            },
            StepCell,
        )

    def _goes_on(self, recorded: Recorded) -> bool:
        store = self.store
        calls = [call for call in recorded.calls if get(store, call, "providerExecuted") is not True]
        outputs = [
            output for output in recorded.outputs if get(store, output, "providerExecuted") is not True
        ]
        if not calls or len(calls) != len(outputs) or self._stops():
            return False
        if self.profile.response_made is Moment.AFTER_STOP_WHEN:
            steps = elements(store, self.steps)
            content = get(store, _last(steps), "content")
            store.push(self.response, self.calls.conversion.messages(content))
        return True

    def _stops(self) -> bool:
        stopped = False
        if self.hooks.stop_when is not None:
            self.desk.hook = "stopWhen"
            argument = self.store.object({"steps": self.steps})
            stopped = bool(called(self.hooks.stop_when, self.desk.view(argument, ("stopWhen",))))
        return stopped or len(elements(self.store, self.steps)) == self.settings.max_steps

    # ---------------------------------------------------------------- the end

    def _finish(self, *, ended: bool) -> None:
        store = self.store
        steps = elements(store, self.steps)
        if self.profile.failure is Failure.REPORTED:
            self._reported_finish(steps, ended=ended)
            return
        for step in steps:
            get(store, get(store, step, "usage"), "inputTokens")
        last = _last(steps)
        self._finished(last)
        if get(store, last, "finishReason") == "stop":
            get(store, last, "text")
        self.outcome.finish_reason = get(store, _last(elements(store, self.steps)), "finishReason")
        self.outcome.steps = self.steps

    def _reported_finish(self, steps: tuple[Slot, ...], *, ended: bool) -> None:
        if not steps:
            if ended:
                self.outcome.error = PackageError("AI_NoOutputGeneratedError", "No output generated.")
            return
        self.outcome.steps = self.steps
        self.outcome.finish_reason = self.last_reason if ended else "other"
        self._finished(steps[-1])

    def _finished(self, last: Value) -> None:
        store = self.store
        names = (
            "stepNumber",
            "model",
            "experimental_context",
            "finishReason",
            "usage",
            "content",
            "response",
        )
        event = {name: get(store, last, name) for name in (*names, *computed_fields)}
        event["steps"] = self.steps
        observe(self.desk, "onFinish", self.hooks.on_finish, store.object(event))

    # ---------------------------------------------------------------- for the pollution report

    def _snapshot(self, moment: str, **holders: Value) -> None:
        if self.store.watching:
            always = {
                "caller": self.caller,
                "initial": self.initial,
                "response": self.response,
                "steps": self.steps,
            }
            self.snapshots.append(
                Snapshot(
                    moment=moment, step=self.desk.step, holders={**always, **holders}, heap=self.store.heap()
                )
            )


def _last(steps: tuple[Slot, ...]) -> Value:
    return steps[-1] if steps else UNDEFINED
