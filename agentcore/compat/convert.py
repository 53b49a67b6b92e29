"""How AI SDK 6 makes messages of a step's content, a prompt of messages, and calls of approvals; on cells (ai@6.0.134)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import Any, Final, TypeAlias

import jsonschema_rs

from agentcore.compat.heap import UNDEFINED, HeapTypeError, Ref, Slot, Store, Value
from agentcore.compat.js import (
    PackageError,
    elements,
    error_text,
    get,
    is_array,
    is_nullish,
    iterated,
    or_else,
    text,
)
from agentcore.errors import InvalidDataContentError
from agentcore.media import detect_image_media_type, is_url, split_data_url
from agentcore.values import frozen

ToModelOutput: TypeAlias = Callable[[Value, Value, Value, Value], Slot | None]
"""A tool's own conversion: called with tool name, call id, input and output; None where the tool has none."""


# ---------------------------------------------------------------- the messages of a call


@cache
def _schema() -> Any:
    source = files("agentcore.schemas").joinpath("model-message.schema.json").read_text(encoding="utf-8")
    return jsonschema_rs.validator_for(source)


def check_messages(store: Store, messages: Ref) -> None:
    """What `standardizePrompt` checks: a list that is not empty, of messages of the schema.

    Raises:
        PackageError: AI_InvalidPromptError.
    """
    plain = store.plain(messages)
    if not plain:
        raise PackageError("AI_InvalidPromptError", "Invalid prompt: messages must not be empty")
    if not _schema().is_valid(plain):
        raise PackageError("AI_InvalidPromptError", "Invalid prompt: The messages do not match the ModelMessage[] schema.")


def check_system(store: Store, system: Value) -> None:
    """A system prompt is a string, a system message or a list of them.

    Raises:
        PackageError: AI_InvalidPromptError.
    """
    if is_nullish(system) or isinstance(system, str):
        return
    for message in _as_list(store, system):
        if type(message) is not Ref or get(store, message, "role") != "system":
            raise PackageError("AI_InvalidPromptError", "Invalid prompt: system must be a string or system messages")


def _as_list(store: Store, value: Value) -> tuple[Value, ...]:
    return elements(store, value) if is_array(store, value) else (value,)


# ---------------------------------------------------------------- approvals in the history


@frozen
class Approval:
    """An answered request: the response part, and the call that it is about."""

    response: Ref
    call: Ref


def collect_approvals(store: Store, messages: Ref) -> tuple[list[Approval], list[Approval]]:
    """The approved and the denied calls that the last message answers, if it is a tool message (claims C5, X14).

    Raises:
        PackageError: for a response to no request, or a request of no call.
    """
    history = elements(store, messages)
    if not history or get(store, history[-1], "role") != "tool":
        return [], []
    calls: dict[Value, Ref] = {}
    requests: dict[Value, Ref] = {}
    for message in history:
        if get(store, message, "role") == "assistant" and not isinstance(get(store, message, "content"), str):
            for part in iterated(store, get(store, message, "content")):
                kind = get(store, part, "type")
                if kind == "tool-call":
                    calls[get(store, part, "toolCallId")] = part  # type: ignore[assignment]
                elif kind == "tool-approval-request":
                    requests[get(store, part, "approvalId")] = part  # type: ignore[assignment]
    last = elements(store, get(store, history[-1], "content"))
    done = {get(store, part, "toolCallId") for part in last if get(store, part, "type") == "tool-result"}
    approved: list[Approval] = []
    denied: list[Approval] = []
    for response in last:
        if get(store, response, "type") != "tool-approval-response":
            continue
        approval_id = get(store, response, "approvalId")
        request = requests.get(approval_id)
        if request is None:
            raise PackageError("AI_InvalidToolApprovalError", f"no request with approval id {text(store, approval_id)}")
        call_id = get(store, request, "toolCallId")
        if call_id in done:
            continue
        if call_id not in calls:
            raise PackageError("AI_ToolCallNotFoundForApprovalError", f"no tool call {text(store, call_id)}")
        approval = Approval(response=response, call=calls[call_id])  # type: ignore[arg-type]
        (approved if get(store, response, "approved") else denied).append(approval)
    return approved, denied


def denied_result(store: Store, approval: Approval, *, with_approval_id: bool) -> Ref:
    """The tool result of a denied call; on generate, one of the provider's tells the provider which approval it was."""
    output: dict[str, Value] = {
        "type": "execution-denied",
        "reason": get(store, approval.response, "reason"),
    }
    if with_approval_id and get(store, approval.call, "providerExecuted"):
        approval_id = get(store, approval.response, "approvalId")
        output["providerOptions"] = store.object({"openai": store.object({"approvalId": approval_id})})
    return store.object(
        {
            "type": "tool-result",
            "toolCallId": get(store, approval.call, "toolCallId"),
            "toolName": get(store, approval.call, "toolName"),
            "output": store.object(output),
        }
    )


