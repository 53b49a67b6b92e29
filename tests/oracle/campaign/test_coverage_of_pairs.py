"""Pairs of features that the programs of a campaign had, and how many more there are."""

from __future__ import annotations

import pytest

from agentcore.kit.families import family_of
from agentcore.oracle.campaign.coverage import Coverage, PairCounter


def test_each_pair_of_a_program_is_counted_once_for_it() -> None:
    pairs = PairCounter()
    pairs.add({"a", "b", "c"})
    pairs.add(["b", "a"])
    pairs.add(())
    coverage = pairs.coverage()
    assert coverage.pairs == {("a", "b"): 2, ("a", "c"): 1, ("b", "c"): 1}
    assert coverage.met == 3
    assert coverage.rarest(2) == ((("a", "c"), 1), (("b", "c"), 1))


def test_what_was_met_once_says_how_much_was_not_met_at_all() -> None:
    assert Coverage().expected == 0
    assert Coverage(pairs={("a", "b"): 3, ("a", "c"): 5}).expected == 2
    once = {("a", str(number)): 1 for number in range(10)}
    assert Coverage(pairs={**once, ("b", "c"): 2}).expected == 11 + 10 * 9 // 4


@pytest.mark.slow
def test_the_estimate_after_few_programs_is_about_what_many_have() -> None:
    family = family_of("store/live")
    few, many = PairCounter(), PairCounter()
    for number, program in enumerate(family.programs(range(1_500), "store/live")):
        found = family.features(program)
        many.add(found)
        if number < 100:
            few.add(found)
    assert few.coverage().met < many.coverage().met
    assert abs(few.coverage().expected - many.coverage().met) < 0.1 * many.coverage().met
