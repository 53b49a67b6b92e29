"""What a guard reports of lists of dicts: places, values, other paths, and which object was written."""

from __future__ import annotations

import gc
import math
import pickle
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import pytest
from immutabledict import immutabledict

from agentcore.errors import AgentCoreError
from agentcore.guard import Change, GuardedWriteError, Report, Unshown, guard

Json = dict[str, Any]


def conversation() -> list[Json]:
    return [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "you"}]},
    ]


def changed(write: Callable[[Any], object], given: Any) -> Report:
    with guard(given) as report:
        write(given)
    return report


def one(write: Callable[[Any], object], given: Any) -> Change:
    (change,) = changed(write, given).changes
    return change


def facts(report: Report) -> list[tuple[str, str, object, object]]:
    return [(change.path, change.kind, change.before, change.after) for change in report.changes]


# ---------------------------------------------------------------- kinds of changes


def test_nothing_is_reported_of_code_that_only_reads() -> None:
    given = conversation()
    report = changed(lambda messages: [{**message, "content": "x"} for message in messages], given)
    assert not report
    assert report.changes == ()
    assert str(report) == "nothing was changed"
    report.require_unchanged()


def test_a_text_that_is_overwritten_is_a_write_of_its_message() -> None:
    change = one(lambda messages: messages[0].update(content="hello!"), conversation())
    assert change == Change(
        path="$[0].content", aliases=(), kind="replaced", before="hello", after="hello!", in_place=True
    )


def test_an_appended_message_is_added_at_its_new_place() -> None:
    change = one(lambda messages: messages.append({"role": "user", "content": ["x"]}), conversation())
    assert (change.path, change.kind, change.before) == ("$[2]", "added", None)
    assert change.after == immutabledict({"role": "user", "content": ("x",)})
    assert change.in_place


def test_a_removed_message_is_reported_at_its_old_place() -> None:
    change = one(lambda messages: messages.pop(0), conversation())
    assert (change.path, change.kind, change.after) == ("$[0]", "removed", None)
    assert change.before == immutabledict(role="user", content="hello")


def test_a_message_put_before_the_others_is_one_change() -> None:
    change = one(lambda messages: messages.insert(0, {"role": "system"}), conversation())
    assert (change.path, change.kind) == ("$[0]", "added")


def test_a_message_in_the_place_of_another_is_a_replacement_and_the_old_one_is_as_it_was() -> None:
    def replace(messages: list[Json]) -> None:
        messages[0] = {**messages[0], "content": "hello!"}

    change = one(replace, conversation())
    assert (change.path, change.kind, change.in_place) == ("$[0]", "replaced", False)
    assert change.before == immutabledict(role="user", content="hello")
    assert change.after == immutabledict(role="user", content="hello!")


def test_an_equal_object_in_the_place_of_another_is_a_replacement() -> None:
    def replace(messages: list[Json]) -> None:
        messages[0] = dict(messages[0])

    change = one(replace, conversation())
    assert (change.path, change.in_place, change.before == change.after) == ("$[0]", False, True)


def test_an_equal_text_in_the_place_of_another_is_no_change() -> None:
    given = [{"content": "some text"}]
    assert not changed(lambda messages: messages[0].update(content=" some text"[1:]), given)


def test_keys_are_added_and_removed() -> None:
    def rename(messages: list[Json]) -> None:
        messages[0]["name"] = messages[0].pop("content")

    assert facts(changed(rename, conversation())) == [
        ("$[0].content", "removed", "hello", None),
        ("$[0].name", "added", None, "hello"),
    ]


def test_a_new_order_of_keys_is_reported() -> None:
    def turn_round(messages: list[Json]) -> None:
        messages[0]["role"] = messages[0].pop("role")

    change = one(turn_round, conversation())
    assert (change.path, change.kind) == ("$[0]", "reordered")
    assert (change.before, change.after) == (("role", "content"), ("content", "role"))


