"""Profiles: what a version of Strands Agents copies, when, and what it does when something fails, as data.

What differs between versions and languages is a field here, never a branch on a profile's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

import attrs

from agentcore.heap.copying import CopyDepth
from agentcore.kit.framework import decision


class ModelState(Enum):
    """What a provider writes to."""

    LIVE = "the agent's own, which the model stage's context has too"
    PER_ATTEMPT = "a copy made before the chain, at each call of it; the last one's replaces the agent's"
    PER_CHAIN = "one copy made before the chain, which replaces the agent's after it"


class HooksRun(Enum):
    """When the hooks of an event run inside an invocation."""

    AT_ONCE = "where the event is made; what they throw is thrown there"
    ON_ITS_WAY_OUT = "when the event leaves the agent loop; what they throw closes the loop where it stands"


class Kept(Enum):
    """When the model's answer enters the history, where it uses tools."""

    AT_ONCE = "before they run"
    AFTER_TOOLS = "with their results"


class HookToolUse(Enum):
    """What becomes of a tool use that a hook puts in the place of the one it was given."""

    IGNORED = "nothing"
    KEEPS_ID = "it is the one, under the id that the model gave"
    TAKEN = "it is the one"


class HandlerFailure(Enum):
    """What an error in a handler of the tool stage does, where tools run one after the other."""

    RAISED = "it ends the invocation"
    RESULT = "it is the tool's result, and the hooks get it"


class EmptyBlock(Enum):
    """What a block is in which a model said nothing."""

    TEXT = "an empty text"
    NOTHING = "nothing"


@attrs.frozen(kw_only=True)
class Contexts:
    """The fields of the three stages' contexts, in their order, by the SDK's names.

    Those that end in a question mark are there only if there is something in them.
    """

    model: tuple[str, ...]
    tool: tuple[str, ...]
    stream: tuple[str, ...]


@attrs.frozen(kw_only=True)
class ModelCopies:
    """How deep the fields of the model stage's context are copied.

    `metadata` is of messages that are new and not wholly so.
    """

    messages: CopyDepth
    metadata: CopyDepth
    system: CopyDepth
    tool_specs: CopyDepth
    tool_choice: CopyDepth


@attrs.frozen(kw_only=True)
class Pace:
    """How many turns of the job queue pass on the way of a tool that runs beside others.

    An event `told` has left the functions between the tools and the hooks. A tool that `returned`, `failed`
    or was `unknown` has done so to the innermost handler. `after_stage` the hooks get the result, and
    after them the `attempt` is left. `own_hooks` are hooks that the SDK has itself.
    """

    told: int
    returned: int
    failed: int
    unknown: int
    after_stage: int
    stage_failed: int
    attempt: int
    own_hooks: Mapping[str, int]


@attrs.frozen(kw_only=True)
class Wording:
    """Texts that get into messages.

    `structured_success` is the model's result for its structured output; None where that is the output
    itself.
    """

    tool_denied: str
    unknown_tool: str
    tool_error: str
    structured_description: str
    structured_prompt: str | None
    structured_success: str | None


@attrs.frozen(kw_only=True)
class Errors:
    """The names of errors, and texts of those that the SDK raises itself.

    `provider` is what an error of the provider becomes, `later` what any error becomes that comes after the
    first answer of the model; None where it stays what it is. `refused_tool` is that of a tool that cannot be
    registered.
    """

    provider: str | None
    later: str | None
    refused_tool: str
    max_tokens: tuple[str, str]
    unstructured: tuple[str, str]


