"""The AI SDK's step loop on an explicit heap, as a profile has it: cells alias as the real objects do.

The order of things is that of ai@6.0.134 (claims C1 to C83, X1 to X19); where the two paths differ, a field
of the profile decides. What holds for all profiles has names (`rules`), which stand where it is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from agentcore.frameworks.ai_sdk.emulation.calls import Calls, HookError, StepCalls, called, notify, observe
from agentcore.frameworks.ai_sdk.emulation.flow import Flow
from agentcore.frameworks.ai_sdk.emulation.history import Approving, check_prompt, check_roles
from agentcore.frameworks.ai_sdk.emulation.notifier import Notifier
from agentcore.frameworks.ai_sdk.emulation.offered import Offer, make_offer, merged, require_callers
from agentcore.frameworks.ai_sdk.emulation.prompt_rules import rules_of
from agentcore.frameworks.ai_sdk.emulation.prompts import prompt, prompted
from agentcore.frameworks.ai_sdk.emulation.record import Models, Outcome, Step, record
from agentcore.frameworks.ai_sdk.emulation.recorder import Recorded, Sent
from agentcore.frameworks.ai_sdk.emulation.results import (
    finish_event,
    result_messages,
    step_result,
    total_usage,
    usage_of,
)
from agentcore.frameworks.ai_sdk.emulation.settings import (
    Settings,
    check_counts,
    check_settings,
    count_of,
    is_heard,
    load,
    named_headers,
    read_settings,
    require_emulated,
)
from agentcore.frameworks.ai_sdk.profiles import (
    AiSdkProfile,
    Base,
    Failure,
    FileShape,
    Lifetime,
    ModelInfo,
    Moment,
    Report,
)
from agentcore.heap.copying import CopyDepth, Snapshot, deep_copy
from agentcore.heap.heap import (
    UNDEFINED,
    DataCloneError,
    DateCell,
    ErrorCell,
    Function,
    HeapTypeError,
    Measured,
    Ref,
    Slot,
    Store,
    Value,
)
from agentcore.heap.js import PackageError, elements, get, is_nullish, or_else, stringified
from agentcore.heap.views import Desk

_CAUGHT = (HeapTypeError, PackageError, DataCloneError, HookError)


class AiSdkLoop:
    """One run of `generateText` or `streamText`, as the profile says.

    `holders` are what outlives a step, by the names that they have in snapshots, and for people.
    """

    holders: Final = {
        "caller": "caller",
        "initial": "initial chain",
        "response": "response chain",
        "steps": "report",
    }

    def __init__(self, profile: AiSdkProfile, settings: Settings, desk: Desk | None = None) -> None:
        self.profile = profile
        self.settings = settings
        self.hooks = settings.hooks
        self.desk = desk if desk is not None else Desk(Store())
        self.store = self.desk.store
        self.store.of_one_value |= {ErrorCell}  # ai-sdk.errors-are-objects
        self.calls = Calls(profile, self.desk, settings.tools, settings.hooks)
        given = load(settings, self.desk)
        self.caller, self.options, self.system = given.messages, given.options, given.system
        if settings.frozen:  # by the caller, never by the loop: ai-sdk.nothing-frozen
            self.store.seal(self.caller)
        self.rules = rules_of(profile)
        self.prompted = prompted(self.store, self.rules)
        self.models = Models(self.desk, profile.model_version, profile.model_call)
        self.model = self.models.new(settings.model)
        self.model_info = self.models.info(self.model)
        self.stop_conditions = self._stop_conditions()
        self.call_id = self.calls.drawn()
        self.answers = 0
        if "instructions" in profile.shown_to_prepare_step:
            self.system = self._option("instructions") if "instructions" in self.options else self.system
        self.initial_system = self.system
        self.contexts = {name: self._context(name) for name in profile.contexts.names}
        self.step_contexts: Mapping[str, Value] = dict(self.contexts)
        self.initial = self.caller
        self.response = self.store.array(())
        self.carried = self.response
        self.answered: tuple[Slot, ...] = ()
        self.steps = self.store.array(())  # ai-sdk.steps-live
        self.reported: tuple[Slot, ...] = ()
        self.in_stream = False
        self.last_reason = "other"
        self.notifier = Notifier(self.calls)
        self.flow = None if profile.pace is None else Flow(profile, heard=is_heard(settings))
        self.outcome = Outcome()
        self.snapshots: list[Snapshot] = []

    def _stop_conditions(self) -> Ref:
        # Rule ai-sdk.stop-conditions-live.
        hook = self.hooks.stop_when
        own = Function(name="stopWhen", call=(lambda _: False) if hook is None else hook)
        count = Function(
            name="stepCountIs", call=lambda argument: len(argument["steps"]) == self.settings.max_steps
        )
        return self.store.array([own, count])

    def _context(self, name: str) -> Value:
        # ai-sdk.context-shared: loaded once.
        missing = self._option(name) is UNDEFINED and self.profile.contexts.always
        return self.store.object({}) if missing else self._option(name)

    # ---------------------------------------------------------------- the run

    def run(self) -> Outcome:
        """Runs to the end. Never raises what the real package would report: see the outcome.

        Raises:
            NotEmulatedError: for a setting that the emulation does not have.
        """
        require_emulated(self.profile, self.options)
        try:
            self._read_settings()
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
        if self.outcome.error is None:
            self.outcome.error = error.original if isinstance(error, HookError) else error
        if self.profile.failure is Failure.REJECTED or self.outcome.steps is not None:
            return
        self.outcome.hung = self.in_stream and not self.profile.breaks_settle
        if not self.in_stream:
            self.notifier.failed(error)
            try:
                self._finish(ended=False)
            except _CAUGHT:
                return

    def _read_settings(self) -> None:
        require_callers(self.store, self.calls.tools, self._option("experimental_toolCallers"))
        check_counts(self.profile, self._option)
        self.model_settings = read_settings(self.profile, self._option)
        self.calls.approvals = self._option("toolApproval")
        self.calls.concurrency = count_of(self._option("toolCallConcurrency"))
        self.headers = self._option("headers")
        if self.profile.headers_named:
            named = self.profile.package.replace("@", "/")
            self.headers = named_headers(self.store, self.headers, named)

    def _start(self) -> None:
        allowed = self._option("allowSystemInMessages")
        check_prompt(self.store, self.profile.prompt_check, self.system, self.caller, allowed)
        self.initial = self._crossed(self.caller, self.profile.caller_to_initial)
        event = {"messages": self.caller, "tools": self.calls.tools, **self.options, **self.contexts}
        event |= {
            name: self.system
            for name in ("system", "instructions")
            if name in self.profile.shown_at_step_start
        }
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
            step_number=0,
            model=self.model_info,
            messages=self.initial,  # ai-sdk.approved-call-live
            contexts=self.contexts,
            known=self.calls.tools,
            tools=self.calls.tools,
        )
        messages = Approving(self.profile, self.calls).messages(step)
        self.store.push(self.response, messages)
        self.answered = self.reported = tuple(messages)
        self.carried = self._listed()

    # ---------------------------------------------------------------- one step

    def _step(self) -> bool:
        """Runs a step; whether another follows."""
        self.in_stream = False
        step = self._prepared()
        self._step_started(step)
        sent = self._model_called(step)
        self.answers += 1
        step.response_model = self._response_model(step)
        self.in_stream = True
        context = StepCalls(
            step_number=self._number(step),
            model=step.model_info,
            messages=step.seen_by_tools(self.profile),
            contexts=self.step_contexts,
            known=step.offer.known,
            tools=step.offer.runnable,
            choice=step.offer.choice,
        )
        recorded = record(self.profile, self.calls, sent, context, self.flow)
        if self.profile.calls_written:
            for call in recorded.calls:
                stringified(self.store, call)
        self._record_step(step, recorded, sent)
        return self._goes_on(recorded)

    def _number(self, step: Step) -> int:
        """The step's number, which a hook changes that takes steps out of the list."""
        return len(elements(self.store, self.steps)) if self.profile.step_number_late else step.number

    def _listed(self) -> Ref:
        # ai-sdk.elements-live: a new list of the very messages.
        both = (*elements(self.store, self.initial), *elements(self.store, self.response))
        return self.store.derive(self.store.array(both), self.initial, self.response)

    def _prepared(self) -> Step:
        store, profile = self.store, self.profile
        self.desk.step += 1
        number = len(elements(store, self.steps))
        listed = self.carried if profile.base is Base.CARRIED else self._listed()
        step_input = store.clone(listed) if profile.chains_to_hooks is CopyDepth.DEEP else listed
        result = self._prepare_step(number, step_input)  # type: ignore[arg-type]
        self.notifier.start()
        model = self.models.resolved(or_else(self._override(result, "model"), self.model))
        system = or_else(self._system_override(result), self.system)
        # Rule ai-sdk.returned-elements-kept.
        messages = or_else(self._override(result, "messages"), step_input)
        self._persist(result, system, messages)
        offer = self._offer(result) if profile.tools_before_prompt else None
        requested = self._requested(result) if profile.options_before_prompt else None
        if profile.steps_checked:
            check_roles(store, messages, self._option("allowSystemInMessages"))
        # Rules ai-sdk.override-unchecked, ai-sdk.prompt-before-step-start.
        model_prompt = self._prompt(model, system, messages)
        self._snapshot("prompt", stepInput=step_input, override=messages, prompt=model_prompt)
        offer = self._offer(result) if offer is None else offer
        options, model_settings = self._requested(result) if requested is None else requested
        return Step(
            number=number,
            input=step_input,  # type: ignore[arg-type]
            model=model,
            model_info=self.models.info(model),
            system=system,
            messages=messages,
            prompt=model_prompt,
            offer=offer,
            provider_options=options,
            model_settings=model_settings,
        )

    def _prompt(self, model: Ref, system: Value, messages: Value) -> Ref:
        supported = or_else(get(self.store, model, "supportedUrls"), None)
        if self.profile.files is FileShape.TAGGED:
            provider = get(self.store, model, "provider")
            if not isinstance(provider, str):
                raise HeapTypeError("stepModel.provider.split is not a function")
            own = provider.partition(".")[0]
            if own != self.rules.provider:  # what is remembered of messages names another
                self.rules = rules_of(self.profile, own)
                self.prompted = prompted(self.store, self.rules)
        self.prompted.supported = supported
        return prompt(self.store, system, messages, self.rules, self.prompted)

    def _offer(self, result: Value) -> Offer:
        def override(name: str) -> Value:
            return self._override(result, name)

        return make_offer(self.store, self.profile, self.calls.tools, self._option, override)

    def _requested(self, result: Value) -> tuple[Value, dict[str, Value]]:
        """The provider options of a step, and the settings of its model."""
        own = self._override(result, "providerOptions")
        options = merged(
            self.store,
            self._option("providerOptions"),
            own,
            unsafe_dropped=self.profile.unsafe_keys_dropped,
        )
        if not self.profile.step_settings:
            return options, self.model_settings
        overridden = {
            name: or_else(self._override(result, name), value) for name, value in self.model_settings.items()
        }
        return options, check_settings(self.profile, overridden)

    def _raw_chunks(self) -> Value:
        asked = or_else(self._option("includeRawChunks"), False)  # noqa: FBT003 - a value of JavaScript
        return asked if self.profile.raw_chunks_asked else UNDEFINED

    def _persist(self, result: Value, system: Value, messages: Value) -> None:
        """Puts the lasting part of a hook's result in force for this step and later ones."""
        self.step_contexts = {
            name: or_else(self._override(result, name), context) for name, context in self.contexts.items()
        }
        if self.profile.context_lives is Lifetime.RUN:
            self.contexts = dict(self.step_contexts)
        if self.profile.system_lives is Lifetime.RUN:
            self.system = system
        if self.profile.base is Base.CARRIED:
            self.carried = messages  # type: ignore[assignment]

    def _system_override(self, result: Value) -> Value:
        named = "instructions" in self.profile.shown_to_prepare_step
        instructions = self._override(result, "instructions") if named else UNDEFINED
        return or_else(instructions, self._override(result, "system"))

    def _option(self, name: str) -> Value:
        value = self.options.get(name, UNDEFINED) if name in self.profile.settings else UNDEFINED
        if value is UNDEFINED and name == "activeTools":
            return self._option("experimental_activeTools")
        return value

    def _override(self, result: Value, name: str) -> Value:
        # Rule ai-sdk.override-fields-read.
        return UNDEFINED if is_nullish(result) else get(self.store, result, name)

    def _prepare_step(self, number: int, step_input: Ref) -> Value:
        # The package reads the earlier reports whether or not there is a hook.
        so_far = self.profile.report is Report.OWN
        response_messages = self.result_messages() if so_far else UNDEFINED
        if self.hooks.prepare_step is None:
            return UNDEFINED
        argument = self._hook_argument(
            self.profile.shown_to_prepare_step,
            {
                "model": self.model,
                "steps": self.steps,
                "stepNumber": number,
                "messages": step_input,
                "instructions": self.system,
                "initialInstructions": self.initial_system,
                "initialMessages": self.initial,
                "responseMessages": response_messages,
                **self.contexts,
            },
        )
        self.desk.hook = "prepareStep"
        returned = called(self.hooks.prepare_step, self.desk.hand(argument, ("prepareStep",)))
        return UNDEFINED if returned is None else self.desk.slot(returned)

    def _step_started(self, step: Step) -> None:
        if self.hooks.on_step_start is None:
            return
        offer = step.offer.again(self.store, self.profile) if self.profile.offered_twice else step.offer
        event = {
            "callId": self.call_id,
            "stepNumber": self._number(step),
            "model": step.model_info,
            "provider": get(self.store, step.model, "provider"),
            "modelId": get(self.store, step.model, "modelId"),
            "system": step.system,
            "instructions": step.system,
            "messages": step.messages,
            "tools": self.calls.tools,
            "toolChoice": offer.choice,
            "chosen": offer.chosen,
            "stepToolChoice": offer.choice,
            "activeTools": offer.active,
            "toolOrder": offer.order,
            "headers": self._option("headers"),
            "steps": self.store.array(elements(self.store, self.steps)),
            "providerOptions": step.provider_options,
            "stopWhen": self.stop_conditions,
            "promptMessages": step.prompt,
            "stepTools": offer.tools,
            **self.step_contexts,
        }
        shown = self._hook_argument(self.profile.shown_at_step_start, event)
        observe(self.desk, "onStepStart", self.hooks.on_step_start, shown)

    def _hook_argument(self, names: Iterable[str], values: Mapping[str, Value]) -> Ref:
        """Returns the argument of a hook: `name` or `name=value's name`; a name of nothing is undefined."""
        pairs = (name.partition("=") for name in names)
        return self.store.object({name: values.get(source or name, UNDEFINED) for name, _, source in pairs})

    def _model_called(self, step: Step) -> Sent:
        options = self.store.object(
            {
                **step.model_settings,
                "tools": step.offer.tools,
                "toolChoice": step.offer.choice,
                "prompt": step.prompt,
                "providerOptions": step.provider_options,
                "headers": self.headers,
                "includeRawChunks": self._raw_chunks(),
            }
        )
        return self.models.call_model(step.model, options)

    # ---------------------------------------------------------------- recording it

    def _record_step(self, step: Step, recorded: Recorded, sent: Sent) -> None:
        profile, store = self.profile, self.store
        content = store.array(recorded.content)
        self.last_reason = sent.finish_reason
        if recorded.broken is not None:
            self.last_reason = "error"
            self.outcome.error = self.outcome.error or recorded.broken
        response: dict[str, Value] = {
            "id": self.calls.drawn(),
            "timestamp": store.object({"time": Measured(0)}, DateCell),
            "modelId": step.response_model,
        }
        ended = self.notifier.step_end(self.last_reason, content, response)
        made: list[Ref] = []
        if profile.response_made is Moment.BEFORE_STEP_FINISH:
            made = self.calls.conversion.messages(content)
            if profile.base is Base.CHAINS:
                store.push(self.response, made)
        report, own = self._report(content, made)
        own_fields = {
            "callId": self.call_id if profile.performance_reported else UNDEFINED,
            "stepNumber": self._number(step),
            "model": self._recorded_model(step),
            **self.step_contexts,
            "content": content,
        }
        result = step_result(profile, store, {**own_fields, **ended}, recorded.start, report)
        if profile.step_recorded is Moment.BEFORE_STEP_FINISH:
            store.push(self.steps, [result])
        if profile.base_made is Moment.BEFORE_STEP_FINISH:
            self._carry(step, made)
        self._snapshot("finish", report=report, content=content)
        observe(self.desk, "onStepFinish", self.hooks.on_step_finish, result)
        if profile.step_recorded is not Moment.BEFORE_STEP_FINISH:
            store.push(self.steps, [result])
        if profile.base_made is Moment.AFTER_STEP_FINISH:
            self._carry(step, made)
        self.reported = (*self.reported, *own)

    def _recorded_model(self, step: Step) -> Ref:
        """Returns the object that names the step's model in its result."""
        own = self.profile.records_step_model
        if self.profile.model_info_made is ModelInfo.RESULT:
            return self.models.info(step.model if own else self.model)
        if self.profile.model_info_made is ModelInfo.CALL:
            return self.model_info
        return step.model_info if own else self.models.info(self.model)

    def _response_model(self, step: Step) -> Value:
        """The model's id as a step's response has it, read when the model has answered."""
        if not self.profile.response_model_of_info:
            return get(self.store, step.model, "modelId")
        of_call = self.profile.model_info_made is ModelInfo.CALL
        return get(self.store, self.model_info if of_call else step.model_info, "modelId")

    def _carry(self, step: Step, made: list[Ref]) -> None:
        if self.profile.base is Base.CARRIED:
            both = (*elements(self.store, step.messages), *made)
            self.carried = self.store.derive(self.store.array(both), step.messages)

    def _report(self, content: Ref, made: list[Ref]) -> tuple[Ref, list[Ref]]:
        """`response.messages` of the step, and the messages in it that later reports share."""
        if self.profile.report is Report.OWN:
            return deep_copy(self.store, self.store.array(made)), []  # type: ignore[return-value]
        if self.profile.report is Report.CHAIN:
            return self.store.clone(self.response), []  # type: ignore[return-value]
        own = self.calls.conversion.messages(content)
        return self.store.array((*self.reported, *own)), own

    def _goes_on(self, recorded: Recorded) -> bool:
        store = self.store
        if self.profile.last_step_read:
            reason = get(store, _last(elements(store, self.steps)), "finishReason")
            if reason == "interrupted":
                return False
        calls, outputs = recorded.counted or (
            self._of_clients(recorded.calls),
            self._of_clients(recorded.outputs) + recorded.denied(store),
        )
        if not calls or calls != outputs or self._stops():
            return False
        if self.profile.response_made is Moment.AFTER_STOP_WHEN:
            steps = elements(store, self.steps)
            content = get(store, _last(steps), "content")
            later = self.carried if self.profile.base is Base.CARRIED else self.response
            store.push(later, self.calls.conversion.messages(content))
        return True

    def _of_clients(self, parts: Iterable[Ref]) -> int:
        return sum(get(self.store, part, "providerExecuted") is not True for part in parts)

    def _stops(self) -> bool:
        # As `map` does, which counts the elements before it calls the first.
        stopped = []
        for index in range(len(elements(self.store, self.stop_conditions))):
            conditions = elements(self.store, self.stop_conditions)
            if index < len(conditions):
                stopped.append(self._stops_by(conditions[index]))
        return any(stopped)

    def _stops_by(self, condition: Slot) -> bool:
        if not isinstance(condition, Function) or condition.call is None:
            raise HeapTypeError("condition is not a function")
        self.desk.hook = "stopWhen"
        argument = self.store.object({"steps": self.steps})
        if condition.name != "stopWhen" or self.hooks.stop_when is None:  # nobody is shown anything
            return bool(condition.call(self.desk.view(argument)))
        return bool(self.desk.settled(called(condition.call, self.desk.hand(argument, ("stopWhen",)))))

    # ---------------------------------------------------------------- the end

    def _finish(self, *, ended: bool) -> None:
        store = self.store
        steps = elements(store, self.steps)
        if self.profile.failure is Failure.REPORTED:
            self._reported_finish(steps, ended=ended)
            return
        total = self._total_usage()
        last = _last(steps)
        self._finished(total)
        reason = get(store, last, "finishReason")
        if reason == "stop":
            get(store, last, "text")
        elif self.profile.last_text_read and reason != "tool-calls":
            get(store, get(store, last, "text"), "length")
        self.outcome.finish_reason = get(store, _last(elements(store, self.steps)), "finishReason")
        self.outcome.steps = self.steps

    def _reported_finish(self, steps: tuple[Slot, ...], *, ended: bool) -> None:
        if not steps:
            if ended:
                self.outcome.error = PackageError("AI_NoOutputGeneratedError", "No output generated.")
            return
        self.outcome.steps = self.steps
        if ended:
            self.outcome.finish_reason, total = self.notifier.end(self.last_reason, self._total_usage())
        else:
            self.outcome.finish_reason, total = "other", usage_of(self.store, 0)
        self._finished(total)

    def _total_usage(self) -> Ref:
        if self.profile.total_usage_read:
            return total_usage(self.store, self.steps)
        return usage_of(self.store, self.answers)

    def _finished(self, total: Value) -> None:
        event = finish_event(self.profile, self.store, self.steps, self.answered, total)
        observe(self.desk, "onFinish", self.hooks.on_finish, event)

    def result_messages(self) -> Value:
        """The messages that the run's result has, of the steps until now.

        Raises:
            HeapTypeError: if a hook left no report that they could be read from.
        """
        return result_messages(self.profile, self.store, self.steps, self.answered)

    # ---------------------------------------------------------------- for the pollution report

    def held(self) -> Mapping[str, Value]:
        """Returns the slot that each holder holds at this moment, by the holder's name."""
        chain = self.carried if self.profile.base is Base.CARRIED else self.response
        return {"caller": self.caller, "initial": self.initial, "response": chain, "steps": self.steps}

    def _snapshot(self, moment: str, **holders: Value) -> None:
        if self.store.watching:
            held = {**self.held(), **holders}
            self.snapshots.append(
                Snapshot(moment=moment, step=self.desk.step, holders=held, heap=self.store.heap())
            )


def _last(steps: tuple[Slot, ...]) -> Value:
    return steps[-1] if steps else UNDEFINED
