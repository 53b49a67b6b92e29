"""Building blocks of random programs: texts, messages in every form, an estimate of what a run shows.

Every new text is a marker of its own (`#1`, `#2`, ...), which is how a trace shows how far a change spread.
What lies at the edges of the format (no messages, dates of any kind, calls of one id, odd names) is drawn
after the rest of a program, so that a seed gives the rest as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

import attrs

from agentcore.kit.choices import Choices, Marker

__all__ = ["DATES", "TOOLS", "Edges", "Expected", "Maker"]

Json: TypeAlias = dict[str, Any]

TOOLS: Final = ("look", "save")
DATES: Final = ("2000-01-01T00:00:00Z", "2000-01-02T00:00:00Z", "2000-02-01T00:00:00.500Z")


@attrs.define(kw_only=True)
class Expected:
    """An estimate of what a turn will find, by which its random changes are aimed."""

    messages: int
    # The kinds of the parts of the answer so far, one message's at the end of the conversation.
    answer: list[str] = attrs.field(factory=list)
    systems: int = 0
    steps: int = 0
    options: Json = attrs.field(factory=dict)
    tools: bool = False

    @property
    def length(self) -> int:
        """The number of messages."""
        return self.messages + bool(self.answer)


class Maker(Marker):
    """Makes the values of one program."""

    def __init__(self, choices: Choices) -> None:
        super().__init__(choices)
        self._ids = 0

    def identity(self, kind: str) -> str:
        """An id that nothing else in the program has."""
        self._ids += 1
        return f"{kind}{self._ids}"

    def output(self) -> Any:
        """Draws a tool's output."""
        if self.choices.chance(12):
            return self.choices.sample((None, 0, False, "", [], [self.mark()], 1.5))
        return self.payload() if self.choices.chance(55) else self.mark()

    def payload(self) -> Json:
        """A JSON object: a tool's input or output."""
        if self.choices.chance(3):
            return {}
        made: Json = {"a": self.mark()}
        if self.choices.chance(25):
            made["in"] = {"b": self.mark(), "n": self.choices.integer(0, 9)}
        if self.choices.chance(20):
            made["list"] = [self.mark(), {"c": self.mark()}]
        return made

    # --- the caller's messages ---

    def caller_message(self) -> Any:
        """A message of the user in any form that a caller may give it in."""
        forms = (self.mark, self._role_text, self._role_parts, self._ui, self._ui_mirrored, self._stored)
        return self.choices.sample(forms)()

    def _role_text(self) -> Json:
        return {"role": "user", "content": self.mark()}

    def _role_parts(self) -> Json:
        return {"role": "user", "content": [self.text_part() for _ in range(self.choices.integer(1, 2))]}

    def _ui(self) -> Json:
        parts = [self.text_part() for _ in range(2 if self.choices.chance(15) else 1)]
        return {"id": self.identity("u"), "role": "user", "parts": parts}

    def _ui_mirrored(self) -> Json:
        text = self.mark()
        return {
            "id": self.identity("u"),
            "role": "user",
            "content": text,
            "parts": [{"type": "text", "text": text}],
        }

    def _stored(self, role: str = "user") -> Json:
        content: Json = {"format": 2, "parts": [self.text_part()]}
        if self.choices.chance(30):
            content["content"] = content["parts"][0]["text"]
        if role == "assistant" and self.choices.chance(20):
            content["parts"].insert(0, {"type": "step-start"})
        name = "same" if self.choices.chance(4) else self.identity("s")
        message = {"id": name, "role": role, "content": content}
        return message | ({"createdAt": self.choices.sample(DATES)} if self.choices.chance(60) else {})

    def answer_messages(self) -> list[Json]:
        """Returns an answer of an earlier time, with the result of its call if it has one."""
        kind = self.choices.sample(("text", "parts", "stored", "call", "stored call"))
        if kind == "text":
            return [{"role": "assistant", "content": self.mark()}]
        if kind == "parts":
            return [{"role": "assistant", "content": [self.text_part()]}]
        if kind == "stored":
            return [self._stored("assistant")]
        return self._called() if kind == "call" else [self._stored_call()]

    def _called(self) -> list[Json]:
        call = {"toolCallId": self.identity("h"), "toolName": TOOLS[0]}
        asked = {"type": "tool-call", **call, "input": self.payload()}
        result = {"type": "tool-result", **call, "output": {"type": "json", "value": self.payload()}}
        text = [self.text_part()] if self.choices.chance(50) else []
        return [
            {"role": "assistant", "content": [*text, asked]},
            {"role": "tool", "content": [result]},
        ]

    def _stored_call(self) -> Json:
        message = self._stored("assistant")
        invocation = {
            "state": "result",
            "toolCallId": self.identity("h"),
            "toolName": TOOLS[0],
            "args": self.payload(),
            "result": self.payload(),
        }
        part = {"type": "tool-invocation", "toolInvocation": invocation}
        message["content"] = {"format": 2, "parts": [part, self.text_part()]}
        return message

    def text_part(self) -> Json:
        """A text part, in a few cases an empty one."""
        return {"type": "text", "text": "" if self.choices.chance(2) else self.mark()}

    # --- what processors make ---

    def message(self) -> Json:
        """A message of a processor's."""
        choices = self.choices
        role = "assistant" if choices.chance(20) else "user"
        if choices.chance(8):
            return {"role": role, "text": self.mark(), "core": True}
        made: Json = {"role": role, "text": self.mark()}
        if choices.chance(45):
            made["id"] = choices.sample((self.identity("m"), None))
        if choices.chance(30):
            made["createdAt"] = choices.sample(("before", "same", "omit", *DATES))
        if choices.chance(12):
            made["mirror"] = choices.sample((True, self.mark()))
        return made

    def system_in_messages(self) -> Json:
        """A system message among messages, in a form that is taken or in one that is not."""
        plain = {"core": True} if self.choices.chance(30) else {}
        return {"role": "system", "text": self.mark(), **plain}

    def system(self) -> Any:
        """A system message."""
        text = self.mark()
        return {"role": "system", "content": text} if self.choices.chance(40) else text

    def caller_systems(self) -> Any:
        """What a caller gives as system option."""
        return self.choices.sample((self.mark, self._system_object, self._system_list))()

    def _system_object(self) -> Json:
        return {"role": "system", "content": self.mark()}

    def _system_list(self) -> list[Any]:
        return [self.system() for _ in range(self.choices.integer(1, 2))]


