from __future__ import annotations

import gc
import pickle
from collections import UserDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import attrs
import pytest

from agent.kit import USER, add, adding, call, echo, run_by, scripted, streamed, text, went_wrong
from agentcore.agent.agent import Agent, AgentError, ResumeError, UnfinishedStreamError, UnknownModelError
from agentcore.agent.models import ModelRequest, ScriptedModel
from agentcore.agent.rules import AgentRule
from agentcore.agent.tools import tool, tool_without_execute
from agentcore.errors import InvalidOverrideError, InvalidToolApprovalError, RunCancelledError
from agentcore.machine.effects import HookFailed, NeedModel, NeedPrepareStep, NeedStepFinish
from agentcore.machine.processors import NamedProcessor
from agentcore.machine.run import Failed, Run, give, need
from agentcore.messages.messages import AssistantMessage, ToolApprovalResponsePart, ToolMessage
from agentcore.records.saved import from_json, load, save, to_json
from rulebook import states

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
HOOKS = [
    "on_start",
    "prepare_step",
    "on_step_start",
    "on_step_finish",
    "on_finish",
    "stop_when",
    "checkpoint",
]


def by_step(request: ModelRequest) -> Any:
    """Adds once, then is done, whoever asks how often."""
    said = any(isinstance(message, AssistantMessage) for message in request.prompt)
    return text() if said else [call(a=2)]


def agent_by_step(**fields: Any) -> Agent[None]:
    return Agent(ScriptedModel(by_step), tools=[add], **fields)


# ---------------------------------------------------------------- hooks that raise


