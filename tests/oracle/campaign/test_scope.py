from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.kit.families import family_of
from agentcore.oracle.campaign.verdicts import ALL, PatternError, Scope

COMPARISON: Final = family_of("ai-sdk-6").comparison
TRACE: Final[dict[str, Any]] = {
    "steps": [
        {"step": 0, "prompt": ["a"], "tools": [{"messages": [1]}]},
        {"step": 1, "prompt": ["b", {"c": 2}]},
    ],
    "final": {"text": "b", "messages": []},
    "caller": [],
}


def seen(only: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> Any:
    return Scope.of(COMPARISON, only, ignore).seen(TRACE)


def test_without_patterns_all_is_compared() -> None:
    assert ALL.seen(TRACE) is TRACE
    assert seen() == TRACE


@pytest.mark.parametrize(
    ("only", "left"),
    [
        (("$.caller",), {"caller": []}),
        (("$.steps[].prompt",), {"steps": [{"prompt": ["a"]}, {"prompt": ["b", {"c": 2}]}]}),
        (("$.steps[1].prompt[1].c",), {"steps": [None, {"prompt": [None, {"c": 2}]}]}),
        (("$.*.text", "$.steps[0].step"), {"steps": [{"step": 0}], "final": {"text": "b"}}),
        (("$.error",), {}),
        (("$.caller.text", "$.final.text[0]"), {}),
    ],
)
def test_what_a_path_stands_for_is_kept_in_its_place(only: tuple[str, ...], left: Any) -> None:
    assert seen(only) == left


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        (("$.steps",), {"final": {"text": "b", "messages": []}, "caller": []}),
        (("$.steps[0]", "$.final.*", "$.steps[].prompt[0]"), None),
        (("$.error",), TRACE),
    ],
)
def test_what_a_path_stands_for_is_taken_out_and_the_rest_stays_in_its_place(
    ignore: tuple[str, ...], left: Any
) -> None:
    expected = left or {"steps": [None, {"step": 1, "prompt": [None, {"c": 2}]}], "final": {}, "caller": []}
    assert seen(ignore=ignore) == expected


def test_both_together_compare_what_is_asked_for_without_what_is_not() -> None:
    assert seen(("$.steps",), ("$.steps[].prompt", "$.steps[].tools")) == {
        "steps": [{"step": 0}, {"step": 1}]
    }


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("steps", r"'steps' is no path of a trace; write it like \$\.steps\[\]\.prompt"),
        ("$", "is no path of a trace"),
        ("$.steps[", "is no path of a trace"),
        ("$.steps[-1]", "is no path of a trace"),
        ("$.stesp", "names 'stesp', which no trace has; there is steps"),
        ("$.steps[].promt", "names 'promt', which no trace has; there is prompt"),
        ("$[0]", "names 0, which no trace has; there is approvals, steps"),
    ],
)
def test_a_text_that_stands_for_nothing_is_an_error(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason) as caught:
        seen((pattern,))
    assert caught.value.pattern == pattern
