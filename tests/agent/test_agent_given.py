"""What handlers, hooks and prepare_call give the driver is checked before anything of it is kept."""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator, Callable
from typing import Any

import attrs
import pytest

from agent.kit import add, adding, call, run_by, scripted, streamed, text, went_wrong
from agent.test_agent_answers import Shapes, models, parts, saved_and_loaded
from agent.test_agent_cancelling import BOTH, asking
from agentcore.agent.agent import Agent, AgentError, InvalidAgentError, InvalidAnswerError
from agentcore.agent.middleware import AgentStreamStage, ExecuteToolStage, InvokeModelStage, MiddlewareError
from agentcore.agent.output import Output
from agentcore.agent.tools import ToolContext, tool
from agentcore.errors import AgentCoreError, InvalidOverrideError, ProcessorFailedError

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- handlers of all stages


@BOTH
@pytest.mark.parametrize(
    ("stage", "made", "says"),
    [
        (ExecuteToolStage, lambda _: "done", "return ToolSucceeded or ToolFailed, not str"),
        (ExecuteToolStage, lambda _: None, "return ToolSucceeded or ToolFailed, not NoneType"),
        (
            ExecuteToolStage,
            lambda c: attrs.evolve(c.succeeded(1), model_output="x"),
            "$.model_output: expected",
        ),
        (AgentStreamStage, lambda c: c.answered("x").run, "return AgentResult, not Run"),
        (
            AgentStreamStage,
            lambda c: attrs.evolve(c.answered("x"), run=None),
            "$.run: expected Run, got NoneType",
        ),
        (
            AgentStreamStage,
            lambda c: attrs.evolve(c.answered("x"), run=c.answered("x").run.history[0]),
            "$.run: expected a run that has ended well or asks, got one at NeedPrepareStep",
        ),
        (AgentStreamStage, lambda c: c.answered([1]), "$[0]: expected a content part"),
        (
            AgentStreamStage,
            lambda c: c.answered([parts.GeneratedText(5)]),
            "$[0].text: expected str, got int",
        ),
    ],
)
async def test_a_handler_s_wrong_result_fails_the_run(path: str, stage: Any, made: Any, says: str) -> None:
    async def wrap(context: Any, _: Any) -> Any:
        return made(context)

    with pytest.raises(AgentError) as raised:
        await run_by(path, adding(middleware=[stage.wrap(wrap, name="h")]), "q")
    assert isinstance(raised.value.__cause__, AgentCoreError)
    assert says in str(raised.value)
    assert not raised.value.run.steps


@BOTH
@pytest.mark.parametrize(
    ("stage", "changes", "at"),
    [
        (InvokeModelStage, {"model": "gpt"}, "$.model"),
        (InvokeModelStage, {"model": Shapes()}, "$.model"),
        (InvokeModelStage, {"request": None}, "$.request"),
        (ExecuteToolStage, {"tool": "add"}, "$.tool"),
        (ExecuteToolStage, {"call": {"a": 1}}, "$.call"),
        (
            ExecuteToolStage,
            {"call": parts.ToolCall(tool_call_id=5, tool_name="add", input={})},
            "$.call.tool_call_id",
        ),
        (AgentStreamStage, {"settings": {}}, "$.settings"),
        (AgentStreamStage, {"messages": ["hi"]}, "$.messages[0]"),
    ],
)
async def test_a_wrong_context_that_is_passed_on_fails_the_run(
    path: str, stage: Any, changes: dict[str, Any], at: str
) -> None:
    def changed(context: Any) -> Any:
        return attrs.evolve(context, **changes)

    async def wrap(context: Any, call_next: Any) -> Any:
        return await call_next(changed(context))

    for handler in (stage.input(changed, name="h"), stage.wrap(wrap, name="h")):
        with pytest.raises(AgentError) as raised:
            await run_by(path, adding(middleware=[handler]), "q")
        assert isinstance(raised.value.__cause__, AgentCoreError)
        assert raised.value.path == at


