"""What a change of the messages reaches: in place, returned, through the list (claims M18 to M44)."""

from __future__ import annotations

from typing import Any

from frameworks.mastra.stage import THREE_STEPS, TWO_STEPS, Stage, at_step, on_input, processor, stored, text


def change(hook: Any, step: int = 0, script: Any = TWO_STEPS, **settings: Any) -> Stage:
    return Stage(script, processors=[processor(at_step(step, hook))], **settings)


def rename(messages: Any, told: str) -> None:
    messages[0]["content"]["parts"][0]["text"] = told


def test_an_edit_in_place_is_in_this_prompt_and_all_later_ones() -> None:
    stage = change(lambda args: rename(args["messages"], "edited"))
    assert [prompt[0] for prompt in stage.prompts] == ["user: edited", "user: edited"]


def test_a_pushed_message_stays_and_has_no_source() -> None:
    stage = change(lambda args: args["messages"].append(dated(args, stored("m1", "pushed"))))
    assert [prompt[1] for prompt in stage.prompts] == ["user: pushed", "user: pushed"]
    assert (None, "user: pushed") in stage.stored


def dated(args: Any, message: dict[str, Any]) -> dict[str, Any]:
    return {**message, "createdAt": args["messages"][-1]["createdAt"]}


def test_reversed_in_place_is_for_this_prompt_only() -> None:
    stage = change(lambda args: args["messages"].reverse(), messages=["one", "two"])
    assert [prompt[:2] for prompt in stage.prompts] == [
        ["user: two", "user: one"],
        ["user: one", "user: two"],
    ]


def test_an_emptied_list_asks_the_model_with_the_system_message_alone() -> None:
    stage = change(lambda args: args["messages"].clear(), instructions="be kind")
    assert stage.prompts[0] == ["system: be kind"]
    assert stage.prompts[1] == ["system: be kind", "user: .", "assistant: look?", "tool: look!"]


def test_returned_messages_are_for_good_and_in_the_order_of_their_dates() -> None:
    stage = change(lambda args: {"messages": list(reversed(args["messages"]))}, messages=["one", "two"])
    assert [prompt[:2] for prompt in stage.prompts] == [["user: one", "user: two"]] * 2


def test_a_message_left_out_is_gone_for_good() -> None:
    stage = change(lambda args: args["messages"][1:], messages=["one", "two"])
    assert [prompt[0] for prompt in stage.prompts] == ["user: two", "user: two"]


def test_a_new_message_comes_from_the_input() -> None:
    stage = change(lambda args: [*args["messages"], {"role": "user", "content": "new"}])
    assert stage.stored[1] == ("input", "user: new")


def test_a_returned_copy_keeps_the_source_and_is_live_from_then_on() -> None:
    kept: list[Any] = []

    def copy(args: Any) -> Any:
        made = args["messages"][0].clone()
        kept.append(made)
        return [made, *args["messages"][1:]]

    def edit(args: Any) -> None:
        if args["stepNumber"] == 1:
            kept[0]["content"]["parts"][0]["text"] = "edited"

    stage = Stage(TWO_STEPS, processors=[processor(at_step(0, copy)), processor(edit, "p2")])
    assert [prompt[0] for prompt in stage.prompts] == ["user: hi", "user: edited"]
    assert stage.stored[0] == ("input", "user: edited")


def test_an_empty_array_empties_the_conversation() -> None:
    stage = change(lambda _: {"messages": []}, instructions="be kind")
    assert stage.prompts[0] == ["system: be kind"]


def test_the_next_processor_is_given_the_returned_array_as_it_is() -> None:
    seen: list[list[str]] = []
    stage = Stage(
        messages=["one", "two"],
        processors=[
            processor(lambda args: {"messages": list(reversed(args["messages"]))}),
            processor(lambda args: seen.append(told(args["messages"])), "p2"),
        ],
        prepare_step=lambda args: seen.append(told(args["messages"])),
    )
    assert seen == [["two", "one"], ["one", "two"]]
    assert stage.prompts == [["user: one", "user: two"]]


def told(messages: Any) -> list[str]:
    return [message["content"]["parts"][0]["text"] for message in messages]


def test_what_the_list_removed_is_still_in_the_next_processors_array_and_comes_back_with_it() -> None:
    stage = Stage(
        messages=["one", "two"],
        processors=[
            processor(lambda args: args.message_list.remove_by_ids([args["messages"][0]["id"]])),
            processor(lambda args: {"messages": args["messages"]}, "p2"),
        ],
    )
    assert stage.prompts == [["user: one", "user: two"]]


def test_prepare_step_sees_what_the_list_removed() -> None:
    seen: list[list[str]] = []
    Stage(
        messages=["one", "two"],
        processors=[processor(lambda args: args.message_list.remove_by_ids([args["messages"][0]["id"]]))],
        prepare_step=lambda args: seen.append(told(args["messages"])),
    )
    assert seen == [["two"]]


