"""Messages of every form, as the list stores them: {id, role, createdAt, content: {format: 2, parts, ...}}.

A stored message is taken as it is, and what it lacks is written into it; every other form is made anew, with
the caller's own parts in it where the form has the same ones. Files and images are not dealt with.
"""

from __future__ import annotations

from agentcore.frameworks.mastra.emulation.contents import (
    core_content,
    reasoning_of,
    texts_checked,
    ui_content,
)
from agentcore.frameworks.mastra.emulation.errors import printed
from agentcore.frameworks.mastra.emulation.forms import (
    FORMAT,
    Context,
    Form,
    assign,
    filled,
    form_of,
    has,
    is_of_6,
    is_same,
    listed,
    mapped,
    stamp,
)
from agentcore.frameworks.mastra.emulation.settings import invalid_date, is_date
from agentcore.heap.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.heap.js import (
    PackageError,
    elements,
    fields,
    get,
    is_array,
    is_nullish,
    or_else,
    stringified,
    text,
)


def stored(context: Context, message: Value, source: str) -> Ref:
    """The message in the stored form, which may be the caller's own object (rule mastra.caller-shared)."""
    store = context.store
    form = form_of(store, message, lists_only=context.profile.reads_lists_only, made=context.made)
    if context.profile.knows_outcomes and form in (Form.CORE_5, Form.UI_5) and is_of_6(store, message):
        raise context.leave_out("a message of AI SDK 6", "write it as a stored message")
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
        made = _of_5(context, message, source, ui_content(context, message))
    else:
        raise PackageError("Error", f"Found unhandled message {text(store, stringified(store, message))}")
    return _stamped(context, made, source)


def _message(context: Context, origin: Value, **named: Value) -> Ref:
    made = context.store.derive(context.store.object(named), origin)
    context.made.add(made.address)
    return made


# ---------------------------------------------------------------- stored already


def _completed(context: Context, message: Value, source: str) -> Ref:
    store = context.store
    if not isinstance(message, Ref):  # never: a form was found in it
        raise HeapTypeError("a message is an object")
    content = get(store, message, "content")
    parts = get(store, content, "parts")
    if context.profile.owns_parts:
        held = elements(store, parts) if is_array(store, parts) else ()
        parts = store.array(part for part in held if isinstance(part, Ref))
        assign(store, content, "parts", parts)
    if not get(store, message, "id"):
        assign(store, message, "id", context.new_id())
    at = get(store, message, "createdAt")
    if is_nullish(at) and context.profile.dates_stored:
        assign(store, message, "createdAt", context.new_date(source))
    elif at is UNDEFINED:
        assign(store, message, "createdAt", invalid_date(store))
    elif not is_date(store, at):
        assign(store, message, "createdAt", context.as_date(at))
    calls = get(store, content, "toolInvocations")
    if calls and parts:
        given = listed(store, calls, "message.content.toolInvocations", "map")
        made = store.array(mapped(given, lambda call: _with_args(store, call, parts)))
        assign(store, content, "toolInvocations", made)
    return message


def _with_args(store: Store, call: Slot, parts: Value) -> Slot:
    args = get(store, call, "args")
    if args and fields(store, args):
        return call
    for part in listed(store, parts, "message.content.parts", "find"):
        found = (
            get(store, part, "toolInvocation") if get(store, part, "type") == "tool-invocation" else UNDEFINED
        )
        if found and is_same(get(store, found, "toolCallId"), get(store, call, "toolCallId")):
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
    made: dict[str, Value] = {"format": FORMAT, "parts": texts_checked(context, parts)}
    if calls:
        made["toolInvocations"] = store.array(calls)
    if isinstance(content, str):
        made["content"] = content
    options = get(store, message, "providerOptions") or get(store, message, "experimental_providerMetadata")
    metadata = get(store, message, "metadata")
    made |= {
        "providerMetadata": options or UNDEFINED,
        "metadata": UNDEFINED if metadata is None else metadata,
    }
    return _message(
        context,
        message,
        id=own_id,
        role=normal_role(store, message),
        createdAt=context.new_date(source, _date_in(store, metadata)),
        content=store.object(made),
    )


