from __future__ import annotations

import itertools

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from agentcore.errors import InvalidDataContentError, InvalidPromptError, MissingToolResultsError
from agentcore.messages.chains import PromptState, fold, to_prompt
from agentcore.messages.messages import (
    AssistantMessage,
    AssistantPart,
    ContentOutput,
    FilePart,
    ImagePart,
    Message,
    ReasoningPart,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolPart,
    ToolResultPart,
    UserMessage,
)
from agentcore.messages.prompt import SystemPrompt, prompt_form, system_messages
from agentcore.messages.values import Vector, vector
from agentcore.requirements.rules import Rule
from rulebook import states

OPTIONS = {"p": {"k": 1}}
USER = UserMessage([TextPart("u")])


def call(call_id: str = "c", *, by_provider: bool | None = None) -> ToolCallPart:
    return ToolCallPart(call_id, "t", input={}, provider_executed=by_provider)


def result(call_id: str = "c", text: str = "x") -> ToolResultPart:
    return ToolResultPart(call_id, "t", output=TextOutput(text))


def prompt_parts(message: Message) -> list[object]:
    (shown,) = to_prompt(None, [message])
    return list(shown.content)


# ---------------------------------------------------------------- instructions


@states(Rule.PROMPT_SYSTEM_FIRST)
@pytest.mark.parametrize(
    ("system", "first"),
    [
        (None, []),
        ("", [SystemMessage("")]),
        ("s", [SystemMessage("s")]),
        (SystemMessage("s", OPTIONS), [SystemMessage("s", OPTIONS)]),
        (vector([SystemMessage("a"), SystemMessage("b")]), [SystemMessage("a"), SystemMessage("b")]),
    ],
)
def test_instructions_in_any_form_come_first(system: SystemPrompt | None, first: list[Message]) -> None:
    assert to_prompt(system, [USER]) == vector([*first, USER])
    assert fold(PromptState.start(system), [USER]).system == vector(first)


def test_instructions_that_are_no_system_messages_are_refused() -> None:
    with pytest.raises(InvalidPromptError) as refused:
        system_messages([USER])  # type: ignore[list-item]
    assert refused.value.path == "$.system"


@pytest.mark.parametrize("system", ["b", vector([]), vector([SystemMessage("b"), SystemMessage("c")])])
def test_other_instructions_give_the_prompt_that_they_would_have_given_from_the_start(
    system: SystemPrompt,
) -> None:
    state = fold(PromptState.start("a"), [USER])
    assert state.with_system(system).prompt() == to_prompt(system, [USER])
    assert fold(state.with_system(system), [USER]).prompt() == to_prompt(system, [USER, USER])


# ---------------------------------------------------------------- one message


@states(Rule.PROMPT_TEXT_BECOMES_PART)
@pytest.mark.parametrize("text", ["", "x"])
def test_content_that_is_text_becomes_one_part(text: str) -> None:
    messages: list[Message] = [UserMessage(text, OPTIONS), AssistantMessage(text, OPTIONS)]
    part = TextPart(text)
    assert to_prompt(None, messages) == vector(
        [UserMessage([part], OPTIONS), AssistantMessage([part], OPTIONS)]
    )


@states(Rule.PROMPT_USER_EMPTY_TEXT_DROPPED)
def test_empty_text_of_the_user_is_dropped_with_its_options() -> None:
    parts = [TextPart(""), TextPart("x"), TextPart("", OPTIONS)]
    assert prompt_parts(UserMessage(parts)) == [TextPart("x")]


@states(Rule.PROMPT_ASSISTANT_EMPTY_TEXT_DROPPED)
def test_empty_text_of_the_assistant_stays_if_it_has_options() -> None:
    parts: list[AssistantPart] = [TextPart(""), TextPart("", {}), ReasoningPart("")]
    assert prompt_parts(AssistantMessage(parts)) == [TextPart("", {}), ReasoningPart("")]


@states(Rule.PROMPT_APPROVAL_REQUESTS_DROPPED)
def test_no_prompt_has_an_approval_request() -> None:
    parts: list[AssistantPart] = [TextPart("x"), ToolApprovalRequestPart("a", "c")]
    assert prompt_parts(AssistantMessage(parts)) == [TextPart("x")]


