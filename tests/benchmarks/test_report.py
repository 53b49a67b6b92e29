from __future__ import annotations

import platform
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import attrs
import pyperf
import pytest

from benchmarks.cells import Cell
from benchmarks.goals import GOALS, own_share, per_second, per_state, step
from benchmarks.growth import growth
from benchmarks.plots import draw
from benchmarks.results import SUITE, Found, Results, Value, load
from benchmarks.table import amount, markdown, page

OURS, PEER = "agentcore", "ai 6 generateText"


def value(cell: Cell, median: float) -> Value:
    return Value(
        cell=cell, median=median, low=median * 0.9, high=median * 1.2, count=5, deviation=median * 0.05
    )


def found(medians: dict[Cell, float], without: dict[Cell, str] | None = None) -> Found:
    return Found({cell: value(cell, median) for cell, median in medians.items()}, without or {}, "a machine")


def memory(loop: str, history: int, steps: int) -> Cell:
    return Cell(case="memory", loop=loop, history=history, steps=steps)


def goal(words: str, results: Found) -> list[object]:
    """The figure, and whether it is good enough."""
    (wanted,) = (each for each in GOALS if words in each.says)
    figure = wanted.measured(results)
    assert figure is not None
    return [figure, wanted.met(figure)]


# ---------------------------------------------------------------- growth


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0, 2.0])
def test_the_exponent_of_a_power_law_is_its_power(power: float) -> None:
    fitted = growth({size: 3e-6 * size**power for size in (10, 100, 1_000)})
    assert fitted is not None
    assert fitted.exponent == pytest.approx(power)
    assert fitted.last == pytest.approx(power)
    assert (fitted.smallest, fitted.largest) == (10, 1_000)


def test_the_last_exponent_is_that_of_the_last_two_sizes() -> None:
    fitted = growth({10: 1.0, 100: 1.0, 1_000: 10.0})
    assert fitted is not None
    assert fitted.last == pytest.approx(1.0)
    assert fitted.exponent == pytest.approx(0.5)


def test_growth_needs_two_sizes_that_are_not_zero() -> None:
    assert growth({0: 1.0, 10: 2.0}) is None


# ---------------------------------------------------------------- goals


def test_goals_without_values_are_not_measured() -> None:
    assert [each.measured(found({})) for each in GOALS] == [None] * len(GOALS)


def test_a_flat_step_meets_its_goals_and_a_growing_one_misses_them() -> None:
    sizes = [(history, steps) for history in (10, 100, 1_000, 10_000) for steps in (10, 100, 1_000)]
    flat = found({step(OURS, *size): 1e-4 for size in sizes})
    steep = found({step(OURS, history, steps): 1e-6 * history * steps for history, steps in sizes})
    for words in ("one after 10,", "in the history", "in the steps"):
        assert goal(words, flat)[1]
        assert not goal(words, steep)[1]
    assert goal("one after 10,", steep)[0] == pytest.approx(1_000)


def test_slopes_are_the_worst_of_all() -> None:
    costs = {(history, steps): 1.0 for history in (100, 10_000) for steps in (10, 1_000)}
    costs[10_000, 1_000] = 10.0
    results = found({step(OURS, *size): cost for size, cost in costs.items()})
    assert goal("in the history", results) == [pytest.approx(0.5), False]


def test_the_fastest_peer_counts_and_our_other_loops_do_not() -> None:
    medians = {OURS: 1e-4, "agentcore machine": 1e-6, PEER: 6e-4, "mastra": 9e-4, "langchain": 3e-3}
    results = found({step(loop, 0, 100): median for loop, median in medians.items()})
    assert goal("no history", results) == [pytest.approx(6), True]
    assert goal("in Python", results) == [pytest.approx(30), True]


def test_a_state_costs_what_more_steps_keep() -> None:
    results = found({memory(OURS, 0, 100): 5e5, memory(OURS, 0, 1_000): 5e5 + 900 * 5_000})
    assert per_state(results, OURS, 0) == pytest.approx(5_000)
    assert goal("per state", results) == [pytest.approx(5_000), True]


