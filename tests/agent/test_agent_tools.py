from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import attrs
import pytest
from anyio.lowlevel import checkpoint

from agent.kit import USER, add, call, echo, run_by, scripted, streamed, text
from agentcore.agent.agent import Agent, AgentError, AgentResult
from agentcore.agent.events import ToolFinished, ToolProgress
from agentcore.agent.tools import Tool, ToolContext, tool
from agentcore.errors import ImmutableWriteError
from agentcore.messages.content import ToolApprovalRequest, ToolError, ToolResult
from agentcore.messages.messages import (
    AssistantMessage,
    TextOutput,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolResultPart,
)
from agentcore.messages.values import thaw

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])


def outputs(result: AgentResult[Any], step: int = 0) -> list[Any]:
    """What came of the calls of a step, in its content's order."""
    return [
        thaw(part.output) if isinstance(part, ToolResult) else part.error
        for part in result.steps[step].content
        if isinstance(part, ToolResult | ToolError)
    ]


def answers(result: AgentResult[Any]) -> list[Any]:
    """The outputs in the first tool message."""
    message = next(message for message in result.messages if isinstance(message, ToolMessage))
    return [part.output for part in message.content if isinstance(part, ToolResultPart)]


async def calling(path: str, calls: list[Any], tools: list[Any], **fields: Any) -> AgentResult[Any]:
    return await run_by(path, Agent(scripted(calls, text()), tools=tools, **fields), USER)


# ---------------------------------------------------------------- how functions are run


@BOTH
async def test_sync_functions_run_in_threads_and_async_ones_in_the_loop(path: str) -> None:
    here = threading.get_ident()

    @tool
    def sync() -> bool:
        return threading.get_ident() == here

    @tool
    async def asynchronous() -> bool:
        return threading.get_ident() == here

    result = await calling(path, [call("sync", "a"), call("asynchronous", "b")], [sync, asynchronous])
    assert outputs(result) == [False, True]


@BOTH
async def test_a_sync_function_may_return_something_to_be_awaited(path: str) -> None:
    result = await calling(
        path, [call("lazy", a=1)], [Tool("lazy", {"type": "object"}, execute=lambda a: echo(str(a)))]
    )
    assert outputs(result) == ["1"]


async def test_calls_of_a_step_run_at_once_and_their_results_keep_the_order_of_the_calls() -> None:
    second_ran = anyio.Event()

    @tool
    async def first() -> str:
        await second_ran.wait()
        return "first"

    @tool
    async def second() -> str:
        second_ran.set()
        return "second"

    agent = Agent(scripted([call("first", "a"), call("second", "b")], text()), tools=[first, second])
    events, result = await streamed(agent, "q")
    assert outputs(result) == ["first", "second"]
    finished = [event.call.tool_name for event in events if isinstance(event, ToolFinished)]
    assert finished == ["second", "first"]


@pytest.mark.parametrize("limit", [1, 2, 5])
async def test_no_more_calls_run_at_once_than_the_limit(limit: int) -> None:
    running = most = 0
    order: list[int] = []

    @tool
    async def busy(number: int) -> int:
        nonlocal running, most
        order.append(number)
        running += 1
        most = max(most, running)
        for _ in range(5):
            await checkpoint()
        running -= 1
        return number

    calls = [call("busy", f"c{number}", number=number) for number in range(9)]
    result = await calling("generate", calls, [busy], tool_concurrency=limit)
    assert most == limit
    assert outputs(result) == list(range(9))
    assert limit > 1 or order == list(range(9))


async def test_two_calls_of_one_id_have_their_own_results() -> None:
    second_ran = anyio.Event()

    @tool
    async def slow(number: int) -> int:
        if number == 1:
            await second_ran.wait()
        second_ran.set()
        return number

    calls = [call("slow", "c", number=1), call("slow", "c", number=2)]
    assert outputs(await calling("generate", calls, [slow], validate_prompt=False)) == [1, 2]


