"""One program under one profile, step by step: what was handed out, what is one object, what each write did.

`explain` runs the program and gives an `Explanation`, a value that is printed in the terminal, drawn
(`Explanation.picture`) and written as JSON (`Explanation.to_json`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.heap.boundary_log import Alias, HandOut, Watch
from agentcore.heap.heap import DepthError
from agentcore.heap.player import Playable, Player, player
from agentcore.heap.player_runs import Moment, Recorded, of_core, of_watch
from agentcore.heap.pollution import Finding, Pollution, Reach, ones, written_path
from agentcore.heap.views import Write
from agentcore.kit.families import Each, Family, Refusal, Trace, family_of
from agentcore.kit.families import Recorded as RecordedProgram
from agentcore.kit.ops import RecordedRun
from agentcore.messages.brief import brief

if TYPE_CHECKING:
    from agentcore.heap.copying import Snapshot
    from agentcore.heap.pictures import Picture

__all__ = ["Boundary", "Explanation", "ExplanationError", "Step", "Writing", "explain"]

Json: TypeAlias = dict[str, Any]

_FROZEN: Final = (
    "Values are frozen: what is shared cannot be told from a copy, and a write is refused where it is made."
)
_NO_REFUSALS: Final = "Ops that an object refuses are not recorded for this family."


class ExplanationError(AgentCoreError):
    """A program that cannot be explained under a profile, or drawn here; the message says why."""


# --- the value ----------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Boundary:
    """A boundary: what was handed out to whom at that moment, and which of it others hold.

    Rule oracle.handed-out.

    `name` is the hook, handler, tool or `model`; `value` is plain JSON.
    """

    __repr__ = brief

    step: int
    name: str
    value: Any
    _aliases: Callable[[], tuple[Alias, ...]] = attrs.field(default=tuple, eq=False, repr=False)

    @cached_property
    def aliases(self) -> tuple[Alias, ...]:
        """The objects in it that have other names as well.

        Names of what outlives a step, and of what this step had handed out before.
        """
        return self._aliases()


@attrs.frozen(kw_only=True)
class Writing:
    """One in-place write, and how far it went (rule oracle.write-followed).

    `write` says who wrote what through which handle, and what was there before and after.
    """

    __repr__ = brief

    write: Write
    _traces: Traces = attrs.field(eq=False, repr=False)

    @property
    def step(self) -> int:
        """The step it was made in."""
        return self.write.step

    @property
    def finding(self) -> Finding:
        """The verdict on the write: how long it lasts, and where it is at the end."""
        return self._traces.findings[self.write.number]

    @property
    def objects(self) -> tuple[str, ...]:
        """The names that the written object had then."""
        return self._traces.objects[self.write.number]

    @property
    def shown(self) -> tuple[tuple[int, str], ...]:
        """The boundaries that handed the written thing out afterwards, with their steps, in order."""
        return self._traces.hand_outs_of_writes[self.write.number]


@attrs.frozen(kw_only=True)
class Step:
    """One step of the run: -1 is what comes before the first.

    `events` are its boundaries and writes in the order in which they came. `snapshot` is the moment when it
    handed something out for the last time, None where there is no heap.
    """

    __repr__ = brief

    number: int
    events: tuple[Boundary | Writing, ...]
    snapshot: Snapshot | None = attrs.field(repr=False)
    _aliases: Callable[[], tuple[Alias, ...]] = attrs.field(default=tuple, eq=False, repr=False)

    @cached_property
    def aliases(self) -> tuple[Alias, ...]:
        """The objects with several names when the step handed something out for the last time."""
        return self._aliases()

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """The boundaries of the step, in order."""
        return tuple(event for event in self.events if isinstance(event, Boundary))

    @property
    def writes(self) -> tuple[Writing, ...]:
        """The in-place writes of the step, in order."""
        return tuple(event for event in self.events if isinstance(event, Writing))


@attrs.frozen(kw_only=True)
class Explanation(Playable):
    """A program's run under a profile.

    `refusals` are ops that an object refused (rule oracle.refusal-told). `error` is what the run failed with,
    as the trace has it. `notes` say what this profile's runs do not record.
    """

    __repr__ = brief

    program: Mapping[str, Any] = attrs.field(repr=False)
    profile: str
    steps: tuple[Step, ...]
    refusals: tuple[Refusal, ...]
    error: Any
    notes: tuple[str, ...]
    _recorded: Callable[[Explanation], Recorded] = attrs.field(eq=False, repr=False)

    @property
    def recorded(self) -> Recorded:
        """The run as the player takes it."""
        return self._recorded(self)

    def player(self, against: Explanation | None = None) -> Player:
        """The player of the run, or of two runs of the program side by side."""
        title = f"program {self.program.get('id')}"
        return player(self, title=title) if against is None else player(self, against, title=title)

    @property
    def writes(self) -> tuple[Writing, ...]:
        """All in-place writes, in order."""
        return tuple(write for step in self.steps for write in step.writes)

    def picture(self) -> Picture:
        """Draws who holds what at the end of each step; what the step wrote has a rim.

        Raises:
            ExplanationError: where there is no heap to be drawn, or the extra `pictures` is not installed.
        """
        try:
            from agentcore.heap.pictures import alias_graphs  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise ExplanationError(
                f"{error.name} is not installed; pictures need the extra: "
                "pip install 'agentcore-reference[pictures]'"
            ) from error
        written = {
            step.number: {
                one.write.address: f"{one.write.operation} by {one.write.hook}" for one in step.writes
            }
            for step in self.steps
        }
        moments = [step.snapshot for step in self.steps if step.snapshot is not None]
        if not moments:
            raise ExplanationError(f"there is nothing to draw under {self.profile}: {' '.join(self.notes)}")
        return alias_graphs([(moment, written[moment.step]) for moment in moments])

    def to_json(self) -> Json:
        """The explanation as plain JSON."""
        return {
            "profile": self.profile,
            "program": dict(self.program),
            "steps": [_step_json(step) for step in self.steps],
            "refusals": [attrs.asdict(one) | {"path": list(one.path)} for one in self.refusals],
            "error": self.error,
            "notes": list(self.notes),
        }


def _step_json(step: Step) -> Json:
    return {
        "step": step.number,
        "events": [
            _boundary_json(event) if isinstance(event, Boundary) else _write_json(event)
            for event in step.events
        ],
        "aliases": [list(alias.paths) for alias in step.aliases],
    }


def _boundary_json(boundary: Boundary) -> Json:
    shared = [list(alias.paths) for alias in boundary.aliases]
    return {"boundary": boundary.name, "value": boundary.value, "aliases": shared}


def _write_json(writing: Writing) -> Json:
    finding, write = writing.finding, writing.write
    return {
        "write": write.operation,
        "by": write.hook,
        "path": [*write.handle] if write.key is None else [*write.handle, write.key],
        "before": write.before,
        "after": write.after,
        "objects": list(writing.objects),
        "lasts": finding.verdict.value,
        "reach": list(finding.reach),
        "at the end": dict(finding.paths),
        "prompts": list(finding.prompts),
        "first seen": finding.first_seen,
        "shown": [{"step": step, "boundary": boundary} for step, boundary in writing.shown],
    }


# --- making it ----------------------------------------------------------------------------------------------


def explain(program: Json, profile: str) -> Explanation:
    """The run of a program under a profile, step by step.

    Raises:
        UnknownProfileError: if no family has the profile.
        BadProgram: if the program is none of the profile's family.
        ExplanationError: if the profile's package lacks something that the program needs, or runs of the
            family cannot be looked into, or its hooks build a value that is too deep to be shown.
    """
    family = family_of(profile)
    family.require(program)
    if family.recording is None:
        raise ExplanationError(f"runs of the family {family.name} cannot be looked into")
    recorded = family.recording(program, profile)
    watch = None if recorded.loop is None else Watch(recorded.loop)
    try:
        trace = _run(recorded, profile)
        steps = tuple(_observed(trace, family) if watch is None else _watched(watch))
    except DepthError as error:
        raise ExplanationError(f"a hook of the program built what cannot be shown: {error}") from None
    heapless = () if watch is not None else (_FROZEN,)
    unrecorded = () if family.tells_refusals else (_NO_REFUSALS,)
    return Explanation(
        program=program,
        profile=profile,
        steps=steps,
        refusals=tuple(recorded.refusals),
        error=trace.get("error"),
        notes=(*heapless, *unrecorded, *family.notes(trace)),
        recorded=partial(_for_player, recorded, watch),
    )


def _for_player(recorded: RecordedProgram, watch: Watch | None, found: Explanation) -> Recorded:
    """The run as the player takes it, with the ops that were refused where they stand."""
    error = None if found.error is None else f"{found.error['name']}: {found.error['message']}"
    if watch is not None:
        told = of_watch(watch, Pollution(watch.run), found.profile, error=error, notes=found.notes)
    elif isinstance(recorded, RecordedRun) and recorded.run is not None:
        told = of_core(recorded.run, found.profile)
    else:
        told = Recorded(
            name=found.profile,
            moments=[
                Moment(kind="boundary", step=one.step, name=one.name, value=one.value)
                for step in found.steps
                for one in step.boundaries
            ],
            prompts=[],
            notes=found.notes,
            error=error,
        )
    moments = [one for one in told.moments if one.kind != "refusal" or not found.refusals]
    return attrs.evolve(told, moments=[*_with_refusals(moments, found.refusals)])


_STEP: Final = re.compile(r"step (\d+), (.+)")


def _with_refusals(moments: Iterable[Moment], refusals: Iterable[Refusal]) -> Iterator[Moment]:
    """The moments, each followed by the ops of its hook that were refused; the last by those of no hook."""
    waiting = [*refusals]
    last: Moment | None = None
    for moment in moments:
        here = [one for one in waiting if moment.kind == "boundary" and _is_at(one, moment)]
        if moment.kind == "end":
            here, waiting = waiting, []
            yield from (_refused(one, last or moment) for one in here)
            yield moment
            continue
        yield moment
        yield from (_refused(one, moment) for one in here)
        waiting = [one for one in waiting if one not in here]
        last = moment


def _is_at(refusal: Refusal, moment: Moment) -> bool:
    found = _STEP.fullmatch(refusal.where)
    if found is None or int(found[1]) != moment.step:
        return False
    return found[2].lower() == moment.name.replace("_", "").lower()


def _refused(refusal: Refusal, at: Moment) -> Moment:
    path = written_path("", refusal.path, None).removeprefix(".")
    text = f"op {refusal.op} at {path} is refused: {refusal.reason}"
    return attrs.evolve(at, kind="refusal", value=None, names=(), text=text)


def _run(recorded: RecordedProgram, profile: str) -> Trace:
    trace = recorded.trace()
    if "unsupported" in trace:
        raise ExplanationError(f"{profile} cannot run the program: {trace['unsupported']}")
    return trace


def _observed(trace: Trace, family: Family) -> Iterator[Step]:
    """The steps of a run without a heap, as its trace shows them."""
    each = next(entry for entry in family.comparison.order if isinstance(entry, Each))
    for number, step in enumerate(trace[each.field]):
        told = [name for name in each.fields if isinstance(step.get(name), dict | list) and step[name]]
        events = tuple(Boundary(step=number, name=name, value=step[name]) for name in told)
        yield Step(number=number, events=events, snapshot=None)


class Traces:
    """The fate of a run's writes, computed when first read."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._pollution = Pollution(watch.run)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The verdict on each write: how long it lasts, and where it is at the end."""
        return self._pollution.findings

    @property
    def objects(self) -> tuple[tuple[str, ...], ...]:
        """For each write, the names that the written object had then."""
        return self._watch.objects

    @cached_property
    def hand_outs_of_writes(self) -> tuple[tuple[tuple[int, str], ...], ...]:
        """For each write, what handed out afterwards something in which it can be seen."""
        shown: list[list[tuple[int, str]]] = [[] for _ in self._watch.run.desk.journal]
        reach = Reach(self._pollution.marks)
        for one in self._watch.handed:
            reach.move_to(one.snapshot.heap)
            for number in ones(reach.of(one.slot)):
                if one.writes > number:
                    shown[number].append((one.step, one.boundary))
        return tuple(map(tuple, shown))


