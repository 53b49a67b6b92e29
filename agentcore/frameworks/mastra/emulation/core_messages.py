"""Makes messages of AI SDK 4 of a conversation, as far as that can fail: nothing reads the result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agentcore.frameworks.mastra.emulation.forms import each_of, filled, has, listed, starts_with
from agentcore.frameworks.mastra.emulation.message_list import MessageList
from agentcore.heap.heap import Ref, Slot, Store, Value
from agentcore.heap.js import PackageError, elements, fields, get, is_array, is_nullish, text

_UNANSWERED: Final = ("call", "partial-call")
_OTHER_ROLES: Final = ("system", "user", "data")


def check_core(target: MessageList) -> None:
    """Checks that the conversation can be made messages of AI SDK 4.

    Raises:
        PackageError: for a role that AI SDK 4 does not know, or a call that ended without a result.
        HeapTypeError: for a message or a part that is not one, or parts, calls or details that are no list.
    """
    store = target.store
    shown = [(message, _parts(store, message)) for message in filled(target.all())]
    for message, parts in shown:
        if parts:
            _check_message(target, get(store, message, "role"), parts)


def _parts(store: Store, message: Slot) -> list[Slot]:
    """The parts that a UI message of AI SDK 4 has of a stored message."""
    content = get(store, message, "content")
    told, given = get(store, content, "content"), get(store, content, "parts")
    if not (told and isinstance(told, str)) and not is_nullish(given):
        for part in filled(listed(store, given, "(m.content.parts ?? [])", "reduce")):
            get(store, part, "type")
    goes_over = not is_nullish(given) and get(store, given, "length")
    parts = each_of(store, given, "sourceParts") if goes_over else ()
    ended = [part for part in parts if not _is_unanswered(store, part)]
    shown = [part for part in ended if not starts_with(store, get(store, part, "type"), "data-")]
    if get(store, message, "role") == "assistant":
        if is_array(store, told) and get(store, told, "length") == 1:
            get(store, elements(store, told)[0], "type")
        calls = get(store, content, "toolInvocations") if has(store, content, "toolInvocations") else None
        if not is_nullish(calls):
            for call in filled(listed(store, calls, "m.content.toolInvocations?", "filter")):
                get(store, call, "state")
    return shown


def _is_unanswered(store: Store, part: Slot) -> bool:
    is_call = get(store, part, "type") == "tool-invocation"
    return is_call and get(store, get(store, part, "toolInvocation"), "state") in _UNANSWERED


def _check_message(target: MessageList, role: Value, parts: Iterable[Slot]) -> None:
    store = target.store
    if role in _OTHER_ROLES:
        return
    if role != "assistant":
        raise PackageError("AI_MessageConversionError", f"Unsupported role: {text(store, role)}")
    for part in parts:
        kind = get(store, part, "type")
        if kind == "reasoning":
            for detail in each_of(store, get(store, part, "details"), "part.details"):
                get(store, detail, "type")
        elif kind == "tool-invocation" and not _has_result(target, get(store, part, "toolInvocation")):
            raise PackageError("AI_MessageConversionError", "ToolInvocation must have a result")


def _has_result(target: MessageList, call: Value) -> bool:
    """True if there is a result, even an undefined one."""
    is_answered = isinstance(call, Ref) and call.address in target.answered
    return is_answered or "result" in fields(target.store, call)
