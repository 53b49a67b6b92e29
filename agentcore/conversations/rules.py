"""Rules of conversations and their stores, by name."""

from __future__ import annotations

from agentcore.requirements.differences import SourcedRequirement


class ConversationRule(SourcedRequirement):
    """A rule of conversations and stores: a name and a statement."""

    CONVERSATION_TURN = (
        "conversation.turn",
        (
            "A call adds one turn to its conversation: the messages that its caller gave, then those that "
            "its run produced, each with who gave it, at which step and by which hook."
        ),
        "core",
    )
    CONVERSATION_BRANCH = (
        "conversation.branch",
        (
            "No turn is changed: an edit of a past message, or the same turn made again, is another turn "
            "beside it, which shares the messages before."
        ),
        "core",
    )
    CONVERSATION_RECORD_WHOLE = (
        "conversation.record-whole",
        (
            "What a hook leaves for good is what the next turn begins with; the record beside it has "
            "every message as it was said."
        ),
        "core",
    )
    CONVERSATION_RUN_GOES_ON = (
        "conversation.run-goes-on",
        (
            "A run that waited or failed goes on in a turn of its own, which has what the run produced "
            "since; another run's conversation is refused."
        ),
        "core",
    )
    CONVERSATION_SAVED = (
        "conversation.saved",
        (
            "A conversation that is written as JSON and read again is equal to the one that was written; "
            "what was not written so is refused with its place."
        ),
        "core",
    )
    STORE_EXPECTED_HEAD = (
        "store.expected-head",
        (
            "A turn is appended to the head that its writer expects; if there is another one, nothing is "
            "stored and the error names both."
        ),
        "core",
    )
    STORE_STORED_ONCE = (
        "store.stored-once",
        (
            "A turn is known by its id: appended again it is stored once, and a turn that is stored is "
            "never rewritten."
        ),
        "core",
    )
    STORE_WHOLE_TURN = (
        "store.whole-turn",
        (
            "An append stores the whole turn or nothing, whether it fails, is cancelled, or its process "
            "is killed, and costs what the turn adds."
        ),
        "core",
    )
