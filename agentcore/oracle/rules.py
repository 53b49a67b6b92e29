"""What holds for programs, traces, drivers and checks, whatever is traced, by name."""

from __future__ import annotations

from typing import Self

from agentcore.rules import Requirement


class OracleRule(Requirement):
    """The protocol between a checker and an implementation."""

    def __new__(cls, name: str, statement: str) -> Self:
        """Take name and statement from the member's definition."""
        rule = object.__new__(cls)
        rule._value_ = name
        rule.statement = statement
        return rule

    LINE_FOR_LINE = (
        "oracle.line-for-line",
        "A driver answers each line that is not empty with one line, in order, and gives its `id` back.",
    )
    BAD_PROGRAM = (
        "oracle.bad-program",
        "A line that is no program is answered with the error BadProgram, and the next line is read.",
    )
    BY_VALUE = (
        "oracle.by-value",
        (
            "A trace holds each observation by value, as it was at its moment: for a hook, before its ops; "
            "for the result and the caller's array, after the run."
        ),
    )
    CYCLES_NAMED = (
        "oracle.cycles-named",
        "An object inside itself is written as the number of levels up to it.",
    )
    OP_SKIPPED = (
        "oracle.op-skipped",
        "An op whose path leads nowhere is skipped and listed in `opErrors`.",
    )
    OP_REFUSED = (
        "oracle.op-refused",
        "An op that the object refuses throws a TypeError inside its hook or tool.",
    )
    HUNG_TOLD = (
        "oracle.hung-told",
        "A run whose result never settles is traced as far as it went, and marked as hung.",
    )
    AGREEMENT = (
        "oracle.agreement",
        "Traces agree if they are equal as JSON, but for what is listed as permitted to differ.",
    )
    FIRST_DIFFERENCE = (
        "oracle.first-difference",
        "The difference that is reported is the first in the order of the run.",
    )
    ONLY_WRONG_COUNTS = (
        "oracle.only-wrong-counts",
        (
            "Unsupported, crashed, hung and malformed are outcomes of a driver, each told apart; only a "
            "wrong trace is a finding."
        ),
    )
    SHRUNK = (
        "oracle.shrunk",
        "What is reported is the smallest program found that still disagrees, the same for the same start.",
    )
    CLASS_BY_CAUSE = (
        "oracle.class-by-cause",
        (
            "A difference is put down to every profile field that, undone alone, changes the trace where the "
            "two sides differ."
        ),
    )
    CLASS_WITNESS = (
        "oracle.class-witness",
        "A class is shown by smallest programs, none of which shows what another does with less.",
    )
    CLASS_ADVICE = (
        "oracle.class-advice",
        "What is said to be the same on both sides is run on both.",
    )
    HANDED_OUT = (
        "oracle.handed-out",
        (
            "An explanation tells what passed each boundary as it was then, and which other names its "
            "objects had."
        ),
    )
    WRITE_FOLLOWED = (
        "oracle.write-followed",
        (
            "An explanation tells of each write who made it, which names the object had, and which "
            "boundaries showed it afterwards."
        ),
    )
    REFUSAL_TOLD = (
        "oracle.refusal-told",
        "An explanation tells of each op that an object refused where it stands, and why.",
    )
    SEEDED = (
        "oracle.seeded",
        "A seed and a path name a program.",
    )
