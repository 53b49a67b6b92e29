"""When two messages, parts or system messages count as equal: when their keys are."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from agentcore.frameworks.mastra.emulation.forms import (
    Form,
    each_of,
    filled,
    form_of,
    is_same,
    listed,
    starts_with,
)
from agentcore.frameworks.mastra.emulation.items import item_suffix
from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.heap.copying import through_json
from agentcore.heap.heap import Ref, Slot, Store, Value
from agentcore.heap.js import (
    elements,
    fields,
    get,
    is_array,
    is_nullish,
    number_text,
    or_else,
    stringified,
    text,
)


def part_key(store: Store, part: Value, profile: MastraProfile) -> str:
    """The key of one part of a stored message.

    Raises:
        HeapTypeError: for a part that has none.
    """
    kind = get(store, part, "type")
    if starts_with(store, kind, "data-"):
        data = get(store, part, "data")
        told = _stable(store, data) if profile.keys_name_items else stringified(store, data)
        return f"{kind}{text(store, told)}"
    return text(store, kind) + _of_content(store, kind, part, profile)


def _of_content(store: Store, kind: Value, part: Value, profile: MastraProfile) -> str:
    options = get(store, part, "providerMetadata")
    if kind == "text":
        return text(store, get(store, part, "text")) + (
            item_suffix(store, options) if profile.keys_name_items else ""
        )
    if kind == "tool-invocation":
        call = get(store, part, "toolInvocation")
        if profile.reads_lists_only and not call:
            return ""
        return "".join(text(store, get(store, call, name)) for name in ("toolCallId", "state"))
    if kind == "reasoning":
        length = _reasoning_length(store, part, lists_only=profile.reads_lists_only)
        told = text(store, get(store, part, "reasoning"))
        items = item_suffix(store, options) if profile.keys_name_items else _item_of_openai(store, options)
        return f"{told}{length}{items}"
    if kind == "file":
        data = or_else(get(store, part, "data"), get(store, part, "url"))
        media_type = or_else(get(store, part, "mimeType"), get(store, part, "mediaType"))
        return text(store, data) + text(store, media_type)
    return ""


def _item_of_openai(store: Store, options: Value) -> str:
    own = get(store, options, "openai") if isinstance(options, Ref) else None
    held = fields(store, own) if isinstance(own, Ref) else {}
    return f"|{text(store, held['itemId'])}" if "itemId" in held else ""


def _reasoning_length(store: Store, part: Value, *, lists_only: bool) -> str:
    details = get(store, part, "details")
    if lists_only and is_nullish(details):
        return "0"
    length: float = 0
    receiver = "(part.details ?? [])" if lists_only else "part.details"
    for detail in filled(listed(store, details, receiver, "reduce")):
        if get(store, detail, "type") == "text":
            told, signature = (get(store, detail, name) for name in ("text", "signature"))
            length += _length(store, told, or_zero=lists_only)
            length += 0 if is_nullish(signature) else _length(store, signature, or_zero=True)
    return "NaN" if math.isnan(length) else number_text(length)


def _length(store: Store, value: Value, *, or_zero: bool) -> float:
    """Returns `value.length`, or 0 if there is none; NaN stands for what is no number in a sum."""
    if is_nullish(value) and or_zero:
        return 0
    length = get(store, value, "length")
    if isinstance(length, int | float):
        return length
    return 0 if or_zero and is_nullish(length) else math.nan


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


def _parts_key(store: Store, message: Value, profile: MastraProfile) -> str:
    parts = get(store, get(store, message, "content"), "parts")
    return "".join([part_key(store, part, profile) for part in each_of(store, parts, "parts")])


def messages_equal(
    store: Store, one: Value, two: Value, profile: MastraProfile, made: Collection[int]
) -> bool:
    """True if a stored message and an added one have the same id and the same content; see `form_of`."""
    form = form_of(store, one, lists_only=profile.reads_lists_only, made=made)
    if form is not Form.STORED:
        # What a processor left in the list may be of no form at all: that is equal to everything.
        return form is None
    if not is_same(get(store, one, "id"), get(store, two, "id")):
        return False
    return _parts_key(store, one, profile) == _parts_key(store, two, profile)


_NAMED: Final = {
    "tool-call": ("toolCallId", "toolName"),
    "tool-result": ("toolCallId", "toolName"),
    "file": ("filename", "mimeType"),
}
_MEASURED: Final = {"text": "text", "reasoning": "text", "redacted-reasoning": "data"}


def system_key(store: Store, content: Value, profile: MastraProfile) -> str:
    """The key of a system message's content.

    Raises:
        HeapTypeError: for content that has none.
    """
    if isinstance(content, str):
        return content
    pieces = []
    for part in each_of(store, content, "content"):
        kind = get(store, part, "type")
        pieces.append(text(store, kind))
        if not isinstance(kind, str):
            continue
        if kind in _MEASURED:
            pieces.append(text(store, get(store, get(store, part, _MEASURED[kind]), "length")))
        if kind in ("text", "reasoning") and profile.keys_name_items:
            options = (get(store, part, name) for name in ("providerMetadata", "providerOptions"))
            pieces.append(item_suffix(store, *options))
        pieces += [text(store, get(store, part, name)) for name in _NAMED.get(kind, ())]
    return "".join(pieces)
