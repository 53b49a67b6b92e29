"""What `before_model_request` returns, in Pydantic AI 2.0.0 and 2.68.0: kept for good, or for this request."""

from importlib.metadata import version
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

asked: list[Any] = []


def answer(messages: Any, info: Any) -> ModelResponse:
    """Calls a tool, then answers."""
    asked.append([part.content for each in messages for part in each.parts if hasattr(part, "content")])
    return ModelResponse([ToolCallPart("look", {})] if len(asked) == 1 else [TextPart("ok")])


class Notes(AbstractCapability[Any]):
    """Puts a note before the messages of the first request."""

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        if not asked:
            note = ModelRequest([UserPromptPart("note")])
            request_context.messages = [note, *request_context.messages]
        return request_context


agent = Agent(FunctionModel(answer), capabilities=[Notes()])


@agent.tool_plain
def look() -> str:
    """Look."""
    return "sunny"


result = agent.run_sync("hi")
kept = [part.content for each in result.all_messages() for part in each.parts if hasattr(part, "content")]
print("pydantic-ai-slim", version("pydantic-ai-slim"))
print("requests have the note:", ["note" in each for each in asked])
print("the result has it:", "note" in kept)
