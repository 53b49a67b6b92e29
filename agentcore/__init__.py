"""Reference implementation of what an agent loop does with messages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from agentcore.errors import (
    AgentCoreError,
    ImmutableWriteError,
    InvalidJsonError,
    InvalidMessageError,
    WireError,
)
from agentcore.messages import (
    AssistantMessage,
    ContentOutput,
    ErrorJsonOutput,
    ErrorTextOutput,
    ExecutionDeniedOutput,
    FilePart,
    ImagePart,
    JsonOutput,
    Message,
    ReasoningPart,
    SystemMessage,
    TextOutput,
    TextPart,
    ToolApprovalRequestPart,
    ToolApprovalResponsePart,
    ToolCallPart,
    ToolMessage,
    ToolOutput,
    ToolResultPart,
    UserMessage,
)
from agentcore.values import JsonObject, JsonValue, Vector, freeze, thaw, vector
from agentcore.wire import message_from_wire, message_to_wire, messages_from_wire, messages_to_json

if TYPE_CHECKING:
    from agentcore.agent import Agent, AgentError, AgentResult
    from agentcore.hooks import StepOverride
    from agentcore.interrupts import Interrupt
    from agentcore.message_list import MessageList
    from agentcore.middleware import (
        AgentStreamContext,
        AgentStreamStage,
        ExecuteToolContext,
        ExecuteToolStage,
        InvokeModelContext,
        InvokeModelStage,
        Middleware,
    )
    from agentcore.models.scripted import ScriptedModel
    from agentcore.output import Output
    from agentcore.processors import InputArguments, Processor, StepArguments, Tripwire
    from agentcore.tools import Tool, ToolContext, tool

__all__ = [
    "Agent",
    "AgentCoreError",
    "AgentError",
    "AgentResult",
    "AgentStreamContext",
    "AgentStreamStage",
    "AssistantMessage",
    "ContentOutput",
    "ErrorJsonOutput",
    "ErrorTextOutput",
    "ExecuteToolContext",
    "ExecuteToolStage",
    "ExecutionDeniedOutput",
    "FilePart",
    "ImagePart",
    "ImmutableWriteError",
    "InputArguments",
    "Interrupt",
    "InvalidJsonError",
    "InvalidMessageError",
    "InvokeModelContext",
    "InvokeModelStage",
    "JsonObject",
    "JsonOutput",
    "JsonValue",
    "Message",
    "MessageList",
    "Middleware",
    "Output",
    "Processor",
    "ReasoningPart",
    "ScriptedModel",
    "StepArguments",
    "StepOverride",
    "SystemMessage",
    "TextOutput",
    "TextPart",
    "Tool",
    "ToolApprovalRequestPart",
    "ToolApprovalResponsePart",
    "ToolCallPart",
    "ToolContext",
    "ToolMessage",
    "ToolOutput",
    "ToolResultPart",
    "Tripwire",
    "UserMessage",
    "Vector",
    "WireError",
    "freeze",
    "message_from_wire",
    "message_to_wire",
    "messages_from_wire",
    "messages_to_json",
    "thaw",
    "tool",
    "vector",
]

# Whoever wants messages only does not wait for what agents need.
_LATER: Final = {
    "Agent": "agentcore.agent",
    "AgentError": "agentcore.agent",
    "AgentResult": "agentcore.agent",
    "AgentStreamContext": "agentcore.middleware",
    "AgentStreamStage": "agentcore.middleware",
    "ExecuteToolContext": "agentcore.middleware",
    "ExecuteToolStage": "agentcore.middleware",
    "Interrupt": "agentcore.interrupts",
    "InvokeModelContext": "agentcore.middleware",
    "InvokeModelStage": "agentcore.middleware",
    "Middleware": "agentcore.middleware",
    "InputArguments": "agentcore.processors",
    "MessageList": "agentcore.message_list",
    "Output": "agentcore.output",
    "Processor": "agentcore.processors",
    "ScriptedModel": "agentcore.models.scripted",
    "StepArguments": "agentcore.processors",
    "StepOverride": "agentcore.hooks",
    "Tool": "agentcore.tools",
    "ToolContext": "agentcore.tools",
    "Tripwire": "agentcore.processors",
    "tool": "agentcore.tools",
}


def __getattr__(name: str) -> Any:
    """The names that are imported when they are first asked for."""
    if name not in _LATER:
        raise AttributeError(f"module 'agentcore' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
