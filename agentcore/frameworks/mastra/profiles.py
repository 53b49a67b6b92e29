"""Profiles: how one version of Mastra treats messages, as data.

What differs between versions is a field here, never a branch on a profile's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

import attrs


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

    # Dates.
    dates_parts: bool
    """Parts are dated, in the caller's own objects where the list holds those."""
    dates_stored: bool
    """A stored message that comes without a date is given one; otherwise it has one that is no time."""
    follows_dates: bool
    """The latest date is kept of every message seen; otherwise only of those in the list at the moment."""
    keeps_late_dates: bool
    """A message later than all others keeps its date; otherwise it is dated now."""

    # What is made of a message that comes.
    owns_parts: bool
    """The array of parts is the list's own; otherwise it may be the caller's."""
    drops_empty_texts: bool
    """Empty texts beside others are left out; otherwise one is put after an answer that ends a message."""
    tells_reasoning: bool
    """A part of reasoning has its text beside the details too."""
    cleans_tool_names: bool
    """The name of a tool that no provider takes is replaced."""
    recovers_args: bool
    """The arguments of a call are the last in the conversation that are not empty."""

    # Adding.
    reads_lists_only: bool
    """What tells forms apart is read in content that is a list of objects; otherwise in any content."""
    knows_signals: bool
    """A message of the role `signal` is one of its own kind; otherwise it is stored as any other."""
    add_takes_options: bool
    """Adding takes options, such as `merge`; otherwise a third argument is not read."""
    adds_nested: bool
    """An array among messages that are added is gone through too; otherwise it is taken for a message."""

    # Merging.
    merging_moves_date: bool
    """A message that another is merged into takes that one's date."""
    merging_takes_all: bool
    """Merging takes metadata, options and failures over, and counts the marks that it puts in."""
    marks_keep_apart: bool
    """Marks in the metadata of a message, and parts of data alone, keep another from being merged into it."""
    merges_by_id: bool
    """An assistant's message may be merged into the one of its id, which need not be the last."""
    forgets_replaced: bool
    """A message that was replaced has no source any more."""
    remembering_merges: bool
    """A remembered message takes over what the list has of its id; otherwise it replaces that."""
    answers_leave_memory: bool
    """A remembered message that an answer is merged into counts as the agent's alone."""

    # System messages.
    replacing_clears_tags: bool
    """Replacing the system messages takes those with a tag away too."""
    clears_systems: bool
    """There is a method that takes system messages out."""

    # Prompts.
    sanitizes_prompts: bool
    """Blank texts, unpaired calls and answers, and messages without content are left out of prompts."""
    options_by_place: bool
    """The options of the n-th message stand at the n-th of a prompt; otherwise at the last one made of it."""
    keeps_outputs: bool
    """An output that the provider metadata of a part keeps for the model is what a prompt shows."""
    results_have_options: bool
    """A tool's answer has the provider options of its part; otherwise only its call has them."""
    refuses_empty_prompts: bool
    """A prompt of system messages alone fails."""

    # Processors.
    call_processors: Executor
    """How those of a call are run; those of the agent always go through the workflow."""
    live_system_messages: bool
    """Processors are given the list's own array of those without a tag; otherwise a new one of all."""
    workflow_has_steps: bool
    """The workflow's processors are given the steps."""
    list_fields: tuple[str, ...]
    """A message list has these fields of its own, which spreading it gives."""
    keeps_same_objects: bool
    """A returned message that is the list's own object stays where it is; otherwise it is added anew."""
    returned_may_merge: bool
    """A returned assistant's message may be merged into the one before it."""
    models: tuple[str, ...]
    """Versions of the model interface that the loop can call."""
    adapts_models: bool
    """A model of a version that is not known, but for the first, is taken for one of the second."""
    sets_message_id: bool
    """Processors are given the id that the answer will have, and may change it."""

    # Options.
    settings: Mapping[str, Any]
    """The model settings beneath the call's."""
    settings_anew: bool
    """Each step has a new object of model settings, with the number of retries in it."""
    call_active_tools: bool
    """A call's active tools arrive."""
    no_choice_hides_tools: bool
    """The tool choice `none` sends no tools."""
    lowers_headers: bool
    """Names of headers are sent in small letters."""

    # Model calls.
    model_retries: int
    """How often a failed model call is made again where the model settings do not say."""
    retries_run_processors: bool
    """The agent's retries run the processors again, and what fails in the end has no kind any more."""
    goes_on_with_fallback: bool
    """The steps after begin with the model that answered."""

    # Answers.
    recording: Recording
    """How an answer of a model and those of its tools get into the list."""
    names_models: bool
    """The model that answered is written into the message's mark of the step."""
    records_errors: bool
    """A failed model call is recorded in the conversation."""

    # Tools.
    hides_inactive_tools: bool
    """A call of a tool that is not active fails; otherwise it runs."""
    missing_tool_answers: bool
    """A call of a tool that there is not is answered with an error; otherwise it fails the run."""
    throwing_tool_ends: bool
    """A tool that a processor returned ends the run if it throws; otherwise its error is the answer."""
    fills_empty_calls: bool
    """A call without arguments takes those of the next call of its id in the same answer."""
    repeated_calls_run_last: bool
    """Of calls of one id all but the first run after all other calls; otherwise each in its turn."""
    streams_run_tools_early: bool
    """A stream runs a tool as soon as its call is there, before the list has the message."""
    streams_call_once: bool
    """A stream passes a call of an id once in an answer, and shows it once in a run."""
    stream_text_is_last: bool
    """The text of a stream with tools is that of its last step; otherwise of all."""


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
    recovers_args=True,
    reads_lists_only=True,
    knows_signals=True,
    add_takes_options=True,
    adds_nested=True,
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
    model_retries=0,
    retries_run_processors=False,
    goes_on_with_fallback=True,
    recording=Recording.WHOLE,
    names_models=True,
    records_errors=True,
    hides_inactive_tools=True,
    missing_tool_answers=True,
    throwing_tool_ends=False,
    fills_empty_calls=True,
    repeated_calls_run_last=True,
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
    recovers_args=False,
    reads_lists_only=False,
    knows_signals=False,
    add_takes_options=False,
    adds_nested=False,
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
    model_retries=2,
    retries_run_processors=True,
    goes_on_with_fallback=False,
    recording=Recording.PIECES,
    names_models=False,
    records_errors=False,
    hides_inactive_tools=False,
    missing_tool_answers=False,
    throwing_tool_ends=True,
    fills_empty_calls=False,
    repeated_calls_run_last=False,
    streams_run_tools_early=False,
    streams_call_once=False,
    stream_text_is_last=False,
)

PROFILES: Final[Mapping[str, MastraProfile]] = MappingProxyType(
    {profile.name: profile for profile in (MASTRA_1_71, MASTRA_1_0)}
)
"""The profiles by their names."""