def provider_responses(store: Store, approvals: Iterable[Approval]) -> Ref:
    """The tool message that hands the answers about its own calls to the provider."""
    parts = [
        store.object(
            {
                "type": "tool-approval-response",
                "approvalId": get(store, approval.response, "approvalId"),
                "approved": get(store, approval.response, "approved"),
                "reason": get(store, approval.response, "reason"),
                "providerExecuted": True,
            }
        )
        for approval in approvals
    ]
    return store.object({"role": "tool", "content": store.array(parts)})


# ---------------------------------------------------------------- content -> messages


@frozen
class Conversion:
    """Makes response messages of content, with the tools' own output conversions."""

    store: Store
    to_model_output: ToModelOutput

    def output(self, part: Value, output: Value, error_mode: str = "none") -> Slot:
        """A tool result's output in a message: the wrapper is new, the value is the tool's own object (claim X4)."""
        store = self.store
        if error_mode == "text":
            return store.object({"type": "error-text", "value": error_text(store, output)})
        if error_mode == "json":
            return store.object({"type": "error-json", "value": or_null(output)})
        read = [get(store, part, key) for key in ("toolName", "toolCallId", "input")]
        own = self.to_model_output(*read, output)
        if own is not None:
            return own
        kind = "text" if isinstance(output, str) else "json"
        return store.object({"type": kind, "value": or_null(output)})

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
        results = [self._tool_part(part) for part in parts if self._is_client_result(part)]
        if results:
            inside = store.derive(store.array(results), content)
            made.append(store.derive(store.object({"role": "tool", "content": inside}), content))
        return made

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
            return []
        copied = self._copied(part, kind)
        if copied is None:
            return []
        return [store.derive(store.object({"type": kind, **copied}), part)]

    def _copied(self, part: Value, kind: Value) -> dict[str, Value] | None:
        store = self.store
        if kind == "tool-approval-request":
            call_id = get(store, get(store, part, "toolCall"), "toolCallId")
            return {"approvalId": get(store, part, "approvalId"), "toolCallId": call_id}
        options = {"providerOptions": get(store, part, "providerMetadata")}
        if kind in ("text", "reasoning"):
            return {"text": get(store, part, "text"), **options}
        if kind == "file":
            file = get(store, part, "file")
            data, media_type = get(store, file, "base64Data"), get(store, file, "mediaType")
            return {"data": data, "mediaType": media_type, **options}
        named = {key: get(store, part, key) for key in ("toolCallId", "toolName")}
        if kind == "tool-call":
            called = {key: get(store, part, key) for key in ("input", "providerExecuted")}
            return {**named, **called, **options}
        if kind == "tool-result":
            return {**named, "output": self.output(part, get(store, part, "output")), **options}
        if kind == "tool-error":
            return {**named, "output": self.output(part, get(store, part, "error"), "json"), **options, "type": "tool-result"}
        return None


def or_null(value: Value) -> Slot:
    """`toJSONValue`: undefined becomes null."""
    return None if value is UNDEFINED else value  # type: ignore[return-value]


# ---------------------------------------------------------------- messages -> prompt


_MESSAGE: Final = frozenset({"role", "content", "providerOptions"})
_TEXT: Final = frozenset({"type", "text", "providerOptions"})
_MEDIA: Final = frozenset({"type", "image", "data", "mediaType", "filename", "providerOptions"})
_CALL: Final = frozenset({"type", "toolCallId", "toolName", "input", "providerExecuted", "providerOptions"})
_RESULT: Final = frozenset({"type", "toolCallId", "toolName", "output", "providerOptions"})
_RESPONSE: Final = frozenset({"type", "approvalId", "approved", "reason"})


def prompt(store: Store, system: Value, messages: Value) -> Ref:
    """The model's prompt: messages, contents and parts are new, payloads are not (claims X3, X16, X17, C29).

    Raises:
        PackageError: AI_MissingToolResultsError, AI_InvalidMessageRoleError and the like.
        HeapTypeError: for messages that are not what the conversion reads.
    """
    listed = elements(store, messages, "map")
    _plan_downloads(store, listed)
    approved = _approved_calls(store, listed)
    converted = [*_system_messages(store, system), *(_message(store, message) for message in listed)]
    merged: list[dict[str, Any]] = []
    for message in converted:
        if message["role"] == "tool" and merged and merged[-1]["role"] == "tool":
            merged[-1]["content"].extend(message["content"])
            merged[-1]["sources"].extend(message["sources"])
        else:
            merged.append(message)
    _require_results(store, merged, approved)
    kept = [message for message in merged if message["role"] != "tool" or message["content"]]
    refs = [_message_cell(store, message) for message in kept]
    return store.derive(store.array(refs), messages)


