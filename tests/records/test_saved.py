from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import InvalidOverrideError, SavedError, SavedRunError, UnknownStepError
from agentcore.machine.effects import (
    Answered,
    ApprovalsNeeded,
    Asked,
    Cancelled,
    Done,
    Forked,
    HookFailed,
    HookResult,
    Logged,
    ModelAnswer,
    ModelFailed,
    NeedModel,
    NeedPrepareStep,
    Processed,
    Rejected,
    Settings,
    ToolFailed,
    ToolOutcomes,
    ToolsFailed,
    ToolSpec,
    ToolSucceeded,
    Tripped,
)
from agentcore.machine.hooks import ProcessorEdit, StepOverride
from agentcore.machine.processors import Tripwire
from agentcore.machine.run import start
from agentcore.machine.state import Failed, Run
from agentcore.messages.content import GeneratedText, ToolCall, Usage
from agentcore.messages.interrupts import Interrupt
from agentcore.messages.messages import ContentOutput, SystemMessage, TextPart, UserMessage
from agentcore.messages.values import dump_json, parse_json, thaw, vector
from agentcore.records.history import before, fork
from agentcore.records.saved import VERSION, from_json, outcome_from_json, outcome_to_json, to_json
from agentcore.requirements.rules import Rule
from plays import HISTORIES, REMINDER, SUMMARY, WHOLE, Play, differences, on, played, plays
from rulebook import states
from scripted import SETTINGS, TOOL, USER, call

DATA: Final = Path(__file__).parent / "data"


def again(run: Run) -> Run:
    """The run, from the text that it was saved as."""
    return from_json(parse_json(dump_json(to_json(run))))


# ---------------------------------------------------------------- whole runs


@states(Rule.RUN_SAVED)
@given(plays)
def test_a_run_saved_at_any_moment_is_loaded_as_it_was_and_goes_on_alike(play: Play) -> None:
    runs = played(play)
    for count, run in enumerate(runs):
        loaded = again(run)
        assert not list(differences(loaded, run))
        assert loaded == run or isinstance(run.pending, Failed)
        if count % 4 == 1:
            *_, last = on(loaded, play, count)
            assert not list(differences(last, runs[-1]))


@given(plays, st.integers(0, 4), st.sampled_from([None, [SUMMARY], [USER, REMINDER]]), st.booleans())
def test_a_fork_is_saved_with_what_it_came_from(
    play: Play, number: int, messages: list[UserMessage] | None, other: bool
) -> None:
    settings = Settings(model="other", system="o", tools=[TOOL]) if other else None
    try:
        branch = fork(played(play)[-1], number, settings=settings, messages=messages)
    except UnknownStepError:
        return
    for run in list(on(branch, Play(script=[[call("x")]] * 9, hooks=["remind"] * 9)))[::5]:
        assert not list(differences(again(run), run))


def test_a_failed_run_keeps_the_type_and_the_text_of_its_error() -> None:
    run = played(Play(script=[[call()]], ends=8))[-1]
    assert isinstance(run.pending, Failed)
    loaded = again(again(run))
    assert isinstance(loaded.pending, Failed)
    error = loaded.pending.error
    assert isinstance(error, SavedError)
    assert (error.type_name, str(error)) == ("RuntimeError", "broke \ud800")
    assert len(loaded.pending.run.steps) == 1
    assert loaded.pending.run == run.pending.run


def test_an_error_that_follows_from_the_outcomes_is_the_error_itself() -> None:
    run = played(Play(script=[WHOLE[3]]))[-1]
    loaded = again(run)
    assert isinstance(run.pending, Failed)
    assert isinstance(loaded.pending, Failed)
    assert type(loaded.pending.error) is type(run.pending.error)


def test_a_result_that_is_no_override_is_kept_as_the_failure_that_it_was() -> None:
    run = played(Play(hooks=["wrong"]))[-1]
    assert isinstance(run.pending, Failed)
    assert isinstance(run.pending.error, InvalidOverrideError)
    assert [type(outcome) for outcome in run.outcomes] == [HookFailed]
    assert not list(differences(again(run), run))


