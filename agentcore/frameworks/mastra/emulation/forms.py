"""Recognizes the form of a message, and makes the content that is stored for it.

The package recognises the form by its fields. Stored content is made of what AI SDK 5 has in its
model messages and its UI messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final, Protocol, TypeVar

from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.heap.copying import through_json
from agentcore.heap.heap import UNDEFINED, HeapTypeError, ObjectCell, Ref, Slot, Store, Value
from agentcore.heap.js import (
    elements,
    fields,
    get,
    is_array,
    is_nullish,
    joined,
    or_else,
    stringified,
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


def form_of(store: Store, message: Value, *, lists_only: bool) -> Form | None:
    """Returns the form of a message; None for what has none.

    `lists_only`: of content that is no list of objects nothing is read; otherwise all of it is.

    Raises:
        HeapTypeError: for a message or a part that is no object.
    """
    if _is_stored(store, message):
        return Form.STORED
    if has(store, message, "threadId") or has(store, message, "resourceId"):
        return Form.OLD
    if has(store, message, "parts"):
        return Form.UI_5 if _has_parts_of_5(store, message) else Form.UI_4
    if not has(store, message, "content"):
        return None
    return Form.CORE_5 if _has_content_of_5(store, message, lists_only=lists_only) else Form.CORE_4


def system_form_of(store: Store, message: Value, *, lists_only: bool) -> Form | None:
    """Returns the form of a system message, which is looked at less closely: one with parts has no form.

    Raises:
        HeapTypeError: for a message or a part of its content that is no object.
    """
    is_stored = _is_stored(store, message)
    return (
        None
        if not is_stored and has(store, message, "parts")
        else form_of(store, message, lists_only=lists_only)
    )


def _is_stored(store: Store, message: Value) -> bool:
    content = get(store, message, "content") if has(store, message, "content") else UNDEFINED
    if not content or isinstance(content, str) or is_array(store, content):
        return False
    return has(store, content, "format") and get(store, content, "format") == 2  # noqa: PLR2004


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


def _first(answers: Iterable[bool | None]) -> bool:
    """The first answer there is; no if there is none."""
    return next((answer for answer in answers if answer is not None), False)


# When two messages, parts or system messages count as equal: when their keys are.


def is_same(one: Value, two: Value) -> bool:
    """Returns `one === two`: in Python `True == 1`."""
    return one == two and (type(one) is bool) == (type(two) is bool)


def starts_with(store: Store, value: Value, start: str) -> bool:
    """`value.startsWith(start)`.

    Raises:
        HeapTypeError: if the value is no text.
    """
    if not isinstance(value, str):
        get(store, value, "startsWith")
        raise HeapTypeError("startsWith is not a function")
    return value.startswith(start)


def part_key(store: Store, part: Value) -> str:
    """The key of one part of a stored message."""
    kind = get(store, part, "type")
    if starts_with(store, kind, "data-"):
        return f"{kind}{text(store, _stable(store, get(store, part, 'data')))}"
    return text(store, kind) + _of_content(store, kind, part)


def _of_content(store: Store, kind: Value, part: Value) -> str:
    if kind == "text":
        return text(store, get(store, part, "text"))
    if kind == "tool-invocation":
        call = get(store, part, "toolInvocation")
        return (
            "".join(text(store, get(store, call, name)) for name in ("toolCallId", "state")) if call else ""
        )
    if kind == "reasoning":
        return text(store, get(store, part, "reasoning")) + str(_reasoning_length(store, part))
    if kind == "file":
        data = or_else(get(store, part, "data"), get(store, part, "url"))
        media_type = or_else(get(store, part, "mimeType"), get(store, part, "mediaType"))
        return text(store, data) + text(store, media_type)
    return ""


def _reasoning_length(store: Store, part: Value) -> int:
    details = get(store, part, "details")
    length = 0
    for detail in () if is_nullish(details) else filled(elements(store, details, "reduce")):
        if get(store, detail, "type") == "text":
            for name in ("text", "signature"):
                value = get(store, detail, name)
                length += len(value) if isinstance(value, str) else 0
    return length


def _stable(store: Store, value: Value) -> Value:
    """JSON text with the fields of every object in alphabetical order."""
    return (
        stringified(store, _sorted(store, through_json(store, value)))
        if type(value) is Ref
        else stringified(store, value)
    )


def _sorted(store: Store, value: Slot) -> Slot:
    if type(value) is not Ref:
        return value
    if is_array(store, value):
        return store.array([_sorted(store, item) for item in elements(store, value)])
    return store.object({name: _sorted(store, item) for name, item in sorted(fields(store, value).items())})


def parts_key(store: Store, message: Value) -> str:
    """The key of all parts of a stored message."""
    parts = get(store, get(store, message, "content"), "parts")
    return "".join([part_key(store, part) for part in elements(store, parts, "Symbol(Symbol.iterator)")])


def messages_equal(store: Store, one: Value, two: Value, *, lists_only: bool) -> bool:
    """True if a stored message and an added one have the same id and the same content."""
    form = form_of(store, one, lists_only=lists_only)
    if form is not Form.STORED:
        # What a processor left in the list may be of no form at all: that is equal to everything.
        return form is None
    if get(store, one, "id") != get(store, two, "id"):
        return False
    return parts_key(store, one) == parts_key(store, two)


def system_key(store: Store, content: Value) -> str:
    """The key of a system message's content."""
    if isinstance(content, str):
        return content
    pieces = []
    for part in each_of(store, content, "content"):
        kind = get(store, part, "type")
        pieces.append(text(store, kind))
        if kind == "text":
            pieces.append(text(store, get(store, get(store, part, "text"), "length")))
    return "".join(pieces)