@BOTH
async def test_a_tool_is_told_of_its_call(path: str) -> None:
    told: list[ToolContext] = []

    @tool
    async def look(about: ToolContext) -> None:
        told.append(about)

    agent = Agent(
        scripted([call("look", "x")], [call("look", "y")], text()),
        tools=[look],
        experimental_context={"k": [1]},
        prepare_step=lambda step: {"messages": [USER], "experimental_context": {"step": step.step_number}},
    )
    result = await run_by(path, agent, "q")
    assert [(about.tool_call_id, about.step_number) for about in told] == [("x", 0), ("y", 1)]
    assert [thaw(about.experimental_context) for about in told] == [{"step": 0}, {"step": 1}]
    assert told[1].messages == result.run.chains.step_input[:3]


# ---------------------------------------------------------------- what goes wrong


@tool
def fails() -> None:
    """Fail."""
    raise ValueError("broken")


@tool
async def fails_silently() -> None:
    """Fail."""
    raise ValueError


@BOTH
@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("fails")], ["broken"]),
        ([call("fails_silently")], ["ValueError"]),
        ([call("absent")], ["Model tried to call unavailable tool 'absent'. Available tools: add, fails, "]),
        ([call("add", a="x")], ["Invalid input for tool 'add':\n$.a: "]),
        ([call("add", "a", a=1), call("fails", "b"), call("add", "c")], [2, "broken", "Invalid input"]),
    ],
)
async def test_what_goes_wrong_with_a_call_is_for_the_model_to_see(
    path: str, calls: list[Any], expected: list[Any]
) -> None:
    result = await calling(path, calls, [add, fails, fails_silently])
    for given, begins in zip(outputs(result), expected, strict=True):
        assert str(given).startswith(str(begins))
    assert result.text == "done"
    assert len(result.steps) == 2


async def test_a_call_with_wrong_input_is_marked_and_asks_for_no_approval() -> None:
    @tool(needs_approval=True)
    def danger(a: int) -> int:
        return a

    result = await calling("generate", [call("danger", a="x")], [danger])
    (marked,) = result.steps[0].tool_calls
    assert (marked.invalid, marked.dynamic) == (True, True)
    assert len(result.steps) == 2


async def test_a_hidden_tool_is_not_asked_about_its_input() -> None:
    result = await calling("generate", [call("add", a="x")], [add, echo], active_tools=["echo"])
    assert outputs(result) == ["Model tried to call unavailable tool 'add'. Available tools: echo."]


@BOTH
@pytest.mark.parametrize("others", [0, 1])
async def test_a_write_into_a_value_fails_the_run_and_stops_the_other_calls(path: str, others: int) -> None:
    ended: list[str] = []

    @tool
    async def write(about: ToolContext) -> None:
        about.messages[0].content = "x"  # type: ignore[misc]

    @tool
    async def wait() -> None:
        await anyio.sleep_forever()
        ended.append("wait")

    calls = [*[call("wait", "w")] * others, call("write", "x")]
    with pytest.raises(AgentError) as raised:
        await calling(path, calls, [write, wait])
    assert isinstance(raised.value.__cause__, ImmutableWriteError)
    assert not ended


# ---------------------------------------------------------------- time limits


@BOTH
@pytest.mark.parametrize("kind", ["async", "sync", "generator"])
async def test_a_call_that_takes_too_long_is_an_error_that_the_model_sees(path: str, kind: str) -> None:
    release = threading.Event()

    async def slow() -> None:
        await anyio.sleep_forever()

    def sync() -> None:
        release.wait(5)

    async def generator() -> AsyncIterator[int]:
        yield 1
        await anyio.sleep_forever()

    functions: dict[str, Any] = {"async": slow, "sync": sync, "generator": generator}
    begun = time.monotonic()
    limited = tool(functions[kind], name="slow", timeout=0.02)
    result = await calling(path, [call("slow", "a"), call("add", "b", a=1)], [limited, add])
    release.set()
    assert outputs(result) == ["Tool 'slow' gave no result within 0.02 s.", 2]
    assert time.monotonic() - begun < 4


async def test_a_call_within_its_time_is_as_without_a_limit() -> None:
    limited = attrs.evolve(add, timeout=60)
    assert outputs(await calling("generate", [call(a=1)], [limited])) == [2]


