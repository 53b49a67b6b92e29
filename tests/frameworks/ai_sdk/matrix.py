"""The propagation matrix of ai@6.0.134: origins, boundaries and depths of its rows, and measuring one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import attrs

from frameworks.ai_sdk.bench import Bench, Boundary, K, Writing, history, options

FILE: Final = Path(__file__).parent / "data" / "ai-sdk-6.matrix.sample.json"
MEASURED: Final[Mapping[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
POINTS: Final[tuple[str, ...]] = tuple(MEASURED["points"])

MARK: Final = "written at step k"


@attrs.frozen
class Row:
    """What was measured on the real package."""

    path: str
    boundary: str
    depth: str
    origin: str
    visible_at: list[str]
    not_visible_at: list[str]

    @property
    def id(self) -> str:
        return f"{self.path}|{self.boundary}|{self.depth}|{self.origin}"


ROWS: Final = [Row(**row) for row in MEASURED["rows"]]


# ---------------------------------------------------------------- origins: the message, and its tool call


@attrs.frozen
class Origin:
    """A message of the program: its role, the text that only it holds, and the call it belongs to."""

    role: str
    token: str
    call: str


# The message that is written. Of the caller's it is the user list, of a response the assistant message.
ORIGINS: Final = {
    "initial": Origin("user", "user list", "h"),
    "earlier": Origin("assistant", f"text of c{K - 1}", f"c{K - 1}"),
    "this": Origin("assistant", f"text of c{K}", f"c{K}"),
    "approval": Origin("tool", "output of a", "a"),
}


# ---------------------------------------------------------------- boundaries


BOUNDARIES: Final = {
    "prepareStep.messages (written, nothing returned)": Boundary("prepareStep.messages"),
    "prepareStep.messages (written, same array returned)": Boundary("prepareStep.messages", returns="same"),
    "prepareStep → shallow copy written and returned": Boundary("returned", "prepareStep", returns="copy"),
    "prepareStep → deep clone written and returned": Boundary("returned", "prepareStep", returns="clone"),
    "prepareStep → returned copy kept, written in tool.execute": Boundary(
        "returned", "execute", returns="copy"
    ),
    "prepareStep.messages kept, written in tool.execute": Boundary("prepareStep.messages", "execute"),
    "prepareStep.messages kept, written in onStepFinish": Boundary("prepareStep.messages", "onStepFinish"),
    "prepareStep.steps[k-1].response.messages": Boundary("prepareStep.steps[-1].response.messages"),
    "prepareStep.steps[k-1].content": Boundary("prepareStep.steps[-1].content"),
    "prepareStep.experimental_context": Boundary("prepareStep.experimental_context"),
    "onStepStart.messages (no override)": Boundary("onStepStart.messages"),
    "onStepStart.messages (prepareStep returned a copy)": Boundary("onStepStart.messages", returns="copy"),
    "model prompt": Boundary("model.prompt"),
    "model-returned content parts, kept, written in tool.execute": Boundary("parts", "execute"),
    "model-returned content parts, kept, written in onStepFinish": Boundary("parts", "onStepFinish"),
    "onChunk tool-call part": Boundary("onChunk tool-call.chunk"),
    "onChunk tool-result part": Boundary("onChunk tool-result.chunk"),
    "tool.onInputAvailable input": Boundary("onInputAvailable.input"),
    "tool.needsApproval input": Boundary("needsApproval.input"),
    "onToolCallStart.messages": Boundary("onToolCallStart.messages"),
    "onToolCallStart.toolCall.input": Boundary("onToolCallStart.toolCall.input"),
    "tool.execute input": Boundary("execute.input"),
    "tool.execute options.messages": Boundary("execute.options.messages"),
    "tool.execute options.messages (prepareStep returned a copy)": Boundary(
        "execute.options.messages", returns="copy"
    ),
    "tool.execute options.experimental_context": Boundary("execute.options.experimental_context"),
    "tool output kept, written in onToolCallFinish": Boundary("output", "onToolCallFinish"),
    "tool output kept, written in onStepFinish": Boundary("output", "onStepFinish"),
    "tool output kept, written in the next prepareStep": Boundary("output", "prepareStep", step=K + 1),
    "tool.toModelOutput output": Boundary("toModelOutput.output"),
    "onStepFinish.response.messages": Boundary("onStepFinish.response.messages"),
    "onStepFinish.content": Boundary("onStepFinish.content"),
    "onStepFinish.toolCalls": Boundary("onStepFinish.toolCalls"),
    "onStepFinish.toolResults": Boundary("onStepFinish.toolResults"),
    "stopWhen.steps[k].response.messages": Boundary("stopWhen.steps[-1].response.messages"),
    "stopWhen.steps[k].content": Boundary("stopWhen.steps[-1].content"),
    "caller's messages, written in tool.execute": Boundary("caller", "execute"),
    "caller's messages, written in onStepFinish": Boundary("caller", "onStepFinish"),
    "caller's context object, written in tool.execute": Boundary("context", "execute"),
}


# ---------------------------------------------------------------- depths: the write


def is_message(item: Mapping[str, Any]) -> bool:
    return "role" in item


def parts_in(handle: Any) -> list[Any]:
    """The parts that a handle leads to: those of messages, of a content, or the one that it is."""
    if isinstance(handle, Mapping):
        return [handle]
    found = []
    for item in handle:
        if not is_message(item):
            found.append(item)
        elif not isinstance(item["content"], str):
            found.extend(item["content"])
    return found


def is_the_message(item: Any, origin: Origin) -> bool:
    return item.get("role") == origin.role and origin.token in json.dumps(item)


def message(handle: Any, origin: Origin) -> Any:
    return next(item for item in handle if is_the_message(item.thaw(), origin))


def index(handle: Any, origin: Origin | None) -> int:
    """Where the element is that is taken out: the origin's message; of parts, the first."""
    plain = handle.thaw()
    if not is_message(plain[0]):
        return 0
    return next(i for i, item in enumerate(plain) if origin is not None and is_the_message(item, origin))


