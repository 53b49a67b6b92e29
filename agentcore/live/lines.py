"""The line of a person's code that made a write: found by a tracer in one more live run."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from types import FrameType
from typing import Any

from agentcore.guard.reading import ATOMS
from agentcore.guard.snapshot import Snapshot
from agentcore.live.conversations import Conversation
from agentcore.live.copies import Data
from agentcore.live.judge import Judge, Shown
from agentcore.live.loading import is_own_file
from agentcore.live.tap import Mode
from agentcore.live.writes import general, writes

__all__ = ["line_of"]


def line_of(judge: Judge, of: Conversation, path: str, seed: int, shown: Shown) -> dict[str, Any] | None:
    """Runs a conversation again, live, and compares what the hook got after each line of the person's files.

    Args:
        judge: the check.
        of: the conversation that shows the write.
        path: the framework's path.
        seed: the seed of the run.
        shown: the finding.

    Returns:
        File, line and column of the first line after which something differs; None if there is none.
    """
    finder = _Finder(judge, {general(place) for place in shown.places})
    # A debugger or a measurement of coverage traces, too, and goes on afterwards.
    here, everywhere = sys.gettrace(), threading.gettrace()
    try:
        judge.run(of, path, seed, Mode.LIVE, around=finder.around)
    finally:
        sys.settrace(here)
        threading.settrace(everywhere)
    return finder.found


class _Finder:
    """Traces the lines of the person's files while a hook, or a task that it left, runs."""

    def __init__(self, judge: Judge, wanted: AbstractSet[str]) -> None:
        # Other places may be the framework's own, which goes on while an async hook waits.
        self._wanted = wanted
        self._project = judge.project
        self._boundary = judge.boundary
        self._snapshots: list[tuple[Snapshot, Data]] = []
        self._last: tuple[str, int] | None = None
        self.found: dict[str, Any] | None = None

    def around(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        """Goes around a hook: takes a snapshot of its arguments, and traces from then on."""

        @functools.wraps(hook)
        def call(*args: Any, **options: Any) -> Any:
            self._begin(args, options)
            try:
                returned = hook(*args, **options)
            finally:
                self._compare()
            if inspect.isawaitable(returned):
                return self._awaited(returned)
            self._watch({"returned": returned})
            return returned

        return call

    async def _awaited(self, returned: Any) -> Any:
        try:
            awaited = await returned
        finally:
            self._compare()
        self._watch({"returned": awaited})
        return awaited

    def _begin(self, args: Any, options: Any) -> None:
        given = {**dict(zip(self._boundary.names(args), args, strict=False)), **options}
        given.pop(self._boundary.handler or "", None)
        kept = frozenset(id(each) for each in self._boundary.kept(given) if type(each) not in ATOMS)
        # What the framework did between two calls is nobody's line.
        self._snapshots = [(Snapshot(each.root, reader), reader) for each, reader in self._snapshots[-4:]]
        self._watch(given, kept)
        self._last = None
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    def _watch(self, value: Any, kept: frozenset[int] = frozenset()) -> None:
        reader = Data(kept)
        self._snapshots.append((Snapshot(value, reader), reader))

    def _trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if self.found is not None or not is_own_file(frame.f_code.co_filename, self._project):
            return None
        self._step(frame, event)
        return self._local

    def _local(self, frame: FrameType, event: str, _: Any) -> Any:
        self._step(frame, event)
        return self._local

    def _step(self, frame: FrameType, event: str) -> None:
        self._compare()
        at: FrameType | None = frame
        if event == "return":
            # What comes next is the rest of the line that called: `message.content = shorten(text)`.
            at = frame.f_back
            while at is not None and not is_own_file(at.f_code.co_filename, self._project):
                at = at.f_back
        if at is not None:
            self._last = at.f_code.co_filename, at.f_lineno

    def _compare(self) -> None:
        if self.found is not None or self._last is None:
            return
        for snapshot, reader in self._snapshots:
            for write in writes(snapshot, reader, 0, 0, "argument"):
                if not self._wanted.isdisjoint(map(general, write.places)):
                    file, line = self._last
                    self.found = {"file": file, "line": line, "column": None}
                    return
