"""OpenAI Agents SDK: an input filter that cuts long tool outputs for one model call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    ToolOutputText,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.run import CallModelData, ModelInputData
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from agentcore.guard import guard

Filter = Callable[[CallModelData[Any]], ModelInputData]


def is_output(item: Any) -> bool:
    return item.get("type") == "function_call_output"


def cut(data: CallModelData[Any]) -> ModelInputData:
    """Writes to the parts of an output: list and items are new at each call, the parts are the run's."""
    for item in filter(is_output, data.model_data.input):
        item["output"][0]["text"] = item["output"][0]["text"][:4] + "..."
    return data.model_data


def cut_mended(data: CallModelData[Any]) -> ModelInputData:
    """Puts a new output into a new item of a new list."""

    def cut_item(item: Any) -> Any:
        first, *others = item["output"]
        return {**item, "output": [{**first, "text": first["text"][:4] + "..."}, *others]}

    items = [cut_item(item) if is_output(item) else item for item in data.model_data.input]
    return ModelInputData(input=items, instructions=data.model_data.instructions)


def guarded(hook: Filter) -> Filter:
    """The same filter; prints what it changes of what it is given."""

    def filtered(data: CallModelData[Any]) -> ModelInputData:
        with guard(data.model_data.input) as report:
            returned = hook(data)
        print(f"  guard: {report}")
        return returned

    return filtered


class Scripted(Model):
    """A model that calls its tool, then says what it was asked."""

    def __init__(self) -> None:
        self.calls = 0

    async def get_response(
        self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any
    ) -> ModelResponse:
        self.calls += 1
        if self.calls == 1:
            call = ResponseFunctionToolCall(call_id="c1", name="look", arguments="{}", type="function_call")
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = f"read {[item['output'][0]['text'] for item in input if is_output(item)]}"
        part = ResponseOutputText(text=text, type="output_text", annotations=[])
        said = ResponseOutputMessage(
            id="m", content=[part], role="assistant", status="completed", type="message"
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("this model answers at once; run the agent without streaming")


@function_tool
def look() -> list[ToolOutputText]:
    """Looks it up."""
    return [ToolOutputText(text="a long result")]


async def run(hook: Filter) -> None:
    print(hook.__name__)
    agent = Agent(name="agent", model=Scripted(), tools=[look])
    config = RunConfig(call_model_input_filter=guarded(hook))
    result = await Runner.run(agent, "look it up", run_config=config)
    outputs = [item["output"][0]["text"] for item in result.to_input_list() if is_output(item)]
    print(f"  model: {result.final_output}")
    print(f"  result: {outputs}")


set_tracing_disabled(disabled=True)
for hook in (cut, cut_mended):
    asyncio.run(run(hook))
