"""Messages of every form, as the list stores them: {id, role, createdAt, content: {format: 2, parts, ...}}.

A stored message is taken as it is, and what it lacks is written into it; every other form is made anew, with
the caller's own parts in it where the form has the same ones. Files and images are not dealt with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Protocol

from agentcore.compat.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.compat.js import (
    PackageError,
    elements,
    fields,
    get,
    is_array,
    is_nullish,
    joined,
    or_else,
    text,
)
from agentcore.compat.mastra.clock import date, invalid_date, is_date, parsed
from agentcore.compat.mastra.forms import Form, assign, form_of, has
from agentcore.compat.mastra.profiles import MastraProfile

FORMAT: Final = 2


class Context(Protocol):
    """What converting takes from the list that a message is for."""

    store: Store
    profile: MastraProfile

    def new_id(self) -> str:
        """An id that no message has."""
        ...

    def new_date(self, source: str, start: Value = UNDEFINED) -> Ref:
        """The date of a message that comes now, or came at `start`."""
        ...

    def now(self) -> int:
        """The time."""
        ...

    def known_args(self, call_id: Value) -> Value:
        """The arguments of a call, from the last message that has some of it; an empty object if none has."""
        ...


def stored(context: Context, message: Value, source: str) -> Ref:
    """The message in the form that the list stores."""
    store = context.store
    form = form_of(store, message)
    if form is Form.STORED:
        made = _completed(context, message, source)
    elif form is Form.OLD:
        made = _of_old(context, message, source)
    elif form is Form.CORE_4:
        made = of_core(context, message, source)
    elif form is Form.UI_4:
        made = _of_ui_4(context, message, source)
    elif form is Form.CORE_5:
        made = _of_5(context, message, source, store.object(core_content(context, message)))
    elif form is Form.UI_5:
        made = _of_5(context, message, source, _ui_content(context, message))
    else:
        raise PackageError("Error", "Found unhandled message")
    return _stamped(context, made, source)


def _message(store: Store, origin: Value, **named: Value) -> Ref:
    return store.derive(store.object(named), origin)


# ---------------------------------------------------------------- stored already


def _completed(context: Context, message: Value, source: str) -> Ref:
    store = context.store
    if not isinstance(message, Ref):  # never: a form was found in it
        raise HeapTypeError("a message is an object")
    content = get(store, message, "content")
    parts = get(store, content, "parts")
    kept = (
        [part for part in elements(store, parts) if isinstance(part, Ref)] if is_array(store, parts) else []
    )
    if context.profile.owns_parts:
        assign(store, content, "parts", store.array(kept))
    if not get(store, message, "id"):
        assign(store, message, "id", context.new_id())
    at = get(store, message, "createdAt")
    if is_nullish(at):
        given = context.new_date(source) if context.profile.dates_stored else invalid_date(store)
        assign(store, message, "createdAt", given)
    elif not is_date(store, at):
        assign(store, message, "createdAt", _as_date(store, at))
    calls = get(store, content, "toolInvocations")
    if calls:
        listed = [_with_args(store, call, kept) for call in elements(store, calls, "map")]
        assign(store, content, "toolInvocations", store.array(listed))
    return message


def _as_date(store: Store, value: Value) -> Ref:
    return date(store, parsed(value) if isinstance(value, str) else int(value))  # type: ignore[arg-type]


def _with_args(store: Store, call: Slot, parts: Iterable[Slot]) -> Slot:
    args = get(store, call, "args")
    if args and fields(store, args):
        return call
    for part in parts:
        found = (
            get(store, part, "toolInvocation") if get(store, part, "type") == "tool-invocation" else UNDEFINED
        )
        if found and get(store, found, "toolCallId") == get(store, call, "toolCallId"):
            given = get(store, found, "args")
            if given and fields(store, given):
                return store.derive(store.object({**fields(store, call), "args": given}), call)
    return call


# ---------------------------------------------------------------- AI SDK 4


def of_core(context: Context, message: Value, source: str) -> Ref:
    """A stored message of {role, content} as AI SDK 4 has it, its parts not yet dated."""
    store = context.store
    own_id = get(store, message, "id") if has(store, message, "id") else context.new_id()
    content = get(store, message, "content")
    single = _single_text(store, content) if source == "response" else None
    if single:
        assign(store, message, "content", single)
        content = single
    parts, calls = _core_parts(context, message, content)
    made: dict[str, Value] = {"format": FORMAT, "parts": _texts_checked(context, parts)}
    if calls:
        made["toolInvocations"] = store.array(calls)
    if isinstance(content, str):
        made["content"] = content
    options = or_else(
        get(store, message, "providerOptions"), get(store, message, "experimental_providerMetadata")
    )
    metadata = get(store, message, "metadata")
    made |= {
        "providerMetadata": options or UNDEFINED,
        "metadata": UNDEFINED if metadata is None else metadata,
    }
    return _message(
        store,
        message,
        id=own_id,
        role=normal_role(store, get(store, message, "role")),
        createdAt=context.new_date(source, _date_in(store, metadata)),
        content=store.object(made),
    )


def _single_text(store: Store, content: Value) -> Value:
    if not is_array(store, content) or len(elements(store, content)) != 1:
        return UNDEFINED
    (part,) = elements(store, content)
    return get(store, part, "text") if part and get(store, part, "type") == "text" else UNDEFINED


def normal_role(store: Store, role: Value) -> str:
    """The role that the list stores.

    Raises:
        PackageError: for a role that it does not know.
    """
    if role in ("assistant", "tool"):
        return "assistant"
    if role in ("user", "system"):
        return str(role)
    raise PackageError("Error", f"BUG: add handling for message role {text(store, role)}")


def _core_parts(context: Context, message: Value, content: Value) -> tuple[list[Slot], list[Slot]]:
    store = context.store
    parts: list[Slot] = []
    calls: list[Slot] = []
    if isinstance(content, str):
        return [store.derive(store.object({"type": "text", "text": content}), message)], calls
    for part in elements(store, content) if is_array(store, content) else ():
        kind = get(store, part, "type")
        options = get(store, part, "providerOptions") or UNDEFINED
        made: dict[str, Value] | None = None
        if kind == "text":
            after_call = bool(parts) and get(store, parts[-1], "type") == "tool-invocation"
            if after_call and get(store, message, "role") == "assistant":
                parts.append(store.object({"type": "step-start"}))
            made = {"type": "text", "text": get(store, part, "text")}
        elif kind == "reasoning":
            detail = {
                "type": "text",
                "text": get(store, part, "text"),
                "signature": get(store, part, "signature"),
            }
            made = _reasoning(context, get(store, part, "text"), detail)
        elif kind == "redacted-reasoning":
            made = _reasoning(context, "", {"type": "redacted", "data": get(store, part, "data")})
        elif kind in ("tool-call", "tool-result"):
            call = _core_call(context, content, part, kind)
            made = {"type": "tool-invocation", "toolInvocation": call}
            calls += [call] if kind == "tool-result" else []
        if made is not None:
            parts.append(store.derive(store.object({**made, "providerMetadata": options}), part))
    return parts, calls


def _reasoning(context: Context, whole: Value, detail: dict[str, Value]) -> dict[str, Value]:
    store = context.store
    told = whole if context.profile.tells_reasoning else ""
    return {"type": "reasoning", "reasoning": told, "details": store.array([store.object(detail)])}


def _core_call(context: Context, content: Value, part: Slot, kind: Value) -> Ref:
    store = context.store
    call_id = get(store, part, "toolCallId")
    named: dict[str, Value] = {"toolCallId": call_id, "toolName": get(store, part, "toolName")}
    if kind == "tool-call":
        return store.derive(store.object({"state": "call", **named, "args": get(store, part, "args")}), part)
    args: Value = store.object({})
    for other in elements(store, content):
        if get(store, other, "type") == "tool-call" and get(store, other, "toolCallId") == call_id:
            args = get(store, other, "args")
            break
    if not fields(store, args):
        args = context.known_args(call_id)
    result = or_else(get(store, part, "result"), "")
    return store.derive(store.object({"state": "result", **named, "result": result, "args": args}), part)


def _texts_checked(context: Context, parts: Iterable[Slot]) -> Ref:
    store = context.store
    listed = list(parts)
    if not context.profile.drops_empty_texts:
        return store.array(listed)
    full = [part for part in listed if get(store, part, "type") != "text" or get(store, part, "text") != ""]
    return store.array(full or listed)


def _date_in(store: Store, metadata: Value) -> Value:
    return get(store, metadata, "createdAt") if isinstance(metadata, Ref) else UNDEFINED


def _of_old(context: Context, message: Value, source: str) -> Ref:
    store = context.store
    core = store.object({name: get(store, message, name) for name in ("content", "role")})
    made = of_core(context, core, source)
    at = context.new_date(source, get(store, message, "createdAt"))
    named = {"id": get(store, message, "id"), "createdAt": at}
    named |= {name: get(store, message, name) for name in ("threadId", "resourceId")}
    return _message(
        store, message, role=get(store, made, "role"), content=get(store, made, "content"), **named
    )


def _of_ui_4(context: Context, message: Value, source: str) -> Ref:
    store = context.store
    parts = get(store, message, "parts")
    content: dict[str, Value] = {"format": FORMAT, "parts": store.array(())}
    if parts:
        own = context.profile.owns_parts
        content["parts"] = _texts_checked(context, elements(store, parts, "some")) if own else parts
    for name in ("toolInvocations", "reasoning", "annotations", "experimental_attachments"):
        content[name] = get(store, message, name) or UNDEFINED
    metadata = get(store, message, "metadata")
    content["metadata"] = UNDEFINED if metadata is None else metadata
    return _message(
        store,
        message,
        id=get(store, message, "id") or context.new_id(),
        role=normal_role(store, get(store, message, "role")),
        createdAt=context.new_date(source, get(store, message, "createdAt")),
        content=store.object(content),
    )


# ---------------------------------------------------------------- AI SDK 5


def _of_5(context: Context, message: Value, source: str, content: Ref) -> Ref:
    store = context.store
    own_id = get(store, message, "id")
    role = get(store, message, "role")
    in_ui = has(store, message, "parts")
    start = get(store, message, "createdAt") if in_ui else _date_in(store, get(store, message, "metadata"))
    return _message(
        store,
        message,
        id=own_id if isinstance(own_id, str) else context.new_id(),
        role="assistant" if role == "tool" and not in_ui else role,
        createdAt=context.new_date(source, start),
        content=content,
    )


def tool_name(context: Context, name: Value) -> Value:
    """A tool's name as the list keeps it."""
    return clean_tool_name(name) if context.profile.cleans_tool_names else name


