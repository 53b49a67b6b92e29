"""Profiles: how one version of Mastra treats messages, as data.

What differs between versions is a field here, never a branch on a profile's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

import attrs

from agentcore.kit.framework import decision


class Executor(Enum):
    """How several processors are run."""

    WORKFLOW = "one is given what the one before returned; an error comes out wrapped"
    DIRECT = "each is given what is in the list"


class Recording(Enum):
    """How an answer of a model and those of its tools get into the list."""

    WHOLE = "one message; tools' answers are put into its parts"
    PIECES = "a message for each text, one for all calls, one for all tools' answers, which are merged"


@attrs.frozen(kw_only=True)
class MastraProfile:
    """A version of Mastra's agent loop."""

    name: str
    package: str

    dates_parts: bool = attrs.field(
        metadata=decision(
            "Parts are dated, in the caller's own objects where the list holds those.", heading="Dates"
        )
    )
    dates_stored: bool = attrs.field(
        metadata=decision(
            "A stored message that comes without a date is given one; otherwise it has one that is no time."
        )
    )
    follows_dates: bool = attrs.field(
        metadata=decision(
            "The latest date is kept of every message seen; otherwise only of those in the "
            "list at the moment."
        )
    )
    keeps_late_dates: bool = attrs.field(
        metadata=decision("A message later than all others keeps its date; otherwise it is dated now.")
    )

    owns_parts: bool = attrs.field(
        metadata=decision(
            "The array of parts is the list's own; otherwise it may be the caller's.",
            heading="What is made of a message that comes",
        )
    )
    drops_empty_texts: bool = attrs.field(
        metadata=decision(
            "Empty texts beside others are left out; otherwise one is put after an answer "
            "that ends a message."
        )
    )
    tells_reasoning: bool = attrs.field(
        metadata=decision("A part of reasoning has its text beside the details too.")
    )
    cleans_tool_names: bool = attrs.field(
        metadata=decision("The name of a tool that no provider takes is replaced.")
    )
    knows_outcomes: bool = attrs.field(
        metadata=decision(
            "Of a call is kept that it failed or was refused, and that the provider runs it, and errors "
            "among a UI message's parts; otherwise such a call is one without an answer."
        )
    )
    recovers_args: bool = attrs.field(
        metadata=decision("The arguments of a call are the last in the conversation that are not empty.")
    )

    reads_lists_only: bool = attrs.field(
        metadata=decision(
            "What tells forms apart is read in content that is a list of objects, and a part may lack its "
            "call or details; otherwise in any content, which fails where something lacks.",
            heading="Adding",
        )
    )
    knows_signals: bool = attrs.field(
        metadata=decision(
            "A message of the role `signal` is one of its own kind; otherwise it is stored as any other."
        )
    )
    add_takes_options: bool = attrs.field(
        metadata=decision("Adding takes options, such as `merge`; otherwise a third argument is not read.")
    )
    adds_nested: bool = attrs.field(
        metadata=decision(
            "An array among messages that are added is gone through too; otherwise it is taken for a message."
        )
    )

    keys_name_items: bool = attrs.field(
        metadata=decision(
            "Texts and reasoning are the same only if they are the same items of OpenAI or Azure, and data "
            "whatever the order of its fields; otherwise items count for reasoning of OpenAI alone, and the "
            "order does."
        )
    )
    merging_moves_date: bool = attrs.field(
        metadata=decision("A message that another is merged into takes that one's date.", heading="Merging")
    )
    merging_takes_all: bool = attrs.field(
        metadata=decision(
            "Merging takes metadata, options and failures over, and counts the marks that it puts in."
        )
    )
    marks_keep_apart: bool = attrs.field(
        metadata=decision(
            "Marks in the metadata of a message, and parts of data alone, keep another from "
            "being merged into it."
        )
    )
    merges_by_id: bool = attrs.field(
        metadata=decision(
            "An assistant's message may be merged into the one of its id, which need not be the last."
        )
    )
    forgets_replaced: bool = attrs.field(
        metadata=decision("A message that was replaced has no source any more.")
    )
    remembering_merges: bool = attrs.field(
        metadata=decision(
            "A remembered message takes over what the list has of its id; otherwise it replaces that."
        )
    )
    answers_leave_memory: bool = attrs.field(
        metadata=decision("A remembered message that an answer is merged into counts as the agent's alone.")
    )

    replacing_clears_tags: bool = attrs.field(
        metadata=decision(
            "Replacing the system messages takes those with a tag away too.", heading="System messages"
        )
    )
    clears_systems: bool = attrs.field(metadata=decision("There is a method that takes system messages out."))

    sanitizes_prompts: bool = attrs.field(
        metadata=decision(
            "Blank texts, unpaired calls and answers, and messages without content are left out of prompts.",
            heading="Prompts",
        )
    )
    options_by_place: bool = attrs.field(
        metadata=decision(
            "The options of the n-th message stand at the n-th of a prompt; otherwise at the "
            "last one made of it."
        )
    )
    keeps_outputs: bool = attrs.field(
        metadata=decision(
            "An output that the provider metadata of a part keeps for the model is what a prompt shows."
        )
    )
    results_have_options: bool = attrs.field(
        metadata=decision(
            "A tool's answer has the provider options of its part; otherwise only its call has them."
        )
    )
    refuses_empty_prompts: bool = attrs.field(metadata=decision("A prompt of system messages alone fails."))

    call_processors: Executor = attrs.field(
        metadata=decision(
            "How those of a call are run; those of the agent always go through the workflow.",
            heading="Processors",
        )
    )
    live_system_messages: bool = attrs.field(
        metadata=decision(
            "Processors are given the list's own array of those without a tag; otherwise a new one of all."
        )
    )
    workflow_has_steps: bool = attrs.field(
        metadata=decision("The workflow's processors are given the steps.")
    )
    list_fields: tuple[str, ...] = attrs.field(
        metadata=decision("A message list has these fields of its own, which spreading it gives.")
    )
    keeps_same_objects: bool = attrs.field(
        metadata=decision(
            "A returned message that is the list's own object stays where it is; otherwise it is added anew."
        )
    )
    returned_may_merge: bool = attrs.field(
        metadata=decision("A returned assistant's message may be merged into the one before it.")
    )
    models: tuple[str, ...] = attrs.field(
        metadata=decision("Versions of the model interface that the loop can call.")
    )
    adapts_models: bool = attrs.field(
        metadata=decision(
            "A model of a version that is not known, but for the first, is taken for one of the second."
        )
    )
    sets_message_id: bool = attrs.field(
        metadata=decision("Processors are given the id that the answer will have, and may change it.")
    )

    settings: Mapping[str, Any] = attrs.field(
        metadata=decision("The model settings beneath the call's.", heading="Options")
    )
    settings_anew: bool = attrs.field(
        metadata=decision("Each step has a new object of model settings, with the number of retries in it.")
    )
    call_active_tools: bool = attrs.field(metadata=decision("A call's active tools arrive."))
    no_choice_hides_tools: bool = attrs.field(metadata=decision("The tool choice `none` sends no tools."))
    lowers_headers: bool = attrs.field(metadata=decision("Names of headers are sent in small letters."))
    checks_timeout: bool = attrs.field(
        metadata=decision("The model setting `timeout` is checked, and not sent to the model.")
    )

    knows_providers: bool = attrs.field(
        metadata=decision(
            "A conversation that ends with an answer gets a message of the user's for models of Google's "
            "from Gemini 3 on, and for those without a number; otherwise it is sent as it is.",
            heading="Model calls",
        )
    )
    retries_run_processors: bool = attrs.field(
        metadata=decision(
            "The agent's retries run the processors again, and what fails in the end has no kind any more."
        )
    )
    goes_on_with_fallback: bool = attrs.field(
        metadata=decision("The steps after begin with the model that answered.")
    )

    recording: Recording = attrs.field(
        metadata=decision(
            "How an answer of a model and those of its tools get into the list.", heading="Answers"
        )
    )
    keeps_raw_usage: bool = attrs.field(
        metadata=decision("The usage of a step has the provider's own beside the sums, as `raw`.")
    )
    names_models: bool = attrs.field(
        metadata=decision("The model that answered is written into the message's mark of the step.")
    )
    records_errors: bool = attrs.field(
        metadata=decision("A failed model call is recorded in the conversation.")
    )

    hides_inactive_tools: bool = attrs.field(
        metadata=decision("A call of a tool that is not active fails; otherwise it runs.", heading="Tools")
    )
    missing_tool_answers: bool = attrs.field(
        metadata=decision(
            "A call of a tool that there is not is answered with an error; otherwise it fails the run."
        )
    )
    throwing_tool_ends: bool = attrs.field(
        metadata=decision(
            "A tool that a processor returned ends the run if it throws; otherwise its error is the answer."
        )
    )
    fills_empty_calls: bool = attrs.field(
        metadata=decision(
            "A call without arguments takes a copy of those of the next call of its id in the same answer."
        )
    )
    repeated_calls_run_last: bool = attrs.field(
        metadata=decision(
            "Of calls of one id all but the first that runs run after all other calls, unless the tool of a "
            "call is not there; otherwise each in its turn."
        )
    )
    unrecorded_calls_run: bool = attrs.field(
        metadata=decision(
            "The calls of an answer that could not be added to the list run, and if one fails another step "
            "follows; otherwise the run ends."
        )
    )
    keeps_arguments_back: bool = attrs.field(
        metadata=decision(
            "Of a call's arguments no `resumeData`, `suspendedToolCallId` and `suspendedToolRunId` reach the "
            "tool, and no `_background` that is true, and any `resumeData` but null makes the call run after "
            "the others; otherwise only `resumeData` is kept back, and does so if it is true."
        )
    )
    streams_run_tools_early: bool = attrs.field(
        metadata=decision(
            "A stream runs a tool as soon as its call is there, before the list has the message."
        )
    )
    streams_call_once: bool = attrs.field(
        metadata=decision("A stream passes a call of an id once in an answer, and shows it once in a run.")
    )
    stream_text_is_last: bool = attrs.field(
        metadata=decision("The text of a stream with tools is that of its last step; otherwise of all.")
    )


