"""What answers the needs of a run: one loop for `generate` and `stream`, on asyncio and trio."""

from __future__ import annotations

from agentcore.driver.call import AgentStream, Call, streaming
from agentcore.driver.errors import (
    AgentError,
    ResumeError,
    RunningLoopError,
    UnfinishedStreamError,
    UnknownModelError,
)
from agentcore.driver.loop import Driver
from agentcore.driver.parts import Emit, Parts

__all__ = [
    "AgentError",
    "AgentStream",
    "Call",
    "Driver",
    "Emit",
    "Parts",
    "ResumeError",
    "RunningLoopError",
    "UnfinishedStreamError",
    "UnknownModelError",
    "streaming",
]
