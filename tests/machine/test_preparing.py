from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from agentcore.agent.models import ScriptedModel
from agentcore.errors import (
    ConflictingResultError,
    ForeignMessageListError,
    InvalidOverrideError,
    UnsupportedModelError,
)
from agentcore.machine.hooks import ProcessorEdit, StepOverride, merge_settings, merged
from agentcore.machine.prepare import is_identified
from agentcore.machine.processors import MessageList
from agentcore.messages.chains import numbered
from agentcore.messages.messages import Message, SystemMessage, UserMessage
from agentcore.messages.values import extend_vector, freeze, thaw, vector
from agentcore.messages.wire import message_to_wire
from agentcore.requirements.differences import Difference
from agentcore.requirements.rules import Rule
from processing import ANSWER, USER, a_call, a_step, returning, shown_after, through, using
from rulebook import states

X, Y, Z = (UserMessage(text) for text in "xyz")
SYSTEM = SystemMessage("s")
ADDED = SystemMessage("added")

# ---------------------------------------------------------------- what the next one is handed


@states(Rule.PROCESSOR_ORDER)
@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ({"model": "n"}, {"model": "n"}),
        ({"tool_choice": "none"}, {"tool_choice": {"type": "none"}}),
        ({"active_tools": []}, {"active_tools": ()}),
        ({"messages": [X]}, {"messages": vector([X]), "lasting_messages": vector([USER])}),
        ({"lasting_messages": [X]}, {"messages": vector([X]), "lasting_messages": vector([X])}),
        (
            {"lasting_messages": [X], "messages": [Y]},
            {"messages": vector([Y]), "lasting_messages": vector([X])},
        ),
        ({"system_messages": "t"}, {"system_messages": vector([SystemMessage("t")])}),
        (
            {"provider_options": {"p": {"b": {"d": 2}}, "q": {}}},
            {"provider_options": {"p": {"a": 1, "b": {"c": 1, "d": 2}}, "q": {}}},
        ),
        (
            {"model_settings": {"top_p": 1, "stop": ["b"]}},
            {"model_settings": {"temperature": 0, "top_p": 1, "stop": ["b"]}},
        ),
        ({"structured_output": {"type": "text"}}, {"structured_output": {"type": "text"}}),
        ({"response_format": {"type": "json"}}, {"structured_output": {"type": "json"}}),
        (
            {"experimental_context": {"k": 2}},
            {"experimental_context": {"k": 2}, "request_context": {"k": 1}},
        ),
        ([X, Y], {"messages": vector([X, Y])}),
        ((X,), {"messages": vector([X])}),
        ((each for each in (X, Y)), {"messages": vector([X, Y])}),
        (StepOverride(model="n", messages=[X]), {"model": "n", "messages": vector([X])}),
        ({"messages": [{"role": "user", "content": "x"}]}, {"messages": vector([X])}),
        ([{"role": "user", "content": "x"}, Y], {"messages": vector([X, Y])}),
    ],
)
def test_the_next_processor_is_handed_what_the_one_before_left_and_the_rest_as_it_was(
    result: Any, shown: dict[str, Any]
) -> None:
    settings: Any = freeze({"temperature": 0, "stop": ["a"]})
    step = a_step().of_call(settings, None)
    before, after = step.arguments("next"), shown_after(step, returning(result))
    for name in (each for each in dir(type(before)) if each in _VALUES):
        expected = shown[name] if name in shown else thaw(getattr(before, name))
        assert thaw(getattr(after, name)) == thaw(expected), name


_VALUES = {
    *("model", "tool_choice", "active_tools", "messages", "lasting_messages", "system_messages", "steps"),
    *("provider_options", "model_settings", "structured_output", "experimental_context", "request_context"),
    *("initial_messages", "response_messages", "tools", "step_number"),
}


@states(Difference.NONE_IS_ABSENT)
@pytest.mark.parametrize("result", [None, {}, dict.fromkeys(["messages", "model"]), StepOverride()])
def test_nothing_and_fields_of_none_change_nothing(result: Any) -> None:
    step = a_step()
    assert through(step, returning(result), lambda arguments: arguments.message_list) is step


@states(Rule.OVERRIDE_SETTINGS_MERGED)
def test_model_settings_merge_key_by_key_at_one_depth() -> None:
    base: Any = freeze({"a": {"x": 1}, "b": 1})
    later: Any = freeze({"a": {"y": 2}, "c": None})
    assert merge_settings(None, later) is later
    assert merge_settings(base, None) is base
    both = merge_settings(base, later)
    assert thaw(both) == {"a": {"y": 2}, "b": 1, "c": None}
    assert list(both or ()) == ["a", "b", "c"]


