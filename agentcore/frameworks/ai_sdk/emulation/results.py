"""Makes a run's reports on cells: the results of its steps, its messages, its last event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar, Final, TypeAlias

import attrs

from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile, Report
from agentcore.heap.copying import through_json
from agentcore.heap.heap import UNDEFINED, ErrorCell, Measured, MeasuredCell, Ref, Slot, Store, Value
from agentcore.heap.js import (
    elements,
    error_text,
    fields,
    get,
    is_array,
    is_nullish,
    is_object,
    iterated,
    or_else,
    plus,
    text,
)
from agentcore.kit.emulate import StepCell, parts
from agentcore.messages.values import sealed

_FINISH: Final = (
    *("callId", "stepNumber", "model", "finishReason", "usage", "content", "request", "response", "warnings"),
)
_TOKENS: Final = ("inputTokens", "outputTokens", "totalTokens", "reasoningTokens", "cachedInputTokens")
_DETAILS: Final = {
    "inputTokenDetails": ("noCacheTokens", "cacheReadTokens", "cacheWriteTokens"),
    "outputTokenDetails": ("textTokens", "reasoningTokens"),
}
_TIMES: Final = (
    *("stepTimeMs", "responseTimeMs", "effectiveOutputTokensPerSecond", "effectiveTotalTokensPerSecond"),
)
_OF_FIRST_CHUNK: Final = ("outputTokensPerSecond", "inputTokensPerSecond", "timeToFirstOutputMs")
_OF_SECOND_CHUNK: Final = ("timeBetweenOutputChunksMs",)
_OF_THE_LAST: Final = frozenset(
    {
        *("callId", "stepNumber", "model", "finishReason", "usage", "request", "response"),
        *("text", "reasoning", "reasoningText"),
        *("experimental_context", "runtimeContext", "toolsContext"),
    }
)


def _copied_reasoning(store: Store, step: Ref) -> Value:
    copies = []
    for part in parts(store, step, "reasoning"):
        metadata = get(store, part, "providerMetadata")
        copy = {"type": "reasoning", "text": get(store, part, "text")}
        copies.append(store.object(copy if is_nullish(metadata) else {**copy, "providerOptions": metadata}))
    return store.array(copies)


def _reasoning_text(store: Store, step: Ref) -> Value:
    whole = StepCell.computed["reasoningText"](store, step)
    return UNDEFINED if whole == "" else whole


class CopyingStepCell(StepCell):
    """A step result whose `reasoning` are new objects rather than parts of the content."""

    __slots__ = ()

    computed: ClassVar[Mapping[str, Callable[[Store, Ref], Value]]] = MappingProxyType(
        {**StepCell.computed, "reasoning": _copied_reasoning, "reasoningText": _reasoning_text}
    )


def step_end(
    profile: AiSdkProfile, store: Store, reason: Value, content: Ref, response: Mapping[str, Value]
) -> dict[str, Value]:
    """What a step's end says of it."""
    timed = profile.performance_reported
    return {
        "finishReason": reason,
        "usage": usage_of(store, 1),
        "performance": _performance(store, profile, content) if timed else UNDEFINED,
        "response": store.object(response),
    }


def step_result(
    profile: AiSdkProfile, store: Store, own: Mapping[str, Value], start: Ref | None, report: Ref
) -> Ref:
    """The result of a step: what is its own, what its start says if anyone listened to it, and its report.

    What it computes of its content, it computes at each reading (rule ai-sdk.calls-listed-anew).
    """
    made = {
        **own,
        "warnings": store.array(()) if start is None else get(store, start, "warnings"),
        "request": store.object({} if start is None else fields(store, get(store, start, "request"))),
        "response": store.object({**fields(store, own["response"]), "messages": report}),
    }
    return store.object(made, CopyingStepCell if profile.reasoning_copied else StepCell)


