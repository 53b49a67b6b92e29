"""Mastra's loop, each time with one thing wrong: what a reimplementation would get wrong first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import attrs

from agentcore.frameworks.mastra.emulation.loop import MastraLoop
from agentcore.frameworks.mastra.emulation.processors import Processors
from agentcore.frameworks.mastra.emulation.settings import Settings
from agentcore.frameworks.mastra.profiles import MastraProfile
from agentcore.heap.copying import deep_copy
from agentcore.heap.js import elements
from agentcore.heap.views import Desk
from faults.js_faults import JsFault


def _no_reset() -> None:
    """What the system messages are reset to is what they are by then."""
    current = property(lambda loop: loop.list.system_messages, lambda _, __: None)
    MastraLoop.original_system = current  # type: ignore[assignment]


def _prepare_step_first() -> None:
    run_step = Processors.run_step

    def first(self: Processors, step: Mapping[str, Any], number: Any, steps: Any) -> dict[str, Any]:
        processors, prepare_step = self.processors, self.prepare_step
        self.processors = []
        prepared = run_step(self, step, number, steps)
        self.processors, self.prepare_step = processors, None
        try:
            return run_step(self, prepared, number, steps)
        finally:
            self.prepare_step = prepare_step

    Processors.run_step = first  # type: ignore[method-assign]


def _call_appended() -> None:
    make = MastraLoop.__init__

    def appended(
        self: MastraLoop, profile: MastraProfile, settings: Settings, desk: Desk | None = None
    ) -> None:
        call = settings.call_processors
        if call is not None:
            settings = attrs.evolve(settings, call_processors=[*settings.processors, *call])
        make(self, profile, settings, desk)

    MastraLoop.__init__ = appended  # type: ignore[method-assign]


def _array_copied() -> None:
    called = Processors._called

    def copied(self: Processors, processor_id: str, hook: Any, shown: Mapping[str, Any]) -> Any:
        array = self.store.array(elements(self.store, shown["messages"]))
        return called(self, processor_id, hook, {**shown, "messages": array})

    Processors._called = copied  # type: ignore[method-assign]


def _list_read_again() -> None:
    step = Processors._step

    def fresh(self: Processors, processor: Any, hook: Any, values: dict[str, Any]) -> dict[str, Any]:
        return step(self, processor, hook, {**values, "messages": self.target.messages})

    Processors._step = fresh  # type: ignore[method-assign]


def _options_copied() -> None:
    make = MastraLoop.__init__

    def copied(
        self: MastraLoop, profile: MastraProfile, settings: Settings, desk: Desk | None = None
    ) -> None:
        make(self, profile, settings, desk)
        self.options = {name: deep_copy(self.store, value) for name, value in self.options.items()}

    MastraLoop.__init__ = copied  # type: ignore[method-assign]


FAULTS: Final[Mapping[str, Callable[[], None]]] = MappingProxyType(
    {
        "system messages not reset": _no_reset,
        "prepare step run first": _prepare_step_first,
        "processors of the call appended": _call_appended,
        "array copied for processors": _array_copied,
        "list read again before each processor": _list_read_again,
        "options copied for the call": _options_copied,
    }
)
"""What plants each of the faults in this process, for good."""

# In the text of the driver of the real package: what the package would be seen to do with one copy more.
_RUN: Final = "this.ops.run(ops, args, `"

IN_DRIVER: Final[Mapping[str, JsFault]] = MappingProxyType(
    {
        "processors get clones of messages": JsFault(
            "generate", _RUN, "this.ops.run(ops, { ...args, messages: structuredClone(args.messages) }, `"
        ),
        "processors get clones of system messages": JsFault(
            "stream",
            _RUN,
            "this.ops.run(ops, { ...args, systemMessages: structuredClone(args.systemMessages) }, `",
        ),
    }
)
