from __future__ import annotations

import copy
import gc
import itertools
import json
import re
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from agentcore.frameworks.ai_sdk import immutable
from agentcore.frameworks.ai_sdk.frozen import StepFrame, part_frame
from agentcore.frameworks.ai_sdk.programs import program_of_seed
from agentcore.frameworks.ai_sdk.reference import PROFILE_NAMES, trace
from agentcore.messages.content import ContentPart, GeneratedFile, GeneratedReasoning, GeneratedText, ToolCall
from agentcore.messages.values import canonical_json, thaw
from agentcore.messages.wire import message_from_wire
from agentcore.oracle.campaign.strategies import programs
from agentcore.requirements.rules import Difference, Rule
from frameworks.ai_sdk import on_purpose
from rulebook import states

Json = dict[str, Any]
USER: Json = {"role": "user", "content": "u"}
TEXT: Json = {"type": "text", "text": "hi"}
LOOK: Json = {"output": {"o": 1}}
BOTH = pytest.mark.parametrize("path", ["stream", "generate"])


def call(call_id: str = "c", tool: str = "look", **fields: Any) -> Json:
    return {"type": "tool-call", "toolCallId": call_id, "toolName": tool, "input": {"a": 1}, **fields}


def program(path: str = "generate", **fields: Any) -> Json:
    """One step that looks, and one that says hi."""
    script = [[call()], [TEXT]]
    return {"id": "a", "path": path, "messages": [USER], "script": script, "tools": {"look": LOOK}, **fields}


def at_step(step: int, hook: str, *ops: Json) -> Json:
    return {hook: [*[None] * step, [*ops]]}


def returning(**result: Any) -> Json:
    return {"return": result}


def append(*messages: Json) -> Json:
    return returning(messages=[{"append": [*messages]}])


def seen(name: str) -> Json:
    """A message that carries what is kept, which makes it visible in a prompt."""
    return {**USER, "providerOptions": {"p": {"seen": {"$clone": [name]}}}}


def error_of(given: Json) -> Any:
    return (immutable.trace(given)["error"] or {}).get("name")


# ---------------------------------------------------------------- the trace


@BOTH
def test_both_paths_give_the_trace_of_the_package(path: str) -> None:
    ours = trace(program(path), "immutable")
    assert ours["package"].startswith("agentcore@")
    assert ours | {"package": ""} == trace(program(path)) | {"package": ""}


def test_the_immutable_profile_is_the_first_by_name() -> None:
    assert PROFILE_NAMES[0] == "immutable"


TRACE = jsonschema_rs.validator_for(
    files("agentcore").joinpath("frameworks/ai_sdk/trace.schema.json").read_text("utf-8")
)
NAMES = {
    None,
    "AI_InvalidPromptError",
    "AI_InvalidMessageRoleError",
    "AI_InvalidToolApprovalError",
    "AI_MissingToolResultsError",
    "AI_ToolChoiceViolationError",
    "AI_ToolCallNotFoundForApprovalError",
    "Error",
    "ImmutableWriteError",
    "InvalidOverrideError",
    "TypeError",
    "WireError",
}


@pytest.mark.slow
def test_every_program_gives_a_trace_and_is_left_as_it_was() -> None:
    for seed in range(300):
        given = program_of_seed(seed)
        before = copy.deepcopy(given)
        made = immutable.trace(given)
        assert TRACE.is_valid(made)
        assert (made["error"] or {}).get("name") in NAMES
        assert given == before
        assert made["caller"] == before["messages"] or on_purpose.writes_its_own(given)
        assert made == immutable.trace(given)


def test_a_run_leaves_nothing_for_the_garbage_collector() -> None:
    given = program(hooks=at_step(1, "prepareStep", append(USER)))
    immutable.trace(given)
    while gc.collect():  # of other tests, whose finalizers may leave more
        pass
    immutable.trace(given)
    assert gc.collect() == 0


# ---------------------------------------------------------------- programs without writes


@pytest.mark.slow
def test_without_writes_the_trace_is_that_of_the_package() -> None:
    drawn = (program_of_seed(seed, path) for seed in range(100) for path in ("stream", "generate"))
    given = [*map(on_purpose.without_writes, drawn)]
    compared = [each for each in given if not on_purpose.excluded(each)]
    assert len(compared) > 0.75 * len(given)
    assert [each["id"] for each in compared if on_purpose.difference(each) is not None] == []


