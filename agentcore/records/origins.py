"""The origins of the messages of a prompt, read from the records of the steps.

Messages are told apart by identity. What is known of a step is made of what is known of the step before it
and of what is new, and is kept with its record: so an account costs what is new since the step before,
whatever the history's length. Only what hooks return is gone through as a whole, as they did themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import attrs

from agentcore.machine.hooks import StepOverride, StepRecord
from agentcore.messages.messages import Message, ToolMessage
from agentcore.messages.prompt import prompt_form
from agentcore.messages.values import NO_ITEMS, FrozenList, Vector, extend_vector, following, sealed, vector

__all__ = [
    "FORK",
    "Initial",
    "Injected",
    "Instruction",
    "Origin",
    "Response",
    "Stage",
    "TracedPrompt",
    "stages",
    "traced",
]

FORK: Final = "fork"


@sealed
@attrs.frozen
class Instruction:
    """One of the instructions of the call, or of the override in their place."""

    index: int


@sealed
@attrs.frozen
class Initial:
    """A message of the initial chain."""

    index: int


@sealed
@attrs.frozen
class Response:
    """A message of the response chain, by its index there.

    Of no step if it came before step 0 or between two steps: an answer to approvals or calls, or a result.
    """

    step_number: int | None
    index: int


@sealed
@attrs.frozen(kw_only=True)
class Injected:
    """A message that a hook brought in, at this step or by a lasting edit before; or `fork` did.

    `index` is where it stands in what the hook returned, or the fork was given.
    """

    hook: str
    step_number: int
    index: int


Origin: TypeAlias = Instruction | Initial | Response | Injected


# ---------------------------------------------------------------- what hooks left


@sealed
@attrs.frozen(kw_only=True)
class Stage:
    """One hook of a step, between the messages it was shown and those it left; hooks follow each other."""

    hook: str
    shown: Vector[Message]
    left: Vector[Message]
    lasting: Vector[Message] | None
    override: StepOverride


def stages(record: StepRecord) -> Iterator[Stage]:
    """The hooks of a step in their order."""
    shown = record.step_input
    for edit in record.edits:
        override, lasting = edit.override, edit.override.lasting_messages
        left = shown if lasting is None else lasting
        if override.messages is not None:
            left = override.messages
        yield Stage(hook=edit.processor_id, shown=shown, left=left, lasting=lasting, override=override)
        shown = left


# ---------------------------------------------------------------- where messages are from

_Origins: TypeAlias = tuple[Origin, ...]
_Found: TypeAlias = Iterable[tuple[Message, Origin]]


class _Place(NamedTuple):
    """The origin of a message, the step from which on it is known, and the message itself."""

    message: Message
    origins: tuple[tuple[int, Origin], ...]


class _Ledger:
    """The origins of the messages in the step inputs of a run, by ids and by what brought them.

    `own` are those of the chains before a step, `lasting` those of lasting edits before it, `forked` those
    that stood in a step input without any of these. A message that several brought comes from the first of
    these three, and there from the edit that brought it first. One ledger is written on from step to step,
    and read up to a step; a fork goes on with a copy.
    """

    __slots__ = ("forked", "lasting", "newest", "own")

    def __init__(self) -> None:
        self.own: dict[int, _Place] = {}
        self.lasting: dict[int, _Place] = {}
        self.forked: dict[int, _Place] = {}
        self.newest = 0

    def until(self, step: int) -> _Ledger:
        """The ledger as it was at a step: itself, if it was not written on since."""
        if self.newest == step:
            return self
        copy = _Ledger()
        for ours, theirs in zip(copy.kinds, self.kinds, strict=True):
            for key, place in theirs.items():
                origins = tuple(one for one in place.origins if one[0] <= step)
                if origins:
                    ours[key] = _Place(place.message, origins)
        copy.newest = step
        return copy

    @property
    def kinds(self) -> tuple[dict[int, _Place], ...]:
        return self.own, self.lasting, self.forked

    def note(self, places: dict[int, _Place], found: _Found, step: int, *, more: bool = False) -> None:
        """Add what was found; of a message that has a place already only with `more`."""
        new: dict[int, tuple[Message, list[tuple[int, Origin]]]] = {}
        for message, origin in found:
            if more or id(message) not in places:
                new.setdefault(id(message), (message, []))[1].append((step, origin))
        for key, (message, origins) in new.items():
            before = places[key].origins if key in places else ()
            places[key] = _Place(message, (*before, *origins))

    def of(self, message: Message, step: int) -> _Origins:
        """Return the origin as known at a step; None if it was not known."""
        for places in self.kinds:
            place = places.get(id(message))
            origins = () if place is None else tuple(one for at, one in place.origins if at <= step)
            if origins:
                return origins
        return ()


def _ledger(record: StepRecord, previous: Sequence[StepRecord]) -> _Ledger:
    """Return the origins known at a step, from all steps before it."""
    ledger, at = _Ledger(), len(previous)
    ledger.newest = at
    ledger.note(ledger.own, _initial(record), at)
    first = previous[0] if previous else record
    answers = ((record.messages[index], Response(None, index)) for index in range(first.response_start))
    ledger.note(ledger.own, answers, at, more=True)
    for step, after in pairwise((*previous, record)):
        ledger.note(ledger.own, _responses(step, after, record.messages), at, more=True)
        _note_lasting(ledger, step, at)
    shown: Vector[Message] = vector()
    for step in (*previous, record):
        ledger.note(ledger.forked, _forked(step, shown, ledger), at)
        shown = step.step_input
    return ledger


def _ledger_after(before: _Ledger, last: StepRecord, record: StepRecord, at: int) -> _Ledger | None:
    """Return the origins known at a step that continues the last one; None if its chains do not."""
    is_same = record.initial_messages is last.initial_messages
    if not is_same or following(record.messages, last.messages) is None:
        return None
    ledger = before.until(at - 1)
    ledger.note(ledger.own, _responses(last, record, record.messages), at, more=True)
    _note_lasting(ledger, last, at)
    ledger.note(ledger.forked, _forked(record, last.step_input, ledger), at)
    ledger.newest = at
    return ledger


def _initial(record: StepRecord) -> Iterator[tuple[Message, Origin]]:
    return ((message, Initial(index)) for index, message in enumerate(record.initial_messages))


def _responses(
    step: StepRecord, after: StepRecord, messages: Vector[Message]
) -> Iterator[tuple[Message, Origin]]:
    """The responses of a step, and those between it and the one after it."""
    end = len(step.messages)
    for index in range(step.response_start, after.response_start):
        yield messages[index], Response(step.step_number if index < end else None, index)


def _note_lasting(ledger: _Ledger, step: StepRecord, at: int) -> None:
    for stage in stages(step):
        if stage.lasting is not None:
            ledger.note(ledger.lasting, _injected(stage.hook, step.step_number, stage.lasting), at)


def _injected(hook: str, number: int, messages: Vector[Message]) -> Iterator[tuple[Message, Origin]]:
    for index, message in enumerate(messages):
        yield message, Injected(hook=hook, step_number=number, index=index)


def _forked(step: StepRecord, shown: Vector[Message], ledger: _Ledger) -> Iterator[tuple[Message, Origin]]:
    """Return the messages that are new in a step input and not in the chains: those of a fork."""
    new = following(step.step_input, shown)
    first = 0 if new is None else len(shown)
    for index, message in enumerate(step.step_input if new is None else new, first):
        if id(message) not in ledger.own:
            yield message, Injected(hook=FORK, step_number=step.step_number, index=index)


# ---------------------------------------------------------------- the prompt


class _Groups(NamedTuple):
    """The messages that each message of a prompt is made of, and where they come from, so far.

    Made as `agentcore.messages.chains.fold` makes a prompt: the tool messages at the end may be joined by
    others. The first so many are instructions, of no messages.
    """

    sources: Vector[tuple[Message, ...]]
    origins: Vector[_Origins]
    tail: tuple[Message, ...] = NO_ITEMS
    tail_origins: _Origins = NO_ITEMS
    instructions: int = 0

    def with_more(self, found: Iterable[tuple[Message, Origin]]) -> _Groups:
        sources: list[tuple[Message, ...]] = []
        origins: list[_Origins] = []
        tail, tail_origins = [*self.tail], [*self.tail_origins]
        for message, origin in found:
            if isinstance(message, ToolMessage):
                if _shows_parts(message):
                    tail.append(message)
                    tail_origins.append(origin)
                continue
            if tail:
                sources.append(FrozenList(tail))
                origins.append(FrozenList(tail_origins))
                tail, tail_origins = [], []
            sources.append(FrozenList((message,)))
            origins.append(FrozenList((origin,)))
        return _Groups(
            extend_vector(self.sources, sources),
            extend_vector(self.origins, origins),
            FrozenList(tail),
            FrozenList(tail_origins),
            self.instructions,
        )

    def closed(self) -> _Groups:
        if not self.tail:
            return self
        sources = extend_vector(self.sources, (self.tail,))
        return _Groups(
            sources, extend_vector(self.origins, (self.tail_origins,)), instructions=self.instructions
        )

    def with_instructions(self, count: int) -> _Groups:
        if count == self.instructions:
            return self
        nothing: tuple[Message, ...] = NO_ITEMS
        first = vector(FrozenList((Instruction(index),)) for index in range(count))
        return self._replace(
            sources=vector((*[nothing] * count, *self.sources[self.instructions :])),
            origins=vector((*first, *self.origins[self.instructions :])),
            instructions=count,
        )


def _shows_parts(message: ToolMessage) -> bool:
    # Of parts of tool messages none can fail to be shown, so there is a form.
    changed = prompt_form(message).changed
    return bool((message if changed is None else changed).content)


class TracedPrompt:
    """The origins of a step's prompt: the messages that each was made of, and where these come from.

    `edited` is for what `agentcore.records.provenance` makes of the stages, once.
    """

    __slots__ = ("at", "base", "edited", "last", "ledger", "origins", "sources", "stages")

    def __init__(
        self, record: StepRecord, previous: Sequence[StepRecord], before: TracedPrompt | None
    ) -> None:
        self.at = len(previous)
        self.last = previous[-1] if previous else None
        ledger: _Ledger | None = None
        if before is not None and self.last is not None:
            ledger = _ledger_after(before.ledger, self.last, record, self.at)
        if ledger is None:
            ledger, before = _ledger(record, previous), None
        self.ledger: _Ledger = ledger
        self.stages = tuple(stages(record))
        self.edited: Any = None
        # The origins of the step input; those of the next step extend them.
        self.base = self._base(record, before)
        whole = self._whole(record).closed()
        self.sources: Vector[tuple[Message, ...]] = whole.sources
        self.origins: Vector[_Origins] = whole.origins

    def _base(self, record: StepRecord, before: TracedPrompt | None) -> _Groups:
        if before is not None and self.last is not None:
            shown = self.last.step_input
            if following(record.step_input, shown) is not None:
                return before.base.with_more(self._found(record.step_input, len(shown)))
        return _Groups(vector(), vector()).with_more(self._found(record.step_input))

    def _whole(self, record: StepRecord) -> _Groups:
        """The groups of the prompt: of the instructions, then of the messages that the hooks left."""
        left = self.stages[-1].left if self.stages else record.step_input
        if following(left, record.step_input) is not None:
            found = self._found(left, len(record.step_input), record.step_number)
            groups = self.base.with_more(found)
        else:
            groups = _Groups(vector(), vector()).with_more(self._found(left, 0, record.step_number))
        count = len(record.prompt) - len(groups.closed().sources) + groups.instructions
        if count != self.base.instructions:
            self.base = self.base.with_instructions(count)
        return groups.with_instructions(count)

    def _found(
        self, messages: Vector[Message], first: int = 0, step_number: int = 0
    ) -> Iterator[tuple[Message, Origin]]:
        """The messages from an index on, and where each comes from."""
        passing: dict[int, _Origins] = {}
        seen: dict[int, int] | None = None
        for message in [messages[n] for n in range(first, len(messages))] if first else messages:
            origins = self.ledger.of(message, self.at) or passing.get(id(message))
            if not origins:  # what the step's own hooks brought in, which is nobody's at the next step
                passing = self._passing(step_number)
                origins = passing[id(message)]
            if len(origins) == 1:
                yield message, origins[0]
                continue
            # One message at several places has its places one after the other, the last one for good.
            seen = Counter(map(id, messages[:first])) if seen is None else seen
            yield message, origins[min(seen.get(id(message), 0), len(origins) - 1)]
            seen[id(message)] = seen.get(id(message), 0) + 1

    def _passing(self, step_number: int) -> dict[int, _Origins]:
        """Return the origins of the messages that this step's own hooks brought in."""
        places: dict[int, _Origins] = {}
        for stage in self.stages:
            found: dict[int, list[Origin]] = {}
            for index, message in enumerate(stage.left):
                if id(message) not in places and not self.ledger.of(message, self.at):
                    one = Injected(hook=stage.hook, step_number=step_number, index=index)
                    found.setdefault(id(message), []).append(one)
            places.update({key: FrozenList(origins) for key, origins in found.items()})
        return places


def traced(record: StepRecord, previous: Sequence[StepRecord]) -> TracedPrompt:
    """Return the origins of a step's prompt, from all steps before it; kept with the record from then on."""
    records = [*previous[-1:], record]
    kept = _traced_prompt_of(record, records[0] if previous else None)
    if kept is not None:
        return kept
    first = len(previous)
    while (
        first and _traced_prompt_of(previous[first - 1], previous[first - 2] if first > 1 else None) is None
    ):
        first -= 1
    made = (
        _traced_prompt_of(previous[first - 1], previous[first - 2] if first > 1 else None) if first else None
    )
    for number in range(first, len(previous)):
        made = _traced(previous[number], previous[:number], made)
    return _traced(record, previous, made)


def _traced(record: StepRecord, previous: Sequence[StepRecord], before: TracedPrompt | None) -> TracedPrompt:
    made = TracedPrompt(record, previous, before)
    object.__setattr__(record, "_traced", made)
    return made


def _traced_prompt_of(record: StepRecord, last: StepRecord | None) -> TracedPrompt | None:
    kept: Any = record._traced  # noqa: SLF001 - a place that records have for this module
    return kept if kept is not None and kept.last is last else None
