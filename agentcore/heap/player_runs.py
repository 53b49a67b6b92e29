"""The data of the player: the moments and prompts of a run, and the objects that a moment shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import islice
from typing import Any, Final, TypeAlias

import attrs

from agentcore.heap.boundary_log import HandOut, Watch
from agentcore.heap.heap import Cell, DepthError, Heap, ObjectCell, Ref, Slot, Value, keyed
from agentcore.heap.pollution import Finding, Pollution, Reach
from agentcore.heap.views import Key, Write
from agentcore.machine.effects import (
    Done,
    HookFailed,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedStepFinish,
    NeedStop,
    NeedTools,
)
from agentcore.machine.run import Failed, Interrupted, Run
from agentcore.messages.values import thaw, vector
from agentcore.messages.wire import message_to_wire
from agentcore.records.history import replayed

__all__ = [
    "DEEPEST",
    "FIRST",
    "LAST",
    "Caption",
    "Found",
    "Kind",
    "Moment",
    "Node",
    "Recorded",
    "Scene",
    "Walk",
    "drawn_text",
    "of_core",
    "of_watch",
]


def drawn_text(value: Any, length: int | None = None) -> str:
    """A text, or a value as one line of JSON; what would not be seen is escaped, what is long is cut."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if length is not None and len(text) > length:
        text = f"{text[: length - 1]}…"
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in text)


# ---------------------------------------------------------------- what is recorded of a run


@attrs.frozen(kw_only=True)
class Caption:
    """The sentence about a moment of a run that was recorded without a heap.

    `says` is the sentence, `lines` what else is to be said, `headed` what the value is. `changes` are lists
    of elements that were changed, by name, before and after; `apart` the numbers of those elements of the
    value's lists that the run beside this one has not, by the list's name, with what that has there (None
    for nothing); `sight` is whether somebody shows a write for the first time.
    """

    says: str
    lines: Sequence[str] = ()
    headed: str = ""
    changes: Mapping[str, tuple[Sequence[Any], Sequence[Any]]] = attrs.field(factory=dict)
    apart: Mapping[str, Mapping[int, Any]] = attrs.field(factory=dict)
    sight: bool = False


@attrs.frozen(kw_only=True)
class Moment:
    """One moment of a run.

    `kind` is `boundary` (something was handed out: `value`, plain JSON, in `slot`), `write` (something was
    written in place: `write`), `refusal` (an op was refused: `text` says why) or `end`. `name` is the
    boundary, or who wrote. `heap` is None where there is none. `writes` is how many writes were made until
    then, this one included; `names` are the names that one object has, object by object. With a `caption`
    there is no heap, and the value may be None, which is shown as nothing.
    """

    kind: str
    step: int
    name: str
    heap: Heap | None = None
    holders: Mapping[str, Value] = attrs.field(factory=dict)
    slot: Value = None
    value: Any = None
    write: Write | None = None
    text: str = ""
    writes: int = 0
    names: Sequence[Sequence[str]] = ()
    caption: Caption | None = None


@attrs.frozen(kw_only=True)
class Recorded:
    """A run as the player takes it.

    `prompts` are what the model was asked with, each with its step; `findings` what became of each write;
    `marks` which writes a cell carries, as bits, by address; `lasting` the holders that outlive a step.
    """

    name: str
    moments: Sequence[Moment]
    prompts: Sequence[tuple[int, Sequence[Any]]]
    lasting: Sequence[str] = ()
    findings: Sequence[Finding] = ()
    marks: Mapping[int, int] = attrs.field(factory=dict)
    notes: Sequence[str] = ()
    error: str | None = None


def of_watch(
    watch: Watch,
    pollution: Pollution,
    name: str,
    *,
    error: str | None = None,
    notes: Sequence[str] = (),
) -> Recorded:
    """A run on the heap that was watched, and has ended, with its report."""
    run, findings = watch.run, pollution.findings
    moments: list[tuple[int, int, Moment]] = [
        *((one.writes, 1, _moment_of(watch, one)) for one in watch.handed),
        *((one.write.number, 2, _written(watch, one.write)) for one in findings),
    ]
    # By the number of writes before them, and a boundary before the write that came next: what was passed
    # there did not have it yet.
    ordered = [moment for *_, moment in sorted(moments, key=lambda one: one[:2])]
    for snapshot in run.snapshots[-1:]:
        named = {run.holders[name]: slot for name, slot in snapshot.holders.items() if name in run.holders}
        ordered.append(
            Moment(
                kind="end",
                step=run.desk.step,
                name="end",
                heap=snapshot.heap,
                holders=named,
                writes=len(findings),
                text=error or "",
            )
        )
    asked = (snapshot for snapshot in run.snapshots if snapshot.moment == "prompt")
    return Recorded(
        name=name,
        moments=ordered,
        prompts=[(snapshot.step, [*_messages_of(snapshot.plain("prompt"))]) for snapshot in asked],
        lasting=[*run.holders.values()],
        findings=findings,
        marks=pollution.marks,
        notes=notes,
        error=error,
    )


