"""What answers the needs of a run: one loop for `generate` and `stream`, on asyncio and trio."""

from __future__ import annotations

from agentcore.driver.call import Call
from agentcore.driver.errors import (
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
from agentcore.driver.loop import Driver
from agentcore.driver.parts import Emit, Parts
from agentcore.driver.stream import AgentStream, Streaming

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
