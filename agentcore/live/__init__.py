"""A person's own hook, judged in the release of the framework that they use.

`agentcore check-hook` and `check_hook` run random conversations with the hook live and as a value; a
difference is the effect of a write. `isolate` makes a hook safe, `strict` makes it raise at its write.

Everything below that runs beside a hook needs the standard library only: it runs in environments that have
none of the packages that the rest of agentcore depends on.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "Adapter",
    "Attached",
    "Boundary",
    "Entry",
    "ImmutableArgumentError",
    "Recorder",
    "isolate",
    "strict",
]

_PLACES = {
    "Adapter": "adapter",
    "Attached": "adapter",
    "Boundary": "adapter",
    "Entry": "adapter",
    "Recorder": "adapter",
    "ImmutableArgumentError": "mending",
    "isolate": "mending",
    "strict": "mending",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - only when something is asked for

    return getattr(import_module(f"agentcore.live.{_PLACES[name]}"), name)
