"""What ai@7.0.173 checks, approves, survives and sends as files, on both paths: the changes since 6.0.134."""

from __future__ import annotations

from typing import Any

import pytest

from agentcore.frameworks.ai_sdk.emulation.settings import Tool
from frameworks.ai_sdk.scene import SCRIPT, Scene, approval, calls, look, says, user, user_list
from frameworks.ai_sdk.seven import GENERATE, STREAM, at, both, fail, tool_message

# ---------------------------------------------------------------- what is checked


def test_each_steps_messages_are_checked_on_stream() -> None:
    for messages in ([], [{"role": "system", "content": "s"}]):
        scene = Scene(STREAM, prepare_step=at(1, lambda _, given=messages: {"messages": given})).run()
        assert scene.failure[0] == "AI_InvalidPromptError"
        assert len(scene.steps) == 1


def test_each_steps_messages_go_out_unchecked_on_generate() -> None:
    for messages, roles in ([], []), ([{"role": "system", "content": "s"}], ["system"]):
        scene = Scene(GENERATE, prepare_step=at(1, lambda _, given=messages: {"messages": given})).run()
        assert scene.error is None
        assert [message["role"] for message in scene.prompts[1]] == roles


@both
def test_no_messages_or_system_messages_among_them_are_refused_unless_allowed(path: str) -> None:
    messages = [{"role": "system", "content": "s"}, user("hi")]
    assert Scene(path, messages=[]).run().failure[0] == "AI_InvalidPromptError"
    assert Scene(path, messages=messages).run().failure[0] == "AI_InvalidPromptError"
    allowed = {"allowSystemInMessages": True}
    assert Scene(path, messages=messages, script=[[says("done")]], options=allowed).run().error is None


@both
def test_messages_of_no_schema_are_converted_as_they_are(path: str) -> None:
    messages = [{**user("hi"), "odd": 1}, {"role": "assistant", "content": [{"type": "text", "text": 7}]}]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    assert prompt[1]["content"] == [{"type": "text", "text": 7}]


@both
def test_an_unknown_part_of_an_assistant_message_is_no_part_of_a_prompt(path: str) -> None:
    messages = [user("hi"), {"role": "assistant", "content": [{"type": "odd"}]}]
    assert Scene(path, messages=messages).run().failure[0] == "TypeError"


# ---------------------------------------------------------------- approvals


@both
def test_a_call_is_approved_once_and_in_the_order_of_the_calls(path: str) -> None:
    def answer(index: int, *, approved: bool) -> dict[str, Any]:
        return {"type": "tool-approval-response", "approvalId": f"a{index}", "approved": approved}

    def request(index: int) -> dict[str, Any]:
        return {"type": "tool-approval-request", "approvalId": f"a{index}", "toolCallId": f"c{index}"}

    asked = [calls("c0"), calls("c1"), request(0), request(1)]
    answers = [answer(1, approved=True), answer(0, approved=True), answer(1, approved=False)]
    messages = [user("go"), {"role": "assistant", "content": asked}, {"role": "tool", "content": answers}]
    scene = Scene(path, messages=messages, script=[[says("done")]]).run()
    assert [part["toolCallId"] for part in scene.prepared[0][3]["content"]] == ["c0", "c1"]


@both
def test_a_denial_that_has_its_result_already_gets_no_other(path: str) -> None:
    messages = approval("c0", approved=False)
    denied = {
        "type": "tool-result",
        "toolCallId": "c0",
        "toolName": "look",
        "output": {"type": "execution-denied"},
    }
    messages[-1]["content"].insert(0, denied)
    scene = Scene(path, messages=messages, script=[[says("done")]]).run()
    assert len(scene.prepared[0]) == 3


@both
def test_an_approved_call_runs_as_a_copy_and_its_tool_is_asked_again(path: str) -> None:
    asked: list[Any] = []
    told: list[Any] = []

    def asks(given: Any, options: Any) -> bool:
        del given
        asked.append(options["toolCallId"])
        return True

    messages = approval("c0", approved=True)
    messages[1]["content"][0]["dynamic"] = True
    scene = Scene(
        path,
        messages=messages,
        script=[[says("done")]],
        tools={"look": Tool(execute=look, needs_approval=asks)},
        on_tool_call_start=lambda event: told.append(event["toolCall"]),
    ).run()
    assert asked == ["c0"]
    assert told[0].ref != scene.caller[1]["content"][0].ref
    assert told[0]["input"].ref == scene.caller[1]["content"][0]["input"].ref
    assert "dynamic" not in told[0]


