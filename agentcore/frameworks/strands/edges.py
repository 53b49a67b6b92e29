"""Random values at the edges of the format: tools that are refused or listed otherwise, odd texts, numbers.

Drawn after the rest of a program, so that a seed gives that as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from agentcore.frameworks.strands.writes import Maker
from agentcore.kit.choices import Choices

__all__ = ["Edges"]

Json: TypeAlias = dict[str, Any]

_NAMES: Final = ("0", "12", "toString", "look-it")
_ALIKE: Final = ("strands-structured-output", "a-b", "a_b")
_SURROGATES: Final = ("\ud800", "x\udc00\ud800y", "\U0001f600\udfff")
_NUMBERS: Final = (9007199254740994, 9223372036854775808, -9223372036854775808, 1e21, 1e16, 1.5)


class Edges:
    """Puts one odd thing into a program."""

    def __init__(self, choices: Choices, make: Maker) -> None:
        self.choices = choices
        self.make = make

    def put(self, program: Json) -> None:
        """Changes the program in place."""
        kinds: tuple[Callable[[Json], None], ...] = (
            *(self._tools, self._refused, self._answer, self._answer, self._surrogate, self._number),
        )
        self.choices.sample(kinds)(program)

    def _tools(self, program: Json) -> None:
        program.setdefault("tools", {})[self.choices.sample(_NAMES)] = {"output": self.make.mark()}

    def _refused(self, program: Json) -> None:
        """A tool that some implementation refuses."""
        tools = program.setdefault("tools", {})
        if self.choices.chance(50):
            tools["bare"] = {"description": ""}
        else:
            tools.update({name: {} for name in _ALIKE[: self.choices.integer(1, 3)]})

    def _answer(self, program: Json) -> None:
        """A structured answer, and a hook that writes into the messages that it is in."""
        choices = self.choices
        use = {"name": "strands_structured_output", "toolUseId": "so", "input": {"name": self.make.mark()}}
        program["script"] = [*program.get("script", []), [{"toolUse": use}]]
        program["structuredOutput"] = True
        result: list[Any] = ["message", "content", 0, "toolResult"]
        ops: tuple[Json, ...] = (
            {"op": "set", "path": ["message", "content"], "value": []},
            {"op": "set", "path": [*result, "status"], "value": "error"},
            {"op": "set", "path": [*result, "content"], "value": [{"json": {"name": self.make.mark()}}]},
            {"op": "set", "path": ["message", "content", 0, "toolUse", "toolUseId"], "value": "other"},
        )
        op = {**choices.sample(ops), "when": choices.integer(0, 4)}
        program.setdefault("hooks", []).append({"on": "messageAdded", "ops": [op]})

    def _surrogate(self, program: Json) -> None:
        """Half of a pair of surrogates: in a structured answer, or in a path that leads nowhere."""
        choices = self.choices
        text = choices.sample(_SURROGATES)
        if choices.chance(50):
            use = {"name": "strands_structured_output", "toolUseId": "so", "input": {"name": text}}
            program["script"] = [[{"toolUse": use}], *program.get("script", [])]
            program["structuredOutput"] = True
        else:
            op = {"op": "delete", "path": ["invocationState", text]}
            program.setdefault("middleware", []).append({"stage": "model", "ops": [op]})

    def _number(self, program: Json) -> None:
        program.setdefault("modelState", {})["huge"] = self.choices.sample(_NUMBERS)
