from __future__ import annotations

from typing import Any

from agentcore.kit.shrink import entries_out, script_cut, windows_out

PROGRAM: dict[str, Any] = {
    "messages": ["a", "b", "c"],
    "hooks": {"first": [["messages", 2, "content"]], "second": [["messages", 0]]},
    "script": [1, 2, 3],
}


def test_entries_of_a_list_go_from_the_back_and_those_of_an_object_in_order() -> None:
    smallest = lambda: PROGRAM  # noqa: E731 - what a shrinker has
    assert [one["script"] for one in entries_out(smallest, "script")] == [[1, 2], [1, 3], [2, 3]]
    assert [[*one["hooks"]] for one in entries_out(smallest, "hooks")] == [["second"], ["first"]]
    assert [*entries_out(smallest, "tools")] == []


def test_an_entry_that_went_with_an_edit_before_is_passed_over() -> None:
    kept = [PROGRAM]
    seen = []
    for one in entries_out(lambda: kept[-1], "script"):
        seen.append(one["script"])
        kept.append({**PROGRAM, "script": [1]})
    assert seen == [[1, 2], []]


def test_a_script_ends_earlier_by_itself_and_with_what_ends_a_run() -> None:
    def without_step(program: dict[str, Any], index: int) -> dict[str, Any]:
        return {**program, "script": f"without {index}"}

    cuts = script_cut(lambda: PROGRAM, "end", least=1, without_step=without_step)
    assert [one["script"] for one in cuts] == [
        *([1], ["end"]),
        *([1, 2], [1, "end"]),
        *("without 2", "without 1", "without 0"),
    ]
    cuts = script_cut(lambda: {"script": [1]}, "end", least=0, without_step=without_step)
    assert [one["script"] for one in cuts] == [[], ["end"], "without 0"]


def test_paths_count_without_the_entries_that_went() -> None:
    roots, within = frozenset({"messages"}), frozenset({"hooks"})
    out = [*windows_out(lambda: PROGRAM, "messages", roots=roots, within=within)]
    shown = [(one["messages"], one["hooks"]["first"][0][1]) for one in out]
    assert shown == [
        *((["a"], 2), (["a"], 2)),
        *((["c"], 2), (["c"], 0)),
        *((["a", "b"], 2), (["a", "b"], 2)),
        *((["a", "c"], 2), (["a", "c"], 1)),
        *((["b", "c"], 2), (["b", "c"], 1)),
    ]
    assert all(one["hooks"]["second"] == [["messages", 0]] for one in out)
