"""Rules of how Mastra's agent loop treats references under all of its profiles, by name."""

from __future__ import annotations

from agentcore.requirements.differences import SourcedRequirement


class MastraRule(SourcedRequirement):
    """One statement a rule; the source is a measured claim about @mastra/core 1.0.4 and 1.71.0."""

    # --- the pipeline ---

    EVERY_STEP = (
        "mastra.every-step",
        (
            "Processors run in order before each model call, `prepareStep` after them; `processInput` runs "
            "once, before the first step; on `generate` and `stream` alike."
        ),
        "M1, M2, M6, M70, M102",
    )
    CALL_REPLACES = (
        "mastra.call-replaces",
        (
            "Processors of the call replace those of the agent, and an empty list replaces them by none; "
            "`prepareStep` of the call replaces that of the agent's default options."
        ),
        "M81, M99, M101, M105",
    )
    FIELDS_ASSIGNED = (
        "mastra.fields-assigned",
        (
            "Each field of a result takes the place of the value, whole, for what runs after it and for the "
            "model; so does one that is there and undefined, but for the model and the messages."
        ),
        "M7, M12, M13, M15, M45, M73",
    )
    FIELDS_RESET = (
        "mastra.fields-reset",
        "At the next step every option is again what the call gave; only messages that were returned stay.",
        "M4, M12, M13, M78",
    )
    NO_RESULT = (
        "mastra.no-result",
        (
            "A result that is neither an object with fields, nor an array, nor the list, changes nothing; "
            "nor do system messages alone that `processInput` returns in a workflow. A text, a number or "
            "true that `processInput` returns fails the call."
        ),
        "M43, M68, M86, M106, M114",
    )
    LIST_RETURNED = (
        "mastra.list-returned",
        (
            "The list that a processor got may be returned, bare or beside other fields; another list, or "
            "messages beside the list, fail the call."
        ),
        "M39, M41, M47, M48",
    )
    OLD_MODEL_REFUSED = (
        "mastra.old-model-refused",
        "A returned model of the first version of the model interface fails the call.",
        "M49",
    )
    ABORT_TRIPS = (
        "mastra.abort-trips",
        (
            "`abort` ends the run with a tripwire: nothing more runs, no other model is tried, and the steps "
            "before it stay reported."
        ),
        "M89, M90",
    )
    ERROR_STOPS = (
        "mastra.error-stops",
        (
            "What a processor throws stops the chain and fails the attempt; the next model of a list is "
            "tried with the whole chain, on what the failed attempt left."
        ),
        "M51, M91",
    )
    STEP_NUMBER = (
        "mastra.step-number",
        "The step number counts from 0; all calls of one answer are one step.",
        "M22, M103",
    )
    STEPS_LIVE = (
        "mastra.steps-live",
        "Where a processor is given the steps, the array is the loop's own, and its length the step number.",
        "M29",
    )

    # --- the conversation ---

    MESSAGES_LIVE = (
        "mastra.messages-live",
        (
            "`messages` is the array in which the list keeps the conversation, and has its very messages: "
            "what is written into either is in this step's prompt, and stays. Only after a processor of a "
            "workflow it may be what that one returned."
        ),
        "M19, M30",
    )
    MIRROR_UNREAD = (
        "mastra.mirror-unread",
        "The text beside a message's parts is in no prompt.",
        "aliasing/messages.mirror",
    )
    RETURNED_STORED = (
        "mastra.returned-stored",
        (
            "Returned messages are the stored conversation from then on: those of known ids replace, those "
            "left out are removed, others are added to the input."
        ),
        "M3, M10, M37, M42",
    )
    ORDERED_BY_DATE = (
        "mastra.ordered-by-date",
        "Messages stand in the order of their dates; the order in which they were returned means nothing.",
        "M37",
    )
    RETURNED_TAKEN = (
        "mastra.returned-taken",
        "Returned messages are the very objects, not copies; the returned array is not kept.",
        "aliasing/returned",
    )
    METHODS_STORED = (
        "mastra.methods-stored",
        "What a method of the list does is stored at once, whether anything is returned or not.",
        "M21, M80",
    )
    VIEWS_SHARE_PAYLOADS = (
        "mastra.views-share-payloads",
        (
            "`messageList.get` reads the list's messages: `all.db()` is the list's own array, `db()` of a "
            "source a new array of the list's own messages; model messages and UI messages are new objects, "
            "in which a call's input and a tool's answer are the stored ones."
        ),
        "M112",
    )
    OWN_PARTS_LOST = (
        "mastra.own-parts-lost",
        "A part of a type that the list does not know is stored, and is in no prompt.",
        "M59",
    )
    CALLER_SHARED = (
        "mastra.caller-shared",
        (
            "The list keeps the caller's own object where that is a stored message, the caller's own parts "
            "of a UI message, and nothing of the caller's of any other."
        ),
        "aliasing/caller",
    )
    USER_FIRST = (
        "mastra.user-first",
        "A prompt whose conversation begins with an answer has a message of the user's before it.",
        "aliasing/prompt.first",
    )
    ANSWERS_LIVE = (
        "mastra.answers-live",
        (
            "What is written into an answer in the list, its texts, inputs and results, is in later prompts "
            "and in the messages of the response; the texts of the steps stay what the model said."
        ),
        "aliasing/messages",
    )
    TOOL_INPUT_OWN = (
        "mastra.tool-input-own",
        "A tool with a schema is given an input of its own: what it writes into it, at any depth, is lost.",
        "aliasing/outside.tool_input",
    )

    LIVE_WHILE_ADDED = (
        "mastra.live-while-added",
        (
            "An array that is added is gone through as it is at each moment: the list's own array shows "
            "what adding it to itself makes of it. An empty place is left out by some methods, fails others."
        ),
        "M115, M116",
    )
    NO_MESSAGE = (
        "mastra.no-message",
        (
            "A method of the list throws for what is no message, and says why in the package's words; it "
            "takes what it reads nothing of."
        ),
        "M117",
    )
    DATES_READ = (
        "mastra.dates-read",
        (
            "A message's own date is read as JavaScript reads dates: milliseconds, or a text. One that is no "
            "time is kept, and is neither before nor after any other."
        ),
        "M118",
    )
    CONVERTED_FIRST = (
        "mastra.converted-first",
        (
            "Before the first step all messages are converted to the model's form once: what cannot be "
            "converted then fails the call before any processor of a step runs."
        ),
        "M119",
    )

    # --- system messages ---

    SYSTEMS_RESET = (
        "mastra.systems-reset",
        (
            "At each step, before the processors, the system messages without a tag are again those that "
            "`processInput` left; what was written into one of them stays."
        ),
        "M60, M61, M63",
    )
    SYSTEMS_RETURNED = (
        "mastra.systems-returned",
        (
            "Returned system messages replace those without a tag for the step, after any that came among "
            "messages; what is no system message is dropped."
        ),
        "M31, M40, M64, M67",
    )
    SYSTEMS_AMONG_MESSAGES = (
        "mastra.systems-among-messages",
        (
            "A system message among returned messages is added for the step, once, if it has the form of a "
            "stored one; a plain one is dropped."
        ),
        "M38, M65, M66",
    )
    SYSTEMS_ORDER = (
        "mastra.systems-order",
        "Instructions come first, then system messages of the input, then those with a tag.",
        "M69",
    )

    # --- options and tools ---

    OPTIONS_LIVE = (
        "mastra.options-live",
        (
            "The provider options and the tool choice that processors are given are the caller's own "
            "objects, and so is all inside the model settings."
        ),
        "M32",
    )
    REQUEST_CONTEXT_SHARED = (
        "mastra.request-context-shared",
        (
            "The request context is one object for the caller, all processors and all steps of a call: what "
            "one puts in, all after it read, and it stays in the caller's; a call that is given none has its "
            "own."
        ),
        "M26",
    )
    TRACING_CONTEXT_OWN = (
        "mastra.tracing-context-own",
        (
            "The tracing context is a new object for each call of a processor; without observability there "
            "is no span in it."
        ),
        "M26",
    )
    TOOLS_LIVE = (
        "mastra.tools-live",
        "`tools` is one object for all steps of a call: what is changed in it is offered from then on.",
        "M32",
    )
    TOOLS_RETURNED = (
        "mastra.tools-returned",
        "Returned tools are offered and run in place of the call's, for the step.",
        "M79",
    )
    TOOLS_NAMED = (
        "mastra.tools-named",
        (
            "The agent's tools are named anew where no provider takes the name, and come last then; two of "
            "one name fail the call. A call of a name that every object has is answered by nobody."
        ),
        "M124",
    )
    ACTIVE_TOOLS_FILTER = (
        "mastra.active-tools-filter",
        (
            "Active tools choose among the tools that the model is offered: unknown names add none, and the "
            "`tools` of processors stay complete."
        ),
        "M9, M74, M75, M76",
    )