def text(handle: Any, origin: Origin) -> Any:
    return next(part for part in parts_in(handle) if part.get("text") == origin.token)


def tool_part(kind: str) -> Callable[[Any, Origin], Any]:
    def find(handle: Any, origin: Origin) -> Any:
        named = (kind, origin.call)
        return next(part for part in parts_in(handle) if (part["type"], part.get("toolCallId")) == named)

    return find


tool_call = tool_part("tool-call")
tool_result = tool_part("tool-result")


def new_part() -> dict[str, Any]:
    return {"type": "text", "text": MARK}


def new_element(handle: Any) -> dict[str, Any]:
    """What is put into an array: a message among messages, a part among parts."""
    return {"role": "user", "content": [new_part()]} if is_message(handle[0]) else new_part()


def output_value(part: Any) -> Any:
    """The tool's own output: inside a wrapper in messages, bare in content."""
    return part["output"]["value"] if part["output"].get("type") == "json" else part["output"]


def new_output(part: Any) -> dict[str, Any]:
    wrapped = part["output"].get("type") == "json"
    return {"type": "json", "value": {"x": MARK}} if wrapped else {"x": MARK}


def assign(found: Any, key: Any, value: Any) -> None:
    found[key] = value


WRITES: Final[Mapping[str, Callable[[Any, Any], None]]] = {
    "array.push": lambda h, _: h.append(new_element(h)),
    "array.remove": lambda h, o: h.pop(index(h, o)),
    "array.replaceElement": lambda h, o: assign(h, index(h, o), new_element(h)),
    "message.content= (string)": lambda h, o: assign(message(h, o), "content", MARK),
    "message.content= (new array)": lambda h, o: assign(
        message(h, o), "content", [*message(h, o)["content"], new_part()]
    ),
    "message.providerOptions=": lambda h, o: assign(message(h, o), "providerOptions", options(MARK)),
    "message.providerOptions.nested": lambda h, o: assign(message(h, o)["providerOptions"]["p"], "x", MARK),
    "content.push": lambda h, o: message(h, o)["content"].append(new_part()),
    "part.text=": lambda h, o: assign(text(h, o), "text", MARK),
    "part.providerOptions.nested": lambda h, o: assign(text(h, o)["providerOptions"]["p"], "x", MARK),
    "part.providerMetadata.nested": lambda h, o: assign(text(h, o)["providerMetadata"]["p"], "x", MARK),
    "toolCall.input=": lambda h, o: assign(tool_call(h, o), "input", {"x": MARK}),
    "toolCall.input.nested": lambda h, o: assign(tool_call(h, o)["input"], "x", MARK),
    "toolResult.output=": lambda h, o: assign(tool_result(h, o), "output", new_output(tool_result(h, o))),
    "toolResult.output.value=": lambda h, o: assign(tool_result(h, o)["output"], "value", {"x": MARK}),
    "toolResult.output.nested": lambda h, o: assign(output_value(tool_result(h, o)), "x", MARK),
    "toolResult.input.nested": lambda h, o: assign(tool_result(h, o)["input"], "x", MARK),
    "input.field=": lambda h, _: assign(h, "x", MARK),
    "input.nested": lambda h, _: assign(h["nested"], "x", MARK),
    "output.field=": lambda h, _: assign(h, "x", MARK),
    "output.nested": lambda h, _: assign(h["nested"], "x", MARK),
    "context.field=": lambda h, _: assign(h, "x", MARK),
    "context.nested": lambda h, _: assign(h["nested"], "x", MARK),
}


CONTEXT_POINTS: Final = (
    "same.onStepStart.experimental_context",
    "same.tool.experimental_context",
    "same.onStepFinish.experimental_context",
    "next.prepareStep.experimental_context",
    "next.tool.experimental_context",
    "final.steps[<k].experimental_context",
    "final.steps[k].experimental_context",
    "final.steps[>k].experimental_context",
    "caller.experimental_context",
)


# ---------------------------------------------------------------- a row


def shows_mark(values: list[Any]) -> bool:
    return MARK in json.dumps(values)


def holds(values: list[Any], origin: Origin) -> bool:
    return any(is_the_message(item, origin) for value in values for item in value)


@cache
def untouched(path: str, *, approval: bool) -> Bench:
    """The run without a write: where the messages are that a removal takes out."""
    return Bench(path, messages=history(approval=approval)).run()


def measure(row: Row) -> tuple[list[str], list[str]]:
    """The points that see a row's write, and those that do not.

    Neither has a point that lies before the write, or one that never holds the message that was removed.
    """
    origin = ORIGINS.get(row.origin)
    approval = row.origin == "approval"
    write = WRITES[row.depth]
    writing = Writing(BOUNDARIES[row.boundary], lambda handle: write(handle, origin))
    bench = Bench(row.path, writing=writing, messages=history(approval=approval)).run()
    assert len(bench.loop.desk.journal) == 1
    points = [p for p in (CONTEXT_POINTS if row.origin == "context" else POINTS) if p in bench.readings]
    seen = {point: shows_mark(bench.readings[point]) for point in points}
    if row.depth == "array.remove" and origin is not None:
        before = untouched(row.path, approval=approval).readings
        points = [point for point in points if holds(before[point], origin)]
        seen = {point: not holds(bench.readings[point], origin) for point in points}
    return [point for point in points if seen[point]], [point for point in points if not seen[point]]
