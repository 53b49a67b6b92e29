"""Profiles: how one path of one framework treats messages, as data.

What differs between paths and versions is a field here, never a branch on a profile's name (rule
compat.profile-is-data).
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import attrs

from agentcore.heap.copying import CopyDepth


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


class FileShape(Enum):
    """How a prompt holds files."""

    PLAIN = "their data as it is; an address as a URL parser writes it"
    TAGGED = "an object that says what kind of data it is; an address with its text if that is another"


@attrs.frozen(kw_only=True)
class Contexts:
    """The values that a call hands to its hooks and tools.

    `names` are the settings they come from; `always` tells that an empty object stands in for a missing one.
    A tool's options have the one called `for_tools` as `in_options`: whole, or what it has `by_tool`.
    """

    names: tuple[str, ...]
    always: bool
    for_tools: str
    in_options: str
    by_tool: bool


class ModelInfo(Enum):
    """When the object that names a step's model is made."""

    CALL = "once, before the first step"
    STEP = "at each step, before its model is called"
    RESULT = "for the result of each step"


class Failure(Enum):
    """What the caller gets of a run that failed."""

    REJECTED = "the error; the finished steps are lost"
    REPORTED = "the error as an event; the finished steps are the result"


@attrs.frozen(kw_only=True)
class Schedule:
    """In which order a stream records what the model sent and what the tools answered, by when each is ready.

    The model's chunks come one after the other, each taking its time; an answer is ready its delay after
    its call came, and answers pass one at a time. The unit is half a turn of the microtask queue, the
    smallest that tells all orders apart. The numbers were found by search: `tools/fit_schedule.py` measures
    the package's orders and compares them.
    """

    text_start: int
    text_rest: int
    source: int
    call: int
    unknown_call: int
    asking_call: int
    provider_result: int
    provider_error: int
    result_ready: int
    error_ready: int
    unknown_ready: int
    asking_ready: int
    provider_error_ready: int
    passing: int


