"""The history of a run: its states before and after each step, forks of them, and its replay.

A run keeps the very runs that it was before step 0 and after each step. They share structure with it, so a
state costs what its step added.

A saved run is played again, and some outcomes of a few bytes go through much of the run once more:
references to a whole history, an edit that is merged over large options, a question beside thousands of
others. Among the outcomes of an agent's run there are few such; in a file from a stranger each can be one, so
that a file of 1 MB would take hours or all memory. So each of them takes what it costs from one `Room`,
before it is played.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import attrs

from agentcore.errors import RefusedPromptError, UnknownStepError, WireError
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
    NeedTools,
    Processed,
    Settings,
    ToolSpec,
)
from agentcore.machine.run import Failed, Interrupted, Run, give, start
from agentcore.machine.state import Move, moved, need_prepare_step
from agentcore.messages.chains import Chains
from agentcore.messages.content import ContentPart, ToolCall
from agentcore.messages.messages import Message
from agentcore.messages.prompt import system_messages
from agentcore.messages.values import JsonObject, JsonValue, Vector, extend_vector, vector

__all__ = [
    "ROOM",
    "Room",
    "after",
    "before",
    "fork",
    "has_begun",
    "id_cost",
    "kept_objects",
    "one_step",
    "play_cost",
    "replay",
    "replayed",
]


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
    # The state after the last step is kept; states within a step are replayed from there by a few outcomes.
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
    # Failed and Interrupted hold the run as it was just before; a failed run may have waited, and the other
    # way round.
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
    # Only then: another number of system messages has the whole prompt made anew.
    if system != base.settings.system:
        chains = chains.with_system(system)
    need = need_prepare_step(logged.settings, chains, base.steps)
    after = Move(chains, base.steps, need, settings=logged.settings)
    return moved(base, after, base.history, extend_vector(base.outcomes, (logged,)))


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
    """The run that these outcomes make, as `Run.outcomes` keeps them; no model, tool or hook is called.

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
    """Whether the run has gone beyond asking and answering."""
    return not all(isinstance(outcome, Asked | Answered) for outcome in run.outcomes)


def one_step(settings: Settings, messages: Iterable[Message], content: Iterable[ContentPart]) -> Run:
    """A run of one step that has this content, at its end, as if a model had answered with it.

    Where a model would have refused the prompt, the run does not validate prompts: no model is asked.

    Raises UnexpectedOutcomeError if tools would have to run, and what `start` does.
    """
    given, parts = vector(messages), vector(content)
    run = _one_step(settings, given, parts)
    if isinstance(run.pending, Failed) and isinstance(run.pending.error, RefusedPromptError):
        # A handler that answers in place of the model may do so because no model could be asked.
        return _one_step(attrs.evolve(settings, validate_prompt=False), given, parts)
    return run


def _one_step(settings: Settings, messages: Vector[Message], content: Vector[ContentPart]) -> Run:
    run = start(settings, messages)
    while not isinstance(run.pending, Done | Failed):
        answers = isinstance(run.pending, NeedModel)
        run = give(run, ModelAnswer(content) if answers else HookResult())
    return run


@contextmanager
def kept_objects() -> Iterator[None]:
    """Looks for no garbage for as long as the `with` lasts: all that is made in it is kept.

    Else Python's collector goes over all of a large run whenever it has grown by a quarter, and loading takes
    twice as long at 30,000 steps.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# ---------------------------------------------------------------- what playing a run again may cost

ROOM: Final = 4_000_000
"""The room of a load, unless the caller allows more: at worst some 10 seconds and 500 MB, as measured."""

# One unit is what a reference to a message costs: about a microsecond and 64 bytes.
_UNIT: Final = 64
_COPIED_AT_ONCE: Final = 4


class Room:
    """The rest of a limit on the elements that references and replayed outcomes stand for."""

    def __init__(self, left: int = ROOM) -> None:
        self._left = left

    def take(self, cost: int, path: str = "$") -> None:
        """Take room for so many elements. Raises WireError, with the path, if less is left."""
        self._left -= cost
        if self._left < 0:
            reason = "up to here the run has more messages, ids and copies than the limit allows"
            raise WireError(path, f"{reason}; if you trust who wrote it, load it with a higher `limit`")


def id_cost(name: str) -> int:
    """Return the cost of one more id of the name."""
    return 1 + len(name) // _UNIT


def play_cost(run: Run, outcome: Logged) -> int:
    """Return how many elements the run reads again when it gets the outcome, without its messages.

    Rule run.load-bounded.
    """
    pending = run.pending
    match outcome:
        case Asked() if isinstance(pending, Interrupted):
            return len(pending.interrupts)
        case Answered():
            return len(run.answers) // _COPIED_AT_ONCE
        case ModelAnswer():
            return _answer_cost(run, outcome)
        case Processed():
            return _step_cost(run.settings) + _merge_cost(run.settings, outcome)
    if isinstance(pending, NeedTools):
        return (len(pending.calls) + len(pending.finished)) // _COPIED_AT_ONCE
    return _step_cost(run.settings) if isinstance(pending, NeedPrepareStep) else 0


def _step_cost(settings: Settings) -> int:
    """Count, for each step, the tools that it offers and the instructions in its prompt."""
    return (len(settings.tools or ()) + len(system_messages(settings.system))) // _COPIED_AT_ONCE


def _merge_cost(settings: Settings, outcome: Processed) -> int:
    """Options and settings of the model are merged edit by edit, each time with all those before."""
    cost, merged = 0, _size(settings.provider_options)
    for edit in outcome.edits:
        own = _size(edit.override.provider_options) + _size(edit.override.model_settings)
        merged += own
        cost += merged if own else 0
    return cost


def _answer_cost(run: Run, answer: ModelAnswer) -> int:
    """The error of a call of a tool that the step does not offer lists the names of those that it does."""
    states = 0 if answer.model_state is None else len(run.model_states)
    known = {tool.name for tool in _offered(run)}
    refused = sum(1 for part in answer.content if isinstance(part, ToolCall) and part.tool_name not in known)
    return states + refused * (1 + sum(len(tool.name) for tool in run.settings.tools or ()) // _UNIT)


def _offered(run: Run) -> Iterable[ToolSpec]:
    return run.pending.tools or () if isinstance(run.pending, NeedModel) else ()


def _size(options: JsonObject | None) -> int:
    """The count of all values in the options, at every depth."""
    count = 0
    pending: list[JsonValue] = [] if options is None else [options]
    while pending:
        value = pending.pop()
        count += 1
        if isinstance(value, tuple):
            pending += value
        elif isinstance(value, Mapping):
            pending += value.values()
    return count
