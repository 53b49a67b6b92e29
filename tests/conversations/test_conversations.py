from __future__ import annotations

import copy
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from agentcore.conversations.conversation import (
    Conversation,
    EditedMessage,
    KeptMessages,
    Turn,
    TurnMessage,
    new_id,
)
from agentcore.errors import ImmutableWriteError, InvalidConversationError, NotInConversationError
from agentcore.messages.messages import AssistantMessage, UserMessage
from turns import Planned, plans, said, turn_of


def ids(messages: Any) -> list[str]:
    return [one.id for one in messages]


def folded(planned: list[Planned]) -> Conversation:
    conversation = Conversation()
    for one in planned:
        conversation = conversation.with_turn(one.turn)
    return conversation


def talk(*ends: tuple[str, ...]) -> Conversation:
    """A conversation of one branch, its turns named by their places."""
    conversation = Conversation()
    for number, texts in enumerate(ends):
        conversation = conversation.with_turn(turn_of(conversation.head, *texts, turn_id=f"t{number}"))
    return conversation


# ---------------------------------------------------------------- beside a plain model


@given(plans())
def test_a_tree_of_turns_is_what_a_plain_model_says(planned: list[Planned]) -> None:
    conversation = folded(planned)
    assert list(conversation.turns) == [one.turn for one in planned]
    assert conversation.head == (planned[-1].turn.id if planned else None)
    for one in planned:
        here = conversation.at(one.turn.id)
        assert (ids(here.record), ids(here.context)) == (one.record, one.context)
        assert [*here] == [*here.messages] == [message.message for message in here.context]
        assert here.turn == one.turn == conversation.turn_of(one.turn.id)
        assert here.path[-1] is here.turn
        for message in one.turn.own:
            assert conversation.message_of(message.id) == message


@given(plans())
def test_turns_given_at_once_make_the_conversation_that_they_make_one_by_one(planned: list[Planned]) -> None:
    grown = folded(planned)
    made = Conversation(turns=[one.turn for one in planned], head=grown.head)
    assert made == grown
    assert hash(made) == hash(grown)
    for name in ("path", "context", "context_messages"):
        assert getattr(made, name) == getattr(grown, name)


@given(plans())
def test_a_conversation_survives_copies_and_pickles(planned: list[Planned]) -> None:
    conversation = folded(planned)
    assert copy.deepcopy(conversation) is conversation
    again = pickle.loads(pickle.dumps(conversation))
    assert again == conversation
    assert again.context == conversation.context


@given(plans(most=5), plans(most=5))
def test_two_branches_of_one_value_do_not_see_each_other(one: list[Planned], other: list[Planned]) -> None:
    base = folded(one)
    renamed = [turn_of(base.head, "x", turn_id=f"x{n}") for n in range(len(other))]
    left, right = base, base
    for turn in renamed:
        left = left.with_turn(turn_of(left.head, "l", turn_id=f"l-{turn.id}"))
        right = right.with_turn(turn_of(right.head, "r", turn_id=f"r-{turn.id}"))
    assert base == folded(one)
    for turn in renamed:
        assert left.find_turn(f"r-{turn.id}") is None
        assert right.find_turn(f"l-{turn.id}") is None
        assert left.turn_of(f"l-{turn.id}").id == f"l-{turn.id}"
        assert right.turn_of(f"r-{turn.id}").id == f"r-{turn.id}"
    for planned in one:
        assert left.turn_of(planned.turn.id) is right.turn_of(planned.turn.id) is planned.turn


# ---------------------------------------------------------------- branches


def test_before_a_message_the_next_turn_begins_with_what_stands_before_it() -> None:
    conversation = talk(("hi", "hello"), ("and?", "calls", "tool", "done"))
    before = conversation.before("t1-2")
    assert before.head == "t0"
    assert ids(before.given) == ["t1-0", "t1-1"]
    assert [one.content for one in before] == ["hi", "hello", "and?", "calls"]
    assert len(before) == 4
    assert before.turns == conversation.turns
    assert conversation.before("t0-0") == conversation.at(None)


