from __future__ import annotations

import pickle
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcore.agent.agent import Agent
from agentcore.agent.middleware import (
    AgentStreamContext,
    AgentStreamStage,
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
    Middleware,
    MiddlewareError,
    changed_fields,
    handlers_of,
)
from agentcore.agent.models import ModelRequest, ScriptedModel
from agentcore.agent.rules import AgentRule
from agentcore.agent.tools import tool
from agentcore.errors import ImmutableWriteError
from agentcore.machine.effects import Settings, ToolFailed, ToolSucceeded
from agentcore.messages.content import GeneratedText, ToolCall
from agentcore.messages.interrupts import InterruptSignal
from agentcore.messages.messages import UserMessage
from agentcore.messages.values import freeze, vector
from rulebook import states

STAGES: list[Any] = [InvokeModelStage, ExecuteToolStage, AgentStreamStage]


def nothing(*_: Any) -> None:
    """A handler that does nothing."""


@tool
def add(a: int, b: int = 1) -> int:
    return a + b


CALL = ToolCall(tool_call_id="c", tool_name="add", input={"a": 1})
MODEL = InvokeModelContext(
    model=ScriptedModel([]), request=ModelRequest(prompt=[UserMessage("u")]), step_number=1
)
TOOL = ExecuteToolContext(tool=add, call=CALL, step_number=1)
AGENT = AgentStreamContext(
    messages=vector([UserMessage("u")]),
    settings=Settings(model="m"),
    answered=nothing,  # type: ignore[arg-type] # nobody asks for it here
)
CONTEXTS: list[Any] = [MODEL, TOOL, AGENT]


# ---------------------------------------------------------------- registration


@states(AgentRule.STAGE_ORDER)
@given(st.lists(st.tuples(st.sampled_from(STAGES), st.sampled_from(["input", "wrap", "output"]))))
def test_handlers_of_a_stage_are_in_the_order_of_registration_by_phase(registered: list[Any]) -> None:
    made = [
        getattr(stage, phase)(nothing, name=str(index)) for index, (stage, phase) in enumerate(registered)
    ]
    for stage in STAGES:
        handlers = handlers_of(stage, made)
        expected = {
            phase: [one.name for one in made if (one.stage, one.phase) == (stage, phase)]
            for phase in ("input", "wrap", "output")
        }
        if handlers is None:
            assert not any(expected.values())
            continue
        found = {"input": handlers.inputs, "wrap": handlers.wraps, "output": handlers.outputs}
        assert {phase: [one.name for one in ones] for phase, ones in found.items()} == expected


class Counter:
    def __call__(self, context: InvokeModelContext) -> None:
        """Nothing to count."""


def test_a_handler_has_its_own_name_or_the_one_it_is_given() -> None:
    assert InvokeModelStage.input(nothing).name == "nothing"
    assert InvokeModelStage.input(Counter()).name == "Counter"
    assert InvokeModelStage.input(Counter(), name="count").name == "count"


def test_what_cannot_be_called_is_no_handler() -> None:
    with pytest.raises(MiddlewareError, match="use a function or a callable object, not int") as raised:
        ExecuteToolStage.wrap(1)  # type: ignore[arg-type] # what it refuses
    error = raised.value
    assert (error.stage, error.phase, error.handler) == ("execute-tool", "wrap", "int")
    assert str(error).startswith("execute-tool wrap handler int: use")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_function_that_no_stage_has_registered_is_no_middleware() -> None:
    with pytest.raises(TypeError, match=r"nothing is no middleware; register it, as in InvokeModelStage"):
        Agent(ScriptedModel([]), middleware=[nothing])  # type: ignore[list-item] # what it refuses


def test_what_was_registered_is_a_value() -> None:
    made = InvokeModelStage.input(nothing)
    assert made == InvokeModelStage.input(nothing)
    assert hash(made) == hash(InvokeModelStage.input(nothing))
    assert isinstance(made, Middleware)
    with pytest.raises(ImmutableWriteError):
        made.name = "other"  # type: ignore[misc] # what it refuses


# ---------------------------------------------------------------- contexts


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda one: type(one).__name__)
def test_no_field_of_a_context_can_be_set(context: Any) -> None:
    before = repr(context)
    for attribute in attrs.fields(type(context)):
        with pytest.raises(ImmutableWriteError, match="return a new one"):
            setattr(context, attribute.name, None)
    assert repr(context) == before


@pytest.mark.parametrize("context", CONTEXTS, ids=lambda one: type(one).__name__)
def test_the_invocation_state_is_one_object_and_no_part_of_what_a_context_is(context: Any) -> None:
    state: dict[str, Any] = {}
    one = attrs.evolve(context, invocation_state=state)
    other = attrs.evolve(one, answers=freeze({}))
    assert one.invocation_state is other.invocation_state is state
    state["a"] = object()
    assert one == context
    assert hash(one) == hash(context)


@pytest.mark.parametrize(
    ("context", "expected"),
    [(MODEL, "invoke-model/1/sure"), (TOOL, "execute-tool/1/c/sure"), (AGENT, "agent-stream/sure")],
    ids=["model", "tool", "agent"],
)
def test_a_context_asks_until_it_has_the_answer(context: Any, expected: str) -> None:
    with pytest.raises(InterruptSignal) as raised:
        context.interrupt("sure", reason={"why": [1]})
    assert raised.value.interrupt.id == expected
    assert raised.value.interrupt.reason == freeze({"why": [1]})
    answered = attrs.evolve(context, answers=freeze({expected: "yes"}))
    assert answered.interrupt("sure", reason="another") == "yes"


def test_a_tools_context_makes_outcomes_of_its_call() -> None:
    assert TOOL.succeeded([1]) == ToolSucceeded("c", [1])
    assert TOOL.failed("no") == ToolFailed("c", "no")


# ---------------------------------------------------------------- what was changed


def test_what_was_changed_is_named_by_its_fields() -> None:
    request = attrs.evolve(MODEL.request, prompt=[UserMessage("v")], settings={"seed": 1})
    changed = attrs.evolve(MODEL, request=request, model=ScriptedModel([]))
    assert changed_fields(MODEL, changed) == ("model", "request.prompt", "request.settings")
    assert changed_fields(MODEL, attrs.evolve(MODEL, invocation_state={"a": 1})) == ()
    assert changed_fields(TOOL, attrs.evolve(TOOL, call=attrs.evolve(CALL, input={}))) == ("call.input",)
    messages = vector([*AGENT.messages, UserMessage("v")])
    settings = attrs.evolve(AGENT.settings, system="s")
    other = attrs.evolve(AGENT, messages=messages, settings=settings)
    assert changed_fields(AGENT, other) == ("messages", "settings.system")
    assert changed_fields(ToolSucceeded("c", 1), ToolFailed("c", "no")) == ("type",)
    assert changed_fields(ToolSucceeded("c", 1), ToolSucceeded("c", 2)) == ("output",)
    assert changed_fields(GeneratedText("a"), GeneratedText("a")) == ()
