"""Turns of several agents on one store, on a heap: what was loaded, asked and saved, and what became of it.

Each message that joins the record (what was stored before, what callers give, what models answer) has a
label, which copies of it keep. By the labels the store is compared with the intended record after each event.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from agentcore.frameworks.store_boundary.profiles import (
    PROFILES,
    Does,
    Event,
    Hook,
    Ids,
    New,
    Saving,
    Settings,
    StoreProfile,
    Turn,
    default_order,
)
from agentcore.heap.boundary_log import Watch
from agentcore.heap.copying import CopyDepth, Snapshot
from agentcore.heap.heap import ObjectCell, Ref, Store, Value
from agentcore.heap.player import Playable
from agentcore.heap.player_runs import Recorded, of_watch
from agentcore.heap.pollution import Finding, Pollution, Verdict
from agentcore.heap.views import Desk, View
from agentcore.messages.brief import brief

__all__ = [
    "PROFILES",
    "Finding",
    "Loss",
    "Settings",
    "Snapshot",
    "StoreLoop",
    "StoreProfile",
    "StoreRun",
    "Turn",
    "Verdict",
    "run",
]

Json: TypeAlias = dict[str, Any]

FLAG: Final = "stored"
"""The field of a message that says that it is stored (`New.FLAG`)."""


# ---------------------------------------------------------------- what becomes of a record

_BEFORE: Final = -1
_NOBODY: Final = -2


@attrs.frozen(order=True)
class _Label:
    """A message's identity: its turn (or stored before, or said by nobody) and its number there."""

    turn: int
    number: int


@attrs.frozen(kw_only=True)
class Loss:
    """A loss: a message that the store does not hold as the intended record has it.

    `kind` is doubled, dropped, interleaved or rewritten. The message is number `message` of the turn `turn`;
    turn None: it was stored before; both None: nobody said it. `at` are its places in the store. `event` is
    the number of the event to blame, which `does` something in the turn `by` of the agent `agent`.
    """

    kind: Literal["doubled", "dropped", "interleaved", "rewritten"]
    turn: int | None
    message: int | None
    at: tuple[int, ...]
    event: int
    does: Does
    by: int
    agent: str

    def to_json(self) -> Json:
        """The loss as a trace has it."""
        by = {"event": self.event, "does": self.does, "turn": self.by, "agent": self.agent}
        said = {"kind": self.kind, "turn": self.turn, "message": self.message}
        return {**said, "at": [*self.at], "by": by}


_Lost: TypeAlias = tuple[str, _Label]


@attrs.define
class _Going:
    """A turn as far as it is."""

    turn: Turn
    number: int
    messages: Ref
    head: str | None
    said: list[Any]
    record: list[Ref]
    count: int = 0
    place: int = 0
    steps: int = 0
    recorded: int = 0
    known: set[int] = attrs.field(factory=set)
    accepted: int | None = None


# ---------------------------------------------------------------- the loop


