"""Judges one conversation: makes the runs that it takes, and returns the findings."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from agentcore.live.adapter import Adapter, Boundary, Entry
from agentcore.live.conversations import Conversation, request_words
from agentcore.live.loading import HookSource, ValueSource, is_own_file
from agentcore.live.moments import Log
from agentcore.live.runs import Observation, Prompt, differing, holder_of, observe
from agentcore.live.safety import OutsideError
from agentcore.live.shown import Path, leaves
from agentcore.live.tap import Mode, Tap
from agentcore.live.twice import Twice
from agentcore.live.writes import Write, general

__all__ = ["FAULTS", "KINDS", "NOTES", "Judge", "Key", "Shown", "key_of"]

FAULTS: Final = ("write", "accumulates", "raises", "cuts-pair", "loses-request")
NOTES: Final = ("harmless-write", "not-isolated", "undetermined", "opaque", "not-idempotent")
KINDS: Final = (*FAULTS, *NOTES)


# After that many conversations without noise in a row, noise is looked for in one of a few only.
_QUIET: Final = 12
_SOMETIMES: Final = 6
# After that many in which whoever sees any difference sees the write, it is measured in one of a few only.
_KNOWN: Final = 8

Key: TypeAlias = tuple[str, str | None, str | None]
"""What tells a finding from others: its kind and cause, and of a write its place without indices."""

_BY_PLACE: Final = ("write", "harmless-write", "not-isolated")


def key_of(shown: Mapping[str, Any]) -> Key:
    """Returns what tells a finding from others."""
    kind, place = shown["kind"], shown["place"]
    return kind, shown["cause"], general(place) if kind in _BY_PLACE and place is not None else None


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A finding of one conversation: its kind, and the facts for the report."""

    kind: str
    place: str | None = None
    places: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    seen: tuple[str, ...] = ()
    first_seen: dict[str, Any] | None = None
    turn: int | None = None
    step: int | None = None
    cause: str | None = None
    said: str = ""
    line: dict[str, Any] | None = None
    number_of_calls: int = 0


@dataclass
class Outcome:
    """The outcome of one conversation.

    Attributes:
        shown: the findings.
        judged: whether it ended in the framework, live and as a value.
        error: the error that is not the hook's, with which it ended instead.
        outside: whether that error is the refusal of a network call, a program or a file.
        calls: how often the hook was called in the live run.
        prompts: how many prompts were recorded in the live run.
        live: the live run.
    """

    shown: list[Shown] = field(default_factory=list)
    judged: bool = True
    error: str | None = None
    outside: bool = False
    calls: int = 0
    prompts: int = 0
    live: Observation = field(default_factory=Observation)


