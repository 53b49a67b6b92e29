"""What a report shows of a wrong trace: both sides, boundary by boundary, and who sees the difference."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from agentcore.kit.compare import Missing, Observation, observations
from agentcore.kit.families import Family, family_of
from agentcore.kit.isolation.shape import Act, Breach
from agentcore.kit.safe_text import bounded, cut
from agentcore.oracle.campaign.findings import Disagreement
from agentcore.oracle.campaign.worker import Plan

__all__ = ["boundaries", "breach_json", "command", "shown", "spread_json", "writers"]

Json: TypeAlias = dict[str, Any]

_NAME: Final = 200
_TEXT: Final = 1_000
_MOST: Final = 60


def shown(value: Any, *, length: int = _TEXT) -> Json:
    """What a trace has at a path: `{}` for nothing."""
    return {} if isinstance(value, Missing) else {"value": bounded(value, length=length, items=200)}


def boundaries(finding: Disagreement, profile: str) -> list[Json]:
    """Both sides at each observation up to the first difference, and at every later one that differs."""
    return [_boundary(one) for one in _told(_observations(finding, family_of(profile)))][:_MOST]


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


def _told(found: Iterable[Observation]) -> Iterator[Observation]:
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
        "expected": shown(one.expected),
        "actual": shown(one.actual),
    }


def breach_json(breach: Breach) -> Json:
    """What a check of isolation found, in the words of live checks."""
    first = breach.first
    return {
        "kind": breach.kind,
        "hook": cut(breach.hook, _NAME),
        "op": cut(breach.op, _NAME),
        "place": cut(breach.place, _NAME),
        "seen": [*breach.seen],
        "firstSeen": {"holder": first.holder, "step": first.step, "place": cut(first.path, _NAME)},
        "message": cut(breach.message, _TEXT),
        "requirement": breach.rule,
        "remedy": breach.remedy,
    }


def writers(finding: Disagreement, profile: str) -> list[str]:
    """Who writes in place in the program, a line or two each."""
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
    seed = str(finding_id).removeprefix("seed-")
    again = ["--replay", file] if file else ["-n", "1", "--seed", seed]
    driver = [] if plan.target else ["--", *plan.argv]
    return cut(shlex.join(["agentcore", "check", *mode, *again, *driver]), _TEXT)
