"""Cancellations that come out of foreign code, and those of the run, which are told apart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import attrs
import pytest

from agent.kit import USER, add, call, errors, outputs, run_by, scripted, streamed, text, types, went_wrong
from agent.stray import is_foreign, requests, stray, stray_sync
from agentcore.agent.agent import Agent, AgentError, ForeignCancellationError
from agentcore.agent.middleware import AgentStreamStage, ExecuteToolStage, InvokeModelStage
from agentcore.agent.models import (
    ModelRequest,
    ModelResponse,
    PartDone,
    ResponseDone,
    ScriptedModel,
    TextDelta,
)
from agentcore.agent.rules import AgentRule
from agentcore.agent.tools import Tool, ToolContext, tool
from agentcore.messages.messages import AssistantMessage
from agentcore.records.saved import from_json, to_json
from rulebook import states

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
ASYNCIO = pytest.mark.parametrize("anyio_backend", ["asyncio"])


def by_step(*calls: Any) -> Callable[[ModelRequest], Any]:
    """Calls once, then is done, whoever asks how often."""

    def answer(request: ModelRequest) -> Any:
        return text() if any(isinstance(one, AssistantMessage) for one in request.prompt) else [*calls]

    return answer


def asking(*calls: Any, tools: Any = (add,), **fields: Any) -> Agent[None]:
    return Agent(ScriptedModel(by_step(*calls)), tools=tools, **fields)


# ---------------------------------------------------------------- tools

RAN: list[str] = []


async def waits(about: ToolContext) -> str:
    RAN.append(about.tool_call_id)
    await stray()
    return "never"


async def preliminary(about: ToolContext) -> AsyncIterator[int]:
    RAN.append(about.tool_call_id)
    yield 1
    await stray()
    yield 2


def in_thread(about: ToolContext) -> str:
    RAN.append(about.tool_call_id)
    stray_sync()
    return "never"


def lazy(about: ToolContext) -> Any:
    return waits(about)


async def grouped(about: ToolContext) -> str:
    RAN.append(about.tool_call_id)
    try:
        await stray()
    except BaseException as error:  # noqa: BLE001 - whichever the library has
        raise BaseExceptionGroup("all", [error, BaseExceptionGroup("more", [error, ValueError()])]) from None
    return "never"


async def converts(about: ToolContext) -> str:
    RAN.append(about.tool_call_id)
    return "shown"


def showing(_: object) -> Any:
    stray_sync()


def reading(_: object) -> dict[str, Any]:
    stray_sync()
    return {}


TOOLS = {
    **{each.__name__: tool(each) for each in (waits, preliminary, in_thread, lazy, grouped)},
    "timed": tool(waits, name="timed", timeout=60),
    "timed_thread": tool(in_thread, name="timed_thread", timeout=60),
    "converts": tool(converts, to_model_output=showing),
    "ok": tool(converts, name="ok"),
}


@states(AgentRule.CANCEL_OWN_ERROR)
@BOTH
@pytest.mark.parametrize("kind", [name for name in TOOLS if name != "ok"])
@pytest.mark.parametrize("names", ["X", "X X", "ok X", "ok X X ok", "X ok"])
@pytest.mark.parametrize("concurrency", [1, 8])
async def test_a_cancellation_that_a_tool_raises_is_the_error_of_its_call(
    path: str, kind: str, names: str, concurrency: int
) -> None:
    RAN.clear()
    called = names.replace("X", kind).split()
    calls = [call(name, f"c{index}") for index, name in enumerate(called)]
    agent = asking(*calls, tools=TOOLS.values(), tool_concurrency=concurrency)
    result = await run_by(path, agent, "q")
    assert sorted(RAN) == [f"c{index}" for index in range(len(called))]
    assert [error for error in errors(result) if "but the run was not" in error] == errors(result)
    assert len(errors(result)) == called.count(kind)
    assert outputs(result) == ["shown"] * called.count("ok")
    assert all(f"tool '{kind}'" in error for error in errors(result))
    assert result.text == "done"
    assert from_json(to_json(result.run)) == result.run
    assert requests() == 0


@BOTH
async def test_arguments_that_cannot_be_read_for_a_cancellation_are_the_model_call_s_failure(
    path: str,
) -> None:
    odd = Tool("odd", {"type": "object"}, execute=lambda: 1, read=reading)
    with pytest.raises(AgentError) as raised:
        await run_by(path, asking(call("odd"), tools=[odd]), "q")
    assert isinstance(raised.value.__cause__, ForeignCancellationError)


async def test_streams_tell_of_each_call_and_end_as_generate_does() -> None:
    agent = asking(call("waits", "a"), call("ok", "b"), tools=TOOLS.values())
    events, result = await streamed(agent, "q")
    of_tools = [kind for kind in types(events) if kind.startswith("tool-") and kind != "tool-input-delta"]
    assert sorted(of_tools) == ["tool-finished"] * 2 + ["tool-started"] * 2
    assert types(events)[-1] == "run-finished"
    assert (await agent.generate("q")).run == result.run


async def test_an_exception_group_of_a_tool_is_no_cancellation() -> None:
    @tool
    async def fails() -> None:
        raise ExceptionGroup("both", [ValueError("a"), KeyError("b")])

    async def handler(_: object) -> None:
        raise ExceptionGroup("both", [ValueError("a"), KeyError("b")])

    assert errors(await asking(call("fails"), tools=[fails]).generate("q")) == ["both (2 sub-exceptions)"]
    with pytest.raises(AgentError) as raised:
        await asking(call(a=1), middleware=[InvokeModelStage.input(handler)]).generate("q")
    assert isinstance(raised.value.__cause__, ExceptionGroup)


# ---------------------------------------------------------------- hooks

HOOKS = [
    "on_start",
    "prepare_step",
    "on_step_start",
    "on_step_finish",
    "on_finish",
    "stop_when",
    "checkpoint",
]


class Once:
    """Raises a stray cancellation at one of its calls, then never more."""

    def __init__(self, at: int = 1, *, sync: bool = False) -> None:
        self.left = at
        self.sync = sync

    def __call__(self, *_: Any) -> Any:
        self.left -= 1
        if self.left:
            return None
        return stray_sync() if self.sync else stray()


@BOTH
@pytest.mark.parametrize("name", [*HOOKS, "process_input", "process_input_step", "on_chunk"])
@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("at", [1, 2])
async def test_a_cancellation_that_a_hook_raises_fails_the_run_which_goes_on_from_there(
    path: str, name: str, sync: bool, at: int
) -> None:
    hook = Once(at, sync=sync)
    fields: dict[str, Any] = {name: hook}
    if name.startswith("process"):
        fields = {"input_processors": [type("P", (), {"id": "p", name: lambda *_: hook()})()]}
    whole = (await asking(call(a=1)).generate(USER)).run
    never = at == 2 and name in ("on_start", "on_finish", "stop_when", "process_input")
    if never or (path, name) == ("generate", "on_chunk"):
        assert (await run_by(path, asking(call(a=1)), USER, **fields)).run.steps == whole.steps
        return
    with pytest.raises(AgentError) as raised:
        await run_by(path, asking(call(a=1)), USER, **fields)
    wrong = went_wrong(raised.value)
    assert isinstance(wrong, ForeignCancellationError)
    named = {"prepare_step": "processor 'prepare_step'"}.get(name, f"hook '{name}'")
    assert wrong.source == ("processor 'p'" if name.startswith("process") else named)
    assert wrong.__cause__ is not None
    assert requests() == 0
    # It has raised once, and does no more.
    fields.pop("on_start", None)
    assert (await asking(call(a=1)).resume(raised.value.run, **fields)).run.steps == whole.steps


@BOTH
async def test_an_approval_rule_that_raises_a_cancellation_fails_the_run(path: str) -> None:
    async def rule(*_: Any) -> bool:
        await stray()
        return True

    agent = asking(call(a=1), tools=[attrs.evolve(add, needs_approval=rule)])
    with pytest.raises(AgentError) as raised:
        await run_by(path, agent, "q")
    assert is_foreign(raised.value.__cause__, "hook 'needs_approval'")


@BOTH
@pytest.mark.parametrize("sync", [False, True])
async def test_a_cancellation_that_prepare_call_raises_is_an_error_without_a_run(
    path: str, sync: bool
) -> None:
    with pytest.raises(
        ForeignCancellationError, match="hook 'prepare_call' was cancelled, but the run was not"
    ):
        await run_by(path, asking(call(a=1)), "q", prepare_call=Once(sync=sync))


# ---------------------------------------------------------------- models


class Model:
    """A model that raises a stray cancellation at one place of its first answer."""

    provider = "p"
    model_id = "m"

    def __init__(self, at: str) -> None:
        self.at = at

    async def _passes(self, place: str) -> None:
        if self.at == place:
            self.at = ""
            await stray()

    async def generate(self, _: ModelRequest) -> ModelResponse:
        if self.at:
            self.at = ""
            await stray()
        return ModelResponse(text(), finish_reason="stop")

    @asynccontextmanager
    async def stream(self, _: ModelRequest) -> AsyncIterator[Any]:
        await self._passes("enter")
        yield self._events()
        await self._passes("exit")

    async def _events(self) -> AsyncIterator[Any]:
        await self._passes("first")
        yield TextDelta("0", "done")
        await self._passes("next")
        yield PartDone(text()[0])
        yield ResponseDone(ModelResponse(text(), finish_reason="stop"))


@pytest.mark.parametrize("at", ["generate", "enter", "first", "next", "exit"])
async def test_a_cancellation_that_a_model_raises_fails_the_run_and_is_not_tried_again(at: str) -> None:
    path = "generate" if at == "generate" else "stream"
    with pytest.raises(AgentError) as raised:
        await run_by(path, Agent(Model(at)), "q")
    assert is_foreign(raised.value.__cause__, "model 'm'")
    assert (await Agent(Model("")).resume(raised.value.run)).text == "done"


# ---------------------------------------------------------------- handlers


async def strays_first(*_: Any) -> Any:
    await stray()


async def strays_last(context: Any, call_next: Any) -> Any:
    await call_next(context)
    await stray()


async def strays_amid(context: Any, call_next: Any) -> AsyncIterator[Any]:
    made = call_next(context)
    async for event in made:
        yield event
        await stray()
    await stray()
    yield made.result


HANDLERS: list[tuple[str, Any]] = [
    ("input", Once),
    ("output", Once),
    *(("wrap", lambda each=each: each) for each in (strays_first, strays_last, strays_amid)),
]


@BOTH
@pytest.mark.parametrize(
    "stage", [InvokeModelStage, ExecuteToolStage, AgentStreamStage], ids=lambda one: one.name
)
@pytest.mark.parametrize(("phase", "made"), HANDLERS)
async def test_a_cancellation_that_a_handler_raises_fails_the_run(
    path: str, stage: Any, phase: str, made: Any
) -> None:
    handler = getattr(stage, phase)(made(), name="h")
    tools = [call("add", "a", a=1), call("add", "b", a=2)]
    with pytest.raises(AgentError) as raised:
        await run_by(path, asking(*tools, middleware=[handler]), "q")
    assert is_foreign(raised.value.__cause__, f"{stage.name} {phase} handler 'h'")
    whole = await asking(*tools).generate("q")
    assert (await asking(*tools).resume(raised.value.run)).run == whole.run


@BOTH
async def test_a_handler_sees_a_model_s_cancellation_as_an_error_that_it_may_mend(path: str) -> None:
    async def again(context: Any, call_next: Any) -> Any:
        try:
            return await call_next(context)
        except ForeignCancellationError:
            return await call_next(context)

    agent = Agent(
        Model("first" if path == "stream" else "generate"), middleware=[InvokeModelStage.wrap(again)]
    )
    assert (await run_by(path, agent, "q")).text == "done"


async def test_a_call_that_is_iterated_over_raises_it_where_its_events_are_taken() -> None:
    caught: list[BaseException] = []

    async def mended(context: Any, call_next: Any) -> AsyncIterator[Any]:
        made = call_next(context)
        try:
            async for event in made:
                yield event
        except ForeignCancellationError as error:
            caught.append(error)
            yield ModelResponse(text("mended"), finish_reason="stop")

    _, result = await streamed(Agent(Model("next"), middleware=[InvokeModelStage.wrap(mended)]), "q")
    assert result.text == "mended"
    assert is_foreign(caught[0], "model 'm'")


async def test_the_error_of_another_agent_s_call_is_not_taken_for_that_of_this_one() -> None:
    async def delegating(*_: Any) -> Any:
        return await Agent(scripted(ValueError("inner"))).generate("inner")

    with pytest.raises(AgentError) as raised:
        await asking(call(a=1), middleware=[AgentStreamStage.wrap(delegating)]).generate("outer")
    assert [message.content for message in raised.value.run.chains.initial] == ["outer"]
    assert isinstance(raised.value.__cause__, AgentError)
