"""Keeps what long campaigns came to: `python -m tools.campaigns REPORT.json ...`.

Each argument is a report of `agentcore check --report FILE.json`. Of each target and profile the newest is
kept in `tools/data/campaigns.json`, of which `tests/pages.py` makes a page of the specification. With
`--add` reports of other seeds are added to those that are kept.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final

import click

__all__ = ["DATA", "kept"]

DATA: Final = Path(__file__).parent / "data" / "campaigns.json"
# From the one that another may overrule on.
_VERDICTS: Final = ("agreement", "no verdict", "disagreement")
Json = dict[str, Any]


def kept(reports: list[Json], before: list[Json], *, add: bool = False) -> list[Json]:
    """Returns the records after these reports, one of each target and profile, by their names.

    Raises:
        ValueError: if a report is to be added to one of some of the same seeds.
    """
    records = {(each["target"], each["profile"]): each for each in before}
    for report in reports:
        name = (report["target"], report["profile"])
        record = _record(report)
        records[name] = _sum(records[name], record) if add and name in records else record
    return [records[name] for name in sorted(records)]


def _record(report: Json) -> Json:
    return {
        "target": report["target"],
        "profile": report["profile"],
        "seeds": [[report["seed"], report["programs"]]],
        "programs": report["programs"],
        "verdict": report["verdict"],
        "outcomes": {name: count for name, count in report["outcomes"].items() if count},
        "unsupported": report["unsupported"],
        "pairs": {name: report["pairs"][name] for name in ("met", "expected")},
        "minutes": round(report["seconds"] / 60),
    }


def _sum(one: Json, other: Json) -> Json:
    """The record of both. Of pairs of features those that one of them met, since they do not name them."""
    for first, count in one["seeds"]:
        for begin, more in other["seeds"]:
            if first < begin + more and begin < first + count:
                raise ValueError(f"{one['target']}: seeds from {begin} on are among those from {first} on")
    reasons = Counter({each["reason"]: each["programs"] for each in one["unsupported"]})
    reasons.update({each["reason"]: each["programs"] for each in other["unsupported"]})
    return {
        **one,
        "seeds": sorted([*one["seeds"], *other["seeds"]]),
        "programs": one["programs"] + other["programs"],
        "verdict": max(one["verdict"], other["verdict"], key=_VERDICTS.index),
        "outcomes": dict(Counter(one["outcomes"]) + Counter(other["outcomes"])),
        "unsupported": [{"reason": each, "programs": count} for each, count in sorted(reasons.items())],
        "pairs": max(one["pairs"], other["pairs"], key=lambda pairs: int(pairs["met"])),
        "minutes": one["minutes"] + other["minutes"],
    }


@click.command()
@click.option("--add", is_flag=True, help="Add to what is kept, which has other seeds.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(files: tuple[Path, ...], *, add: bool) -> None:
    """Keep the results of campaigns from their reports."""
    before = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []
    reports = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    DATA.write_text(json.dumps(kept(reports, before, add=add), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