# --- the edges of the format --------------------------------------------------------------------------------


Op: TypeAlias = dict[str, Any]

_TEXT: Final = {"type": "text", "text": "odd"}
_NO_MESSAGES: Final[tuple[Any, ...]] = (
    *(5, True, "text", [], {}, [None], [["text"]], {"role": "user"}, {"content": "x"}),
    *({"role": "user", "content": content} for content in (None, 5, "", [], [5], {}, {"format": 2}, [_TEXT])),
    *({"role": role, "content": "x"} for role in ("tool", "data", "system", 5)),
    *(
        {"role": "system", "content": content}
        for content in ("", 5, [_TEXT], {"format": 2, "parts": [_TEXT]})
    ),
    *({"role": role, "parts": parts} for role in ("user", "system") for parts in ([_TEXT], 5, [None], [])),
    {"role": "assistant", "content": {"format": 2, "parts": [_TEXT]}},
    {"role": "user", "content": "x", "id": 5},
    {"role": "user", "content": "x", "threadId": "t"},
)
_SOURCES: Final[tuple[Any, ...]] = ("input", "response", "context", "memory", "user", "nowhere", None)
_OPTIONS: Final[tuple[Any, ...]] = ({}, {"merge": False}, {"merge": True}, None, 5)
_DATES: Final[tuple[Any, ...]] = (
    *(0, 946684800000, 253402300800000, 300000000000000, 8640000000000000, 8640000000000001, -1, 1e300),
    *("yesterday", "2000-01-02", "2000-01-01T00:00:00Z", True, {}),
)
_NAMES: Final = ("0", "12", "bad name!", "a" * 70, "toString", "constructor", "\u00e9", "look!")
_RESULTS: Final[tuple[Any, ...]] = ("text", 7, True, "", None, {"messages": 5}, {"a": 1})
_FIELDS: Final = ("stepNumber", "steps", "retryCount", "systemMessages", "toolChoice", "activeTools")
_VALUES: Final[tuple[Any, ...]] = (None, [], {}, "5", 0)
_MARKS: Final[tuple[Json, ...]] = (
    {"completionResult": {"passed": True}},
    {"isTaskCompleteResult": {"passed": True}},
    {"mastra": {"responseBoundary": True}},
)