def test_a_new_order_of_messages_is_reported() -> None:
    first, second = conversation()
    report = changed(lambda messages: messages.reverse(), [first, second])
    assert sorted(change.kind for change in report.changes) == ["added", "removed"]


def test_what_is_changed_and_changed_back_is_no_change() -> None:
    def there_and_back(messages: list[Json]) -> None:
        messages.append(messages.pop())
        messages[0]["content"] = "x"
        messages[0]["content"] = "hello"

    assert not changed(there_and_back, conversation())


def test_an_object_that_nothing_leads_to_any_more_is_still_compared() -> None:
    def write_and_drop(messages: list[Json]) -> None:
        messages[0]["content"] = "x"
        messages.clear()

    assert [change.path for change in changed(write_and_drop, conversation()).changes] == [
        "$[0]",
        "$[1]",
        "$[0].content",
    ]


def test_changes_stand_in_the_order_in_which_one_reads_what_was_given() -> None:
    def write(messages: list[Json]) -> None:
        messages[1]["content"][1]["text"] = "2"
        messages[1]["content"][0]["text"] = "1"
        messages[0]["content"] = "0"

    report = changed(write, conversation())
    assert [change.after for change in report.changes] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (1, True),
        (True, 1.0),
        (1.0, 1),
        (1, math.nan),
        (0.0, -0.0),
        (None, False),
        ("a", b"a"),
        (bytearray(b"a"), b"a"),
        ((1,), [1]),
    ],
)
def test_values_that_python_takes_for_equal_are_told_apart(before: object, after: object) -> None:
    assert changed(lambda given: given.update(n=after), {"n": before})


def test_a_nan_in_the_place_of_a_nan_is_no_change() -> None:
    assert not changed(lambda given: given.update(n=float("nan")), {"n": math.nan})


# ---------------------------------------------------------------- other containers


def test_a_list_in_a_tuple_is_looked_into() -> None:
    assert facts(changed(lambda given: given[1].append(3), (1, [2]))) == [("$[1][1]", "added", None, 3)]


def test_members_of_sets_are_told_apart_by_class_and_value() -> None:
    def write(given: set[object]) -> None:
        given.clear()
        given.update((True, "b"))

    report = changed(write, {1, "b"})
    assert facts(report) == [("${1}", "removed", 1, None), ("${True}", "added", None, True)]


def test_bytes_that_are_overwritten_are_reported_as_a_whole() -> None:
    given = {"data": bytearray(b"abc")}
    change = one(lambda shown: shown["data"].__setitem__(0, 0), given)
    assert (change.path, change.before, change.after) == ("$.data", b"abc", b"\0bc")
    assert change.in_place


def test_keys_that_are_no_names_are_written_as_python_writes_them() -> None:
    def write(given: dict[Any, int]) -> None:
        for key in given:
            given[key] = 1

    report = changed(write, {"a b": 0, 7: 0, None: 0, ("x", 1): 0})
    assert [change.path for change in report.changes] == ["$['a b']", "$[7]", "$[None]", "$[('x', 1)]"]


def test_objects_in_keys_are_looked_into() -> None:
    inner: list[int] = []
    assert facts(changed(lambda _: inner.append(1), {_Key(inner): 1})) == [
        ("${<_Key>}.held[0]", "added", None, 1)
    ]


class _Key:
    def __init__(self, held: list[int]) -> None:
        self.held = held


# ---------------------------------------------------------------- other paths


def test_every_path_of_a_written_object_is_given() -> None:
    part = {"type": "text", "text": "a"}
    given = [{"content": [part]}, {"content": [part, part]}]
    change = one(lambda _: part.update(text="b"), given)
    assert change.paths == ("$[0].content[0].text", "$[1].content[0].text", "$[1].content[1].text")
    assert change.aliases == change.paths[1:]
    assert change.all_aliases


