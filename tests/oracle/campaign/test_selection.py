from __future__ import annotations

import pickle

import pytest

from agentcore.oracle.campaign.findings import Selection, UnknownFeatureError, matching
from oracle.toy_family import FAMILY

ONE = {"id": "a", "numbers": [1], "note": ""}
NONE = {"id": "b", "numbers": [], "note": ""}


def test_a_pattern_names_all_features_that_fit_it() -> None:
    assert matching("*numbers", FAMILY) == {"numbers", "no numbers"}
    assert matching("numbers", FAMILY) == {"numbers"}


@pytest.mark.parametrize("pattern", ["number", "Numbers", "no*s*x"])
def test_a_pattern_that_nothing_fits_is_an_error(pattern: str) -> None:
    with pytest.raises(UnknownFeatureError) as caught:
        matching(pattern, FAMILY)
    assert caught.value.pattern == pattern
    assert caught.value.family == "toy"


def test_an_unknown_feature_is_told_across_processes() -> None:
    error = UnknownFeatureError("number", "toy", ["numbers"])
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_names_near_an_unknown_one_are_told() -> None:
    with pytest.raises(UnknownFeatureError, match="near it are numbers, no numbers"):
        matching("number", FAMILY)
    with pytest.raises(UnknownFeatureError, match=r"is named 'xyz'$"):
        matching("xyz", FAMILY)


def test_a_program_is_run_if_it_has_one_feature_of_each_pattern_and_none_left_out() -> None:
    assert Selection(FAMILY).has(ONE)
    assert Selection.of(FAMILY, ["*numbers"], []).has(NONE)
    assert not Selection.of(FAMILY, ["*numbers", "numbers"], []).has(NONE)
    assert not Selection.of(FAMILY, ["numbers"], ["n*"]).has(ONE)
    assert Selection.of(FAMILY, [], ["numbers"]).has(NONE)
    assert not Selection(FAMILY).without(["no numbers", "unheard of"]).has(NONE)
