"""The scope of a comparison, the verdict on a program that both sides ran, and the verdict's kind.

Rules oracle.only-wrong-counts and oracle.grouped: a wrong trace, each way of a driver to fail, and a
reference that raises are told apart, and programs are counted by the kind of what became of them.
"""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import attrs

from agentcore.errors import AgentCoreError
from agentcore.kit.compare import Difference, differences
from agentcore.kit.families import Comparison, Each, Family, Write, without_writes
from agentcore.kit.safe_text import cut
from agentcore.messages.brief import brief
from agentcore.oracle.drivers.driver import Answer, Driver, Failure, Unsupported

__all__ = [
    "AGREED",
    "ALL",
    "Failed",
    "Fault",
    "Kind",
    "PatternError",
    "Raised",
    "Reference",
    "Scope",
    "Sides",
    "Tested",
    "Verdict",
    "Wrong",
    "left_out",
    "unsupported",
]

# What of two traces is compared: all of them, or what patterns of paths choose (rule oracle.scope).
#
# A pattern is a path of a trace, from `$`: `.field`, `.*` for any field, `[3]` for an element, `[]` for any
# element. It stands for what is there and everything inside it.

Trace: TypeAlias = dict[str, Any]
Keys: TypeAlias = tuple[str | int | None, ...]
"""The keys of a pattern below `$`; None is any of them."""

_KEY: Final = re.compile(r"\.(?P<field>[^.\[\]]+)|\[(?P<index>\d*)\]")
_GONE: Final = object()


class PatternError(AgentCoreError, ValueError):
    """A text that is no pattern of a path, or one of a place that no trace has."""

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(pattern, reason)
        self.pattern = pattern
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.pattern!r} {self.reason}"


@attrs.frozen
class Scope:
    """The compared part of traces: the paths of `only` (all, if there are none), less those of `ignored`."""

    only: tuple[Keys, ...] = ()
    ignored: tuple[Keys, ...] = ()

    @classmethod
    def of(cls, comparison: Comparison, only: Iterable[str], ignore: Iterable[str]) -> Scope:
        """From patterns of paths.

        Raises:
            PatternError: for a text that is no pattern, and for one of a field that traces do not have.
        """
        return cls(
            tuple(_keys(pattern, comparison) for pattern in only),
            tuple(_keys(pattern, comparison) for pattern in ignore),
        )

    def seen(self, trace: Trace) -> Trace:
        """Returns the compared part of a trace. Elements left out are None, so others keep their places."""
        if self.only:
            trace = _select_paths(trace, self.only)
            trace = {} if trace is _GONE else trace
        return _without(trace, self.ignored) if self.ignored else trace


ALL: Final = Scope()
"""Everything is compared."""


def _keys(pattern: str, comparison: Comparison) -> Keys:
    keys: list[str | int | None] = []
    at = 1
    while at < len(pattern):
        found = _KEY.match(pattern, at)
        if found is None:
            break
        index = found["index"]
        keys.append(_named(found["field"]) if index is None else int(index) if index else None)
        at = found.end()
    if not pattern.startswith("$") or at < len(pattern) or not keys:
        raise PatternError(pattern, "is no path of a trace; write it like $.steps[].prompt or $.final.*")
    _check_known(pattern, keys, comparison)
    return tuple(keys)


def _named(field: str) -> str | None:
    return None if field == "*" else field


def _check_known(pattern: str, keys: Sequence[str | int | None], comparison: Comparison) -> None:
    """A field that no trace has would leave nothing, or all, to compare without anybody noticing."""
    known = {each.field if isinstance(each, Each) else each: each for each in comparison.order}
    first, *rest = keys
    _check_field(pattern, first, [*known])
    each = known.get(str(first))
    if isinstance(each, Each) and len(rest) > 1:
        _check_field(pattern, rest[1], each.fields)


def _check_field(pattern: str, key: str | int | None, known: Sequence[str]) -> None:
    if key is None or key in known:
        return
    near = difflib.get_close_matches(str(key), known, n=1) or known
    raise PatternError(pattern, f"names {key!r}, which no trace has; there is {', '.join(near)}")


def _below(patterns: Iterable[Keys], key: str | int) -> tuple[Keys, ...]:
    """The patterns of what is at the key, from there on."""
    return tuple(keys[1:] for keys in patterns if keys[0] is None or keys[0] == key)


