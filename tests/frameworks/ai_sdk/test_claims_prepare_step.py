"""What ai@6.0.134 does with a `prepareStep` and its result, as claims C43 to C81 have it, on both paths.

What is not checkable here, and why, is told in test_claims.py.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.emulation.settings import Tool
from frameworks.ai_sdk.scene import GENERATE, STREAM, Scene, calls, dump, look, says, user, user_list

both = pytest.mark.parametrize("path", [STREAM, GENERATE])
TWO_TOOLS = {"look": Tool(execute=look), "find": Tool(execute=look)}


def at_step(number: int, result: Any) -> Any:
    """A `prepareStep` that returns a result at one step, and nothing at the others."""
    return lambda given: result if given["stepNumber"] == number else None


def tool_names(request: Any) -> list[str]:
    return [tool["name"] for tool in request["tools"]]


# ---------------------------------------------------------------- the argument


@both
def test_prepare_step_is_given_five_fields(path: str) -> None:
    """C43."""
    seen: list[set[str]] = []
    Scene(
        path, options={"experimental_context": {}}, prepare_step=lambda given: seen.append(set(given))
    ).run()
    assert seen == [{"model", "steps", "stepNumber", "messages", "experimental_context"}] * 3


@both
def test_steps_is_one_list_of_the_finished_steps_and_step_number_its_length(path: str) -> None:
    """C46, C47, X6."""
    given: list[Any] = []
    lengths: list[tuple[int, int]] = []

    def keep(argument: Any) -> None:
        given.append(argument["steps"])
        lengths.append((argument["stepNumber"], len(argument["steps"])))

    finish: list[Any] = []
    scene = Scene(path, prepare_step=keep, on_finish=lambda event: finish.append(event["steps"])).run()
    assert lengths == [(0, 0), (1, 1), (2, 2)]
    assert all(steps.is_same(scene.steps) for steps in [*given, *finish])


@both
def test_one_context_object_is_shared_by_hooks_tools_steps_and_the_caller(path: str) -> None:
    """C49, C62."""
    seen: list[Any] = []

    def keep(given: Any) -> None:
        seen.append(given["experimental_context"])

    def execute(given: Any, options: Any) -> Any:
        seen.append(options["experimental_context"])
        return look(given, options)

    context = {"experimental_context": {"user": "u"}}
    tools = {"look": Tool(execute=execute)}
    scene = Scene(
        path,
        options=context,
        tools=tools,
        prepare_step=keep,
        on_step_start=keep,
        on_step_finish=keep,
        on_finish=keep,
    ).run()
    seen += [step["experimental_context"] for step in scene.steps]
    assert len(seen) == 15
    assert {context.ref for context in seen} == {scene.loop.options["experimental_context"]}


@both
@pytest.mark.parametrize("result", [None, {}, {"system": None, "messages": None, "activeTools": None}])
def test_a_result_without_values_overrides_nothing(path: str, result: Any) -> None:
    """C44, C52, C53: fields that are null count as absent."""
    plain, prepared = Scene(path).run(), Scene(path, prepare_step=lambda _: result).run()
    assert prepared.requests == plain.requests
    assert prepared.reports == plain.reports


@both
def test_a_result_overrides_only_the_fields_it_has(path: str) -> None:
    """C53."""
    scene = Scene(
        path, system="call's", tools=TWO_TOOLS, prepare_step=at_step(0, {"activeTools": ["find"]})
    ).run()
    assert tool_names(scene.requests[0]) == ["find"]
    assert scene.prompts[0][0] == {"role": "system", "content": "call's"}


@both
def test_other_fields_of_the_result_are_ignored(path: str) -> None:
    """C54."""
    ignored = {"temperature": 1, "maxOutputTokens": 2, "stopSequences": ["x"], "stepNumber": 7, "steps": []}
    scene = Scene(path, prepare_step=lambda _: ignored).run()
    assert scene.requests == Scene(path).run().requests


# ---------------------------------------------------------------- model and system


def with_other_model(path: str, seen: list[str]) -> Scene:
    scene: Scene

    def prepare(given: Any) -> Any:
        seen.append(given["model"]["modelId"])
        other = scene.desk.view(scene.loop.models.new(scene.model("other")))
        return {"model": other} if given["stepNumber"] == 1 else None

    scene = Scene(path, tools=TWO_TOOLS, prepare_step=prepare)
    return scene.run()


@both
def test_a_model_is_overridden_for_one_step_and_never_shown_to_prepare_step(path: str) -> None:
    """C45, C55."""
    seen: list[str] = []
    assert with_other_model(path, seen).models == ["m", "other", "m"]
    assert seen == ["m", "m", "m"]


@both
def test_both_models_get_the_same_tools(path: str) -> None:
    """C71."""
    first, second, _ = with_other_model(path, []).requests
    assert first["tools"] == second["tools"]


def test_a_step_is_recorded_under_the_calls_model_on_stream_and_its_own_on_generate() -> None:
    """C55."""
    for path, recorded in ((STREAM, "m"), (GENERATE, "other")):
        step = with_other_model(path, []).steps[1]
        assert step["model"]["modelId"] == step["response"]["modelId"] == recorded


@both
@pytest.mark.parametrize(
    ("system", "shown"),
    [
        ("step's", ["step's"]),
        ({"role": "system", "content": "one"}, ["one"]),
        ([{"role": "system", "content": "one"}, {"role": "system", "content": "two"}], ["one", "two"]),
        ("", [""]),
        (None, ["call's"]),
    ],
)
def test_a_system_is_overridden_for_one_step(path: str, system: Any, shown: list[str]) -> None:
    """C50, C56: a text, a message or a list; empty is an empty message, null is no override."""
    started: list[Any] = []

    def keep(event: Any) -> None:
        value = event["system"]
        started.append(value.thaw() if hasattr(value, "thaw") else value)

    scene = Scene(
        path, system="call's", prepare_step=at_step(1, {"system": system}), on_step_start=keep
    ).run()
    sent = [
        [message["content"] for message in prompt if message["role"] == "system"] for prompt in scene.prompts
    ]
    assert sent == [["call's"], shown, ["call's"]]
    assert started == ["call's", "call's" if system is None else system, "call's"]


# ---------------------------------------------------------------- tools


@both
@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        ("required", {"type": "required"}),
        ("none", {"type": "none"}),
        ("anything", {"type": "anything"}),
        ({"type": "tool", "toolName": "nobody"}, {"type": "tool", "toolName": "nobody"}),
    ],
)
def test_a_tool_choice_is_only_passed_on_and_for_one_step(path: str, choice: Any, sent: Any) -> None:
    """C58."""
    scene = Scene(path, prepare_step=at_step(1, {"toolChoice": choice})).run()
    assert [request["toolChoice"] for request in scene.requests] == [{"type": "auto"}, sent, {"type": "auto"}]


@both
def test_tools_are_sent_and_calls_run_when_the_choice_is_none(path: str) -> None:
    """C58."""
    scene = Scene(path, prepare_step=lambda _: {"toolChoice": "none"}).run()
    assert tool_names(scene.requests[0]) == ["look"]
    assert scene.prepared[1][-1]["content"][0]["output"]["value"] == {"found": "c0"}


@both
def test_active_tools_limit_what_is_sent_for_one_step_and_not_what_runs(path: str) -> None:
    """C51, C59, C65."""
    scene = Scene(path, tools=TWO_TOOLS, prepare_step=at_step(1, {"activeTools": ["find"]})).run()
    assert [tool_names(request) for request in scene.requests] == [
        ["look", "find"],
        ["find"],
        ["look", "find"],
    ]
    assert scene.prepared[2][-1]["content"][0]["output"]["value"] == {"found": "c1"}


@both
@pytest.mark.parametrize(("active", "sent"), [([], []), (["nobody", "look"], ["look"])])
def test_active_tools_that_are_unknown_are_dropped(path: str, active: list[str], sent: list[str]) -> None:
    """C59, C68."""
    scene = Scene(path, prepare_step=lambda _: {"activeTools": active}).run()
    assert tool_names(scene.requests[0]) == sent


@both
def test_a_required_call_that_the_model_does_not_make_is_not_missed(path: str) -> None:
    """C69."""
    scene = Scene(path, script=[[says("no")]], prepare_step=lambda _: {"toolChoice": "required"}).run()
    assert scene.error is None
    assert [step["finishReason"] for step in scene.steps] == ["stop"]


@both
def test_tools_that_are_returned_are_not_added(path: str) -> None:
    """C63: a call of such a tool becomes a tool error."""
    script = [[calls("c0", "extra")], [says("done")]]
    scene = Scene(path, script=script, prepare_step=lambda _: {"tools": {"extra": {}}}).run()
    assert tool_names(scene.requests[0]) == ["look"]
    output = scene.prepared[1][-1]["content"][0]["output"]
    assert output["type"] == "error-text"
    assert output["value"].startswith("Model tried to call unavailable tool 'extra'.")


@both
def test_a_tool_added_in_place_is_sent_and_runs_from_that_step_on(path: str) -> None:
    """C63: the call's own tools are read live."""
    scene: Scene

    def add(given: Any) -> None:
        if given["stepNumber"] == 1:
            tools = scene.desk.view(scene.loop.calls.tools)
            tools["extra"] = tools["look"]

    script = [[calls("c0")], [calls("c1", "extra")], [says("done")]]
    scene = Scene(path, script=script, prepare_step=add)
    scene.run()
    assert [tool_names(request) for request in scene.requests] == [
        ["look"],
        ["look", "extra"],
        ["look", "extra"],
    ]
    assert scene.prepared[2][-1]["content"][0]["output"]["value"] == {"found": "c1"}