def test_aliases_above_the_written_object_count() -> None:
    message = {"content": [{"text": "a"}]}
    change = one(lambda _: message["content"][0].update(text="b"), {"all": [message], "last": message})
    assert change.paths == ("$.last.content[0].text", "$.all[0].content[0].text")


def test_a_path_goes_through_no_object_twice() -> None:
    message: Json = {"content": "a"}
    message["self"] = message
    given = [message]
    message["all"] = given
    change = one(lambda _: message.update(content="b"), given)
    assert change.paths == ("$[0].content",)
    assert change.all_aliases


def test_of_very_many_paths_a_thousand_are_given() -> None:
    leaf = {"n": 0}
    value: Any = leaf
    for _ in range(40):
        value = [value, value]
    change = one(lambda _: leaf.update(n=1), value)
    assert len(change.paths) == 1_000
    assert change.path == "$" + "[0]" * 40 + ".n"
    assert not change.all_aliases
    assert str(change).endswith(", and more")


def test_an_object_is_found_where_almost_all_ways_lead_in_circles() -> None:
    knot: list[Any] = [[] for _ in range(12)]
    for each in knot:
        each.extend(other for other in knot if other is not each)
    leaf: Json = {"n": 0}
    knot[0].append(leaf)
    change = one(lambda _: leaf.update(n=1), [[[knot[5]]]])
    assert change.path == "$[0][0][0][0][11].n"


# ---------------------------------------------------------------- what is given


def test_several_values_are_numbered() -> None:
    messages, options = conversation(), {"temperature": 0}
    with guard(messages, options) as report:
        options["temperature"] = 1
        messages[0]["content"] = "x"
    assert [change.path for change in report.changes] == ["$[0][0].content", "$[1].temperature"]


def test_a_value_that_both_arguments_hold_has_both_paths() -> None:
    messages = conversation()
    with guard(messages, {"messages": messages}) as report:
        messages.append({})
    assert report.changes[0].paths == ("$[0][2]", "$[1].messages[2]")


@pytest.mark.parametrize("value", [1, "x", None, len])
def test_a_value_that_holds_nothing_is_unchanged(value: object) -> None:
    with guard(value) as report:
        pass
    assert not report


def test_deep_values_are_looked_into_to_their_ground_and_shown_to_a_depth() -> None:
    value: Any = []
    innermost = value
    for _ in range(3_000):
        value = [value]
    change = one(lambda _: innermost.append(1), value)
    assert change.path == "$" + "[0]" * 3_001
    with guard([]) as report:
        pass
    holder: list[Any] = []
    shown = one(lambda given: given.append(value), holder).after
    for _ in range(50):
        (shown,) = shown
    assert shown == Unshown("list", "depth")
    assert not report


def test_an_object_that_is_held_twice_is_shown_at_both_places() -> None:
    part = {"text": "a"}
    assert one(lambda given: given.append([part, part]), []).after == (immutabledict(part),) * 2


def test_a_cycle_is_shown_once() -> None:
    message: Json = {"role": "user"}
    message["self"] = message
    change = one(lambda given: given.append(message), [])
    assert change.after == immutabledict(role="user", self=Unshown("dict", "cycle"))
    assert str(change) == "$[0]: added {'role': 'user', 'self': ...}"


def test_long_lists_are_compared_place_by_place() -> None:
    given = list(range(3_001))
    report = changed(lambda numbers: numbers.reverse(), given)
    assert len(report.changes) == 3_000
    assert {change.kind for change in report.changes} == {"replaced"}


# ---------------------------------------------------------------- the block


def test_an_exception_goes_on_and_the_report_is_there() -> None:
    messages = conversation()
    guarded = guard(messages, raises=True)
    with suppress(ZeroDivisionError), guarded as report:
        messages.pop()
        raise ZeroDivisionError
    assert [change.path for change in report.changes] == ["$[1]"]
    with pytest.raises(ZeroDivisionError), guard(messages, raises=True):
        messages[0]["content"] = 1 / 0