class StoreLoop:
    """Runs the events of turns under a profile, and keeps what each of them came to."""

    holders: Final[Mapping[str, str]] = MappingProxyType(
        {"stored": "store", "caller": "caller", "lists": "lists"}
    )

    def __init__(self, profile: StoreProfile, settings: Settings) -> None:
        self.profile = profile
        self.settings = settings
        self.store = Store()
        self.desk = Desk(self.store)
        self.snapshots: list[Snapshot] = []
        self.loads: list[Json] = []
        self.prompts: list[Json] = []
        self.saves: list[Json] = []
        self.losses: tuple[Loss, ...] = ()
        self.turns: dict[int, _Going] = {}
        self.head: str | None = None
        # By the address of a message; what is no message and stands in the list is known by its JSON.
        self._labels: dict[int | str, _Label] = {}
        self._ids: dict[str, _Label] = {}
        self._strangers = 0
        self._given_ids = 0
        self._accepted: list[int] = []
        self._first: dict[_Lost, int] = {}
        self._heads: dict[str, str | None] = {}
        self.before = [dict(message) for message in settings.stored]
        self.stored: Ref = self.store.load([*settings.stored])
        for number, slot in enumerate(self._cell(self.stored)):
            self._label(slot, _Label(_BEFORE, number))
            if profile.ids is Ids.SAVED and not self._has_id(slot):
                self._give_id(slot)
        self.given_before = [[dict(message) for message in turn.given] for turn in settings.turns]
        self.given: tuple[Ref, ...] = tuple(self.store.load([*turn.given]) for turn in settings.turns)
        self._caller = self.store.array(self.given)
        self._lists = self.store.object({})
        self.order: tuple[Event, ...] = (
            tuple(default_order([len(turn.answers) for turn in settings.turns]))
            if settings.order is None
            else tuple(settings.order)
        )

    def run(self) -> None:
        """Does all events.

        Raises:
            Exception: what a hook raises.
        """
        for number, (does, turn) in enumerate(self.order):
            self.desk.step = number
            if does == "load":
                self._load(turn)
            elif does == "step":
                self._step(self.turns[turn])
            else:
                self._save(self.turns[turn])
            self._compare(number)
        self._snapshot("end")
        self.losses = tuple(self._blamed())

    def held(self) -> Mapping[str, Value]:
        """Returns the slot that each holder holds at this moment, by the holder's name."""
        return {"stored": self.stored, "caller": self._caller, "lists": self._lists}

    def plain(self, slot: Value) -> Any:
        """The value as plain JSON."""
        return self.store.plain(slot)

    def list_of(self, agent: str) -> Value:
        """The list that an agent had last; None if it had none."""
        return cast("ObjectCell", self.store.cells[self._lists.address]).get(agent)

    @property
    def intended(self) -> list[Any]:
        """The record that is meant (rule store-boundary.intended-record)."""
        return [said for _, said in self._intended()]

    def outcome(self) -> Json:
        """Returns the end of the trace: what is stored, what is lost, and which holders differ."""
        agents = dict.fromkeys(turn.agent for turn in self.settings.turns)
        held = {agent: self.list_of(agent) for agent in agents}
        stored = self.plain(self.stored)
        lists = {agent: self.plain(ref) for agent, ref in held.items() if ref is not None}
        caller = [self.plain(given) for given in self.given]
        others = [f"list of {agent}" for agent, own in lists.items() if own != stored]
        given = zip(caller, self.given_before, strict=True)
        callers = [f"caller of turn {turn}" for turn, (now, then) in enumerate(given) if now != then]
        return {
            "losses": [loss.to_json() for loss in self.losses],
            "final": {"stored": stored, "intended": self.intended, "lists": lists, "caller": caller},
            "differs": [*(["store"] if self.losses else []), *others, *callers],
        }

    # ------------------------------------------------------------ events

    def _load(self, number: int, *, again: bool = False) -> _Going:
        turn = self.settings.turns[number]
        agent, kept = turn.agent, self.list_of(turn.agent)
        if self.profile.reloaded or again or kept is None:
            messages = self._copied(self.stored, self.profile.loaded)
            self._heads[agent] = self.head
        else:
            messages = cast("Ref", kept)
        going = _Going(
            turn=turn, number=number, messages=messages, head=self._heads[agent], said=[], record=[]
        )
        self.turns[number] = going
        self._keep(going, messages)
        self._know(going)
        going.place = going.count
        self.desk.hook = f"the load of turn {number}"
        self.desk.hand(messages, ("load",))
        self.loads.append({**self._at(number), "head": self._heads[agent], "messages": self.plain(messages)})
        given = self._cell(self.given[number])
        for place, slot in enumerate(given):
            self._label(slot, _Label(number, place))
        messages = [self._copied(slot, self.profile.given, _MESSAGE) for slot in given]
        self._say(going, messages, self.given_before[number])
        return going

    def _step(self, going: _Going) -> None:
        step, turn = going.steps, going.turn
        going.steps += 1
        hook = turn.hooks[step] if step < len(turn.hooks) else None
        prompt = going.messages
        if hook is not None:
            prompt = self._hooked(going, hook)
        self.desk.hook = "the model"
        self.desk.hand(prompt, ("model",))
        self._snapshot("prompt", prompt=prompt)
        self.prompts.append({**self._at(going.number), "step": step, "messages": self.plain(prompt)})
        answer: Ref = self.store.load([*turn.answers[step]])
        self._say(going, self._cell(answer), self.plain(answer))

    def _hooked(self, going: _Going, hook: Hook) -> Ref:
        """Runs the hook and returns the prompt."""
        handed: Ref = self._copied(going.messages, self.profile.handed)
        self.desk.hook = f"the hook of turn {going.number}"
        returned = hook(self.desk.hand(handed, ("hook",)))
        if returned is None:
            return handed
        own: Any = self.desk.slot(returned)
        if type(own) is not Ref or not isinstance(self.store.cells[own.address], tuple):
            raise TypeError(f"a hook returns a list of messages or None, not {self.plain(own)!r}")
        if self.profile.returned_kept:
            self._keep(going, own)
        return own

    def _say(self, going: _Going, slots: Sequence[Any], said: Sequence[Any]) -> None:
        """Has messages join the list, and the turn's own record; `said` is what they were."""
        for slot, plain in zip(slots, said, strict=True):
            self._label(slot, _Label(going.number, len(going.said)))
            going.said.append(plain)
            joins = slot
            if self.profile.ids is Ids.SAID and not self._has_id(slot):
                joins = self._copied(slot, CopyDepth.MESSAGE, _MESSAGE)
                self._give_id(joins)
            self.store.push(going.messages, [joins])
            going.record.append(self._copied(joins, self.profile.recorded, _MESSAGE))

    def _save(self, going: _Going) -> None:
        entry: Json = {**self._at(going.number), "expected": going.head, "actual": self.head}
        self.saves.append(entry)
        new = self._new(going)
        wanted = bool(new) or self.profile.saving is Saving.REPLACE
        refused = self.profile.head_expected and wanted and going.head != self.head
        if refused:  # store-boundary.conflict-loses-nothing
            entry["refused"] = True
        elif wanted:
            self._put(going, new, entry)
        if not refused:
            going.accepted = len(going.said)
            if going.number not in self._accepted:
                self._accepted.append(going.number)
        entry["stored"] = self.plain(self.stored)
        if refused and going.turn.retry and going.accepted is None:
            again = self._load(going.number, again=True)
            for _ in range(going.steps):
                self._step(again)
            again.turn = attrs.evolve(again.turn, retry=False)
            self._save(again)

    def _put(self, going: _Going, new: Sequence[Any], entry: Json) -> None:
        """Stores what is new of a turn."""
        profile = self.profile
        if profile.saving is Saving.REPLACE:
            self.stored = self._copied(going.messages, profile.stored)
            saved: Sequence[Any] = self._cell(self.stored)
        else:
            saved = [self._copied(slot, profile.stored, _MESSAGE) for slot in new]
        if profile.ids is Ids.SAVED:
            for slot in saved:
                if not self._has_id(slot):
                    self._give_id(slot)
        if profile.saving is Saving.APPEND:
            self.store.push(self.stored, saved)
        elif profile.saving is Saving.MERGE:
            self.stored = self._merged(saved)
        elif profile.saving is Saving.PLACE:
            place = going.place
            self.stored = self.store.derive(
                self.store.array(
                    (*self._cell(self.stored)[:place], *saved, *self._cell(self.stored)[place + len(saved) :])
                ),
                self.stored,
            )
            going.place += len(saved)
        entry["saved"] = [self.plain(slot) for slot in saved]
        self._know(going)
        going.recorded = len(going.record)
        self.desk.hook = f"the save of turn {going.number}"
        self.desk.hand(self.stored, ("save",))
        times = sum(each["turn"] == going.number and "saved" in each for each in self.saves)
        going.head = self.head = f"turn {going.number}" if times == 1 else f"turn {going.number} ({times})"
        self._heads[going.turn.agent] = self.head

    def _merged(self, saved: Sequence[Any]) -> Ref:
        """The stored list in which a message takes the place of one with its id, or stands at the end."""
        merged = [*self._cell(self.stored)]
        places = {self._id(slot): place for place, slot in enumerate(merged)}
        for slot in saved:
            own = self._id(slot)
            if own is not None and own in places:
                merged[places[own]] = slot
            else:
                places[own] = len(merged)
                merged.append(slot)
        return self.store.derive(self.store.array(merged), self.stored)

    # ------------------------------------------------------------ what is new

    def _new(self, going: _Going) -> list[Any]:
        messages = self._cell(going.messages)
        match self.profile.new:
            case New.ALL:
                return [*messages]
            case New.POSITION:
                return [*messages[going.count :]]
            case New.COUNT:
                return [*messages[len(self._cell(self.stored)) :]]
            case New.EQUALITY:
                stored = self.plain(self.stored)
                return [slot for slot in messages if self.plain(slot) not in stored]
            case New.OBJECT:
                return [slot for slot in messages if type(slot) is not Ref or slot.address not in going.known]
            case New.FLAG:
                return [slot for slot in messages if not self._field(slot, FLAG)]
        return [*going.record[going.recorded :]]

    def _know(self, going: _Going) -> None:
        """Remembers which messages of a list are stored, in each way in which that can be known."""
        messages = self._cell(going.messages)
        going.count = len(messages)
        going.known |= {slot.address for slot in messages if type(slot) is Ref}
        for slot in messages if self.profile.new is New.FLAG else ():
            if self._is_message(slot) and not self._field(slot, FLAG):
                self.store.put(slot, FLAG, True)  # noqa: FBT003 - the value of a field

    # ------------------------------------------------------------ cells

    def _cell(self, ref: Ref) -> tuple[Any, ...]:
        return cast("tuple[Any, ...]", self.store.cells[ref.address])

    def _is_message(self, slot: Any) -> bool:
        return type(slot) is Ref and isinstance(self.store.cells[slot.address], ObjectCell)

    def _field(self, slot: Any, key: str) -> Any:
        return cast("ObjectCell", self.store.cells[slot.address]).get(key) if self._is_message(slot) else None

    def _id(self, slot: Any) -> str | None:
        found = self._field(slot, "id")
        return found if isinstance(found, str) else None

    def _has_id(self, slot: Any) -> bool:
        return not self._is_message(slot) or self._field(slot, "id") is not None

    def _give_id(self, slot: Any) -> None:
        self._given_ids += 1
        label = self._label_of(slot)
        self.store.put(slot, "id", f"new-{self._given_ids}")
        self._label(slot, label)

    def _copied(self, slot: Any, depth: CopyDepth, level: int = 1) -> Any:
        """A copy of a list of messages (level 1), or of what is at a lower level."""
        if type(slot) is not Ref or (level > depth and depth is not CopyDepth.DEEP):
            return slot
        if level == _MESSAGE:
            self._label_of(slot)
        cell = self.store.cells[slot.address]
        made = (
            self.store.array([self._copied(each, depth, level + 1) for each in cell])
            if isinstance(cell, tuple)
            else self.store.object({key: self._copied(each, depth, level + 1) for key, each in cell.items()})
        )
        if slot.address in self._labels:
            self._labels[made.address] = self._labels[slot.address]
        return self.store.derive(made, slot)

    def _keep(self, going: _Going, messages: Ref) -> None:
        going.messages = messages
        self.store.put(self._lists, going.turn.agent, messages)

    def copy_of(self, view: View, fields: Mapping[str, Any]) -> View:
        """Copies a message as `{...message, ...fields}` does; the copy is known as the same message.

        Args:
            view: the message.
            fields: what is written into the copy.
        """
        made = self._copied(view.ref, CopyDepth.MESSAGE, _MESSAGE)
        for key, value in fields.items():
            self.store.put(made, key, self.desk.slot(value))
        return cast("View", self.desk.view(made, view.handle))

    def _at(self, number: int) -> Json:
        return {"event": self.desk.step, "turn": number, "agent": self.settings.turns[number].agent}

    def _snapshot(self, moment: str, **more: Value) -> None:
        if self.store.watching:
            holders = {**self.held(), **more}
            heap = self.store.heap()
            self.snapshots.append(Snapshot(moment=moment, step=self.desk.step, holders=holders, heap=heap))

    # ------------------------------------------------------------ labels

    def _label(self, slot: Any, label: _Label) -> None:
        if type(slot) is Ref:
            # The input of a turn that begins anew keeps the label that it has.
            self._labels.setdefault(slot.address, label)
            own = self._id(slot)
            if own is not None:
                self._ids.setdefault(own, label)

    def _label_of(self, slot: Any) -> _Label:
        """The label of a message; one that nobody said has one from when it is asked for."""
        place = slot.address if type(slot) is Ref else json.dumps(slot)
        known = self._labels.get(place) or self._ids.get(self._id(slot) or "")
        if known is None:
            self._strangers += 1
            known = _Label(_NOBODY, self._strangers)
        self._labels[place] = known
        return known

    # ------------------------------------------------------------ the record that is meant, and the store

    def _intended(self) -> Iterator[tuple[_Label, Any]]:
        for number, said in enumerate(self.before):
            yield _Label(_BEFORE, number), said
        for turn in self._accepted:
            going = self.turns[turn]
            for number, said in enumerate(going.said[: going.accepted]):
                yield _Label(turn, number), said

    def _lost(self) -> dict[_Lost, tuple[int, ...]]:
        """Compares the store with the intended record and returns the present losses, with places."""
        intended = dict(self._intended())
        places = {label: number for number, label in enumerate(intended)}
        found: dict[_Label, list[int]] = {}
        for place, slot in enumerate(self._cell(self.stored)):
            found.setdefault(self._label_of(slot), []).append(place)
        # store-boundary.dropped
        lost: dict[_Lost, tuple[int, ...]] = {
            ("dropped", label): () for label in intended if label not in found
        }
        furthest = -1
        for label, at in found.items():
            if len(at) > 1:  # store-boundary.doubled
                lost["doubled", label] = tuple(at)
            if self._is_another(label, at):  # store-boundary.rewritten
                lost["rewritten", label] = tuple(at)
            # store-boundary.interleaved
            accepted = label.turn in (_BEFORE, _NOBODY) or label.turn in self._accepted
            if places.get(label, furthest) < furthest or not accepted:
                lost["interleaved", label] = tuple(at)
            furthest = max(furthest, places.get(label, furthest))
        return lost

    def _is_another(self, label: _Label, at: Sequence[int]) -> bool:
        """True if a stored message differs from what was said, added ids and flags aside."""
        if label.turn == _NOBODY:
            return True
        said = self.before if label.turn == _BEFORE else self.turns[label.turn].said
        meant = said[label.number]
        added = {FLAG, "id"} - meant.keys()
        stored = (self.plain(self._cell(self.stored)[place]) for place in at)
        return any({key: value for key, value in one.items() if key not in added} != meant for one in stored)

    def _compare(self, event: int) -> None:
        lost = self._lost()
        self._first = {each: self._first.get(each, event) for each in lost}

    def _blamed(self) -> Iterator[Loss]:
        """Each loss with its event (rule store-boundary.blame)."""
        lost = self._lost()
        for kind, label in sorted(lost, key=lambda each: (self._first[each], each)):
            event = self._first[kind, label]
            does, by = self.order[event]
            nobody = label.turn == _NOBODY
            yield Loss(
                kind=cast("Any", kind),
                turn=label.turn if label.turn >= 0 else None,
                message=None if nobody else label.number,
                at=lost[kind, label],
                event=event,
                does=does,
                by=by,
                agent=self.settings.turns[by].agent,
            )