def _select_paths(value: Any, patterns: tuple[Keys, ...]) -> Any:
    """Returns what the patterns stand for, in the containers around it."""
    if () in patterns:
        return value
    if isinstance(value, dict):
        below = {key: _select_paths(child, _below(patterns, key)) for key, child in value.items()}
        found = {key: child for key, child in below.items() if child is not _GONE}
        return found or _GONE
    if not isinstance(value, list):
        return _GONE
    items = [_select_paths(child, _below(patterns, index)) for index, child in enumerate(value)]
    while items and items[-1] is _GONE:
        items.pop()
    return [None if child is _GONE else child for child in items] or _GONE


def _without(value: Any, patterns: tuple[Keys, ...]) -> Any:
    """The value without what the patterns stand for."""
    if not patterns:
        return value
    if isinstance(value, dict):
        below = {key: _below(patterns, key) for key in value}
        return {key: _without(child, below[key]) for key, child in value.items() if () not in below[key]}
    if not isinstance(value, list):
        return value
    listed = [(child, _below(patterns, index)) for index, child in enumerate(value)]
    return [None if () in below else _without(child, below) for child, below in listed]


if TYPE_CHECKING:
    from agentcore.kit.isolation import Breach


Json: TypeAlias = dict[str, Any]

Reference: TypeAlias = Callable[[Json], Json]
"""From a program to its trace."""


@attrs.frozen
class Kind:
    """The key by which programs are counted.

    `outcome` is `agreed`, `wrong`, `unsupported`, `crashed`, `hung`, `malformed`, `incompatible` (the driver
    speaks another version of the protocol), `changed` (a wrong answer, and another one when asked again),
    `raised` (the reference did) or `left out`. `where` is, of a wrong trace, the first observation that
    differs (`$.steps[].prompt`); of a reference that raised, the error's class; of a program that is
    unsupported or left out, the reason; else nothing. `hook` and `op` are, of a wrong trace, what causes the
    difference; nothing if it is there without any op.
    """

    outcome: str
    where: str = ""
    hook: str = ""
    op: str = ""

    @property
    def of_driver(self) -> bool:
        """True if the driver failed, which says nothing about the implementation."""
        return self.outcome in _DRIVER

    @property
    def is_fault(self) -> bool:
        """True if the outcome is a fault that somebody should look at."""
        return self.outcome not in _FAULTLESS

    @property
    def cause(self) -> str:
        """Names the cause of a wrong trace: `append in prepareStep`, or an empty text."""
        return f"{self.op} in {self.hook}" if self.op else ""

    def __str__(self) -> str:
        place = f"{self.outcome} at {self.where}" if self.where else self.outcome
        return f"{place}, by {self.cause}" if self.op else place


def left_out(reason: str) -> Kind:
    """The kind of a program that is not run, for a reason."""
    return Kind(_LEFT_OUT, reason)


def unsupported(reason: str) -> Kind:
    """The kind of a program that the driver does not run, for a reason."""
    return Kind(_UNSUPPORTED, cut(" ".join(reason.split()), _REASON))


_LEFT_OUT: Final = "left out"
_UNSUPPORTED: Final = "unsupported"
_REASON: Final = 200
AGREED: Final = Kind("agreed")
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
    hook: str = ""
    op: str = ""
    breach: Breach | None = None

    @property
    def kind(self) -> Kind:
        """`wrong`, with the observation and what causes it, once that is known (`Tested.explained`)."""
        if self.breach is not None:
            where = f"{self.breach.kind}: {self.breach.place}"
            return Kind("wrong", where, self.breach.hook, self.breach.op)
        return Kind("wrong", self.difference.kind, self.hook, self.op)


@attrs.frozen
class Failed:
    """The driver gave no answer."""

    __repr__ = brief

    outcome: Failure

    @property
    def kind(self) -> Kind:
        """The outcome of a driver that gave no trace."""
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


def _has_outcome(fault: Fault, other: Fault, *, any_place: bool) -> bool:
    """True if two faults are alike, their causes aside."""
    if isinstance(fault, Wrong) and isinstance(other, Wrong):
        return any_place or fault.difference.kind == other.difference.kind
    return fault.kind == other.kind


Verdict: TypeAlias = Fault | Unsupported | None
"""None: the traces agree."""


