"""Step results as the loops in TypeScript have them: objects whose getters read the content's parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar

from agentcore.heap.heap import UNDEFINED, ComputedCell, Ref, Slot, Store, Value
from agentcore.heap.js import elements, get, joined

__all__ = ["StepCell", "parts"]


def parts(store: Store, step: Ref, kind: str, dynamic: bool | None = None) -> list[Slot]:
    """The parts of a type in a step result's content; of calls those that are `dynamic`, or are not.

    Raises:
        HeapTypeError: if a hook left content that is no array of objects.
    """
    found = []
    for part in elements(store, get(store, step, "content")):
        if get(store, part, "type") != kind:
            continue
        if dynamic is None or (get(store, part, "dynamic") is True) == dynamic:
            found.append(part)
    return found


def _list_of(kind: str, dynamic: bool | None = None) -> Callable[[Store, Ref], Value]:
    return lambda store, step: store.array(parts(store, step, kind, dynamic))


def _text(store: Store, step: Ref) -> Value:
    return joined(store, [get(store, part, "text") for part in parts(store, step, "text")])


def _reasoning(store: Store, step: Ref) -> Value:
    return store.array(parts(store, step, "reasoning"))


def _reasoning_text(store: Store, step: Ref) -> Value:
    found = parts(store, step, "reasoning")
    return joined(store, [get(store, part, "text") for part in found]) if found else UNDEFINED


def _files(store: Store, step: Ref) -> Value:
    files = [get(store, part, "file") for part in parts(store, step, "file")]
    return store.array([None if file is UNDEFINED else file for file in files])


class StepCell(ComputedCell):
    """The slots of a step result, which also answers `text`, `toolCalls` and more, made when read."""

    __slots__ = ()

    computed: ClassVar[Mapping[str, Callable[[Store, Ref], Value]]] = MappingProxyType(
        {
            "text": _text,
            "reasoning": _reasoning,
            "reasoningText": _reasoning_text,
            "files": _files,
            "sources": _list_of("source"),
            "toolCalls": _list_of("tool-call"),
            "staticToolCalls": _list_of("tool-call", dynamic=False),
            "dynamicToolCalls": _list_of("tool-call", dynamic=True),
            "toolResults": _list_of("tool-result"),
            "staticToolResults": _list_of("tool-result", dynamic=False),
            "dynamicToolResults": _list_of("tool-result", dynamic=True),
        }
    )
