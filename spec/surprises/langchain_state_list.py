"""An edit of the list in `request.state` during `wrap_model_call`, in LangChain 1.4.2 and 1.4.3."""

from importlib.metadata import version
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool


class Scripted(BaseChatModel):
    """Calls a tool, then answers; prints what it is asked with."""

    asked: Any = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
        self.asked.append([each.content for each in messages])
        calls = [{"name": "look", "args": {}, "id": "c1"}] if len(self.asked) == 1 else []
        return ChatResult(generations=[ChatGeneration(message=AIMessage("ok", tool_calls=calls))])


@tool
def look() -> str:
    """Look."""
    return "sunny"


class Notes(AgentMiddleware):
    """Adds a note to the state's own list, and passes the request on as it is."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        if len(request.state["messages"]) == 1:
            request.state["messages"].append(HumanMessage("note"))
        return handler(request)


asked: list[Any] = []
agent = create_agent(Scripted(asked=asked), tools=[look], middleware=[Notes()])
result = agent.invoke({"messages": [HumanMessage("hi")]})
print("langchain", version("langchain"))
print("prompts have the note:", ["note" in each for each in asked])
print("the result has it:", "note" in [each.content for each in result["messages"]])
