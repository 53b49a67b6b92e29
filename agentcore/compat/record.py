"""From the model's parts to a step's content: calls are parsed and run, results recorded in their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from agentcore.compat.calls import Calls, StepCalls, called
from agentcore.compat.heap import UNDEFINED, Ref, Value
from agentcore.compat.js import PackageError, elements, get, in_object_order, is_nullish, text
from agentcore.compat.profiles import AiSdkProfile, Schedule

_KINDS: Final = ("text", "reasoning", "source", "tool-call", "tool-result")


@attrs.define
class Recorded:
    """What a step recorded: its content, the calls in it, and the results and errors that calls got here."""

    content: list[Ref] = attrs.field(factory=list)
    calls: list[Ref] = attrs.field(factory=list)
    outputs: list[Ref] = attrs.field(factory=list)


@attrs.frozen
class Sent:
    """What the model sent: its own array of parts, and the inputs of its calls as plain JSON by address."""

    parts: Ref
    inputs: Mapping[int, Any]
    finish_reason: str


def record(profile: AiSdkProfile, calls: Calls, sent: Sent, step: StepCalls) -> Recorded:
    """The content of a step.

    Raises:
        HookError: if `needs_approval`, `on_input_available` or `on_chunk` threw (claim X19).
        PackageError: for a provider's result of a call that is not there (without a schedule).
    """
    if profile.schedule is None:
        return _InCallOrder(profile, calls, step).record(sent)
    return _AsReady(profile, calls, step).record(sent, profile.schedule)


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
        return self.calls.parse(part, sent.inputs.get(part.address))

    def plain_part(self, part: Ref) -> Ref:
        """A text, reasoning or source part as it is recorded."""
        if not self.profile.content_copied or self.kind(part) == "source":
            return part
        read = {key: get(self.store, part, key) for key in ("type", "text", "providerMetadata")}
        return self.store.object(read)

    def provider_result(self, part: Ref, call_input: Value, dynamic: Value) -> Ref:
        """A result that the provider sent of a call it ran itself."""
        store = self.store
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
            }
        )


class _InCallOrder(_Recorder):
    """The model's parts, then the errors of invalid calls, the other results, and the approval requests.

    The model's own array is read for the calls, and again for the content once the tools have run.
    """

    def record(self, sent: Sent) -> Recorded:
        store, calls = self.store, self.calls
        parsed = [self.parse(part, sent) for part in self.parts(sent) if self.kind(part) == "tool-call"]
        requests: dict[str, Ref] = {}
        for call in parsed:
            if get(store, call, "invalid") or is_nullish(calls.tool(get(store, call, "toolName"))):
                continue
            calls.input_available(call, self.step)
            request = calls.approval_request(call, self.step)
            if request is not None:
                requests[self._id(call)] = request
        outputs = [calls.invalid_result(call) for call in parsed if get(store, call, "invalid")]
        if not is_nullish(calls.tools):
            for call in self._client_calls(parsed):
                if not get(store, call, "invalid") and self._id(call) not in requests:
                    result = calls.run(call, self.step)
                    outputs.extend([] if result is None else [result])
        by_id: dict[Value, Ref] = {}
        for call in parsed:
            by_id.setdefault(get(store, call, "toolCallId"), call)
        content = [self._recorded(part, by_id) for part in self.parts(sent)]
        asked = [requests[key] for key in in_object_order(requests)]
        return Recorded(content=[*content, *outputs, *asked], calls=parsed, outputs=outputs)

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
        return self.provider_result(part, get(self.store, call, "input"), get(self.store, call, "dynamic"))


class _AsReady(_Recorder):
    """Chunk by chunk: tools run as calls come, and what is ready first is recorded first (claim X18)."""

    def record(self, sent: Sent, schedule: Schedule) -> Recorded:
        recorded = Recorded()
        inputs: dict[Value, Value] = {}
        flowing: list[tuple[int, int, Ref]] = []
        ready: list[tuple[int, int, Ref]] = []
        now = 0
        before = "call"
        for index, part in enumerate(self.parts(sent)):
            kind = self.kind(part)
            if kind == "tool-call":
                call = self.parse(part, sent)
                recorded.calls.append(call)
                before, result, delay = self._answered(call, schedule, inputs)
                now += getattr(schedule, before)
                flowing.append((now, index, call))
                if result is not None:
                    ready.append((now + delay, index, result))
            elif kind == "tool-result":
                call_id = get(self.store, part, "toolCallId")
                dynamic = get(self.store, part, "dynamic")
                result = self.provider_result(part, inputs.get(call_id, UNDEFINED), dynamic)
                if get(self.store, part, "isError"):
                    now += schedule.provider_error.get(before, schedule.provider_error["call"])
                    ready.append((now + schedule.provider_error_ready, index, result))
                else:
                    now += schedule.provider_result.get(before, schedule.provider_result["call"])
                    flowing.append((now, index, result))
            else:
                now += schedule.source if kind == "source" else schedule.text_start
                flowing.append((now, index, self.plain_part(part)))
                now += 0 if kind == "source" else schedule.text_rest
                before = "call"
        self._merge(recorded, flowing, ready, schedule.passing)
        return recorded

    def _answered(
        self, call: Ref, schedule: Schedule, inputs: dict[Value, Value]
    ) -> tuple[str, Ref | None, int]:
        """What kind of call it is to the schedule, what answers it here, and when that is ready."""
        store, calls = self.store, self.calls
        if get(store, call, "invalid"):
            return "unknown_call", calls.invalid_result(call), schedule.unknown_ready
        if is_nullish(calls.tool(get(store, call, "toolName"))):
            return "dynamic_call", None, 0
        calls.input_available(call, self.step)
        request = calls.approval_request(call, self.step)
        if request is not None:
            return "asking_call", request, schedule.asking_ready
        inputs[get(store, call, "toolCallId")] = get(store, call, "input")
        if get(store, call, "providerExecuted") is True:
            return "call", None, 0
        result = calls.run(call, self.step)
        failed = result is not None and get(store, result, "type") == "tool-error"
        return "call", result, schedule.error_ready if failed else schedule.result_ready

    def _merge(
        self,
        recorded: Recorded,
        flowing: list[tuple[int, int, Ref]],
        ready: list[tuple[int, int, Ref]],
        passing: int,
    ) -> None:
        passed = 0
        events = [(time, 0, index, ref) for time, index, ref in flowing]
        for time, index, ref in sorted(ready, key=lambda entry: entry[:2]):
            passed = max(time, passed) + passing
            events.append((passed, 1, index, ref))
        for _, _, _, ref in sorted(events, key=lambda event: event[:3]):
            self._chunk(ref)
            recorded.content.append(ref)
            if get(self.store, ref, "type") in ("tool-result", "tool-error"):
                recorded.outputs.append(ref)

    def _chunk(self, ref: Ref) -> None:
        on_chunk = self.calls.hooks.on_chunk
        if on_chunk is not None and get(self.store, ref, "type") in ("source", "tool-call", "tool-result"):
            desk = self.calls.desk
            desk.hook = "onChunk"
            called(on_chunk, desk.view(self.store.object({"chunk": ref}), ("onChunk",)))
