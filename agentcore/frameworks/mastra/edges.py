"""Random values at the edges of the format: no messages, dates of any kind, calls of one id, odd names.

Drawn after the rest of a program, so that a seed gives that as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from agentcore.frameworks.mastra.making import TOOLS, Maker
from agentcore.kit.choices import Choices

__all__ = ["Edges"]

Json: TypeAlias = dict[str, Any]
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
            self._kept,
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

    def _kept(self) -> list[Op]:
        output = {"modelOutput": {"type": "text", "value": self.make.mark()}}
        value = self.choices.sample(({"x": {"k": 1}}, {"mastra": output}))
        return [
            {"op": "set", "on": "list", "at": [-1, "content", "parts", 0, "providerMetadata"], "value": value}
        ]

    # --- the rest of a program ---

    def _calls(self, program: Json) -> None:
        """Calls of one id in an answer, some without arguments, some of names that every object has."""
        choices = self.choices
        names = (*TOOLS, *TOOLS, "toString")
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
        """What a processor returns that is no result, or has fields of any value."""
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
