"""Which form a message has: the package tells by the fields that are there."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from agentcore.heap.heap import HeapTypeError, ObjectCell, Ref, Store, Value
from agentcore.heap.js import elements, get, is_array, is_nullish, text


class Form(Enum):
    """The form of a message."""

    STORED = "the list's own: content is {format: 2, parts}"
    OLD = "stored by an older version"
    CORE_4 = "{role, content} of AI SDK 4"
    UI_4 = "a UI message of AI SDK 4"
    CORE_5 = "{role, content} of AI SDK 5"
    UI_5 = "a UI message of AI SDK 5"


def has(store: Store, value: Value, key: str) -> bool:
    """`key in value`.

    Raises:
        HeapTypeError: if the value is no object.
    """
    if type(value) is not Ref:
        raise HeapTypeError(f"Cannot use 'in' operator to search for '{key}' in {text(store, value)}")
    cell = store.cells[value.address]
    return isinstance(cell, ObjectCell) and key in cell


def assign(store: Store, value: Value, key: str, slot: Value) -> None:
    """`value[key] = slot`.

    Raises:
        HeapTypeError: if the value is no object, or is frozen.
    """
    if is_nullish(value):
        raise HeapTypeError(f"Cannot set properties of {text(store, value)} (setting '{key}')")
    if type(value) is not Ref:
        kind = {bool: "boolean", str: "string"}.get(type(value), "number")
        raise HeapTypeError(f"Cannot create property '{key}' on {kind} '{text(store, value)}'")
    store.put(value, key, slot)  # type: ignore[arg-type]  # callers assign what is defined


def form_of(store: Store, message: Value) -> Form | None:
    """The form of a message; None for what has none."""
    if _is_stored(store, message):
        return Form.STORED
    if has(store, message, "threadId") or has(store, message, "resourceId"):
        return Form.OLD
    if has(store, message, "parts"):
        return Form.UI_5 if _has_parts_of_5(store, message) else Form.UI_4
    if not has(store, message, "content"):
        return None
    return Form.CORE_5 if _has_content_of_5(store, message) else Form.CORE_4


def _is_stored(store: Store, message: Value) -> bool:
    if not has(store, message, "content"):
        return False
    content = get(store, message, "content")
    return type(content) is Ref and not is_array(store, content) and get(store, content, "format") == 2  # noqa: PLR2004


_OF_UI_4 = ("toolInvocations", "reasoning", "experimental_attachments", "data", "annotations")


def _has_parts_of_5(store: Store, message: Value) -> bool:
    parts = get(store, message, "parts")
    if any(has(store, message, key) for key in _OF_UI_4) or not parts:
        return False
    return _first(_part_of_5(store, part) for part in elements(store, parts, "forEach"))


def _part_of_5(store: Store, part: Value) -> bool | None:
    kind = get(store, part, "type")
    if has(store, part, "metadata"):
        return True
    if has(store, part, "toolInvocation"):
        return False
    if has(store, part, "toolCallId"):
        return True
    if kind == "reasoning" and (has(store, part, "state") or has(store, part, "text")):
        return True
    return False if kind == "reasoning" and has(store, part, "reasoning") else None


def _has_content_of_5(store: Store, message: Value) -> bool:
    if has(store, message, "experimental_providerMetadata"):
        return False
    content = get(store, message, "content")
    if not is_array(store, content):
        return True
    found = [told for part in elements(store, content) if (told := _content_of_5(store, part)) is not None]
    return found[0] if found else True


def _content_of_5(store: Store, part: Value) -> bool | None:
    if type(part) is not Ref:
        return None
    kind = get(store, part, "type")
    for name, new, old in (("tool-result", "output", "result"), ("tool-call", "input", "args")):
        if kind == name and (has(store, part, new) or has(store, part, old)):
            return has(store, part, new)
    if kind == "redacted-reasoning" or (kind == "reasoning" and has(store, part, "signature")):
        return False
    return False if has(store, part, "experimental_providerMetadata") else None


def _first(answers: Iterable[bool | None]) -> bool:
    """The first answer there is; no if there is none."""
    return next((answer for answer in answers if answer is not None), False)
