"""What `check_hook` finds of hooks that break a conversation, and that it leaves whole ones alone."""

from __future__ import annotations

import os
from typing import Any, Final

import pytest

from agentcore import messages_from_wire
from agentcore.kit.compare import Difference
from agentcore.messages.values import thaw
from agentcore.testing import HookFaultError, check_hook
from agentcore.testing.hooks import is_conversation, numbered_conversation
from agentcore.testing.prompts import (
    TwoRuns,
    first_flaw,
    first_non_message,
    in_brief,
    prompt_faults,
)
from testing.samples import CLEAN, FAULTY, REMINDER, Hook, Json, failed, last_thirty, parts

# Each was run over 1,000 conversations once, which takes half a minute of one processor.
THOROUGH: Final = os.environ.get("HYPOTHESIS_PROFILE") == "campaign"
# Those whose fault a handful of conversations shows.
QUICK: Final = {
    *("backwards", "first_of_two_calls", "first_question_only"),
    *("last_message_twice", "nothing", "thought_before_last"),
}
CASES: Final = [
    pytest.param(kinds, hook, id=hook.__name__, marks=[] if hook.__name__ in QUICK else [pytest.mark.slow])
    for kinds, hooks in FAULTY.items()
    for hook in hooks
]
CONVERSATIONS: Final = 100 if THOROUGH else 20


@pytest.mark.sample(8)
@pytest.mark.parametrize(("kinds", "hook"), CASES)
@pytest.mark.parametrize("seed", [0, 1] if THOROUGH else [0])
def test_a_faulty_hook_is_found_in_a_hundred_conversations(
    kinds: tuple[str, ...], hook: Hook, seed: int
) -> None:
    with pytest.raises(HookFaultError) as caught:
        check_hook(hook, examples=100, seed=seed)
    fault = caught.value.fault
    assert fault.kind in kinds
    assert is_conversation(thaw(fault.conversation))
    assert fault.sentence == str(caught.value).splitlines()[0]
    assert fault.sentence.startswith(hook.__name__)
    assert fault.sentence.endswith(f"in the prompt of step {fault.step}")


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("hook", CLEAN)
def test_a_clean_hook_is_let_alone(hook: Hook) -> None:
    check_hook(hook, texts=["secret"], examples=CONVERSATIONS)


# ---------------------------------------------------------------- what a hook is given


def recorded(hook: Hook, given: list[Any]) -> Hook:
    def recording(messages: list[Json]) -> Any:
        given.append([{**message} for message in messages])
        return hook(messages)

    return recording


def raising(messages: list[Json]) -> list[Json]:
    if len(messages) > 6:
        raise ValueError(len(messages))
    return messages


def with_odd_message(messages: list[Json]) -> list[Any]:
    return [*messages, {"role": "user"}] if failed(messages[-1]) else messages


@pytest.mark.slow
@pytest.mark.parametrize("hook", [raising, with_odd_message, last_thirty])
def test_a_hook_is_given_messages_only_while_its_fault_is_made_smaller(hook: Hook) -> None:
    given: list[Any] = []
    with pytest.raises(HookFaultError):
        check_hook(recorded(hook, given), examples=60)
    assert len(given) > 100
    for messages in given:
        assert len(messages_from_wire(messages)) == len(messages) > 0
        assert not [flaw for flaw in prompt_faults(messages) if flaw.key[:1] != ("answer",)]


ODD: Final[list[Any]] = [
    "text",
    None,
    7,
    {},
    {"role": "user"},
    {"role": "odd", "content": "x"},
    {"role": "user", "content": 0},
    {"role": "user", "content": {1}},
    {"role": "assistant", "content": [{"type": "text"}]},
    {"role": "tool", "content": "x"},
]


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("takes", ["messages", "options"])
def test_what_a_hook_returns_is_told_if_it_is_no_message_and_not_given_to_it_again(
    value: Any, takes: Any
) -> None:
    def hook(given: Any) -> Any:
        messages = given["messages"] if takes == "options" else given
        assert value not in messages
        made = [*messages, value]
        return {"messages": made} if takes == "options" else made

    with pytest.raises(HookFaultError) as caught:
        check_hook(hook, takes=takes, examples=5)
    fault = caught.value.fault
    at = len(thaw(fault.conversation)["messages"])
    assert fault.kind == "returned"
    assert fault.path == (f"$.messages[{at}]" if takes == "options" else f"$[{at}]")
    assert f"hook returns at step 0 what is not a message: {fault.path} is " in fault.sentence


