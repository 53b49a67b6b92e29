"""The named rules of an agent loop, and the places where this core differs from frameworks on purpose.

A rule's dotted name is the same in the specification, in code, in tests and in traces. Sources are claims
about ai@6.0.134 (C1 to C83, X1 to X20), about processors of @mastra/core (M1 to M113) and about middleware of
Strands Agents (S1 to S86), a package itself where no claim covers the point, or the core where no package has
anything of the kind. What only the runtime keeps is in `agentcore.agent.rules`, and
what conversations and stores do in `agentcore.conversations.rules`.
"""

from __future__ import annotations

from agentcore.requirements.differences import Difference, Requirement, SourcedRequirement

__all__ = ["Difference", "Requirement", "Rule"]


class Rule(SourcedRequirement):
    """What the core does, one statement a rule."""

    CONTENT_SOURCES_DROPPED = (
        "content.sources-dropped",
        "A source that the model cited makes no part of any message.",
        "C7",
    )
    CONTENT_EMPTY_TEXT_DROPPED = (
        "content.empty-text-dropped",
        "Generated text of length zero makes no part; empty reasoning does.",
        "C7",
    )
    CONTENT_ONE_ASSISTANT_MESSAGE = (
        "content.one-assistant-message",
        (
            "Text, reasoning, files, tool calls and approval requests of a step go into one assistant "
            "message, in order."
        ),
        "C7",
    )
    CONTENT_PROVIDER_RESULTS_STAY = (
        "content.provider-results-stay",
        ("Results and errors of provider-executed calls stay in the assistant message, where they happened."),
        "C7, ai@6.0.134",
    )
    CONTENT_ONE_TOOL_MESSAGE = (
        "content.one-tool-message",
        "Results and errors of client tools go into one tool message after the assistant message.",
        "C7",
    )
    CONTENT_NO_EMPTY_MESSAGE = (
        "content.no-empty-message",
        "A step of which no part is left adds no message.",
        "C7",
    )
    CONTENT_METADATA_BECOMES_OPTIONS = (
        "content.metadata-becomes-options",
        "A generated part's provider metadata becomes the provider options of the part made of it.",
        "X5",
    )
    OUTPUT_TEXT_OR_JSON = (
        "output.text-or-json",
        "A tool output that is a string becomes a text output, any other a json output.",
        "C7, ai@6.0.134",
    )
    OUTPUT_MODEL_OUTPUT_ONCE = (
        "output.model-output-once",
        ("A tool's own conversion of its output is made once, by whoever ran the tool, and used everywhere."),
        "X10",
    )
    CACHE_PREFIX = (
        "cache.prefix",
        (
            "What a provider can take from its cache of a prompt is the messages at its beginning that the "
            "prompt before it has as well; where they end too early, the hook whose edit ended them is named."
        ),
        "core",
    )
    OUTPUT_ASKED_AGAIN = (
        "output.asked-again",
        (
            "A result that is rejected before it is reported stays in the run, which goes on with another "
            "step; a run that ended by its limit of steps or by a processor ends all the same."
        ),
        "core",
    )
    OUTPUT_CLIENT_ERROR_TEXT = (
        "output.client-error-text",
        (
            "An error of a client tool becomes an error-text output: its text, or the JSON text of what "
            "is no string."
        ),
        "ai@6.0.134",
    )
    OUTPUT_PROVIDER_ERROR_JSON = (
        "output.provider-error-json",
        "An error of a provider-executed call becomes an error-json output.",
        "ai@6.0.134",
    )
    CALL_UNKNOWN_TOOL = (
        "call.unknown-tool",
        (
            "A call of a tool that the step does not offer is marked invalid and dynamic and answered "
            "with a tool error."
        ),
        "C63",
    )
    CALL_PROVIDER_DYNAMIC = (
        "call.provider-dynamic",
        "A call that the provider executes and marks dynamic needs no tool of that name.",
        "ai@6.0.134",
    )
    CALL_RESULT_NEEDS_CALL = (
        "call.result-needs-call",
        (
            "A result or an approval request in a model's answer belongs to a call of the same answer; "
            "else the run fails."
        ),
        "ai@6.0.134",
    )
    APPROVAL_LAST_MESSAGE = (
        "approval.last-message",
        "Approval responses count when the history ends in the tool message that holds them.",
        "X14",
    )
    APPROVAL_ANSWERED = (
        "approval.answered",
        "A response whose call has a result in that same tool message is passed over.",
        "X14",
    )
    APPROVAL_KNOWN = (
        "approval.known",
        ("A response without its request, or a request without its call, fails the run before any step."),
        "X14",
    )
    APPROVAL_BEFORE_STEP_0 = (
        "approval.before-step-0",
        (
            "Approved client calls run before step 0, and the message of their results begins the "
            "response chain."
        ),
        "C5, X14",
    )
    APPROVAL_RESULTS_THEN_DENIALS = (
        "approval.results-then-denials",
        (
            "In that tool message the results stand in the order of the responses, then the "
            "execution-denied results."
        ),
        "X14",
    )
    APPROVAL_PROVIDER_RESPONSES = (
        "approval.provider-responses",
        (
            "Responses about provider-executed calls go to the provider as approval responses, in a tool "
            "message of their own."
        ),
        "X14, ai@6.0.134",
    )
    APPROVAL_REQUESTED = (
        "approval.requested",
        (
            "A valid call of a tool that needs approval is not run: the step's content ends with a "
            "request for it."
        ),
        "C7",
    )
    PROMPT_SYSTEM_FIRST = (
        "prompt.system-first",
        (
            "System messages of the call, or of the override in their place, come before all others; "
            "empty text too."
        ),
        "C50, C56",
    )
    PROMPT_TEXT_BECOMES_PART = (
        "prompt.text-becomes-part",
        "User or assistant content that is a string becomes one text part, empty or not.",
        "ai@6.0.134",
    )
    PROMPT_USER_EMPTY_TEXT_DROPPED = (
        "prompt.user-empty-text-dropped",
        "Empty text parts of a user message are dropped.",
        "ai@6.0.134",
    )
    PROMPT_ASSISTANT_EMPTY_TEXT_DROPPED = (
        "prompt.assistant-empty-text-dropped",
        "Empty text parts of an assistant message are dropped unless they carry provider options.",
        "ai@6.0.134",
    )
    PROMPT_APPROVAL_REQUESTS_DROPPED = (
        "prompt.approval-requests-dropped",
        "No model gets an approval request.",
        "ai@6.0.134",
    )
    PROMPT_APPROVAL_RESPONSES = (
        "prompt.approval-responses",
        "Approval responses are dropped unless the provider executes the call.",
        "ai@6.0.134",
    )
    PROMPT_IMAGE_BECOMES_FILE = (
        "prompt.image-becomes-file",
        (
            "An image becomes a file part; its media type is what its first bytes say, else what was "
            "declared, else image/*."
        ),
        "ai@6.0.134",
    )
    PROMPT_DATA_URL_SPLIT = (
        "prompt.data-url-split",
        "A data: URL becomes its base64 text and its media type, which outweighs the declared one.",
        "ai@6.0.134",
    )
    PROMPT_MEDIA_OUTPUT = (
        "prompt.media-output",
        (
            "A media item of a content output becomes image-data or file-data; that output's own options "
            "are dropped."
        ),
        "X3, ai@6.0.134",
    )
    PROMPT_TOOL_MESSAGES_MERGED = (
        "prompt.tool-messages-merged",
        "Consecutive tool messages become one, with the provider options of the first.",
        "X17",
    )
    PROMPT_EMPTY_TOOL_MESSAGE_DROPPED = (
        "prompt.empty-tool-message-dropped",
        "A tool message left without parts is dropped.",
        "ai@6.0.134",
    )
    PROMPT_MISSING_RESULTS = (
        "prompt.missing-results",
        (
            "At every user or system message and at the end each client call has its result, but for one "
            "whose request for approval is answered later: its result comes after that."
        ),
        "C29, X16",
    )
    PROMPT_RESULT_HAS_CALL = (
        "prompt.result-has-call",
        "A tool result answers a call of the assistant message right before the tool messages that it is in.",
        "core",
    )
    PROMPT_ONE_RESULT = ("prompt.one-result", "A call has one result.", "core")
    PROMPT_CALL_IDS_DIFFER = (
        "prompt.call-ids-differ",
        "Calls of one answer have different ids; a later answer may use them again.",
        "core",
    )
    PROMPT_RESULTS_FOLLOW = (
        "prompt.results-follow",
        "Only tool messages stand between a call and its result, unless the call waited for approval.",
        "core",
    )
    PROMPT_CONTENT_NOT_EMPTY = (
        "prompt.content-not-empty",
        (
            "Of each user and assistant message a part is left that is more than a text of length zero, or "
            "carries provider options."
        ),
        "core",
    )
    PROMPT_NOT_EMPTY = (
        "prompt.not-empty",
        "A prompt has a message besides instructions.",
        "core",
    )
    PROMPT_HISTORY_ELSEWHERE = (
        "prompt.history-elsewhere",
        (
            "A model that holds the history on its side may be asked with results of calls that are not in "
            "the prompt, and with an empty one."
        ),
        "core",
    )
    STEP_INPUT = (
        "step.input",
        (
            "The step input is the initial chain followed by the response chain; after a lasting edit, its "
            "messages followed by the responses since."
        ),
        "C9",
    )
    STEP_INITIAL_GIVEN = (
        "step.initial-given",
        "A run is given one or more messages, or it does not start.",
        "C2",
    )
    STEP_INITIAL_FIXED = ("step.initial-fixed", "The initial chain never changes during a run.", "C3")
    STEP_RESPONSE_GROWS = (
        "step.response-grows",
        "The response chain only grows, by assistant and tool messages.",
        "C7, C8",
    )
    STEP_OVERRIDE_DROPPED = (
        "step.override-dropped",
        "Everything a step hook returned is gone at the next step, but for messages that are named lasting.",
        "C13, C14, C57",
    )
    OVERRIDE_ABSENT = (
        "override.absent",
        "Returning nothing, or None in a field, leaves the call's own value.",
        "C52, C53",
    )
    OVERRIDE_OPTIONS_MERGED = (
        "override.options-merged",
        "Provider options merge key by key at every depth; arrays, scalars and null replace.",
        "C60",
    )
    OVERRIDE_ACTIVE_TOOLS = (
        "override.active-tools",
        "Active tools limit what a step offers, by name; names of no tool are passed over.",
        "C59, C68",
    )
    OVERRIDE_PROMPT_ONLY = (
        "override.prompt-only",
        "Overridden messages are seen by the model and on_step_start; tools get the step input.",
        "X1",
    )
    LOOP_CONTINUES = (
        "loop.continues",
        "Another step follows when the step had client calls and each has its result or error.",
        "ai@6.0.134",
    )
    LOOP_STOPS = (
        "loop.stops",
        ("stop_when is asked only where another step would follow, and the limit of steps holds besides."),
        "X7",
    )

    RUN_ORDER = (
        "run.order",
        (
            "A step needs, in this order: prepare_step, on_step_start, the model, approvals where tools ask "
            "for them, tools, on_step_finish, stop_when."
        ),
        "C80, core",
    )
    RUN_ASKS = (
        "run.asks",
        "A run calls nothing: what it needs is a value, and the outcome is given to it as one.",
        "core",
    )
    RUN_ANSWER_FITS = (
        "run.answer-fits",
        "An outcome that does not answer the need is refused, and the run is as it was.",
        "core",
    )
    RUN_KEPT = (
        "run.kept",
        "A run is a value: it stays what it was whatever is made of it, and every step's is kept.",
        "core",
    )
    RUN_FORKED = (
        "run.forked",
        (
            "A fork goes on from before a step, with other settings or on other messages; what was before is "
            "shared with the run that it was made from."
        ),
        "core",
    )
    RUN_REPLAYED = (
        "run.replayed",
        "The same settings, messages and outcomes make an equal run, and nothing is called.",
        "core",
    )
    RUN_SAVED = (
        "run.saved",
        "A run that is written as JSON and read again is equal to the one that was written.",
        "core",
    )
    RUN_CONVERSATION = (
        "run.conversation",
        (
            "The conversation of a run is what its next step would be given: the messages that it began with "
            "and its responses or, after a lasting edit, what the edit left and what came since."
        ),
        "core",
    )
    RUN_FILE_WHOLE = (
        "run.file-whole",
        "The file of a run is replaced as a whole: who reads it reads the old run or the new one.",
        "core",
    )
    RUN_LOG_WHOLE = (
        "run.log-whole",
        (
            "The log of a run gets longer by what is new, and holds the run of the last call that has ended, "
            "wherever its writer dies."
        ),
        "core",
    )
    RUN_LOAD_BOUNDED = (
        "run.load-bounded",
        (
            "What a saved run comes to is counted before it is made: a file costs its own size and, beyond "
            "that, no more than a limit."
        ),
        "core",
    )
    RUN_CANCELLED = (
        "run.cancelled",
        "A run can be cancelled at each of its needs, and fails with its finished steps kept.",
        "core",
    )
    STEP_FOLDED = (
        "step.folded",
        (
            "A step maps the chains before, and what its hooks returned and it produced, to the chains "
            "after: folding it over the records of a run from its first chains gives the run's chains, ids "
            "included, and the prompt of the prepared chains is the record's. Answers that came before a "
            "step are among its results."
        ),
        "core",
    )
    PENDING_ANSWERED_TOGETHER = (
        "pending.answered-together",
        (
            "All that a run waits for (questions, approvals, calls that the caller is to do) is answered "
            "together, in one call; missing, unknown and unfit answers are refused, and the run stays as it "
            "was."
        ),
        "core",
    )
    PENDING_REPLY = (
        "pending.reply",
        (
            "Answers to approvals and results of calls are one tool message after their step, in the order "
            "of the calls; the same run goes on as a run does that begins with these messages."
        ),
        "core",
    )
    PENDING_APPROVED_CALL = (
        "pending.approved-call",
        "A call that was approved and that no tool here can run is waited for in its turn.",
        "core",
    )
    STEP_NOTHING_WRITTEN = (
        "step.nothing-written",
        (
            "Everything that leaves the core is read-only: each mutator of a list, a dict or a set raises, "
            "with the place, the hook, its step and what to make instead, and changes nothing."
        ),
        "core",
    )
    CONTEXT_SHARED = (
        "context.shared",
        (
            "The invocation_state of a call is one object, of any type, and never None: every hook, tool "
            "and handler of the call gets that very object and sees what others did to it at once. A resumed "
            "call gets another one, and no saved run keeps any of it."
        ),
        "core",
    )
    MODEL_STATE_FROM_THE_ANSWER = (
        "model.state-from-the-answer",
        (
            "The answer that a step takes brings the next state; failed calls, answers that were not taken "
            "and answers without one leave it as it was."
        ),
        "S10, S18, S33, S71",
    )
    INTERRUPT_ONE_QUESTION = (
        "interrupt.one-question",
        "Who asks at one place by one name asks one question, which has one id and one answer.",
        "core",
    )
    INTERRUPT_NEEDED_AGAIN = (
        "interrupt.needed-again",
        (
            "When every question has its answer, what was pending is done again, and whoever asked is given "
            "the answer where it asked."
        ),
        "strands-agents@1.62.0",
    )
    INTERRUPT_FINISHED_KEPT = (
        "interrupt.finished-kept",
        (
            "Tool calls that had finished when others of their step asked, failed the run or were cancelled "
            "are not run again."
        ),
        "strands-agents@1.62.0",
    )
    OVERRIDE_SETTINGS_MERGED = (
        "override.settings-merged",
        "Model settings merge key by key over the call's own, and over those of the processors before.",
        "core",
    )
    PROCESSOR_ORDER = (
        "processor.order",
        (
            "At each step the processors run in order, each given what the one before left, and "
            "prepare_step is the last of them."
        ),
        "M1, M6, M70",
    )
    PROCESSOR_INPUT_ONCE = (
        "processor.input-once",
        (
            "process_input runs once, before approved calls and step 0: what it leaves are the initial chain "
            "and the instructions of the run."
        ),
        "M2, M61",
    )
    PROCESSOR_SYSTEM_RESET = (
        "processor.system-reset",
        "At each step the first processor gets the run's own system messages, whatever others had.",
        "M60, M63",
    )
    PROCESSOR_SYSTEM_REPLACED = (
        "processor.system-replaced",
        "System messages that a processor returns as such replace all that there were.",
        "M31, M40",
    )
    PROCESSOR_SYSTEM_ADDED = (
        "processor.system-added",
        (
            "System messages among the messages that a processor returns or adds are added to the system "
            "messages, but for those that stood among the messages it got."
        ),
        "M38, M65",
    )
    PROCESSOR_OWN_LIST = (
        "processor.own-list",
        "A processor may return the message list that it got; another one fails the run.",
        "M39, M47",
    )
    PROCESSOR_SAID_ONCE = (
        "processor.said-once",
        (
            "Messages are returned or changed on the list, and system messages likewise; a processor that "
            "does both fails the run."
        ),
        "M48",
    )
    PROCESSOR_MODEL_KIND = (
        "processor.model-kind",
        "A returned model is an id or can be called as agents call models; another one fails the run.",
        "M49",
    )
    PROCESSOR_ABORT_ENDS = (
        "processor.abort-ends",
        (
            "abort ends the run with a tripwire: no later processor and no model is called, finished steps "
            "are kept, and on_finish is called."
        ),
        "M89",
    )
    PROCESSOR_FAILURE_NAMED = (
        "processor.failure-named",
        (
            "What a processor raises fails the run by an error that names the processor and the step; no "
            "later one is called."
        ),
        "M91",
    )
    LIST_COMMITTED_ON_RETURN = (
        "list.committed-on-return",
        (
            "What a processor did to its message list holds once it has returned, whatever it returns, and "
            "is dropped if it raises; the list is closed then."
        ),
        "M21",
    )
    MESSAGE_IDS_KEPT = (
        "message.ids-kept",
        (
            "A message has the same id for every processor and at every step, whatever else was edited: its "
            "place in a chain, or who brought it in and when. An equal message is the same message, known as "
            "often as it was there."
        ),
        "core",
    )