def test_messages_that_hooks_passed_on_are_the_same_ones_after_loading() -> None:
    run = again(
        played(Play(messages=[USER] * 40, script=[[call("a")], [call("b")]], hooks=["remind"] * 9))[-1]
    )
    for record in run.steps:
        assert record.override.messages is not None
        assert all(a is b for a, b in zip(record.override.messages, record.step_input, strict=False))
        assert record.override.messages[-1] is run.steps[0].override.messages[-1]  # type: ignore[index]
    assert run.steps[0].prompt._root is run.steps[2].prompt._root  # type: ignore[attr-defined]


def test_a_saved_run_is_as_large_as_its_messages_and_outcomes_whatever_hooks_pass_on() -> None:
    def size(hook: str, steps: int) -> int:
        messages = [UserMessage([TextPart(f"{n}")]) for n in range(500)]
        play = Play(messages=list(messages), script=[[call(f"c{n}")] for n in range(steps)], hooks=[hook] * 9)
        return len(dump_json(to_json(played(play)[-1])))

    for hook in ("remind", "stay", "first"):
        assert size(hook, 4) - size(hook, 1) < size("nothing", 4) - size("nothing", 1) + 1_500


def plain_types(value: object) -> bool:
    if type(value) is dict:
        return all(type(key) is str for key in value) and all(map(plain_types, value.values()))
    if type(value) is list:
        return all(map(plain_types, value))
    return value is None or type(value) in (bool, int, float, str)


@given(plays)
def test_what_is_saved_is_what_the_json_module_takes_and_nobody_else_holds(play: Play) -> None:
    run = played(play)[-1]
    saved = to_json(run)
    assert plain_types(saved)
    assert json.loads(json.dumps(saved)) == saved
    assert thaw(saved) == saved
    assert all(plain_types(outcome_to_json(outcome)) for outcome in run.outcomes)
    saved["initial"][0]["role"] = "changed"
    saved["outcomes"].clear()
    assert not list(differences(from_json(to_json(run)), run))


def test_a_run_that_was_saved_before_there_were_references_to_the_step_input_is_loaded() -> None:
    # What version 2 wrote of this run.
    saved = json.loads((DATA / "saved-run-2.json").read_text(encoding="ascii"))
    run = played(Play(script=[[call()], [call("d")]], hooks=["listing keeping", "remind", "stay"]))[-1]
    assert (saved["version"], '"input", 0' in json.dumps(saved)) == (2, False)
    assert not list(differences(from_json(saved), run))
    assert ('{"input": ' in json.dumps(to_json(run)), '["input", 0, ' in json.dumps(to_json(run))) == (
        True,
        True,
    )


def test_what_is_saved_can_be_read_by_others() -> None:
    saved = to_json(played(Play(script=[[call()]]))[-1])
    assert saved["version"] == VERSION
    assert saved["initial"] == [{"role": "user", "content": [{"type": "text", "text": "u"}]}]
    assert [message["role"] for message in saved["response"]] == ["assistant", "tool", "assistant"]
    assert saved["pending"] == "Done"
    assert saved["settings"]["model"] == "m"
    assert [outcome["type"] for outcome in saved["outcomes"]][:4] == [
        "hook-result",
        "hook-result",
        "model-answer",
        "tool-outcomes",
    ]


# ---------------------------------------------------------------- one outcome

OUTCOMES: list[Logged] = [
    HookResult(),
    HookResult(value=True),
    Processed(
        [
            ProcessorEdit(
                processor_id="p",
                override=StepOverride(
                    model="n",
                    system=[SystemMessage("s")],
                    messages=[USER],
                    active_tools=["t"],
                    tool_choice="none",
                    provider_options={"p": {"a": 1.5}},
                    experimental_context=[None],
                    lasting_messages=[USER, USER, USER, USER, USER],
                    response_format={"type": "json", "name": "n"},
                    model_settings={"temperature": 0.5},
                ),
                ids=vector(["a-b-0"]),
                lasting_ids=vector(["initial-0", "initial-1", "response-2", "response-0", "response-1"]),
            ),
            ProcessorEdit(processor_id="q", override=StepOverride(system="")),
        ]
    ),
    Tripped(Tripwire(processor_id="p")),
    Tripped(Tripwire(processor_id="p", step_number=0, reason="r", retry=True, metadata={"a": [1]})),
    ModelAnswer([GeneratedText("a")], "stop", usage=Usage(1, 2), warnings=["w"]),
    ModelAnswer([], requested_model="n", model_state={"seen": [1]}),
    Asked([Interrupt(name="n", reason=[1], source="execute-tool", step_number=1, tool_call_id="c")]),
    Asked([Interrupt(name="n", source="agent-stream"), Interrupt(name="m")]),
    Answered({"a": {"b": [None]}, "c": 1.5}),
    Rejected("$.total: a number"),
    ApprovalsNeeded(["b", "a"]),
    ToolOutcomes(
        [ToolFailed("c", "e"), ToolSucceeded("d", None, model_output=ContentOutput([{"type": "x"}]))]
    ),
    Cancelled(),
    Forked(
        Settings(model="m", system=SystemMessage("s"), tools=[ToolSpec("t", needs_approval="ask")]),
        vector([USER]),
    ),
]


