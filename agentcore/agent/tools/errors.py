"""What goes wrong with tools, by whose fault it is."""

from __future__ import annotations

from typing import ClassVar, Final, NamedTuple

from agentcore.errors import AgentCoreError, InvalidJsonError

__all__ = [
    "InvalidToolError",
    "InvalidToolInputError",
    "InvalidToolOutputError",
    "MismatchError",
    "Problem",
]

_LISTED: Final = 5


class Problem(NamedTuple):
    """One thing that is wrong with a value: where, what, and the beginning of what is there instead."""

    path: str
    reason: str
    given: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason} (given: {self.given})"


class MismatchError(AgentCoreError, ValueError):
    """A value is not of the type or schema that was asked for; `path` is that of the first problem.

    The text lists the first few problems, one a line, and says how many more there are.
    """

    wire_name: ClassVar[str] = "MismatchError"
    path: str

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.problems = problems
        self.path = problems[0].path

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:_LISTED]]
        if len(self.problems) > _LISTED:
            lines.append(f"and {len(self.problems) - _LISTED} more")
        return "\n".join(lines)


class InvalidToolInputError(MismatchError):
    """A model called a tool with input that is not what the tool takes.

    The text is for the model: every problem with its path, and that the call can be made again.
    """

    wire_name = "AI_InvalidToolInputError"

    def __init__(self, tool_name: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems)
        self.args = (tool_name, problems)
        self.tool_name = tool_name

    def __str__(self) -> str:
        problems = super().__str__()
        return f"Invalid input for tool '{self.tool_name}':\n{problems}\nCall it again with valid input."


class InvalidToolOutputError(InvalidJsonError):
    """What a tool returned cannot be turned into JSON; `path` is within what it returned."""

    wire_name = "InvalidToolOutputError"

    def __init__(self, tool_name: str, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.args = (tool_name, path, reason)
        self.tool_name = tool_name

    def __str__(self) -> str:
        return f"tool '{self.tool_name}' returned no JSON at {self.path}: {self.reason}"


class InvalidToolError(AgentCoreError, TypeError):
    """A tool was defined in a way that cannot work; `reason` says what to change."""

    wire_name = "InvalidToolError"

    def __init__(self, tool_name: str, reason: str) -> None:
        super().__init__(tool_name, reason)
        self.tool_name = tool_name
        self.reason = reason

    def __str__(self) -> str:
        return f"tool '{self.tool_name}': {self.reason}"
