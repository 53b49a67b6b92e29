from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.errors import ClosedMessageListError, InvalidPromptError, UnknownMessageError
from agentcore.machine.processors import MessageList, Mutation
from agentcore.messages.chains import numbered
from agentcore.messages.messages import AssistantMessage, Message, SystemMessage, UserMessage
from agentcore.messages.values import vector
from agentcore.requirements.rules import Rule
from rulebook import states

A, B, C = (UserMessage(text) for text in "abc")
NEW = AssistantMessage("new")
SYSTEM = SystemMessage("s")


def listed(*messages: Message, step: int | None = 2) -> MessageList:
    ids = numbered("initial", len(messages))
    return MessageList(vector(messages), lambda: ids, vector([SYSTEM]), ("p", step))


# ---------------------------------------------------------------- reading and changing


def test_a_list_reads_as_its_messages_with_their_ids() -> None:
    made = listed(A, B)
    assert (len(made), list(made), list(made.ids)) == (2, [A, B], ["initial-0", "initial-1"])
    assert (made.get("initial-1"), made.get("initial-2")) == (B, None)
    assert list(made.system_messages) == [SYSTEM]
    assert repr(made) == "<MessageList: 2 messages>"
    assert (list(listed()), len(listed())) == ([], 0)


@pytest.mark.parametrize(
    "new",
    [NEW, {"role": "assistant", "content": "new"}, [NEW], [{"role": "assistant", "content": "new"}], (NEW,)],
)
@pytest.mark.parametrize("asked", [True, False])
def test_messages_are_added_at_the_end_in_any_form_with_ids_of_the_processor(new: Any, asked: bool) -> None:
    made = listed(A)
    if asked:
        assert made.get("initial-0") is A
    assert made.add(new) == ("p-2-0",)
    assert made.add([B, C]) == ("p-2-1", "p-2-2")
    assert list(made) == [A, NEW, B, C]
    assert list(made.ids) == ["initial-0", "p-2-0", "p-2-1", "p-2-2"]
    assert made.get("p-2-1") is B
    assert made.add([]) == ()


def test_ids_of_a_processor_of_input_say_so() -> None:
    assert listed(step=None).add(A) == ("p-input-0",)


@states(Rule.PROCESSOR_SYSTEM_ADDED)
def test_system_messages_that_are_added_are_no_part_of_the_list() -> None:
    made = listed(A)
    assert made.add([SystemMessage("t"), B]) == ("p-2-0",)
    made.add(SystemMessage("u"))
    made.add_system("v")
    made.add_system([{"role": "system", "content": "w"}, "x"])
    made.add_system([])
    assert list(made) == [A, B]
    assert [message.content for message in made.system_messages] == ["s", "t", "u", "v", "w", "x"]


def test_messages_are_removed_by_their_ids() -> None:
    made = listed(A, B, C)
    made.add(NEW)
    made.remove_by_ids(["initial-1", "p-2-0", "initial-1"])
    assert (list(made), list(made.ids)) == ([A, C], ["initial-0", "initial-2"])
    made.remove_by_ids("initial-0")
    made.remove_by_ids([])
    assert (list(made), made.get("initial-2")) == ([C], C)
    assert [mutation.kind for mutation in made.mutations] == ["add", "remove", "remove"]


@states(Rule.MESSAGE_IDS_KEPT)
def test_a_message_in_the_place_of_another_has_its_id() -> None:
    made = listed(A, B, SYSTEM)
    made.replace("initial-1", {"role": "user", "content": "c"})
    made.replace("initial-2", SystemMessage("t"))
    assert list(made) == [A, C, SystemMessage("t")]
    assert made.get("initial-1") == C
    assert list(made.ids) == ["initial-0", "initial-1", "initial-2"]


def test_a_system_message_does_not_take_the_place_of_another_one() -> None:
    made = listed(A)
    with pytest.raises(InvalidPromptError, match=r"call add_system\(\)"):
        made.replace("initial-0", SYSTEM)
    assert (list(made), made.mutations) == ([A], ())


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.remove_by_ids(["initial-0", "initial-9"]),
        lambda made: made.replace("initial-9", A),
    ],
)
def test_what_is_not_there_is_an_error_and_no_change(change: Callable[[MessageList], None]) -> None:
    made = listed(A)
    with pytest.raises(UnknownMessageError, match="no message 'initial-9'"):
        change(made)
    assert (list(made), made.mutations) == ([A], ())