def core_content(context: Context, message: Value) -> dict[str, Value]:
    """The stored content of {role, content} as AI SDK 5 has it."""
    store = context.store
    content = get(store, message, "content")
    if isinstance(content, str):
        given: tuple[Slot, ...] = (store.derive(store.object({"type": "text", "text": content}), message),)
    else:
        given = tuple(
            part
            for part in (elements(store, content) if is_array(store, content) else ())
            if isinstance(part, Ref)
        )
    taken = _Taken(context)
    for part in given:
        taken.add(part)
    if (
        taken.answered_last
        and not context.profile.drops_empty_texts
        and get(store, message, "role") == "assistant"
    ):
        taken.parts.append(store.object({"type": "text", "text": ""}))
    parts = _texts_checked(context, taken.parts)
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
        self.answered_last = kind == "tool-result"
        if kind == "text":
            self._put(part, {"type": "text", "text": get(store, part, "text")})
        elif kind == "reasoning":
            told = get(store, part, "text")
            self._put(part, _reasoning(self.context, told, {"type": "text", "text": told}))
            self.reasoning.append(told)
        elif kind == "tool-call":
            args = get(store, part, "input")
            self._put(part, {"type": "tool-invocation", "toolInvocation": self._call(part, args)})
            self.calls.append(self._call(part, args))
        elif kind == "tool-result":
            self._result(part)

    def _put(self, part: Slot, made: dict[str, Value]) -> None:
        store = self.store
        options = get(store, part, "providerOptions") or UNDEFINED
        executed = get(store, part, "providerExecuted") if "toolInvocation" in made else UNDEFINED
        dated = {
            "providerMetadata": options,
            "createdAt": date_in_options(self.context, options),
            "providerExecuted": executed,
        }
        self.parts.append(store.derive(store.object({**made, **dated}), part))

    def _call(self, part: Slot, args: Value) -> Ref:
        store = self.store
        named = {
            "toolCallId": get(store, part, "toolCallId"),
            "toolName": tool_name(self.context, get(store, part, "toolName")),
        }
        return store.derive(store.object({**named, "args": args, "state": "call"}), part)

    def _result(self, part: Slot) -> None:
        store = self.store
        call_id = get(store, part, "toolCallId")
        args: Value = store.object({})
        if self.context.profile.recovers_args:
            known = self.context.known_args(call_id)
            args = known if fields(store, known) else or_else(get(store, part, "input"), args)
        call = self._of_call(self.calls, call_id)
        if call is None:
            call = self._call(part, args)
            self.calls.append(call)
        self._answer(call, part)
        for own in self.parts:
            held = (
                get(store, own, "toolInvocation")
                if get(store, own, "type") == "tool-invocation"
                else UNDEFINED
            )
            if isinstance(held, Ref) and get(store, held, "toolCallId") == call_id:
                self._answer(held, part)
                return
        made = self._call(part, args)
        self._answer(made, part)
        self._put(part, {"type": "tool-invocation", "toolInvocation": made})

    def _of_call(self, calls: Iterable[Slot], call_id: Value) -> Ref | None:
        found = (call for call in calls if get(self.store, call, "toolCallId") == call_id)
        return next(found, None)  # type: ignore[return-value]  # such lists hold objects

    def _answer(self, call: Ref, part: Slot) -> None:
        store = self.store
        assign(store, call, "state", "result")
        output = unwrapped(store, get(store, part, "output"))
        if output is not UNDEFINED:
            assign(store, call, "result", output)