class Edges:
    """Puts one or two odd things into a program."""

    def __init__(self, choices: Choices, make: Maker) -> None:
        self.choices = choices
        self.make = make

    def put(self, program: Json) -> None:
        """Changes the program in place."""
        kinds: tuple[Callable[[Json], None], ...] = (
            *(
                self._op,
                self._op,
                self._op,
                self._calls,
                self._names,
                self._date,
                self._result,
                self._silence,
            ),
        )
        for _ in range(self.choices.sample((1, 1, 2))):
            self.choices.sample(kinds)(program)

    def _op(self, program: Json) -> None:
        ops = [ops for by_step in self._turns(program) for ops in by_step.values()]
        if not ops:
            program["prepareStep"] = {"*": []}
            ops = [program["prepareStep"]["*"]]
        makers = (
            self._listed,
            self._listed,
            self._grown,
            self._emptied,
            self._dated,
            self._marked,
            self._metadata_ops,
        )
        self.choices.sample(ops)[:0] = self.choices.sample(makers)()

    def _turns(self, program: Json) -> Iterator[dict[str, list[Op]]]:
        yield from (processor["steps"] for processor in program.get("processors", ()) if "steps" in processor)
        yield from (program[name] for name in ("prepareStep", "defaultPrepareStep") if name in program)

    # --- ops ---

    def _listed(self) -> list[Op]:
        choices = self.choices
        value = choices.sample(_NO_MESSAGES)
        call = choices.sample(("add", "add", "addSystem", "replaceAllSystemMessages", "removeByIds"))
        args = [value, choices.sample(_SOURCES)] if call == "add" else [value]
        if call == "add" and choices.chance(30):
            args.append(choices.sample(_OPTIONS))
        return [{"op": "list", "call": call, "args": args}]

    def _grown(self) -> list[Op]:
        """A message that the array has and the list does not know, and the array added to the list."""
        choices = self.choices
        dates = ("before", "after", "same", "2000-01-01T00:00:00Z")
        spec = {"role": choices.sample(("user", "assistant")), "text": self.make.mark()}
        message = {**spec, "createdAt": choices.sample(dates)}
        source = choices.sample(("input", "response", "context"))
        added: Op = {"op": "list", "call": "add", "messages": {"from": "list"}, "args": [source]}
        return [{"op": "push", "on": "list", "message": message}, added]

    def _emptied(self) -> list[Op]:
        at: list[Any] = self.choices.sample(([0], [-1], [0, "content", "parts", 0]))
        return [{"op": "delete", "on": "list", "at": at}]

    def _dated(self) -> list[Op]:
        at = [self.choices.sample((0, -1)), "createdAt"]
        return [{"op": "set", "on": "list", "at": at, "value": self.choices.sample(_DATES)}]

    def _marked(self) -> list[Op]:
        content = {"format": 2, "parts": [_TEXT], "metadata": self.choices.sample(_MARKS)}
        return [
            {"op": "list", "call": "add", "args": [{"role": "assistant", "content": one}, "response"]}
            for one in (content, "after")
        ]

    def _metadata_ops(self) -> list[Op]:
        output = {"modelOutput": {"type": "text", "value": self.make.mark()}}
        value = self.choices.sample(({"x": {"k": 1}}, {"mastra": output}))
        return [
            {"op": "set", "on": "list", "at": [-1, "content", "parts", 0, "providerMetadata"], "value": value}
        ]

    # --- the rest of a program ---

    def _calls(self, program: Json) -> None:
        """Calls of one id in an answer, some without arguments, some of names that every object has."""
        choices = self.choices
        names = (*TOOLS, *TOOLS, "toString", "nope")
        program.setdefault("tools", {name: {"output": self.make.mark()} for name in TOOLS})
        program.setdefault("script", [[dict(_TEXT)]])[:0] = [
            [
                {
                    "type": "tool-call",
                    "toolCallId": choices.sample(("twice", "twice", "other")),
                    "toolName": choices.sample(names),
                    "input": {} if choices.chance(45) else {"a": self.make.mark()},
                }
                for _ in range(choices.integer(2, 4))
            ]
        ]

    def _names(self, program: Json) -> None:
        choices = self.choices
        tools = program.setdefault("tools", {})
        tools[choices.sample(_NAMES)] = {"output": self.make.mark()}

    def _date(self, program: Json) -> None:
        at = self.choices.sample(_DATES[:-2])
        message = {"role": "user", "content": self.make.mark(), "metadata": {"createdAt": at}}
        program.setdefault("messages", ["hi"]).append(message)

    def _result(self, program: Json) -> None:
        """Draws a processor's return value: no valid result, or one whose fields have arbitrary values."""
        choices = self.choices
        where = choices.sample(("call", "ctor"))
        processor: Json = {"id": "odd"} | ({"where": "ctor"} if where == "ctor" else {})
        if choices.chance(40):
            processor["input"] = [{"op": "returnValue", "value": choices.sample(_RESULTS)}]
        else:
            name = choices.sample(_FIELDS[:3])
            # Drivers count the steps, so those stay a list.
            returned = {"op": "return", name: choices.sample(_VALUES[:2] if name == "steps" else _VALUES)}
            if choices.chance(40):
                returned = {"op": "return", "undefined": [choices.sample(_FIELDS)]}
            spread = [{"op": "returnList", "which": "same"}] if choices.chance(25) else []
            processor["steps"] = {"0": [*spread, returned]}
        program.setdefault("processors", [])[:0] = [processor]

    def _silence(self, program: Json) -> None:
        """A model that fails with a blank text."""
        blank = self.choices.sample(("", " ", "\t"))
        program.setdefault("script", []).append([{"type": "throw", "message": blank}])

    # --- what is drawn last ---

    def finish(self, program: Json) -> None:
        """Writes out a default, or puts an op in that leads further inside."""
        choices, make = self.choices, self.make
        if choices.chance(40):
            program.setdefault("path", "generate")
            for processor in program.get("processors", ()):
                processor.setdefault("where", "call")
            return
        ops = [ops for by_step in self._turns(program) for ops in by_step.values()]
        inside = ["content", "parts"]
        first: tuple[Op, ...] = (
            {"op": "reverse", "at": [0, *inside]},
            {"op": "observe", "at": [0, "content"], "as": "inside"},
            {"op": "observe", "on": "steps", "at": [-1], "as": "step"},
            {
                "op": "splice",
                "at": [0, *inside],
                "start": 0,
                "count": 0,
                "items": [{"value": make.text_part()}],
            },
            {
                "op": "push",
                "message": {"role": "user", "content": {"format": 2, "parts": [make.text_part()]}},
            },
        )
        last: tuple[Op, ...] = (
            {"op": "return", "messages": {"from": "current", "pipe": [{"ids": ["i1", "i2"]}]}},
            {"op": "return", "systemMessages": {"from": "current", "pipe": [{"take": 1}]}},
        )
        if ops and choices.chance(70):
            choices.sample(ops)[:0] = [choices.sample(first)]
        elif ops:
            choices.sample(ops).append(choices.sample(last))