# ---------------------------------------------------------------- provider options and context

BASE = {"p": {"a": 1, "deep": {"x": 1, "y": 2}, "list": [1, 2]}, "q": {"kept": True}}


@both
def test_provider_options_are_merged_deeply_for_one_step(path: str) -> None:
    """C60: objects key by key, arrays and null replace; the base is not written."""
    override = {"p": {"deep": {"y": 3}, "list": [3], "a": None}, "r": {"new": 1}}
    merged = {"p": {"a": None, "deep": {"x": 1, "y": 3}, "list": [3]}, "q": {"kept": True}, "r": {"new": 1}}
    scene = Scene(
        path, options={"providerOptions": BASE}, prepare_step=at_step(1, {"providerOptions": override})
    ).run()
    assert [request["providerOptions"] for request in scene.requests] == [BASE, merged, BASE]
    assert scene.desk.view(scene.loop.options["providerOptions"]).thaw() == BASE


@both
def test_untouched_branches_of_merged_provider_options_are_the_callers_objects(path: str) -> None:
    """C60: a model that writes into them changes the next steps and the caller."""
    seen: list[Any] = []

    def write(options: Any) -> None:
        seen.append(options["providerOptions"])
        options["providerOptions"]["q"]["written"] = len(seen)

    override = {"providerOptions": {"p": {"deep": {"y": 3}}}}
    scene = Scene(
        path, options={"providerOptions": BASE}, prepare_step=at_step(1, override), on_prompt=write
    ).run()
    own = scene.desk.view(scene.loop.options["providerOptions"])
    assert [options.is_same(own) for options in seen] == [True, False, True]
    assert seen[1]["q"].is_same(own["q"])
    assert not seen[1]["p"].is_same(own["p"])
    assert own["q"]["written"] == 3


