"""Input of tools is frozen and validated once, and the arguments made of it are the tool's own."""

from __future__ import annotations

from typing import Annotated, Any, Final

import attrs
import pytest
from pydantic import AfterValidator

from agent.kit import call, outputs, run_by, scripted, text
from agentcore import Agent, ExecuteToolStage, ToolContext, tool
from agentcore.agent.rules import AgentRule
from agentcore.agent.tools import Tool
from agentcore.messages import values
from agentcore.messages.content import ToolCall, ToolResult
from rulebook import states

PATHS: Final = ["generate", "stream"]
pytestmark = pytest.mark.anyio


def counting(seen: list[Any]) -> Tool[..., Any]:
    """A tool that notes each reading of its input."""

    def note(rows: list[Any]) -> list[Any]:
        seen.append(rows)
        return rows

    async def keep(rows: list[Any]) -> int:
        """Keep rows, and write into them."""
        rows.append("mine")
        return len(rows)

    keep.__annotations__["rows"] = Annotated[list[Any], AfterValidator(note)]
    return tool(keep)


def keeping(rows: Any, call_id: str = "c") -> ToolCall:
    return call("keep", call_id, rows=rows)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("steps", [1, 5])
async def test_large_input_is_frozen_and_read_once_however_many_steps_follow(
    path: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    visits = 0
    walk = values._quickly_frozen

    def counted(value: Any, room: int) -> Any:
        nonlocal visits
        visits += 1
        return walk(value, room)

    rows = [{"id": number, "tags": ["a"]} for number in range(1000)]
    asked = keeping(rows)  # frozen here
    monkeypatch.setattr(values, "_quickly_frozen", counted)
    seen: list[Any] = []
    more = [[keeping([], f"c{number}")] for number in range(steps - 1)]
    agent = Agent(scripted([asked], *more, text()), tools=[counting(seen)])
    result = await run_by(path, agent, "hi")
    assert outputs(result)[0] == 1001
    assert len(seen) == steps
    assert visits < 100 * steps  # and not one of the thousand rows


async def test_arguments_are_new_for_each_call_of_the_same_input() -> None:
    seen: list[Any] = []
    asked = keeping([1])
    agent = Agent(scripted([asked, attrs.evolve(asked, tool_call_id="d")], text()), tools=[counting(seen)])
    result = await agent.generate("hi")
    assert [part.output for part in result.steps[0].content if isinstance(part, ToolResult)] == [2, 2]
    assert seen[0] is not seen[1]


@states(AgentRule.TOOL_ARGUMENTS_ITS_OWN)
async def test_what_an_approval_rule_does_to_its_arguments_does_not_reach_the_tool() -> None:
    def rule(arguments: dict[str, Any], _: ToolContext) -> bool:
        arguments["rows"].clear()
        return False

    kept = attrs.evolve(counting([]), needs_approval=rule)
    result = await Agent(scripted([keeping([1, 2])], text()), tools=[kept]).generate("hi")
    assert outputs(result) == [3]


async def test_input_and_tools_that_a_handler_puts_in_place_are_read_anew() -> None:
    seen: list[Any] = []
    other: list[Any] = []

    def input_of(context: Any) -> Any:
        changed: Any = attrs.evolve(context.call, input={"rows": [1, 2]})
        return attrs.evolve(context, call=changed)

    def tool_of(context: Any) -> Any:
        return attrs.evolve(context, tool=counting(other))

    for handlers in ([ExecuteToolStage.input(input_of)], [ExecuteToolStage.input(tool_of)]):
        agent = Agent(scripted([keeping([1])], text()), tools=[counting(seen)], middleware=handlers)
        result = await agent.generate("hi")
        assert outputs(result) == [3 if not other else 2]
    assert [len(rows) for rows in seen] == [1, 3, 1]
    assert [len(rows) for rows in other] == [2]


async def test_a_run_that_goes_on_reads_the_input_that_it_kept() -> None:
    seen: list[Any] = []
    kept = attrs.evolve(counting(seen), needs_approval=True)
    agent = Agent(scripted([keeping([1])], text()), tools=[kept])
    waits = await agent.generate("hi")
    (asked,) = waits.pending
    result = await agent.resume(waits.run, answers={asked.id: True})
    assert result.text == "done"
    assert len(seen) == 2