@states(Rule.PROMPT_APPROVAL_RESPONSES)
def test_only_responses_for_the_provider_are_in_a_prompt() -> None:
    parts: list[ToolPart] = [
        ToolApprovalResponsePart("a", approved=True, reason="r", provider_executed=True),
        ToolApprovalResponsePart("b", approved=True, provider_executed=False),
        ToolApprovalResponsePart("c", approved=False),
    ]
    shown = ToolApprovalResponsePart("a", approved=True, reason="r")
    assert prompt_parts(ToolMessage(parts)) == [shown]


def test_the_media_type_of_an_image_is_detected_else_that_of_its_url_else_the_declared_one() -> None:
    png = b"\x89PNG\r\n\x1a\n"
    images = [
        ImagePart(png, "image/x", provider_options=OPTIONS),
        ImagePart("data:image/y;base64,AAAA", "image/x"),
        ImagePart("AAAA", "image/x"),
        ImagePart(b"AAAA"),
    ]
    assert prompt_parts(UserMessage(images)) == [
        FilePart(png, "image/png", provider_options=OPTIONS),
        FilePart("AAAA", "image/y"),
        FilePart("AAAA", "image/x"),
        FilePart(b"AAAA", "image/*"),
    ]


def test_a_data_url_in_a_file_is_split_for_user_and_assistant() -> None:
    file = FilePart("data:a/b,AAAA", "c/d", filename="f", provider_options=OPTIONS)
    split = FilePart("AAAA", "a/b", filename="f", provider_options=OPTIONS)
    assert prompt_parts(UserMessage([file])) == [split]
    assert prompt_parts(AssistantMessage([file])) == [split]


@states(Rule.PROMPT_MEDIA_OUTPUT)
def test_media_in_an_output_become_image_data_or_file_data() -> None:
    items = [
        {"type": "media", "data": "A", "mediaType": "image/png", "other": 1},
        {"type": "media", "data": "B", "mediaType": "a/b"},
        {"type": "text", "text": "x"},
        7,
    ]
    shown = ContentOutput(
        [
            {"type": "image-data", "data": "A", "mediaType": "image/png"},
            {"type": "file-data", "data": "B", "mediaType": "a/b"},
            {"type": "text", "text": "x"},
            7,
        ]
    )
    part = ToolResultPart("c", "t", output=ContentOutput(items, OPTIONS), provider_options=OPTIONS)
    assert prompt_parts(ToolMessage([part])) == [attrs.evolve(part, output=shown)]
    assert prompt_parts(AssistantMessage([part])) == [attrs.evolve(part, output=shown)]


def test_what_needs_no_change_is_the_same_object_in_the_prompt() -> None:
    plain = ToolResultPart("c", "t", output=ContentOutput([{"type": "text", "text": "x"}]))
    messages: list[Message] = [
        SystemMessage("s"),
        UserMessage([TextPart("u"), FilePart("AAAA", "a/b")]),
        AssistantMessage([TextPart("a"), FilePart("AAAA", "a/b"), call()]),
        ToolMessage([plain]),
    ]
    assert all(shown is message for shown, message in zip(to_prompt(None, messages), messages, strict=True))


def test_the_form_of_a_message_is_made_once() -> None:
    message = UserMessage("u")
    assert prompt_form(message) is prompt_form(message)
    assert to_prompt(None, [message])[0] is to_prompt("s", [message])[1]


# ---------------------------------------------------------------- tool messages


@states(Rule.PROMPT_TOOL_MESSAGES_MERGED)
def test_consecutive_tool_messages_become_one_with_the_options_of_the_first() -> None:
    messages: list[Message] = [
        AssistantMessage([call("c"), call("d")]),
        ToolMessage([result("c")], OPTIONS),
        ToolMessage([result("d")], {"q": {}}),
        USER,
    ]
    merged = ToolMessage([result("c"), result("d")], OPTIONS)
    assert to_prompt(None, messages) == vector([messages[0], merged, USER])


@states(Rule.PROMPT_EMPTY_TOOL_MESSAGE_DROPPED)
def test_a_tool_message_without_parts_is_dropped_but_gives_its_options_to_the_next() -> None:
    hidden = ToolMessage([ToolApprovalResponsePart("a", approved=True)], OPTIONS)
    assert to_prompt(None, [USER, hidden]) == vector([USER])
    assert to_prompt(None, [hidden, USER]) == vector([USER])
    assert to_prompt(None, [hidden, ToolMessage([result()])]) == vector([ToolMessage([result()], OPTIONS)])


# ---------------------------------------------------------------- missing results


def missing(*messages: Message) -> tuple[str, ...]:
    try:
        to_prompt(None, messages)
    except MissingToolResultsError as error:
        return error.tool_call_ids
    return ()


