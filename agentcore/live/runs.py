"""One run of a conversation in a framework, and what is seen of it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentcore.guard.snapshot import Snapshot
from agentcore.live.adapter import Adapter, Attached, Entry
from agentcore.live.conversations import Conversation
from agentcore.live.copies import Data
from agentcore.live.moments import Log
from agentcore.live.seeded import seeded
from agentcore.live.session import Session
from agentcore.live.shown import Path, differences, show, text_of
from agentcore.live.tap import Calls, Tap

__all__ = ["Observation", "Prompt", "differing", "holder_of", "observe"]


@dataclass(frozen=True)
class Prompt:
    """A prompt as the scripted model received it."""

    turn: int
    step: int
    shown: Any
    entries: Sequence[Entry]


@dataclass
class Observation:
    """The observation of a run: prompts, result, what others hold at the end, and how the run ended.

    Attributes:
        prompts: all prompts, in order.
        shown: what is compared between runs, by holder.
        error: the exception that ended the run, if any.
        calls: the hook's calls; None if no hook took part.
        wrote_shared: whether a call that wrote was given what the framework shows elsewhere too, in a landed
            run.
    """

    prompts: list[Prompt] = field(default_factory=list)
    shown: dict[str, Any] = field(default_factory=dict)
    error: BaseException | None = None
    calls: Calls | None = None
    wrote_shared: bool = False

    def is_judged(self) -> bool:
        """True if the run ended in a way in which the framework ends runs."""
        return self.error is None


class _Recorder:
    """The recorder of one run; the tap asks it for turn and step."""

    def __init__(self, adapter: Adapter, log: Log | None = None) -> None:
        self.seen = Observation()
        self._log = log
        self.tap: Tap | None = None
        self._drop = adapter.drop
        self._entries = adapter.entries
        self._turn = 0
        self._step = 0
        self._results: list[Any] = []
        self._holders: dict[str, Any] = {}

    def where(self) -> tuple[int, int]:
        return self._turn, self._step

    def begin_turn(self, turn: int) -> None:
        self._turn, self._step = turn, 0

    def prompt(self, messages: Any) -> int:
        if self.tap is not None:
            self.tap.look()
            if self.tap.is_landed:
                self.tap.met(Snapshot(messages, Data()))
        shown = show(messages, Data(), self._drop)
        self.seen.prompts.append(Prompt(self._turn, self._step, shown, tuple(self._entries(messages))))
        if self._log is not None:
            self._log.prompt(self._turn, self._step, shown)
        self._step += 1
        return self._step - 1

    async def settle(self) -> None:
        if self.tap is not None:
            await self.tap.left.settle()

    def result(self, value: Any) -> None:
        self._results.append(value)

    def holder(self, name: str, value: Any) -> None:
        self._holders[name] = value

    def end(self) -> None:
        if self.tap is not None:
            self.tap.look()
            self.seen.calls = self.tap.calls
            if self.tap.is_landed:
                self.tap.met(Snapshot([self._results, self._holders], Data()))
                self.seen.wrote_shared = self.tap.wrote_shared()
        shown: dict[str, Any] = {
            "prompts": [[each.turn, each.step, each.shown] for each in self.seen.prompts]
        }
        shown["result"] = show(self._results, Data(), self._drop)
        shown.update((name, show(value, Data(), self._drop)) for name, value in self._holders.items())
        shown["error"] = None if self.seen.error is None else type(self.seen.error).__name__
        self.seen.shown = shown


_Tapped = Callable[[Callable[[], tuple[int, int]]], Tap]


def observe(  # noqa: PLR0913, PLR0917 - what a run is made of
    adapter: Adapter,
    of: Conversation,
    at: str,
    path: str,
    seed: int,
    tapped: _Tapped | None,
    is_own: Callable[[str], bool],
    log: Log | None = None,
) -> Observation:
    """Runs a conversation once, with a hook or without, and returns what is seen.

    Args:
        adapter: the framework.
        of: the conversation.
        at: the boundary.
        path: the framework's path.
        seed: what random numbers, ids and clocks of the run follow from.
        tapped: makes the tap of the run from the function that says turn and step; None runs without a hook.
        is_own: whether a file is the person's.
        log: is notified of each prompt.
    """
    recorder = _Recorder(adapter, log)
    with seeded(seed, is_own), _quiet():
        attached: Attached | None = None
        if tapped is not None:
            recorder.tap = tapped(recorder.where)
            attached = recorder.tap.attached()
        try:
            with contextlib.nullcontext() if recorder.tap is None else recorder.tap.left.noted():
                adapter.run(Session(of, recorder), attached, at, path)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever ends a run is part of what is seen
            recorder.seen.error = error
        recorder.end()
    return recorder.seen


@contextlib.contextmanager
def _quiet() -> Any:
    """A task that the hook left alone must not report to the terminal when it is collected."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = before


# ---------------------------------------------------------------- differences between runs


def differing(one: Observation, other: Observation) -> list[Path]:
    """Returns the places at which two runs differ: the holder, and the path in what it holds."""
    return differences(one.shown, other.shown)


def holder_of(
    path: Path, one: Observation, turn: int, step: int, *, after: bool = False
) -> tuple[str, int, int | None, str]:
    """Returns who sees a difference, as a holder of the schema, with turn, step and place.

    Args:
        path: the place, from `differing`.
        one: a run of the two.
        turn: the turn in which the hook wrote.
        step: the step of the call that wrote.
        after: whether the hook runs after the model: then the next prompt is the first that can show it.
    """
    name = str(path[0])
    if name != "prompts" or len(path) == 1:
        return ("result" if name in ("error", "prompts") else name), turn, None, text_of(path[1:])
    index = int(path[1])
    if index >= len(one.prompts):
        return "later-prompts", turn, None, ""
    seen = one.prompts[index]
    distance = seen.step - step
    if seen.turn > turn:
        kind = "later-runs"
    elif distance <= 0:
        kind = "this-prompt"
    else:
        kind = "next-prompt" if after and distance == 1 else "later-prompts"
    return kind, seen.turn, seen.step, text_of(path[3:])
