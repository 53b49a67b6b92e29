"""The page of a report: what it says of each finding and of each moment, and without findings."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from agentcore.live.page import player_of
from live.played import HOSTILE, hostile, marks_late, report_of

Json = dict[str, Any]


@pytest.fixture(scope="module")
def polluting() -> Json:
    return report_of("pollutes")


@pytest.fixture(scope="module")
def later() -> Json:
    return report_of(marks_late)


def only_scene(report: Json) -> tuple[Json, Json]:
    document = player_of(report).document
    (scene,) = document["scenes"]
    return dict(scene), document


def about(scene: Json) -> dict[str, str]:
    return dict(scene["about"])


def moments(run: Json, kind: str) -> list[Json]:
    return [each for each in run["moments"] if each["kind"] == kind]


def test_a_finding_is_told_with_its_place_its_reach_and_its_mend(polluting: Json) -> None:
    (finding,) = polluting["findings"]
    scene, document = only_scene(polluting)
    assert document["title"] == "pollutes at before_model in live.toy_loop:ADAPTER"
    assert scene["title"] == "fault: write messages[0].content[0].text"
    told = about(scene)
    assert told["fault"] == finding["message"]
    assert told["at"].endswith(f"toy_hooks.py:{finding['line']['line']}")
    assert told["reaches"] == "the caller's messages"
    assert told["instead"] == finding["remedy"]
    assert told["a test to paste"].splitlines() == finding["test"].splitlines()


def test_a_write_is_shown_at_its_place_and_says_whom_it_reaches(polluting: Json) -> None:
    scene, document = only_scene(polluting)
    assert [run["name"] for run in scene["runs"]] == ["live", "as a value"]
    live, value = (moments(run, "write") for run in scene["runs"])
    assert live[0]["says"].startswith("pollutes writes in place: messages[0].content[0].text, from ")
    assert live[0]["lines"] == ["In this conversation it reaches the caller's messages."]
    assert value[0]["says"].startswith("pollutes writes in its copy: ")
    ((name, rows),) = live[0]["changes"]
    assert name == "messages"
    before, after = (document["texts"][row[1]] for row in rows) if len(rows) > 1 else rows_of(rows, document)
    assert before != after
    assert after == '{"role": "user", "content": [{"type": "text", "text": "!"}]}'


def rows_of(rows: list[Any], document: Json) -> tuple[str, str]:
    ((sign, before, after, *_),) = rows
    assert sign == "~"
    return document["texts"][before], document["texts"][after]


def test_what_only_one_side_has_at_the_end_is_marked_beside_what_the_other_has(polluting: Json) -> None:
    scene, document = only_scene(polluting)
    ends = [moments(run, "end")[0] for run in scene["runs"]]
    sides = []
    for end in ends:
        apart = [field for field in end["fields"] if field["apart"]]
        assert [field["name"] for field in apart] == ["caller"]
        ((index, beside),) = apart[0]["apart"]
        (own, *_) = apart[0]["items"][index]
        sides.append((document["texts"][own], document["texts"][beside]))
        assert end["lines"] == ["The other run has something else in the caller's messages."]
    assert sides[0] == sides[1][::-1]
    assert [[one["sight"] for one in run["moments"]].index(True) for run in scene["runs"]] == [4, 4]


def test_prompts_that_a_write_reaches_are_named_with_their_steps(later: Json) -> None:
    scene, _ = only_scene(later)
    live, value = scene["runs"]
    assert moments(live, "write")[0]["lines"] == [
        "In this conversation it reaches the prompt of step 1, the result, the caller's messages."
    ]
    asked = [each for each in moments(live, "boundary") if each["name"] == "the model"]
    assert [each["sight"] for each in asked] == [False, True]
    assert asked[1]["says"].endswith("1 of them the other run has not.")
    # The write breaks the beginning that stays cached in the other run.
    kept = [[(one["step"], one["kept"]) for one in run["prompts"]] for run in (live, value)]
    assert kept == [[(0, 0), (1, 0)], [(0, 0), (1, 1)]]


def test_a_write_that_no_moment_shows_is_put_where_the_finding_says(polluting: Json) -> None:
    report = copy.deepcopy(polluting)
    runs = report["findings"][0]["runs"]
    for name in ("live", "value"):
        runs[name]["moments"] = [one for one in runs[name]["moments"] if one["kind"] != "written"]
    scene, _ = only_scene(report)
    for run in scene["runs"]:
        assert [one["kind"] for one in run["moments"]] == ["boundary", "boundary", "write", "boundary", "end"]
        assert "messages[0].content[0].text" in moments(run, "write")[0]["says"]


@pytest.mark.parametrize(
    ("place", "where", "note"),
    [
        ("handle[0].content", "through a handle", "When the call ends, it is taken back."),
        ("returned[0].content", "to what it had returned", "The framework has a copy of that."),
    ],
)
def test_a_write_to_no_argument_says_what_becomes_of_it(
    polluting: Json, place: str, where: str, note: str
) -> None:
    report = copy.deepcopy(polluting)
    for run in ("live", "value"):
        for moment in report["findings"][0]["runs"][run]["moments"]:
            for write in moment.get("writes", ()):
                write["places"] = [place]
    scene, _ = only_scene(report)
    live, value = (moments(run, "write")[0] for run in scene["runs"])
    assert live["says"].startswith(f"pollutes writes {where}: {place}, from ")
    assert value["lines"] == [note]
    # The page knows no list that has the place.
    assert live["changes"] == []


def test_steps_of_several_turns_are_named_with_their_turns(polluting: Json) -> None:
    report = copy.deepcopy(polluting)
    for name in ("live", "value"):
        all_moments = report["findings"][0]["runs"][name]["moments"]
        all_moments += [{**one, "turn": 1} for one in all_moments[:-1]]
    scene, _ = only_scene(report)
    assert scene["steps"] == ["turn 0, step 0", "turn 1, step 0"]
    assert {one["step"] for one in scene["runs"][0]["moments"]} == {0, 1}


def test_what_another_finding_brings_about_is_not_ascribed_to_a_write_that_nobody_sees(
    polluting: Json,
) -> None:
    report = copy.deepcopy(polluting)
    report["findings"][0] |= {"kind": "harmless-write", "severity": "note", "seen": []}
    scene, _ = only_scene(report)
    assert about(scene)["reaches"] == "nobody in this release"
    live = scene["runs"][0]
    assert moments(live, "write")[0]["lines"] == ["Nobody is seen to see it."]
    assert moments(live, "end")[0]["lines"][-1] == "That is of another finding."


def test_a_write_that_ends_the_live_run_alone_reaches_its_end(polluting: Json) -> None:
    report = copy.deepcopy(polluting)
    (finding,) = report["findings"]
    finding["seen"] = ["this-prompt", "result"]
    live = finding["runs"]["live"]
    live["moments"] = [one for one in live["moments"] if one["kind"] != "prompt"]
    live["moments"][-1]["value"], live["error"] = {}, "TypeError: no message"
    scene, _ = only_scene(report)
    left, right = (moments(run, "end")[0] for run in scene["runs"])
    assert left["says"] == "The run failed: TypeError: no message"
    assert left["lines"] == ["The other run ends otherwise."]
    assert right["lines"][-1] == "The other run ends otherwise."
    (written,) = moments(scene["runs"][0], "write")
    assert written["lines"] == ["In this conversation it reaches the end of the run."]


def test_a_hook_may_be_named_as_the_model_is(polluting: Json) -> None:
    report = copy.deepcopy(polluting)
    report["findings"][0]["hook"] = "model"
    assert only_scene(report)[0]["runs"][0]["moments"][0]["says"] == "model gets 1 message."


def test_an_error_is_a_refusal_and_the_end_says_it() -> None:
    scene, _ = only_scene(report_of("raises"))
    live = scene["runs"][0]
    assert moments(live, "refusal")[0]["says"].startswith("raises raises ")
    assert moments(live, "end")[0]["says"].startswith("The run failed: ")


def test_what_was_cut_is_said(polluting: Json) -> None:
    report = copy.deepcopy(polluting)
    report["findings"][0]["runs"]["cut"] = {"texts": 2, "lists": 0, "moments": 1}
    said = about(only_scene(report)[0])["cut"]
    assert said == (
        "2 long texts are shown without their middle;"
        " 1 moments at the end are shown without what was handed out"
    )


def test_suppressed_findings_and_those_that_do_not_count_say_so(polluting: Json) -> None:
    report = copy.deepcopy(polluting)
    report["findings"][0]["counts_for_verdict"] = False
    assert about(only_scene(report)[0])["counts"] == "not for the verdict"
    report["findings"][0]["suppressed"] = {"for": "toy", "reason": "known"}
    assert about(only_scene(report)[0])["suppressed"] == "for toy: known"


def test_a_report_without_runs_has_what_is_known_of_the_finding(polluting: Json) -> None:
    report = copy.deepcopy(polluting)
    del report["findings"][0]["runs"]
    scene, _ = only_scene(report)
    assert (scene["runs"], scene["pairs"]) == ([], [])
    assert "no runs of this finding" in about(scene)["played"]


def test_a_clean_hook_says_so() -> None:
    scene, _ = only_scene(report_of("clean"))
    assert (scene["title"], scene["runs"]) == ("clean", [])
    assert about(scene)["checked"].startswith("8 conversations, 8 judged")


def test_a_hook_that_was_not_judged_says_why() -> None:
    report = report_of("clean")
    refused = {"reason": "no-call", "message": "the framework never called the hook"}
    scene, _ = only_scene({**report, "verdict": None, "exit": 3, "not_judged": refused})
    assert about(scene)["not judged"] == "the framework never called the hook (no-call)"


def test_numbers_and_objects_of_the_python_core_are_readable(polluting: Json) -> None:
    report = copy.deepcopy(polluting)
    given = [{"<class>": "Message", "count": "<3>", "is": "<True>", "name": None, "rate": "<-1.5e-07>"}]
    report["findings"][0]["runs"]["live"]["moments"][0]["value"] = {"messages": given}
    scene, document = only_scene(report)
    (((number,),),) = (field["items"] for field in scene["runs"][0]["moments"][0]["fields"])
    assert json.loads(document["texts"][number]) == {
        "<class>": "Message",
        "count": 3,
        "is": True,
        "rate": -1.5e-07,
    }
    # What is such a text in JavaScript is a text.
    report["tool"]["language"] = "javascript"
    scene, document = only_scene(report)
    (((number,),),) = (field["items"] for field in scene["runs"][0]["moments"][0]["fields"])
    assert json.loads(document["texts"][number]) == given[0]


def test_lists_inside_of_what_was_handed_out_are_fields_of_their_own(polluting: Json) -> None:
    report = copy.deepcopy(polluting)
    message = {"role": "user", "content": "hi"}
    given = {"state": {"history": [message], "count": 1}, "turns": [[message], [message, message]]}
    report["findings"][0]["runs"]["live"]["moments"][0]["value"] = given
    scene, _ = only_scene(report)
    shown = scene["runs"][0]
    fields = {each["name"]: len(each["items"]) for each in shown["moments"][0]["fields"]}
    assert fields == {"state.history": 1, "state": 1, "turns[0]": 1, "turns[1]": 2}


def test_what_hooks_say_is_data_in_the_page(polluting: Json) -> None:
    page = player_of(hostile(polluting)).page
    assert page.count("<script") == 2
    assert "<img" not in page
    assert "\u202e" not in page
    assert HOSTILE not in page


def test_a_notebook_shows_the_page_of_a_report(polluting: Json) -> None:
    assert player_of(polluting)._repr_html_().startswith("<iframe ")