def test_a_guard_that_raises_names_the_places() -> None:
    messages = conversation()
    with pytest.raises(GuardedWriteError) as caught, guard(messages, raises=True):  # noqa: PT012 - two writes
        messages[1]["content"][0]["text"] = "x"
        messages[0]["role"] = "system"
    error = caught.value
    assert isinstance(error, AgentCoreError)
    assert error.paths == ("$[0].role", "$[1].content[0].text")
    assert error.path == "$[0].role"
    assert str(error) == (
        "2 places changed:\n"
        "  $[0].role: 'user' -> 'system'\n"
        "  $[1].content[0].text: 'hi' -> 'x'\n"
        "return new messages and leave these as they are"
    )


def test_a_report_raises_when_it_is_asked_to() -> None:
    with pytest.raises(GuardedWriteError, match=r"1 place changed:\n  \$\[2\]: added 1"):
        changed(lambda messages: messages.append(1), conversation()).require_unchanged()


def test_an_error_survives_pickling() -> None:
    error = GuardedWriteError(changed(lambda messages: messages.append({"a": len}), conversation()))
    again = pickle.loads(pickle.dumps(error))
    assert again.report.changes == error.report.changes
    assert again.paths == error.paths


def test_a_report_is_empty_while_the_block_runs() -> None:
    messages = conversation()
    with guard(messages) as report:
        messages.pop()
        assert not report
    assert report


def test_a_guard_is_a_decorator_too() -> None:
    messages = conversation()

    @guard(messages, raises=True)
    def hook() -> None:
        messages.pop()

    with pytest.raises(GuardedWriteError):
        hook()
    assert len(messages) == 1


class _Thing:
    pass


def test_nothing_that_was_guarded_is_kept_afterwards() -> None:
    thing, other = _Thing(), _Thing()
    holder = [thing]
    with guard(holder) as report:
        holder[0] = other
    known = weakref.ref(thing), weakref.ref(other)
    del thing, other
    holder.clear()
    gc.collect()
    assert [each() for each in known] == [None, None]
    assert report.changes[0].path == "$[0]"


def test_an_object_that_dies_in_the_block_lends_its_number_to_no_other() -> None:
    # Without the snapshot's hold, the new lists would take the places of those dropped.
    given: list[Any] = [[index] for index in range(100)]
    with guard(given) as report:
        for index in range(100):
            given[index] = None
            given[index] = [index]
    assert [change.in_place for change in report.changes] == [False] * 100


# ---------------------------------------------------------------- texts

LONG: Final = "x" * 500


def test_long_values_are_cut_in_texts_and_whole_in_changes() -> None:
    change = one(lambda messages: messages[0].update(content=LONG), conversation())
    assert change.after == LONG
    assert len(str(change)) < 200
    assert str(change).endswith("...")


def test_a_replacement_says_that_there_is_another_object() -> None:
    report = changed(lambda given: given.update(tags=["b"]), {"tags": ["a"]})
    assert str(report) == "1 place changed:\n  $.tags: another object, ['a'] -> ['b']"


def test_texts_of_all_kinds_of_values() -> None:
    held = [{1, 2}, (b"x", None), {"k": len}, {"r": 1, "s": 2}]
    report = changed(lambda given: given.extend(held), [])
    assert [str(each).partition("added ")[2] for each in report.changes] == [
        "{1, 2}",
        "[b'x', None]",
        "{'k': <builtin_function_or_method>}",
        "{'r': 1, 's': 2}",
    ]


def test_a_removal_and_a_new_order_have_texts() -> None:
    def write(given: Json) -> None:
        del given["a"]
        given["b"] = given.pop("b")

    assert str(changed(write, {"a": 1, "b": 2, "c": 3})) == (
        "2 places changed:\n  $.a: removed 1\n  $: reordered ['a', 'b', 'c'] -> ['c', 'b']"
    )
