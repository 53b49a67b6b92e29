"""Random ops for a turn of a processor: changes in place, methods of the list, what is kept, and results."""

# ruff: noqa: PLR2004 - the numbers that choices are compared with are percentages

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from agentcore.frameworks.mastra.making import DATES, TOOLS, Expected, Maker
from agentcore.kit.choices import Choices

__all__ = ["Results", "Turns"]

Json: TypeAlias = dict[str, Any]
Op: TypeAlias = dict[str, Any]
# Besides what ends a run, which is kept rare.
_ENDS: Final = 4
# What can be written to in a part of an answer.
_INSIDE: Final[Mapping[str, Sequence[tuple[str | int, ...]]]] = {
    "text": (("text",),),
    "reasoning": (("details", 0, "text"),),
    "tool-invocation": (("toolInvocation", "args", "a"), ("toolInvocation", "result")),
}


class Turns:
    """Makes the op lists of one program. `stashed` has what can be done to what was kept under a name.

    `clears`: the list has a method that takes system messages out.
    """

    def __init__(self, choices: Choices, make: Maker, *, clears: bool = True) -> None:
        self.choices = choices
        self.methods = ("replace", *(("clear",) if clears else ()), "input", "response", "all")
        self.make = make
        self.results = Results(choices, make)
        self.stashed: dict[str, Op] = {}

    def step(self, found: Expected) -> list[Op]:
        """The ops of a turn before a model call."""
        choices = self.choices
        kinds = (self.on_messages, self.on_others, self.on_list, self.on_stash)
        ops = [choices.sample(kinds)(found) for _ in range(choices.sample((0, 1, 1, 2)))]
        if not ops or choices.chance(45):
            ops.append(self.results.of_step(found))
        return [*ops, self.results.end()] if choices.chance(_ENDS) else ops

    def input(self, found: Expected) -> list[Op]:
        """The ops of the turn before the first step."""
        choices = self.choices
        kinds = (self.on_messages, self.on_list, self.on_systems)
        ops = [choices.sample(kinds)(found) for _ in range(choices.sample((0, 1, 1, 2)))]
        if choices.chance(35):
            ops.append(self.results.of_input(found))
        return [*ops, self.results.end()] if choices.chance(_ENDS) else ops

    # --- in place ---

    def on_messages(self, found: Expected) -> Op:
        """Changes of the conversation through its messages."""
        return self.choices.sample((self._text, self._content, self._array))(found)

    def _text(self, found: Expected) -> Op:
        choices, make = self.choices, self.make
        at = self._part(found)
        verb = "set" if at[-1] == "result" or choices.chance(40) else "append"
        return {"op": verb, **self._on_list(), "at": at, "value": make.mark()}

    def _on_list(self) -> Json:
        """The conversation is reached by two names."""
        return {"on": "list"} if self.choices.chance(12) else {}

    def _part(self, found: Expected) -> list[str | int]:
        """The path of something in a part of a message."""
        choices = self.choices
        written = [place for place, kind in enumerate(found.answer) if kind in _INSIDE]
        if not written or choices.chance(45):
            return [choices.integer(0, max(0, found.messages - 1)), "content", "parts", 0, "text"]
        place = choices.sample(written)
        return [-1, "content", "parts", place, *choices.sample(_INSIDE[found.answer[place]])]

    def _content(self, _: Expected) -> Op:
        choices, make = self.choices, self.make
        index = choices.sample((0, -1))
        match choices.sample(("parts", "new", "part", "mirror", "extra", "id", "role", "cut", "delete")):
            case "parts":
                return {"op": "push", "at": [index, "content", "parts"], "value": make.text_part()}
            case "new":
                content = {"format": 2, "parts": [make.text_part()]}
                return {"op": "set", "at": [index, "content"], "value": content}
            case "part":
                return {"op": "set", "at": [index, "content", "parts", 0], "value": make.text_part()}
            case "mirror":
                return {"op": "set", "at": [index, "content", "content"], "value": make.mark()}
            case "extra":
                return {"op": "set", "at": [index, "extra"], "value": make.mark()}
            case "id":
                return {"op": "set", "at": [index, "id"], "value": make.identity("i")}
            case "role":
                role = choices.sample(("user", "assistant"))
                return {"op": "set", "at": [index, "role"], "value": role}
            case "cut":
                return {"op": "splice", "at": [index, "content", "parts"], "start": -1, "count": 1}
        return {"op": "delete", "at": [index, "content", "content"]}

    def _array(self, found: Expected) -> Op:
        choices, make = self.choices, self.make
        on = self._on_list()
        match choices.sample(("push", "replace", "pop", "insert", "reverse", "clear")):
            case "push":
                return {"op": "push", **on, "message": make.message()}
            case "replace":
                return {"op": "set", **on, "at": [choices.sample((0, -1))], "message": make.message()}
            case "pop":
                return {"op": "splice", **on, "start": choices.sample((-1, 0)), "count": 1}
            case "insert":
                item = {"message": make.message()}
                return {"op": "splice", **on, "start": 0, "count": 0, "items": [item]}
            case "reverse":
                return {"op": "reverse", **on}
        return {"op": "splice", **on} if found.length < 2 else {"op": "splice", **on, "start": 1}

    def on_systems(self, found: Expected) -> Op:
        """Changes of the system messages in place."""
        choices, make = self.choices, self.make
        on = "systemMessages"
        message = {"role": "system", "content": make.mark()}
        ops: list[Op] = [{"op": "push", "on": on, "value": message}]
        if found.systems:
            ops += [
                {"op": "append", "on": on, "at": [0, "content"], "value": make.mark()},
                {"op": "set", "on": on, "at": [0, "content"], "value": make.mark()},
                {"op": "splice", "on": on, "start": 0, "count": 1},
                {"op": "set", "on": on, "at": [0], "value": message},
                {"op": "reverse", "on": on},
            ]
        return choices.sample(ops)

    def on_others(self, found: Expected) -> Op:
        """Changes of the arguments beside the messages."""
        kinds: list[Callable[[Expected], Op]] = [self.on_systems]
        if found.steps:
            kinds += [self._steps]
        if found.tools:
            kinds += [self._tools]
        kinds += [self._option] * bool({"providerOptions", "modelSettings"} & {*found.options}) * 2
        if isinstance(found.options.get("toolChoice"), dict):
            kinds += [self._tool_choice]
        if "activeTools" in found.options:
            kinds += [self._active_tools]
        return self.choices.sample(kinds)(found)

    def _steps(self, _: Expected) -> Op:
        push: Op = {"op": "push", "on": "steps", "value": {"text": self.make.mark()}}
        return self.choices.sample((push, {"op": "splice", "on": "steps"}))

    def _tools(self, _: Expected) -> Op:
        name = self.choices.sample(TOOLS)
        ops: tuple[Op, ...] = (
            {"op": "delete", "on": "tools", "at": [name]},
            {"op": "set", "on": "tools", "at": [name, "description"], "value": self.make.mark()},
        )
        return self.choices.sample(ops)

    def _option(self, found: Expected) -> Op:
        choices, make = self.choices, self.make
        ops: list[Op] = []
        if "providerOptions" in found.options:
            on = "providerOptions"
            ops += [
                {"op": "set", "on": on, "at": ["x", "k"], "value": make.mark()},
                {"op": "set", "on": on, "at": ["y"], "value": {"k": make.mark()}},
                {"op": "delete", "on": on, "at": ["x"]},
            ]
        if "modelSettings" in found.options:
            on = "modelSettings"
            ops += [
                {"op": "set", "on": on, "at": ["temperature"], "value": choices.integer(0, 9) / 10},
                {"op": "push", "on": on, "at": ["stopSequences"], "value": make.mark()},
            ]
        return choices.sample(ops)

    def _tool_choice(self, _: Expected) -> Op:
        name = self.choices.sample(TOOLS)
        return {"op": "set", "on": "toolChoice", "at": ["toolName"], "value": name}

    def _active_tools(self, _: Expected) -> Op:
        push: Op = {"op": "push", "on": "activeTools", "value": self.choices.sample(TOOLS)}
        return self.choices.sample((push, {"op": "splice", "on": "activeTools"}))

    # --- what is kept ---

    def on_stash(self, found: Expected) -> Op:
        """A reference that is kept, or a change through one that was."""
        choices = self.choices
        if not self.stashed or choices.chance(40):
            return self._stash_op(found)
        name = choices.sample([*self.stashed])
        op = self.stashed[name]
        return {**op, "on": f"stash:{name}", **self._new(op)}

    def _stash_op(self, found: Expected) -> Op:
        choices, make = self.choices, self.make
        text = ["content", "parts", 0, "text"]
        # What is kept, and how it changes later.
        kinds: list[tuple[str, Json, Op]] = [
            ("array", {}, {"op": "push", "message": {}}),
            ("message", {"at": [choices.sample((0, -1))]}, {"op": "append", "at": text}),
            ("systems", {"on": "systemMessages"}, {"op": "push"}),
            ("content", {"at": [choices.sample((0, -1)), "content"]}, {"op": "set", "at": text[1:]}),
        ]
        if found.systems:
            kinds.append(("system", {"on": "systemMessages", "at": [0]}, {"op": "append", "at": ["content"]}))
        if "providerOptions" in found.options:
            kinds.append(("options", {"on": "providerOptions"}, {"op": "set", "at": ["x", "k"]}))
        kind, where, change = choices.sample(kinds)
        name = make.identity(kind)
        self.stashed[name] = change
        if kind == "array":
            self.results.arrays.append(name)
        return {"op": "stash", "name": name, **where}

    def _new(self, op: Op) -> Json:
        """Draws the value that a write to a kept object puts there."""
        if "message" in op:
            return {"message": self.make.message()}
        text = self.make.mark()
        return {"value": {"role": "system", "content": text} if op["op"] == "push" else text}

    # --- methods of the list ---

    def on_list(self, found: Expected) -> Op:
        """A method of the message list."""
        kinds = (self._add, self._add_system, self._remove, self._other_method)
        return {"op": "list", **self.choices.sample(kinds)(found)}

    def _add(self, _: Expected) -> Json:
        source = self.choices.sample(("input", "input", "input", "response", "memory", "context"))
        messages = [self.make.message() for _ in range(self.choices.sample((1, 1, 2)))]
        return {"call": "add", "messages": messages, "args": [source]}

    def _add_system(self, _: Expected) -> Json:
        tag = ["tag"] if self.choices.chance(35) else []
        return {"call": "addSystem", "args": [self.make.system(), *tag]}

    def _remove(self, _: Expected) -> Json:
        choices = self.choices
        if choices.chance(12):
            return {"call": "removeByIds", "ids": choices.sample(("all", ["nobody"]))}
        return {"call": "removeByIds", "index": choices.sample((0, -1))}

    def _other_method(self, _: Expected) -> Json:
        choices = self.choices
        match choices.sample(self.methods):
            case "replace":
                systems = [{"role": "system", "content": self.make.mark()}]
                return {"call": "replaceAllSystemMessages", "args": [systems]}
            case "clear":
                return {"call": "clearSystemMessages", "args": ["tag"] if choices.chance(30) else []}
            case "input":
                return {"call": "clearInput"}
            case "response":
                return {"call": "clearResponse"}
        return {"call": "clearAll"}


# --- results ------------------------------------------------------------------------------------------------


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
        """Draws the return value of a processor before a model call."""
        choices = self.choices
        if choices.chance(18):
            return self._odd()
        kinds: tuple[Callable[[Expected], Op], ...] = (
            *(self._fields, self._messages, self._fields, self._messages),
            self._systems,
        )
        return choices.sample(kinds)(found)

    def of_input(self, found: Expected) -> Op:
        """Draws the return value of a processor before the first step."""
        choices = self.choices
        if choices.chance(15):
            return {"op": "returnList", "which": "same"}
        if choices.chance(20):
            return self._systems(found)
        return self._messages(found)

    def end(self) -> Op:
        """Draws an op that ends the run: an abort or an error."""
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
