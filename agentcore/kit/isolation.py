"""A check of a loop that promises copies to its hooks: no profile, each program against itself by value.

What a family says of its programs and traces, what one program shows (its runs with writes, by value, and
what differs), and what is found.

Rules isolated.two-runs, isolated.cause, isolated.refused and isolated.noise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import attrs

from agentcore.kit.compare import Missing, Observation, alike, observations
from agentcore.kit.families import Comparison, Family, Trace
from agentcore.kit.program import Answer, Failure, Malformed, Outcome, Place, Unsupported
from agentcore.messages.brief import brief

# It was a folder: the old names of its modules are looked for below it (agentcore.aliases).
__path__: list[str] = []

__all__ = [
    "FEATURE",
    "HOLDERS",
    "KINDS",
    "LOOP",
    "REFUSED_TEXT",
    "Act",
    "Breach",
    "Isolation",
    "Judge",
    "JudgedBy",
    "Seen",
    "Sight",
    "faults",
    "is_mixed",
    "isolation_of",
    "timed",
    "timeless",
    "varied",
]

Json: TypeAlias = dict[str, Any]

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
        """The key by which writes are grouped (rule isolated.grouped)."""
        return self.hook, self.op, self.path


@attrs.frozen
class Sight:
    """A place where an effect shows: the holder, the number of the prompt or step if any, and the path."""

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
        """The key by which findings are grouped (rule isolated.grouped)."""
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
        """Returns the advice for this kind of finding."""
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
    """A family's description for the check of isolation.

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


Ask: TypeAlias = Callable[[Json], Outcome]
JudgedBy: TypeAlias = tuple[Breach, ...] | Unsupported | Failure

REFUSED_TEXT: Final = "the object refuses the op"
"""The text of an error that is thrown in the place of a write (rule isolated.refused)."""

_NOISE: Final = "two runs of the program without its writes differ"


class _StopError(Exception):
    """A run that gave no trace ends the judgement; `outcome` is what it gave."""

    def __init__(self, outcome: Unsupported | Failure) -> None:
        super().__init__(outcome)
        self.outcome = outcome


def isolation_of(family: Family) -> Isolation:
    """Returns the family's description for the check of isolation.

    Raises:
        ValueError: if its programs cannot be run by value.
    """
    if family.isolation is None:
        raise ValueError(f"programs of {family.name} cannot be checked with --isolated")
    return family.isolation


class Judge:
    """Judges programs of a family, of which a driver runs variants."""

    def __init__(self, family: Family) -> None:
        self.known = isolation_of(family)
        self.comparison: Comparison = family.comparison

    def variants(self, program: Json) -> list[Json]:
        """The runs that each judgement of a prepared program begins with: by value, with writes, timed."""
        known = self.known
        acts = known.acts(program)
        value = known.by_value(program, ())
        live = [known.by_value(program, [act.at for act in acts])] if acts else []
        timed = known.timed(program)
        return [value, *live, *([] if timed is None else [timed])]

    def judge(self, program: Json, outcomes: Sequence[Outcome], ask: Ask) -> JudgedBy:
        """Runs a prepared program and returns the faults that it shows.

        Args:
            program: the prepared program.
            outcomes: those of its `variants`, in order.
            ask: runs another variant.
        """
        try:
            return tuple(_Case(self, program, outcomes, ask).breaches())
        except _StopError as stop:
            return stop.outcome


def faults(program: Json, family: Family, run: Callable[[Json], Trace]) -> tuple[Breach, ...]:
    """Checks one program on a loop in this process and returns the faults.

    Args:
        program: a program of the family.
        family: its format.
        run: gives the loop's trace of a program.

    Raises:
        ValueError: if runs of the program without its writes differ.
    """
    judge = Judge(family)
    prepared = judge.known.prepared(program)

    def ask(variant: Json) -> Outcome:
        return Answer(run(variant))

    found = judge.judge(prepared, [ask(variant) for variant in judge.variants(prepared)], ask)
    if isinstance(found, tuple):
        return found
    raise ValueError(found.reason if isinstance(found, Malformed) else f"{found}")


