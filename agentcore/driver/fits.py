"""Whether an agent can go on with a run."""

from __future__ import annotations

from agentcore.driver.errors import ResumeError
from agentcore.driver.parts import Parts
from agentcore.effects import NeedProcessInput
from agentcore.run import Run

__all__ = ["check_fits"]


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
    # What was to stop or change the input is not left out unseen.
    if isinstance(run.pending, NeedProcessInput) and not parts.processes_input:
        raise ResumeError("the run has yet to process its input; give it its `input_processors`")
