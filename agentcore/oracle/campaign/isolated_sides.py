"""A driver beside itself: each program with its writes and by value (rule isolated.two-runs)."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from agentcore.kit.compare import Difference, differences
from agentcore.kit.families import Comparison, Family
from agentcore.kit.isolation.judge import Judge, JudgedBy, isolation_of
from agentcore.kit.isolation.shape import Breach
from agentcore.kit.outcomes import Answer, Outcome, Unsupported
from agentcore.oracle.campaign.scope import ALL, Scope
from agentcore.oracle.campaign.verdicts import Failed, Fault, Verdict, Wrong
from agentcore.oracle.drivers.driver import Driver

__all__ = ["Isolated", "prepared"]

Json: TypeAlias = dict[str, Any]
Waited: TypeAlias = Callable[[Callable[[], Any]], Any]


def prepared(programs: Iterable[Json], family: Family) -> Iterator[Json]:
    """Yields the programs as a check of isolation runs them."""
    known = isolation_of(family)
    return (known.prepared(known.varied(program)) for program in programs)


class Isolated:
    """The driver of an implementation, and the judge of what it does with each program by value.

    Of the faults that a program shows one is its verdict, picked by the program's text: else a fault that
    every program shows would hide all others.
    """

    def __init__(self, driver: Driver, family: Family, scope: Scope = ALL) -> None:
        self.driver = driver
        self.family = family
        self._judge = Judge(family)
        self._scope = scope
        self._variants: deque[int] = deque()
        # Answered already, because something else had to be run in between.
        self._ahead: deque[Outcome] = deque()

    def submit(self, program: Json) -> None:
        """Hands over the runs that every judgement begins with."""
        variants = self._judge.variants(self._judge.known.prepared(program))
        self._variants.append(len(variants))
        for variant in variants:
            self.driver.submit(variant)

    def receive(self, program: Json, waited: Waited) -> Verdict:
        """What becomes of the program that was submitted first."""
        program = self._judge.known.prepared(program)
        outcomes = [waited(self._next) for _ in range(self._variants.popleft())]
        return self._verdict(
            program, self._judged(program, outcomes, lambda one: waited(lambda: self._ask(one)))
        )

    def verdict(self, program: Json) -> Verdict:
        """What becomes of one program, while nothing else is pending."""
        self.submit(program)
        return self.receive(program, lambda ask: ask())

    def explained(self, program: Json, wrong: Wrong) -> Wrong:  # noqa: ARG002 - it is known by now
        """The same: what causes it was found when the program was judged."""
        return wrong

    def again(self, program: Json, fault: Fault, *, any_place: bool) -> Fault | None:
        """The fault of a program if it has the kind and the cause of another one."""
        program = self._judge.known.prepared(program)
        variants = self._judge.variants(program)
        found = self._judged(program, [self._ask(one) for one in variants], self._ask)
        faults = map(self._wrong, found) if isinstance(found, tuple) else [self._verdict(program, found)]
        for one in faults:
            if isinstance(one, Fault) and _is_alike(one, fault, any_place=any_place):
                return one
        return None

    # ---------------------------------------------------------------- running

    def _next(self) -> Outcome:
        return self._seen(self._ahead.popleft() if self._ahead else self.driver.receive())

    def _ask(self, program: Json) -> Outcome:
        while self.driver.pending:
            self._ahead.append(self.driver.receive())
        return self._seen(self.driver.run(program))

    def _seen(self, outcome: Outcome) -> Outcome:
        return Answer(self._scope.seen(outcome.trace)) if isinstance(outcome, Answer) else outcome

    def _judged(self, program: Json, outcomes: Sequence[Outcome], ask: Callable[[Json], Outcome]) -> JudgedBy:
        return self._judge.judge(program, outcomes, ask)

    # ---------------------------------------------------------------- verdicts

    def _verdict(self, program: Json, found: JudgedBy) -> Verdict:
        match found:
            case ():
                return None
            case (*breaches,):
                line = self.family.to_line({**program, "id": ""})
                return self._wrong(breaches[zlib.crc32(line.encode()) % len(breaches)])
            case Unsupported():
                return found
        return Failed(found)

    def _wrong(self, breach: Breach) -> Wrong:
        difference = _difference(breach)
        return Wrong(expected=breach.expected, actual=breach.actual, difference=difference, breach=breach)


def _is_alike(fault: Fault, other: Fault, *, any_place: bool) -> bool:
    """Whether two faults have one cause; with `any_place` whatever the place that is written."""
    one, two = fault.kind, other.kind
    if any_place and isinstance(fault, Wrong) and isinstance(other, Wrong):
        return (one.hook, one.op) == (two.hook, two.op)
    return one == two


def _difference(breach: Breach) -> Difference:
    """The first difference of what should be alike."""
    seen = breach.observations[0]
    found = differences({"seen": seen.expected}, {"seen": seen.actual}, Comparison(permitted={}, order=()))
    assert found is not None  # noqa: S101 - a breach is of what differs
    return Difference(
        path=found.path.replace("$.seen", seen.path, 1),
        expected=found.expected,
        actual=found.actual,
        observation=seen.path,
        expected_observation=seen.expected,
        actual_observation=seen.actual,
    )
