"""The message list: the conversation of a call, the sources of its messages, and its system messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import cmp_to_key, partial
from typing import Final

from agentcore.frameworks.mastra.emulation import merging
from agentcore.frameworks.mastra.emulation.contents import core_content
from agentcore.frameworks.mastra.emulation.equality import messages_equal, system_key
from agentcore.frameworks.mastra.emulation.errors import MastraError, printed
from agentcore.frameworks.mastra.emulation.forms import (
    Form,
    assign,
    each_of,
    filled,
    has,
    is_empty,
    is_same,
    listed,
    stamp,
    system_form_of,
)
from agentcore.frameworks.mastra.emulation.intake import stored
from agentcore.frameworks.mastra.emulation.merging import remember
from agentcore.frameworks.mastra.emulation.settings import Clock, date, is_date, parsed, time_of
from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.heap.heap import UNDEFINED, HeapTypeError, NotEmulatedError, Ref, Slot, Store, Value
from agentcore.heap.js import PackageError, elements, fields, get, is_array, is_nullish, iterated, text

SOURCES: Final = ("memory", "input", "response", "context")
_BEYOND_MEMORY: Final = SOURCES[1:]
_SYSTEM_FORMS: Final = frozenset({Form.CORE_4, Form.CORE_5, Form.STORED})


class MessageList:
    """A list of stored messages, kept in the order of their dates (rule mastra.ordered-by-date).

    The array of messages and that of the system messages are cells of the heap: processors are given them as
    they are. Removing makes a new array, adding does not. What a method does is stored at once (rule
    mastra.methods-stored).
    """

    def __init__(self, store: Store, clock: Clock, profile: MastraProfile) -> None:
        self.store = store
        self.clock = clock
        self.profile = profile
        self.messages = store.array(())
        self.system_messages = store.array(())
        self.tagged: dict[str, Ref] = {}
        self.sources: dict[str, dict[int, None]] = {name: {} for name in SOURCES}
        self.made: set[int] = set()
        self.answered: set[int] = set()
        self.latest: float = 0
        self.leave_out: Callable[[str, str], Exception] = partial(NotEmulatedError, "the message list")

    # ---------------------------------------------------------------- looking

    def all(self) -> tuple[Slot, ...]:
        """Returns the messages; see `is_empty` of places that were left so."""
        return elements(self.store, self.messages)

    def of(self, source: str) -> tuple[Slot, ...]:
        """The messages of a source, in the list's order."""
        held = self.sources[source]
        return tuple(
            message for message in self.all() if isinstance(message, Ref) and message.address in held
        )

    def by_id(self, own_id: Value) -> Ref | None:
        """The first message of an id."""
        for message in self.all():
            if is_same(get(self.store, message, "id"), own_id):
                return message  # type: ignore[return-value]
        return None

    def all_system(self) -> list[Slot]:
        """The system messages, those with a tag last (rule mastra.systems-order)."""
        arrays = (self.system_messages, *self.tagged.values())
        return [message for array in arrays for message in elements(self.store, array)]

    def source_by_id(self) -> dict[object, str]:
        """Returns the source that each id has at the moment."""
        found: dict[object, str] = {}
        for source in reversed(SOURCES):
            for address in self.sources[source]:
                found[get(self.store, Ref(address), "id")] = source
        return found

    def source_of(self, message: Slot) -> str | None:
        """The source of a message; None for one that was put into the array past the list."""
        held = (
            name for name in SOURCES if isinstance(message, Ref) and message.address in self.sources[name]
        )
        return next(held, None)

    # ---------------------------------------------------------------- what converting needs

    def now(self) -> int:
        """The time."""
        return self.clock.now

    def pass_time(self) -> None:
        """Lets a little time pass before a processor."""
        store = self.store
        dates = [get(store, one, "createdAt") for one in self.all() if isinstance(one, Ref)]
        times = [
            time_of(store, at) if is_date(store, at) else self._time_in(at)
            for at in dates
            if not is_nullish(at)
        ]
        self.clock.pass_by(times)

    def new_id(self) -> str:
        """An id that no message has."""
        return self.clock.draw_id()

    def new_date(self, source: str, start: Value = UNDEFINED) -> Ref:
        """A date after all that the list gave or saw, or the one that a message came with if it is later."""
        given = start if is_date(self.store, start) else self._read_date(start)
        if isinstance(given, Ref) and (source == "memory" or not _known(self.latest)):
            if not _known(self.latest):
                self.latest = time_of(self.store, given)
            return given
        time = (_known(time_of(self.store, given)) if isinstance(given, Ref) else 0) or self.now()
        latest = _known(self.latest)
        if not self.profile.follows_dates:
            for other in self._dates():
                latest = max(latest, other)
        if time <= latest:
            new = date(self.store, latest + 1)
            self.latest = time_of(self.store, new)
            return new
        self.latest = time
        if isinstance(given, Ref) and self.profile.keeps_late_dates:
            return given
        return date(self.store, self.now())

    def _dates(self) -> Iterator[float]:
        """The times of the messages."""
        for message in filled(self.all()):
            yield self._time_of(message, "m")

    def _read_date(self, start: Value) -> Ref | None:
        is_number = isinstance(start, int | float) and not isinstance(start, bool)
        return self.as_date(start) if is_number or isinstance(start, str) else None

    def as_date(self, value: Value) -> Ref:
        """Returns `new Date(value)`."""
        return date(self.store, self._time_in(value))

    def _time_in(self, value: Value) -> float:
        if value is None or isinstance(value, int | float):
            return value or 0
        told = text(self.store, value)
        time = math.nan if value is UNDEFINED else parsed(told)
        if time is None:
            raise self.leave_out(
                f"the date {told!r}", "write a date as ISO text, such as 2000-01-01T00:00:00Z"
            )
        return time

    def known_args(self, call_id: Value) -> Value:
        """The arguments of a call, from the last message that has some of it; an empty object if none has."""
        store = self.store
        for message in reversed(self.all()):
            if not message or get(store, message, "role") != "assistant":
                continue
            content = get(store, message, "content")
            for args in self._args_in(content, call_id):
                if not self.profile.recovers_args:
                    return args or store.object({})
                if isinstance(args, Ref) and fields(store, args):
                    return args
        return store.object({})

    def _args_in(self, content: Value, call_id: Value) -> Iterator[Value]:
        store = self.store
        parts, calls = get(store, content, "parts"), get(store, content, "toolInvocations")
        for part in listed(store, parts, "msg.content.parts", "find") if parts else ():
            if get(store, part, "type") == "tool-invocation":
                call = get(store, part, "toolInvocation")
                if is_same(get(store, call, "toolCallId"), call_id):
                    yield get(store, call, "args")
                    break
        for call in listed(store, calls, "msg.content.toolInvocations", "find") if calls else ():
            if is_same(get(store, call, "toolCallId"), call_id):
                yield get(store, call, "args")
                break

    # ---------------------------------------------------------------- adding

    def add(self, messages: Value, source: Value, options: Value = UNDEFINED, *, merge: bool = True) -> None:
        """Adds messages of any form, or texts of the user's.

        An array is gone through as it is at each moment, so that the list's own array is seen to change while
        it is added to itself (rule mastra.live-while-added). `options` may say `merge: false`.

        Raises:
            MastraError: for what is no message (rule mastra.no-message).
            PackageError: for a source that there is not, when the message is in already.
            HeapTypeError: for what no message can be made of.
        """
        store = self.store
        if not messages:
            return
        name = "input" if source == "user" else source
        given = options if self.profile.add_takes_options and options is not UNDEFINED else store.object({})
        for message in self._each(messages):
            nested = is_array(store, message) and self.profile.adds_nested
            for one in self._each(message) if nested else (message,):
                added = store.object({"role": "user", "content": one}) if isinstance(one, str) else one
                self._add_one(added, name, given, merge=merge)

    def _each(self, messages: Value) -> Iterator[Value]:
        """The elements of an array, which may change meanwhile; what is no array, itself."""
        if not is_array(self.store, messages):
            yield messages
            return
        at = 0
        while at < len(now := elements(self.store, messages)):
            yield now[at]
            at += 1

    def _add_one(self, message: Value, source: Value, options: Value, *, merge: bool) -> None:
        self._check(message)
        store = self.store
        if get(store, message, "role") == "system":
            if source != "memory":
                self._add_system_among(message)
            return
        if get(store, message, "role") == "signal" and self.profile.knows_signals:
            raise self.leave_out("a message of the role signal", "give it the role user")
        self.check_files(message)
        made = stored(self, message, source if isinstance(source, str) else text(store, source))
        known = self.by_id(get(store, made, "id")) if get(store, made, "id") else None
        changed = known is not None and not self._equal(known, made)
        if self.profile.marks_keep_apart:
            self._refuse_sealed()
        if source != "memory" or not self._is_remembered(made, known):
            merge = merge and get(store, options, "merge") is not False
            self._place(made, known if changed else None, source, merge=merge, is_new=known is None)

    def check_files(self, holder: Value) -> None:
        """Checks that a message of any form, or its content, holds no file and no image.

        Raises:
            NotEmulatedError: if it holds one.
        """
        store = self.store
        if not isinstance(holder, Ref) or is_array(store, holder):
            return
        content = get(store, holder, "content")
        listed = [get(store, holder, "parts"), content]
        if isinstance(content, Ref) and not is_array(store, content):
            self.check_files(content)
        if get(store, holder, "experimental_attachments"):
            raise self.leave_out("attachments of a message", "leave out experimental_attachments")
        for parts in listed:
            for part in elements(store, parts) if is_array(store, parts) else ():
                kind = get(store, part, "type") if isinstance(part, Ref) else None
                if kind in ("file", "image"):
                    raise self.leave_out(f"a part of the type {kind}", "leave it out")

    def _refuse_sealed(self) -> None:
        for message in reversed(self.all()):
            if merging.mark_in(self.store, message, "sealed") is True:
                raise self.leave_out("a sealed message", "take metadata.mastra.sealed out of it")

    def _equal(self, one: Value, two: Value) -> bool:
        return messages_equal(self.store, one, two, self.profile, self.made)

    def _system_form_of(self, message: Value) -> Form | None:
        lists_only = self.profile.reads_lists_only
        return system_form_of(self.store, message, lists_only=lists_only, made=self.made)

    def _add_system_among(self, message: Value) -> None:
        """Adds a system message that stands among messages, of those forms that may."""
        if self._system_form_of(message) not in _SYSTEM_FORMS:
            raise MastraError(
                "INVALID_SYSTEM_MESSAGE_FORMAT",
                "Invalid system message format. System messages must be CoreMessage format with 'role' and "
                "'content' properties. The content should be a string or valid content array.",
            )
        self.add_system(message)

    def _is_remembered(self, made: Ref, known: Ref | None) -> bool:
        """True if a remembered message needs no further work: it was in the list, or is now."""
        if known is not None and self.profile.remembering_merges and self._remember(made, known):
            return True
        return any(self._equal(one, made) for one in self.all())

    def _place(self, made: Ref, changed: Ref | None, source: Value, *, merge: bool, is_new: bool) -> None:
        """Merges a message, or puts it in the place of the one of its id that it is a change of."""
        everything = self.all()
        latest = everything[-1] if everything else None
        if merge and self._merges(latest, made, source):
            merging.merge(self, latest, made)  # type: ignore[arg-type]
            self._see(latest)
            self._put_into(latest, source)
        elif changed and merge and self.profile.merges_by_id and self._merges(changed, made, source):
            merging.merge(self, changed, made)
            self._see(changed)
            self._put_into(changed, source)
            self._sort()
            return
        else:
            if changed:
                if self.profile.forgets_replaced:
                    self._forget(changed)
                self._replace(changed, made)
            elif is_new:
                self.store.push(self.messages, [made])
            self._put_into(made, source)
        for one in self.all():
            self._see(one)
        self._sort()

    def _replace(self, known: Ref, made: Ref) -> None:
        everything = self.all()
        at = everything.index(known)
        self.store.replace(self.messages, (*everything[:at], made, *everything[at + 1 :]))

    def _check(self, message: Value) -> None:
        store = self.store
        content = get(store, message, "content") if has(store, message, "content") else UNDEFINED
        parts = get(store, message, "parts") if has(store, message, "parts") else UNDEFINED
        if not content and not isinstance(content, str) and not parts:
            raise MastraError(
                "INVALID_MESSAGE_CONTENT",
                f'Message with role "{text(store, get(store, message, "role"))}" must have either a '
                "'content' property (string or array) or a 'parts' property (array) that is not empty, null, "
                f"or undefined. Received message: {printed(store, message)}",
            )

    def _merges(self, latest: Slot, made: Ref, source: Value) -> bool:
        marks = self.profile.marks_keep_apart
        may = bool(latest) and merging.merges(self.store, latest, made, heeds_marks=marks)
        return may and source != "memory"

    def _remember(self, made: Ref, known: Ref) -> bool:
        """Puts a remembered message in the place of one that is more than remembered; whether it is."""
        held = (name for name in _BEYOND_MEMORY if known.address in self.sources[name])
        source = next(held, None)
        if source is None:
            return False
        remember(self, made, known, source)
        self._forget(known)
        self._replace(known, made)
        for name in ("memory", source):
            self._put_into(made, name)
        self._see(made)
        self._sort()
        return True

    def _put_into(self, message: Slot, source: Value) -> None:
        address = message.address  # type: ignore[union-attr]
        if source not in SOURCES:
            raise PackageError("Error", f"Missing message source for message {text(self.store, message)}")
        if source == "response":
            self.sources["input"].pop(address, None)
            if self.profile.answers_leave_memory:
                self.sources["memory"].pop(address, None)
        self.sources[str(source)][address] = None

    def take_as_response(self, message: Slot) -> None:
        """Counts a message as the agent's own, which it is once the agent changed it."""
        address = message.address  # type: ignore[union-attr]
        if address not in self.sources["response"]:
            self._forget(message)
            self.sources["response"][address] = None

    def _forget(self, message: Slot) -> None:
        for held in self.sources.values():
            held.pop(message.address, None)  # type: ignore[union-attr]

    def _see(self, message: Slot) -> None:
        if self.profile.follows_dates:
            self.latest = _latest(self.latest, self._time_of(message, "message"))

    def see_now(self, message: Slot) -> None:
        """Notes that a message was changed now."""
        if self.profile.follows_dates:
            self.latest = _latest(self.latest, self.now())
            self._see(message)

    def _sort(self) -> None:
        messages = self.all()
        if len(messages) > 1:
            # Empty places are sorted to the end, without being compared.
            ordered = sorted(filled(messages), key=cmp_to_key(self._by_time))
            self.store.replace(self.messages, (*ordered, *filter(is_empty, messages)))

    def _by_time(self, one: Slot, two: Slot) -> int:
        """Compares by date; what is no time is neither before nor after anything."""
        first, second = self._time_of(one, "a"), self._time_of(two, "b")
        return (first > second) - (first < second)

    def _time_of(self, message: Slot, receiver: str) -> float:
        return time_of(self.store, get(self.store, message, "createdAt"), f"{receiver}.createdAt")

    # ---------------------------------------------------------------- removing

    def remove_by_ids(self, ids: Value) -> None:
        """Takes out the messages of some ids, as a value that a processor gave them in.

        Raises:
            HeapTypeError: for what can hold no ids.
        """
        store = self.store
        if not (is_nullish(ids) or isinstance(ids, str) or is_array(store, ids)):
            kind = {bool: "boolean ", int: "number ", float: "number "}.get(type(ids), "")
            told = f"{kind}{text(store, ids)}" if kind else "object"
            raise HeapTypeError(f"{told} is not iterable (cannot read property Symbol(Symbol.iterator))")
        self.remove(() if is_nullish(ids) else iterated(store, ids))

    def remove(self, ids: Iterable[Value]) -> None:
        """Takes the messages of some ids out; the array is a new one, whether or not there are any."""
        gone = list(ids)
        kept = []
        for message in filled(self.all()):
            if any(is_same(get(self.store, message, "id"), one) for one in gone):
                if isinstance(message, Ref):
                    self._forget(message)
            else:
                kept.append(message)
        self._become(kept)

    def clear(self) -> None:
        """Takes all messages out."""
        self._become(())
        for source in SOURCES[1:]:
            self.sources[source].clear()

    def clear_source(self, source: str) -> None:
        """Takes the messages of a source out."""
        held = self.sources[source]
        there = filled(self.all())
        self._become([one for one in there if not (isinstance(one, Ref) and one.address in held)])
        held.clear()

    def _become(self, messages: Iterable[Slot]) -> None:
        self.messages = self.store.derive(self.store.array(messages), self.messages)

    # ---------------------------------------------------------------- system messages

    def add_system(self, messages: Value, tag: Value = UNDEFINED) -> None:
        """Adds system messages of any form, but for one that says what another of the same tag does.

        Raises:
            MastraError: for one without text.
            PackageError: for a message of another role.
        """
        if not messages:
            return
        store = self.store
        for message in elements(store, messages) if is_array(store, messages) else (messages,):
            self._add_one_system(message, tag)

    def _add_one_system(self, message: Slot, tag: Value) -> None:
        store = self.store
        core = self._as_system(message)
        role = get(store, core, "role")
        if role != "system":
            raise PackageError(
                "Error",
                f'Expected role "system" but saw {text(store, role)} for message {printed(store, core)}',
            )
        array = self.tagged.get(text(store, tag)) if tag else self.system_messages
        known = () if array is None else elements(store, array)
        keys = (system_key(store, get(store, one, "content"), self.profile) for one in filled(known))
        if any(key == system_key(store, get(store, core, "content"), self.profile) for key in keys):
            return
        if array is None:
            array = self.tagged[text(store, tag)] = store.array(())
        store.push(array, [core])

    def _as_system(self, message: Slot) -> Slot:
        store = self.store
        if isinstance(message, str):
            return store.object({"role": "system", "content": message})
        form = self._system_form_of(message)
        if form is Form.CORE_5:
            content: Value = store.object(core_content(self, message))
        elif form is Form.STORED:
            content = get(store, message, "content")
        else:
            return message
        told = get(store, content, "content")
        if get(store, message, "role") != "system" or not told:
            raise MastraError(
                "INVALID_SYSTEM_MESSAGE_FORMAT",
                "Invalid system message format. System messages must include 'role' and 'content' "
                "properties. The content should be a string.",
            )
        options = get(store, content, "providerMetadata") or UNDEFINED
        made = {"role": "system", "content": told, "experimental_providerMetadata": options}
        return store.derive(store.object(made), message)

    def replace_system(self, messages: Value) -> None:
        """Puts these in place of the system messages without a tag (rule mastra.systems-returned).

        What is no system message is left out.

        Raises:
            HeapTypeError: for what is no list of objects.
        """
        self.system_messages = self.store.array(())
        if self.profile.replacing_clears_tags:
            self.tagged.clear()
        for message in each_of(self.store, messages, "messages"):
            if get(self.store, message, "role") == "system":
                self.store.push(self.system_messages, [message])

    def clear_system(self, tag: Value = UNDEFINED) -> None:
        """Takes out the system messages of a tag, or those without.

        Raises:
            HeapTypeError: if this version of the list has no such method.
        """
        if not self.profile.clears_systems:
            raise HeapTypeError("target.clearSystemMessages is not a function")
        if tag:
            self.tagged.pop(text(self.store, tag), None)
        else:
            self.system_messages = self.store.array(())

    # ---------------------------------------------------------------- what the loop does to it

    def open_step(self) -> None:
        """Ends the last message, if it is the assistant's, with the mark that a step starts."""
        store = self.store
        messages = self.all()
        last = messages[-1] if messages else None
        parts = self._parts_of_assistant(last)
        if not parts:
            return
        if not (isinstance(parts, Ref) and is_array(store, parts)):
            raise HeapTypeError("lastMsg.content.parts.push is not a function")
        found = elements(store, parts)
        if found and get(store, found[-1], "type") == "step-start":
            stamp(self, found[-1])
        else:
            store.push(parts, [stamp(self, store.object({"type": "step-start"}))])
        self.take_as_response(last)

    def parts_of_assistant(self, message: Slot) -> Ref | None:
        """The array of parts of a message of the assistant's."""
        parts = self._parts_of_assistant(message)
        return parts if isinstance(parts, Ref) and is_array(self.store, parts) else None

    def _parts_of_assistant(self, message: Slot) -> Value:
        store = self.store
        if not message or get(store, message, "role") != "assistant":
            return None
        content = get(store, message, "content")
        return UNDEFINED if is_nullish(content) else get(store, content, "parts")

    def name_model(self, model: str) -> None:
        """Writes which model answered into the last mark of a step, if it is in the last message."""
        store = self.store
        messages = self.all()
        last = messages[-1] if messages else None
        parts = self.parts_of_assistant(last)
        for part in reversed(elements(store, parts) if parts is not None else ()):
            if get(store, part, "type") == "step-start":
                if not get(store, part, "model"):
                    assign(store, part, "model", model)
                    self.take_as_response(last)
                return

    def answer_call(self, call: Ref) -> None:
        """Puts what a tool answered in place of its call, in the last message that has that."""
        store = self.store
        call_id = get(store, call, "toolCallId")
        for message in reversed(self.all()):
            get(store, message, "role")  # which null and empty places have none of
            parts = self.parts_of_assistant(message)
            for index, part in enumerate(elements(store, parts) if parts is not None else ()):
                held = (
                    get(store, part, "toolInvocation")
                    if part and get(store, part, "type") == "tool-invocation"
                    else None
                )
                if isinstance(held, Ref) and get(store, held, "toolCallId") == call_id:
                    merging.answer(self, message, index, call)  # type: ignore[arg-type]
                    return


def _known(time: float) -> float:
    """Returns `time || 0`."""
    return time if time == time else 0  # noqa: PLR0124 - NaN is not itself


def _latest(one: float, two: float) -> float:
    """Returns `Math.max(one || 0, two)`, which is no time if there is no second."""
    return math.nan if math.isnan(two) else max(_known(one), two)