def _single_text(store: Store, content: Value) -> Value:
    if not is_array(store, content) or len(elements(store, content)) != 1:
        return UNDEFINED
    (part,) = elements(store, content)
    return get(store, part, "text") if part and get(store, part, "type") == "text" else UNDEFINED


def normal_role(store: Store, message: Value) -> str:
    """Returns the role that the list stores for a message.

    Raises:
        PackageError: for a role that it does not know.
    """
    role = get(store, message, "role")
    if role in ("assistant", "tool"):
        return "assistant"
    if role in ("user", "system"):
        return str(role)
    raise PackageError(
        "Error",
        f"BUG: add handling for message role {text(store, role)} in message {printed(store, message)}",
    )


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
            made = reasoning_of(context, get(store, part, "text"), detail)
        elif kind == "redacted-reasoning":
            made = reasoning_of(context, "", {"type": "redacted", "data": get(store, part, "data")})
        elif kind in ("tool-call", "tool-result"):
            call = _core_call(context, content, part, kind)
            made = {"type": "tool-invocation", "toolInvocation": call}
            calls += [call] if kind == "tool-result" else []
        if made is not None:
            parts.append(store.derive(store.object({**made, "providerMetadata": options}), part))
    return parts, calls


def _core_call(context: Context, content: Value, part: Slot, kind: Value) -> Ref:
    store = context.store
    call_id = get(store, part, "toolCallId")
    named: dict[str, Value] = {"toolCallId": call_id, "toolName": get(store, part, "toolName")}
    if kind == "tool-call":
        return store.derive(store.object({"state": "call", **named, "args": get(store, part, "args")}), part)
    args: Value = store.object({})
    for other in elements(store, content):
        if get(store, other, "type") == "tool-call" and is_same(get(store, other, "toolCallId"), call_id):
            args = get(store, other, "args")
            break
    if is_nullish(args):
        raise HeapTypeError("Cannot convert undefined or null to object")
    if not fields(store, args):
        args = context.known_args(call_id)
    result = or_else(get(store, part, "result"), "")
    return store.derive(store.object({"state": "result", **named, "result": result, "args": args}), part)


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
        context, message, role=get(store, made, "role"), content=get(store, made, "content"), **named
    )


def _of_ui_4(context: Context, message: Value, source: str) -> Ref:
    store = context.store
    parts = get(store, message, "parts")
    content: dict[str, Value] = {"format": FORMAT, "parts": parts}
    if context.profile.owns_parts:
        given = listed(store, parts, "parts", "some") if parts else ()
        content["parts"] = texts_checked(context, given)
    for name in ("toolInvocations", "reasoning", "annotations", "experimental_attachments"):
        content[name] = get(store, message, name) or UNDEFINED
    metadata = get(store, message, "metadata")
    content["metadata"] = UNDEFINED if metadata is None else metadata
    return _message(
        context,
        message,
        id=get(store, message, "id") or context.new_id(),
        role=normal_role(store, message),
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
        context,
        message,
        id=own_id if isinstance(own_id, str) else context.new_id(),
        role="assistant" if role == "tool" and not in_ui else role,
        createdAt=context.new_date(source, start),
        content=content,
    )


# ---------------------------------------------------------------- dates of parts


def _stamped(context: Context, message: Ref, source: str) -> Ref:
    store = context.store
    content = get(store, message, "content")
    parts = get(store, content, "parts")
    if context.profile.dates_parts and source != "memory" and is_array(store, parts):
        for part in filled(elements(store, parts)):
            stamp(context, part)
        assign(store, content, "parts", store.array(elements(store, parts)))
    return message
