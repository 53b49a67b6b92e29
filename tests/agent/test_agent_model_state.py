"""What models say that they are to be given again."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from agent.kit import add, call, run_by, scripted, text
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.middleware import CallModel, InvokeModelContext, InvokeModelStage
from agentcore.agent.models import ModelError, ModelRequest, ModelResponse, ScriptedModel
from agentcore.agent.rules import AgentRule
from agentcore.messages.content import ContentPart
from agentcore.messages.values import freeze
from agentcore.records.history import fork
from agentcore.records.saved import from_json, to_json
from agentcore.requirements.rules import Rule
from rulebook import states

BOTH = pytest.mark.parametrize("path", ["generate", "stream"])
pytestmark = pytest.mark.anyio


def answered(parts: list[Any], seen: int | None = None) -> ModelResponse:
    content: list[ContentPart] = parts
    return ModelResponse(
        content,
        finish_reason="stop",
        model_state=None if seen is None else {"seen": seen},
    )


def given(model: ScriptedModel) -> list[Any]:
    """The states that the model was given."""
    return [request.model_state and request.model_state["seen"] for request in model.calls]


def stateful(*answers: Any, **fields: Any) -> Agent[None]:
    return Agent(scripted(*answers), tools=[add], max_retries=0, **fields)


@states(Rule.MODEL_STATE_FROM_THE_ANSWER)
@BOTH
async def test_a_model_is_given_what_its_last_answer_said(path: str) -> None:
    model = scripted(answered([call(a=1)], 1), answered([call(a=2)]), answered([call(a=3)], 3), text())
    result = await run_by(path, Agent(model, tools=[add]), "q")
    assert given(model) == [None, 1, 1, 3]
    assert dict(result.run.model_states) == {"scripted": freeze({"seen": 3})}
    loaded = from_json(to_json(result.run))
    assert loaded.model_states == result.run.model_states
    again = scripted(answered([call(a=1)], 7), text())
    await Agent(again, tools=[add]).resume(fork(loaded, 1))
    assert given(again) == [1, 7]


@states(AgentRule.MODEL_STATE_IS_A_SNAPSHOT)
@BOTH
async def test_every_call_of_a_step_is_given_the_state_from_before_the_step(path: str) -> None:
    async def thrice(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        assert context.request.model_state is None
        first = await call_next(context)
        await call_next(context)
        request = attrs.evolve(context.request, model_state={"seen": 99})
        await call_next(attrs.evolve(context, request=request))
        return first

    model = scripted(*(answered([call(a=1)] if n < 3 else text(), n) for n in range(6)))
    agent = Agent(model, tools=[add], middleware=[InvokeModelStage.wrap(thrice)])
    result = await run_by(path, agent, "q")
    assert given(model) == [None, None, None, 0, 0, 0]
    assert dict(result.run.model_states) == {"scripted": freeze({"seen": 3})}


@BOTH
async def test_an_error_leaves_the_state_as_it_was(path: str) -> None:
    agent = stateful(answered([call(a=1)], 1), ModelError("down"), text())
    with pytest.raises(AgentError) as raised:
        await run_by(path, agent, "q")
    assert dict(raised.value.run.model_states) == {"scripted": freeze({"seen": 1})}
    await agent.resume(raised.value.run)
    assert isinstance(agent.model, ScriptedModel)
    assert given(agent.model) == [None, 1, 1]


@BOTH
async def test_a_handler_that_raises_after_an_answer_leaves_the_state_as_it_was(path: str) -> None:
    def broken(_: InvokeModelContext, __: ModelResponse) -> None:
        raise ZeroDivisionError

    agent = stateful(answered(text(), 1), middleware=[InvokeModelStage.output(broken)])
    with pytest.raises(AgentError) as raised:
        await run_by(path, agent, "q")
    assert dict(raised.value.run.model_states) == {}


@BOTH
async def test_of_a_good_call_and_a_failed_one_the_state_of_the_answer_that_is_taken_counts(
    path: str,
) -> None:
    async def twice(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        good = await call_next(context)
        with pytest.raises(ModelError):
            await call_next(context)
        return good

    agent = stateful(answered(text(), 1), ModelError("down"), middleware=[InvokeModelStage.wrap(twice)])
    result = await run_by(path, agent, "q")
    assert dict(result.run.model_states) == {"scripted": freeze({"seen": 1})}


@BOTH
async def test_an_answer_of_a_wraps_own_leaves_the_state_as_it_was(path: str) -> None:
    async def cached(context: InvokeModelContext, call_next: CallModel) -> ModelResponse:
        return await call_next(context) if context.step_number == 0 else answered(text("cached"))

    agent = stateful(answered([call(a=1)], 1), middleware=[InvokeModelStage.wrap(cached)])
    result = await run_by(path, agent, "q")
    assert result.text == "cached"
    assert dict(result.run.model_states) == {"scripted": freeze({"seen": 1})}


@BOTH
async def test_models_have_a_state_each(path: str) -> None:
    def prepare(step: Any) -> dict[str, Any]:
        return {"model": "other"} if step.step_number == 1 else {}

    def fall_over(context: InvokeModelContext) -> InvokeModelContext | None:
        return attrs.evolve(context, model=third) if context.step_number == 3 else None

    model = scripted(answered([call(a=1)], 1), answered([call(a=1)], 2), text())
    other = ScriptedModel([answered([call(a=1)], 11)], model_id="other")
    third = ScriptedModel([answered([call(a=1)], 21)], model_id="third")
    agent = Agent(
        model,
        models=[other],
        tools=[add],
        prepare_step=prepare,
        middleware=[InvokeModelStage.input(fall_over)],
    )
    result = await run_by(path, agent, "q")
    assert [given(each) for each in (model, other, third)] == [[None, 1, 2], [None], [None]]
    states_left = {
        name: freeze({"seen": seen}) for name, seen in {"scripted": 2, "other": 11, "third": 21}.items()
    }
    assert dict(result.run.model_states) == states_left
    assert [record.model for record in result.steps] == ["scripted", "other", "scripted", "third", "scripted"]


def test_a_state_is_an_object() -> None:
    request = ModelRequest(prompt=[], model_state={"a": [1]})
    assert request.model_state == freeze({"a": [1]})
    with pytest.raises(ValueError, match=r"\$\.model_state: expected an object, got list"):
        ModelResponse([], finish_reason="stop", model_state=[])  # type: ignore[arg-type] # what it refuses