@states(Rule.PROMPT_MISSING_RESULTS)
def test_calls_without_results_are_named_at_the_next_user_or_system_message_or_at_the_end() -> None:
    two = AssistantMessage([call("c"), call("d")])
    assert missing(two) == ("c", "d")
    assert missing(two, USER, ToolMessage([result("c"), result("d")])) == ("c", "d")
    assert missing(two, ToolMessage([result("d")]), SystemMessage("s"), USER) == ("c",)
    assert missing(two, AssistantMessage("a"), ToolMessage([result("d"), result("c")])) == ()


def test_a_result_in_an_assistant_message_answers_no_client_call() -> None:
    assert missing(AssistantMessage([call("c"), result("c")])) == ("c",)


def test_a_call_that_the_provider_executes_needs_no_result() -> None:
    assert missing(AssistantMessage([call("c", by_provider=True)])) == ()


def test_a_call_with_an_approval_response_needs_its_result_whatever_the_answer_but_it_may_come_late() -> None:
    asked = AssistantMessage([call("c"), call("d"), ToolApprovalRequestPart("a", "c")])
    answered = ToolMessage([ToolApprovalResponsePart("a", approved=False)])
    rest = ToolMessage([result("d")])
    assert missing(asked, answered) == ("c", "d")
    assert missing(asked, rest, answered) == ("c",)
    assert missing(asked, rest, USER, answered, ToolMessage([result("c")])) == ()
    # Without a request, or an answer to it, nobody may wait for the result.
    assert missing(asked, rest, USER, ToolMessage([result("c")])) == ("c",)
    # Another call of that id does not bring it.
    later = AssistantMessage([call("c")])
    assert missing(asked, rest, answered, USER, later, ToolMessage([result("c")])) == ("c",)


def test_bad_data_is_reported_before_missing_results_and_with_its_place() -> None:
    bad = UserMessage([TextPart("x"), ImagePart("!")])
    with pytest.raises(InvalidDataContentError) as refused:
        to_prompt("s", [AssistantMessage([call()]), bad, bad])
    assert refused.value.path == "$.messages[1].content[1]"


# ---------------------------------------------------------------- properties

ids = st.sampled_from(["c", "d"])
histories = st.lists(
    st.one_of(
        st.just(USER),
        st.builds(SystemMessage, st.just("s")),
        st.builds(AssistantMessage, st.lists(st.builds(call, ids, by_provider=st.booleans()), max_size=2)),
        st.builds(lambda a, c: AssistantMessage([ToolApprovalRequestPart(a, c)]), ids, ids),
        st.builds(ToolMessage, st.lists(st.builds(result, ids), max_size=2)),
        st.builds(lambda a: ToolMessage([ToolApprovalResponsePart(a, approved=True)]), ids),
        strategies.messages_without_bytes,
    ),
    max_size=8,
)


@given(histories, st.data())
def test_a_fold_in_two_goes_is_the_fold_in_one(history: list[Message], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(history)))
    once = fold(PromptState.start("s"), history)
    assert fold(fold(PromptState.start("s"), history[:cut]), history[cut:]) == once


@given(histories)
def test_a_prompt_is_made_or_refused_and_its_messages_stay_what_they_were(history: list[Message]) -> None:
    before = [attrs.evolve(message) for message in history]
    prompt = prompt_or_none(history)
    assert history == before
    if prompt is not None:
        roles = [message.role for message in prompt]
        assert ("tool", "tool") not in list(itertools.pairwise(roles))
        assert all(message.content for message in prompt if message.role == "tool")


def prompt_or_none(history: list[Message]) -> Vector[Message] | None:
    try:
        return to_prompt(None, history)
    except (MissingToolResultsError, InvalidDataContentError):
        return None


@given(st.lists(strategies.messages, max_size=4))
def test_calls_open_at_the_end_are_those_of_a_plain_walk(history: list[Message]) -> None:
    open_calls: dict[str, None] = {}
    for message in history:
        for part in () if isinstance(message.content, str) else message.content:
            if isinstance(message, AssistantMessage) and isinstance(part, ToolCallPart):
                open_calls.update({} if part.provider_executed else {part.tool_call_id: None})
            elif isinstance(message, ToolMessage) and isinstance(part, ToolResultPart):
                open_calls.pop(part.tool_call_id, None)
    assert [one.call_id for one in fold(PromptState.start(), history).rounds.open_calls] == [*open_calls]
