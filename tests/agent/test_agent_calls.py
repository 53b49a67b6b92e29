from __future__ import annotations

from typing import Any

import attrs
import pytest

from agent.kit import USER, add, adding, call, echo, roles, run_by, scripted, streamed, text, types
from agentcore.agent.agent import Agent, AgentError, CallArguments, StartEvent
from agentcore.agent.call.config import has_tool_call, step_count_is
from agentcore.agent.events import RunFinished, StepFinished, StepStarted
from agentcore.agent.models import ModelResponse, Usage
from agentcore.agent.tools import InvalidToolError, tool_without_execute
from agentcore.errors import ImmutableWriteError, InvalidOverrideError, InvalidPromptError
from agentcore.machine.run import Run
from agentcore.messages.content import GeneratedReasoning
from agentcore.messages.messages import AssistantMessage, SystemMessage, TextPart, ToolMessage, UserMessage
from agentcore.messages.values import thaw, vector

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])


# ---------------------------------------------------------------- generate


async def test_an_agent_runs_its_tools_until_its_model_is_done() -> None:
    result = await adding(system="s").generate("2 + 1?")
    assert result.text == "done"
    assert roles(result.messages) == ["assistant", "tool", "assistant"]
    assert [record.finish_reason for record in result.steps] == ["tool-calls", "stop"]
    assert result.finish_reason == "stop"
    assert result.object is None
    assert roles(result.steps[1].prompt) == ["system", "user", "assistant", "tool"]
    assert thaw(result.steps[0].content[1].output) == 3  # type: ignore[union-attr]


@BOTH
async def test_what_model_and_provider_said_besides_is_on_the_step(path: str) -> None:
    usage = Usage(3, 4, cached_input_tokens=1, reasoning_tokens=2)
    answers = [
        ModelResponse(
            [call(a=2)],
            finish_reason="tool-calls",
            usage=usage,
            model_id="scripted-1",
            response_id="r",
            provider_metadata={"p": {"x": 1}},
            warnings=["no seed"],
        ),
        ModelResponse(text(), finish_reason="length", usage=usage),
    ]
    result = await run_by(path, Agent(scripted(*answers), tools=[add]), "q")
    assert result.usage == usage + usage
    assert result.finish_reason == "length"
    first = result.steps[0]
    assert (first.usage, first.response_model, first.response_id, first.warnings) == (
        usage,
        "scripted-1",
        "r",
        ("no seed",),
    )


@pytest.mark.parametrize(
    ("prompt", "messages", "expected"),
    [
        ("hi", (), [UserMessage("hi")]),
        (USER, (), [USER]),
        ([USER, AssistantMessage("a"), USER], (), [USER, AssistantMessage("a"), USER]),
        (None, [USER], [USER]),
        ("hi", [USER, AssistantMessage("a")], [USER, AssistantMessage("a"), UserMessage("hi")]),
        ([USER], [SystemMessage("s")], [SystemMessage("s"), USER]),
    ],
)
async def test_a_run_begins_with_the_messages_then_the_prompt(
    prompt: Any, messages: Any, expected: Any
) -> None:
    result = await Agent(scripted(text())).generate(prompt, messages=messages)
    assert result.run.chains.initial == vector(expected)


@BOTH
async def test_without_messages_there_is_no_run_and_no_agent_error(path: str) -> None:
    with pytest.raises(InvalidPromptError):
        await run_by(path, adding())
    with pytest.raises(InvalidPromptError):
        await run_by(path, adding(), [{"role": "user", "content": "x"}])


async def test_a_model_is_asked_with_all_that_the_agent_was_given() -> None:
    agent = Agent(
        scripted([call(a=1)]),
        tools=[add, echo],
        stop_when=step_count_is(1),
        system="s",
        active_tools=["add"],
        tool_choice="required",
        provider_options={"p": {"x": [1]}},
        settings={"temperature": 0.5, "stop_sequences": ["x"]},
    )
    result = await agent.generate("q")
    (request,) = agent.model.calls  # type: ignore[attr-defined]
    assert request.prompt is result.steps[0].prompt
    assert request.tools == vector([add.definition])
    assert thaw(request.tool_choice) == {"type": "required"}
    assert thaw(request.provider_options) == {"p": {"x": [1]}}
    assert thaw(request.settings) == {"temperature": 0.5, "stop_sequences": ["x"]}
    assert request.response_format is None


