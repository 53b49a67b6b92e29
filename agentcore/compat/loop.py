"""The AI SDK's step loop on an explicit heap, as a profile has it: cells alias as the real objects do.

The order of things is that of ai@6.0.134 (claims C1 to C83, X1 to X19); where the two paths differ, a field
of the profile decides.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from agentcore.compat.calls import Calls, HookError, StepCalls, called, notify, observe
from agentcore.compat.convert import (
    Approval,
    check_messages,
    check_system,
    collect_approvals,
    denied_result,
    prompt,
    provider_responses,
)
from agentcore.compat.heap import (
    UNDEFINED,
    DataCloneError,
    Function,
    Heap,
    HeapTypeError,
    Ref,
    Slot,
    StepCell,
    Store,
    Value,
)
from agentcore.compat.js import (
    PackageError,
    computed_fields,
    elements,
    fields,
    get,
    in_object_order,
    is_array,
    is_nullish,
    is_object,
    or_else,
)
from agentcore.compat.profiles import AiSdkProfile, CopyDepth, Failure, Lifetime, Moment, Report
from agentcore.compat.record import Recorded, Sent, record
from agentcore.compat.settings import Model, Settings
from agentcore.compat.views import Desk

_CAUGHT = (HeapTypeError, PackageError, DataCloneError, HookError)


@attrs.define
class Outcome:
    """How a run ended: `steps` is the result's list of steps, None if the caller gets no result.

    `hung` tells that the real result would never settle.
    """

    error: BaseException | None = None
    steps: Ref | None = None
    finish_reason: Value = UNDEFINED
    hung: bool = False


@attrs.frozen
class Snapshot:
    """Who held what at a moment of the run: holders by name, and the heap as it was."""

    moment: str
    step: int
    holders: Mapping[str, Value]
    heap: Heap

    @property
    def heap_size(self) -> int:
        """How many cells there were."""
        return len(self.heap.cells)


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
        self.model = self.new_model(settings.model)
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

    # ---------------------------------------------------------------- models

    def new_model(self, model: Model) -> Ref:
        """A model object that hooks can hold and return."""
        return self.store.object(
            {
                "specificationVersion": "v3",
                "provider": "scripted",
                "modelId": model.id,
                "supportedUrls": self.store.object({"*/*": self.store.array([Function(name="/.*/")])}),
                "doGenerate": Function(name="doGenerate", call=lambda options: self._answer(model, options)),
            }
        )

    def _answer(self, model: Model, options: Ref) -> Sent:
        self.desk.hook = "model"
        parts = called(model.answer, self.desk.view(options, ("model",)))
        refs, inputs = [], {}
        for part in parts:
            kept = {key: self.store.load(value) for key, value in part.items() if key != "input"}
            refs.append(self.store.object(kept))
            inputs[refs[-1].address] = part.get("input")
        reason = "tool-calls" if any(part["type"] == "tool-call" for part in parts) else "stop"
        sent = Sent(parts=self.store.array(refs), inputs=inputs, finish_reason=reason)
        if model.on_parts is not None:
            model.on_parts(self.desk.view(sent.parts, ("model parts",)))
        return sent

    def _resolved(self, model: Value) -> Ref:
        if not is_object(model):
            raise PackageError("AI_NoSuchModelError", "a model is an object here, not a name of a gateway's")
        if get(self.store, model, "specificationVersion") not in ("v2", "v3"):
            raise PackageError("AI_UnsupportedModelVersionError", "Unsupported model version")
        return model  # type: ignore[return-value]

    def _info(self, model: Ref) -> Ref:
        return self.store.object({key: get(self.store, model, key) for key in ("provider", "modelId")})

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

    # ---------------------------------------------------------------- approvals

    def _approvals(self) -> None:
        store, profile = self.store, self.profile
        approved, denied = collect_approvals(store, self.initial)
        if not approved and not denied:
            return
        step = StepCalls(
            step_number=0, model=self._info(self.model), messages=self.initial, context=self.context
        )
        local = [approval for approval in approved if not self._by_provider(approval)]
        results = [self.calls.run(approval.call, step) for approval in local]
        refused = [a for a in denied if profile.denial_names_approval or not self._by_provider(a)]
        made = [self._approval_result(result) for result in self._as_ready(results)]
        made += [
            denied_result(store, approval, with_approval_id=profile.denial_names_approval)
            for approval in refused
        ]
        messages = []
        if made or (profile.keeps_empty_results and local):
            messages.append(store.object({"role": "tool", "content": store.array(made)}))
        provider = [approval for approval in [*approved, *denied] if self._by_provider(approval)]
        if provider:
            messages.insert(
                0 if profile.provider_answers_first else len(messages), provider_responses(store, provider)
            )
        store.push(self.response, messages)
        self.reported = tuple(messages)

    def _by_provider(self, approval: Approval) -> bool:
        return bool(get(self.store, approval.call, "providerExecuted"))

    def _as_ready(self, results: list[Ref | None]) -> list[Ref]:
        got = [result for result in results if result is not None]
        if self.profile.schedule is None:
            return got
        # All were started at once, and a tool that throws is ready before one that returns.
        return sorted(got, key=lambda result: get(self.store, result, "type") != "tool-error")

    def _approval_result(self, result: Ref) -> Ref:
        store = self.store
        failed = get(store, result, "type") == "tool-error"
        output = get(store, result, "error" if failed else "output")
        return store.object(
            {
                "type": "tool-result",
                "toolCallId": get(store, result, "toolCallId"),
                "toolName": get(store, result, "toolName"),
                "output": self.calls.conversion.output(result, output, "text" if failed else "none"),
            }
        )

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
        model = self._resolved(or_else(self._override(result, "model"), self.model))
        system = or_else(self._override(result, "system"), self.system)
        messages = or_else(self._override(result, "messages"), step_input)
        model_prompt = prompt(store, system, messages)
        self._snapshot("prompt", stepInput=step_input, override=messages, prompt=model_prompt)
        active = or_else(self._override(result, "activeTools"), self._option("activeTools"))
        choice = or_else(self._override(result, "toolChoice"), self._option("toolChoice"))
        tools, tool_choice = self._tools_for_model(choice, active)
        step_context = or_else(self._override(result, "experimental_context"), self.context)
        self.step_context = step_context
        if self.profile.context_lives is Lifetime.RUN:
            self.context = step_context
        return _Step(
            number=number,
            input=step_input,  # type: ignore[arg-type]
            model=model,
            model_info=self._info(model),
            system=system,
            messages=messages,
            prompt=model_prompt,
            tools=tools,
            tool_choice=tool_choice,
            active_tools=active,
            provider_options=self._merged(
                self._option("providerOptions"), self._override(result, "providerOptions")
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

    def _tools_for_model(self, choice: Value, active: Value) -> tuple[Value, Value]:
        store, tools = self.store, self.calls.tools
        if is_nullish(tools) or not fields(store, tools):
            return UNDEFINED, UNDEFINED
        own = fields(store, tools)
        names = [name for name in in_object_order(own) if is_nullish(active) or self._includes(active, name)]
        listed = [
            store.object(
                {"type": "function", "name": name, "inputSchema": get(store, own[name], "inputSchema")}
            )
            for name in names
        ]
        if is_nullish(choice):
            chosen: Mapping[str, Value] = {"type": "auto"}
        elif isinstance(choice, str):
            chosen = {"type": choice}
        else:
            chosen = {"type": "tool", "toolName": get(store, choice, "toolName")}
        return store.array(listed), store.object(chosen)

    def _includes(self, active: Value, name: str) -> bool:
        if isinstance(active, str):
            return name in active
        return name in elements(self.store, active, "includes")

    def _merged(self, base: Value, override: Value) -> Value:
        """Provider options merge deeply (claim C60); untouched branches stay the caller's own objects."""
        if base is UNDEFINED or override is UNDEFINED:
            return override if base is UNDEFINED else base
        store = self.store
        merged: dict[str, Slot] = fields(store, base)
        own = dict(merged)
        added = fields(store, override)
        if added and not is_object(base):
            raise HeapTypeError("Cannot use 'in' operator to search for a key in a value that is no object")
        for key, value in added.items():
            both = key in own and self._mergeable(value) and self._mergeable(own[key])
            merged[key] = self._merged(own[key], value) if both else value  # type: ignore[assignment]
        return store.derive(store.object(merged), base, override)

    def _mergeable(self, value: Value) -> bool:
        return is_object(value) and not is_array(self.store, value)

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
        answer = get(self.store, step.model, "doGenerate")
        if not isinstance(answer, Function) or answer.call is None:
            raise HeapTypeError("stepModel.doGenerate is not a function")
        return answer.call(options)  # type: ignore[no-any-return]

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
        model = step.model_info if self.profile.records_step_model else self._info(self.model)
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
