"""The page of what the last long campaigns came to, and of how soon they meet planted faults."""

from __future__ import annotations

import json
from typing import Any

from faults import first_seeds
from tools.campaigns import DATA

_HEAD = """\
# Campaigns

What the last long campaign of random programs on each real package came to. `nox -s campaign` runs them
all, and `nox -s campaign -- TARGET -n 100000` one of them. Seeds are the first of a row of programs and how
many there are. What was wrong is mended since, with a test of each cause. A pair is two features that one
program has, and how many there are is an estimate
([check](../check.md)).

| target | profile | programs | seeds | outcomes | pairs of features | minutes |
|---|---|---|---|---|---|---|
"""

_PLANTED = """
## Planted faults

How soon random programs meet a fault: the number of the first that shows it, of those from seed 0. Each is
one thing that a loop would get wrong, planted in the emulation of a profile or in the driver of the real
package. No fault takes more than {most:,} programs.

| profile | planted in | fault | programs |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    campaigns = "".join(_row(each) for each in json.loads(DATA.read_text(encoding="utf-8")))
    faults = "".join(_fault_row(each) for each in first_seeds.records())
    return _HEAD + campaigns + _PLANTED.format(most=first_seeds.MOST) + faults


def _fault_row(record: dict[str, Any]) -> str:
    name, place, fault = record["profile"], record["place"], record["fault"]
    return f"| `{name}` | {place} | {fault} | {record['seed'] + 1:,} |\n"


def _row(record: dict[str, Any]) -> str:
    outcomes = ", ".join(f"{name} {count:,}" for name, count in record["outcomes"].items())
    pairs = f"{record['pairs']['met']:,} of {record['pairs']['expected']:,}"
    cells = (
        f"`{record['target']}`",
        f"`{record['profile']}`",
        f"{record['programs']:,}",
        ", ".join(f"{first} ({count:,})" for first, count in record["seeds"]),
        outcomes,
        pairs,
        str(record["minutes"]),
    )
    return f"| {' | '.join(cells)} |\n"