_LIST_BEGINS: Final = (
    *("messages", "systemMessages", "taggedSystemMessages", "memoryInfo", "stateManager"),
    *("generateMessageId", "_agentNetworkAppend"),
)
_LIST_ENDS: Final = (
    *("recordedEvents", "all", "remembered", "rememberedPersisted", "input", "inputPersisted"),
    *("response", "responsePersisted", "lastCreatedAt"),
)

MASTRA_1_71: Final = MastraProfile(
    name="mastra@1.71.0",
    package="@mastra/core@1.71.0",
    dates_parts=True,
    dates_stored=True,
    follows_dates=True,
    keeps_late_dates=True,
    owns_parts=True,
    drops_empty_texts=True,
    tells_reasoning=True,
    cleans_tool_names=True,
    knows_outcomes=True,
    recovers_args=True,
    reads_lists_only=True,
    knows_signals=True,
    add_takes_options=True,
    adds_nested=True,
    keys_name_items=True,
    merging_moves_date=False,
    merging_takes_all=True,
    marks_keep_apart=True,
    merges_by_id=True,
    forgets_replaced=True,
    remembering_merges=True,
    answers_leave_memory=True,
    replacing_clears_tags=False,
    clears_systems=True,
    sanitizes_prompts=True,
    options_by_place=False,
    keeps_outputs=True,
    results_have_options=True,
    refuses_empty_prompts=False,
    call_processors=Executor.WORKFLOW,
    live_system_messages=True,
    workflow_has_steps=True,
    list_fields=(
        *_LIST_BEGINS,
        *("filterIncompleteToolCalls", "logger", "isRecording", "spanRecordings"),
        *_LIST_ENDS,
    ),
    keeps_same_objects=True,
    returned_may_merge=False,
    models=("v2", "v3", "v4"),
    adapts_models=True,
    sets_message_id=True,
    settings=MappingProxyType({}),
    settings_anew=True,
    call_active_tools=True,
    no_choice_hides_tools=True,
    lowers_headers=True,
    checks_timeout=True,
    knows_providers=True,
    retries_run_processors=False,
    goes_on_with_fallback=True,
    recording=Recording.WHOLE,
    keeps_raw_usage=True,
    names_models=True,
    records_errors=True,
    hides_inactive_tools=True,
    missing_tool_answers=True,
    throwing_tool_ends=False,
    fills_empty_calls=True,
    repeated_calls_run_last=True,
    unrecorded_calls_run=True,
    keeps_arguments_back=True,
    streams_run_tools_early=True,
    streams_call_once=True,
    stream_text_is_last=True,
)