# ---------------------------------------------------------------- the stored content

FORMAT: Final = 2


class Context(Protocol):
    """The values that a conversion needs from the list that gets the message."""

    store: Store
    profile: MastraProfile

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

    def known_args(self, call_id: Value) -> Value:
        """The arguments of a call, from the last message that has some of it; an empty object if none has."""
        ...


def reasoning_of(context: Context, whole: Value, detail: dict[str, Value]) -> dict[str, Value]:
    """The fields of a part of reasoning: its whole text, where the list keeps that, and a detail."""
    store = context.store
    told = whole if context.profile.tells_reasoning else ""
    return {"type": "reasoning", "reasoning": told, "details": store.array([store.object(detail)])}


def texts_checked(context: Context, parts: Iterable[Slot]) -> Ref:
    """An array of these parts, where the list drops empty texts without those."""
    store = context.store
    listed = list(parts)
    if not context.profile.drops_empty_texts:
        return store.array(listed)
    full = [
        part
        for part in filled(listed)
        if get(store, part, "type") != "text" or get(store, part, "text") != ""
    ]
    return store.array(full or listed)


def tool_name(context: Context, name: Value) -> Value:
    """A tool's name as the list keeps it."""
    return clean_tool_name(name) if context.profile.cleans_tool_names else name


def core_content(context: Context, message: Value) -> dict[str, Value]:
    """The stored content of {role, content} as AI SDK 5 has it."""
    store = context.store
    content = get(store, message, "content")
    if isinstance(content, str):
        given: tuple[Slot, ...] = (store.derive(store.object({"type": "text", "text": content}), message),)
    else:
        given = tuple(
            part
            for part in (elements(store, content) if is_array(store, content) else ())
            if isinstance(part, Ref)
        )
    taken = _Taken(context)
    for part in given:
        taken.add(part)
    if (
        taken.answered_last
        and not context.profile.drops_empty_texts
        and get(store, message, "role") == "assistant"
    ):
        taken.parts.append(store.object({"type": "text", "text": ""}))
    parts = texts_checked(context, taken.parts)
    texts = [
        get(store, part, "text") for part in elements(store, parts) if get(store, part, "type") == "text"
    ]
    metadata = get(store, message, "metadata")
    return {
        "format": FORMAT,
        "parts": parts,
        "toolInvocations": store.array(taken.calls) if taken.calls else UNDEFINED,
        "reasoning": joined(store, taken.reasoning, "\n") if taken.reasoning else UNDEFINED,
        "content": joined(store, texts, "\n") or UNDEFINED,
        "metadata": metadata if metadata and fields(store, metadata) else UNDEFINED,
        "providerMetadata": get(store, message, "providerOptions") or UNDEFINED,
    }


