"""From the model's parts to a step's content: calls are parsed and run, results recorded in their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

import attrs

from agentcore.frameworks.ai_sdk.emulation.calls import INHERITED, Asked, Calls, StepCalls, called, observe
from agentcore.frameworks.ai_sdk.emulation.offered import Offer, forbids_calls
from agentcore.frameworks.ai_sdk.emulation.settings import Model
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.heap import UNDEFINED, Function, HeapTypeError, PatternCell, Ref, Store, Value
from agentcore.heap.js import (
    PackageError,
    elements,
    fields,
    get,
    in_object_order,
    is_nullish,
    is_object,
    text,
)
from agentcore.heap.loading import answer_parts
from agentcore.heap.views import Desk
from agentcore.messages.brief import brief

__all__ = ["Models", "Outcome", "Recorded", "Sent", "Step", "record"]

_MOMENT: Final = 1_000_000
"""Of a tool that waits, in units of a schedule: longer than all that a model sends takes to pass."""
_KINDS: Final = ("text", "reasoning", "source", "tool-call", "tool-result")


@attrs.define
class Recorded:
    """The record of a step: its content, its calls, and the results and errors that calls got here.

    `answers` are those to requests for approval. `counted` are the numbers of client calls and of results
    when the tools had run, if they are counted then. `broken` is how the model's answer broke the tool
    choice, if the run reports that and goes on.
    """

    content: list[Ref] = attrs.field(factory=list)
    calls: list[Ref] = attrs.field(factory=list)
    outputs: list[Ref] = attrs.field(factory=list)
    answers: list[Ref] = attrs.field(factory=list)
    counted: tuple[int, int] | None = None
    broken: PackageError | None = None

    def denied(self, store: Store) -> int:
        """The number of calls that were denied."""
        return sum(get(store, answer, "approved") is False for answer in self.answers)


@attrs.frozen
class Sent:
    """The model's answer: its own array of parts, and the inputs of its calls as plain JSON, by address."""

    parts: Ref
    inputs: Mapping[int, Any]
    finish_reason: str


def record(profile: AiSdkProfile, calls: Calls, sent: Sent, step: StepCalls) -> Recorded:
    """The content of a step.

    Raises:
        HookError: if `needs_approval`, `on_input_available` or `on_chunk` threw (claim X19).
        PackageError: for a provider's result of a call that is not there, or an answer that breaks the tool
            choice (where results come in the order of the calls).
    """
    streamed = profile.results_as_ready or profile.schedule is not None
    return (_Streamed if streamed else _InCallOrder)(profile, calls, step).record(sent)


class _Recorder:
    def __init__(self, profile: AiSdkProfile, calls: Calls, step: StepCalls) -> None:
        self.profile = profile
        self.calls = calls
        self.store = calls.store
        self.step = step

    def parts(self, sent: Sent) -> list[Ref]:
        """The model's parts, as its array holds them now; what is no part is left out."""
        listed = elements(self.store, sent.parts)
        return [part for part in listed if self.kind(part) in _KINDS]  # type: ignore[misc]

    def kind(self, part: Value) -> Value:
        """The part's type."""
        return get(self.store, part, "type")

    def parse(self, part: Ref, sent: Sent) -> Ref:
        """The call that is recorded for a part."""
        return self.calls.parse(part, sent.inputs.get(part.address), self.step.known)

    def chosen(self, calls: Iterable[Ref]) -> PackageError | None:
        """Returns what the tool choice in force forbids about these calls."""
        store, choice = self.store, self.step.choice
        if not self.profile.tool_choice_enforced or is_nullish(choice):
            return None
        kind, calls = get(store, choice, "type"), list(calls)
        if kind == "none":
            wrong = bool(calls)
        elif kind == "auto" or not self.profile.required_calls_enforced:
            return None
        else:
            wanted = get(store, choice, "toolName")
            wrong = not any(kind == "required" or get(store, call, "toolName") == wanted for call in calls)
        name = "AI_ToolChoiceViolationError"
        return PackageError(name, "The answer is not what the tool choice asks for.") if wrong else None

    def tool(self, call: Ref) -> Value:
        """The tool that a call may run."""
        return self.calls.tool(self.step.tools, get(self.store, call, "toolName"))

    def answered_here(self, call: Ref) -> bool:
        """Whether a call of an unknown tool gets its error here."""
        return self.profile.answers_invalid_provider_calls or not get(self.store, call, "providerExecuted")

    def show_part(self, ref: Ref) -> None:
        """Shows a recorded part to whoever listens to the stream."""
        on_chunk = self.calls.hooks.on_chunk
        if on_chunk is None or get(self.store, ref, "type") not in self.profile.chunks_told:
            return
        desk = self.calls.desk
        event = self.store.object({"chunk": ref})
        if self.profile.chunk_errors_swallowed:
            observe(desk, "onChunk", on_chunk, event)
        else:
            desk.hook = "onChunk"
            desk.settled(called(on_chunk, desk.hand(event, ("onChunk",))))

    def plain_part(self, part: Ref) -> Ref:
        """A text, reasoning or source part as it is recorded."""
        if not self.profile.content_copied or self.kind(part) == "source":
            return part
        read = {key: get(self.store, part, key) for key in ("type", "text", "providerMetadata")}
        return self.store.object(read)

    def recorded_call(self, call: Ref) -> Ref:
        """A call as it is recorded."""
        if not self.profile.calls_copied:
            return call
        return self.store.derive(self.store.object(fields(self.store, call)), call)

    def provider_result(self, part: Ref, call: Value, dynamic: Value) -> Ref:
        """A result that the provider sent of a call it ran itself; undefined stands for an unknown call."""
        store = self.store
        call_input = UNDEFINED if call is UNDEFINED else get(store, call, "input")
        failed = bool(get(store, part, "isError"))
        metadata = get(store, part, "providerMetadata")
        return store.object(
            {
                "type": "tool-error" if failed else "tool-result",
                "toolCallId": get(store, part, "toolCallId"),
                "toolName": get(store, part, "toolName"),
                "input": call_input,
                "error" if failed else "output": get(store, part, "result"),
                "providerExecuted": True,
                "dynamic": dynamic,
                "providerMetadata": UNDEFINED if is_nullish(metadata) else metadata,
                "toolMetadata": self._tool_metadata(call),
            }
        )

    def _tool_metadata(self, call: Value) -> Value:
        named = self.profile.metadata_on_calls and call is not UNDEFINED
        metadata = get(self.store, call, "toolMetadata") if named else UNDEFINED
        return UNDEFINED if is_nullish(metadata) else metadata