def test_an_edited_message_stands_in_the_place_of_the_old_one() -> None:
    conversation = talk(("hi", "hello"), ("and?", "done"))
    edited = conversation.edit("t0-0", UserMessage("HI"))
    assert edited.given[0] == EditedMessage(UserMessage("HI"), "t0-0")
    assert [one.content for one in edited] == ["HI"]
    assert [one.content for one in edited[:]] == ["HI"]
    assert edited[0] == UserMessage("HI")
    assert ids(edited.at("t1").record) == ["t0-0", "t0-1", "t1-0", "t1-1"]


def test_a_message_that_branches_share_is_looked_for_on_the_path_first() -> None:
    conversation = talk(("hi", "hello"))
    shared = conversation.message_of("t0-0")
    other = Turn(id="u", messages=[shared, said("u", 1, AssistantMessage("other"), given_by="run")])
    branched = conversation.with_turn(other)
    assert ids(branched.before("u-1").given) == ["t0-0"]
    assert ids(branched.before("t0-1").given) == ["t0-0"]
    assert [turn.id for turn in branched.branches()] == ["t0", "u"]
    assert list(branched.branches("t0")) == []
    assert list(other.given) == [shared]
    assert ids(other.responses) == ["u-1"]


def test_a_message_of_the_context_only_is_in_no_record() -> None:
    summary = said("t", 1, UserMessage("summary"), given_by="hook", hook="compact")
    turn = Turn(id="t", messages=[said("t", 0, UserMessage("a"))], context=[summary])
    conversation = Conversation().with_turn(turn)
    assert [one.content for one in conversation] == ["summary"]
    assert ids(conversation.record) == ["t-0"]
    assert conversation.message_of("t-1") == summary
    assert list(turn.injected) == [summary]
    with pytest.raises(NotInConversationError) as raised:
        conversation.before("t-1")
    assert (raised.value.kind, raised.value.id) == ("message", "t-1")


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda one: one.at("x"), "turn"),
        (lambda one: one.turn_of("x"), "turn"),
        (lambda one: one.message_of("x"), "message"),
        (lambda one: one.before("x"), "message"),
        (lambda one: one.edit("x", UserMessage("y")), "message"),
    ],
)
def test_what_is_not_there_is_named(ask: Callable[[Conversation], Any], kind: str) -> None:
    with pytest.raises(NotInConversationError, match=f"no {kind} 'x'"):
        ask(talk(("hi",)))


# ---------------------------------------------------------------- turns that do not fit


def test_a_turn_that_is_there_is_not_added_again() -> None:
    conversation = talk(("hi",), ("and?",))
    first = conversation.turns[0]
    again = conversation.with_turn(first)
    assert again.turns is conversation.turns
    assert again.head == "t0"
    with pytest.raises(InvalidConversationError, match=r"\$\.id: another turn has the id 't0'"):
        conversation.with_turn(turn_of(None, "other", turn_id="t0"))


# Untyped, to be given what they refuse.
TURN: Any = Turn
MESSAGE: Any = TurnMessage
CONVERSATION: Any = Conversation
_OTHER = said("u", 0, UserMessage("x"))