MASTRA_1_0: Final = MastraProfile(
    name="mastra@1.0.4",
    package="@mastra/core@1.0.4",
    dates_parts=False,
    dates_stored=False,
    follows_dates=False,
    keeps_late_dates=False,
    owns_parts=False,
    drops_empty_texts=False,
    tells_reasoning=False,
    cleans_tool_names=False,
    knows_outcomes=False,
    recovers_args=False,
    reads_lists_only=False,
    knows_signals=False,
    add_takes_options=False,
    adds_nested=False,
    keys_name_items=False,
    merging_moves_date=True,
    merging_takes_all=False,
    marks_keep_apart=False,
    merges_by_id=False,
    forgets_replaced=False,
    remembering_merges=False,
    answers_leave_memory=False,
    replacing_clears_tags=True,
    clears_systems=False,
    sanitizes_prompts=False,
    options_by_place=True,
    keeps_outputs=False,
    results_have_options=False,
    refuses_empty_prompts=True,
    call_processors=Executor.DIRECT,
    live_system_messages=False,
    workflow_has_steps=False,
    list_fields=(*_LIST_BEGINS, "isRecording", *_LIST_ENDS),
    keeps_same_objects=False,
    returned_may_merge=True,
    models=("v2", "v3"),
    adapts_models=False,
    sets_message_id=False,
    settings=MappingProxyType({"temperature": 0}),
    settings_anew=False,
    call_active_tools=False,
    no_choice_hides_tools=False,
    lowers_headers=False,
    checks_timeout=False,
    knows_providers=False,
    retries_run_processors=True,
    goes_on_with_fallback=False,
    recording=Recording.PIECES,
    keeps_raw_usage=False,
    names_models=False,
    records_errors=False,
    hides_inactive_tools=False,
    missing_tool_answers=False,
    throwing_tool_ends=True,
    fills_empty_calls=False,
    repeated_calls_run_last=False,
    unrecorded_calls_run=False,
    keeps_arguments_back=False,
    streams_run_tools_early=False,
    streams_call_once=False,
    stream_text_is_last=False,
)

PROFILES: Final[Mapping[str, MastraProfile]] = MappingProxyType(
    {profile.name: profile for profile in (MASTRA_1_71, MASTRA_1_0)}
)
"""The profiles by their names."""