@both
def test_an_answered_request_does_not_excuse_a_missing_result(path: str) -> None:
    messages = [*approval("c0", approved=True), user("more")]
    scene = Scene(path, messages=messages).run()
    assert scene.failure[0] == "AI_MissingToolResultsError"


@both
def test_answers_about_a_providers_call_make_no_message(path: str) -> None:
    messages = approval("c0", approved=True)
    messages[1]["content"][0]["providerExecuted"] = True
    scene = Scene(path, messages=messages, script=[[says("done")]]).run()
    assert len(scene.prepared[0]) == 3


# ---------------------------------------------------------------- failures that settle


def test_a_throwing_on_chunk_changes_nothing() -> None:
    scene = Scene(STREAM, on_chunk=fail).run()
    assert scene.error is None
    assert len(scene.steps) == 3


def test_a_chunk_hook_is_told_of_every_kind_of_part() -> None:
    kinds: list[str] = []
    tools = {"look": Tool(execute=fail)}
    Scene(
        STREAM,
        script=SCRIPT[:1],
        tools=tools,
        max_steps=1,
        on_chunk=lambda e: kinds.append(e["chunk"]["type"]),
    ).run()
    text = ("text-start", "text-delta", "text-end")
    assert kinds == ["start", "start-step", *text, "tool-call", "tool-error", "finish-step", "finish"]


@both
def test_after_a_throwing_stop_condition_there_is_no_result_and_nothing_hangs(path: str) -> None:
    scene = Scene(path, stop_when=fail).run()
    assert str(scene.error) == "no"
    assert scene.loop.outcome.steps is None
    assert not scene.loop.outcome.hung


def test_the_first_error_of_a_stream_is_the_one_that_is_reported() -> None:
    options = {"toolChoice": {"type": "tool", "toolName": "look"}}
    scene = Scene(STREAM, script=[[calls("c0", "absent")]], options=options, stop_when=fail).run()
    assert scene.failure[0] == "AI_ToolChoiceViolationError"
    assert scene.loop.outcome.steps is None


@pytest.mark.parametrize(("path", "error"), [(STREAM, None), (GENERATE, None)])
def test_taking_a_step_out_in_a_stop_condition_breaks_nothing(path: str, error: None) -> None:
    scene = Scene(path, stop_when=lambda event: event["steps"].pop() and None).run()
    assert scene.error is error
    assert len(scene.requests) == 3


def test_generate_reads_the_last_step_to_tell_if_the_run_goes_on() -> None:
    def drop(given: Any) -> None:
        scene.kept = given["steps"]  # type: ignore[attr-defined]

    scene = Scene(GENERATE, prepare_step=drop, on_step_finish=lambda _: scene.kept.pop())  # type: ignore[attr-defined]
    assert scene.run().failure == (
        "TypeError",
        "Cannot read properties of undefined (reading 'finishReason')",
    )


def test_a_run_that_is_interrupted_ends_on_generate() -> None:
    scene = Scene(GENERATE, on_step_finish=lambda result: result.update(finishReason="interrupted")).run()
    assert len(scene.requests) == 1
    assert scene.loop.outcome.finish_reason == "interrupted"


def test_generate_reads_the_text_of_a_last_step_that_ended_for_another_reason_than_calls() -> None:
    def end(event: Any) -> None:
        event["steps"][0]["finishReason"] = "odd"
        del event["steps"][0]["content"]

    assert Scene(GENERATE, script=[[says("done")]], on_finish=end).run().error is not None
    called = Scene(GENERATE, max_steps=1, on_finish=lambda event: event["steps"][0].pop("content") and None)
    assert called.run().error is None


@both
def test_the_last_event_lists_the_parts_of_all_steps_in_new_lists(path: str) -> None:
    seen: list[Any] = []
    scene = Scene(path, on_finish=seen.append).run()
    (event,) = seen
    assert len(event["content"]) == 7
    assert [call["toolCallId"] for call in event["toolCalls"]] == ["c0", "c1"]
    assert event["text"] == "third"
    assert len(event["responseMessages"]) == 5
    assert event["finalStep"].ref == scene.steps[2].ref
    event["content"].clear()
    assert len(scene.steps[2]["content"]) == 1


