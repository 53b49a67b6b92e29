from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentcore.messages.chains import Chains, fresh_ids, kept_ids, numbered, sharing
from agentcore.messages.messages import AssistantMessage, Message, UserMessage
from agentcore.messages.values import Vector, extend_vector, vector
from agentcore.requirements.rules import Rule
from rulebook import states

POOL: list[Message] = [UserMessage(f"{number}") for number in range(5)]
some = st.lists(st.sampled_from(POOL), max_size=6).map(vector)


@states(Rule.MESSAGE_IDS_KEPT)
def test_messages_are_numbered_by_their_places_in_the_chains() -> None:
    chains = Chains.start(POOL[:2]).appended([AssistantMessage("a")]).appended([AssistantMessage("b")])
    assert list(chains.ids) == ["initial-0", "initial-1", "response-0", "response-1"]


@states(Rule.MESSAGE_IDS_KEPT)
def test_after_a_lasting_edit_messages_keep_their_ids_and_responses_go_on_in_their_numbers() -> None:
    chains = Chains.start(POOL[:2]).appended([answer := AssistantMessage("a")])
    edited = chains.with_lasting([POOL[1], POOL[4], answer], by="x").appended([AssistantMessage("b")])
    assert list(edited.ids) == ["initial-1", "x-0", "response-0", "response-1"]


@given(some, some)
def test_an_id_is_kept_by_its_message_and_no_two_have_the_same(
    before: list[Message], after: list[Message]
) -> None:
    ids = numbered("initial", len(before))
    kept = kept_ids(vector(after), [(vector(before), ids)], "x")
    assert len(set(kept)) == len(kept) == len(after)
    places = dict(zip(ids, before, strict=True))
    assert all(places[each] is one for each, one in zip(kept, after, strict=True) if each in places)
    for one in POOL:
        count = [sum(each is one for each in messages) for messages in (before, after)]
        known = [each for each, message in zip(kept, after, strict=True) if message is one and each in places]
        assert len(known) == min(count)
    assert kept_ids(vector(before), [(vector(before), ids)], "x") == ids


def test_what_follows_known_messages_shares_their_ids_structure() -> None:
    messages: Vector[Message] = vector(UserMessage(f"{number}") for number in range(100))
    ids = numbered("initial", 100)
    longer = kept_ids(extend_vector(messages, [POOL[0]]), [(messages, ids)], "x")
    assert longer[100] == "x-0"
    assert longer._root is ids._root  # type: ignore[attr-defined]


def test_no_id_that_is_known_is_given_to_another_message() -> None:
    known = [(vector(POOL[:2]), vector(["x-0", "x-1"])), (vector(POOL[1:3]), vector(["x-1", "x-3"]))]
    assert list(kept_ids(vector([POOL[4], POOL[2], POOL[3]]), known, "x")) == ["x-2", "x-3", "x-4"]


@states(Rule.MESSAGE_IDS_KEPT)
def test_an_equal_message_is_the_same_message_wherever_it_was_made() -> None:
    before: Vector[Message] = vector([UserMessage("a"), UserMessage("b")])
    known = [(before, vector(["x-0", "x-1"]))]
    assert list(kept_ids(vector([UserMessage("b"), UserMessage("c")]), known, "y")) == ["x-1", "y-0"]


def test_what_comes_after_known_messages_may_be_known_from_elsewhere() -> None:
    known = [(vector(POOL[:2]), vector(["x-0", "x-1"])), (vector(POOL[1:4]), vector(["x-1", "x-3", "x-2"]))]
    longer = kept_ids(vector([*POOL[:2], POOL[3], POOL[1]]), known, "x")
    assert list(longer) == ["x-0", "x-1", "x-2", "x-4"]


def test_fresh_ids_pass_over_those_that_are_taken() -> None:
    new = fresh_ids("a", {"a-0", "a-2"})
    assert [next(new), next(new)] == ["a-1", "a-3"]
    assert list(numbered("a", 2, first=5)) == ["a-5", "a-6"]


def test_messages_that_begin_with_others_share_their_structure() -> None:
    shown: Vector[Message] = vector(UserMessage(f"{number}") for number in range(100))
    more = vector([*shown, POOL[0]])
    assert sharing(shown, more) is shown
    assert sharing(more, shown) == more
    assert sharing(more, shown)._root is shown._root  # type: ignore[attr-defined]
    assert sharing(shown, shown) is shown
    other = vector([POOL[0]])
    assert sharing(other, shown) is other
