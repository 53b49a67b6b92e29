"""Rules of the runtime by name: its hooks, handlers, models, tools, streams and cancellation.

Rules that the machine keeps, whoever drives it, are in `agentcore.requirements.rules`.
"""

from __future__ import annotations

from agentcore.requirements.differences import SourcedRequirement


class AgentRule(SourcedRequirement):
    """A rule of the agent around the machine: a name and a statement."""

    OUTPUT_OF_THE_LAST_STEP = (
        "output.of-the-last-step",
        (
            "The object of a run is the text of its last step, read as that step was asked for: as the "
            "output that its hooks returned, else as the call's; asked for text, it is None."
        ),
        "core",
    )
    OUTPUT_PARTIAL = (
        "output.partial",
        (
            "The stream of a step that is asked for JSON shows the JSON of the text so far, checked against "
            "no schema, when it has changed; the text is read again when it has grown by a twentieth and at "
            "its end, so that the last value is that of the whole text."
        ),
        "core",
    )
    USAGE_LIMITED = (
        "usage.limited",
        (
            "A model call or tools that would use more than a limit are not begun: the run fails with all "
            "that it has, and goes on from there under other limits, of which what it used before counts."
        ),
        "core",
    )
    MODEL_FALLS_BACK = (
        "model.falls-back",
        (
            "Where a model fails, the next one is given the same request, with its own state; a stream of "
            "which something has been given is not begun again."
        ),
        "core",
    )
    HOOK_FAILURE_NAMED = (
        "hook.failure-named",
        "An error that a hook raised names the hook and the step.",
        "core",
    )
    TOOL_ARGUMENTS_ITS_OWN = (
        "tool.arguments-its-own",
        (
            "A tool's arguments are its private copy: the tool may write into them, and neither the call, "
            "nor the messages, nor another call of it changes."
        ),
        "core",
    )
    STAGE_ORDER = (
        "stage.order",
        (
            "Input handlers run in the order of registration, then the wraps, the first registered "
            "outermost, then what the stage is of; the wraps unwind, and output handlers run in the order "
            "of registration."
        ),
        "S65, S66",
    )
    STAGE_PASSED_ON = (
        "stage.passed-on",
        (
            "A context that a handler passes on holds for what it calls with it; chains, records, other "
            "calls and other handlers' contexts stay as they were."
        ),
        "S28, S63",
    )
    STAGE_CALLED_AGAIN = (
        "stage.called-again",
        (
            "A wrap may call again: each call begins anew from the context it is given, and the result "
            "that the wrap gives is the one that counts."
        ),
        "S72",
    )
    STAGE_SHORT_CIRCUIT = (
        "stage.short-circuit",
        (
            "A wrap that calls nothing gives a result of its own: what is inside does not run, output "
            "handlers do, and tool calls in a model's place are run."
        ),
        "S68",
    )
    STAGE_TOOL_ANSWERS_ITS_CALL = (
        "stage.tool-answers-its-call",
        "The outcome of a tool's stage is that of the call that the model made, whatever was passed on.",
        "S79",
    )
    STAGE_RUN_BEGINS_ONCE = (
        "stage.run-begins-once",
        (
            "Messages and settings that a handler of the whole call passes on are what a run begins with; "
            "a run that goes on keeps its own."
        ),
        "core",
    )
    MODEL_STATE_IS_A_SNAPSHOT = (
        "model.state-is-a-snapshot",
        (
            "Every call of a model in a step is given the state that the model's last answer in an earlier "
            "step left; no other model's, and none from a context."
        ),
        "S9, S10, S70",
    )
    MODEL_ANSWERS_CHECKED = (
        "model.answers-checked",
        (
            "What a model or a handler gives as an answer, an event or an outcome is checked before anything "
            "of it is kept, so that every finished run can be saved and loaded."
        ),
        "core",
    )
    CANCEL_OWN_ERROR = (
        "cancel.own-error",
        (
            "A cancellation that a tool raises while nobody cancels the run is the error of that call; if a "
            "hook, a model or a handler raises one, the run fails."
        ),
        "core",
    )
    CANCEL_ONLY_THE_RUN = (
        "cancel.only-the-run",
        (
            "Only the run's own cancellation ends it: of its task, or of a scope around it. Of two at the "
            "same time, that is the one that counts."
        ),
        "core",
    )
    CANCEL_WAITS_FOR_THREADS = (
        "cancel.waits-for-threads",
        (
            "A cancellation waits for the thread of a sync tool that has no time limit, however often it is "
            "repeated, and what the thread returned is kept."
        ),
        "core",
    )
    STREAM_READER_UNTOUCHED = (
        "stream.reader-untouched",
        (
            "A stream that is left, closed or collected before its end cancels its run, and never the task "
            "that reads it."
        ),
        "core",
    )
    STREAM_CLOSED_SAYS_SO = (
        "stream.closed-says-so",
        (
            "A stream that is iterated over before it is entered or after it was left raises an error that "
            "says what to do."
        ),
        "core",
    )
    PROCESSOR_CALL_REPLACES = (
        "processor.call-replaces",
        "The processors of a call replace those of the agent; with an empty list there are no processors.",
        "M81, M99",
    )
