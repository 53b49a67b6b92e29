"""Agents under the reference behaviour of Strands Agents, and who wrote what, when, and how far it spread."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs

from agentcore.frameworks.strands.emulation.loop import StrandsLoop
from agentcore.frameworks.strands.emulation.settings import (
    Hook,
    InvalidOutputError,
    Middleware,
    Model,
    Said,
    Settings,
    StructuredOutput,
    Tool,
)
from agentcore.frameworks.strands.profiles import PROFILES, StrandsProfile
from agentcore.heap.boundary_log import Watch
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import UNDEFINED, HostValueError
from agentcore.heap.player import Playable
from agentcore.heap.player_runs import Recorded, of_watch
from agentcore.heap.pollution import Finding, Pollution, Verdict
from agentcore.heap.views import View
from agentcore.messages.brief import brief

__all__ = [
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
        """What became of every in-place write; made when it is read first."""
        return self._report.findings

    @property
    def prompts(self) -> tuple[dict[str, Any], ...]:
        """What the provider was given at each call, as plain JSON."""
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
    return _ended(chosen, loop, watch)


def _ended(profile: StrandsProfile, loop: StrandsLoop, watch: Watch) -> StrandsRun:
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
