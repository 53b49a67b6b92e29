"""Makes the content that is stored for what AI SDK 5 has in its model messages and its UI messages."""

from __future__ import annotations

from collections.abc import Iterable

from agentcore.frameworks.mastra.emulation.forms import (
    FORMAT,
    Context,
    assign,
    filled,
    has,
    is_same,
    listed,
    starts_with,
    tool_name,
)
from agentcore.frameworks.mastra.emulation.items import keep_both
from agentcore.heap.heap import UNDEFINED, ObjectCell, Ref, Slot, Store, Value
from agentcore.heap.js import elements, fields, get, is_array, joined, or_else


def reasoning_of(context: Context, whole: Value, detail: dict[str, Value]) -> dict[str, Value]:
    """The fields of a part of reasoning: its whole text, where the list keeps that, and a detail."""
    store = context.store
    told = whole if context.profile.tells_reasoning else ""
    return {"type": "reasoning", "reasoning": told, "details": store.array([store.object(detail)])}


def texts_checked(context: Context, parts: Iterable[Slot]) -> Ref:
    """An array of these parts, where the list drops empty texts without those."""
    store = context.store
    listed = list(parts)
    if not context.profile.drops_empty_texts:
        return store.array(listed)
    full = [
        part
        for part in filled(listed)
        if get(store, part, "type") != "text" or get(store, part, "text") != ""
    ]
    return store.array(full or listed)


def core_content(context: Context, message: Value) -> dict[str, Value]:
    """The stored content of {role, content} as AI SDK 5 has it."""
    store = context.store
    content = get(store, message, "content")
    given: Iterable[Slot] = elements(store, content) if is_array(store, content) else ()
    if isinstance(content, str):
        given = (store.derive(store.object({"type": "text", "text": content}), message),)
    elif context.profile.reads_lists_only:
        given = (part for part in given if isinstance(part, Ref))
    taken = _Taken(context)
    for part in given:
        taken.add(part)
    if (
        taken.answered_last
        and not context.profile.drops_empty_texts
        and get(store, message, "role") == "assistant"
        and get(store, taken.parts[-1], "type") != "text"
    ):
        taken.parts.append(store.object({"type": "text", "text": ""}))
    parts = texts_checked(context, taken.parts)
    texts = [
        get(store, part, "text") for part in elements(store, parts) if get(store, part, "type") == "text"
    ]
    metadata = get(store, message, "metadata")
    return {
        "format": FORMAT,
        "parts": parts,
        "toolInvocations": store.array(taken.calls) if taken.calls else UNDEFINED,
        "reasoning": joined(store, taken.reasoning, "\n") if taken.reasoning else UNDEFINED,
        "content": joined(store, texts, "\n") or UNDEFINED,
        "metadata": metadata if metadata and fields(store, metadata) else UNDEFINED,
        "providerMetadata": get(store, message, "providerOptions") or UNDEFINED,
    }


class _Taken:
    """The stored parts of a message's content, and the lists beside them."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.store = context.store
        self.parts: list[Slot] = []
        self.calls: list[Slot] = []
        self.reasoning: list[Value] = []
        self.answered_last = False

    def add(self, part: Slot) -> None:
        """Takes a part of the content."""
        store = self.store
        kind = get(store, part, "type")
        if kind in ("text", "reasoning", "tool-call", "tool-result"):
            self.answered_last = kind == "tool-result"
        if kind == "text":
            self._put(part, {"type": "text", "text": get(store, part, "text")})
        elif kind == "reasoning":
            told = get(store, part, "text")
            self._put(part, reasoning_of(self.context, told, {"type": "text", "text": told}))
            self.reasoning.append(told)
        elif kind == "tool-call":
            args = get(store, part, "input")
            self._put(part, {"type": "tool-invocation", "toolInvocation": self._call(part, args)})
            self.calls.append(self._call(part, args))
        elif kind == "tool-result":
            self._result(part)

    def _put(self, part: Slot, made: dict[str, Value]) -> None:
        self.parts.append(self.store.derive(self.store.object({**made, **self._beside(part)}), part))

    def _beside(self, part: Slot) -> dict[str, Value]:
        """What a stored part has of the provider."""
        store, profile = self.store, self.context.profile
        kind = get(store, part, "type")
        options = get(store, part, "providerOptions") or UNDEFINED
        if kind == "tool-result" and not profile.results_have_options:
            options = UNDEFINED
        executes = kind in ("tool-call", "tool-result") and profile.knows_outcomes
        return {
            "providerMetadata": options,
            "createdAt": date_in_options(self.context, options),
            "providerExecuted": get(store, part, "providerExecuted") if executes else UNDEFINED,
        }

    def _call(self, part: Slot, args: Value) -> Ref:
        store = self.store
        name = get(store, part, "toolName")
        if get(store, part, "type") == "tool-result" and not self.context.profile.cleans_tool_names:
            name = name or "unknown"
        named = {"toolCallId": get(store, part, "toolCallId"), "toolName": tool_name(self.context, name)}
        return store.derive(store.object({**named, "args": args, "state": "call"}), part)

    def _args_of_result(self, part: Slot) -> Value:
        store = self.store
        if not self.context.profile.recovers_args:
            return store.object({})
        known = self.context.known_args(get(store, part, "toolCallId"))
        return known if fields(store, known) else or_else(get(store, part, "input"), known)

    def _result(self, part: Slot) -> None:
        store = self.store
        call_id = get(store, part, "toolCallId")
        args = self._args_of_result(part)
        call = self._of_id(self.calls, call_id)
        if call is None:
            call = self._call(part, args)
            self.calls.append(call)
        self._answer(call, part)
        for own in self.parts:
            if get(store, own, "type") == "tool-invocation":
                held = get(store, own, "toolInvocation")
                if isinstance(held, Ref) and is_same(get(store, held, "toolCallId"), call_id):
                    self._answer(held, part)
                    self._add_beside(own, part)
                    return
        made = self._call(part, args if self.context.profile.recovers_args else store.object({}))
        self._answer(made, part)
        self._put(part, {"type": "tool-invocation", "toolInvocation": made})

    def _add_beside(self, own: Slot, part: Slot) -> None:
        store = self.store
        for name, slot in self._beside(part).items():
            if slot is not UNDEFINED:
                is_options = name == "providerMetadata"
                known = get(store, own, name)
                assign(store, own, name, keep_both(store, known, slot, slot) if is_options else slot)

    def _of_id(self, calls: Iterable[Slot], call_id: Value) -> Ref | None:
        found = (call for call in calls if is_same(get(self.store, call, "toolCallId"), call_id))
        return next(found, None)  # type: ignore[return-value]  # such lists hold objects

    def _answer(self, call: Ref, part: Slot) -> None:
        store = self.store
        output = unwrapped(store, get(store, part, "output"))
        answered = {**fields(store, call), "state": "result", "result": output}
        kept = {name: slot for name, slot in answered.items() if slot is not UNDEFINED}
        store.replace(call, ObjectCell(kept))


def unwrapped(store: Store, output: Value) -> Value:
    """A tool's output without the envelope that prompts have it in."""
    in_envelope = isinstance(output, Ref) and has(store, output, "value")
    return get(store, output, "value") if in_envelope else output