def _watched(watch: Watch) -> Iterator[Step]:
    """The steps of a run on the heap."""
    traces = Traces(watch)
    handed: dict[int, list[HandOut]] = {}
    for one in watch.handed:
        handed.setdefault(one.step, []).append(one)
    writes: dict[int, list[Writing]] = {}
    for write in watch.run.desk.journal:
        writes.setdefault(write.step, []).append(Writing(write=write, traces=traces))
    for number in sorted({*handed, *writes}):
        own = handed.get(number, [])
        yield Step(
            number=number,
            events=tuple(_in_order(watch, own, writes.get(number, []))),
            snapshot=own[-1].snapshot if own else None,
            aliases=partial(watch.aliases_after, own[-1].number) if own else tuple,
        )


def _in_order(
    watch: Watch, handed: Iterable[HandOut], writes: Iterable[Writing]
) -> Iterator[Boundary | Writing]:
    ordered: list[tuple[int, int, Boundary | Writing]] = [
        *((one.writes, 1, _boundary(watch, one)) for one in handed),
        *((one.write.number, 2, one) for one in writes),
    ]
    yield from (event for _, _, event in sorted(ordered, key=lambda entry: entry[:2]))


def _boundary(watch: Watch, one: HandOut) -> Boundary:
    if isinstance(one.value, DepthError):
        raise one.value
    number = one.number
    return Boundary(step=one.step, name=one.boundary, value=one.value, aliases=lambda: watch.aliases[number])
