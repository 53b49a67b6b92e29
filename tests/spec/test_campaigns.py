"""What is kept of campaigns."""

from __future__ import annotations

from typing import Any

import pytest

from tools.campaigns import kept


def report(seed: int, **fields: Any) -> dict[str, Any]:
    """A report of ten programs from a seed on, as `agentcore check --report` writes it."""
    return {
        "target": "ai-sdk@7.0.173",
        "profile": "ai-sdk-7/stream",
        "seed": seed,
        "programs": 10,
        "verdict": "agreement",
        "outcomes": {"agreed": 10, "wrong": 0, "unsupported": 0},
        "unsupported": [],
        "pairs": {"met": 5, "expected": 9, "missing": []},
        "seconds": 90.0,
        **fields,
    }


def test_a_campaign_takes_the_place_of_the_one_before() -> None:
    before = kept([report(0), report(0, target="ai-sdk@6.0.134")], [])
    [old, new] = kept([report(5, verdict="disagreement")], before)
    assert old == before[0]
    assert (new["seeds"], new["verdict"]) == ([[5, 10]], "disagreement")
    assert new["outcomes"] == {"agreed": 10}


def test_a_campaign_of_other_seeds_is_added() -> None:
    found = report(
        90,
        verdict="disagreement",
        outcomes={"agreed": 7, "wrong": 1, "unsupported": 2},
        unsupported=[{"reason": "a time", "programs": 2}],
        pairs={"met": 4, "expected": 8},
    )
    [both] = kept([report(0), found], kept([report(30)], []), add=True)
    assert both["seeds"] == [[0, 10], [30, 10], [90, 10]]
    assert (both["programs"], both["verdict"], both["minutes"]) == (30, "disagreement", 6)
    assert both["outcomes"] == {"agreed": 27, "wrong": 1, "unsupported": 2}
    assert both["unsupported"] == [{"reason": "a time", "programs": 2}]
    assert both["pairs"] == {"met": 5, "expected": 9}


@pytest.mark.parametrize("seed", [21, 30, 39])
def test_programs_are_counted_once(seed: int) -> None:
    with pytest.raises(ValueError, match="are among those"):
        kept([report(seed)], kept([report(30)], []), add=True)
