"""One step as a function of values: the chains before, what the step brought, the chains after.

`step` is what a run goes through (`agentcore.machine.run`): it prepares the chains with what the hooks
returned, the prompt is made of them and the model is called, and finishes them with the outcome.
Nothing else changes the chains of a run between its steps.

The rest is what a run makes of the prepared chains: what its model is asked, refused before it is asked if
providers refuse it, and the record of the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeVar, cast

from agentcore.errors import MissingToolResultsError, RefusedPromptError
from agentcore.machine.effects import (
    Answered,
    Asked,
    ModelAnswer,
    NeedModel,
    Processed,
    Settings,
    StepStartEvent,
    ToolSpec,
)
from agentcore.machine.hooks import (
    ProcessorEdit,
    StepOverride,
    StepRecord,
    StepResults,
    merge_provider_options,
    merged,
    tool_choice,
)
from agentcore.machine.state import Draft, Run, answers, check_choice, checked, with_calls
from agentcore.messages.chains import Chains, PromptState
from agentcore.messages.content import ContentPart, ToolCall, ToolError, ToolResult, to_response_messages
from agentcore.messages.messages import Message
from agentcore.messages.prompt import Fault
from agentcore.messages.values import FrozenList, JsonObject, Vector, maker, vector, with_fields
from agentcore.requirements.rules import Rule

__all__ = [
    "StepRecord",
    "StepResults",
    "begin_step",
    "empty_input",
    "finish",
    "finish_step",
    "prepare",
    "prompt_of",
    "prompt_state",
    "start_event",
    "step",
    "step_holds_history",
    "with_answer",
]

_T = TypeVar("_T")
_AUTO: Final = tool_choice("auto")

_new_request: Final = maker(NeedModel)
_new_draft: Final = maker(Draft)
_new_event: Final = maker(StepStartEvent)
_new_record: Final = maker(StepRecord)


def step(chains: Chains, results: StepResults) -> Chains:
    """Returns the chains after a step (rule step.folded).

    Folded over the results of a run's records (`StepRecord.results`), from the chains that the run began with
    (`run.history[0].chains`), it gives the chains of the run, ids included.

    Args:
        chains: the chains before the step.
        results: what its hooks returned and what it produced; and what was answered before it.

    Raises:
        InvalidPromptError: for something that is no message.
    """
    return finish(prepare(_replied(chains, results), results.edits), results.content)


def prepare(chains: Chains, edits: Sequence[ProcessorEdit]) -> Chains:
    """Returns the chains that a step's prompt is made of: lasting edits are in, and the override is there.

    Difference.LASTING_MESSAGES; of several lasting edits the last one holds. Without edits, the chains
    themselves.
    """
    override = merged(edits)
    return _with_lasting(chains, edits).with_override(override.messages, override.system)


def finish(chains: Chains, content: Iterable[ContentPart]) -> Chains:
    """Returns prepared chains as they are after the step: with the messages it produced, and no override.

    Rules step.response-grows, step.override-dropped and those named content.* and output.*.
    """
    return chains.appended(to_response_messages(content))


def prompt_of(chains: Chains, results: StepResults | None = None) -> Vector[Message]:
    """Returns the prompt of a step: of its override if there is one, else of the step input.

    Costs what is new, whatever the history's length, if the override begins with the step input.

    Args:
        chains: the chains that were prepared; or those before the step, if there are results.
        results: what the step's hooks returned; its content does not matter here.

    Raises:
        MissingToolResultsError: and others, as `agentcore.messages.chains.to_prompt` does.
    """
    if results is not None:
        chains = prepare(_replied(chains, results), results.edits)
    return prompt_state(chains).prompt()


def prompt_state(chains: Chains) -> PromptState:
    """Returns what the prompt of a step is made of, folded: its override, or else the step input.

    Costs what is new, as `prompt_of` does. `chains` are those that were prepared.
    """
    if chains.override is not None:
        return chains.folded_of(chains.override, chains.override_system)
    system = chains.override_system
    return chains.folded if system is None else chains.folded.with_system(system)


def _replied(chains: Chains, results: StepResults) -> Chains:
    return chains.appended(results.replies) if results.replies else chains


def _with_lasting(chains: Chains, edits: Sequence[ProcessorEdit]) -> Chains:
    for edit in reversed(edits):
        messages = edit.override.lasting_messages
        if messages is not None:
            return chains.with_lasting(messages, edit.lasting_ids, by=edit.processor_id)
    return chains


# ---------------------------------------------------------------- the model's call


def begin_step(run: Run, edits: tuple[ProcessorEdit, ...]) -> tuple[Chains, Draft]:
    """Return the prepared chains of a step, and the step as far as what its model is asked.

    Args:
        run: the run that is about to prepare the step.
        edits: what the step's hooks did.

    Raises:
        RefusedPromptError: and others, if the prompt is not to be sent (Difference.PROMPTS_VALIDATED).
    """
    settings = run.settings
    override = merged(edits)
    chains = prepare(run.chains, edits)
    active = _first(override.active_tools, settings.active_tools)
    request = _new_request(
        model=settings.model if override.model is None else override.model,
        prompt=_validated_prompt(run, chains, edits),
        tools=_offered(settings, active),
        tool_choice=_choice(settings, override),
        provider_options=merge_provider_options(settings.provider_options, override.provider_options),
        response_format=override.response_format,
        model_settings=override.model_settings,
    )
    draft = _new_draft(
        step_input=run.chains.step_input,
        override=override,
        edits=edits,
        request=request,
        active_tools=active,
        experimental_context=_first(override.experimental_context, settings.experimental_context),
    )
    return chains, draft


def _first(override: _T, default: _T) -> _T:
    return default if override is None else override  # override.absent


def _offered(settings: Settings, active: tuple[str, ...] | None) -> Vector[ToolSpec] | None:
    if not settings.tools:
        return None
    if active is None:
        return settings.tools
    # Names are for membership only: the offer has the order of the call's own tools, however a hook sorted
    # them.
    names = frozenset(active)
    return vector(tool for tool in settings.tools if tool.name in names)  # override.active-tools


def _choice(settings: Settings, override: StepOverride) -> JsonObject | None:
    if not settings.tools:
        return None
    return _first(_first(override.tool_choice, settings.tool_choice), _AUTO)


def start_event(run: Run, chains: Chains, draft: Draft) -> StepStartEvent:
    """Return what `on_step_start` gets of a step that has begun; `chains` are the prepared ones."""
    return _new_event(
        step_number=run.step_number,
        model=draft.request.model,
        system=_first(draft.override.system, run.settings.system),
        messages=chains.step_input if chains.override is None else chains.override,
        tools=run.settings.tools,
        tool_choice=draft.request.tool_choice,
        active_tools=draft.active_tools,
        steps=run.steps,
        provider_options=draft.request.provider_options,
        experimental_context=draft.experimental_context,
    )


# ---------------------------------------------------------------- the model's answer


def with_answer(draft: Draft, answer: ModelAnswer, settings: Settings) -> Draft:
    """Return the step with its model's answer, whose calls are checked.

    Raises:
        ToolChoiceViolationError: and others, for an answer that the step cannot take.
    """
    active = None if draft.active_tools is None else frozenset(draft.active_tools)
    calls = FrozenList(
        checked(part, settings, active, draft.request.tool_choice)
        for part in answer.content
        if isinstance(part, ToolCall)
    )
    check_choice(draft.request.tool_choice, calls)
    return with_fields(
        draft,
        answer=answer,
        content=with_calls(answer.content, calls),
        finish_reason=answer.finish_reason or ("tool-calls" if calls else "stop"),
        calls=calls,
    )


def finish_step(
    run: Run, draft: Draft, outputs: Iterable[ToolResult | ToolError]
) -> tuple[Chains, StepRecord]:
    """Return the chains after a step and its record; `run` is the one before.

    Args:
        run: the run whose step it is, its chains prepared.
        draft: the step, with its model's answer.
        outputs: what its tools produced.
    """
    content = vector((*draft.content, *answers(draft.calls, outputs), *draft.requests))
    chains = finish(run.chains, content)
    return chains, _record(run, draft, content, chains)


def _record(run: Run, draft: Draft, content: Vector[ContentPart], chains: Chains) -> StepRecord:
    answer = draft.answer
    return _new_record(
        step_number=run.step_number,
        model=answer.requested_model or draft.request.model,
        prompt=draft.request.prompt,
        content=content,
        messages=chains.response,
        finish_reason=draft.finish_reason,
        override=draft.override,
        edits=draft.edits,
        experimental_context=draft.experimental_context,
        usage=answer.usage,
        response_model=answer.model_id,
        response_id=answer.response_id,
        provider_metadata=answer.provider_metadata,
        warnings=answer.warnings,
        initial_messages=chains.initial,
        step_input=draft.step_input,
        response_start=len(run.chains.response),
        replies_start=len(run.steps[-1].messages) if run.steps else len(run.chains.response),
    )


# ---------------------------------------------------------------- prompts that providers refuse


def _validated_prompt(run: Run, chains: Chains, edits: tuple[ProcessorEdit, ...]) -> Vector[Message]:
    """Make the prompt of the step that the run prepares; `chains` are those after its edits.

    Difference.PROMPTS_VALIDATED. Costs what is new since the step before, whatever the history's length.

    Raises:
        RefusedPromptError: if providers refuse the prompt, and the run validates prompts.
        MissingToolResultsError: for client calls without results, also where prompts are not validated.
        InvalidDataContentError: as `to_prompt` does.
    """
    state = prompt_state(chains)
    if run.settings.validate_prompt:
        fault = state.fault(holds_history=step_holds_history(run.settings, edits))
    else:
        fault = state.rounds.missing()
    # A message that cannot be converted at all is the first fault: making the prompt, below, raises its
    # error.
    if fault is not None and state.broken is None:
        raise _error(fault, run, edits)
    return state.prompt()


def step_holds_history(settings: Settings, edits: Iterable[ProcessorEdit]) -> bool:
    """Return whether a step's model holds the history on its side (rule prompt.history-elsewhere)."""
    named = [edit for edit in edits if edit.override.model is not None]
    if not named or named[-1].override.model == settings.model:
        return settings.holds_history
    # None means that nobody knows: then the prompt is judged as if all of the history were in it.
    return named[-1].holds_history is True


