"""Agents under the reference behaviour of Mastra, and who wrote what, when, and how far it spread."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs

from agentcore.frameworks.mastra.emulation.arguments import Arguments, ListHandle, RequestContext
from agentcore.frameworks.mastra.emulation.errors import CallerError, Outcome, Tripwire
from agentcore.frameworks.mastra.emulation.loop import MastraLoop
from agentcore.frameworks.mastra.emulation.settings import Hook, Model, Processor, Settings, Tool
from agentcore.frameworks.mastra.profiles import PROFILES, MastraProfile
from agentcore.heap.boundary_log import Watch
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import UNDEFINED, HostValueError, NotEmulatedError
from agentcore.heap.player import Playable
from agentcore.heap.player_runs import Recorded, of_watch
from agentcore.heap.pollution import Finding, Pollution, Verdict
from agentcore.heap.views import View
from agentcore.messages.brief import brief

__all__ = [
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

    `error` is what the call failed with, None if it did not; `tripwire` tells of an abort. `text` is that of
    all steps, `steps` the text of each. `response` are the response's messages, `conversation` the stored
    messages and `system` the system messages at the end, `caller` the caller's own objects (`messages`,
    `context` and the options), all as plain JSON with every write in them. `snapshots` are the moments of the
    run: before each model call (`prompt`), and at the `end`.
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
        """What became of every in-place write; made when it is read first."""
        return self._report.findings

    @property
    def prompts(self) -> tuple[list[dict[str, Any]], ...]:
        """What a model was asked with at each call, as plain JSON."""
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
    return _ended(chosen, loop, watch, outcome)


def _ended(profile: MastraProfile, loop: MastraLoop, watch: Watch, outcome: Outcome) -> MastraRun:
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
