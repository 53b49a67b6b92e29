"""What a check of isolation knows of a family's programs and traces, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.kit.program import Place
from agentcore.messages.brief import brief

__all__ = ["HOLDERS", "KINDS", "LOOP", "Act", "Breach", "Isolation", "Seen", "Sight"]

Json: TypeAlias = dict[str, Any]
Trace: TypeAlias = dict[str, Any]

KINDS: Final = ("write", "accumulates", "out-of-order")
"""Kinds of faults; the first two are those of live checks (rules live.write, live.accumulates)."""

LOOP: Final = "the loop"
"""Who writes where nobody of the program does."""

HOLDERS: Final = (
    *("caller", "later-runs", "later-prompts", "next-prompt", "this-prompt"),
    *("result", "store", "steps", "observers"),
)
"""Who may see the effect of a write, in the words of live checks and in their order."""


@attrs.frozen(kw_only=True)
class Act:
    """An op that writes in place to what somebody was given.

    Attributes:
        at: where the op stands in the program.
        hook: who writes: a hook, `tool`, or `model`.
        op: what the op does: `append`, `set`, ...
        path: what is written, from the hook's argument: `messages[*].content`, without indices.
        step: the step in which it writes; None if the program does not say.
        after: whether the step's model call is over when it writes.
    """

    at: Place
    hook: str
    op: str
    path: str
    step: int | None = None
    after: bool = False

    @property
    def cause(self) -> tuple[str, str, str]:
        """What writes are grouped by (rule isolated.grouped)."""
        return self.hook, self.op, self.path


@attrs.frozen
class Sight:
    """Where an effect shows: the holder, the number of the prompt or step if there is one, and the path."""

    holder: str
    step: int | None
    path: str


@attrs.frozen(kw_only=True)
class Seen:
    """A pair of observations that should be alike: of the run by value, and of the other run."""

    path: str
    expected: Any
    actual: Any


@attrs.frozen(kw_only=True)
class Breach:
    """A fault of the loop that one program shows.

    Attributes:
        kind: one of KINDS.
        hook: who writes; `the loop` where nobody of the program does.
        op: what the op does.
        place: what is written, without indices.
        seen: the holders that see it, in the order of HOLDERS.
        first: where it shows first, in the order of the run.
        rule: the name of the requirement that the loop breaks.
        expected: the trace of the run by value.
        actual: the trace of the other run; the same one where a single run shows the fault.
        observations: what differs, in the order of the run.
    """

    __repr__ = brief

    kind: str
    hook: str
    op: str
    place: str
    seen: tuple[str, ...]
    first: Sight
    rule: str
    expected: Trace = attrs.field(repr=False)
    actual: Trace = attrs.field(repr=False)
    observations: tuple[Seen, ...] = attrs.field(repr=False)

    @property
    def cause(self) -> str:
        """What findings are grouped by (rule isolated.grouped)."""
        return f"{self.kind}: {self.hook} {self.op} {self.place}"

    @property
    def message(self) -> str:
        """The fault as a sentence, in the words of live checks."""
        seen = ", ".join(self.seen)
        match self.kind:
            case "accumulates":
                return f"what {self.hook} returned for a step is kept for later steps; seen in {seen}"
            case "out-of-order":
                return f"the order in which tools finish shows; seen in {seen}"
        by = "" if self.hook == LOOP else f" ({self.op})"
        return f"{self.hook} writes {self.place}{by}; seen in {seen}"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _REMEDIES[self.rule]


_REMEDIES: Final = {
    "isolated.write": "copy what is handed over, down to what may be written, before this hook gets it",
    "isolated.caller-kept": "copy the caller's list before anything is added to it",
    "isolated.reports-kept": "give each report a list of its own, not the list that grows",
    "isolated.call-order": "collect results by the position of their call, whichever tool finishes first",
    "isolated.accumulates": "use what a hook returns for its step only, and begin the next from the chains",
}


@attrs.frozen(kw_only=True)
class Isolation:
    """What a check of isolation knows of a family.

    Attributes:
        prepared: gives a program in which nothing that is returned depends on a write (rule
            isolated.returned); of one that is prepared, an equal one.
        acts: the writes of a prepared program, to what was copied (rule isolated.not-copied).
        by_value: gives the program in which only the given acts write in place; the others are left out, or
            made to copies.
        refused: gives the program with an error thrown in the place of an act; None where refusals show in
            the trace by themselves.
        sight: who sees a difference at a path of the trace; the act is None if nobody writes.
        own: faults of the loop itself in the trace of a program by value: rule, place, and what should be
            alike.
        varied: gives the program with tools that end in another order than they are called in, if it may.
        timed: gives the program by value with the times that its tools take; None if they take none.
        accumulating: gives, with the trace by value, the program in which only the last step's hook returns
            messages, and what the earlier ones added; None if none did.
        prompts: the prompts of a trace, in order.
        ignored: fields of traces that say nothing here.
        judged: whether a trace can be compared at all.
    """

    prepared: Callable[[Json], Json]
    acts: Callable[[Json], Sequence[Act]]
    by_value: Callable[[Json, Collection[Place]], Json]
    sight: Callable[[str, Act | None], Sight]
    own: Callable[[Json, Trace], Iterator[tuple[str, str, Seen]]]
    prompts: Callable[[Trace], Sequence[Any]]
    varied: Callable[[Json], Json] = lambda program: program
    refused: Callable[[Json, Act], Json] | None = None
    timed: Callable[[Json], Json | None] = lambda _: None
    accumulating: Callable[[Json, Trace], tuple[Json, frozenset[str]] | None] = lambda *_: None
    ignored: Collection[str] = ()
    judged: Callable[[Trace], bool] = lambda _: True
