"""The table of how soon random programs meet each planted fault."""

from __future__ import annotations

import pytest

from faults.first_seeds import MOST, Planted, first_seed, planted, records

_PLANTED = {(each.profile, each.place, each.fault): each for each in planted()}
_SEEDS = {(each["profile"], each["place"], each["fault"]): each["seed"] for each in records()}


def test_each_planted_fault_is_in_the_table_and_met_in_time() -> None:
    assert {*_SEEDS} == {*_PLANTED}
    assert len(_PLANTED) >= 20
    assert all(seed is not None and seed < MOST for seed in _SEEDS.values())


@pytest.mark.parametrize(
    "fault", [each for each in _PLANTED.values() if each.place == "emulation"], ids=lambda each: each.fault
)
def test_the_program_of_the_table_is_the_first_near_it_that_shows_the_fault(fault: Planted) -> None:
    seed = _SEEDS[fault.profile, fault.place, fault.fault]
    assert first_seed(fault, range(max(0, seed - 3), seed + 1)) == seed
