"""What causes a wrong trace, and what a found program keeps while it is made smaller."""

from __future__ import annotations

import sys
from typing import Any, Final

import pytest

from agentcore.kit.families import FAMILIES, family_of
from agentcore.oracle.campaign import worker
from agentcore.oracle.campaign.check import Campaign, Disagreement, Limits, Plan, campaign
from agentcore.oracle.campaign.findings import Selection
from liars.moody import InMemory
from oracle.driver_commands import TESTS

Json = dict[str, Any]
FAMILY: Final = FAMILIES["ai-sdk"]
GENERATE: Final = "ai-sdk-6/generate"


@pytest.fixture
def _in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "Driver", InMemory)


def checked(
    *deeds: str, shrink: float = 0.0, programs: int = 400, findings: int = 1, **plan: Any
) -> Campaign:
    argv = (sys.executable, "-m", "liars.moody", *deeds)
    limits = Limits(programs=programs, findings=findings)
    made = Plan(profile=GENERATE, argv=argv, limits=limits, shrink_seconds=shrink, **plan)
    return campaign(made, first=0)


# ---------------------------------------------------------------- grouped by cause


@pytest.mark.slow
@pytest.mark.usefixtures("_in_memory")
@pytest.mark.parametrize(
    ("deeds", "ops"),
    [
        (("op freeze=wrong", "op clear=wrong"), {"freeze", "clear"}),
        (("op throw=wrong", "tool takes=wrong"), {"throw", "takes"}),
        (("op freeze=wrong", "call maxSteps=wrong"), {"freeze", ""}),
    ],
)
def test_two_bugs_at_one_place_are_two_findings(deeds: tuple[str, ...], ops: set[str]) -> None:
    # One bug of ops may show in each hook: there are more kinds than bugs.
    done = checked(*deeds, findings=100, include=("op *",))
    assert {finding.kind.op for finding in done.findings} == ops
    assert {finding.kind.where for finding in done.findings} == {"$.caller"}
    assert len({finding.kind for finding in done.findings}) == len(done.findings)


@pytest.mark.usefixtures("_in_memory")
def test_the_cause_is_the_last_op_without_which_the_traces_agree() -> None:
    finding = next(iter(checked("op clear=wrong", include=("op clear",)).findings))
    assert str(finding.kind).startswith("wrong at $.caller, by clear in ")
    hooks = {write.hook for write in FAMILY.writes(finding.program) if write.op == "clear"}
    assert finding.kind.hook in hooks


PROGRAMS: Final[dict[str, Json]] = {
    "ai-sdk": {
        "tools": {"look": {"takes": 2, "mutate": [{"clear": ["messages"]}]}, "save": {"takes": 0}},
        "hooks": {"onFinish": [[{"throw": "x"}]], "prepareStep": [None, [{"keep": ["messages"], "as": "k"}]]},
    },
    "mastra": {
        "tools": {"look": {"takes": 1, "mutateInput": {"a": 1}}},
        "processors": [{"id": "p", "input": [{"op": "abort"}], "steps": {"*": [{"op": "reverse"}]}}],
        "prepareStep": {"1": [{"op": "throw", "message": "x"}]},
    },
    "strands": {
        "tools": {"look": {"takes": 1, "mutateInput": [{"op": "set", "path": ["input"], "value": 1}]}},
        "script": [[], {"blocks": [], "mutate": [{"op": "append", "path": ["messages"]}]}],
        "hooks": [{"on": "afterTool", "ops": [{"op": "retry"}]}],
        "middleware": [{"stage": "tool", "ops": [{"op": "next"}]}],
    },
}
CAUSES: Final = {
    "ai-sdk": [
        *("takes in a tool", "takes in a tool", "clear in a tool", "throw in onFinish"),
        "keep in prepareStep",
    ],
    "mastra": [
        *("takes in a tool", "mutateInput in a tool", "abort in processInput"),
        *("reverse in a step", "throw in a step"),
    ],
    "strands": [
        *("takes in a tool", "set in a tool", "append in the model", "retry in afterTool"),
        "next in the tool stage",
    ],
}


