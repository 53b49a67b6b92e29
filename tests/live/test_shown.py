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
from agentcore.live.shown import show
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
