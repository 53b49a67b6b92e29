"""Findings over all conversations, in the form of `schemas/findings.schema.json`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from agentcore.live.judge import FAULTS
from agentcore.live.paste import pytest_case
from agentcore.live.writes import general

__all__ = ["Found", "finding", "verdict"]

_ORDER: Final = (
    *("caller", "later-runs", "later-prompts", "next-prompt", "this-prompt"),
    *("result", "store", "steps", "observers"),
)
_REMEDIES: Final = {
    "write": "return new messages, new down to what is changed, and leave the given ones as they are;"
    " or put isolate(hook, framework=..., at=...) around the hook",
    "accumulates": "look for what an earlier call added before adding it again, or add it where the framework"
    " keeps nothing",
    "raises": "handle every conversation that the framework can have",
    "cuts-pair": "take a call out together with its result",
    "loses-request": "keep the message with the user's request, also when the list is cut",
    "harmless-write": "return new messages all the same: another release may share what this one copies",
    "not-isolated": "return a value rather than write through the handle",
    "undetermined": "draw ids and random numbers from random or uuid, or pass the source in",
    "opaque": "put plain data into messages",
    "not-idempotent": "leave what is already done",
}
# Where the cause says more than the kind.
_CAUSES: Final = {
    "hangs": "make each call of the hook return in time, or allow more with --time-limit",
    "exits": "raise an exception rather than end the process",
    "killed": "leave the process that runs the hook alone",
    "out-of-memory": "keep less between the calls, or cut what is kept",
    "forks": "start no process in the hook; a child that comes back runs the conversation a second time",
    "refused": "return what the boundary takes; the framework's error says what that is",
}
_CALLED_WRONG: Final = (
    "take the arguments that the framework passes here; if the export makes the hook, say --factory"
)
_SAYS: Final = {
    "throws": "raises",
    "refused": "makes the framework fail:",
    "hangs": "does not come back:",
    "exits": "ends the process:",
    "killed": "ends the process:",
    "out-of-memory": "fills the memory:",
    "forks": "forks:",
}


@attrs.define
class Found:
    """One finding over all conversations."""

    kind: str
    cause: str | None
    indices: list[int] = attrs.field(factory=list)
    paths: set[str] = attrs.field(factory=set)
    seen: set[str] = attrs.field(factory=set)
    places: set[str] = attrs.field(factory=set)
    shown: dict[str, Any] = attrs.field(factory=dict)
    smallest: tuple[dict[str, Any], dict[str, Any] | None] | None = None

    sizes: list[int] = attrs.field(factory=list)

    @property
    def first(self) -> int:
        """The smallest of the conversations that show it."""
        return self.indices[self.sizes.index(min(self.sizes))]

    def add(self, outcome: dict[str, Any], shown: dict[str, Any]) -> None:
        """Adds what one conversation shows."""
        self.shown = self.shown or shown
        if not self.indices or self.indices[-1] != outcome["index"]:
            self.indices.append(outcome["index"])
            self.sizes.append(outcome["size"])
        self.paths.add(outcome["path"])
        self.seen |= set(shown["seen"])
        self.places |= {general(place) for place in shown["places"]}

    def merge(self, other: Found) -> None:
        """Takes in what is the same finding at another place: its line is the same."""
        sizes = dict(zip(other.indices, other.sizes, strict=True)) | dict(
            zip(self.indices, self.sizes, strict=True)
        )
        self.indices = sorted(sizes)
        self.sizes = [sizes[index] for index in self.indices]
        self.paths |= other.paths
        self.seen |= other.seen
        self.places |= other.places
        if self.smallest is not None and other.smallest is not None:
            shown, conversation = self.smallest
            places = [*dict.fromkeys((*shown["places"], *other.smallest[0]["places"]))]
            self.smallest = ({**shown, "places": places}, conversation)

    def add_end(self, index: int, said: str, conversation: dict[str, Any]) -> None:
        """Adds a conversation in which the process ended."""
        self.indices.append(index)
        self.sizes.append(0)
        empty: dict[str, Any] = {
            "place": None,
            "places": [],
            "before": None,
            "after": None,
            "first_seen": None,
            "line": None,
        }
        shown = {**empty, "seen": [], "turn": None, "step": None, "said": said}
        self.shown = self.shown or shown
        self.smallest = self.smallest or (shown, conversation)


def finding(  # noqa: PLR0913 - what a finding consists of, by name
    found: Found, run: int, *, framework: str, at: str, hook: str, attribute: str, factory: bool, counts: bool
) -> dict[str, Any]:
    """Returns a finding in the form of the schema.

    Args:
        found: the finding over all conversations.
        run: how many conversations were run.
        framework: the value of `--in`.
        at: the boundary.
        hook: the hook as the command takes it.
        attribute: the name of the export.
        factory: whether the export makes the hook.
        counts: whether its kind counts for the verdict.
    """
    shown, conversation = found.smallest or (found.shown, None)
    seen = [name for name in _ORDER if name in found.seen]
    affected = max(1, len(found.indices))
    path = min(found.paths, default=None)
    place = shown["place"]
    test = None
    if conversation is not None and found.cause not in ("hangs", "exits", "killed", "out-of-memory", "forks"):
        test = pytest_case(hook, framework, at, path or "generate", found.kind, conversation, factory=factory)
    runs = shown.get("runs")
    return {
        "kind": found.kind,
        "severity": "fault" if found.kind in FAULTS else "note",
        "counts_for_verdict": counts,
        "message": _message(found, shown, attribute, seen),
        "cause": found.cause,
        "place": place,
        "places": list(shown["places"]),
        "before": shown["before"],
        "after": shown["after"],
        "line": shown["line"],
        "seen": seen,
        "first_seen": shown["first_seen"],
        "step": shown["step"],
        "turn": shown["turn"],
        "hook": attribute,
        "counts": {
            "affected": affected,
            "of": max(run, affected),
            "text": f"{affected} of {max(run, affected)}",
        },
        "paths": sorted(found.paths),
        "conversation": conversation,
        "test": test,
        **({} if runs is None else {"runs": runs}),
        "remedy": _remedy(found, shown),
        "fingerprint": f"{found.kind}:{attribute}:{at}:{general(place or '')}",
        "suppressed": None,
    }


def _remedy(found: Found, shown: dict[str, Any]) -> str:
    # An exception of the call itself has no line of the hook's.
    if found.cause == "throws" and shown["line"] is None and "argument" in shown["said"]:
        return _CALLED_WRONG
    return _CAUSES.get(found.cause or "", _REMEDIES[found.kind])


def verdict(findings: Sequence[dict[str, Any]], *, is_judged: bool) -> str | None:
    """Returns the gravest severity of the findings that count; None if the hook was not judged."""
    counting = {each["severity"] for each in findings if each["counts_for_verdict"]}
    if "fault" in counting:
        return "fault"
    if not is_judged:
        return None
    return "note" if counting else "clean"


def _message(found: Found, shown: dict[str, Any], hook: str, seen: Sequence[str]) -> str:
    place, said = shown["place"], shown["said"]
    match found.kind:
        case "write":
            return f"{hook} writes {place}; seen in {', '.join(seen) or 'other runs'}"
        case "accumulates":
            return f"{hook} adds {shown['after']} again at each call, and the framework keeps it: {said}"
        case "raises":
            return f"{hook} {_SAYS[found.cause or 'throws']} {said}"
        case "cuts-pair":
            return f"{hook} parts calls from their results: {said}"
        case "loses-request":
            return f"{hook} takes the user's request out of the prompt of step {shown['step']}"
        case "harmless-write":
            return f"{hook} writes {place}; in this release nobody sees that"
        case "not-isolated":
            return f"{hook} writes {place} through a handle; nobody is seen to see that"
        case "undetermined":
            return f"{hook} cannot be judged in full: {said}"
        case "opaque":
            return f"{hook} puts objects into the conversation that cannot be looked into: {said}"
        case _:
            return f"{hook} changes what it returned when it is applied to that"