@pytest.mark.parametrize("outcome", OUTCOMES, ids=lambda one: type(one).__name__)
def test_an_outcome_is_read_as_it_was_written(outcome: Logged) -> None:
    assert outcome_from_json(parse_json(dump_json(outcome_to_json(outcome)))) == outcome


@pytest.mark.parametrize("kind", [HookFailed, ModelFailed, ToolsFailed])
def test_the_hook_that_raised_is_kept_with_its_error(kind: Callable[..., Logged]) -> None:
    read: Any = outcome_from_json(outcome_to_json(kind(KeyError("k"), hook="on_chunk")))
    assert read.hook == "on_chunk"


@pytest.mark.parametrize("kind", [HookFailed, ModelFailed, ToolsFailed])
def test_the_error_of_an_outcome_is_read_as_its_type_and_text(kind: Callable[[Exception], Logged]) -> None:
    read: Any = outcome_from_json(outcome_to_json(kind(KeyError("k"))))
    assert type(read) is kind
    assert (read.error.type_name, read.error.text) == ("KeyError", "'k'")


def test_a_result_of_a_hook_that_no_run_has_taken_is_not_written() -> None:
    with pytest.raises(SavedRunError, match="list has no JSON form"):
        outcome_to_json(HookResult([]))


def edit(**fields: Any) -> dict[str, Any]:
    return {"processorId": "p", "override": {}, **fields}


def processed(**override: Any) -> dict[str, Any]:
    return {"type": "processed", "edits": [edit(override=override)]}


