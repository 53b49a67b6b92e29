"""What a run was: its states before and after each step, forks of them, and the run played again.

A run keeps the very runs that it was before step 0 and after each step. They share structure with it, so a
state costs what its step added.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from agentcore.errors import RefusedPromptError, UnknownStepError
from agentcore.machine.effects import (
    Answered,
    Asked,
    Done,
    Forked,
    HookResult,
    Logged,
    ModelAnswer,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedProcessInput,
    NeedStepFinish,
    Settings,
)
from agentcore.machine.run import Failed, Interrupted, Run, forked, give, start
from agentcore.messages.chains import Chains
from agentcore.messages.content import ContentPart
from agentcore.messages.messages import Message
from agentcore.messages.values import Vector, vector

__all__ = ["after", "before", "fork", "has_begun", "one_step", "replay", "replayed"]


def before(run: Run, step_number: int) -> Run:
    """The run as it was when it was about to prepare this step.

    Raises UnknownStepError if it has not come to it.
    """
    current = _going_on(run)
    found = _before(current, step_number)
    if found is None:
        finished = current.step_number
        raise UnknownStepError(step_number, finished + (_before(current, finished) is not None))
    return found


def _before(run: Run, step_number: int) -> Run | None:
    if run.step_number == step_number and isinstance(run.pending, NeedPrepareStep):
        return run
    if not 0 <= step_number < len(run.history):
        return None
    # The state after the step before is kept; what follows from it by a few outcomes is made again.
    state = run.history[step_number]
    for place in range(len(state.outcomes), len(run.outcomes)):
        outcome = run.outcomes[place]
        if isinstance(state.pending, NeedPrepareStep) and not isinstance(outcome, Asked | Forked):
            return state
        state = replayed(state, outcome)
    return None


def after(run: Run, step_number: int) -> Run:
    """The run as it was when this step had finished, before `on_step_finish`.

    Raises UnknownStepError if it has not finished.
    """
    # The history begins with the state before step 0.
    current = _going_on(run)
    if 0 <= step_number < len(current.history) - 1:
        return current.history[step_number + 1]
    if step_number == current.step_number - 1 and isinstance(current.pending, NeedStepFinish):
        return current
    raise UnknownStepError(step_number, current.step_number)


def _going_on(run: Run) -> Run:
    # A run that failed by its messages, before any outcome, has come to no step.
    while isinstance(run.pending, Failed | Interrupted) and run.outcomes:
        run = run.pending.run
    return run


def fork(
    run: Run,
    step_number: int,
    *,
    settings: Settings | None = None,
    messages: Iterable[Message] | None = None,
) -> Run:
    """A run that is about to prepare this step of that run, from there on with other settings (run.forked).

    `messages` are what this step and later ones are built on, in place of the step input, as with a lasting
    edit (Difference.LASTING_MESSAGES). The step may be the one after the last, too, also of a run
    that has ended.

    Raises UnknownStepError if the run has not come to that step.
    """
    base = _base(run, step_number)
    if settings is None and messages is None and isinstance(base.pending, NeedPrepareStep):
        return base
    used = base.settings if settings is None else settings
    if messages is None:
        return _forked(base, base.chains, Forked(used))
    chains = base.chains.with_lasting(messages, by=f"fork-{step_number}")
    return _forked(base, chains, Forked(used, chains.lasting, ids=chains.ids))


def _forked(base: Run, chains: Chains, logged: Forked) -> Run:
    system = logged.settings.system
    if system != base.settings.system:
        chains = chains.with_system(system)
    return forked(base, logged.settings, chains, logged)


def _base(run: Run, step_number: int) -> Run:
    current = _going_on(run)
    if step_number == len(current.steps) and _is_between_steps(current):
        return current
    return before(current, step_number)


def _is_between_steps(run: Run) -> bool:
    # A run that a processor ended has come to the step in question, if to any, and keeps the state before it.
    if isinstance(run.pending, NeedFinish | Done):
        return run.pending.result.tripwire is None
    return run.current is None and not isinstance(run.pending, NeedProcessInput | Failed)


def replay(settings: Settings, messages: Iterable[Message], outcomes: Iterable[Logged]) -> Run:
    """The run that these outcomes make, as `Run.outcomes` keeps them; nothing is called, hooks neither.

    Equal, with equal history, to the run that kept them, if it was started with these settings and messages
    (rule run.replayed).
    Raises UnexpectedOutcomeError for outcomes that make no run, and what `start` does.
    """
    run = start(settings, messages)
    for outcome in outcomes:
        run = replayed(run, outcome)
    return run


def replayed(run: Run, outcome: Logged) -> Run:
    """The run after one more of its outcomes. Raises as `give` does, and as `fork` does for a fork."""
    if not isinstance(outcome, Forked):
        return give(run, outcome)
    base = _base(run, run.step_number)
    chains = base.chains
    if outcome.messages is not None:
        chains = chains.with_lasting(outcome.messages, outcome.ids)
    return _forked(base, chains, outcome)


def has_begun(run: Run) -> bool:
    """Whether anything has been done in the run, beyond asking and answering."""
    return not all(isinstance(outcome, Asked | Answered) for outcome in run.outcomes)


def one_step(settings: Settings, messages: Iterable[Message], content: Iterable[ContentPart]) -> Run:
    """A run of one step that has this content, at its end, as if a model had answered with it.

    Where a model would have refused the prompt, the run does not validate prompts: no model is asked.

    Raises UnexpectedOutcomeError if tools would have to run, and what `start` does.
    """
    given, parts = vector(messages), vector(content)
    run = _one_step(settings, given, parts)
    if isinstance(run.pending, Failed) and isinstance(run.pending.error, RefusedPromptError):
        return _one_step(attrs.evolve(settings, validate_prompt=False), given, parts)
    return run


def _one_step(settings: Settings, messages: Vector[Message], content: Vector[ContentPart]) -> Run:
    run = start(settings, messages)
    while not isinstance(run.pending, Done | Failed):
        answers = isinstance(run.pending, NeedModel)
        run = give(run, ModelAnswer(content) if answers else HookResult())
    return run
