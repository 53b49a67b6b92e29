"""What is compared between runs, and what is a write of a person's and what only follows from it."""

from __future__ import annotations

import datetime as dt
import uuid
from types import SimpleNamespace
from typing import Any

import pydantic
import pytest

from agentcore.guard.snapshot import Snapshot
from agentcore.live.copies import Data
from agentcore.live.seeded import EPOCH, seeded
from agentcore.live.shown import differences, show
from agentcore.live.writes import writes

_NOW = dt.datetime.now(dt.UTC)


@pytest.mark.parametrize(
    "value",
    [str(uuid.uuid4()), f"run--{uuid.uuid4().hex}", _NOW, _NOW.isoformat(), EPOCH, [1]],
    ids=["uuid", "run", "now", "text of now", "epoch", "list"],
)
def test_what_is_drawn_or_measured_in_a_run_is_not_compared(value: Any) -> None:
    assert show(SimpleNamespace(id=value), Data(), ("id",)) == {"<class>": "SimpleNamespace"}


@pytest.mark.parametrize("value", ["m1", "call_1", None, dt.datetime(2020, 1, 1, tzinfo=dt.UTC)])
def test_what_a_hook_makes_up_there_is_compared(value: Any) -> None:
    assert "id" in show(SimpleNamespace(id=value), Data(), ("id",))


def test_ids_of_the_hook_are_not_those_of_the_framework() -> None:
    def drawn(*, own: bool) -> uuid.UUID:
        with seeded(1, lambda _: own):
            return uuid.uuid4()

    assert drawn(own=True) == drawn(own=True)
    assert drawn(own=True) != drawn(own=False)


class _Message(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    name: str | None = None


def test_an_assigned_field_is_one_place_and_an_extra_one_is_named_as_it_is_read() -> None:
    message = _Message()
    before = Snapshot({"message": message}, Data())
    message.name = "a"
    message.more = 1  # type: ignore[attr-defined]
    assert [each.place for each in writes(before, Data(), 0, 0, "argument")] == [
        "message.name",
        "message.more",
    ]
    assert "more" in str(show(message, Data()))


def test_a_place_is_named_by_the_conversation_before_a_context_that_leads_to_it() -> None:
    message = {"parts": [{"text": "a"}]}
    given = {"ctx": {"prompt": message["parts"]}, "request_context": {"messages": [message]}}
    before = Snapshot(given, Data())
    message["parts"][0]["text"] = "b"
    (write,) = writes(before, Data(), 0, 0, "argument")
    assert write.place == "request_context.messages[0].parts[0].text"
    assert write.places[1:] == ("ctx.prompt[0].text",)


class _Named(list[Any]):
    pass


class _Counted(dict[Any, Any]):
    pass


def test_what_is_shown_of_collections_has_their_contents_and_their_class_where_it_matters() -> None:
    named = _Named([1])
    named.name = "a"  # type: ignore[attr-defined]
    assert show((1, "a"), Data()) == ["<1>", "a"]
    assert show({"b", "a"}, Data()) == ["a", "b"]
    assert show(bytearray(b"a"), Data()) == repr(b"a")
    assert show(_Counted({7: True}), Data()) == {"<class>": "_Counted", "7": "<True>"}
    assert show(named, Data()) == {"<class>": "_Named", "<items>": ["<1>"], "name": "a"}


def test_a_value_that_holds_itself_is_shown_once() -> None:
    value: dict[str, Any] = {"a": []}
    value["a"].append(value)
    assert show(value, Data()) == {"a": ["<again>"]}


def test_another_order_of_the_same_keys_is_a_difference() -> None:
    assert differences({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "b": 1}}) == [("a",)]
    assert differences([1, 2], [1]) == [(1,)]