@both
def test_a_report_that_a_hook_took_away_is_missed_at_the_next_step(path: str) -> None:
    scene = Scene(path, stop_when=lambda event: event["steps"][0].pop("response") and None).run()
    assert scene.error is not None
    assert len(scene.requests) == 1


def test_an_overridden_model_is_recorded_under_its_own_name_on_stream() -> None:
    hook = at(1, lambda given: {"model": given.desk.view(scene.loop.models.new(scene.model("other")))})
    scene: Scene = Scene(STREAM, prepare_step=hook)
    scene.run()
    assert [step["model"]["modelId"] for step in scene.steps] == ["m", "other", "m"]


# ---------------------------------------------------------------- files


FILES: list[tuple[Any, Any]] = [
    ({"type": "image", "image": "aGk="}, {"mediaType": "image", "data": {"type": "data", "data": "aGk="}}),
    (
        {"type": "file", "data": "iVBORw0KGgo=", "mediaType": "text/plain", "filename": "f"},
        {"mediaType": "image/png", "filename": "f", "data": {"type": "data", "data": "iVBORw0KGgo="}},
    ),
    (
        {"type": "image", "image": "https://example.com/a.png"},
        {"mediaType": "image", "data": {"type": "url", "url": "https://example.com/a.png"}},
    ),
    (
        {"type": "file", "data": "data:text/plain;base64,aGk=", "mediaType": "x/y"},
        {"mediaType": "text/plain", "data": {"type": "data", "data": "aGk="}},
    ),
    (
        {"type": "file", "data": {"openai": "id"}, "mediaType": "x/y"},
        {"mediaType": "x/y", "data": {"type": "reference", "reference": {"openai": "id"}}},
    ),
    *(
        ({"type": "file", "data": data, "mediaType": "x/y"}, {"mediaType": "x/y", "data": data})
        for data in (
            {"type": "data", "data": "aGk="},
            {"type": "url", "url": "https://example.com/"},
            {"type": "reference", "reference": {"a": "b"}},
            {"type": "text", "text": "hi"},
        )
    ),
    (
        {"type": "odd", "data": 7, "mediaType": "x/y"},
        {"mediaType": "x/y", "data": {"type": "data", "data": 7}},
    ),
]


@both
@pytest.mark.parametrize(("part", "shown"), FILES)
def test_a_file_says_in_a_prompt_what_its_data_is(path: str, part: Any, shown: Any) -> None:
    messages = [{"role": "user", "content": [part]}]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    assert prompt[0]["content"] == [{"type": "file", **shown}]


BROKEN: list[tuple[Any, str]] = [
    ({"type": "file", "data": "aGk="}, "Error"),
    ({"type": "file", "data": "https://example.com/a"}, "AI_DownloadError"),
    (
        {"type": "file", "data": {"type": "data", "data": "data:a/b,c"}, "mediaType": "x/y"},
        "AI_InvalidDataContentError",
    ),
    ({"type": "file", "data": {"type": "url"}, "mediaType": "x/y"}, "TypeError"),
    ({"type": "file", "data": "data:nothing", "mediaType": "x/y"}, "InvalidCharacterError"),
    ({"type": "image", "image": "not base64!"}, "InvalidCharacterError"),
]


@both
@pytest.mark.parametrize(("part", "name"), BROKEN)
def test_a_file_that_cannot_be_sent_is_an_error(path: str, part: Any, name: str) -> None:
    failure = Scene(path, messages=[{"role": "user", "content": [part]}]).run().failure
    assert failure[0] == name


@both
def test_an_assistants_files_and_provider_parts_are_handed_on(path: str) -> None:
    content: list[dict[str, Any]] = [
        {"type": "file", "data": "aGk=", "mediaType": "text/plain", "filename": "f"},
        {"type": "reasoning-file", "data": "aGk=", "mediaType": "x/y"},
        {"type": "custom", "kind": "p.k", "providerOptions": {"p": {}}},
    ]
    messages = [user("hi"), {"role": "assistant", "content": content}]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    data = {"type": "data", "data": "aGk="}
    assert prompt[1]["content"] == [{**content[0], "data": data}, {**content[1], "data": data}, content[2]]


@both
def test_a_reasoning_file_holds_data_or_an_address(path: str) -> None:
    part = {"type": "reasoning-file", "data": {"type": "text", "text": "x"}, "mediaType": "x/y"}
    messages = [user("hi"), {"role": "assistant", "content": [part]}]
    assert Scene(path, messages=messages).run().failure[0] == "Error"


