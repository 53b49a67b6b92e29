"""The one thing that all of a call share on purpose: its `invocation_state`.

Everything else that hooks, tools and handlers get is a value (rule step.nothing-written). What has to change
while a call goes on, and be seen by whoever comes next, is in here: the very object that the call was given,
of a type of its user's own, or a new dict (rule context.shared).
"""

from __future__ import annotations

from typing import Any

# From typing_extensions for its default: without a type of one's own, it is a dict.
from typing_extensions import TypeVar

__all__ = ["State", "new_state"]

State = TypeVar("State", default=dict[str, Any])
"""The type of a call's `invocation_state`."""


def new_state() -> Any:
    """Returns the state of a call that was given none."""
    return {}
