"""Keeps what long campaigns came to: `python -m tools.campaigns REPORT.json ...`.

Each argument is a report of `agentcore check --report FILE.json`. Of each target and profile the newest is
kept in `tools/data/campaigns.json`, of which `tests/pages.py` makes a page of the specification.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import click

__all__ = ["DATA", "kept"]

DATA: Final = Path(__file__).parent / "data" / "campaigns.json"
_FIELDS: Final = ("target", "profile", "seed", "programs", "verdict", "outcomes", "unsupported", "pairs")

Json = dict[str, Any]


def kept(reports: list[Json], before: list[Json]) -> list[Json]:
    """Returns the records after these reports, one of each target and profile, by their names."""
    records = {(each["target"], each["profile"]): each for each in before}
    for report in reports:
        record = {name: report[name] for name in _FIELDS}
        record["outcomes"] = {name: count for name, count in report["outcomes"].items() if count}
        record["pairs"] = {name: report["pairs"][name] for name in ("met", "expected")}
        record["minutes"] = round(report["seconds"] / 60)
        records[report["target"], report["profile"]] = record
    return [records[name] for name in sorted(records)]


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(files: tuple[Path, ...]) -> None:
    """Keep the results of campaigns from their reports."""
    before = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []
    reports = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    DATA.write_text(json.dumps(kept(reports, before), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
