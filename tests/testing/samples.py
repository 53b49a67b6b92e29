"""Hooks: faulty ones, most of them at fault in few conversations, and clean ones that look like them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]
Hook = Callable[[list[Json]], Any]

REMINDER: Final = {"role": "user", "content": "be brief"}
SUMMARY: Final = {"role": "user", "content": "(what was said before)"}


def parts(message: Json, kind: str) -> list[Json]:
    content = message["content"]
    return [] if isinstance(content, str) else [part for part in content if part["type"] == kind]


def with_parts(message: Json, change: Callable[[Json], Json | None]) -> Json:
    """The message with other parts, but for those that become None."""
    if isinstance(message["content"], str):
        return message
    changed = [change(part) for part in message["content"]]
    return {**message, "content": [part for part in changed if part is not None]}


def with_texts(message: Json, change: Callable[[str], str]) -> Json:
    if isinstance(message["content"], str):
        return {**message, "content": change(message["content"])}
    return with_parts(
        message, lambda part: {**part, "text": change(part["text"])} if "text" in part else part
    )


def failed(message: Json) -> bool:
    results = parts(message, "tool-result") if message["role"] == "tool" else []
    return any(result["output"]["type"].startswith("error") for result in results)


def last_question(messages: list[Json]) -> int:
    return max(index for index, message in enumerate(messages) if message["role"] == "user")


# ---------------------------------------------------------------- pairs cut


def without_assistant(messages: list[Json]) -> list[Json]:
    return [message for message in messages if message["role"] != "assistant"]


def without_tools(messages: list[Json]) -> list[Json]:
    return [message for message in messages if message["role"] != "tool"]


def last_three(messages: list[Json]) -> list[Json]:
    return messages[-3:]


def last_ten(messages: list[Json]) -> list[Json]:
    return messages[-10:]


def last_thirty(messages: list[Json]) -> list[Json]:
    return messages[-30:]


def first_and_last_nine(messages: list[Json]) -> list[Json]:
    return messages if len(messages) < 10 else [messages[0], *messages[-9:]]


def short_by_characters(messages: list[Json]) -> list[Json]:
    kept: list[Json] = []
    for message in reversed(messages):
        if len(str([*kept, message])) > 5_000:
            break
        kept.insert(0, message)
    return kept or messages[-1:]


def without_failure(messages: list[Json]) -> list[Json]:
    return messages[:-1] if failed(messages[-1]) else messages


def without_failed_results(messages: list[Json]) -> list[Json]:
    def kept(part: Json) -> Json | None:
        return None if part.get("output", {}).get("type", "").startswith("error") else part

    return [each for each in (with_parts(message, kept) for message in messages) if each["content"]]


def first_of_two_calls(messages: list[Json]) -> list[Json]:
    def first(message: Json) -> Json:
        calls = parts(message, "tool-call")
        if len(calls) != 2 or message["role"] != "assistant":
            return message
        return with_parts(message, lambda part: None if part is calls[1] else part)

    return [first(message) for message in messages]


def reminder_before_last(messages: list[Json]) -> list[Json]:
    return [*messages[:-1], REMINDER, messages[-1]]


def thought_before_last(messages: list[Json]) -> list[Json]:
    return [*messages[:-1], {"role": "assistant", "content": "(let me see)"}, messages[-1]]


def backwards(messages: list[Json]) -> list[Json]:
    return messages[::-1]


def old_results_gone(messages: list[Json]) -> list[Json]:
    recent = len(messages) - 12
    return [each for index, each in enumerate(messages) if each["role"] != "tool" or index > recent]


# ---------------------------------------------------------------- requests lost


def only_a_summary(_: list[Json]) -> list[Json]:
    return [SUMMARY]


def nothing(_: list[Json]) -> list[Json]:
    return []


def without_users(messages: list[Json]) -> list[Json]:
    kept = [message for message in messages if message["role"] != "user"]
    return kept or messages


def summary_of_all_that_was_asked(messages: list[Json]) -> list[Json]:
    return messages if len(messages) < 6 else [SUMMARY, *messages[last_question(messages) + 1 :]]


def first_question_only(messages: list[Json]) -> list[Json]:
    asked = [index for index, message in enumerate(messages) if message["role"] == "user"]
    return [message for index, message in enumerate(messages) if index not in asked[1:]]


def question_replaced(messages: list[Json]) -> list[Json]:
    return [*messages[:-1], SUMMARY] if messages[-1]["role"] == "user" else messages


def late_in_a_run(messages: list[Json]) -> list[Json]:
    steps = sum(message["role"] == "tool" for message in messages[last_question(messages) :])
    asked = last_question(messages)
    return messages if steps < 4 else [*messages[:asked], *messages[asked + 1 :]]


# ---------------------------------------------------------------- ids doubled, contents emptied


def last_message_twice(messages: list[Json]) -> list[Json]:
    return [*messages, messages[-1]]


def failure_repeated(messages: list[Json]) -> list[Json]:
    return [*messages, messages[-1]] if failed(messages[-1]) else messages


def one_id_for_all(messages: list[Json]) -> list[Json]:
    def renamed(part: Json) -> Json:
        return {**part, "toolCallId": "call"} if "toolCallId" in part else part

    return [with_parts(message, renamed) for message in messages]


def without_calls_or_results(messages: list[Json]) -> list[Json]:
    def kept(part: Json) -> Json | None:
        return None if "toolCallId" in part else part

    return [with_parts(message, kept) for message in messages]


FAULTY: Final[dict[tuple[str, ...], list[Hook]]] = {
    # Which of the two depends on where the window begins.
    ("pair cut", "request lost"): [last_three, last_ten, last_thirty, short_by_characters],
    ("pair cut",): [
        without_assistant,
        without_tools,
        first_and_last_nine,
        without_failure,
        without_failed_results,
        first_of_two_calls,
        reminder_before_last,
        thought_before_last,
        backwards,
        old_results_gone,
    ],
    ("request lost",): [
        only_a_summary,
        nothing,
        without_users,
        summary_of_all_that_was_asked,
        first_question_only,
        question_replaced,
        late_in_a_run,
    ],
    ("id doubled",): [last_message_twice, failure_repeated, one_id_for_all],
    ("message emptied",): [without_calls_or_results],
}


# ---------------------------------------------------------------- clean


def identity(messages: list[Json]) -> list[Json]:
    return messages


def no_change(_: list[Json]) -> None:
    return None


def copied(messages: list[Json]) -> list[Json]:
    return [{**message} for message in messages]


def reminder_at_the_end(messages: list[Json]) -> list[Json]:
    return [*(message for message in messages if message != REMINDER), REMINDER]


def whole_turns(messages: list[Json]) -> list[Json]:
    """The last turns of the conversation, each from a question to the next."""
    starts = [index for index, message in enumerate(messages) if message["role"] == "user"]
    return messages[starts[-2] :] if len(starts) > 2 else messages


def question_and_last_pairs(messages: list[Json]) -> list[Json]:
    """What the user asked, and the last messages from an assistant's on."""
    asked = last_question(messages)
    start = max(asked + 1, len(messages) - 6)
    while start < len(messages) and messages[start]["role"] == "tool":
        start += 1
    return [messages[asked], *messages[start:]]


