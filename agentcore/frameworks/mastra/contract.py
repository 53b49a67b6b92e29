"""The boundaries of Mastra's emulation, for its contract (`agentcore.kit.contract`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from agentcore.frameworks.mastra.emulation.arguments import Arguments, ListHandle
from agentcore.frameworks.mastra.emulation.loop import MastraLoop
from agentcore.frameworks.mastra.emulation.settings import Model, Processor, Settings, Tool
from agentcore.frameworks.mastra.profiles import PROFILES
from agentcore.heap.js import get
from agentcore.kit.contract import (
    Conversation,
    Emulated,
    Given,
    Hook,
    Point,
    Reply,
    Turn,
    fresh,
    typed_message,
    typed_part,
    typed_results,
)

__all__ = ["EMULATED"]

_DATA: Final = ("messages", "systemMessages", "steps")
_LIST: Final = "messageList"
# The profiles of releases whose results have no stored messages (`response.dbMessages`).
_UNSTORED: Final = frozenset({"mastra@1.0.4"})
_PROCESSORS: Final = {"processInput": "process_input", "processInputStep": "process_input_step"}


def _points(release: str, output: Callable[[str], Any]) -> Mapping[str, Point]:
    del release, output  # all have the same, and no hook is a tool's
    processor = partial(Point, stay=(_LIST,), reaches=_reached)
    of_step = processor(offers=lambda given: {"messages": given[""]["messages"]})
    return {
        "processInput": processor(passive=lambda given: given[""]["messages"]),
        "processInputStep": of_step,
        "prepareStep": of_step,
    }


def _reached(given: Given) -> Mapping[str, Any]:
    return {_LIST: given[""][_LIST].get.all.db()}


def _argument(given: Arguments) -> dict[str, Any]:
    """The argument as one object; what else is in it is the framework's, or the person's own."""
    return {name: given[name] for name in (*_DATA, _LIST) if name in given}


# ---------------------------------------------------------------- messages


def _as_written(messages: list[Any]) -> list[Any]:
    """Has every other text stand alone, as people write it."""
    spoken = [each for each in messages if each["role"] != "tool"]
    for message in spoken[::2]:
        parts = message["content"]
        if len(parts) == 1 and parts[0]["type"] == "text":
            message["content"] = parts[0]["text"]
    return messages


# ---------------------------------------------------------------- running


def _begin(name: str, conversation: Conversation, hook: Hook, at: str, path: str) -> Turn:
    return lambda given: _turn(name, conversation, hook, at, path, given)


def _turn(  # noqa: PLR0913, PLR0917 - one run
    name: str, conversation: Conversation, hook: Hook, at: str, path: str, given: list[Any]
) -> Reply:
    messages = _as_written(given) if conversation.turn == 0 else given
    settings = Settings(messages=messages, **_settings(conversation, hook, at), streams=path == "stream")
    loop = MastraLoop(PROFILES[name], settings)
    outcome = loop.run()
    loop.desk.require_accepted()
    if outcome.error is not None:
        raise RuntimeError(outcome.error)
    store, view = loop.store, loop.desk.view
    caller = get(store, loop.caller, "messages")
    conversation.holder("caller", view(caller))
    stored = ListHandle(loop.desk, loop.list).get.response.db()
    said = view(outcome.response_messages) if name in _UNSTORED else stored
    return Reply(
        messages=[*store.plain(caller), *store.plain(outcome.response_messages)],
        result={"text": outcome.last_text, "messages": said},
    )


def _settings(conversation: Conversation, hook: Hook, at: str) -> dict[str, Any]:
    def answer(options: Any) -> Sequence[Mapping[str, Any]]:
        return [typed_part(part) for part in conversation.answer(options["prompt"])]

    def called(given: Arguments) -> Any:
        return hook(_argument(given))

    def execute(given: Any) -> Any:
        # A tool is not told the id of its call; the inputs of all calls are different.
        of = next(each for each in _calls(conversation) if each["input"]["query"] in str(given["query"]))
        return fresh(of["output"])

    processors = [Processor(id="checked", **{_PROCESSORS[at]: called})] if at in _PROCESSORS else []
    return {
        "model": Model(id="scripted", answer=answer),
        "instructions": conversation.instructions,
        "tools": dict.fromkeys(conversation.tools, Tool(execute=execute)),
        "processors": processors,
        "prepare_step": called if at == "prepareStep" else None,
        "max_steps": 20,
    }


def _calls(conversation: Conversation) -> list[Mapping[str, Any]]:
    return [conversation.call(number) for number in conversation.calls]


EMULATED: Final = (
    Emulated(
        framework="mastra",
        releases={
            release: dict.fromkeys(("generate", "stream"), f"mastra@{release}")
            for release in ("1.71.0", "1.0.4")
        },
        points=_points,
        user=partial(typed_message, "user"),
        answer=partial(typed_message, "assistant"),
        results=typed_results,
        begin=_begin,
        unheld={"steps": "the emulation has the texts of the result's steps, and none of its objects"},
    ),
)
