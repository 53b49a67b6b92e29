"""Frameworks, boundaries and releases, readable without importing any framework."""

from __future__ import annotations

from typing import Final

import attrs

__all__ = ["KNOWN", "Framework"]


@attrs.frozen(kw_only=True)
class Framework:
    """A framework that `--in` knows by name.

    Attributes:
        language: `python` or `javascript`.
        boundaries: the values of `--at`.
        paths: the values of `--path`.
        tried: the releases that the checks were tried with.
    """

    language: str
    boundaries: tuple[str, ...]
    paths: tuple[str, ...] = ("generate", "stream")
    tried: tuple[str, ...]


KNOWN: Final = {
    "ai": Framework(
        language="javascript",
        boundaries=(
            *("prepareStep", "onStepFinish", "stopWhen", "execute", "middleware", "prepareCall"),
            *("onFinish", "onEnd", "onStepEnd", "onStart", "onStepStart"),
            *("experimental_onStart", "experimental_onStepStart"),
            *("onToolExecutionStart", "onToolExecutionEnd"),
            *("experimental_onToolCallStart", "experimental_onToolCallFinish"),
            *("onChunk", "experimental_transform", "repairToolCall", "experimental_repairToolCall"),
            *("needsApproval", "onInputAvailable", "toModelOutput"),
        ),
        tried=("5.0", "6.0", "7.0"),
    ),
    "agent-framework": Framework(
        language="python",
        boundaries=(
            *("chat_middleware", "agent_middleware", "function_middleware"),
            *("context_provider", "context_provider_after_run"),
        ),
        tried=("1.23.0",),
    ),
    "google-adk": Framework(
        language="python",
        boundaries=(
            *("before_model_callback", "after_model_callback"),
            *("before_tool_callback", "after_tool_callback"),
        ),
        tried=("2.13.0",),
    ),
    "langchain": Framework(
        language="python",
        boundaries=(
            *("before_agent", "before_model", "after_model", "after_agent"),
            *("wrap_model_call", "wrap_tool_call", "langgraph_node"),
        ),
        tried=("1.5.2",),
    ),
    "langchain-js": Framework(
        language="javascript",
        boundaries=("beforeModel", "afterModel", "wrapModelCall", "wrapToolCall"),
        tried=("1.5.14",),
    ),
    "mastra": Framework(
        language="javascript",
        boundaries=("processInput", "processInputStep", "prepareStep", "processOutputResult"),
        tried=("1.71.0",),
    ),
    "openai-agents-js": Framework(
        language="javascript",
        boundaries=("callModelInputFilter", "sessionInputCallback"),
        tried=("0.20.0",),
    ),
    "pydantic-ai": Framework(
        language="python",
        boundaries=(
            *("history_processor", "before_model_request", "after_model_request", "wrap_model_request"),
            *("before_tool_execute", "after_tool_execute"),
        ),
        tried=("1.107.10", "2.68.0"),
    ),
    "openai-agents": Framework(
        language="python",
        boundaries=(
            *("call_model_input_filter", "session_input_callback", "on_llm_start", "on_llm_end"),
            *("on_tool_end", "input_guardrail"),
        ),
        tried=("0.24.0",),
    ),
    "strands": Framework(
        language="javascript",
        boundaries=(
            *("InvokeModelStage.Input", "ExecuteToolStage.Input", "AgentStreamStage"),
            *("BeforeModelCallEvent", "AfterModelCallEvent"),
        ),
        tried=("1.19.0",),
    ),
    "strands-py": Framework(
        language="python",
        boundaries=("before_model_call", "after_model_call", "invoke_model_middleware"),
        tried=("1.62.0",),
    ),
}
