"""From the model's parts to a step's content: calls are parsed and run, results recorded in their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import attrs

from agentcore.frameworks.ai_sdk.emulation.calls import INHERITED, Asked, Calls, StepCalls, called
from agentcore.frameworks.ai_sdk.emulation.flow import Flow
from agentcore.frameworks.ai_sdk.emulation.offered import Offer
from agentcore.frameworks.ai_sdk.emulation.recorder import KINDS, Recorded, Recorder, Sent
from agentcore.frameworks.ai_sdk.emulation.settings import Model
from agentcore.frameworks.ai_sdk.emulation.streamed import Streamed
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile
from agentcore.heap.heap import UNDEFINED, Function, HeapTypeError, NotEmulatedError, PatternCell, Ref, Value
from agentcore.heap.js import (
    PackageError,
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


def record(profile: AiSdkProfile, calls: Calls, sent: Sent, step: StepCalls, flow: Flow | None) -> Recorded:
    """The content of a step.

    Raises:
        HookError: if `needs_approval`, `on_input_available` or `on_chunk` threw (claim X19).
        PackageError: for a provider's result of a call that is not there, or an answer that breaks the tool
            choice (where results come in the order of the calls).
    """
    if profile.pace is None or flow is None:
        return _InCallOrder(profile, calls, step).record(sent)
    return Streamed(profile, profile.pace, calls, step, flow).record(sent)


class _InCallOrder(Recorder):
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
        for part in parts:
            if part["type"] not in KINDS:
                raise NotEmulatedError("model", f"a part of the type {part['type']}", "leave it out")
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
            of = (get(self.store, model, name) for name in ("specificationVersion", "provider", "modelId"))
            message = 'Unsupported model version {} for provider "{}" and model "{}".'
            raise PackageError(
                "AI_UnsupportedModelVersionError", message.format(*(text(self.store, each) for each in of))
            )
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
