"""What a campaign's report says, as JSON; every other format is made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeAlias

from agentcore.kit.compare import Difference, render
from agentcore.kit.safe_text import bounded, cut
from agentcore.oracle.campaign.check import Campaign, Plan
from agentcore.oracle.campaign.findings import Disagreement, Finding, ReferenceFailure
from agentcore.oracle.campaign.verdicts import Kind
from agentcore.oracle.campaign.worker import profile_for
from agentcore.oracle.drivers.driver import Implementation
from agentcore.oracle.reports import evidence

__all__ = ["FORMAT", "document"]

Json: TypeAlias = dict[str, Any]

FORMAT: Final = 1
"""The version of the document: fields may be added, none changes its meaning without a new version."""

_NAME: Final = 200
_TEXT: Final = 20_000
_OUTCOMES: Final = (
    *("agreed", "wrong", "unsupported", "left out"),
    *("crashed", "hung", "malformed", "incompatible", "changed", "raised"),
)


def document(plan: Plan, done: Campaign, *, seed: int, jobs: int, files: Sequence[Path | None] = ()) -> Json:
    """The report of a campaign that began at a seed: what `check-report.schema.json` says.

    `files` are those in which the programs of the findings were saved, None for one that was not.
    """
    told = done.report
    return {
        "format": FORMAT,
        "verdict": done.verdict,
        "profile": plan.profile,
        "isolated": plan.isolated,
        "target": plan.target,
        "driver": [cut(word, _TEXT) for word in plan.argv],
        "implementation": _implementation(done.implementation),
        "seed": seed,
        "ended": done.ended,
        "include": [*plan.include],
        "exclude": [*plan.exclude],
        "only": [*plan.only],
        "ignore": [*plan.ignore],
        "programs": told.programs,
        "outcomes": _outcomes(done.counts),
        "replayed": _outcomes(done.replayed),
        "unsupported": _reasons(done, "unsupported"),
        "leftOut": _reasons(done, "left out"),
        "seconds": round(told.seconds, 3),
        "perSecond": round(told.per_second, 1),
        "ownShare": round(told.own_share, 3),
        "jobs": jobs,
        "findings": [
            _finding(finding, plan, file)
            for finding, file in zip_longest(done.findings, files[: len(done.findings)])
        ],
    }


def _implementation(said: Implementation | None) -> Json | None:
    if said is None:
        return None
    unsupported = bounded([*said.unsupported], length=_NAME)
    return {"name": cut(said.name, _NAME), "version": cut(said.version, _NAME), "unsupported": unsupported}


def _outcomes(counts: Mapping[Kind, int]) -> Json:
    found: Counter[str] = Counter()
    for kind, count in counts.items():
        found[kind.outcome] += count
    return {outcome: found[outcome] for outcome in _OUTCOMES}


def _reasons(done: Campaign, outcome: str) -> list[Json]:
    """Why programs were not compared, and how many; a campaign keeps about a hundred reasons apart."""
    return [{"reason": cut(why, _NAME), "programs": n} for why, n in done.reasons(outcome).items()]


def _finding(finding: Finding, plan: Plan, file: Path | None) -> Json:
    profile = profile_for(finding.program, plan.profile)
    original = finding.original["id"]
    return {
        "outcome": finding.kind.outcome,
        "where": cut(finding.kind.where, _NAME),
        "hook": finding.kind.hook,
        "op": finding.kind.op,
        "programs": finding.programs,
        "profile": profile,
        "original": bounded(original, length=_NAME),
        "program": bounded(finding.program, length=_TEXT),
        "command": evidence.command(plan, original, None if file is None else str(file), plan.profile),
        **_evidence(finding, profile),
    }


def _evidence(finding: Finding, profile: str) -> Json:
    if isinstance(finding, Disagreement):
        told = evidence.boundaries(finding, profile)
        breach = {} if finding.breach is None else {"breach": evidence.breach_json(finding.breach)}
        return {
            "difference": _difference(finding.difference),
            "boundaries": told,
            "writers": evidence.writers(finding, profile),
            "spread": evidence.spread_json(finding, profile, told),
            **breach,
        }
    if isinstance(finding, ReferenceFailure):
        return {"traceback": cut(finding.traceback, _TEXT)}
    return {
        "failure": {
            "reason": cut(finding.reason, _TEXT),
            "stderr": cut(finding.outcome.stderr, _TEXT),
            "repeated": finding.repeated,
        }
    }


def _difference(difference: Difference) -> Json:
    return {
        "path": cut(difference.path, _NAME),
        "observation": cut(difference.observation, _NAME),
        "expected": evidence.shown(difference.expected, length=_TEXT),
        "actual": evidence.shown(difference.actual, length=_TEXT),
        "diff": render(difference),
    }