def _messages_of(prompt: Any) -> Iterator[Any]:
    """The messages of what a model was asked with, and first the instructions if they stand beside them."""
    if not isinstance(prompt, dict):
        yield from prompt
        return
    if prompt.get("system") is not None:
        yield {"system": prompt["system"]}
    yield from prompt["prompt" if "prompt" in prompt else "messages"]


def _moment_of(watch: Watch, one: HandOut) -> Moment:
    snapshot = one.snapshot
    return Moment(
        kind="boundary",
        step=one.step,
        name=one.boundary,
        heap=snapshot.heap,
        holders=snapshot.holders,
        slot=one.slot,
        value=str(one.value) if isinstance(one.value, DepthError) else one.value,
        writes=one.writes,
        names=[alias.paths for alias in watch.aliases[one.number]],
    )


def _written(watch: Watch, write: Write) -> Moment:
    snapshot = watch.write_moments[write.number]
    return Moment(
        kind="write",
        step=write.step,
        name=write.hook,
        heap=snapshot.heap,
        holders=snapshot.holders,
        write=write,
        writes=write.number + 1,
        names=[watch.objects[write.number]],
    )


# ---------------------------------------------------------------- a run of the core


def of_core(run: Run, name: str = "immutable") -> Recorded:
    """A run of the core at any moment: its values as they are shared, nothing of which can be written."""
    values = _Values()
    moments: list[Moment] = []
    prompts: list[tuple[int, Sequence[Any]]] = []
    given: dict[str, Value] = {}
    step = -1
    for state in _states(run):
        if _step_of(state) != step:
            step, given = _step_of(state), {}
        for boundary, value in _boundaries(state):
            times = sum(each.partition(" (")[0] == boundary for each in given)
            label = f"{boundary} ({times + 1})" if times else boundary
            given = {**given, label: values.slot(value)}
            moments.append(values.moment(state, label, value, given))
        if isinstance(state.pending, NeedModel):
            prompts.append((step, [thaw(message_to_wire(one)) for one in state.pending.prompt]))
    ended = run.pending
    if isinstance(ended, Failed) and given and isinstance(run.outcomes[-1], HookFailed):
        moments.append(values.refusal(ended, ended.hook or [*given][-1], given))
    error = f"{type(ended.error).__name__}: {ended.error}" if isinstance(ended, Failed) else None
    if isinstance(ended, Done | Failed | Interrupted):
        moments.append(values.end(run, error))
    # One heap for all moments: values of the core never change, so what was shared once is shared in all of
    # them.
    heap = values.heap()
    return Recorded(
        name=name,
        moments=[attrs.evolve(moment, heap=heap) for moment in moments],
        prompts=prompts,
        lasting=_LASTING,
        error=error,
    )


_LASTING: Final = ("caller", "initial chain", "response chain", "step input")


def _states(run: Run) -> Iterator[Run]:
    """The run at each of its needs: what its outcomes make of it again."""
    state = run.history[0] if run.history else run
    for outcome in run.outcomes[len(state.outcomes) :]:
        yield state
        state = replayed(state, outcome)
    yield state


def _step_of(state: Run) -> int:
    """The step that is going on; the one that is reported has been counted already."""
    finished = isinstance(state.pending, NeedStepFinish | NeedStop | NeedFinish | Done)
    return max(0, state.step_number - finished)


def _boundaries(state: Run) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Returns what is handed out so that a run's need is answered."""
    match state.pending:
        case NeedPrepareStep(step=step):
            yield "prepare_step", {"messages": step.messages}
        case NeedModel(prompt=prompt):
            yield "model", {"prompt": prompt}
        case NeedTools(calls=calls, messages=messages):
            for call in calls:
                yield "execute", {"input": call.input, "messages": messages}
        case NeedStepFinish(record=record):
            yield "on_step_finish", {"messages": record.messages}


