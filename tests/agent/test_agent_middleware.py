"""Handlers of the three stages, as `generate` and `stream` run them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import attrs
import pytest

from agent.kit import USER, add, adding, call, outputs, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.middleware import (
    AgentStreamStage,
    CallModel,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
    Middleware,
    MiddlewareError,
    ModelDelta,
)
from agentcore.agent.models import ModelError, ModelResponse
from agentcore.agent.rules import AgentRule
from agentcore.errors import ImmutableWriteError
from agentcore.messages.content import GeneratedText
from agentcore.messages.messages import (
    TextPart,
    UserMessage,
)
from agentcore.requirements.differences import Difference
from rulebook import states

BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
STAGES: list[Any] = [InvokeModelStage, ExecuteToolStage, AgentStreamStage]
pytestmark = pytest.mark.anyio

NOTE = UserMessage([TextPart("note")])


def noted(context: InvokeModelContext) -> InvokeModelContext:
    """The same call with a note at the end of its prompt."""
    return attrs.evolve(
        context, request=attrs.evolve(context.request, prompt=[*context.request.prompt, NOTE])
    )


def saying(response: ModelResponse, said: str) -> ModelResponse:
    return attrs.evolve(response, content=[GeneratedText(said)])


# ---------------------------------------------------------------- order


def logging(log: list[str], stage: Any) -> list[Middleware]:
    """Two handlers of each phase, the later phases registered first, sync ones and async ones."""

    def told(name: str) -> Callable[..., None]:
        return lambda *_: log.append(name)

    async def told_slowly(*_: Any) -> None:
        await anyio.lowlevel.checkpoint()
        log.append("output 2")

    async def outer(context: Any, call_next: Any) -> Any:
        log.append("wrap 1")
        result = await call_next(context)
        log.append("unwrap 1")
        return result

    async def inner(context: Any, call_next: Any) -> AsyncIterator[Any]:
        log.append("wrap 2")
        made = call_next(context)
        async for event in made:
            yield event
        log.append("unwrap 2")
        yield made.result

    return [
        stage.output(told("output 1")),
        stage.output(told_slowly),
        stage.wrap(outer),
        stage.wrap(inner),
        stage.input(told("input 1")),
        stage.input(told("input 2")),
    ]


@states(AgentRule.STAGE_ORDER, Difference.OUTPUTS_IN_ORDER)
@BOTH
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
async def test_handlers_run_by_phase_and_in_the_order_of_registration(stage: Any, path: str) -> None:
    log: list[str] = []
    result = await run_by(path, adding(middleware=logging(log, stage)), "q")
    assert result.text == "done"
    once = [
        *("input 1", "input 2", "wrap 1", "wrap 2"),
        *("unwrap 2", "unwrap 1", "output 1", "output 2"),
    ]
    assert log == once * (2 if stage is InvokeModelStage else 1)


@BOTH
async def test_a_handler_is_given_what_the_one_before_it_left(path: str) -> None:
    seen: list[int] = []

    def add_note(context: InvokeModelContext) -> InvokeModelContext:
        seen.append(len(context.request.prompt))
        return noted(context)

    async def add_another(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        seen.append(len(context.request.prompt))
        return saying(await call_next(noted(context)), "a")

    def say_more(context: InvokeModelContext, response: ModelResponse) -> ModelResponse:
        (part,) = response.content
        assert isinstance(part, GeneratedText)
        seen.append(len(context.request.prompt))
        return saying(response, part.text + "b")

    model = scripted(text())
    agent = Agent(
        model,
        middleware=[
            InvokeModelStage.output(say_more),
            InvokeModelStage.output(say_more),
            InvokeModelStage.wrap(add_another),
            InvokeModelStage.wrap(add_another),
            InvokeModelStage.input(add_note),
            InvokeModelStage.input(add_note),
        ],
    )
    result = await run_by(path, agent, "q")
    assert result.text == "abb"
    assert seen == [1, 2, 3, 4, 3, 3]
    assert len(model.calls[0].prompt) == 5


@BOTH
async def test_the_handlers_of_a_call_are_in_place_of_the_agents(path: str) -> None:
    log: list[str] = []
    agent = adding(middleware=logging(log, InvokeModelStage))
    await run_by(path, agent, "q", middleware=[])
    assert log == []
    run = (await run_by(path, adding(), "q", middleware=logging(log, AgentStreamStage))).run
    assert log[0] == "input 1"
    log.clear()
    await agent.resume(run, middleware=logging(log, AgentStreamStage))
    assert len(log) == 8


@BOTH
async def test_handlers_may_be_objects(path: str) -> None:
    class Counting:
        def __init__(self) -> None:
            self.calls = 0

        async def __call__(self, context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
            self.calls += 1
            return await call_next(context)

    counting = Counting()
    await run_by(path, adding(middleware=[InvokeModelStage.wrap(counting)]), "q")
    assert counting.calls == 2


# ---------------------------------------------------------------- calls of models


@states(AgentRule.STAGE_PASSED_ON)
@BOTH
async def test_a_context_that_is_passed_on_is_for_its_own_call_only(path: str) -> None:
    def at_first(context: InvokeModelContext) -> InvokeModelContext | None:
        return noted(context) if context.step_number == 0 else None

    model = scripted([call(a=2)], text())
    agent = Agent(model, tools=[add], middleware=[InvokeModelStage.input(at_first)])
    given = [USER]
    result = await run_by(path, agent, messages=given)
    assert [NOTE in request.prompt for request in model.calls] == [True, False]
    assert NOTE not in result.messages
    assert [NOTE in record.prompt for record in result.steps] == [False, False]
    assert given == [USER]


@states(Difference.CONTEXTS_ARE_VALUES)
@BOTH
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
async def test_a_write_into_a_context_fails_the_run_and_says_what_to_do(stage: Any, path: str) -> None:
    def write(context: Any) -> None:
        context.step_number = 7

    with pytest.raises(AgentError, match=r"attrs\.evolve\(value, step_number=\.\.\.\)") as raised:
        await run_by(path, adding(middleware=[stage.input(write)]), "q")
    assert isinstance(raised.value.__cause__, ImmutableWriteError)


@states(AgentRule.STAGE_SHORT_CIRCUIT)
@BOTH
async def test_a_wrap_that_calls_nothing_answers_in_the_models_place(path: str) -> None:
    log: list[str] = []

    async def cached(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        if context.step_number == 0:
            return ModelResponse([call(a=2)], finish_reason="tool-calls")
        return await call_next(context)

    async def inside(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        log.append(f"inside {context.step_number}")
        return await call_next(context)

    def after(context: InvokeModelContext, _: ModelResponse) -> None:
        log.append(f"after {context.step_number}")

    model = scripted(text())
    stage = InvokeModelStage
    agent = Agent(
        model, tools=[add], middleware=[stage.wrap(cached), stage.wrap(inside), stage.output(after)]
    )
    result = await run_by(path, agent, "q")
    assert outputs(result) == [3]
    assert result.text == "done"
    assert log == ["after 0", "inside 1", "after 1"]
    assert len(model.calls) == 1


@states(AgentRule.STAGE_CALLED_AGAIN)
@BOTH
async def test_a_call_may_be_made_again_and_begins_anew(path: str) -> None:
    log: list[int] = []

    async def again(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        first = await call_next(context)
        await call_next(noted(context))
        return first

    async def inside(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        log.append(len(context.request.prompt))
        return await call_next(noted(context))

    model = scripted(text("one"), text("two"))
    wraps = [InvokeModelStage.wrap(again), InvokeModelStage.wrap(inside)]
    result = await run_by(path, Agent(model, middleware=wraps), "q")
    assert result.text == "one"
    assert log == [1, 2]
    assert [len(request.prompt) for request in model.calls] == [2, 3]
    assert len(result.steps) == 1


@BOTH
async def test_what_a_call_raises_can_be_caught_and_another_model_asked(path: str) -> None:
    async def fall_back(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        try:
            return await call_next(context)
        except ModelError:
            return await call_next(attrs.evolve(context, model=other))

    other = scripted([call(a=2)], model_id="other")
    model = scripted(ModelError("down"), text())
    result = await run_by(path, Agent(model, tools=[add], middleware=[InvokeModelStage.wrap(fall_back)]), "q")
    assert [record.model for record in result.steps] == ["other", "scripted"]
    assert outputs(result) == [3]


@BOTH
async def test_attempts_that_a_failing_provider_makes_necessary_are_one_call(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []

    async def sleep(duration: float) -> None:
        seconds.append(duration)

    monkeypatch.setattr(anyio, "sleep", sleep)
    log: list[str] = []
    model = scripted(ModelError("busy", retryable=True), text())
    await run_by(path, Agent(model, middleware=logging(log, InvokeModelStage)), "q")
    assert log.count("wrap 2") == 1
    assert len(model.calls) == 2


@BOTH
async def test_a_tool_that_a_request_does_not_show_is_still_the_steps_to_run(path: str) -> None:
    def hide(context: InvokeModelContext) -> InvokeModelContext:
        return attrs.evolve(context, request=attrs.evolve(context.request, tools=None))

    agent = adding(middleware=[InvokeModelStage.input(hide)])
    assert outputs(await run_by(path, agent, "q")) == [3]


# ---------------------------------------------------------------- what goes wrong


@states(Difference.HANDLER_FAILURE_FAILS)
@BOTH
@pytest.mark.parametrize("phase", ["input", "wrap", "output"])
@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
async def test_a_handler_that_raises_fails_the_run(stage: Any, phase: str, path: str) -> None:
    log: list[str] = []
    error = ValueError("odd")

    async def broken(*_: Any) -> None:
        raise error

    agent = adding(middleware=[getattr(stage, phase)(broken), stage.output(lambda *_: log.append("after"))])
    with pytest.raises(AgentError, match="ValueError: odd") as raised:
        await run_by(path, agent, "q")
    assert raised.value.__cause__ is error
    assert log == []
    assert (await agent.resume(raised.value.run, middleware=[])).text == "done"


WRONG: list[tuple[str, Any, str]] = [
    ("input", lambda _: "context", "pass on InvokeModelContext, made with attrs.evolve, not str"),
    ("output", lambda *_: "result", "return ModelResponse, not str"),
    ("wrap", lambda *_: "result", "use `async def`: it gave str"),
    ("wrap", lambda *_: anyio.lowlevel.checkpoint(), "return ModelResponse, not NoneType"),
    ("wrap", lambda _, call_next: call_next(None), "pass on InvokeModelContext"),
]


@BOTH
@pytest.mark.parametrize(("phase", "handler", "says"), WRONG)
async def test_what_a_phase_does_not_take_is_refused_by_the_handlers_name(
    phase: Any, handler: Any, says: str, path: str
) -> None:
    handlers = [getattr(InvokeModelStage, phase)(handler, name="mine")]
    with pytest.raises(AgentError) as raised:
        await run_by(path, adding(middleware=handlers), "q")
    error = raised.value.__cause__
    assert isinstance(error, MiddlewareError)
    assert (error.stage, error.phase, error.handler) == ("invoke-model", phase, "mine")
    assert says in error.reason


@BOTH
async def test_a_generator_that_yields_no_result_is_told_how(path: str) -> None:
    async def forgetful(context: InvokeModelContext, call_next: CallModel) -> AsyncIterator[ModelDelta]:
        async for event in call_next(context):
            yield event

    async def confused(context: InvokeModelContext, call_next: CallModel) -> AsyncIterator[Any]:
        yield await call_next(context)
        yield 7

    for handler, says in ((forgetful, "yield the result as the last item"), (confused, "not int")):
        with pytest.raises(AgentError, match=says):
            await run_by(path, adding(middleware=[InvokeModelStage.wrap(handler)]), "q")


@BOTH
async def test_a_call_has_no_result_before_its_end_or_after_a_failure(path: str) -> None:
    async def hasty(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        made = call_next(context)
        with pytest.raises(LookupError, match="it has not ended"):
            _ = made.result
        with pytest.raises(ModelError):
            await made
        with pytest.raises(LookupError):
            await made
        return ModelResponse(text("mended"), finish_reason="stop")

    agent = Agent(scripted(ModelError("down")), middleware=[InvokeModelStage.wrap(hasty)])
    assert (await run_by(path, agent, "q")).text == "mended"


@states(Difference.NOTHING_COPIED)
@BOTH
@pytest.mark.parametrize("handled", [False, True])
async def test_a_model_call_has_the_very_prompt_of_the_record_with_handlers_and_without(
    path: str, *, handled: bool
) -> None:
    asked: list[Any] = []

    def look(context: InvokeModelContext[Any]) -> None:
        asked.append(context.request.prompt)

    model = scripted([call("add", "c0", a=1)], text())
    agent = Agent(model, tools=[add], middleware=[InvokeModelStage.input(look)] if handled else [])
    result = await run_by(path, agent, USER)
    for request, record in zip(model.calls, result.steps, strict=True):
        assert request.prompt is record.prompt
    assert all(one is request.prompt for one, request in zip(asked, model.calls, strict=False))
    assert len(asked) == 2 * handled
    assert model.calls[1].prompt[0] is model.calls[0].prompt[0]
