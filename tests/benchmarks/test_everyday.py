"""The everyday cases: our own peer does them all, and the table says what was measured and what was not."""

from __future__ import annotations

import asyncio
from typing import Any

import attrs
import pytest

from benchmarks import everyday
from benchmarks.everyday import CASES, PEERS, measured, page
from benchmarks.peers import everyday as peers
from benchmarks.peers.own_everyday import Own

OWN = PEERS[0]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [3, 7])
def test_our_own_peer_does_the_work_of_each_case(case: str, size: int) -> None:
    answer = asyncio.run(peers.measured(Own(), case, size))
    assert answer["count"] == CASES[case].count(size)
    assert answer["seconds"] > 0
    assert (answer["size"] > 0) == (case in {"save", "load", "checkpoints"})


def test_a_peer_is_measured_in_a_process_of_its_own() -> None:
    assert measured(OWN, "chunks", 4)["count"] == 4


def test_a_peer_that_does_something_else_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    other = attrs.evolve(CASES["chunks"], count=lambda chunks: chunks + 1)
    monkeypatch.setattr(everyday, "CASES", {"chunks": other})
    with pytest.raises(ValueError, match="agentcore, chunks of 4: 4 where 5 are due"):
        measured(OWN, "chunks", 4)


def values(*seconds: float, size: int = 0) -> list[dict[str, Any]]:
    return [{"seconds": each, "count": 1, "size": size} for each in seconds]


def test_the_table_has_medians_for_each_the_slope_and_what_there_is_not() -> None:
    text = page(
        {
            "save/own/10": values(0.001, 0.002, 0.009, size=5_000),
            "save/own/100": values(0.01, size=50_000),
            "save/own/1000": values(1.0, size=500_000),
            "save/ai_7/10": [{"unsupported": "it has none"}],
            "save/ai_7/100": [{"unsupported": "it has none"}],
            "check-hook/own/30": values(3.0),
        }
    )
    own, other, hook = text.splitlines()[-3:]
    assert own.startswith("| saving as JSON, for each step | agentcore ")
    assert own.endswith("| step | 200 us | 100 us | 1 ms | 10, 100, 1,000 | 2.00 | 500 B |")
    assert other.endswith("| step | it has none |  |  |  |  |  |")
    assert "100 ms" in hook
