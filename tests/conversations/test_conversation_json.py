from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.conversations.conversation import Conversation, KeptMessages, Turn
from agentcore.conversations.saved import VERSION, conversation_from_json, conversation_to_json
from agentcore.errors import InvalidConversationError
from agentcore.kit.program import accepts, message_schema, schema
from agentcore.messages.messages import UserMessage
from strategies import messages, messages_without_bytes
from turns import Planned, plans, said, turn_of


def folded(planned: list[Planned]) -> Conversation:
    conversation = Conversation()
    for one in planned:
        conversation = conversation.with_turn(one.turn)
    return conversation


SMALL = (
    Conversation()
    .with_turn(turn_of(None, "hi", "hello", turn_id="t0"))
    .with_turn(
        Turn(
            id="t1",
            parent="t0",
            messages=[said("t1", 0, UserMessage("and?"))],
            context=[
                said("t1", 1, UserMessage("summary"), given_by="hook", hook="h", step=0),
                KeptMessages(2, 1),
            ],
            metadata={"who": "a"},
        )
    )
    .edit("t1-0", UserMessage("or?"))
)


def again(conversation: Conversation) -> Conversation:
    return conversation_from_json(json.loads(json.dumps(conversation_to_json(conversation))))


# ---------------------------------------------------------------- what is written is read


@pytest.mark.slow
@given(plans(message=messages), st.data())
def test_a_conversation_that_is_saved_and_loaded_is_the_same(
    planned: list[Planned], data: st.DataObject
) -> None:
    conversation = folded(planned)
    said_so_far = [one.id for turn in conversation.turns for one in turn.messages]
    if said_so_far:
        chosen = data.draw(st.sampled_from(said_so_far))
        conversation = data.draw(
            st.sampled_from(
                [conversation, conversation.before(chosen), conversation.edit(chosen, UserMessage("e"))]
            )
        )
    loaded = again(conversation)
    assert loaded == conversation
    assert loaded.context == conversation.context
    assert conversation_to_json(loaded) == conversation_to_json(conversation)


@pytest.mark.slow
@given(plans(message=messages_without_bytes))
def test_what_is_written_passes_the_schema(planned: list[Planned]) -> None:
    written = conversation_to_json(folded(planned))
    assert accepts(jsonschema_rs.validator_for(schema("saved-conversation")), written)
    said_in = [each for turn in written["turns"] for each in turn["messages"] if not isinstance(each, str)]
    assert accepts(message_schema(), [one["message"] for one in said_in])


def test_a_message_that_turns_share_is_written_once() -> None:
    conversation = SMALL.at("t0")
    for name in "abc":
        shared = conversation.message_of("t0-0")
        conversation = conversation.with_turn(Turn(id=name, messages=[shared]))
    text = json.dumps(conversation_to_json(conversation))
    assert text.count('"hi"') == 1
    assert text.count('"t0-0"') == 4
    assert again(conversation).turn_of("c").messages[0] is not None
    loaded = again(conversation)
    assert loaded.turn_of("c").messages[0] is loaded.turn_of("t0").messages[0]


def test_the_json_is_as_the_specification_says() -> None:
    assert conversation_to_json(SMALL) == {
        "version": VERSION,
        "turns": [
            {
                "id": "t0",
                "messages": [
                    {"id": "t0-0", "message": {"role": "user", "content": "hi"}, "givenBy": "caller"},
                    {
                        "id": "t0-1",
                        "message": {"role": "assistant", "content": "hello"},
                        "givenBy": "run",
                        "step": 0,
                    },
                ],
            },
            {
                "id": "t1",
                "parent": "t0",
                "messages": [
                    {"id": "t1-0", "message": {"role": "user", "content": "and?"}, "givenBy": "caller"}
                ],
                "context": [
                    {
                        "id": "t1-1",
                        "message": {"role": "user", "content": "summary"},
                        "givenBy": "hook",
                        "step": 0,
                        "hook": "h",
                    },
                    [2, 1],
                ],
                "metadata": {"who": "a"},
            },
        ],
        "head": "t0",
        "given": [{"message": {"role": "user", "content": "or?"}, "replaces": "t1-0"}],
    }


# ---------------------------------------------------------------- JSON that is no conversation


def _put(keys: tuple[str | int, ...], value: Any) -> Any:
    written = conversation_to_json(SMALL)
    at: Any = written
    for key in keys[:-1]:
        at = at[key]
    if value is KeyError:
        del at[keys[-1]]
    else:
        at[keys[-1]] = value
    return written