@pytest.mark.parametrize("family", PROGRAMS)
def test_the_writes_of_a_program_are_named_in_every_family(family: str) -> None:
    writes = [*FAMILIES[family].writes(PROGRAMS[family])]
    assert [f"{write.op} in {write.hook}" for write in writes] == CAUSES[family]


# ---------------------------------------------------------------- within what was asked for


@pytest.mark.slow
@pytest.mark.usefixtures("_in_memory")
@pytest.mark.parametrize(
    ("deed", "settings", "lacking"),
    [
        ("path generate=wrong", {"include": ("op clear",)}, ()),
        ("path generate=wrong", {"exclude": ("history user string", "script 1 steps")}, ()),
        ("path generate=wrong", {"include": ("tool takes",), "exclude": ("op *",)}, ("script text",)),
    ],
)
def test_a_program_that_is_made_smaller_stays_within_what_was_asked_for(
    deed: str, settings: dict[str, Any], lacking: tuple[str, ...]
) -> None:
    [finding] = checked(deed, *lacking, shrink=4.0, **settings).findings
    selection = Selection.of(FAMILY, settings.get("include", ()), settings.get("exclude", ()))
    assert isinstance(finding, Disagreement)
    assert selection.without(lacking).refused(finding.program) is None
    assert len(str(finding.program)) < len(str(finding.original))


@pytest.mark.slow
@pytest.mark.usefixtures("_in_memory")
@pytest.mark.parametrize("unwanted", [("op *", "write *"), ("tool *",), ("history *", "script text")])
def test_what_is_left_out_is_taken_out_of_programs_and_starves_no_campaign(unwanted: tuple[str, ...]) -> None:
    fitting = ("tool fresh", "history user string", "history assistant string")
    names = {name for pattern in unwanted for name in Selection.of(FAMILY, (), (pattern,)).unwanted}
    done = checked(exclude=tuple(names - {*fitting}), programs=60)
    assert done.ended == "programs"
    assert done.report.left_out <= 60


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param("ai-sdk-7/stream", marks=pytest.mark.slow),
        "mastra@1.71.0",
        pytest.param("strands-py@1.62.0", marks=pytest.mark.slow),
    ],
)
def test_a_trimmed_program_is_a_program_and_keeps_what_it_can(profile: str) -> None:
    family = family_of(profile)
    unwanted = frozenset(name for name in family.feature_names if name.startswith(("op ", "tool ")))
    selection = Selection(family, unwanted=unwanted - {"tool fresh", "tool output"})
    programs = [*family.programs(range(25), profile)]
    trimmed = [selection.trimmed(program) for program in programs]
    for program in trimmed:
        family.require(program)
    assert sum(selection.has(program) for program in trimmed) > sum(map(selection.has, programs))
    assert sum(map(selection.has, trimmed)) >= 20


# ---------------------------------------------------------------- three bugs of one's own


BUGS: Final = {
    "grows": ("$.caller", ""),
    "aliases": ("$.final", ""),
    "races": ("$.steps[].onStepFinish", "takes"),
}


def three_bugs(*bugs: str) -> set[tuple[str, str]]:
    """The places and ops by which the bugs are found."""
    argv = (sys.executable, "-m", "liars.three_bugs", *bugs)
    limits = Limits(programs=150, findings=20)
    plan = Plan(profile=GENERATE, argv=argv, limits=limits, shrink_seconds=0)
    try:
        done = campaign(plan, first=1)
    finally:
        worker.close_drivers()
    return {(finding.kind.where, finding.kind.op) for finding in done.findings}


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))


@pytest.mark.slow
def test_three_bugs_of_one_loop_are_found_in_one_run() -> None:
    assert {*BUGS.values()} <= three_bugs()


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("bug", BUGS)
def test_each_of_them_alone_is_found_by_its_own_cause(bug: str) -> None:
    found = three_bugs(bug)
    assert BUGS[bug] in found
    assert not found.intersection(place for other, place in BUGS.items() if other != bug)