@pytest.mark.parametrize(
    "stage", [InvokeModelStage, ExecuteToolStage, AgentStreamStage], ids=lambda one: one.name
)
@pytest.mark.parametrize("late", ["event", "result", "other"])
async def test_the_result_of_a_generator_is_its_last_item(stage: Any, late: str) -> None:
    async def wrap(context: Any, call_next: Any) -> AsyncIterator[Any]:
        made = call_next(context)
        events = [event async for event in made]
        yield made.result
        yield {"event": events[0] if events else None, "result": made.result, "other": None}[late]

    with pytest.raises(AgentError, match=r"the result is the last item|return [A-Z]") as raised:
        await streamed(adding(middleware=[stage.wrap(wrap)]), "q")
    assert isinstance(raised.value.__cause__, MiddlewareError)


@pytest.mark.parametrize(
    ("event", "at"),
    [
        (models.TextDelta("0", None), "$.text"),
        (models.PartDone(5), "$.part"),
        (models.ToolInputDelta(None, "t", text=""), "$.tool_call_id"),
    ],
)
async def test_a_handler_s_wrong_event_is_told_to_nobody(event: Any, at: str) -> None:
    async def wrap(context: Any, call_next: Any) -> AsyncIterator[Any]:
        yield event
        yield await call_next(context)

    told: list[Any] = []
    with pytest.raises(AgentError) as raised:
        await streamed(
            Agent(scripted(text()), middleware=[InvokeModelStage.wrap(wrap)], on_chunk=told.append), "q"
        )
    assert raised.value.path == at
    assert told == []


# ---------------------------------------------------------------- what hooks answer


@BOTH
@pytest.mark.parametrize("answer", [None, "no", 1, 0, [], lambda: True])
async def test_an_approval_rule_says_true_or_false(path: str, answer: Any) -> None:
    async def slow(*_: Any) -> Any:
        return answer

    for rule in (lambda *_: answer, slow):
        agent = Agent(scripted([call(a=2)], text()), tools=[attrs.evolve(add, needs_approval=rule)])
        with pytest.raises(AgentError) as raised:
            await run_by(path, agent, "q")
        assert isinstance(raised.value.__cause__, InvalidAnswerError)
        kind = type(answer).__name__
        assert (
            str(raised.value.__cause__)
            == f"needs_approval of tool 'add' returned a {kind}; return True or False"
        )
        assert not raised.value.run.steps


async def generator(_: Any) -> AsyncIterator[bool]:
    yield True


@BOTH
async def test_a_stop_condition_that_makes_another_one_is_refused(path: str) -> None:
    def forgotten(_: Any) -> Any:
        return generator

    async def later(_: Any) -> Any:
        return forgotten

    for condition, kind in ((forgotten, "function"), (later, "function"), (generator, "async_generator")):
        with pytest.raises(AgentError) as raised:
            await run_by(path, adding(stop_when=condition), "q")
        assert isinstance(raised.value.__cause__, InvalidAnswerError)
        assert f"stop condition '{condition.__name__}' returned a {kind}; return True" in str(raised.value)


@pytest.mark.parametrize("answer", [True, False, None, 1, 0, "yes", "", [1]])
async def test_a_stop_condition_s_answer_counts_by_its_truth(answer: Any) -> None:
    result = await adding(stop_when=lambda _: answer).generate("q")
    assert len(result.steps) == (1 if answer else 2)


@BOTH
@pytest.mark.parametrize("name", [5, None, b"sure", ["sure"]])
async def test_a_question_has_a_text_for_a_name(path: str, name: Any) -> None:
    @tool
    async def asks(about: ToolContext) -> str:
        return str(about.interrupt(name))

    result = await run_by(path, asking(call("asks"), tools=[asks]), "q")
    (error,) = [part.error for part in result.steps[0].content if part.type == "tool-error"]
    assert error == f"$.name: a question's name is a text, not {type(name).__name__}"
    assert saved_and_loaded(result)


