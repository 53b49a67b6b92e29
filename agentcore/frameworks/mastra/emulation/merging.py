"""Merges an answer into the assistant message that is already in the list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import attrs

from agentcore.frameworks.mastra.emulation.equality import part_key
from agentcore.frameworks.mastra.emulation.forms import (
    FORMAT,
    assign,
    each_of,
    filled,
    is_same,
    listed,
    mapped,
    stamp,
    starts_with,
)
from agentcore.heap.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import elements, fields, get, is_array, is_nullish, or_else, spread

if TYPE_CHECKING:
    from agentcore.frameworks.mastra.emulation.message_list import MessageList

_FROM_CLIENT = ("approval-requested", "approval-responded", "output-denied", "output-error")


def merges(store: Store, latest: Slot, incoming: Ref, *, heeds_marks: bool) -> bool:
    """Returns whether a message goes into the latest one: both are the assistant's, of one thread.

    `heeds_marks`: what either says of itself in its metadata, or by parts of data alone, keeps them apart.
    """
    if heeds_marks and _is_kept_apart(store, latest, incoming):
        return False
    if any(get(store, message, "role") != "assistant" for message in (latest, incoming)):
        return False
    return is_same(get(store, latest, "threadId"), get(store, incoming, "threadId"))


def _is_kept_apart(store: Store, latest: Slot, incoming: Ref) -> bool:
    if mark_in(store, latest, "responseBoundary"):
        return True
    for name in ("completionResult", "isTaskCompleteResult"):
        for message in (incoming, latest):
            metadata = get(store, get(store, message, "content"), "metadata")
            if not is_nullish(metadata) and get(store, metadata, name):
                return True
    parts = get(store, get(store, latest, "content"), "parts")
    length = UNDEFINED if is_nullish(parts) else get(store, parts, "length")
    has_parts = isinstance(length, int | float) and length > 0
    held = listed(store, parts, "latestParts", "every") if has_parts else ()
    kinds = (get(store, part, "type") for part in filled(held))
    only_data = has_parts and all(starts_with(store, kind, "data-") for kind in kinds)
    return only_data and not is_same(get(store, latest, "id"), get(store, incoming, "id"))


def mark_in(store: Store, message: Slot, name: str) -> Value:
    """Returns `message.content?.metadata?.mastra?.[name]`."""
    value: Value = get(store, message, "content")
    for key in ("metadata", "mastra", name):
        if is_nullish(value):
            return UNDEFINED
        value = get(store, value, key)
    return value


def merge(target: MessageList, latest: Ref, incoming: Ref) -> None:
    """Puts the parts of a message into another: answers in the places of their calls, the others beside."""
    store, profile = target.store, target.profile
    if profile.merging_moves_date:
        assign(store, latest, "createdAt", get(store, incoming, "createdAt"))
    content, added = get(store, latest, "content"), get(store, incoming, "content")
    metadata = get(store, added, "metadata")
    # A list's field that is no element is seen nowhere.
    if metadata and profile.merging_takes_all and not is_array(store, content):
        assign(store, content, "metadata", spread(store, get(store, content, "metadata"), metadata))
    _Merge(target, latest, incoming).run()
    told = get(store, added, "content")
    if told and not is_same(get(store, content, "content"), told):
        assign(store, content, "content", told)


@attrs.define
class _Merge:
    """One merge: `anchors` says for calls of the incoming message where the latest one has them."""

    target: MessageList
    latest: Ref
    incoming: Ref
    anchors: dict[int, int] = attrs.Factory(dict)

    @property
    def store(self) -> Store:
        return self.target.store

    def _parts(self, message: Ref) -> Ref:
        return get(self.store, get(self.store, message, "content"), "parts")  # type: ignore[return-value]

    def _held(self, message: Ref, method: str) -> tuple[Slot, ...]:
        """The parts of a message, for a method of their array."""
        name = "latestMessage" if message == self.latest else "incomingMessage"
        return listed(self.store, self._parts(message), f"{name}.content.parts", method)

    def run(self) -> None:
        store = self.store
        new = []
        incoming = self._held(self.incoming, "entries")
        for index, part in enumerate(incoming):
            if get(store, part, "type") == "tool-invocation":
                call = get(store, part, "toolInvocation")
                if not call and self.target.profile.reads_lists_only:
                    continue
                known = self._known(call)
                if known is not None:
                    self._answer(known, part)
                    self.anchors[index] = self._held(self.latest, "findIndex").index(known)
                    continue
            new.append(index)
        self._insert(incoming, new)

    def _known(self, incoming: Value) -> Ref | None:
        store = self.store
        for part in reversed([*each_of(store, self._parts(self.latest), "latestMessage.content.parts")]):
            if get(store, part, "type") != "tool-invocation":
                continue
            call = get(store, part, "toolInvocation")
            lacks = is_nullish(call) and self.target.profile.reads_lists_only
            own_id = UNDEFINED if lacks else get(store, call, "toolCallId")
            if is_same(own_id, get(store, incoming, "toolCallId")):
                return part  # type: ignore[return-value]
        return None

    def _answer(self, known: Ref, part: Slot) -> None:
        store = self.store
        call, answer = get(store, known, "toolInvocation"), get(store, part, "toolInvocation")
        state = get(store, answer, "state")
        takes_all = self.target.profile.merging_takes_all
        if state != "result" and not (takes_all and state in _FROM_CLIENT):
            return
        names = ("step", "result") if state == "result" else ("approval", "errorText", "rawInput")
        changed = {name: get(store, answer, name) for name in names}
        args = spread(store, get(store, call, "args"), get(store, answer, "args"))
        made = spread(store, call, **{"state": state, **changed, "args": args})
        invocation = store.derive(made, answer)
        assign(store, known, "toolInvocation", invocation)
        options = get(store, part, "providerMetadata")
        if options and takes_all:
            both = spread(store, get(store, known, "providerMetadata"), options)
            assign(store, known, "providerMetadata", both)
        if state == "result":
            self.target.answered.add(invocation.address)
            self._list_call(invocation)
            return
        for name in ("providerExecuted", "title", "preliminary"):
            if get(store, part, name) is not UNDEFINED:
                assign(store, known, name, get(store, part, name))

    def _list_call(self, invocation: Ref) -> None:
        store = self.store
        content = get(store, self.latest, "content")
        if not get(store, content, "toolInvocations"):
            assign(store, content, "toolInvocations", store.array(()))
        calls = get(store, content, "toolInvocations")
        held = listed(store, calls, "latestMessage.content.toolInvocations", "findIndex")
        own_id = get(store, invocation, "toolCallId")
        same = (i for i, one in enumerate(held) if is_same(get(store, one, "toolCallId"), own_id))
        at = next(same, len(held))
        store.replace(calls, (*held[:at], invocation, *held[at + 1 :]))  # type: ignore[arg-type]

    # ---------------------------------------------------------------- the other parts

    def _insert(self, incoming: tuple[Slot, ...], new: list[int]) -> None:
        anchor_before, drift = -1, 0
        for index in new:
            part = incoming[index]
            if not part:
                continue
            key = self._key(part)
            if not key:
                continue
            if not self.anchors:
                self._put(part, key, None)
                continue
            left = max((at for at in self.anchors if at < index), default=-1)
            right = min((at for at in self.anchors if at > index), default=-1)
            if left != anchor_before:
                anchor_before, drift = left, 0
            own = self._held(self.latest, "slice")
            at = (index if left == -1 else self.anchors[left] + index - left) + drift
            until = len(own) if right == -1 else self.anchors[right]
            if not 0 <= at <= until or any(self._key(one) == key for one in filled(own[at:until])):
                continue
            count = self._put(part, key, at)
            if not self.target.profile.merging_takes_all:
                count = 1
            if count:
                drift += count - 1
                self.anchors = {
                    one: there + count if there >= at else there for one, there in self.anchors.items()
                }

    def _key(self, part: Slot) -> str:
        return part_key(self.store, part, self.target.profile)

    def _put(self, part: Slot, key: str, at: int | None) -> int:
        """Puts a part in, unless the latest message has as many of its kind; how many parts that made."""
        store = self.store
        own, incoming = (self._held(message, "filter") for message in (self.latest, self.incoming))
        counts = [sum(self._key(one) == key for one in filled(parts)) for parts in (own, incoming)]
        if counts[0] >= counts[1]:
            return 0
        place = incoming.index(part)
        marked = place > 0 and self._is_of_type(incoming[place - 1], "step-start")
        after_call = bool(own) and self._is_of_type(own[-1], "tool-invocation")
        mark = self._mark(own)
        is_text = get(store, part, "type") == "text" and get(store, self.latest, "role") == "assistant"
        added = [part]
        if is_text and not marked and after_call:
            added = [mark, part]
        at = len(own) if at is None else at
        store.replace(self._parts(self.latest), (*own[:at], *added, *own[at:]))
        return len(added)

    def _is_of_type(self, part: Slot, kind: str) -> bool:
        """Returns `part?.type === kind`."""
        return not is_nullish(part) and get(self.store, part, "type") == kind

    def _mark(self, own: tuple[Slot, ...]) -> Ref:
        """Makes the mark of a step, which names the model of the last one if the version looks for that.

        Raises:
            HeapTypeError: if it looks, and finds a part that is null or an empty place first.
        """
        store = self.store
        if not self.target.profile.merging_takes_all:
            return store.object({"type": "step-start"})
        marks = (part for part in reversed(own) if get(store, part, "type") == "step-start")
        model = get(store, mark, "model") if (mark := next(marks, None)) else UNDEFINED
        made = store.object({"type": "step-start", "model": model or UNDEFINED})
        return stamp(self.target, made) if model else made  # type: ignore[return-value]


def answer(target: MessageList, message: Ref, index: int, call: Ref) -> None:
    """Puts what a tool answered in place of a part with its call; the arguments stay those of the call."""
    store = target.store
    content = get(store, message, "content")
    parts = get(store, content, "parts")
    part = elements(store, parts)[index]
    known = get(store, part, "toolInvocation")
    args = get(store, known, "args")
    invocation = spread(store, call, args=args)
    kept = {name: get(store, part, name) for name in ("providerExecuted", "title")}
    options = get(store, part, "providerMetadata")
    if options is not UNDEFINED:
        kept["providerMetadata"] = spread(store, options)
    made = store.derive(store.object({"type": "tool-invocation", "toolInvocation": invocation, **kept}), part)
    slots = list(elements(store, parts))
    slots[index] = made
    store.replace(parts, tuple(slots))  # type: ignore[arg-type]
    assign(store, content, "metadata", spread(store, get(store, content, "metadata")))
    calls = get(store, content, "toolInvocations")
    if is_array(store, calls) and get(store, call, "state") == "result":
        listed = mapped(elements(store, calls), lambda one: _complete_call(store, one, call, args))
        assign(store, content, "toolInvocations", store.array(listed))
    target.see_now(message)
    target.take_as_response(message)


def _complete_call(store: Store, listed: Slot, call: Ref, args: Value) -> Slot:
    if get(store, listed, "toolCallId") != get(store, call, "toolCallId"):
        return listed
    changed = {"state": "result", "args": args, "result": get(store, call, "result")}
    return spread(store, listed, **changed)


# How a remembered message takes the place of one of its id, with what that has beyond it.

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


def _parts(store: Store, message: Ref, receiver: str, method: str = "") -> Iterable[Slot]:
    """The parts of a message that an array's method goes over, or without one those of a loop."""
    parts = get(store, get(store, message, "content"), "parts")
    receiver = f"{receiver}.content.parts"
    return filled(listed(store, parts, receiver, method)) if method else each_of(store, parts, receiver)