class Judge:
    """Runs conversations with a hook, and without it, and says what they show."""

    def __init__(
        self,
        adapter: Adapter,
        source: HookSource | ValueSource,
        at: str,
        *,
        report: Callable[[], None] = lambda: None,
        idempotent: bool = False,
    ) -> None:
        """Prepares a check.

        Args:
            adapter: the framework.
            source: the hook.
            at: the boundary.
            report: called before each call of the hook.
            idempotent: whether `not-idempotent` is asked for.
        """
        self._adapter = adapter
        self._source = source
        self._at = at
        self._report = report
        self.idempotent = idempotent
        self.boundary: Boundary = adapter.boundaries[at]
        self.project = source.project
        self.drop = adapter.drop
        self._quiet = 0
        # By the place of a write: how often those who see its effect were those who see any difference.
        self._whole: Counter[str] = Counter()

    # ------------------------------------------------------------ runs

    def run(  # noqa: PLR0913 - what a run is made of
        self,
        of: Conversation,
        path: str,
        seed: int,
        mode: Mode | None,
        *,
        only: int | None = None,
        around: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda hook: hook,
        through: str | None = None,
        log: Log | None = None,
    ) -> Observation:
        """Runs a conversation once; without the hook if `mode` is None."""
        loaded = None if mode is None else self._source.load()

        def tapped(where: Callable[[], tuple[int, int]]) -> Tap:
            assert loaded is not None and mode is not None  # noqa: S101, PT018 - for the type checker
            return Tap(
                loaded,
                self.boundary,
                mode,
                where,
                alone=self._alone_in,
                only=only,
                report=self._report,
                around=around if log is None else log.around(where),
                through=through,
            )

        def is_own(file: str) -> bool:
            return is_own_file(file, self.project)

        tap = None if mode is None else tapped
        return observe(self._adapter, of, self._at, path, seed, tap, is_own, log)

    def _alone_in(self, messages: Any) -> set[str]:
        return _alone(self._adapter.entries(messages))

    # ------------------------------------------------------------ one conversation

    def judge(self, of: Conversation, path: str, seed: int) -> Outcome:  # noqa: C901 - one case after another
        """Runs a conversation as often as it takes, and returns what it shows."""
        live = self.run(of, path, seed, Mode.LIVE)
        calls = 0 if live.calls is None else live.calls.count
        out = Outcome(calls=calls, prompts=len(live.prompts), live=live)
        plain: Observation | None = None
        raised = self._raised(live)
        if live.calls is not None and isinstance(live.calls.raised, OutsideError):
            out.judged, out.outside, out.error = False, True, _error_text(live.calls.raised)
            return out
        if raised is not None:
            out.shown.append(raised)
            out.judged = False
        elif live.error is not None:
            plain = self.run(of, path, seed, None)
            if plain.error is not None or not calls:
                out.judged, out.error = False, _error_text(live.error)
                return out
            if not isinstance(live.error, tuple(self._adapter.control())):
                out.shown.append(_refused(live))
                out.judged = False
        value = self.run(of, path, seed, Mode.VALUE)
        out.shown += self._prompt_faults(of, path, seed, live, value, plain)
        # That the framework refuses a prompt with half a pair is the effect of the cut and no fault of its
        # own.
        if any(each.kind == "cuts-pair" for each in out.shown):
            out.shown = [each for each in out.shown if each.cause != "refused"]
        raises = [each for each in out.shown if each.kind == "raises"]
        if raises and (raises[0].cause != "refused" or value.error is not None):
            return out
        out.shown += self._writes(of, path, seed, live, value)
        if raises:
            # What the framework refuses may be what a write left there.
            if any(each.kind == "write" for each in out.shown):
                out.shown.remove(raises[0])
            return out
        if self.boundary.whole and value.calls is not None and value.calls.adds_again:
            out.shown += self._accumulated(of, path, seed, value)
        out.shown += _untold(live, value)
        if live.error is None:
            out.error = _ended_as_value(value, out.shown)
            out.judged = out.error is None
        if self.idempotent:
            out.shown += self._not_idempotent(of, path, seed)
        return out

    def _raised(self, live: Observation) -> Shown | None:
        error = None if live.calls is None else live.calls.raised
        if error is None or isinstance(error, tuple(self._adapter.control())):
            return None
        cause = "out-of-memory" if isinstance(error, MemoryError) else "throws"
        cause = "exits" if isinstance(error, SystemExit) else cause
        place = _line_of(error, self._source)
        turn, step = (live.prompts[-1].turn, live.prompts[-1].step) if live.prompts else (0, 0)
        return Shown(kind="raises", cause=cause, said=_error_text(error), line=place, turn=turn, step=step)

    # ------------------------------------------------------------ writes

    def _writes(
        self, of: Conversation, path: str, seed: int, live: Observation, value: Observation
    ) -> list[Shown]:
        written = [] if value.calls is None else value.calls.writes
        own = [each for each in written if each.source == "returned"]
        given = [each for each in written if each.source != "returned"]
        different = differing(live, value)
        if not different:
            return _harmless(given)
        noise = self._noise(of, path, seed, live, value)
        left = _without(different, noise)
        if not left and given:
            # What a write itself draws at random differs between live runs, and not where it does not land.
            noise, among_live = self._noise_as_value(of, path, seed, value), noise
            left = _without(different, noise)
            noise = noise if left else among_live
        if not left:
            return [*_undetermined(noise, live), *_harmless(given)]
        if not written:
            return [*_undetermined(noise, live)]
        groups = {general(each.place) for each in given}
        if not own and self._is_known(groups, seed):
            return [self._effect(given, left, live, value)]
        if given:
            landed = self.run(of, path, seed, Mode.LANDED)
            effect = _without(differing(landed, value), noise)
            other = value
            if effect and not any(each.late or each.source == "handle" for each in given):
                # What is returned is a copy in both of these runs: they differ by the writes alone.
                other = self.run(of, path, seed, Mode.LANDED, through="")
                effect = _without(differing(landed, other), noise) if landed.wrote_shared else []
            if effect:
                found = self._effect(given, effect, landed, other)
                as_seen = self._effect(given, left, live, value)
                # One disagreement takes all credit away: the shorter comparison is right for this place
                # only as long as it is always right.
                self._whole[min(groups)] += 1 if found.seen == as_seen.seen else -_KNOWN
                return self._one_by_one(of, path, seed, given, other, noise) or [found]
            self._whole[min(groups)] -= _KNOWN
        if own:
            return [self._effect(own, left, live, value), *_harmless(given)]
        return [*_undetermined(noise, live), *_harmless(given)]

    def _is_known(self, groups: Collection[str], seed: int) -> bool:
        """True if the holders by both comparisons have agreed often enough for this place."""
        return (
            len(groups) == 1 and all(self._whole[each] >= _KNOWN for each in groups) and not _is_sampled(seed)
        )

    def _one_by_one(  # noqa: PLR0913, PLR0917 - what a run is made of
        self,
        of: Conversation,
        path: str,
        seed: int,
        given: Sequence[Write],
        unlanded: Observation,
        noise: Sequence[Path],
    ) -> list[Shown]:
        """Lets the writes of one place through at a time; empty if none of them has an effect by itself."""
        groups: dict[str, list[Write]] = {}
        # The early ones first: the first write of a group says where and when, and a late one knows neither
        # exactly.
        for each in sorted(given, key=lambda each: each.late):
            groups.setdefault(general(each.place), []).append(each)
        # What was written late, or through a handle, lands in any case.
        if len(groups) == 1 or any(each[0].late or each[0].source == "handle" for each in groups.values()):
            return []
        loud: list[Shown] = []
        quiet: list[Write] = []
        for group, written in groups.items():
            landed = self.run(of, path, seed, Mode.LANDED, through=group)
            effect = _without(differing(landed, unlanded), noise)
            if effect:
                loud.append(self._effect(written, effect, landed, unlanded))
            else:
                quiet += written
        return [*loud, *_harmless(quiet)] if loud else []

    def _effect(
        self, written: Sequence[Write], effect: Sequence[Path], one: Observation, other: Observation
    ) -> Shown:
        first = written[0]
        # An effect may be at a prompt that only one of the runs came to.
        longer = one if len(one.prompts) >= len(other.prompts) else other
        after = self.boundary.after
        seen = [holder_of(path, longer, first.turn, first.step, after=after) for path in effect]
        holder, turn, step, place = min(seen, key=lambda each: (each[2] is None, each[1], each[2] or 0))
        earliest = {"holder": holder, "turn": turn, "step": step, "place": place}
        holders = tuple(sorted({each[0] for each in seen}))
        return _shown_write("write", written, seen=holders, first_seen=earliest)

    def _noise(
        self, of: Conversation, path: str, seed: int, live: Observation, value: Observation
    ) -> list[Path]:
        """Returns the places at which runs of one mode differ among themselves (rule live.noise)."""
        if self._quiet >= _QUIET and not _is_sampled(seed):
            return []
        found = differing(live, self.run(of, path, seed, Mode.LIVE))
        self._quiet = 0 if found else self._quiet + 1
        if found:
            # Places that chance left alike in two runs may differ in a third, or as a value.
            found += differing(live, self.run(of, path, seed, Mode.LIVE))
            found += differing(value, self.run(of, path, seed, Mode.VALUE))
        return found

    def _noise_as_value(self, of: Conversation, path: str, seed: int, value: Observation) -> list[Path]:
        """Returns the places at which two further value runs differ from the first."""
        return [each for _ in range(2) for each in differing(value, self.run(of, path, seed, Mode.VALUE))]

    # ------------------------------------------------------------ accumulation

    def _accumulated(self, of: Conversation, path: str, seed: int, value: Observation) -> list[Shown]:
        """Compares the last prompt with that of a run in which the hook takes part in its last call only."""
        calls = value.calls
        if calls is None or not value.prompts:
            return []
        # After the model, the last call comes after the last prompt.
        last_call = calls.count - 1 - (self.boundary.after and calls.count > 1)
        single = self.run(of, path, seed, Mode.VALUE, only=last_call)
        if len(single.prompts) != len(value.prompts):
            return []
        last, alone = value.prompts[-1], single.prompts[-1]
        added = {text for each in calls.added for text in each}
        more = _count(last, None) - _count(alone, None)
        if more <= 0 or _count(last, added) <= _count(alone, added):
            return []
        text = max(
            added,
            key=lambda each: (_count(last, {each}) > _count(alone, {each}), " " in each, len(each), each),
        )
        holder = "later-runs" if last.turn else "later-prompts"
        first = {"holder": holder, "turn": last.turn, "step": last.step, "place": ""}
        said = f"{_count(last, {text})} times where one call alone makes {_count(alone, {text})}"
        return [
            Shown(
                kind="accumulates",
                place="returned",
                after=_leaf(text),
                said=said,
                seen=(holder,),
                first_seen=first,
                turn=last.turn,
                step=last.step,
            )
        ]

    # ------------------------------------------------------------ prompts

    def _prompt_faults(  # noqa: PLR0913, PLR0917 - the runs that there are by now
        self,
        of: Conversation,
        path: str,
        seed: int,
        live: Observation,
        value: Observation,
        plain: Observation | None,
    ) -> list[Shown]:
        found = _cut_by_the_hook(value)
        cut = [(each, ids) for each in live.prompts if (ids := _alone(each.entries))]
        lost = [each for each in live.prompts if _lacks_request(of, each)]
        if not cut and not lost:
            return found
        plain = plain or self.run(of, path, seed, None)
        known = {(each.turn, each.step): each for each in plain.prompts}
        for each, ids in () if found else cut:
            before = known.get((each.turn, each.step))
            new = ids - (_alone(before.entries) if before else set())
            if new:
                found.append(
                    Shown(
                        kind="cuts-pair",
                        place="returned",
                        said=", ".join(sorted(new)),
                        turn=each.turn,
                        step=each.step,
                        seen=("this-prompt",),
                        first_seen=_first(each),
                    )
                )
                break
        for each in lost:
            before = known.get((each.turn, each.step))
            if before and not _lacks_request(of, before) and _users(each) < _users(before):
                found.append(
                    Shown(
                        kind="loses-request",
                        place="returned",
                        turn=each.turn,
                        step=each.step,
                        seen=("this-prompt",),
                        first_seen=_first(each),
                    )
                )
                break
        return found

    def _not_idempotent(self, of: Conversation, path: str, seed: int) -> list[Shown]:
        """Applies a second, fresh instance to what the first one makes (rule live.not-idempotent)."""
        twice = Twice(self.boundary, self._source)
        self.run(of, path, seed, Mode.VALUE, around=twice.around)
        if twice.changed is None:
            return []
        return [
            Shown(
                kind="not-idempotent", place=f"returned{twice.changed}", places=(f"returned{twice.changed}",)
            )
        ]


