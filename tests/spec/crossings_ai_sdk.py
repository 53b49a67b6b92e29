"""How much is new when messages cross the boundaries of the AI SDK's loop: measured by running its profiles.

Two runs in which nothing is written, one whose hook returns a list of its own. Every hook notes the addresses
of what it is given, and two notes of the same messages tell how deep the copy between them is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from agentcore.frameworks import ai_sdk
from agentcore.heap.views import ObjectView
from spec.tables import Table

ABSENT: Final = "absent"
_DEPTHS: Final = ("share", "list", "message", "content", "part")
_OPTIONS: Final = {"p": {"n": 1}}
_WHERE: Final = {
    "chain": "response chain",
    "prompt": "next prompt",
    "report": "report",
    "execute": "`execute`",
}
# From which note to which: of the plain run, and of the one whose hook returns a list.
_PLAIN: Final = {
    "caller's messages → `prepareStep`": ("caller", "prepareStep 0"),
    "`prepareStep` → `onStepStart`": ("prepareStep 0", "onStepStart 0"),
    "`prepareStep` → `execute`": ("prepareStep 0", "execute 0"),
    "`prepareStep` → prompt": ("prepareStep 0", "prompt 0"),
    "`prepareStep` → `prepareStep` of the next step": ("prepareStep 0", "prepareStep 1"),
    "response chain → report": ("chain", "report 0"),
    "report → report of the next step": ("report 0", "report 1"),
}
_RETURNING: Final = {
    "returned list → `onStepStart`": ("returned", "onStepStart 0"),
    "returned list → `execute`": ("returned", "execute 0"),
    "returned list → prompt": ("returned", "prompt 0"),
    "returned list → `prepareStep` of the next step": ("returned", "prepareStep 1"),
}


def crossings(profile: str) -> Mapping[str, str]:
    """The depth of the copy at each boundary; ABSENT where the messages do not come through."""
    plain, returning = _Run(profile, returns=False), _Run(profile, returns=True)
    depths = {name: plain.depth(*notes) for name, notes in _PLAIN.items()}
    depths |= {name: returning.depth(*notes) for name, notes in _RETURNING.items()}
    for payload in ("input", "output", "metadata"):
        for place, where in _WHERE.items():
            if (place, payload) in plain.payloads:
                same = plain.payloads[place, payload] == plain.payloads["content", payload]
                depths[f"call's {payload}: content → {where}"] = "share" if same else "deep"
    return depths


@attrs.frozen
class _Note:
    """The addresses of a list of messages, by level, and what the first message says."""

    levels: tuple[tuple[int, ...], ...]
    first: Any


def _note(messages: Any, start: int = 0) -> _Note:
    noted = list(messages)[start:]
    contents = [message["content"] for message in noted]
    parts = [part for content in contents for part in content]
    payloads = [each for part in parts for each in _payloads(part)]
    levels = ([messages], noted, contents, parts, payloads)
    return _Note(tuple(tuple(view.ref.address for view in level) for level in levels), contents[0][0].thaw())


def _payloads(part: Any) -> Iterator[Any]:
    for key, value in part.items():
        if isinstance(value, ObjectView):
            yield value["value"] if key == "output" else value


class _Run:
    """A run under a profile: what its hooks were given, by name, and its first call's payloads by place."""

    def __init__(self, profile: str, *, returns: bool) -> None:
        self.notes: dict[str, _Note] = {}
        self.payloads: dict[tuple[str, str], int] = {}
        self.returns = returns
        self.step = -1
        run = ai_sdk.run(
            profile,
            ai_sdk.Settings(
                messages=[
                    {"role": "user", "content": [{"type": "text", "text": "a", "providerOptions": _OPTIONS}]}
                ],
                model=ai_sdk.Model(id="m", answer=self._answer),
                tools={"look": ai_sdk.Tool(execute=self._execute)},
                hooks=ai_sdk.Hooks(
                    on_start=lambda event: self._noted("caller", event["messages"]),
                    prepare_step=self._prepare_step,
                    on_step_start=lambda event: self._noted(f"onStepStart {self.step}", event["messages"]),
                    on_step_finish=self._finished,
                ),
            ),
        )
        assert run.error is None, run.error

    def depth(self, source: str, target: str) -> str:
        before, after = self.notes[source], self.notes[target]
        for depth, mine, theirs in zip(_DEPTHS, before.levels, after.levels, strict=True):
            if mine[: len(theirs)] == theirs[: len(mine)]:
                return depth
        return "deep" if before.first == after.first else ABSENT

    def _noted(self, name: str, messages: Any) -> None:
        self.notes[name] = _note(messages)

    def _prepare_step(self, step: Any) -> Any:
        self.step += 1
        self._noted(f"prepareStep {self.step}", step["messages"])
        if self.step == 1 and not self.returns:
            self.notes["chain"] = _note(step["messages"], start=1)
            self._inside("chain", step["messages"])
        if self.step or not self.returns:
            return None
        step["own"] = [
            {"role": "user", "content": [{"type": "text", "text": "b", "providerOptions": _OPTIONS}]}
        ]
        self._noted("returned", step["own"])
        return {"messages": step["own"]}

    def _answer(self, options: Any) -> list[Any]:
        self._noted(f"prompt {self.step}", options["prompt"])
        if self.step == 1 and not self.returns:
            self._inside("prompt", options["prompt"])
        call = {"type": "tool-call", "toolCallId": f"c{self.step}", "toolName": "look", "input": {"n": 1}}
        return [{**call, "providerMetadata": _OPTIONS}] if self.step < 2 else []

    def _execute(self, given: Any, options: Any) -> Any:
        self._noted(f"execute {self.step}", options["messages"])
        self.payloads.setdefault(("execute", "input"), given.ref.address)
        return {"n": 2}

    def _finished(self, step: Any) -> None:
        if self.step > 1:
            return
        self._noted(f"report {self.step}", step["response"]["messages"])
        if self.step == 0:
            self._inside("report", step["response"]["messages"])
            call, result = step["content"]
            found = {"input": call["input"], "output": result["output"], "metadata": call["providerMetadata"]}
            self.payloads |= {("content", name): view.ref.address for name, view in found.items()}

    def _inside(self, place: str, messages: Any) -> None:
        call, result = (message["content"][0] for message in list(messages)[-2:])
        found = {
            "input": call["input"],
            "output": result["output"]["value"],
            "metadata": call["providerOptions"],
        }
        self.payloads |= {(place, name): view.ref.address for name, view in found.items()}


_TEXT: Final = """\
How much is new ([depths](../../compat.md#copy-depth)), measured by running each profile while nothing is
written; absent where messages do not come through.
"""

TABLES: Final = (Table("What crosses a boundary", "boundary", _TEXT, crossings),)
