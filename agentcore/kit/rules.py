"""Rules that a check of isolation holds a loop to, by name."""

from __future__ import annotations

from agentcore.requirements.differences import Requirement


class IsolationRule(Requirement):
    """A loop whose hooks get copies, compared with itself."""

    TWO_RUNS = (
        "isolated.two-runs",
        (
            "Each program is run on the driver with its writes and by value, without them. Neither a profile "
            "nor the form in which the loop writes its messages takes part."
        ),
    )
    WRITE = (
        "isolated.write",
        (
            "Fault `write`: a write of a hook, a tool or a model to what it was given shows in what anybody "
            "else observes. `seen` names every holder that differs, the prompt of the same step included."
        ),
    )
    CAUSE = (
        "isolated.cause",
        (
            "A write is a cause if the program shows a difference with this write as its only one; where no "
            "write does so alone, the cause is the last of the fewest that do together."
        ),
    )
    GROUPED = (
        "isolated.grouped",
        (
            "Findings are grouped by kind, hook, op and place without indices; each group has a smallest "
            "program of its own."
        ),
    )
    RETURNED = (
        "isolated.returned",
        (
            "What a hook returns, and what a tool puts into its own output, is passed on purpose and counts "
            "as no write; a returned value that depends on a write is left out of both runs."
        ),
    )
    NOT_COPIED = (
        "isolated.not-copied",
        (
            "A context of the user's own, the caller's own array in the caller's hands, and what a handle "
            "or method of the framework offers to be changed stay themselves; a write there is no fault."
        ),
    )
    REFUSED = (
        "isolated.refused",
        (
            "A write that does what an error thrown in its place does was refused, and is no fault; a loop "
            "may give out frozen values."
        ),
    )
    CALLER_KEPT = (
        "isolated.caller-kept",
        (
            "Fault `write`, by the loop: without a write of anybody, the caller's messages are no longer "
            "after the run what they were before it."
        ),
    )
    REPORTS_KEPT = (
        "isolated.reports-kept",
        (
            "Fault `write`, by the loop: without a write of anybody, a step's report is no longer after the "
            "run what it was when it was given to its observer."
        ),
    )
    CALL_ORDER = (
        "isolated.call-order",
        (
            "Fault `out-of-order`: with other times taken by the tools, and nothing else changed, a trace "
            "differs; results stand in the order of the calls."
        ),
    )
    ACCUMULATES = (
        "isolated.accumulates",
        (
            "Fault `accumulates`: what a hook returned for one step is in the prompt of a later step, for "
            "which it was not returned again."
        ),
    )
    NOISE = (
        "isolated.noise",
        (
            "Where runs differ, the run by value is repeated; a driver whose runs by value differ among "
            "themselves has failed, and the check says nothing about the loop."
        ),
    )
