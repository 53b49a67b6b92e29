from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from agent.kit import add, call, run_by, scripted, text
from agentcore.agent import Agent, AgentError, NoObjectError
from agentcore.output import Output, OutputError
from agentcore.stop import step_count_is
from agentcore.values import thaw

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])


class Sum(BaseModel):
    total: int


SUM = Output.of(Sum)


@BOTH
async def test_the_last_text_is_read_as_the_output_that_every_call_asks_for(path: str) -> None:
    model = scripted([call(a=1)], text('{"total": 2}'))
    result = await run_by(path, Agent(model, tools=[add], output=SUM), "q")
    assert result.object == Sum(total=2)
    assert [request.response_format for request in model.calls] == [SUM.response_format] * 2


@BOTH
async def test_a_text_that_is_not_the_output_is_an_error_with_the_whole_run(path: str) -> None:
    agent = Agent(scripted([call(a=1)], text('{"total": "x"}')), tools=[add], output=SUM)
    with pytest.raises(AgentError, match=r"OutputError: .*\n\$\.total: ") as raised:
        await run_by(path, agent, "q")
    assert isinstance(raised.value.__cause__, OutputError)
    assert raised.value.path == "$.total"
    assert len(raised.value.run.steps) == 2
    with pytest.raises(AgentError, match="OutputError"):
        await agent.resume(raised.value.run)


@BOTH
async def test_a_step_hook_changes_what_the_answer_is_to_be(path: str) -> None:
    model = scripted([call(a=1)], [call(a=2)], text('{"total": 2}'))
    other = {"type": "json", "schema": {"type": "object"}}
    changed: list[Any] = [{"response_format": {"type": "text"}}, {"response_format": other}, None]
    agent = Agent(model, tools=[add], output=SUM, prepare_step=lambda step: changed[step.step_number])
    result = await run_by(path, agent, "q")
    assert result.object == Sum(total=2)
    asked = [thaw(request.response_format) for request in model.calls]
    assert asked == [None, other, thaw(SUM.response_format)]


@BOTH
async def test_a_run_that_ended_before_the_answer_has_no_object(path: str) -> None:
    agent = Agent(scripted([*text("{}"), call(a=1)]), tools=[add], output=SUM, stop_when=step_count_is(1))
    result = await run_by(path, agent, "q")
    with pytest.raises(NoObjectError, match="the run has no object"):
        _ = result.object


async def test_calls_that_the_provider_ran_are_part_of_an_answer() -> None:
    search = call("search", query="x")
    searched = {
        "type": "tool-call",
        "toolCallId": search.tool_call_id,
        "toolName": "search",
        "input": {"query": "x"},
        "providerExecuted": True,
        "dynamic": True,
    }
    agent = Agent(scripted([searched, *text('{"total": 1}')]), output=SUM)
    assert (await agent.generate("q")).object.total == 1


async def test_a_call_and_prepare_call_may_ask_for_another_output() -> None:
    numbers = Output.of(list[int])
    agent = Agent(scripted(text('{"result": [1]}'), text('{"a": 1}'), text("plain")), output=SUM)
    assert (await agent.generate("q", output=numbers)).object == [1]
    schema: Output[Any] = Output.json_schema({"type": "object"})
    result = await agent.generate("q", prepare_call=lambda _: {"output": schema})
    assert thaw(result.object) == {"a": 1}
    plain: Any = await agent.generate("q", prepare_call=lambda _: {"output": None})
    assert plain.object is None
    assert agent.model.calls[2].response_format is None  # type: ignore[attr-defined]
