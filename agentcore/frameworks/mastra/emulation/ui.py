"""Makes UI messages of AI SDK 5 of stored messages.

A UI message is a passing thing that nobody is given: here it is a plain object, its parts cells.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import attrs

from agentcore.frameworks.mastra.emulation.forms import each_of, filled, listed, starts_with
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.heap.heap import UNDEFINED, Ref, Slot, Store, Value
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
    metadata = get(store, content, "metadata")
    options = get(store, content, "providerMetadata")
    if not options and metadata:
        options = get(store, metadata, "providerMetadata")
    given = get(store, content, "parts")
    parts = _parts(target, given)
    kinds = [get(store, part, "type") for part in filled(parts)]
    shown: list[Slot] = []
    calls, reasoning = get(store, content, "toolInvocations"), get(store, content, "reasoning")
    if calls and "tool-invocation" not in kinds:
        shown += [
            _listed_call(store, call) for call in each_of(store, calls, "dbMsg.content.toolInvocations")
        ]
    if reasoning and "reasoning" not in kinds:
        shown.append(store.object({"type": "reasoning", "text": reasoning}))
    target.check_files(content)
    told = False
    for part in parts:
        made, tells = _ui_part(target, part)
        shown += [] if made is None else [made]
        told = told or tells
    read = _READ
    if get(store, content, "content") and not told:
        read |= {"content"}
        shown.append(store.object({"type": "text", "text": get(store, content, "content")}))
    role = get(store, message, "role")
    sources = ((message, _ROLE_AND_CONTENT), (content, read), (given, None))
    return UiMessage(role=role, parts=shown, options=options or UNDEFINED, sources=sources)


def _parts(target: MessageList, given: Value) -> tuple[Slot, ...]:
    """The parts that are read; a version that reads any content fails later at what is no object."""
    store = target.store
    if not target.profile.reads_lists_only:
        return () if is_nullish(given) else listed(store, given, "dbMsg.content.parts?", "some")
    held = elements(store, given) if is_array(store, given) else ()
    return tuple(part for part in held if isinstance(part, Ref))


_ROLE_AND_CONTENT: Final = frozenset({"role", "content"})
_READ: Final = frozenset({"parts", "toolInvocations", "reasoning", "providerMetadata"})


def _listed_call(store: Store, call: Slot) -> Ref:
    state = get(store, call, "state")
    named: dict[str, Value] = {
        "type": f"tool-{text(store, get(store, call, 'toolName'))}",
        "toolCallId": get(store, call, "toolCallId"),
        "input": get(store, call, "args"),
        "state": "output-available" if state == "result" else "input-streaming",
        "output": get(store, call, "result") if state == "result" else UNDEFINED,
    }
    if state == "call":
        named["state"] = "input-available"
    return store.derive(store.object(named), call)


def _dated(target: MessageList, part: Slot) -> Value:
    """A part's provider options, with the part's date if it has one and the version dates parts."""
    store = target.store
    options, at = get(store, part, "providerMetadata"), get(store, part, "createdAt")
    if not target.profile.dates_parts or is_nullish(at):
        return options
    own = get(store, options, "mastra") if options else UNDEFINED
    return spread(store, options, mastra=spread(store, own, createdAt=at))


def _options(target: MessageList, part: Slot) -> Value:
    """The provider options of a text or of reasoning: where parts have no dates, empty ones are left out."""
    options = _dated(target, part)
    return options if target.profile.dates_parts else options or UNDEFINED


_OF_SUSPENDED: Final = ("data-tool-call-suspended", "data-tool-call-approval")


def _ui_part(target: MessageList, part: Slot) -> tuple[Slot, bool]:
    """What is shown of a part, and whether it stands for the text beside the parts."""
    store, knows = target.store, target.profile.knows_outcomes
    kind = get(store, part, "type")
    if kind == "tool-invocation" and get(store, part, "toolInvocation"):
        return _ui_call(target, part), False
    if kind == "reasoning":
        return _ui_reasoning(target, part), False
    if kind == "tool-invocation" or starts_with(store, kind, "tool-"):
        return None, False
    if kind == "file" or (kind == "source-document" and knows):
        return None, False
    if kind == "source":
        source = get(store, part, "source")
        made: dict[str, Value] = {
            "type": "source-url",
            "url": get(store, source, "url"),
            "sourceId": get(store, source, "id"),
            "title": get(store, source, "title"),
            "providerMetadata": _options(target, part),
        }
        return store.derive(store.object(made), part, source), False
    if kind == "text":
        made = {"type": "text", "text": get(store, part, "text"), "providerMetadata": _options(target, part)}
        return store.derive(store.object(made), part), True
    return part, not (knows and kind in _OF_SUSPENDED)


def _ui_reasoning(target: MessageList, part: Slot) -> Slot:
    store = target.store
    details = get(store, part, "details")
    told = get(store, part, "reasoning")
    if not told:
        held = () if is_nullish(details) else listed(store, details, "part.details?", "reduce")
        texts = [get(store, one, "text") for one in filled(held) if get(store, one, "type") == "text"]
        told = "".join(text(store, one) for one in texts if one)
    if not told and (is_nullish(details) or not get(store, details, "length")):
        return None
    made = {
        "type": "reasoning",
        "text": told or "",
        "state": "done",
        "providerMetadata": _options(target, part),
    }
    return store.derive(store.object(made), part)


def _ui_call(target: MessageList, part: Slot) -> Ref:
    store = target.store
    call = get(store, part, "toolInvocation")
    state = get(store, call, "state")
    made: dict[str, Value] = {
        "type": f"tool-{text(store, get(store, call, 'toolName'))}",
        "toolCallId": get(store, call, "toolCallId"),
        "input": get(store, call, "args"),
        "state": "input-available",
        "callProviderMetadata": _dated(target, part),
    }
    if state == "result":
        made |= {"state": "output-available", "output": get(store, call, "result")}
    if target.profile.knows_outcomes:
        made["providerExecuted"] = get(store, part, "providerExecuted")
        if state == "output-error":
            made |= {"state": state, "errorText": get(store, call, "errorText") or ""}
        elif state == "output-denied":
            approval = get(store, call, "approval")
            reason = UNDEFINED if is_nullish(approval) else get(store, approval, "reason")
            made |= {"state": "output-available", "output": or_else(reason, _DENIED)}
    return store.derive(store.object(made), part, call)