class Tested(Protocol):
    """The side that runs programs of a family in order; its driver may be some programs ahead."""

    @property
    def driver(self) -> Driver:
        """The driver of the implementation."""

    @property
    def family(self) -> Family:
        """The family of the programs."""

    def submit(self, program: Json) -> None:
        """Hands a program over; does not wait."""

    def receive(self, program: Json, waited: Callable[[Callable[[], Any]], Any]) -> Verdict:
        """Returns the verdict on the program submitted first; `waited` times the wait for the driver."""

    def verdict(self, program: Json) -> Verdict:
        """Returns the verdict on one program, while nothing else is pending."""

    def explained(self, program: Json, wrong: Wrong) -> Wrong:
        """A wrong trace with what causes it, while nothing else is pending."""

    def again(self, program: Json, fault: Fault, *, any_place: bool) -> Fault | None:
        """The fault of a program if it has the outcome and the cause of another one.

        With `any_place` a wrong trace may differ first at another place.
        """


class Known(Protocol):
    """The lines of programs and of traces that are known to agree."""

    def has(self, program: bytes, trace: bytes) -> bool:
        """Whether these two are."""

    def add(self, program: bytes, trace: bytes) -> None:
        """Keeps that these two are."""


@attrs.frozen
class Sides:
    """The two sides of a check: a reference, and the driver of an implementation, for one family.

    `scope` is what of their traces is compared. `known` are answers that agreed before; to one of them the
    reference need not run.
    """

    __repr__ = brief

    reference: Reference
    driver: Driver
    family: Family
    scope: Scope = ALL
    known: Known | None = None

    def submit(self, program: Json) -> None:
        """Hands a program over to the driver."""
        self.driver.submit(program)

    def receive(self, program: Json, waited: Callable[[Callable[[], Any]], Any]) -> Verdict:
        """Returns the verdict on the program that the driver got first."""
        outcome = waited(lambda: self.driver.receive(self.known.has if self.known else None))
        if isinstance(outcome, Answer) and outcome.agreed:
            return None
        expected = self.expected(program)
        if isinstance(expected, Raised):
            return expected
        verdict = self.compared(expected, outcome)
        if verdict is None and self.known and isinstance(outcome, Answer) and outcome.texts:
            self.known.add(*outcome.texts)
        return verdict

    def again(self, program: Json, fault: Fault, *, any_place: bool) -> Fault | None:
        """The fault of a program if it has the outcome and the cause of another one."""
        found = self.verdict(program)
        if not isinstance(found, Fault) or not _has_outcome(found, fault, any_place=any_place):
            return None
        if isinstance(found, Wrong) and isinstance(fault, Wrong):
            found = self.explained(program, found)
            return found if (found.hook, found.op) == (fault.hook, fault.op) else None
        return found

    def verdict(self, program: Json) -> Verdict:
        """The verdict on one program: the reference runs first, then the driver, which has to be idle."""
        expected = self.expected(program)
        return expected if isinstance(expected, Raised) else self.compared(expected, self.driver.run(program))

    def expected(self, program: Json) -> Json | Raised:
        """The reference's trace."""
        try:
            return self.reference(program)
        except Exception as error:  # noqa: BLE001 - whatever it raises is reported with the program
            return Raised(type(error).__name__, traceback.format_exc())

    def compared(self, expected: Json, outcome: Answer | Unsupported | Failure) -> Verdict:
        """Judges the driver's outcome by the expected trace."""
        match outcome:
            case Answer() if "unsupported" in expected:
                return Unsupported(f"the reference: {expected['unsupported']}")
            case Answer(actual):
                difference = differences(
                    self.scope.seen(expected), self.scope.seen(actual), self.family.comparison
                )
                if difference is None:
                    return None
                return Wrong(expected=expected, actual=actual, difference=difference)
            case Unsupported():
                return outcome
        return Failed(outcome)

    def explained(self, program: Json, wrong: Wrong) -> Wrong:
        """The same, with the hook and the op that cause it (rule oracle.grouped).

        Of the program's writes those at its end are taken out as long as the traces still differ at the same
        place; the last of those that are left is the cause. The driver is asked a few times, so nothing may
        be pending at it.
        """
        writes = [*self.family.writes(program)]
        place = wrong.difference.kind
        if not writes or self._differs(program, writes, place):
            return attrs.evolve(wrong, hook="", op="")
        shown, hidden = len(writes), 0
        while shown - hidden > 1:
            middle = (shown + hidden) // 2
            if self._differs(program, writes[middle:], place):
                shown = middle
            else:
                hidden = middle
        cause = writes[shown - 1]
        return attrs.evolve(wrong, hook=cause.hook, op=cause.op)

    def _differs(self, program: Json, left_out: list[Write], place: str) -> bool:
        """True if the traces still differ first at this place without some of the writes."""
        verdict = self.verdict(without_writes(program, left_out))
        return isinstance(verdict, Wrong) and verdict.difference.kind == place
