"""What a message became in a prompt of the run, so that it is read once and not at each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs

from agentcore.heap.cells import ref_to
from agentcore.heap.heap import UNDEFINED, Cell, DepthError, Ref, Store, Value, keyed
from agentcore.heap.js import elements, get, is_array

__all__ = ["FIELDS", "PromptMessage", "Prompted"]

# ai-sdk.unknown-fields-kept: what else a message has is not read.
FIELDS: Final = frozenset({"role", "content", "providerOptions"})
"""The fields of a message that its prompt is made of."""

_APPROVALS: Final = ("tool-approval-request", "tool-approval-response")


@attrs.define
class PromptMessage:
    """A message of a prompt that is being made; a list as its content has the parts, in new cells.

    `ids` are the calls that it opens or answers, if they are known, and `origins` those of its content and of
    itself.
    """

    role: Value
    content: Any
    options: Value
    sources: list[Value]
    ids: list[Value] | None = None
    origins: tuple[Any, Any] | None = None

    def join(self, later: PromptMessage) -> None:
        """Take in the parts of a message that follows."""
        self.content.extend(later.content)
        self.sources.extend(later.sources)
        self.ids = None if self.ids is None or later.ids is None else self.ids + later.ids
        self.origins = None

    def call_ids(self, store: Store) -> list[Value]:
        """The calls that it opens, or those that it answers."""
        return _call_ids(store, self) if self.ids is None else self.ids


def _call_ids(store: Store, message: PromptMessage) -> list[Value]:
    if message.role == "tool":
        kinds = ((part, get(store, part, "type")) for part in message.content)
        return [get(store, part, "toolCallId") for part, kind in kinds if kind == "tool-result"]
    return [
        get(store, part, "toolCallId")
        for part in message.content
        if get(store, part, "type") == "tool-call" and not get(store, part, "providerExecuted")
    ]


class Prompted:
    """What messages became in the prompts of a run, to be made again of the same cells.

    A prompt is made of all messages at each step, and nearly all of them are what they were at the step
    before: each is read once, until something in it is written. What is made again are new cells all the
    same, of the same contents.
    """

    def __init__(self, store: Store, convert: Callable[[Value], PromptMessage]) -> None:
        # The addresses that the model reads itself; undefined stands for all.
        self.supported: Value = UNDEFINED
        self._store = store
        self._convert = convert
        self._known: dict[int, _Converted] = {}

    def known(self, message: Value) -> _Converted | None:
        """What is known of a message, if nothing in it was written since."""
        if type(message) is not Ref:
            return None
        known = self._known.get(message.address)
        return known if known and self._store.printed(message.address) is known.printed else None

    def message(self, message: Value, known: _Converted | None) -> PromptMessage:
        """A message of the prompt; `known` is what `known` gave for it."""
        if known is not None:
            return known.again(self._store, message)
        first = len(self._store.cells)
        made = self._convert(message)
        if type(message) is Ref:
            converted = _converted(self._store, message, made, first)
            if converted is not None:
                self._known[message.address] = converted
        return made


@attrs.frozen(kw_only=True)
class _Converted:
    """What a message became: the cells that were made for it, in their order, and where they came from.

    `parts` are the places of the parts among these cells, if its content is a list of parts.
    """

    printed: Any
    message: PromptMessage
    parts: list[int] | None
    cells: list[Cell]
    origins: list[tuple[int, Any]]
    has_approvals: bool

    def again(self, store: Store, message: Value) -> PromptMessage:
        """The same in new cells."""
        first = len(store.cells)
        store.cells += self.cells
        for offset, origin in self.origins:
            store.origins[first + offset] = origin
        made = self.message
        content = made.content if self.parts is None else [ref_to(first + part) for part in self.parts]
        return PromptMessage(made.role, content, made.options, [message], made.ids, made.origins)


def _converted(store: Store, message: Ref, made: PromptMessage, first: int) -> _Converted | None:
    """What is to be kept of a message's conversion; None where it cannot be made again as simply."""
    cells, is_list = store.cells[first:], isinstance(made.content, list)
    parts = made.content if is_list else []
    is_flat = all(type(part) is Ref and part.address >= first for part in parts) and not any(
        type(slot) is Ref and slot.address >= first for cell in cells for _, slot in keyed(cell)
    )
    shown = _shown(store, message) if is_flat else None
    if shown is None:
        return None
    known = attrs.evolve(
        made,
        content=[] if is_list else made.content,
        ids=_call_ids(store, made) if is_list else [],
        origins=_origins(store, message) if store.watching else None,
    )
    origins = ((offset, store.origins.get(first + offset)) for offset in range(len(cells)))
    return _Converted(
        printed=shown,
        message=known,
        parts=[part.address - first for part in parts] if is_list else None,
        cells=cells,
        origins=[(offset, origin) for offset, origin in origins if origin is not None],
        # The package never looks for approvals in a system message.
        has_approvals=get(store, message, "role") != "system"
        and any(get(store, part, "type") in _APPROVALS for part in _inside(store, message)),
    )


def _origins(store: Store, message: Ref) -> tuple[Any, Any]:
    """Where the content and the message of a prompt come from, as `Store.derive` has it."""
    whole = ((message.address, FIELDS),)
    content = get(store, message, "content")
    return (*whole, *([(content.address, None)] if isinstance(content, Ref) else [])), whole


def _inside(store: Store, message: Ref) -> Iterable[Value]:
    """The parts of a message that has been converted."""
    content = get(store, message, "content")
    return elements(store, content) if is_array(store, content) else ()


def _shown(store: Store, message: Ref) -> Any:
    """The message as it is in traces, kept by the store; None for one that holds itself, or is too deep."""
    try:
        store.plain(message)
    except DepthError:
        return None
    return store.printed(message.address)
