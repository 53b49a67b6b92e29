"""Spans and times of handlers."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from opentelemetry.trace import StatusCode

from agent.kit import USER, add, adding, call, run_by, scripted, text
from agent.tracing import Tracing
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.call.spans import written
from agentcore.agent.middleware import (
    AgentStreamContext,
    AgentStreamStage,
    CallAgent,
    CallModel,
    CallTool,
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
    Middleware,
    ToolOutcome,
)
from agentcore.agent.models import ModelResponse
from agentcore.agent.output import AgentResult
from agentcore.agent.telemetry import Timing
from agentcore.messages.content import GeneratedText
from agentcore.messages.messages import TextPart, UserMessage
from agentcore.messages.values import freeze, parse_json, vector

BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
pytestmark = pytest.mark.anyio

PRIVATE = "a word in private"


@pytest.fixture
def tracing() -> Tracing:
    return Tracing()


def noting(context: InvokeModelContext) -> InvokeModelContext:
    prompt = [*context.request.prompt, UserMessage([TextPart(PRIVATE)])]
    return attrs.evolve(context, request=attrs.evolve(context.request, prompt=prompt))


async def twice(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
    await call_next(context)
    return await call_next(noting(context))


def redacting(_: InvokeModelContext, response: ModelResponse) -> ModelResponse:
    return attrs.evolve(response, content=[GeneratedText(PRIVATE)])


def unchanged(*_: Any) -> None:
    """Changes nothing."""


async def cached(context: ExecuteToolContext, call_next: CallTool) -> ToolOutcome:
    del call_next
    return context.succeeded(PRIVATE)


async def through(context: AgentStreamContext, call_next: CallAgent) -> AgentResult[Any]:
    return await call_next(context)


HANDLERS: list[Middleware] = [
    AgentStreamStage.wrap(through),
    InvokeModelStage.input(noting),
    InvokeModelStage.input(unchanged),
    InvokeModelStage.wrap(twice),
    ExecuteToolStage.wrap(cached),
]


def agent_of(tracing: Tracing, **fields: Any) -> Agent[None]:
    model = scripted(text("one"), [call(a=2)], text("two"))
    return Agent(model, tools=[add], middleware=HANDLERS, tracer=tracing.tracer, **fields)


def span(stage: str, phase: str, handler: str, step: int | None = None, **more: Any) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "middleware",
        "agentcore.stage": stage,
        "agentcore.phase": phase,
        "agentcore.handler": handler,
    }
    number = {} if step is None else {"agentcore.step_number": step}
    return {**attributes, **number, **{f"agentcore.{name}": value for name, value in more.items()}}


@BOTH
async def test_a_span_of_a_handler_says_where_it_ran_how_often_it_called_and_what_it_changed(
    path: str, tracing: Tracing
) -> None:
    await run_by(path, agent_of(tracing), "q")
    assert tracing.attributes("middleware noting")[0] == span(
        "invoke-model", "input", "noting", 0, changed=("request.prompt",)
    )
    assert tracing.attributes("middleware unchanged")[0] == span(
        "invoke-model", "input", "unchanged", 0, changed=()
    )
    assert tracing.attributes("middleware twice")[0] == span(
        "invoke-model", "wrap", "twice", 0, calls=2, changed=("request.prompt",)
    )
    assert tracing.attributes("middleware cached") == [
        span("execute-tool", "wrap", "cached", 0, calls=0, changed=())
    ]
    assert tracing.attributes("middleware through") == [
        span("agent-stream", "wrap", "through", calls=1, changed=())
    ]


@BOTH
async def test_spans_lie_in_each_other_as_handlers_do(path: str, tracing: Tracing) -> None:
    await run_by(path, agent_of(tracing), "q")
    names = {one.context.span_id: one.name for one in tracing.spans}
    inside = {one.name: names.get(one.parent.span_id) if one.parent else None for one in tracing.spans}
    assert inside == {
        "invoke_agent": None,
        "middleware through": "invoke_agent",
        "middleware noting": "middleware through",
        "middleware unchanged": "middleware through",
        "middleware twice": "middleware through",
        "chat scripted": "middleware twice",
        "middleware cached": "middleware through",
    }


@BOTH
async def test_spans_have_no_content_unless_it_is_asked_for(path: str, tracing: Tracing) -> None:
    await run_by(path, agent_of(tracing), "q")
    assert PRIVATE not in "".join(one.to_json() for one in tracing.spans)
    await run_by(path, agent_of(tracing), "q", trace_content=True)
    noting_span = [one for one in tracing.spans if one.name == "middleware noting"][-1]
    assert noting_span.attributes is not None
    given = parse_json(str(noting_span.attributes["agentcore.given"]))
    (event,) = noting_span.events
    assert event.attributes is not None
    passed = parse_json(str(event.attributes["agentcore.context"]))
    assert given["model"] == "ScriptedModel"
    assert [
        *given["request"]["prompt"],
        {"role": "user", "content": [{"type": "text", "text": PRIVATE}]},
    ] == (passed["request"]["prompt"])
    (cached_span,) = [one for one in tracing.attributes("middleware cached") if "agentcore.result" in one]
    assert parse_json(cached_span["agentcore.result"])["output"] == PRIVATE


@BOTH
async def test_an_output_handlers_changes_are_those_of_the_result(path: str, tracing: Tracing) -> None:
    handlers = [InvokeModelStage.output(redacting), InvokeModelStage.output(unchanged)]
    agent = Agent(scripted(text()), middleware=handlers, tracer=tracing.tracer)
    await run_by(path, agent, "q")
    assert tracing.attributes("middleware redacting") == [
        span("invoke-model", "output", "redacting", 0, changed=("result.content",))
    ]
    assert tracing.attributes("middleware unchanged") == [
        span("invoke-model", "output", "unchanged", 0, changed=())
    ]


@BOTH
async def test_a_handler_that_raises_is_marked_and_one_that_asks_is_not(path: str, tracing: Tracing) -> None:
    async def broken(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        await call_next(context)
        raise ZeroDivisionError

    def asking(context: InvokeModelContext) -> None:
        context.interrupt("sure")

    with pytest.raises(AgentError) as raised:
        await run_by(path, adding(middleware=[InvokeModelStage.wrap(broken)], tracer=tracing.tracer), "q")
    (failed,) = [one for one in tracing.spans if one.name == "middleware broken"]
    assert failed.status.status_code is StatusCode.ERROR
    assert (failed.attributes or {})["error.type"] == "ZeroDivisionError"
    assert (failed.attributes or {})["agentcore.calls"] == 1
    assert raised.value.run.steps == vector()

    result = await run_by(
        path, adding(middleware=[InvokeModelStage.input(asking)], tracer=tracing.tracer), "q"
    )
    *_, asked = [one for one in tracing.spans if one.name == "middleware asking"]
    assert asked.status.status_code is StatusCode.UNSET
    assert (asked.attributes or {})["agentcore.interrupt"] == "invoke-model/0/sure"
    top = tracing.attributes("invoke_agent")[-1]
    assert top["gen_ai.response.finish_reasons"] == ("interrupt",)
    assert result.timings.of("middleware") == (
        attrs.evolve(result.timings.of("middleware")[0], failed=False),
    )


@BOTH
async def test_handlers_are_timed_by_step(path: str) -> None:
    result = await run_by(path, agent_of(Tracing()), messages=[USER])
    shown = [(one.name, one.step_number) for one in result.timings.of("middleware")]
    assert shown == [
        ("noting", 0),
        ("unchanged", 0),
        ("twice", 0),
        ("cached", 0),
        ("noting", 1),
        ("unchanged", 1),
        ("twice", 1),
        ("through", -1),
    ]
    assert isinstance(result.timings.entries[0], Timing)


def test_what_is_written_of_a_value_is_json() -> None:
    value = {"a": [GeneratedText("x"), vector([UserMessage("u")]), (1, None, True)], "b": add.execute}
    assert parse_json(written(value)) == {
        "a": [
            {"text": "x", "provider_metadata": None},
            [{"role": "user", "content": "u"}],
            [1, None, True],
        ],
        "b": "function",
    }
    assert written(freeze({"a": 1.5})) == '{"a":1.5}'
