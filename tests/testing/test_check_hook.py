"""Faulty hooks, each with the smallest conversation that shows its fault, and the same ones mended."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import anyio
import anyio.lowlevel
import attrs
import pytest

from agentcore.messages.values import thaw
from agentcore.testing import HookFault, HookFaultError, NothingPollutedError, check_hook

Json = dict[str, Any]
ONE: Final = "ai-sdk-6/generate"
SEVEN: Final = "ai-sdk-7/generate"
ASKED: Final = {"role": "user", "content": "#1"}
REMINDER: Final = {"role": "user", "content": "remember"}
DONE: Final[Json] = {"messages": [ASKED], "script": [], "tools": {}}


def fault_of(hook: Callable[[Any], Any], **options: Any) -> HookFault:
    with pytest.raises(HookFaultError) as caught:
        check_hook(hook, **{"profiles": (), "examples": 50, **options})
    assert caught.value.hook == hook.__name__
    assert caught.value.path == caught.value.fault.path
    return caught.value.fault


def one_call(fault: HookFault) -> Json:
    """The conversation with its calls by type: which id and input they have is no matter of size."""
    shown: Json = thaw(fault.conversation)
    return {**shown, "script": [[part["type"] for part in answer] for answer in shown["script"]]}


# ---------------------------------------------------------------- writes in place


def shout(messages: list[Json]) -> list[Json]:
    for message in messages:
        if message["role"] == "user":
            message["content"] = "HEY"
    return messages


def shout_mended(messages: list[Json]) -> list[Json]:
    return [{**each, "content": "HEY"} if each["role"] == "user" else each for each in messages]


def shorten(messages: list[Json]) -> None:
    for message in messages:
        for part in message["content"] if message["role"] == "tool" else ():
            if part["type"] == "tool-result":
                part["output"]["value"] = "short"


def test_a_write_is_shown_by_one_message_and_told_with_how_far_it_spreads() -> None:
    fault = fault_of(shout, profiles=(ONE, SEVEN))
    assert (fault.kind, fault.path, fault.step) == ("in place", "$[0].content", 0)
    assert thaw(fault.conversation) == DONE
    assert str(HookFaultError("shout", fault)).startswith(
        "shout writes in place at step 0: it changes $[0].content\n"
        "  $[0].content: '#1' -> 'HEY'\n"
        "  so that\n"
        "  ai-sdk-6/generate: $.caller[0].content is 'HEY', not '#1'\n"
        "  ai-sdk-7/generate: $.caller[0].content is 'HEY', not '#1'\n"
        "return new messages and leave the given ones as they are\n"
    )


@pytest.mark.slow
def test_the_mended_hook_passes_under_every_profile() -> None:
    check_hook(shout_mended, examples=10)


def test_a_write_to_a_tool_result_is_shown_by_one_call() -> None:
    fault = fault_of(shorten)
    assert (fault.kind, fault.path, fault.step) == ("in place", "$[2].content[0].output.value", 1)
    assert one_call(fault) == {"messages": [ASKED], "script": [["tool-call"]], "tools": {}}


def test_a_write_to_the_options_of_a_step_has_their_paths() -> None:
    def prepare(options: Json) -> None:
        options["messages"].append(REMINDER)

    fault = fault_of(prepare, takes="options")
    assert (fault.kind, fault.path) == ("in place", "$.messages[1]")
    assert thaw(fault.conversation) == DONE


def test_a_hook_that_looks_for_a_text_is_given_it() -> None:
    def redact(messages: list[Json]) -> None:
        for message in messages:
            if str(message["content"]).startswith("secret"):
                message["content"] = "***"

    check_hook(redact, profiles=(), examples=10)
    fault = fault_of(redact, texts=["secret"])
    (message,) = thaw(fault.conversation)["messages"]
    assert message["content"].startswith("secret #")


# ---------------------------------------------------------------- applied again


def remind(messages: list[Json]) -> list[Json]:
    return [*messages, REMINDER]


def remind_once(messages: list[Json]) -> list[Json]:
    return messages if messages[-1] == REMINDER else [*messages, REMINDER]


def test_a_hook_that_adds_at_every_application_is_not_idempotent() -> None:
    fault = fault_of(remind)
    assert (fault.kind, fault.path, fault.step) == ("not idempotent", "$[2]", 0)
    assert fault.details == ('$[2] is {"role":"user","content":"remember"}, not nothing',)
    assert thaw(fault.conversation) == DONE


def test_a_hook_need_not_be_idempotent_if_it_is_not_to_be() -> None:
    check_hook(remind, profiles=(ONE,), idempotent=False, examples=5)
    check_hook(remind_once, profiles=(ONE,), examples=5)


# ---------------------------------------------------------------- async hooks


async def shout_later(messages: list[Json]) -> list[Json]:
    await anyio.lowlevel.checkpoint()
    return shout(messages)


async def shout_later_mended(messages: list[Json]) -> list[Json]:
    await anyio.lowlevel.checkpoint()
    return shout_mended(messages)


async def raise_later(messages: list[Json]) -> list[Json]:
    await anyio.lowlevel.checkpoint()
    raise ValueError(len(messages))


def test_an_async_hook_is_awaited() -> None:
    later = fault_of(shout_later, profiles=(ONE,))
    assert later.sentence == "shout_later writes in place at step 0: it changes $[0].content"
    assert attrs.evolve(later, sentence="") == attrs.evolve(fault_of(shout, profiles=(ONE,)), sentence="")
    assert fault_of(raise_later).sentence == "raise_later raises ValueError at step 0: 1"
    check_hook(shout_later_mended, examples=5)


@pytest.mark.slow
def test_a_test_may_be_async_itself() -> None:
    async def test() -> None:
        await anyio.lowlevel.checkpoint()
        check_hook(shout_later_mended, examples=5)

    anyio.run(test)


# ---------------------------------------------------------------- profiles


def test_what_a_profile_carries_on_is_another_effect() -> None:
    fault = fault_of(remind_once, profiles=(ONE, SEVEN))
    assert (fault.kind, fault.profile, fault.step) == ("differs", SEVEN, None)
    assert fault.details == ("$.prompts[1][1].role is 'user', not 'assistant'",)
    assert one_call(fault) == {"messages": [ASKED], "script": [["tool-call"]], "tools": {}}
    assert str(fault).startswith(
        "under ai-sdk-7/generate the message 'remember' that remind_once adds"
        " is in the prompt of step 1 twice\n"
    )


@pytest.mark.slow
def test_a_prepare_step_returns_overrides_of_its_options() -> None:
    def prepare(options: Json) -> Json:
        kept = [message for message in options["messages"] if message["role"] != "system"]
        return {"model": options["model"], "toolChoice": "auto", "messages": kept}

    check_hook(prepare, takes="options", examples=5)


@pytest.mark.slow
def test_a_hook_that_returns_nothing_changes_nothing() -> None:
    check_hook(lambda _: None, examples=3)
    check_hook(lambda _: None, takes="options", examples=3)
    check_hook(lambda _: {"toolChoice": "auto"}, takes="options", profiles=(ONE,), examples=3)


def test_a_profile_that_there_is_not_is_refused() -> None:
    with pytest.raises(KeyError):
        check_hook(shout, profiles=("ai-sdk-5",))


# ---------------------------------------------------------------- no result


def test_a_hook_that_raises_is_told_with_what_it_raised() -> None:
    def upper(messages: list[Json]) -> list[Json]:
        asked = [message["content"].upper() for message in messages if message["role"] == "user"]
        return [{**REMINDER, "content": asked[0]}]

    with pytest.raises(HookFaultError) as caught:
        check_hook(upper, profiles=(), examples=30, idempotent=False)
    fault = caught.value.fault
    assert (fault.kind, fault.step) == ("raised", 0)
    assert fault.sentence == "upper raises AttributeError at step 0: 'list' object has no attribute 'upper'"
    (place,) = fault.details
    assert place.startswith("in ")
    assert re.search(r"test_check_hook\.py:\d+$", place)
    assert isinstance(caught.value.raised, AttributeError)
    (message,) = thaw(fault.conversation)["messages"]
    assert [part["type"] for part in message["content"]] == ["text"]


def test_an_exception_of_another_conversation_is_not_chained_to_a_fault() -> None:
    raised = []

    def hook(messages: list[Json]) -> list[Json]:
        if all(message["role"] == "user" for message in messages):
            raised.append(len(messages))
            raise ValueError(len(messages))
        return [*messages, messages[-2]]

    with pytest.raises(HookFaultError) as caught:
        check_hook(hook)
    assert raised
    assert caught.value.fault.kind != "raised"
    assert (caught.value.raised, caught.value.__cause__, caught.value.__context__) == (None, None, None)


def test_a_result_that_is_none_is_told() -> None:
    fault = fault_of(lambda messages: f"{len(messages)}")
    assert (fault.kind, thaw(fault.conversation)) == ("returned", DONE)
    fault = fault_of(lambda options: options["messages"], takes="options")
    assert fault.kind == "returned"


# ---------------------------------------------------------------- expected pollution


@pytest.mark.parametrize("paths", [(), ("$[*].content",), ("$[*]",)])
def test_a_write_that_is_expected_is_no_fault(paths: tuple[str, ...]) -> None:
    check_hook(shout, profiles=(ONE,), idempotent=False, examples=5, expected_pollution=paths)


def test_a_write_at_another_place_than_expected_is_a_fault() -> None:
    fault = fault_of(shout, expected_pollution=["$[*].role", "$[1]"])
    assert (fault.kind, fault.path) == ("in place", "$[0].content")


def test_an_expectation_that_does_not_come_true_is_an_error() -> None:
    with pytest.raises(NothingPollutedError) as caught:
        check_hook(shout_mended, profiles=(), examples=5, expected_pollution=["$[*].content"])
    assert str(caught.value) == (
        "shout_mended was expected to write in place at $[*].content, and did not in 5 conversations;"
        " remove the expectation"
    )
    with pytest.raises(NothingPollutedError, match="write in place, and did not"):
        check_hook(shout_mended, profiles=(), examples=5, expected_pollution=())


def test_what_a_profile_carries_on_is_pollution_that_can_be_expected() -> None:
    check_hook(remind_once, profiles=(SEVEN,), examples=20, expected_pollution=())
