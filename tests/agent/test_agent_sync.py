"""Agents from code that is not async: a loop of their own, and never inside of another one."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.to_thread
import pytest
import trio

from agent.kit import USER, add, adding, call, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentError, NoObjectError, ResumeError, RunningLoopError
from agentcore.agent.models import ScriptedModel
from agentcore.agent.output import Output
from agentcore.agent.tools import Tool, tool, tool_without_execute
from agentcore.errors import AnswersError, InvalidPromptError
from agentcore.machine.run import Run

WHO: ContextVar[str] = ContextVar("who", default="nobody")


@tool(needs_approval=True)
async def delete(name: str) -> str:
    """Delete a file."""
    return f"deleted {name}"


def deleting() -> Agent[None]:
    return Agent(scripted([call("delete", name="a")], text()), tools=[delete])


# ---------------------------------------------------------------- the same as awaited


def test_a_call_without_a_loop_is_the_call_that_is_awaited() -> None:
    saved: list[Run] = []
    state: dict[str, Any] = {}
    result = adding().generate_sync(USER, checkpoint=saved.append, invocation_state=state, system="s")
    assert result.run == anyio.run(lambda: run_by("generate", adding(system="s"), USER)).run
    assert len(saved) == 2
    assert result.invocation_state is state
    second = adding().generate_sync("and?", messages=result.conversation)
    assert [*second.run.chains.initial[:4]] == [*result.conversation]


def test_a_run_that_waits_goes_on_without_a_loop() -> None:
    agent = deleting()
    first = agent.generate_sync("q")
    saved: list[Run] = []
    answers = {one.id: True for one in first.pending}
    second = agent.resume_sync(first.run, answers=answers, checkpoint=saved.append)
    assert (second.text, len(saved), len(second.steps)) == ("done", 1, 2)
    assert agent.resume_sync(second.run).run == second.run


def test_a_call_takes_an_output_of_its_own() -> None:
    result = Agent(scripted(text('{"result": 3}'))).generate_sync("q", output=Output.of(int))
    assert result.object == 3


def test_context_variables_of_the_caller_are_seen() -> None:
    seen: list[str] = []
    token = WHO.set("me")
    adding(prepare_step=lambda _: seen.append(WHO.get())).generate_sync("q")
    WHO.reset(token)
    assert seen == ["me", "me"]


def raised_by(error: BaseException) -> Tool[..., Any]:
    @tool(name="add")
    async def raises() -> int:
        raise error

    return raises


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_what_is_no_failure_comes_as_it_is(error: BaseException) -> None:
    agent = Agent(scripted([call()]), tools=[raised_by(error)])
    with pytest.raises(type(error)):
        agent.generate_sync("q")


def test_errors_come_as_they_are() -> None:
    agent = adding(on_finish=lambda _: 1 // 0)
    with pytest.raises(AgentError) as raised:
        agent.generate_sync("q")
    assert adding().resume_sync(raised.value.run).text == "done"
    with pytest.raises(InvalidPromptError):
        agent.generate_sync([])
    with pytest.raises(AnswersError, match="the run is done"):
        adding().resume_sync(adding().generate_sync("q").run, answers={"x": 1})
    with pytest.raises(ResumeError, match="pass the run's model as `model`"):
        adding().resume_sync(raised.value.run, model=scripted(model_id="other"))
    with pytest.raises(TypeError, match="temperature"):
        agent.generate_sync("q", temperature=1)  # type: ignore[call-overload] # what it refuses
    choose = tool_without_execute("choose", {"type": "object"})
    waits = Agent(scripted([call("choose")]), tools=[choose], output=Output.of(int)).generate_sync("q")
    with pytest.raises(NoObjectError):
        _ = waits.object


# ---------------------------------------------------------------- where a loop runs


def blocked(agent: Agent[None], run: Run) -> list[str]:
    """What both calls say."""
    said = []
    calls: list[Callable[[], object]] = [lambda: agent.generate_sync("q"), lambda: agent.resume_sync(run)]
    for blocks in calls:
        with pytest.raises(RunningLoopError) as raised:
            blocks()
        said.append(f"{raised.value.name}: {raised.value}")
    return said


SAID = [
    f"{name}: an event loop runs in this thread already; use `await agent.{name}(...)` instead"
    for name in ("generate", "resume")
]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_call_in_a_loop_is_refused_and_says_what_to_await(backend: str) -> None:
    agent = adding()
    run = adding().generate_sync("q").run

    async def main() -> None:
        assert blocked(agent, run) == SAID
        assert (await agent.generate("q")).text == "done"

    anyio.run(main, backend=backend)


def test_a_call_in_a_hook_or_a_callback_is_refused_as_well() -> None:
    run = adding().generate_sync("q").run
    said: list[list[str]] = []
    adding(prepare_step=lambda _: said.append(blocked(adding(), run))).generate_sync("q")

    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: said.append(blocked(adding(), run)))
        await asyncio.sleep(0.01)

    asyncio.run(main())
    assert said == [SAID] * 3


def in_a_thread_of_its_own(agent: Agent[None]) -> str:
    texts: list[str] = []
    thread = threading.Thread(target=lambda: texts.append(agent.generate_sync("q").text))
    thread.start()
    thread.join()
    return texts[0]


def test_a_thread_without_a_loop_may_block_wherever_it_comes_from() -> None:
    async def with_asyncio() -> str:
        return (await asyncio.to_thread(adding().generate_sync, "q")).text

    async def with_trio() -> str:
        return (await trio.to_thread.run_sync(adding().generate_sync, "q")).text

    async def with_anyio() -> str:
        return (await anyio.to_thread.run_sync(lambda: adding().generate_sync("q"))).text

    assert in_a_thread_of_its_own(adding()) == "done"
    assert asyncio.run(with_asyncio()) == trio.run(with_trio) == "done"
    assert [anyio.run(with_anyio, backend=backend) for backend in ("asyncio", "trio")] == ["done", "done"]


def test_a_sync_tool_may_run_an_agent_of_its_own() -> None:
    @tool(name="add")
    def inner(a: int) -> str:
        return Agent(ScriptedModel([text(f"inner {a}")])).generate_sync("q").text

    result = Agent(scripted([call(a=1)], text()), tools=[inner]).generate_sync("q")
    assert [part.output for part in result.steps[0].content if part.type == "tool-result"] == ["inner 1"]


# ---------------------------------------------------------------- Ctrl+C

INTERRUPTED = """
import signal
from agentcore import Agent, ScriptedModel, tool
from agentcore.records.saved import from_json, to_json

