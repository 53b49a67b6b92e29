"""How response messages are made of a step's content; on cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import attrs

from agentcore.heap.copying import through_json
from agentcore.heap.heap import UNDEFINED, ErrorCell, Ref, Slot, Store, Value
from agentcore.heap.js import (
    error_text,
    get,
    is_nullish,
    is_object,
    iterated,
    text,
)
from agentcore.messages.values import sealed

ToModelOutput: TypeAlias = Callable[[Value, Value, Value, Value], Slot | None]
"""A tool's own conversion: called with tool name, call id, input and output; None where the tool has none."""


@sealed
@attrs.frozen
class Conversion:
    """Makes response messages of content, with the tools' own output conversions."""

    store: Store
    to_model_output: ToModelOutput
    errors_named: bool = attrs.field(default=False, kw_only=True)
    outputs_through_json: bool = attrs.field(default=False, kw_only=True)
    results_in_call_order: bool = attrs.field(default=False, kw_only=True)
    annotated_empty_text_kept: bool = attrs.field(default=False, kw_only=True)
    invalid_input_emptied: bool = attrs.field(default=False, kw_only=True)
    has_answers: bool = attrs.field(default=False, kw_only=True)

    def output(self, part: Value, output: Value, error_mode: str = "none") -> Slot:
        """A tool result's output in a message: the wrapper is new, the value the tool's own (claim X4).

        Unless outputs go through JSON: then it is a copy.
        """
        store = self.store
        if error_mode == "text":
            return store.object({"type": "error-text", "value": self.error_text(output)})
        if error_mode == "json":
            return store.object({"type": "error-json", "value": self._json(output)})
        name, call_id, given = (get(store, part, key) for key in ("toolName", "toolCallId", "input"))
        own = self.to_model_output(name, call_id, given, output)
        if own is not None:
            return own
        if isinstance(output, str):
            return store.object({"type": "text", "value": output})
        return store.object({"type": "json", "value": self._json(output)})

    def error_text(self, error: Value) -> Value:
        """What a message says of an error."""
        is_error = type(error) is Ref and isinstance(self.store.cells[error.address], ErrorCell)
        return text(self.store, error) if is_error and self.errors_named else error_text(self.store, error)

    def _json(self, output: Value) -> Slot:
        return through_json(self.store, output) if self.outputs_through_json else or_null(output)

    def messages(self, content: Value) -> list[Ref]:
        """At most one assistant and one tool message (claims C7, X17; `toResponseMessages`).

        Raises:
            HeapTypeError: if a hook left content that cannot be read.
        """
        store = self.store
        parts = list(iterated(store, content))
        made: list[Ref] = []
        assistant = [made_part for part in parts for made_part in self._assistant_part(part)]
        if assistant:
            inside = store.derive(store.array(assistant), content)
            made.append(store.derive(store.object({"role": "assistant", "content": inside}), content))
        results = [made_part for part in parts for made_part in self._tool_parts(part)]
        if self.results_in_call_order:
            results = self._in_order(results, self._order_of_calls(parts))
        if results:
            inside = store.derive(store.array(results), content)
            made.append(store.derive(store.object({"role": "tool", "content": inside}), content))
        return made

    def _in_order(self, parts: Iterable[Ref], order: Mapping[Value, int]) -> list[Ref]:
        """The results among some parts in an order, at the places where results stand."""
        store = self.store
        listed = list(parts)
        results = [part for part in listed if get(store, part, "type") == "tool-result"]
        results.sort(key=lambda part: order.get(get(store, part, "toolCallId"), len(order)))
        left = iter(results)
        return [next(left) if get(store, part, "type") == "tool-result" else part for part in listed]

    def _tool_parts(self, part: Value) -> list[Ref]:
        if self._is_client_result(part):
            return [self._tool_part(part)]
        if not self.has_answers or get(self.store, part, "type") != "tool-approval-response":
            return []
        return self._answer(part)

    def _answer(self, part: Value) -> list[Ref]:
        """The answer to a request, and the result of a call that was denied."""
        store = self.store
        told = ("type", "approvalId", "approved", "reason", "providerExecuted")
        made = [store.derive(store.object({key: get(store, part, key) for key in told}), part)]
        if get(store, part, "approved") is False:
            call = get(store, part, "toolCall")
            output = store.object({"type": "execution-denied", "reason": get(store, part, "reason")})
            named = {key: get(store, call, key) for key in ("toolCallId", "toolName")}
            made.append(store.derive(store.object({"type": "tool-result", **named, "output": output}), part))
        return made

    def _order_of_calls(self, parts: Iterable[Value]) -> dict[Value, int]:
        called = (part for part in parts if get(self.store, part, "type") == "tool-call")
        ids = dict.fromkeys(get(self.store, part, "toolCallId") for part in called)
        return {call_id: index for index, call_id in enumerate(ids)}

    def _is_client_result(self, part: Value) -> bool:
        kind = get(self.store, part, "type")
        return kind in ("tool-result", "tool-error") and not get(self.store, part, "providerExecuted")

    def _tool_part(self, part: Value) -> Ref:
        store = self.store
        is_result = get(store, part, "type") == "tool-result"
        output = get(store, part, "output" if is_result else "error")
        metadata = get(store, part, "providerMetadata")
        made = store.object(
            {
                "type": "tool-result",
                "toolCallId": get(store, part, "toolCallId"),
                "toolName": get(store, part, "toolName"),
                "output": self.output(part, output, "none" if is_result else "text"),
                "providerOptions": UNDEFINED if is_nullish(metadata) else metadata,
            }
        )
        return store.derive(made, part)

    def _assistant_part(self, part: Value) -> list[Ref]:
        store = self.store
        kind = get(store, part, "type")
        if kind == "source" or self._is_client_result(part):
            return []
        if kind == "text" and get(store, get(store, part, "text"), "length") == 0:
            annotated = not is_nullish(get(store, part, "providerMetadata"))
            if not (annotated and self.annotated_empty_text_kept):
                return []
        copied = self._copied(part, kind)
        if copied is None:
            return []
        return [store.derive(store.object({"type": kind, **copied}), part)]

    def _copied(self, part: Value, kind: Value) -> dict[str, Value] | None:
        store = self.store
        if kind == "tool-approval-request":
            call_id = get(store, get(store, part, "toolCall"), "toolCallId")
            asked = {"approvalId": get(store, part, "approvalId"), "toolCallId": call_id}
            if not self.has_answers:
                return asked
            reason = get(store, part, "reason")
            told = {"reason": UNDEFINED if is_nullish(reason) else reason}
            return {**asked, **told, "isAutomatic": get(store, part, "isAutomatic")}
        options = {"providerOptions": get(store, part, "providerMetadata")}
        if kind in ("text", "reasoning"):
            return {"text": get(store, part, "text"), **options}
        if kind == "file":
            file = get(store, part, "file")
            data, media_type = get(store, file, "base64Data"), get(store, file, "mediaType")
            return {"data": data, "mediaType": media_type, **options}
        named = {key: get(store, part, key) for key in ("toolCallId", "toolName")}
        if kind == "tool-call":
            called = {"input": self._input(part), "providerExecuted": get(store, part, "providerExecuted")}
            return {**named, **called, **options}
        if kind == "tool-result":
            return {**named, "output": self.output(part, get(store, part, "output")), **options}
        if kind == "tool-error":
            return {
                **named,
                "output": self.output(part, get(store, part, "error"), "json"),
                **options,
                "type": "tool-result",
            }
        return None

    def _input(self, call: Value) -> Value:
        given = get(self.store, call, "input")
        # A tool's input that is null is an object to JavaScript.
        emptied = self.invalid_input_emptied and get(self.store, call, "invalid") and given is not None
        return self.store.object({}) if emptied and not is_object(given) else given


def or_null(value: Value) -> Slot:
    """`toJSONValue`: undefined becomes null."""
    return None if value is UNDEFINED else value
