"""Rules of guards, by name."""

from __future__ import annotations

from agentcore.requirements.rules import Requirement


class GuardRule(Requirement):
    """A rule of guards: a name and a statement."""

    EVERY_PATH = (
        "guard.every-path",
        "A change is reported with every path by which the object that has the place is reached.",
    )
    IN_PLACE = (
        "guard.in-place",
        "A change states whether the object at the place changed itself, or is another object now.",
    )
    BY_VALUE = (
        "guard.by-value",
        "Numbers, texts and the like are compared by class and value; everything else is the same if it is.",
    )
    ONLY_READ = (
        "guard.only-read",
        "What is guarded is only read, and no code of its classes is run.",
    )
    OPAQUE_TOLD = (
        "guard.opaque-told",
        "What cannot be looked into is compared by identity, and the report says where it is.",
    )
    CLASS_STATE = (
        "guard.class-state",
        (
            "Containers and values that a class holds are looked into at its objects, and so is what a "
            "member of an enum holds; another object that a class holds is compared by identity, and the "
            "report says where it is."
        ),
    )
    REPORT_STANDS = (
        "guard.report-stands",
        "An exception of the block goes on, and the report is there.",
    )
