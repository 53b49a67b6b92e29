"""How a remembered message takes the place of one of its id, with what that has beyond it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from agentcore.frameworks.mastra.emulation.content import FORMAT
from agentcore.frameworks.mastra.emulation.forms import assign
from agentcore.frameworks.mastra.emulation.merging import merge
from agentcore.heap.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import elements, fields, get, or_else, spread

if TYPE_CHECKING:
    from agentcore.frameworks.mastra.emulation.message_list import MessageList

# How a call comes on; it ends in one of the last.
_COURSE: Final = (
    ("partial-call",),
    ("call",),
    ("approval-requested",),
    ("approval-responded",),
    ("result", "output-error", "output-denied"),
)
_STATES: Final[Mapping[Value, int]] = MappingProxyType(
    {state: place for place, states in enumerate(_COURSE) for state in states}
)
_ENDED: Final = len(_COURSE) - 1


def remember(target: MessageList, made: Ref, known: Ref, source: str) -> None:
    """Puts into a remembered message what the list's own message of that id, of this source, has more."""
    store = target.store
    roles = {get(store, message, "role") for message in (made, known)}
    if source == "input":
        merge(target, made, _only_outcomes(store, made, known))
    elif roles == {"user"}:
        _take_content(store, made, known)
    else:
        for told, own in _same_texts(store, made, known):
            assign(store, own, "text", told)
        merge(target, made, _without_stale(store, made, known))


def _take_content(store: Store, made: Ref, known: Ref) -> None:
    own, live = (fields(store, get(store, message, "content")) for message in (made, known))
    told = (or_else(each.get("metadata", UNDEFINED), UNDEFINED) for each in (own, live))
    content = store.object({**own, **live, "metadata": spread(store, *told)})
    assign(store, made, "content", store.derive(content, get(store, known, "content")))


def _parts(store: Store, message: Ref) -> tuple[Slot, ...]:
    return elements(store, get(store, get(store, message, "content"), "parts"), "Symbol(Symbol.iterator)")


def _same_texts(store: Store, made: Ref, known: Ref) -> Iterator[tuple[Value, Slot]]:
    """Texts of the list's message, each with the remembered part that is the same but for blanks."""
    for part in _parts(store, known):
        if get(store, part, "type") == "text":
            told = get(store, part, "text")
            same = (
                own
                for own in _parts(store, made)
                if get(store, own, "type") == "text"
                and _trimmed(store, get(store, own, "text")) == _trimmed(store, told)
            )
            yield from ((told, own) for own in [next(same, None)] if own is not None)


def _trimmed(store: Store, value: Value) -> str:
    if not isinstance(value, str):
        get(store, value, "trim")
        raise HeapTypeError("trim is not a function")
    return value.strip()


def _calls(store: Store, message: Ref) -> dict[Value, Slot]:
    """The parts with calls of a message, by the calls' ids."""
    return {
        get(store, get(store, part, "toolInvocation"), "toolCallId"): part
        for part in _parts(store, message)
        if get(store, part, "type") == "tool-invocation"
    }


def _advances(known: Value, state: Value) -> bool:
    here, there = _STATES.get(known), _STATES.get(state)
    return here is not None and there is not None and here != _ENDED and there > here


def _without_stale(store: Store, made: Ref, known: Ref) -> Ref:
    """The list's message, in which calls that came no further than in the remembered one are new."""
    calls = _calls(store, made)
    states = {
        own_id: get(store, get(store, part, "toolInvocation"), "state") for own_id, part in calls.items()
    }
    parts = [_fresh(store, part, states) for part in _parts(store, known)]
    if parts == list(_parts(store, known)):
        return known
    content = spread(store, get(store, known, "content"), parts=store.array(parts))
    return spread(store, known, content=content)


def _fresh(store: Store, part: Slot, states: Mapping[Value, Value]) -> Slot:
    if get(store, part, "type") != "tool-invocation":
        return part
    call = get(store, part, "toolInvocation")
    state = states.get(get(store, call, "toolCallId"))
    if not state or _advances(state, get(store, call, "state")):
        return part
    named = {name: get(store, call, name) for name in ("toolCallId", "toolName", "args")}
    invocation = store.derive(store.object({"state": "call", **named}), call)
    return store.derive(store.object({"type": "tool-invocation", "toolInvocation": invocation}), part)


def _only_outcomes(store: Store, made: Ref, known: Ref) -> Ref:
    """The list's message with nothing but the answers that it has to calls of the remembered one."""
    calls = _calls(store, made)
    parts = [part for one in _parts(store, known) for part in _outcome(store, one, calls)]
    content = store.object({"format": FORMAT, "parts": store.array(parts)})
    return spread(store, known, content=content)


def _outcome(store: Store, part: Slot, calls: Mapping[Value, Slot]) -> Iterator[Slot]:
    if get(store, part, "type") != "tool-invocation":
        return
    live = get(store, part, "toolInvocation")
    state = get(store, live, "state")
    known = calls.get(get(store, live, "toolCallId"))
    if known is None or not (state == "approval-responded" or _STATES.get(state) == _ENDED):
        return
    call = get(store, known, "toolInvocation")
    by_provider = get(store, known, "providerExecuted") and state != "approval-responded"
    if by_provider or not _advances(get(store, call, "state"), state):
        return
    named = {name: get(store, live, name) for name in ("result", "errorText")}
    approval = or_else(get(store, live, "approval"), get(store, call, "approval"))
    made = spread(store, call, **{"state": state, **named, "approval": approval})
    yield store.object({"type": "tool-invocation", "toolInvocation": store.derive(made, live)})
