from __future__ import annotations

import pickle
from typing import Any

import pytest

from agent.kit import add, call, run_by, scripted, text
from agentcore import Agent, UsageLimits
from agentcore.agent.agent import AgentError, InvalidAgentError
from agentcore.agent.call.errors import UsageLimitError
from agentcore.agent.models import ModelResponse, Usage
from agentcore.agent.rules import AgentRule
from agentcore.records.saved import from_json, to_json
from rulebook import states

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])


def answer(*content: Any, **used: int) -> ModelResponse:
    reason = "tool-calls" if content[0].type == "tool-call" else "stop"
    return ModelResponse(content, finish_reason=reason, usage=Usage(**used))


def adding(**fields: Any) -> Agent[None]:
    """Adds three times, the last time two at once, with 10 tokens in and 5 out at each step."""
    calls = ([call(a=1)], [call(a=2)], [call("add", "c1", a=3), call("add", "c2", a=4)], text())
    answers = [answer(*content, input_tokens=10, output_tokens=5) for content in calls]
    return Agent(scripted(*answers), tools=[add], **fields)


@states(AgentRule.USAGE_LIMITED)
@BOTH
@pytest.mark.parametrize(
    ("limits", "steps", "finished"),
    [
        ({"requests": 2}, 2, True),
        ({"input_tokens": 20}, 2, True),
        ({"output_tokens": 15}, 3, True),
        ({"total_tokens": 16}, 2, True),
        ({"tool_calls": 3}, 2, False),
    ],
)
async def test_what_goes_beyond_a_limit_is_not_begun_and_all_before_is_kept(
    path: str, limits: dict[str, int], steps: int, finished: bool
) -> None:
    agent = adding()
    [(name, maximum)] = limits.items()
    with pytest.raises(AgentError) as raised:
        await run_by(path, agent, "q", usage_limits=UsageLimits(**limits))
    error, cause = raised.value, raised.value.__cause__
    assert isinstance(cause, UsageLimitError)
    assert (cause.limit, cause.maximum, error.hook) == (name, maximum, "usage_limits")
    assert f"{name}: {cause.used} of {maximum} are used" in str(error)
    assert len(error.run.steps) == steps
    assert len(agent.model.calls) == steps + (not finished)  # type: ignore[attr-defined]


@BOTH
async def test_a_run_that_keeps_to_its_limits_ends_as_without(path: str) -> None:
    limits = UsageLimits(requests=4, tool_calls=4, input_tokens=40, output_tokens=20, total_tokens=60)
    assert (await run_by(path, adding(usage_limits=limits), "q")).text == "done"


@states(AgentRule.USAGE_LIMITED)
async def test_a_run_goes_on_under_other_limits_and_what_it_used_counts() -> None:
    agent = adding(usage_limits=UsageLimits(requests=2))
    with pytest.raises(AgentError) as first:
        await agent.generate("q")
    run = from_json(to_json(first.value.run))
    with pytest.raises(AgentError, match="requests: 3 of 3 are used") as second:
        await agent.resume(run, usage_limits=UsageLimits(requests=3))
    assert len(second.value.run.steps) == 3
    result = await agent.resume(second.value.run, usage_limits=None)
    assert len(result.steps) == 4


@pytest.mark.parametrize("wrong", [-1, True, 1.0, "3"])
def test_a_limit_is_a_whole_number(wrong: Any) -> None:
    with pytest.raises(InvalidAgentError, match=r"^\$\.usage_limits\.requests: expected a whole number"):
        UsageLimits(requests=wrong)


def test_other_things_are_no_limits() -> None:
    limits: Any = {"requests": 3}
    with pytest.raises(InvalidAgentError, match=r"^\$\.usage_limits: expected UsageLimits"):
        Agent(scripted(), usage_limits=limits)


def test_the_error_survives_pickle() -> None:
    error = UsageLimitError("requests", 2, 2, 1)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