@BOTH
async def test_a_tripwire_has_a_text_for_a_reason(path: str) -> None:
    with pytest.raises(AgentError) as raised:
        await run_by(path, adding(prepare_step=lambda step: step.abort(5)), "q")
    assert isinstance(raised.value.__cause__, ProcessorFailedError)
    assert isinstance(went_wrong(raised.value), InvalidOverrideError)
    assert raised.value.path == "$.reason"
    tripped = await run_by(path, adding(prepare_step=lambda step: step.abort("r", retry=1)), "q")
    assert tripped.tripwire is not None
    assert tripped.tripwire.retry is True
    assert saved_and_loaded(tripped)


# ---------------------------------------------------------------- agents, and what prepare_call makes of them

FIELDS: list[tuple[str, Any, str]] = [
    ("model", "gpt", "$.model"),
    ("model", None, "$.model"),
    ("model", Shapes(), "$.model"),
    ("models", 5, "$.models"),
    ("models", ["gpt"], "$.models[0]"),
    ("tools", 5, "$.tools"),
    ("tools", None, "$.tools"),
    ("middleware", 5, "$.middleware"),
    ("middleware", [print], "$.middleware[0]"),
    ("active_tools", "add", "$.active_tools"),
    ("active_tools", [add], "$.active_tools[0]"),
    ("provider_options", [1], "$.provider_options"),
    ("settings", "hot", "$.settings"),
    ("stop_when", 5, "$.stop_when"),
    ("stop_when", [None], "$.stop_when[0]"),
    ("output", int, "$.output"),
    ("max_retries", "2", "$.max_retries"),
    ("tool_concurrency", None, "$.tool_concurrency"),
    *(
        (name, "later", f"$.{name}")
        for name in ("prepare_step", "on_start", "on_step_start", "on_step_finish", "on_finish", "on_chunk")
    ),
]


@BOTH
@pytest.mark.parametrize(("name", "value", "at"), FIELDS)
async def test_a_wrong_field_of_an_agent_is_refused_wherever_it_comes_from(
    path: str, name: str, value: Any, at: str
) -> None:
    makers: list[Callable[[], Any]] = [
        lambda: run_by(path, adding(prepare_call=lambda _: {name: value}), "q"),
        lambda: run_by(path, adding(), "q", **{name: value}),
    ]
    for make in makers:
        with pytest.raises(InvalidAgentError) as raised:
            await make()
        assert raised.value.path == at
        assert str(raised.value).startswith(f"{at}: ")
        assert pickle.loads(pickle.dumps(raised.value)).reason == raised.value.reason


@BOTH
@pytest.mark.parametrize(
    ("value", "at"),
    [
        ({"messages": 5}, "$.messages"),
        ({"messages": "hi"}, "$.messages"),
        ({"messages": [5]}, "$.messages[0]"),
        ({"max_retries": -1}, "$.max_retries"),
        ({"input_processors": 5}, "$.input_processors"),
        ({"system": 5}, "$.system"),
    ],
)
async def test_what_else_prepare_call_returns_is_refused_with_its_place(
    path: str, value: Any, at: str
) -> None:
    with pytest.raises(AgentCoreError) as raised:
        await run_by(path, adding(prepare_call=lambda _: value), "q")
    assert raised.value.path == at


# ---------------------------------------------------------------- what else comes from outside


class Tracer:
    """A tracer that is broken."""

    def start_as_current_span(self, *_: Any, **__: Any) -> Any:
        raise OSError("no traces")


@BOTH
async def test_a_tracer_that_raises_fails_the_run_and_nothing_is_lost(path: str) -> None:
    agent = adding()
    with pytest.raises(AgentError) as raised:
        await run_by(path, agent, "q", tracer=Tracer())
    assert isinstance(raised.value.__cause__, OSError)
    assert (await agent.resume(raised.value.run)).text == "done"


@BOTH
async def test_an_output_whose_reader_raises_fails_the_run_with_its_steps(path: str) -> None:
    def read(_: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(AgentError) as raised:
        await run_by(path, Agent(scripted(text("1")), output=Output({}, read)), "q")
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert len(raised.value.run.steps) == 1
