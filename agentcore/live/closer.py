"""Closes one judged conversation: its outcome as data, and the smallest conversation that shows the same."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from agentcore.live.conversations import Conversation, smaller
from agentcore.live.judge import Judge, Key, Outcome, Shown, key_of
from agentcore.live.lines import line_of
from agentcore.live.measures import prefix
from agentcore.live.moments import runs_of

__all__ = ["outcome_data", "smallest"]

# One further run each: a share of prompts is known well enough from these.
_MEASURED: Final = 20
_ENDING: Final = ("exits", "out-of-memory")


def outcome_data(judge: Judge, of: Conversation, path: str, index: int) -> dict[str, Any]:
    """Judges a conversation, and returns the outcome as plain data."""
    out = judge.judge(of, path, index)
    return {
        "index": index,
        "path": path,
        "name": of["name"],
        "size": len(json.dumps(of)),
        "shown": [asdict(each) for each in out.shown],
        "judged": out.judged,
        "error": out.error,
        "outside": out.outside,
        "calls": out.calls,
        "prompts": out.prompts,
        "prefix": _prefix(judge, of, path, index, out) if index < _MEASURED and out.judged else None,
    }


def _prefix(judge: Judge, of: Conversation, path: str, seed: int, out: Outcome) -> list[Any]:
    mine = prefix(out.live.prompts)
    plain = prefix(judge.run(of, path, seed, None).prompts)
    return [mine.lost, mine.total, plain.lost, plain.total, mine.broken, plain.broken]


def smallest(  # noqa: PLR0913, PLR0917 - what a run is made of, and what is looked for
    judge: Judge,
    of: Conversation,
    path: str,
    seed: int,
    wanted: Key,
    end: float,
    begin: Callable[[], None] = lambda: None,
) -> tuple[dict[str, Any] | None, Conversation]:
    """Finds the smallest conversation that shows a finding, and the line of the hook that wrote.

    Args:
        judge: the check.
        of: a conversation that shows it.
        path: the framework's path.
        seed: the seed of its runs.
        wanted: what tells the finding from others.
        end: the time of `time.monotonic` after which no smaller one is looked for.
        begin: called before each try.

    Returns:
        What the smallest conversation shows, with the moments of its runs, None if it shows nothing any more;
        and that conversation.
    """
    found: list[Shown] = []

    def shows(candidate: Conversation) -> bool:
        if time.monotonic() > end:
            return False
        begin()
        judged = judge.judge(candidate, path, seed).shown
        same = [each for each in judged if key_of(asdict(each)) == wanted]
        found[:] = same[:1] or found
        return bool(same)

    if not shows(of):
        return None, of
    of = smaller(of, shows)
    shown = found[0]
    line = shown.line or (line_of(judge, of, path, seed, shown) if shown.places else None)
    runs = None
    # What filled the memory or ended the process would do so again. A finding is worth more than its moments.
    if shown.cause not in _ENDING:
        with suppress(Exception):
            runs = runs_of(judge, of, path, seed, shown)
    return {**asdict(shown), "line": line, "runs": runs}, of