def usage_of(store: Store, answers: int) -> Ref:
    """Returns the usage of so many model answers; undefined counts if there were none."""
    counts = {"inputTokens": answers, "outputTokens": answers, "totalTokens": 2 * answers} if answers else {}
    return store.load({**counts, "inputTokenDetails": {}, "outputTokenDetails": {}})  # type: ignore[no-any-return]


def total_usage(store: Store, steps: Ref) -> Ref:
    """The sum of what the results of the steps say that they cost.

    Raises:
        HeapTypeError: if a hook left a result without its usage.
    """
    total: dict[str, Value] = {}
    details: dict[str, dict[str, Value]] = {name: {} for name in _DETAILS}
    for step in elements(store, steps):
        usage = get(store, step, "usage")
        for name, names in _DETAILS.items():
            own = get(store, usage, name)
            for key in names:
                read = UNDEFINED if is_nullish(own) else get(store, own, key)
                details[name][key] = _sum(store, details[name].get(key, UNDEFINED), read)
        for key in _TOKENS:
            total[key] = _sum(store, total.get(key, UNDEFINED), get(store, usage, key))
    return store.object({**total, **{name: store.object(own) for name, own in details.items()}})


def _sum(store: Store, one: Value, other: Value) -> Value:
    return (
        UNDEFINED
        if is_nullish(one) and is_nullish(other)
        else plus(store, or_else(one, 0), or_else(other, 0))
    )


def _performance(store: Store, profile: AiSdkProfile, content: Value) -> Ref:
    """How long things took: of a stream, what its chunks report, too."""
    parts = elements(store, content)
    names = [*_TIMES]
    if profile.chunks_timed:
        chunks = [
            part for part in parts if get(store, part, "type") == "tool-call" or get(store, part, "text")
        ]
        names += _OF_FIRST_CHUNK if chunks else ()
        names += _OF_SECOND_CHUNK if chunks[1:] else ()
    took = {
        text(store, get(store, part, "toolCallId")): Measured(0)
        for part in parts
        if get(store, part, "type") in ("tool-result", "tool-error")
        and not get(store, part, "providerExecuted")
        and not isinstance(get(store, part, "error"), str)
    }
    times: dict[str, Value] = {name: Measured(0) for name in names}
    return store.object({**times, "toolExecutionMs": store.object(took)}, MeasuredCell)


def result_messages(profile: AiSdkProfile, store: Store, steps: Ref, answered: Iterable[Slot]) -> Value:
    """The messages that a result has: the last step's report, or those of all steps after the `answered`.

    Raises:
        HeapTypeError: if a hook left no report that they could be read from.
    """
    if profile.report is Report.OWN:
        return _of_all_steps(store, steps, ("response", "messages"), answered)
    last: Value = (UNDEFINED, *elements(store, steps))[-1]
    return get(store, get(store, last, "response"), "messages")


def finish_event(
    profile: AiSdkProfile, store: Store, steps: Ref, answered: Iterable[Slot], total: Value
) -> Ref:
    """Makes the event that the last hook of a run is given (rule ai-sdk.events-whole).

    Raises:
        HeapTypeError: if a hook left steps that it cannot be read from.
    """
    last: Value = (UNDEFINED, *elements(store, steps))[-1]
    names = (*_FINISH, *profile.contexts.names, *StepCell.computed)
    event = {name: get(store, last, name) for name in names}
    if profile.finish_lists_all:
        event |= {n: _of_all_steps(store, steps, (n,)) for n in names if n not in _OF_THE_LAST}
        event |= {"finalStep": last, "responseMessages": result_messages(profile, store, steps, answered)}
    if profile.finish_usage_is_total:
        event["usage"] = total
    return store.object({**event, "totalUsage": total, "steps": steps})


def _of_all_steps(store: Store, steps: Ref, path: Iterable[str], before: Iterable[Slot] = ()) -> Ref:
    """`steps.flatMap(...)`: a new list of what is in the lists, or is no list, of every step."""
    found: list[Slot] = list(before)
    for step in elements(store, steps):
        value: Value = step
        for key in path:
            value = get(store, value, key)
        found.extend(elements(store, value) if is_array(store, value) else [or_null(value)])
    return store.array(found)