@attrs.frozen(kw_only=True)
class AiSdkProfile:
    """A path of the AI SDK's step loop."""

    name: str
    package: str

    # The settings of a call.
    settings: tuple[str, ...]
    """The settings that are read; another that is not passed over is not emulated."""
    settings_ignored: tuple[str, ...]
    """The settings that are passed over, whatever they are."""
    call_settings: tuple[str, ...]
    """The settings that the model is given."""
    numbers_checked: tuple[str, ...]
    """The settings that have to be numbers; those that have to be whole are checked under each profile."""
    step_settings: bool
    """Whether a step hook may return settings for the model of its step."""
    headers_named: bool
    """Whether the headers that the model is given have small letters and name the package."""
    raw_chunks_asked: bool
    """Whether the model gets the setting that asks for its chunks as they are."""

    # The chains.
    caller_to_initial: CopyDepth = attrs.field(
        validator=attrs.validators.in_((CopyDepth.SHARE, CopyDepth.LIST, CopyDepth.DEEP))
    )
    """How much of the caller's messages is new in the initial chain."""
    chains_to_hooks: CopyDepth = attrs.field(validator=attrs.validators.in_((CopyDepth.LIST, CopyDepth.DEEP)))
    """How much of the chains is new in the `messages` of a step's hooks, tools and observers."""
    base: Base
    """What the messages of a step are before its hook."""
    system_lives: Lifetime
    """How long a system prompt that a step hook returned is in force."""
    contexts: Contexts
    """What the call hands to its hooks and tools besides messages, and under which names."""
    context_lives: Lifetime
    """How long a context that a step hook returned is in force."""

    # The report.
    report: Report
    """What `response.messages` of a step is made of."""
    response_made: Moment = attrs.field(
        validator=attrs.validators.in_((Moment.BEFORE_STEP_FINISH, Moment.AFTER_STOP_WHEN))
    )
    """When the messages of a step that later steps are given are made of its content."""
    base_made: Moment = attrs.field(
        validator=attrs.validators.in_((Moment.BEFORE_STEP_FINISH, Moment.AFTER_STEP_FINISH)),
    )
    """When a carried base is made: what was pushed to the list before then is in it."""
    step_recorded: Moment = attrs.field(
        validator=attrs.validators.in_((Moment.BEFORE_STEP_FINISH, Moment.AFTER_STEP_FINISH))
    )
    """When a step is added to `steps`."""
    records_step_model: bool
    """Whether a step is recorded under the model that was called rather than the call's."""
    model_info_made: ModelInfo
    """When the object that names the model in a step's result is made."""
    response_model_of_info: bool
    """Whether `response.modelId` is read from the object that names the model rather than from the model."""
    step_number_late: bool
    """Whether the number of a step is read from `steps` at each event, not once before the step hook."""
    reasoning_copied: bool
    """Whether a step result's `reasoning` holds new objects rather than the content's parts."""

    # The content of a step.
    content_copied: bool
    """Whether the content's text and reasoning parts are new objects rather than the model's."""
    content_made_early: bool
    """Whether what the model sent is put together before its calls run, too."""
    schedule: Schedule | None
    """By which times a stream records each part as it comes; without: the model's parts, then the results in
    the order of the calls, then the approval requests."""
    results_as_ready: bool
    """Without a schedule: whether results are recorded as they are ready, after all that the model sent."""
    answers_invalid_provider_calls: bool
    """Whether a provider's call of an unknown tool gets an error here."""
    calls_written: bool
    """Whether a step's calls are written as JSON at its end, which one that holds itself makes fail."""

    continuation_counted_early: bool
    """Whether the calls and results that decide if the run goes on are counted before `onStepFinish`."""

    # Tools.
    tool_fields_kept: bool
    """Whether the description and the options of a tool are given to the model whatever they are."""
    schema_of_none_typed: bool
    """Whether the schema that stands for a missing one says that it is of an object."""
    metadata_on_calls: bool
    """Whether the metadata of a tool are on its calls and their results."""
    told_of_invalid_calls: tuple[str, ...]
    """What the error of an invalid call has of its tool, besides its name."""
    inherited_names_found: bool
    """Whether a name that each object inherits, such as `toString`, is found among tools and requests."""
    unsafe_keys_dropped: bool
    """Whether merging provider options leaves out `constructor` and `prototype`."""
    content_has_answers: bool
    """Whether answers to requests for approval can stand in a step's content."""
    tools_before_prompt: bool
    """Whether the tools and the tool choice of a step are made before its prompt."""
    options_before_prompt: bool
    """Whether the provider options of a step are merged before its prompt is made."""
    tools_see_override: bool
    """Whether tools are given the messages that the step hook returned rather than those it was given."""
    active_tools_enforced: bool
    """Whether a call of a tool that is not active is one of an unknown tool."""
    tool_choice_enforced: bool
    """Whether a call that the tool choice forbids is a tool error, and one that it requires must be made."""
    runs_only_functions: bool
    """Whether a call of a tool whose `execute` is no function stays pending."""
    tool_events: tuple[str, ...]
    """What the observers of tool calls are told."""

    # From content to messages.
    errors_named: bool
    """Whether the text of an error begins with its name."""
    outputs_through_json: bool
    """Whether a tool's output is copied as JSON when a message is made of it."""
    results_in_call_order: bool
    """Whether a tool message lists its results in the order of the calls."""
    annotated_empty_text_kept: bool
    """Whether an empty text with provider metadata is in the assistant message."""
    invalid_input_emptied: bool
    """Whether the input of an invalid call is `{}` in its message unless it is an object."""

    # From messages to a prompt.
    prompt_check: PromptCheck
    """What is checked of the messages of a call before the first step."""
    steps_checked: bool
    """Whether each step's messages are checked as the call's are."""
    files: FileShape
    """How a prompt holds the data of images and files."""
    merged_options_kept: bool
    """Whether the provider options of tool messages that become one are all kept."""
    approvals_excuse_results: bool
    """Whether a call with an answered request for approval needs no result."""

    # Approvals in the history.
    approvals_settled_once: bool
    """Whether a call is approved once, in the order of the calls, and an earlier denial is not repeated."""
    approvals_asked_again: bool
    """Whether tools are asked again whether an approved call needs approval; the call is a copy."""
    denial_names_approval: bool
    """Whether the result of a denied call of the provider's is made, naming the approval."""
    provider_answers: bool
    """Whether a message with the answers for the provider is made."""
    provider_answers_first: bool
    """Whether the message with the answers for the provider comes before the approved calls' results."""
    keeps_empty_results: bool
    """Whether approved calls without any result still make a tool message."""

    # Hooks' arguments.
    shown_to_prepare_step: tuple[str, ...]
    """The names of what a step hook is given."""
    shown_at_step_start: tuple[str, ...]
    """The names of what `onStepStart` is given; with `=`, of what is shown under another name."""
    offered_twice: bool
    """Whether the tools and the choice that `onStepStart` is shown are made apart from those of the model."""
    performance_reported: bool
    """Whether a step's result says how long things took, and which call of the package it is of."""
    chunks_timed: bool
    """Whether what a step's result says of time has the times of the chunks of the answer."""
    total_usage_read: bool
    """Whether the total usage is summed up at the end from the results of the steps, as hooks left them."""
    finish_usage_is_total: bool
    """Whether `usage` of the last event is the total of all steps rather than the last step's own object."""
    finish_lists_all: bool
    """Whether the last event has the parts of all steps, in new lists, rather than the last step's own."""

    # The end.
    failure: Failure
    """What the caller gets of a run that failed."""
    breaks_settle: bool
    """Whether a run that broke while its stream was read ends without a result, rather than never."""
    last_step_read: bool
    """Whether the last recorded step is read to tell if the run goes on and, without calls, for its text."""
    chunk_errors_swallowed: bool
    """Whether what throws when it is told of a part of the answer leaves the run going on."""
    model_call: str
    """The method of a model that is called."""
    model_version: str
    """The version of the protocol that a model speaks."""