def test_a_write_that_is_expected_and_leaves_no_message_ends_there() -> None:
    def hook(messages: list[Json]) -> None:
        assert all(message["content"] != [{"type": "text"}] for message in messages)
        messages[0]["content"] = [{"type": "text"}]

    with pytest.raises(HookFaultError) as caught:
        check_hook(hook, examples=20, expected_pollution=["$[*].content"])
    fault = caught.value.fault
    assert (fault.kind, fault.step) == ("in place", 1)
    assert "in the messages of step 1 that is not one: $[0] is " in fault.sentence


@pytest.mark.parametrize("number", range(0, 400, 7))
def test_a_conversation_is_one_that_a_provider_takes_and_the_same_each_time(number: int) -> None:
    made = numbered_conversation(number)
    assert is_conversation(made)
    assert numbered_conversation(number) == made != numbered_conversation(number, seed=1)
    assert first_non_message(made["messages"]) is None


def test_a_hundred_conversations_have_long_histories_long_runs_and_failures_of_parallel_calls() -> None:
    made = [numbered_conversation(number) for number in range(100)]
    assert sum(len(each["messages"]) > 30 for each in made) >= 10
    assert sum(len(each["script"]) > 7 for each in made) >= 5
    assert sum(len(str(each["messages"])) > 5_000 for each in made) >= 10
    assert sum("error" in tool for each in made for tool in each["tools"].values()) >= 20
    calls = [parts({"content": answer}, "tool-call") for each in made for answer in each["script"]]
    assert sum(len(each) == 2 for each in calls) >= 30
    assert sum(len(each) > 2 for each in calls) >= 20


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made["messages"].clear(),
        lambda made: made["messages"].append({"role": "user", "content": ""}),
        lambda made: made["messages"].insert(0, {"role": "assistant", "content": "x"}),
        lambda made: made["messages"].insert(0, made["script"][0] and {"role": "tool", "content": []}),
        lambda made: made["script"].append([{"type": "tool-result", "toolCallId": "c9", "toolName": "look"}]),
        lambda made: made["script"].append(made["script"][0]),
    ],
)
def test_what_no_provider_takes_is_no_conversation(change: Any) -> None:
    call = {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": 0}
    made: Json = {"messages": [{"role": "user", "content": "#1"}], "script": [[call]], "tools": {}}
    assert is_conversation(made)
    change(made)
    assert not is_conversation(made)


# ---------------------------------------------------------------- what it says


def sentence_of(hook: Hook, **options: Any) -> str:
    with pytest.raises(HookFaultError) as caught:
        check_hook(hook, **options)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return str(caught.value).splitlines()[0]


def remind(messages: list[Json]) -> list[Json]:
    return [*messages, REMINDER]


def remind_first(messages: list[Json]) -> list[Json]:
    return messages if len(messages) > 1 else [*messages, REMINDER]


def system(messages: list[Json]) -> list[Json]:
    others = [message for message in messages if message["role"] != "system"]
    return [{"role": "system", "content": "be brief"}, *others]


def failing(_: list[Json]) -> list[Json]:
    raise KeyError("role")


TWICE: Final = "under ai-sdk-7/stream the message 'be brief' that {} adds is in the prompt of step 1 twice"
STILL: Final = "under ai-sdk-7/stream the message 'be brief' that {} adds is still in the prompt of step 1"
SENTENCES: Final[dict[str, Hook]] = {
    TWICE.format("remind"): remind,
    STILL.format("remind_first"): remind_first,
    (
        "under ai-sdk-7/stream the run fails at step 0 with what system returns:"
        " AI_InvalidPromptError: Invalid prompt: system messages belong in the instructions"
    ): system,
    "failing raises KeyError at step 0: 'role'": failing,
    "<lambda> returns 7 at step 0, which is not a list of messages": lambda _: 7,
    "<lambda> returns at step 0 what is not a message: $[1] is 'user'": lambda given: [*given, "user"],
}


@pytest.mark.parametrize(
    "sentence",
    [
        pytest.param(
            sentence, marks=[pytest.mark.slow] if sentence.startswith("under ai-sdk-7/stream the m") else []
        )
        for sentence in SENTENCES
    ],
)
def test_a_failure_begins_with_one_plain_sentence(sentence: str) -> None:
    assert sentence_of(SENTENCES[sentence]) == sentence


# ---------------------------------------------------------------- what differs between two runs

ASKED: Final[Json] = {"role": "user", "content": "hi"}
CALL: Final[Json] = {"type": "tool-call", "toolCallId": "c0", "toolName": "look", "input": {}}
RESULT: Final[Json] = {
    "type": "tool-result",
    "toolCallId": "c0",
    "toolName": "look",
    "output": {"type": "text", "value": "x"},
}
CALLING: Final[Json] = {"role": "assistant", "content": [CALL]}
ANSWERED: Final[Json] = {"role": "tool", "content": [RESULT]}
ADDED: Final[Json] = {"role": "user", "content": "be brief"}


def left(*prompts: list[Json], error: str | None = None) -> Json:
    return {"prompts": [*prompts], "caller": [], "steps": [], "error": error}


@pytest.mark.parametrize(
    ("path", "actual", "expected", "says"),
    [
        (
            "$.prompts[0]",
            left([ASKED, ADDED]),
            left([ASKED]),
            "the message 'be brief' that h adds is still in",
        ),
        (
            "$.prompts[0]",
            left([ASKED, ASKED]),
            left([ASKED]),
            "the user message 'hi' is in the prompt of step 0",
        ),
        (
            "$.prompts[0]",
            left([ASKED]),
            left([ASKED, ASKED]),
            "the prompt of step 0 lacks the user message 'hi'",
        ),
        (
            "$.prompts[0]",
            left([ASKED, ANSWERED]),
            left([ASKED]),
            "the result of call c0 (look) is still in the prompt of step 0",
        ),
        (
            "$.prompts[0]",
            left([ASKED, CALLING]),
            left([ASKED]),
            "the message with call c0 (look) that h adds is still in the prompt of step 0",
        ),
        (
            "$.prompts[0]",
            left([ADDED, ASKED]),
            left([ASKED, ADDED]),
            "the messages in the prompt of step 0 are in another order",
        ),
        (
            "$.prompts[0]",
            left([ADDED]),
            left([ASKED]),
            "in the prompt of step 0 $.prompts[0] is 'a', not 'b'",
        ),
        (
            "$.prompts[1]",
            left([ASKED]),
            left([ASKED], []),
            "the model is asked 1 times, and 2 times if h gets",
        ),
        ("$.caller[0]", left(), left(), "h changes the caller's messages"),
        ("$.steps[0]", left(), left(), "h changes the steps of the result"),
        ("$.error", left(), left(error="E"), "the run does not fail, and it does if h gets copies"),
        ("$.error", left(error="E: no"), left(), "the run fails with E: no"),
    ],
)
def test_what_differs_is_told_in_one_sentence(path: str, actual: Json, expected: Json, says: str) -> None:
    conversation: Json = {"messages": [ASKED], "script": [], "tools": {}}
    two = TwoRuns(hook="h", profile="p", conversation=conversation, expected=expected, actual=actual)
    found = Difference(
        path=path,
        expected="b",
        actual="a",
        observation=path,
        expected_observation="b",
        actual_observation="a",
    )
    assert two.sentence(found).startswith(f"under p {says}")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"role": "user", "content": ""}, "(empty)"),
        ({"role": "user", "content": [{"type": "text", "text": "a" * 200}]}, "aaa...'"),
        (CALLING, "call c0 (look)"),
        (ANSWERED, "the result of call c0 (look)"),
        (
            {"role": "assistant", "content": [{"type": "tool-approval-request", "approvalId": "a0"}]},
            "the request for approval a0",
        ),
        (
            {"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "a0"}]},
            "the answer to approval a0",
        ),
        ({"role": "user", "content": [{"type": "file", "data": ""}]}, "a part of type file"),
    ],
)
def test_a_message_is_told_in_a_few_words(message: Json, told: str) -> None:
    assert in_brief(message).endswith(told)


def test_a_request_that_is_gone_is_a_flaw_and_one_in_other_words_is_none() -> None:
    def shortens(messages: Any) -> list[Json]:
        return [{**each, "content": each["content"][:1]} for each in messages]

    given = [ASKED, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "more"}]
    assert first_flaw(given, shortens(given), shortens) is None
    gone = first_flaw(given, given[:2], lambda messages: messages[:2])
    assert gone is not None
    assert (gone.kind, gone.leaves) == ("request lost", "nothing of what the user asked ('more')")
    assert first_flaw(given, [], lambda _: []) is not None
