"""When two messages, parts or system messages count as equal: when their keys are."""

from __future__ import annotations

from agentcore.frameworks.mastra.emulation.forms import Form, each_of, filled, form_of, starts_with
from agentcore.heap.copying import through_json
from agentcore.heap.heap import Ref, Slot, Store, Value
from agentcore.heap.js import elements, fields, get, is_array, is_nullish, or_else, stringified, text


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