@states(Difference.OPTIONS_MERGED)
def test_the_edits_come_to_one_override() -> None:
    step = through(
        a_step(),
        returning({"model": "n", "tool_choice": "none", "provider_options": {"p": {"b": {"d": 2}}}}),
        returning(None),
        returning({"tool_choice": "required", "model_settings": {"a": 1, "b": 1}, "messages": [X]}),
        returning({"model_settings": {"b": 2}, "provider_options": {"q": {}}, "messages": [Y]}),
    )
    assert [edit.processor_id for edit in step.edits] == ["p0", "p2", "p3"]
    assert step.override == merged(step.edits)
    assert step.override == StepOverride(
        model="n",
        tool_choice="required",
        provider_options={"p": {"b": {"d": 2}}, "q": {}},
        model_settings={"a": 1, "b": 2},
        messages=[Y],
    )


def test_a_lasting_edit_takes_the_place_of_what_was_for_this_step_before_it() -> None:
    step = through(a_step(), returning({"messages": [X]}), returning({"lasting_messages": [Y]}))
    assert step.override == StepOverride(lasting_messages=[Y])
    again = through(step, returning({"messages": [Z]}))
    assert again.override == StepOverride(lasting_messages=[Y], messages=[Z])


@given(
    st.lists(
        st.sampled_from([None, {"model": "n"}, {"messages": [X]}, {"lasting_messages": [Y]}]), max_size=5
    )
)
def test_a_fold_is_one_override_after_the_other(results: list[Any]) -> None:
    whole = through(a_step(), *map(returning, results))
    so_far = a_step()
    for number, result in enumerate(results):
        arguments = so_far.arguments(f"p{number}")
        so_far = so_far.after(so_far.edit(arguments, result))
        handed = so_far.arguments("x")
        assert handed.messages == (
            so_far.override.messages or so_far.override.lasting_messages or vector([USER])
        )
    assert whole == so_far


# ---------------------------------------------------------------- the message list


@states(Rule.LIST_COMMITTED_ON_RETURN)
@pytest.mark.parametrize("result", [None, {}, "list", "field", "messages", {"model": "n"}])
def test_what_was_done_to_the_list_holds_whatever_is_returned(result: Any) -> None:
    def turn(arguments: Any) -> object:
        handed: MessageList = arguments.message_list
        handed.add(X)
        handed.remove_by_ids(["initial-0"])
        forms = {"list": handed, "field": {"message_list": handed}, "messages": {"messages": handed}}
        return forms[result] if isinstance(result, str) else result

    after = shown_after(a_step(USER, Y), turn)
    assert list(after.messages) == [Y, X]
    assert list(after.lasting_messages) == [USER, Y]
    assert list(after.message_list.ids) == ["initial-1", "p0-0-0"]
    assert after.model == ("n" if result == {"model": "n"} else "m")


def test_a_list_that_is_returned_unchanged_changes_nothing() -> None:
    step = a_step()
    for turn in (
        lambda arguments: arguments.message_list,
        lambda arguments: {"message_list": arguments.message_list, "model": None},
        lambda arguments: {"messages": arguments.message_list},
    ):
        assert through(step, turn) is step


def test_the_messages_of_the_list_may_be_returned_as_lasting() -> None:
    def turn(arguments: Any) -> object:
        arguments.message_list.replace("initial-0", X)
        arguments.message_list.add(Y)
        return {"lasting_messages": arguments.message_list, "messages": [Z]}

    after = shown_after(a_step(USER), turn)
    assert (list(after.lasting_messages), list(after.messages)) == ([X, Y], [Z])
    edit = through(a_step(USER), turn).edits[0]
    assert list(edit.lasting_ids) == ["initial-0", "p0-0-0"]
    unchanged = through(a_step(USER), lambda arguments: {"lasting_messages": arguments.message_list})
    assert unchanged.override == StepOverride(lasting_messages=[USER])


