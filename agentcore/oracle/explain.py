"""One program under one profile, step by step: what was handed out, what is one object, what each write did.

`explain` runs the program and gives an `Explanation`, a value that is told in the terminal, drawn
(`Explanation.picture`) and written as JSON (`Explanation.to_json`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from agentcore.brief import brief
from agentcore.compat.handouts import Alias, HandOut, Watch, aliases
from agentcore.compat.heap import DepthError, Store
from agentcore.compat.pollution import Finding, carriers, findings
from agentcore.errors import AgentCoreError
from agentcore.oracle.families import Each, Family, Recorded, Refusal, Trace, family_of

if TYPE_CHECKING:
    from agentcore.compat.pictures import Picture
    from agentcore.compat.snapshots import Snapshot

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
    """Something that was handed out: to whom, what it was at that moment, and what of it others hold.

    Rule oracle.handed-out.

    `name` is the hook, handler, tool or `model`; `value` is plain JSON. `aliases` are the objects in it that
    have other names, too: of what outlives a step, and of what this step had handed out before.
    """

    __repr__ = brief

    step: int
    name: str
    value: Any
    aliases: tuple[Alias, ...]


@attrs.frozen(kw_only=True)
class Writing:
    """One in-place write, and how far it went (rule oracle.write-followed).

    `finding` says who wrote what through which handle, what was there before and after, how long it lasts and
    where it is at the end. `objects` are the names that the written object had then; `shown` are the
    boundaries that handed the written thing out afterwards, with their steps, the first of them first.
    """

    __repr__ = brief

    finding: Finding
    objects: tuple[str, ...]
    shown: tuple[tuple[int, str], ...]

    @property
    def step(self) -> int:
        """The step it was made in."""
        return self.finding.write.step


@attrs.frozen(kw_only=True)
class Step:
    """One step of the run: -1 is what comes before the first.

    `events` are its boundaries and writes in the order in which they came. `aliases` are the objects with
    several names when it handed something out for the last time; `snapshot` is that moment, None where there
    is no heap.
    """

    __repr__ = brief

    number: int
    events: tuple[Boundary | Writing, ...]
    aliases: tuple[Alias, ...]
    snapshot: Snapshot | None = attrs.field(repr=False)

    @property
    def boundaries(self) -> tuple[Boundary, ...]:
        """What was handed out."""
        return tuple(event for event in self.events if isinstance(event, Boundary))

    @property
    def writes(self) -> tuple[Writing, ...]:
        """What was written in place."""
        return tuple(event for event in self.events if isinstance(event, Writing))


@attrs.frozen(kw_only=True)
class Explanation:
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

    @property
    def writes(self) -> tuple[Writing, ...]:
        """All in-place writes, in order."""
        return tuple(write for step in self.steps for write in step.writes)

    def picture(self) -> Picture:
        """Who holds what at the end of each step, what was written in it being rimmed.

        Raises:
            ExplanationError: where there is no heap to be drawn, or the extra `pictures` is not installed.
        """
        try:
            from agentcore.compat.pictures import alias_graphs  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise ExplanationError(
                f"{error.name} is not installed; pictures need the extra: "
                "pip install 'agentcore-reference[pictures]'"
            ) from error
        written = {step.number: [one.finding.write.address for one in step.writes] for step in self.steps}
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
    finding, write = writing.finding, writing.finding.write
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
    unrecorded = () if family.name == "ai-sdk" else (_NO_REFUSALS,)
    return Explanation(
        program=program,
        profile=profile,
        steps=steps,
        refusals=tuple(recorded.refusals),
        error=trace.get("error"),
        notes=(*heapless, *unrecorded),
    )


def _run(recorded: Recorded, profile: str) -> Trace:
    trace = recorded.trace()
    if "unsupported" in trace:
        raise ExplanationError(f"{profile} cannot run the program: {trace['unsupported']}")
    return trace


def _observed(trace: Trace, family: Family) -> Iterator[Step]:
    """The steps of a run without a heap, as its trace shows them."""
    each = next(entry for entry in family.comparison.order if isinstance(entry, Each))
    for number, step in enumerate(trace[each.field]):
        told = [name for name in each.fields if isinstance(step.get(name), dict | list) and step[name]]
        events = tuple(Boundary(step=number, name=name, value=step[name], aliases=()) for name in told)
        yield Step(number=number, events=events, aliases=(), snapshot=None)


def _watched(watch: Watch) -> Iterator[Step]:
    """The steps of a run on the heap."""
    run = watch.run
    found = zip(findings(run), carriers(run), strict=True)
    writes = [
        Writing(
            finding=finding,
            objects=watch.names[finding.write.number],
            shown=tuple(_shown(finding, carried, watch.handed)),
        )
        for finding, carried in found
    ]
    numbers = {one.step for one in watch.handed} | {one.step for one in writes}
    for number in sorted(numbers):
        handed = [one for one in watch.handed if one.step == number]
        last = handed[-1].snapshot if handed else None
        yield Step(
            number=number,
            events=tuple(_in_order(handed, [one for one in writes if one.step == number])),
            aliases=() if last is None else aliases(last.heap, last.holders),
            snapshot=last,
        )


def _shown(finding: Finding, carried: frozenset[int], handed: Iterable[HandOut]) -> Iterator[tuple[int, str]]:
    """What handed out, after a write, something in which it can be seen."""
    for one in handed:
        after = one.writes > finding.write.number
        if after and not carried.isdisjoint(one.snapshot.heap.reached(one.slot)):
            yield one.step, one.boundary


def _in_order(handed: Iterable[HandOut], writes: Iterable[Writing]) -> Iterator[Boundary | Writing]:
    ordered = [*((one.writes, 1, _boundary(one)) for one in handed)]
    ordered += [(one.finding.write.number, 2, one) for one in writes]  # type: ignore[misc]
    yield from (event for _, _, event in sorted(ordered, key=lambda entry: entry[:2]))


def _boundary(one: HandOut) -> Boundary:
    now = one.snapshot
    value = Store.of(now.heap).plain(one.slot)
    known = aliases(now.heap, now.holders)
    own = tuple(alias for alias in known if one.boundary in alias.holders and len(alias.holders) > 1)
    return Boundary(step=one.step, name=one.boundary, value=value, aliases=own)
