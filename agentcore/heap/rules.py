"""Rules of emulations under every profile, by name."""

from __future__ import annotations

from agentcore.requirements.rules import Requirement


class CompatRule(Requirement):
    """The explicit heap, views on it, and the report of what was written."""

    ONE_HEAP = (
        "compat.one-heap",
        "All holders of a run refer to cells of one heap: what is written into a cell shows through each.",
    )
    VIEW_KEEPS_REFERENCE = (
        "compat.view-keeps-reference",
        "A view put into a value keeps the reference; plain dicts and lists become new cells.",
    )
    WRITES_JOURNALLED = (
        "compat.writes-journalled",
        (
            "Each write through a view is one entry of the journal: step, hook, handle, key, what was there "
            "before and after."
        ),
    )
    HOST_VALUES = (
        "compat.host-values",
        (
            "Dates, functions, errors, objects of classes and, from tools, bytes are to an emulation what "
            "they are in JavaScript; another value that is not JSON ends the run with who gave it, and where."
        ),
    )
    NOT_EMULATED = (
        "compat.not-emulated",
        (
            "A hook that uses a part of the package that the emulation leaves out ends the run with the name "
            "of that part, whatever the hook does with the error."
        ),
    )
    COPIES_CARRY = (
        "compat.copies-carry",
        "A write is carried by the cell written and by every cell that the run made of it afterwards.",
    )
    POLLUTING = (
        "compat.polluting",
        (
            "A write is polluting if, after its step, something that outlives the step or a later prompt "
            "reaches a carrier of it; else it is ephemeral."
        ),
    )
    PROFILE_IS_DATA = (
        "compat.profile-is-data",
        "A profile is a value: one with any of its fields changed is run as the fields say.",
    )