@attrs.frozen(kw_only=True)
class StrandsProfile:
    """A version of Strands Agents."""

    name: str
    package: str

    has_classes: bool = attrs.field(
        metadata=decision(
            "Whether messages and blocks are objects of classes, which plain data is made into.",
            heading="What the caller gives",
        )
    )
    history_taken: CopyDepth = attrs.field(
        metadata=decision("How much of the caller's list of messages is new in the agent's history.")
    )
    system_taken: CopyDepth = attrs.field(
        metadata=decision("How much of the caller's system prompt is new in the agent's.")
    )
    system_listed: bool = attrs.field(
        metadata=decision("Whether a system prompt that is a text is kept as a list of one text block.")
    )
    input_converted: bool = attrs.field(
        metadata=decision(
            "Whether the input is made messages before the stream stage, which then has a list in any case."
        )
    )
    registers_strictly: bool = attrs.field(
        metadata=decision(
            "Whether empty descriptions are refused, and the tool for structured output checked as others."
        )
    )
    deepest_cycle: int | None = attrs.field(
        metadata=decision(
            "How many cycles of an invocation can be inside each other, one less for each "
            "handler around them."
        )
    )
    unanswered_answered: bool = attrs.field(
        metadata=decision(
            "Whether an input after an unanswered tool use is preceded by error results for it."
        )
    )
    options_given: bool = attrs.field(
        metadata=decision(
            "Whether an invocation has options, in which the state is, and its result has the state."
        )
    )

    contexts: Contexts = attrs.field(
        metadata=decision(
            "The fields of the three stages' contexts; those with a question mark only if "
            "there is something.",
            heading="The copies",
        )
    )
    model_copies: ModelCopies = attrs.field(
        metadata=decision("How much is new in the model stage's context.")
    )
    state_copied: CopyDepth = attrs.field(
        metadata=decision("How much of the invocation state is new in the model stage's context.")
    )
    tool_use_to_hooks: CopyDepth = attrs.field(
        metadata=decision("How much of a tool use in the history is new in the one that hooks are given.")
    )
    tool_use_copied: CopyDepth = attrs.field(
        metadata=decision(
            "How much of the tool use that hooks were given is new in the tool stage's context."
        )
    )
    args_copied: CopyDepth = attrs.field(
        metadata=decision("How much of the input is new in the stream stage's context.")
    )
    copies_keep_aliases: bool = attrs.field(
        metadata=decision("Whether what is one object in the original is one in a deep copy.")
    )

    provider_messages: CopyDepth = attrs.field(
        metadata=decision(
            "How much of the messages in the model stage's context is new in those that the "
            "provider is given.",
            heading="The provider",
        )
    )
    provider_metadata: bool = attrs.field(
        metadata=decision("Whether the provider is given the metadata of messages.")
    )
    provider_blanks_filled: bool = attrs.field(
        metadata=decision("Whether blank texts of the assistant are replaced, or left out beside a tool use.")
    )
    specs_normalised: bool = attrs.field(
        metadata=decision("Whether descriptions of tools are completed on their way to the model stage.")
    )
    empty_specs_given: bool = attrs.field(
        metadata=decision(
            "Whether the provider is given an empty list of tools' descriptions, into which it may write."
        )
    )
    model_state: ModelState = attrs.field(metadata=decision("What a provider that keeps a state writes to."))

    empty_block: EmptyBlock = attrs.field(
        metadata=decision("What a block becomes in which the model said nothing.", heading="The answer")
    )
    blank_texts_kept: bool = attrs.field(
        metadata=decision("Whether a text of nothing but spaces is in the message.")
    )
    tool_use_wins: bool = attrs.field(
        metadata=decision("Whether an answer that ends the turn and uses tools is one that uses tools.")
    )
    measured: bool = attrs.field(
        metadata=decision("Whether an answer's metadata is replaced by the SDK's measures.")
    )
    truncated_kept: bool = attrs.field(
        metadata=decision(
            "Whether an answer that is too long enters the history, without its tool uses, before the error."
        )
    )
    answer_kept: Kept = attrs.field(metadata=decision("When an answer that uses tools enters the history."))

    pending_uses_run: bool = attrs.field(
        metadata=decision(
            "Whether tool uses at the end of the history are run instead of asking the model.",
            heading="Tool uses",
        )
    )
    uses_fixed_early: bool = attrs.field(
        metadata=decision("Whether tool uses that a hook adds before the tools run are left out.")
    )
    names_checked: bool = attrs.field(
        metadata=decision("Whether a tool use with a name that no tool can have gets its error at once.")
    )
    requires_uses: bool = attrs.field(
        metadata=decision("Whether an answer that announces uses of tools and has none ends the invocation.")
    )
    handler_failure: HandlerFailure = attrs.field(
        metadata=decision(
            "What an error in a handler of the tool stage does, where tools run one after the other."
        )
    )
    result_ids_kept: bool = attrs.field(
        metadata=decision(
            "Whether a result has the id of the tool use whatever hooks and handlers made of it."
        )
    )
    pace: Pace | None = attrs.field(
        metadata=decision(
            "By which turns tools that run at once change places; without: where they report something."
        )
    )
    state_filled: bool = attrs.field(
        metadata=decision("Whether the SDK keeps things of its own in the invocation state.")
    )

    structured_tool_first: bool = attrs.field(
        metadata=decision(
            "Whether the tool for structured output is there before the input enters the history.",
            heading="Structured output",
        )
    )
    structured_at_end_only: bool = attrs.field(
        metadata=decision("Whether structured output is asked for only after an answer that ends the turn.")
    )
    structured_lasts: bool = attrs.field(
        metadata=decision(
            "Whether what is known of the structured output lasts for all runs of the loop in a stream stage."
        )
    )
    structured_choice_live: bool = attrs.field(
        metadata=decision(
            "Whether the tool for it is asked for by the name in its description, whatever that has become."
        )
    )
    structured_from_text: bool = attrs.field(
        metadata=decision("Whether an answer in text can be the structured output that was asked for.")
    )
    structured_specs_only: bool = attrs.field(
        metadata=decision("Whether a model that has to give structured output is offered no other tool.")
    )

    structured_read_late: bool = attrs.field(
        metadata=decision(
            "Whether structured output is read out of the history, once hooks have seen both messages."
        )
    )
    structured_written: bool = attrs.field(
        metadata=decision(
            "Whether structured output is written as JSON at the end, which fails for texts "
            "without an encoding."
        )
    )

    hooks_run: HooksRun = attrs.field(
        metadata=decision("When hooks get the events inside an invocation.", heading="Hooks")
    )
    streams_told: bool = attrs.field(metadata=decision("Whether hooks hear of what a model streams."))
    state_with_messages: bool = attrs.field(
        metadata=decision("Whether hooks that get a message get the invocation state with it.")
    )
    denial_announced: bool = attrs.field(
        metadata=decision("Whether hooks get the message of an invocation that a hook denied.")
    )
    hook_tool_use: HookToolUse = attrs.field(
        metadata=decision("What becomes of a tool use that a hook puts in the place of the one it was given.")
    )
    cancelled_tool_retried: bool = attrs.field(
        metadata=decision("Whether a hook can have a cancelled tool run after all.")
    )

    wording: Wording = attrs.field(metadata=decision("The texts that get into messages.", heading="Words"))
    errors: Errors = attrs.field(
        metadata=decision("The names of errors, and the texts of those that the SDK raises itself.")
    )


