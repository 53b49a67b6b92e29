"""The prompt of a step as a run sends it: refused before a model is asked if providers refuse it.

Also who is to blame: the hook or processor that returned the messages, and when.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

from agentcore.errors import MissingToolResultsError, RefusedPromptError
from agentcore.machine.effects import Answered, Asked, Processed, Settings
from agentcore.machine.hooks import ProcessorEdit
from agentcore.machine.state import Run
from agentcore.machine.step import prompt_state
from agentcore.messages.chains import Chains
from agentcore.messages.messages import Message
from agentcore.messages.rounds import Fault
from agentcore.messages.values import Vector
from agentcore.requirements.rules import Rule

__all__ = ["empty_input", "step_holds_history", "validated_prompt"]


def validated_prompt(run: Run, chains: Chains, edits: tuple[ProcessorEdit, ...]) -> Vector[Message]:
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
    if fault is not None and state.broken is None:
        raise _error(fault, run, edits)
    return state.prompt()


def step_holds_history(settings: Settings, edits: Iterable[ProcessorEdit]) -> bool:
    """Whether the model that a step asks holds the history on its side (rule prompt.history-elsewhere)."""
    named = [edit for edit in edits if edit.override.model is not None]
    if not named or named[-1].override.model == settings.model:
        return settings.holds_history
    return named[-1].holds_history is True


# ---------------------------------------------------------------- who returned the messages


def empty_input(edits: Iterable[ProcessorEdit]) -> RefusedPromptError:
    """What fails a run whose processors have left none of its messages."""
    by = [edit.processor_id for edit in edits if edit.override.messages is not None][-1]
    return cast("RefusedPromptError", Fault(rule=Rule.PROMPT_NOT_EMPTY).error()).by(
        by, None, is_of_the_step=True
    )


class _Origin(NamedTuple):
    """What the messages of a prompt are called, and who returned them at which step."""

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
    """Who made the messages before the responses, if the fault is there."""
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
    outcomes = (each for each in run.outcomes if not isinstance(each, Asked | Answered))
    first = next(outcomes, None)
    if isinstance(first, Processed) and run.started_with.process_input:
        for edit in reversed(first.edits):
            if edit.override.messages is not None:
                return _Origin("$.messages", edit)
    return _Origin()