@states(Rule.PROCESSOR_OWN_LIST)
@pytest.mark.parametrize(
    ("result", "path"),
    [
        (lambda other: other, "$"),
        (lambda other: {"message_list": other}, "$.message_list"),
        (lambda other: {"message_list": other, "messages": [X]}, "$.message_list"),
        (lambda other: {"messages": other}, "$.messages"),
        (lambda other: {"lasting_messages": other}, "$.lasting_messages"),
    ],
)
def test_another_message_list_is_refused(result: Callable[[Any], object], path: str) -> None:
    step = a_step(number=2)
    other = step.arguments("other").message_list
    with pytest.raises(ForeignMessageListError) as refused:
        through(step, returning(result(other)))
    error = refused.value
    assert (error.path, error.processor_id, error.step_number) == (path, "p0", 2)
    assert str(error).startswith(f"processor 'p0' at step 2: {path}: this is not the message list")


@states(Rule.PROCESSOR_SAID_ONCE)
@pytest.mark.parametrize(
    ("turn", "path"),
    [
        (lambda given: {"messages": [X], "message_list": given.message_list}, "$.messages"),
        (lambda given: {"messages": [], "message_list": given.message_list}, "$.messages"),
        (using(lambda listed: listed.add(X), {"messages": [X]}), "$.messages"),
        (using(lambda listed: listed.add(X), [X]), "$.messages"),
        (using(lambda listed: listed.replace("initial-0", X), StepOverride(messages=[X])), "$.messages"),
        (using(lambda listed: listed.add_system("t"), {"system_messages": ["t"]}), "$.system_messages"),
        (using(lambda listed: listed.add(ADDED), {"system": "t"}), "$.system_messages"),
        (returning({"system": "s", "system_messages": "t"}), "$.system_messages"),
        (
            returning({"response_format": {"type": "text"}, "structured_output": {"type": "json"}}),
            "$.structured_output",
        ),
    ],
)
def test_what_is_said_in_two_ways_is_refused(turn: Callable[[Any], object], path: str) -> None:
    with pytest.raises(ConflictingResultError, match="processor 'p0' at step 1") as refused:
        through(a_step(number=1), turn)
    assert refused.value.path == path


def test_messages_may_be_returned_where_the_list_only_got_system_messages() -> None:
    after = shown_after(a_step(), using(lambda listed: listed.add_system("t"), {"messages": [X]}))
    assert (list(after.messages), list(after.system_messages)) == ([X], [SYSTEM, SystemMessage("t")])


@pytest.mark.parametrize(
    ("result", "path"),
    [
        (7, "$"),
        ("text", "$"),
        (b"text", "$"),
        ([7], "$.messages[0]"),
        ([X, {"role": "user"}], "$.messages[1].content"),
        ({"messages": 7}, "$.messages"),
        ({"lasting_messages": [X, 7]}, "$.lasting_messages[1]"),
        ({"message_list": [X]}, "$.message_list"),
        ({"systemMessages": []}, "$.systemMessages"),
        ({"system_messages": [7]}, "$.system[0]"),
        ({7: 1}, '$["7"]'),
        ({"step_number": 3}, "$.step_number"),
        ({"model_settings": []}, "$.model_settings"),
        ({"structured_output": {"type": "yaml"}}, "$.response_format"),
    ],
)
def test_what_is_no_result_is_refused_with_processor_step_and_place(result: Any, path: str) -> None:
    with pytest.raises(InvalidOverrideError) as refused:
        through(a_step(number=4), returning(result))
    error = refused.value
    assert (error.path, error.processor_id, error.step_number) == (path, "p0", 4)


def test_an_unknown_field_is_answered_with_all_that_there_are() -> None:
    with pytest.raises(InvalidOverrideError) as refused:
        through(a_step(), returning({"temperature": 0}))
    named = ["message_list", "messages", "system_messages", "model_settings", "structured_output"]
    assert all(name in refused.value.reason for name in named)


class Version1:
    model_id = "old"
    specification_version = "v1"


@states(Rule.PROCESSOR_MODEL_KIND)
@pytest.mark.parametrize("model", [Version1(), 7, {"id": "m"}, ScriptedModel])
def test_a_model_of_another_kind_is_refused(model: Any) -> None:
    with pytest.raises(UnsupportedModelError, match="cannot be called as a model") as refused:
        through(a_step(number=1), returning({"model": model}))
    assert (refused.value.path, refused.value.processor_id) == ("$.model", "p0")


@states(Rule.PROCESSOR_MODEL_KIND)
def test_a_model_may_be_returned_itself_and_is_kept_by_its_id() -> None:
    after = shown_after(a_step(), returning({"model": ScriptedModel([], model_id="n")}))
    assert after.model == "n"


# ---------------------------------------------------------------- system messages


