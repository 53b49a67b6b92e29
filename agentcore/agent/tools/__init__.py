"""Tools: `@tool` on a function with type hints, and everything an agent has to know of one.

>>> @tool
... def add(a: int, b: int = 1) -> int:
...     "Add two numbers."
...     return a + b
>>> add(1, 2)
3
>>> add.validated({"a": "1"})
{'a': 1, 'b': 1}
"""

from __future__ import annotations

from agentcore.agent.tools.contract import (
    InvalidToolError,
    InvalidToolInputError,
    InvalidToolOutputError,
    MismatchError,
    Problem,
)
from agentcore.agent.tools.tool import ApprovalRule, Arguments, Tool, ToolContext, tool, tool_without_execute

__all__ = [
    "ApprovalRule",
    "Arguments",
    "InvalidToolError",
    "InvalidToolInputError",
    "InvalidToolOutputError",
    "MismatchError",
    "Problem",
    "Tool",
    "ToolContext",
    "tool",
    "tool_without_execute",
]