def _message_cell(store: Store, message: dict[str, Any]) -> Ref:
    content = message["content"]
    inside = content
    if isinstance(content, list):
        inside = store.array([or_null(part) for part in content])
        for source in message["sources"]:
            store.derive(inside, source, fields=_MESSAGE)
            store.derive(inside, get(store, source, "content"))
    fields = {"role": message["role"], "content": inside, "providerOptions": message["providerOptions"]}
    return store.derive(store.object(fields), *message["sources"], fields=_MESSAGE)


def _system_messages(store: Store, system: Value) -> list[dict[str, Any]]:
    if is_nullish(system):
        return []
    if isinstance(system, str):
        return [_prompt_message("system", system, UNDEFINED, ())]
    return [
        _prompt_message("system", get(store, one, "content"), get(store, one, "providerOptions"), (one,))
        for one in _as_list(store, system)
    ]


def _prompt_message(role: str, content: Any, options: Value, sources: Iterable[Value]) -> dict[str, Any]:
    return {"role": role, "content": content, "providerOptions": options, "sources": list(sources)}


def _message(store: Store, message: Value) -> dict[str, Any]:
    role = get(store, message, "role")
    content = get(store, message, "content")
    options = get(store, message, "providerOptions")
    if role == "system":
        return _prompt_message("system", content, options, (message,))
    if role in ("user", "assistant") and isinstance(content, str):
        only = store.derive(store.object({"type": "text", "text": content}), message, fields=_MESSAGE)
        return _prompt_message(str(role), [only], options, (message,))
    if role == "user":
        parts = [_user_part(store, part) for part in elements(store, content, "map")]
        return _prompt_message("user", [p for p in parts if not _is_empty_text(store, p)], options, (message,))
    if role == "assistant":
        parts = _assistant_parts(store, elements(store, content))
        return _prompt_message("assistant", parts, options, (message,))
    if role == "tool":
        return _prompt_message("tool", _tool_parts(store, elements(store, content)), options, (message,))
    raise PackageError("AI_InvalidMessageRoleError", f"Invalid message role: '{text(store, role)}'.")


def _is_empty_text(store: Store, part: Value) -> bool:
    return get(store, part, "type") == "text" and get(store, part, "text") == ""


def _assistant_parts(store: Store, parts: Iterable[Value]) -> list[Value]:
    kept = []
    for part in parts:
        if _is_empty_text(store, part) and is_nullish(get(store, part, "providerOptions")):
            continue
        if get(store, part, "type") != "tool-approval-request":
            kept.append(_assistant_part(store, part))
    return kept


def _assistant_part(store: Store, part: Value) -> Value:
    kind = get(store, part, "type")
    if kind == "file":
        data, media_type = _data(get(store, part, "data"))
        fields = {
            "type": "file",
            "data": data,
            "filename": get(store, part, "filename"),
            "mediaType": or_else(media_type, get(store, part, "mediaType")),
            "providerOptions": get(store, part, "providerOptions"),
        }
        return store.derive(store.object(fields), part, fields=_MEDIA)
    if kind in ("text", "reasoning"):
        return _copy(store, part, _TEXT)
    if kind == "tool-call":
        return _copy(store, part, _CALL)
    if kind == "tool-result":
        return _result(store, part)
    return UNDEFINED


def _tool_parts(store: Store, parts: Iterable[Value]) -> list[Value]:
    kept: list[Value] = []
    for part in parts:
        kind = get(store, part, "type")
        if kind == "tool-approval-response":
            if get(store, part, "providerExecuted"):
                kept.append(_copy(store, part, _RESPONSE))
        else:
            kept.append(_result(store, part) if kind == "tool-result" else UNDEFINED)
    return kept


def _copy(store: Store, part: Value, names: frozenset[str]) -> Ref:
    return store.derive(store.object({name: get(store, part, name) for name in sorted(names)}), part, fields=names)


def _result(store: Store, part: Value) -> Ref:
    fields = {
        "type": "tool-result",
        "toolCallId": get(store, part, "toolCallId"),
        "toolName": get(store, part, "toolName"),
        "output": _result_output(store, get(store, part, "output")),
        "providerOptions": get(store, part, "providerOptions"),
    }
    return store.derive(store.object(fields), part, fields=_RESULT)


def _result_output(store: Store, output: Value) -> Value:
    """The wrapper itself, except for output of type content, which is made anew (claim X3)."""
    if get(store, output, "type") != "content":
        return output
    value = get(store, output, "value")
    items = store.array([_content_item(store, item) for item in elements(store, value, "map")])
    return store.derive(store.object({"type": "content", "value": store.derive(items, value)}), output)


