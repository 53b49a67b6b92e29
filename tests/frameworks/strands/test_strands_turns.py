"""Tools that run at once: turns of the job queue, and the orders that follow from them."""

from __future__ import annotations

from typing import Any, Final

import pytest

from agentcore.frameworks.strands.emulation.turns import (
    TURN,
    Closed,
    Event,
    Jobs,
    Process,
    Promise,
    Steps,
    relayed,
)
from agentcore.heap.heap import Ref
from frameworks.strands.strands_scene import (
    ALL,
    EVERY,
    NEXT,
    PYTHON,
    Json,
    by_profile,
    hook,
    op,
    says,
    traced,
    uses,
    wrap,
)

EVENT: Final = Event("told", Ref(0))
BOTH: Final = [uses("look", "u1"), uses("save", "u2")]
TOOLS: Final = {"look": {"output": "seen"}, "save": {"output": "saved"}}


def ran(trace: Json) -> list[str]:
    """Hooks and tools in their order, handlers by their numbers."""
    return [entry.removeprefix("hook:") for entry in trace["log"] if "model#" not in entry]


def concurrent(**program: Any) -> Json:
    return {"script": [BOTH], "tools": TOOLS, "executor": "concurrent", **program}


# ---------------------------------------------------------------- the queue


def collected(steps: Steps[Any]) -> list[Any]:
    return list(steps)


def test_pauses_are_turns_only_where_turns_are_counted() -> None:
    assert collected(Jobs(counted=True).pause(2)) == [TURN, TURN]
    assert collected(Jobs(counted=False).pause(2)) == []


def test_what_is_passed_on_takes_a_turn_for_each_layer() -> None:
    def inner() -> Steps[str]:
        yield EVENT
        yield TURN
        return "end"

    jobs = Jobs(counted=True)
    assert collected(jobs.passing(inner(), 2)) == [TURN, TURN, EVENT, TURN, TURN, TURN]
    assert jobs.run(jobs.passing(inner(), 2)) == "end"
    assert collected(Jobs(counted=False).passing(inner(), 2)) == [EVENT, TURN]


def test_an_error_is_passed_on_a_turn_later() -> None:
    def inner() -> Steps[None]:
        yield from ()
        raise KeyError

    steps = Jobs(counted=True).passing(inner(), 1)
    assert next(steps) is TURN
    with pytest.raises(KeyError):
        next(steps)


def test_closing_goes_through_to_where_a_generator_stands() -> None:
    left = []

    def inner() -> Steps[None]:
        try:
            yield EVENT
        except Closed:
            left.append("closed")
            yield EVENT

    steps = relayed(inner())
    assert next(steps) is EVENT
    assert steps.throw(Closed()) is EVENT
    assert left == ["closed"]
    assert collected(steps) == []


def test_whoever_waits_goes_on_a_turn_after_the_promise_has_settled() -> None:
    jobs = Jobs(counted=True)
    promise, order = Promise(jobs), []

    def main() -> Steps[None]:
        promise.settle("value")
        promise.settle("too late")
        jobs.queue.append(lambda: order.append("somebody else"))
        yield promise
        order.append(str(promise.value))

    jobs.run(main())
    assert order == ["somebody else", "value"]


def test_the_first_promise_to_settle_wins() -> None:
    jobs = Jobs(counted=True)
    slow, fast = Promise(jobs), Promise(jobs)

    def main() -> Steps[Any]:
        jobs.queue.append(lambda: fast.settle("fast"))
        jobs.queue.append(lambda: slow.settle("slow"))
        race = Promise.first(jobs, [slow, fast.mapped(str.upper)])
        yield race
        return race.value

    assert jobs.run(main()) == "slow"


def test_a_process_gets_on_by_one_turn_at_a_time() -> None:
    jobs = Jobs(counted=True)

    def steps() -> Steps[str]:
        yield TURN
        yield EVENT
        return "end"

    process = Process(jobs, steps())

    def main() -> Steps[list[Any]]:
        seen: list[Any] = []
        for _ in range(2):
            yield process.advance()
            seen.append(process.step.value.event or process.step.value.value)
        return seen

    assert jobs.run(main()) == [EVENT, "end"]


def test_what_the_main_steps_raise_is_raised() -> None:
    def main() -> Steps[None]:
        yield TURN
        raise KeyError

    with pytest.raises(KeyError):
        Jobs(counted=True).run(main())


# ---------------------------------------------------------------- races


