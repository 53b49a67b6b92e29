"""What the fitted numbers of emulations were fitted to: programs in which their order can be seen.

Two packages decide by the turns of JavaScript's microtask queue in what order things happen, and no document
says how many turns anything takes. A `Series` writes each program as a short text, a *sequence*, and the
order that its trace shows as another. The numbers are right if the emulation gives the package's orders.

- `ai-sdk-6/stream`, `ai-sdk-6.0.326/stream`: a step whose model sends some parts; the order is that of the
  step's content. Parts: t text, s source, r a call whose tool returns, e one whose tool throws, u a call of
  no tool, a one that needs approval, p one that the provider runs, d the same of a tool that only the
  provider has, R the result and E the error of the first of these two that has none yet.
- `strands-ts@...`: a turn of calls that run at once; the order is that of handlers, tools and hooks.
  Calls: r the tool returns, e it throws, u there is no tool. Behind a blank, what looks on: w, i and o are
  handlers of the tool stage that wrap it, see its input and its output, x throws and k answers at its first
  entry, b and a are hooks before and after a tool, c cancels the first call, y asks for the first call again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations, product
from random import Random
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import attrs

from agentcore.frameworks.ai_sdk.profiles import PROFILES as AI_SDK
from agentcore.frameworks.ai_sdk.reference import Recording
from agentcore.frameworks.strands.profiles import PROFILES as STRANDS
from agentcore.frameworks.strands.reference import trace_under

Json: TypeAlias = dict[str, Any]
Numbers: TypeAlias = Mapping[str, int]


@attrs.frozen(kw_only=True)
class Series:
    """Programs about one set of numbers.

    `target` is the package that is measured, by the name that `agentcore check --target` takes. `profile` has
    the numbers in its field `field`. `program` makes the program of a sequence, `order` reads the order off
    its trace, and `emulated` gives the trace under a profile.
    """

    name: str
    target: str
    profile: Any
    field: str
    sequences: Callable[[], Iterator[str]]
    program: Callable[[str], Json]
    order: Callable[[Json], str]
    emulated: Callable[[Any, Json], Json]

    def numbers(self) -> Numbers:
        """The numbers as the code has them, those in a mapping as `field.key`; none that is left out."""
        found: dict[str, int] = {}
        for name, value in attrs.asdict(getattr(self.profile, self.field), recurse=False).items():
            if isinstance(value, Mapping):
                found.update({f"{name}.{key}": number for key, number in value.items()})
            elif value is not None:
                found[name] = value
        return found

    def with_numbers(self, numbers: Numbers) -> Any:
        """The profile with other numbers."""
        changed: dict[str, Any] = {}
        for name, number in numbers.items():
            outer, _, key = name.partition(".")
            if key:
                changed[outer] = MappingProxyType({**changed.get(outer, {}), key: number})
            else:
                changed[outer] = number
        return attrs.evolve(
            self.profile, **{self.field: attrs.evolve(getattr(self.profile, self.field), **changed)}
        )

    def expected(self, sequence: str, numbers: Numbers | None = None) -> str:
        """The order that the emulation gives, with its own numbers or others."""
        profile = self.profile if numbers is None else self.with_numbers(numbers)
        return self.order(self.emulated(profile, self.program(sequence)))


# ---------------------------------------------------------------- the AI SDK's stream

_PARTS: Final = "tsreuapdRE"
_WHOLE_TO: Final = 3
_LONGEST: Final = 10
_RANDOM: Final = 2400


def _is_sequence(text: str) -> bool:
    """Whether every result has a call of the provider's before it."""
    open_calls = 0
    for letter in text:
        open_calls += (letter in "pd") - (letter in "RE")
        if open_calls < 0:
            return False
    return True


def _sequences_of_parts() -> Iterator[str]:
    """All of up to three parts, then random ones of four to ten."""
    known: dict[str, None] = {}
    for length in range(1, _WHOLE_TO + 1):
        known.update(dict.fromkeys(filter(_is_sequence, map("".join, product(_PARTS, repeat=length)))))
    random = Random(1)  # noqa: S311 - any sequences will do, the same each time
    wanted = len(known) + _RANDOM
    while len(known) < wanted:
        length = random.randint(_WHOLE_TO + 1, _LONGEST)
        text = "".join(random.choices(_PARTS, k=length))
        known.update({text: None} if _is_sequence(text) else {})
    yield from known


_TOOLS: Final = {
    "r": ("returns", {"output": 1}),
    "e": ("throws", {"output": 1, "error": "no"}),
    "a": ("asks", {"output": 1, "needsApproval": True}),
    "p": ("provided", {"output": 1}),
}