_NUMBERS: Final = ("temperature", "topP", "topK", "presencePenalty", "frequencyPenalty")
_MODEL_SETTINGS: Final = ("maxOutputTokens", *_NUMBERS, "stopSequences", "seed")
_EVERYWHERE: Final = ("providerOptions", "activeTools", "toolChoice", "headers", "maxRetries")
_OF_6: Final = ("experimental_context", "experimental_activeTools")
_OF_7: Final = (
    *("runtimeContext", "toolsContext", "instructions", "allowSystemInMessages", "reasoning"),
    *("toolApproval", "toolOrder", "toolCallConcurrency", "experimental_toolCallers"),
)
_OF_STREAMS_7: Final = ("streamRetries",)

AI_SDK_6_STREAM: Final = AiSdkProfile(
    name="ai-sdk-6/stream",
    package="ai@6.0.134",
    settings=(*_EVERYWHERE, *_MODEL_SETTINGS, *_OF_6, "includeRawChunks"),
    settings_ignored=(*_OF_7, *_OF_STREAMS_7),
    call_settings=_MODEL_SETTINGS,
    numbers_checked=_NUMBERS,
    step_settings=False,
    headers_named=False,
    raw_chunks_asked=True,
    tool_fields_kept=True,
    schema_of_none_typed=False,
    metadata_on_calls=False,
    told_of_invalid_calls=("title",),
    inherited_names_found=True,
    unsafe_keys_dropped=False,
    content_has_answers=False,
    caller_to_initial=CopyDepth.SHARE,
    chains_to_hooks=CopyDepth.LIST,
    report=Report.CONTENT,
    response_made=Moment.AFTER_STOP_WHEN,
    step_recorded=Moment.AFTER_STEP_FINISH,
    context_lives=Lifetime.RUN,
    content_copied=True,
    schedule=Schedule(
        text_start=12,
        text_rest=21,
        source=12,
        call=19,
        unknown_call=18,
        asking_call=23,
        provider_result=12,
        provider_error=12,
        result_ready=28,
        error_ready=18,
        unknown_ready=-7,
        asking_ready=-6,
        provider_error_ready=-8,
        passing=7,
    ),
    failure=Failure.REPORTED,
    records_step_model=False,
    denial_names_approval=False,
    provider_answers_first=True,
    keeps_empty_results=False,
    base=Base.CHAINS,
    system_lives=Lifetime.STEP,
    contexts=Contexts(
        names=("experimental_context",),
        always=False,
        for_tools="experimental_context",
        in_options="experimental_context",
        by_tool=False,
    ),
    base_made=Moment.BEFORE_STEP_FINISH,
    model_info_made=ModelInfo.CALL,
    response_model_of_info=True,
    step_number_late=True,
    reasoning_copied=False,
    content_made_early=False,
    results_as_ready=False,
    answers_invalid_provider_calls=True,
    calls_written=True,
    continuation_counted_early=False,
    tools_before_prompt=False,
    options_before_prompt=False,
    tools_see_override=False,
    active_tools_enforced=False,
    tool_choice_enforced=False,
    runs_only_functions=False,
    tool_events=(
        *("stepNumber", "model", "toolCall", "messages", "experimental_context"),
        *("success", "error", "output"),
    ),
    errors_named=False,
    outputs_through_json=False,
    results_in_call_order=False,
    annotated_empty_text_kept=False,
    invalid_input_emptied=False,
    prompt_check=PromptCheck.SCHEMA,
    steps_checked=False,
    files=FileShape.PLAIN,
    merged_options_kept=False,
    approvals_excuse_results=True,
    approvals_settled_once=False,
    approvals_asked_again=False,
    provider_answers=True,
    shown_to_prepare_step=("model", "steps", "stepNumber", "messages", "experimental_context"),
    shown_at_step_start=(
        *("stepNumber", "model", "system", "messages", "tools", "toolChoice", "activeTools", "steps"),
        *("providerOptions", "headers", "stopWhen", "experimental_context"),
    ),
    offered_twice=False,
    performance_reported=False,
    chunks_timed=False,
    total_usage_read=False,
    finish_usage_is_total=False,
    finish_lists_all=False,
    breaks_settle=False,
    last_step_read=False,
    chunk_errors_swallowed=False,
    model_call="doStream",
    model_version="v3",
)