class _Taken:
    """The stored parts of a message's content, and the lists beside them."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.store = context.store
        self.parts: list[Slot] = []
        self.calls: list[Slot] = []
        self.reasoning: list[Value] = []
        self.answered_last = False

    def add(self, part: Slot) -> None:
        """Takes a part of the content."""
        store = self.store
        kind = get(store, part, "type")
        self.answered_last = kind == "tool-result"
        if kind == "text":
            self._put(part, {"type": "text", "text": get(store, part, "text")})
        elif kind == "reasoning":
            told = get(store, part, "text")
            self._put(part, reasoning_of(self.context, told, {"type": "text", "text": told}))
            self.reasoning.append(told)
        elif kind == "tool-call":
            args = get(store, part, "input")
            self._put(part, {"type": "tool-invocation", "toolInvocation": self._call(part, args)})
            self.calls.append(self._call(part, args))
        elif kind == "tool-result":
            self._result(part)

    def _put(self, part: Slot, made: dict[str, Value]) -> None:
        store = self.store
        options = get(store, part, "providerOptions") or UNDEFINED
        executed = get(store, part, "providerExecuted") if "toolInvocation" in made else UNDEFINED
        dated = {
            "providerMetadata": options,
            "createdAt": date_in_options(self.context, options),
            "providerExecuted": executed,
        }
        self.parts.append(store.derive(store.object({**made, **dated}), part))

    def _call(self, part: Slot, args: Value) -> Ref:
        store = self.store
        named = {
            "toolCallId": get(store, part, "toolCallId"),
            "toolName": tool_name(self.context, get(store, part, "toolName")),
        }
        return store.derive(store.object({**named, "args": args, "state": "call"}), part)

    def _result(self, part: Slot) -> None:
        store = self.store
        call_id = get(store, part, "toolCallId")
        args: Value = store.object({})
        if self.context.profile.recovers_args:
            known = self.context.known_args(call_id)
            args = known if fields(store, known) else or_else(get(store, part, "input"), args)
        call = self._of_call(self.calls, call_id)
        if call is None:
            call = self._call(part, args)
            self.calls.append(call)
        self._answer(call, part)
        for own in self.parts:
            held = (
                get(store, own, "toolInvocation")
                if get(store, own, "type") == "tool-invocation"
                else UNDEFINED
            )
            if isinstance(held, Ref) and get(store, held, "toolCallId") == call_id:
                self._answer(held, part)
                return
        made = self._call(part, args)
        self._answer(made, part)
        self._put(part, {"type": "tool-invocation", "toolInvocation": made})

    def _of_call(self, calls: Iterable[Slot], call_id: Value) -> Ref | None:
        found = (call for call in calls if get(self.store, call, "toolCallId") == call_id)
        return next(found, None)  # type: ignore[return-value]  # such lists hold objects

    def _answer(self, call: Ref, part: Slot) -> None:
        store = self.store
        assign(store, call, "state", "result")
        output = unwrapped(store, get(store, part, "output"))
        if output is not UNDEFINED:
            assign(store, call, "result", output)


def unwrapped(store: Store, output: Value) -> Value:
    """A tool's output without the envelope that prompts have it in."""
    in_envelope = isinstance(output, Ref) and has(store, output, "value")
    return get(store, output, "value") if in_envelope else output


_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


def clean_tool_name(name: Value) -> str:
    """A tool's name, or what stands for one that no provider takes."""
    return name if isinstance(name, str) and _TOOL_NAME.fullmatch(name) else "unknown_tool"