class _Case:
    """One program, with the runs that there are by now."""

    def __init__(self, judge: Judge, program: Json, outcomes: Sequence[Outcome], ask: Ask) -> None:
        self.known = judge.known
        self.comparison = judge.comparison
        self.program = program
        self.ask = ask
        self.acts = self.known.acts(program)
        self.failed = next((one for one in outcomes if isinstance(one, Failure)), None)
        self.value = self._trace(outcomes[0])
        rest = [*outcomes[1:]]
        # A driver may have all but one of the variants.
        self.live = _answer(rest.pop(0)) if self.acts else None
        self.timed = _answer(rest.pop(0)) if rest else None

    def breaches(self) -> Iterator[Breach]:
        if self.failed is not None:
            raise _StopError(self.failed)
        if not self.known.judged(self.value):
            return
        # All of them, though one is enough for a verdict: which one a campaign counts is picked by the
        # program, so that a fault which every program shows does not hide the others.
        found = [*self._writes(), *self._out_of_order(), *self._accumulated(), *self._own()]
        # Run once more only where something was found: noise matters there alone, and most programs show
        # nothing.
        if found and any(one.differs for one in self._apart(self.value, self._run())):
            raise _StopError(Malformed(_NOISE, "", ""))
        yield from found

    # ---------------------------------------------------------------- runs

    def _trace(self, outcome: Outcome) -> Trace:
        if isinstance(outcome, Answer):
            return outcome.trace
        raise _StopError(outcome)

    def _run(self, *acts: Act) -> Trace:
        return self._trace(self.ask(self.known.by_value(self.program, [act.at for act in acts])))

    def _apart(self, expected: Trace, actual: Trace) -> list[Observation]:
        """The observations that differ, but for those that say nothing here."""
        one, other = (
            {key: value for key, value in trace.items() if key not in self.known.ignored}
            for trace in (expected, actual)
        )
        return [seen for seen in observations(one, other, self.comparison) if seen.differs]

    def _effect(self, trace: Trace | None) -> list[Observation]:
        if trace is None or not self.known.judged(trace):
            return []
        return self._apart(self.value, trace)

    # ---------------------------------------------------------------- writes

    def _writes(self) -> Iterator[Breach]:
        if not self._effect(self.live):
            return
        found = False
        refused: list[Act] = []
        for act in self.acts:
            # With one write the run with all writes is the run with this one: half of the runs are saved.
            trace = self.live if len(self.acts) == 1 else self._alone(act)
            if trace is None or not (effect := self._effect(trace)):
                continue
            if self._is_refused(act, trace):
                refused.append(act)
                continue
            found = True
            yield self._breach(act, effect, trace)
        # Two writes may show only together, as one that shares an object and one that writes to it.
        if not found:
            yield from self._together([act for act in self.acts if act not in refused])

    def _alone(self, act: Act) -> Trace | None:
        return _answer(self.ask(self.known.by_value(self.program, [act.at])))

    def _together(self, acts: Sequence[Act]) -> Iterator[Breach]:
        """The last of the fewest writes that show a difference together."""
        kept = [*acts]
        trace = self._run(*kept)
        if len(kept) < 2 or not self._effect(trace):  # noqa: PLR2004 - two are the fewest
            return
        # In the order of the run, so that the last one that is left is the one that shows it: the cause.
        for act in acts:
            fewer = [one for one in kept if one is not act]
            if self._effect(again := self._run(*fewer)):
                kept, trace = fewer, again
        if not any(self._is_refused(act, trace, *kept) for act in kept):
            yield self._breach(kept[-1], self._effect(trace), trace)

    def _is_refused(self, act: Act, trace: Trace, *others: Act) -> bool:
        """True if the write was refused, and the run shows nothing but that (rule isolated.refused)."""
        if _is_cut_short(self._effect(trace), trace):
            return True
        if self.known.refused is None:
            return False
        live = [one.at for one in others] or [act.at]
        thrown = _answer(self.ask(self.known.by_value(self.known.refused(self.program, act), live)))
        if thrown is None:
            # A driver that cannot throw leaves it open.
            return False
        one, other, found = (self._compared(each) for each in (self.value, thrown, trace))
        return is_mixed(one, other, found)

    def _compared(self, trace: Trace) -> Trace:
        """The trace without what may differ, and without what says nothing here."""
        for permit in self.comparison.permitted.values():
            trace = permit(trace)
        return {key: value for key, value in trace.items() if key not in self.known.ignored}

    def _breach(self, act: Act, effect: Sequence[Observation], trace: Trace) -> Breach:
        fields = {"kind": "write", "hook": act.hook, "op": act.op, "place": act.path}
        return self._made(fields, "isolated.write", act, effect, trace)

    def _made(
        self,
        fields: dict[str, str],
        rule: str,
        act: Act | None,
        effect: Sequence[Observation],
        trace: Trace,
    ) -> Breach:
        sights = [self.known.sight(one.path, act) for one in effect]
        return _breach_of(fields, rule, sights, [_make_seen(one) for one in effect], self.value, trace)

    # ---------------------------------------------------------------- other faults

    def _out_of_order(self) -> Iterator[Breach]:
        if self.timed is not None and (effect := self._effect(self.timed)):
            fields = {"kind": "out-of-order", "hook": LOOP, "op": "finish", "place": "results"}
            yield self._made(fields, "isolated.call-order", None, effect, self.timed)

    def _accumulated(self) -> Iterator[Breach]:
        asked = self.known.accumulating(self.program, self.value)
        if asked is None:
            return
        program, texts = asked
        single = _answer(self.ask(self.known.by_value(program, ())))
        prompts = self.known.prompts(self.value)
        if single is None or len(self.known.prompts(single)) != len(prompts):
            return
        alone = self.known.prompts(single)
        if _count(prompts[-1], texts) <= _count(alone[-1], texts):
            return
        effect = [one for one in self._apart(single, self.value) if "prompt" in one.path]
        fields = {"kind": "accumulates", "hook": "prepareStep", "op": "return", "place": "returned"}
        sights = [self.known.sight(one.path, None) for one in effect]
        seen = [_make_seen(one) for one in effect]
        yield _breach_of(fields, "isolated.accumulates", sights, seen, single, self.value)

    def _own(self) -> Iterator[Breach]:
        by_rule: dict[tuple[str, str], list[Seen]] = {}
        for rule, place, seen in self.known.own(self.program, self.value):
            by_rule.setdefault((rule, place), []).append(seen)
        for (rule, place), pairs in by_rule.items():
            sights = [self.known.sight(one.path, None) for one in pairs]
            fields = {"kind": "write", "hook": LOOP, "op": "change", "place": place}
            yield _breach_of(fields, rule, sights, pairs, self.value, self.value)