@states(Rule.PROCESSOR_SYSTEM_REPLACED)
@pytest.mark.parametrize(
    "form",
    [
        "t",
        SystemMessage("t"),
        {"role": "system", "content": "t"},
        ["t"],
        [{"role": "system", "content": "t"}],
    ],
)
@pytest.mark.parametrize("name", ["system", "system_messages"])
def test_returned_system_messages_replace_in_any_form(name: str, form: Any) -> None:
    assert list(shown_after(a_step(), returning({name: form})).system_messages) == [SystemMessage("t")]


@states(Rule.PROCESSOR_SYSTEM_REPLACED)
def test_no_system_messages_are_none() -> None:
    assert list(shown_after(a_step(), returning({"system_messages": []})).system_messages) == []


@states(Rule.PROCESSOR_SYSTEM_ADDED)
@pytest.mark.parametrize(
    "result",
    [
        {"messages": [USER, ADDED]},
        {"messages": [{"role": "system", "content": "added"}, USER]},
        [ADDED, USER],
    ],
)
def test_system_messages_among_returned_messages_are_added(result: Any) -> None:
    after = shown_after(a_step(), returning(result))
    assert (list(after.messages), list(after.system_messages)) == ([USER], [SYSTEM, ADDED])


@states(Rule.PROCESSOR_SYSTEM_ADDED)
def test_system_messages_of_the_conversation_stay_where_they_are_put() -> None:
    inside = SystemMessage("inside")
    step = a_step(inside, USER)
    after = shown_after(step, returning([USER, inside, inside, SystemMessage("inside")]))
    assert list(after.messages) == [USER, inside]
    assert list(after.system_messages) == [SYSTEM, inside, inside]
    by_list = shown_after(step, using(lambda listed: listed.replace("initial-0", ADDED)))
    assert (list(by_list.messages), list(by_list.system_messages)) == ([ADDED, USER], [SYSTEM])


@states(Rule.PROCESSOR_SYSTEM_ADDED)
def test_what_replaces_system_messages_comes_before_what_is_added() -> None:
    after = shown_after(a_step(), returning({"system_messages": "t", "messages": [USER, ADDED]}))
    assert list(after.system_messages) == [SystemMessage("t"), ADDED]
    both = shown_after(a_step(), using(lambda listed: listed.add_system("t"), [USER, ADDED]))
    assert list(both.system_messages) == [SYSTEM, SystemMessage("t"), ADDED]


def test_lasting_messages_are_taken_as_they_are() -> None:
    after = shown_after(a_step(), returning({"lasting_messages": [ADDED, USER]}))
    assert (list(after.messages), list(after.system_messages)) == ([ADDED, USER], [SYSTEM])


# ---------------------------------------------------------------- identity


def test_the_json_of_a_message_that_was_shown_is_that_very_message() -> None:
    same = UserMessage("u")
    step = a_step(USER, same, X, X)
    wires = [thaw(message_to_wire(message)) for message in (USER, same, X, X, Y)]
    after = shown_after(step, returning(wires))
    assert [*map(id, after.messages)][:4] == [*map(id, (USER, same, X, X))]
    assert list(after.message_list.ids) == [*numbered("initial", 4), "p0-0-0"]
    more = shown_after(step, returning([*wires[:2], *wires[:2], X]))
    assert list(more.message_list.ids) == ["initial-0", "initial-1", "p0-0-0", "p0-0-1", "initial-2"]


@given(st.lists(strategies.messages, min_size=1, max_size=4))
def test_returning_the_json_of_all_messages_changes_none(messages: list[Message]) -> None:
    messages = [each for each in messages if not isinstance(each, SystemMessage)] or [USER]
    after = shown_after(a_step(*messages), returning([thaw(message_to_wire(each)) for each in messages]))
    assert all(a is b or a == b for a, b in zip(after.messages, messages, strict=True))
    assert set(after.message_list.ids) <= set(numbered("initial", len(messages)))


@states(Rule.MESSAGE_IDS_KEPT)
def test_ids_go_from_processor_to_processor_however_messages_are_given_back() -> None:
    def trim(given: Any) -> object:
        return given.messages[-1:]

    def note(given: Any) -> None:
        given.message_list.add(Y)

    def restore(given: Any) -> object:
        return {"messages": [X, *given.lasting_messages, *given.messages]}

    step = a_step(USER, ANSWER, number=3)
    after = shown_after(step, trim, note, restore)
    assert list(after.messages) == [X, USER, ANSWER, ANSWER, Y]
    assert list(after.message_list.ids) == ["p2-3-0", "initial-0", "initial-1", "p2-3-1", "p1-3-0"]