async def test_an_agent_without_tools_offers_none() -> None:
    agent = Agent(scripted(text()))
    await agent.generate("q")
    (request,) = agent.model.calls  # type: ignore[attr-defined]
    assert (request.tools, request.tool_choice) == (None, None)


@BOTH
async def test_what_a_call_is_given_in_place_of_the_agents_own_holds_for_it_only(path: str) -> None:
    agent = adding(system="mine")
    other = scripted(text("other"), model_id="other")
    result = await run_by(
        path, agent, "q", model=other, system="yours", tools=[], settings={"seed": 1}, max_retries=0
    )
    assert (result.text, result.run.settings.system, result.run.settings.tools) == ("other", "yours", None)
    assert thaw(other.calls[0].settings) == {"seed": 1}
    assert (await run_by(path, agent, "q")).run.settings.system == "mine"


async def test_a_call_refuses_what_is_no_field() -> None:
    with pytest.raises(TypeError, match="temperature"):
        await adding().generate("q", temperature=1)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="temperature"):
        adding().stream("q", temperature=1)  # type: ignore[call-overload]


# ---------------------------------------------------------------- an agent is a value


def test_an_agent_cannot_be_written() -> None:
    agent = adding(experimental_context={"a": [1]})
    with pytest.raises(ImmutableWriteError):
        agent.model = scripted()  # type: ignore[misc]
    with pytest.raises(TypeError):
        agent.experimental_context["a"] = 2  # type: ignore[index]
    assert "experimental_context" not in repr(agent)
    assert isinstance(hash(agent), int)


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ({"tools": [lambda: 1]}, InvalidToolError, "decorate the function with @tool"),
        ({"tools": [add, add]}, InvalidToolError, "two tools have this name"),
        ({"tool_choice": "maybe"}, InvalidOverrideError, "tool_choice"),
        ({"system": 3}, InvalidPromptError, "instructions"),
        ({"max_retries": -1}, ValueError, "max_retries is 0 or more, not -1"),
        ({"tool_concurrency": 0}, ValueError, "tool_concurrency is 1 or more"),
        ({"slow_hook_seconds": -0.1}, ValueError, "slow_hook_seconds is 0 or more"),
    ],
)
def test_what_cannot_work_is_refused_at_once(fields: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Agent(scripted(), **fields)


# ---------------------------------------------------------------- when it ends


@BOTH
@pytest.mark.parametrize(
    ("stop_when", "steps"),
    [(step_count_is(2), 2), ([step_count_is(9), has_tool_call("add")], 1), (None, 31)],
)
async def test_one_condition_ends_the_run_and_without_any_the_model_does(
    path: str, stop_when: Any, steps: int
) -> None:
    model = scripted(*[[call(a=number)] for number in range(30)], text())
    result = await run_by(path, Agent(model, tools=[add], stop_when=stop_when), "q")
    assert len(result.steps) == steps


async def test_twenty_steps_are_the_default() -> None:
    model = scripted(*[[call(a=number)] for number in range(30)])
    assert len((await Agent(model, tools=[add]).generate("q")).steps) == 20


async def test_conditions_may_be_async_and_are_asked_in_order_until_one_holds() -> None:
    asked: list[str] = []

    async def slow(steps: Any) -> bool:
        asked.append("slow")
        return len(steps) == 2

    def never(_: Any) -> bool:
        asked.append("never")
        return False

    model = scripted(*[[call(a=number)] for number in range(5)])
    result = await Agent(model, tools=[add], stop_when=[slow, never]).generate("q")
    assert len(result.steps) == 2
    assert asked == ["slow", "never", "slow"]


@BOTH
async def test_a_call_of_a_tool_without_a_function_ends_the_run(path: str) -> None:
    ask = tool_without_execute("ask", {"type": "object"})
    result = await run_by(path, Agent(scripted([call("ask")]), tools=[ask]), "q")
    assert [part.type for part in result.steps[-1].content] == ["tool-call"]
    assert roles(result.messages) == ["assistant"]


# ---------------------------------------------------------------- hooks


@BOTH
@pytest.mark.parametrize("is_async", [False, True])
async def test_hooks_are_told_in_order_sync_or_async(path: str, is_async: bool) -> None:
    told: list[str] = []

    def hook(name: str, result: Any = None) -> Any:
        def sync(_: Any) -> Any:
            told.append(name)
            return result

        async def asynchronous(argument: Any) -> Any:
            return sync(argument)

        return asynchronous if is_async else sync

    names = ["prepare_call", "on_start", "prepare_step", "on_step_start", "on_step_finish", "on_finish"]
    agent = adding(**{name: hook(name) for name in names})
    await run_by(path, agent, "q", checkpoint=hook("checkpoint"))
    step = ["prepare_step", "on_step_start", "checkpoint", "on_step_finish"]
    assert told == ["prepare_call", "on_start", *step, *step, "on_finish"]


@BOTH
async def test_hooks_are_shown_values_of_the_run(path: str) -> None:
    shown: dict[str, list[Any]] = {}
    names = ["on_start", "prepare_step", "on_step_start", "on_step_finish", "on_finish"]
    agent = adding(
        experimental_context={"k": 1}, **{name: shown.setdefault(name, []).append for name in names}
    )
    saved: list[Run] = []
    result = await run_by(path, agent, "q", checkpoint=saved.append)
    assert shown["on_start"] == [StartEvent(result.run.settings, result.run.chains.initial)]
    assert [arguments.step_number for arguments in shown["prepare_step"]] == [0, 1]
    assert [thaw(arguments.experimental_context) for arguments in shown["prepare_step"]] == [{"k": 1}] * 2
    assert [event.step_number for event in shown["on_step_start"]] == [0, 1]
    assert shown["on_step_finish"] == [*result.steps]
    assert shown["on_finish"][0].steps == result.steps
    assert [run.steps for run in saved] == [result.steps[:1], result.steps]


async def test_prepare_step_changes_its_step_only() -> None:
    extra = UserMessage([TextPart("extra")])

    def prepare(step: Any) -> Any:
        if step.step_number:
            return None
        return {"messages": [*step.messages, extra], "system": "once", "tool_choice": "required"}

    agent = adding(prepare_step=prepare, system="always")
    result = await agent.generate(USER)
    first, second = agent.model.calls  # type: ignore[attr-defined]
    assert list(first.prompt) == [SystemMessage("once"), USER, extra]
    assert list(second.prompt[:2]) == [SystemMessage("always"), USER]
    assert extra not in result.messages
    assert (first.tool_choice["type"], second.tool_choice["type"]) == ("required", "auto")


async def test_prepare_step_may_return_a_model_or_the_id_of_one() -> None:
    named, given = scripted(text("named"), model_id="named"), scripted([call(a=1)], model_id="given")
    mine = scripted([call(a=1)], model_id="mine")
    models: list[Any] = [given, None, "named"]

    def prepare(step: Any) -> Any:
        return {"model": models[step.step_number]}

    agent = Agent(mine, models=[named], tools=[add], prepare_step=prepare)
    result = await agent.generate("q")
    assert [record.model for record in result.steps] == ["given", "mine", "named"]
    assert [len(model.calls) for model in (given, mine, named)] == [1, 1, 1]


async def test_a_model_of_the_same_id_is_called_in_its_step_only() -> None:
    first, second = scripted([call(a=1)]), scripted(text("mine"))
    agent = Agent(
        second, tools=[add], prepare_step=lambda step: None if step.step_number else {"model": first}
    )
    assert (await agent.generate("q")).text == "mine"
    assert (len(first.calls), len(second.calls)) == (1, 1)


@BOTH
async def test_a_model_that_nobody_knows_fails_the_run_with_those_that_are_known(path: str) -> None:
    with pytest.raises(
        AgentError, match="no model 'absent' among scripted; give it as `model` or in `models`"
    ):
        await run_by(path, adding(prepare_step=lambda _: {"model": "absent"}), "q")


# ---------------------------------------------------------------- prepare_call


async def test_prepare_call_may_replace_everything_once() -> None:
    told: list[CallArguments] = []
    other = scripted([call("echo", text="x")], text("other"), model_id="other")

    async def prepare(arguments: CallArguments) -> Any:
        told.append(arguments)
        return {
            "model": other,
            "tools": [echo],
            "system": "new",
            "messages": [*arguments.messages, USER],
            "experimental_context": {"n": 1},
            "stop_when": None,
        }

    agent = adding(prepare_call=prepare)
    result = await agent.generate("q", system="override")
    assert result.text == "other"
    assert [len(told), told[0].agent.system, len(told[0].messages)] == [1, "override", 1]
    assert told[0].agent.tools == (add,)
    assert result.run.chains.initial[1] is USER
    assert thaw(result.run.settings.experimental_context) == {"n": 1}
    assert result.steps[0].tool_calls[0].tool_name == "echo"


@pytest.mark.parametrize(
    ("result", "path", "said"),
    [
        (
            {"temperature": 1},
            "$.temperature",
            "not a field that prepare_call may replace; those are messages, model",
        ),
        ({"prepare_call": None}, "$.prepare_call", "not a field that prepare_call may replace"),
        ([1], "$", "prepare_call returns None or a mapping, not list"),
    ],
)
@pytest.mark.parametrize("by", ["generate", "stream"])
async def test_prepare_call_refuses_what_is_no_field(by: str, result: Any, path: str, said: str) -> None:
    with pytest.raises(InvalidOverrideError, match=said) as raised:
        await run_by(by, adding(prepare_call=lambda _: result), "q")
    assert raised.value.path == path


@BOTH
async def test_what_prepare_call_raises_comes_as_it_is_because_there_is_no_run(path: str) -> None:
    def prepare(_: CallArguments) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_by(path, adding(prepare_call=prepare), "q")


# ---------------------------------------------------------------- streams


async def test_a_stream_tells_what_happens_in_order() -> None:
    model = scripted([GeneratedReasoning("hm"), call(a=2)], text("abc"), chunk=2)
    agent = Agent(model, tools=[add])
    events, result = await streamed(agent, "q")
    assert types(events) == [
        "step-started",
        "reasoning-delta",
        "part-done",
        *["tool-input-delta"] * 4,
        "part-done",
        "tool-started",
        "tool-finished",
        "step-finished",
        "step-started",
        "text-delta",
        "text-delta",
        "part-done",
        "step-finished",
        "run-finished",
    ]
    started, finished, last = events[0], events[10], events[-1]
    assert isinstance(started, StepStarted)
    assert isinstance(finished, StepFinished)
    assert isinstance(last, RunFinished)
    assert started.step.step_number == 0
    assert finished.record is result.steps[0]
    assert (last.result.steps, last.result.messages) == (result.steps, result.messages)


async def test_on_chunk_is_told_of_streams_only_and_before_they_are() -> None:
    chunks: list[Any] = []
    events: list[Any] = []

    async def on_chunk(event: Any) -> None:
        assert event not in events
        chunks.append(event)

    agent = adding(on_chunk=on_chunk)
    await agent.generate("q")
    assert not chunks
    async with attrs.evolve(agent, model=scripted([call(a=2)], text())).stream("q") as stream:
        async for event in stream:
            events += [event]
    assert types(chunks) == [
        "tool-input-delta",
        "part-done",
        "tool-started",
        "tool-finished",
        "text-delta",
        "part-done",
    ]
    assert chunks == [event for event in events if event in chunks]


async def test_generate_and_stream_give_equal_runs() -> None:
    def agent() -> Agent[None]:
        return adding(prepare_step=lambda step: {"system": f"step {step.step_number}"})

    generated = await agent().generate("q")
    _, result = await streamed(agent(), "q")
    assert result.run == generated.run
    assert result == generated
    assert isinstance(result.messages[1], ToolMessage)
