"""Chooses which of many causes to report: some of each kind, hook and field, not all of the first.

Rule isolated.grouped: one fault of a loop, such as a list that is handed out as it is, shows in dozens of
causes, because each op and each place below it is one. They must not take the place of another fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, zip_longest
from typing import Final

from agentcore.oracle.campaign.batches import Found
from agentcore.oracle.campaign.stop_rules import Tally
from agentcore.oracle.campaign.verdicts import Kind, Wrong
from agentcore.oracle.campaign.worker import Plan

__all__ = ["chosen"]

_FIELD: Final = re.compile(r"[.\[]")


def chosen(found: Mapping[Kind, Found], tally: Tally, plan: Plan) -> Iterator[tuple[Kind, Found]]:
    """Yields the findings to report, in order: all of them, but of a check of isolation a choice."""
    if not plan.isolated:
        return iter(found.items())
    groups: dict[tuple[str, ...], list[Kind]] = {}
    for kind, one in found.items():
        groups.setdefault(_group(kind, one), []).append(kind)
    for kinds in groups.values():
        kinds.sort(key=lambda kind: -tally.of(kind))
    rounds = zip_longest(*groups.values())
    ordered = (kind for kinds in rounds for kind in kinds if kind is not None)
    return ((kind, found[kind]) for kind in islice(ordered, plan.limits.findings))


def _group(kind: Kind, found: Found) -> tuple[str, ...]:
    """The kind, the hook and the field of its argument that was written."""
    breach = found.fault.breach if isinstance(found.fault, Wrong) else None
    return (kind.outcome,) if breach is None else (breach.kind, breach.hook, _FIELD.split(breach.place, 1)[0])
