"""Reference implementation of what an agent loop does with messages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentcore.agent import Agent, AgentError, AgentResult
    from agentcore.errors import (
        AgentCoreError,
        ImmutableWriteError,
        InvalidJsonError,
        InvalidMessageError,
        WireError,
    )
    from agentcore.hooks import StepOverride
    from agentcore.interrupts import Interrupt
    from agentcore.message_list import MessageList
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
    from agentcore.values import JsonObject, JsonValue, Vector, freeze, thaw, vector
    from agentcore.wire import message_from_wire, message_to_wire, messages_from_wire, messages_to_json

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

# Nothing is imported before it is asked for: whoever wants messages only, or one module, waits for no more.
_WHERE: Final = {
    "Agent": "agentcore.agent",
    "AgentCoreError": "agentcore.errors",
    "AgentError": "agentcore.agent",
    "AgentResult": "agentcore.agent",
    "AgentStreamContext": "agentcore.middleware",
    "AgentStreamStage": "agentcore.middleware",
    "AssistantMessage": "agentcore.messages",
    "ContentOutput": "agentcore.messages",
    "ErrorJsonOutput": "agentcore.messages",
    "ErrorTextOutput": "agentcore.messages",
    "ExecuteToolContext": "agentcore.middleware",
    "ExecuteToolStage": "agentcore.middleware",
    "ExecutionDeniedOutput": "agentcore.messages",
    "FilePart": "agentcore.messages",
    "ImagePart": "agentcore.messages",
    "ImmutableWriteError": "agentcore.errors",
    "InputArguments": "agentcore.processors",
    "Interrupt": "agentcore.interrupts",
    "InvalidJsonError": "agentcore.errors",
    "InvalidMessageError": "agentcore.errors",
    "InvokeModelContext": "agentcore.middleware",
    "InvokeModelStage": "agentcore.middleware",
    "JsonObject": "agentcore.values",
    "JsonOutput": "agentcore.messages",
    "JsonValue": "agentcore.values",
    "Message": "agentcore.messages",
    "MessageList": "agentcore.message_list",
    "Middleware": "agentcore.middleware",
    "Output": "agentcore.output",
    "Processor": "agentcore.processors",
    "ReasoningPart": "agentcore.messages",
    "ScriptedModel": "agentcore.models.scripted",
    "StepArguments": "agentcore.processors",
    "StepOverride": "agentcore.hooks",
    "SystemMessage": "agentcore.messages",
    "TextOutput": "agentcore.messages",
    "TextPart": "agentcore.messages",
    "Tool": "agentcore.tools",
    "ToolApprovalRequestPart": "agentcore.messages",
    "ToolApprovalResponsePart": "agentcore.messages",
    "ToolCallPart": "agentcore.messages",
    "ToolContext": "agentcore.tools",
    "ToolMessage": "agentcore.messages",
    "ToolOutput": "agentcore.messages",
    "ToolResultPart": "agentcore.messages",
    "Tripwire": "agentcore.processors",
    "UserMessage": "agentcore.messages",
    "Vector": "agentcore.values",
    "WireError": "agentcore.errors",
    "freeze": "agentcore.values",
    "message_from_wire": "agentcore.wire",
    "message_to_wire": "agentcore.wire",
    "messages_from_wire": "agentcore.wire",
    "messages_to_json": "agentcore.wire",
    "thaw": "agentcore.values",
    "tool": "agentcore.tools",
    "vector": "agentcore.values",
}


def __getattr__(name: str) -> Any:
    """A public name, whose module is imported when it is first asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module 'agentcore' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    """What there is, whether it was imported or not."""
    return sorted({*globals(), *__all__})
