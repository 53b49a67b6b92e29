from __future__ import annotations

import time
from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.family import FAMILY
from agentcore.frameworks.ai_sdk.programs import random_programs
from agentcore.kit.program import BadProgram
from agentcore.kit.shrink import size
from agentcore.oracle.campaign.check import (
    Agreement,
    CheckResult,
    Disagreement,
    DriverFailure,
    ReferenceFailure,
    check,
)
from agentcore.oracle.drivers.driver import Crashed, Driver, Hung, Malformed
from liars import toy
from oracle.driver_commands import liar, small, toy_driver

Json = dict[str, Any]


def against(driver: Driver, count: int = 40, **settings: Any) -> CheckResult:
    return check(toy.trace, lambda: driver, random_programs(range(count)), family=FAMILY, **settings)


def test_truthful_drivers_agree_and_the_work_is_counted() -> None:
    done: list[int] = []
    result = against(toy_driver(), 300, progress=done.append)
    assert isinstance(result, Agreement)
    assert result.report.programs == 300
    assert result.report.unsupported == 0
    assert done == [*range(1, 301)]
    assert 0 <= result.report.waiting <= result.report.seconds
    assert 0 <= result.report.own_share <= 1
    assert result.report.per_second > 0


def test_no_programs_agree() -> None:
    result = against(toy_driver(), 0)
    assert isinstance(result, Agreement)
    assert result.report.programs == 0


def test_a_planted_fault_is_found_and_shrunk_to_the_one_program_that_shows_it() -> None:
    result = against(toy_driver("forgets"), 2_000)
    assert isinstance(result, Disagreement)
    # The toy forgets a set of step 1 on, so two steps and one op are the least. The first step may be empty.
    assert size(result.program, FAMILY)[:2] == (2, 1)
    assert result.program["script"] == [[], []]
    [none, [op]] = result.program["hooks"]["prepareStep"]
    assert none is None
    assert [*op] == ["set", "to"]
    assert result.difference.observation == "$.steps[1].prompt" or result.difference.path == "$.opErrors[0]"
    assert result.expected == toy.trace(result.program)
    assert result.actual == toy.trace(result.program, fault="forgets")
    assert size(result.original, FAMILY) > size(result.program, FAMILY)


def test_shrinking_can_be_given_no_time() -> None:
    result = against(toy_driver("forgets"), 2_000, shrink_seconds=0)
    assert isinstance(result, Disagreement)
    assert result.program == result.original


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("hangs", Hung),
        ("never_reads", Hung),
        ("crashes_at_start", Crashed),
        ("crashes_at_the_third", Crashed),
        ("exits_early", Crashed),
        ("exits_in_a_line", Crashed),
        ("prints_junk", Malformed),
        ("prints_a_list", Malformed),
        ("prints_no_trace", Malformed),
        ("splits_lines", Malformed),
        ("prints_two_lines", Malformed),
        ("answers_the_wrong_id", Malformed),
        ("prints_megabytes", Malformed),
    ],
)
def test_a_lying_driver_is_a_failure_of_the_driver_and_no_finding(kind: str, outcome: type) -> None:
    limit = 1.0 if outcome is Hung else 20.0
    begun = time.monotonic()
    result = against(liar(kind, time_limit=limit, max_line=2_000_000))
    assert isinstance(result, DriverFailure)
    assert isinstance(result.outcome, outcome)
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("kind", ["writes_in_pieces", "complains_by_the_megabyte"])
def test_an_odd_but_truthful_driver_agrees(kind: str) -> None:
    assert isinstance(against(liar(kind), 5), Agreement)


def test_what_a_driver_does_not_support_is_counted_and_no_finding() -> None:
    result = against(liar("supports_nothing"))
    assert isinstance(result, Agreement)
    assert result.report.unsupported == result.report.programs == 40


def test_a_disagreement_that_is_gone_when_asked_again_is_a_failure_of_the_driver() -> None:
    result = check(once_wrong(), toy_driver, [small()], family=FAMILY)
    assert isinstance(result, DriverFailure)
    assert isinstance(result.outcome, Malformed)
    assert "changed" in result.outcome.reason


def once_wrong() -> Any:
    calls: list[Json] = []

    def reference(program: Json) -> Json:
        calls.append(program)
        return toy.trace(program) | ({"caller": "once"} if len(calls) == 1 else {})

    return reference


def test_a_reference_that_raises_is_told_with_the_smallest_program() -> None:
    def reference(program: Json) -> Json:
        if program.get("tools"):
            raise RecursionError("too deep for me")
        return toy.trace(program)

    result = check(reference, toy_driver, random_programs(range(100)), family=FAMILY)
    assert isinstance(result, ReferenceFailure)
    assert "too deep for me" in result.traceback
    assert {*result.program} == {"id", "path", "messages", "script", "tools"}
    assert size(result.program, FAMILY)[:2] == (0, 0)
    assert size(result.original, FAMILY) > size(result.program, FAMILY)


def test_a_program_that_is_none_is_refused_before_it_is_run() -> None:
    with pytest.raises(BadProgram):
        check(toy.trace, toy_driver, [{"id": "a"}], family=FAMILY)


def test_neither_side_sees_what_the_other_does_to_a_program() -> None:
    def reference(program: Json) -> Json:
        trace = toy.trace(program)
        program.clear()
        return trace

    programs = [small(str(number)) for number in range(20)]
    assert isinstance(check(reference, toy_driver, programs, family=FAMILY), Agreement)
    assert programs[3] == small("3")


def test_smaller_programs_that_one_side_cannot_run_are_no_disagreements() -> None:
    def reference(program: Json) -> Json:
        if not program["messages"]:
            raise ValueError("no messages")
        return toy.trace(program)

    result = check(reference, lambda: toy_driver("forgets"), random_programs(range(2_000)), family=FAMILY)
    while isinstance(result, ReferenceFailure):
        seed = int(str(result.original["id"]).removeprefix("seed-"))
        result = check(
            reference, lambda: toy_driver("forgets"), random_programs(range(seed + 1, 2_000)), family=FAMILY
        )
    assert isinstance(result, Disagreement)
    assert len(result.program["messages"]) == 1