def censored(messages: list[Json]) -> list[Json]:
    return [{**each, "content": "***"} if each["role"] == "user" else each for each in messages]


def other_texts(messages: list[Json]) -> list[Json]:
    return [with_texts(message, lambda text: text.replace("secret", "***")) for message in messages]


def short_results(messages: list[Json]) -> list[Json]:
    def short(part: Json) -> Json:
        output = part.get("output", {})
        if output.get("type") != "text" or len(output["value"]) < 20:
            return part
        return {**part, "output": {**output, "value": output["value"][:20]}}

    return [with_parts(message, short) for message in messages]


def without_reasoning(messages: list[Json]) -> list[Json]:
    def kept(part: Json) -> Json | None:
        return None if part["type"] == "reasoning" else part

    return [each for each in (with_parts(message, kept) for message in messages) if each["content"]]


def without_old_pairs(messages: list[Json]) -> list[Json]:
    """Calls of earlier turns go away with their results."""
    asked = last_question(messages)
    old = {part["toolCallId"] for each in messages[:asked] for part in parts(each, "tool-call")}

    def kept(part: Json) -> Json | None:
        return None if part.get("toolCallId") in old else part

    changed = (with_parts(message, kept) for message in messages)
    return [each for each in changed if each["content"]]


CLEAN: Final[list[Hook]] = [
    identity,
    no_change,
    copied,
    reminder_at_the_end,
    whole_turns,
    question_and_last_pairs,
    censored,
    other_texts,
    short_results,
    without_reasoning,
    without_old_pairs,
]
