"""The profile class: what tells paths and versions of the AI SDK apart, each field with what it decides.

A difference is a field here, never a branch on a profile's name (rule compat.profile-is-data).
"""

from __future__ import annotations

from enum import Enum

import attrs

from agentcore.heap.copying import CopyDepth
from agentcore.kit.framework import decision


class Lifetime(Enum):
    """How long what a step hook returned is in force."""

    STEP = "this step"
    RUN = "this step and all later ones"


class Moment(Enum):
    """When the response messages of a step, or its entry in `steps`, are made."""

    BEFORE_STEP_FINISH = "before on_step_finish"
    AFTER_STEP_FINISH = "after on_step_finish"
    AFTER_STOP_WHEN = "after stop_when, and only if the run goes on"


class Report(Enum):
    """What `response.messages` of a step is made of."""

    CONTENT = "a second conversion of the step's content, after those of the earlier steps"
    CHAIN = "a structured clone of all response messages"
    OWN = "a deep copy of the step's own messages"


class Base(Enum):
    """What a step's messages are, before its hook."""

    CHAINS = "the initial and the response messages, listed anew"
    CARRIED = "what the step before was given, hooks' changes included, and its response"


class PromptCheck(Enum):
    """What is checked of the messages of a call."""

    SCHEMA = "that there are some, all as the schema says, and that a system prompt is one"
    ROLES = "that there are some, and no system message unless the call allows it"
    ROLES_AND_SCHEMA = (
        "that a system prompt is one, that there are some, no system message if the call forbids it, and "
        "all as the schema says"
    )


class FileShape(Enum):
    """How a prompt holds files."""

    PLAIN = "their data as it is; an address as a URL parser writes it"
    PLAIN_WITH_TEXT = "their data as it is; an address with its text beside it if a URL parser writes another"
    TAGGED = "an object that says what kind of data it is; an address with its text if that is another"


@attrs.frozen(kw_only=True)
class Contexts:
    """The values that a call passes to its hooks and tools.

    `names` are the settings they come from; with `always` an empty object stands in for a missing one.
    A tool's options have the one called `for_tools` as `in_options`: whole, or what it has `by_tool`.
    """

    names: tuple[str, ...]
    always: bool
    for_tools: str
    in_options: str
    by_tool: bool


class ChoiceWithoutTools(Enum):
    """Which tool choice a model is given where it is offered no tools."""

    NOTHING = "none at all"
    NONE = "only that no tool be called"
    ANY = "the one that is in force"


class ModelInfo(Enum):
    """When the object that names a step's model is made."""

    CALL = "once, before the first step"
    STEP = "at each step, before its model is called"
    RESULT = "for the result of each step"


class Failure(Enum):
    """What the caller gets of a run that failed."""

    REJECTED = "the error; the finished steps are lost"
    REPORTED = "the error as an event; the finished steps are the result"


class Gate(Enum):
    """What chunks pass between step and observer: a transform, or a stream that reads so many ahead."""

    TRANSFORM = "a transform"
    READ = 0
    READ_AHEAD = 1


@attrs.frozen(kw_only=True)
class Pace:
    """How many turns of the microtask queue things take, counted in the package's code: every `await` is one.

    The streams that chunks pass take theirs beside. A call takes `parse`, and one more where there are
    tools; `context` is what a function of a tool waits for first, `signed` a request for approval; then
    `start` passes until a tool runs, `no_hook` or `hook` for each of its events, `returned` or `thrown` for
    what the tool does, and `result` or `error` until the answer is in the stream. `chunk` passes when a chunk
    is shown, with `chunk_hook` more if anyone listens. `model_ended` passes when the model has sent all,
    and `built` while the streams behind the model's are made.
    """

    parse: int
    context: int
    signed: int
    start: int
    no_hook: int
    hook: int
    returned: int
    thrown: int
    result: int
    error: int
    chunk: int
    chunk_hook: int
    model_ended: int
    built: int


