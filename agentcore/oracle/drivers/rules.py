"""Rules for programs, traces, drivers and checks of every framework, by name."""

from __future__ import annotations

from agentcore.requirements.rules import Requirement


class OracleRule(Requirement):
    """The protocol between a checker and an implementation."""

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
        "A program that advice gives as the same on both sides is run on both.",
    )
    HANDED_OUT = (
        "oracle.handed-out",
        (
            "An explanation shows what passed each boundary as it was then, and which other names its "
            "objects had."
        ),
    )
    WRITE_FOLLOWED = (
        "oracle.write-followed",
        (
            "An explanation names for each write who made it, which names the object had, and which "
            "boundaries showed it afterwards."
        ),
    )
    REFUSAL_TOLD = (
        "oracle.refusal-told",
        "An explanation lists each op that an object refused, with its place and the reason.",
    )
    PLAYER_KEEPS_PLACES = (
        "oracle.player-keeps-places",
        "The player draws an object once in a moment, and at one place in all moments.",
    )
    SEEDED = (
        "oracle.seeded",
        "A seed and a path name a program.",
    )
    SWEPT = (
        "oracle.swept",
        (
            "A sweep has a program for each field of what each hook is given, which reads it, or for each "
            "object there, which writes to it and reads what all hooks are given."
        ),
    )
    PAIRS = (
        "oracle.pairs",
        (
            "A check counts the pairs of features that its programs had, and says about how many such "
            "programs have."
        ),
    )
    ORDER_OF_SEEDS = (
        "oracle.order-of-seeds",
        (
            "What a check finds, and where it ends, is decided in the order of the seeds, however many "
            "processes or machines share the work."
        ),
    )
    GROUPED = (
        "oracle.grouped",
        (
            "Wrong traces are counted by their cause: the hook and the op without which the traces would not "
            "differ there, and the first observation that differs, whatever its place in a list. Each cause "
            "has a smallest program of its own."
        ),
    )
    STARTED_AGAIN = (
        "oracle.started-again",
        "A driver that fails is started again, and the check goes on until it has failed too often.",
    )
    LEFT_OUT = (
        "oracle.left-out",
        (
            "A feature that is left out, or that the driver says it does not support, is taken out of a "
            "program; one that cannot do without is not run, and counted by the reason."
        ),
    )
    SHRUNK_WITHIN = (
        "oracle.shrunk-within",
        (
            "A program that is made smaller keeps what was asked for: features that are included, none that "
            "is left out, and the cause that was found."
        ),
    )
    SCOPE = (
        "oracle.scope",
        "What is compared of two traces can be chosen by patterns of paths; the rest is not looked at.",
    )
    FOUND_BEFORE = (
        "oracle.found-before",
        "The smallest programs are kept, run first the next time, and kept on when they show nothing.",
    )
    AGREED_BEFORE = (
        "oracle.agreed-before",
        (
            "An answer whose text agreed before, for the same program, is not compared again, unless this "
            "package or what is compared has changed."
        ),
    )
    NEVER_LOST = (
        "oracle.never-lost",
        (
            "A disagreement is printed and saved, and exits with 1, as soon as it is made small, whatever "
            "fails before or afterwards: a report, a folder, the output, the driver, or a signal."
        ),
    )
    SAID_IS_DATA = (
        "oracle.said-is-data",
        (
            "Whatever a program or a driver says is data for those who show it: bounded, escaped, and never "
            "evaluated."
        ),
    )


class DriverRule(Requirement):
    """Version 1 of the protocol that a driver speaks; most are checks of `agentcore lint-driver`."""

    START = (
        "driver.start",
        (
            "`start` is answered with the version of the protocol, the name and version of the "
            "implementation, and the formats of its programs."
        ),
    )
    ONLY_ANSWERS = (
        "driver.only-answers",
        "Standard output has answers and nothing else, one JSON object a line, as the schema has it.",
    )
    VERSION = (
        "driver.version",
        (
            "A driver answers `start` with the version that it speaks, whichever was asked for; a checker "
            "that does not speak it asks nothing else."
        ),
    )
    UNKNOWN_FIELDS = (
        "driver.unknown-fields",
        "Fields that are not known are passed over, in requests as in answers.",
    )
    SEQ = (
        "driver.seq",
        "The answer to `run` has the `seq` of the request, whatever JSON that is.",
    )
    IN_ORDER = (
        "driver.in-order",
        (
            "Every request but `stop` has one answer, in the order of the requests, and none waits for a "
            "later request."
        ),
    )
    BAD_PROGRAM = (
        "driver.bad-program",
        "`run` with what is no program is answered with the error BadProgram, and the next line is read.",
    )
    BAD_REQUEST = (
        "driver.bad-request",
        (
            "A line that is no request is answered with the error BadRequest and null as `seq`, and the next "
            "line is read."
        ),
    )
    BLANK_LINES = (
        "driver.blank-lines",
        "A line with nothing but blanks in it has no answer.",
    )
    ANY_TEXT = (
        "driver.any-text",
        (
            "A line ends at a line feed and nowhere else; all that JSON lets stand in a text comes back as "
            "it was, lone surrogates and U+2028 among it."
        ),
    )
    ANY_NUMBER = (
        "driver.any-number",
        "Numbers are 64-bit floats, all of which come back as they were; `1.0` is `1`.",
    )
    DEEP = (
        "driver.deep",
        "What is nested 100 levels deep comes back as it was.",
    )
    LONG_LINES = (
        "driver.long-lines",
        "A line of a megabyte is a line like others.",
    )
    TRACE = (
        "driver.trace",
        "A trace is what the schema of its format allows.",
    )
    UNSUPPORTED = (
        "driver.unsupported",
        (
            "What the implementation cannot run is answered with `unsupported` and the reason; features that "
            "it never runs can be named in the answer to `start`."
        ),
    )
    DETERMINISTIC = (
        "driver.deterministic",
        (
            "A program gives the same trace at any time, in any process: nothing in it was drawn or read "
            "from a clock, and nothing is left of the programs before."
        ),
    )
    STOP = (
        "driver.stop",
        "After `stop`, which has no answer, the process ends with exit code 0.",
    )
    END_OF_INPUT = (
        "driver.end-of-input",
        "When its input ends, the process ends with exit code 0.",
    )
    FILTER = (
        "driver.filter",
        (
            "A process that answers `start` as a line that is no program, or ends, is a filter, and is "
            "spoken to in plain lines."
        ),
    )
    EXPECTATION_KEPT = (
        "driver.expectation-kept",
        "What is expected of a program is never sent.",
    )
