"""The two states: claims S4, S9 to S11, S17, S18, S25, S33, S44, S53, S70, S71 and S76."""

from __future__ import annotations

from typing import Any, Final

import pytest

from frameworks.strands.strands_scene import (
    ALL,
    EVERY,
    LOOK,
    NEXT,
    NOW,
    PYTHON,
    Json,
    by_profile,
    copied,
    hook,
    on_input,
    on_output,
    op,
    put,
    says,
    traced,
    uses,
    wrap,
)

WRITE: Final = op("setModelState", key="w", value="handler")
SEE: Final = op("observeModelState")
STATE: Final = {"invocationState": {"mine": {"a": 1}}}


def said(text: str = "said", **state: Any) -> Json:
    return {"blocks": says(text), "modelState": state}


def final(trace: Json) -> Any:
    return trace["modelState"]


def seen(trace: Json) -> list[Any]:
    return [entry["value"] for entry in trace["observations"]]


# ---------------------------------------------------------------- the model state


def test_the_context_has_the_model_state_only_before() -> None:
    via = op("setModelStateViaContext", key="m", value=1)
    program: Json = {"middleware": [wrap("model", via)]}
    assert by_profile(final, **program) == ({"m": 1}, {}, {})
    missing = [{"by": "mw0:model.wrap", "op": "setModelStateViaContext", "path": ["modelState"]}]
    assert by_profile(lambda trace: trace["pathErrors"], **program) == ([], missing, missing)


def test_what_a_provider_writes_is_there_after_the_chain() -> None:
    handler = wrap("model", SEE, NEXT, SEE)
    program: Json = {"modelState": {"m": 0}, "script": [said(m=1)], "middleware": [handler]}
    assert by_profile(final, **program) == ({"m": 1},) * 3
    assert by_profile(seen, **program) == ([{"m": 0}, {"m": 1}], [{"m": 0}] * 2, [{"m": 0}] * 2)


@EVERY
def test_what_a_provider_takes_out_is_gone_at_the_next_call(profile: str) -> None:
    script = [{"blocks": [uses()], "modelStateDelete": ["m", "absent"]}, says("done")]
    trace = traced(profile, modelState={"m": 0, "n": 1}, script=script, tools=LOOK)
    assert [call["modelState"] for call in trace["calls"]] == [{"m": 0, "n": 1}, {"n": 1}]


@EVERY
def test_the_snapshot_is_taken_after_the_hook_and_written_back_before_the_next(profile: str) -> None:
    hooks = [hook("beforeModel", op("setModelState", key="h", value=1)), hook("afterModel", SEE)]
    trace = traced(profile, script=[said(m=1)], hooks=hooks)
    assert trace["calls"][0]["modelState"] == {"h": 1}
    assert seen(trace) == [{"h": 1, "m": 1}]


@pytest.mark.parametrize(
    "handler",
    [
        wrap("model", WRITE, NEXT),
        wrap("model", NEXT, WRITE),
        on_input("model", WRITE),
        on_output("model", WRITE),
    ],
    ids=["before", "after", "input", "output"],
)
def test_a_handlers_write_is_lost_on_success_but_before(handler: Json) -> None:
    assert by_profile(lambda trace: trace["modelState"].get("w"), middleware=[handler]) == (
        "handler",
        None,
        None,
    )


def test_a_handlers_write_stays_on_a_short_circuit_in_typescript_only() -> None:
    handler = wrap("model", WRITE, op("shortCircuit"))
    assert by_profile(final, middleware=[handler]) == ({"w": "handler"}, {"w": "handler"}, {})


@EVERY
def test_a_handlers_write_stays_if_the_call_fails(profile: str) -> None:
    handler = wrap("model", WRITE, op("throw"))
    assert final(traced(profile, middleware=[handler])) == {"w": "handler"}


@EVERY
def test_a_write_in_the_tool_stage_stays_and_reaches_the_next_call(profile: str) -> None:
    trace = traced(profile, script=[[uses()]], tools=LOOK, middleware=[wrap("tool", WRITE)])
    assert trace["calls"][1]["modelState"] == {"w": "handler"}


@pytest.mark.parametrize("failure", ["throw", "throwAfter"])
def test_a_failed_calls_partial_write_is_kept_only_before(failure: str) -> None:
    program: Json = {"script": [{**said(m=1), failure: "broken"}]}
    assert by_profile(final, **program) == ({"m": 1}, {}, {})