INLINE = {"type": "data", "data": "aGk="}
ITEMS: list[tuple[Any, Any]] = [
    ({"type": "text", "text": "hi"}, {"type": "text", "text": "hi"}),
    ({"type": "media", "data": "aGk="}, {"type": "media", "data": "aGk="}),
    (
        {"type": "file", "data": "aGk=", "mediaType": "x/y", "filename": "f"},
        {"data": INLINE, "mediaType": "x/y", "filename": "f"},
    ),
    (
        {"type": "file-data", "data": "aGk=", "mediaType": "x/y", "filename": "f"},
        {"data": INLINE, "mediaType": "x/y", "filename": "f"},
    ),
    ({"type": "image-data", "data": "aGk=", "mediaType": "x/y"}, {"data": INLINE, "mediaType": "x/y"}),
    (
        {"type": "file-url", "url": "https://example.com/a.PDF?x"},
        {"data": {"type": "url", "url": "https://example.com/a.PDF?x"}, "mediaType": "application/pdf"},
    ),
    (
        {"type": "file-url", "url": "https://example.com/a"},
        {"data": {"type": "url", "url": "https://example.com/a"}, "mediaType": "application/octet-stream"},
    ),
    (
        {"type": "image-url", "url": "https://example.com/a"},
        {"data": {"type": "url", "url": "https://example.com/a"}, "mediaType": "image"},
    ),
    (
        {"type": "file-id", "fileId": "f"},
        {"data": {"type": "reference", "reference": {"scripted": "f"}}, "mediaType": "application"},
    ),
    (
        {"type": "image-file-id", "fileId": {"p": "f"}},
        {"data": {"type": "reference", "reference": {"p": "f"}}, "mediaType": "image"},
    ),
    (
        {"type": "file-reference", "providerReference": {"p": 1}},
        {"data": {"type": "reference", "reference": {"p": 1}}, "mediaType": "application"},
    ),
    (
        {"type": "image-file-reference", "providerReference": {"p": 1}},
        {"data": {"type": "reference", "reference": {"p": 1}}, "mediaType": "image"},
    ),
]


def with_content_output(item: Any) -> list[Any]:
    result = tool_message("a")
    result["content"][0]["output"] = {"type": "content", "value": [item]}
    return [user("hi"), {"role": "assistant", "content": [calls("a")]}, result]


@both
@pytest.mark.parametrize(("item", "shown"), ITEMS)
def test_files_in_a_tools_output_are_files_of_the_prompt(path: str, item: Any, shown: Any) -> None:
    (prompt,) = Scene(path, messages=with_content_output(item), script=[[says("done")]]).run().prompts
    assert prompt[2]["content"][0]["output"]["value"] == [{"type": "file", **shown}]


@both
@pytest.mark.parametrize("item", [{"type": "file-url", "url": "nowhere"}, {"type": "image-url"}])
def test_an_address_in_a_tools_output_that_is_none_is_an_error(path: str, item: Any) -> None:
    assert Scene(path, messages=with_content_output(item)).run().error is not None


@both
def test_images_are_told_by_more_of_their_first_bytes_than_before(path: str) -> None:
    images = [
        "R0lGODlhAQ==",
        "R0lGODdhAQ==",
        "R0lGOQ==",
        "Qk0AAAAAAAAAAAAA",
        "Qk0BAQEBAQEBAQEB",
        "AAAAHGZ0eXBhdmlm",
    ]
    messages = [{"role": "user", "content": [{"type": "image", "image": image} for image in images]}]
    (prompt,) = Scene(path, messages=messages, script=[[says("done")]]).run().prompts
    assert [part["mediaType"] for part in prompt[0]["content"]] == [
        *("image/gif", "image/gif", "image", "image/bmp", "image", "image/avif"),
    ]


@both
def test_the_history_is_listed_for_files_before_any_is_read(path: str) -> None:
    broken = {"type": "file", "data": {"type": "data", "data": "data:a/b,c"}, "mediaType": "x/y"}
    messages = [{"role": "user", "content": [broken]}, {"role": "tool", "content": [{"type": "tool-result"}]}]
    assert not Scene(path, messages=messages).run().failure[0].startswith("AI_")


@both
def test_user_lists_are_messages_as_before(path: str) -> None:
    (prompt,) = Scene(path, messages=[user_list("hi")], script=[[says("done")]]).run().prompts
    assert prompt == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
