"""Models: the protocol that agents speak, a scripted model, and an adapter to real providers.

`agentcore.agent.models.pydantic_ai` is imported only by who uses it: it needs the extra `providers`.
"""

from __future__ import annotations

from agentcore.agent.models.base import (
    FallbackModel,
    InvalidResponseError,
    LanguageModel,
    ModelError,
    ModelEvent,
    ModelRequest,
    ModelResponse,
    ModelsFailedError,
    PartDone,
    ReasoningDelta,
    ResponseDone,
    TextDelta,
    ToolDefinition,
    ToolInputDelta,
    Usage,
)
from agentcore.agent.models.scripted import ScriptedModel

__all__ = [
    "FallbackModel",
    "InvalidResponseError",
    "LanguageModel",
    "ModelError",
    "ModelEvent",
    "ModelRequest",
    "ModelResponse",
    "ModelsFailedError",
    "PartDone",
    "ReasoningDelta",
    "ResponseDone",
    "ScriptedModel",
    "TextDelta",
    "ToolDefinition",
    "ToolInputDelta",
    "Usage",
]