def unwrapped(store: Store, output: Value) -> Value:
    """A tool's output without the envelope that prompts have it in."""
    in_envelope = isinstance(output, Ref) and has(store, output, "value")
    return get(store, output, "value") if in_envelope else output


_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")


def clean_tool_name(name: Value) -> str:
    """A tool's name, or what stands for one that no provider takes."""
    return name if isinstance(name, str) and _TOOL_NAME.fullmatch(name) else "unknown_tool"


def date_in_options(context: Context, options: Value) -> Value:
    """The date that a part's provider options carry."""
    if not context.profile.dates_parts:
        return UNDEFINED
    store = context.store
    own = get(store, options, "mastra") if options else UNDEFINED
    at = get(store, own, "createdAt") if isinstance(own, Ref) else UNDEFINED
    return at if isinstance(at, int | float) and not isinstance(at, bool) else UNDEFINED


def _ui_content(context: Context, message: Value) -> Ref:
    store = context.store
    given = elements(store, get(store, message, "parts"), "filter")
    parts = [made for part in given if (made := _ui_part(context, part)) is not None]
    calls = [_ui_call(context, part) for part in given if _is_tool(store, part)]
    reasoning = [get(store, part, "text") for part in given if get(store, part, "type") == "reasoning"]
    texts = [get(store, part, "text") for part in given if get(store, part, "type") == "text"]
    metadata = get(store, message, "metadata")
    own = fields(store, metadata) if metadata else {}
    clean = {name: slot for name, slot in own.items() if name not in ("createdAt", "threadId", "resourceId")}
    content: dict[str, Value] = {
        "format": FORMAT,
        "parts": _texts_checked(context, parts),
        "toolInvocations": store.array(calls) if calls else UNDEFINED,
        "reasoning": joined(store, reasoning, "\n") if reasoning else UNDEFINED,
        "content": joined(store, texts) if texts else UNDEFINED,
        "metadata": store.object(clean) if clean else UNDEFINED,
    }
    return store.object(content)


