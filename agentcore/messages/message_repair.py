"""Histories from elsewhere, mended so that providers take them, and what was changed in them.

What is wrong with a list of messages is what `agentcore.messages.prompt` refuses, and what fails a run before
its first step: data that nobody can read, and answers to requests for approval that are not there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any, Final, TypeAlias

import attrs
from attrs import field

from agentcore.errors import InvalidDataContentError
from agentcore.messages.chains import MessageForm, PromptState, fold, message_forms
from agentcore.messages.messages import (
    AssistantMessage,
    ErrorTextOutput,
    Message,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
)
from agentcore.messages.prompt import prompt_form
from agentcore.messages.values import NO_ITEMS, Vector, frozen_list, json_path, sealed, vector
from agentcore.requirements.rules import Rule

__all__ = ["Repair", "RepairChange", "repair"]

NO_RESULT: Final = "no result of this call was recorded"
"""The result, for the model, of a call that has none."""


@sealed
@attrs.frozen(kw_only=True)
class RepairChange:
    """One change of a history.

    `path` is the place in the original messages, `reason` the change and why it was made, `rule` the name of
    the rule that was broken, if it is one of prompts, and `tool_call_id` the call that it is about: by its id
    in the mended messages, if it got a new one.
    """

    path: str
    reason: str
    rule: str | None = None
    tool_call_id: str | None = None


@sealed
@attrs.frozen(kw_only=True)
class Repair:
    """The result of `repair`: the mended messages, those without a fault unchanged, and the changes."""

    messages: Vector[Message]
    changes: tuple[RepairChange, ...] = field(default=NO_ITEMS, converter=frozen_list)


def repair(messages: Iterable[MessageForm]) -> Repair:
    """Mend a history so that providers take it.

    - A result without a call is dropped; one that stands before its call, or too late, comes right after it.
    - A call without a result is given an error result, also where its approval has not been answered yet.
    - Of two results of one call the first one stays.
    - Of two equal calls of one answer one stays; another call under the same id is given an id of its own.
    - A message of which nothing is left for the model is dropped, and so is data that cannot be read.
    - Of the answers to requests for approval that a run would begin with, those are dropped whose request or
      call is not there, whose call has a result, or an answer already.

    What is right is not changed: messages that providers take come back as they are, without changes. A
    history of which nothing is left but instructions is no prompt yet; the next user message makes it one.

    Args:
        messages: the history, in any form.

    Returns:
        The mended messages, and each change with its place and reason.

    Raises:
        InvalidPromptError: for a value that is not a message, with its path.
    """
    given = message_forms(messages, "$.messages")
    history = _History(given)
    while history.is_changed():
        pass
    if not history.changes:
        return Repair(messages=given)
    return Repair(messages=vector(history.messages()), changes=history.changes)


# ---------------------------------------------------------------- messages that change


class _Part:
    """A part and its index in its message, None for a new one; told apart by identity."""

    def __init__(self, value: Any, index: int | None = None) -> None:
        self.value = value
        self.index = index


class _Entry:
    """A message and its index in what was given, None for a new one."""

    def __init__(self, message: Message, index: int | None) -> None:
        self.kind = type(message)
        self.index = index
        content: Iterable[Any] = () if isinstance(message.content, str) else message.content
        self.parts = [_Part(part, place) for place, part in enumerate(content)]
        # Whether all that was in it has been taken away, in which case it goes as well.
        self.is_hollow = False
        self._message = message
        self._is_changed = False

    @property
    def message(self) -> Message:
        if self._is_changed:
            content: Any = vector(part.value for part in self.parts)
            self._message = attrs.evolve(self._message, content=content)
            self._is_changed = False
        return self._message

    def remove(self, part: _Part) -> None:
        self.parts.remove(part)
        self._is_changed = True
        self.is_hollow = not self.parts

    def append(self, part: _Part) -> None:
        self.parts.append(part)
        self._is_changed = True
        self.is_hollow = False

    def rename(self, part: _Part, call_id: str) -> None:
        part.value = attrs.evolve(part.value, tool_call_id=call_id)
        self._is_changed = True


class _History:
    """Messages on their way to being right, and what was changed so far."""

    def __init__(self, given: Iterable[Message]) -> None:
        self.entries = [_Entry(message, index) for index, message in enumerate(given)]
        self.changes: list[RepairChange] = []

    def messages(self) -> list[Message]:
        return [entry.message for entry in self.entries]

    def is_changed(self) -> bool:
        """Mend what can be seen to be wrong now; whether anything was."""
        before = len(self.changes)
        self._drop_unreadable()
        self._drop_answers()
        self._drop_empty()
        _Pairs(self).mend()
        return len(self.changes) > before

    def note(self, entry: _Entry, part: _Part | None, reason: str, rule: Rule | None = None) -> None:
        path = "$.messages" if entry.index is None else json_path("$.messages", entry.index)
        if part is not None and part.index is not None:
            path = json_path(path, "content", part.index)
        change = RepairChange(
            path=path,
            reason=reason,
            rule=None if rule is None else rule.value,
            tool_call_id=None if part is None else getattr(part.value, "tool_call_id", None),
        )
        self.changes.append(change)

    def drop(self, entry: _Entry, part: _Part, reason: str, rule: Rule | None = None) -> None:
        self.note(entry, part, reason, rule)
        entry.remove(part)

    def drop_hollow(self) -> None:
        self.entries = [entry for entry in self.entries if not entry.is_hollow]

    # ------------------------------------------------------------ parts and messages

    def _drop_unreadable(self) -> None:
        for entry in self.entries:
            while (reason := _unreadable(entry.message)) is not None:
                bad = next(part for part in entry.parts if _unreadable(_alone(entry, part)) is not None)
                self.drop(entry, bad, f"dropped data that nobody can read: {reason}")
        self.drop_hollow()

    def _drop_empty(self) -> None:
        for entry in self.entries:
            if prompt_form(entry.message).is_empty:
                reason = "dropped a message of which nothing is left for the model"
                self.note(entry, None, reason, Rule.PROMPT_CONTENT_NOT_EMPTY)
                entry.is_hollow = True
        self.drop_hollow()

    def _drop_answers(self) -> None:
        """Drop answers to requests for approval, at the end, that a run could do nothing with."""
        known = _Approvals(self.entries)
        while self.entries and self.entries[-1].kind is ToolMessage:
            last = self.entries[-1]
            for part, reason in [*known.useless(last)]:
                self.drop(last, part, reason)
            if not last.is_hollow:
                return
            self.entries.pop()


def _unreadable(message: Message) -> str | None:
    try:
        prompt_form(message)
    except InvalidDataContentError as error:
        return error.reason
    return None


def _alone(entry: _Entry, part: _Part) -> Message:
    content: Any = vector([part.value])
    return attrs.evolve(entry.message, content=content)


class _Approvals:
    """The call that an answer to a request for approval is about."""

    def __init__(self, entries: Iterable[_Entry]) -> None:
        parts = [(entry.kind, part.value) for entry in entries for part in entry.parts]
        self._requests = {
            part.approval_id: part for _, part in parts if isinstance(part, ToolApprovalRequestPart)
        }
        self._calls = {part.tool_call_id for _, part in parts if isinstance(part, ToolCallPart)}
        self._answered = {
            part.tool_call_id
            for kind, part in parts
            if isinstance(part, ToolResultPart) and kind is ToolMessage
        }

    def useless(self, last: _Entry) -> Iterator[tuple[_Part, str]]:
        """The answers in the last message that fail a run, or give a call a second result, and why."""
        here = {part.value.tool_call_id for part in last.parts if isinstance(part.value, ToolResultPart)}
        decided: set[str | None] = set()
        for part in last.parts:
            if not isinstance(part.value, ToolApprovalResponsePart):
                continue
            request = self._requests.get(part.value.approval_id)
            if request is None:
                yield part, "dropped an answer to a request for approval that is not there"
            elif request.tool_call_id in here:
                continue  # approval.answered
            elif request.tool_call_id not in self._calls:
                yield part, "dropped an answer about a call that is not there"
            elif request.tool_call_id in self._answered:
                yield part, "dropped an answer about a call that has a result"
            elif request.tool_call_id in decided:
                yield part, "dropped a second answer about a call"
            decided.add(request.tool_call_id if request else None)


# ---------------------------------------------------------------- calls and results


class _Call:
    """A client's call on its way to its result."""

    def __init__(self, entry: _Entry, part: _Part, known_as: str) -> None:
        self.entry = entry
        self.part = part
        # The id that it was recorded under, as its result is; it may have been given another one.
        self.known_as = known_as
        self.is_cut = False
        self.has_result = False

    @property
    def call_id(self) -> str:
        return str(self.part.value.tool_call_id)


