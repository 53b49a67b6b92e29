"""Rules of checks of hooks, by name."""

from __future__ import annotations

from agentcore.requirements.rules import Requirement


class HookRule(Requirement):
    """A rule of checks of hooks: a name and a statement."""

    AS_VALUES = (
        "testing.as-values",
        (
            "Under each profile a hook has the effect that it has when it is given copies of the step's own "
            "messages and only what it returns counts, for its step only; else it is at fault."
        ),
    )
    MESSAGES_ONLY = (
        "testing.messages-only",
        (
            "A hook is only ever given messages that a provider takes; what it returns is given to it again "
            "only if it is messages, too."
        ),
    )
    PROMPT_WHOLE = (
        "testing.prompt-whole",
        (
            "The messages that a hook returns have what the user asked, each tool call with its result after "
            "it, no id twice and no message without content, as far as the given ones do."
        ),
    )
    SENTENCE = (
        "testing.sentence",
        "A failure begins with one sentence that says what is wrong, and chains no exception.",
    )
    SMALLEST = (
        "testing.smallest",
        "A fault is shown by a conversation from which nothing can be taken without losing it.",
    )
    STRICT = (
        "testing.strict",
        "Expected pollution that does not happen is an error.",
    )
