"""Random values and random in-place writes, aimed at what a hook is expected to be shown.

A generator that knows roughly what a message list will look like can write paths that lead somewhere:
`Maker.write` walks into such a value to a random depth and makes an op that fits what it finds there, so most
writes leave a run alive. Every new text is a marker of its own (`#1`, `#2`, ...), which is how a trace shows
how far a write spread. What a run is expected to make stands below; the generator of programs follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from agentcore.kit.choices import Choices, Marker, Weights

__all__ = [
    "ADDRESSES",
    "BASE64",
    "OPTIONS",
    "Maker",
    "Rarities",
    "approved",
    "content",
    "prompt",
    "response",
    "shortcuts",
]


Json: TypeAlias = dict[str, Any]
Op: TypeAlias = dict[str, Any]
Path: TypeAlias = list[str | int]

BASE64: Final = ("aGk=", "iVBORw0KGgo=", "aXQgaXM=")
ADDRESSES: Final = ("https://example.com/a.png", "HTTPS://Example.com/a b.png", "data:image/gif,R0lGODlh")
_BYTES_KEYS: Final = frozenset({"image", "data"})
_MESSAGE_LISTS: Final = frozenset({"messages", "prompt", "$caller"})
# Fields by which the loop tells things apart: a write there mostly ends the run, so only wrong() aims at
# them.
_FIXED: Final = frozenset(
    {"type", "role", "toolCallId", "toolName", "approvalId", "approved", "mediaType", "providerExecuted"}
    | {
        "sourceType",
        "id",
        "url",
        "fileId",
        "dynamic",
        "isError",
        "invalid",
        "toolCalls",
        "toolResults",
        "steps",
    },
)
_DELETABLE: Final = frozenset({"user", "system", "text", "reasoning"})


_LIST_WRITES: Final = Weights(
    {"append": 45, "set element": 20, "delete element": 15, "set text": 10, "replace": 6, "clear": 4}
)
_PART_WRITES: Final = Weights({"set options": 45, "set content": 5, "replace": 50})
_OBJECT_WRITES: Final = Weights({"add field": 45, "delete field": 10, "replace": 45})
_UNUSUAL: Final = Weights({"keep": 45, "astray": 17, "freeze": 10, "wrong": 28})


class Maker(Marker):
    """Makes the values and ops of one program. `kept` holds what is expected behind each kept name.

    `texts` are some that marks may begin with.
    """

    def __init__(self, choices: Choices, texts: Sequence[str] = ()) -> None:
        super().__init__(choices)
        self.texts = ("", *(f"{text} " for text in texts))
        self.kept: dict[str, Any] = {}
        self._names = 0

    # --- values ---

    def mark(self) -> str:
        """A text that stands nowhere else in the program."""
        begin = self.choices.sample(self.texts) if len(self.texts) > 1 else ""
        return f"{begin}{super().mark()}"

    def leaf(self) -> Any:
        """A JSON value without anything inside."""
        return (
            self.mark()
            if self.choices.chance(70)
            else self.choices.sample((0, 1, True, None, 2.5, "", -3, False))
        )

    def payload(self) -> dict[str, Any]:
        """A JSON object, at times nested: a tool's input, an output, provider options."""
        choices = self.choices
        made: dict[str, Any] = {"a": self.leaf()}
        if choices.chance(30):
            made["in"] = (
                {"b": self.leaf(), "deep": {"c": self.mark()}} if choices.chance(40) else {"b": self.mark()}
            )
        if choices.chance(25):
            made["list"] = [self.mark(), {"d": self.mark()}] if choices.chance(50) else [self.mark()]
        return made

    def provider_options(self) -> dict[str, Any]:
        """Options of one provider."""
        return {"p": self.payload()}

    def text_part(self) -> dict[str, Any]:
        """A text part."""
        return {"type": "text", "text": self.mark()}

    def user_message(self) -> dict[str, Any]:
        """A short user message."""
        content: Any = self.mark() if self.choices.chance(60) else [self.text_part()]
        return {"role": "user", "content": content}

    def similar(self, value: Any, key: str | int = "") -> Any:
        """A value of the same shape with something new in it."""
        if isinstance(value, str):
            return self.choices.sample(BASE64) if key in _BYTES_KEYS else self.mark()
        if isinstance(value, list):
            return self._similar_list(value, key)
        if isinstance(value, dict):
            keys = [name for name in value if name not in _FIXED]
            if not keys:
                return {**value, "providerOptions": self.provider_options()}
            name = self.choices.sample(keys)
            return {**value, name: self.similar(value[name], name)}
        return self.leaf()

    def _similar_list(self, value: list[Any], key: str | int) -> list[Any]:
        if not value or self.choices.chance(40):
            return [*value, self.element(value, key)]
        index = self.choices.integer(0, len(value) - 1)
        return [*value[:index], self.similar(value[index]), *value[index + 1 :]]

    def element(self, siblings: list[Any], key: str | int) -> Any:
        """One more element for a list found under the key."""
        if key in _MESSAGE_LISTS or (siblings and isinstance(siblings[0], dict) and "role" in siblings[0]):
            return self.user_message()
        kind = siblings[0].get("type") if siblings and isinstance(siblings[0], dict) else None
        if kind == "tool-result" and key == "content":
            call = {
                "toolCallId": "extra",
                "toolName": "look",
                "output": {"type": "text", "value": self.mark()},
            }
            return {"type": "tool-result", **call}
        if key == "content" or kind is not None:
            return self.text_part()
        return self.leaf() if self.choices.chance(60) else self.payload()

    # --- places ---

    def _walk(self, argument: dict[str, Any], first: str | None) -> tuple[Path, Any]:
        """A path into the expected argument, or into a kept value, and what is expected there."""
        choices = self.choices
        root = first or self._root(argument)
        value = self.kept[root[1:]] if root.startswith("$") else argument[root]
        path: Path = [root]
        # A reference itself cannot be assigned, so a path goes below it, unless it is an array to push to.
        if root.startswith("$") and isinstance(value, list) and choices.chance(20):
            return path, value
        while isinstance(value, (dict, list)) and value and (len(path) == 1 or choices.chance(78)):
            if isinstance(value, list):
                if (
                    len(path) == 1
                    and not root.startswith("$")
                    and choices.chance(1 if root == "steps" else 18)
                ):
                    break
                index = choices.integer(0, len(value) - 1)
                path.append(index - len(value) if choices.chance(50) else index)
                value = value[index]
            else:
                keys = [key for key in value if key not in _FIXED]
                if not keys:
                    break
                key = choices.sample(keys)
                path.append(key)
                value = value[key]
        return path, value

    def _root(self, argument: dict[str, Any]) -> str:
        choices = self.choices
        if len(self.kept) > 1 and choices.chance(25):
            return "$" + choices.sample([*self.kept][1:])
        if choices.chance(4):
            return "$caller"
        fields = [*argument]
        return fields[0] if choices.chance(35) else choices.sample(fields)

    # --- ops ---

    def write(self, argument: dict[str, Any], first: str | None = None) -> Op:
        """An op on the hook's argument: mostly one that fits, now and then a wrong one, a keep, a freeze."""
        choices = self.choices
        if choices.chance(12):
            return self._unusual(argument)
        path, value = self._walk(argument, first)
        key = path[0] if len(path) == 1 else path[-1]
        if isinstance(value, list):
            return self._write_list(path, key, value)
        if isinstance(value, dict):
            return self._write_object(path, value)
        if isinstance(value, str) and choices.chance(50):
            return (
                {"append": path, "with": self.mark()}
                if key not in _BYTES_KEYS
                else self._set(path, value, key)
            )
        if key == "content" and choices.chance(15):
            return {"set": path, "to": [self.text_part()]}
        return self._set(path, value, key)

    def _set(self, path: Path, value: Any, key: str | int) -> Op:
        return {"set": path, "to": self.similar(value, key)}

    def _write_list(self, path: Path, key: str | int, value: list[Any]) -> Op:
        choices = self.choices
        if value and _is_record(value[0]):
            return (
                {"delete": [*path, -1]}
                if choices.chance(40)
                else {"set": [*path, -1, "new"], "to": self.leaf()}
            )
        action = _LIST_WRITES.draw(choices)
        if action == "append" or not value:
            with_: Any = self.element(value, key)
            if key in _MESSAGE_LISTS and value and choices.chance(10):
                with_ = {
                    "$ref" if choices.chance(60) else "$clone": [*path, choices.integer(0, len(value) - 1)]
                }
            return {"append": path, "with": with_}
        index = choices.integer(0, len(value) - 1)
        if action == "set element":
            return self._set([*path, index], value[index], index)
        if action == "delete element":
            return {"delete": [*path, self._deletable(value)]}
        if action == "clear" or _is_reference(path):
            return {"clear": path}
        if action == "set text" and key == "content":
            return {"set": path, "to": self.mark()}
        return self._set(path, value, key)

    def _deletable(self, value: list[Any]) -> int:
        choices = self.choices
        harmless = [
            index
            for index, item in enumerate(value)
            if not isinstance(item, dict) or item.get("role", item.get("type")) in _DELETABLE
        ]
        if harmless and choices.chance(90):
            return choices.sample(harmless)
        return -1 if choices.chance(50) else choices.integer(0, len(value) - 1)

    def _write_object(self, path: Path, value: dict[str, Any]) -> Op:
        choices = self.choices
        tagged = "role" in value or "type" in value
        action = (_PART_WRITES if tagged else _OBJECT_WRITES).draw(choices)
        if action == "set options":
            return {"set": [*path, "providerOptions"], "to": self.provider_options()}
        if action == "set content" and value.get("role") in ("user", "assistant"):
            return {"set": [*path, "content"], "to": [self.text_part()]}
        if action == "add field" or len(path) == 1 or _is_record(value):
            return {"set": [*path, "new"], "to": self._reference(path) or self.leaf()}
        if action == "delete field" and value:
            return {"delete": [*path, choices.sample([*value])]}
        return self._set(path, value, "")

    def _reference(self, path: Path) -> Op | None:
        """Something live or copied as a value: mostly what is kept, seldom the object around (a cycle)."""
        choices = self.choices
        if not self.kept or not choices.chance(12):
            return None
        if choices.chance(4):
            return {"$ref": path[:-1] or path}
        return {choices.sample(("$clone", "$ref")): ["$" + choices.sample([*self.kept])]}

    def _unusual(self, argument: dict[str, Any]) -> Op:
        kind = _UNUSUAL.draw(self.choices)
        if kind == "keep":
            return self.keep(argument)
        path, value = self._walk(argument, None)
        if kind == "astray":
            return self._astray(path)
        if kind == "freeze":
            return {"freeze": path}
        return self._wrong(path, value)

    def keep(self, argument: dict[str, Any]) -> Op:
        """Remembers something with parts of its own, for the hooks that come later."""
        path, value = self._walk(argument, None)
        if not isinstance(value, (dict, list)):
            root = str(path[0])
            path, value = [root], self.kept[root[1:]] if root.startswith("$") else argument[root]
        return {"keep": path, "as": self.name(value)}

    def name(self, value: Any) -> str:
        """A new name under which the value is kept."""
        self._names += 1
        name = f"k{self._names}"
        self.kept[name] = value
        return name

    def _astray(self, path: Path) -> Op:
        ends: tuple[Path, ...] = (
            ["nothing"],
            ["messages", 99, "content"],
            ["$nobody", 0],
            [*path, "no", "where"],
        )
        path = self.choices.sample(ends)
        return self.choices.sample(({"delete": path}, {"append": path, "with": self.mark()}))

    def _wrong(self, path: Path, value: Any) -> Op:
        """A write of the wrong type, or of a field that tells things apart."""
        choices = self.choices
        if _is_record(value) or (isinstance(value, list) and value and _is_record(value[0])):
            return {"keep": path, "as": self.name(value)}
        if isinstance(value, dict) and value:
            path = [*path, choices.sample([*value])]
        if choices.chance(25) and len(path) > 1:
            return {"delete": path}
        to: Any = choices.sample((7, None, {}, [], "system", "odd", True, [None], {"type": "odd"}))
        return {"set": path, "to": to}