def test_in_typescript_tools_race_and_in_python_they_change_places_when_they_tell_of_something() -> None:
    hooks = [hook("beforeTool"), hook("afterTool")]
    orders = by_profile(ran, **concurrent(hooks=hooks))
    race = ["beforeTool", "tool:look", "beforeTool", "tool:save", "afterTool", "afterTool"]
    one_by_one = ["beforeTool", "tool:look", "afterTool", "beforeTool", "tool:save", "afterTool"]
    assert orders == (race, race, one_by_one)


@EVERY
def test_results_are_in_the_order_of_the_uses(profile: str) -> None:
    trace = traced(profile, **concurrent(middleware=[wrap("tool", op("throw", when=0))]))
    results = [block["toolResult"]["toolUseId"] for block in trace["agentMessages"][2]["content"]]
    assert results == ["u1", "u2"]


def test_who_gets_on_first_depends_on_how_many_functions_the_package_has_on_the_way() -> None:
    before, now, python = by_profile(ran, **concurrent(middleware=[wrap("tool")], hooks=[hook("afterTool")]))
    begun = ["mw0:tool.wrap:enter", "mw0:tool.wrap:next#0"]
    ended = "mw0:tool.wrap:exit"
    look, save = [*begun, "tool:look", ended], [*begun, "tool:save"]
    assert before == [*look, *save, "afterTool", ended, "afterTool"]
    assert now == [*look, *save, ended, "afterTool", "afterTool"]
    assert python == [*look, "afterTool", *save, ended, "afterTool"]


def test_a_tool_whose_stage_is_shorter_overtakes_another() -> None:
    handler = wrap("tool", op("shortCircuit", when=1), op("next", when=0))
    hooks = [hook("afterTool", op("observe", path=["toolResult", "toolUseId"]))]
    order = by_profile(
        lambda trace: [seen["value"] for seen in trace["observations"]],
        **concurrent(middleware=[handler], hooks=hooks),
    )
    assert order == (["u1", "u2"],) * 3


def test_uses_under_one_id_have_one_result_in_typescript_the_last_one() -> None:
    same = [uses("look", "u"), uses("save", "u")]
    texts = by_profile(
        lambda trace: [
            block["toolResult"]["content"][0]["text"] for block in trace["agentMessages"][2]["content"]
        ],
        **concurrent(script=[same]),
    )
    assert texts == (["saved", "saved"], ["saved", "saved"], ["seen", "saved"])


@pytest.mark.parametrize("profile", ALL[:2])
def test_a_tool_in_flight_when_a_hook_throws_runs_on_to_its_next_event(profile: str) -> None:
    hooks = [hook("beforeTool", op("throw", when=1)), hook("afterTools", op("observe", path=["message"]))]
    trace = traced(profile, **concurrent(hooks=hooks))
    assert [run["name"] for run in trace["toolRuns"]] == ["look"]
    told = trace["observations"][0]["value"]["content"]
    assert [block["toolResult"]["content"] for block in told] == [says("Tool execution interrupted")] * 2


def test_in_python_the_others_are_left_where_they_are_when_a_hook_throws() -> None:
    hooks = [hook("beforeTool", op("throw", when=1)), hook("afterTools", op("observe", path=["message"]))]
    trace = traced(PYTHON, **concurrent(hooks=hooks))
    assert [run["name"] for run in trace["toolRuns"]] == ["look"]
    assert trace["observations"][0]["value"]["content"] == []
    assert trace["results"][0]["error"]["type"] == "EventLoopException"


def test_in_python_a_cancelled_tool_lets_the_others_go_first() -> None:
    hooks = [hook("beforeTool", op("cancel", when=0)), hook("afterTool")]
    assert ran(traced(PYTHON, **concurrent(hooks=hooks))) == [
        *("beforeTool", "beforeTool", "tool:save", "afterTool", "afterTool"),
    ]


def test_the_loop_that_goes_on_after_a_hook_threw_races_too() -> None:
    hooks = [hook("beforeTool", op("throw", when=0)), hook("afterTool", op("throw", when=[0, 1]))]
    program = concurrent(
        script=[[uses()], BOTH], hooks=hooks, middleware=[wrap("tool"), wrap("stream", NEXT)]
    )
    before, now, _ = by_profile(ran, **program)
    assert before == now
    assert before.count("afterTool") == 2


def test_a_handler_of_the_stream_stage_that_drops_events_makes_the_way_shorter() -> None:
    dropping = concurrent(middleware=[wrap("stream", op("next", events="drop"))], hooks=[hook("afterTool")])
    assert by_profile(lambda trace: len(trace["toolRuns"]), **dropping) == (2, 2, 2)
