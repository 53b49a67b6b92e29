"""The named rules of an agent loop, and the places where this core differs from AI SDK 6 on purpose.

A rule's dotted name is the same in the specification, in code, in tests and in traces. Sources are claims
about ai@6.0.134 (C1 to C83, X1 to X20), the package itself where no claim covers the point, or the core where
the package has nothing of the kind.
"""

from __future__ import annotations

from enum import Enum
from typing import Self


class Requirement(Enum):
    """A named statement of the specification; `value` is the dotted name.

    Each kind is an enum of its own in a module named `rules`: those of the core are here.
    """

    statement: str

    @property
    def text(self) -> str:
        """What the specification says under the name."""
        return self.statement


class Rule(Requirement):
    """What the core does, one statement a rule."""

    source: str

    def __new__(cls, name: str, statement: str, source: str) -> Self:
        """Take name, statement and source from the member's definition."""
        rule = object.__new__(cls)
        rule._value_ = name
        rule.statement = statement
        rule.source = source
        return rule

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
        "No model is shown an approval request.",
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
            "At every user or system message and at the end each client call has its result or an "
            "approval response."
        ),
        "C29, X16",
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
        "A run calls nothing: what it needs is a value, and what came of it is given to it as one.",
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
    RUN_CANCELLED = (
        "run.cancelled",
        "A run can be cancelled at each of its needs, and fails with its finished steps kept.",
        "core",
    )
    STEP_NOTHING_WRITTEN = (
        "step.nothing-written",
        "Hooks, tools and observers are given frozen values: a write is refused, and told with its place.",
        "core",
    )