@pytest.mark.parametrize(
    ("keys", "value", "path"),
    [
        (("version",), 2, "$.version"),
        (("version",), True, "$.version"),
        (("version",), KeyError, "$.version"),
        (("more",), 1, "$.more"),
        (("head",), KeyError, "$.head"),
        (("head",), 1, "$.head"),
        (("head",), "x", "$.head"),
        (("turns",), {}, "$.turns"),
        (("turns", 0), 1, "$.turns[0]"),
        (("turns", 0, "id"), 1, "$.turns[0].id"),
        (("turns", 0, "id"), KeyError, "$.turns[0].id"),
        (("turns", 1, "id"), "t0", "$.turns[1].id"),
        (("turns", 1, "parent"), "x", "$.turns[1].parent"),
        (("turns", 1, "parent"), None, "$.turns[1].parent"),
        (("turns", 1, "more"), 1, "$.turns[1].more"),
        (("turns", 0, "messages"), KeyError, "$.turns[0].messages"),
        (("turns", 0, "messages"), "hi", "$.turns[0].messages"),
        (("turns", 0, "messages", 0), 1, "$.turns[0].messages[0]"),
        (("turns", 0, "messages", 0), "x", "$.turns[0].messages[0]"),
        (("turns", 0, "messages", 0, "turn"), "x", "$.turns[0].messages[0].turn"),
        (("turns", 0, "messages", 1, "step"), -1, "$.turns[0].messages[1].step"),
        (("turns", 0, "messages", 1, "givenBy"), "me", "$.turns[0].messages[1].givenBy"),
        (("turns", 0, "messages", 1, "id"), "t0-0", "$.turns[0].messages[1].id"),
        (("turns", 0, "messages", 1, "message", "content"), 1, "$.turns[0].messages[1].message.content"),
        (("turns", 0, "messages", 1, "message", "role"), "x", "$.turns[0].messages[1].message.role"),
        (("turns", 1, "context"), 1, "$.turns[1].context"),
        (("turns", 1, "context", 1), [2], "$.turns[1].context[1]"),
        (("turns", 1, "context", 1), [-1, 1], "$.turns[1].context[1]"),
        (("turns", 1, "context", 1), [2, 2], "$.turns[1].context[1]"),
        (("turns", 1, "context", 1), "x", "$.turns[1].context[1]"),
        (("turns", 1, "metadata"), [], "$.turns[1].metadata"),
        (("turns", 1, "runStart"), 1.5, "$.turns[1].runStart"),
        (("given",), 1, "$.given"),
        (("given", 0), "x", "$.given[0]"),
        (("given", 0), 1, "$.given[0]"),
        (("given", 0, "replaces"), "x", "$.given[0]"),
        (("given", 0, "replaces"), KeyError, "$.given[0].replaces"),
        (("given", 0, "message", "role"), "x", "$.given[0].message.role"),
    ],
)
def test_json_that_is_no_conversation_is_refused_with_its_place(
    keys: tuple[str | int, ...], value: Any, path: str
) -> None:
    with pytest.raises(InvalidConversationError) as raised:
        conversation_from_json(_put(keys, value))
    assert raised.value.path == path


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_what_is_no_object_is_refused(value: object) -> None:
    with pytest.raises(InvalidConversationError, match=r"\$: expected an object"):
        conversation_from_json(value)


def test_what_a_saved_conversation_comes_to_is_bounded() -> None:
    """Each turn doubles the context: forty of them would come to a billion messages."""
    turns: list[dict[str, Any]] = [
        {
            "id": "t0",
            "messages": [{"id": "m", "message": {"role": "user", "content": "x"}, "givenBy": "caller"}],
        }
    ]
    for number in range(1, 41):
        kept = [0, 2 ** (number - 1)]
        turns.append(
            {"id": f"t{number}", "parent": f"t{number - 1}", "messages": [], "context": [kept, kept]}
        )
    bomb = {"version": 1, "turns": turns, "head": "t40", "given": []}
    with pytest.raises(InvalidConversationError) as raised:
        conversation_from_json(bomb)
    assert raised.value.path.endswith(".context")
    with pytest.raises(InvalidConversationError):
        conversation_from_json({**bomb, "turns": turns[:4], "head": "t3"}, limit=10)
    assert len(conversation_from_json({**bomb, "turns": turns[:4], "head": "t3"}, limit=14)) == 8