# Who started the tests may have had this signal ignored, which children inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
saved = []
ended = []


def call(name):
    return [{"type": "tool-call", "toolCallId": name, "toolName": name, "input": {}}]


@tool
async def quick() -> int:
    return 1


@tool
async def slow() -> int:
    import anyio
    try:
        signal.raise_signal(signal.SIGINT)
        await anyio.sleep_forever()
    finally:
        ended.append("slow")


agent = Agent(ScriptedModel([call("quick"), call("slow")]), tools=[quick, slow])
try:
    agent.generate_sync("q", checkpoint=lambda run: saved.append(to_json(run)))
except KeyboardInterrupt:
    print("interrupted", ended, len(saved))
run = from_json(saved[-1])
ending = Agent(ScriptedModel([[{"type": "text", "text": "after"}]]), tools=[quick, slow])
result = ending.resume_sync(run)
print(result.text, len(result.steps))
"""


def test_ctrl_c_cancels_the_run_which_goes_on_from_its_last_checkpoint() -> None:
    argv = [sys.executable, "-c", INTERRUPTED]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout, done.stderr) == ("interrupted ['slow'] 1\nafter 2\n", "")


def test_nothing_is_left_of_a_loop() -> None:
    adding().generate_sync("q")
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    assert add(1) == 2
