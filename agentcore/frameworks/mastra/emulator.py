"""Agents under the reference behaviour of Mastra, and who wrote what, when, and how far it spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final

import attrs

from agentcore.frameworks.mastra.emulation.arguments import Arguments, ListHandle, RequestContext
from agentcore.frameworks.mastra.emulation.errors import CallerError, Outcome, Tripwire
from agentcore.frameworks.mastra.emulation.loop import MastraLoop
from agentcore.frameworks.mastra.emulation.settings import Hook, Model, Processor, Settings, Tool
from agentcore.frameworks.mastra.profiles import PROFILES, MastraProfile
from agentcore.heap.boundary_log import Watch
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import UNDEFINED, HostValueError, NotEmulatedError
from agentcore.heap.js import get
from agentcore.heap.player import Playable
from agentcore.heap.player_runs import Recorded, of_watch
from agentcore.heap.pollution import Finding, Pollution, Verdict
from agentcore.heap.views import View
from agentcore.kit.emulate import (
    Conversation,
    Emulated,
    Given,
    Point,
    Probe,
    Reply,
    Turn,
    fresh,
    typed_message,
    typed_part,
    typed_results,
)
from agentcore.messages.brief import brief

__all__ = [
    "EMULATED",
    "PROFILES",
    "Arguments",
    "CallerError",
    "Finding",
    "Hook",
    "HostValueError",
    "ListHandle",
    "MastraProfile",
    "MastraRun",
    "Model",
    "NotEmulatedError",
    "Processor",
    "RequestContext",
    "Settings",
    "Snapshot",
    "Tool",
    "Tripwire",
    "Verdict",
    "View",
    "run",
]


@attrs.frozen(kw_only=True)
class MastraRun(Playable):
    """A call of an agent under a profile, ended: what the caller got, what is left, and every in-place write.

    `error` is what the call failed with, None if it did not; `tripwire` is the record of an abort. `text` is
    that of all steps, `steps` the text of each. `response` are the response's messages, `conversation` the
    stored messages and `system` the system messages at the end, `caller` the caller's own objects
    (`messages`, `context` and the options), all as plain JSON with every write in them. `snapshots` are the
    moments of the run: before each model call (`prompt`), and at the `end`.
    """

    __repr__ = brief

    profile: MastraProfile
    error: CallerError | None
    tripwire: Tripwire | None
    text: str
    steps: tuple[str, ...]
    finish_reason: str | None
    response: list[Any]
    conversation: list[Any]
    system: list[Any]
    caller: Mapping[str, Any]
    snapshots: tuple[Snapshot, ...] = attrs.field(repr=False)
    _report: Pollution = attrs.field(repr=False, eq=False)
    _watch: Watch = attrs.field(repr=False, eq=False)

    @property
    def recorded(self) -> Recorded:
        """The run as the player takes it."""
        error = None if self.error is None else f"{type(self.error).__name__}: {self.error}"
        return of_watch(self._watch, self._report, self.profile.name, error=error)

    @cached_property
    def pollution(self) -> tuple[Finding, ...]:
        """The fate of every in-place write; computed when first read."""
        return self._report.findings

    @property
    def prompts(self) -> tuple[list[dict[str, Any]], ...]:
        """The prompt of each model call, as plain JSON."""
        moments = (snapshot for snapshot in self.snapshots if snapshot.moment == "prompt")
        return tuple(snapshot.plain("prompt")["prompt"] for snapshot in moments)


def run(profile: MastraProfile | str, settings: Settings) -> MastraRun:
    """Calls an agent under a profile: a name such as "mastra@1.71.0", or one of your own.

    Processors, tools and the model get views, which they use as dicts and lists. What the emulated package
    reports as an error is in the result.

    Raises:
        KeyError: if there is no profile of that name.
        HostValueError: if settings, a tool, a hook or the model gives a value that JavaScript has no
            counterpart of (rule compat.host-values).
        NotEmulatedError: if a hook uses a part of the package that the emulation leaves out (rule
            compat.not-emulated).
    """
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    loop = MastraLoop(chosen, settings)
    watch = Watch(loop)
    outcome = loop.run()
    loop.desk.require_accepted()
    return _make_run(chosen, loop, watch, outcome)


def _make_run(profile: MastraProfile, loop: MastraLoop, watch: Watch, outcome: Outcome) -> MastraRun:
    plain = loop.store.plain
    response = outcome.response_messages
    return MastraRun(
        profile=profile,
        error=outcome.error,
        tripwire=outcome.tripwire,
        text=outcome.text,
        steps=tuple(str(told) for told in outcome.step_texts),
        finish_reason=outcome.finish_reason,
        response=[] if response is UNDEFINED else plain(response),
        conversation=plain(loop.list.messages),
        system=[plain(message) for message in loop.list.all_system()],
        caller=plain(loop.caller),
        report=Pollution(loop),
        watch=watch,
        snapshots=tuple(loop.snapshots),
    )


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


def _begin(name: str, conversation: Conversation, hook: Probe, at: str, path: str) -> Turn:
    return lambda given: _turn(name, conversation, hook, at, path, given)


def _turn(  # noqa: PLR0913, PLR0917 - one run
    name: str, conversation: Conversation, hook: Probe, at: str, path: str, given: list[Any]
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


def _settings(conversation: Conversation, hook: Probe, at: str) -> dict[str, Any]:
    def answer(options: Any) -> Sequence[Mapping[str, Any]]:
        return [typed_part(part) for part in conversation.answer(options["prompt"])]

    def called(given: Arguments) -> Any:
        return hook(_argument(given))

    def execute(given: Any) -> Any:
        # A tool does not get the id of its call; the inputs of all calls are different.
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