# ---------------------------------------------------------------- helpers


def _is_sampled(seed: int) -> bool:
    """True for every n-th conversation; of two workers each has every second seed, so halves are counted."""
    return seed // 2 % _SOMETIMES == 0


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _ended_as_value(value: Observation, shown: Sequence[Shown]) -> str | None:
    """The error of the value run alone, if no write explains it; nothing is compared (rule live.ended)."""
    error = value.error
    if error is None and value.calls is not None:
        error = value.calls.raised
    if error is None or any(each.kind in {"write", "undetermined"} for each in shown):
        return None
    return f"{_error_text(error)} (only where the hook is given copies)"


def _refused(live: Observation) -> Shown:
    last = live.prompts[-1] if live.prompts else None
    error = live.error
    return Shown(
        kind="raises",
        cause="refused",
        said="" if error is None else _error_text(error),
        turn=last.turn if last else 0,
        step=last.step if last else 0,
    )


def _line_of(error: BaseException, source: HookSource | ValueSource) -> dict[str, Any] | None:
    found = None
    for frame in traceback.extract_tb(error.__traceback__):
        if is_own_file(frame.filename, source.project):
            found = frame
    if found is None or found.lineno is None:
        return None
    column = None if found.colno is None else found.colno + 1
    return {"file": found.filename, "line": found.lineno, "column": column}


