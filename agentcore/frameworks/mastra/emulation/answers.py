"""What a model answered: the parts of a stored message, the calls to run, and the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from agentcore.heap.heap import UNDEFINED, Ref, Slot, Store, Value
from agentcore.heap.js import fields, get


@attrs.define(kw_only=True)
class Answered:
    """An answer of a model, or the error that stands for the answer of the last one.

    `calls` are {toolCallId, toolName, args}, sharing their arguments with the parts. `kinds` are the kinds of
    the chunks that a stream has of it; `ends` has for each part how many they are up to its end.
    `came` are the arguments that calls came with which were given others.
    """

    parts: list[Slot] = attrs.Factory(list)
    calls: list[Ref] = attrs.Factory(list)
    text: str = ""
    kinds: list[str] = attrs.Factory(list)
    error: Exception | None = None
    ends: list[int] = attrs.Factory(list)
    came: dict[Slot, Value] = attrs.Factory(dict)

    def cut(self, store: Store, index: int) -> None:
        """Leaves out what came after a part, and the chunk that says that the part ends."""
        self.parts = self.parts[: index + 1]
        kinds = [get(store, part, "type") for part in self.parts]
        texts = [get(store, part, "text") for part in self.parts if get(store, part, "type") == "text"]
        self.text = "".join(map(str, texts))
        self.calls = self.calls[: kinds.count("tool-invocation")]
        self.kinds = self.kinds[: self.ends[index] - 1]

    def fill(self, store: Store, call: Ref, args: Ref) -> None:
        """Gives a call arguments, in its part too."""
        self.came.setdefault(call, get(store, call, "args"))
        store.put(call, "args", args)
        own = (get(store, part, "toolInvocation") for part in self.parts)
        held = [one for one in own if isinstance(one, Ref)]
        store.put(held[self.calls.index(call)], "args", args)

    def message(self, store: Store, own_id: Any, model: Ref) -> Ref | None:
        """The assistant's message as it is added to the list; None if there is nothing to add."""
        if not self.parts:
            return None
        texts = [get(store, part, "text") for part in self.parts if get(store, part, "type") == "text"]
        named = {"modelId": get(store, model, "modelId"), "provider": get(store, model, "provider")}
        content: dict[str, Value] = {
            "format": 2,
            "parts": store.array(self.parts),
            "content": "\n".join(map(str, texts)) or UNDEFINED,
            "metadata": store.object({name: value or UNDEFINED for name, value in named.items()}),
        }
        return store.object({"id": own_id, "role": "assistant", "content": store.object(content)})


def answered(store: Store, parts: Iterable[Mapping[str, Any]], *, once: bool, fills: bool) -> Answered:
    """Returns the answer for the parts that a model gave.

    `once`: a call of an id is taken only once. `fills`: the first call of an id, if it has no arguments,
    takes those of the next one.
    """
    made = Answered()
    seen: dict[str, Ref] = {}
    for part in parts:
        kind = part["type"]
        if kind == "tool-call":
            args = store.load(json.loads(json.dumps(part["input"])))
            first = seen.get(part["toolCallId"])
            if first is not None and fills and not fields(store, get(store, first, "args")):
                made.fill(store, first, args)
            if first is None or not once:
                call = _add_call(store, made, part, args)
                seen.setdefault(part["toolCallId"], call)
        else:
            _add_text(store, made, kind, part["text"])
        made.ends += [len(made.kinds)] * (len(made.parts) - len(made.ends))
    return made


def _add_call(store: Store, made: Answered, part: Mapping[str, Any], args: Ref) -> Ref:
    named = {"toolCallId": part["toolCallId"], "toolName": part["toolName"], "args": args}
    made.calls.append(store.object(named))
    call = store.object({"state": "call", **named})
    made.parts.append(store.object({"type": "tool-invocation", "toolInvocation": call}))
    made.kinds.append("tool-call")
    return made.calls[-1]


def _add_text(store: Store, made: Answered, kind: str, told: str) -> None:
    made.kinds.append(f"{kind}-start")
    if kind == "reasoning":
        detail = store.object({"type": "text", "text": told})
        made.parts.append(store.object({"type": kind, "reasoning": told, "details": store.array([detail])}))
        made.kinds.append("reasoning-delta")
    elif told:
        made.text += told
        if made.parts and get(store, made.parts[-1], "type") == "tool-invocation":
            made.parts.append(store.object({"type": "step-start"}))
        made.parts.append(store.object({"type": "text", "text": told}))
        made.kinds.append("text-delta")
    made.kinds.append(f"{kind}-end")
