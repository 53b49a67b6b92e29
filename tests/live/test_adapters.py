"""An adapter is short, in Python and in JavaScript: what adapters share is in the live core."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Final

import pytest

from agentcore import live
from agentcore.live.adapter import (
    Attached,
    around,
    as_async_method,
    as_object,
    boundaries,
    members,
    observer,
    rewriting,
)
from agentcore.live.adapters import MODULES
from agentcore.live.conversations import conversation
from agentcore.live.runs import observe
from live.toy_loop import ADAPTER

ROOM: Final = Path(live.__file__).parent
MOST: Final = 150
PYTHON: Final = [ROOM / "adapters" / f"{name.rpartition('.')[2]}.py" for name in MODULES.values()]
FILES: Final = [
    *PYTHON,
    ROOM.parent / "skeletons" / "live_adapter.py",
    *sorted((ROOM / "js" / "adapters").glob("*.js")),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_an_adapter_has_at_most_150_lines(file: Path) -> None:
    assert len(file.read_text("utf-8").splitlines()) <= MOST


def test_each_framework_of_both_languages_is_counted() -> None:
    assert all(file.is_file() for file in FILES)
    assert {"ai.js", "skeleton.js", "live_adapter.py"} < {file.name for file in FILES}


# ---------------------------------------------------------------- what adapters share


class _Request:
    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages


def test_an_around_hook_that_does_nothing_calls_on_with_its_request() -> None:
    boundary = around("request", "name", assigned=True)
    request = _Request(["a"])
    given = {"name": "n", "request": request, "handler": lambda each: [each]}
    assert boundary.parameters == ("name", "request", "handler")
    assert boundary.passive(given) == [request]
    assert boundary.messages_in is not None
    assert boundary.messages_in(given) == ["a"]
    assert (boundary.after, boundary.outlets(given)) == (False, [request])
    assert around("request", whole=False).messages_in is None


def test_a_rewriting_hook_that_does_nothing_returns_its_argument_and_may_get_what_it_returned() -> None:
    boundary = rewriting("messages", "state")
    given = {"state": 1, "messages": ["a"]}
    assert (boundary.parameters, boundary.passive(given)) == (("state", "messages"), ["a"])
    assert boundary.again is not None
    assert boundary.again(given, ["b"]) == {"state": 1, "messages": ["b"]}


def test_an_observer_that_does_nothing_returns_what_it_was_passed_or_nothing() -> None:
    given = {"event": 1, "answer": 2}
    assert observer("event", "answer").passive(given) is None
    passing = observer("event", "answer", passed="answer", context="run")
    assert (passing.passive(given), passing.after, passing.whole) == (2, True, False)
    assert passing.names((0, 1, 2)) == ("run", "event", "answer")
    assert passing.names((1, 2)) == ("event", "answer")


def test_boundaries_of_one_framework_have_the_methods_of_their_names_and_what_they_share() -> None:
    own = observer("event", methods=("on_end",))
    made = boundaries({"start": rewriting("messages"), "end": own}, prefixes=("", "a"), context="run")
    assert (made["start"].methods, made["end"].methods) == (("start", "astart"), ("on_end",))
    assert {each.context for each in made.values()} == {"run"}


def test_members_are_those_that_the_release_has() -> None:
    assert members(json, "dumps", "nothing", "loads") == (json.dumps, json.loads)


class _Middleware:
    def before(self, messages: Any) -> Any:
        """Of the framework."""
        return messages


def _sync(messages: Any) -> Any:
    return ["sync", *messages]


async def _async(messages: Any) -> Any:
    return ["async", *messages]


def test_a_function_becomes_a_method_of_the_frameworks_class_sync_or_async_as_it_is() -> None:
    made = as_object(Attached(call=_sync, is_async=False), _Middleware, "before")
    assert (isinstance(made, _Middleware), made.before(["a"])) == (True, ["sync", "a"])
    assert made.before.__doc__ == "Of the framework."
    made = as_object(Attached(call=_async, is_async=True), _Middleware, "before")
    assert asyncio.run(made.before(["a"])) == ["async", "a"]
    owner = _Middleware()
    assert as_object(Attached(call=_sync, is_async=False, owner=owner), _Middleware, "before") is owner


@pytest.mark.parametrize(("call", "is_async"), [(_sync, False), (_async, True)])
def test_a_framework_that_only_awaits_gets_a_coroutine_method(call: Any, *, is_async: bool) -> None:
    hook = Attached(call=call, is_async=is_async)
    made = as_object(hook, _Middleware, "before", as_async_method)
    assert asyncio.run(made.before(["a"])) == [call.__name__[1:], "a"]


class _Awaiting(type(ADAPTER)):  # type: ignore[misc]
    def begin(self, session: Any, hook: Any, at: str, path: str) -> Any:
        turn = super().begin(session, hook, at, path)

        async def waits(given: Any) -> Any:
            await asyncio.sleep(0)
            return turn(given)

        return waits


def test_a_framework_that_awaits_needs_an_adapter_that_says_so() -> None:
    adapter = _Awaiting()
    seen = observe(adapter, conversation(0), "before_model", "generate", 0, None, lambda _: False)
    assert isinstance(seen.error, TypeError)
    assert str(seen.error) == "toy: the framework awaits something; set `awaits` of the adapter"
    adapter.awaits = True
    seen = observe(adapter, conversation(0), "before_model", "generate", 0, None, lambda _: False)
    assert (seen.error, len(seen.shown["result"])) == (None, len(conversation(0)["turns"]))