@given(programs("immutable").map(on_purpose.without_writes))
@settings(
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_what_hypothesis_draws_without_writes_agrees_with_the_package(drawn: Json) -> None:
    assert on_purpose.excluded(drawn) or on_purpose.difference(drawn) is None


FRAMES = {
    "prepareStep": "messages stepNumber experimental_context",
    "onStepStart": "stepNumber model system messages toolChoice activeTools steps providerOptions",
    "model": "prompt toolChoice providerOptions tools",
    "execute": "input messages output experimental_context",
    "onStepFinish": "stepNumber model experimental_context content finishReason usage warnings request"
    " response text reasoning files sources toolCalls staticToolCalls dynamicToolCalls toolResults nothing",
    "stopWhen": "nothing",
}
OPTIONS: list[Json] = [
    {},
    {"experimental_context": None, "activeTools": ["look", "bad"], "providerOptions": {"p": {}}},
]
SYSTEMS: list[Json] = [{}, {"system": "s"}, {"system": [{"role": "system", "content": "s"}]}]


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("hook", FRAMES)
def test_hooks_are_shown_what_the_package_shows_them(path: str, hook: str) -> None:
    parts = [{"type": "reasoning", "text": "r"}, TEXT, call("x", "absent"), call(), call("b", "bad")]
    tools = {"look": LOOK | {"needsApproval": False}, "bad": {"error": "no"}}
    script = [[call("first")], parts, [TEXT]]
    for field, options, system in itertools.product(FRAMES[hook].split(), OPTIONS, SYSTEMS):
        hooks = at_step(1, hook, {"keep": [field], "as": "k"})
        hooks.setdefault("prepareStep", [None, None]).append([append(seen("$k"))])
        given = program(path, script=script, tools=tools, hooks=hooks, options=options, **system)
        assert not on_purpose.excluded(given)
        assert on_purpose.difference(given) is None


# ---------------------------------------------------------------- differences made on purpose

PROVIDED: Json = call("p", "search", providerExecuted=True)
ASKED: list[Json] = [
    USER,
    {
        "role": "assistant",
        "content": [
            PROVIDED,
            {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "p"},
        ],
    },
    {"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "a", "approved": False}]},
]
REQUEST: Json = {"type": "tool-approval-request", "approvalId": "y", "toolCallId": "c"}
YES: Json = {"type": "tool-approval-response", "approvalId": "y", "approved": True}
CUT = [USER, {"role": "assistant", "content": [call(), REQUEST]}, {"role": "tool", "content": [YES]}, USER]
THROW: Json = {"throw": "no"}

# The function that allows it, and a program in whose traces it shows.
SHOWN: list[tuple[Difference, str, Json]] = [
    (Difference.ANSWERS_BRING_RESULTS, "answers_bring_results", program(messages=CUT)),
    (Difference.APPROVALS_AS_STREAM, "approvals_as_stream", program(messages=ASKED)),
    (
        Difference.CONTENT_AS_GENERATE,
        "content_as_generate",
        program("stream", script=[[call(), *[TEXT] * 4], [TEXT]]),
    ),
    (
        Difference.FAILURE_KEEPS_STEPS,
        "failure_keeps_steps",
        program(hooks=at_step(1, "prepareStep", THROW)),
    ),
    (Difference.FAILURE_KEEPS_STEPS, "settles", program("stream", hooks=at_step(0, "stopWhen", THROW))),
    (
        Difference.STEP_NAMES_ITS_MODEL,
        "step_names_its_model",
        program(
            "stream",
            hooks={
                "prepareStep": [[returning(model="second")], [append(seen("$k"))]],
                "onStepFinish": [[{"keep": ["model"], "as": "k"}]],
            },
        ),
    ),
    (Difference.ERRORS_ARE_TEXT, "errors_are_text", program(tools={"look": {"error": "no"}})),
    (
        Difference.FAILED_RUN_DOES_NOT_FINISH,
        "failed_run_does_not_finish",
        program(
            "stream",
            hooks=at_step(1, "prepareStep", THROW) | at_step(1, "onFinish", {"keep": ["nowhere"], "as": "k"}),
        ),
    ),
    (Difference.HOOK_FAILURE_FAILS, "hook_failure_fails", program(hooks=at_step(0, "onStepFinish", THROW))),
    (
        Difference.OVERRIDES_CHECKED,
        "overrides_checked",
        program(hooks=at_step(0, "prepareStep", returning(temperature=1))),
    ),
    (
        Difference.CONTEXT_LASTS_ITS_STEP,
        "context_lasts_its_step",
        program(
            hooks={
                "prepareStep": [
                    [returning(experimental_context={"n": 1})],
                    [{"keep": ["experimental_context"], "as": "k"}, append(seen("$k"))],
                ]
            },
            options={"experimental_context": {"n": 0}},
        ),
    ),
    (
        Difference.RESULTS_IN_CALL_ORDER,
        "results_in_call_order",
        program(script=[[call(), call("x", "absent")], [TEXT]]),
    ),
    (
        Difference.HIDDEN_TOOL_IS_AN_ERROR,
        "hidden_tool_is_an_error",
        program(hooks=at_step(0, "prepareStep", returning(activeTools=[]))),
    ),
    (
        Difference.TOOL_CHOICE_ENFORCED,
        "tool_choice_enforced",
        program(options={"toolChoice": "none"}),
    ),
    (Difference.LOOP_COUNTS_BY_CALL, "loop_counts_by_call", program(script=[[PROVIDED, call()], [TEXT]])),
    (Difference.SAME_ID_CALLS_KEPT, "same_id_calls_kept", program(script=[[call(), call(input={})], [TEXT]])),
    (
        Difference.STEPS_ARE_VALUES,
        "steps_are_values",
        program(hooks={"prepareStep": [[{"keep": ["steps"], "as": "k"}], [append(seen("$k"))]]}),
    ),
    (
        Difference.SYSTEM_MESSAGES_ADDED,
        "system_messages_added",
        program(hooks=at_step(1, "prepareStep", append({"role": "system", "content": "be brief"}))),
    ),
    (Difference.NOTHING_IS_NULL, "nothing_is_null", program(tools={"look": {"needsApproval": False}})),
    (
        Difference.PROMPTS_VALIDATED,
        "prompts_validated",
        program(hooks=at_step(1, "prepareStep", returning(messages=[{"literal": []}]))),
    ),
    (
        Difference.URLS_KEPT,
        "urls_kept",
        program(messages=[{"role": "user", "content": [{"type": "image", "image": "HTTPS://example.com"}]}]),
    ),
    (
        Difference.UNKNOWN_FIELDS_REFUSED,
        "unknown_fields_refused",
        program(messages=[{**USER, "metadata": {}}]),
    ),
]


@states(*{difference for difference, _, _ in SHOWN})
@pytest.mark.parametrize(("difference", "name", "shown"), SHOWN, ids=[name for _, name, _ in SHOWN])
def test_each_difference_shows_in_a_program_and_is_allowed_there_only(
    difference: Difference, name: str, shown: Json
) -> None:
    assert on_purpose.difference(shown, off=[name]) is not None
    if difference in on_purpose.EXCLUDED:
        assert on_purpose.EXCLUDED[difference].__name__ == name
        assert [each for each, applies in on_purpose.EXCLUDED.items() if applies(shown)] == [difference]
    else:
        assert not on_purpose.excluded(shown)
        assert on_purpose.difference(shown) is None


def test_each_function_that_allows_a_difference_has_such_a_program() -> None:
    functions = {
        *(change.__name__ for change in on_purpose.PROFILE_CHANGES.values()),
        *(applies.__name__ for applies in on_purpose.EXCLUDED.values()),
        *on_purpose.TRACE_CHANGES,
    }
    assert functions == {name for _, name, _ in SHOWN}


# ---------------------------------------------------------------- programs with writes

WRITES: list[tuple[str, Json, str]] = [
    ("prepareStep", {"set": ["messages", -1, "content"], "to": "x"}, "$.messages[-1].content"),
    ("prepareStep", {"set": ["messages"], "to": []}, "$.messages"),
    ("prepareStep", {"append": ["messages"], "with": USER}, "$.messages"),
    ("prepareStep", {"delete": ["steps", 0]}, "$.steps[0]"),
    ("prepareStep", {"set": ["$caller", 0, "content"], "to": "x"}, "$caller[0].content"),
    ("onStepStart", {"set": ["system"], "to": "x"}, "$.system"),
    ("model", {"delete": ["prompt", 0]}, "$.prompt[0]"),
    ("execute", {"set": ["messages"], "to": []}, "$.messages"),
    ("execute", {"delete": ["messages"]}, "$.messages"),
    ("execute", {"append": ["messages"], "with": USER}, "$.messages"),
    ("onStepFinish", {"set": ["response", "messages"], "to": []}, "$.response.messages"),
    ("stopWhen", {"append": ["steps"], "with": {}}, "$.steps"),
    ("onFinish", {"delete": ["steps", -1]}, "$.steps[-1]"),
]


@states(Rule.STEP_NOTHING_WRITTEN)
@BOTH
@pytest.mark.parametrize(("hook", "write", "place"), WRITES)
def test_a_write_fails_the_run_with_its_place_and_keeps_the_finished_steps(
    path: str, hook: str, write: Json, place: str
) -> None:
    script = [[call("c")], [call("d")], [TEXT]]
    step = 2 if hook == "onFinish" else 1
    made = immutable.trace(program(path, script=script, hooks=at_step(step, hook, write)))
    assert made["error"]["name"] == "ImmutableWriteError"
    assert made["error"]["message"].startswith(f"{place}: ")
    assert re.search("cannot change|do not change", made["error"]["message"])
    assert made["final"]["finishReason"] == "other"
    assert len(made["final"]["steps"]) == {"onStepFinish": 2, "stopWhen": 2, "onFinish": 3}.get(hook, 1)
    assert made["final"]["messages"] == made["final"]["steps"][-1]["messages"]


def test_a_tools_input_is_its_private_copy() -> None:
    tools = {"look": {**LOOK, "mutate": [{"set": ["input", "a"], "to": 2}]}}
    assert immutable.trace(program(tools=tools)) == immutable.trace(program())


def test_a_tool_returns_what_it_made_of_its_input_and_its_output() -> None:
    write = [{"set": ["input", "a"], "to": 2}, {"append": ["input", "l"], "with": 3}]
    asked = call(input={"a": 1, "l": []})
    tools = {"look": {"returns": "input", "mutate": write}}
    made = immutable.trace(program(script=[[asked], [TEXT]], tools=tools))
    (told, gave) = made["final"]["messages"][0]["content"][0], made["final"]["messages"][1]["content"][0]
    assert told["input"] == {"a": 1, "l": []}
    assert gave["output"] == {"type": "json", "value": {"a": 2, "l": [3]}}
    own = {"look": {**LOOK, "mutate": [{"set": ["output", "o"], "to": 2}, {"set": ["output", "p"], "to": 1}]}}
    made = immutable.trace(program(tools=own))
    assert made["final"]["messages"][1]["content"][0]["output"]["value"] == {"o": 2, "p": 1}


@pytest.mark.parametrize(("returns", "then"), [("fresh", 2), ("shared", 3)])
def test_an_output_that_a_tool_shares_is_what_it_wrote_and_earlier_results_stay(
    returns: str, then: int
) -> None:
    tools = {
        "look": {"output": {"n": []}, "returns": returns, "mutate": [{"append": ["output", "n"], "with": 1}]}
    }
    made = immutable.trace(program(script=[[call("c")], [call("d")], [TEXT]], tools=tools))
    values = [made["final"]["messages"][at]["content"][0]["output"]["value"]["n"] for at in (1, 3)]
    assert values == [[1], [1] * (then - 1)]


def test_what_a_hook_made_and_the_callers_list_are_their_own() -> None:
    made = immutable.trace(program(hooks=at_step(0, "prepareStep", {"delete": ["$caller", 0]})))
    assert (made["error"], made["caller"]) == (None, [])
    kept = [{"return": {"messages": ["copy"]}, "keep": "mine"}]
    later = [{"delete": ["$mine", 0]}, {"set": ["$caller", 0], "to": {"role": "user", "content": "mine"}}]
    made = immutable.trace(program(hooks={"prepareStep": [kept, later]}))
    assert made["error"] is None
    assert made["caller"] == [{"role": "user", "content": "mine"}]
    assert made["steps"][1]["prompt"][0] == {"role": "user", "content": [{"type": "text", "text": "u"}]}


def test_an_output_that_contains_itself_is_the_tools_error() -> None:
    tools = {"look": {**LOOK, "mutate": [{"set": ["output", "o"], "to": {"$ref": ["output"]}}]}}
    made = immutable.trace(program(tools=tools))
    assert made["final"]["steps"][0]["content"][-1]["type"] == "tool-error"


def test_an_op_that_leads_nowhere_is_skipped_and_what_is_frozen_may_be_frozen() -> None:
    ops: list[Json] = [
        {"set": ["messages", 9, "content"], "to": "x"},
        {"append": ["messages"], "with": {"$ref": ["$nobody"]}},
        {"delete": ["$nobody", 0]},
        {"freeze": ["messages"]},
        {"freeze": ["nothing"]},
    ]
    made = immutable.trace(program(hooks=at_step(1, "prepareStep", *ops), frozen=True))
    assert made["error"] is None
    assert [text.split(": ")[0] for text in made["opErrors"]] == [
        f"step 1, prepareStep, op {number}" for number in (0, 1, 2, 4)
    ]


@pytest.mark.slow
def test_a_program_with_writes_runs_as_without_them_until_the_first() -> None:
    refused = 0
    for one in itertools.filterfalse(on_purpose.writes_its_own, map(program_of_seed, range(600))):
        made, plain = immutable.trace(one), immutable.trace(on_purpose.without_writes(one))
        if (made["error"] or {}).get("name") != "ImmutableWriteError":
            assert {**made, "opErrors": []} == {**plain, "opErrors": []}
            continue
        refused += 1
        assert made.get("approvals") == plain.get("approvals")
        *before, last = made["steps"] or [{}]
        assert before == plain["steps"][: len(before)]
        if made["steps"]:
            same = plain["steps"][len(before)]
            assert last["tools"] == same["tools"][: len(last["tools"])]
            assert {**same, **last} == {**same, "tools": last["tools"]}
    assert refused > 100


# ---------------------------------------------------------------- what comes in


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [7],
        [{"role": "odd", "content": "x"}],
        [{"role": "user"}],
        [{**USER, "unknown": 1}],
        [{**USER, "providerOptions": {"p": 1}}],
        [{"role": "user", "content": [{**TEXT, "unknown": 1}]}],
        [
            USER,
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "c",
                        "toolName": "t",
                        "output": {"type": "content", "value": [{"type": "odd"}]},
                    }
                ],
            },
        ],
    ],
)
@BOTH
def test_what_is_no_list_of_messages_is_an_invalid_prompt(path: str, messages: list[Any]) -> None:
    made = immutable.trace(program(path, messages=messages))
    assert made["error"]["name"] == "AI_InvalidPromptError"
    assert (made["steps"], made["final"], made["caller"]) == ([], None, messages)


