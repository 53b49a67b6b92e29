from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from agent import program_agent
from agent.program_agent import BACKENDS, PATHS, ProgramAgent, disagreements, main

MANY = range(2 * settings().max_examples)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("path", PATHS)
def test_traces_of_agents_are_those_of_the_immutable_profile(path: str, backend: str) -> None:
    assert [(seed, made) for seed, made, _ in disagreements(MANY, path, backend)] == []


def test_a_difference_would_be_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step_finish = ProgramAgent.on_step_finish

    async def forget(agent: ProgramAgent, record: Any) -> None:
        await step_finish(agent, record)
        agent.recording.steps[-1]["onStepFinish"]["content"] = []

    monkeypatch.setattr(ProgramAgent, "on_step_finish", forget)
    assert [*disagreements(range(5), "stream", "trio")]
    monkeypatch.setattr(program_agent, "PATHS", PATHS[:1])
    assert main(5) == 1
    assert "asyncio generate: 5 programs, " in capsys.readouterr().out
