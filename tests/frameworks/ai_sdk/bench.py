"""The program that the propagation matrix of the AI SDK was measured with, run on the compat mode.

A history with a user text, a user list, an assistant message (text and tool call) and its tool result, all
with provider options; steps 0, 1, 2 with a text and a tool call each, then a closing text; a write at step 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from agentcore.frameworks.ai_sdk.emulation.loop import AiSdkLoop
from agentcore.frameworks.ai_sdk.emulation.settings import Hooks, Model, Settings, Tool
from agentcore.frameworks.ai_sdk.profiles import PROFILES
from agentcore.heap.views import View

K: Final = 1
STEPS_WITH_A_CALL: Final = 3


# ---------------------------------------------------------------- the program


def options(token: str) -> dict[str, Any]:
    return {"p": {"of": token}}


def text_part(token: str) -> dict[str, Any]:
    return {"type": "text", "text": token, "providerOptions": options(token)}


def call_part(call_id: str, options_key: str = "providerOptions") -> dict[str, Any]:
    call = {"type": "tool-call", "toolCallId": call_id, "toolName": "look"}
    return {**call, "input": {"of": call_id, "nested": {}}, options_key: options(call_id)}


def output_of(call_id: str) -> dict[str, Any]:
    return {"says": f"output of {call_id}", "nested": {}}


def history(*, approval: bool = False) -> list[dict[str, Any]]:
    result = {"type": "tool-result", "toolCallId": "h", "toolName": "look", "providerOptions": options("h")}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "user text"},
        {"role": "user", "content": [text_part("user list")]},
        {"role": "assistant", "content": [text_part("text of h"), call_part("h")]},
        {"role": "tool", "content": [{**result, "output": {"type": "json", "value": output_of("h")}}]},
    ]
    if approval:
        request = {"type": "tool-approval-request", "approvalId": "asked", "toolCallId": "a"}
        answer = {"type": "tool-approval-response", "approvalId": "asked", "approved": True}
        messages.append({"role": "assistant", "content": [call_part("a"), request]})
        messages.append({"role": "tool", "content": [answer]})
    return [{**message, "providerOptions": options(f"message {i}")} for i, message in enumerate(messages)]


def answer(step: int, *, calls: bool) -> list[dict[str, Any]]:
    token = f"c{step}"
    text = {"type": "text", "text": f"text of {token}", "providerMetadata": options(token)}
    return [text, call_part(token, "providerMetadata")] if calls else [text]


# ---------------------------------------------------------------- boundaries: handle and moment


@attrs.frozen
class Boundary:
    """Through which handle is written, and when.

    `handle` is the path from what a hook was given at step k; `at` is the hook that writes, if another one.
    `returns` is what `prepareStep` returns as messages: the "same" array, a "copy" of it, or a "clone".
    """

    handle: str
    at: str = attrs.field(default=attrs.Factory(lambda self: self.handle.partition(".")[0], takes_self=True))
    step: int = K
    returns: str | None = None


@attrs.frozen
class Writing:
    """A write, called with what the boundary's handle leads to."""

    boundary: Boundary
    write: Callable[[Any], None]


def follow(view: Any, path: str) -> Any:
    """What is at a path such as `.steps[0].content` below a view."""
    for name, index in re.findall(r"(\w+)|\[(-?\d+)\]", path):
        view = view[name] if name else view[int(index)]
    return view


def live(near: View, value: Any) -> Any:
    """A new object of the heap that the writer holds on to, as a literal in JavaScript is."""
    return near.desk.view(near.desk.slot(value), ("kept",))


# ---------------------------------------------------------------- a run


