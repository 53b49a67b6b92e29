"""The order of processors, what each is given and what becomes of what it returns (claims M1 to M81)."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.mastra.emulation.settings import Model, Processor, Tool
from agentcore.heap.heap import UNDEFINED
from frameworks.mastra.stage import THREE_STEPS, TWO_STEPS, Stage, at_step, on_input, processor, text

PLACES = ("processors", "call_processors", "prepare_step", "default_prepare_step")


def placed(place: str, hook: Any) -> dict[str, Any]:
    return {place: hook if place.endswith("prepare_step") else [processor(hook)]}


@pytest.mark.parametrize("place", PLACES)
def test_a_processor_runs_before_every_model_call(place: str) -> None:
    seen: list[int] = []
    stage = Stage(THREE_STEPS, **placed(place, lambda args: seen.append(args["stepNumber"])))
    assert seen == [0, 1, 2]
    assert len(stage.asked) == 3


def test_what_is_done_with_the_input_is_done_once_and_first() -> None:
    seen: list[Any] = []
    both = Processor(
        id="p1",
        process_input=lambda args: seen.append("stepNumber" in args),
        process_input_step=lambda args: seen.append(args["stepNumber"]),
    )
    Stage(TWO_STEPS, processors=[both])
    assert seen == [False, 0, 1]


def test_processors_run_in_order_and_prepare_step_last() -> None:
    seen: list[str] = []
    Stage(
        processors=[processor(lambda _: seen.append("p1")), processor(lambda _: seen.append("p2"), "p2")],
        prepare_step=lambda _: seen.append("prepareStep"),
    )
    assert seen == ["p1", "p2", "prepareStep"]


def test_processors_of_the_call_replace_those_of_the_agent() -> None:
    seen: list[str] = []
    own = [processor(lambda _: seen.append("agent's"))]
    Stage(processors=own, call_processors=[processor(lambda _: seen.append("call's"))])
    Stage(processors=own, call_processors=[])
    assert seen == ["call's"]


def test_prepare_step_of_the_call_replaces_the_default_one() -> None:
    seen: list[str] = []
    Stage(prepare_step=lambda _: seen.append("call's"), default_prepare_step=lambda _: seen.append("default"))
    assert seen == ["call's"]


def test_what_one_returns_is_what_the_next_is_given_and_the_model_asked_with() -> None:
    options = {"toolChoice": "required", "providerOptions": {"x": {"a": 1}}, "modelSettings": {"topP": 0.5}}
    seen: dict[str, Any] = {}
    stage = Stage(
        processors=[processor(lambda _: {**options, "activeTools": ["look"]})],
        prepare_step=lambda args: seen.update({name: args[name] for name in (*options, "activeTools")}),
    )
    assert seen == {**options, "activeTools": ["look"]}
    assert stage.asked[0]["toolChoice"] == {"type": "required"}
    assert stage.asked[0]["providerOptions"] == {"x": {"a": 1}}
    assert stage.asked[0]["topP"] == 0.5


def test_what_is_returned_holds_for_its_step_only() -> None:
    stage = Stage(
        THREE_STEPS,
        processors=[
            processor(at_step(1, lambda _: {"toolChoice": "required", "providerOptions": {"x": {}}}))
        ],
        options={"providerOptions": {"y": {}}},
    )
    assert [asked["toolChoice"]["type"] for asked in stage.asked] == ["auto", "required", "auto"]
    assert [[*asked["providerOptions"]] for asked in stage.asked] == [["y"], ["x"], ["y"]]


def test_a_returned_model_is_called_at_its_step_and_shown_to_the_next_processor() -> None:
    called: list[str] = []
    seen: list[str] = []

    def answer(_: Any) -> list[Any]:
        called.append("other")
        return [text("mine")]

    other = Model("other", answer)
    stage = Stage(
        TWO_STEPS,
        processors=[processor(at_step(1, lambda _: {"model": other}))],
        prepare_step=lambda args: seen.append(args["model"]["modelId"]),
    )
    assert [asked["model"] for asked in stage.asked] == ["base"]
    assert called == ["other"]
    assert seen == ["base", "other"]
    assert stage.outcome.text == "mine"


def test_undefined_clears_a_field_and_null_is_passed_on() -> None:
    cleared = Stage(
        options={"toolChoice": "required", "providerOptions": {"x": {}}},
        prepare_step=lambda _: {"toolChoice": UNDEFINED, "providerOptions": None},
    )
    assert cleared.asked[0]["toolChoice"] == {"type": "auto"}
    assert cleared.asked[0]["providerOptions"] is None


def test_active_tools_tell_the_model_of_fewer_and_their_calls_fail() -> None:
    stage = Stage(TWO_STEPS, processors=[processor(lambda _: {"activeTools": []})])
    assert stage.asked[0]["tools"] == []
    assert stage.looked == []
    answer = stage.asked[1]["prompt"][-1]["content"][0]["output"]
    assert answer["type"] == "error-text"
    assert answer["value"].startswith('Tool "look" not found.')


def test_no_tool_choice_sends_no_tools() -> None:
    stage = Stage(prepare_step=lambda _: {"toolChoice": "none"})
    assert "tools" not in stage.asked[0]


def test_returned_tools_replace_the_set_and_run() -> None:
    ran: list[Any] = []
    extra = {"extra": Tool(execute=ran.append)}
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "extra", "input": {}}
    stage = Stage([[call], [text("ok")]], prepare_step=at_step(0, lambda _: {"tools": extra}))
    assert [[tool["name"] for tool in asked["tools"]] for asked in stage.asked] == [["extra"], ["look"]]
    assert len(ran) == 1


def test_where_tools_are_taken_away_those_of_the_call_run_all_the_same() -> None:
    stage = Stage(TWO_STEPS, prepare_step=lambda _: {"tools": UNDEFINED})
    assert "tools" not in stage.asked[0]
    assert stage.looked == [{"a": 1}]


@pytest.mark.parametrize("nothing", [None, {}, False, 0, "", True, 7, "text"])
def test_what_is_no_result_changes_nothing(nothing: Any) -> None:
    assert Stage(processors=[processor(lambda _: nothing)]).prompts == Stage().prompts


def test_a_returned_step_number_is_what_the_next_processor_sees_and_nobody_else() -> None:
    seen: list[Any] = []

    def look(args: Any) -> None:
        seen.append((args["stepNumber"], len(args["steps"])))

    Stage(
        processors=[processor(lambda _: {"stepNumber": 7, "steps": [1, 2]}), processor(look, "p2")],
        prepare_step=look,
    )
    assert seen == [(7, 2), (0, 0)]


def test_each_processor_goes_on_from_what_the_one_before_did_to_the_input() -> None:
    first = on_input(lambda args: [*args["messages"], {"role": "user", "content": "more"}])
    seen: list[int] = []
    second = on_input(lambda args: seen.append(len(args["messages"])), "p2")
    stage = Stage(processors=[first, second])
    assert seen == [2]
    assert stage.prompts == [["user: hi", "user: more"]]
