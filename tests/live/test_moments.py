"""The runs of a finding: their moments in order, what each of them has, and the bounds."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from agentcore.live.conversations import conversation
from agentcore.live.judge import Judge, Shown
from agentcore.live.loading import ValueSource
from agentcore.live.moments import Log, runs_of
from agentcore.live.runs import Observation
from live.hooks import toy_hooks
from live.played import report_of
from live.toy_loop import ADAPTER

Json = dict[str, Any]


def runs(hook: Any, at: str, *places: str, seed: int = 3) -> Json:
    """The moments of both runs of a random conversation."""
    boundary = ADAPTER.boundaries[at]
    call = getattr(toy_hooks, hook) if isinstance(hook, str) else hook
    source = ValueSource(lambda: call, boundary.methods, (), Path(), "hook")
    shown = Shown(kind="write", place=places[0] if places else None, places=places)
    return runs_of(Judge(ADAPTER, source, at), conversation(seed), "generate", seed, shown)


def only_finding(report: Json) -> Json:
    (finding,) = report["findings"]
    return dict(finding)


def kinds(run: Json) -> list[str]:
    return [each["kind"] for each in run["moments"]]


def test_a_finding_has_both_runs_moment_by_moment() -> None:
    recorded = only_finding(report_of("pollutes"))["runs"]
    order = ["handed", "written", "returned", "prompt", "end"]
    assert [kinds(recorded[name]) for name in ("live", "value")] == [order, order]
    live, value = ({each["kind"]: each for each in recorded[name]["moments"]} for name in ("live", "value"))
    text = live["handed"]["value"]["messages"][0]["content"][0]["text"]
    (write,) = live["written"]["writes"]
    assert write == {"places": ["messages[0].content[0].text"], "before": repr(text), "after": "'!'"}
    assert live["prompt"]["value"] == value["prompt"]["value"] == live["returned"]["value"]
    # In the run as a value the caller's own message is as it was.
    texts = [run["end"]["value"]["caller"][0][0]["content"][0]["text"] for run in (live, value)]
    assert texts == ["!", text]
    assert recorded["cut"] == {"texts": 0, "lists": 0, "moments": 0}


def test_a_write_stands_before_the_prompt_that_shows_it() -> None:
    def writes_and_calls(request: Any, handler: Any) -> Any:
        request[0]["content"] = "asked"
        return handler(request)

    live = runs(writes_and_calls, "around", "request[0].content")["live"]
    assert kinds(live)[:4] == ["handed", "written", "prompt", "returned"]
    assert live["moments"][2]["value"][0]["content"] == "asked"


def test_a_write_after_the_model_is_of_the_step_that_has_ended() -> None:
    live = runs("tool_pollutes", "tool", "call.input.user")["live"]
    prompted: set[tuple[int, int]] = set()
    for moment in live["moments"]:
        at = (moment["turn"], moment["step"])
        if moment["kind"] == "prompt":
            prompted.add(at)
        assert at in prompted
    assert "written" in kinds(live)


def test_what_a_handle_leads_to_is_recorded_with_the_arguments() -> None:
    live = runs("with_handle_pollutes", "with_handle", "handle[0][0].content")["live"]
    handed, written = live["moments"][:2]
    assert (handed["kind"], written["kind"]) == ("handed", "written")
    assert handed["value"]["handle"][0][0]["role"] == written["value"]["handle"][0][0]["role"] == "user"
    assert written["value"]["handle"][0][0]["content"] == [{"type": "text", "text": "by the handle"}]


def test_writes_at_other_places_are_none_of_this_finding() -> None:
    assert "written" not in kinds(runs("pollutes", "before_model", "messages[0].role")["live"])


def test_an_error_of_the_hook_is_a_moment_and_ends_the_run() -> None:
    live = only_finding(report_of("raises"))["runs"]["live"]
    assert kinds(live)[-2:] == ["raised", "end"]
    assert live["error"] == live["moments"][-2]["value"]


@pytest.mark.parametrize("fails", [False, True])
def test_the_call_of_an_async_hook_ends_when_it_has_been_awaited(fails: bool) -> None:
    async def hook(messages: Any) -> Any:
        await asyncio.sleep(0)
        messages[0]["content"] = "waited"
        if fails:
            raise LookupError("no")
        return messages

    log = Log(ADAPTER.boundaries["before_model"], {"messages[*].content"})
    around = log.around(lambda: (0, 2))(hook)
    with pytest.raises(LookupError) if fails else nullcontext():
        asyncio.run(around([{"role": "user", "content": "hi"}]))
    moments = log.run(Observation(), Counter())["moments"]
    assert [(each["kind"], each["step"]) for each in moments] == [
        ("handed", 2),
        ("written", 2),
        ("raised" if fails else "returned", 2),
        ("end", 2),
    ]


def test_the_call_of_a_generator_goes_on_until_the_run_ends() -> None:
    def hook(messages: Any) -> Any:
        yield messages[0]
        messages[0]["content"] = "between"
        yield messages[0]

    log = Log(ADAPTER.boundaries["before_model"], {"messages[*].content"})
    [*log.around(lambda: (0, 0))(hook)([{"role": "user", "content": "hi"}])]
    log.prompt(0, 0, [])
    assert kinds(log.run(Observation(), Counter())) == ["handed", "written", "prompt", "end"]


def test_long_texts_and_lists_are_cut_and_counted_and_indices_stay() -> None:
    def adds(_: Any) -> Any:
        numbered = [{"role": "user", "content": [{"type": "text", "text": f"{n}"}]} for n in range(100)]
        return [{"role": "user", "content": [{"type": "text", "text": "x" * 5000 + "end"}]}, *numbered]

    recorded = runs(adds, "before_model")
    returned = next(each for each in recorded["live"]["moments"] if each["kind"] == "returned")["value"]
    text = returned[0]["content"][0]["text"]
    assert (text[:1500], text[-3:], "…(3003 characters)…" in text) == ("x" * 1500, "end", True)
    assert len(returned) == 101
    assert Counter(each == "…" for each in returned) == {True: 41, False: 60}
    assert returned[-1]["content"][0]["text"] == "99"
    assert recorded["cut"]["texts"] > 1
    assert recorded["cut"]["lists"] > 1


def test_moments_beyond_the_bound_of_a_run_have_no_value() -> None:
    def fills(messages: Any) -> Any:
        return [*messages, *({"role": "user", "content": [{"note": "y" * 1900}] * 55} for _ in range(2))]

    recorded = runs(fills, "before_model", seed=5)
    sizes = [len(str(each["value"])) for each in recorded["live"]["moments"]]
    assert sum(sizes) < 400_000
    assert recorded["cut"]["moments"] == sum(
        each["value"] is None for name in ("live", "value") for each in recorded[name]["moments"]
    )
    assert recorded["cut"]["moments"] > 0


@pytest.mark.parametrize("hook", ["clean", "redacts"])
def test_a_clean_hook_has_the_same_prompts_in_both_runs(hook: str) -> None:
    recorded = runs(hook, "before_model")
    live, value = ([m for m in recorded[n]["moments"] if m["kind"] == "prompt"] for n in ("live", "value"))
    assert live == value