class Bench:
    """Runs the program, writes once, and reads every point that lies after the write; without one, all.

    `moments` is called at each moment, before anything is written, with the hook's name, the step and what
    the hook was given.
    """

    def __init__(
        self,
        path: str,
        *,
        writing: Writing | None = None,
        messages: list[dict[str, Any]] | None = None,
        steps_with_a_call: int = STEPS_WITH_A_CALL,
        moments: Callable[[str, int, Any], None] | None = None,
    ) -> None:
        self.writing = writing
        self.steps_with_a_call = steps_with_a_call
        self.moments = moments
        self.step = -1
        self.held: dict[str, Any] = {}
        self.written = writing is None
        self.readings: dict[str, list[Any]] = {}
        self.loop = AiSdkLoop(PROFILES[f"ai-sdk-6/{path}"], self._settings(messages or history()))
        desk = self.loop.desk
        self.held["caller"] = desk.view(self.loop.caller)
        self.held["context"] = desk.view(self.loop.contexts["experimental_context"])

    def _settings(self, messages: list[dict[str, Any]]) -> Settings:
        return Settings(
            messages=messages,
            model=Model(id="m", answer=self._answer, on_parts=lambda parts: self._hold("parts", parts)),
            tools={"look": self._tool()},
            options={"experimental_context": {"nested": {}}},
            hooks=Hooks(
                prepare_step=self._prepare_step,
                on_step_start=lambda event: self._moment("onStepStart", event),
                on_tool_call_start=lambda event: self._moment("onToolCallStart", event),
                on_tool_call_finish=lambda event: self._moment("onToolCallFinish", event),
                on_chunk=lambda event: self._moment(f"onChunk {event['chunk']['type']}", event),
                on_step_finish=lambda event: self._moment("onStepFinish", event),
                stop_when=lambda event: self._moment("stopWhen", event),
            ),
        )

    def _tool(self) -> Tool:
        # A conversion of the tool's own makes the wrapper, so only the rows about one have it.
        converts = self.writing is not None and self.writing.boundary.at == "toModelOutput"
        return Tool(
            execute=self._execute,
            needs_approval=lambda given, _: self._moment("needsApproval", live(given, {"input": given})),
            to_model_output=self._to_model_output if converts else None,
            on_input_available=lambda event: self._moment("onInputAvailable", event),
        )

    # ---- hooks

    def _hold(self, name: str, given: Any) -> None:
        if self.step == K:
            self.held[name] = given

    def _moment(self, name: str, given: Any) -> None:
        self._hold(name, given)
        if self.moments is not None:
            self.moments(name, self.step, given)
        for point, path in READ_AT.get((name, self.step - K), {}).items():
            self._read(point, *self._found(given, path))
        self._write_at(name)

    def _found(self, given: Any, path: str) -> list[Any]:
        first, every, rest = path.partition("[*]")
        found = follow(given, first)
        return [follow(item, rest) for item in found] if every else [found]

    def _read(self, point: str, *values: Any) -> None:
        if self.written:
            self.readings.setdefault(point, []).extend(value.desk.plain(value.ref) for value in values)

    def _write_at(self, name: str) -> None:
        if self.written or self.writing is None:
            return
        boundary = self.writing.boundary
        if (name, self.step) != (boundary.at, boundary.step):
            return
        self.written = True
        holder, _, path = boundary.handle.partition(".")
        self.writing.write(follow(self.held[holder], path))

    def _prepare_step(self, given: Any) -> Any:
        self.step = given["stepNumber"]
        returns = self.writing.boundary.returns if self.writing is not None and self.step == K else None
        messages = given["messages"]
        if returns is not None:
            made = {
                "same": lambda: messages,
                "copy": lambda: live(messages, list(messages)),
                "clone": messages.clone,
            }
            self.held["returned"] = made[returns]()
        self._moment("prepareStep", given)
        return None if returns is None else {"messages": self.held["returned"]}

    def _answer(self, given: Any) -> list[dict[str, Any]]:
        self._moment("model", given)
        return answer(self.step, calls=self.step < self.steps_with_a_call)

    def _execute(self, given: Any, options: Any) -> Any:
        output = live(options, output_of(options["toolCallId"]))
        self._hold("output", output)
        self._moment("execute", live(options, {"input": given, "options": options, "returned": output}))
        return output

    def _to_model_output(self, given: Any) -> Any:
        self._moment("toModelOutput", given)
        return {"type": "json", "value": given["output"]}

    # ---- the end

    def run(self) -> Bench:
        outcome = self.loop.run()
        assert outcome.error is None, outcome.error
        desk = self.loop.desk
        steps = list(desk.view(outcome.steps)) if outcome.steps is not None else []
        for label, of in (("[<k]", steps[:K]), ("[k]", [steps[K]]), ("[>k]", steps[K + 1 :])):
            self._read(
                f"final.steps{label}.response.messages", *(step["response"]["messages"] for step in of)
            )
            self._read(
                f"final.steps{label}.experimental_context", *(step["experimental_context"] for step in of)
            )
        if self.moments is not None:
            self.moments(
                "final", self.step, {"steps": desk.view(outcome.steps), "response": steps[-1]["response"]}
            )
        self._read("final.steps.content", *(step["content"] for step in steps))
        self._read("final.response.messages", steps[-1]["response"]["messages"])
        self._read("caller", self.held["caller"])
        self._read("caller.experimental_context", self.held["context"])
        return self


# What is read at a hook, by how many steps after the write it is called: points, and the path below its
# argument.
READ_AT: Final[Mapping[tuple[str, int], Mapping[str, str]]] = {
    ("onStepStart", 0): {"same.onStepStart.experimental_context": "experimental_context"},
    ("model", 0): {"same.prompt": "prompt"},
    ("execute", 0): {
        "same.tool.messages": "options.messages",
        "same.tool.experimental_context": "options.experimental_context",
    },
    ("onStepFinish", 0): {
        "same.onStepFinish.response.messages": "response.messages",
        "same.onStepFinish.experimental_context": "experimental_context",
    },
    ("prepareStep", 1): {
        "next.prepareStep.messages": "messages",
        "next.prepareStep.steps.response.messages": "steps[*].response.messages",
        "next.prepareStep.steps.content": "steps[*].content",
        "next.prepareStep.experimental_context": "experimental_context",
    },
    ("model", 1): {"next.prompt": "prompt"},
    ("execute", 1): {
        "next.tool.messages": "options.messages",
        "next.tool.experimental_context": "options.experimental_context",
    },
    ("model", 2): {"later.prompt": "prompt"},
}