def _is_tool(store: Store, part: Slot) -> bool:
    kind = get(store, part, "type")
    return isinstance(kind, str) and kind.startswith("tool-")


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
    return store.derive(store.object(fields_), part)


def _ui_part(context: Context, part: Slot) -> Slot:
    store = context.store
    kind = get(store, part, "type")
    if kind in ("step-start", "error"):
        return part
    options = get(store, part, "callProviderMetadata" if _is_tool(store, part) else "providerMetadata")
    made: dict[str, Value]
    if _is_tool(store, part):
        made = {"type": "tool-invocation", "toolInvocation": _ui_invocation(context, part)}
        made["providerExecuted"] = get(store, part, "providerExecuted")
    elif kind == "reasoning":
        told = get(store, part, "text")
        made = _reasoning(context, told, {"type": "text", "text": told})
    elif kind == "text":
        made = {"type": "text", "text": get(store, part, "text")}
    elif isinstance(kind, str) and kind.startswith("data-"):
        return store.derive(store.object({"type": kind, "data": get(store, part, "data")}), part)
    else:
        return None
    dated = {"providerMetadata": options, "createdAt": date_in_options(context, options)}
    return store.derive(store.object({**made, **dated}), part)


def _ui_invocation(context: Context, part: Slot) -> Ref:
    store = context.store
    call = _ui_call(context, part)
    if get(store, part, "state") != "output-error":
        return call
    failed = {
        "state": "output-error",
        "errorText": get(store, part, "errorText"),
        "rawInput": get(store, part, "rawInput"),
    }
    return store.derive(store.object({**fields(store, call), **failed}), part)


# ---------------------------------------------------------------- dates of parts


def _stamped(context: Context, message: Ref, source: str) -> Ref:
    store = context.store
    content = get(store, message, "content")
    parts = get(store, content, "parts")
    if context.profile.dates_parts and source != "memory" and is_array(store, parts):
        for part in elements(store, parts):
            stamp(context, part)
        assign(store, content, "parts", store.array(elements(store, parts)))
    return message


def stamp(context: Context, part: Slot) -> Slot:
    """Dates a part that has no date, in place."""
    store = context.store
    if context.profile.dates_parts and is_nullish(get(store, part, "createdAt")):
        assign(store, part, "createdAt", context.now())
    return part