@pytest.mark.parametrize("system", [{"role": "user", "content": "x"}, [USER], {"role": "system"}, [{}]])
def test_what_are_no_instructions_is_an_invalid_prompt(system: Any) -> None:
    assert error_of(program(system=system)) == "AI_InvalidPromptError"


@pytest.mark.parametrize(
    "options", [{"toolChoice": "maybe"}, {"activeTools": "look"}, {"providerOptions": []}]
)
def test_options_are_checked_as_overrides_are(options: Json) -> None:
    assert error_of(program(options=options)) == "InvalidOverrideError"


def test_other_options_are_for_the_model() -> None:
    assert error_of(program(options={"temperature": 1})) is None


def test_a_key_that_is_a_lone_surrogate_is_kept() -> None:
    message = {**USER, "providerOptions": {"\ud800": {"\ud800": 1}}}
    made = immutable.trace(program(messages=[message]))
    assert made["error"] is None
    assert made["steps"][0]["prepareStep"]["messages"] == [message]


@pytest.mark.parametrize(
    ("result", "name"),
    [
        ({"messages": [{"literal": [{"role": "odd", "content": "x"}]}]}, "AI_InvalidMessageRoleError"),
        ({"messages": [{"literal": [{"content": "x"}]}]}, "AI_InvalidMessageRoleError"),
        ({"messages": [{"literal": [None]}]}, "WireError"),
        ({"messages": [{"literal": [{"role": "user", "content": 1}]}]}, "WireError"),
        ({"messages": {"$ref": ["messages", 0]}}, "InvalidOverrideError"),
        (
            {"messages": [{"literal": [USER]}, {"replace": {"at": 0, "with": {"content": "x"}}}, "clone"]},
            None,
        ),
        ({"model": {"$ref": ["stepNumber"]}}, "InvalidOverrideError"),
        ({"model": {}}, "InvalidOverrideError"),
        ({"model": {"$ref": ["model"]}}, None),
        ({"system": [USER]}, "InvalidOverrideError"),
        ({"system": {"role": "system", "content": "x"}}, None),
        ({"system": []}, None),
        ({"toolChoice": "maybe"}, "InvalidOverrideError"),
        ({"active_tools": []}, "InvalidOverrideError"),
        ({"messages": None, "model": None}, None),
    ],
)
def test_what_prepare_step_returns_is_checked(result: Json, name: str | None) -> None:
    assert error_of(program(hooks=at_step(1, "prepareStep", {"return": result}))) == name