@pytest.mark.measured
@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        (1, "$", "an object"),
        ({"type": "x"}, "$.type", "hook-result"),
        ({"type": "hook-result", "value": 1}, "$.value", "true or false"),
        (processed(model=1), "$.edits[0].override.model", "a string"),
        (processed(wrong=1), "$.edits[0].override.wrong", "unknown key"),
        (processed(toolChoice={"type": "x"}), "$.edits[0].override.tool_choice", "use"),
        (processed(messages=[{"role": "x"}]), "$.edits[0].override.messages[0].role", "user"),
        (processed(system=[1]), "$.edits[0].override.system[0]", "an object"),
        ({"type": "processed", "edits": [7]}, "$.edits[0]", "an object, got a number"),
        ({"type": "processed", "edits": [{"processorId": "p"}]}, "$.edits[0].override", "missing"),
        ({"type": "processed", "edits": [edit(ids=[["a", 0]])]}, "$.edits[0].ids[0]", "first number"),
        ({"type": "processed", "edits": [edit(ids=["a-0"])]}, "$.edits[0].ids[0]", "an array"),
        ({"type": "tripped", "tripwire": {"processorId": 1}}, "$.tripwire.processorId", "a string"),
        ({"type": "hook-failed", "error": {"type": "E"}}, "$.error", "a type and a text"),
        ({"type": "hook-failed", "error": {"type": "E", "text": 1}}, "$.error", "a string"),
        ({"type": "model-answer"}, "$.content", "missing"),
        ({"type": "model-answer", "content": {}}, "$.content", "an array"),
        ({"type": "model-answer", "content": [{"type": "text", "text": 1}]}, "$.content[0].text", "a string"),
        ({"type": "approvals-needed", "toolCallIds": [1]}, "$.toolCallIds[0]", "a string"),
        ({"type": "model-answer", "content": [], "modelState": 1}, "$.modelState", "an object"),
        ({"type": "asked", "interrupts": []}, "$", "one question or more"),
        ({"type": "asked", "interrupts": [{}]}, "$.interrupts[0].name", "missing"),
        (
            {"type": "asked", "interrupts": [{"name": "n", "source": []}]},
            "$.interrupts[0].source",
            "one of tool",
        ),
        ({"type": "answered", "answers": []}, "$.answers", "an object"),
        (
            {"type": "forked", "settings": {"model": "m", "maxSteps": True}},
            "$.settings.maxSteps",
            "whole number",
        ),
        (
            {"type": "forked", "settings": {"model": "m", "maxSteps": 0}},
            "$.settings",
            "max_steps is 1 or more",
        ),
        (
            {"type": "forked", "settings": {"model": "m", "maxSteps": 2**53}},
            "$.settings.maxSteps",
            "at most 2**53 - 1",
        ),
        (
            {"type": "tripped", "tripwire": {"processorId": "p", "stepNumber": 10**30}},
            "$.tripwire.stepNumber",
            "2**53",
        ),
        (
            {"type": "asked", "interrupts": [{"name": "n", "stepNumber": -(2**53)}]},
            "$.interrupts[0].stepNumber",
            "2**53",
        ),
        (
            {"type": "model-answer", "content": [], "usage": {"inputTokens": 2**60}},
            "$.usage.inputTokens",
            "2**53",
        ),
    ],
)
def test_what_is_no_outcome_is_refused_with_the_path_of_the_fault(value: Any, path: str, says: str) -> None:
    with pytest.raises(SavedRunError) as caught:
        outcome_from_json(value)
    assert caught.value.path == path
    assert says in caught.value.reason


# ---------------------------------------------------------------- what cannot be loaded


def saved(**changes: Any) -> dict[str, Any]:
    play = Play(script=[[call()]], hooks=["remind"])
    return {**thaw(to_json(played(play)[-1])), **changes}


def test_what_the_faults_below_are_made_of_can_be_loaded() -> None:
    assert isinstance(from_json(saved()).pending, Done)


def with_places(places: Any) -> list[Any]:
    return [{**processed(), "places": places}]


@pytest.mark.measured
@pytest.mark.parametrize(
    ("value", "path", "says"),
    [
        ([], "$", "an object, got an array"),
        ({}, "$.version", "expected 2"),
        (saved(version=1), "$.version", "another version"),
        (saved(version=True), "$.version", "expected 2 or 3"),
        (saved(version=2.5), "$.version", "expected 2 or 3"),
        (saved(version=10**30), "$.version", "expected 2 or 3"),
        (saved(more=1), "$.more", "unknown key"),
        ({name: field for name, field in saved().items() if name != "initial"}, "$.initial", "missing"),
        (saved(settings=None), "$.settings", "an object"),
        (saved(settings={}), "$.settings.model", "missing"),
        (saved(initial=[]), "$.initial.messages", "one or more"),
        (saved(initial=[{"role": "x"}]), "$.initial[0].role", "user"),
        (saved(others=1), "$.others", "an array"),
        (saved(outcomes=1), "$.outcomes", "an array"),
        (saved(outcomes=[{"type": "cancelled"}, {"type": "cancelled"}]), "$.outcomes[1]", "has ended"),
        (saved(outcomes=[{"type": "model-answer", "content": []}]), "$.outcomes[0]", "NeedPrepareStep"),
        (
            saved(outcomes=[{"type": "cancelled", "places": [{}]}]),
            "$.outcomes[0].places",
            "no messages at these places",
        ),
        (
            saved(outcomes=[{"type": "processed", "edits": [edit(override=7)], "places": [{}]}]),
            "$.outcomes[0].edits[0].override",
            "an object",
        ),
        (saved(outcomes=with_places([{"more": []}])), "$.outcomes[0].places", "no messages at these places"),
        (saved(outcomes=with_places([])), "$.outcomes[0].places", "no messages at these places"),
        (saved(outcomes=with_places({})), "$.outcomes[0].places", "an array"),
        (saved(outcomes=with_places([1])), "$.outcomes[0].places[0]", "an object"),
        (saved(outcomes=with_places([{"messages": 1}])), "$.outcomes[0].places", "use [chain"),
        (
            saved(outcomes=with_places([{"messages": [["initial", 1, 1]]}])),
            "$.outcomes[0].places",
            "use [chain",
        ),
        (
            saved(outcomes=with_places([{"messages": [["initial", 0, 0]]}])),
            "$.outcomes[0].places",
            "use [chain",
        ),
        (saved(outcomes=with_places([{"messages": [["x", 0, 1]]}])), "$.outcomes[0].places", "use [chain"),
        (saved(outcomes=[]), "$.pending", "NeedPrepareStep"),
        (saved(response=[]), "$.response", "differ from those of the replayed outcomes"),
    ],
)
def test_what_is_no_saved_run_is_refused_with_the_path_of_the_fault(value: Any, path: str, says: str) -> None:
    with pytest.raises(SavedRunError) as caught:
        from_json(value)
    assert caught.value.path == path
    assert says in caught.value.reason


