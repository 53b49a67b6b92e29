"""Rules of how the AI SDK's loop treats references under all of its profiles, by name."""

from __future__ import annotations

from agentcore.requirements.differences import SourcedRequirement


class AiSdkRule(SourcedRequirement):
    """One statement a rule; the source is a measured claim about ai@6.0.134 that holds for 7.0.173 too."""

    ELEMENTS_LIVE = (
        "ai-sdk.elements-live",
        (
            "The messages in the list that a step's hooks, tools and observers are given are the chain's "
            "own: what is written into one stays, at every depth."
        ),
        "C11, C12, C17",
    )
    RETURNED_ELEMENTS_KEPT = (
        "ai-sdk.returned-elements-kept",
        "A returned list is used as it is: its elements are the very objects that were put in.",
        "C18, C30, C41",
    )
    OVERRIDE_FIELDS_READ = (
        "ai-sdk.override-fields-read",
        "Of a hook's result the known fields are read, null counting as absent; others are passed over.",
        "C44, C52, C53, C54",
    )
    OVERRIDE_UNCHECKED = (
        "ai-sdk.override-unchecked",
        "Returned messages fail where no prompt can be made of them, or where each step's are checked.",
        "X16, C30",
    )
    PROMPT_SHARES_PAYLOADS = (
        "ai-sdk.prompt-shares-payloads",
        (
            "A prompt's messages, contents and parts are new at each step; tool inputs and outputs, provider "
            "options and file data in it are the chain's own."
        ),
        "X3",
    )
    PROMPT_BEFORE_STEP_START = (
        "ai-sdk.prompt-before-step-start",
        (
            "The prompt is made before `onStepStart`: of what that writes into messages only payloads reach "
            "this step's model."
        ),
        "X2",
    )
    INPUT_LIVE = (
        "ai-sdk.input-live",
        (
            "The input that a tool is given is the one in the step's content, in the messages made of it and "
            "in all later prompts."
        ),
        "X4",
    )
    METADATA_SHARED = (
        "ai-sdk.metadata-shared",
        "A call and its result have one provider metadata between them, wherever it is shown.",
        "X5",
    )
    STEPS_LIVE = (
        "ai-sdk.steps-live",
        (
            "`steps` is one array for `prepareStep`, `stopWhen`, `onFinish` and the result, and so is all in "
            "it; `onStepStart` is given a copy of the array."
        ),
        "C46, X6, X8, X13",
    )
    CALLS_LISTED_ANEW = (
        "ai-sdk.calls-listed-anew",
        "`toolCalls` and `toolResults` of a step are new lists at each reading, of the content's own parts.",
        "X13",
    )
    CONTEXT_SHARED = (
        "ai-sdk.context-shared",
        "A context is one object for the caller, hooks, tools and steps.",
        "C49",
    )
    OPTIONS_SHARED = (
        "ai-sdk.options-shared",
        (
            "The model is given the call's own provider options, or a merged object whose untouched branches "
            "are the call's own."
        ),
        "C60",
    )
    TOOLS_READ_ANEW = (
        "ai-sdk.tools-read-anew",
        "The call's tools are read at each step: one that a hook adds in place is offered and runs.",
        "C63",
    )
    APPROVED_CALL_LIVE = (
        "ai-sdk.approved-call-live",
        "A tool that runs by an approval in the history is given the caller's own array of messages.",
        "X14",
    )
    UNKNOWN_FIELDS_KEPT = (
        "ai-sdk.unknown-fields-kept",
        "A field that messages do not have stays on the message, and is in no prompt.",
        "C78",
    )
    NOTHING_FROZEN = (
        "ai-sdk.nothing-frozen",
        "The loop freezes nothing, and runs on frozen messages; who writes into them has the error.",
        "C31, X15",
    )
    EVENTS_WHOLE = (
        "ai-sdk.events-whole",
        (
            "What a hook is given has every field that the package fills, ids and times that it draws "
            "included, which no trace has."
        ),
        "X26, X27",
    )
    SETTINGS_SHARED = (
        "ai-sdk.settings-shared",
        "The settings that the model is given are the call's own values at each step, null included.",
        "X31",
    )
    SETTINGS_CHECKED = (
        "ai-sdk.settings-checked",
        "A setting that is refused ends the run before its first step, whatever else is wrong.",
        "X32",
    )
    INPUTS_SAFE = (
        "ai-sdk.inputs-safe",
        (
            "A call whose input has a `prototype` in a `constructor` is invalid, and its input is the text "
            "that the model sent."
        ),
        "X38",
    )
    SUPPORTED_URLS_READ = (
        "ai-sdk.supported-urls-read",
        (
            "Which addresses a model reads itself is asked of it at each step, for all messages; the others "
            "are downloaded before the prompt is made."
        ),
        "X40",
    )
    ERRORS_ARE_OBJECTS = (
        "ai-sdk.errors-are-objects",
        (
            "What a tool throws is in the content as an error object: its fields can be written, a trace has "
            "its name and message, and a message made of it has its message."
        ),
        "X28",
    )
    URLS_ARE_OBJECTS = (
        "ai-sdk.urls-are-objects",
        (
            "An address in a prompt is a URL object, not a text: a clone of it is empty, and as JSON it is "
            "its address."
        ),
        "X29",
    )
    STOP_CONDITIONS_LIVE = (
        "ai-sdk.stop-conditions-live",
        (
            "The list of stop conditions is the one that is asked after each step, wherever it is shown: "
            "what a hook takes out of it is not asked again."
        ),
        "X21",
    )
    OBSERVERS_SWALLOWED = (
        "ai-sdk.observers-swallowed",
        (
            "What `onStart`, `onStepStart`, `onStepFinish` and `onFinish` throw is lost; what the model, "
            "`prepareStep` or `stopWhen` throws ends the run."
        ),
        "X19",
    )