def _is_reference(path: Path) -> bool:
    """True if the path names a kept value as a whole, which can be neither assigned nor deleted."""
    return len(path) == 1 and str(path[0]).startswith("$")


def _is_record(value: Any) -> bool:
    """True for a step's result or its frame: without them the run can neither continue nor be reported."""
    return isinstance(value, dict) and ("response" in value or "messages" in value)


# --- what is rare -------------------------------------------------------------------------------------------


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


# --- what a run is expected to make, by the plain rules: rough, for all it does is aim writes ---------------


def _executed(call: Json, tools: Json) -> bool:
    tool = tools.get(call["toolName"])
    return tool is not None and not tool.get("noExecute") and not tool.get("needsApproval")


def content(parts: list[Json], tools: Json) -> list[Json]:
    """The content of the step that the model answers with these parts."""
    calls = [part for part in parts if part["type"] == "tool-call" and _executed(part, tools)]
    return [
        *parts,
        *({**call, "type": "tool-result", "output": tools[call["toolName"]]["output"]} for call in calls),
    ]


def shortcuts(content: list[Json]) -> Json:
    """The lists of calls and results that a step result has beside its content."""
    return {
        "toolCalls": [part for part in content if part["type"] == "tool-call"],
        "toolResults": [part for part in content if part["type"] == "tool-result"],
    }


