"""What a run reports: the results of its steps, its messages, and its last event; on cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar, Final

from agentcore.frameworks.ai_sdk.emulation.convert import or_null
from agentcore.frameworks.ai_sdk.profiles import AiSdkProfile, Report
from agentcore.heap.heap import UNDEFINED, Ref, Slot, Store, Value
from agentcore.heap.js import elements, get, is_array, is_nullish
from agentcore.kit.step_results import StepCell, parts

_FINISH: Final = ("stepNumber", "model", "finishReason", "usage", "content", "response")
_OF_THE_LAST: Final = frozenset(
    {
        *("stepNumber", "model", "finishReason", "usage", "response", "text", "reasoning", "reasoningText"),
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
    usage = {"inputTokens": 1, "inputTokenDetails": {}, "outputTokens": 1, "outputTokenDetails": {}}
    made = {
        **own,
        "usage": store.load({**usage, "totalTokens": 2}),
        "warnings": store.array(()),
        "request": store.object({}),
        "response": store.object(response),
    }
    return store.object(made, CopyingStepCell if profile.reasoning_copied else StepCell)


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
    profile: AiSdkProfile, store: Store, steps: Ref, last: Value, answered: Iterable[Slot]
) -> Ref:
    """What the last hook of a run is told.

    Raises:
        HeapTypeError: if a hook left steps that it cannot be read from.
    """
    names = (*_FINISH, *profile.contexts.names, *StepCell.computed)
    event = {name: get(store, last, name) for name in names}
    if profile.finish_lists_all:
        event |= {n: _of_all_steps(store, steps, (n,)) for n in names if n not in _OF_THE_LAST}
        event |= {"finalStep": last, "responseMessages": result_messages(profile, store, steps, answered)}
    return store.object({**event, "steps": steps})


def _of_all_steps(store: Store, steps: Ref, path: Iterable[str], before: Iterable[Slot] = ()) -> Ref:
    """`steps.flatMap(...)`: a new list of what is in the lists, or is no list, of every step."""
    found: list[Slot] = list(before)
    for step in elements(store, steps):
        value: Value = step
        for key in path:
            value = get(store, value, key)
        found.extend(elements(store, value) if is_array(store, value) else [or_null(value)])
    return store.array(found)
