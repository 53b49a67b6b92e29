"""agentcore: the agent whole and as a stream, and the machine below it driven by a plain loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from agentcore import AssistantMessage, UserMessage
from agentcore.agent.agent import Agent
from agentcore.agent.middleware import CallModel, InvokeModelContext, InvokeModelStage
from agentcore.agent.models.base import ModelEvent, ModelRequest, ModelResponse, PartDone, ResponseDone
from agentcore.agent.tools import Tool, tool
from agentcore.machine.effects import (
    Done,
    HookResult,
    ModelAnswer,
    Need,
    NeedModel,
    NeedPrepareStep,
    NeedStepStart,
    NeedStop,
    NeedTools,
    Outcome,
    Settings,
    ToolOutcomes,
    ToolSpec,
    ToolSucceeded,
)
from agentcore.machine.hooks import StepOverride
from agentcore.machine.prepare import StepPreparation
from agentcore.machine.processors import StepArguments
from agentcore.machine.run import Failed, Run, give, need, start
from agentcore.messages.content import ContentPart, GeneratedText, ToolCall
from agentcore.messages.messages import Message
from agentcore.messages.values import extend_vector
from agentcore.records.history import fork
from benchmarks.peers import serving
from benchmarks.peers.serving import REMINDER, TOOL, Forks, Script, Task, serve

_NO_LIMIT: Final = 10**9
_NOTHING: Final = HookResult()
# The needs of a step that nobody answers here.
_UNHEARD: Final[frozenset[type[Need]]] = frozenset({NeedPrepareStep, NeedStepStart, NeedStop})


def _messages(task: Task) -> list[Message]:
    return [UserMessage(text) if role == "user" else AssistantMessage(text) for role, text in task.messages()]


def _content(script: Script, prompt: int) -> list[ContentPart]:
    number = script.call(prompt)
    if number is None:
        return [GeneratedText(serving.DONE)]
    return [ToolCall(tool_call_id=f"call-{number}", tool_name=TOOL, input={"q": number})]


def _reminded(step: StepPreparation | StepArguments) -> StepOverride:
    return StepOverride(messages=extend_vector(step.messages, [UserMessage(REMINDER)]))


async def _passed_on(context: InvokeModelContext[Any], call_next: CallModel) -> ModelResponse:
    return await call_next(context)


class _Model:
    """A scripted model that waits for nothing."""

    provider = "scripted"
    model_id = "scripted"

    def __init__(self, script: Script) -> None:
        self._script = script

    async def generate(self, request: ModelRequest) -> ModelResponse:
        content = _content(self._script, len(request.prompt))
        return ModelResponse(
            content, finish_reason="tool-calls" if content[0].type == "tool-call" else "stop"
        )

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        yield self._events(request)

    async def _events(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        response = await self.generate(request)
        for part in response.content:
            yield PartDone(part)
        yield ResponseDone(response)


def _tool(script: Script) -> Tool[..., Any]:
    @tool
    async def look(q: int) -> str:
        """Look something up."""
        return script.look(q)

    return look


# ---------------------------------------------------------------- the three loops


def _agent(task: Task, script: Script) -> serving.Run:
    agent = Agent(
        _Model(script),
        tools=[_tool(script)],
        stop_when=(),
        prepare_step=_reminded if task.override else None,
        middleware=[InvokeModelStage.wrap(_passed_on)] if task.handler else [],
    )
    messages = _messages(task)

    async def whole() -> serving.Outcome:
        result = await agent.generate(messages=messages)
        return serving.Outcome(result.text, result)

    async def streamed() -> serving.Outcome:
        async with agent.stream(messages=messages) as stream:
            async for _ in stream:
                pass
        return serving.Outcome(stream.result().text, stream.result())

    return streamed if task.variant == "stream" else whole


def _machine(task: Task, script: Script) -> serving.Run:
    messages = _messages(task)

    async def driven() -> serving.Outcome:
        run = _driven(start(_SETTINGS, messages), task, script)
        return serving.Outcome(run.steps[-1].text, run)

    return driven


_SETTINGS: Final = Settings(model="scripted", tools=[ToolSpec(TOOL)], max_steps=_NO_LIMIT)


def _driven(run: Run, task: Task, script: Script) -> Run:
    unheard = _UNHEARD - {NeedPrepareStep} if task.override else _UNHEARD
    while not isinstance(run.pending, Done | Failed):
        run = give(run, _outcome(run, task, script), unheard)
    if isinstance(run.pending, Failed):
        raise run.pending.error
    return run


def last_prompt(history: int, steps: int) -> Sequence[Message]:
    """What the last model call of such a run is given."""
    task = Task(history, steps)
    run, script = start(_SETTINGS, _messages(task)), Script(task)
    prompt: Sequence[Message] = ()
    while not isinstance(run.pending, Done | Failed):
        if isinstance(run.pending, NeedModel):
            prompt = run.pending.prompt
        run = give(run, _outcome(run, task, script))
    return prompt


def _outcome(run: Run, task: Task, script: Script) -> Outcome:
    match need(run):
        case NeedModel() as wanted:
            return ModelAnswer(_content(script, len(wanted.prompt)))
        case NeedTools() as wanted:
            found = [(call.tool_call_id, _number(call)) for call in wanted.calls]
            return ToolOutcomes([ToolSucceeded(call_id, script.look(number)) for call_id, number in found])
        case NeedPrepareStep() as wanted if task.override:
            return HookResult(_reminded(wanted.step))
        case _:
            return _NOTHING


def _number(call: ToolCall) -> int:
    taken: Any = call.input
    return int(taken["q"])


# ---------------------------------------------------------------- the peer


class Own:
    """Our three loops."""

    def prepared(self, task: Task, script: Script) -> serving.Run:
        """The run of the loop that the task's variant names."""
        return _machine(task, script) if task.variant == "core" else _agent(task, script)

    async def forks(self, task: Task, script: Script) -> Forks:
        """Forks of the machine's run."""
        run = _driven(start(_SETTINGS, _messages(task)), task, script)
        middle = task.steps // 2

        def forked(number: int) -> Run:
            shown = fork(run, middle).chains.step_input
            return fork(run, middle, messages=extend_vector(shown, [UserMessage(f"{REMINDER} {number}")]))

        return Forks(forked, lambda run: len(run.chains.step_input))


if __name__ == "__main__":
    serve(Own())
