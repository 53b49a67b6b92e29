from __future__ import annotations

from itertools import pairwise
from typing import Any

import anyio
import pytest
from hypothesis import given

from agent.kit import add, call, scripted, text
from agentcore import Agent, UserMessage
from agentcore.messages.message_trim import estimate_tokens
from agentcore.messages.messages import Message
from agentcore.records.provenance import prompt_cache
from agentcore.requirements.rules import Rule
from plays import Play, played, plays
from rulebook import states


def cached(hook: Any) -> list[tuple[int, int, int]]:
    model = scripted([call(a=1)], [call(a=2)], text())
    result = anyio.run(Agent(model, tools=[add], prepare_step=hook).generate, "q")
    return [
        (one.tokens, one.cached_tokens, one.lost_tokens) for one in prompt_cache(result.steps, lambda _: 1)
    ]


def before(step: Any) -> dict[str, Any]:
    return {"messages": [UserMessage(f"step {step.step_number}"), *step.messages]}


def after(step: Any) -> dict[str, Any]:
    return {"messages": [*step.messages, UserMessage(f"step {step.step_number}")]}


@pytest.mark.parametrize(
    ("hook", "expected"),
    [
        (None, [(1, 0, 0), (3, 1, 0), (5, 3, 0)]),
        (after, [(2, 0, 0), (4, 1, 1), (6, 3, 1)]),
        (before, [(2, 0, 0), (4, 0, 2), (6, 0, 4)]),
    ],
)
def test_a_hook_costs_what_comes_after_its_first_edit(
    hook: Any, expected: list[tuple[int, int, int]]
) -> None:
    assert cached(hook) == expected


def shared(one: list[Message], other: list[Message]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


@states(Rule.CACHE_PREFIX)
@given(plays)
def test_each_step_is_counted_from_its_prompt_and_the_one_before(play: Play) -> None:
    steps = played(play)[-1].steps
    prompts = [[], *(list(step.prompt) for step in steps)]
    found = prompt_cache(steps)
    assert len(found) == len(steps)
    for one, (old, new) in zip(found, pairwise(prompts), strict=True):
        same = shared(old, new)
        assert one.tokens == sum(map(estimate_tokens, new))
        assert one.cached_tokens == sum(map(estimate_tokens, new[:same]))
        assert one.lost_tokens == sum(map(estimate_tokens, old[same:]))
        assert (one.broken_by is None) == (one.lost_tokens == 0)