def test_an_unknown_role_has_its_place() -> None:
    returned = append({"role": "odd", "content": "x"})
    made = immutable.trace(program(hooks=at_step(0, "prepareStep", returned)))
    assert made["error"]["message"].startswith("$.messages[1]: unknown role 'odd'")


def test_messages_that_a_hook_passes_on_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []
    decode = message_from_wire

    def spy(value: object, path: str = "$") -> Any:
        read.append(thaw(value))
        return decode(value, path)

    monkeypatch.setattr(immutable, "message_from_wire", spy)
    added = {"role": "user", "content": "new"}
    kept = [{"keep": ["messages"], "as": "k"}, append(added)]
    passed = returning(
        messages=[{"literal": [{"$ref": ["$k", 0]}, {"$ref": ["$caller", 0]}]}, "copy", "clone"]
    )
    immutable.trace(program(hooks={"prepareStep": [kept, [passed]]}))
    assert read == [added]


def test_a_model_hook_that_throws_fails_the_call() -> None:
    assert error_of(program(hooks=at_step(0, "model", THROW))) == "Error"


def test_a_script_that_is_used_up_answers_nothing() -> None:
    made = immutable.trace(program(script=[[call()]]))
    assert made["final"]["steps"][1]["content"] == []


# ---------------------------------------------------------------- content


