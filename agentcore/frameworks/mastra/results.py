"""Random results of a processor's turn, and ways in which a turn ends the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from agentcore.frameworks.mastra.making import DATES, TOOLS, Expected, Maker
from agentcore.kit.choices import Choices

__all__ = ["Results"]

Json: TypeAlias = dict[str, Any]
Op: TypeAlias = dict[str, Any]
_FIELDS: Final = ("toolChoice", "activeTools", "providerOptions", "modelSettings", "model", "tools")
_NO_CHANGES: Final[tuple[Any, ...]] = (None, {}, False, 0, "", True, 7, "text")
_CHOICES: Final[tuple[Any, ...]] = ("auto", "none", "required", {"type": "tool", "toolName": TOOLS[0]})
_ACTIVE: Final[tuple[list[str], ...]] = ([TOOLS[0]], [TOOLS[1]], [], [*TOOLS], ["nobody"])
_ODD: Final[tuple[Op, ...]] = (
    {"op": "returnList", "which": "same"},
    {"op": "return", "messageList": "same", "toolChoice": "none"},
    *({"op": "returnArgs", "fields": [name]} for name in ("messages", "systemMessages", "model")),
    {"op": "returnArgs", "fields": ["providerOptions", "modelSettings", "toolChoice", "activeTools"]},
    *({"op": "return", name: None} for name in ("toolChoice", "providerOptions", "activeTools")),
    {"op": "return", "messages": []},
    {"op": "return", "stepNumber": 5},
    {"op": "return", "steps": []},
    {"op": "return", "retryCount": 1},
    {"op": "return", "messageId": "mine"},
)
_WRONG: Final[tuple[Op, ...]] = (
    {"op": "returnList", "which": "external"},
    {"op": "return", "messageList": "external"},
    {"op": "return", "messages": {"from": "current"}, "messageList": "same"},
    {"op": "return", "model": {"version": "v1", "id": "old"}},
)


class Results:
    """Makes the ops that return something. `arrays` are names that arrays of messages were stashed under."""

    def __init__(self, choices: Choices, make: Maker) -> None:
        self.choices = choices
        self.make = make
        self.arrays: list[str] = []

    def of_step(self, found: Expected) -> Op:
        """What a turn before a model call returns."""
        choices = self.choices
        if choices.chance(18):
            return self._odd()
        kinds: tuple[Callable[[Expected], Op], ...] = (
            *(self._fields, self._messages, self._fields, self._messages),
            self._systems,
        )
        return choices.sample(kinds)(found)

    def of_input(self, found: Expected) -> Op:
        """What a turn before the first step returns."""
        choices = self.choices
        if choices.chance(15):
            return {"op": "returnList", "which": "same"}
        if choices.chance(20):
            return self._systems(found)
        return self._messages(found)

    def end(self) -> Op:
        """What ends the run: an abort, an error."""
        choices, make = self.choices, self.make
        if choices.chance(40):
            return {"op": "throw", "message": make.mark()}
        reason = {"reason": make.mark()} if choices.chance(80) else {}
        options: tuple[Json, ...] = ({}, {"retry": True}, {"metadata": make.payload()})
        chosen = choices.sample(options)
        return {"op": "abort", **reason, **({"options": chosen} if chosen else {})}

    # --- fields ---

    def _fields(self, _: Expected) -> Op:
        choices = self.choices
        names = {choices.sample(_FIELDS) for _ in range(choices.sample((1, 1, 2)))}
        made: Op = {"op": "return", **{str(name): self._field(name) for name in _FIELDS if name in names}}
        if choices.chance(10):
            made["undefined"] = [choices.sample(_FIELDS)]
        return made

    def _field(self, name: str) -> Any:
        choices, make = self.choices, self.make
        match name:
            case "toolChoice":
                return choices.sample(_CHOICES)
            case "activeTools":
                return choices.sample(_ACTIVE)
            case "providerOptions":
                return {choices.sample(("x", "z")): {"k": make.mark()}} if choices.chance(85) else {}
            case "modelSettings":
                stops: Json = {"stopSequences": [make.mark()]}
                return choices.sample(({"temperature": 0.7}, {"topP": 0.5}, stops))
            case "model":
                versioned = {"version": choices.sample(("v3", "v2", "v4", "v9")), "id": "other"}
                return versioned if choices.chance(25) else "other"
        return {choices.sample(("extra", TOOLS[0])): {"output": make.payload()}} if choices.chance(85) else {}

    def _systems(self, _: Expected) -> Op:
        return {"op": "return", "systemMessages": self.systems()}

    def _messages(self, found: Expected) -> Op:
        expression = self.messages(found)
        if self.choices.chance(30):
            return {"op": "returnMessages", "messages": expression}
        extra = {"systemMessages": self.systems()} if self.choices.chance(12) else {}
        return {"op": "return", "messages": expression, **extra}

    def _odd(self) -> Op:
        choices = self.choices
        if choices.chance(30):
            return {"op": "returnValue", "value": choices.sample(_NO_CHANGES)}
        return choices.sample(_WRONG if choices.chance(15) else _ODD)

    # --- expressions ---

    def messages(self, found: Expected) -> Any:
        """Messages that a turn returns, mostly made of the current ones."""
        choices, make = self.choices, self.make
        if choices.chance(6):
            return [make.message()]
        sources = ["current", "current", "current", "list", *(f"stash:{name}" for name in self.arrays)]
        if choices.chance(3):
            return {"from": "empty", "pipe": [{"concat": [make.message()]}]}
        pipe = [self._stage(found) for _ in range(choices.sample((1, 0, 1, 2, 3)))]
        return {"from": choices.sample(sources), **({"pipe": pipe} if pipe else {})}

    def _stage(self, found: Expected) -> Json:
        kinds = (self._added, self._changed, self._cut, self._renamed)
        return self.choices.sample(kinds)(found)

    def _added(self, _: Expected) -> Json:
        choices, make = self.choices, self.make
        if choices.chance(25):
            return {"concat": [make.system_in_messages()]}
        return {choices.sample(("concat", "concat", "prepend")): [make.message()]}

    def _changed(self, _: Expected) -> Json:
        choices = self.choices
        if choices.chance(40):
            return {choices.sample(("spread", "clone", "reverse")): True}
        change: Json = {choices.sample(("suffix", "prefix")): self.make.mark()}
        roles: Json = {"roles": [choices.sample(("user", "assistant"))]} if choices.chance(40) else {}
        return {"mapText": {**change, **roles}}

    def _cut(self, found: Expected) -> Json:
        choices = self.choices
        if choices.chance(35):
            return {choices.sample(("roles", "notRoles")): [choices.sample(("user", "assistant"))]}
        count = choices.integer(1, max(1, found.length - 1))
        return {choices.sample(("drop", "take", "last")): count}

    def _renamed(self, _: Expected) -> Json:
        choices = self.choices
        if choices.chance(50):
            return {"reid": self.make.identity("r")}
        if choices.chance(15):
            return {"role": choices.sample(("user", "assistant"))}
        return {"createdAt": choices.sample(DATES)}

    def systems(self) -> Any:
        """System messages that a turn returns."""
        choices, make = self.choices, self.make
        if choices.chance(20):
            return [] if choices.chance(30) else [make.system()]
        stages: tuple[Json, ...] = (
            {"concat": [make.system()]},
            {"prepend": [make.system()]},
            {"drop": 1},
            {"spread": True},
        )
        source = "empty" if choices.chance(6) else "current"
        return {"from": source, "pipe": [choices.sample(stages)]}