async def test_a_time_limit_of_the_tools_own_is_its_error() -> None:
    @tool(timeout=60)
    async def impatient() -> None:
        with anyio.fail_after(0):
            await anyio.sleep_forever()

    assert outputs(await calling("generate", [call("impatient")], [impatient])) == ["TimeoutError"]


# ---------------------------------------------------------------- preliminary results


@tool
async def count(to: int) -> AsyncIterator[int]:
    """Count."""
    for number in range(to):
        yield number


@BOTH
@pytest.mark.parametrize(("to", "expected"), [(3, 2), (1, 0), (0, None)])
async def test_the_last_value_of_a_generator_is_the_result(path: str, to: int, expected: Any) -> None:
    assert outputs(await calling(path, [call("count", to=to)], [count])) == [expected]


async def test_preliminary_results_are_on_the_stream() -> None:
    events, _ = await streamed(Agent(scripted([call("count", to=3)], text()), tools=[count]), "q")
    assert [event.output for event in events if isinstance(event, ToolProgress)] == [0, 1, 2]


@BOTH
async def test_a_result_is_converted_for_the_model_once(path: str) -> None:
    converted: list[int] = []

    def shown(value: int) -> TextOutput:
        converted.append(value)
        return TextOutput(f"shown {value}")

    result = await calling(path, [call("count", to=2)], [attrs.evolve(count, to_model_output=shown)])
    assert converted == [0, 1]
    assert answers(result) == [TextOutput("shown 1")]


@BOTH
async def test_a_preliminary_result_that_is_no_json_is_an_error_of_the_call(path: str) -> None:
    closed: list[bool] = []

    @tool
    async def odd() -> AsyncIterator[object]:
        try:
            yield object()
            yield 1
        finally:
            closed.append(True)

    (error,) = outputs(await calling(path, [call("odd")], [odd]))
    assert error.startswith("tool 'odd' returned no JSON at $")
    assert closed == [True]


# ---------------------------------------------------------------- approvals


def asking(needs_approval: Any) -> list[Tool[..., Any]]:
    return [attrs.evolve(add, needs_approval=needs_approval)]


async def slow_rule(arguments: dict[str, Any], about: ToolContext) -> bool:
    await checkpoint()
    return bool(arguments["a"] > 1 and about.step_number == 0)


@BOTH
@pytest.mark.parametrize("rule", [slow_rule, lambda arguments, _: arguments["a"] > 1])
async def test_a_tool_says_of_each_call_whether_it_needs_approval(path: str, rule: Any) -> None:
    calls = [call("add", "a", a=1), call("add", "b", a=2)]
    result = await calling(path, calls, asking(rule))
    assert outputs(result) == [2]
    requests = [part for part in result.steps[0].content if isinstance(part, ToolApprovalRequest)]
    assert [request.tool_call.tool_call_id for request in requests] == ["b"]
    assert len(result.steps) == 1


@BOTH
async def test_a_rule_that_raises_fails_the_run(path: str) -> None:
    with pytest.raises(AgentError, match=r"^step 0: needs_approval: KeyError: 'x'$"):
        await calling(path, [call(a=1)], asking(lambda arguments, _: arguments["x"]))


@BOTH
@pytest.mark.parametrize(("a", "expected"), [(1, TextOutput("2")), ("x", None)])
async def test_an_approved_call_runs_before_step_0(path: str, a: Any, expected: Any) -> None:
    request = ToolApprovalRequestPart("r", "c")
    history = [
        USER,
        AssistantMessage([ToolCallPart("c", "add", input={"a": a}), request]),
        ToolMessage([ToolApprovalResponsePart("r", approved=True)]),
    ]
    shown = attrs.evolve(add, to_model_output=lambda value: TextOutput(str(value)))
    result = await run_by(path, Agent(scripted(text()), tools=[shown]), history)
    (output,) = answers(result)
    assert output == expected if expected else output.value.startswith("Invalid input for tool 'add'")
    assert len(result.steps) == 1
