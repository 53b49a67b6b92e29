"""Programs of the oracle on agents: what the program says of hooks, models and tools, as an agent's own.

As a script it compares the traces of agents with those of `agentcore trace --profile immutable`:

    python tests/agent/program_agent.py 5000
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio

from agent.kit import went_wrong
from agentcore.agent.agent import Agent, AgentError
from agentcore.agent.call.config import step_count_is
from agentcore.agent.models.base import ModelEvent, ModelRequest, ModelResponse, PartDone, ResponseDone
from agentcore.agent.tools import Tool, ToolContext
from agentcore.errors import AgentCoreError, InvalidPromptError, WireError
from agentcore.frameworks.ai_sdk import immutable
from agentcore.frameworks.ai_sdk.programs import program_of_seed
from agentcore.frameworks.ai_sdk.reference import trace as reference_trace
from agentcore.machine.effects import (
    HookFailed,
    ModelAnswer,
    ModelFailed,
    NeedFinish,
    NeedModel,
    NeedPrepareStep,
    NeedStepFinish,
    NeedStepStart,
    NeedStop,
    NeedTools,
    Outcome,
    ToolFailed,
    ToolsFailed,
    ToolSpec,
)
from agentcore.messages.content import ToolCall
from agentcore.messages.values import JsonValue, vector

Json = dict[str, Any]
BACKENDS = ("asyncio", "trio")
PATHS = ("generate", "stream")


def _result(outcome: Outcome) -> Any:
    """What a hook returns, or raises, to have this outcome."""
    if isinstance(outcome, HookFailed | ModelFailed | ToolsFailed):
        raise outcome.error
    return getattr(outcome, "value", None)


class ProgramModel:
    """A model that answers as the program's script says."""

    provider = "scripted"

    def __init__(self, model_id: str, answer: Callable[[NeedModel], Outcome]) -> None:
        self.model_id = model_id
        self._answer = answer

    async def generate(self, request: ModelRequest) -> ModelResponse:
        await anyio.lowlevel.checkpoint()
        tools = request.tools
        outcome = self._answer(
            NeedModel(
                model=self.model_id,
                prompt=request.prompt,
                tools=None if tools is None else vector(ToolSpec(tool.name) for tool in tools),
                tool_choice=request.tool_choice,
                provider_options=request.provider_options,
            )
        )
        _result(outcome)
        assert isinstance(outcome, ModelAnswer)
        calls = any(isinstance(part, ToolCall) for part in outcome.content)
        return ModelResponse(outcome.content, finish_reason="tool-calls" if calls else "stop")

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        response = await self.generate(request)

        async def events() -> AsyncIterator[ModelEvent]:
            for part in response.content:
                yield PartDone(part)
            yield ResponseDone(response)

        yield events()


class ProgramAgent:
    """A program, and the agent that runs it."""

    def __init__(self, program: Mapping[str, Any]) -> None:
        self.program = program
        self.recording = immutable.Recording(program)

    def agent(self) -> Agent:
        """The agent. Raises as the reference does for settings that are none."""
        recording = self.recording
        settings = recording._settings()
        return Agent(
            self.model(settings.model),
            tools=[self.tool(spec) for spec in settings.tools or ()],
            system=settings.system,
            prepare_step=self.prepare_step,
            stop_when=[
                lambda steps: _result(recording._stop(NeedStop(steps))),
                step_count_is(settings.max_steps),
            ],
            on_step_start=lambda event: _result(recording._step_start(NeedStepStart(event))),
            on_step_finish=self.on_step_finish,
            on_finish=lambda result: _result(recording._finish(NeedFinish(result))),
            tool_choice=settings.tool_choice,
            active_tools=settings.active_tools,
            provider_options=settings.provider_options,
            experimental_context=settings.experimental_context,
            # Ops may keep what tools are given, so their order counts.
            tool_concurrency=1,
            slow_hook_seconds=60,
        )

    def model(self, model_id: str) -> ProgramModel:
        return ProgramModel(model_id, self.recording._model)

    def prepare_step(self, arguments: Any) -> Any:
        result = _result(self.recording._prepare_step(NeedPrepareStep(arguments)))
        if result is not None and "model" in result:
            return {**result, "model": self.model(result["model"])}
        return result

    async def on_step_finish(self, record: Any) -> None:
        _result(self.recording._step_finish(NeedStepFinish(record)))

    def tool(self, spec: ToolSpec) -> Tool[..., Any]:
        async def execute(value: JsonValue, told: ToolContext) -> JsonValue:
            call = ToolCall(tool_call_id=told.tool_call_id, tool_name=spec.name, input=value)
            context = told.experimental_context
            wanted = NeedTools(calls=vector([call]), messages=told.messages, experimental_context=context)
            return self._executed(call, wanted)

        return Tool(
            spec.name,
            {},
            execute=execute if spec.has_execute else None,
            needs_approval=bool(spec.needs_approval),
            read=lambda value: {"value": value},
            context_parameter="told",
        )

    def _executed(self, call: ToolCall, wanted: NeedTools) -> JsonValue:
        """What the tool returns. Raises what the program says."""
        outcome = self.recording._run_tool(call, wanted)
        if isinstance(outcome, ToolFailed):
            raise RuntimeError(outcome.error)  # noqa: TRY004 - what the program throws
        return outcome.output

    async def trace(self) -> Json:
        """Run it, and write its trace."""
        recording, program = self.recording, self.program
        try:
            try:
                agent = self.agent()
                messages = immutable._caller_messages(program["messages"])
            except WireError as error:
                raise InvalidPromptError(error.reason, error.path) from None
            recording._keep_caller(messages)
            run = (await self._run(agent, messages)).run
        except AgentError as error:
            return recording._written(
                cast("Exception", went_wrong(error)), recording._final(error.run.steps, "other")
            )
        except AgentCoreError as error:
            return recording._written(error, None)
        return recording._written(None, recording._final(run.steps, run.steps[-1].finish_reason))

    async def _run(self, agent: Agent, messages: Any) -> Any:
        if self.program["path"] == "generate":
            return await agent.generate(messages=messages)
        async with agent.stream(messages=messages) as stream:
            async for _ in stream:
                pass
        return stream.result()


async def _traces(programs: list[Json]) -> list[Json]:
    return [await ProgramAgent(program).trace() for program in programs]


def disagreements(seeds: range, path: str, backend: str) -> Iterator[tuple[int, Json, Json]]:
    """The programs of which the trace of an agent is not the reference's, with both traces."""
    programs = [program_of_seed(seed, path) for seed in seeds]
    ours = anyio.run(_traces, programs, backend=backend)
    for seed, program, made in zip(seeds, programs, ours, strict=True):
        expected = reference_trace(program, "immutable")
        if made != expected:
            yield seed, made, expected


def main(count: int) -> int:
    wrong = 0
    for backend in BACKENDS:
        for path in PATHS:
            found = list(disagreements(range(count), path, backend))
            wrong += len(found)
            first = [seed for seed, *_ in found[:5]]
            sys.stdout.write(f"{backend} {path}: {count} programs, {len(found)} disagreements {first}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000))