def _renamed(part: Json) -> Json:
    """A generated part as messages have it."""
    part = {"providerOptions" if key == "providerMetadata" else key: value for key, value in part.items()}
    if "result" in part:
        part["output"] = {"type": "json", "value": part.pop("result")}
    return part


def approved(messages: list[Json]) -> list[Json]:
    """The tool message that answers the approvals in which a history ends."""
    answers = messages[-1]["content"] if messages[-1]["role"] == "tool" else []
    asked = sum(part["type"] == "tool-approval-response" for part in answers)
    result = {"type": "tool-result", "output": {"type": "json", "value": {"a": "x"}}}
    return [{"role": "tool", "content": [result] * asked}] if asked else []


def response(parts: list[Json], tools: Json) -> list[Json]:
    """The messages that the step adds."""
    kinds = ("reasoning", "tool-call", "tool-result")
    said = [_renamed(part) for part in parts if part["type"] in kinds or part.get("text")]
    results = [
        {
            "type": "tool-result",
            "toolCallId": part["toolCallId"],
            "toolName": part["toolName"],
            "output": {"type": "json", "value": tools[part["toolName"]]["output"]},
        }
        for part in parts
        if part["type"] == "tool-call" and _executed(part, tools)
    ]
    made: list[Json] = [{"role": "assistant", "content": said}] if said else []
    return [*made, {"role": "tool", "content": results}] if results else made


def prompt(system: Any, messages: list[Json]) -> list[Json]:
    """The prompt that the messages become."""
    prompt: list[Json] = []
    if isinstance(system, str):
        prompt.append({"role": "system", "content": system})
    for message in messages:
        content = message.get("content", "")
        if isinstance(content, str) and message["role"] != "system":
            prompt.append({**message, "content": [{"type": "text", "text": content}]})
        else:
            prompt.append(message)
    return prompt
