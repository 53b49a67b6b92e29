"""What a run reports: the results of its steps, its messages, and its last event; on cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from agentcore.frameworks.ai_sdk.emulation.convert import or_null
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile, Report
from agentcore.heap.heap import UNDEFINED, Measured, MeasuredCell, Ref, Slot, Store, Value
from agentcore.heap.js import elements, get, is_array, is_nullish, or_else, plus, text
from agentcore.kit.step_results import StepCell, parts

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


def step_result(
    profile: AiSdkProfile, store: Store, own: Mapping[str, Value], response: Mapping[str, Value]
) -> Ref:
    """The result of a step: what is its own, its response, and what is the same for all.

    What it computes of its content, it computes at each reading (rule ai-sdk.calls-listed-anew).
    """
    content = own["content"]
    made = {
        **own,
        "usage": usage_of(store, 1),
        "performance": _performance(store, profile, content) if profile.performance_reported else UNDEFINED,
        "warnings": store.array(()),
        "request": store.object({}),
        "response": store.object(response),
    }
    return store.object(made, CopyingStepCell if profile.reasoning_copied else StepCell)


def usage_of(store: Store, answers: int) -> Ref:
    """What so many answers of a model cost; nothing is known of none."""
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
    """How long things took: of a stream, what its chunks tell, too."""
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
    profile: AiSdkProfile, store: Store, steps: Ref, answered: Iterable[Slot], total: Ref
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
