"""A campaign's programs, run in batches, and its findings: one for each kind of fault, made small.

Rule oracle.started-again: a driver that fails takes nothing with it but the program that it was at.
"""

from __future__ import annotations

import difflib
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.compare import Difference
from agentcore.kit.families import Family, without_writes
from agentcore.kit.program import BadProgram, Place, at, put, without
from agentcore.kit.safe_text import cut
from agentcore.kit.shrink import smaller
from agentcore.messages.brief import brief
from agentcore.oracle.campaign.stop_rules import Interrupted, Limits, Tally, reason
from agentcore.oracle.campaign.verdicts import (
    AGREED,
    Failed,
    Fault,
    Kind,
    Raised,
    Tested,
    Verdict,
    Wrong,
    left_out,
    unsupported,
)
from agentcore.oracle.drivers.driver import Failure, Hung, Implementation, Malformed

if TYPE_CHECKING:
    from agentcore.kit.isolation import Breach

__all__ = [
    "WINDOW",
    "Chunk",
    "Disagreement",
    "DriverFailure",
    "Finding",
    "Found",
    "OtherFormatError",
    "ReferenceFailure",
    "Selection",
    "UnknownFeatureError",
    "matching",
    "parsed",
    "run_chunk",
    "settled",
    "unsettled",
]

Json: TypeAlias = dict[str, Any]

_FORMATS: Final = 10
_TEXT: Final = 200
WINDOW: Final = 16
"""How many programs a driver is given ahead of the one that it is waited for."""


class OtherFormatError(AgentCoreError):
    """The driver says that it speaks formats of programs among which the family's is not."""


@attrs.frozen(kw_only=True)
class Found:
    """A program with something to report, and what that is."""

    program: Json
    fault: Fault


@attrs.frozen(kw_only=True)
class Chunk:
    """The outcomes of a chunk of programs, in their order, and the first fault of each kind.

    `features` are those of each program, none of one that was left out.
    `seconds` is how long it took, of which `waiting` was spent on the driver's answers. `implementation` is
    what the driver said that it is. `stopped` says what stopped it before its end, after something was found.
    """

    kinds: tuple[Kind, ...]
    features: tuple[Collection[str], ...]
    found: Mapping[Kind, Found]
    seconds: float
    waiting: float
    implementation: Implementation | None
    stopped: str = ""


def parsed(programs: Iterable[Json], family: Family) -> Iterator[Json]:
    """The programs as their lines say, so that both sides run the same, whatever is shared in memory.

    Raises BadProgram when it comes to an invalid one.
    """
    # A generator may put one object in two places; over a pipe it is two, and the reference would run
    # another program than the driver.
    return (family.parse(family.to_line(program)) for program in programs)


def run_chunk(  # noqa: PLR0913 - the last have defaults that fit most uses
    sides: Tested,
    programs: Iterable[Json],
    *,
    selection: Selection,
    limits: Limits,
    window: int = WINDOW,
    trims: bool = False,
    over: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda _: None,
) -> Chunk:
    """Runs the programs until there are no more, a limit is reached, or it is `over`.

    Features that the driver says it does not support are left out too; with `trims` they are taken out of
    programs where that is possible, rather than the programs being left out. `progress` is called with the
    number of programs done. What the driver still has to answer in the end is forgotten, with its process.
    Then it is asked what causes each of the wrong traces.

    Raises:
        OtherFormatError: if the driver says that it runs programs of other formats only.
    """
    return _Run(sides, selection, limits, window, trims=trims).chunk(programs, over, progress)