# ---------------------------------------------------------------- who returned the messages


def empty_input(edits: Iterable[ProcessorEdit]) -> RefusedPromptError:
    """Return the error of a run whose processors left no message."""
    # The last one that returned messages left none; those before it were overruled.
    by = [edit.processor_id for edit in edits if edit.override.messages is not None][-1]
    return cast("RefusedPromptError", Fault(rule=Rule.PROMPT_NOT_EMPTY).error()).by(
        by, None, is_of_the_step=True
    )


class _Origin(NamedTuple):
    """The path of a prompt's messages, and the edit that returned them at a step."""

    path: str = "$.messages"
    edit: ProcessorEdit | None = None
    step_number: int | None = None


def _error(
    fault: Fault, run: Run, edits: tuple[ProcessorEdit, ...]
) -> RefusedPromptError | MissingToolResultsError:
    origin = _of_this_step(run, edits) or _of_the_step_input(fault, run)
    error = fault.error(origin.path)
    if origin.edit is None:
        return error
    is_of_the_step = origin.step_number == run.step_number
    return error.by(origin.edit.processor_id, origin.step_number, is_of_the_step=is_of_the_step)


def _of_this_step(run: Run, edits: tuple[ProcessorEdit, ...]) -> _Origin | None:
    for edit in reversed(edits):
        if edit.override.messages is not None:
            return _Origin("$.messages", edit, run.step_number)
        if edit.override.lasting_messages is not None:
            return _Origin("$.lasting_messages", edit, run.step_number)
    return None


def _of_the_step_input(fault: Fault, run: Run) -> _Origin:
    """Return who returned the messages before the responses, if the fault is in them."""
    chains = run.chains
    if (
        fault.message is not None
        and fault.message >= len(chains.step_input) - len(chains.response) + chains.since
    ):
        return _Origin()
    return _of_the_input(run) if chains.lasting is None else _of_an_earlier_step(run)


def _of_an_earlier_step(run: Run) -> _Origin:
    """The lasting edit that the step input is made of, unless a fork brought the messages."""
    for record in reversed(run.steps):
        for edit in reversed(record.edits):
            if edit.override.lasting_messages == run.chains.lasting:
                return _Origin("$.messages", edit, record.step_number)
    return _Origin()


def _of_the_input(run: Run) -> _Origin:
    """The last edit of the messages by `process_input`."""
    # A handler of the whole call may have asked a person before the input was processed.
    outcomes = (each for each in run.outcomes if not isinstance(each, Asked | Answered))
    first = next(outcomes, None)
    if isinstance(first, Processed) and run.started_with.process_input:
        for edit in reversed(first.edits):
            if edit.override.messages is not None:
                return _Origin("$.messages", edit)
    return _Origin()