def date_in_options(context: Context, options: Value) -> Value:
    """The date that a part's provider options carry."""
    if not context.profile.dates_parts:
        return UNDEFINED
    store = context.store
    own = get(store, options, "mastra") if options else UNDEFINED
    at = get(store, own, "createdAt") if isinstance(own, Ref) else UNDEFINED
    return at if isinstance(at, int | float) and not isinstance(at, bool) else UNDEFINED


def ui_content(context: Context, message: Value) -> Ref:
    """The stored content of a UI message, which has its parts in one list."""
    store = context.store
    given = filled(listed(store, get(store, message, "parts"), "parts", "filter"))
    calls = [_ui_call(context, part) for part in [part for part in given if _is_tool(store, part)]]
    parts = [made for part in given if (made := _ui_part(context, part)) is not None]
    reasoning = [get(store, part, "text") for part in given if get(store, part, "type") == "reasoning"]
    texts = [get(store, part, "text") for part in given if get(store, part, "type") == "text"]
    metadata = get(store, message, "metadata")
    own = fields(store, metadata) if metadata else {}
    clean = {name: slot for name, slot in own.items() if name not in ("createdAt", "threadId", "resourceId")}
    content: dict[str, Value] = {
        "format": FORMAT,
        "parts": texts_checked(context, parts),
        "toolInvocations": store.array(calls) if calls else UNDEFINED,
        "reasoning": joined(store, reasoning, "\n") if reasoning else UNDEFINED,
        "content": joined(store, texts) if texts else UNDEFINED,
        "metadata": store.object(clean) if clean else UNDEFINED,
    }
    return store.object(content)


def _is_tool(store: Store, part: Slot) -> bool:
    return starts_with(store, get(store, part, "type"), "tool-")


def _ui_call(context: Context, part: Slot) -> Ref:
    store = context.store
    answered = get(store, part, "state") == "output-available"
    fields_: dict[str, Value] = {
        "args": get(store, part, "input"),
        "toolCallId": get(store, part, "toolCallId"),
        "toolName": tool_name(context, str(get(store, part, "type")).removeprefix("tool-")),
        "state": "result" if answered else "call",
        "result": unwrapped(store, get(store, part, "output")) if answered else UNDEFINED,
    }
    made = store.derive(store.object(fields_), part)
    if answered:
        context.answered.add(made.address)
    return made


def _ui_part(context: Context, part: Slot) -> Slot:
    store = context.store
    kind = get(store, part, "type")
    if kind == "step-start" or (kind == "error" and context.profile.knows_outcomes):
        return part
    options = get(store, part, "callProviderMetadata" if _is_tool(store, part) else "providerMetadata")
    made: dict[str, Value]
    if _is_tool(store, part):
        made = {"type": "tool-invocation", "toolInvocation": _ui_invocation(context, part)}
        if context.profile.knows_outcomes:
            made["providerExecuted"] = get(store, part, "providerExecuted")
    elif kind == "reasoning":
        told = get(store, part, "text")
        made = reasoning_of(context, told, {"type": "text", "text": told})
    elif kind == "text":
        made = {"type": "text", "text": get(store, part, "text")}
    elif kind == "source-url":
        url = get(store, part, "url")
        source: dict[str, Value] = {"url": url, "sourceType": "url", "id": url, "providerMetadata": options}
        made = {"type": "source", "source": store.derive(store.object(source), part)}
    elif isinstance(kind, str) and kind.startswith("data-"):
        return store.derive(store.object({"type": kind, "data": get(store, part, "data")}), part)
    else:
        return None
    dated = {"providerMetadata": options, "createdAt": date_in_options(context, options)}
    return store.derive(store.object({**made, **dated}), part)


def _ui_invocation(context: Context, part: Slot) -> Ref:
    store = context.store
    call = _ui_call(context, part)
    if get(store, part, "state") != "output-error" or not context.profile.knows_outcomes:
        return call
    failed = {
        "state": "output-error",
        "errorText": get(store, part, "errorText"),
        "rawInput": get(store, part, "rawInput"),
    }
    return store.derive(store.object({**fields(store, call), **failed}), part)
