"""The report of a campaign as JSON; every other format is made of it."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeAlias

from agentcore.kit.compare import Difference, Missing, Observation, observations, render
from agentcore.kit.families import Family, family_of
from agentcore.kit.isolation import Act, Breach
from agentcore.kit.safe_text import bounded, cut
from agentcore.oracle.campaign.check import Campaign
from agentcore.oracle.campaign.coverage import Coverage
from agentcore.oracle.campaign.findings import Disagreement, Finding, ReferenceFailure
from agentcore.oracle.campaign.verdicts import Kind
from agentcore.oracle.campaign.worker import Plan, profile_for
from agentcore.oracle.drivers.driver import Implementation

__all__ = [
    "FORMAT",
    "boundaries",
    "breach_json",
    "command",
    "document",
    "spread_json",
    "text",
    "trace_value_json",
    "writers",
]

Json: TypeAlias = dict[str, Any]

_NAME: Final = 200

FORMAT: Final = 1
"""The version of the document: fields may be added, none changes its meaning without a new version."""

_TEXT: Final = 20_000
_RAREST: Final = 30
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
        "sweep": plan.sweep,
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
        "pairs": _pairs(done.coverage),
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


def _pairs(coverage: Coverage) -> Json:
    """The pairs of features, and the rarest of them by name."""
    rarest = [{"features": [*pair], "programs": count} for pair, count in coverage.rarest(_RAREST)]
    return {"met": coverage.met, "expected": coverage.expected, "rarest": rarest}


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
        "command": command(plan, original, None if file is None else str(file), plan.profile),
        **_evidence(finding, profile),
    }


def _evidence(finding: Finding, profile: str) -> Json:
    if isinstance(finding, Disagreement):
        told = boundaries(finding, profile)
        breach = {} if finding.breach is None else {"breach": breach_json(finding.breach)}
        return {
            "difference": _difference(finding.difference),
            "boundaries": told,
            "writers": writers(finding, profile),
            "spread": spread_json(finding, profile, told),
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
        "expected": trace_value_json(difference.expected, length=_TEXT),
        "actual": trace_value_json(difference.actual, length=_TEXT),
        "diff": render(difference),
    }


# What a report shows of a wrong trace: both sides, boundary by boundary, and who sees the difference.

_SHORT_TEXT: Final = 1_000
_MOST: Final = 60


def trace_value_json(value: Any, *, length: int = _SHORT_TEXT) -> Json:
    """Returns what a trace has at a path: `{}` for nothing."""
    return {} if isinstance(value, Missing) else {"value": bounded(value, length=length, items=200)}


def boundaries(finding: Disagreement, profile: str) -> list[Json]:
    """Both sides at each observation up to the first difference, and at every later one that differs."""
    return [_boundary(one) for one in _select_observations(_observations(finding, family_of(profile)))][
        :_MOST
    ]


def _observations(finding: Disagreement, family: Family) -> list[Observation]:
    if finding.breach is not None and finding.expected is finding.actual:
        # One run shows it: two of its observations should be alike.
        return [Observation(one.path, one.expected, one.actual) for one in finding.breach.observations]
    ignored = () if finding.breach is None or family.isolation is None else family.isolation.ignored
    one, other = (
        {key: value for key, value in trace.items() if key not in ignored}
        for trace in (finding.expected, finding.actual)
    )
    return [*observations(one, other, family.comparison)]


def _select_observations(found: Iterable[Observation]) -> Iterator[Observation]:
    is_apart = False
    for one in found:
        is_apart = is_apart or one.differs
        # Numbers of steps and the like say nothing where they are alike.
        if one.differs or (not is_apart and isinstance(one.expected, dict | list) and one.expected):
            yield one


def _boundary(one: Observation) -> Json:
    return {
        "path": cut(one.path, _NAME),
        "differs": one.differs,
        "expected": trace_value_json(one.expected),
        "actual": trace_value_json(one.actual),
    }


def breach_json(breach: Breach) -> Json:
    """Returns the findings of a check of isolation, in the words of live checks."""
    first = breach.first
    return {
        "kind": breach.kind,
        "hook": cut(breach.hook, _NAME),
        "op": cut(breach.op, _NAME),
        "place": cut(breach.place, _NAME),
        "seen": [*breach.seen],
        "firstSeen": {"holder": first.holder, "step": first.step, "place": cut(first.path, _NAME)},
        "message": cut(breach.message, _SHORT_TEXT),
        "requirement": breach.rule,
        "remedy": breach.remedy,
    }


def writers(finding: Disagreement, profile: str) -> list[str]:
    """Describes each in-place write of the program, in a line or two."""
    breach = finding.breach
    if breach is not None:
        return [f"{breach.hook}\n{breach.op} {breach.place}"]
    known = family_of(profile).isolation
    acts = [] if known is None else known.acts(finding.program)
    return [_writer(act) for act in acts] or ["the program"]


def _writer(act: Act) -> str:
    step = "" if act.step is None else f", step {act.step}"
    return cut(f"{act.hook}{step}\n{act.op} {act.path}", _NAME)


def spread_json(finding: Disagreement, profile: str, told: Sequence[Json]) -> dict[str, list[str]]:
    """The paths that differ, by who sees them, in the order of the run."""
    known = family_of(profile).isolation
    acts = [] if known is None else known.acts(finding.program)
    act = next((one for one in acts if _is_cause(one, finding.breach)), None)
    found: dict[str, list[str]] = {}
    for one in told:
        if one["differs"]:
            holder = "differs" if known is None else known.sight(one["path"], act).holder
            found.setdefault(holder, []).append(one["path"].removeprefix("$."))
    return found


def _is_cause(act: Act, breach: Breach | None) -> bool:
    return breach is None or act.cause == (breach.hook, breach.op, breach.place)


def command(plan: Plan, finding_id: Any, file: str | None, profile: str) -> str:
    """The command that runs the program again."""
    mode = ["--isolated"] if plan.isolated else []
    if plan.target:
        mode += ["--target", plan.target]
    elif not plan.isolated:
        mode += ["--profile", profile]
    again = ["--replay", file] if file else _one_seed(plan, str(finding_id))
    driver = [] if plan.target else ["--", *plan.argv]
    return cut(shlex.join(["agentcore", "check", *mode, *again, *driver]), _SHORT_TEXT)


def _one_seed(plan: Plan, finding_id: str) -> list[str]:
    """The options by which a campaign makes one program and no other: its id ends in the seed."""
    sweep = [] if plan.sweep is None else ["--sweep", plan.sweep]
    return [*sweep, "-n", "1", "--seed", finding_id.removeprefix("seed-").removeprefix(f"{plan.sweep}-")]


# The report as JSON.


def text(document: dict[str, Any]) -> str:
    """The document itself, in ASCII."""
    return json.dumps(document, indent=1) + "\n"
