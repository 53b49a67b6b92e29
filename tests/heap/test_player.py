"""The player's document: where boxes stand, what moments and prompts say, and the page around it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import pytest

import agentcore
from agentcore.frameworks import ai_sdk
from agentcore.heap.player import player
from agentcore.heap.player_runs import Moment, Recorded, of_core
from agentcore.kit.families import PROFILE_NAMES, family_of
from agentcore.machine.effects import (
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    NeedModel,
    NeedPrepareStep,
    NeedTools,
    Settings,
    ToolOutcomes,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.run import Failed, Run, give, need, start
from agentcore.messages.content import GeneratedText, ToolCall
from agentcore.messages.messages import UserMessage
from agentcore.oracle.reports.explain import Explanation, explain

Json = dict[str, Any]

PROGRAM: Final[Json] = {
    "id": "a",
    "path": "stream",
    "messages": [{"role": "user", "content": "hi"}],
    "script": [
        [{"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {"city": "Rome"}}],
        [{"type": "text", "text": "done"}],
    ],
    "tools": {"look": {"output": {"sky": "clear"}}},
    "hooks": {"prepareStep": [[{"append": ["messages", 0, "content"], "with": "!"}]]},
}


def program(**fields: Any) -> Json:
    return PROGRAM | fields


def only_run(found: Any) -> Json:
    ((run,),) = (scene["runs"] for scene in player(found).document["scenes"])
    return dict(run)


def drawn(run: Json, moment: Json) -> Iterator[tuple[Json, Json]]:
    """The states of a moment with their boxes."""
    for number in moment["shown"]:
        state = run["graph"]["states"][number]
        yield state, run["graph"]["boxes"][state["box"]]


def moment_named(run: Json, name: str, step: int = 0) -> Json:
    return next(one for one in run["moments"] if (one["name"], one["step"]) == (name, step))


# ---------------------------------------------------------------- places


@pytest.mark.slow
@pytest.mark.sample(8)
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_boxes_do_not_overlap_and_arrows_lead_to_the_right(profile: str) -> None:
    for given in family_of(profile).programs(range(40, 46), profile):
        run = only_run(explain(given, profile))
        boxes = run["graph"]["boxes"]
        for moment in run["moments"]:
            columns = defaultdict(list)
            for state, box in drawn(run, moment):
                columns[box["x"]].append((box["y"], box["y"] + box["height"]))
                assert len(state["rows"]) * 16 + 20 <= box["height"]
                targets = [to for _, text, to, _ in state["rows"] if to is not None and text is None]
                for to in [*targets, *([] if state["head"] is None else [state["head"]])]:
                    assert boxes[to]["x"] >= box["x"] + box["width"]
            for spans in columns.values():
                ordered = sorted(spans)
                ends = [end for _, end in ordered]
                assert all(end <= begin for end, (begin, _) in zip(ends, ordered[1:], strict=False))


def test_what_is_one_object_is_one_box_that_tells_who_reaches_it() -> None:
    run = only_run(explain(PROGRAM, "ai-sdk-6/stream"))
    names = [one["name"] for one in run["graph"]["holders"]]
    shown = moment_named(run, "prepareStep")
    kinds = [(box["kind"], [names[chip] for chip in state["chips"]]) for state, box in drawn(run, shown)]
    assert ("list", ["caller", "initial chain"]) in kinds
    assert ("message", ["caller", "initial chain", "prepareStep"]) in kinds
    assert len([kind for kind, _ in kinds if kind == "message"]) == 1


def test_a_copy_to_a_depth_is_new_boxes_in_the_first_columns() -> None:
    run = only_run(explain(PROGRAM, "ai-sdk-6/stream"))
    asked = moment_named(run, "model", step=1)
    number = run["moments"].index(asked)
    fresh = [box["kind"] for _, box in drawn(run, asked) if box["first"] == run_scene(run, number)]
    assert {*fresh} == {"list", "message", "content", "part"}
    # The tool's input and output are those of the chain.
    shared = [state for state, box in drawn(run, asked) if box["kind"] == "payload" and state["chips"]]
    assert [state["title"] for state in shared] == ["input", "output"]


def run_scene(run: Json, number: int) -> int:
    return sum(bool(one["shown"]) for one in run["moments"][:number])


def test_a_place_is_shared_only_by_what_is_drawn_at_different_times() -> None:
    run = only_run(explain(PROGRAM, "ai-sdk-6/stream"))
    seen: dict[int, list[int]] = defaultdict(list)
    for number, moment in enumerate(run["moments"]):
        for state, _ in drawn(run, moment):
            seen[state["box"]].append(number)
    places = defaultdict(list)
    for box, numbers in seen.items():
        place = run["graph"]["boxes"][box]
        places[place["x"], place["y"]].append((min(numbers), max(numbers)))
    shared = [sorted(spans) for spans in places.values() if len(spans) > 1]
    assert shared
    for spans in shared:
        assert all(end < begin for (_, end), (begin, _) in pairwise(spans))


def test_a_long_list_shows_its_ends_and_what_was_written_and_says_how_much_is_hidden() -> None:
    history = [{"role": "user", "content": f"#{number}"} for number in range(40)]
    long = program(
        messages=history,
        hooks={"prepareStep": [[{"append": ["messages", 20, "content"], "with": "!"}]]},
    )
    run = only_run(explain(long, "ai-sdk-6/stream"))
    rows = next(state["rows"] for state, box in drawn(run, run["moments"][1]) if box["kind"] == "list")
    keys = [key if key != "…" else text for key, text, *_ in rows]
    assert keys == ["[0]", "[1]", "18 more", "[20]", "13 more", *(f"[{n}]" for n in range(34, 40))]
    assert max(len(moment["shown"]) for moment in run["moments"]) < 120


def test_an_object_inside_itself_is_drawn_once_and_its_reference_back_is_a_number() -> None:
    cyclic = program(
        hooks={"prepareStep": [[{"set": ["messages", 0, "again"], "to": {"$ref": ["messages"]}}]]}
    )
    run = only_run(explain(cyclic, "ai-sdk-6/stream"))
    rows = [row for state, _ in drawn(run, run["moments"][1]) for row in state["rows"]]
    assert [(key, text) for key, text, to, _ in rows if to is not None and text is not None] == [
        ("again", "→")
    ]


# ---------------------------------------------------------------- moments


def test_the_written_slot_is_flagged_in_its_moment_and_carried_from_then_on() -> None:
    run = only_run(explain(PROGRAM, "ai-sdk-6/stream"))
    before, write, asked = run["moments"][:3]
    assert [moment["kind"] for moment in (before, write, asked)] == ["boundary", "write", "boundary"]

    def flags(moment: Json) -> set[int]:
        return {row[3] for state, _ in drawn(run, moment) for row in state["rows"]}

    assert [flags(moment) for moment in (before, write, asked)] == [{0}, {0, 2}, {0, 1}]
    where = "caller[0].content, initial chain[0].content"
    assert write["lines"] == [
        "It reaches caller, initial chain, prepareStep.",
        f"How long: permanent, seen again from step 1 on. At the end it is in {where}.",
    ]
    assert [moment["sight"] for moment in run["moments"]].count(True) >= 3
    assert run["moments"][-1]["lines"] == ["Write 1 is left in caller[0].content, initial chain[0].content."]


def test_what_was_handed_out_is_told_message_by_message_with_the_writes_in_it() -> None:
    document = explain(PROGRAM, "ai-sdk-6/stream").player().document
    (run,) = document["scenes"][0]["runs"]
    asked = moment_named(run, "model", step=1)
    (prompt,) = (field for field in asked["fields"] if field["name"] == "prompt")
    texts = [document["texts"][number] for number, *_ in prompt["items"]]
    assert json.loads(texts[0]) == {"role": "user", "content": [{"type": "text", "text": "hi!"}]}
    assert [writes for _, *writes in prompt["items"]] == [[1], [], []]


def test_other_kinds_of_writes_are_told_in_words() -> None:
    ops = [
        {"append": ["messages"], "with": {"role": "user", "content": "more"}},
        {"clear": ["messages"]},
        {"delete": ["experimental_context", "a"]},
    ]
    run = only_run(explain(program(hooks={"prepareStep": [ops[:2]]}), "ai-sdk-6/stream"))
    told = [moment["says"] for moment in run["moments"] if moment["kind"] == "write"]
    assert told[0].startswith("Write 1: prepareStep changes prepareStep.messages[1] in place (insert)")
    assert "it had 2 elements and has 0" in told[1]


def test_refused_ops_stand_after_the_boundary_of_their_hook() -> None:
    run = only_run(explain(PROGRAM, "immutable"))
    kinds = [(moment["kind"], moment["name"]) for moment in run["moments"]]
    assert kinds == [("boundary", "prepare_step"), ("refusal", "prepare_step"), ("end", "end")]
    assert run["moments"][1]["says"].startswith("prepare_step: op 0 at messages[0].content is refused: ")
    assert run["moments"][2]["says"].startswith("The run failed: ImmutableWriteError")


# ---------------------------------------------------------------- prompts


def test_a_prompt_is_compared_with_the_one_before() -> None:
    pushing = program(
        hooks={
            "prepareStep": [
                [{"append": ["messages"], "with": {"role": "user", "content": "a reminder, for this step"}}],
                [{"append": ["messages", 0, "content"], "with": " and more"}],
            ]
        }
    )
    document = explain(pushing, "ai-sdk-6/stream").player().document
    first, second = document["scenes"][0]["runs"][0]["prompts"]
    assert (first["first"], [row[0] for row in first["rows"]]) == (True, ["=", "="])
    assert [row[0] for row in second["rows"]] == ["~", "-", "+", "+"]
    sign, old, new, start, end = second["rows"][0]
    texts = document["texts"]
    assert texts[new][start : len(texts[new]) - end] == " and more"
    assert texts[old][:start] == texts[new][:start]
    assert (second["kept"], second["count"], second["share"], sign) == (0, 3, 0.0, "~")


def test_the_cached_beginning_is_counted_in_messages_and_characters() -> None:
    document = explain(program(hooks={}), "ai-sdk-6/stream").player().document
    _, second = document["scenes"][0]["runs"][0]["prompts"]
    lengths = [len(document["texts"][row[1]]) for row in second["rows"]]
    assert (second["kept"], second["count"]) == (1, 3)
    assert second["share"] == pytest.approx(lengths[0] / sum(lengths))


def test_instructions_beside_the_messages_stand_first() -> None:
    given = next(family_of("strands-py@1.62.0").programs(range(3, 4), "strands-py@1.62.0"))
    told = explain({**given, "system": "be brief"}, "strands-py@1.62.0").player().document
    (run,) = told["scenes"][0]["runs"]
    first = run["prompts"][0]["rows"][0][1]
    assert json.loads(told["texts"][first]) == {"system": [{"text": "be brief"}]}


# ---------------------------------------------------------------- two runs


def test_moments_of_two_runs_are_paired_by_step_and_name() -> None:
    live, core = explain(PROGRAM, "ai-sdk-6/stream"), explain(PROGRAM, "immutable")
    (scene,) = live.player(core).document["scenes"]
    left, right = scene["runs"]
    told = [
        tuple(
            None if number is None else run["moments"][number]["kind"]
            for run, number in zip((left, right), pair, strict=True)
        )
        for pair in scene["pairs"]
    ]
    assert told[:3] == [("boundary", "boundary"), ("write", "refusal"), ("boundary", None)]
    assert ("end", None) in told or ("end", "end") in told
    for side in (0, 1):
        numbers = [pair[side] for pair in scene["pairs"] if pair[side] is not None]
        assert numbers == [*range(len(scene["runs"][side]["moments"]))]


def test_one_run_or_two_are_played() -> None:
    with pytest.raises(ValueError, match="one run or two, and was given 3"):
        player(*[Recorded(name="a", moments=[], prompts=[])] * 3)


# ---------------------------------------------------------------- runs of the core


def core_run(hook: Any = None) -> Run:
    run = start(Settings(model="m", tools=[ToolSpec("look")]), [UserMessage("hi")])
    while not isinstance(wanted := need(run), Done | Failed):
        match wanted:
            case NeedModel():
                call = ToolCall(tool_call_id="c0", tool_name="look", input={"city": "Rome"})
                run = give(run, ModelAnswer([GeneratedText("done") if run.steps else call]))
            case NeedTools():
                run = give(run, ToolOutcomes([ToolSucceeded("c0", "clear")]))
            case NeedPrepareStep() if hook is not None:
                run = give(run, hook)
            case _:
                run = give(run, HookResult())
    return run


def test_a_run_of_the_core_is_drawn_with_the_values_that_it_shares() -> None:
    run = only_run(core_run())
    names = [moment["name"] for moment in run["moments"]]
    assert names == [
        *("prepare_step", "model", "execute", "on_step_finish"),
        *("prepare_step", "model", "on_step_finish", "end"),
    ]
    finished = moment_named(run, "on_step_finish", step=1)
    messages = [state for state, box in drawn(run, finished) if box["kind"] == "message"]
    # Chains, prompts and reports share the call, its result and the answer; the prompt has a form of its own
    # of the first message.
    titles = [state["title"] for state in messages]
    assert sorted(titles) == ["assistant", "assistant", "tool", "user", "user"]
    assert [(one["kept"], one["count"]) for one in run["prompts"]] == [(0, 1), (1, 3)]


def test_a_run_that_a_hook_ended_says_which_hook_and_why() -> None:
    run = only_run(core_run(HookFailed(ValueError("no <b>"))))
    assert [moment["says"] for moment in run["moments"][1:]] == [
        "prepare_step: ValueError: no <b>",
        "The run failed: ValueError: no <b>",
    ]


def test_a_run_that_goes_on_is_played_as_far_as_it_has_come() -> None:
    run = start(Settings(model="m"), [UserMessage("hi")])
    assert [moment["kind"] for moment in only_run(run)["moments"]] == ["boundary"]
    assert of_core(run).error is None


def test_notebooks_show_runs_of_the_core_and_of_emulations_in_a_frame() -> None:
    answer = [{"type": "text", "text": "done"}]
    emulated = ai_sdk.run(
        "ai-sdk-6/stream",
        ai_sdk.Settings(
            messages=[{"role": "user", "content": "hi"}],
            model=ai_sdk.Model(id="scripted", answer=lambda _: answer),
        ),
    )
    for shown in (core_run(), emulated, explain(PROGRAM, "ai-sdk-6/stream")):
        told = shown._repr_html_()
        found = re.fullmatch(r'<iframe [^>]*sandbox="allow-scripts"[^>]* srcdoc="([^"]*)"></iframe>', told)
        assert found is not None
        assert html.unescape(found[1]).startswith("<!doctype html>")
    assert agentcore.player(emulated).document["title"] == "ai-sdk-6/stream"


def test_runs_that_cannot_be_looked_into_have_moments_and_no_graph() -> None:
    moment = Moment(kind="boundary", step=0, name="hook", value=["a", {"b": 1}])
    run = only_run(Recorded(name="some", moments=[moment], prompts=[]))
    assert (run["graph"]["boxes"], run["moments"][0]["says"]) == ([], "hook gets 2 elements.")


# ---------------------------------------------------------------- the page

HOSTILE: Final = "</script><script>alert(1)</script><!--\u202e"


def test_the_page_allows_nothing_but_its_own_script_and_style() -> None:
    page = explain(PROGRAM, "ai-sdk-6/stream").player().page
    found = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    policy = html.unescape(found[1])
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; ")
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    for source in (style, script):
        digest = base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode("ascii")
        assert f"'sha256-{digest}'" in policy
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)", page) == []


def test_what_a_program_says_cannot_end_the_data_of_the_page() -> None:
    sly = program(id=HOSTILE, messages=[{"role": "user", "content": HOSTILE}])
    page = explain(sly, "ai-sdk-6/stream").player().page
    (data,) = re.findall(r'<script type="application/json" id="document">(.*?)</script>', page, re.DOTALL)
    assert "<" not in data
    document = json.loads(data)
    assert HOSTILE[:-1] in document["title"]
    assert "\u202e" not in json.dumps(document, ensure_ascii=False)
    assert page.count("<script") == 2


def test_explanations_are_playable() -> None:
    assert isinstance(explain(PROGRAM, "ai-sdk-6/stream"), Explanation)


def test_a_write_to_what_a_tool_made_itself_is_told_without_a_holders_name() -> None:
    kept: list[Any] = []

    def look(given: Any, _: Any) -> Any:
        if kept:
            kept[0]["sky"] = "grey"
        kept.append(given.desk.view(given.desk.slot({"sky": "clear"})))
        return kept[-1]

    calls = [[{"type": "tool-call", "toolCallId": f"c{n}", "toolName": "look", "input": {}}] for n in (0, 1)]
    run = ai_sdk.run(
        "ai-sdk-6/stream",
        ai_sdk.Settings(
            messages=[{"role": "user", "content": "hi"}],
            model=ai_sdk.Model.scripted(*calls, [{"type": "text", "text": "done"}]),
            tools={"look": ai_sdk.Tool(execute=look)},
        ),
    )
    (write,) = [moment for moment in only_run(run)["moments"] if moment["kind"] == "write"]
    assert write["says"].endswith('sets object.sky in place, from "clear" to "grey".')
    assert any("response chain" in line for line in write["lines"])
