"""Makes UI messages of AI SDK 5 of stored messages.

A UI message is a passing thing that nobody is given: here it is a plain object, its parts cells.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

import attrs

from agentcore.frameworks.mastra.emulation.forms import filled, starts_with
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.heap.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import elements, get, is_array, is_nullish, or_else, spread, text

_DENIED: Final = "Tool call was not approved by the user"


Sources: TypeAlias = tuple[tuple[Value, frozenset[str] | None], ...]
"""What a message is made of: cells, and which of their fields (all, if none are named)."""


@attrs.define
class UiMessage:
    """A message as a user interface is shown it: its parts are in one list, calls and answers in one part."""

    role: Value
    parts: list[Slot]
    options: Value = UNDEFINED
    sources: Sources = ()


def ui_message(target: MessageList, message: Slot) -> UiMessage:
    """A stored message as a UI message: the text beside its parts goes unread (rule mastra.mirror-unread)."""
    store = target.store
    if target.profile.knows_signals:
        # This version reads the role first, so a null message fails there.
        get(store, message, "role")
    content = get(store, message, "content")
    given = get(store, content, "parts")
    listed = elements(store, given) if is_array(store, given) else ()
    if not target.profile.reads_lists_only:
        every = () if is_nullish(given) else elements(store, given, "dbMsg.content.parts?.some")
        _check_parts(store, every)
    parts = [part for part in listed if isinstance(part, Ref)]
    kinds = [get(store, part, "type") for part in parts]
    shown: list[Slot] = []
    calls, reasoning = get(store, content, "toolInvocations"), get(store, content, "reasoning")
    if calls and "tool-invocation" not in kinds:
        shown += [_listed_call(store, call) for call in elements(store, calls, "Symbol(Symbol.iterator)")]
    if reasoning and "reasoning" not in kinds:
        shown.append(store.object({"type": "reasoning", "text": reasoning}))
    target.check_files(content)
    told = False
    for part, kind in zip(parts, kinds, strict=True):
        made = _ui_part(store, part, kind)
        shown += [] if made is None else [made]
        told = told or not (
            kind in ("reasoning", "source", "source-document", "file") or _is_call(store, kind)
        )
    read = _READ
    if get(store, content, "content") and not told:
        read |= {"content"}
        shown.append(store.object({"type": "text", "text": get(store, content, "content")}))
    options = get(store, content, "providerMetadata") or UNDEFINED
    role = get(store, message, "role")
    sources = ((message, _ROLE_AND_CONTENT), (content, read), (given, None))
    return UiMessage(role=role, parts=shown, options=options, sources=sources)


def _check_parts(store: Store, parts: Iterable[Slot]) -> None:
    """Goes over parts as a version does that takes each for an object.

    Raises:
        HeapTypeError: for a part that is not one.
    """
    for part in parts:
        get(store, part, "type")
        if not isinstance(part, Ref):
            raise HeapTypeError("Cannot read properties of undefined (reading 'startsWith')")


_ROLE_AND_CONTENT: Final = frozenset({"role", "content"})
_READ: Final = frozenset({"parts", "toolInvocations", "reasoning", "providerMetadata"})


def _is_call(store: Store, kind: Value) -> bool:
    return kind == "tool-invocation" or starts_with(store, kind, "tool-")


def _listed_call(store: Store, call: Slot) -> Ref:
    state = get(store, call, "state")
    named: dict[str, Value] = {
        "type": f"tool-{text(store, get(store, call, 'toolName'))}",
        "toolCallId": get(store, call, "toolCallId"),
        "input": get(store, call, "args"),
        "state": {"result": "output-available", "call": "input-available"}.get(str(state), "input-streaming"),
        "output": get(store, call, "result") if state == "result" else UNDEFINED,
    }
    return store.derive(store.object(named), call)


def _dated(store: Store, part: Slot) -> Value:
    """A part's provider options, with the part's date if it has one."""
    options, at = get(store, part, "providerMetadata"), get(store, part, "createdAt")
    if is_nullish(at):
        return options
    own = get(store, options, "mastra") if options else UNDEFINED
    return spread(store, options, mastra=spread(store, own, createdAt=at))


def _ui_part(store: Store, part: Ref, kind: Value) -> Slot:
    if kind == "tool-invocation" and get(store, part, "toolInvocation"):
        return _ui_call(store, part)
    if kind == "reasoning":
        return _ui_reasoning(store, part)
    if _is_call(store, kind) or kind in ("source", "source-document", "file"):
        return None
    if kind == "text":
        made = {"type": "text", "text": get(store, part, "text"), "providerMetadata": _dated(store, part)}
        return store.derive(store.object(made), part)
    return part


def _ui_reasoning(store: Store, part: Ref) -> Slot:
    details = get(store, part, "details")
    told = get(store, part, "reasoning")
    listed = () if is_nullish(details) else elements(store, details, "reduce")
    if not told:
        texts = [get(store, one, "text") for one in filled(listed) if get(store, one, "type") == "text"]
        told = "".join(str(one) for one in texts if one)
    if not told and not listed:
        return None
    made = {"type": "reasoning", "text": told or "", "state": "done", "providerMetadata": _dated(store, part)}
    return store.derive(store.object(made), part)


def _ui_call(store: Store, part: Ref) -> Ref:
    call = get(store, part, "toolInvocation")
    state = get(store, call, "state")
    made: dict[str, Value] = {
        "type": f"tool-{text(store, get(store, call, 'toolName'))}",
        "toolCallId": get(store, call, "toolCallId"),
        "input": get(store, call, "args"),
        "state": "output-available" if state in ("result", "output-denied") else "input-available",
        "callProviderMetadata": _dated(store, part),
        "providerExecuted": get(store, part, "providerExecuted"),
    }
    if state == "result":
        made["output"] = get(store, call, "result")
    elif state == "output-error":
        made |= {"state": state, "errorText": get(store, call, "errorText") or ""}
    elif state == "output-denied":
        approval = get(store, call, "approval")
        reason = UNDEFINED if is_nullish(approval) else get(store, approval, "reason")
        made["output"] = or_else(reason, _DENIED)
    return store.derive(store.object(made), part, call)
