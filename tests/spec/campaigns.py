"""The page of what the last long campaigns came to."""

from __future__ import annotations

import json
from typing import Any

from tools.campaigns import DATA

_HEAD = """\
# Campaigns

What the last long campaign of random programs on each real package came to. `nox -s campaign` runs them
all, and `nox -s campaign -- TARGET -n 100000` one of them. The seeds of a campaign are the first and those
that follow. A pair is two features that one program has, and how many there are is an estimate
([check](../check.md)).

| target | profile | programs | first seed | outcomes | pairs of features | minutes |
|---|---|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(_row(each) for each in json.loads(DATA.read_text(encoding="utf-8")))


def _row(record: dict[str, Any]) -> str:
    outcomes = ", ".join(f"{name} {count:,}" for name, count in record["outcomes"].items())
    pairs = f"{record['pairs']['met']:,} of {record['pairs']['expected']:,}"
    cells = (
        f"`{record['target']}`",
        f"`{record['profile']}`",
        f"{record['programs']:,}",
        str(record["seed"]),
        outcomes,
        pairs,
        str(record["minutes"]),
    )
    return f"| {' | '.join(cells)} |\n"