_Found: TypeAlias = tuple[_Entry, _Part]


def _answered_last(messages: Sequence[Message]) -> frozenset[str]:
    """The ids of the calls whose requests the last message answers (rule approval.last-message)."""
    last = messages[-1] if messages else None
    if not isinstance(last, ToolMessage):
        return frozenset()
    asked = {
        part.approval_id: part.tool_call_id
        for message in messages
        if isinstance(message, AssistantMessage)
        for part in message.content
        if isinstance(part, ToolApprovalRequestPart)
    }
    responded = [part.approval_id for part in last.content if isinstance(part, ToolApprovalResponsePart)]
    return frozenset(asked[name] for name in responded if name in asked)


class _Pairs:
    """Brings each call together with its result; reads as `agentcore.messages.prompt` does, and mends."""

    def __init__(self, history: _History) -> None:
        self._history = history
        messages = history.messages()
        self._approved = fold(PromptState.start(), messages).rounds.approved()
        # A run that begins with the messages has these calls run, or gives the model their denial.
        self._settled = _answered_last(messages)
        self._ids = {
            getattr(part.value, "tool_call_id", None) for entry in history.entries for part in entry.parts
        }
        # What the next id made of an id ends with.
        self._numbers: dict[str, Iterator[int]] = {}
        self._calls: list[_Call] = []
        # By the ids that they were recorded under: calls without results, those of them that no user or
        # system message has followed, and results without calls.
        self._open: dict[str, deque[_Call]] = {}
        self._unleft: dict[str, list[_Call]] = {}
        self._strays: dict[str, deque[_Found]] = {}
        # Of the round that is going on.
        self._uncut: list[_Call] = []
        self._answered: set[str] = set()
        self._provided: set[str] = set()
        # What comes right after a message, by the message.
        self._added: dict[_Entry, list[_Part]] = {}

    def mend(self) -> None:
        for entry in self._history.entries:
            if entry.kind is ToolMessage:
                self._read_results(entry)
            else:
                self._begin_round(entry)
                self._read_calls(entry)
        for call in self._calls:
            if not call.has_result and call.call_id not in self._settled:
                self._give_result(call)
        for strays in self._strays.values():
            for entry, part in strays:
                reason = "dropped a result without its call"
                self._history.drop(entry, part, reason, Rule.PROMPT_RESULT_HAS_CALL)
        self._put_added()
        self._history.drop_hollow()

    def _begin_round(self, entry: _Entry) -> None:
        self._answered.clear()
        self._provided.clear()
        for call in self._uncut:
            call.is_cut = True
        self._uncut.clear()
        if entry.kind is not AssistantMessage:
            self._unleft.clear()

    # ------------------------------------------------------------ calls

    def _read_calls(self, entry: _Entry) -> None:
        here: dict[str, ToolCallPart] = {}
        for part in [part for part in entry.parts if isinstance(part.value, ToolCallPart)]:
            call_id, is_ours = part.value.tool_call_id, not part.value.provider_executed
            unleft = self._unleft.get(call_id) if is_ours else None
            other = here.get(call_id) or (unleft[0].part.value if unleft else None)
            if other == part.value:
                reason = "dropped a call that was recorded twice"
                self._history.drop(entry, part, reason, Rule.PROMPT_CALL_IDS_DIFFER)
                continue
            here[call_id] = part.value
            if other is not None:
                self._rename(entry, part)
            if is_ours:
                self._add(_Call(entry, part, call_id))
            else:
                self._provided.add(part.value.tool_call_id)

    def _add(self, call: _Call) -> None:
        if call.known_as not in self._unleft:
            # A later answer may use an id again: the call that had it before goes without a result.
            self._open.pop(call.known_as, None)
        self._calls.append(call)
        self._uncut.append(call)
        self._open.setdefault(call.known_as, deque()).append(call)
        self._unleft.setdefault(call.known_as, []).append(call)

    def _rename(self, entry: _Entry, part: _Part) -> None:
        known_as = part.value.tool_call_id
        numbers = self._numbers.setdefault(known_as, count(2))
        name = next(name for number in numbers if (name := f"{known_as}-{number}") not in self._ids)
        self._ids.add(name)
        reason = f"gave a call an id of its own, {name!r}, in place of one that another call has"
        self._history.note(entry, part, reason, Rule.PROMPT_CALL_IDS_DIFFER)
        entry.rename(part, name)

    # ------------------------------------------------------------ results

    def _read_results(self, entry: _Entry) -> None:
        for part in [part for part in entry.parts if isinstance(part.value, ToolResultPart)]:
            call_id = part.value.tool_call_id
            if self._open.get(call_id):
                self._take(self._open[call_id].popleft(), entry, part)
                if call_id in self._unleft:
                    self._unleft[call_id] = [*self._open[call_id]]
            elif call_id in self._answered:
                reason = "dropped a second result of a call"
                self._history.drop(entry, part, reason, Rule.PROMPT_ONE_RESULT)
            elif call_id not in self._provided:
                self._strays.setdefault(call_id, deque()).append((entry, part))
            self._answered.add(call_id)

    def _take(self, call: _Call, entry: _Entry, part: _Part) -> None:
        call.has_result = True
        if call.is_cut and call.call_id not in self._approved:
            self._move(call, (entry, part), Rule.PROMPT_RESULTS_FOLLOW)
        elif call.call_id != call.known_as:
            reason = f"gave a result the id of its call, {call.call_id!r}"
            self._history.note(entry, part, reason, Rule.PROMPT_CALL_IDS_DIFFER)
            entry.rename(part, call.call_id)

    def _move(self, call: _Call, found: _Found, rule: Rule) -> None:
        entry, part = found
        self._history.note(entry, part, "moved a result right after its call", rule)
        entry.remove(part)
        part.value = attrs.evolve(part.value, tool_call_id=call.call_id)
        self._added.setdefault(call.entry, []).append(part)

    def _give_result(self, call: _Call) -> None:
        strays = self._strays.get(call.known_as)
        if strays:
            self._move(call, strays.popleft(), Rule.PROMPT_RESULT_HAS_CALL)
            return
        reason = "gave a call without a result an error in its place"
        self._history.note(call.entry, call.part, reason, Rule.PROMPT_MISSING_RESULTS)
        output = ErrorTextOutput(NO_RESULT)
        result = ToolResultPart(call.call_id, call.part.value.tool_name, output=output)
        self._added.setdefault(call.entry, []).append(_Part(result))

    def _put_added(self) -> None:
        """Put results into the tool messages that follow the messages of their calls, or into new ones."""
        if not self._added:
            return
        entries: list[_Entry] = []
        waiting: list[_Part] = []
        for entry in self._history.entries:
            entries += _with_waiting(entry, waiting)
            waiting = self._added.get(entry, [])
        if waiting:
            entries.append(_new_results(waiting))
        self._history.entries = entries


def _with_waiting(entry: _Entry, waiting: list[_Part]) -> list[_Entry]:
    """The message, with the results that are to stand right before it, or in it if it is one of a tool."""
    if waiting and entry.kind is not ToolMessage:
        return [_new_results(waiting), entry]
    for part in waiting:
        entry.append(part)
    return [entry]


def _new_results(parts: Iterable[_Part]) -> _Entry:
    entry = _Entry(ToolMessage([]), None)
    for part in parts:
        entry.append(part)
    return entry
