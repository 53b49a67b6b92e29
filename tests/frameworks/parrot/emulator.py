"""Parrot's loop on a heap: before each step a hook may write to the list it is handed, or return another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from agentcore.heap.copying import Snapshot
from agentcore.heap.heap import Ref, Store, Value
from agentcore.heap.pollution import Finding, Pollution
from agentcore.heap.views import Desk
from frameworks.parrot.profiles import PROFILES, Handed, ParrotProfile

Hook = Callable[[Any], Any]


@attrs.frozen(kw_only=True)
class Settings:
    """What an agent is called with: texts, and for each step a hook."""

    messages: Sequence[str]
    hooks: Sequence[Hook]


class ParrotLoop:
    """A call of an agent."""

    holders: Final = {"caller": "caller", "history": "history"}

    def __init__(self, profile: ParrotProfile, settings: Settings) -> None:
        self.profile = profile
        self.settings = settings
        self.store = Store()
        self.desk = Desk(self.store)
        self.caller: Ref = self.store.load([*settings.messages])
        self.history = self._copy(self.caller) if profile.caller_copied else self.caller
        self.snapshots: list[Snapshot] = []
        self.prompts: list[list[str]] = []

    def run(self) -> None:
        """Does a step for each hook."""
        for step, hook in enumerate(self.settings.hooks):
            self.desk.step, self.desk.hook = step, "before step"
            prompt = self._prompt(hook)
            self.prompts.append(self.store.plain(prompt))
            self._snapshot("prompt", prompt=prompt)
            said = self.store.cells[prompt.address]
            self.store.push(self.history, [*said][-1:])
        self._snapshot("end")

    def _prompt(self, hook: Hook) -> Ref:
        live = self.profile.handed is Handed.HISTORY
        handed = self.history if live else self._copy(self.history)
        returned = hook(self.desk.hand(handed, ("before step",)))
        if returned is None:
            return handed
        own: Ref = self.desk.slot(returned)  # type: ignore[assignment]  # a hook returns lists
        if self.profile.returned_kept:
            self.history = own
        return own

    def _copy(self, ref: Ref) -> Ref:
        return self.store.derive(self.store.array(self.store.cells[ref.address]), ref)

    def held(self) -> Mapping[str, Value]:
        """The value of each holder now."""
        return {"caller": self.caller, "history": self.history}

    def _snapshot(self, moment: str, **more: Value) -> None:
        if self.store.watching:
            holders = {**self.held(), **more}
            self.snapshots.append(
                Snapshot(moment=moment, step=self.desk.step, holders=holders, heap=self.store.heap())
            )


@attrs.frozen(kw_only=True)
class ParrotRun:
    """A call, ended."""

    profile: ParrotProfile
    caller: list[str]
    prompts: list[list[str]]
    pollution: tuple[Finding, ...]
    snapshots: tuple[Snapshot, ...]


def run(profile: ParrotProfile | str, settings: Settings) -> ParrotRun:
    """Calls an agent under a profile."""
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    loop = ParrotLoop(chosen, settings)
    loop.store.watching = True
    loop.run()
    return ParrotRun(
        profile=chosen,
        caller=loop.store.plain(loop.caller),
        prompts=loop.prompts,
        pollution=Pollution(loop).findings,
        snapshots=tuple(loop.snapshots),
    )