class _Values:
    """Values of the core as cells of a heap: what is one value is one cell."""

    def __init__(self) -> None:
        self._cells: list[Any] = []
        self._known: dict[int, tuple[Any, Slot]] = {}

    def heap(self) -> Heap:
        """The heap with all cells that were made; none of them changes."""
        return Heap(cells=vector(self._cells), sealed=frozenset(range(len(self._cells))))

    def slot(self, value: Any) -> Slot:
        """The slot of a value, or of a message by its JSON, which it keeps."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        shown = value if isinstance(value, Mapping) or _is_listed(value) else message_to_wire(value)
        ref: Slot
        if shown is not value:
            ref = self.slot(shown)
        elif isinstance(shown, Mapping):
            ref = self._put(ObjectCell({str(key): self.slot(child) for key, child in shown.items()}))
        else:
            ref = self._put(tuple(map(self.slot, shown)))
        # The value too: its identity is its own only as long as it lives.
        self._known[id(value)] = (value, ref)
        return ref

    def _put(self, cell: Any) -> Ref:
        self._cells.append(cell)
        return Ref(len(self._cells) - 1)

    def _held(self, state: Run) -> dict[str, Value]:
        chains = state.chains
        held = (state.given, chains.initial, chains.response, chains.step_input)
        return dict(zip(_LASTING, map(self.slot, held), strict=True))

    def moment(self, state: Run, name: str, value: Mapping[str, Any], given: Mapping[str, Value]) -> Moment:
        """The moment at which something was handed out."""
        plain = {key: _plain(child) for key, child in value.items()}
        holders = {**self._held(state), **given}
        return Moment(
            kind="boundary",
            step=_step_of(state),
            name=name,
            holders=holders,
            slot=given[name],
            value=plain,
        )

    def refusal(self, failed: Failed, hook: str, given: Mapping[str, Value]) -> Moment:
        """The moment at which a hook raised, as it does where it writes to what cannot change."""
        return Moment(
            kind="refusal",
            step=failed.run.step_number,
            name=hook,
            holders={**self._held(failed.run), **given},
            text=f"{type(failed.error).__name__}: {failed.error}",
        )

    def end(self, run: Run, error: str | None) -> Moment:
        """The last moment of the run."""
        state = run.pending.run if isinstance(run.pending, Failed | Interrupted) else run
        return Moment(
            kind="end", step=_step_of(state), name="end", holders=self._held(state), text=error or ""
        )


def _is_listed(value: Any) -> bool:
    return isinstance(value, Sequence)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping) or value is None or isinstance(value, bool | int | float | str):
        return thaw(value)
    return [thaw(one if isinstance(one, Mapping) else message_to_wire(one)) for one in value]


# ---------------------------------------------------------------- which objects a moment shows

Node: TypeAlias = int | str
"""An object by its address, or a holder by its name."""

# Of a list the first and the last elements are drawn, and all of a list that is not longer than both.
FIRST: Final = 2
LAST: Final = 6
_MOST_WRITTEN: Final = 6
# How many objects inside each other a payload shows.
DEEPEST: Final = 3
_CONTENTS: Final = frozenset({"content", "parts"})
_LISTS: Final = frozenset({"messages", "prompt"})


class Kind(IntEnum):
    """The level of an object in `list -> message -> content -> part -> payload`; the number is its column."""

    RECORD = 0
    LIST = 1
    MESSAGE = 2
    CONTENT = 3
    PART = 4
    PAYLOAD = 5


@attrs.frozen(kw_only=True)
class Scene:
    """A moment to be drawn: who holds what, how many writes were made, and where one was made just now.

    `written` is the address and the key of the slot; the key is None where the whole object was changed.
    """

    heap: Heap
    holders: Mapping[str, Value]
    writes: int
    written: tuple[int, Key | None] | None = None


@attrs.define
class Found:
    """An object's facts from all scenes: its kind, its slots in other objects, when it is seen.

    `depth` is how far it is below the last object of another kind, `owner` the slot beside which it is
    placed.
    """

    kind: Kind
    depth: int
    owner: tuple[Node, Key]
    of_lasting: bool
    first: int
    order: int
    last: int = 0
    slots: set[tuple[Node, Key]] = attrs.field(factory=set)


class Walk:
    """Goes through all scenes, from holders that outlive a step first, and finds what is to be drawn."""

    def __init__(self, scenes: Sequence[Scene], lasting: Sequence[str], marks: Mapping[int, int]) -> None:
        self.lasting = frozenset(lasting)
        self.names = [*lasting]
        self.found: dict[int, Found] = {}
        # For each scene, the references that are followed, by what has them, and the writes below each
        # object.
        self.followed: list[dict[Node, dict[Key, int]]] = []
        self.written: list[dict[int, int]] = []
        self._reach = Reach(marks)
        for scene in scenes:
            self.names += [name for name in scene.holders if name not in self.names]
            self._scene = scene
            self._walk()

    def _walk(self) -> None:
        followed: dict[Node, dict[Key, int]] = {}
        self.followed.append(followed)
        self._reach.move_to(self._scene.heap)
        for lasts in (True, False):
            for name, root in self._scene.holders.items():
                if (name in self.lasting) is lasts and isinstance(root, Ref):
                    followed[name] = {"": root.address}
                    self._follow(name, followed, lasts=lasts)
        below = {child for slots in followed.values() for child in slots.values()}
        self.written.append({address: self._writes_below(address) for address in below})

    def _writes_below(self, address: int) -> int:
        return self._reach.of(Ref(address)) & ((1 << self._scene.writes) - 1)

    def _follow(self, holder: str, followed: dict[Node, dict[Key, int]], *, lasts: bool) -> None:
        queue: list[Node] = [holder]
        for node in queue:
            for key, address in followed[node].items():
                found = self._find(node, key, address, lasts=lasts)
                if address not in followed:
                    followed[address] = dict(self._opened(address, found))
                    queue.append(address)

    def _find(self, node: Node, key: Key, address: int, *, lasts: bool) -> Found:
        number, slot = len(self.followed) - 1, (node, key)
        kind, depth = self._kind(node, key, address)
        found = self.found.get(address)
        if found is None:
            found = self.found[address] = Found(kind, depth, slot, lasts, number, len(self.found))
        elif (lasts and not found.of_lasting) or (found.kind is Kind.RECORD and kind is not Kind.RECORD):
            found.owner, found.of_lasting = slot, lasts
        if found.kind is Kind.RECORD:
            found.kind, found.depth = kind, depth
        found.last = number
        found.slots.add(slot)
        return found

    # ---------------------------------------------------------------- what an object is

    def _kind(self, node: Node, key: Key, address: int) -> tuple[Kind, int]:
        """The kind of an object, and how far it is below the last one of another kind."""
        cell = self._scene.heap.cells[address]
        above = None if isinstance(node, str) else self.found[node]
        if above is None:
            return self._kind_below_record(key, cell), 0
        match above.kind:
            case Kind.RECORD:
                kind = self._kind_below_record(key, cell)
            case Kind.LIST:
                kind = Kind.MESSAGE if isinstance(cell, ObjectCell) else Kind.PAYLOAD
            case Kind.MESSAGE:
                kind = Kind.CONTENT if key in _CONTENTS else Kind.PAYLOAD
            case Kind.CONTENT:
                kind = Kind.CONTENT if key in _CONTENTS and isinstance(cell, tuple) else Kind.PART
            case _:
                kind = Kind.PAYLOAD
        return kind, above.depth + 1 if kind is above.kind else 0

    def _kind_below_record(self, key: Key, cell: Cell) -> Kind:
        if isinstance(cell, ObjectCell):
            return Kind.MESSAGE if isinstance(cell.get("role"), str) else Kind.RECORD
        cells = (self._scene.heap.cells[slot.address] for slot in cell if isinstance(slot, Ref))
        if any(isinstance(one, ObjectCell) and isinstance(one.get("role"), str) for one in cells):
            return Kind.LIST
        if not cell and key in _LISTS:
            return Kind.LIST
        return Kind.CONTENT if key in _CONTENTS else Kind.RECORD

    # ---------------------------------------------------------------- what is followed

    def _opened(self, address: int, found: Found) -> Iterator[tuple[Key, int]]:
        """The references of an object that are followed."""
        cell = self._scene.heap.cells[address]
        if found.kind is Kind.PAYLOAD and found.depth >= DEEPEST:
            return
        kept = None if found.kind is Kind.RECORD else self._drawn_elements(cell)
        for key, slot in keyed(cell):
            if not isinstance(slot, Ref):
                continue
            if found.kind is Kind.RECORD:
                named = isinstance(cell, ObjectCell) and self._leads_on(key, slot, found.depth)
                wanted = named or self._writes_below(slot.address)
            else:
                wanted = kept is None or key in kept
            if wanted:
                yield key, slot.address

    def _leads_on(self, key: Key, slot: Ref, depth: int) -> bool:
        """True if a field of a non-message holds messages, or an object with a list of them."""
        cell = self._scene.heap.cells[slot.address]
        kind = self._kind_below_record(key, cell)
        if kind is not Kind.RECORD:
            return kind is not Kind.CONTENT or depth == 0
        return (
            isinstance(cell, ObjectCell)
            and depth == 0
            and any(
                isinstance(inside, Ref)
                and self._kind_below_record(name, self._scene.heap.cells[inside.address]) is Kind.LIST
                for name, inside in cell.items()
            )
        )

    def _drawn_elements(self, cell: Cell) -> frozenset[Key] | None:
        """Returns which elements of a list are drawn, None for all: the ends, and some that were written."""
        if isinstance(cell, ObjectCell) or len(cell) <= FIRST + LAST:
            return None
        between = range(FIRST, len(cell) - LAST)
        written = (
            n for n in between if isinstance(slot := cell[n], Ref) and self._writes_below(slot.address)
        )
        return frozenset(range(len(cell))) - frozenset(between) | frozenset(islice(written, _MOST_WRITTEN))