@both
def test_a_context_override_replaces_the_context_for_all_later_steps(path: str) -> None:
    """C61: null does not reset it."""
    seen: list[Any] = []

    def override(given: Any) -> Any:
        seen.append(given["experimental_context"]["v"])
        return {"experimental_context": [None, {"v": 1}, None][given["stepNumber"]]}

    inside: list[Any] = []

    def execute(given: Any, options: Any) -> Any:
        inside.append(options["experimental_context"]["v"])
        return look(given, options)

    scene = Scene(
        path,
        options={"experimental_context": {"v": 0}},
        prepare_step=override,
        tools={"look": Tool(execute=execute)},
    ).run()
    assert seen == [0, 0, 1]
    assert inside == [0, 1]
    assert [step["experimental_context"]["v"] for step in scene.steps] == [0, 1, 1]


# ---------------------------------------------------------------- patterns of the document


@both
@pytest.mark.parametrize("way", ["filter", "map", "splice", "element"])
def test_a_push_is_not_the_only_change_that_is_gone_at_the_next_step(path: str, way: str) -> None:
    """C21, C67."""

    def change(given: Any) -> Any:
        messages = given["messages"]
        if given["stepNumber"] != 1:
            return None
        if way == "filter":
            return {"messages": [message for message in messages if "hello" not in dump(message.thaw())]}
        if way == "map":
            return {"messages": [user("else"), *messages[1:]]}
        if way == "splice":
            del messages[0:1]
        else:
            messages[0] = user("else")
        return None

    scene = Scene(path, prepare_step=change).run()
    assert ["hello" in dump(prompt) for prompt in scene.prompts] == [True, False, True]


