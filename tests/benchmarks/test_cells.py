from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from agentcore.oracle.families import family_of
from benchmarks.asking import Asking, NoValueError, OverLimitError
from benchmarks.cells import CASES, FULL, QUICK, Cell, Json, Sizes, cells, expected, request
from benchmarks.loops import LOOPS, OURS
from benchmarks.oracle import programs_of_four_steps
from benchmarks.results import Results
from benchmarks.rounds import Effort, Plan, tried

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


def test_cells_of_one_size_stand_together() -> None:
    sizes = [(cell.history, cell.steps) for cell in cells(FULL, LOOPS, ["run"])]
    assert sizes == sorted(sizes)


def test_a_cell_comes_back_from_text_and_metadata() -> None:
    cell = of("memory")
    assert Cell.loads(cell.dumps()) == cell
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
    answer: Json = {"seconds": [0.5, 0.7], "between": [0.2, 0.4], "bytes": 900}
    totals = {name: case.total(answer) for name, case in CASES.items() if case.measure != "oracle"}
    parts = {
        name: case.parts(of(name, steps=100, forks=20))
        for name, case in CASES.items()
        if case.measure != "oracle"
    }
    assert totals["step"] == totals["override"] == totals["states"] == pytest.approx(0.6)
    assert totals["run"] == totals["fork"] == pytest.approx(1.2)
    assert totals["memory"] == totals["fork memory"] == 900
    assert (parts["step"], parts["run"], parts["memory"], parts["fork"]) == (99, 100, 1, 20)


# ---------------------------------------------------------------- our own loops, the smallest of each case


@pytest.mark.parametrize("loop", OWN)
def test_our_own_loops_answer_the_smallest_cells(loop: str) -> None:
    with Asking(loop, 30.0) as asking:
        for case in ("step", "run", "override"):
            answer = asking.answer(of(case, loop), 2)
            assert len(answer["seconds"]) == 2
            assert all(
                0 < part < whole for part, whole in zip(answer["between"], answer["seconds"], strict=True)
            )
        assert asking.answer(of("memory", loop))["bytes"] > 1_000


def test_forks_keep_less_than_the_run_they_come_from() -> None:
    with Asking(OURS, 60.0) as asking:
        assert asking.answer(of("fork", forks=5))["seconds"][0] > 0
        forked = asking.answer(of("fork memory", history=200, forks=5))
        run = asking.answer(of("memory", history=200))
    assert 0 < forked["bytes"] / 5 < run["bytes"]


def test_a_run_that_did_something_else_has_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.asking.expected", lambda _: {"calls": 99})
    with Asking(OURS, 30.0) as asking, pytest.raises(NoValueError, match="and not"):
        asking.answer(of("step"))


def test_what_takes_longer_than_the_limit_is_said_to() -> None:
    with Asking(OURS, 0.01) as asking, pytest.raises(OverLimitError, match=r"over the limit of 0\.01 s"):
        asking.answer(of("step"))


def test_a_run_that_raises_has_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request(of("step"), 1) | {"history": "many"}
    monkeypatch.setattr("benchmarks.asking.request", lambda *_: asked)
    with Asking(OURS, 30.0) as asking, pytest.raises(NoValueError, match="TypeError"):
        asking.answer(of("step"))


# ---------------------------------------------------------------- trying


def test_what_contains_a_cell_over_the_limit_is_not_tried(tmp_path: Path) -> None:
    results = Results(tmp_path)
    mine = [of("step", steps=steps) for steps in (3, 5)]
    assert tried(mine, Effort(limit=0.01), results, lambda _: None) == {}
    assert tried(mine, Effort(limit=30.0, value=1e-6), results, lambda _: None) == {
        cell: Plan(loops=1, warmups=1) for cell in mine
    }


def test_programs_of_four_steps_are_always_the_same() -> None:
    profile = "ai-sdk-6/stream"
    family = family_of(profile)
    twice = [list(programs_of_four_steps(family, profile, 2)) for _ in range(2)]
    assert twice[0] == twice[1]
    assert [len(family.trace(program, profile)["steps"]) for program in twice[0]] == [4, 4]