def date_in_options(context: Context, options: Value) -> Value:
    """The date that a part's provider options carry."""
    if not context.profile.dates_parts:
        return UNDEFINED
    store = context.store
    own = get(store, options, "mastra") if options else UNDEFINED
    at = get(store, own, "createdAt") if isinstance(own, Ref) else UNDEFINED
    return at if isinstance(at, int | float) and not isinstance(at, bool) else UNDEFINED


def ui_content(context: Context, message: Value) -> Ref:
    """The stored content of a UI message, which has its parts in one list."""
    store = context.store
    given = filled(elements(store, get(store, message, "parts"), "filter"))
    parts = [made for part in given if (made := _ui_part(context, part)) is not None]
    calls = [_ui_call(context, part) for part in given if _is_tool(store, part)]
    reasoning = [get(store, part, "text") for part in given if get(store, part, "type") == "reasoning"]
    texts = [get(store, part, "text") for part in given if get(store, part, "type") == "text"]
    metadata = get(store, message, "metadata")
    own = fields(store, metadata) if metadata else {}
    clean = {name: slot for name, slot in own.items() if name not in ("createdAt", "threadId", "resourceId")}
    content: dict[str, Value] = {
        "format": FORMAT,
        "parts": texts_checked(context, parts),
        "toolInvocations": store.array(calls) if calls else UNDEFINED,
        "reasoning": joined(store, reasoning, "\n") if reasoning else UNDEFINED,
        "content": joined(store, texts) if texts else UNDEFINED,
        "metadata": store.object(clean) if clean else UNDEFINED,
    }
    return store.object(content)


def _is_tool(store: Store, part: Slot) -> bool:
    kind = get(store, part, "type")
    return isinstance(kind, str) and kind.startswith("tool-")


def _ui_call(context: Context, part: Slot) -> Ref:
    store = context.store
    answered = get(store, part, "state") == "output-available"
    fields_: dict[str, Value] = {
        "args": get(store, part, "input"),
        "toolCallId": get(store, part, "toolCallId"),
        "toolName": tool_name(context, str(get(store, part, "type")).removeprefix("tool-")),
        "state": "result" if answered else "call",
        "result": unwrapped(store, get(store, part, "output")) if answered else UNDEFINED,
    }
    return store.derive(store.object(fields_), part)


def _ui_part(context: Context, part: Slot) -> Slot:
    store = context.store
    kind = get(store, part, "type")
    if kind in ("step-start", "error"):
        return part
    options = get(store, part, "callProviderMetadata" if _is_tool(store, part) else "providerMetadata")
    made: dict[str, Value]
    if _is_tool(store, part):
        made = {"type": "tool-invocation", "toolInvocation": _ui_invocation(context, part)}
        made["providerExecuted"] = get(store, part, "providerExecuted")
    elif kind == "reasoning":
        told = get(store, part, "text")
        made = reasoning_of(context, told, {"type": "text", "text": told})
    elif kind == "text":
        made = {"type": "text", "text": get(store, part, "text")}
    elif isinstance(kind, str) and kind.startswith("data-"):
        return store.derive(store.object({"type": kind, "data": get(store, part, "data")}), part)
    else:
        return None
    dated = {"providerMetadata": options, "createdAt": date_in_options(context, options)}
    return store.derive(store.object({**made, **dated}), part)


def _ui_invocation(context: Context, part: Slot) -> Ref:
    store = context.store
    call = _ui_call(context, part)
    if get(store, part, "state") != "output-error":
        return call
    failed = {
        "state": "output-error",
        "errorText": get(store, part, "errorText"),
        "rawInput": get(store, part, "rawInput"),
    }
    return store.derive(store.object({**fields(store, call), **failed}), part)


def stamp(context: Context, part: Slot) -> Slot:
    """Dates a part that has no date, in place."""
    store = context.store
    if context.profile.dates_parts and is_nullish(get(store, part, "createdAt")):
        assign(store, part, "createdAt", context.now())
    return part
