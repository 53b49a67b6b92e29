"""What processors read beside their messages: views of the list, the request context, what is left out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from agentcore.frameworks import mastra
from agentcore.frameworks.mastra.emulation.arguments import Arguments
from frameworks.mastra.stage import TWO_STEPS, Stage, at_step, on_input, processor

PROFILES = tuple(mastra.PROFILES)
Hook = Callable[[Arguments], Any]


def seen(hook: Hook, profile: str, **settings: Any) -> Any:
    """What a hook that runs before the second model call returns to the test."""
    found: list[Any] = []
    Stage(TWO_STEPS, profile, prepare_step=at_step(1, lambda args: found.append(hook(args))), **settings)
    return found[0]


def ran(hook: Hook, profile: str = PROFILES[0], **settings: Any) -> mastra.MastraRun:
    """A call whose `prepareStep` is the hook."""
    answers = iter(TWO_STEPS)
    given = {
        "model": mastra.Model("m", lambda _: next(answers)),
        "messages": ["hi"],
        "tools": {"look": mastra.Tool(execute=lambda _: 1)},
        **settings,
    }
    return mastra.run(profile, mastra.Settings(prepare_step=hook, **given))


# ---------------------------------------------------------------- views


@pytest.mark.parametrize("profile", PROFILES)
def test_the_stored_messages_of_all_are_the_lists_own_array(profile: str) -> None:
    def hook(args: Arguments) -> tuple[bool, bool, bool]:
        target = args["messageList"]
        mine = target.get.input.db()
        return (
            target.get.all.db().is_same(target.messages),
            mine.is_same(target.messages),
            mine[0].is_same(target.messages[0]),
        )

    assert seen(hook, profile) == (True, False, True)


@pytest.mark.parametrize("profile", PROFILES)
def test_each_source_has_its_own_messages(profile: str) -> None:
    def hook(args: Arguments) -> list[list[str]]:
        views = args["messageList"].get
        return [
            [message["role"] for message in source.db()]
            for source in (views.remembered, views.input, views.response, views.all)
        ]

    assert seen(hook, profile) == [[], ["user"], ["assistant"], ["user", "assistant"]]


@pytest.mark.parametrize("profile", PROFILES)
def test_model_messages_have_no_system_message_and_a_prompt_has_them(profile: str) -> None:
    def hook(args: Arguments) -> list[list[str]]:
        views = args["messageList"].get.all.aiV5
        return [[message["role"] for message in form()] for form in (views.model, views.prompt)]

    assert seen(hook, profile, instructions="be brief") == [
        ["user", "assistant", "tool"],
        ["system", "user", "assistant", "tool"],
    ]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_ui_message_has_the_id_and_the_date_of_the_stored_one(profile: str) -> None:
    def hook(args: Arguments) -> Any:
        target = args["messageList"]
        shown = target.get.all.aiV5.ui()[0]
        return shown["id"] == target.messages[0]["id"], "createdAt" in shown["metadata"], shown["role"]

    assert seen(hook, profile) == (True, True, "user")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_text_written_in_a_view_is_lost_and_an_input_is_stored(profile: str) -> None:
    def hook(args: Arguments) -> None:
        user, assistant, _ = args["messageList"].get.all.aiV5.model()
        user["content"][0]["text"] = "lost"
        assistant["content"][0]["input"]["a"] = "stored"

    stage = Stage(TWO_STEPS, profile, prepare_step=at_step(1, hook))
    prompt = stage.asked[1]["prompt"]
    assert prompt[0]["content"][0]["text"] == "hi"
    assert prompt[1]["content"][0]["input"] == {"a": "stored"}


def test_a_write_through_a_view_is_reported_where_it_reached() -> None:
    def hook(args: Arguments) -> None:
        if args["stepNumber"] == 1:
            args["messageList"].get.response.aiV5.model()[0]["content"][0]["input"]["a"] = 2

    (found,) = ran(hook).pollution
    assert found.write.handle[:4] == ("list", "get", "response", "aiV5.model")
    assert found.reach == ("conversation", "report")


def test_the_packages_names_of_methods_are_those_that_python_writes_otherwise() -> None:
    def hook(args: Arguments) -> list[Any]:
        target = args["messageList"]
        target.addSystem("more")
        target.removeByIds([])
        return [message["content"] for message in target.getAllSystemMessages()]

    assert seen(hook, PROFILES[0]) == ["more"]


# ---------------------------------------------------------------- the request context


@pytest.mark.parametrize("profile", PROFILES)
def test_the_request_context_is_one_object_for_all_and_the_caller_has_it(profile: str) -> None:
    def count(args: Arguments) -> None:
        context = args["requestContext"]
        context.set("turns", (context.get("turns") if context.has("turns") else 0) + 1)

    answers = iter(TWO_STEPS)
    settings = mastra.Settings(
        model=mastra.Model("m", lambda _: next(answers)),
        messages=["hi"],
        tools={"look": mastra.Tool(execute=lambda _: 1)},
        processors=[on_input(count), processor(count, "p2")],
        prepare_step=count,
        request_context={"user": "u"},
    )
    done = mastra.run(profile, settings)
    assert done.caller["requestContext"] == {"user": "u", "turns": 5}
    assert {found.reach for found in done.pollution} == {("caller", "request context")}


def test_a_call_without_a_request_context_has_its_own_for_all_steps() -> None:
    read: list[Any] = []

    def hook(args: Arguments) -> None:
        read.append(args.request_context.entries())
        args.request_context.set("k", args["stepNumber"])

    done = ran(hook)
    assert read == [[], [("k", 0)]]
    assert "requestContext" not in done.caller
    assert done.pollution[0].reach == ("request context",)


def test_a_request_context_has_the_methods_of_a_map() -> None:
    def hook(args: Arguments) -> list[Any]:
        context = args["requestContext"]
        listed: list[Any] = []
        context.set("a", {"n": 1})
        context.setRaw("b", 2)
        context.get("a")["n"] += 1
        context.forEach(lambda _, key: listed.append(key))
        found = [
            *(context.keys(), listed, context.values()[1], context.size(), context.delete("b")),
            *(context.delete("b"), context.has("b"), context.toJSON()["a"].thaw()),
            context == args["requestContext"] and hash(context) == hash(args.request_context),
        ]
        context.clear()
        return [*found, context.size(), context == 1]

    expected = [["a", "b"], ["a", "b"], 2, 2, True, False, False, {"n": 2}, True, 0, False]
    assert seen(hook, PROFILES[0]) == expected


@pytest.mark.parametrize("profile", PROFILES)
def test_a_tracing_context_is_new_for_each_processor(profile: str) -> None:
    found: list[Any] = []

    def write(args: Arguments) -> None:
        found.append(args["tracingContext"].thaw())
        args["tracingContext"]["mine"] = args.processor_id

    Stage(TWO_STEPS, profile, call_processors=[processor(write)], prepare_step=write)
    assert found == [{}] * 4


# ---------------------------------------------------------------- what is left out

LEFT_OUT: dict[str, Hook] = {
    "messageList.get.all.core": lambda args: args["messageList"].get.all.core(),
    "messageList.get.input.aiV4": lambda args: args["messageList"].get.input.aiV4.ui(),
    "messageList.get.all.aiV5.llmPrompt": lambda args: args["messageList"].get.all.aiV5.llmPrompt(),
    "messageList.get.response.aiV5.prompt": lambda args: args["messageList"].get.response.aiV5.prompt(),
    "messageList.drainUnsavedMessages": lambda args: args["messageList"].drainUnsavedMessages(),
    "the argument writer": lambda args: args["writer"],
    "the argument state": lambda args: args.get("state"),
    "requestContext.all": lambda args: args["requestContext"].all,
}


@pytest.mark.parametrize("what", LEFT_OUT)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_part_that_is_left_out_ends_the_run_with_its_name(what: str, profile: str) -> None:
    def hook(args: Arguments) -> None:
        # The run ends whatever the hook does with the error.
        with suppress(mastra.NotEmulatedError):
            LEFT_OUT[what](args)

    with pytest.raises(mastra.NotEmulatedError, match=r"hook prepare-step: .* is not emulated; ") as caught:
        ran(hook, profile)
    assert caught.value.what == what
    assert "check-hook" in caught.value.instead


@pytest.mark.parametrize(
    "misspelt",
    [
        lambda args: args["messageList"].get.all.aiV5.modle,
        lambda args: args["messageList"].get.all.bd,
        lambda args: args["messageList"].ad,
        lambda args: args["requestContext"].gte,
    ],
)
def test_a_name_that_the_package_has_not_is_a_missing_attribute(misspelt: Hook) -> None:
    def hook(args: Arguments) -> bool:
        with pytest.raises(AttributeError, match=r"has no '"):
            misspelt(args)
        return True

    assert seen(hook, PROFILES[0])


def test_an_argument_that_is_nowhere_is_a_missing_key() -> None:
    def hook(args: Arguments) -> bool:
        with pytest.raises(KeyError):
            args["mesages"]
        return callable(args["abort"]) and {*args} >= {"messageList", "requestContext", "tracingContext"}

    assert seen(hook, PROFILES[0])
