"""What a named statement of the specification is, and the differences that the core has on purpose.

A `Difference` is a place where this core differs from AI SDK 6, by the name that the specification has.
Where there is something that the AI SDK does not have, it is Strands Agents that it differs from.
"""

from __future__ import annotations

from enum import Enum
from typing import Self

__all__ = ["Difference", "Requirement", "SourcedRequirement"]


class Requirement(Enum):
    """A named statement of the specification; `value` is the dotted name.

    Each kind is an enum of its own in a module named `rules`: those of the core are in
    `agentcore.requirements.rules`.
    """

    statement: str

    def __new__(cls, name: str, statement: str) -> Self:
        """Take name and statement from the member's definition."""
        requirement = object.__new__(cls)
        requirement._value_ = name
        requirement.statement = statement
        return requirement

    @property
    def text(self) -> str:
        """What the specification says under the name."""
        return self.statement


class SourcedRequirement(Requirement):
    """A requirement with its source: a measured claim, a package, or the core."""

    source: str

    def __new__(cls, name: str, statement: str, source: str) -> Self:
        """Take name, statement and source from the member's definition."""
        requirement = object.__new__(cls)
        requirement._value_ = name
        requirement.statement = statement
        requirement.source = source
        return requirement


class Difference(Requirement):
    """Where the core does not do what the packages do; `value` is the dotted name."""

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
        "The finished steps can be inspected, reported and continued from.",
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
            "Where the tool choice is `none`, or names another tool, a call is answered with a tool error; "
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
            "An override with an unknown field, a wrong kind of value, the name of a tool that is not there, "
            "or an ill-formed message is refused; the package ignores or passes them on (C54, C58, X16)."
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
            "The two paths of the package differ, and a denial sent to the provider twice, under one "
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
            "on_finish is called for runs that ended well; streamText also calls it when a run fails after a "
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
            "The field's name says that the edit lasts; compaction needs no writes in place, and the chains "
            "keep all that was said."
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
    OUTPUTS_IN_ORDER = (
        "difference.outputs-in-order",
        (
            "Output handlers of middleware run in the order of registration; in Strands Agents the last one "
            "runs first (S67)."
        ),
        "Its own comment promises this order, and input handlers have it.",
    )
    CONTEXTS_ARE_VALUES = (
        "difference.contexts-are-values",
        (
            "Contexts and results of middleware cannot be written to; Strands Agents copies some of their "
            "fields and shares the others, and handlers of one chain share all (S12, S14, S64, S86)."
        ),
        "What a handler did to another's context shows nowhere, and copies cost what values do not.",
    )
    HANDLER_FAILURE_FAILS = (
        "difference.handler-failure-fails",
        (
            "A handler that raises fails the run, at every stage; in Strands Agents a tool's handler ends "
            "the call or makes an error result, by the executor and the language (S75)."
        ),
        "It is a fault of the program, as in a hook; what the model is to see is a result.",
    )
    QUESTIONS_PASS = (
        "difference.questions-pass",
        (
            "A question on its way out is no Exception; in Strands Agents a handler or a tool that catches "
            "Exception swallows it."
        ),
        "Whoever retries or reports failures has not failed, and a person waits to be asked.",
    )
    SYSTEM_MESSAGES_ADDED = (
        "difference.system-messages-added",
        (
            "A new system message among the messages that a step hook returns is added to the step's "
            "instructions, in any form; the AI SDK sends it where it stands among the messages, Mastra drops "
            "it unless it has its storage's form (M66)."
        ),
        "Providers refuse instructions in the middle of a conversation, or move them as they like.",
    )
    PROCESSED_FOR_THE_STEP = (
        "difference.processed-for-the-step",
        (
            "Messages that a processor returns or changes on its list are the step's own, in the order "
            "that it gave them; Mastra changes the stored conversation by them for good, matched by id "
            "and sorted by date (M3, M37)."
        ),
        "What is to last is returned as such: lasting_messages, or process_input.",
    )
    PROCESSORS_GET_VALUES = (
        "difference.processors-get-values",
        (
            "What processors get cannot be written to, but for the message list that is theirs "
            "alone; Mastra hands out the list's own array, the loop's steps and the caller's option "
            "objects (M19, M20, M29)."
        ),
        "What a processor does is what it returns or does to its list; nothing else has to be looked for.",
    )
    OPTIONS_MERGED = (
        "difference.options-merged",
        (
            "Provider options and model settings that a processor returns are merged over those it got; "
            "Mastra puts them in their place (M12, M13)."
        ),
        "One option is changed without having to repeat the others, as prepare_step of the AI SDK does.",
    )
    NONE_IS_ABSENT = (
        "difference.none-is-absent",
        (
            "A field that a hook returns as None is as if it were not there; Mastra clears the call's "
            "value (M45)."
        ),
        "An if without an else gives None; to clear the choice, return auto.",
    )
    PROCESSED_ONCE = (
        "difference.processed-once",
        (
            "A step is processed once: what a processor raises fails the run, and a model that fails is "
            "called again with what was made for the step; Mastra runs all processors again for the next "
            "model, on what the first run left (M91)."
        ),
        "A reminder that is added once is there once.",
    )
    NOTHING_COPIED = (
        "difference.nothing-copied",
        (
            "Nothing is copied for a handler or a hook: with handlers or without, a model call has the very "
            "prompt of the step's record, in which the form of each message is made once and kept; Strands "
            "Agents copies all messages at every model call, also where no handler is registered (S51)."
        ),
        "What cannot be written to needs no copy, so a step costs the same after any history.",
    )
    PARTS_CLOSED = (
        "difference.parts-closed",
        (
            "A part of a type that no message has, such as thinking, is refused, with its place; Mastra "
            "stores it and leaves it out of every prompt, so what it says is lost (M59)."
        ),
        (
            "A provider's own part is made where the provider is called, of the part and its provider "
            "options; a transformer that makes one by itself is found at once."
        ),
    )
    ANSWERS_BRING_RESULTS = (
        "difference.answers-bring-results",
        (
            "An answer to a request for approval does not stand in for the call's result: without that the "
            "run fails before the model is asked. `ai` 6.0.134 asks it, and from 6.0.304 on it fails as well "
            "(X45)."
        ),
        (
            "No provider takes a call without a result. The result is missing where an approved call was cut "
            "short, and whoever reads the error can resume the run that asked for approval."
        ),
    )
    PROMPTS_VALIDATED = (
        "difference.prompts-validated",
        (
            "A prompt that providers refuse fails the run before the model is asked: a result without its "
            "call or beside another one, calls of one answer that share an id, a message without content, a "
            "prompt without messages; the packages send all of these (X16)."
        ),
        (
            "The provider's error names neither the message nor the hook that made it, and whoever runs "
            "without that provider never sees it."
        ),
    )