_TS_1_5_PACE: Final = Pace(
    told=4,
    returned=5,
    failed=4,
    unknown=3,
    after_stage=3,
    stage_failed=2,
    attempt=0,
    own_hooks=MappingProxyType({}),
)

STRANDS_TS_1_5: Final = StrandsProfile(
    name="strands-ts@1.5.0",
    package="@strands-agents/sdk@1.5.0",
    contexts=Contexts(
        model=(
            *("agent", "messages", "systemPrompt?", "toolSpecs", "toolChoice?", "modelState"),
            "invocationState",
        ),
        tool=("agent", "tool", "toolUse", "invocationState", "interrupt"),
        stream=("agent", "args", "options", "interrupt"),
    ),
    has_classes=True,
    history_taken=CopyDepth.LIST,
    system_taken=CopyDepth.PART,
    system_listed=False,
    input_converted=False,
    registers_strictly=True,
    deepest_cycle=None,
    unanswered_answered=False,
    options_given=True,
    model_copies=ModelCopies(
        messages=CopyDepth.SHARE,
        metadata=CopyDepth.SHARE,
        system=CopyDepth.SHARE,
        tool_specs=CopyDepth.LIST,
        tool_choice=CopyDepth.SHARE,
    ),
    state_copied=CopyDepth.SHARE,
    tool_use_copied=CopyDepth.PART,
    tool_use_to_hooks=CopyDepth.PART,
    args_copied=CopyDepth.SHARE,
    copies_keep_aliases=False,
    provider_messages=CopyDepth.SHARE,
    provider_metadata=True,
    provider_blanks_filled=False,
    specs_normalised=False,
    empty_specs_given=True,
    model_state=ModelState.LIVE,
    empty_block=EmptyBlock.TEXT,
    blank_texts_kept=True,
    tool_use_wins=False,
    measured=False,
    truncated_kept=False,
    answer_kept=Kept.AFTER_TOOLS,
    pending_uses_run=False,
    uses_fixed_early=False,
    names_checked=False,
    structured_tool_first=True,
    structured_at_end_only=False,
    structured_lasts=False,
    structured_choice_live=False,
    structured_from_text=False,
    structured_specs_only=False,
    structured_read_late=True,
    structured_written=False,
    hooks_run=HooksRun.ON_ITS_WAY_OUT,
    streams_told=True,
    state_with_messages=True,
    denial_announced=False,
    hook_tool_use=HookToolUse.IGNORED,
    cancelled_tool_retried=True,
    handler_failure=HandlerFailure.RAISED,
    result_ids_kept=False,
    requires_uses=True,
    pace=_TS_1_5_PACE,
    state_filled=False,
    wording=Wording(
        tool_denied="Tool cancelled by hook",
        unknown_tool="Tool '{}' not found in registry",
        tool_error="{}",
        structured_description=(
            "This tool MUST only be invoked as the last and final tool before returning the completed result "
            "to the caller."
        ),
        structured_prompt=None,
        structured_success=None,
    ),
    errors=Errors(
        provider="ModelError",
        later=None,
        refused_tool="ToolValidationError",
        max_tokens=(
            "MaxTokensError",
            "Model reached maximum token limit. This is an unrecoverable state that requires intervention.",
        ),
        unstructured=(
            "StructuredOutputError",
            "The model failed to invoke the structured output tool even after it was forced.",
        ),
    ),
)

