from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import (
    ImmutableWriteError,
    InvalidOverrideError,
    MissingToolResultsError,
    RunCancelledError,
    UnexpectedOutcomeError,
)
from agentcore.machine.effects import (
    ApprovalsNeeded,
    Cancelled,
    Done,
    HookFailed,
    HookResult,
    ModelAnswer,
    ModelFailed,
    NeedApprovals,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedStepFinish,
    NeedStepStart,
    NeedStop,
    NeedTools,
    Outcome,
    Settings,
    ToolOutcomes,
    ToolsFailed,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.run import Failed, Run, give, start
from agentcore.messages import converters
from agentcore.messages.chains import Chains
from agentcore.messages.content import (
    ContentPart,
    GeneratedText,
    Usage,
)
from agentcore.messages.messages import (
    AssistantMessage,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.values import JsonValue, freeze, thaw, vector
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from rulebook import states
from scripted import SETTINGS, TOOL, USER, Hook, call, drive, failed, of, returns, roles, run_tools

# ---------------------------------------------------------------- the order of events


@states(Rule.RUN_ORDER, Rule.RUN_ASKS)
def test_a_step_asks_for_its_hooks_model_and_tools_in_order() -> None:
    run, needs = drive([[GeneratedText("a"), call()], [GeneratedText("b")]])
    first = [NeedPrepareStep, NeedStepStart, NeedModel, NeedTools, NeedStepFinish, NeedStop]
    last = [NeedPrepareStep, NeedStepStart, NeedModel, NeedStepFinish, NeedFinish]
    assert [type(wanted) for wanted in needs] == first + last
    assert isinstance(run.pending, Done)
    result = run.pending.result
    assert result.text == "b"
    assert result.finish_reason == "stop"
    assert [record.finish_reason for record in result.steps] == ["tool-calls", "stop"]
    assert roles(result.messages) == ["assistant", "tool", "assistant"]


def test_a_run_grows_by_what_each_step_made_of_its_content() -> None:
    run, needs = drive([[call()], [GeneratedText("b")]])
    made = [
        AssistantMessage([ToolCallPart("c", "t", input={"id": "c"})]),
        ToolMessage([ToolResultPart("c", "t", output=TextOutput("did c"))]),
        AssistantMessage([TextPart("b")]),
    ]
    assert run.chains.response == vector(made)
    assert [list(w.prompt) for w in of(NeedModel, needs)] == [[USER], [USER, *made[:2]]]
    assert [list(w.step.messages) for w in of(NeedPrepareStep, needs)] == [[USER], [USER, *made[:2]]]
    assert [w.step.step_number for w in of(NeedPrepareStep, needs)] == [0, 1]
    assert [len(w.step.steps) for w in of(NeedPrepareStep, needs)] == [0, 1]


@states(Difference.REPORT_IS_THE_LOOPS_OWN, Difference.STEPS_ARE_VALUES)
def test_the_report_holds_the_very_messages_of_later_prompts() -> None:
    _, needs = drive([[call()], [call("d")], [GeneratedText("b")]])
    records = [wanted.record for wanted in of(NeedStepFinish, needs)]
    assert [len(record.messages) for record in records] == [2, 4, 5]
    assert all(a is b for a, b in zip(records[0].messages, records[2].messages, strict=False))
    assert all(a is b for a, b in zip(records[1].messages, of(NeedModel, needs)[2].prompt[1:], strict=True))
    assert [record.step_number for record in records] == [0, 1, 2]
    assert of(NeedStop, needs)[0].steps == vector(records[:1])


def test_a_model_may_say_why_it_stopped() -> None:
    run, _ = drive([], {NeedModel: lambda _: ModelAnswer([GeneratedText("a")], "length")})
    assert run.steps[0].finish_reason == "length"


def test_a_step_keeps_what_the_provider_said_besides_its_parts_and_a_run_adds_up_the_tokens() -> None:
    answers = iter(
        [
            ModelAnswer(
                [call()],
                usage=Usage(10, 2, cached_input_tokens=4, reasoning_tokens=1),
                model_id="m-2026",
                response_id="r1",
                provider_metadata={"p": {"a": [1]}},
                warnings=["top_k is not known"],
            ),
            ModelAnswer([GeneratedText("b")], usage=Usage(20, 3)),
        ]
    )
    run, _ = drive([], {NeedModel: lambda _: next(answers)})
    first, second = run.steps
    assert (first.model, first.response_model, first.response_id) == ("m", "m-2026", "r1")
    assert first.provider_metadata == freeze({"p": {"a": [1]}})
    assert first.warnings == ("top_k is not known",)
    assert (second.usage, second.response_model, second.provider_metadata) == (Usage(20, 3), None, None)
    assert isinstance(run.pending, Done)
    assert run.usage == run.pending.result.usage
    assert run.usage == Usage(30, 5, cached_input_tokens=4, reasoning_tokens=1)
    assert run.usage.total_tokens == 35
    assert start(SETTINGS, [USER]).usage == Usage()


def test_no_representation_of_a_value_shows_the_context() -> None:
    settings = Settings(model="m", tools=[TOOL], experimental_context={"key": "secret"})
    run, needs = drive(
        [[call()], []], {NeedPrepareStep: returns({"experimental_context": "secret"})}, settings
    )
    assert "secret" not in repr((run, needs, run.steps, settings))


# ---------------------------------------------------------------- whether another step follows


@states(Rule.LOOP_CONTINUES)
@pytest.mark.parametrize(
    ("content", "tools"),
    [
        ([GeneratedText("a")], [TOOL]),
        ([call(provider_executed=True)], [TOOL]),
        ([call(), call("d", "manual")], [TOOL, ToolSpec("manual", has_execute=False)]),
        ([call(), call("d", "asks")], [TOOL, ToolSpec("asks", needs_approval=True)]),
        ([call("c"), call("c", "manual")], [TOOL, ToolSpec("manual", has_execute=False)]),
    ],
)
def test_a_step_without_client_calls_or_with_open_ones_is_the_last(
    content: list[ContentPart], tools: list[ToolSpec]
) -> None:
    run, needs = drive([content], settings=Settings(model="m", tools=tools))
    assert isinstance(run.pending, Done)
    assert of(NeedStop, needs) == []


@states(Rule.LOOP_CONTINUES, Difference.LOOP_COUNTS_BY_CALL)
@pytest.mark.parametrize(
    "content",
    [
        [call("c"), call("c")],
        [call("c"), call("gone", "x")],
        [call("c"), call("s", "search", provider_executed=True)],
    ],
)
def test_another_step_follows_if_each_client_call_has_an_answer(content: list[ContentPart]) -> None:
    settings = Settings(model="m", tools=[TOOL], validate_prompt=False)
    run, _ = drive([content, [GeneratedText("b")]], settings=settings)
    assert len(run.steps) == 2


@states(Rule.LOOP_STOPS)
def test_a_true_stop_condition_or_the_limit_of_steps_ends_the_run() -> None:
    script = [[call(str(number))] for number in range(9)]
    assert len(drive(script, {NeedStop: returns(0, None, 1)})[0].steps) == 3
    limited = Settings(model="m", tools=[TOOL], max_steps=2)
    run, needs = drive(script, settings=limited)
    assert len(run.steps) == len(of(NeedStop, needs)) == 2


def test_a_limit_below_one_step_is_refused() -> None:
    with pytest.raises(ValueError, match="max_steps"):
        Settings(model="m", max_steps=0)


# ---------------------------------------------------------------- overrides


@states(Rule.OVERRIDE_PROMPT_ONLY)
def test_overridden_messages_are_seen_by_model_and_step_start_only() -> None:
    other = UserMessage([TextPart("other")])
    _, needs = drive([[call()], [GeneratedText("b")]], {NeedPrepareStep: returns({"messages": [other]})})
    assert list(of(NeedStepStart, needs)[0].event.messages) == [other]
    assert list(of(NeedModel, needs)[0].prompt) == [other]
    assert list(of(NeedTools, needs)[0].messages) == [USER]
    assert of(NeedModel, needs)[1].prompt[0] == USER


@states(Rule.STEP_OVERRIDE_DROPPED, Difference.CONTEXT_LASTS_ITS_STEP)
def test_every_overridden_field_is_gone_at_the_next_step() -> None:
    settings = Settings(
        model="m",
        system="s",
        tools=[TOOL, ToolSpec("o")],
        provider_options={"p": {"a": 1}},
        experimental_context="mine",
    )
    override = {
        "model": "other",
        "system": "S",
        "active_tools": ["t"],
        "tool_choice": "required",
        "provider_options": {"p": {"b": 2}},
        "experimental_context": "yours",
    }
    run, needs = drive([[call()], [GeneratedText("b")]], {NeedPrepareStep: returns(override)}, settings)
    one, two = of(NeedModel, needs)
    assert (one.model, two.model) == ("other", "m")
    assert (one.prompt[0], two.prompt[0]) == (SystemMessage("S"), SystemMessage("s"))
    assert (list(one.tools), list(two.tools)) == ([TOOL], [TOOL, ToolSpec("o")])
    assert (dict(one.tool_choice), dict(two.tool_choice)) == ({"type": "required"}, {"type": "auto"})
    assert thaw(one.provider_options) == {"p": {"a": 1, "b": 2}}
    assert thaw(two.provider_options) == {"p": {"a": 1}}
    events = [wanted.event for wanted in of(NeedStepStart, needs)]
    assert [event.experimental_context for event in events] == ["yours", "mine"]
    assert [event.system for event in events] == ["S", "s"]
    assert [event.active_tools for event in events] == [("t",), None]
    assert of(NeedTools, needs)[0].experimental_context == "yours"
    assert [w.step.experimental_context for w in of(NeedPrepareStep, needs)] == ["mine", "mine"]
    assert [(r.model, r.experimental_context) for r in run.steps] == [("other", "yours"), ("m", "mine")]
    assert [record.override.model for record in run.steps] == ["other", None]


@states(Difference.OVERRIDES_CHECKED)
def test_an_override_with_an_unknown_field_fails_the_run() -> None:
    run, _ = drive([[call()]], {NeedPrepareStep: returns(None, {"temperature": 1})})
    assert isinstance(failed(run).error, InvalidOverrideError)
    assert len(failed(run).run.steps) == 1


@states(Rule.OVERRIDE_ACTIVE_TOOLS)
def test_active_tools_are_offered_in_the_order_of_the_tools_and_unknown_names_passed_over() -> None:
    settings = Settings(model="m", tools=[TOOL, ToolSpec("o")], active_tools=["x", "o", "t"])
    _, needs = drive([[GeneratedText("a")]], {NeedPrepareStep: returns({"active_tools": []})}, settings)
    assert list(of(NeedModel, needs)[0].tools) == []
    _, needs = drive([[GeneratedText("a")]], settings=settings)
    assert list(of(NeedModel, needs)[0].tools) == [TOOL, ToolSpec("o")]


@pytest.mark.parametrize("tools", [None, []])
def test_without_tools_a_model_is_told_of_no_tools_and_no_choice(tools: list[ToolSpec] | None) -> None:
    _, needs = drive(
        [[GeneratedText("a")]], settings=Settings(model="m", tools=tools, tool_choice="required")
    )
    (wanted,) = of(NeedModel, needs)
    assert wanted.tools is None
    assert wanted.tool_choice is None


# ---------------------------------------------------------------- failures


def breaks(at: int) -> Hook:
    left = [HookResult()] * at
    return lambda _: left.pop() if left else HookFailed(RuntimeError("broke"))


@states(Difference.HOOK_FAILURE_FAILS, Difference.FAILURE_KEEPS_STEPS)
@pytest.mark.parametrize(
    ("kind", "finished"),
    [(NeedPrepareStep, 1), (NeedStepStart, 1), (NeedStepFinish, 2), (NeedStop, 2), (NeedFinish, 3)],
)
def test_a_hook_that_raises_fails_the_run_and_keeps_its_finished_steps(kind: type, finished: int) -> None:
    script: list[list[ContentPart]] = [[call("c")], [call("d")], [GeneratedText("b")]]
    run, _ = drive(script, {kind: breaks(0 if kind is NeedFinish else 1)})
    assert str(failed(run).error) == "broke"
    assert len(failed(run).run.steps) == len(run.steps) == finished
    assert isinstance(failed(run).run.pending, kind)


def test_a_question_for_approval_that_raises_fails_the_run() -> None:
    settings = Settings(model="m", tools=[ToolSpec("t", needs_approval="ask")])
    run, _ = drive([[call()]], {NeedApprovals: breaks(0)}, settings)
    assert str(failed(run).error) == "broke"


def test_a_model_that_fails_fails_the_run() -> None:
    answers: list[Outcome] = [ModelAnswer([call()]), ModelFailed(RuntimeError("down"))]
    run, _ = drive([], {NeedModel: lambda _: answers.pop(0)})
    assert str(failed(run).error) == "down"
    assert len(run.steps) == 1


def test_a_prompt_that_cannot_be_made_fails_the_run() -> None:
    lost = [AssistantMessage([ToolCallPart("lost", "t", input={})])]
    run, _ = drive([[call()]], {NeedPrepareStep: returns(None, {"messages": lost})})
    error = failed(run).error
    assert isinstance(error, MissingToolResultsError)
    assert error.tool_call_ids == ("lost",)


@states(Rule.RUN_CANCELLED)
@given(st.integers(0, 10))
def test_a_run_can_be_cancelled_whatever_it_waits_for(after: int) -> None:
    run = start(SETTINGS, [USER])
    script: list[list[ContentPart]] = [[call()], [GeneratedText("b")]]
    for _ in range(after):
        run = give(run, answer_of(run, script))
    cancelled = give(run, Cancelled())
    assert isinstance(failed(cancelled).error, RunCancelledError)
    assert failed(cancelled).run == run


def answer_of(run: Run, script: list[list[ContentPart]]) -> Outcome:
    if isinstance(run.pending, NeedModel):
        return ModelAnswer(script[run.step_number])
    return run_tools(run.pending) if isinstance(run.pending, NeedTools) else HookResult()


@states(Rule.RUN_ANSWER_FITS)
@pytest.mark.parametrize(
    ("given_before", "outcome"),
    [
        (0, ModelAnswer([])),
        (0, ToolOutcomes([])),
        (0, ApprovalsNeeded([])),
        (0, ModelFailed(RuntimeError())),
        (2, HookResult()),
        (2, HookFailed(RuntimeError())),
        (3, HookFailed(RuntimeError())),
    ],
)
def test_an_outcome_that_does_not_answer_the_need_changes_nothing(
    given_before: int, outcome: Outcome
) -> None:
    run = start(SETTINGS, [USER])
    for _ in range(given_before):
        run = give(run, answer_of(run, [[call()]]))
    before = attrs.evolve(run)
    with pytest.raises(UnexpectedOutcomeError):
        give(run, outcome)
    assert run == before


@states(Difference.REFUSED_WRITE_FAILS)
def test_a_tool_may_fail_the_run_and_not_only_its_call() -> None:
    error = ImmutableWriteError("$.a", "return another one")
    outcomes: Iterator[Outcome] = iter([ToolOutcomes([ToolSucceeded("c", 1)]), ToolsFailed(error)])
    run, _ = drive([[call("c")], [call("d")]], {NeedTools: lambda _: next(outcomes)})
    assert failed(run).error is error
    assert len(failed(run).run.steps) == 1


def test_the_context_is_walked_once_however_many_steps_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[object] = []

    def spy(value: object, path: str = "$") -> JsonValue:
        walked.append(value)
        return freeze(value, path)

    monkeypatch.setattr(converters, "freeze", spy)
    context = freeze({"large": [1, 2]})
    tools = [TOOL, ToolSpec("asks", needs_approval="ask")]
    settings = Settings(model="m", tools=tools, experimental_context=context)
    script: list[list[ContentPart]] = [[call("c"), call("d", "asks")], [call("e", "asks")], []]
    answers = iter([["x"], ["e"]])
    run, needs = drive(script, {NeedApprovals: lambda _: ApprovalsNeeded(next(answers))}, settings=settings)
    assert [value for value in walked if value is context] == [context]
    shown = [wanted.experimental_context for wanted in of(NeedTools, needs) + of(NeedApprovals, needs)]
    shown += [wanted.step.experimental_context for wanted in of(NeedPrepareStep, needs)]
    shown += [wanted.event.experimental_context for wanted in of(NeedStepStart, needs)]
    shown += [record.experimental_context for record in run.steps]
    assert len(shown) == 9
    assert all(value is context for value in shown)


def test_a_run_that_has_ended_takes_no_outcome() -> None:
    for run in (drive([[GeneratedText("a")]])[0], drive([], {NeedPrepareStep: breaks(0)})[0]):
        for outcome in (HookResult(), Cancelled()):
            with pytest.raises(UnexpectedOutcomeError, match="ended"):
                give(run, outcome)


def test_a_run_put_together_without_a_step_is_refused() -> None:
    run = start(SETTINGS, [USER])
    event = drive([[GeneratedText("a")]])[1][1]
    with pytest.raises(UnexpectedOutcomeError, match="by hand"):
        give(attrs.evolve(run, pending=event), HookResult())


# ---------------------------------------------------------------- runs are values

contents = st.lists(
    st.one_of(
        st.builds(GeneratedText, st.sampled_from(["", "a"])),
        st.builds(call, st.sampled_from(["c", "d"]), st.sampled_from(["t", "x", "asks"])),
    ),
    max_size=3,
)
results: st.SearchStrategy[Any] = st.sampled_from(
    [None, {}, {"messages": [USER, USER]}, {"system": "s"}, {"active_tools": []}, {"experimental_context": 1}]
)


@given(st.lists(contents, min_size=1, max_size=4), st.lists(results, max_size=4))
def test_a_run_keeps_its_invariants_and_can_be_played_again_from_any_moment(
    script: list[list[ContentPart]], hooks: list[Any]
) -> None:
    settings = Settings(model="m", tools=[TOOL, ToolSpec("asks", needs_approval=True)])
    run = start(settings, [USER])
    moments: list[tuple[Run, Outcome]] = []
    while not isinstance(run.pending, (Done, Failed)):
        outcome = outcome_of(run, script, hooks)
        moments.append((run, outcome))
        run = give(run, outcome)
        assert run.chains.initial == vector([USER])
        assert list(run.chains.step_input) == [USER, *run.chains.response]
        assert all(record.messages == run.chains.response[: len(record.messages)] for record in run.steps)
    for number, (moment, _) in enumerate(moments):
        again = moment
        for _, outcome in moments[number:]:
            again = give(again, outcome)
        assert again == run or isinstance(run.pending, Failed)
        assert again.steps == run.steps


def outcome_of(run: Run, script: list[list[ContentPart]], hooks: list[Any]) -> Outcome:
    number = run.step_number
    if isinstance(run.pending, NeedPrepareStep):
        return HookResult(hooks[number] if number < len(hooks) else None)
    if isinstance(run.pending, NeedModel):
        return ModelAnswer(script[number] if number < len(script) else [])
    return run_tools(run.pending) if isinstance(run.pending, NeedTools) else HookResult()


@given(st.lists(contents, min_size=1, max_size=3))
def test_no_override_changes_the_response_chain_that_equal_answers_make(
    script: list[list[ContentPart]],
) -> None:
    once, _ = drive(
        [*script, []], {NeedPrepareStep: returns({"messages": [USER], "system": "s"}, {"model": "o"})}
    )
    plain, _ = drive([*script, []])
    assert once.chains == plain.chains


def test_the_chains_of_a_run_are_those_that_start_makes() -> None:
    assert start(Settings(model="m", system="s"), [USER]).chains == Chains.start([USER], "s")


def test_a_run_can_be_stored_and_goes_on_as_the_one_it_was() -> None:
    run = start(Settings(model="m", tools=[TOOL], experimental_context={"deep": [1]}), [USER])
    script: list[list[ContentPart]] = [[GeneratedText("a", {"p": {}}), call()], [GeneratedText("b")]]
    while not isinstance(run.pending, Done):
        outcome = answer_of(run, script)
        loaded = pickle.loads(pickle.dumps(run))
        assert loaded == run
        assert hash(loaded) == hash(run)
        assert loaded.chains.folded == run.chains.folded
        run, again = give(run, outcome), give(loaded, outcome)
        assert again == run


def test_the_text_of_a_run_does_not_grow_with_its_steps() -> None:
    settings = Settings(model="m", tools=[TOOL], max_steps=100)
    runs = [
        drive([*([call(f"c{step}")] for step in range(steps)), [GeneratedText("end")]], settings=settings)[0]
        for steps in (20, 40)
    ]
    assert [len(run.steps) for run in runs] == [21, 41]
    assert len(repr(runs[1])) < 1.1 * len(repr(runs[0]))