class Difference(Requirement):
    """Where the core does not do what ai@6.0.134 does."""

    reason: str

    @property
    def text(self) -> str:
        """The statement, and why."""
        return f"{self.statement} *Why:* {self.reason}"

    def __new__(cls, name: str, statement: str, reason: str) -> Self:
        """Take name, statement and reason from the member's definition."""
        difference = object.__new__(cls)
        difference._value_ = name
        difference.statement = statement
        difference.reason = reason
        return difference

    CONTEXT_LASTS_ITS_STEP = (
        "difference.context-lasts-its-step",
        (
            "An experimental_context override holds for its step only; the package keeps it for all later "
            "steps (C61)."
        ),
        (
            "Every other field of an override is gone at the next step, and the documents promise it of "
            "this one too."
        ),
    )
    RESULTS_IN_CALL_ORDER = (
        "difference.results-in-call-order",
        (
            "Results and errors stand in the order of the calls; streamText has them as they finish "
            "(X18), generateText puts those of invalid calls first."
        ),
        "The prompt of the next step does not depend on which tool was faster.",
    )
    HOOK_FAILURE_FAILS = (
        "difference.hook-failure-fails",
        (
            "A hook that raises fails the run with its finished steps kept; the package swallows "
            "on_step_start, on_step_finish and on_finish, and loses the steps where generateText rejects "
            "(X19)."
        ),
        "An error that nobody sees is a wrong result later, and finished steps have been paid for.",
    )
    FAILURE_KEEPS_STEPS = (
        "difference.failure-keeps-steps",
        (
            "Every failure carries the run as it was, finished steps included; generateText rejects "
            "without them."
        ),
        "What was done can be inspected, reported and continued from.",
    )
    HIDDEN_TOOL_IS_AN_ERROR = (
        "difference.hidden-tool-is-an-error",
        (
            "A call of a tool hidden by active_tools is answered with a tool error; the package runs the "
            "tool (C59)."
        ),
        "Hiding a tool is used as a guard, and newer versions enforce it (X20).",
    )
    TOOL_CHOICE_ENFORCED = (
        "difference.tool-choice-enforced",
        (
            "Where the tool choice is none, or names another tool, a call is answered with a tool error; "
            "where it requires a call, an answer without one fails the run. The package only passes the "
            "choice on (C58, C69)."
        ),
        "Who forbids or requires a call relies on it, and newer versions enforce it (X20).",
    )
    REPORT_IS_THE_LOOPS_OWN = (
        "difference.report-is-the-loops-own",
        (
            "The report holds the very messages that the next prompt is made of; the package makes a "
            "second conversion or a deep clone (C36, C37)."
        ),
        "Immutable messages can be shared, and then what is reported is what was sent.",
    )
    OVERRIDES_CHECKED = (
        "difference.overrides-checked",
        (
            "An override with an unknown field, a wrong kind of value, or an ill-formed message is "
            "refused; the package ignores or passes them on (C54, C58, X16)."
        ),
        "A misspelt field that does nothing is found at once.",
    )
    APPROVALS_AS_STREAM = (
        "difference.approvals-as-stream",
        (
            "Messages made of approvals are those of streamText: responses for the provider first, no "
            "empty message, and no execution-denied result for a provider-executed call; generateText has "
            "its own order and adds one."
        ),
        (
            "The two paths of the package differ, and a denial told to the provider twice, under one "
            "vendor's name, is no rule for a core."
        ),
    )
    CONTENT_AS_GENERATE = (
        "difference.content-as-generate",
        (
            "A step's content is the model's parts, then results, then approval requests, as in "
            "generateText; streamText records each part as it comes."
        ),
        "The order does not depend on timing.",
    )
    URLS_KEPT = (
        "difference.urls-kept",
        (
            "A URL in an image or a file stays the text it is; the package normalizes it and downloads "
            "what the model does not take."
        ),
        "The core does no input or output.",
    )
    STEPS_ARE_VALUES = (
        "difference.steps-are-values",
        "Hooks are given finished steps as a value; the package hands out its live array (X6).",
        "No hook can renumber or take away steps.",
    )
    LOOP_COUNTS_BY_CALL = (
        "difference.loop-counts-by-call",
        (
            "Another step follows when each client call has its own answer; the package compares their "
            "numbers, so an invalid provider-executed call ends the run."
        ),
        "What the provider ran says nothing of whether our calls are answered.",
    )
    STEP_NAMES_ITS_MODEL = (
        "difference.step-names-its-model",
        "A step is recorded under the model that it called; streamText records the call's own (C55).",
        "A report that names another model than the one that answered is wrong.",
    )
    FAILED_RUN_DOES_NOT_FINISH = (
        "difference.failed-run-does-not-finish",
        (
            "on_finish is told of runs that ended well; streamText also calls it when a run fails after a "
            "finished step."
        ),
        "generateText does not, and a failure has an event of its own.",
    )
    REFUSED_WRITE_FAILS = (
        "difference.refused-write-fails",
        (
            "A write into a frozen value fails the run, in a tool as in a hook; in the package a tool that "
            "is refused a write is a tool error, and observers' errors are swallowed."
        ),
        "It is a fault of the program, and a model cannot mend it.",
    )
    ERRORS_ARE_TEXT = (
        "difference.errors-are-text",
        "The error of a client call is a text in a step's content; the package keeps the exception object.",
        "An exception is no value: it holds live frames and has no JSON form.",
    )
    NOTHING_IS_NULL = (
        "difference.nothing-is-null",
        "A tool that returns nothing has the output null; in the package's content it has none.",
        "JSON has no undefined, and the message made of it says null in the package as well.",
    )
    UNKNOWN_FIELDS_REFUSED = (
        "difference.unknown-fields-refused",
        (
            "A message or part with an unknown field is refused where it comes in, an AI_InvalidPromptError "
            "for the caller's; the package keeps the field in its chains and leaves it out of prompts."
        ),
        "A misspelt field does nothing there, and what a message cannot hold cannot be written back.",
    )
    LASTING_MESSAGES = (
        "difference.lasting-messages",
        (
            "A step hook may also return lasting_messages: this step and later ones are built on them and "
            "the responses since, while initial and response chain stay complete; the package has no such "
            "field (C13, C57)."
        ),
        (
            "What lasts is named as such; compaction needs no writes in place, and nothing that was done is "
            "lost."
        ),
    )
    SAME_ID_CALLS_KEPT = (
        "difference.same-id-calls-kept",
        (
            "Calls of one answer that share an id stay as the model made them, each with its own answer; "
            "generateText records the first in the place of each."
        ),
        "What is recorded is what was asked for, and what ran.",
    )