class _InCallOrder(_Recorder):
    """The model's parts, then the errors of invalid calls, the other results, and the approval requests.

    The model's own array is read for the calls, and again for the content once the tools have run.
    """

    def record(self, sent: Sent) -> Recorded:
        store = self.store
        parsed = [self.parse(part, sent) for part in self.parts(sent) if self.kind(part) == "tool-call"]
        by_id: dict[Value, Ref] = {}
        for call in parsed:
            by_id.setdefault(get(store, call, "toolCallId"), call)
        if self.profile.content_made_early:
            for part in self.parts(sent):
                self._recorded(part, by_id)
        broken = self.chosen(parsed)
        if broken is not None:
            raise broken
        asked = self._ask_approvals(parsed)
        clients = len(self._client_calls(parsed))
        outputs = self._outputs(parsed, asked)
        content = [self._recorded(part, by_id) for part in self.parts(sent)]
        answered = [asked[key] for key in in_object_order(asked)]
        answers = [each.response for each in answered if each.response is not None]
        ids = {get(store, get(store, answer, "toolCall"), "toolCallId") for answer in answers}
        later = [output for output in outputs if get(store, output, "toolCallId") in ids]
        recorded = Recorded(
            content=[
                *content,
                *(output for output in outputs if output not in later),
                *(each.request for each in answered),
                *answers,
                *later,
            ],
            calls=parsed,
            outputs=outputs,
            answers=answers,
        )
        if self.profile.continuation_counted_early:
            recorded.counted = clients, len(outputs) + recorded.denied(store)
        return recorded

    def _ask_approvals(self, parsed: Iterable[Ref]) -> dict[str, Asked]:
        """Notifies the tools that their inputs are there; returns what is asked about calls, by their ids."""
        asked: dict[str, Asked] = {}
        for call in parsed:
            if get(self.store, call, "invalid") or is_nullish(self.tool(call)):
                continue
            self.calls.input_available(call, self.step)
            found = self.calls.ask_approval(call, self.step)
            if found is not None:
                asked[self._id(call)] = found
        return asked

    def _outputs(self, parsed: Iterable[Ref], asked: Mapping[str, Asked]) -> list[Ref]:
        """The errors of invalid calls, then the results of the others, which run here."""
        invalid = (c for c in parsed if get(self.store, c, "invalid") and self.answered_here(c))
        outputs = [self.calls.invalid_result(call) for call in invalid]
        if is_nullish(self.step.tools):
            return outputs
        for call in self._client_calls(parsed):
            if not get(self.store, call, "invalid") and not self._waits(call, asked):
                result = self.calls.run(call, self.step)
                outputs.extend([] if result is None else [result])
        return outputs

    def _waits(self, call: Ref, asked: Mapping[str, Asked]) -> bool:
        """Whether a request of the call's id, which may be a name that every object inherits, keeps it."""
        call_id = self._id(call)
        if self.profile.inherited_names_found and call_id in INHERITED:
            return True
        return call_id in asked and asked[call_id].blocks

    def _id(self, call: Ref) -> str:
        return text(self.store, get(self.store, call, "toolCallId"))

    def _client_calls(self, parsed: Iterable[Ref]) -> list[Ref]:
        return [call for call in parsed if not get(self.store, call, "providerExecuted")]

    def _recorded(self, part: Ref, by_id: Mapping[Value, Ref]) -> Ref:
        kind = self.kind(part)
        if kind not in ("tool-call", "tool-result"):
            return self.plain_part(part)
        call_id = get(self.store, part, "toolCallId")
        call = by_id.get(call_id)
        if kind == "tool-call":
            # None, and with it a TypeError later, for a call put there after the calls were parsed.
            return call  # type: ignore[return-value]
        if call is None:
            raise PackageError("Error", f"Tool call {text(self.store, call_id)} not found.")
        return self.provider_result(part, call, get(self.store, call, "dynamic"))