def test_memory_is_compared_with_that_of_generate_text() -> None:
    results = found({memory(OURS, 0, 1_000): 4e6, memory(PEER, 0, 1_000): 8e8})
    assert goal("generateText", results) == [pytest.approx(0.005), True]


def test_shares_and_rates_are_of_programs() -> None:
    profile = "ai-sdk-6/stream"
    results = found(
        {
            Cell(case="trace", loop=profile): 5e-4,
            Cell(case="check", loop=profile): 4e-3,
            Cell(case="check, ours", loop=profile): 1e-3,
        }
    )
    assert per_second(results, profile) == pytest.approx(2_000)
    assert own_share(results, profile) == pytest.approx(0.25)
    assert goal("agentcore trace", results) == [pytest.approx(2_000), True]
    assert goal("our part", results) == [pytest.approx(0.25), False]


# ---------------------------------------------------------------- the page


def test_amounts_have_three_digits_and_a_unit_that_fits() -> None:
    shown = [amount(seconds, "second") for seconds in (4.2e-5, 9.998e-4, 1.234e-3, 2.5, 1_500)]
    assert shown == ["42 us", "1 ms", "1.23 ms", "2.5 s", "1,500 s"]
    assert [amount(size, "byte") for size in (12, 4_400, 8.43e8)] == ["12 B", "4.4 kB", "843 MB"]