def _content_item(store: Store, item: Slot) -> Slot:
    if get(store, item, "type") != "media":
        return item
    media_type = get(store, item, "mediaType")
    if not isinstance(media_type, str):
        raise HeapTypeError("Cannot read properties of undefined (reading 'startsWith')")
    kind = "image-data" if media_type.startswith("image/") else "file-data"
    fields = {"type": kind, "data": get(store, item, "data"), "mediaType": media_type}
    return store.derive(store.object(fields), item)


def _user_part(store: Store, part: Value) -> Ref:
    kind = get(store, part, "type")
    if kind == "text":
        return _copy(store, part, _TEXT)
    if kind not in ("image", "file"):
        raise PackageError("Error", f"Unsupported part type: {text(store, kind)}")
    data, media_type = _data(get(store, part, "image" if kind == "image" else "data"))
    media_type = or_else(media_type, get(store, part, "mediaType"))
    if kind == "image":
        if isinstance(data, str) and not is_url(data):
            media_type = or_else(_image_type(data), media_type)
        media_type = or_else(media_type, "image/*")
    elif is_nullish(media_type):
        raise PackageError("Error", "Media type is missing for file part")
    fields = {
        "type": "file",
        "mediaType": media_type,
        "filename": get(store, part, "filename") if kind == "file" else UNDEFINED,
        "data": data,
        "providerOptions": get(store, part, "providerOptions"),
    }
    return store.derive(store.object(fields), part, fields=_MEDIA)


# ---------------------------------------------------------------- data


def _data(data: Value) -> tuple[Value, Value]:
    """Data and the media type that it names itself: a `data:` address is split into both."""
    if not isinstance(data, str):
        return data, UNDEFINED
    try:
        content, media_type = split_data_url(data)
    except InvalidDataContentError as error:
        raise PackageError(error.wire_name, str(error)) from error
    return content, UNDEFINED if media_type is None else media_type  # type: ignore[return-value]


def _image_type(data: str) -> Value:
    try:
        detected = detect_image_media_type(data)
    except InvalidDataContentError as error:
        raise PackageError("InvalidCharacterError", str(error)) from error
    return UNDEFINED if detected is None else detected


def _plan_downloads(store: Store, messages: Iterable[Value]) -> None:
    """The package looks for addresses to download first; the scripted models read every address themselves."""
    for message in messages:
        if get(store, message, "role") != "user":
            continue
        content = get(store, message, "content")
        if not is_array(store, content):
            continue
        for part in _flat(store, content):
            if get(store, part, "type") not in ("image", "file"):
                continue
            is_image = get(store, part, "type") == "image"
            data = get(store, part, "image" if is_image else "data")
            if isinstance(data, str) and is_url(data) and not is_image and is_nullish(get(store, part, "mediaType")):
                raise PackageError("AI_DownloadError", f"Failed to download {data}")


def _flat(store: Store, content: Value) -> Iterable[Value]:
    for part in elements(store, content):
        if is_array(store, part):
            yield from elements(store, part)
        else:
            yield part


# ---------------------------------------------------------------- missing results


def _approved_calls(store: Store, messages: Iterable[Value]) -> list[Value]:
    calls: dict[Value, Value] = {}
    messages = list(messages)
    for message in messages:
        content = get(store, message, "content")
        if get(store, message, "role") == "assistant" and is_array(store, content):
            for part in elements(store, content):
                if get(store, part, "type") == "tool-approval-request":
                    approval_id, call_id = get(store, part, "approvalId"), get(store, part, "toolCallId")
                    if approval_id is not UNDEFINED and call_id is not UNDEFINED:
                        calls[approval_id] = call_id
    answered = []
    for message in messages:
        if get(store, message, "role") == "tool":
            for part in iterated(store, get(store, message, "content")):
                if get(store, part, "type") == "tool-approval-response":
                    answered.append(calls.get(get(store, part, "approvalId"), UNDEFINED))
    return [call_id for call_id in answered if call_id]


def _require_results(store: Store, messages: Iterable[dict[str, Any]], approved: Iterable[Value]) -> None:
    open_calls: dict[Value, None] = {}

    def require() -> None:
        for call_id in approved:
            open_calls.pop(call_id, None)
        if open_calls:
            named = ", ".join(text(store, call_id) for call_id in open_calls)
            raise PackageError("AI_MissingToolResultsError", f"Tool result is missing for tool call {named}.")

    for message in messages:
        role, content = message["role"], message["content"]
        if role == "assistant":
            for part in content:
                if get(store, part, "type") == "tool-call" and not get(store, part, "providerExecuted"):
                    open_calls[get(store, part, "toolCallId")] = None
        elif role == "tool":
            for part in content:
                if get(store, part, "type") == "tool-result":
                    open_calls.pop(get(store, part, "toolCallId"), None)
        else:
            require()
    require()