@BOTH
def test_ids_of_requests_that_the_run_makes_are_left_out(path: str) -> None:
    tools = {"look": {**LOOK, "needsApproval": True}}
    given = program(path, tools=tools)
    made = immutable.trace(given)
    shown = made["steps"][0]["onStepFinish"]["content"][1]
    assert shown == {"type": "tool-approval-request", "toolCall": call()}
    assert "approvalId" not in json.dumps(made)
    assert on_purpose.difference(given) is None


def test_every_kind_of_part_is_shown() -> None:
    parts: list[ContentPart] = [
        GeneratedReasoning("r", {"p": {}}),
        GeneratedText("a"),
        GeneratedText("b"),
        GeneratedFile("aGk=", "text/plain"),
        ToolCall(tool_call_id="c", tool_name="t", input=None, title="T", invalid=True, error="no"),
    ]
    shown = [part_frame(part) for part in parts]
    assert thaw(shown) == [
        {"type": "reasoning", "text": "r", "providerMetadata": {"p": {}}},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
        {"type": "file", "file": {"base64Data": "aGk=", "mediaType": "text/plain"}},
        {
            "type": "tool-call",
            "toolCallId": "c",
            "toolName": "t",
            "input": None,
            "title": "T",
            "invalid": True,
            "error": "no",
        },
    ]
    step = StepFrame({"content": tuple(shown)})
    assert (step["text"], step["reasoningText"]) == ("ab", "r")
    assert step["files"] == (shown[3]["file"],)
    assert [*step] == ["content"]
    assert len(step) == 1
    assert canonical_json(step) == canonical_json({"content": thaw(shown)})
    assert "nothing" not in step
    assert step.get("nothing") is None


def test_a_step_without_reasoning_has_no_text_of_it() -> None:
    assert "reasoningText" not in StepFrame({"content": ()}).everything()
