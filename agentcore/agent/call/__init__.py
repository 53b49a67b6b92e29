"""The loop that answers the needs of a run, for `generate` and `stream`, on asyncio and trio."""

from __future__ import annotations

from agentcore.agent.call.call import Call
from agentcore.agent.call.config import Emit, Parts
from agentcore.agent.call.errors import (
    AgentError,
    ClosedStreamError,
    ForeignCancellationError,
    InvalidAgentError,
    InvalidAnswerError,
    ResumeError,
    RunningLoopError,
    UnfinishedStreamError,
    UnknownModelError,
)
from agentcore.agent.call.loop import Driver
from agentcore.agent.call.stream import AgentStream, Streaming

__all__ = [
    "AgentError",
    "AgentStream",
    "Call",
    "ClosedStreamError",
    "Driver",
    "Emit",
    "ForeignCancellationError",
    "InvalidAgentError",
    "InvalidAnswerError",
    "Parts",
    "ResumeError",
    "RunningLoopError",
    "Streaming",
    "UnfinishedStreamError",
    "UnknownModelError",
]
