from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import pytest

from agentcore.guard import Report
from agentcore.kit.families import family_of
from benchmarks.asking import Asking, NoValueError
from benchmarks.bodies import body, whole
from benchmarks.cells import CASES, FULL, HERE, QUICK, Cell, Json, Sizes, cells, expected, request
from benchmarks.guards import GuardClock
from benchmarks.loops import LOOPS, OURS
from benchmarks.oracle import programs_of_four_steps
from benchmarks.peers.own import Own, last_prompt
from benchmarks.peers.serving import answered
from benchmarks.results import Results, load
from benchmarks.rounds import Effort, Plan, contains, measured, tried

OWN = tuple(name for name, loop in LOOPS.items() if loop.ours)


def of(case: str, loop: str = OURS, history: int = 2, steps: int = 3, forks: int = 0) -> Cell:
    return Cell(case=case, loop=loop, history=history, steps=steps, forks=forks)


# ---------------------------------------------------------------- which there are


@pytest.mark.parametrize("sizes", [FULL, QUICK])
def test_every_cell_has_a_name_of_its_own(sizes: Sizes) -> None:
    everything = cells(sizes, LOOPS, CASES)
    names = Counter(cell.name for cell in everything)
    assert set(names.values()) == {1}
    assert {cell.case for cell in everything} == set(CASES)


def test_the_grid_has_every_loop_at_every_size() -> None:
    grid = {(cell.loop, cell.history, cell.steps) for cell in cells(FULL, LOOPS, ["step"])}
    assert grid >= {
        (loop, history, steps) for loop in LOOPS for history in FULL.histories for steps in FULL.steps
    }


def test_loops_that_always_keep_states_are_not_asked_to() -> None:
    assert {LOOPS[cell.loop].states for cell in cells(FULL, LOOPS, ["states", "states memory"])} == {"asked"}


def test_only_loops_that_have_handlers_are_measured_with_one() -> None:
    found = {cell.loop for cell in cells(FULL, LOOPS, ["handler"])}
    assert found == {"agentcore", "agentcore stream", "strands (JS)", "strands (Python)"}


def test_cells_of_one_size_stand_together() -> None:
    sizes = [(cell.history, cell.steps) for cell in cells(FULL, LOOPS, ["run"])]
    assert sizes == sorted(sizes)


def test_a_cell_comes_back_from_metadata() -> None:
    cell = of("memory")
    assert Cell.of({"name": cell.name, **cell.metadata}) == cell


# ---------------------------------------------------------------- what is asked and what has to come back


def test_a_run_is_expected_to_do_all_of_it() -> None:
    assert expected(of("step", history=10, steps=100)) == {
        "calls": 100,
        "looks": 99,
        "prompt": 209,
        "text": "done",
    }
    assert expected(of("override", history=10, steps=100))["prompt"] == 210
    assert expected(of("fork", history=10, steps=100, forks=7))["forked"] == [112]


def test_values_are_per_step_fork_or_run() -> None:
    figures: Json = {"seconds": [0.5, 0.7], "between": [0.2, 0.4], "bytes": 900}
    cases = {name: case for name, case in CASES.items() if case.measure not in ("oracle", *HERE)}
    totals = {name: case.total(figures) for name, case in cases.items()}
    parts = {name: case.parts(of(name, steps=100, forks=20)) for name, case in cases.items()}
    assert totals["step"] == totals["override"] == totals["states"] == pytest.approx(0.6)
    assert totals["run"] == totals["fork"] == pytest.approx(1.2)
    assert totals["memory"] == totals["fork memory"] == 900
    assert (parts["step"], parts["run"], parts["memory"], parts["fork"]) == (99, 100, 1, 20)


# ---------------------------------------------------------------- our own loops, the smallest of each case


def answer(cell: Cell, limit: float = 60.0, **asked: object) -> Json:
    """What our own program answers, in this process."""
    given = request(cell, 2) | {"limit": limit} | asked
    return asyncio.run(answered(Own(), given))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["step", "run", "override", "handler"])