_MESSAGE: Final = 2
"""The level of a message in a list."""


# ---------------------------------------------------------------- a run that has ended


@attrs.frozen(kw_only=True)
class StoreRun(Playable):
    """All turns, ended: what was loaded, asked and saved, what is lost, and every in-place write of hooks."""

    __repr__ = brief

    profile: StoreProfile
    loads: tuple[Json, ...]
    asked: tuple[Json, ...]
    saves: tuple[Json, ...]
    stored: list[Any]
    intended: list[Any]
    losses: tuple[Loss, ...]
    snapshots: tuple[Snapshot, ...] = attrs.field(repr=False)
    _report: Pollution = attrs.field(repr=False, eq=False)
    _watch: Watch = attrs.field(repr=False, eq=False)

    @property
    def recorded(self) -> Recorded:
        """The run as the player takes it."""
        return of_watch(self._watch, self._report, self.profile.name)

    @cached_property
    def pollution(self) -> tuple[Finding, ...]:
        """The fate of every in-place write; computed when first read."""
        return self._report.findings

    @property
    def prompts(self) -> tuple[list[Any], ...]:
        """The prompt of each step, as plain JSON."""
        return tuple(entry["messages"] for entry in self.asked)


def run(profile: StoreProfile | str, settings: Settings) -> StoreRun:
    """Runs turns under a profile: a name such as "store/replace-all", or one of your own.

    Hooks get a view of the messages, which they use as a list of dicts, and return None or other messages.

    Raises:
        KeyError: if there is no profile of that name.
        HostValueError: if a hook gives a value that JSON has no counterpart of.
    """
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    loop = StoreLoop(chosen, settings)
    watch = Watch(loop)
    loop.run()
    loop.desk.require_accepted()
    return StoreRun(
        profile=chosen,
        loads=tuple(loop.loads),
        asked=tuple(loop.prompts),
        saves=tuple(loop.saves),
        stored=loop.plain(loop.stored),
        intended=loop.intended,
        losses=loop.losses,
        report=Pollution(loop),
        watch=watch,
        snapshots=tuple(loop.snapshots),
    )
