"""The loops that are measured, ours and the peers."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal

import attrs


@attrs.frozen(kw_only=True)
class Loop:
    """A loop of a peer's program, of a `package` that the peer's files pin.

    `states` is whether every step's state is kept after a run: always, by a means of the loop's own that can
    be asked for, or never. With `forks`, a run can go on from a state in its middle. With `handlers`, one can
    be put around each model call.
    """

    name: str
    peer: str
    package: str
    variant: str = ""
    language: Literal["python", "javascript"]
    ours: bool = False
    states: Literal["always", "asked", "never"] = "never"
    forks: bool = False
    handlers: bool = False


_ALL: Final = (
    Loop(
        name="agentcore",
        peer="own",
        package="agentcore-reference",
        language="python",
        ours=True,
        states="always",
        forks=True,
        handlers=True,
    ),
    Loop(
        name="agentcore stream",
        peer="own",
        package="agentcore-reference",
        variant="stream",
        language="python",
        ours=True,
        states="always",
        handlers=True,
    ),
    Loop(
        name="agentcore machine",
        peer="own",
        package="agentcore-reference",
        variant="core",
        language="python",
        ours=True,
        states="always",
    ),
    Loop(name="ai 6 generateText", peer="ai_6", package="ai", language="javascript", states="always"),
    Loop(
        name="ai 6 streamText",
        peer="ai_6",
        package="ai",
        variant="stream",
        language="javascript",
        states="always",
    ),
    Loop(name="ai 7 generateText", peer="ai_7", package="ai", language="javascript", states="always"),
    Loop(
        name="ai 7 streamText",
        peer="ai_7",
        package="ai",
        variant="stream",
        language="javascript",
        states="always",
    ),
    Loop(
        name="strands (JS)",
        peer="strands_ts",
        package="@strands-agents/sdk",
        language="javascript",
        states="asked",
        forks=True,
        handlers=True,
    ),
    Loop(
        name="strands (JS), no copies",
        peer="strands_ts",
        package="@strands-agents/sdk",
        variant="gated",
        language="javascript",
    ),
    Loop(name="mastra", peer="mastra", package="@mastra/core", language="javascript"),
    Loop(
        name="strands (Python)",
        peer="strands_py",
        package="strands-agents",
        language="python",
        states="asked",
        forks=True,
        handlers=True,
    ),
    Loop(name="pydantic-ai", peer="pydantic_ai", package="pydantic-ai-slim", language="python"),
    Loop(
        name="langchain", peer="langchain", package="langchain", language="python", states="asked", forks=True
    ),
    Loop(name="openai-agents", peer="openai_agents", package="openai-agents", language="python"),
)

LOOPS: Final = MappingProxyType({loop.name: loop for loop in _ALL})
"""By name, ours first."""

OURS: Final = "agentcore"
"""The loop that the goals are about."""