def _same_texts(store: Store, made: Ref, known: Ref) -> Iterator[tuple[Value, Slot]]:
    """Texts of the list's message, each with the remembered part that is the same but for blanks."""
    for part in _parts(store, known, "replacementTarget"):
        if get(store, part, "type") == "text":
            told = get(store, part, "text")
            same = (
                own
                for own in _parts(store, made, "messageV2", "find")
                if get(store, own, "type") == "text"
                and _trimmed(store, own, "part") == _trimmed(store, part, "incomingPart")
            )
            yield from ((told, own) for own in [next(same, None)] if own is not None)


def _trimmed(store: Store, part: Slot, receiver: str) -> str:
    value = get(store, part, "text")
    if not isinstance(value, str):
        get(store, value, "trim")
        raise HeapTypeError(f"{receiver}.text.trim is not a function")
    return value.strip()


def _calls(store: Store, message: Ref) -> dict[Value, Slot]:
    """The parts with calls of a message, by the calls' ids."""
    return {
        get(store, get(store, part, "toolInvocation"), "toolCallId"): part
        for part in _parts(store, message, "stored")
        if get(store, part, "type") == "tool-invocation"
    }


def _advances(known: Value, state: Value) -> bool:
    here, there = _STATES.get(known), _STATES.get(state)
    return here is not None and there is not None and here != _ENDED and there > here


def _without_stale(store: Store, made: Ref, known: Ref) -> Ref:
    """The list's message, in which calls that came no further than in the remembered one are new."""
    calls = _calls(store, made)
    if not calls:
        return known
    states = {
        own_id: get(store, get(store, part, "toolInvocation"), "state") for own_id, part in calls.items()
    }
    given = [*_parts(store, known, "live", "map")]
    parts = [_fresh(store, part, states) for part in given]
    if parts == given:
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
    parts = [part for one in _parts(store, known, "live", "flatMap") for part in _outcome(store, one, calls)]
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
