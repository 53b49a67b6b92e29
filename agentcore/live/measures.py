"""Measures of prompts: how much of the next one a cache of prefixes cannot reuse (rule live.prefix)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from agentcore.live.runs import Prompt

__all__ = ["Prefix", "prefix"]


@dataclass(frozen=True)
class Prefix:
    """Characters of prompts that came after another one of their turn.

    Attributes:
        lost: the characters of the prompt before that the next one does not begin with.
        total: the characters of the prompts before.
        broken: the first message that differs, as `turn 0, step 1, message 2`; None if none does.
    """

    lost: int = 0
    total: int = 0
    broken: str | None = None


def prefix(prompts: Sequence[Prompt]) -> Prefix:
    """Compares each prompt with the one before it in its turn, message by message."""
    lost = total = 0
    broken = None
    for before, after in pairwise(prompts):
        if before.turn != after.turn:
            continue
        texts = [(each.role, each.text) for each in before.entries]
        now = [(each.role, each.text) for each in after.entries]
        same = 0
        while same < min(len(texts), len(now)) and texts[same] == now[same]:
            same += 1
        total += sum(len(text) for _, text in texts)
        lost += sum(len(text) for _, text in texts[same:])
        if same < len(texts) and broken is None:
            broken = f"turn {after.turn}, step {after.step}, message {same}"
    return Prefix(lost, total, broken)
