"""The machine's table: which rule says what follows which need."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from hypothesis import given

from agentcore.errors import AnswersError, UnexpectedOutcomeError
from agentcore.machine import run as machine
from agentcore.machine.effects import (
    Answered,
    ApprovalsNeeded,
    Asked,
    Cancelled,
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    ModelFailed,
    Need,
    Outcome,
    Processed,
    Rejected,
    ToolFailed,
    ToolOutcomes,
    ToolsFailed,
    Tripped,
)
from agentcore.machine.processors import Tripwire
from agentcore.machine.run import TABLE, Failed, Interrupted, Run, give
from agentcore.messages.interrupts import Interrupt
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from plays import Play, played, plays

LONGEST: Final = 400
STATES: Final = (*get_args(Need), Interrupted, Failed)
OUTCOMES: Final[tuple[Outcome, ...]] = (
    HookResult(),
    HookFailed(ValueError("broke")),
    Processed(()),
    Tripped(Tripwire(processor_id="p")),
    ModelAnswer([]),
    ModelFailed(ValueError("broke")),
    ApprovalsNeeded(()),
    ToolOutcomes([ToolFailed("other", "broke")]),
    ToolsFailed(ValueError("broke")),
    Asked([Interrupt(name="sure")]),
    Answered({}),
    Rejected("again"),
    Cancelled(),
)
PAIRS: Final = [(need, outcome) for arm in TABLE for need in arm.needs for outcome in arm.outcomes]


@pytest.mark.parametrize("number", range(len(TABLE)))
def test_each_arm_names_its_rule_and_is_about_needs_and_outcomes(number: int) -> None:
    arm = TABLE[number]
    assert isinstance(arm.rule, Rule | Difference)
    assert arm.needs
    assert set(arm.needs) <= set(STATES)
    assert arm.outcomes
    assert set(arm.outcomes) <= set(get_args(Outcome))


def test_a_pair_of_need_and_outcome_is_in_one_arm() -> None:
    assert [pair for pair, count in Counter(PAIRS).items() if count > 1] == []


def test_the_examples_have_each_kind_of_outcome() -> None:
    assert {type(outcome) for outcome in OUTCOMES} == set(get_args(Outcome))


def test_the_machine_is_short_enough_to_be_read() -> None:
    assert len(Path(str(machine.__file__)).read_text("utf-8").splitlines()) < LONGEST


@given(plays)
def test_an_outcome_is_taken_if_an_arm_has_it_and_is_refused_otherwise(play: Play) -> None:
    states: dict[type, Run] = {type(run.pending): run for run in played(play)}
    for kind, run in states.items():
        for outcome in OUTCOMES:
            assert taken(run, outcome) == ((kind, type(outcome)) in PAIRS), (kind, outcome)


def taken(run: Run, outcome: Outcome) -> bool:
    """Whether there is an arm for the outcome, whatever the arm makes of what is in it."""
    try:
        give(run, outcome)
    except AnswersError:
        pass
    except UnexpectedOutcomeError as error:
        return not str(error).startswith(("the run has ended", "the run waits for an answer to "))
    return True


def test_a_run_that_is_done_or_failed_says_that_another_one_is_to_be_started() -> None:
    runs: list[Any] = [run for run in played(Play()) if isinstance(run.pending, Done)]
    with pytest.raises(UnexpectedOutcomeError, match="has ended; start another one"):
        give(runs[-1], HookResult())
