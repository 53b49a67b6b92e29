"""Recognizes the form of a message by its fields, as the package does; and what all forms have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import Final, Protocol, TypeVar

from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.heap.heap import UNDEFINED, HeapTypeError, ObjectCell, Ref, Slot, Store, Value
from agentcore.heap.js import (
    elements,
    get,
    is_array,
    is_nullish,
    text,
)

T = TypeVar("T")


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


def form_of(
    store: Store, message: Value, *, lists_only: bool, made: Collection[int] = frozenset()
) -> Form | None:
    """Returns the form of a message; None for what has none.

    `lists_only`: of content that is no list of objects nothing is read; otherwise all of it is. `made`: the
    addresses of messages that the list made, which have the fields of a stored one whatever they hold.

    Raises:
        HeapTypeError: for a message or a part that is no object.
    """
    if _is_stored(store, message):
        return Form.STORED
    is_made = isinstance(message, Ref) and message.address in made
    if is_made or has(store, message, "threadId") or has(store, message, "resourceId"):
        return Form.OLD
    if has(store, message, "parts"):
        return Form.UI_5 if _has_parts_of_5(store, message) else Form.UI_4
    if not has(store, message, "content"):
        return None
    return Form.CORE_5 if _has_content_of_5(store, message, lists_only=lists_only) else Form.CORE_4


def system_form_of(
    store: Store, message: Value, *, lists_only: bool, made: Collection[int] = frozenset()
) -> Form | None:
    """Returns the form of a system message, which is looked at less closely: one with parts has no form.

    Raises:
        HeapTypeError: for a message or a part of its content that is no object.
    """
    is_stored = _is_stored(store, message)
    return (
        None
        if not is_stored and has(store, message, "parts")
        else form_of(store, message, lists_only=lists_only, made=made)
    )


def _is_stored(store: Store, message: Value) -> bool:
    content = get(store, message, "content") if has(store, message, "content") else UNDEFINED
    if not content or isinstance(content, str) or is_array(store, content):
        return False
    return has(store, content, "format") and get(store, content, "format") == 2  # noqa: PLR2004


_APPROVAL_STATES: Final = ("approval-requested", "approval-responded", "output-denied")
_APPROVALS: Final = ("tool-approval-request", "tool-approval-response")


def is_of_6(store: Store, message: Value) -> bool:
    """Returns whether a message of a form of AI SDK 5 has what only AI SDK 6 has.

    Raises:
        HeapTypeError: for a part that is no object.
    """
    parts = get(store, message, "parts")
    if has(store, message, "parts"):
        return any(_part_of_6(store, part) for part in each_of(store, parts, "msg.parts"))
    content = get(store, message, "content")
    given = elements(store, content) if is_array(store, content) else ()
    return any(isinstance(part, Ref) and get(store, part, "type") in _APPROVALS for part in given)


def _part_of_6(store: Store, part: Value) -> bool:
    if get(store, part, "type") in ("source-document", "dynamic-tool"):
        return True
    if has(store, part, "resultProviderMetadata"):
        return True
    return has(store, part, "toolCallId") and get(store, part, "state") in _APPROVAL_STATES


_OF_UI_4 = ("toolInvocations", "reasoning", "experimental_attachments", "data", "annotations")


def _has_parts_of_5(store: Store, message: Value) -> bool:
    parts = get(store, message, "parts")
    if any(has(store, message, key) for key in _OF_UI_4) or not parts:
        return False
    return _first(_part_of_5(store, part) for part in each_of(store, parts, "msg.parts"))


def _part_of_5(store: Store, part: Value) -> bool | None:
    for key, answer in (("metadata", True), ("toolInvocation", False), ("toolCallId", True)):
        if has(store, part, key):
            return answer
    kind = get(store, part, "type")
    if kind in ("source", "source-url"):
        return kind == "source-url"
    if kind == "reasoning":
        if has(store, part, "state") or has(store, part, "text"):
            return True
        return False if has(store, part, "reasoning") or has(store, part, "details") else None
    return True if kind == "file" and has(store, part, "mediaType") else None


def _has_content_of_5(store: Store, message: Value, *, lists_only: bool) -> bool:
    if has(store, message, "experimental_providerMetadata"):
        return False
    content = get(store, message, "content")
    if isinstance(content, str) or (lists_only and not is_array(store, content)):
        return True
    for part in each_of(store, content, "msg.content"):
        answer = None if lists_only and type(part) is not Ref else _content_of_5(store, part)
        if answer is not None:
            return answer
    return True


def _content_of_5(store: Store, part: Value) -> bool | None:
    kind = get(store, part, "type")
    for new in (True, False):
        for name, key in _KEYS_OF_CALLS[new]:
            if kind == name and has(store, part, key):
                return new
    if has(store, part, "mediaType"):
        return True
    if has(store, part, "mimeType") or has(store, part, "experimental_providerMetadata"):
        return False
    is_old = kind == "redacted-reasoning" or (kind == "reasoning" and has(store, part, "signature"))
    return False if is_old else None


_KEYS_OF_CALLS: Final = {
    True: (("tool-result", "output"), ("tool-call", "input")),
    False: (("tool-result", "result"), ("tool-call", "args")),
}


def is_empty(slot: object) -> bool:
    """Returns whether this stands for an empty place of an array, as `delete array[index]` leaves it."""
    return slot is UNDEFINED


def filled(slots: Iterable[T]) -> list[T]:
    """Returns the elements that `filter`, `map` and the like visit: not those of empty places."""
    return [slot for slot in slots if not is_empty(slot)]


def mapped(slots: Iterable[Slot], made: Callable[[Slot], Slot]) -> list[Slot]:
    """Returns `slots.map(made)`, in which an empty place stays one."""
    return [slot if is_empty(slot) else made(slot) for slot in slots]


def each_of(store: Store, value: Value, receiver: str) -> Iterable[Slot]:
    """Returns what `for (... of value)` goes over; `receiver` is what errors of the engine call the value.

    Raises:
        HeapTypeError: if the value cannot be iterated.
    """
    if not isinstance(value, str) and not is_array(store, value):
        raise HeapTypeError(f"{receiver} is not iterable")
    return value if isinstance(value, str) else elements(store, value)


def listed(store: Store, value: Value, receiver: str, method: str) -> tuple[Slot, ...]:
    """Returns the elements that an array's method goes over; `receiver` is what errors call the array.

    Raises:
        HeapTypeError: if the value is no array.
    """
    if is_nullish(value) or is_array(store, value):
        return elements(store, value, method)
    raise HeapTypeError(f"{receiver}.{method} is not a function")


def _first(answers: Iterable[bool | None]) -> bool:
    """The first answer there is; no if there is none."""
    return next((answer for answer in answers if answer is not None), False)


def is_same(one: Value, two: Value) -> bool:
    """Returns `one === two`: in Python `True == 1`."""
    return one == two and (type(one) is bool) == (type(two) is bool)


def starts_with(store: Store, value: Value, start: str, receiver: str = "part.type") -> bool:
    """`value.startsWith(start)`; `receiver` is what errors call the value.

    Raises:
        HeapTypeError: if the value is no text.
    """
    if not isinstance(value, str):
        get(store, value, "startsWith")
        raise HeapTypeError(f"{receiver}.startsWith is not a function")
    return value.startswith(start)


# ---------------------------------------------------------------- the stored content

FORMAT: Final = 2


class Context(Protocol):
    """The values that a conversion needs from the list that gets the message.

    `made` are the addresses of the messages that the list made, `answered` those of the calls that it gave
    a result, which may be undefined.
    """

    store: Store
    profile: MastraProfile
    made: set[int]
    answered: set[int]

    def new_id(self) -> str:
        """An id that no message has."""
        ...

    def new_date(self, source: str, start: Value = UNDEFINED) -> Ref:
        """The date of a message that comes now, or came at `start`."""
        ...

    def as_date(self, value: Value) -> Ref:
        """Returns `new Date(value)`."""
        ...

    def now(self) -> int:
        """The time."""
        ...

    def leave_out(self, what: str, instead: str) -> Exception:
        """Returns the error for what is not emulated."""
        ...

    def known_args(self, call_id: Value) -> Value:
        """The arguments of a call, from the last message that has some of it; an empty object if none has."""
        ...


def tool_name(context: Context, name: Value) -> Value:
    """A tool's name as the list keeps it."""
    return clean_tool_name(name) if context.profile.cleans_tool_names else name


_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


def clean_tool_name(name: Value) -> str:
    """A tool's name, or what stands for one that no provider takes."""
    return name if isinstance(name, str) and _TOOL_NAME.fullmatch(name) else "unknown_tool"


def stamp(context: Context, part: Slot) -> Slot:
    """Dates a part that has no date, in place."""
    store = context.store
    # An array's field that is no element is seen nowhere.
    if is_array(store, part) or not context.profile.dates_parts:
        return part
    if is_nullish(get(store, part, "createdAt")):
        assign(store, part, "createdAt", context.now())
    return part
