"""Rules of how Strands Agents treats references and handlers under all of its profiles, by name."""

from __future__ import annotations

from agentcore.requirements.differences import SourcedRequirement


class StrandsRule(SourcedRequirement):
    """One statement a rule; the source is a measured claim that holds for all three packages."""

    # --- the chain ---

    PHASE_ORDER = (
        "strands.phase-order",
        (
            "Input handlers run first, in the order in which they were registered; then wrap handlers, the "
            "first one outermost; then the stage; on the way back output handlers, the last one first."
        ),
        "S65, S66, S67",
    )
    ONE_CONTEXT = (
        "strands.one-context",
        (
            "The handlers of a chain have one context: what one of them writes into it in place, all others "
            "have, outside it too."
        ),
        "S64, S69",
    )
    COPIES_PASSED_ON = (
        "strands.copies-passed-on",
        (
            "A context that is passed to `next` in the place of the one that was given reaches what is "
            "inside that handler, and nothing else."
        ),
        "S28, S63, S76",
    )
    NEXT_AGAIN = (
        "strands.next-again",
        (
            "Whenever `next` is called all that is inside runs, on what the context is by then; the result "
            "that the handler returns counts."
        ),
        "S69, S72",
    )
    SHORT_CIRCUIT = (
        "strands.short-circuit",
        (
            "A result without `next` skips all that is inside the handler; what is outside it takes it for a "
            "result like any other."
        ),
        "S68",
    )
    RESULTS_LIVE = (
        "strands.results-live",
        (
            "A result is no copy: what an output handler writes into it in place is in the history; a result "
            "that it returns takes its place."
        ),
        "S86",
    )
    NOTHING_FROZEN = (
        "strands.nothing-frozen",
        "Contexts, events and results can be written to, and every field of a context be replaced.",
        "S85",
    )

    COPIES_UNGATED = (
        "strands.copies-ungated",
        "What is copied for a stage's context is copied at every call, whether a handler is there or none.",
        "S51",
    )

    # --- what is outside the chain ---

    HOOKS_OUTSIDE = (
        "strands.hooks-outside",
        (
            "Hooks run outside the chain whose events they get; callbacks of an event that comes after "
            "something run in the reverse order."
        ),
        "S65",
    )
    HOOKS_RETRY = (
        "strands.hooks-retry",
        "An attempt that a hook asks for has a context of its own, and runs the whole chain.",
        "S73",
    )
    STATE_SHARED = (
        "strands.state-shared",
        (
            "The invocation state is one object, the caller's if it gave one: for the contexts of all "
            "stages, hooks and tools."
        ),
        "S11, S13, S25, S59",
    )
    AGENT_LIVE = (
        "strands.agent-live",
        "The agent that handlers and hooks reach is the one that runs: what they write to it stays.",
        "S84",
    )
    STATE_WRITES_ELSEWHERE = (
        "strands.state-writes-elsewhere",
        (
            "What hooks and handlers of the tool stage write to the agent's model state stays: the next call "
            "begins with it."
        ),
        "S10, S18",
    )

    # --- tools and errors ---

    HOOKS_INPUT_LIVE = (
        "strands.hooks-input-live",
        "The tool input that hooks are given is the one in the model's message.",
        "S35",
    )
    TOOL_SETTLED = (
        "strands.tool-settled",
        (
            "Which tool runs is settled before the chain: neither a description that is not there nor "
            "another name in the tool use changes it."
        ),
        "S77, S78",
    )
    TOOLS_LISTED = (
        "strands.tools-listed",
        (
            "Tools are listed in the order in which the agent was given them; as the fields of an object of "
            "JavaScript, those named by numbers come first."
        ),
        "S89",
    )
    TOOL_ERRORS_TOLD = (
        "strands.tool-errors-told",
        "What a tool raises, and that there is no such tool, is its result: an error for the model to read.",
        "S75, S78",
    )
    HANDLER_ERRORS = (
        "strands.handler-errors",
        (
            "What a handler of the model or the stream stage raises, or lets through, skips the output "
            "handlers and ends the invocation, unless a handler outside catches it or, around a model call, "
            "a hook asks for another attempt; what is in the history by then stays."
        ),
        "S74",
    )