class _Streamed(_Recorder):
    """Chunk by chunk: what is ready first is recorded first (claim X18), at once or by a schedule.

    Tools run as calls come, or once the model has sent all; the ones that throw are ready first.
    """

    def record(self, sent: Sent) -> Recorded:
        self.recorded = Recorded()
        self.by_id: dict[Value, Ref] = {}
        self.waiting: list[Ref] = []
        self.now = 0
        self.index = 0
        self.flowing: list[tuple[int, int, Ref]] = []
        self.ready: list[tuple[int, int, Ref]] = []
        called: list[Ref] = []
        withheld = self.profile.tool_choice_enforced and forbids_calls(self.store, self.step.choice)
        for index, part in enumerate(self.parts(sent)):
            self.index = index
            kind = self.kind(part)
            if kind == "tool-call":
                called.append(self.parse(part, sent))
                if not withheld:
                    self._call(called[-1])
            elif kind != "tool-result":
                self._plain(part)
            elif not withheld:
                self._of_provider(part)
        self._merge()
        self.recorded.broken = self.chosen(called)
        if self.recorded.broken is None:
            results = [self.calls.run(call, self.step) for call in self.waiting]
            got = [result for result in results if result is not None]
            for result in self.calls.as_ended(got):
                self._keep(result)
        return self.recorded

    def _plain(self, part: Ref) -> None:
        self._sent(self.plain_part(part))
        if self.kind(part) == "source":
            self._took("source")
        else:
            self._took("text_start")
            self.now += self._time("text_rest")

    def _of_provider(self, part: Ref) -> None:
        call = self.by_id.get(get(self.store, part, "toolCallId"), UNDEFINED)
        result = self.provider_result(part, call, get(self.store, part, "dynamic"))
        if self.profile.schedule is not None and get(self.store, part, "isError"):
            self.now += self._time("provider_error")
            self._answer(result, "provider_error_ready")
        else:
            self._sent(result)
            self._took("provider_result")

    def _call(self, call: Ref) -> None:
        """Records a call and what answers it at once, or runs it, or leaves it for later."""
        store, calls = self.store, self.calls
        recorded = self.recorded_call(call)
        self._sent(recorded)
        self.recorded.calls.append(recorded)
        if self.profile.results_as_ready:
            self.by_id[get(store, call, "toolCallId")] = call
        if get(store, call, "invalid"):
            self._took("unknown_call")
            if self.answered_here(call):
                self._answer(calls.invalid_result(call), "unknown_ready")
            return
        asked = None
        if not is_nullish(self.tool(call)):
            calls.input_available(call, self.step)
            asked = calls.ask_approval(call, self.step)
        self._took("call" if asked is None else "asking_call")
        if asked is not None:
            self._answer(asked.request, "asking_ready")
            if asked.response is not None:
                self._answer(asked.response, "asking_ready")
                self.recorded.answers.append(asked.response)
        if (asked is None or not asked.blocks) and not is_nullish(self.tool(call)):
            self._start(call)

    def _start(self, call: Ref) -> None:
        """Runs a call, or leaves it for later."""
        self.by_id[get(self.store, call, "toolCallId")] = call
        if get(self.store, call, "providerExecuted") is True:
            return
        if self.profile.results_as_ready:
            if not is_nullish(get(self.store, self.tool(call), "execute")):
                self.waiting.append(call)
            return
        result = self.calls.run(call, self.step)
        if result is not None:
            failed = self.kind(result) == "tool-error"
            self._answer(result, "error_ready" if failed else "result_ready", self.calls.takes(call))

    # ------------------------------------------------------------ when

    def _time(self, name: str) -> int:
        schedule = self.profile.schedule
        return 0 if schedule is None else getattr(schedule, name) or 0

    def _sent(self, ref: Ref) -> None:
        """Something of the model's is there; without a schedule it is recorded at once."""
        if self.profile.schedule is None:
            self._keep(ref)
        else:
            self.flowing.append((self.now, self.index, ref))

    def _took(self, name: str) -> None:
        """How long the last of the model's things took to pass."""
        self.now += self._time(name)
        if self.flowing:
            self.flowing[-1] = (self.now, *self.flowing[-1][1:])

    def _answer(self, ref: Ref, name: str, waits: int = 0) -> None:
        """An answer is ready some time from now; without a schedule, at once."""
        if self.profile.schedule is None:
            self._keep(ref)
        else:
            time = _MOMENT * waits if waits else self.now + self._time(name)
            self.ready.append((time, self.index, ref))

    def _merge(self) -> None:
        """Records what is to come by a schedule."""
        passed = 0
        events = [(time, 0, index, ref) for time, index, ref in self.flowing]
        for time, index, ref in sorted(self.ready, key=lambda entry: entry[:2]):
            passed = max(time, passed) + self._time("passing")
            events.append((passed, 1, index, ref))
        for _, _, _, ref in sorted(events, key=lambda event: event[:3]):
            self._keep(ref)

    def _keep(self, ref: Ref) -> None:
        self.show_part(ref)
        self.recorded.content.append(ref)
        if self.kind(ref) in ("tool-result", "tool-error"):
            self.recorded.outputs.append(ref)