class _Run:
    def __init__(
        self, sides: Tested, selection: Selection, limits: Limits, window: int, *, trims: bool
    ) -> None:
        self._sides = sides
        self._trims = trims
        self._window = window
        self._tally = Tally(limits)
        self._kinds: list[Kind] = []
        self._features: list[Collection[str]] = []
        self._found: dict[Kind, Found] = {}
        self._wrong: dict[int, Found] = {}
        self._waiting = 0.0
        self._begun = time.monotonic()
        # Why there was no start is what becomes of the first program; the next one gets another process.
        self._unstarted: Failure | None = self._waited(sides.driver.start)
        said = sides.driver.implementation
        if said and sides.family.name not in said.formats:
            formats = cut(", ".join(said.formats[:_FORMATS]), _TEXT) or "none"
            raise OtherFormatError(f"the driver runs no {sides.family.name} programs; it has said: {formats}")
        self._selection = selection.without(said.unsupported) if said else selection

    def chunk(
        self, programs: Iterable[Json], over: Callable[[], bool], progress: Callable[[int], None]
    ) -> Chunk:
        stopped = ""
        try:
            self._run(iter(programs), over, progress)
            self._explain()
        except (Exception, Interrupted) as error:
            # Rule oracle.never-lost: whatever it is, it takes nothing with it that was found before.
            if not self._found:
                raise
            stopped = reason(error)
        # Answers that are due belong to programs beyond the end, and would be taken for those of the next
        # ones.
        if self._sides.driver.pending:
            self._sides.driver.close()
        return Chunk(
            kinds=tuple(self._kinds),
            features=tuple(self._features),
            found=self._found,
            seconds=time.monotonic() - self._begun,
            waiting=self._waiting,
            implementation=self._sides.driver.implementation,
            stopped=stopped,
        )

    def _run(self, source: Iterator[Json], over: Callable[[], bool], progress: Callable[[int], None]) -> None:
        queue: deque[tuple[Json, str | None]] = deque()
        while not (self._tally.ended or over()):
            self._fill(queue, source)
            if not queue:
                return
            self._take(*queue.popleft())
            progress(self._tally.run)

    def _explain(self) -> None:
        """Finds what causes each wrong trace, which makes kinds of what was one (rule oracle.grouped)."""
        if not self._wrong:
            return
        if self._sides.driver.pending:
            self._sides.driver.close()
        # Kinds change by their cause, so the first fault of each is found anew, still in the order of the
        # programs.
        found, explained = self._found, dict[Kind, Found]()
        try:
            for number, kind in enumerate(self._kinds):
                one = self._wrong.get(number) or found.get(kind)
                if number in self._wrong and one is not None and isinstance(one.fault, Wrong):
                    one = Found(program=one.program, fault=self._sides.explained(one.program, one.fault))
                    self._kinds[number] = one.fault.kind
                if one is not None:
                    explained.setdefault(one.fault.kind, one)
        except BaseException:
            # Those that were not come to keep the kind that they have (rule oracle.never-lost).
            self._found = {**found, **explained}
            raise
        self._found = explained

    def _fill(self, queue: deque[tuple[Json, str | None]], source: Iterator[Json]) -> None:
        driver = self._sides.driver
        while driver.pending < self._window and not self._stands(queue):
            program = next(source, None)
            if program is None:
                return
            if self._trims:
                program = self._selection.trimmed(program)
            refused = self._selection.refused(program)
            queue.append((program, refused))
            if refused is None and self._unstarted is None:
                self._sides.submit(program)

    def _stands(self, queue: deque[tuple[Json, str | None]]) -> bool:
        """True if no process could be started and a program to run is queued: its outcome is that failure."""
        return self._unstarted is not None and any(refused is None for _, refused in queue)

    def _take(self, program: Json, refused: str | None) -> None:
        # Before the reference has it, which may do with its program what it likes.
        features = () if refused is not None else self._sides.family.features(program)
        verdict = None if refused is not None else self._verdict(program)
        kind = _kind(verdict) if refused is None else left_out(refused)
        if isinstance(verdict, Wrong):
            self._wrong[len(self._kinds)] = Found(program=program, fault=verdict)
        self._features.append(features)
        self._kinds.append(kind)
        if isinstance(verdict, Fault) and kind not in self._found:
            self._found[kind] = Found(program=program, fault=verdict)
        self._tally.add(kind)

    def _verdict(self, program: Json) -> Verdict:
        unstarted, self._unstarted = self._unstarted, None
        if unstarted is not None:
            return Failed(unstarted)
        return self._sides.receive(program, self._waited)

    def _waited(self, ask: Callable[[], Any]) -> Any:
        since = time.monotonic()
        found = ask()
        self._waiting += time.monotonic() - since
        return found


def _kind(verdict: Verdict) -> Kind:
    if verdict is None:
        return AGREED
    return verdict.kind if isinstance(verdict, Fault) else unsupported(verdict.reason)


# Which programs are run: those with features that are asked for, without those that are left out.
#
# Rule oracle.left-out.


class UnknownFeatureError(AgentCoreError, LookupError):
    """No feature of the family has this name or fits this pattern; `near` are names like it."""

    def __init__(self, pattern: str, family: str, near: Sequence[str]) -> None:
        super().__init__(pattern, family, near)
        self.pattern = pattern
        self.family = family
        self.near = tuple(near)

    def __str__(self) -> str:
        hint = f"; near it are {', '.join(self.near)}" if self.near else ""
        return f"no feature of {self.family} programs is named {self.pattern!r}{hint}"


def matching(pattern: str, family: Family) -> frozenset[str]:
    """The names of features that fit a pattern of the shell (`op *`), in which case counts.

    Raises:
        UnknownFeatureError: where none does.
    """
    found = frozenset(name for name in family.feature_names if fnmatchcase(name, pattern))
    if not found:
        near = difflib.get_close_matches(pattern, family.feature_names, n=5, cutoff=0.5)
        raise UnknownFeatureError(pattern, family.name, near)
    return found