@pytest.mark.parametrize("new", ["text", 1, {"role": "x"}, [A, 1]])
def test_what_is_no_message_is_refused_and_no_change(new: Any) -> None:
    made = listed(A)
    changes: list[Callable[[Any], object]] = [
        made.add,
        lambda value: made.replace("initial-0", value),
        lambda value: made.add_system(["t", [value]]),  # type: ignore[list-item]
    ]
    for change in changes:
        with pytest.raises(InvalidPromptError):
            change(new)
    assert (list(made), list(made.system_messages), made.mutations) == ([A], [SYSTEM], ())


def test_iterating_is_over_the_messages_as_they_were() -> None:
    made = listed(A, B)
    for message in made:
        made.add(message)
    assert list(made) == [A, B, A, B]


# ---------------------------------------------------------------- the record


def test_every_mutation_is_on_record_in_order() -> None:
    made = listed(A, B)
    made.add([NEW, SystemMessage("t")])
    made.replace("initial-0", C)
    made.remove_by_ids(["p-2-0", "initial-0"])
    assert made.mutations == (
        Mutation("add_system", [SystemMessage("t")]),
        Mutation("add", [NEW], ids=["p-2-0"]),
        Mutation("replace", [C], ids=["initial-0"]),
        Mutation("remove", [C, NEW], ids=["initial-0", "p-2-0"]),
    )


# ---------------------------------------------------------------- the end


@states(Rule.LIST_COMMITTED_ON_RETURN)
@pytest.mark.parametrize(
    "use",
    [
        len,
        list,
        lambda made: made.ids,
        lambda made: made.system_messages,
        lambda made: made.mutations,
        lambda made: made.get("initial-0"),
        lambda made: made.add(A),
        lambda made: made.add_system("t"),
        lambda made: made.remove_by_ids([]),
        lambda made: made.replace("initial-0", B),
    ],
)
def test_a_closed_list_cannot_be_used(use: Callable[[MessageList], object]) -> None:
    made = listed(A)
    made.close()
    assert repr(made) == "<MessageList: closed>"
    with pytest.raises(ClosedMessageListError, match="of processor 'p' at step 2 is closed; use the one"):
        use(made)


def test_what_a_list_has_come_to_is_told_once_it_is_closed() -> None:
    assert listed(A).close() == (None, None, None, ())
    system = listed(A)
    system.add_system("t")
    assert system.close()[:3] == (None, None, vector([SYSTEM, SystemMessage("t")]))
    added = listed(A)
    added.add(B)
    done = [Mutation("add", [B], ids=["p-2-0"])]
    assert added.close() == added.close() == (vector([A, B]), None, None, (*done,))
    replaced = listed(A)
    replaced.replace("initial-0", B)
    assert replaced.close()[:3] == (vector([B]), vector(["initial-0"]), None)


def test_a_list_is_made_and_added_to_without_asking_for_ids() -> None:
    def ask() -> Any:
        raise AssertionError

    made = MessageList(vector([A]), ask, vector(), ("p", 0))
    made.add(B)
    assert list(made) == [A, B]
    assert made.close().ids is None


# ---------------------------------------------------------------- as plain Python has it

EDITS = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "replace", "get"]), st.integers(0, 5), st.sampled_from([A, B, C])
    ),
    max_size=8,
)


@given(st.lists(st.sampled_from([A, B, C]), max_size=4), EDITS)
def test_a_list_does_what_a_dict_of_messages_by_id_does(messages: list[Message], edits: Any) -> None:
    before = vector(messages)
    ids = numbered("initial", len(messages))
    made = MessageList(before, lambda: ids, vector(), ("p", 0))
    model = dict(zip(ids, messages, strict=True))
    for kind, number, message in edits:
        each = list(model)[number] if number < len(model) else None
        if kind == "add":
            model[made.add(message)[0]] = message
        elif kind == "remove" and each is not None:
            made.remove_by_ids([each])
            del model[each]
        elif kind == "replace" and each is not None:
            made.replace(each, message)
            model[each] = message
        elif kind == "get":
            assert made.get(each or "none") is model.get(each or "none")
    assert (list(made), list(made.ids)) == (list(model.values()), list(model))
    assert before == vector(messages)
