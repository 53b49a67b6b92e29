"""What random programs for a package's profile have besides: settings, and fields that few hooks write into.

Each is seldom, so that most programs stay about messages. What a program by value has no use for is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentcore.frameworks.ai_sdk.writes import Maker
from agentcore.kit.choices import Choices

__all__ = ["OPTIONS", "Rarities"]

Json = dict[str, Any]

_NUMBERS: Final = ("temperature", "topP", "topK", "presencePenalty", "frequencyPenalty")
_WHOLE: Final = ("maxOutputTokens", "seed", "maxRetries", "toolCallConcurrency")
OPTIONS: Final = (
    *(*_NUMBERS, *_WHOLE, "stopSequences", "headers", "includeRawChunks", "reasoning"),
    *("toolApproval", "toolOrder", "experimental_toolCallers", "experimental_activeTools"),
)
"""The settings that a program may have besides."""

_NAMES: Final = ("toString", "constructor", "hasOwnProperty")
_STATUSES: Final = (
    *("approved", "denied", "user-approval", "not-applicable", {"type": "approved", "reason": "why"}),
    *(
        {"type": "denied", "reason": "no"},
        {"type": "user-approval", "reason": "ask"},
        {"type": "denied"},
        7,
        None,
    ),
)
_ORDERS: Final[tuple[Any, ...]] = (["save"], ["save", "look"], [], ["absent", "save"], None, "save", {})
_CALLERS: Final[tuple[list[str] | None, ...]] = ([], ["AI_SDK_DIRECT_TOOL_CALL"], ["save"], ["direct"], None)
_INPUTS: Final[tuple[Json, ...]] = (
    {"constructor": {"prototype": 0}},
    {"a": [{"constructor": {"prototype": {}}}]},
    {"constructor": {"a": 1}, "toString": 1},
    {"prototype": {"constructor": []}},
)
_USAGE: Final = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2, "inputTokenDetails": {}}
_MODEL: Final = {"provider": "scripted", "modelId": "model", "supportedUrls": {"*/*": [{}]}}
_TOOL: Final = {
    "description": "d",
    "title": "t",
    "strict": True,
    "inputSchema": {"jsonSchema": {"type": "object"}},
}
_FIELDS: Final[Mapping[str, Json]] = {
    "prepareStep": {"model": _MODEL, "stepNumber": 1},
    "onStepStart": {
        "tools": {"look": _TOOL, "save": _TOOL},
        "stopWhen": ["stop", "count"],
        "model": {"provider": "scripted", "modelId": "model"},
        "stepNumber": 1,
    },
    "model": {
        "tools": [{"name": "look", "description": "d", "inputSchema": {"type": "object"}}],
        "toolChoice": {"type": "auto"},
        "temperature": 0.5,
        "stopSequences": ["x"],
        "headers": {"x": "y"},
    },
    "onStepFinish": {
        "usage": _USAGE,
        "model": {"provider": "scripted", "modelId": "model"},
        "warnings": [],
        "request": {},
        "stepNumber": 1,
    },
    "onFinish": {
        "usage": _USAGE,
        "totalUsage": _USAGE,
        "warnings": [],
        "request": {},
        "finishReason": "stop",
    },
}
_PLACES: Final[Mapping[str, Sequence[str | int]]] = {
    "prepareStep": ("messages", 0, "x"),
    "onStepStart": ("messages", 0, "x"),
    "onStepFinish": ("content", 0, "x"),
    "onFinish": ("steps", -1, "content", 0, "x"),
}


class Rarities:
    """Makes what is seldom in a program; none of it where there is no package whose profile it is for."""

    def __init__(self, choices: Choices, make: Maker, *, wanted: bool) -> None:
        self.choices = choices
        self.make = make
        self.wanted = wanted

    def options(self) -> Json:
        """Settings of the call."""
        choices = self.choices
        if not self.wanted or not choices.chance(12):
            return {}
        names = [choices.sample(OPTIONS) for _ in range(choices.sample((1, 1, 2, 3)))]
        return {name: self._option(name) for name in names}

    def _option(self, name: str) -> Any:
        choices = self.choices
        made: dict[str, Callable[[], Any]] = {
            "stopSequences": lambda: [self.make.mark()],
            "headers": lambda: choices.sample(({"X-One": "a"}, {"user-agent": "me", "b": None}, {}, None)),
            "includeRawChunks": lambda: choices.sample((True, False)),
            "reasoning": lambda: choices.sample(("low", None)),
            "toolApproval": self._approvals,
            "toolOrder": lambda: choices.sample(_ORDERS),
            "experimental_toolCallers": self._callers,
            "experimental_activeTools": lambda: choices.sample((["look"], [], None)),
        }
        if name in made:
            return made[name]()
        fit: tuple[Any, ...] = (1, 2, 0.5) if name in _NUMBERS else (1, 2, 3)
        return choices.sample(fit) if choices.chance(85) else choices.sample((None, 0, -1, 1.5, "1", True))

    def _approvals(self) -> Json:
        named = {"look": self.choices.sample(_STATUSES)}
        return named | ({"save": self.choices.sample(_STATUSES)} if self.choices.chance(50) else {})

    def _callers(self) -> Json:
        name = "absent" if self.choices.chance(5) else self.choices.sample(("look", "save"))
        return {name: self.choices.sample(_CALLERS)}

    def overrides(self) -> Json:
        """What a step hook returns besides."""
        choices = self.choices
        if not self.wanted or not choices.chance(10):
            return {}
        name = choices.sample((*_NUMBERS, "maxOutputTokens", "seed", "stopSequences", "toolOrder"))
        return {name: self._option(name)}

    def tool_name(self, name: str) -> str:
        """The name of a called tool, seldom one that every object inherits."""
        return self.choices.sample(_NAMES) if self.wanted and self.choices.chance(1) else name

    def input(self, given: Any) -> Any:
        """The input of a call, seldom one that looks as if it could do harm."""
        return self.choices.sample(_INPUTS) if self.wanted and self.choices.chance(2) else given

    def ops(self, hook: str) -> list[Json]:
        """Writes into what few hooks write into, and at times a copy of it put where a trace has it."""
        choices = self.choices
        if not self.wanted or hook not in _FIELDS or not choices.chance(8):
            return []
        name = choices.sample([*_FIELDS[hook]])
        made = [self.make.write({name: _FIELDS[hook][name]}, first=name)]
        if hook in _PLACES and choices.chance(40):
            made.append({"set": [*_PLACES[hook]], "to": {choices.sample(("$clone", "$ref")): [name]}})
        return made
