from __future__ import annotations

import pickle
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent.kit import add, call, run_by, scripted, text
from agentcore import Agent, FallbackModel
from agentcore.agent.agent import AgentError
from agentcore.agent.models import (
    ModelError,
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ModelsFailedError,
    ScriptedModel,
    TextDelta,
)
from agentcore.agent.rules import AgentRule
from agentcore.messages.content import GeneratedText
from agentcore.messages.values import thaw
from rulebook import states

pytestmark = pytest.mark.anyio
BOTH = pytest.mark.parametrize("path", ["generate", "stream"])


def failing(model_id: str, *errors: Exception) -> ScriptedModel:
    return scripted(*errors, model_id=model_id)


def answering(model_id: str, *answers: Any) -> ScriptedModel:
    return scripted(*answers, model_id=model_id)


@states(AgentRule.MODEL_FALLS_BACK)
@BOTH
async def test_the_next_model_is_asked_the_same_where_one_fails_at_each_call_anew(path: str) -> None:
    one = answering("one", ModelError("down"), text("of one"))
    other = answering("other", [call(a=1)])
    agent = Agent(FallbackModel(one, other), tools=[add])
    result = await run_by(path, agent, "q")
    assert result.text == "of one"
    assert [step.response_model for step in result.steps] == ["other", "one"]
    assert [step.model for step in result.steps] == ["one|other"] * 2
    assert one.calls[0] == other.calls[0]


@BOTH
async def test_where_no_model_answers_the_error_has_those_of_all(path: str) -> None:
    errors = (ModelError("down", status=500), ModelError("busy", retryable=True, retry_after=0.0))
    one = failing("one", errors[0], errors[0])
    other = answering("other", errors[1], text())
    assert (await run_by(path, Agent(FallbackModel(one, other)), "q")).text == "done"
    assert len(one.calls) == len(other.calls) == 2
    agent = Agent(FallbackModel(failing("one", errors[0]), failing("two", errors[0])))
    with pytest.raises(AgentError, match="no model could answer: HTTP 500: down; HTTP 500: down") as raised:
        await run_by(path, agent, "q")
    cause: Any = raised.value.__cause__
    assert isinstance(cause, ModelsFailedError)
    assert cause.errors == (errors[0], errors[0])
    assert str(pickle.loads(pickle.dumps(cause))) == str(cause)


@BOTH
async def test_an_error_that_is_not_to_be_fallen_back_from_is_that_of_the_call(path: str) -> None:
    model = FallbackModel(
        failing("one", ModelError("wrong key", status=401)),
        answering("other", text()),
        when=lambda error: error.status != 401,
        model_id="either",
    )
    assert model.model_id == "either"
    with pytest.raises(AgentError, match="wrong key"):
        await run_by(path, Agent(model), "q")


@BOTH
async def test_other_exceptions_are_not_fallen_back_from(path: str) -> None:
    model = FallbackModel(failing("one", KeyError("bug")), answering("other", text()))
    with pytest.raises(AgentError, match="bug"):
        await run_by(path, Agent(model), "q")


class _Breaks(ScriptedModel):
    """Gives a piece of an answer, and fails."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        del request

        async def events() -> AsyncIterator[ModelEvent]:
            yield TextDelta("a", "do")
            raise ModelError("broke")

        yield events()


@states(AgentRule.MODEL_FALLS_BACK)
async def test_a_stream_that_has_begun_is_not_begun_again() -> None:
    other = answering("other", text())
    agent = Agent(FallbackModel(_Breaks([], model_id="one"), other))
    with pytest.raises(AgentError, match="broke"):
        await run_by("stream", agent, "q")
    assert not other.calls


class _Empty(ScriptedModel):
    """Begins an answer, and ends it without an event."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        del request

        async def events() -> AsyncIterator[ModelEvent]:
            none: tuple[ModelEvent, ...] = ()
            for event in none:
                yield event

        yield events()


async def test_a_stream_that_ends_before_its_first_event_has_failed() -> None:
    one, other = _Empty([], model_id="one"), answering("other", text())
    model = FallbackModel(one, other)
    assert model.provider == one.provider
    result = await run_by("stream", Agent(model), "q")
    assert result.steps[-1].response_model == "other"
    with pytest.raises(AgentError, match="the stream ended without a whole answer") as failed:
        await run_by("stream", Agent(FallbackModel(one, _Empty([], model_id="two"))), "q")
    assert isinstance(failed.value.__cause__, ModelsFailedError)


def stated(number: int, *content: Any) -> ModelResponse:
    reason = "stop" if content[0].type == "text" else "tool-calls"
    return ModelResponse(content, finish_reason=reason, model_state={"seen": number})


@states(AgentRule.MODEL_FALLS_BACK)
@BOTH
async def test_each_model_is_given_its_own_state(path: str) -> None:
    one = answering(
        "one", stated(1, call("add", "a", a=1)), ModelError("down"), stated(2, GeneratedText("end"))
    )
    other = answering("other", stated(7, call("add", "b", a=1)))
    result = await run_by(path, Agent(FallbackModel(one, other), tools=[add]), "q")
    assert result.text == "end"
    assert [request.model_state for request in one.calls] == [None, {"seen": 1}, {"seen": 1}]
    assert [request.model_state for request in other.calls] == [None]
    assert thaw(result.run.model_states) == {"one|other": {"one": {"seen": 2}, "other": {"seen": 7}}}


class _Holds(ScriptedModel):
    holds_history = True


def test_models_that_cannot_stand_in_for_each_other_are_refused() -> None:
    one, other = answering("one"), answering("other")
    with pytest.raises(ValueError, match="two models or more"):
        FallbackModel(one)
    with pytest.raises(ValueError, match="the same id, so give each its own: one, one"):
        FallbackModel(one, answering("one"))
    with pytest.raises(ValueError, match="of keeps holds the history"):
        FallbackModel(other, _Holds([], model_id="keeps"))