@pytest.mark.parametrize("loop", OWN)
def test_our_own_loops_do_all_of_the_smallest_runs(loop: str, case: str) -> None:
    timed = answer(of(case, loop))
    assert timed["check"] == expected(of(case, loop))
    assert len(timed["seconds"]) == len(timed["between"]) == 2
    assert all(0 < part < whole for part, whole in zip(timed["between"], timed["seconds"], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("loop", OWN)
def test_our_own_loops_keep_bytes(loop: str) -> None:
    kept = answer(of("memory", loop))
    assert kept["check"] == expected(of("memory", loop))
    assert kept["bytes"] > 1_000


@pytest.mark.slow
def test_forks_keep_less_than_the_run_they_come_from() -> None:
    forked, run = answer(of("fork memory", history=200, forks=5)), answer(of("memory", history=200))
    assert forked["check"] == expected(of("fork memory", history=200, forks=5))
    assert 0 < forked["bytes"] / 5 < run["bytes"]


def test_forks_go_on_from_the_middle() -> None:
    forked = answer(of("fork", forks=5))
    assert forked["check"] == expected(of("fork", forks=5))
    assert len(forked["seconds"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("loop", OWN)
def test_a_run_over_the_limit_is_ended_and_said_to_be(loop: str) -> None:
    assert answer(of("step", loop, steps=9), 1e-9) == {"over": 1e-9}


def test_a_run_that_raises_has_failed() -> None:
    assert "TypeError" in answer(of("step"), history="many")["failed"]


def test_an_answer_has_a_value_if_the_run_did_all_of_it_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with Asking(OURS, 60.0) as asking:
        assert len(asking.answer(of("step"), 3)["seconds"]) == 3
        monkeypatch.setattr("benchmarks.asking.expected", lambda _: {"calls": 99})
        with pytest.raises(NoValueError, match="and not"):
            asking.answer(of("step"))
        monkeypatch.setattr(
            "benchmarks.asking.request", lambda *_: request(of("step"), 1) | {"history": "many"}
        )
        with pytest.raises(NoValueError, match="TypeError"):
            asking.answer(of("step"))


# ---------------------------------------------------------------- trying


def test_what_contains_a_cell_over_the_limit_is_not_tried(tmp_path: Path) -> None:
    results = Results(tmp_path)
    mine = [of("step", steps=steps) for steps in (3, 5)] + [of("override", steps=5)]
    assert tried(mine, Effort(limit=1e-6), results, lambda _: None) == {}
    reasons = [results.reason(cell) for cell in mine]
    assert reasons == ["over the limit of 1e-06 s", *["not tried: a smaller one was over the limit"] * 2]


def test_what_was_tried_is_not_tried_again(tmp_path: Path) -> None:
    mine = [of("step"), of("run"), of("memory")]
    said: list[str] = []
    for _ in range(2):
        plans = tried(mine, Effort(limit=30.0, value=1e-6), Results(tmp_path), said.append)
        assert plans == {
            cell: Plan(loops=1, warmups=warmups) for cell, warmups in zip(mine, (1, 1, 0), strict=True)
        }
    assert said == ["trying agentcore"]


@pytest.mark.slow
def test_a_round_takes_what_is_not_there_yet(tmp_path: Path) -> None:
    effort = Effort(rounds=1, limit=30.0, value=1e-6, warm_up=0.0)
    mine = [of(case) for case in ("step", "run", "body")]
    said: list[str] = []
    taken: list[int] = []
    for _ in range(2):
        results = Results(tmp_path)
        taken += measured(tried(mine, effort, results, said.append), effort, results, said.append)
    results.finish()
    assert taken == [1]
    assert said == ["trying agentcore", "round 1 of 1"]
    values = load(tmp_path).values
    assert {cell: value.count for cell, value in values.items()} == dict.fromkeys(mine, 1)
    assert load(tmp_path).without == {}


def test_a_run_contains_smaller_ones_that_do_no_more() -> None:
    assert contains(of("override", history=5), of("step"))
    assert contains(of("run", steps=5), of("step"))
    assert not contains(of("step"), of("override"))
    assert not contains(of("step", history=1, steps=9), of("step"))
    assert not contains(of("memory", history=5), of("step"))
    assert contains(of("memory", history=5), of("memory"))


def test_programs_of_four_steps_are_always_the_same() -> None:
    profile = "ai-sdk-6/stream"
    family = family_of(profile)
    twice = [list(programs_of_four_steps(family, profile, 2)) for _ in range(2)]
    assert twice[0] == twice[1]
    assert [len(family.trace(program, profile)["steps"]) for program in twice[0]] == [4, 4]


def test_bodies_of_kept_bytes_are_those_of_nothing_kept() -> None:
    prompt = last_prompt(4, 3)
    longer = [*prompt, prompt[0]]
    for messages in (prompt, longer, prompt):
        assert body(messages) == whole(messages)


@pytest.mark.parametrize("case", ["guard", "guard, deepcopy"])
def test_a_guard_is_timed_on_messages_that_it_leaves_as_they_are(case: str) -> None:
    clock = GuardClock(of(case, history=4))
    assert clock(2) > 0
    assert clock._messages[-1]["content"] != "x"


def test_a_guard_that_reports_nothing_has_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.guards.guard", lambda _: nullcontext(Report(())))
    with pytest.raises(NoValueError, match="reports nothing"):
        GuardClock(of("guard"))