@attrs.frozen
class Selection:
    """A program is run if of each of the `wanted` sets it has a feature, and none of the `unwanted`."""

    family: Family
    wanted: tuple[frozenset[str], ...] = ()
    unwanted: frozenset[str] = frozenset()

    @classmethod
    def of(cls, family: Family, include: Iterable[str], exclude: Iterable[str]) -> Selection:
        """From patterns, every one of `include` and none of `exclude`.

        Raises:
            UnknownFeatureError: for a pattern that no feature's name fits.
        """
        unwanted = frozenset[str]().union(*(matching(pattern, family) for pattern in exclude))
        return cls(family, tuple(matching(pattern, family) for pattern in include), unwanted)

    def without(self, features: Collection[str]) -> Selection:
        """The same, with these features left out too."""
        return attrs.evolve(self, unwanted=self.unwanted.union(features))

    def has(self, program: Json) -> bool:
        """True if the selection includes the program."""
        return self.refused(program) is None

    def refused(self, program: Json) -> str | None:
        """Why the program is not run; None if it is."""
        if not self.wanted and not self.unwanted:
            return None
        features = {*self.family.features(program)}
        missing = next((wanted for wanted in self.wanted if wanted.isdisjoint(features)), None)
        if missing is not None:
            name, *others = sorted(missing)
            return f"has no {name}" + (f", nor {len(others)} others" if others else "")
        return next((f"has {name}" for name in sorted(self.unwanted & features)), None)

    def trimmed(self, program: Json) -> Json:
        """The program without what has features that are left out, as far as it can do without.

        What is left is still a program of the format, and has lost nothing else (rule oracle.left-out).
        """
        left = self._left(program)
        while left:
            smaller = (
                self._without_ops(program, left)
                or self._without_kind(program, left)
                or self._without_part(program, left, ())
            )
            if smaller is None:
                break
            program, left = smaller, self._left(smaller)
        return program

    def _left(self, program: Json) -> frozenset[str]:
        """Returns the program's features that are left out."""
        return self.unwanted.intersection(self.family.features(program)) if self.unwanted else frozenset()

    def _better(self, candidate: Json, left: frozenset[str]) -> bool:
        return self._is_program(candidate) and len(self._left(candidate)) < len(left)

    def _without_ops(self, program: Json, left: frozenset[str]) -> Json | None:
        """The program without an op, all ops of a verb, or all those of a hook: the first that helps."""
        writes = [*self.family.writes(program)]
        # From the end: taking out a late op changes least of what the ops before it meet.
        groups = [[write] for write in reversed(writes)]
        groups += [[one for one in writes if one.op == op] for op in {write.op: None for write in writes}]
        groups += [[one for one in writes if one.hook == hook] for hook in {w.hook: None for w in writes}]
        return self._first(left, (without_writes(program, group) for group in groups))

    def _without_kind(self, program: Json, left: frozenset[str]) -> Json | None:
        """The program without all parts of one type in one of its fields: the first that helps."""
        kinds = [(field, kind) for field in program for kind in dict.fromkeys(_types(program[field]))]
        without_one = ({**program, field: _without_type(program[field], kind)} for field, kind in kinds)
        return self._first(left, without_one)

    def _first(self, left: frozenset[str], candidates: Iterable[Json]) -> Json | None:
        return next((each for each in candidates if self._better(each, left)), None)

    def _without_part(self, program: Json, left: frozenset[str], inside: Place) -> Json | None:
        """The program without the smallest part inside a place that has something unwanted."""
        value = at(program, inside)
        for key in [*value] if isinstance(value, dict) else [*reversed(range(len(value)))]:
            place = (*inside, key)
            whole: Json = without(program, place)
            is_program = self._is_program(whole)
            if is_program and not self._better(whole, left):
                # Without all of it there is nothing less, so there is not without a part of it either.
                continue
            if smaller := self._less(program, left, place):
                return smaller
            if is_program:
                return whole
        return None

    def _less(self, program: Json, left: frozenset[str], place: Place) -> Json | None:
        """The program with less at a place where something unwanted may be, or must be something."""
        value = at(program, place)
        less = (put(program, place, other) for other in self.family.shrinking.merged(value))
        found = self._first(left, less)
        if found is None and isinstance(value, dict | list):
            found = self._without_part(program, left, place)
        return found

    def _is_program(self, value: Json) -> bool:
        try:
            self.family.require(value)
        except BadProgram:
            return False
        return bool(self.family.shrinking.within(value))