def test_a_user_message_added_between_steps_stays_last() -> None:
    added = at_step(1, lambda args: args.message_list.add("wait", "input"))
    stage = Stage(THREE_STEPS, processors=[processor(added)])
    assert [prompt[-1] for prompt in stage.prompts[1:]] == ["user: wait", "user: wait"]


def test_an_assistant_message_added_swallows_the_next_answer() -> None:
    stage = Stage(
        [[text("answer")]],
        processors=[processor(lambda args: [*args["messages"], stored("a1", "mine", "assistant")])],
    )
    assert stage.stored == [("input", "user: hi"), ("response", "assistant: mine answer")]


def test_an_edited_answer_is_in_later_prompts_and_the_result_but_not_in_the_steps() -> None:
    def edit(args: Any) -> None:
        args["messages"][-1]["content"]["parts"][0]["text"] = "edited"

    script = [
        [text("first"), {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "input": {}}],
        [text("end")],
    ]
    stage = change(edit, 1, script)
    assert stage.prompts[1][1] == "assistant: edited look?"
    assert stage.outcome.step_texts == ["first", "end"]
    messages = stage.loop.store.plain(stage.outcome.response_messages)
    assert messages[0]["content"][0]["text"] == "edited"


def test_steps_are_the_loops_own_array_and_their_number_is_the_next_step_number() -> None:
    seen: list[int] = []

    def push(args: Any) -> None:
        seen.append(args["stepNumber"])
        if args["stepNumber"] == 1:
            args["steps"].append({"text": "mine"})

    stage = Stage(THREE_STEPS, processors=[processor(push)])
    assert seen == [0, 1, 3]
    assert len(stage.outcome.step_texts) == 3


def test_the_text_of_a_step_cannot_be_set() -> None:
    refused: list[str] = []

    def set_text(args: Any) -> None:
        try:
            args["steps"][0]["text"] = "mine"
        except TypeError as error:
            refused.append(str(error))

    change(set_text, 1)
    assert len(refused) == 1


def test_stored_messages_of_the_caller_are_the_lists_own_and_dated_in_place() -> None:
    stage = change(lambda args: rename(args["messages"], "edited"), messages=[stored("s1", "mine")])
    mine = stage.loop.store.plain(stage.loop.caller)["messages"][0]
    assert mine["content"]["parts"][0]["text"] == "edited"
    assert {"createdAt"} < {*mine}
    assert "createdAt" in mine["content"]["parts"][0]


def test_parts_of_a_ui_message_are_the_callers_own_and_its_array_is_not() -> None:
    def edit(args: Any) -> None:
        rename(args["messages"], "edited")
        args["messages"][0]["content"]["parts"].append(text("more"))

    stage = change(edit, messages=[{"id": "u1", "role": "user", "parts": [text("mine")]}])
    parts = stage.loop.store.plain(stage.loop.caller)["messages"][0]["parts"]
    assert [part["text"] for part in parts] == ["edited"]


def test_plain_messages_of_the_caller_are_copied() -> None:
    mine = {"role": "user", "content": [text("mine")]}
    stage = change(lambda args: rename(args["messages"], "edited"), messages=[mine])
    assert stage.loop.store.plain(stage.loop.caller)["messages"] == [mine]


def test_a_list_that_was_handed_in_may_be_returned() -> None:
    stage = Stage(processors=[processor(add_and_return), on_input(add_and_return, "p2")])
    assert stage.prompts == [["user: hi", "user: added", "user: added"]]


def add_and_return(args: Any) -> Any:
    args.message_list.add("added", "input")
    return args.message_list


def test_clearing_the_input_leaves_the_answers_and_the_other_way_round() -> None:
    input_gone = change(lambda args: args.message_list.clear_input(), 1)
    assert input_gone.prompts[1] == ["user: .", "assistant: look?", "tool: look!"]
    response_gone = change(lambda args: args.message_list.clear_response(), 1)
    assert response_gone.prompts[1] == ["user: hi"]
    all_gone = change(lambda args: args.message_list.clear_all(), 1)
    assert all_gone.prompts[1] == []


def test_a_remembered_call_takes_the_answer_that_the_input_has() -> None:
    def call(**fields: Any) -> dict[str, Any]:
        invocation = {"toolCallId": "h", "toolName": "look", "args": {}, **fields}
        part = {"type": "tool-invocation", "toolInvocation": invocation}
        message = stored("a", "", "assistant", createdAt="2000-01-01T00:00:00Z")
        return {**message, "content": {"format": 2, "parts": [part]}}

    def remember(args: Any) -> None:
        args.message_list.add([call(state="call")], "memory")

    answered = call(state="result", result=1)
    stage = Stage(messages=[answered, "hi"], prepare_step=remember)
    assert stage.stored[0] == ("memory", "assistant: look!")
    done = call(state="result", result=2)
    stage = Stage(
        messages=[answered, "hi"], prepare_step=lambda args: args.message_list.add([done], "memory")
    )
    [part] = stage.loop.store.plain(stage.loop.list.all()[0])["content"]["parts"]
    assert part["toolInvocation"]["result"] == 2