def test_no_error_of_loading_shows_what_the_run_holds() -> None:
    settings = Settings(model="m", tools=[TOOL], experimental_context={"key": "secret"}, system="secret")
    run = played(Play(settings=settings, messages=[UserMessage("secret")], script=[[call()]]))[-1]
    good = thaw(to_json(run))
    faults = [{**good, name: bad} for name in good for bad in (None, 0, [], {}, ["secret"], {"a": "secret"})]
    faults += [{**good, "settings": {**good["settings"], name: {"secret": 1}}} for name in good["settings"]]
    told = []
    for fault in faults:
        try:
            from_json(fault)
        except SavedRunError as error:
            told.append(f"{error!r} {error}")
    assert len(told) > 40
    assert not [text for text in told if "secret" in text]


def test_a_run_put_together_by_hand_is_not_loaded_as_something_else() -> None:
    run = start(SETTINGS, [USER])
    other = start(SETTINGS, HISTORIES["approved"])
    mixed = Run(
        settings=run.settings,
        chains=run.chains,
        pending=other.pending,
        started_with=run.settings,
        given=run.given,
    )
    with pytest.raises(SavedRunError, match=r"\$\.pending"):
        again(mixed)


def test_a_loaded_run_can_be_forked_from_its_history() -> None:
    run = again(played(Play(script=[[call()], [call("d")]]))[-1])
    branch = fork(run, 1, settings=Settings(model="n", tools=[TOOL]))
    assert isinstance(before(run, 1).pending, NeedPrepareStep)
    *_, last = on(branch, Play())
    assert [record.model for record in last.steps] == ["m", "n"]


def test_the_parts_of_an_answer_keep_all_their_fields() -> None:
    invalid = ToolCall(
        tool_call_id="c",
        tool_name="t",
        input="{",
        provider_executed=False,
        dynamic=True,
        invalid=True,
        error="no JSON",
        title="T",
        provider_metadata={"p": {}},
    )
    answer = ModelAnswer([invalid, *(part for content in WHOLE for part in content)])
    assert outcome_from_json(outcome_to_json(answer)) == answer
    assert isinstance(played(Play(script=[[invalid]]))[3].pending, NeedModel) is False


@pytest.mark.parametrize("enabled", [True, False])
def test_no_garbage_is_looked_for_while_a_run_is_loaded_and_the_collector_is_left_as_it_was(
    enabled: bool,
) -> None:
    calls = [ToolCall(tool_call_id=f"c{number}", tool_name="t", input={}) for number in range(99)]
    saved = to_json(played(Play(script=[[one] for one in calls], enough=99))[-1])
    seen: list[str] = []

    def note(phase: str, _: object) -> None:
        seen.append(phase)

    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    gc.callbacks.append(note)
    try:
        from_json(saved)
        found = seen.count("start")
        with pytest.raises(SavedRunError):
            from_json({**saved, "pending": "NeedModel"})
        assert gc.isenabled() is enabled
    finally:
        gc.callbacks.remove(note)
        (gc.enable if before else gc.disable)()
    assert found <= enabled  # once, when it is over; some dozen times without
