"""A call's input and the parts of a tool's output, edited by `call_model_input_filter` of OpenAI Agents."""

from importlib.metadata import version
from typing import Any

from agents import (
    Agent,
    ModelResponse,
    RunConfig,
    Runner,
    ToolOutputText,
    Usage,
    function_tool,
    set_tracing_disabled,
)
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
asked: list[str] = []


class Scripted(Model):
    """Calls a tool twice, then answers."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> Any:
        asked.append(str(input))
        number = len(asked)
        call = ResponseFunctionToolCall(
            arguments="{}", call_id=f"c{number}", name="look", type="function_call"
        )
        text = ResponseOutputText(annotations=[], text="ok", type="output_text")
        said = ResponseOutputMessage(
            id="m", content=[text], role="assistant", status="completed", type="message"
        )
        return ModelResponse([said if number == 3 else call], Usage(), None)

    async def stream_response(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("this program does not stream")
        yield


@function_tool
def look() -> list[ToolOutputText]:
    """Look."""
    return [ToolOutputText(text="sunny")]


def edit(data: Any) -> Any:
    """Edits the input of the second call only."""
    if len(asked) == 1:
        for item in data.model_data.input:
            if item.get("type") == "function_call":
                item["name"] += " CALL"
            if item.get("type") == "function_call_output":
                item["output"][0]["text"] += " PART"
    return data.model_data


agent = Agent("a", model=Scripted(), tools=[look])
result = Runner.run_sync(agent, "hi", run_config=RunConfig(call_model_input_filter=edit))
print("openai-agents", version("openai-agents"))
for word in ("CALL", "PART"):
    print(f"{word}: prompts {[word in each for each in asked]}, result {word in str(result.to_input_list())}")
