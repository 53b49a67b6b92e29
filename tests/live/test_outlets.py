"""What a hook assigns in place crosses when it calls on, and what the framework assigns comes back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentcore.live.adapter import Boundary
from agentcore.live.loading import Loaded
from agentcore.live.tap import Mode, Tap


class Space:
    """An object with attributes."""

    def __init__(self, **of: Any) -> None:
        self.__dict__.update(of)


AROUND = Boundary(
    ("context", "call_next"),
    handler="call_next",
    outlets=lambda given: [given["context"], given["context"].messages],
    handles=lambda given: [given["context"].session],
    kept=lambda given: [given["context"].session],
)


def run(hook: Any, mode: Mode) -> tuple[Any, list[Any], Tap]:
    """Calls a hook around a framework that shows its messages, and keeps its answer in a session."""
    context: Any = Space(messages=[{"text": "hello"}], result=None, session=Space(kept=[]))
    shown: list[Any] = []

    async def call_next() -> None:
        shown.append([each["text"] for each in context.messages])
        context.result = {"text": "answer"}
        context.session.kept.append(context.result)

    tap = Tap(Loaded(hook, is_async=True, name="hook"), AROUND, mode, lambda: (0, 0))
    asyncio.run(tap.attached().call(context, call_next))
    return context, shown, tap


@pytest.mark.parametrize("mode", Mode)
def test_what_is_assigned_before_calling_on_is_what_the_framework_sees(mode: Mode) -> None:
    async def hook(context: Any, call_next: Any) -> None:
        context.messages = [{"text": "first"}, *context.messages]
        context.messages.append({"text": "last"})
        await call_next()
        context.result = {"text": context.result["text"].upper()}

    context, shown, tap = run(hook, mode)
    assert shown == [["first", "hello", "last"]]
    assert context.result == {"text": "ANSWER"}
    assert context.session.kept == [{"text": "answer"}]
    assert tap.calls.writes == []


def test_as_a_value_a_write_below_an_outlet_does_not_land_and_is_one() -> None:
    async def hook(context: Any, call_next: Any) -> None:
        context.messages[0]["text"] = "edited"
        await call_next()

    context, shown, tap = run(hook, Mode.VALUE)
    assert (context.messages, shown) == ([{"text": "hello"}], [["hello"]])
    assert [each.place for each in tap.calls.writes] == ["context.messages[0].text"]


def test_as_a_value_what_the_framework_writes_to_a_handle_stays_and_what_the_hook_writes_does_not() -> None:
    async def hook(context: Any, call_next: Any) -> None:
        context.session.kept.append("before")
        await call_next()
        context.session.kept.append("after")

    context, _, tap = run(hook, Mode.VALUE)
    assert context.session.kept == [{"text": "answer"}]
    assert [each.source for each in tap.calls.writes] == ["handle", "handle"]
