"""Checks for tests of your own: `check_hook` runs a hook over random conversations."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentcore.testing.faults import HookFault, HookFaultError, NothingPollutedError
    from agentcore.testing.hooks import check_hook

__all__ = ["HookFault", "HookFaultError", "NothingPollutedError", "check_hook"]

_WHERE: Final = {
    "HookFault": "agentcore.testing.faults",
    "HookFaultError": "agentcore.testing.faults",
    "NothingPollutedError": "agentcore.testing.faults",
    "check_hook": "agentcore.testing.hooks",
}


def __getattr__(name: str) -> Any:
    """A public name, imported when it is asked for: pytest imports this package for everybody's tests."""
    if name not in _WHERE:
        raise AttributeError(f"module 'agentcore.testing' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
