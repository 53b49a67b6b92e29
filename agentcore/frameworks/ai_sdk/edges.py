"""What is seldom in a program, put in after the rest of it, so that a seed gives the rest as ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from agentcore.frameworks.ai_sdk.writes import Maker
from agentcore.kit.choices import Choices

__all__ = ["Edges", "some_by_provider"]

Json: TypeAlias = dict[str, Any]
Path: TypeAlias = list[str | int]

# Where a hook has an object of a message or a result, at whose new field a trace shows a value.
_SHOWN: Final[dict[str, Path]] = {
    "prepareStep": ["messages", 0, "x"],
    "onStepStart": ["messages", 0, "x"],
    "model": ["prompt", -1, "providerOptions", "x"],
    "execute": ["output", "x"],
    "onStepFinish": ["content", 0, "x"],
    "stopWhen": ["steps", -1, "content", 0, "x"],
    "onFinish": ["steps", -1, "content", 0, "x"],
}
# Where what was read in one hook is written to in a later one, by the last name of its path.
_INSIDE: Final[dict[str | int, Path]] = {
    "messages": [-1, "x"],
    "steps": [-1, "content", 0, "x"],
    "content": [0, "x"],
}
_READ: Final[dict[str, tuple[Path, ...]]] = {
    "prepareStep": (["messages"], ["messages", -1, "content"], ["steps"]),
    "onStepStart": (["messages", 0], ["messages", -1, "content"]),
    "model": (["prompt", -1], ["prompt", -1, "content"], ["providerOptions"]),
    "execute": (["input"], ["output"], ["messages", -1]),
    "onStepFinish": (["content"], ["response", "messages"], ["content", 0]),
    "stopWhen": (["steps"], ["steps", -1, "response", "messages"]),
}


class Edges:
    """Puts one seldom thing into a program.

    `wanted`: there is a package whose profile it is for, and with it settings that some releases know.
    """

    def __init__(self, choices: Choices, make: Maker, *, wanted: bool) -> None:
        self.choices = choices
        self.make = make
        self.wanted = wanted

    def put(self, program: Json) -> None:
        """Changes the program in place."""
        kinds: tuple[Callable[[Json], None], ...] = (self._provided, self._source, self._given_back)
        carried = (self._carried, self._carried, self._carried, self._written_later, self._written_later)
        wanted = (self._allowed, self._asked, *carried, self._context_returned)
        self.choices.sample((*kinds, *(wanted if self.wanted else ())))(program)

    def _provided(self, program: Json) -> None:
        """What the provider says of the result of a call that it ran itself."""
        results = [part for parts in program["script"] for part in parts if part["type"] == "tool-result"]
        if results:
            part = self.choices.sample(results)
            part["dynamic"] = True
            part["providerMetadata"] = self.make.provider_options()

    def _source(self, program: Json) -> None:
        source = {"type": "source", "sourceType": "url", "id": "s1", "url": "https://example.com/s"}
        said = {"title": self.make.mark(), "providerMetadata": self.make.provider_options()}
        self.choices.sample(program["script"]).append({**source, **said})

    def _given_back(self, program: Json) -> None:
        """A tool that has no output but its input."""
        if program.get("tools"):
            tool = program["tools"][self.choices.sample([*program["tools"]])]
            tool.pop("output", None)
            tool["returns"] = "input"

    def _allowed(self, program: Json) -> None:
        allowed = self.choices.sample((True, False, None))
        program["options"] = {**program.get("options", {}), "allowSystemInMessages": allowed}

    def _asked(self, program: Json) -> None:
        """What a release may put into a request for approval: the input that was asked about, a signature."""
        for call, request in _requests(program["messages"]):
            like = self.choices.chance(60)
            request["inputSchemaInput"] = call["input"] if like else self.make.payload()
            if self.choices.chance(40):
                request["signature"] = self.make.mark()

    def _carried(self, program: Json) -> None:
        """What one hook reads, and a later one puts elsewhere: itself, or a copy of it."""
        choices = self.choices
        (reader, step), (writer, later) = self._two_hooks(program)
        name = "carried"
        value = {choices.sample(("$clone", "$ref")): [f"${name}"]}
        self._ops(program, reader, step).insert(0, {"keep": choices.sample(_READ[reader]), "as": name})
        self._ops(program, writer, later).append({"set": _SHOWN[writer], "to": value})

    def _written_later(self, program: Json) -> None:
        """What one hook reads, and a later one writes into."""
        (reader, step), (writer, later) = self._two_hooks(program)
        read = self.choices.sample(_READ[reader])
        self._ops(program, reader, step).insert(0, {"keep": read, "as": "read"})
        inside = _INSIDE.get(read[-1], ["x"])
        self._ops(program, writer, later).append({"set": ["$read", *inside], "to": self.make.mark()})

    def _two_hooks(self, program: Json) -> tuple[tuple[str, int], tuple[str, int]]:
        """A hook that something can be read in, with its step, and one that comes no earlier."""
        choices, last = self.choices, len(program["script"]) - 1
        reader, step = choices.sample([*_READ]), choices.integer(0, last)
        return (reader, step), (choices.sample([*_SHOWN]), choices.integer(step, last))

    def _context_returned(self, program: Json) -> None:
        """A context that a step hook returns, and what a later step is shown as its own."""
        choices = self.choices
        steps = len(program["script"])
        step = choices.integer(0, steps - 1)
        reader, later = choices.sample(("prepareStep", "onStepStart")), choices.integer(step, steps - 1)
        read: list[Json] = [{"keep": ["experimental_context"], "as": "context"}]
        read.append({"set": _SHOWN[reader], "to": {"$clone": ["$context"]}})
        self._ops(program, reader, later).extend(read)
        self._ops(program, "prepareStep", step).append(
            {"return": {"experimental_context": self.make.payload()}}
        )

    def _ops(self, program: Json, hook: str, step: int) -> list[Json]:
        """The ops of a hook at a step, before one that returns."""
        entries = program.setdefault("hooks", {}).setdefault(hook, [])
        entries += [None] * (step + 1 - len(entries))
        ops: list[Json] = entries[step] or []
        entries[step] = [op for op in ops if "return" not in op]
        found: list[Json] = entries[step]
        return found


def some_by_provider(messages: list[Any], choices: Choices) -> None:
    """Makes calls of a history for which an approval was asked ones that the provider runs, in place."""
    for call, _ in _requests(messages):
        if choices.chance(50):
            call["providerExecuted"] = True


def _requests(messages: list[Any]) -> Iterator[tuple[Json, Json]]:
    """The calls of a history for which an approval was asked, and the requests."""
    for message in messages:
        parts = message.get("content") if isinstance(message, dict) else None
        known = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
        calls = {part.get("toolCallId"): part for part in known if part.get("type") == "tool-call"}
        for part in known:
            if part.get("type") == "tool-approval-request" and part.get("toolCallId") in calls:
                yield calls[part["toolCallId"]], part
