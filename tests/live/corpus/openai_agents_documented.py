"""Hooks that do what examples of the OpenAI Agents SDK do, written anew, each with its verdict."""

from __future__ import annotations

from typing import Any

from agents import AgentHooks, GuardrailFunctionOutput, RunHooks
from agents.run import ModelInputData


# session_input_callback: cuts-pair
def last_ten(history: Any, new: Any) -> Any:
    """docs/sessions/index.md, "Control how history and new input merge"."""
    return history[-10:] + new


# call_model_input_filter: cuts-pair
def last_five(data: Any) -> Any:
    """docs/running_agents.md, "Call model input filter"."""
    return ModelInputData(input=data.model_data.input[-5:], instructions=data.model_data.instructions)


# on_llm_start: clean
class LogsStarts(RunHooks):
    """docs/agents.md, "Lifecycle events (hooks)"."""

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        f"{agent.name} asks with {len(input_items)} items"


# on_llm_end: clean
class LogsEnds(RunHooks):
    """docs/agents.md, "Lifecycle events (hooks)"."""

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        f"{agent.name} produced {len(response.output)} items"


# on_tool_end: clean
class LogsTools(AgentHooks):
    """docs/agents.md, "Lifecycle events (hooks)"."""

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        f"{tool.name} returned {result}"


# input_guardrail: clean
async def looks_for_homework(context: Any, agent: Any, input: Any) -> Any:  # noqa: A002
    """docs/guardrails.md, "Implementing a guardrail"; the agent that judges there is a word here."""
    return GuardrailFunctionOutput(output_info=None, tripwire_triggered="homework" in str(input))
