"""System messages: what is reset at each step and what is not (claims M11, M20, M38, M60 to M69)."""

from __future__ import annotations

from typing import Any

from frameworks.mastra.stage import THREE_STEPS, TWO_STEPS, Stage, at_step, on_input, processor

EXTRA = {"role": "system", "content": "extra"}


def systems(stage: Stage) -> list[list[str]]:
    return [
        [one.removeprefix("system: ") for one in prompt if one.startswith("system")]
        for prompt in stage.prompts
    ]


def change(hook: Any, **settings: Any) -> list[list[str]]:
    settings = {"instructions": "be kind", **settings}
    return systems(Stage(THREE_STEPS, processors=[processor(at_step(1, hook))], **settings))


def test_returned_system_messages_replace_those_without_a_tag_for_one_step() -> None:
    found = change(lambda _: {"systemMessages": [EXTRA]}, system="tagged")
    assert found == [["be kind", "tagged"], ["extra", "tagged"], ["be kind", "tagged"]]


def test_pushed_system_messages_are_gone_at_the_next_step() -> None:
    found = change(lambda args: args["systemMessages"].append(EXTRA))
    assert found == [["be kind"], ["be kind", "extra"], ["be kind"]]


def test_an_edit_in_place_leaks_through_the_reset() -> None:
    found = change(lambda args: args["systemMessages"][0].update(content="be rude"))
    assert found == [["be kind"], ["be rude"], ["be rude"]]


def test_one_added_by_the_list_lasts_a_step_and_with_a_tag_for_good() -> None:
    assert change(lambda args: args.message_list.add_system("extra"))[1:] == [
        ["be kind", "extra"],
        ["be kind"],
    ]
    tagged = change(lambda args: args.message_list.add_system("extra", "mine"))
    assert tagged[1:] == [["be kind", "extra"]] * 2


def test_the_same_text_is_not_added_twice() -> None:
    assert change(lambda args: args.message_list.add_system("be kind"))[1] == ["be kind"]


def test_system_messages_among_messages_are_added_if_they_have_the_stored_form() -> None:
    content = {"format": 2, "parts": [{"type": "text", "text": "extra"}]}
    found = change(lambda args: [*args["messages"], {"role": "system", "id": "s", "content": content}])
    assert found[1] == ["be kind", "extra"]
    plain = change(lambda args: [*args["messages"], {"role": "system", "content": "extra"}])
    assert plain[1] == ["be kind"]


def test_messages_are_applied_before_system_messages() -> None:
    content = {"format": 2, "parts": [], "content": "extra"}
    found = change(
        lambda args: {
            "messages": [*args["messages"], {"role": "system", "id": "s", "content": content}],
            "systemMessages": [*args["systemMessages"]],
        }
    )
    assert found[1] == ["be kind"]


def test_what_was_done_with_the_input_is_the_original_of_every_step() -> None:
    stage = Stage(
        TWO_STEPS,
        instructions="be kind",
        processors=[on_input(lambda args: {"messages": args["messages"], "systemMessages": [EXTRA]})],
    )
    assert systems(stage) == [["extra"], ["extra"]]


def test_system_messages_without_messages_change_nothing_of_the_input() -> None:
    stage = Stage(instructions="be kind", processors=[on_input(lambda _: {"systemMessages": [EXTRA]})])
    assert systems(stage) == [["be kind"]]


def test_the_order_is_instructions_then_those_of_the_input_then_those_with_a_tag() -> None:
    stage = Stage(
        messages=[{"role": "system", "content": "from the input"}, "hi"],
        instructions=["be kind", {"role": "system", "content": "be brief"}],
        system=[{"role": "system", "content": "tagged"}],
    )
    assert systems(stage) == [["be kind", "be brief", "from the input", "tagged"]]


def test_the_list_clears_and_replaces_them() -> None:
    assert change(lambda args: args.message_list.clear_system_messages(), system="tagged")[1] == ["tagged"]
    cleared = change(lambda args: args.message_list.clear_system_messages("user-provided"), system="tagged")
    assert cleared == [["be kind", "tagged"], ["be kind"], ["be kind"]]
    replaced = change(lambda args: args.message_list.replace_all_system_messages([EXTRA, {"role": "user"}]))
    assert replaced[1] == ["extra"]
