"""Random handlers that write, pass on, call again and answer change nothing but their own calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import anyio
import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.kit import add, call, run_by, text
from agentcore.agent.agent import Agent
from agentcore.agent.call.spans import written
from agentcore.agent.middleware import (
    AgentStreamContext,
    AgentStreamStage,
    ExecuteToolContext,
    ExecuteToolStage,
    InvokeModelContext,
    InvokeModelStage,
    Middleware,
)
from agentcore.agent.models import ModelRequest, ModelResponse, ScriptedModel
from agentcore.agent.output import AgentResult
from agentcore.agent.tools import ToolContext, tool
from agentcore.messages.content import GeneratedText
from agentcore.messages.messages import Message, TextPart, UserMessage
from agentcore.messages.values import freeze

# Each example is three runs, and there are four ways of running it.
FEW: Final = max(settings().max_examples // 8, 1)
STAGES: Final[list[Any]] = [InvokeModelStage, ExecuteToolStage, AgentStreamStage]


@attrs.frozen(kw_only=True)
class Handler:
    """What a handler does: the ops in their order, each at its every run."""

    stage: int
    phase: str
    ops: tuple[str, ...]


handlers: Final = st.builds(
    Handler,
    stage=st.integers(0, 2),
    phase=st.sampled_from(["input", "wrap", "output"]),
    ops=st.lists(st.sampled_from(["write", "pass on", "again", "answer", "events", "share"]), max_size=4).map(
        tuple
    ),
)


# ---------------------------------------------------------------- writes


def parts_of(value: Any, depth: int = 6) -> Iterator[Any]:
    """Everything in a value that somebody might try to change."""
    yield value
    if depth == 0 or isinstance(value, str):
        return
    if attrs.has(type(value)):
        for attribute in attrs.fields(type(value)):
            if attribute.repr:
                yield from parts_of(getattr(value, attribute.name), depth - 1)
    elif hasattr(value, "items"):
        yield from (part for item in value.values() for part in parts_of(item, depth - 1))
    elif hasattr(value, "__iter__"):
        yield from (part for item in value for part in parts_of(item, depth - 1))


WRITES: Final[list[Callable[[Any], Any]]] = [
    lambda one: setattr(one, attrs.fields(type(one))[0].name, "written"),
    lambda one: setattr(one, "anything", "written"),
    lambda one: one.__setitem__("k", "written"),
    lambda one: one.__setitem__(0, "written"),
    lambda one: one.__delitem__(0),
    lambda one: one.update({"k": "written"}),
    lambda one: one.append("written"),
    lambda one: one.clear(),
    lambda one: one.insert(0, "written"),
    lambda one: one.reverse(),
]


def takes_writes(value: Any) -> bool:
    """Whether anything that is tried on any part of a value has changed it."""
    before = written(value)
    for part in parts_of(value):
        for write in WRITES:
            # A ScriptedModel is no value, and keeps what it was asked.
            with suppress(AttributeError, TypeError, attrs.exceptions.NotAnAttrsClassError):
                write(None if isinstance(part, ScriptedModel) else part)
    return written(value) != before


# ---------------------------------------------------------------- handlers of a program


class Programmed:
    """The handlers of a program, and what they saw and did."""

    def __init__(self, program: list[Handler]) -> None:
        self.program = program
        self.took: list[bool] = []
        self.views: list[tuple[int, Any, str]] = []
        self.states: list[Any] = []
        self.marks = 0

    @property
    def middleware(self) -> list[Middleware]:
        return [
            getattr(STAGES[one.stage], one.phase)(getattr(self, one.phase)(index), name=f"h{index}")
            for index, one in enumerate(self.program)
        ]

    def input(self, index: int) -> Callable[[Any], Any]:
        return lambda context: self.changed(index, self.seen(index, context))

    def output(self, index: int) -> Callable[[Any, Any], Any]:
        def handler(context: Any, result: Any) -> Any:
            self.seen(index, context)
            self.seen(index, result)
            return self.answer(index, context) if "answer" in self.program[index].ops else None

        return handler

    def wrap(self, index: int) -> Callable[[Any, Any], Any]:
        ops = self.program[index].ops

        async def handler(context: Any, call_next: Any) -> Any:
            self.seen(index, context)
            if "answer" in ops:
                return self.answer(index, context)
            if "again" in ops:
                self.seen(index, await call_next(self.changed(index, context)))
            return self.seen(index, await call_next(self.changed(index, context)))

        async def generator(context: Any, call_next: Any) -> Any:
            self.seen(index, context)
            made = call_next(self.changed(index, context))
            async for event in made:
                yield event
            yield self.seen(index, made.result)

        return generator if "events" in ops else handler

    def seen(self, index: int, value: Any) -> Any:
        self.views.append((index, value, written(value)))
        if "write" in self.program[index].ops:
            self.took.append(takes_writes(value))
        if "share" in self.program[index].ops and hasattr(value, "invocation_state"):
            value.invocation_state[f"h{index}"] = True
        self.states += [value.invocation_state] if hasattr(value, "invocation_state") else []
        return value

    def mark(self, index: int, context: Any) -> str:
        """A text that is nowhere else, with who passed it on, and at which stage and step."""
        self.marks += 1
        stage = self.program[index].stage
        return f"<{stage}.{getattr(context, 'step_number', 0)}.{index}.{self.marks}>"

    def changed(self, index: int, context: Any) -> Any:
        if "pass on" not in self.program[index].ops:
            return context
        said = self.mark(index, context)
        note = UserMessage([TextPart(said)])
        match context:
            case InvokeModelContext():
                request = attrs.evolve(context.request, prompt=[*context.request.prompt, note])
                return attrs.evolve(context, request=request)
            case ExecuteToolContext() if context.tool.name == "say":
                made = attrs.evolve(context.call, input={"text": said})
                return attrs.evolve(context, call=made)
            case AgentStreamContext():
                return attrs.evolve(context, messages=[*context.messages, note])
        return context

    def answer(self, index: int, context: Any) -> Any:
        match context:
            case InvokeModelContext():
                return ModelResponse([GeneratedText(f"answer {index}")], finish_reason="stop")
            case ExecuteToolContext():
                return context.succeeded(f"answer {index}")
        assert isinstance(context, AgentStreamContext)
        return context.answered(f"answer {index}")

    def place(self, index: int) -> tuple[int, int]:
        """Where a handler stands in its stage: those after it are inside."""
        return (["input", "wrap", "output"].index(self.program[index].phase), index)


def marks(shown: str) -> set[tuple[int, int, int]]:
    """The stages, steps and handlers of the marks in a text."""
    return {
        (int(stage), int(step), int(index))
        for stage, step, index in re.findall(r"<(\d)\.(\d+)\.(\d+)\.\d+>", shown)
    }


# ---------------------------------------------------------------- the property


class Watched:
    """An agent whose tool and hooks note what they are given."""

    def __init__(self) -> None:
        self.tools: list[tuple[int, Any]] = []
        self.hooks: list[str] = []

    def agent(self, model: ScriptedModel) -> Agent[None]:
        @tool
        async def say(text: str, told: ToolContext) -> str:
            self.tools.append((told.step_number, text))
            self.hooks.append(written(told))
            return "said"

        return Agent(model, tools=[say, add], prepare_step=lambda one: self.hooks.append(written(one)))


def model_of() -> ScriptedModel:
    def answer(request: ModelRequest) -> Any:
        step = sum(message.role == "assistant" for message in request.prompt)
        return [call("say", f"c{step}", text="hi"), call("add", f"d{step}", a=1)] if step < 2 else text()

    return ScriptedModel(answer)


def told(result: AgentResult[Any], model: ScriptedModel) -> list[str]:
    return [written(result.messages), *(written(request.prompt) for request in model.calls)]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("path", ["generate", "stream"])
@given(st.lists(handlers, max_size=5))
@settings(max_examples=FEW)
def test_no_program_of_handlers_changes_more_than_its_own_calls(
    path: str, backend: str, program: list[Handler]
) -> None:
    anyio.run(check, path, program, backend=backend)


async def check(path: str, program: list[Handler]) -> None:
    given_messages: list[Message] = [UserMessage([TextPart("u", {"p": {"a": [1]}})])]
    shown = written(given_messages)
    watched, model = Watched(), model_of()
    agent = watched.agent(model)
    alone = told(await run_by(path, agent, messages=given_messages), model)
    programmed, watched, model = Programmed(program), Watched(), model_of()
    state: dict[str, Any] = {}
    result = await run_by(
        path,
        watched.agent(model),
        messages=given_messages,
        middleware=programmed.middleware,
        invocation_state=state,
    )
    after = model_of()
    assert told(await run_by(path, agent, messages=given_messages, model=after), after) == alone
    assert written(given_messages) == shown
    assert not any(programmed.took)
    assert all(one is state for one in programmed.states)
    check_marks(programmed, watched, model, result)
    assert all(written(value) == before for _, value, before in programmed.views)


def check_marks(
    programmed: Programmed, watched: Watched, model: ScriptedModel, result: AgentResult[Any]
) -> None:
    for request in model.calls:
        step = sum(message.role == "assistant" for message in request.prompt)
        assert all(one == step for stage, one, _ in marks(written(request)) if stage == 0)
        assert not any(stage == 1 for stage, _, _ in marks(written(request)))
    for step, given_text in watched.tools:
        assert all(one == (1, step, one[2]) for one in marks(given_text))
    for one in (*watched.hooks, written(result.steps), written(result.messages)):
        assert not any(stage != 2 for stage, _, _ in marks(one))
    for index, value, before in programmed.views:
        own = programmed.program[index].stage
        for stage, _, by in marks(before):
            if isinstance(value, AgentResult):
                assert stage == 2
            elif stage == own:
                assert programmed.place(by) < programmed.place(index)
            else:
                assert stage == 2


def test_the_check_finds_a_write_into_what_can_be_changed() -> None:
    shared: Any = {"a": [{"b": 1}]}
    assert takes_writes(shared)
    assert not takes_writes(freeze({"a": [{"b": 1}]}))
