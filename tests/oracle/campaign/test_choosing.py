from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs
import pytest

from agentcore.kit.program import Hung
from agentcore.oracle.campaign.check import chosen
from agentcore.oracle.campaign.findings import Found
from agentcore.oracle.campaign.stop_rules import Limits, Tally
from agentcore.oracle.campaign.verdicts import Failed, Fault, Kind, Wrong
from agentcore.oracle.campaign.worker import Plan
from oracle.reports.test_report_evidence import shared

LIMITS: Final = Limits(programs=99, findings=3)
PLAN: Final = Plan(profile="ai-sdk-6", isolated=True, argv=("x",), limits=LIMITS)


def wrong(hook: str, place: str) -> Wrong:
    finding = shared()
    assert finding.breach is not None
    return Wrong(
        expected={},
        actual={},
        difference=finding.difference,
        breach=attrs.evolve(finding.breach, hook=hook, place=place),
    )


def told(faults: Sequence[tuple[Fault, int]], plan: Plan = PLAN) -> list[str]:
    tally = Tally(Limits(findings=99, failures=99))
    found: dict[Kind, Found] = {}
    for fault, programs in faults:
        found[fault.kind] = Found(program={"id": "a"}, fault=fault)
        for _ in range(programs):
            tally.add(fault.kind)
    return [_named(one.fault) for _, one in chosen(found, tally, plan)]


def _named(fault: Any) -> str:
    return fault.breach.place if isinstance(fault, Wrong) and fault.breach else str(fault.kind)


MANY: Final = [
    (wrong("prepareStep", "messages[*].content"), 1),
    (wrong("prepareStep", "messages"), 9),
    (wrong("prepareStep", "messages[*].text"), 5),
    (wrong("onStepFinish", "content[*].text"), 1),
    (wrong("onStepFinish", "response.messages"), 1),
]


def test_each_hook_and_field_has_its_turn_before_any_has_a_second() -> None:
    assert told(MANY) == ["messages", "content[*].text", "response.messages"]


def test_what_most_programs_show_comes_first_in_its_group() -> None:
    plan = attrs.evolve(PLAN, limits=Limits(findings=9))
    assert told(MANY, plan)[3:] == ["messages[*].text", "messages[*].content"]


@pytest.mark.parametrize("isolated", [True, False])
def test_a_driver_that_fails_is_told_too(isolated: bool) -> None:
    plan = attrs.evolve(PLAN, isolated=isolated)
    assert told([(Failed(Hung(1.0, "")), 1), *MANY[:1]], plan)[0] == "hung"
    assert len(told([(Failed(Hung(1.0, "")), 1), *MANY], plan)) == (3 if isolated else 6)
