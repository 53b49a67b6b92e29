"""Hooks under the reference behaviour of real frameworks, and who wrote what, when, and how far it spread."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import attrs

from agentcore.frameworks.ai_sdk.emulation.loop import AiSdkLoop
from agentcore.frameworks.ai_sdk.emulation.record import Outcome
from agentcore.frameworks.ai_sdk.emulation.settings import Hooks, Model, Settings, Tool
from agentcore.frameworks.ai_sdk.profiles import PROFILES, AiSdkProfile
from agentcore.heap.boundary_log import Watch
from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import HostValueError, Store, Value
from agentcore.heap.player import Playable
from agentcore.heap.player_runs import Recorded, of_watch
from agentcore.heap.pollution import Finding, Pollution, Verdict
from agentcore.heap.views import View
from agentcore.messages.brief import brief

__all__ = [
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
    with. `hung` tells that the real result would never settle. `snapshots` are the moments of the run: before
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
        """What became of every in-place write; made when it is read first."""
        return self._report.findings

    @property
    def prompts(self) -> tuple[list[dict[str, Any]], ...]:
        """What the model was asked with at each step, as plain JSON."""
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
    return _ended(chosen, loop, watch, outcome)


def _ended(profile: AiSdkProfile, loop: AiSdkLoop, watch: Watch, outcome: Outcome) -> CompatRun:
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