@BOTH
@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("at", [1, 2])
async def test_a_hook_that_raises_fails_the_run_which_goes_on_from_there(
    path: str, name: str, at: int
) -> None:
    left = [at]

    def hook(_: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise ZeroDivisionError("no")

    fields: dict[str, Any] = {name: hook}
    whole = (await agent_by_step().generate(USER)).run
    if at == 2 and name in ("on_start", "on_finish", "stop_when"):
        assert (await run_by(path, agent_by_step(), USER, **fields)).run == whole
        return
    with pytest.raises(AgentError, match=r"^step \d: .*ZeroDivisionError: no$") as raised:
        await run_by(path, agent_by_step(), USER, **fields)
    error = raised.value
    step = {"on_start": 0, "stop_when": 0, "on_finish": 1}.get(name, at - 1)
    assert (error.hook, error.step_number) == (name, step)
    assert name in str(error)
    assert str(error).startswith(f"step {step}: ")
    assert isinstance(went_wrong(error), ZeroDivisionError)
    finished = {"on_step_finish": at, "checkpoint": at, "stop_when": 1, "on_finish": 2, "on_start": 0}
    assert len(error.run.steps) == finished.get(name, at - 1)
    assert (await agent_by_step().resume(error.run)).run == whole


def fails(*_: Any) -> Any:
    raise ZeroDivisionError("no")


def failing_at(kind: str) -> Callable[[Any], Any]:
    return lambda event: fails() if event.type == kind else None


@states(AgentRule.HOOK_FAILURE_NAMED)
@pytest.mark.parametrize(
    ("fields", "hook", "step", "text"),
    [
        ({"on_chunk": failing_at("tool-started")}, "on_chunk", 0, "step 0: on_chunk: ZeroDivisionError: no"),
        ({"on_chunk": failing_at("tool-finished")}, "on_chunk", 0, "step 0: on_chunk: ZeroDivisionError: no"),
        ({"on_chunk": failing_at("text-delta")}, "on_chunk", 1, "step 1: on_chunk: ZeroDivisionError: no"),
        (
            {"tools": [attrs.evolve(add, needs_approval=fails)]},
            "needs_approval",
            0,
            "step 0: needs_approval: ZeroDivisionError: no",
        ),
        (
            {"prepare_step": lambda _: {"temperature": 1}},
            "prepare_step",
            0,
            "step 0: processor 'prepare_step': ",
        ),
        (
            {"input_processors": [NamedProcessor(id="checks", process_input=fails)]},
            "checks",
            None,
            "before the steps: processor 'checks': ZeroDivisionError: no",
        ),
        ({"model": ScriptedModel(fails)}, None, 0, "step 0: ZeroDivisionError: no"),
    ],
)
async def test_an_error_says_which_hook_raised_it_and_at_which_step(
    fields: dict[str, Any], hook: str | None, step: int | None, text: str
) -> None:
    agent: Agent[Any] = attrs.evolve(agent_by_step(), **fields)
    with pytest.raises(AgentError) as raised:
        await streamed(agent, USER)
    error = raised.value
    assert (error.hook, error.step_number) == (hook, step)
    assert str(error).startswith(text)
    again = pickle.loads(pickle.dumps(error))
    assert (again.hook, again.step_number, str(again)) == (hook, step, str(error))


async def test_a_checkpoint_that_cannot_save_is_named_and_its_run_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "run.json"
    save_there = partial(save, path=path)
    with pytest.raises(AgentError, match=r"^step 0: checkpoint: FileNotFoundError: .*run\.json") as raised:
        await agent_by_step().generate(USER, checkpoint=save_there)
    assert isinstance(raised.value.__cause__, FileNotFoundError)
    path.parent.mkdir()
    result = await agent_by_step().resume(raised.value.run, checkpoint=save_there)
    assert (await agent_by_step().resume(load(path))).run == result.run


async def test_a_saved_run_says_which_hook_failed_it() -> None:
    with pytest.raises(AgentError) as raised:
        await agent_by_step().generate(USER, checkpoint=fails)
    failed = give(raised.value.run, HookFailed(raised.value.__cause__, hook=raised.value.hook))  # type: ignore[arg-type]
    loaded = from_json(to_json(failed))
    assert isinstance(loaded.pending, Failed)
    assert (loaded.pending.hook, str(loaded.pending.error)) == ("checkpoint", "no")


async def test_what_a_hook_returns_may_raise_as_well() -> None:
    class Odd(UserDict[str, Any]):
        def __iter__(self) -> Any:
            raise ZeroDivisionError

    class Undecided:
        def __bool__(self) -> bool:
            raise ZeroDivisionError

    odd: list[dict[str, Any]] = [
        {"prepare_step": lambda _: Odd(system="x")},
        {"stop_when": lambda _: Undecided()},
    ]
    for fields in odd:
        with pytest.raises(AgentError) as raised:
            await agent_by_step(**fields).generate("q")
        assert isinstance(went_wrong(raised.value), ZeroDivisionError)


async def test_a_wrong_override_fails_with_its_path() -> None:
    with pytest.raises(AgentError) as raised:
        await agent_by_step(prepare_step=lambda _: {"temperature": 1}).generate("q")
    assert isinstance(raised.value.__cause__, InvalidOverrideError)
    assert raised.value.path == "$.temperature"
    assert isinstance(need(raised.value.run), NeedPrepareStep)


async def test_wrong_approvals_fail_before_any_step() -> None:
    answer = ToolMessage([ToolApprovalResponsePart("r", approved=True)])
    with pytest.raises(AgentError) as raised:
        await agent_by_step().generate([USER, answer])
    assert isinstance(raised.value.__cause__, InvalidToolApprovalError)


async def test_an_agent_error_does_not_print_the_run_and_can_be_pickled() -> None:
    agent = agent_by_step(on_finish=lambda _: 1 // 0)
    with pytest.raises(AgentError) as raised:
        await agent.generate("a long secret prompt")
    error = raised.value
    assert "prompt" not in f"{error!r} {error}"
    again = pickle.loads(pickle.dumps(error))
    assert again.run == error.run
    assert (str(again), repr(again.__cause__)) == (str(error), repr(error.__cause__))


# ---------------------------------------------------------------- cancellation


@BOTH
async def test_cancellation_passes_and_the_run_can_be_had_from_its_checkpoints(path: str) -> None:
    saved: list[Run] = []

    async def hang(step: Any) -> None:
        if step.step_number:
            scope.cancel()
            await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        await run_by(path, agent_by_step(prepare_step=hang), USER, checkpoint=saved.append)
    assert scope.cancelled_caught
    (run,) = saved
    assert isinstance(need(run), NeedStepFinish)
    assert (await agent_by_step().resume(run)).run == (await agent_by_step().generate(USER)).run


async def test_a_stream_that_is_left_cancels_its_run_which_goes_on_from_there() -> None:
    ended: list[str] = []

    @tool(name="add")
    async def slow(a: int) -> int:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("slow")
        return a

    async with attrs.evolve(agent_by_step(), tools=[slow]).stream(USER) as stream:
        async for event in stream:
            if event.type == "tool-started":
                break
        with pytest.raises(UnfinishedStreamError, match="iterate over it to its end, or resume"):
            stream.result()
    assert ended == ["slow"]
    with pytest.raises(UnfinishedStreamError):
        stream.result()
    assert isinstance(stream.run.pending, Failed)
    assert isinstance(stream.run.pending.error, RunCancelledError)
    result = await agent_by_step().resume(stream.run)
    assert result.run == (await agent_by_step().generate(USER)).run


@pytest.mark.slow
@pytest.mark.parametrize("taken", range(12))
async def test_a_stream_may_be_left_at_any_event(taken: int) -> None:
    async with agent_by_step().stream(USER) as stream:
        for _ in range(taken):
            await anext(stream)
    assert (await agent_by_step().resume(stream.run)).run == (await agent_by_step().generate(USER)).run
    gc.collect()


async def test_a_stream_that_nobody_takes_does_not_run_away() -> None:
    model = ScriptedModel(by_step)
    async with Agent(model, tools=[add]).stream(USER) as stream:
        await anyio.wait_all_tasks_blocked()
        assert not model.calls
        assert not stream.run.steps


async def test_what_is_raised_in_the_body_of_a_stream_comes_as_it_is() -> None:
    error = ZeroDivisionError()

    async def body() -> None:
        async with agent_by_step().stream(USER) as stream:
            await anext(stream)
            raise error

    with pytest.raises(ZeroDivisionError) as raised:
        await body()
    assert raised.value is error
    with pytest.raises(KeyboardInterrupt):
        async with agent_by_step().stream(USER):
            raise KeyboardInterrupt


async def test_a_stream_that_has_ended_has_its_result_before_its_last_event_is_taken() -> None:
    async with agent_by_step().stream(USER) as stream:
        async for event in stream:
            if event.type == "run-finished":
                break
        assert stream.result().text == "done"
    assert stream.result().run == stream.run
    assert stream.timings.of("tool")


async def test_a_failed_stream_raises_where_it_is_iterated_and_asked() -> None:
    async with agent_by_step(on_finish=lambda _: 1 // 0).stream(USER) as stream:
        with pytest.raises(AgentError) as raised:
            async for _ in stream:
                pass
        with pytest.raises(AgentError) as again:
            await anext(stream)
    assert again.value is raised.value
    with pytest.raises(AgentError):
        stream.result()
    assert stream.run.pending == Failed(raised.value.__cause__, raised.value.run)  # type: ignore[arg-type]


# ---------------------------------------------------------------- going on


async def test_a_failed_run_itself_can_be_resumed_too() -> None:
    with pytest.raises(AgentError) as raised:
        await agent_by_step(on_step_start=lambda _: 1 // 0).generate(USER)
    failed = attrs.evolve(raised.value.run, pending=Failed(ValueError(), raised.value.run))
    assert (await agent_by_step().resume(failed)).text == "done"


async def test_a_run_that_has_ended_is_its_own_result() -> None:
    agent = adding()
    result = await agent.generate("q")
    assert await agent.resume(result.run) == result
    assert len(agent.model.calls) == 2  # type: ignore[attr-defined]


async def test_a_run_goes_on_as_a_stream_as_well() -> None:
    with pytest.raises(AgentError) as raised:
        await agent_by_step(on_step_finish=lambda _: 1 // 0).generate(USER)
    saved: list[Run] = []
    async with agent_by_step().resume_stream(raised.value.run, checkpoint=saved.append) as stream:
        events = [event.type async for event in stream]
    assert events[0] == "step-finished"
    assert stream.result().run == (await agent_by_step().generate(USER)).run
    assert len(saved) == 2


async def test_hooks_may_be_others_where_a_run_goes_on() -> None:
    with pytest.raises(AgentError) as raised:
        await agent_by_step(on_step_finish=lambda _: 1 // 0).generate(USER)
    told: list[Any] = []
    fields: Any = {"on_step_finish": told.append, "prepare_step": lambda _: {"system": "new"}}
    result = await agent_by_step().resume(raised.value.run, **fields)
    assert len(told) == 2
    assert result.steps[1].prompt[0].content == "new"


async def test_prepare_call_and_on_start_are_not_called_again() -> None:
    def never(_: Any) -> Any:
        raise AssertionError

    with pytest.raises(AgentError) as raised:
        await agent_by_step(on_step_finish=lambda _: 1 // 0).generate(USER)
    assert (await agent_by_step(prepare_call=never, on_start=never).resume(raised.value.run)).text == "done"


ASK = tool_without_execute("add", {"type": "object"})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"model": scripted(model_id="other")},
            "has model 'scripted', the agent 'other'; pass the run's model as `model`",
        ),
        ({"tools": [echo]}, "has a tool 'add' that can be executed; give it in `tools`"),
        ({"tools": [ASK]}, "has a tool 'add' that can be executed"),
        ({"system": "s", "tool_choice": "none"}, "a run that goes on has its own system, tool_choice"),
    ],
)
async def test_an_agent_that_is_not_for_the_run_is_refused(fields: Any, said: str) -> None:
    run = (await agent_by_step().generate(USER)).run
    with pytest.raises(ResumeError, match=said):
        await agent_by_step().resume(run, **fields)
    with pytest.raises(ResumeError, match=said):
        async with agent_by_step().resume_stream(run, **fields):
            pass


async def test_a_tool_that_somebody_else_runs_stays_one() -> None:
    run = (await Agent(scripted([call(a=1)]), tools=[ASK]).generate(USER)).run
    with pytest.raises(ResumeError, match="a tool 'add' that is executed by somebody else"):
        await agent_by_step().resume(run)


async def test_a_step_goes_on_with_the_model_that_it_was_given_if_it_is_there() -> None:
    def by_id(*, fail: bool) -> ScriptedModel:
        return ScriptedModel([ValueError("no")] if fail else [text("other")], model_id="other")

    with pytest.raises(AgentError) as raised:
        await agent_by_step(prepare_step=lambda _: {"model": by_id(fail=True)}).generate(USER)
    run = raised.value.run
    assert isinstance(need(run), NeedModel)
    with pytest.raises(AgentError) as unknown:
        await agent_by_step().resume(run)
    assert isinstance(unknown.value.__cause__, UnknownModelError)
    assert (await agent_by_step().resume(unknown.value.run, models=[by_id(fail=False)])).text == "other"


async def test_results_of_streams_and_calls_have_the_same_run_after_failures() -> None:
    _, result = await streamed(agent_by_step(), USER)
    assert result.run == (await agent_by_step().generate(USER)).run