@attrs.frozen(kw_only=True)
class AiSdkProfile:
    """A path of the AI SDK's step loop."""

    name: str
    package: str

    settings: tuple[str, ...] = attrs.field(
        metadata=decision(
            "The settings that are read; another that is not passed over is not emulated.",
            heading="The settings of a call",
        )
    )
    settings_ignored: tuple[str, ...] = attrs.field(
        metadata=decision("The settings that are passed over, whatever they are.")
    )
    call_settings: tuple[str, ...] = attrs.field(metadata=decision("The settings that the model is given."))
    numbers_checked: tuple[str, ...] = attrs.field(
        metadata=decision(
            "The settings that have to be numbers; those that have to be whole are checked "
            "under each profile."
        )
    )
    step_settings: bool = attrs.field(
        metadata=decision("Whether a step hook may return settings for the model of its step.")
    )
    headers_named: bool = attrs.field(
        metadata=decision(
            "Whether the headers that the model is given have small letters and name the package."
        )
    )
    raw_chunks_asked: bool = attrs.field(
        metadata=decision("Whether the model gets the setting that asks for its chunks as they are.")
    )

    caller_to_initial: CopyDepth = attrs.field(
        validator=attrs.validators.in_((CopyDepth.SHARE, CopyDepth.LIST, CopyDepth.DEEP)),
        metadata=decision(
            "How much of the caller's messages is new in the initial chain.", heading="The chains"
        ),
    )
    chains_to_hooks: CopyDepth = attrs.field(
        validator=attrs.validators.in_((CopyDepth.LIST, CopyDepth.DEEP)),
        metadata=decision(
            "How much of the chains is new in the `messages` of a step's hooks, tools and observers."
        ),
    )
    base: Base = attrs.field(metadata=decision("What the messages of a step are before its hook."))
    system_lives: Lifetime = attrs.field(
        metadata=decision("How long a system prompt that a step hook returned is in force.")
    )
    contexts: Contexts = attrs.field(
        metadata=decision(
            "What the call passes to its hooks and tools besides messages, and under which names."
        )
    )
    context_lives: Lifetime = attrs.field(
        metadata=decision("How long a context that a step hook returned is in force.")
    )

    report: Report = attrs.field(
        metadata=decision("What `response.messages` of a step is made of.", heading="The report")
    )
    response_made: Moment = attrs.field(
        validator=attrs.validators.in_((Moment.BEFORE_STEP_FINISH, Moment.AFTER_STOP_WHEN)),
        metadata=decision("When the messages of a step that later steps are given are made of its content."),
    )
    base_made: Moment = attrs.field(
        validator=attrs.validators.in_((Moment.BEFORE_STEP_FINISH, Moment.AFTER_STEP_FINISH)),
        metadata=decision("When a carried base is made: what was pushed to the list before then is in it."),
    )
    step_recorded: Moment = attrs.field(
        validator=attrs.validators.in_((Moment.BEFORE_STEP_FINISH, Moment.AFTER_STEP_FINISH)),
        metadata=decision("When a step is added to `steps`."),
    )
    records_step_model: bool = attrs.field(
        metadata=decision(
            "Whether a step is recorded under the model that was called rather than the call's."
        )
    )
    model_info_made: ModelInfo = attrs.field(
        metadata=decision("When the object that names the model in a step's result is made.")
    )
    response_model_of_info: bool = attrs.field(
        metadata=decision(
            "Whether `response.modelId` is read from the object that names the model to events "
            "rather than from the model."
        )
    )
    step_number_late: bool = attrs.field(
        metadata=decision(
            "Whether the number of a step is read from `steps` at each event, not once before the step hook."
        )
    )
    reasoning_copied: bool = attrs.field(
        metadata=decision(
            "Whether a step result's `reasoning` holds new objects rather than the content's parts."
        )
    )

    content_copied: bool = attrs.field(
        metadata=decision(
            "Whether the content's text and reasoning parts are new objects rather than the model's.",
            heading="The content of a step",
        )
    )
    content_made_early: bool = attrs.field(
        metadata=decision("Whether what the model sent is put together before its calls run, too.")
    )
    pace: Pace | None = attrs.field(
        metadata=decision(
            "In how many turns a stream records each part as it comes; without: the model's "
            "parts, then the results in the order of the calls, then the approval requests."
        )
    )
    answers_merged: bool = attrs.field(
        metadata=decision(
            "Whether what answers calls comes in a stream of its own, merged with the model's chunks."
        )
    )
    gates: tuple[Gate, ...] = attrs.field(
        metadata=decision("What chunks pass between the stream of their step and whoever listens.")
    )
    output_of_run: bool = attrs.field(
        metadata=decision("Whether the text that is parsed as the output is the run's first, not the step's.")
    )
    part_ids_reserved: bool = attrs.field(
        metadata=decision("Whether a streamed text gets another id than the earlier ones of the run.")
    )
    results_as_ready: bool = attrs.field(
        metadata=decision(
            "Whether tools run once the model has sent all, their results recorded as they are ready."
        )
    )
    answers_invalid_provider_calls: bool = attrs.field(
        metadata=decision("Whether a provider's call of an unknown tool gets an error here.")
    )
    calls_copied: bool = attrs.field(
        metadata=decision(
            "Whether the content has a copy of a call, other than the one that a request for approval names."
        )
    )
    calls_written: bool = attrs.field(
        metadata=decision(
            "Whether a step's calls are written as JSON at its end, which one that holds itself makes fail."
        )
    )

    continuation_counted_early: bool = attrs.field(
        metadata=decision(
            "Whether the calls and results that decide if the run goes on are counted before `onStepFinish`."
        )
    )

    tool_fields_kept: bool = attrs.field(
        metadata=decision(
            "Whether the description and the options of a tool are given to the model whatever they are.",
            heading="Tools",
        )
    )
    schema_of_none_typed: bool = attrs.field(
        metadata=decision("Whether the schema that stands for a missing one says that it is of an object.")
    )
    metadata_on_calls: bool = attrs.field(
        metadata=decision("Whether the metadata of a tool are on its calls and their results.")
    )
    told_of_invalid_calls: tuple[str, ...] = attrs.field(
        metadata=decision("What the error of an invalid call has of its tool, besides its name.")
    )
    inherited_names_found: bool = attrs.field(
        metadata=decision(
            "Whether a name that each object inherits, such as `toString`, is found among tools and requests."
        )
    )
    unsafe_keys_dropped: bool = attrs.field(
        metadata=decision("Whether merging provider options leaves out `constructor` and `prototype`.")
    )
    content_has_answers: bool = attrs.field(
        metadata=decision("Whether answers to requests for approval can stand in a step's content.")
    )
    tools_before_prompt: bool = attrs.field(
        metadata=decision("Whether the tools and the tool choice of a step are made before its prompt.")
    )
    options_before_prompt: bool = attrs.field(
        metadata=decision("Whether the provider options of a step are merged before its prompt is made.")
    )
    tools_see_override: bool = attrs.field(
        metadata=decision(
            "Whether tools are given the messages that the step hook returned rather than those it was given."
        )
    )
    active_tools_enforced: bool = attrs.field(
        metadata=decision("Whether a call of a tool that is not active is one of an unknown tool.")
    )
    tool_choice_enforced: bool = attrs.field(
        metadata=decision(
            "Whether a run breaks when the tool choice forbids calls and the model's answer has one."
        )
    )
    required_calls_enforced: bool = attrs.field(
        metadata=decision(
            "Whether a run breaks when the model's answer has no call that the tool choice requires."
        )
    )
    empty_tools_offered: bool = attrs.field(
        metadata=decision(
            "Whether a model is offered an empty list of tools, rather than none, where none is active."
        )
    )
    choice_without_tools: ChoiceWithoutTools = attrs.field(
        metadata=decision("Which tool choice a model is given where it is offered no tools.")
    )
    runs_only_functions: bool = attrs.field(
        metadata=decision("Whether a call of a tool whose `execute` is no function stays pending.")
    )
    tool_events: tuple[str, ...] = attrs.field(metadata=decision("What the observers of tool calls get."))

    errors_named: bool = attrs.field(
        metadata=decision(
            "Whether the text of an error begins with its name.", heading="From content to messages"
        )
    )
    outputs_through_json: bool = attrs.field(
        metadata=decision("Whether a tool's output is copied as JSON when a message is made of it.")
    )
    results_in_call_order: bool = attrs.field(
        metadata=decision("Whether a tool message lists its results in the order of the calls.")
    )
    annotated_empty_text_kept: bool = attrs.field(
        metadata=decision("Whether an empty text with provider metadata is in the assistant message.")
    )
    invalid_input_emptied: bool = attrs.field(
        metadata=decision(
            "Whether the input of an invalid call is `{}` in its message unless it is an object."
        )
    )

    prompt_check: PromptCheck = attrs.field(
        metadata=decision(
            "What is checked of the messages of a call before the first step.",
            heading="From messages to a prompt",
        )
    )
    steps_checked: bool = attrs.field(
        metadata=decision("Whether each step's messages are checked as the call's are.")
    )
    files: FileShape = attrs.field(metadata=decision("How a prompt holds the data of images and files."))
    merged_options_kept: bool = attrs.field(
        metadata=decision("Whether the provider options of tool messages that become one are all kept.")
    )
    lone_options_kept: bool = attrs.field(
        metadata=decision(
            "Whether the provider options of a tool message without parts are kept when it becomes one "
            "with the next."
        )
    )
    approvals_excuse_results: bool = attrs.field(
        metadata=decision("Whether a call with an answered request for approval needs no result.")
    )

    approvals_settled_once: bool = attrs.field(
        metadata=decision(
            "Whether the first answer about a call settles it.",
            heading="Approvals in the history",
        )
    )
    approvals_in_call_order: bool = attrs.field(
        metadata=decision(
            "Whether approved calls run in the order of the calls rather than of the answers, and a "
            "repeated denial has to be of a call."
        )
    )
    approvals_validated: bool = attrs.field(
        metadata=decision(
            "Whether an approved call runs only if its tool still asks for approval and takes its input."
        )
    )
    approvals_asked_again: bool = attrs.field(
        metadata=decision(
            "Whether tools are asked again whether an approved call needs approval, and whether its input is "
            "that of the request; the call is a copy."
        )
    )
    denial_names_approval: bool = attrs.field(
        metadata=decision(
            "Whether the result of a denied call of the provider's is made, naming the approval."
        )
    )
    provider_answers: bool = attrs.field(
        metadata=decision("Whether a message with the answers for the provider is made.")
    )
    provider_answers_first: bool = attrs.field(
        metadata=decision(
            "Whether the message with the answers for the provider comes before the approved calls' results."
        )
    )
    keeps_empty_results: bool = attrs.field(
        metadata=decision("Whether approved calls without any result still make a tool message.")
    )

    shown_to_prepare_step: tuple[str, ...] = attrs.field(
        metadata=decision("The names of what a step hook is given.", heading="Hooks' arguments")
    )
    shown_at_step_start: tuple[str, ...] = attrs.field(
        metadata=decision(
            "The names of what `onStepStart` is given; with `=`, of what is shown under another name."
        )
    )
    offered_twice: bool = attrs.field(
        metadata=decision(
            "Whether the tools and the choice that `onStepStart` is shown are made apart from "
            "those of the model."
        )
    )
    performance_reported: bool = attrs.field(
        metadata=decision(
            "Whether a step's result says how long things took, and which call of the package it is of."
        )
    )
    chunks_timed: bool = attrs.field(
        metadata=decision(
            "Whether what a step's result says of time has the times of the chunks of the answer."
        )
    )
    total_usage_read: bool = attrs.field(
        metadata=decision(
            "Whether the total usage is summed up at the end from the results of the steps, "
            "as hooks left them."
        )
    )
    finish_usage_is_total: bool = attrs.field(
        metadata=decision(
            "Whether `usage` of the last event is the total of all steps rather than the last "
            "step's own object."
        )
    )
    finish_lists_all: bool = attrs.field(
        metadata=decision(
            "Whether the last event has the parts of all steps, in new lists, rather than the "
            "last step's own."
        )
    )

    failure: Failure = attrs.field(
        metadata=decision("What the caller gets of a run that failed.", heading="The end")
    )
    breaks_settle: bool = attrs.field(
        metadata=decision(
            "Whether a run that broke while its stream was read ends without a result, rather than never."
        )
    )
    last_step_read: bool = attrs.field(
        metadata=decision("Whether the last recorded step decides if the run goes on.")
    )
    last_text_read: bool = attrs.field(
        metadata=decision("Whether the text of the last step is read unless it ended for its calls.")
    )
    chunk_errors_swallowed: bool = attrs.field(
        metadata=decision("Whether a run goes on when an observer of a part of the answer throws.")
    )
    chunks_told: tuple[str, ...] = attrs.field(
        metadata=decision("The types of the parts that `onChunk` gets as they are recorded.")
    )
    model_call: str = attrs.field(metadata=decision("The method of a model that is called."))
    model_version: str = attrs.field(metadata=decision("The version of the protocol that a model speaks."))