STRANDS_TS_1_19: Final = attrs.evolve(
    STRANDS_TS_1_5,
    name="strands-ts@1.19.0",
    package="@strands-agents/sdk@1.19.0",
    contexts=Contexts(
        model=(
            *("agent", "model", "messages", "systemPrompt?", "toolSpecs", "toolChoice?", "invocationState"),
            "projectedInputTokens",
        ),
        tool=("agent", "tool", "toolUse", "invocationState", "cancelSignal", "interrupt"),
        stream=("agent", "args", "options", "interrupt"),
    ),
    model_copies=ModelCopies(
        messages=CopyDepth.DEEP,
        metadata=CopyDepth.DEEP,
        system=CopyDepth.PART,
        tool_specs=CopyDepth.DEEP,
        tool_choice=CopyDepth.DEEP,
    ),
    tool_use_copied=CopyDepth.DEEP,
    model_state=ModelState.PER_ATTEMPT,
    blank_texts_kept=False,
    hook_tool_use=HookToolUse.KEEPS_ID,
    result_ids_kept=True,
    pace=attrs.evolve(
        _TS_1_5_PACE,
        returned=9,
        failed=8,
        unknown=7,
        after_stage=4,
        stage_failed=3,
        attempt=2,
        own_hooks=MappingProxyType({"afterTool": 1}),
    ),
)

