"""The record of long campaigns: the newest of each, and a page of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spec import campaigns as pages
from tools import campaigns


def report(target: str, profile: str, seed: int, **outcomes: int) -> dict[str, Any]:
    return {
        "target": target,
        "profile": profile,
        "seed": seed,
        "programs": sum(outcomes.values()),
        "verdict": "agreement",
        "outcomes": {"agreed": 0, "wrong": 0, **outcomes},
        "unsupported": [],
        "pairs": {"met": 70, "expected": 71, "rarest": []},
        "seconds": 90.0,
        "driver": [],
    }


def test_the_newest_of_each_target_and_profile_is_kept_by_name() -> None:
    first = [report("b@1", "b", 1, agreed=5), report("a@1", "a/stream", 2, agreed=6)]
    found = campaigns.kept([report("b@1", "b", 9, agreed=7, wrong=1)], campaigns.kept(first, []))
    assert [(each["target"], each["seeds"]) for each in found] == [("a@1", [[2, 6]]), ("b@1", [[9, 8]])]
    assert found[1]["outcomes"] == {"agreed": 7, "wrong": 1}
    assert found[0]["pairs"] == {"met": 70, "expected": 71}
    assert "driver" not in found[0]


def test_reports_are_added_to_the_file_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, file = tmp_path / "campaigns.json", tmp_path / "report.json"
    monkeypatch.setattr(campaigns, "DATA", data)
    monkeypatch.setattr(pages, "DATA", data)
    for each in (report("b@1", "b", 1, agreed=4000), report("a@1", "a", 2, agreed=6, unsupported=1)):
        file.write_text(json.dumps(each), encoding="utf-8")
        assert CliRunner().invoke(campaigns.main, [str(file)]).exit_code == 0
    rows = [row for row in pages.page().splitlines() if row.startswith(("| `a@1`", "| `b@1`"))]
    assert rows[0] == "| `a@1` | `a` | 7 | 2 (7) | agreed 6, unsupported 1 | 70 of 71 | 2 |"
    assert rows[1].startswith("| `b@1` | `b` | 4,000 | 1 (4,000) | agreed 4,000 |")


def test_a_campaign_of_other_seeds_is_added() -> None:
    reason = {"reason": "a time", "programs": 2}
    found = {**report("b@1", "b", 90, agreed=7, wrong=1, unsupported=2), "unsupported": [reason]}
    found |= {"verdict": "disagreement", "pairs": {"met": 60, "expected": 80}}
    before = campaigns.kept([report("b@1", "b", 30, agreed=10)], [])
    [all_three] = campaigns.kept([report("b@1", "b", 0, agreed=10), found], before, add=True)
    assert all_three["seeds"] == [[0, 10], [30, 10], [90, 10]]
    assert (all_three["programs"], all_three["verdict"], all_three["minutes"]) == (30, "disagreement", 6)
    assert all_three["outcomes"] == {"agreed": 27, "wrong": 1, "unsupported": 2}
    assert all_three["unsupported"] == [reason]
    assert all_three["pairs"] == {"met": 70, "expected": 71}


@pytest.mark.parametrize("seed", [21, 30, 39])
def test_programs_are_counted_once(seed: int) -> None:
    before = campaigns.kept([report("b@1", "b", 30, agreed=10)], [])
    with pytest.raises(ValueError, match="are among those"):
        campaigns.kept([report("b@1", "b", seed, agreed=10)], before, add=True)
