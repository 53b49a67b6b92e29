"""The OpenAI Agents SDK: Runner.run, tracing off."""

from __future__ import annotations

from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from agents.run import CallModelData, ModelInputData
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from benchmarks.peers import serving
from benchmarks.peers.serving import REMINDER, Forks, Script, Task, UnsupportedError, serve


class _Model(Model):
    def __init__(self, script: Script) -> None:
        self._script = script

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],  # noqa: A002 - passed by its name
        *args: Any,
        **kwargs: Any,
    ) -> ModelResponse:
        del system_instructions, args, kwargs
        number = self._script.call(len(input))
        return ModelResponse(output=[_item(number)], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        raise UnsupportedError("it is run whole here")


def _item(number: int | None) -> Any:
    if number is None:
        text = ResponseOutputText(text=serving.DONE, type="output_text", annotations=[])
        return ResponseOutputMessage(
            id="message", content=[text], role="assistant", status="completed", type="message"
        )
    call_id, arguments = f"call-{number}", f'{{"q": {number}}}'
    return ResponseFunctionToolCall(
        call_id=call_id, name=serving.TOOL, arguments=arguments, type="function_call"
    )


def _reminded(data: CallModelData[Any]) -> ModelInputData:
    given = data.model_data
    return ModelInputData(
        input=[*given.input, {"role": "user", "content": REMINDER}], instructions=given.instructions
    )


class _OpenAiAgents:
    def prepared(self, task: Task, script: Script) -> serving.Run:
        if task.keep:
            raise UnsupportedError("it keeps no states of a run")

        @function_tool
        async def look(q: int) -> str:
            """Look something up."""
            return script.look(q)

        agent = Agent(name="agent", model=_Model(script), tools=[look])
        config = RunConfig(call_model_input_filter=_reminded if task.override else None)
        messages: Any = [{"role": role, "content": text} for role, text in task.messages()]

        async def run() -> serving.Outcome:
            result = await Runner.run(agent, messages, max_turns=task.steps + 1, run_config=config)
            return serving.Outcome(str(result.final_output), result)

        return run

    async def forks(self, task: Task, script: Script) -> Forks:
        del task, script
        raise UnsupportedError("it has no states to go back to")


if __name__ == "__main__":
    set_tracing_disabled(disabled=True)
    serve(_OpenAiAgents())