def remind(given: Any) -> Any:
    """The document's anti-example: writes the last message if it is the user's, else pushes one."""
    last = given["messages"][-1]
    if last["role"] == "user":
        last["content"] += "R"
        return None
    given["messages"].append(user("R"))
    return {"messages": given["messages"]}


@both
def test_the_anti_example_appends_once_an_invocation(path: str) -> None:
    """C72, C73, C74, C75, C76."""
    scene = Scene(path, messages=[user("hi")], prepare_step=remind).run()
    texts = [
        [part["text"] for message in prompt if message["role"] == "user" for part in message["content"]]
        for prompt in scene.prompts
    ]
    assert texts == [["hiR"], ["hiR", "R"], ["hiR", "R"]]
    assert scene.caller.thaw() == [user("hiR")]


@both
def test_what_grows_is_the_history_of_the_next_invocation(path: str) -> None:
    """C75."""
    first = Scene(path, messages=[user("hi")], prepare_step=remind).run()
    second = Scene(path, messages=first.caller.thaw(), prepare_step=remind).run()
    assert second.caller.thaw() == [user("hiRR")]


@both
def test_a_hook_that_appends_at_every_step_adds_one_copy_a_step(path: str) -> None:
    """C75: not exponentially."""

    def add(given: Any) -> None:
        given["messages"][0]["content"] += "R"

    script = [[calls("c0")], [calls("c1")], [calls("c2")], [says("done")]]
    scene = Scene(path, messages=[user("hi")], script=script, prepare_step=add).run()
    assert [len(prompt[0]["content"][0]["text"]) for prompt in scene.prompts] == [3, 4, 5, 6]


@both
def test_the_corrected_example_does_not_accumulate(path: str) -> None:
    """C66, C77."""

    def add(given: Any) -> Any:
        *before, last = given["messages"]
        if last["role"] != "user":
            return {"messages": [*given["messages"], user("R")]}
        return {"messages": [*before, {**last, "content": last["content"] + "R"}]}

    scene = Scene(path, messages=[user("hi")], prepare_step=add).run()
    assert [dump(prompt).count('R"') for prompt in scene.prompts] == [1, 1, 1]
    assert scene.caller.thaw() == [user("hi")]


@both
def test_an_unknown_field_of_a_message_stays_and_no_prompt_has_it(path: str) -> None:
    """C78."""

    def write(given: Any) -> None:
        given["messages"][0]["metadata"] = {"x": "unknown"}

    scene = Scene(path, prepare_step=write).run()
    assert "unknown" in dump(scene.prepared[1])
    assert "unknown" in dump(scene.caller.thaw())
    assert "unknown" not in dump(scene.prompts)


@both
def test_a_message_whose_role_becomes_system_goes_out_with_its_parts(path: str) -> None:
    """C78."""

    def write(given: Any) -> None:
        given["messages"][0]["role"] = "system"

    scene = Scene(path, messages=[user_list("hello")], prepare_step=write).run()
    assert scene.prompts[0][0] == {"role": "system", "content": [says("hello")]}


@both
def test_hooks_of_a_step_are_called_in_order_and_before_the_next_step(path: str) -> None:
    """C32, C80, C81: prepareStep is called once for every call of the model, and before it."""
    order: list[str] = []

    def log(name: str) -> Any:
        return lambda _: order.append(name)

    Scene(
        path,
        on_start=log("start"),
        prepare_step=log("prepare"),
        on_step_start=log("step start"),
        on_prompt=log("model"),
        on_tool_call_start=log("tool start"),
        on_tool_call_finish=log("tool finish"),
        on_step_finish=log("step finish"),
        stop_when=log("stop"),
        on_finish=log("finish"),
        script=[[calls("c0")], [says("done")]],
    ).run()
    step = ["prepare", "step start", "model"]
    tool = ["tool start", "tool finish", "step finish", "stop"]
    assert order == ["start", *step, *tool, *step, "step finish", "finish"]