# How response messages are made of a step's content; on cells.

ToModelOutput: TypeAlias = Callable[[Value, Value, Value, Value], Slot | None]
"""A tool's own conversion: called with tool name, call id, input and output; None where the tool has none."""


@sealed
@attrs.frozen
class Conversion:
    """Makes response messages of content, with the tools' own output conversions."""

    store: Store
    to_model_output: ToModelOutput
    errors_named: bool = attrs.field(default=False, kw_only=True)
    outputs_through_json: bool = attrs.field(default=False, kw_only=True)
    results_in_call_order: bool = attrs.field(default=False, kw_only=True)
    annotated_empty_text_kept: bool = attrs.field(default=False, kw_only=True)
    invalid_input_emptied: bool = attrs.field(default=False, kw_only=True)
    has_answers: bool = attrs.field(default=False, kw_only=True)

    def output(self, part: Value, output: Value, error_mode: str = "none") -> Slot:
        """A tool result's output in a message: the wrapper is new, the value the tool's own (claim X4).

        Unless outputs go through JSON: then it is a copy.
        """
        store = self.store
        if error_mode == "text":
            return store.object({"type": "error-text", "value": self.error_text(output)})
        if error_mode == "json":
            return store.object({"type": "error-json", "value": self._json(output)})
        name, call_id, given = (get(store, part, key) for key in ("toolName", "toolCallId", "input"))
        own = self.to_model_output(name, call_id, given, output)
        if own is not None:
            return own
        if isinstance(output, str):
            return store.object({"type": "text", "value": output})
        return store.object({"type": "json", "value": self._json(output)})

    def error_text(self, error: Value) -> Value:
        """Returns the text that a message has for an error."""
        is_error = type(error) is Ref and isinstance(self.store.cells[error.address], ErrorCell)
        return text(self.store, error) if is_error and self.errors_named else error_text(self.store, error)

    def _json(self, output: Value) -> Slot:
        return through_json(self.store, output) if self.outputs_through_json else or_null(output)

    def messages(self, content: Value) -> list[Ref]:
        """At most one assistant and one tool message (claims C7, X17; `toResponseMessages`).

        Raises:
            HeapTypeError: if a hook left content that cannot be read.
        """
        store = self.store
        parts = list(iterated(store, content))
        made: list[Ref] = []
        assistant = [made_part for part in parts for made_part in self._assistant_part(part)]
        if assistant:
            inside = store.derive(store.array(assistant), content)
            made.append(store.derive(store.object({"role": "assistant", "content": inside}), content))
        results = [made_part for part in parts for made_part in self._tool_parts(part)]
        if self.results_in_call_order:
            results = self._in_order(results, self._order_of_calls(parts))
        if results:
            inside = store.derive(store.array(results), content)
            made.append(store.derive(store.object({"role": "tool", "content": inside}), content))
        return made

    def _in_order(self, parts: Iterable[Ref], order: Mapping[Value, int]) -> list[Ref]:
        """The results among some parts in an order, at the places where results stand."""
        store = self.store
        listed = list(parts)
        results = [part for part in listed if get(store, part, "type") == "tool-result"]
        results.sort(key=lambda part: order.get(get(store, part, "toolCallId"), len(order)))
        left = iter(results)
        return [next(left) if get(store, part, "type") == "tool-result" else part for part in listed]

    def _tool_parts(self, part: Value) -> list[Ref]:
        if self._is_client_result(part):
            return [self._tool_part(part)]
        if not self.has_answers or get(self.store, part, "type") != "tool-approval-response":
            return []
        return self._answer(part)

    def _answer(self, part: Value) -> list[Ref]:
        """The answer to a request, and the result of a call that was denied."""
        store = self.store
        told = ("type", "approvalId", "approved", "reason", "providerExecuted")
        made = [store.derive(store.object({key: get(store, part, key) for key in told}), part)]
        if get(store, part, "approved") is False:
            call = get(store, part, "toolCall")
            output = store.object({"type": "execution-denied", "reason": get(store, part, "reason")})
            named = {key: get(store, call, key) for key in ("toolCallId", "toolName")}
            made.append(store.derive(store.object({"type": "tool-result", **named, "output": output}), part))
        return made

    def _order_of_calls(self, parts: Iterable[Value]) -> dict[Value, int]:
        called = (part for part in parts if get(self.store, part, "type") == "tool-call")
        ids = dict.fromkeys(get(self.store, part, "toolCallId") for part in called)
        return {call_id: index for index, call_id in enumerate(ids)}

    def _is_client_result(self, part: Value) -> bool:
        kind = get(self.store, part, "type")
        return kind in ("tool-result", "tool-error") and not get(self.store, part, "providerExecuted")

    def _tool_part(self, part: Value) -> Ref:
        store = self.store
        is_result = get(store, part, "type") == "tool-result"
        output = get(store, part, "output" if is_result else "error")
        metadata = get(store, part, "providerMetadata")
        made = store.object(
            {
                "type": "tool-result",
                "toolCallId": get(store, part, "toolCallId"),
                "toolName": get(store, part, "toolName"),
                "output": self.output(part, output, "none" if is_result else "text"),
                "providerOptions": UNDEFINED if is_nullish(metadata) else metadata,
            }
        )
        return store.derive(made, part)

    def _assistant_part(self, part: Value) -> list[Ref]:
        store = self.store
        kind = get(store, part, "type")
        if kind == "source" or self._is_client_result(part):
            return []
        if kind == "text" and get(store, get(store, part, "text"), "length") == 0:
            annotated = not is_nullish(get(store, part, "providerMetadata"))
            if not (annotated and self.annotated_empty_text_kept):
                return []
        copied = self._copied(part, kind)
        if copied is None:
            return []
        return [store.derive(store.object({"type": kind, **copied}), part)]

    def _copied(self, part: Value, kind: Value) -> dict[str, Value] | None:
        store = self.store
        if kind == "tool-approval-request":
            call_id = get(store, get(store, part, "toolCall"), "toolCallId")
            asked = {"approvalId": get(store, part, "approvalId"), "toolCallId": call_id}
            if not self.has_answers:
                return asked
            reason = get(store, part, "reason")
            told = {"reason": UNDEFINED if is_nullish(reason) else reason}
            return {**asked, **told, "isAutomatic": get(store, part, "isAutomatic")}
        options = {"providerOptions": get(store, part, "providerMetadata")}
        if kind in ("text", "reasoning"):
            return {"text": get(store, part, "text"), **options}
        if kind == "file":
            file = get(store, part, "file")
            data, media_type = get(store, file, "base64Data"), get(store, file, "mediaType")
            return {"data": data, "mediaType": media_type, **options}
        named = {key: get(store, part, key) for key in ("toolCallId", "toolName")}
        if kind == "tool-call":
            called = {"input": self._input(part), "providerExecuted": get(store, part, "providerExecuted")}
            return {**named, **called, **options}
        if kind == "tool-result":
            return {**named, "output": self.output(part, get(store, part, "output")), **options}
        if kind == "tool-error":
            return {
                **named,
                "output": self.output(part, get(store, part, "error"), "json"),
                **options,
                "type": "tool-result",
            }
        return None

    def _input(self, call: Value) -> Value:
        given = get(self.store, call, "input")
        # A tool's input that is null is an object to JavaScript.
        emptied = self.invalid_input_emptied and get(self.store, call, "invalid") and given is not None
        return self.store.object({}) if emptied and not is_object(given) else given


def or_null(value: Value) -> Slot:
    """`toJSONValue`: undefined becomes null."""
    return None if value is UNDEFINED else value
