"""Whether an agent can go on with a run, and what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from agentcore.agent.call.config import Parts
from agentcore.agent.call.errors import ResumeError
from agentcore.errors import AnswersError, text_at_step
from agentcore.machine.effects import Answered, Done, NeedProcessInput
from agentcore.machine.pending import Pending, pending_of
from agentcore.machine.run import Failed, Run, give, start

__all__ = ["answered", "check_fits"]


def check_fits(parts: Parts, run: Run) -> None:
    """Raises ResumeError, which says what to give, if these cannot do what the run was begun with."""
    settings = run.settings
    if settings.model != parts.model.model_id:
        reason = f"the run has model {settings.model!r}, the agent {parts.model.model_id!r}"
        raise ResumeError(f"{reason}; give it as `model`")
    executable = {tool.name: tool.execute is not None for tool in parts.tools}
    for spec in settings.tools or ():
        if executable.get(spec.name) is not spec.has_execute:
            kind = "can be executed" if spec.has_execute else "is executed by somebody else"
            raise ResumeError(f"the run has a tool {spec.name!r} that {kind}; give it in `tools`")
    if isinstance(run.pending, NeedProcessInput):
        _check_begins(parts, run)


def _check_begins(parts: Parts, run: Run) -> None:
    # What was to stop or change the input is not left out unseen.
    if run.settings.process_input and not parts.processes_input:
        raise ResumeError("the run has yet to process its input; give it its `input_processors`")
    if not run.settings.process_input:  # its messages failed it, and would again
        error = cast("Failed", start(run.settings, run.given).pending).error
        raise ResumeError(
            f"the run fails on its messages as often as it is resumed ({text_at_step(error)}); start another "
            "one with other messages: agent.generate(prompt, messages=...)"
        )


def answered(run: Run, answers: Mapping[str, object] | None) -> Run:
    """Return the run with the answers to all that it waits for; as it is if it does not wait.

    Raises:
        AnswersError: if the run waits for other answers, or for none; it says for which and what to do.
    """
    waits = pending_of(run)
    if not answers and not waits:
        return run
    try:
        return give(run, Answered({} if answers is None else answers))
    except AnswersError as error:
        note = _waiting_for(waits) if waits else _not_waiting(run)
        raise AnswersError(error.unknown, error.missing, error.wrong, note) from None


def _waiting_for(waits: tuple[Pending, ...]) -> str:
    return "the run waits for " + ", ".join(f"{one.id} ({one.text})" for one in waits)


def _not_waiting(run: Run) -> str:
    if isinstance(run.pending, Done):
        return (
            "the run is done and waits for nothing; begin another turn with "
            "agent.generate(prompt, messages=run.conversation)"
        )
    return "the run waits for nothing yet; resume it without answers"