def _without(found: Sequence[Path], noise: Sequence[Path]) -> list[Path]:
    return [path for path in found if not any(_overlap(path, each) for each in noise)]


def _overlap(one: Path, other: Path) -> bool:
    return all(left == right for left, right in zip(one, other, strict=False))


def _harmless(given: Sequence[Write]) -> list[Shown]:
    found = []
    for kind, source in (("harmless-write", "argument"), ("not-isolated", "handle")):
        groups: dict[str, list[Write]] = {}
        for each in given:
            if each.source == source:
                groups.setdefault(general(each.place), []).append(each)
        found += [_shown_write(kind, written) for written in groups.values()]
    return found


def _shown_write(kind: str, written: Sequence[Write], **more: Any) -> Shown:
    first = written[0]
    places = [*dict.fromkeys(place for each in written for place in each.places)]
    return Shown(
        kind=kind,
        place=first.place,
        places=tuple(places),
        before=first.before,
        after=first.after,
        turn=first.turn,
        step=first.step,
        **more,
    )


def _untold(live: Observation, value: Observation) -> list[Shown]:
    found = []
    if live.calls is not None and live.calls.replaced is not None:
        said = f"it replaces {live.calls.replaced}, which the check relies on and puts back"
        found.append(Shown(kind="undetermined", said=said))
    if value.calls is not None and value.calls.opaque:
        names = ", ".join(sorted(value.calls.opaque))
        found.append(Shown(kind="opaque", place="returned", said=names))
    return found