def _types(value: Any) -> Iterator[str]:
    """The types of the parts in lists, at any depth."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(value, list) and isinstance(part, dict) and isinstance(part.get("type"), str):
            yield part["type"]
        yield from _types(part)


def _without_type(value: Any, kind: str) -> Any:
    """The value without the parts of a type in its lists."""
    if isinstance(value, dict):
        return {key: _without_type(child, kind) for key, child in value.items()}
    if not isinstance(value, list):
        return value
    kept = (part for part in value if not (isinstance(part, dict) and part.get("type") == kind))
    return [_without_type(part, kind) for part in kept]


# ---------------------------------------------------------------- what is found


@attrs.frozen(kw_only=True)
class _Base:
    """`original` is the program that was found, `programs` how many there were of its kind."""

    __repr__ = brief

    kind: Kind
    program: Json
    original: Json
    programs: int = 1


@attrs.frozen(kw_only=True)
class Disagreement(_Base):
    """A program with two traces, made as small as the time allowed; `original` is the one that was found.

    In a check of isolation both traces are the driver's, and `breach` says what differs and why.
    """

    __repr__ = brief

    expected: Json
    actual: Json
    difference: Difference
    breach: Breach | None = None


@attrs.frozen(kw_only=True)
class DriverFailure(_Base):
    """The driver did not answer; says nothing about the implementation.

    `repeated` says whether the driver failed in the same way when it was given the program once more, alone;
    only then the program was made smaller.
    """

    __repr__ = brief

    outcome: Failure
    repeated: bool

    @property
    def reason(self) -> str:
        """Describes what the driver did."""
        if isinstance(self.outcome, Hung):
            return f"no answer within {self.outcome.seconds:g} seconds"
        if isinstance(self.outcome, Malformed) and self.outcome.output:
            return f"{self.outcome.reason}: {self.outcome.output}"
        return self.outcome.reason


@attrs.frozen(kw_only=True)
class ReferenceFailure(_Base):
    """The reference raised, which it does for no program; made as small as the time allowed."""

    __repr__ = brief

    traceback: str


Finding: TypeAlias = Disagreement | DriverFailure | ReferenceFailure


def settled(sides: Tested, found: Found, selection: Selection, *, seconds: float, any_place: bool) -> Finding:
    """The smallest program found of the same kind as the given one, within the selection.

    The features that the driver says it does not support are no part of it either. With `any_place` a wrong
    trace may differ first at another place than the one that was found, but not by another cause: the
    program may be smaller still. A driver that has failed is asked once more before its program is made
    smaller, and so is one that has answered wrongly: an answer that is another then is a failure too. If
    a signal interrupts it, the smallest program so far is the finding.
    """
    latest: dict[str, Fault] = {}
    said = sides.driver.implementation
    within = selection.without(said.unsupported) if said else selection

    def holds(candidate: Json) -> bool:
        # Rule oracle.shrunk-within: a program that was found stays what was asked for.
        if candidate is not found.program and not within.has(candidate):
            return False
        fault = sides.again(candidate, found.fault, any_place=any_place)
        if fault is None:
            return False
        latest[sides.family.to_line(candidate)] = fault
        return True

    smallest = found.program
    try:
        if not holds(smallest):
            return _unrepeated(found)
        for program in smaller(found.program, holds, sides.family, seconds=seconds):
            smallest = program
    except Interrupted:
        # Rule oracle.never-lost: what was found is reported; the campaign asks `arrived` whether to go on.
        pass
    return _finding_of(smallest, latest.get(sides.family.to_line(smallest), found.fault), found.program)


def unsettled(found: Found) -> Finding:
    """The program as it was found."""
    return _finding_of(found.program, found.fault, found.program)


def _unrepeated(found: Found) -> Finding:
    program, fault = found.program, found.fault
    if isinstance(fault, Wrong):
        outcome = Malformed("the answer changed when the program was run a second time", "", "")
        kind = Kind("changed", fault.kind.where)
        return DriverFailure(kind=kind, program=program, original=program, outcome=outcome, repeated=False)
    told = unsettled(found)
    return attrs.evolve(told, repeated=False) if isinstance(told, DriverFailure) else told


def _finding_of(program: Json, fault: Fault, original: Json) -> Finding:
    match fault:
        case Wrong(expected=expected, actual=actual, difference=difference, breach=breach):
            return Disagreement(
                kind=fault.kind,
                program=program,
                original=original,
                expected=expected,
                actual=actual,
                difference=difference,
                breach=breach,
            )
        case Raised(traceback=text):
            return ReferenceFailure(kind=fault.kind, program=program, original=original, traceback=text)
    return DriverFailure(
        kind=fault.kind, program=program, original=original, outcome=fault.outcome, repeated=True
    )