def _program_of_parts(sequence: str) -> Json:
    parts: list[Json] = []
    waiting: list[Json] = []
    for index, letter in enumerate(sequence):
        if letter == "t":
            parts.append({"type": "text", "text": str(index)})
        elif letter == "s":
            parts.append(
                {"type": "source", "sourceType": "url", "id": str(index), "url": "https://example.com/"}
            )
        elif letter in "RE":
            call = waiting.pop(0)
            failed = {"isError": True} if letter == "E" else {}
            parts.append(
                {"type": "tool-result", "toolCallId": call["toolCallId"], "toolName": call["toolName"]}
                | {"result": index, **failed}
            )
        else:
            name = _TOOLS[letter][0] if letter in _TOOLS else "nothing"
            parts.append({"type": "tool-call", "toolCallId": str(index), "toolName": name, "input": {}})
            if letter in "pd":
                parts[-1] |= {"providerExecuted": True} | ({"dynamic": True} if letter == "d" else {})
                waiting.append(parts[-1])
    return {
        "id": sequence,
        "path": "stream",
        "messages": [{"role": "user", "content": "go"}],
        "script": [parts],
        "tools": dict(_TOOLS.values()),
        "maxSteps": 1,
    }


def _order_of_content(trace: Json) -> str:
    return " ".join(map(_named_part, trace["steps"][0]["onStepFinish"]["content"]))


def _named_part(part: Json) -> str:
    if part["type"] == "tool-approval-request":
        return f"asks{(part.get('toolCall') or part)['toolCallId']}"
    names = {"text": "text", "id": "source", "toolCallId": part["type"].removeprefix("tool-")}
    return next(f"{name}{part[key]}" for key, name in names.items() if key in part)


# ---------------------------------------------------------------- calls of Strands that run at once

_LOOKERS: Final = "wioxkbacy"
_FEW: Final = 2
_ID: Final = ["toolUse", "toolUseId"]
_SEE: Final = {"op": "observe", "path": _ID}
_HANDLERS: Final[Mapping[str, Json]] = {
    "w": {"stage": "tool", "ops": [_SEE, {"op": "next"}, {"op": "observe", "path": _ID}]},
    "i": {"stage": "tool", "phase": "input", "ops": [_SEE]},
    "o": {
        "stage": "tool",
        "phase": "output",
        "ops": [{"op": "observe", "path": ["toolResult", "toolUseId"]}],
    },
    "x": {"stage": "tool", "ops": [{"op": "throw", "message": "no", "when": 0}, {"op": "next"}]},
    "k": {"stage": "tool", "ops": [{"op": "shortCircuit", "content": [{"text": "short"}], "when": 0}]},
}
_HOOKS: Final[Mapping[str, Json]] = {
    "b": {"on": "beforeTool", "ops": [_SEE]},
    "a": {"on": "afterTool", "ops": [_SEE]},
    "c": {"on": "beforeTool", "ops": [{"op": "cancel", "message": "no", "when": 0}]},
    "y": {"on": "afterTool", "ops": [{"op": "retry", "when": 0}]},
}


def _sequences_of_calls() -> Iterator[str]:
    """All of one to three calls, each with every set of up to two onlookers and some of three."""
    lookers = [
        "".join(some)
        for count in range(1, 4)
        for some in combinations(_LOOKERS, count)
        if count <= _FEW or "a" in some
    ]
    for length in (1, 2, 3):
        for calls in map("".join, product("reu", repeat=length)):
            for looking in lookers if length <= _FEW else lookers[:: len(lookers) // 9]:
                yield f"{calls} {looking}"


def _program_of_calls(sequence: str) -> Json:
    calls, _, looking = sequence.partition(" ")
    names = {"r": "returns", "e": "throws", "u": "nothing"}
    uses = [
        {"toolUse": {"name": names[letter], "toolUseId": str(index), "input": {}}}
        for index, letter in enumerate(calls)
    ]
    return {
        "id": sequence,
        "executor": "concurrent",
        "script": [uses, [{"text": "done"}]],
        "tools": {"returns": {"output": "1"}, "throws": {"output": "1", "throw": "no"}},
        "middleware": [_HANDLERS[letter] for letter in looking if letter in _HANDLERS],
        "hooks": [_HOOKS[letter] for letter in looking if letter in _HOOKS],
    }


def _order_of_calls(trace: Json) -> str:
    log = (entry.replace("hook:", "").replace(":tool", "").replace("tool:", "") for entry in trace["log"])
    runs = (run["toolUseId"] for run in trace["toolRuns"])
    seen = (
        f"{each['by'].replace('hook:', '').replace(':tool', '')}={each['value']}"
        for each in trace["observations"]
    )
    return " | ".join(" ".join(part) for part in (log, runs, seen))


SERIES: Final[Mapping[str, Series]] = {
    series.name: series
    for series in (
        *(
            Series(
                name=f"ai-sdk-{version}/stream",
                target=f"ai-sdk@{release}",
                profile=AI_SDK[f"ai-sdk-{version}/stream"],
                field="pace",
                sequences=_sequences_of_parts,
                program=_program_of_parts,
                order=_order_of_content,
                emulated=lambda profile, program: Recording(profile, program).trace(),
            )
            for version, release in (("6", "6.0.134"), ("6.0.326", "6.0.326"))
        ),
        *(
            Series(
                name=name,
                target=name,
                profile=STRANDS[name],
                field="pace",
                sequences=_sequences_of_calls,
                program=_program_of_calls,
                order=_order_of_calls,
                emulated=trace_under,
            )
            for name in ("strands-ts@1.5.0", "strands-ts@1.19.0")
        ),
    )
}
"""The series by the name of the profile whose numbers they are about."""
