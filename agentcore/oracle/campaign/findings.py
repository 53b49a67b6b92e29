"""What a check tells: programs made as small as the time allowed, of each kind of fault one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from agentcore.kit.compare import Difference
from agentcore.kit.shrink import smaller
from agentcore.messages.brief import brief
from agentcore.oracle.campaign.batches import Found, Selection
from agentcore.oracle.campaign.stop_rules import Interrupted
from agentcore.oracle.campaign.verdicts import Fault, Kind, Raised, Tested, Wrong
from agentcore.oracle.drivers.driver import Failure, Hung, Malformed

if TYPE_CHECKING:
    from agentcore.kit.isolation import Breach

__all__ = ["Disagreement", "DriverFailure", "Finding", "ReferenceFailure", "settled", "unsettled"]

Json: TypeAlias = dict[str, Any]


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
        """What the driver did, for people."""
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
        # Rule oracle.never-lost: what was found is told; the campaign asks `arrived` whether to go on.
        pass
    return _told(smallest, latest.get(sides.family.to_line(smallest), found.fault), found.program)


def unsettled(found: Found) -> Finding:
    """The program as it was found."""
    return _told(found.program, found.fault, found.program)


def _unrepeated(found: Found) -> Finding:
    program, fault = found.program, found.fault
    if isinstance(fault, Wrong):
        outcome = Malformed("the answer changed when the program was run a second time", "", "")
        kind = Kind("changed", fault.kind.where)
        return DriverFailure(kind=kind, program=program, original=program, outcome=outcome, repeated=False)
    told = unsettled(found)
    return attrs.evolve(told, repeated=False) if isinstance(told, DriverFailure) else told


def _told(program: Json, fault: Fault, original: Json) -> Finding:
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