@pytest.mark.parametrize(
    ("turn", "path"),
    [
        (turn_of("x", "a", turn_id="u"), "$.parent"),
        (Turn(id="u", parent="t0", messages=[said("t0", 0, UserMessage("other"))]), "$.messages[0]"),
        (Turn(id="u", parent="t0", messages=[said("x", 0, UserMessage("hi"))]), "$.messages[0]"),
        (Turn(id="u", parent="t0", messages=[_OTHER, _OTHER]), "$.messages[1].id"),
        (
            Turn(id="u", messages=[TurnMessage(id="t0-0", turn="u", message=UserMessage("hi"))]),
            "$.messages[0].id",
        ),
        (Turn(id="u", messages=[_OTHER], context=[_OTHER]), "$.context[0].id"),
        (Turn(id="u", messages=[_OTHER], context=[KeptMessages(0, 1), KeptMessages(0, 2)]), "$.context[1]"),
        (Turn(id="u", messages=[_OTHER], context=[KeptMessages(-1, 1)]), "$.context[0]"),
        (Turn(id="u", messages=[_OTHER], context=[KeptMessages(0, 0)]), "$.context[0]"),
    ],
)
def test_a_turn_that_does_not_fit_is_refused_with_its_place(turn: Turn, path: str) -> None:
    conversation = talk(("hi",))
    with pytest.raises(InvalidConversationError) as raised:
        conversation.with_turn(turn)
    assert raised.value.path == path
    with pytest.raises(InvalidConversationError) as raised:
        Conversation(turns=[*conversation.turns, turn], head="u")
    assert raised.value.path == f"$.turns[1]{path[1:]}"


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: TURN(id=1, messages=[]), "$.id"),
        (lambda: TURN(id="t", messages=[UserMessage("x")]), "$.messages[0]"),
        (lambda: Turn(id="t", messages=[], metadata={"at": object()}), "$.metadata.at"),
        (lambda: TURN(id="t", messages=[], metadata=[]), "$.metadata"),
        (lambda: MESSAGE(id="t", turn="t", message="x"), "$.message"),
        (lambda: MESSAGE(id="t", turn="t", message=UserMessage("x"), given_by="me"), "$.given_by"),
        (lambda: CONVERSATION(turns=[1]), "$.turns[0]"),
        (lambda: Conversation(head="t"), "$.head"),
        (lambda: Conversation(turns=talk(("a",)).turns, head="t0", given=[_OTHER]), "$.given[0]"),
        (
            lambda: Conversation(turns=talk(("a",)).turns, given=[EditedMessage(UserMessage("x"), "u")]),
            "$.given[0]",
        ),
    ],
)
def test_what_is_none_of_these_is_refused_with_its_place(make: Any, path: str) -> None:
    with pytest.raises(InvalidConversationError) as raised:
        make()
    assert raised.value.path == path


@pytest.mark.parametrize(
    "write",
    [
        lambda one: one.append(UserMessage("x")),
        lambda one: one.clear(),
        lambda one: one.turns.append(1),
        lambda one: setattr(one, "head", None),
        lambda one: one.turns[0].metadata.update(a=1),
        lambda one: setattr(one.turns[0].messages[0], "message", None),
    ],
)
def test_nothing_of_a_conversation_can_be_written(write: Callable[[Any], Any]) -> None:
    conversation = talk(("hi",))
    with pytest.raises(ImmutableWriteError):
        write(conversation)
    assert conversation == talk(("hi",))


# ---------------------------------------------------------------- what a turn costs


def _nodes(one: Any) -> set[int]:
    found: set[int] = set()
    pending: list[Any] = [one._root]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            found.add(id(node))
            pending += node
    return found


def test_two_turns_share_structure() -> None:
    conversation = Conversation()
    for number in range(200):
        conversation = conversation.with_turn(turn_of(conversation.head, "a", "b", turn_id=f"t{number}"))
    after = conversation.with_turn(turn_of(conversation.head, "a", "b", turn_id="last"))
    for name in ("turns", "path", "context", "context_messages"):
        before, now = _nodes(getattr(conversation, name)), _nodes(getattr(after, name))
        assert len(now - before) <= 4, name


def test_a_turn_costs_the_same_after_a_thousand_as_after_ten() -> None:
    def calls_of(conversation: Conversation) -> int:
        turn = turn_of(conversation.head, "a", "b")
        count = 0

        def traced(*_: Any) -> None:
            nonlocal count
            count += 1

        before = sys.getprofile()
        sys.setprofile(traced)
        try:
            conversation.with_turn(turn)
        finally:
            sys.setprofile(before)
        return count

    conversation = Conversation()
    counts = {}
    for number in range(1001):
        if number in (10, 1000):
            # Two turns at once, so that neither is where a vector makes a node.
            counts[number] = min(calls_of(conversation), calls_of(conversation.at(conversation.head)))
        conversation = conversation.with_turn(turn_of(conversation.head, "a", "b"))
    assert counts[1000] <= counts[10] * 2


def test_threads_that_add_to_one_value_each_have_their_own() -> None:
    base = talk(*[("hi",)] * 20)
    made: list[Conversation] = []

    def add(name: str) -> None:
        conversation = base
        for number in range(50):
            conversation = conversation.with_turn(turn_of(conversation.head, "x", turn_id=f"{name}{number}"))
        made.append(conversation)

    threads = [threading.Thread(target=add, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for conversation in made:
        assert Conversation(turns=conversation.turns, head=conversation.head) == conversation
        assert [conversation.turn_of(turn.id) is turn for turn in conversation.turns] == [True] * 70


def test_ids_differ() -> None:
    assert len({new_id() for _ in range(1000)}) == 1000
