"""What holds for checks of hooks, by name."""

from __future__ import annotations

from agentcore.rules import Requirement


class HookRule(Requirement):
    """What a check of a hook finds."""

    AS_VALUES = (
        "testing.as-values",
        (
            "Under each profile a hook has the effect that it has when it is given copies of the step's own "
            "messages and only what it returns counts, for its step only; else it is at fault."
        ),
    )
    SMALLEST = (
        "testing.smallest",
        "A fault is shown by a conversation from which nothing can be taken without losing it.",
    )
    STRICT = (
        "testing.strict",
        "Expected pollution that does not happen is an error.",
    )