@pytest.mark.parametrize(
    "handler", [wrap("model", NEXT, op("throw")), on_output("model", op("throw"))], ids=["wrap", "output"]
)
def test_a_handler_that_fails_after_a_good_call_loses_its_state_but_before(handler: Json) -> None:
    assert by_profile(final, script=[said(m=1)], middleware=[handler]) == ({"m": 1}, {}, {})


def test_a_second_next_starts_from_the_snapshot_only_now() -> None:
    program: Json = {"script": [said(m=1), said(n=2)], "middleware": [wrap("model", NEXT, NEXT)]}
    asked = by_profile(lambda trace: trace["calls"][1]["modelState"], **program)
    assert asked == ({"m": 1}, {}, {"m": 1})
    assert by_profile(final, **program) == ({"m": 1, "n": 2}, {"n": 2}, {"m": 1, "n": 2})


def test_of_a_good_call_and_a_failed_one_after_it_the_failed_ones_state_is_kept_now() -> None:
    script = [said(m=1), {**said(n=2), "throw": "broken"}]
    handler = wrap("model", NEXT, op("next", catch=True), op("shortCircuit"))
    kept = by_profile(final, script=script, middleware=[handler])
    assert kept == ({"m": 1, "n": 2}, {"n": 2}, {"m": 1, "n": 2})


def test_a_hook_that_writes_at_a_call_has_it_snapshotted_again_at_a_retry() -> None:
    hooks = [hook("afterModel", op("retry", when=0))]
    program: Json = {"script": [said(m=1), said(n=2)], "hooks": hooks}
    assert by_profile(final, **program) == ({"m": 1, "n": 2},) * 3


@EVERY
def test_a_key_that_is_not_there_can_be_taken_out(profile: str) -> None:
    trace = traced(
        profile, modelState={"m": 0}, hooks=[hook("beforeModel", op("deleteModelState", key="m"))] * 2
    )
    assert final(trace) == {}


# ---------------------------------------------------------------- the invocation state


@EVERY
def test_all_stages_hooks_and_tools_write_into_one_invocation_state(profile: str) -> None:
    write = [op("setInvocationState", key=key, value=1) for key in "abcd"]
    tools = {"look": {"output": "seen", "setInvocationState": {"e": 1}}}
    trace = traced(
        profile,
        **STATE,
        script=[[uses()]],
        tools=tools,
        middleware=[wrap("model", write[0]), wrap("tool", write[1]), wrap("stream", write[2])],
        hooks=[hook("beforeTools", write[3])],
    )
    everything = {"mine": {"a": 1}, **dict.fromkeys("abcde", 1)}
    assert trace["invocationState"] == everything
    assert trace["results"][0].get("invocationState", everything) == everything


@pytest.mark.parametrize("profile", ALL[:2])
def test_what_hooks_write_during_streaming_is_on_the_result(profile: str) -> None:
    hooks = [
        hook("modelDelta", op("setInvocationState", key="d", value=1)),
        hook("contentBlock", op("setInvocationState", key="b", value=1)),
    ]
    trace = traced(profile, **STATE, script=[says("one")], hooks=hooks)
    assert trace["results"][0]["invocationState"] == {"mine": {"a": 1}, "d": 1, "b": 1}
    assert trace["aliases"]["resultStateAndCaller"] == [[[0], []]]


@pytest.mark.parametrize("profile", ALL[:2])
def test_hooks_hear_of_every_piece_and_edit_the_live_block(profile: str) -> None:
    blocks = [{"text": "one"}, uses(a=1), {"reasoning": {"text": "hm", "signature": "s"}}]
    hooks = [hook("modelDelta"), hook("contentBlock", put("block", "text", value="changed", when=0))]
    trace = traced(profile, script=[{"blocks": blocks, "stopReason": "endTurn"}], hooks=hooks)
    assert trace["log"].count("hook:modelDelta") == 1 + 3 * 3 + 1
    assert trace["log"].count("hook:contentBlock") == 3
    assert trace["agentMessages"][-1]["content"][0] == {"text": "changed"}


@pytest.mark.parametrize("profile", ALL[:2])
def test_a_handler_that_drops_what_is_streamed_keeps_hooks_from_it(profile: str) -> None:
    handler = wrap("model", op("next", events="drop"))
    trace = traced(profile, hooks=[hook("modelDelta"), hook("messageAdded")], middleware=[handler])
    assert "hook:modelDelta" not in trace["log"]
    assert trace["log"].count("hook:messageAdded") == 2


