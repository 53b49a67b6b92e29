from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.frameworks.strands.family import COMPARISON
from agentcore.kit.compare import differences

Json = dict[str, Any]
CALL: Final[Json] = {"messages": [], "system": None, "toolSpecs": [], "toolChoice": None, "modelState": {}}
TRACE: Final[Json] = {
    "id": "a",
    "impl": "agentcore",
    "version": "1",
    "calls": [CALL],
    "log": ["model#0"],
    "results": [{"stopReason": "endTurn"}],
    "agentMessages": [],
    "aliases": {"historyAndConfig": []},
}


def first(changed: Json, *strict: str) -> str | None:
    found = differences(TRACE, {**TRACE, **changed}, COMPARISON, strict_about=strict)
    return None if found is None else found.path


@pytest.mark.parametrize(
    ("permission", "changed"),
    [("id", {"id": "b"}), ("impl", {"impl": "strands-ts"}), ("impl", {"version": "1.19.0"})],
)
def test_what_names_the_program_and_what_ran_it_may_differ_unless_it_may_not(
    permission: str, changed: Json
) -> None:
    assert first(changed) is None
    assert first(changed, permission) == f"$.{next(iter(changed))}"


def test_of_why_there_is_no_trace_one_word_counts() -> None:
    here, there = ({"id": "a", "driverError": f"TooLong: {text}"} for text in ("26 calls", "2001 entries"))
    assert differences(here, there, COMPARISON) is None
    assert differences(here, there, COMPARISON, strict_about=["driverError"])
    assert differences(here, {"id": "a", "driverError": "TimeLimit: late"}, COMPARISON)


def test_a_trace_and_none_differ() -> None:
    assert differences(TRACE, {"id": "a", "driverError": "TooLong: x"}, COMPARISON)


def test_the_first_difference_is_the_first_of_the_run() -> None:
    later = {"agentMessages": [1], "aliases": {"historyAndConfig": [[[], []]]}}
    assert first(later) == "$.agentMessages[0]"
    assert first({**later, "calls": [{**CALL, "modelState": {"a": 1}}]}) == "$.calls[0].modelState.a"
    assert first({**later, "calls": [], "log": []}) == "$.log[0]"


def test_aliases_and_the_order_of_events_count() -> None:
    assert first({"aliases": {"historyAndConfig": [[[], []]]}}) == "$.aliases.historyAndConfig[0]"
    assert first({"log": ["hook:beforeModel", "model#0"]}) == "$.log[0]"
