"""Messages and blocks as cells: making them, and finding what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from agentcore.heap.heap import UNDEFINED, ObjectCell, Ref, Slot, Store, Value
from agentcore.heap.js import get


def items(store: Store, value: Value) -> tuple[Slot, ...]:
    """The elements of a list; of anything else none."""
    cell = store.cells[value.address] if isinstance(value, Ref) else ()
    return cell if isinstance(cell, tuple) else ()


def own(store: Store, value: Value) -> ObjectCell:
    """The fields of an object; of anything else none."""
    cell = store.cells[value.address] if isinstance(value, Ref) else None
    return cell if isinstance(cell, ObjectCell) else ObjectCell()


def field(store: Store, value: Value, *keys: str) -> Value:
    """What stands below a value, undefined where nothing does."""
    for key in keys:
        value = own(store, value).get(key, UNDEFINED)
    return value


def as_text(store: Store, value: Value, *keys: str) -> str:
    """The text that stands below a value, empty where none does."""
    found = field(store, value, *keys)
    return found if isinstance(found, str) else ""


def inside(store: Store, block: Value, kind: str) -> Value:
    """What a block of this kind holds; undefined for other blocks."""
    return own(store, block).get(kind, UNDEFINED)


def uses(store: Store, message: Value) -> list[Ref]:
    """The tool uses of a message."""
    return list(_of_kind(store, message, "toolUse"))


def results(store: Store, message: Value) -> list[Ref]:
    """The tool results of a message."""
    return list(_of_kind(store, message, "toolResult"))


def _of_kind(store: Store, message: Value, kind: str) -> Iterator[Ref]:
    for block in items(store, get(store, message, "content")):
        found = inside(store, block, kind)
        if isinstance(found, Ref):
            yield found


def text_message(store: Store, role: str, text: str) -> Ref:
    """A message of one text."""
    return cast("Ref", store.load({"role": role, "content": [{"text": text}]}))


def message_of(store: Store, role: str, content: Ref) -> Ref:
    """A message with this content."""
    return store.object({"role": role, "content": content})


def failed(store: Store, tool_use_id: Value, text: str) -> Ref:
    """A tool result that is an error."""
    content: Any = store.load([{"text": text}])
    return store.object({"toolUseId": tool_use_id, "status": "error", "content": content})
