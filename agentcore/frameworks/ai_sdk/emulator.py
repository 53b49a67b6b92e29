"""Hooks under the reference behaviour of real frameworks, and who wrote what, when, and how far it spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final

import attrs

from agentcore.frameworks.ai_sdk.emulation.loop import AiSdkLoop
from agentcore.frameworks.ai_sdk.emulation.record import Outcome
from agentcore.frameworks.ai_sdk.emulation.settings import Hooks, Model, Settings, Tool
from agentcore.frameworks.ai_sdk.profiles import PROFILES, AiSdkProfile
from agentcore.heap.boundary_log import Watch
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import UNDEFINED, HostValueError, Store, Value
from agentcore.heap.js import elements, get
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
    "CompatRun",
    "Finding",
    "Hooks",
    "HostValueError",
    "Model",
    "Settings",
    "Snapshot",
    "Tool",
    "Verdict",
    "View",
    "run",
]


@attrs.frozen(kw_only=True)
class CompatRun(Playable):
    """A run under a profile, ended: how it ended, what it left, and every in-place write.

    `caller` are the caller's messages as plain JSON, with every write in them. `error` is what the run failed
    with. `hung` means that the real result would never settle. `snapshots` are the moments of the run: before
    each model call (`prompt`), when a step is reported (`finish`), and at the `end`.
    """

    __repr__ = brief

    profile: AiSdkProfile
    caller: list[Any]
    finish_reason: str | None
    error: BaseException | None
    hung: bool
    snapshots: tuple[Snapshot, ...] = attrs.field(repr=False)
    _report: Pollution = attrs.field(repr=False, eq=False)
    _watch: Watch = attrs.field(repr=False, eq=False)
    _result_steps: Value = attrs.field(repr=False)

    @cached_property
    def steps(self) -> list[Mapping[str, Any]] | None:
        """The result's steps as plain JSON, with every write in them; None if the caller got no result."""
        heap = self.snapshots[-1].heap
        return None if self._result_steps is None else Store.of(heap).plain(self._result_steps)

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
        """The prompt of each step, as plain JSON."""
        moments = (snapshot for snapshot in self.snapshots if snapshot.moment == "prompt")
        return tuple(snapshot.plain("prompt") for snapshot in moments)


def run(profile: AiSdkProfile | str, settings: Settings) -> CompatRun:
    """Runs hooks, tools and a model under a profile: a name such as "ai-sdk-6/stream", or one of your own.

    Hooks get views, which they use as dicts and lists. What the emulated package reports as an error is in
    the result.

    Raises:
        KeyError: if there is no profile of that name.
        HostValueError: if settings, a tool, a hook or the model gives a value that JavaScript has no
            counterpart of (rule compat.host-values).
    """
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    loop = AiSdkLoop(chosen, settings)
    watch = Watch(loop)
    outcome = loop.run()
    loop.desk.require_accepted()
    return _make_run(chosen, loop, watch, outcome)


def _make_run(profile: AiSdkProfile, loop: AiSdkLoop, watch: Watch, outcome: Outcome) -> CompatRun:
    plain = loop.store.plain
    reason = outcome.finish_reason
    return CompatRun(
        profile=profile,
        caller=plain(loop.caller),
        finish_reason=reason if isinstance(reason, str) else None,
        error=outcome.error,
        hung=outcome.hung,
        report=Pollution(loop),
        watch=watch,
        result_steps=outcome.steps,
        snapshots=tuple(loop.snapshots),
    )


_OWN: Final = (
    *("experimental_context", "runtimeContext", "toolsContext", "context", "abortSignal"),
    *("model", "tools", "output", "experimental_output"),
)
# Hooks of settings, by the names of the real package; of its tools, by those of the emulation.
_HOOKS: Final = {
    "prepareStep": "prepare_step",
    "onStepFinish": "on_step_finish",
    "onStepEnd": "on_step_finish",
    "stopWhen": "stop_when",
    "onFinish": "on_finish",
    "onEnd": "on_finish",
    "onStart": "on_start",
    "experimental_onStart": "on_start",
    "onStepStart": "on_step_start",
    "experimental_onStepStart": "on_step_start",
    "onToolExecutionStart": "on_tool_call_start",
    "experimental_onToolCallStart": "on_tool_call_start",
    "onToolExecutionEnd": "on_tool_call_finish",
    "experimental_onToolCallFinish": "on_tool_call_finish",
    "onChunk": "on_chunk",
}
_OF_7: Final = frozenset(
    {"onStepEnd", "onEnd", "onStart", "onStepStart", "onToolExecutionStart", "onToolExecutionEnd"}
)
_OF_TOOLS: Final = {
    "execute": "execute",
    "needsApproval": "needs_approval",
    "onInputAvailable": "on_input_available",
    "toModelOutput": "to_model_output",
}
_BEFORE: Final = frozenset(
    {"prepareStep", "onStart", "onStepStart", "experimental_onStart", "experimental_onStepStart"}
)
_PASSIVE: Final[Mapping[str, Callable[[Given], Any]]] = MappingProxyType(
    {"stopWhen": lambda _: False, "needsApproval": lambda _: False}
)