@states(Rule.MESSAGE_IDS_KEPT)
def test_a_message_that_is_for_the_step_and_lasting_has_one_id() -> None:
    summary, reminder = X, Y
    step = through(a_step(), returning({"lasting_messages": [summary], "messages": [reminder, summary]}))
    assert list(step.edits[0].lasting_ids) == ["p0-0-1"]
    assert list(step.arguments("next").message_list.ids) == ["p0-0-0", "p0-0-1"]
    listed = through(a_step(), using(lambda given: given.add(X), {"lasting_messages": [Y]}))
    assert list(listed.edits[0].ids) == ["initial-0", "p0-0-0"]
    assert list(listed.edits[0].lasting_ids) == ["p0-0-1"]


def test_messages_that_go_on_from_those_shown_share_their_structure() -> None:
    messages = [UserMessage(f"{number}") for number in range(100)]
    step = a_step(*messages)
    front = through(step, lambda given: [X, *given.messages], lambda given: [*given.messages, Y])
    first, second = (edit.override.messages for edit in front.edits)
    assert second._root is first._root
    both = through(front, lambda given: {"lasting_messages": [*given.lasting_messages, Z]})
    lasting: Any = both.override.lasting_messages
    shown: Any = step.messages
    assert lasting._root is shown._root


def test_an_edit_has_an_id_for_each_message_or_none() -> None:
    ids = numbered("a", 1)
    one, none = StepOverride(messages=[X]), StepOverride()
    lasting = StepOverride(lasting_messages=[X])
    assert is_identified(ProcessorEdit(processor_id="p", override=one))
    assert is_identified(ProcessorEdit(processor_id="p", override=one, ids=ids))
    assert is_identified(ProcessorEdit(processor_id="p", override=lasting, lasting_ids=ids))
    wrong: list[tuple[StepOverride, Any]] = [
        (none, {"ids": ids}),
        (none, {"lasting_ids": ids}),
        (lasting, {}),
    ]
    for override, fields in wrong:
        assert not is_identified(ProcessorEdit(processor_id="p", override=override, **fields))


# ---------------------------------------------------------------- a run's input


@states(Rule.PROCESSOR_INPUT_ONCE)
def test_processors_of_input_are_folded_as_those_of_steps_are() -> None:
    after = shown_after(
        a_call(USER),
        returning([X, {"role": "user", "content": "u"}, ADDED]),
        using(lambda listed: listed.add(Y)),
        lambda given: {"system_messages": [*given.system_messages, "t"], "message_list": given.message_list},
    )
    assert list(after.messages) == [X, USER, Y]
    assert after.messages[1] is USER
    assert list(after.message_list.ids) == ["p0-input-0", "initial-0", "p1-input-0"]
    assert list(after.system_messages) == [SYSTEM, ADDED, SystemMessage("t")]
    assert (after.request_context, after.step_number) == (freeze({"k": 1}), None)


@pytest.mark.parametrize("name", ["model", "lasting_messages", "tool_choice", "temperature"])
def test_a_processor_of_input_returns_messages_and_system_messages_only(name: str) -> None:
    with pytest.raises(InvalidOverrideError, match="processor 'p0' before the steps") as refused:
        through(a_call(), returning({name: "x"}))
    assert refused.value.path == f"$.{name}"
    assert "messages, message_list, system, system_messages" in refused.value.reason


def test_a_processor_of_input_that_does_nothing_leaves_everything_as_it_was() -> None:
    call = a_call()
    assert through(call, returning(None), returning({"messages": None})) is call


def test_the_values_that_processors_are_folded_over_are_as_they_were() -> None:
    step, call = a_step(USER, ANSWER), a_call()
    through(step, using(lambda listed: listed.add(X), {"model": "n"}), returning({"lasting_messages": [Y]}))
    through(call, using(lambda listed: listed.remove_by_ids(listed.ids), {"system": "t"}))
    assert (step, call) == (a_step(USER, ANSWER), a_call())


def test_what_goes_on_from_what_was_shown_is_looked_at_where_it_is_new() -> None:
    step = a_step()
    with pytest.raises(InvalidOverrideError, match=r"\$\.messages\[1\]"):
        step.edit(step.arguments("p"), {"messages": extend_vector(step.messages, [7])})
    edit = step.edit(step.arguments("p"), {"messages": extend_vector(step.messages, [ADDED])})
    assert edit is not None
    assert (edit.override.messages, edit.override.system) == (step.messages, vector([SYSTEM, ADDED]))