def _breach_of(  # noqa: PLR0913, PLR0917 - what a breach is made of
    fields: dict[str, str],
    rule: str,
    sights: Sequence[Sight],
    pairs: Sequence[Seen],
    expected: Trace,
    actual: Trace,
) -> Breach:
    holders = {sight.holder for sight in sights}
    return Breach(
        **fields,
        rule=rule,
        seen=tuple(name for name in HOLDERS if name in holders),
        first=sights[0],
        expected=expected,
        actual=actual,
        observations=tuple(pairs),
    )


def _make_seen(one: Observation) -> Seen:
    return Seen(path=one.path, expected=one.expected, actual=one.actual)


def _answer(outcome: Outcome) -> Trace | None:
    """The trace, None if the driver does not support the variant."""
    if isinstance(outcome, Answer):
        return outcome.trace
    if isinstance(outcome, Unsupported):
        return None
    raise _StopError(outcome)


def _count(value: Any, texts: frozenset[str]) -> int:
    found: Counter[str] = Counter()
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            found[one] += 1
        elif isinstance(one, dict | list):
            stack.extend(one.values() if isinstance(one, dict) else one)
    return sum(found[text] for text in texts)


def _is_cut_short(effect: Sequence[Observation], trace: Trace) -> bool:
    """True if the run failed, and all that it shows up to its failure equals the run by value."""
    if trace.get("error") is None:
        return False
    return all(_begins(one.actual, one.expected) for one in effect if not one.path.startswith("$.error"))