STRANDS_PY_1_62: Final = StrandsProfile(
    name="strands-py@1.62.0",
    package="strands-agents==1.62.0",
    contexts=Contexts(
        model=(
            *("agent", "messages", "system_prompt", "tool_specs", "tool_choice", "invocation_state", "model"),
            *("projected_input_tokens", "dynamic_trailing_blocks", "structured_output_model"),
        ),
        tool=("agent", "tool", "tool_use", "invocation_state", "cancel_signal"),
        stream=("agent", "messages", "invocation_state"),
    ),
    has_classes=False,
    history_taken=CopyDepth.SHARE,
    system_taken=CopyDepth.SHARE,
    system_listed=True,
    input_converted=True,
    registers_strictly=False,
    deepest_cycle=321,
    unanswered_answered=True,
    options_given=False,
    model_copies=ModelCopies(
        messages=CopyDepth.DEEP,
        metadata=CopyDepth.DEEP,
        system=CopyDepth.DEEP,
        tool_specs=CopyDepth.DEEP,
        tool_choice=CopyDepth.DEEP,
    ),
    state_copied=CopyDepth.SHARE,
    tool_use_copied=CopyDepth.PART,
    tool_use_to_hooks=CopyDepth.SHARE,
    args_copied=CopyDepth.SHARE,
    copies_keep_aliases=True,
    provider_messages=CopyDepth.DEEP,
    provider_metadata=False,
    provider_blanks_filled=True,
    specs_normalised=True,
    empty_specs_given=False,
    model_state=ModelState.PER_CHAIN,
    empty_block=EmptyBlock.NOTHING,
    blank_texts_kept=True,
    tool_use_wins=True,
    measured=True,
    truncated_kept=True,
    answer_kept=Kept.AT_ONCE,
    pending_uses_run=True,
    uses_fixed_early=True,
    names_checked=True,
    structured_tool_first=False,
    structured_at_end_only=True,
    structured_lasts=True,
    structured_choice_live=True,
    structured_from_text=True,
    structured_specs_only=True,
    structured_read_late=False,
    structured_written=True,
    hooks_run=HooksRun.AT_ONCE,
    streams_told=False,
    state_with_messages=False,
    denial_announced=True,
    hook_tool_use=HookToolUse.TAKEN,
    cancelled_tool_retried=False,
    handler_failure=HandlerFailure.RESULT,
    result_ids_kept=False,
    requires_uses=False,
    pace=None,
    state_filled=True,
    wording=Wording(
        tool_denied="tool cancelled by user",
        unknown_tool="Unknown tool: {}",
        tool_error="Error: {}",
        structured_description=(
            "IMPORTANT: This StructuredOutputTool should only be invoked as the last and final tool before "
            "returning the completed result to the caller. <description>{}</description>"
        ),
        structured_prompt="You must format the previous response as structured output.",
        structured_success="Successfully validated {} structured output",
    ),
    errors=Errors(
        provider=None,
        later="EventLoopException",
        refused_tool="ValueError",
        max_tokens=(
            "MaxTokensReachedException",
            (
                "Model stopped generating due to maximum token limit. The partial message has been added to "
                "the conversation history. You can continue by calling the agent again. For more "
                "information see: "
                "https://strandsagents.com/docs/user-guide/concepts/agents/agent-loop/#maxtokensreachedexception"
            ),
        ),
        unstructured=(
            "StructuredOutputException",
            (
                "The model did not produce structured output: it neither called the structured output tool "
                "nor returned a JSON object."
            ),
        ),
    ),
)

PROFILES: Final = {profile.name: profile for profile in (STRANDS_TS_1_5, STRANDS_TS_1_19, STRANDS_PY_1_62)}