def _undetermined(noise: Sequence[Path], live: Observation) -> list[Shown]:
    if not noise:
        return []
    holder, turn, step, place = holder_of(noise[0], live, 0, 0)
    first = {"holder": holder, "turn": turn, "step": step, "place": place}
    said = f"it draws on what no seed reaches, and runs alike differ at {holder}{place}"
    return [Shown(kind="undetermined", place=None, first_seen=first, said=said)]


def _leaf(text: str) -> str:
    """Returns a leaf of a shown value as the code that makes it: what is no text is shown in brackets."""
    return text[1:-1] if re.fullmatch(r"<[\w.]+>", text) else repr(text[:100])


def _count(prompt: Prompt, texts: Collection[str] | None) -> int:
    return sum(texts is None or text in texts for text in leaves(prompt.shown))


def _cut_by_the_hook(value: Observation) -> list[Shown]:
    """Finds pairs that the hook's own result cuts, even if the framework repairs them afterwards."""
    if value.calls is None or value.calls.cut is None:
        return []
    turn, step, ids = value.calls.cut
    said = ", ".join(sorted(ids))
    first = {"holder": "this-prompt", "turn": turn, "step": step, "place": ""}
    return [
        Shown(
            kind="cuts-pair",
            place="returned",
            said=said,
            turn=turn,
            step=step,
            seen=("this-prompt",),
            first_seen=first,
        )
    ]


def _first(prompt: Prompt) -> dict[str, Any]:
    return {"holder": "this-prompt", "turn": prompt.turn, "step": prompt.step, "place": ""}


def _alone(entries: Sequence[Entry]) -> set[str]:
    """The ids of calls without a result, and of results without a call."""
    calls = {each for entry in entries for each in entry.calls}
    results = {each for entry in entries for each in entry.results}
    return calls ^ results


def _lacks_request(of: Conversation, prompt: Prompt) -> bool:
    words = request_words(of["turns"][prompt.turn])
    users = " ".join(entry.text for entry in prompt.entries if entry.role == "user")
    return bool(words) and not any(word in users for word in words)


def _users(prompt: Prompt) -> int:
    return sum(entry.role == "user" for entry in prompt.entries)