def test_a_table_is_markdown() -> None:
    assert markdown(("a", "b"), [("1", "2")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"


def test_a_handler_is_shown_as_a_ratio_of_the_step_without_one() -> None:
    alone = {step(OURS, history, 100): 1e-4 for history in (0, 1_000)}
    handled = {attrs.evolve(cell, case="handler"): 1.5e-4 for cell in alone}
    shown = page(found({**alone, **handled}))
    section = shown[shown.index("## handler, how many times a step without one") :]
    assert "| agentcore | 1.5 | 1.5 |" in section.split("##")[1]


def test_the_page_shows_medians_ratios_and_what_is_missing() -> None:
    slow = step("mastra", 1_000, 10)
    shown = page(
        found(
            {step(OURS, 100, 10): 1e-4, step(OURS, 1_000, 10): 1e-4, step(PEER, 1_000, 10): 2e-3},
            {slow: "over the limit of 20 s", step(PEER, 100, 10): "RecursionError: too deep"},
        )
    )
    assert "| agentcore | 100 us (5%) | 100 us (5%) |" in shown
    assert "| ai 6 generateText | fails | 2 ms (5%) |" in shown
    assert "| ai 6 generateText | fails | 20 |" in shown
    assert "| mastra |  | over the limit |" in shown
    assert "| step: mastra, H=1000, S=10 | over the limit of 20 s |" in shown


def test_forks_are_shown_by_the_size_of_their_run() -> None:
    forked = Cell(case="fork", loop="langchain", history=10, steps=100, forks=20)
    assert "| loop | S=100 H=10 |\n| --- | --- |\n| langchain | 3 ms (5%) |" in page(found({forked: 3e-3}))


def test_a_single_value_has_no_spread() -> None:
    single = attrs.evolve(value(step(OURS, 0, 10), 1e-4), count=1)
    assert "| agentcore | 100 us |" in page(Found({single.cell: single}, {}, "a machine"))


def test_the_page_shows_exponents() -> None:
    shown = page(found({step(PEER, history, 10): 1e-6 * history for history in (100, 1_000, 10_000)}))
    assert "| loop | in H, S=10 |\n| --- | --- |\n| ai 6 generateText | 1.00 (1.00 to 10,000) |" in shown
    assert "exponents" not in page(found({step(OURS, history, 10): 1e-4 for history in (0, 100)}))


def test_the_page_shows_bodies_beside_joining_alone() -> None:
    costs = {"body": 3e-3, "body, joined": 2e-3, "body, whole": 4e-2}
    shown = page(
        found({Cell(case=case, loop=OURS, history=10_000, steps=100): cost for case, cost in costs.items()})
    )
    assert "| 10,000 | 2 ms (5%) | 3 ms (5%) | 40 ms (5%) | 1.5 | 20 |" in shown
    assert "| a request's body over joining its bytes, 10,000 messages | at most 2 | 1.5 | met |" in shown


def test_the_page_shows_guarded_blocks_beside_deep_copies() -> None:
    costs = {"guard": 3e-3, "guard, deepcopy": 2e-3}
    cells = {Cell(case=case, loop=OURS, history=100, steps=100): cost for case, cost in costs.items()}
    assert "| 100 | 3 ms (5%) | 2 ms (5%) | 1.5 |" in page(found(cells))
    del cells[Cell(case="guard, deepcopy", loop=OURS, history=100, steps=100)]
    assert "1.5" not in page(found(cells))


def test_the_page_says_of_which_versions_the_figures_are() -> None:
    results = attrs.evolve(found({step(OURS, 0, 10): 1e-4}), versions={PEER: "6.0.0", OURS: "0.1.0"})
    assert "Of agentcore-reference 0.1.0, ai 6.0.0." in page(results)


def test_what_was_not_measured_has_no_section() -> None:
    shown = page(found({step(OURS, 0, 10): 1e-4}))
    assert "## step:" in shown
    assert "## fork" not in shown
    assert "## The oracle" not in shown


# ---------------------------------------------------------------- pictures and files


def test_pictures_are_svg_with_every_loop_named(tmp_path: Path) -> None:
    medians = {step(loop, history, 10): 1e-4 for loop in (OURS, PEER) for history in (0, 100)}
    medians |= {memory(OURS, 0, 10): 1e5, memory(PEER, 0, 10): 1e7}
    drawn = draw(found(medians), tmp_path)
    assert [path.name for path in drawn] == ["step-by-history.svg", "step-by-steps.svg", "memory.svg"]
    for path in drawn:
        texts = {element.text for element in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314 - drawn a moment before
        assert {OURS, PEER} <= texts


def test_nothing_is_drawn_of_no_values(tmp_path: Path) -> None:
    assert draw(found({}), tmp_path) == []


def test_results_are_what_pyperf_has_stored(tmp_path: Path) -> None:
    cell, other = step(OURS, 0, 10), step("mastra", 0, 10)
    results = Results(tmp_path)
    for number, seconds in enumerate((1.0, 2.0, 6.0), 1):
        metadata = {"name": cell.name, **cell.metadata}
        one = pyperf.Benchmark([pyperf.Run([seconds], metadata=metadata, collect_metadata=False)])
        results.add(cell, number, one)
    results.without(other, "over the limit")
    results.without(other, "a second reason")
    results.finish()
    assert (tmp_path / SUITE).exists()
    loaded = load(tmp_path)
    assert loaded.values == {cell: Value(cell=cell, median=2.0, low=1.0, high=6.0, count=3, deviation=1.0)}
    assert loaded.values[cell].spread == pytest.approx(0.5)
    assert loaded.without == {other: "over the limit"} == {other: Results(tmp_path).reason(other)}


def test_results_name_no_machine_and_none_of_its_paths(tmp_path: Path) -> None:
    cell = step(OURS, 0, 10)
    results = Results(tmp_path)
    metadata = {"name": cell.name, **cell.metadata}
    results.add(cell, 1, pyperf.Benchmark([pyperf.Run([1.0], metadata=metadata)]))
    assert "hostname" in results.file_of(cell).read_text()
    results.finish()
    noted = (tmp_path / SUITE).read_text()
    assert not [each for each in (platform.node(), "hostname", sys.executable, sys.prefix) if each in noted]
    assert "cpu_count" in noted
    assert load(tmp_path).values[cell].median == 1.0


def test_results_without_a_value_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no cell"):
        Results(tmp_path).finish()