def _points(release: str, output: Callable[[str], Any]) -> Mapping[str, Point]:
    is_7 = release.startswith("7.")
    found = {
        at: Point(
            after=at not in _BEFORE,
            stay=_OWN,
            passive=_PASSIVE.get(at, lambda _: None),
            offers=(lambda given: {"messages": given[""]["messages"]}) if at == "prepareStep" else None,
            paths=("stream",) if at == "onChunk" else None,
        )
        for at in _HOOKS
        if is_7 or at not in _OF_7
    }
    of_tool = partial(Point, after=True)
    options = of_tool(parameters=("options",), stay=_OWN)
    found["execute"] = of_tool(
        parameters=("input", "options"), passive=lambda given: output(given["options"]["toolCallId"])
    )
    found["needsApproval"] = of_tool(parameters=("input", "options"), passive=_PASSIVE["needsApproval"])
    found["onInputAvailable"] = options
    found["toModelOutput"] = of_tool(parameters=("options",), passive=_model_output)
    return found


def _model_output(given: Given) -> Any:
    return {"type": "json", "value": given["options"]["output"]}


# ---------------------------------------------------------------- messages


def _noted(messages: list[Any]) -> list[Any]:
    """Gives some messages and parts options of a provider, and has some texts stand alone, as people do."""
    spoken = [each for each in messages if each["role"] != "tool"]
    for number, message in enumerate(spoken, 2):
        parts = message["content"]
        if len(parts) == 1 and parts[0]["type"] == "text" and number % 2 == 0:
            message["content"] = parts[0]["text"]
        else:
            message["content"] = [_with_options(part, number + 1 + index) for index, part in enumerate(parts)]
            continue
        message.update(_with_options({}, number))
    return messages


def _with_options(target: dict[str, Any], number: int) -> dict[str, Any]:
    if number % 3 != 1:
        return target
    cached = {"anthropic": {"cacheControl": {"type": "ephemeral"}}} if number % 2 else {}
    return {**target, "providerOptions": {"app": {"tags": [f"mark {number}"]}, **cached}}


# ---------------------------------------------------------------- running


def _begin(name: str, conversation: Conversation, hook: Probe, at: str, path: str) -> Turn:
    del path  # the profile has it
    return lambda given: _turn(PROFILES[name], conversation, hook, at, given)


def _turn(profile: AiSdkProfile, conversation: Conversation, hook: Probe, at: str, given: list[Any]) -> Reply:
    chunks: list[Any] = []

    def note_chunk(event: Any) -> Any:
        chunks.append(event["chunk"])
        return hook(event)

    settings = _settings(profile, conversation, note_chunk if at == "onChunk" else hook, at)
    first = conversation.turn == 0
    loop = AiSdkLoop(profile, Settings(messages=_noted(given) if first else given, **settings))
    outcome = loop.run()
    loop.desk.require_accepted()
    if outcome.error is not None:
        raise outcome.error
    store, view = loop.store, loop.desk.view
    steps = outcome.steps
    last = elements(store, steps)[-1]
    said: Value = loop.result_messages()
    if said is UNDEFINED:
        said = get(store, get(store, last, "response"), "messages")
    conversation.holder("caller", view(loop.caller))
    conversation.holder("steps", view(steps))
    # Who reads the stream has the chunks.
    conversation.holder("observers", chunks)
    return Reply(
        messages=[*store.plain(loop.caller), *store.plain(said)],
        result={"text": get(store, last, "text"), "messages": view(said)},
    )


def _settings(profile: AiSdkProfile, conversation: Conversation, hook: Probe, at: str) -> dict[str, Any]:
    def answer(options: Any) -> Sequence[Mapping[str, Any]]:
        return [typed_part(part) for part in conversation.answer(options["prompt"])]

    def execute(_: Any, options: Any) -> Any:
        return fresh(conversation.call(options["toolCallId"])["output"])

    of_tool = {_OF_TOOLS[at]: hook} if at in _OF_TOOLS else {}
    own_tool: dict[str, Any] = {"execute": execute, **of_tool}
    tool = Tool(**own_tool)
    hooks = Hooks(**({_HOOKS[at]: hook} if at in _HOOKS else {}))
    named = "instructions" in profile.shown_to_prepare_step
    contexts: dict[str, Any] = {each: {} for each in profile.contexts.names}
    own = {"instructions": conversation.instructions} if named else {}
    return {
        "model": Model(id="scripted", answer=answer),
        "tools": dict.fromkeys(conversation.tools, tool),
        "system": None if named else conversation.instructions,
        "options": {**contexts, "maxRetries": 0, **own},
        "hooks": hooks,
    }


def _emulated(release: str, profile: str) -> dict[str, dict[str, str]]:
    return {release: {path: f"{profile}/{path}" for path in ("generate", "stream")}}


EMULATED: Final = (
    Emulated(
        framework="ai",
        releases={
            **_emulated("6.0.134", "ai-sdk-6"),
            **_emulated("6.0.326", "ai-sdk-6.0.326"),
            **_emulated("7.0.173", "ai-sdk-7"),
        },
        points=_points,
        user=partial(typed_message, "user"),
        answer=partial(typed_message, "assistant"),
        results=typed_results,
        begin=_begin,
        unexpressed={
            "6.* stream onChunk chunk run.assistant.text.change": (
                "the package's chunks of a text are deltas, and the profile has no deltas"
            )
        },
    ),
)