@EVERY
def test_a_copy_of_the_state_passed_on_in_the_model_stage_reaches_nobody_else(profile: str) -> None:
    handler = wrap("model", copied("invocationState", "new", value=1))
    trace = traced(
        profile, **STATE, script=[[uses()]], tools=LOOK, middleware=[handler], hooks=[hook("afterModel")]
    )
    assert trace["toolRuns"][0]["invocationState"] == {"mine": {"a": 1}}
    assert trace["invocationState"] == {"mine": {"a": 1}}


@EVERY
def test_a_copy_of_the_state_passed_on_in_the_tool_stage_reaches_the_tool_only(profile: str) -> None:
    handler = wrap("tool", copied("invocationState", "new", value=1))
    look = op("observe", path=["invocationState", "new"])
    trace = traced(
        profile, **STATE, script=[[uses()]], tools=LOOK, middleware=[handler], hooks=[hook("afterTool", look)]
    )
    assert trace["toolRuns"][0]["invocationState"] == {"mine": {"a": 1}, "new": 1}
    assert seen(trace) == [None]


@EVERY
def test_a_copy_of_the_state_passed_on_in_the_stream_stage_is_that_passs(profile: str) -> None:
    handler = wrap("stream", copied("invocationState", "new", value=1))
    look = op("observe", path=["invocationState", "new"])
    trace = traced(
        profile,
        **STATE,
        middleware=[handler],
        hooks=[hook("beforeModel", look), hook("afterInvocation", look)],
    )
    assert seen(trace) == [1, None]
    assert trace["results"][0].get("invocationState", {"new": 1})["new"] == 1
    assert trace["invocationState"] == {"mine": {"a": 1}}


def test_without_a_state_the_agent_makes_one_for_each_invocation() -> None:
    write = hook("beforeInvocation", op("setInvocationState", key="n", value=1, when=0))
    look = hook("beforeModel", op("observe", path=["invocationState", "n"]))
    program: Json = {"inputs": ["a", "b"], "hooks": [write, look]}
    assert by_profile(seen, **program) == ([1, None],) * 3


def test_options_without_a_state_are_a_new_object_around_the_callers_values() -> None:
    handler = wrap("stream", put("options", "note", "a", value="changed"), put("options", "own", value=1))
    program: Json = {"options": {"note": {"a": 1}}, "middleware": [handler]}
    kept = by_profile(lambda trace: trace["caller"].get("options"), **program)
    assert kept[:2] == ({"note": {"a": "changed"}},) * 2
    given = by_profile(lambda trace: trace["caller"].get("options"), **program, **STATE)
    assert given[:2] == ({"note": {"a": "changed"}, "own": 1},) * 2


def test_a_stage_without_a_state_in_its_options_gets_an_empty_one() -> None:
    handler = wrap("stream", put("options", value={"x": 1}))
    trace = traced(NOW, **STATE, script=[[uses()]], tools=LOOK, middleware=[handler])
    assert trace["toolRuns"][0]["invocationState"] == {}
    assert trace["results"][0]["invocationState"] == {}


def test_python_keeps_things_of_its_own_in_the_callers_state() -> None:
    cycle = [
        "agent",
        "event_loop_cycle_id",
        "event_loop_cycle_span",
        "event_loop_cycle_trace",
        "request_state",
    ]
    assert traced(PYTHON, **STATE)["sdkInvocationKeys"] == cycle
    tools = ["event_loop_parent_cycle_id", "messages", "model", "system_prompt", "tool_config"]
    trace = traced(PYTHON, **STATE, script=[[uses()]], tools=LOOK, system=[{"text": "a"}, {"text": "b"}])
    assert trace["sdkInvocationKeys"] == sorted([*cycle, *tools])
    assert trace["invocationState"] == {"mine": {"a": 1}}
    assert "sdkInvocationKeys" not in traced(NOW, **STATE)


def test_the_history_is_in_the_state_in_python_and_with_it_a_way_round_the_copies() -> None:
    way = wrap("tool", put("invocationState", "messages", 0, "content", 0, "text", value="leak"))
    trace = traced(PYTHON, script=[[uses()]], tools=LOOK, middleware=[way])
    assert trace["agentMessages"][0]["content"] == says("leak")


def test_messages_are_announced_with_the_state_in_typescript_only() -> None:
    look = hook("messageAdded", op("observe", path=["invocationState", "mine"], when=0))
    assert by_profile(seen, **STATE, hooks=[look]) == ([{"a": 1}], [{"a": 1}], [None])