AI_SDK_6_GENERATE: Final = attrs.evolve(
    AI_SDK_6_STREAM,
    name="ai-sdk-6/generate",
    told_of_invalid_calls=(),
    model_call="doGenerate",
    settings=(*_EVERYWHERE, *_MODEL_SETTINGS, *_OF_6),
    settings_ignored=(*_OF_7, *_OF_STREAMS_7, "includeRawChunks"),
    headers_named=True,
    raw_chunks_asked=False,
    report=Report.CHAIN,
    response_made=Moment.BEFORE_STEP_FINISH,
    step_recorded=Moment.BEFORE_STEP_FINISH,
    content_copied=False,
    schedule=None,
    calls_written=False,
    total_usage_read=True,
    continuation_counted_early=True,
    failure=Failure.REJECTED,
    records_step_model=True,
    model_info_made=ModelInfo.STEP,
    response_model_of_info=False,
    denial_names_approval=True,
    provider_answers_first=False,
    keeps_empty_results=True,
)

AI_SDK_7_STREAM: Final = attrs.evolve(
    AI_SDK_6_STREAM,
    name="ai-sdk-7/stream",
    package="ai@7.0.173",
    settings=(*_EVERYWHERE, *_MODEL_SETTINGS, *_OF_7, *_OF_STREAMS_7, "includeRawChunks"),
    settings_ignored=_OF_6,
    call_settings=(*_MODEL_SETTINGS, "reasoning"),
    numbers_checked=(),
    step_settings=True,
    tool_fields_kept=False,
    schema_of_none_typed=True,
    metadata_on_calls=True,
    told_of_invalid_calls=("title", "toolMetadata"),
    inherited_names_found=False,
    unsafe_keys_dropped=True,
    content_has_answers=True,
    base=Base.CARRIED,
    system_lives=Lifetime.RUN,
    contexts=Contexts(
        names=("runtimeContext", "toolsContext"),
        always=True,
        for_tools="toolsContext",
        in_options="context",
        by_tool=True,
    ),
    report=Report.OWN,
    response_made=Moment.BEFORE_STEP_FINISH,
    base_made=Moment.AFTER_STEP_FINISH,
    records_step_model=True,
    model_info_made=ModelInfo.RESULT,
    response_model_of_info=False,
    tools_before_prompt=True,
    options_before_prompt=True,
    reasoning_copied=True,
    schedule=None,
    results_as_ready=True,
    answers_invalid_provider_calls=False,
    calls_written=False,
    tools_see_override=True,
    active_tools_enforced=True,
    tool_choice_enforced=True,
    runs_only_functions=True,
    tool_events=("toolCall", "messages", "toolContext", "toolOutput"),
    errors_named=True,
    outputs_through_json=True,
    results_in_call_order=True,
    annotated_empty_text_kept=True,
    invalid_input_emptied=True,
    prompt_check=PromptCheck.ROLES,
    steps_checked=True,
    files=FileShape.TAGGED,
    merged_options_kept=True,
    approvals_excuse_results=False,
    approvals_settled_once=True,
    approvals_asked_again=True,
    provider_answers=False,
    shown_to_prepare_step=(
        *("model", "steps", "stepNumber", "instructions", "initialInstructions", "messages"),
        *("initialMessages", "responseMessages", "runtimeContext", "toolsContext"),
    ),
    shown_at_step_start=(
        *(
            "callId",
            "provider",
            "modelId",
            "stepNumber",
            "instructions",
            "messages",
            "tools",
            "toolChoice=chosen",
            "activeTools",
            "toolOrder",
        ),
        *("steps", "providerOptions", "runtimeContext", "toolsContext", "promptMessages", "stepTools"),
        "stepToolChoice",
    ),
    offered_twice=True,
    performance_reported=True,
    chunks_timed=True,
    finish_usage_is_total=True,
    finish_lists_all=True,
    breaks_settle=True,
    chunk_errors_swallowed=True,
    model_version="v4",
)

AI_SDK_7_GENERATE: Final = attrs.evolve(
    AI_SDK_7_STREAM,
    name="ai-sdk-7/generate",
    told_of_invalid_calls=(),
    model_call="doGenerate",
    settings=(*_EVERYWHERE, *_MODEL_SETTINGS, *_OF_7),
    settings_ignored=(*_OF_6, *_OF_STREAMS_7, "includeRawChunks"),
    headers_named=True,
    raw_chunks_asked=False,
    base_made=Moment.BEFORE_STEP_FINISH,
    step_recorded=Moment.BEFORE_STEP_FINISH,
    step_number_late=False,
    total_usage_read=True,
    chunks_timed=False,
    continuation_counted_early=True,
    options_before_prompt=False,
    content_copied=False,
    content_made_early=True,
    results_as_ready=False,
    steps_checked=False,
    offered_twice=False,
    denial_names_approval=True,
    keeps_empty_results=True,
    failure=Failure.REJECTED,
    last_step_read=True,
)

PROFILES: Final = {
    profile.name: profile
    for profile in (AI_SDK_6_STREAM, AI_SDK_6_GENERATE, AI_SDK_7_STREAM, AI_SDK_7_GENERATE)
}
"""The profiles of this package, by name."""
