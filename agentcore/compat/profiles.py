"""Profiles: how one path of one framework treats messages, as data.

What differs between paths and versions is a field here, never a branch on a profile's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Final

import attrs


class CopyDepth(IntEnum):
    """How much of list -> message -> content -> part -> payload is new when a value crosses a boundary."""

    SHARE = 0
    LIST = 1
    MESSAGE = 2
    CONTENT = 3
    PART = 4
    DEEP = 5


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


class Failure(Enum):
    """What the caller gets of a run that failed."""

    REJECTED = "the error; the finished steps are lost"
    REPORTED = "the error as an event; the finished steps are the result"


@attrs.frozen(kw_only=True)
class Schedule:
    """In which order a stream records what the model sent and what the tools answered, by when each is ready.

    The model's chunks come one after the other, each taking its time; an answer is ready its delay after
    its call came, and answers pass one at a time. The unit is half a turn of the microtask queue, the
    smallest that tells all orders
    apart: found by search, it gives the package's order on all of 33,479 measured sequences of up to ten
    parts.
    """

    text_start: int
    text_rest: int
    source: int
    call: int
    unknown_call: int
    asking_call: int
    dynamic_call: int
    provider_result: Mapping[str, int]
    """By what the chunk before it was: "call", "unknown_call" or "asking_call"."""
    provider_error: Mapping[str, int]
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
    caller_to_initial: CopyDepth
    chains_to_hooks: CopyDepth
    report: Report
    response_made: Moment
    step_recorded: Moment
    context_lives: Lifetime
    content_copied: bool
    """Whether the content's text and reasoning parts are new objects rather than the model's."""
    schedule: Schedule | None
    """None: the model's parts, then the results in the order of the calls, then the approval requests."""
    failure: Failure
    records_step_model: bool
    """Whether a step is recorded under the model that was called rather than the call's."""
    denial_names_approval: bool
    """Whether the result of a denied call of the provider's is made, naming the approval."""
    provider_answers_first: bool
    """Whether the answers for the provider come before the approved calls' results."""
    keeps_empty_results: bool
    """Whether approved calls without any result still make a tool message."""


AI_SDK_6_STREAM: Final = AiSdkProfile(
    name="ai-sdk-6/stream",
    package="ai@6.0.134",
    caller_to_initial=CopyDepth.SHARE,
    chains_to_hooks=CopyDepth.LIST,
    report=Report.CONTENT,
    response_made=Moment.AFTER_STOP_WHEN,
    step_recorded=Moment.AFTER_STEP_FINISH,
    context_lives=Lifetime.RUN,
    content_copied=True,
    schedule=Schedule(
        text_start=12,
        text_rest=26,
        source=12,
        call=19,
        unknown_call=18,
        asking_call=23,
        dynamic_call=21,
        provider_result=MappingProxyType({"call": 7, "unknown_call": 12, "asking_call": 9}),
        provider_error=MappingProxyType({"call": 6, "unknown_call": 14, "asking_call": 6}),
        result_ready=28,
        error_ready=18,
        unknown_ready=-4,
        asking_ready=-6,
        provider_error_ready=-6,
        passing=7,
    ),
    failure=Failure.REPORTED,
    records_step_model=False,
    denial_names_approval=False,
    provider_answers_first=True,
    keeps_empty_results=False,
)

AI_SDK_6_GENERATE: Final = AiSdkProfile(
    name="ai-sdk-6/generate",
    package="ai@6.0.134",
    caller_to_initial=CopyDepth.SHARE,
    chains_to_hooks=CopyDepth.LIST,
    report=Report.CHAIN,
    response_made=Moment.BEFORE_STEP_FINISH,
    step_recorded=Moment.BEFORE_STEP_FINISH,
    context_lives=Lifetime.RUN,
    content_copied=False,
    schedule=None,
    failure=Failure.REJECTED,
    records_step_model=True,
    denial_names_approval=True,
    provider_answers_first=False,
    keeps_empty_results=True,
)

PROFILES: Final = {profile.name: profile for profile in (AI_SDK_6_STREAM, AI_SDK_6_GENERATE)}
"""The profiles of this package, by name."""