def _begins(short: Any, whole: Any) -> bool:
    """True if one value is an earlier state of the other, summarizing texts aside."""
    if isinstance(short, Missing) or short is None:
        return True
    if isinstance(short, list) and isinstance(whole, list):
        return len(short) <= len(whole) and all(map(alike, short, whole))
    if not isinstance(short, dict) or not isinstance(whole, dict):
        return False
    both = [(short[key], whole[key]) for key in short if key in whole]
    pairs = [(one, other) for one, other in both if isinstance(one, dict | list)]
    return len(both) == len(short) and all(alike(one, other) or _begins(one, other) for one, other in pairs)


def is_mixed(value: Any, thrown: Any, found: Any) -> bool:
    """True if a finding only mixes what runs by value show with what runs with a thrown error show.

    An op runs at each call of its tool, and one call may refuse what another one takes. What stands for the
    text of the error may be any text, and beside it stands a name, which is every language's own.
    """
    stack = [(value, thrown, found)]
    while stack:
        one, other, here = stack.pop()
        if alike([one], [here]) or _is_error(other, here) or alike([other], [here]):
            continue
        if isinstance(other, dict) and isinstance(here, dict) and other.keys() == here.keys():
            below = one if isinstance(one, dict) else {}
            stack.extend((below.get(key), other[key], here[key]) for key in here)
        elif isinstance(other, list) and isinstance(here, list) and len(other) == len(here):
            beside = one if isinstance(one, list) and len(one) == len(here) else other
            stack.extend(zip(beside, other, here, strict=True))
        else:
            return False
    return True


def _is_error(thrown: Any, found: Any) -> bool:
    """True if both are errors, the first being the one that the check threw on purpose."""
    if isinstance(thrown, str):
        return REFUSED_TEXT in thrown and isinstance(found, str)
    if not isinstance(thrown, dict) or not isinstance(found, dict):
        return False
    return thrown.get("message") == REFUSED_TEXT and isinstance(found.get("message"), str)


# Times that tools take, in any format whose tools have them: rule isolated.call-order.

FEATURE: Final = "tool takes"
"""The feature of programs whose tools take time, where the format has it."""

_TAKES: Final = "takes"
_LATE: Final = 2


def timeless(program: Json) -> Json:
    """The program with tools that take no time."""
    if not _slow(program):
        return program
    tools = {
        name: {key: value for key, value in tool.items() if key != _TAKES}
        for name, tool in program["tools"].items()
    }
    return {**program, "tools": tools}


def timed(program: Json, value: Json) -> Json | None:
    """The program by value with the times of its tools; None if they take none."""
    slow = _slow(program)
    if not slow:
        return None
    tools = {
        name: {**tool, _TAKES: slow[name]} if name in slow else tool for name, tool in value["tools"].items()
    }
    return {**value, "tools": tools}


def varied(program: Json, calls: Iterable[Collection[str]], features: Collection[str]) -> Json:
    """The program with a first tool that ends last, if tools of a step may take time and none does.

    `calls` are the tools that the model calls in each step, in order.
    """
    tools = program.get("tools", {})
    if FEATURE not in features or _slow(program):
        return program
    several = [[name for name in step if name in tools] for step in calls]
    first = next((step[0] for step in several if len({*step}) > 1), None)
    if first is None:
        return program
    return {**program, "tools": {**tools, first: {**tools[first], _TAKES: _LATE}}}


def _slow(program: Json) -> dict[str, int]:
    """The tools that take time, and how much."""
    return {name: tool[_TAKES] for name, tool in program.get("tools", {}).items() if tool.get(_TAKES)}
