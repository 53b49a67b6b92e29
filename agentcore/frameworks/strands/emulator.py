"""Agents under the reference behaviour of Strands Agents, and who wrote what, when, and how far it spread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Final, cast

import attrs

from agentcore.frameworks.strands.emulation.loop import StrandsLoop
from agentcore.frameworks.strands.emulation.settings import (
    Hook,
    InvalidOutputError,
    Middleware,
    Model,
    Phase,
    Said,
    Settings,
    Stage,
    StructuredOutput,
    Tool,
)
from agentcore.frameworks.strands.profiles import PROFILES, StrandsProfile
from agentcore.heap.boundary_log import Watch
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import UNDEFINED, HostValueError, Ref
from agentcore.heap.js import elements
from agentcore.heap.player import Playable
from agentcore.heap.player_runs import Recorded, of_watch
from agentcore.heap.pollution import Finding, Pollution, Verdict
from agentcore.heap.views import View
from agentcore.kit.emulate import Conversation, Emulated, Given, Point, Probe, Reply, Turn, fresh
from agentcore.messages.brief import brief

__all__ = [
    "EMULATED",
    "PROFILES",
    "Finding",
    "Hook",
    "HostValueError",
    "InvalidOutputError",
    "Middleware",
    "Model",
    "Said",
    "Settings",
    "Snapshot",
    "StrandsProfile",
    "StrandsRun",
    "StructuredOutput",
    "Tool",
    "Verdict",
    "View",
    "run",
]


@attrs.frozen(kw_only=True)
class StrandsRun(Playable):
    """An agent under a profile, after its last invocation, and every in-place write of all of them.

    `results` has for each input the result (`stopReason`, `lastMessage` and more) or the error. `history`,
    `system` and `model_state` are the agent's, `caller` is what the caller gave it (`messages`, `system`,
    `inputs`, `options`, `invocationState`), all as plain JSON with every write in them. `snapshots` are the
    moments of the run: before each model call (`prompt`), and at the `end`.
    """

    __repr__ = brief

    profile: StrandsProfile
    results: tuple[Mapping[str, Any] | Exception, ...]
    history: list[Any]
    system: Any
    model_state: Mapping[str, Any]
    caller: Mapping[str, Any]
    snapshots: tuple[Snapshot, ...] = attrs.field(repr=False)
    _report: Pollution = attrs.field(repr=False, eq=False)
    _watch: Watch = attrs.field(repr=False, eq=False)

    @property
    def recorded(self) -> Recorded:
        """The run as the player takes it."""
        return of_watch(self._watch, self._report, self.profile.name)

    @cached_property
    def pollution(self) -> tuple[Finding, ...]:
        """The fate of every in-place write; computed when first read."""
        return self._report.findings

    @property
    def prompts(self) -> tuple[dict[str, Any], ...]:
        """The prompt of each provider call, as plain JSON."""
        moments = (snapshot for snapshot in self.snapshots if snapshot.moment == "prompt")
        return tuple(snapshot.plain("prompt") for snapshot in moments)


def run(profile: StrandsProfile | str, settings: Settings) -> StrandsRun:
    """Invokes an agent under a profile: a name such as "strands-py@1.62.0", or one of your own.

    Handlers, hooks, tools and the model get views, which they use as dicts and lists. What the emulated
    package raises is among the results.

    Raises:
        KeyError: if there is no profile of that name.
        HostValueError: if settings, a tool, a hook or the model gives a value that JavaScript has no
            counterpart of (rule compat.host-values).
    """
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    loop = StrandsLoop(chosen, settings)
    watch = Watch(loop)
    loop.run()
    loop.desk.require_accepted()
    return _make_run(chosen, loop, watch)


def _make_run(profile: StrandsProfile, loop: StrandsLoop, watch: Watch) -> StrandsRun:
    plain, agent, caller = loop.store.plain, loop.agent, loop.agent.caller
    given = {
        "messages": plain(caller.messages),
        "system": plain(caller.system),
        "inputs": [plain(one) for one in caller.inputs],
        "options": plain(caller.options),
        "invocationState": plain(caller.state),
    }
    results = (one.error or plain(UNDEFINED if one.result is None else one.result) for one in loop.outcomes)
    return StrandsRun(
        profile=profile,
        results=tuple(results),
        history=plain(agent.history),
        system=plain(agent.system),
        model_state=plain(agent.model_state),
        caller=given,
        report=Pollution(loop),
        watch=watch,
        snapshots=tuple(loop.snapshots),
    )


_OWN: Final = (
    *("agent", "model", "tool", "tools", "toolSpecs", "invocationState", "cancelSignal", "options"),
    *("toolChoice", "modelState", "interrupt"),
)
# The stage and phase of a handler, or the event of a hook, by the names of the packages.
_HANDLERS: Final[Mapping[str, tuple[Stage, Phase]]] = {
    "InvokeModelStage.Input": ("model", "input"),
    "ExecuteToolStage.Input": ("tool", "input"),
    "AgentStreamStage": ("stream", "wrap"),
    "invoke_model_middleware": ("model", "input"),
}
_EVENTS: Final = {
    "BeforeModelCallEvent": "beforeModel",
    "AfterModelCallEvent": "afterModel",
    "before_model_call": "beforeModel",
    "after_model_call": "afterModel",
}


def _reached(given: Given) -> Mapping[str, Any]:
    return {"agent.messages": given["agent"]["messages"]}


def _handler(name: str, **more: Any) -> Point:
    return Point(
        parameters=(name, "agent"),
        stay=(*_OWN, "agent"),
        passive=lambda given: given[name],
        reaches=_reached,
        **more,
    )


def _event(*, after: bool) -> Point:
    return Point(parameters=("event", "agent"), stay=(*_OWN, "agent"), reaches=_reached, after=after)


def _in_typescript(release: str, output: Callable[[str], Any]) -> Mapping[str, Point]:
    del release, output  # all have the same
    return {
        "InvokeModelStage.Input": _handler(""),
        "ExecuteToolStage.Input": _handler("", after=True),
        "AgentStreamStage": Point(
            parameters=("context", "next"),
            stay=_OWN,
            passive=lambda given: given["next"](given["context"]),
            goes_on="next",
        ),
        "BeforeModelCallEvent": _event(after=False),
        "AfterModelCallEvent": _event(after=True),
    }


def _in_python(release: str, output: Callable[[str], Any]) -> Mapping[str, Point]:
    del release, output  # all have the same
    return {
        "before_model_call": _event(after=False),
        "after_model_call": _event(after=True),
        "invoke_model_middleware": _handler("context"),
    }


# ---------------------------------------------------------------- messages


def _block(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] != "call":
        return {"text": part["text"]}
    use = {"name": part["tool"], "toolUseId": part["id"], "input": fresh(part["input"])}
    return {"toolUse": use}


def _message(role: str, parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"role": role, "content": [_block(part) for part in parts]}


def _results(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    results = [
        {"toolUseId": call["id"], "status": "success", "content": [{"json": fresh(call["output"])}]}
        for call in calls
    ]
    return {"role": "user", "content": [{"toolResult": each} for each in results]}


# ---------------------------------------------------------------- running


def _begin(name: str, conversation: Conversation, hook: Probe, at: str, path: str) -> Turn:
    del path  # both do the same
    return _Run(name, conversation, hook, at)


class _Run:
    """An agent, which keeps the conversation: the caller passes what is new."""

    def __init__(self, name: str, conversation: Conversation, hook: Probe, at: str) -> None:
        self._profile = PROFILES[name]
        self._conversation, self._hook, self._at = conversation, hook, at
        self._loop: StrandsLoop | None = None

    def __call__(self, given: list[Any]) -> Reply:
        loop = self._loop = self._begun(given) if self._loop is None else self._loop
        store, agent = loop.store, loop.agent
        request = loop.desk.slot(given[-1:])
        mine = [*elements(store, agent.caller.messages), *elements(store, request)]
        agent.caller = attrs.evolve(agent.caller, inputs=(request,))
        outcome = loop.run()[-1]
        loop.desk.require_accepted()
        if outcome.error is not None:
            raise outcome.error
        view = loop.desk.view
        self._conversation.holder("caller", [view(each) for each in mine])
        self._conversation.holder("store", view(agent.history))
        result = view(cast("Ref", outcome.result))
        return Reply(messages=[], result={name: result.get(name) for name in ("lastMessage", "stopReason")})

    def _begun(self, given: list[Any]) -> StrandsLoop:
        at, hook, conversation = self._at, self._hook, self._conversation

        def agent() -> dict[str, Any]:
            loop = cast("StrandsLoop", self._loop)
            return {"messages": loop.desk.view(loop.agent.history)}

        def wrapped(context: Any, onward: Any) -> Generator[Any, None, Any]:
            return (yield from hook(context, onward))

        def answer(request: Any) -> Sequence[Mapping[str, Any]]:
            instructions = {"role": "system", "content": request["system"]}
            return [_block(part) for part in conversation.answer([*request["messages"], instructions])]

        def execute(use: Any, _: Any) -> Any:
            return fresh(conversation.call(use["toolUseId"])["output"])

        middleware = []
        if at in _HANDLERS:
            stage, phase = _HANDLERS[at]
            call = wrapped if phase == "wrap" else lambda context: hook(context, agent())
            middleware.append(Middleware(stage=stage, phase=phase, call=call))
        hooks = [Hook(_EVENTS[at], lambda event: hook(event, agent()))] if at in _EVENTS else []
        return StrandsLoop(
            self._profile,
            Settings(
                model=Model(answer=answer),
                inputs=[],
                messages=given[:-1],
                system=conversation.instructions,
                tools=dict.fromkeys(conversation.tools, Tool(run=execute)),
                middleware=middleware,
                hooks=hooks,
            ),
        )


_emulated = partial(
    Emulated,
    user=partial(_message, "user"),
    answer=partial(_message, "assistant"),
    results=_results,
    begin=_begin,
)

EMULATED: Final = (
    _emulated(
        framework="strands",
        releases={
            release: dict.fromkeys(("generate",), f"strands-ts@{release}") for release in ("1.5.0", "1.19.0")
        },
        points=_in_typescript,
        roots={"system": "systemPrompt", "event.message": "event.stopData.message"},
    ),
    _emulated(
        framework="strands-py",
        releases={"1.62.0": {"generate": "strands-py@1.62.0"}},
        points=_in_python,
        roots={"context.system": "context.system_prompt", "event.message": "event.stop_response.message"},
    ),
)
