"""What became of a program that both sides ran, and of what kind it is.

Rules oracle.only-wrong-counts and oracle.grouped: a wrong trace, each way of a driver to fail, and a
reference that raises are told apart, and programs are counted by the kind of what became of them.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import attrs

from agentcore.brief import brief
from agentcore.oracle.compare import Difference, differences
from agentcore.oracle.driver import Answer, Driver, Failure, Unsupported
from agentcore.oracle.families import Family

if TYPE_CHECKING:
    from agentcore.oracle.isolated.shape import Breach

__all__ = [
    "AGREED",
    "LEFT_OUT",
    "UNSUPPORTED",
    "Failed",
    "Fault",
    "Kind",
    "Raised",
    "Reference",
    "Sides",
    "Tested",
    "Verdict",
    "Wrong",
    "is_alike",
]

Json: TypeAlias = dict[str, Any]

Reference: TypeAlias = Callable[[Json], Json]
"""From a program to its trace."""


@attrs.frozen
class Kind:
    """What programs are counted by.

    `outcome` is `agreed`, `wrong`, `unsupported`, `crashed`, `hung`, `malformed`, `incompatible` (the driver
    speaks another version of the protocol), `changed` (a wrong answer, and another one when asked again),
    `raised` (the reference did) or `left out`. `where` is, of a wrong trace, the first observation that
    differs (`$.steps[].prompt`); of a reference that raised, the error's class; else nothing.
    """

    outcome: str
    where: str = ""

    @property
    def of_driver(self) -> bool:
        """Whether it is the driver that failed, which says nothing about the implementation."""
        return self.outcome in _DRIVER

    @property
    def is_fault(self) -> bool:
        """Whether there is something to look at."""
        return self.outcome not in _FAULTLESS

    def __str__(self) -> str:
        return f"{self.outcome} at {self.where}" if self.where else self.outcome


AGREED: Final = Kind("agreed")
UNSUPPORTED: Final = Kind("unsupported")
LEFT_OUT: Final = Kind("left out")
_FAULTLESS: Final = frozenset({"agreed", "unsupported", "left out"})
_DRIVER: Final = frozenset({"crashed", "hung", "malformed", "incompatible", "changed"})


@attrs.frozen(kw_only=True)
class Wrong:
    """The implementation gave another trace.

    In a check of isolation `expected` is its own trace of the program by value, and `breach` says what that
    makes of it.
    """

    __repr__ = brief

    expected: Json
    actual: Json
    difference: Difference
    breach: Breach | None = None

    @property
    def kind(self) -> Kind:
        """`wrong`, with the observation; in a check of isolation with the cause."""
        return Kind("wrong", self.difference.kind if self.breach is None else self.breach.cause)


@attrs.frozen
class Failed:
    """The driver gave no answer."""

    __repr__ = brief

    outcome: Failure

    @property
    def kind(self) -> Kind:
        """What it did instead."""
        return Kind(type(self.outcome).__name__.lower())


@attrs.frozen
class Raised:
    """The reference raised, which it does for no program; `error` is the class of what it raised."""

    __repr__ = brief

    error: str
    traceback: str

    @property
    def kind(self) -> Kind:
        """`raised`, with the error's class."""
        return Kind("raised", self.error)


Fault: TypeAlias = Wrong | Failed | Raised


def is_alike(fault: Fault, other: Fault, *, any_wrong: bool) -> bool:
    """Whether two faults are of one kind; with `any_wrong`, whether both are wrong traces."""
    both_wrong = isinstance(fault, Wrong) and isinstance(other, Wrong)
    return fault.kind == other.kind or (any_wrong and both_wrong)


Verdict: TypeAlias = Fault | Unsupported | None
"""None: the traces agree."""


class Tested(Protocol):
    """What programs of a family are run on, one after the other, by a driver that may be some way ahead."""

    @property
    def driver(self) -> Driver:
        """The driver of the implementation."""

    @property
    def family(self) -> Family:
        """The family of the programs."""

    def submit(self, program: Json) -> None:
        """Hands a program over; does not wait."""

    def receive(self, program: Json, waited: Callable[[Callable[[], Any]], Any]) -> Verdict:
        """What becomes of the program that was submitted first; `waited` times what waits for the driver."""

    def verdict(self, program: Json) -> Verdict:
        """What becomes of one program, while nothing else is pending."""

    def again(self, program: Json, fault: Fault, *, any_wrong: bool) -> Fault | None:
        """The fault of a program if it is of the same kind as another; with `any_wrong`, any wrong trace."""


@attrs.frozen
class Sides:
    """What a program is run on: a reference, and the driver of an implementation, both for one family."""

    __repr__ = brief

    reference: Reference
    driver: Driver
    family: Family

    def submit(self, program: Json) -> None:
        """Hands a program over to the driver."""
        self.driver.submit(program)

    def receive(self, program: Json, waited: Callable[[Callable[[], Any]], Any]) -> Verdict:
        """What becomes of the program that the driver was given first."""
        expected = self.expected(program)
        outcome = waited(self.driver.receive)
        return expected if isinstance(expected, Raised) else self.compared(expected, outcome)

    def again(self, program: Json, fault: Fault, *, any_wrong: bool) -> Fault | None:
        """The fault of a program, if it is of the kind of another one."""
        found = self.verdict(program)
        return found if isinstance(found, Fault) and is_alike(found, fault, any_wrong=any_wrong) else None

    def verdict(self, program: Json) -> Verdict:
        """What becomes of one program; the driver, which nothing else may be pending at, is asked last."""
        expected = self.expected(program)
        return expected if isinstance(expected, Raised) else self.compared(expected, self.driver.run(program))

    def expected(self, program: Json) -> Json | Raised:
        """The reference's trace."""
        try:
            return self.reference(program)
        except Exception as error:  # noqa: BLE001 - whatever it raises is reported with the program
            return Raised(type(error).__name__, traceback.format_exc())

    def compared(self, expected: Json, outcome: Answer | Unsupported | Failure) -> Verdict:
        """What the driver's outcome is worth beside the trace that is expected."""
        match outcome:
            case Answer(actual):
                difference = differences(expected, actual, self.family.comparison)
                if difference is None:
                    return None
                return Wrong(expected=expected, actual=actual, difference=difference)
            case Unsupported():
                return outcome
        return Failed(outcome)