# One step of the loop on its way.


@attrs.define
class Step:
    """One step on its way: what the hooks returned and what was derived from it."""

    number: int
    input: Ref
    model: Ref
    model_info: Ref
    system: Value
    messages: Value
    prompt: Ref
    offer: Offer
    provider_options: Value
    model_settings: Mapping[str, Value]
    response_model: Value = UNDEFINED

    def seen_by_tools(self, profile: AiSdkProfile) -> Value:
        """The messages that the step's tools are given."""
        return self.messages if profile.tools_see_override else self.input


# How a run of the loop ended.


@attrs.define
class Outcome:
    """How a run ended: `steps` is the result's list of steps, None if the caller gets no result.

    `hung` means that the real result would never settle.
    """

    __repr__ = brief

    error: BaseException | None = None
    steps: Ref | None = None
    finish_reason: Value = UNDEFINED
    hung: bool = False


# Models as objects that hooks can hold and return: what they answer is scripted by the caller.

_CALLS: Final = ("doGenerate", "doStream")


class Models:
    """Makes and calls the models of a run."""

    def __init__(self, desk: Desk, version: str, call: str) -> None:
        self.desk = desk
        self.version = version
        self.call = call
        self.store = desk.store

    def new(self, model: Model) -> Ref:
        """A model object."""
        return self.store.object(
            {
                "specificationVersion": self.version,
                "provider": "scripted",
                "modelId": model.id,
                "supportedUrls": self.store.object(
                    {"*/*": self.store.array([self.store.object({}, PatternCell)])}
                ),
                **{name: Function(name=name, call=partial(self._answer, model)) for name in _CALLS},
            }
        )

    def _answer(self, model: Model, options: Ref) -> Sent:
        self.desk.hook = "model"
        with self.desk.acting("model"):
            parts = answer_parts(self.desk, called(model.answer, self.desk.hand(options, ("model",))))
        refs, inputs = [], {}
        for part in parts:
            kept = {key: self.store.load(value) for key, value in part.items() if key != "input"}
            refs.append(self.store.object(kept))
            inputs[refs[-1].address] = part.get("input")
        reason = "tool-calls" if any(part["type"] == "tool-call" for part in parts) else "stop"
        sent = Sent(parts=self.store.array(refs), inputs=inputs, finish_reason=reason)
        if model.on_parts is not None:
            model.on_parts(self.desk.hand(sent.parts, ("model parts",)))
        return sent

    def resolved(self, model: Value) -> Ref:
        """The model that the package takes a value for.

        Raises:
            PackageError: if it takes it for none.
        """
        if not is_object(model):
            raise PackageError("AI_NoSuchModelError", "a model is an object here, not a name of a gateway's")
        if get(self.store, model, "specificationVersion") not in ("v2", "v3", self.version):
            raise PackageError("AI_UnsupportedModelVersionError", "Unsupported model version")
        return model  # type: ignore[return-value]

    def info(self, model: Ref) -> Ref:
        """The fields by which events and results name a model."""
        return self.store.object({key: get(self.store, model, key) for key in ("provider", "modelId")})

    def call_model(self, model: Ref, options: Ref) -> Sent:
        """Calls the model; returns what it answers.

        Raises:
            HeapTypeError: if a hook took away what is called.
        """
        answer = get(self.store, model, self.call)
        if not isinstance(answer, Function) or answer.call is None:
            raise HeapTypeError(f"stepModel.{self.call} is not a function")
        return answer.call(options)  # type: ignore[no-any-return]
